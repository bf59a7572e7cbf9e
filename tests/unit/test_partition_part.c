/* SPDX-License-Identifier: Apache-2.0 */
/* Parts against the operator of the whole graph: products over exchanged rows, order of entries, plans, volume. */
#include "tests/support/gnt_test.h"
#include "tests/support/part_case.h"
#include "tests/support/prop.h"

#include <math.h>
#include <string.h>

typedef enum kind { SUM, MEAN, SYM, NUM_KINDS } kind;

typedef struct part_law {
    bool weighted, induced;
    int32_t num_chunks, num_ranks;
    int owner_kind;
} part_law;

/* One job: the whole operator (ascending ids) and the parts. */
typedef struct job {
    gnti_graph *sources;
    gnti_partition partition;
    int32_t *owner;
    int64_t *nodes, num_nodes; /* of the induced graph, or all */
    gnti_operator *whole;
    int64_t *row_of; /* row of the whole operator of each node, -1: none */
    gnti_part *parts[8];
    int32_t num_ranks;
    gnti_part_source source;
} job;

static void job_make(const gnt_prop_graph *p, const part_law *law, job *j)
{
    const gnti_arc_list arcs = { .num_arcs = p->num_arcs,
                                 .source = p->source,
                                 .target = p->target,
                                 .weight = law->weighted ? p->weight : NULL };
    const gnti_build_options options = { .symmetrise = p->seed % 2 == 0 };

    memset(j, 0, sizeof *j);
    j->num_ranks = law->num_ranks;
    gnt_assert_ok(gnti_graph_build(p->num_nodes, &arcs, &options, NULL, NULL, &j->sources));
    gnt_part_case_partition(p->num_nodes, law->num_chunks, p->seed + 3, &j->partition);
    j->owner = gnt_part_case_owner(law->num_chunks, law->num_ranks, law->owner_kind, p->seed);
    gnt_assert_ok(gnti_alloc_array(&j->nodes, p->num_nodes));
    gnt_assert_ok(gnti_alloc_array(&j->row_of, p->num_nodes));
    for (int64_t v = 0; v < p->num_nodes; v++) {
        const bool in = !law->induced || (v * 7 + (int64_t)p->seed) % 3 != 0;

        j->row_of[v] = in ? j->num_nodes : -1;
        if (in)
            j->nodes[j->num_nodes++] = v;
    }
    gnt_assert_ok(gnti_operator_induced(j->sources, j->nodes, j->num_nodes, &j->whole));
    j->source = (gnti_part_source){ .graph = j->sources,
                                    .partition = &j->partition,
                                    .owner = j->owner,
                                    .num_ranks = j->num_ranks,
                                    .nodes = law->induced ? j->nodes : NULL,
                                    .num_nodes = j->num_nodes };
    gnt_assert_ok(gnti_parts_make(&j->source, j->parts));
}

static void job_free(job *j)
{
    for (int32_t r = 0; r < j->num_ranks; r++)
        gnti_part_free(&j->parts[r]);
    gnti_operator_free(&j->whole);
    gnti_free(j->row_of);
    gnti_free(j->nodes);
    gnti_free(j->owner);
    gnt_part_case_partition_clear(&j->partition);
    gnti_graph_free(&j->sources);
}

static double value_of(int64_t id)
{
    return (double)((id * 7919 + 13) % 101) / 50.0 - 1.0;
}

static float scale_of(const gnti_operator *op, kind k, bool backward, int64_t column)
{
    if (k == SYM)
        return backward && op->sym_scale_t != NULL ? op->sym_scale_t[column] : op->sym_scale[column];
    if (k == MEAN && backward)
        return op->mean_scale_t != NULL ? op->mean_scale_t[column] : op->mean_scale[column];
    return 1.0f;
}

/* Row i of op (or of its transpose) times x, by the formulas in graph/operator.h. */
static double apply_row(const gnti_operator *op, kind k, bool backward, int64_t i, const double *x)
{
    const gnti_graph *g = backward ? op->transposed : op->forward;
    const double loop = op->loop != NULL ? (double)op->loop[i] : 0.0;
    const double self = op->self != NULL ? (double)op->self[i] : 1.0;
    double sum = (k == SYM ? self : loop) * (double)scale_of(op, k, backward, i) * x[i];

    for (int64_t a = g->offsets[i]; a < g->offsets[i + 1]; a++) {
        const double w = g->weights != NULL ? (double)g->weights[a] : 1.0;

        sum += w * (double)scale_of(op, k, backward, g->columns[a]) * x[g->columns[a]];
    }
    if (k == SYM)
        sum *= (double)op->sym_scale[i];
    return k == MEAN && !backward ? (double)op->mean_scale[i] * sum : sum;
}

