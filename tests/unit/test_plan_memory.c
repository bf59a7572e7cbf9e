/* SPDX-License-Identifier: Apache-2.0 */
/* The memory pass. Placement of random lifetimes: no two that live together overlap, never below the largest sum of live
 * bytes. Programs of every model and of 300 random tapes are replayed: a value that is read was not overwritten since it was
 * written, an output lies over an input only where the op allows it; the workspace is at most 1.05 times the live bytes for
 * models.
 */
#include "tests/support/nn_case.h"
#include "tests/support/nn_nets.h"
#include "tests/support/nn_random.h"

#include "nn/program_state.h"

#include <stdio.h>
#include <string.h>

static uint32_t draw(uint64_t seed, int64_t i, uint32_t k)
{
    return gnti_below(gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 9, 0, i, 0), k);
}

static void test_random_items(void **state)
{
    enum { MAX_ITEMS = 60 };

    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        gnti_memory_item items[MAX_ITEMS];
        const int64_t count = draw(seed, 0, MAX_ITEMS);
        size_t total = 0, peak = 0;

        for (int64_t i = 0; i < count; i++) {
            items[i].bytes = draw(seed, 4 * i + 1, 5000);
            items[i].first = draw(seed, 4 * i + 2, 40);
            items[i].last = items[i].first + draw(seed, 4 * i + 3, 20);
        }
        gnt_assert_ok(gnti_memory_place(items, count, true, &total, &peak));
        assert_true(total >= peak);
        for (int64_t i = 0; i < count; i++) {
            assert_true(items[i].offset + items[i].bytes <= total && items[i].offset % 64 == 0);
            for (int64_t k = 0; k < i; k++)
                if (items[i].first <= items[k].last && items[k].first <= items[i].last)
                    assert_true(items[i].offset + items[i].bytes <= items[k].offset ||
                                items[k].offset + items[k].bytes <= items[i].offset);
        }
    }
}

static bool overlap(const gnti_program *p, int32_t a, int32_t b)
{
    const gnti_value *v = &p->ir.values[a], *w = &p->ir.values[b];
    const size_t bytes_a = gnti_value_bytes(p, a), bytes_b = gnti_value_bytes(p, b);

    return a != b && bytes_a > 0 && bytes_b > 0 && v->storage == GNTI_IN_WORKSPACE &&
           w->storage == GNTI_IN_WORKSPACE && (size_t)v->offset < (size_t)w->offset + bytes_b &&
           (size_t)w->offset < (size_t)v->offset + bytes_a;
}

/* A text for the first rule that node i breaks. */
static const char *replay_node(const gnti_program *p, const gnti_node *n, bool *good)
{
    int32_t reads[GNTI_NODE_READS];
    const int count = gnti_node_reads(n, reads);

    for (int k = 0; k < count; k++) {
        const int32_t root = gnti_ir_root(&p->ir, reads[k]);

        if (p->ir.values[root].storage == GNTI_IN_WORKSPACE && !good[root])
            return "reads what was overwritten";
    }
    for (int32_t o = 0; o < n->num_out; o++) {
        const int32_t out = n->out[o];

        for (int k = 0; k < count && out != 0; k++)
            if (overlap(p, out, gnti_ir_root(&p->ir, reads[k])) && n->op != GNTI_IR_LOSS &&
                n->added != reads[k] && n->epilogue.gate != reads[k] && !gnti_op_get_info(n->op)->in_place)
                return "writes over an operand";
    }
    for (int32_t o = 0; o < n->num_out; o++) {
        const int32_t out = n->out[o];

        if (out == 0)
            continue;
        for (int32_t v = 1; v < p->ir.num_values; v++)
            good[v] = good[v] && !overlap(p, out, v);
        good[out] = true;
    }
    return NULL;
}

static void replay(const char *text, const gnti_program *p)
{
    bool *good = NULL;

    gnt_assert_ok(gnti_calloc_array(&good, p->ir.num_values + 1));
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const char *broken = p->ir.nodes[i].hoisted ? NULL : replay_node(p, &p->ir.nodes[i], good);

        if (broken != NULL) {
            print_error("'%s', op %lld %s: %s\n", text, (long long)i + 1,
                        gnti_op_get_info(p->ir.nodes[i].op)->name, broken);
            fail();
        }
    }
    for (int32_t v = 1; v < p->ir.num_values; v++)
        if (p->ir.values[v].keep && p->ir.values[v].storage == GNTI_IN_WORKSPACE && !good[v] &&
            v != p->ir.logits)
            assert_true(p->ir.values[v].offset < 0); /* dead values have no place */
    if (p->ir.logits != 0 && p->ir.values[p->ir.logits].keep &&
        p->ir.values[p->ir.logits].storage == GNTI_IN_WORKSPACE)
        assert_true(good[p->ir.logits]);
    gnti_free(good);
}

static void check(gnt_context *ctx, const nn_data *d, const char *text, bool keep, bool evaluation,
                  double bound)
{
    const nn_setup s = {
        .ctx = ctx, .data = d, .text = text, .members = 3, .keep_logits = keep, .evaluation = evaluation
    };
    gnti_program_bytes bytes;
    nn_case c;

    nn_case_make(&s, &c);
    replay(text, c.program);
    gnti_program_get_bytes(c.program, &bytes);
    if ((double)bytes.workspace > bound * (double)bytes.live_peak)
        print_error("'%s': workspace %zu, live bytes %zu\n", text, bytes.workspace, bytes.live_peak);
    assert_true((double)bytes.workspace <= bound * (double)bytes.live_peak);
    nn_case_free(&c);
}

static void test_programs(void **state)
{
    static const char *const texts[] = {
        "gcn:16, gcn",
        "gcn:16:dropout=0.5, gcn:24:norm=batch, gcn:12:norm=layer:residual=true, linear",
        "net:kind=gcn",
        "net:kind=sage:drop=0.5",
        "net:kind=gin:drop=0.5",
        "net:kind=sgc",
        "net:kind=appnp:drop=0.5",
        "net:kind=gcnii:drop=0.5",
        "net:kind=maxpool"
    };
    gnt_context *ctx = NULL;
    nn_data d;
    char text[96];

    (void)state;
    gnt_assert_ok(gnt_context_create("device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_random_layer));
    nn_data_make(&d, 71, 300, 900, 12, 5, false, false);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int k = 0; k < 3; k++)
            check(ctx, &d, texts[i], k == 1, k == 2, 1.05);
    for (int seed = 0; seed < 300; seed++) {
        snprintf(text, sizeof text, "random:8:seed=%d:length=%d, random:seed=%d:length=6", seed, seed % 12,
                 seed + 7000);
        check(ctx, &d, text, seed % 3 == 1, seed % 3 == 2, 1.3);
    }
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_items),
        cmocka_unit_test(test_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
