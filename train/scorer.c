/* SPDX-License-Identifier: Apache-2.0 */
/* See scorer.h. Rows of a part are listed chunk by chunk; sums of a chunk are of its rows in order. */
#include "train/scorer.h"

#include "base/alloc.h"
#include "dist/chunk_sum.h"
#include "train/metrics_scratch.h"

#include <math.h>
#include <string.h>

enum { FIXED_COUNTS = 4, NUM_SUMS = 2 }; /* broken, right, count, labelled; error, loss */

/* The rows of one part of the split, in order. */
typedef struct row_list {
    int64_t *rows; /* owned, or lent by the split */
    int64_t num_rows;
    int64_t *chunk_at; /* (num_own_chunks + 1) */
} row_list;

struct gnti_scorer {
    gnti_scorer_config config;
    int64_t num_classes;
    row_list list[3];
    int64_t *counts;       /* (FIXED_COUNTS + 3 num_classes) */
    double *sums;          /* (NUM_SUMS, num_chunks) */
    int64_t *num_pairs;    /* (size) */
    gnti_comm_peer *peers; /* (size) */
    gnti_metric_scratch *scratch;
};

static gnt_status list_rows(const gnti_local_data *local, int part, row_list *list)
{
    gnt_status st = GNT_OK;
    const gnti_part *p = local->part;

    GNT_TRY(gnti_alloc_array(&list->rows, local->num_own + 1));
    GNT_TRY(gnti_calloc_array(&list->chunk_at, p->num_own_chunks + 1));
    for (int32_t c = 0; c < p->num_own_chunks; c++) {
        for (int64_t r = p->chunk_start[c]; r < p->chunk_start[c + 1]; r++)
            if (local->member != NULL && (local->member[r] & (1u << part)) != 0)
                list->rows[list->num_rows++] = r;
        list->chunk_at[c + 1] = list->num_rows;
    }
done:
    return st;
}

static gnt_status make_lists(gnti_scorer *s, int64_t *largest)
{
    gnt_status st = GNT_OK;
    const gnti_local_data *local = s->config.rows;

    *largest = 0;
    for (int part = 0; part < 3; part++) {
        row_list *list = &s->list[part];

        if (local != NULL) {
            GNT_TRY(list_rows(local, part, list));
        } else {
            list->rows = s->config.split->nodes[part];
            list->num_rows = s->config.split->num_nodes[part];
        }
        /* rank 0 gathers the pairs of all */
        *largest = gnti_max_i64(*largest, local != NULL && s->config.comm->rank == 0 ? local->num_split[part]
                                                                                     : list->num_rows);
    }
done:
    return st;
}

gnt_status gnti_scorer_create(const gnti_scorer_config *config, gnti_scorer **out)
{
    gnt_status st = GNT_OK;
    gnti_scorer *s = NULL;
    int64_t largest = 0;
    const int32_t size = config->comm->size;

    GNT_TRY(gnti_calloc_array(&s, 1));
    s->config = *config;
    s->num_classes = config->labels->num_classes;
    GNT_TRY(make_lists(s, &largest));
    GNT_TRY(gnti_alloc_array(&s->counts, FIXED_COUNTS + 3 * s->num_classes));
    GNT_TRY(gnti_alloc_array(
        &s->sums, NUM_SUMS * (config->rows != NULL ? (int64_t)config->rows->part->num_chunks : 1)));
    GNT_TRY(gnti_alloc_array(&s->num_pairs, size));
    GNT_TRY(gnti_calloc_array(&s->peers, size));
    GNT_TRY(gnti_metric_scratch_create(gnti_metric_is_ranking(config->metric) ? largest : 0, s->num_classes,
                                       &s->scratch));
    *out = s;
    s = NULL;
done:
    gnti_scorer_free(&s);
    return st;
}

void gnti_scorer_free(gnti_scorer **scorer)
{
    gnti_scorer *s = scorer != NULL ? *scorer : NULL;

    if (s == NULL)
        return;
    *scorer = NULL;
    for (int part = 0; part < 3; part++) {
        if (s->config.rows != NULL)
            gnti_free(s->list[part].rows);
        gnti_free(s->list[part].chunk_at);
    }
    gnti_free(s->counts);
    gnti_free(s->sums);
    gnti_free(s->num_pairs);
    gnti_free(s->peers);
    gnti_metric_scratch_free(&s->scratch);
    gnti_free(s);
}

/* Rows first .. end - 1 of a list with their logits and labels. */
static gnti_scored scored(const gnti_scorer *s, const row_list *list, int64_t first, int64_t end,
                          const float *logits)
{
    const gnti_labels *y = s->config.labels;

    return (gnti_scored){ .logits = logits,
                          .num_classes = s->num_classes,
                          .kind = y->kind,
                          .class_of = y->class_of,
                          .target = y->rows,
                          .rows = list->rows + first,
                          .num_rows = end - first };
}

/* Sums of the rank's own rows; errors and losses go to their chunk. */
static void add_own(gnti_scorer *s, const row_list *list, const float *logits, gnti_metric_sums *sums,
                    int64_t *labelled)
{
    const gnti_part *p = s->config.rows != NULL ? s->config.rows->part : NULL;
    const int32_t num_chunks = p != NULL ? p->num_chunks : 1, own = p != NULL ? p->num_own_chunks : 1;

    memset(s->sums, 0, (size_t)num_chunks * NUM_SUMS * sizeof *s->sums);
    for (int32_t c = 0; c < own; c++) {
        const gnti_scored rows = p != NULL ? scored(s, list, list->chunk_at[c], list->chunk_at[c + 1], logits)
                                           : scored(s, list, 0, list->num_rows, logits);
        const int32_t chunk = p != NULL ? p->own_chunks[c] : 0;

        sums->error = 0.0;
        gnti_metric_add(s->config.metric, &rows, sums);
        s->sums[chunk] = sums->error;
        gnti_metric_add_loss(&rows, &s->sums[num_chunks + chunk], labelled);
    }
}

