/* SPDX-License-Identifier: Apache-2.0 */
/* Row spaces: GCN and a user's GIN, each recorded once (a chain of spaces), run on the whole graph, on two-hop bipartite
 * blocks and on random clusters, against dense matrices in float64. One batch of everything equals the full batch,
 * gradients too. Mixing spaces is a recording error that names layer, op and both spaces.
 */
#include "tests/support/nn_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 40, WIDTH = 6, HIDDEN = 5, CLASSES = 3 };

/* ---- GIN as a user writes it ---- */

typedef struct gin {
    float eps_start;
    bool forget; /* the mistake that square spaces hide: h itself where its destination's rows are meant */
    gnt_param eps, w1, b1, w2, b2;
} gin;

static const gnt_option gin_options[] = {
    GNT_OPTION_FLOAT("eps", gin, eps_start, 0.0, -1.0, 1.0, "start of the learnable self weight"),
    GNT_OPTION_BOOL("forget", gin, forget, 0, "leave gnt_self out"),
    GNT_OPTION_END,
};

static void gin_build(void *state, gnt_builder *b)
{
    gin *l = state;
    const int64_t in = gnt_builder_in(b), out = gnt_builder_out(b);
    const gnt_init zero = { GNT_INIT_CONST, 0.0f }, glorot = { GNT_INIT_GLOROT, 1.0f };

    l->eps = gnt_builder_param(b, "eps", 1, 1, (gnt_init){ GNT_INIT_CONST, l->eps_start });
    l->w1 = gnt_builder_param(b, "w1", in, out, glorot);
    l->b1 = gnt_builder_param(b, "b1", 1, out, zero);
    l->w2 = gnt_builder_param(b, "w2", out, out, glorot);
    l->b2 = gnt_builder_param(b, "b2", 1, out, zero);
}

static gnt_var gin_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const gin *l = state;
    const gnt_var own = l->forget ? in->h : gnt_self(t, in->adj, in->h);
    const gnt_var self = gnt_add(t, own, gnt_scale(t, own, gnt_use(t, l->eps)));
    const gnt_var sum = gnt_add(t, self, gnt_aggregate(t, in->adj, GNT_AGG_SUM, in->h));
    const gnt_var mid = gnt_relu(t, gnt_linear(t, sum, l->w1, l->b1));

    return gnt_linear(t, mid, l->w2, l->b2);
}

static const gnt_layer_class gin_layer = { .struct_size = sizeof gin_layer,
                                           .name = "gin",
                                           .state_size = sizeof(gin),
                                           .options = gin_options,
                                           .build = gin_build,
                                           .forward = gin_forward };

/* ---- the dense oracle ---- */

typedef struct dense {
    int64_t n;
    double a[NODES][NODES]; /* destination, source; loops on the diagonal */
    double z[NODES][WIDTH + HIDDEN + CLASSES];
} dense;

/* Arcs among `nodes`, weights included. */
static void dense_graph(dense *d, const nn_data *data, const int64_t *nodes, int64_t n)
{
    memset(d, 0, sizeof *d);
    d->n = n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t e = data->sources->offsets[nodes[k]]; e < data->sources->offsets[nodes[k] + 1]; e++)
                if (data->sources->columns[e] == nodes[i])
                    d->a[i][k] = data->sources->weights != NULL ? (double)data->sources->weights[e] : 1.0;
}

static void dense_linear(const dense *d, double h[NODES][WIDTH], int64_t in, const float *w, const float *b,
                         int64_t out, bool relu)
{
    for (int64_t i = 0; i < d->n; i++) {
        double y[WIDTH] = { 0.0 };

        for (int64_t c = 0; c < out; c++) {
            for (int64_t k = 0; k < in; k++)
                y[c] += h[i][k] * (double)w[k * out + c];
            y[c] += (double)b[c];
            y[c] = relu && y[c] < 0.0 ? 0.0 : y[c];
        }
        memcpy(h[i], y, sizeof y);
    }
}

