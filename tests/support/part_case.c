/* SPDX-License-Identifier: Apache-2.0 */
/* Every draw is a Philox word keyed by the seed. Comparison goes member by member, floats by their bits. */
#include "part_case.h"

#include "base/philox.h"

#include <string.h>

static int32_t draw(uint64_t seed, int64_t i, int32_t below)
{
    return (int32_t)gnti_below(gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 1, 0, i, 0),
                               (uint32_t)below);
}

void gnt_part_case_partition(int64_t num_nodes, int32_t num_chunks, uint64_t seed, gnti_partition *out)
{
    memset(out, 0, sizeof *out);
    out->num_nodes = num_nodes;
    out->num_chunks = num_chunks;
    gnt_assert_ok(gnti_alloc_array(&out->chunk_of, num_nodes));
    gnt_assert_ok(gnti_calloc_array(&out->chunk_nodes, num_chunks));
    for (int64_t v = 0; v < num_nodes; v++) {
        out->chunk_of[v] = draw(seed, v, num_chunks);
        out->chunk_nodes[out->chunk_of[v]]++;
    }
}

void gnt_part_case_partition_clear(gnti_partition *p)
{
    gnti_free(p->chunk_of);
    gnti_free(p->chunk_nodes);
    memset(p, 0, sizeof *p);
}

int32_t *gnt_part_case_owner(int32_t num_chunks, int32_t num_ranks, int kind, uint64_t seed)
{
    int32_t *owner = NULL;

    gnt_assert_ok(gnti_alloc_array(&owner, num_chunks));
    for (int32_t c = 0; c < num_chunks; c++) {
        if (kind == 0)
            owner[c] = (int32_t)((int64_t)c * num_ranks / num_chunks);
        else
            owner[c] = kind == 1 ? draw(seed + 1, c, num_ranks) : num_ranks - 1;
    }
    return owner;
}

static const gnti_halo_plan *plan_of(const gnti_part *p, bool backward)
{
    return backward ? p->backward : p->forward;
}

static int32_t find_peer(const gnti_halo_plan *plan, int32_t rank)
{
    for (int32_t i = 0; i < plan->num_peers; i++)
        if (plan->peer[i] == rank)
            return i;
    return -1;
}

static const char *check_plan(const gnti_part *p, const gnti_halo_plan *plan)
{
    for (int32_t i = 0; i < plan->num_peers; i++) {
        if (plan->peer[i] < 0 || plan->peer[i] >= p->num_ranks || plan->peer[i] == p->rank)
            return "a peer that is no other rank";
        if (i > 0 && plan->peer[i] <= plan->peer[i - 1])
            return "peers do not ascend";
        if (plan->send_ptr[i + 1] == plan->send_ptr[i] && plan->recv_ptr[i + 1] == plan->recv_ptr[i])
            return "a peer without rows";
    }
    if (plan->send_ptr[0] != 0 || plan->recv_ptr[0] != 0 || plan->recv_ptr[plan->num_peers] != plan->num_halo)
        return "pointers of a plan do not cover its rows";
    return NULL;
}

const char *gnt_part_case_exchange(gnti_part *const *parts, int32_t num_ranks, bool backward, double **rows)
{
    for (int32_t r = 0; r < num_ranks; r++) {
        const gnti_halo_plan *to = plan_of(parts[r], backward);
        const char *bad = check_plan(parts[r], to);

        if (bad != NULL)
            return bad;
        for (int32_t i = 0; i < to->num_peers; i++) {
            const gnti_halo_plan *from = plan_of(parts[to->peer[i]], backward);
            const int32_t j = find_peer(from, r);

            if (j < 0)
                return "a peer that does not know the rank";
            if (from->send_ptr[j + 1] - from->send_ptr[j] != to->recv_ptr[i + 1] - to->recv_ptr[i] ||
                to->send_ptr[i + 1] - to->send_ptr[i] != from->recv_ptr[j + 1] - from->recv_ptr[j])
                return "sent and received rows differ in number";
            for (int64_t k = 0; k < to->recv_ptr[i + 1] - to->recv_ptr[i]; k++)
                rows[r][to->num_own + to->recv_ptr[i] + k] =
                    rows[to->peer[i]][from->send_rows[from->send_ptr[j] + k]];
        }
    }
    return NULL;
}

static bool same(const void *a, const void *b, int64_t count, size_t bytes)
{
    if ((a == NULL) != (b == NULL))
        return false;
    return a == NULL || count == 0 || memcmp(a, b, (size_t)count * bytes) == 0;
}

static const char *compare_graphs(const gnti_graph *a, const gnti_graph *b)
{
    if (a->num_rows != b->num_rows || a->num_cols != b->num_cols || a->num_arcs != b->num_arcs)
        return "sizes of graphs differ";
    if (!same(a->offsets, b->offsets, a->num_rows + 1, 8) || !same(a->columns, b->columns, a->num_arcs, 4))
        return "rows of graphs differ";
    return same(a->weights, b->weights, a->num_arcs, 4) ? NULL : "weights differ";
}

