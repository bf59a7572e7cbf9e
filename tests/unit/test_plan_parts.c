/* SPDX-License-Identifier: Apache-2.0 */
/* Programs over parts compute what one device computes: losses, weights and logits of P ranks as threads, P in 1, 2, 3, 4, 7,
 * 8, over random partitions, within 1e-5 of one device and with equal bits at bitwise.
 * label: medium
 */
#include "tests/support/nn_nets.h"
#include "tests/support/nn_random.h"
#include "tests/support/parts_case.h"

#include <stdio.h>
#include <string.h>

static const int32_t rank_counts[] = { 1, 2, 3, 4, 7, 8 };
enum { NUM_COUNTS = 6, CHUNKS = 16 };

static gnt_context *make_context(bool bitwise)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(
        bitwise ? "device=cpu;threads=1;deterministic=bitwise" : "device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_random_layer));
    return ctx;
}

/* All counts of ranks against one device (rounding) or against one rank over the same partition (bits). */
static void all_counts(parts_problem *p, const gnti_partition *partition, const char *what)
{
    int32_t owner[CHUNKS];
    parts_result one = { 0 }, r = { 0 };

    p->context = make_context;
    if (p->bitwise) {
        parts_owner(1, partition->num_chunks, 1, false, owner);
        parts_run(p, partition, owner, 1, &one);
    } else {
        parts_run_whole(p, &one);
    }
    for (int i = 0; i < NUM_COUNTS; i++)
        for (int scattered = 0; scattered < 2; scattered++) {
            const char *text;

            parts_owner((uint64_t)i, partition->num_chunks, rank_counts[i], scattered != 0, owner);
            parts_run(p, partition, owner, rank_counts[i], &r);
            text = parts_differ(p, &r, &one, p->bitwise);
            if (text != NULL)
                fail_msg("%s, '%s', %d ranks%s%s: %s (loss %.9g, one device %.9g)\n%s", what, p->text,
                         rank_counts[i], scattered ? ", scattered" : "", p->bitwise ? ", bitwise" : "", text,
                         r.loss[p->steps - 1][0], one.loss[p->steps - 1][0], r.explain);
            parts_result_free(&r);
        }
    parts_result_free(&one);
}

static const char *const texts[] = {
    "gcn:16, gcn",
    "gcn:16:dropout=0.4, gcn:8:residual=true, gcn",
    "gcn:12:norm=batch:dropout=0.2, gcn:12:norm=layer, linear",
    "linear:8, gcn",
    "net:kind=gin:hidden=10",
    "net:kind=maxpool:hidden=9",
    "net:kind=sage:hidden=8:drop=0.3",
    "net:kind=gcnii:hidden=8",
    "net:kind=sgc:hidden=8",
    "net:kind=appnp:hidden=8:drop=0.2",
};

static void run_texts(bool symmetric, bool weighted, bool bitwise)
{
    nn_data d;
    gnti_partition *partition = parts_random(5, 120, CHUNKS);

    nn_data_make(&d, 11, 120, 420, 10, 4, symmetric, weighted);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int32_t members = 1; members <= 3; members += 2) {
            parts_problem p = {
                .data = &d, .text = texts[i], .members = members, .bitwise = bitwise, .steps = 3, .lr = 0.05f
            };

            all_counts(&p, partition, symmetric ? (weighted ? "weighted" : "undirected") : "directed");
        }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

static void test_undirected(void **state)
{
    (void)state;
    run_texts(true, false, false);
    run_texts(true, false, true);
}

static void test_directed(void **state)
{
    (void)state;
    run_texts(false, false, false);
    run_texts(false, true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undirected),
        cmocka_unit_test(test_directed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