/* h = S h (sym) or (1 + eps) h + A h. */
static void dense_aggregate(const dense *d, double h[NODES][WIDTH], bool sym, double eps)
{
    double y[NODES][WIDTH] = { { 0.0 } }, t[NODES], own[NODES];

    for (int64_t i = 0; i < d->n; i++) {
        double degree = 0.0;

        own[i] = d->a[i][i] != 0.0 ? d->a[i][i] : 1.0;
        for (int64_t k = 0; k < d->n; k++)
            degree += k != i ? d->a[i][k] : 0.0;
        t[i] = 1.0 / sqrt(degree + own[i]);
    }
    for (int64_t i = 0; i < d->n; i++)
        for (int64_t k = 0; k < d->n; k++)
            for (int64_t c = 0; c < WIDTH; c++) {
                if (sym)
                    y[i][c] += t[i] * t[k] * (k == i ? own[i] : d->a[i][k]) * h[k][c];
                else
                    y[i][c] += (d->a[i][k] + (k == i ? 1.0 + eps : 0.0)) * h[k][c];
            }
    memcpy(h, y, sizeof y);
}

/* Logits of the two layers with the weights of member 0; params in order of declaration. */
static void dense_run(const dense *d, const nn_data *data, const int64_t *nodes, bool is_gin, const float *p,
                      double h[NODES][WIDTH])
{
    const int64_t in[2] = { WIDTH, HIDDEN }, out[2] = { HIDDEN, CLASSES };

    for (int64_t i = 0; i < d->n; i++)
        for (int64_t c = 0; c < WIDTH; c++)
            h[i][c] = (double)data->dense[nodes[i] * WIDTH + c];
    for (int l = 0; l < 2; l++) {
        dense_aggregate(d, h, !is_gin, is_gin ? (double)p[0] : 0.0);
        p += is_gin;
        dense_linear(d, h, in[l], p, p + in[l] * out[l], out[l], is_gin || l == 0);
        p += (in[l] + 1) * out[l];
        if (is_gin) {
            dense_linear(d, h, out[l], p, p + out[l] * out[l], out[l], l == 0);
            p += (out[l] + 1) * out[l];
        }
    }
}

/* ---- runs ---- */

typedef struct batch {
    const gnti_operator *ops[2];
    gnti_features x;
    int32_t labels[NODES];
    float weight[NODES];
    int64_t nodes[NODES], num_nodes; /* rows of the first space */
    int64_t roots[NODES], num_roots; /* rows of the last space */
} batch;

static void fill_rows(batch *b, const nn_data *data)
{
    b->x = (gnti_features){ .rows = b->num_nodes, .width = WIDTH };
    gnt_assert_ok(gnti_alloc_array(&b->x.dense, b->num_nodes * WIDTH + 1));
    for (int64_t i = 0; i < b->num_nodes; i++)
        memcpy(b->x.dense + i * WIDTH, data->dense + b->nodes[i] * WIDTH, WIDTH * sizeof(float));
    for (int64_t i = 0; i < b->num_roots; i++) {
        b->labels[i] = data->labels[b->roots[i]];
        b->weight[i] = 1.0f;
    }
}

static void bind_batch(nn_case *c, batch *b)
{
    const gnti_batch bound = { .adj = b->ops, .x = &b->x, .labels = b->labels, .weight = b->weight };

    c->rows = b->num_roots;
    c->norm = 1.0f / (float)b->num_roots;
    gnt_assert_ok(gnti_program_bind(c->program, &bound));
}

static void check_logits(nn_case *c, const batch *b, const dense *d, const nn_data *data, const int64_t *all,
                         bool is_gin)
{
    float z[NODES * CLASSES], p[512];
    double h[NODES][WIDTH], want[NODES * CLASSES], loss;

    nn_case_weights(c, 0, p);
    nn_case_run(c, 0, 0.0f, NULL, &loss);
    gnt_assert_ok(gnti_program_read_logits(c->program, 0, z));
    dense_run(d, data, all, is_gin, p, h);
    for (int64_t r = 0; r < b->num_roots; r++)
        for (int64_t k = 0; k < d->n; k++)
            if (all[k] == b->roots[r])
                for (int64_t j = 0; j < CLASSES; j++)
                    want[r * CLASSES + j] = h[k][j];
    gnt_assert_close_f64(z, want, b->num_roots * CLASSES, 1e-5, 1e-6);
}