/* rows[r]: a value for own rows from their ids, the rest carried by the plans. */
static const char *carry(const job *j, bool backward, bool ids, double **rows)
{
    for (int32_t r = 0; r < j->num_ranks; r++) {
        const gnti_part *p = j->parts[r];
        const int64_t num = backward ? p->op->num_src_t : p->op->num_src;

        gnt_assert_ok(gnti_calloc_array(&rows[r], num));
        for (int64_t i = 0; i < p->num_own; i++)
            rows[r][i] = ids ? (double)p->ids[i] : value_of(p->ids[i]);
    }
    return gnt_part_case_exchange(j->parts, j->num_ranks, backward, rows);
}

static void drop(double **rows, int32_t num_ranks)
{
    for (int32_t r = 0; r < num_ranks; r++)
        gnti_free(rows[r]);
}

static const char *products_fit(const job *j, bool backward)
{
    double *rows[8] = { NULL }, *x = NULL;
    const char *bad = carry(j, backward, false, rows);

    gnt_assert_ok(gnti_alloc_array(&x, j->num_nodes));
    for (int64_t i = 0; i < j->num_nodes; i++)
        x[i] = value_of(j->nodes[i]);
    for (int32_t r = 0; r < j->num_ranks && bad == NULL; r++) {
        const gnti_part *p = j->parts[r];

        for (int k = 0; k < NUM_KINDS && bad == NULL; k++)
            for (int64_t i = 0; i < p->num_own && bad == NULL; i++) {
                const double want = apply_row(j->whole, (kind)k, backward, j->row_of[p->ids[i]], x);

                if (!(fabs(apply_row(p->op, (kind)k, backward, i, rows[r]) - want) <=
                      1e-6 * (1 + fabs(want))))
                    bad =
                        backward ? "a row of the transposed product differs" : "a row of the product differs";
            }
    }
    gnti_free(x);
    drop(rows, j->num_ranks);
    return bad;
}

/* Entries ascend by (chunk, id), and interior rows are those without a halo row. */
static const char *order_fits(const job *j, bool backward)
{
    double *ids[8] = { NULL };
    const char *bad = carry(j, backward, true, ids);

    for (int32_t r = 0; r < j->num_ranks && bad == NULL; r++) {
        const gnti_part *p = j->parts[r];
        const gnti_graph *g = backward ? p->op->transposed : p->op->forward;
        const gnti_halo_plan *plan = backward ? p->backward : p->forward;
        int64_t inner = 0, outer = 0;

        for (int64_t i = 0; i < p->num_own && bad == NULL; i++) {
            int64_t previous = -1;
            bool local = true;

            for (int64_t a = g->offsets[i]; a < g->offsets[i + 1]; a++) {
                const int64_t id = (int64_t)ids[r][g->columns[a]];
                const int64_t key = ((int64_t)j->partition.chunk_of[id] << 40) + id;

                if (key <= previous)
                    bad = "entries are not in global order";
                if (!backward && id != p->ids[g->columns[a]])
                    bad = "a halo row has another id than its sender's";
                local = local && g->columns[a] < p->num_own;
                previous = key;
            }
            if (local ? inner >= plan->num_interior || plan->interior[inner++] != i
                      : outer >= plan->num_boundary || plan->boundary[outer++] != i)
                bad = "interior and boundary rows are wrong";
        }
    }
    drop(ids, j->num_ranks);
    return bad;
}

/* Halo rows of all parts, counted by the definition: for each node the other ranks among its readers. */
static const char *volume_fits(const job *j, bool backward)
{
    const gnti_graph *readers = backward ? j->whole->forward : j->whole->transposed;
    int64_t want = 0, got = 0, own = 0;

    for (int64_t i = 0; i < j->num_nodes; i++) {
        bool seen[8] = { false };

        seen[j->owner[j->partition.chunk_of[j->nodes[i]]]] = true;
        for (int64_t a = readers->offsets[i]; a < readers->offsets[i + 1]; a++) {
            const int32_t q = j->owner[j->partition.chunk_of[j->nodes[readers->columns[a]]]];

            want += !seen[q];
            seen[q] = true;
        }
    }
    for (int32_t r = 0; r < j->num_ranks; r++) {
        got += (backward ? j->parts[r]->backward : j->parts[r]->forward)->num_halo;
        own += j->parts[r]->num_own;
    }
    if (own != j->num_nodes)
        return "own rows of all parts are not all nodes";
    return got == want ? NULL : "the halo rows of all parts are not the volume";
}

