/* SPDX-License-Identifier: Apache-2.0 */
/* What a cut costs, counted in one pass over the arcs.
 *
 * Row v lists the nodes that read v, so v is sent once to every other part that a neighbour in its row lies in:
 *   halo[q] = nodes outside q that q reads = sum over p of send[p][q],  volume = sum of halo.
 * An edge of the symmetric closure is counted at the arc that leads upwards, or at the one that leads down when there is no
 * partner: rows ascend and are visited in order, so a cursor a row finds partners without a search.
 */
#include "partition/partition_internal.h"

#include <string.h>

enum { MAX_SEND_PARTS = 256 };

typedef struct counter {
    const gnti_graph *graph;
    const int32_t *part_of;
    int64_t *cursor; /* (num_rows) first arc whose column has not been passed yet */
    int64_t *seen;   /* (num_parts) the last row + 1 that was sent there */
    gnti_quality *q;
} counter;

void gnti_quality_free(gnti_quality **quality)
{
    gnti_quality *q = *quality;

    if (q == NULL)
        return;
    gnti_free(q->rows);
    gnti_free(q->arcs);
    gnti_free(q->halo);
    gnti_free(q->train);
    gnti_free(q->sent);
    gnti_free(q->send);
    gnti_free(q);
    *quality = NULL;
}

/* Whether arc (v, u), u > v, is there; v only grows between calls for one u. */
static bool has_partner(counter *c, int64_t u, int64_t v)
{
    const gnti_graph *g = c->graph;
    int64_t a = c->cursor[u];

    while (a < g->offsets[u + 1] && g->columns[a] < v)
        a++;
    c->cursor[u] = a;
    return a < g->offsets[u + 1] && g->columns[a] == v;
}

static void count_row(counter *c, int64_t v)
{
    const gnti_graph *g = c->graph;
    gnti_quality *q = c->q;
    const int32_t p = c->part_of[v];

    for (int64_t a = g->offsets[v]; a < g->offsets[v + 1]; a++) {
        const int32_t u = g->columns[a], r = c->part_of[u];

        if (u == v || (a > g->offsets[v] && u == g->columns[a - 1]))
            continue;
        q->arcs[p]++;
        if (r == p)
            continue;
        q->cut += u > v || !has_partner(c, u, v);
        if (c->seen[r] == v + 1)
            continue;
        c->seen[r] = v + 1;
        q->halo[r]++;
        q->sent[p]++;
        q->volume++;
        if (q->send != NULL)
            q->send[(int64_t)p * q->num_parts + r]++;
    }
}

gnt_status gnti_quality_alloc(int32_t num_parts, gnti_quality **out)
{
    gnt_status st = GNT_OK;
    gnti_quality *q = NULL;

    GNT_TRY(gnti_calloc_array(&q, 1));
    q->num_parts = num_parts;
    GNT_TRY(gnti_calloc_array(&q->rows, num_parts));
    GNT_TRY(gnti_calloc_array(&q->arcs, num_parts));
    GNT_TRY(gnti_calloc_array(&q->halo, num_parts));
    GNT_TRY(gnti_calloc_array(&q->train, num_parts));
    GNT_TRY(gnti_calloc_array(&q->sent, num_parts));
    if (num_parts <= MAX_SEND_PARTS)
        GNT_TRY(gnti_calloc_array(&q->send, (int64_t)num_parts * num_parts));
    *out = q;
    q = NULL;
done:
    gnti_quality_free(&q);
    return st;
}

gnt_status gnti_quality_measure(const gnti_graph *graph, const int32_t *part_of, int32_t num_parts,
                                const uint8_t *train, gnti_quality **out)
{
    gnt_status st = GNT_OK;
    counter c = { .graph = graph, .part_of = part_of };

    GNT_CHECK(num_parts >= 1, GNT_ERR_ARG, "a cut into %d parts cannot be measured", num_parts);
    for (int64_t v = 0; v < graph->num_rows; v++)
        GNT_CHECK(part_of[v] >= 0 && part_of[v] < num_parts, GNT_ERR_FORMAT,
                  "node %lld lies in part %d, there are %d", (long long)v, part_of[v], num_parts);
    GNT_TRY(gnti_quality_alloc(num_parts, &c.q));
    GNT_TRY(gnti_alloc_array(&c.cursor, graph->num_rows));
    GNT_TRY(gnti_calloc_array(&c.seen, num_parts));
    memcpy(c.cursor, graph->offsets, (size_t)graph->num_rows * sizeof *c.cursor);
    for (int64_t v = 0; v < graph->num_rows; v++) {
        c.q->rows[part_of[v]]++;
        c.q->train[part_of[v]] += train != NULL && train[v] != 0;
        count_row(&c, v);
    }
    *out = c.q;
    c.q = NULL;
done:
    gnti_free(c.cursor);
    gnti_free(c.seen);
    gnti_quality_free(&c.q);
    return st;
}

/* Largest over mean, 1 when all are 0. */
static double skew(const int64_t *values, int32_t count)
{
    int64_t most = 0, sum = 0;

    for (int32_t i = 0; i < count; i++) {
        most = gnti_max_i64(most, values[i]);
        sum += values[i];
    }
    return sum == 0 ? 1.0 : (double)most * count / (double)sum;
}

static gnt_status send_to_json(const gnti_quality *q, gnti_json *json)
{
    gnt_status st = GNT_OK;
    gnti_json *rows = NULL, *row = NULL;

    GNT_TRY(gnti_json_set_array(json, "send", &rows));
    for (int32_t p = 0; p < q->num_parts; p++) {
        GNT_TRY(gnti_json_append_array(rows, &row));
        for (int32_t r = 0; r < q->num_parts; r++)
            GNT_TRY(gnti_json_append_int(row, q->send[(int64_t)p * q->num_parts + r]));
    }
done:
    return st;
}

gnt_status gnti_quality_to_json(const gnti_quality *q, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *json = NULL;
    const struct {
        const char *name, *balance;
        const int64_t *values;
    } lists[] = { { "nodes", "balance_nodes", q->rows },
                  { "arcs", "balance_arcs", q->arcs },
                  { "halo", "balance_halo", q->halo },
                  { "sent", "balance_sent", q->sent },
                  { "train_nodes", "balance_train_nodes", q->train } };
    int64_t num_nodes = 0, empty = 0;

    for (int32_t p = 0; p < q->num_parts; p++) {
        num_nodes += q->rows[p];
        empty += q->rows[p] == 0;
    }
    GNT_TRY(gnti_json_create_object(&json));
    GNT_TRY(gnti_json_set_int(json, "num_parts", q->num_parts));
    GNT_TRY(gnti_json_set_int(json, "empty", empty));
    GNT_TRY(gnti_json_set_int(json, "cut", q->cut));
    GNT_TRY(gnti_json_set_int(json, "volume", q->volume));
    GNT_TRY(gnti_json_set_number(json, "replication",
                                 num_nodes > 0 ? (double)q->volume / (double)num_nodes : 0.0));
    for (int i = 0; i < 5; i++)
        GNT_TRY(gnti_json_set_number(json, lists[i].balance, skew(lists[i].values, q->num_parts)));
    for (int i = 0; i < 5; i++)
        GNT_TRY(gnti_json_set_ints(json, lists[i].name, lists[i].values, q->num_parts));
    if (q->send != NULL)
        GNT_TRY(send_to_json(q, json));
    *out = json;
    json = NULL;
done:
    gnti_json_free(&json);
    return st;
}