/* Counts of all ranks. */
static gnt_status share_counts(gnti_scorer *s, gnti_metric_sums *sums, int64_t *labelled)
{
    gnt_status st = GNT_OK;
    const int64_t classes = 3 * s->num_classes;
    const gnti_all_reduce_args add = { s->counts, FIXED_COUNTS + classes, GNT_I64, GNTI_COMM_SUM };

    s->counts[0] = sums->broken;
    s->counts[1] = sums->right;
    s->counts[2] = sums->count;
    s->counts[3] = *labelled;
    memcpy(s->counts + FIXED_COUNTS, sums->classes, (size_t)classes * sizeof *s->counts);
    GNT_TRY(gnti_comm_all_reduce(s->config.comm, &add));
    sums->broken = s->counts[0];
    sums->right = s->counts[1];
    sums->count = s->counts[2];
    *labelled = s->counts[3];
    memcpy(sums->classes, s->counts + FIXED_COUNTS, (size_t)classes * sizeof *s->counts);
done:
    return st;
}

/* The pairs of all ranks, behind each other at rank 0. */
static gnt_status gather_pairs(gnti_scorer *s)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = s->config.comm;
    gnti_metric_scratch *scratch = s->scratch;
    const gnti_all_reduce_args add = { s->num_pairs, c->size, GNT_I64, GNTI_COMM_SUM };
    gnti_exchange *x = NULL;
    int64_t at = scratch->count;
    int32_t num_peers = 0;

    memset(s->num_pairs, 0, (size_t)c->size * sizeof *s->num_pairs);
    s->num_pairs[c->rank] = scratch->count;
    GNT_TRY(gnti_comm_all_reduce(c, &add));
    for (int32_t r = 1; r < c->size && c->rank == 0; r++) {
        s->peers[num_peers++] =
            (gnti_comm_peer){ .rank = r,
                              .receive = scratch->pairs + at,
                              .receive_bytes = (size_t)s->num_pairs[r] * sizeof *scratch->pairs };
        at += s->num_pairs[r];
    }
    if (c->rank != 0)
        s->peers[num_peers++] = (gnti_comm_peer){
            .rank = 0, .send = scratch->pairs, .send_bytes = (size_t)scratch->count * sizeof *scratch->pairs
        };
    GNT_TRY(gnti_comm_exchange_start(c, s->peers, num_peers, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
    if (c->rank == 0)
        scratch->count = at;
done:
    return st;
}

/* Mean over the classes for which it is defined. */
static gnt_status ranking(gnti_scorer *s, const row_list *list, const float *logits, double *out)
{
    gnt_status st = GNT_OK;
    const gnti_scored rows = scored(s, list, 0, list->num_rows, logits);
    const bool roc = s->config.metric == GNTI_METRIC_ROC_AUC;
    const bool binary = rows.kind == GNT_LABELS_CLASS && s->num_classes == 2;
    double sum = 0.0;
    int64_t defined = 0;

    for (int64_t c = binary ? 1 : 0; c < s->num_classes; c++) {
        double value = NAN;

        gnti_metric_push_column(&rows, c, s->scratch);
        if (s->config.comm->size > 1)
            GNT_TRY(gather_pairs(s));
        if (s->config.comm->rank == 0)
            value = roc ? gnti_metric_roc_auc(s->scratch) : gnti_metric_average_precision(s->scratch);
        if (!isnan(value)) {
            sum += value;
            defined++;
        }
    }
    *out = defined > 0 ? sum / (double)defined : NAN;
    if (s->config.comm->size > 1)
        GNT_TRY(gnti_comm_broadcast(s->config.comm, 0, out, sizeof *out));
done:
    return st;
}

gnt_status gnti_scorer_values(gnti_scorer *s, int part, const float *logits, double *metric, double *loss)
{
    gnt_status st = GNT_OK;
    gnti_metric_sums sums = { .classes = s->scratch->counts };
    const int32_t num_chunks = s->config.rows != NULL ? s->config.rows->part->num_chunks : 1;
    int64_t labelled = 0;
    double total[NUM_SUMS];

    gnti_metric_sums_clear(&sums, s->num_classes);
    add_own(s, &s->list[part], logits, &sums, &labelled);
    GNT_TRY(share_counts(s, &sums, &labelled));
    GNT_TRY(gnti_chunk_sum(s->config.comm, s->sums, NUM_SUMS, num_chunks, total));
    sums.error = total[0];
    if (loss != NULL)
        *loss = labelled > 0 ? total[1] / (double)labelled : NAN;
    *metric = gnti_metric_value(s->config.metric, &sums, s->num_classes);
    if (gnti_metric_is_ranking(s->config.metric) && sums.broken == 0)
        GNT_TRY(ranking(s, &s->list[part], logits, metric));
done:
    return st;
}

gnt_status gnti_scorer_confusion(gnti_scorer *s, int part, const float *logits, int64_t *counts)
{
    gnt_status st = GNT_OK;
    const gnti_scored rows = scored(s, &s->list[part], 0, s->list[part].num_rows, logits);
    const gnti_all_reduce_args add = { counts, s->num_classes * s->num_classes, GNT_I64, GNTI_COMM_SUM };

    gnti_confusion(&rows, counts);
    GNT_TRY(gnti_comm_all_reduce(s->config.comm, &add));
done:
    return st;
}
