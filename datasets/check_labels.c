/* SPDX-License-Identifier: Apache-2.0 */
/* What check says about labels and ids: counts a class, unlabelled nodes, homophily, ids given twice. */
#include "datasets/check_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The share of arcs, loops apart, whose two ends are labelled and of one class. */
static double homophily(const gnt_dataset *d)
{
    int64_t same = 0, all = 0;

    for (int64_t u = 0; u < d->num_nodes; u++) {
        for (int64_t a = d->graph->offsets[u]; a < d->graph->offsets[u + 1]; a++) {
            const int32_t v = d->graph->columns[a];

            if (v == u || d->y.class_of[u] < 0 || d->y.class_of[v] < 0)
                continue;
            all++;
            same += d->y.class_of[u] == d->y.class_of[v];
        }
    }
    return all > 0 ? (double)same / (double)all : NAN;
}

static gnt_status check_classes(gnti_check *c)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = c->data;
    int64_t *count = NULL, unlabelled = 0, empty = 0;

    GNT_TRY(gnti_calloc_array(&count, d->y.num_classes));
    for (int64_t v = 0; v < d->num_nodes; v++) {
        if (d->y.class_of[v] < 0)
            unlabelled++;
        else
            count[d->y.class_of[v]]++;
    }
    for (int64_t k = 0; k < d->y.num_classes; k++)
        empty += count[k] == 0;
    GNT_TRY(gnti_json_set_ints(c->facts, "class_counts", count, d->y.num_classes));
    GNT_TRY(gnti_json_set_int(c->facts, "num_unlabelled", unlabelled));
    GNT_TRY(gnti_json_set_number(c->facts, "homophily", homophily(d)));
    if (unlabelled == d->num_nodes && d->num_nodes > 0)
        GNT_TRY(
            gnti_check_add(c, GNTI_FINDING_ERROR, "import labels with --labels FILE", "no node has a label"));
    else if (unlabelled > 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, NULL, "%lld of %lld nodes have no label",
                               (long long)unlabelled, (long long)d->num_nodes));
    if (empty > 0 && unlabelled < d->num_nodes)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_WARNING, NULL, "%lld of %lld classes have no node",
                               (long long)empty, (long long)d->y.num_classes));
done:
    gnti_free(count);
    return st;
}

static gnt_status check_targets(gnti_check *c)
{
    gnt_status st = GNT_OK;
    const gnti_labels *y = &c->data->y;
    int64_t unlabelled = 0, infinite = 0;

    for (int64_t v = 0; v < c->data->num_nodes; v++) {
        unlabelled += isnan(y->rows[v * y->num_classes]) != 0;
        for (int64_t k = 0; k < y->num_classes; k++)
            infinite += isinf(y->rows[v * y->num_classes + k]) != 0;
    }
    GNT_TRY(gnti_json_set_int(c->facts, "num_unlabelled", unlabelled));
    if (infinite > 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_ERROR, "replace the values and import again",
                               "%lld targets are infinite", (long long)infinite));
done:
    return st;
}

/* An id with its node, to be sorted. */
typedef struct named {
    const char *text;
    int64_t number, node;
} named;

static int compare_ids(const void *a, const void *b)
{
    const named *x = a, *y = b;

    if (x->text != NULL)
        return strcmp(x->text, y->text);
    return (x->number > y->number) - (x->number < y->number);
}

static gnt_status check_ids(gnti_check *c)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = c->data;
    named *ids = NULL;

    GNT_TRY(gnti_json_set_text(c->facts, "ids",
                               d->id_text != NULL ? "text"
                               : d->id != NULL    ? "integer"
                                                  : "row"));
    if (d->id == NULL && d->id_text == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&ids, d->num_nodes));
    for (int64_t v = 0; v < d->num_nodes; v++)
        ids[v] = (named){ d->id_text != NULL ? d->id_text[v] : NULL, d->id != NULL ? d->id[v] : 0, v };
    qsort(ids, (size_t)d->num_nodes, sizeof *ids, compare_ids);
    for (int64_t i = 1; i < d->num_nodes; i++) {
        if (compare_ids(&ids[i - 1], &ids[i]) != 0)
            continue;
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_WARNING, "give each node an id of its own and import again",
                               "nodes %lld and %lld have the same id: predictions cannot be told apart",
                               (long long)gnti_min_i64(ids[i - 1].node, ids[i].node),
                               (long long)gnti_max_i64(ids[i - 1].node, ids[i].node)));
        break;
    }
done:
    gnti_free(ids);
    return st;
}

gnt_status gnti_check_labels(gnti_check *c)
{
    gnt_status st = GNT_OK;
    static const char *const kinds[] = { "none", "class", "multi-label", "regression" };

    GNT_TRY(gnti_json_set_text(c->facts, "labels", kinds[c->data->y.kind]));
    GNT_TRY(gnti_json_set_int(c->facts, "num_classes", c->data->y.num_classes));
    if (c->data->y.kind == GNT_LABELS_CLASS)
        GNT_TRY(check_classes(c));
    else if (c->data->y.kind == GNT_LABELS_REGRESSION)
        GNT_TRY(check_targets(c));
    else if (c->data->y.kind == GNT_LABELS_NONE && !gnti_dataset_splits_graphs(c->data))
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_WARNING, "import labels with --labels FILE",
                               "there are no labels: the graph can be read but not trained on"));
    GNT_TRY(check_ids(c));
done:
    return st;
}