static void whole_batch(batch *b, const nn_data *data)
{
    b->ops[0] = b->ops[1] = data->op;
    b->num_nodes = b->num_roots = NODES;
    for (int64_t i = 0; i < NODES; i++)
        b->nodes[i] = b->roots[i] = i;
    fill_rows(b, data);
}

/* Two hops from these roots; the caller frees the two operators. */
static void block_batch(batch *b, const nn_data *data, const int64_t *roots, int64_t num_roots,
                        gnti_operator *ops[2])
{
    gnt_assert_ok(gnti_operator_block(data->op, roots, num_roots, &ops[1]));
    gnt_assert_ok(gnti_operator_block(data->op, ops[1]->src_ids, ops[1]->num_src, &ops[0]));
    b->ops[0] = ops[0];
    b->ops[1] = ops[1];
    b->num_roots = num_roots;
    memcpy(b->roots, roots, (size_t)num_roots * sizeof *roots);
    b->num_nodes = ops[0]->num_src;
    memcpy(b->nodes, ops[0]->src_ids, (size_t)b->num_nodes * sizeof *b->nodes);
    fill_rows(b, data);
}

static void run_blocks(nn_case *c, const nn_data *data, const dense *whole, const int64_t *all, bool is_gin)
{
    for (int64_t size = 1; size <= NODES; size += 13) {
        int64_t roots[NODES];
        gnti_operator *ops[2] = { NULL, NULL };
        batch b = { 0 };

        for (int64_t i = 0; i < size; i++)
            roots[i] = (i * 7 + size) % NODES;
        block_batch(&b, data, roots, size, ops);
        bind_batch(c, &b);
        check_logits(c, &b, whole, data, all, is_gin);
        gnti_free(b.x.dense);
        gnti_operator_free(&ops[0]);
        gnti_operator_free(&ops[1]);
    }
}

static void run_clusters(nn_case *c, const nn_data *data, bool is_gin)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        gnti_operator *op = NULL;
        batch b = { 0 };
        dense part;

        for (int64_t i = 0; i < NODES; i++)
            if (gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_PERMUTE, 0, 0, i, 0) % 3 != 0)
                b.nodes[b.num_nodes++] = i;
        b.num_roots = b.num_nodes;
        memcpy(b.roots, b.nodes, sizeof b.roots);
        gnt_assert_ok(gnti_operator_induced(data->sources, b.nodes, b.num_nodes, &op));
        b.ops[0] = b.ops[1] = op;
        fill_rows(&b, data);
        bind_batch(c, &b);
        dense_graph(&part, data, b.nodes, b.num_nodes);
        check_logits(c, &b, &part, data, b.nodes, is_gin);
        gnti_free(b.x.dense);
        gnti_operator_free(&op);
    }
}

static gnt_context *make_context(void)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create("device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &gin_layer));
    return ctx;
}

static void run_all(gnt_context *ctx, const nn_data *data, const char *text, bool is_gin)
{
    const gnti_operator *ops[2] = { data->op, data->op };
    const nn_setup s = { .ctx = ctx,
                         .data = data,
                         .text = text,
                         .blocks = true,
                         .ops = ops,
                         .keep_logits = true,
                         .batches = true };
    batch whole = { 0 };
    dense d;
    nn_case c;

    whole_batch(&whole, data);
    dense_graph(&d, data, whole.nodes, NODES);
    nn_case_make(&s, &c); /* recorded and planned once; everything below only binds */
    nn_case_fill(&c, true, 1.0f);
    check_logits(&c, &whole, &d, data, whole.nodes, is_gin);
    run_blocks(&c, data, &d, whole.nodes, is_gin);
    run_clusters(&c, data, is_gin);
    bind_batch(&c, &whole);
    check_logits(&c, &whole, &d, data, whole.nodes, is_gin);
    gnti_free(whole.x.dense);
    nn_case_free(&c);
}

