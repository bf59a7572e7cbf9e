/* SPDX-License-Identifier: Apache-2.0 */
/* Hoisted values of two programs over the same operators and features: equal ones are found by a signature of how they were
 * computed, so that an evaluation program reads what the training program holds already.
 */
#include "nn/program_state.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
    h *= 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

/* Signatures of hoisted values; 0: not hoisted. */
static gnt_status sign(const gnti_program *p, uint64_t **out)
{
    gnt_status st = GNT_OK;
    const gnti_ir *ir = &p->ir;
    uint64_t *signs = NULL;
    int32_t reads[GNTI_NODE_READS];

    GNT_TRY(gnti_calloc_array(&signs, ir->num_values + 1));
    signs[ir->x] = 1;
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const gnti_node *n = &ir->nodes[i];
        uint64_t h = mix(2, (uint64_t)n->op);
        float factors[2] = { n->alpha, n->beta };

        if (!n->hoisted)
            continue;
        for (int k = gnti_node_reads(n, reads) - 1; k >= 0; k--)
            h = mix(h, signs[reads[k]]);
        if (n->adj != 0)
            h = mix(h, (uint64_t)(uintptr_t)p->operators[n->adj].host);
        h = mix(h, (uint64_t)n->aggregate * 8 + (uint64_t)n->transposed * 4 + (uint64_t)n->trans_a * 2 +
                       n->trans_b);
        h = mix(h, (uint64_t)n->act + (uint64_t)(n->act_alpha * 1e6f) * 16);
        h = mix(h, (uint64_t)(int64_t)(factors[0] * 1e6f));
        h = mix(h, (uint64_t)(int64_t)(factors[1] * 1e6f));
        for (int32_t k = 0; k < n->num_out; k++) {
            const gnti_value *v = &ir->values[n->out[k]];

            /* memory for halo rows too: every rank must come to the same answer */
            h = mix(h, (uint64_t)(v->halo_space == 0 ? 0 : 1 + (v->halo_space == p->parts.halo_space[1])));
            signs[n->out[k]] = mix(mix(mix(h, (uint64_t)k), (uint64_t)v->width), (uint64_t)v->first_column);
        }
    }
    *out = signs;
done:
    return st;
}

/* The partner's hoisted value with this signature and size, 0: none. */
static int32_t find_equal(const gnti_program *q, const uint64_t *signs, uint64_t want, size_t bytes)
{
    for (int32_t v = 1; v < q->ir.num_values; v++)
        if (q->ir.values[v].storage == GNTI_IN_HOISTED && signs[v] == want && gnti_value_bytes(q, v) == bytes)
            return v;
    return 0;
}

static bool same_data(const gnti_program *p, const gnti_program *q)
{
    if (q == NULL || !q->bound || q->hoisted == NULL || q->x.view.dense != p->x.view.dense ||
        q->x.view.sparse != p->x.view.sparse || q->x.view.rows != p->x.view.rows)
        return false;
    for (int32_t a = 1; a < p->ir.num_adjs; a++) {
        bool found = false;

        for (int32_t b = 1; b < q->ir.num_adjs; b++)
            found = found || q->operators[b].host == p->operators[a].host;
        if (!found)
            return false;
    }
    return true;
}

gnt_status gnti_program_match_hoisted(gnti_program *p, bool *out)
{
    gnt_status st = GNT_OK;
    gnti_program *q = p->partner;
    uint64_t *mine = NULL, *theirs = NULL;
    bool all = p->hoisted_bytes > 0;

    *out = false;
    if (!all || !same_data(p, q))
        return GNT_OK;
    GNT_TRY(sign(p, &mine));
    GNT_TRY(sign(q, &theirs));
    for (int32_t v = 1; v < p->ir.num_values && all; v++)
        if (p->ir.values[v].storage == GNTI_IN_HOISTED)
            all = find_equal(q, theirs, mine[v], gnti_value_bytes(p, v)) != 0;
    for (int32_t v = 1; v < p->ir.num_values && all; v++)
        if (p->ir.values[v].storage == GNTI_IN_HOISTED)
            p->ir.values[v].offset =
                q->ir.values[find_equal(q, theirs, mine[v], gnti_value_bytes(p, v))].offset;
    p->laid_out = p->laid_out && !all; /* own offsets come back if the next binding cannot share */
    *out = all;
done:
    gnti_free(mine);
    gnti_free(theirs);
    return st;
}