/* Own rows chunk by chunk, ids ascending in a chunk, chunk_start true; facts that all parts share. */
static const char *rows_fit(const job *j)
{
    for (int32_t r = 0; r < j->num_ranks; r++) {
        const gnti_part *p = j->parts[r];

        if (p->op->symmetric != j->whole->symmetric || p->num_nodes != j->num_nodes ||
            p->num_arcs != j->whole->forward->num_arcs)
            return "facts of the whole graph are wrong";
        if ((p->op->loop == NULL) != (j->whole->loop == NULL) ||
            (p->op->self == NULL) != (j->whole->self == NULL) ||
            (p->op->forward->weights == NULL) != (j->whole->forward->weights == NULL))
            return "loops or weights are there on some ranks only";
        if (p->op->symmetric && p->backward != p->forward)
            return "two plans of a symmetric graph";
        for (int32_t c = 0; c < p->num_own_chunks; c++)
            for (int64_t i = p->chunk_start[c]; i < p->chunk_start[c + 1]; i++)
                if (j->partition.chunk_of[p->ids[i]] != p->own_chunks[c] ||
                    (i > p->chunk_start[c] && p->ids[i] <= p->ids[i - 1]))
                    return "own rows are not in global order";
        if (p->chunk_start[p->num_own_chunks] != p->num_own)
            return "chunks do not cover the own rows";
    }
    return NULL;
}

static const char *one_equals_all(const job *j)
{
    for (int32_t r = 0; r < j->num_ranks; r++) {
        gnti_part *p = NULL;
        const char *bad = NULL;

        gnt_assert_ok(gnti_part_make(&j->source, r, &p));
        bad = gnt_part_case_compare(p, j->parts[r]);
        gnti_part_free(&p);
        if (bad != NULL)
            return bad;
    }
    return NULL;
}

/* The same nodes under other row numbers, as in a rewritten dataset: the same parts. */
static const char *renamed_equals(const job *j)
{
    const int64_t n = j->partition.num_nodes, step = n > 1 ? n - 1 : 1;
    gnti_part_source source = j->source;
    gnti_graph *renamed = NULL;
    int64_t *rank = NULL, *origin = NULL, *nodes = NULL, num = 0;
    gnti_part *parts[8] = { NULL };
    const char *bad = NULL;

    gnt_assert_ok(gnti_alloc_array(&rank, n));
    gnt_assert_ok(gnti_alloc_array(&origin, n));
    gnt_assert_ok(gnti_alloc_array(&nodes, n));
    for (int64_t v = 0; v < n; v++) { /* n - 1 is coprime to n */
        rank[v] = (v * step + 1) % n;
        origin[rank[v]] = v;
    }
    for (int64_t r = 0; r < n; r++)
        if (j->row_of[origin[r]] >= 0)
            nodes[num++] = r;
    gnt_assert_ok(gnti_graph_permute(j->sources, rank, NULL, &renamed));
    source.graph = renamed;
    source.origin = origin;
    source.nodes = source.nodes != NULL ? nodes : NULL;
    gnt_assert_ok(gnti_parts_make(&source, parts));
    for (int32_t r = 0; r < j->num_ranks; r++) {
        bad = bad != NULL ? bad : gnt_part_case_compare(parts[r], j->parts[r]);
        gnti_part_free(&parts[r]);
    }
    gnti_graph_free(&renamed);
    gnti_free(nodes);
    gnti_free(origin);
    gnti_free(rank);
    return bad;
}

static const char *parts_fit(const gnt_prop_graph *p, void *user)
{
    const part_law *law = user;
    const char *bad = NULL;
    job j;

    job_make(p, law, &j);
    bad = rows_fit(&j);
    for (int backward = 0; backward < 2 && bad == NULL; backward++) {
        bad = products_fit(&j, backward);
        if (bad == NULL)
            bad = order_fits(&j, backward);
        if (bad == NULL)
            bad = volume_fits(&j, backward);
    }
    if (bad == NULL)
        bad = one_equals_all(&j);
    if (bad == NULL)
        bad = renamed_equals(&j);
    job_free(&j);
    return bad;
}

static void test_parts_fit(void **state)
{
    static const int32_t ranks[] = { 1, 2, 3, 4, 7, 8 }, chunks[] = { 1, 4, 9, 8, 16, 8 };

    (void)state;
    for (int i = 0; i < 6; i++)
        for (int variant = 0; variant < 4; variant++)
            for (int spread = 0; spread < 3; spread++) {
                part_law law = { variant % 2 == 1, variant >= 2, chunks[i], ranks[i], spread };

                gnt_prop_run("parts are the whole graph", parts_fit, &law, 2, 60);
            }
}