static void test_oracle(void **state)
{
    gnt_context *ctx = make_context();

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        nn_data d;

        nn_data_make(&d, 51 + (uint64_t)kind, NODES, 90, WIDTH, CLASSES, kind % 2 == 0, kind >= 2);
        run_all(ctx, &d, "gcn:5, gcn", false);
        run_all(ctx, &d, "gin:5:eps=0.2, gin", true);
        nn_data_free(&d);
    }
    gnt_context_free(&ctx);
}

/* Loss and gradients of one batch of all nodes, as blocks and as one cluster, are those of the full batch. */
static void test_one_batch_of_everything(void **state)
{
    static const char *const texts[] = { "gcn:5:dropout=0.4, gcn", "gin:5, gin",
                                         "sage:5:dropout=0.4, sage:aggregate=max",
                                         "gat:3x2:act=elu:attn-dropout=0.4, gat:attn-dropout=0.3" };
    gnt_context *ctx = make_context();
    int64_t all[NODES];
    nn_data data;

    (void)state;
    nn_data_make(&data, 61, NODES, 90, WIDTH, CLASSES, false, false);
    for (int64_t i = 0; i < NODES; i++)
        all[i] = i;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        const nn_setup square = { .ctx = ctx, .data = &data, .text = texts[k], .keep_logits = true };
        nn_setup chain = square;
        const gnti_operator *ops[2] = { data.op, data.op };
        gnti_operator *blocks[2];
        nn_case full, parts;
        batch b = { 0 }, whole = { 0 };
        float want[512], got[512];
        double loss, same;
        int64_t count;

        chain.blocks = true;
        chain.ops = ops;
        whole_batch(&whole, &data);
        nn_case_make(&square, &full);
        nn_case_fill(&full, true, 1.0f);
        bind_batch(&full, &whole);
        nn_case_run(&full, 3, 0.0f, NULL, &loss);
        count = nn_case_grads(&full, 0, want);
        nn_case_make(&chain, &parts);
        nn_case_fill(&parts, true, 1.0f);
        block_batch(&b, &data, all, NODES, blocks);
        bind_batch(&parts, &b);
        nn_case_run(&parts, 3, 0.0f, NULL, &same);
        nn_case_grads(&parts, 0, got);
        assert_true(fabs(loss - same) <= 1e-6);
        gnt_assert_close(got, want, count, 1e-5, 1e-7);
        gnti_free(b.x.dense);
        gnti_free(whole.x.dense);
        nn_case_free(&parts);
        nn_case_free(&full);
        gnti_operator_free(&blocks[0]);
        gnti_operator_free(&blocks[1]);
    }
    nn_data_free(&data);
    gnt_context_free(&ctx);
}

static void test_mixing_is_an_error(void **state)
{
    gnt_context *ctx = make_context();
    gnti_inputs in = { 0 };
    gnt_model *model = NULL;
    gnt_tape *t = NULL;
    gnti_program *program = NULL;

    (void)state;
    gnt_assert_ok(
        gnti_model_create_for(ctx, WIDTH, CLASSES, GNT_LABELS_CLASS, "gcn:5, gin:forget=true", NULL, &model));
    for (int square = 0; square < 2; square++) {
        gnt_assert_ok(gnti_tape_create(ctx, 1, false, &t));
        gnti_record_inputs(t, model, square != 0, false, &in);
        gnt_model_record(model, t, in.adj, in.x);
        if (square != 0) {
            gnt_assert_ok(gnti_plan_program(t, model, NULL, NULL, NULL, &program));
            gnti_program_free(&program);
        } else {
            gnt_assert_status(gnti_plan_program(t, model, NULL, NULL, NULL, &program), GNT_ERR_ARG);
            gnt_assert_error_has("layer 2 'gin'", "add", "row space 2", "row space 3", "gnt_self");
            assert_null(program);
        }
        gnti_tape_free(&t);
    }
    gnt_assert_status(gnt_check_gradient(ctx, "gin:4:forget=true", 0.01), GNT_ERR_ARG);
    gnt_assert_error_has("gnt_self");
    gnt_assert_ok(gnt_check_gradient(ctx, "gin:4:eps=0.1, gin:4, linear", 0.01));
    gnt_model_free(&model);
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_one_batch_of_everything),
        cmocka_unit_test(test_mixing_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