static const char *compare_plans(const gnti_halo_plan *a, const gnti_halo_plan *b)
{
    if (a->num_own != b->num_own || a->num_halo != b->num_halo || a->num_peers != b->num_peers ||
        a->num_interior != b->num_interior || a->num_boundary != b->num_boundary)
        return "sizes of plans differ";
    if (!same(a->peer, b->peer, a->num_peers, 4) || !same(a->send_ptr, b->send_ptr, a->num_peers + 1, 8) ||
        !same(a->recv_ptr, b->recv_ptr, a->num_peers + 1, 8) ||
        !same(a->send_rows, b->send_rows, a->send_ptr[a->num_peers], 4))
        return "peers of plans differ";
    return same(a->interior, b->interior, a->num_interior, 4) &&
                   same(a->boundary, b->boundary, a->num_boundary, 4)
               ? NULL
               : "row lists of plans differ";
}

static const char *compare_operators(const gnti_operator *a, const gnti_operator *b)
{
    const char *bad = NULL;

    if (a->num_dst != b->num_dst || a->num_src != b->num_src || a->num_src_t != b->num_src_t ||
        a->symmetric != b->symmetric)
        return "sizes of operators differ";
    bad = compare_graphs(a->forward, b->forward);
    if (bad == NULL)
        bad = compare_graphs(a->transposed, b->transposed);
    if (bad != NULL)
        return bad;
    if (!same(a->loop, b->loop, a->num_dst, 4) || !same(a->self, b->self, a->num_dst, 4))
        return "loops differ";
    if (!same(a->sym_scale, b->sym_scale, a->num_src, 4) ||
        !same(a->mean_scale, b->mean_scale, a->num_dst, 4))
        return "scales differ";
    return same(a->sym_scale_t, b->sym_scale_t, a->num_src_t, 4) &&
                   same(a->mean_scale_t, b->mean_scale_t, a->num_src_t, 4)
               ? NULL
               : "scales of the transpose differ";
}

const char *gnt_part_case_compare(const gnti_part *a, const gnti_part *b)
{
    const char *bad = NULL;

    if (a->rank != b->rank || a->num_ranks != b->num_ranks || a->num_chunks != b->num_chunks)
        return "rank, ranks or chunks differ";
    if (a->num_nodes != b->num_nodes || a->num_arcs != b->num_arcs || a->num_own != b->num_own)
        return "nodes or arcs differ in number";
    if (a->num_own_chunks != b->num_own_chunks || !same(a->own_chunks, b->own_chunks, a->num_own_chunks, 4) ||
        !same(a->chunk_start, b->chunk_start, a->num_own_chunks + 1, 8))
        return "own chunks differ";
    bad = compare_operators(a->op, b->op);
    if (bad == NULL)
        bad = compare_plans(a->forward, b->forward);
    if (bad == NULL)
        bad = compare_plans(a->backward, b->backward);
    if (bad == NULL && !same(a->ids, b->ids, a->op->num_src, 8))
        bad = "ids differ";
    return bad;
}

static const char *compare_rows(const gnti_local_data *a, const gnti_local_data *b)
{
    const int64_t n = a->num_own;

    if (a->x.rows != b->x.rows || a->x.width != b->x.width || (a->x.sparse == NULL) != (b->x.sparse == NULL))
        return "shapes of features differ";
    if (!same(a->x.dense, b->x.dense, n * a->x.width, 4))
        return "features differ";
    if (a->x.sparse != NULL && compare_graphs(a->x.sparse, b->x.sparse) != NULL)
        return "sparse features differ";
    if (a->y.kind != b->y.kind || a->y.num_classes != b->y.num_classes ||
        !same(a->y.class_of, b->y.class_of, n, 4) || !same(a->y.rows, b->y.rows, n * a->y.num_classes, 4))
        return "labels differ";
    return NULL;
}

const char *gnt_part_case_compare_data(const gnti_local_data *a, const gnti_local_data *b)
{
    const char *bad = a->num_own == b->num_own ? gnt_part_case_compare(a->part, b->part) : "own rows differ";

    if (bad == NULL)
        bad = compare_rows(a, b);
    if (bad == NULL &&
        ((a->train_part == NULL) != (b->train_part == NULL) || !same(a->member, b->member, a->num_own, 1) ||
         a->inductive != b->inductive || memcmp(a->num_split, b->num_split, sizeof a->num_split) != 0))
        bad = "splits differ";
    if (bad == NULL && strcmp(a->split_sha256, b->split_sha256) != 0)
        bad = "sums of splits differ";
    if (bad == NULL && a->train_part != NULL)
        bad = gnt_part_case_compare(a->train_part, b->train_part);
    if (bad == NULL && a->train_part != NULL &&
        !same(a->train_rows, b->train_rows, a->train_part->num_own, 4))
        bad = "training rows differ";
    return bad;
}