/* A ring of 12 in 3 parts: every degree is 2, on boundary rows and halo rows too. */
static void test_ring_degrees(void **state)
{
    gnti_graph *g = NULL;
    gnti_partition p;
    gnti_part *parts[3] = { NULL };
    int32_t owner[3] = { 0, 1, 2 };
    int64_t source[12], target[12];
    const gnti_arc_list arcs = { .num_arcs = 12, .source = source, .target = target };
    const gnti_build_options options = { .symmetrise = true };

    (void)state;
    for (int64_t i = 0; i < 12; i++) {
        source[i] = i;
        target[i] = (i + 1) % 12;
    }
    gnt_assert_ok(gnti_graph_build(12, &arcs, &options, NULL, NULL, &g));
    gnt_part_case_partition(12, 3, 1, &p);
    for (int64_t i = 0; i < 12; i++)
        p.chunk_of[i] = (int32_t)(i / 4);
    gnt_assert_ok(gnti_parts_make(&(gnti_part_source){ g, &p, owner, 3, NULL, 0, NULL }, parts));
    for (int r = 0; r < 3; r++) {
        assert_int_equal(parts[r]->num_own, 4);
        assert_int_equal(parts[r]->forward->num_halo, 2);
        assert_int_equal(parts[r]->forward->num_boundary, 2);
        for (int64_t i = 0; i < 6; i++) {
            assert_true(parts[r]->op->sym_scale[i] == (float)(1.0 / sqrt(3.0)));
            assert_true(parts[r]->op->mean_scale_t[i] == 0.5f);
        }
    }
    for (int r = 0; r < 3; r++)
        gnti_part_free(&parts[r]);
    gnt_part_case_partition_clear(&p);
    gnti_graph_free(&g);
}

static void test_mistakes(void **state)
{
    gnti_graph *g = NULL;
    gnti_partition p;
    gnti_part *parts[2] = { NULL };
    int32_t owner[2] = { 0, 2 };
    const int64_t nodes[2] = { 3, 1 };
    gnti_part_source all, some;

    (void)state;
    gnt_assert_ok(gnti_graph_alloc(5, 5, 0, false, &g));
    gnt_part_case_partition(5, 2, 1, &p);
    all = some = (gnti_part_source){ .graph = g, .partition = &p, .owner = owner, .num_ranks = 2 };
    some.nodes = nodes;
    some.num_nodes = 2;
    gnt_assert_status(gnti_parts_make(&all, parts), GNT_ERR_ARG);
    gnt_assert_error_has("chunk 1", "rank 2", "0 .. 1");
    owner[1] = 1;
    gnt_assert_status(gnti_parts_make(&some, parts), GNT_ERR_ARG);
    gnt_assert_error_has("node 1 follows 3");
    gnt_assert_status(gnti_part_make(&all, 2, parts), GNT_ERR_ARG);
    p.num_nodes = 4;
    gnt_assert_status(gnti_parts_make(&all, parts), GNT_ERR_ARG);
    gnt_assert_error_has("4 nodes", "5");
    p.num_nodes = 5;
    assert_null(parts[0]);
    gnt_part_case_partition_clear(&p);
    gnti_graph_free(&g);
}

static gnti_graph *directed_graph(void)
{
    int64_t source[] = { 0, 1, 2, 3, 4, 5, 5, 2 }, target[] = { 1, 2, 3, 4, 5, 0, 5, 0 };
    float weight[] = { 1, 2, 1, 0.5f, 1, 1, 3, 1 };
    const gnti_arc_list arcs = { .num_arcs = 8, .source = source, .target = target, .weight = weight };
    const gnti_build_options options = { .symmetrise = false };
    gnti_graph *g = NULL;

    gnt_assert_ok(gnti_graph_build(6, &arcs, &options, NULL, NULL, &g));
    return g;
}

static void test_brutal(void **state)
{
    gnti_graph *g = directed_graph();
    gnti_partition p;
    int32_t owner[3] = { 1, 0, 1 };
    gnti_part *parts[2] = { NULL }, *one = NULL;
    const gnti_part_source all = { .graph = g, .partition = &p, .owner = owner, .num_ranks = 2 };

    (void)state;
    gnt_part_case_partition(6, 3, 1, &p);
    GNT_BRUTAL_OUT(gnti_parts_make(&all, parts), parts);
    GNT_BRUTAL_OUT(gnti_part_make(&all, 1, &one), one);
    for (int r = 0; r < 2; r++)
        gnti_part_free(&parts[r]);
    gnti_part_free(&one);
    gnt_part_case_partition_clear(&p);
    gnti_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_fit),
        cmocka_unit_test(test_ring_degrees),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_brutal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
