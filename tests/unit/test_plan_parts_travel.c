/* SPDX-License-Identifier: Apache-2.0 */
/* What travels between ranks: exchanges a step with and without hoisting, bytes by the formula, half of them on a bfloat16
 * wire, buffers of broadcast, transfers under products on a virtual clock and in the trace, no request for memory in a step
 * after the first.
 * label: medium
 * timeout: 600
 */
#include "tests/support/nn_nets.h"
#include "tests/support/parts_case.h"

#include "base/json.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { CHUNKS = 8 };

static gnt_context *make_context(bool bitwise)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(
        bitwise ? "device=cpu;threads=1;deterministic=bitwise" : "device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    return ctx;
}

static void run(parts_problem *p, const gnti_partition *partition, int32_t ranks, parts_result *out)
{
    int32_t owner[CHUNKS];

    p->context = make_context;
    parts_owner(3, CHUNKS, ranks, false, owner);
    parts_run(p, partition, owner, ranks, out);
}

/* ---- counts and bytes ---------------------------------------------------------------------------------------------- */

/* 2 (L - 1) exchanges with the first layer hoisted; without hoisting one more, or two when the product with the weights comes
 * first. Evaluation: L - 1. */
static void test_counts(void **state)
{
    static const struct {
        const char *text;
        uint32_t disabled;
        bool evaluation;
        int64_t step, bind;
    } cases[] = {
        { "gcn:16, gcn", 0, false, 2, 1 },
        { "gcn:16, gcn:16, gcn", 0, false, 4, 1 },
        { "gcn:16, gcn:16, gcn:16, gcn", 0, false, 6, 1 },
        { "gcn:16, gcn:16, gcn", 0, true, 2, 1 },
        { "gcn:24, gcn", GNTI_PASS_HOIST, false, 3, 0 },
        { "gcn:4, gcn", GNTI_PASS_HOIST, false, 4, 0 },
        { "linear:8, linear", 0, false, 0, 0 },
        { "net:kind=gin:hidden=10", 0, false, 2, 1 },
    };
    nn_data d;
    gnti_partition *partition = parts_random(5, 120, CHUNKS);

    (void)state;
    nn_data_make(&d, 11, 120, 300, 12, 4, true, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parts_problem p = { .data = &d,
                            .text = cases[i].text,
                            .members = 1,
                            .disabled = cases[i].disabled,
                            .evaluation = cases[i].evaluation,
                            .strategy = GNTI_STRATEGY_HALO,
                            .steps = 2 };
        parts_result r = { 0 };

        run(&p, partition, 3, &r);
        for (int k = 0; k < 3; k++) {
            if (r.counters[k].step_exchanges != cases[i].step ||
                r.counters[k].bind_exchanges != cases[i].bind)
                fail_msg("'%s': %lld exchanges a step, %lld when bound; expected %lld and %lld\n%s", p.text,
                         (long long)r.counters[k].step_exchanges, (long long)r.counters[k].bind_exchanges,
                         (long long)cases[i].step, (long long)cases[i].bind, r.explain);
        }
        parts_result_free(&r);
    }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* Two layers, widths 16 and 4: forward rows of H W, width 4 of M members, backward rows of G, as wide; X once. Masks of the
 * loss: one float a row. */
static void test_bytes(void **state)
{
    nn_data d;
    gnti_partition *partition = parts_random(5, 120, CHUNKS);

    (void)state;
    for (int directed = 0; directed < 2; directed++)
        for (int k = 0; k < 4; k++) {
            const int32_t members = k % 2 == 0 ? 1 : 3;
            const int64_t item = k < 2 ? 4 : 2, steps = 3;
            parts_problem p = { .data = &d,
                                .text = "gcn:16, gcn",
                                .members = members,
                                .block_members = 1,
                                .strategy = GNTI_STRATEGY_HALO,
                                .wire = k < 2 ? GNTI_WIRE_F32 : GNTI_WIRE_BF16,
                                .steps = steps };
            parts_result r = { 0 };

            nn_data_make(&d, 11, 120, 300, 12, 4, directed == 0, false);
            run(&p, partition, 4, &r);
            assert_non_null(strstr(r.explain, "rank 0 of 4: 2 exchanges a step, 1 when bound"));
            assert_non_null(strstr(r.explain, "on the wire: "));
            assert_non_null(strstr(r.explain, "halo (asked for halo)"));
            for (int i = 0; i < 4; i++) {
                const int64_t forward = r.sent_rows[i][0], backward = r.sent_rows[i][1];
                const int64_t step = (forward + backward) * 4 * members * item;
                const int64_t bind = forward * 12 * item + backward * 4;

                assert_int_equal(r.counters[i].step_bytes_sent, step);
                if (r.counters[i].counted.bytes_sent != bind + steps * step)
                    fail_msg("rank %d sent %lld bytes, the formula has %lld", i,
                             (long long)r.counters[i].counted.bytes_sent, (long long)(bind + steps * step));
            }
            parts_result_free(&r);
            nn_data_free(&d);
        }
    gnti_partition_free(&partition);
}

/* A rounded wire comes close and no closer. */
static void test_bf16_wire(void **state)
{
    nn_data d;
    gnti_partition *partition = parts_random(5, 120, CHUNKS);
    parts_problem p = { .data = &d, .text = "gcn:16, gcn", .members = 1, .steps = 3, .lr = 0.05f };
    parts_result exact = { 0 }, rounded = { 0 };

    (void)state;
    nn_data_make(&d, 11, 120, 300, 12, 4, true, false);
    p.strategy = GNTI_STRATEGY_HALO;
    run(&p, partition, 3, &exact);
    p.wire = GNTI_WIRE_BF16;
    run(&p, partition, 3, &rounded);
    assert_true(exact.loss[2][0] != rounded.loss[2][0]);
    assert_true(fabs(exact.loss[2][0] - rounded.loss[2][0]) < 1e-2);
    parts_result_free(&exact);
    parts_result_free(&rounded);
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* ---- broadcast ----------------------------------------------------------------------------------------------------- */

/* MG-GCN's setting: 3 hidden layers of 128. A large dense buffer is n / P rows of 128 floats (and their padding). */
static void test_broadcast_buffers(void **state)
{
    enum { NODES = 800, LAYERS = 4 };
    nn_data d;
    gnti_partition *partition = parts_random(5, NODES, CHUNKS);
    parts_problem p = { .data = &d,
                        .text = "gcn:128, gcn:128, gcn:128, gcn",
                        .members = 1,
                        .strategy = GNTI_STRATEGY_BROADCAST,
                        .steps = 2,
                        .lr = 0.01f };
    parts_result r = { 0 };
    int64_t most = 1;

    (void)state;
    nn_data_make(&d, 11, NODES, 9000, 128, 64, true, false);
    run(&p, partition, 4, &r);
    for (int i = 0; i < 4; i++)
        most = gnti_max_i64(most, r.rows[i]);
    for (int i = 0; i < 4; i++) {
        const double row = (128 + 16) * sizeof(float);
        const double large = (double)r.bytes[i].workspace / (row * (double)r.rows[i]) +
                             (double)r.bytes[i].stage / (row * (double)most);

        assert_int_equal(r.counters[i].strategy, GNTI_STRATEGY_BROADCAST);
        print_message("rank %d: %.2f large dense buffers, at most %d\n", i, large, LAYERS + 3);
        if (large > LAYERS + 3)
            fail_msg("rank %d has %.2f large dense buffers, at most %d\n%s", i, large, LAYERS + 3, r.explain);
    }
    parts_result_free(&r);
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* ---- the virtual clock and the trace -------------------------------------------------------------------------------- */

typedef struct span {
    double begin, end;
    int rank, kind; /* 0: op, 1: wait, 2: transfer */
    int64_t step;
    bool broadcast, exchange, product, chain;
} span;

static const char *text_of(const gnti_json *e, const char *key)
{
    const gnti_json *v = gnti_json_find(e, key);

    return v != NULL && gnti_json_to_text(v) != NULL ? gnti_json_to_text(v) : "";
}

static double number_of(const gnti_json *e, const char *key)
{
    double out = -1.0;

    gnt_assert_ok(gnti_json_get_number(e, key, &out));
    return out;
}

static int64_t read_trace(const char *text, span **out)
{
    gnti_json *root = NULL;
    int64_t count = 0, events;

    gnt_assert_ok(gnti_json_parse(text, strlen(text), "trace", &root));
    events = gnti_json_length(root);
    gnt_assert_ok(gnti_calloc_array(out, events + 1));
    for (int64_t i = 0; i < events; i++) {
        const gnti_json *e = gnti_json_at(root, i);
        span *s = &(*out)[count];
        const char *kind = text_of(e, "cat"), *name = text_of(e, "name");

        if (strcmp(text_of(e, "ph"), "X") != 0)
            continue;
        s->begin = number_of(e, "ts");
        s->end = s->begin + number_of(e, "dur");
        s->rank = (int)number_of(e, "pid");
        s->step = (int64_t)number_of(gnti_json_find(e, "args"), "step");
        s->kind = strcmp(kind, "op") == 0 ? 0 : strcmp(kind, "wait") == 0 ? 1 : 2;
        s->broadcast = strcmp(name, "broadcast") == 0;
        s->exchange = strcmp(name, "exchange") == 0;
        s->product = strncmp(name, "aggregate", 9) == 0;
        s->chain = strstr(name, " +") != NULL;
        count++;
    }
    gnti_json_free(&root);
    return count;
}

/* Transfer i + 1 goes on while product i is computed. */
static void test_broadcast_trace(void **state)
{
    nn_data d;
    gnti_partition *partition = parts_random(5, 400, CHUNKS);
    parts_problem p = { .data = &d,
                        .text = "gcn:32, gcn:32, gcn",
                        .members = 1,
                        .strategy = GNTI_STRATEGY_BROADCAST,
                        .link = { 1e-6, 1e9 },
                        .steps = 3,
                        .lr = 0.01f };
    parts_result r = { 0 };
    span *s = NULL;
    int64_t count, under = 0, transfers = 0;

    (void)state;
    nn_data_make(&d, 11, 400, 4000, 32, 8, true, false);
    run(&p, partition, 4, &r);
    count = read_trace(r.trace, &s);
    for (int64_t i = 0; i < count; i++) {
        bool covers = false;

        if (s[i].kind != 2 || !s[i].broadcast)
            continue;
        transfers++;
        for (int64_t k = 0; k < count && !covers; k++)
            covers = s[k].rank == s[i].rank && s[k].kind == 0 && s[k].product && s[k].begin >= s[i].begin &&
                     s[k].end <= s[i].end && s[k].end > s[k].begin;
        under += covers;
    }
    /* of 4 transfers of a product the first has none before it */
    print_message("%lld of %lld broadcasts lie under a product\n", (long long)under, (long long)transfers);
    assert_true(transfers == 4 * 4 * 4 * 3);
    assert_true(4 * under >= 3 * transfers);
    gnti_free(s);
    parts_result_free(&r);
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* A band, cut into ranges: most rows are interior, and most blocks of rows too. */
static gnti_partition *make_band(int64_t nodes, int64_t degree, nn_data *d)
{
    int32_t *chunk = NULL;
    gnti_partition *partition = NULL;
    gnti_arc_list arcs = { .num_arcs = 0 };

    gnt_assert_ok(gnti_alloc_array(&arcs.source, nodes * degree));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, nodes * degree));
    for (int64_t i = 0; i < nodes; i++)
        for (int64_t k = 1; k <= degree; k++)
            if (i + k < nodes) {
                arcs.source[arcs.num_arcs] = i;
                arcs.target[arcs.num_arcs++] = i + k;
            }
    nn_data_from_arcs(d, nodes, &arcs, true, 16, 4);
    gnt_test_fill(d->dense, nodes * 16, 3);
    for (int64_t i = 0; i < nodes; i++)
        d->weight[i] = 1.0f;
    gnt_assert_ok(gnti_alloc_array(&chunk, nodes));
    for (int64_t i = 0; i < nodes; i++)
        chunk[i] = (int32_t)(i * CHUNKS / nodes);
    gnt_assert_ok(gnti_partition_from_vector(nodes, CHUNKS, chunk, "range", &partition));
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    return partition;
}

/* Microseconds that rank 0 to 3 wait in exchanges, and how many chains lie under transfers. */
static double read_waits(const char *trace, int64_t *out_chains)
{
    span *s = NULL;
    const int64_t count = read_trace(trace, &s);
    double exposed = 0.0;

    *out_chains = 0;
    for (int64_t i = 0; i < count; i++) {
        exposed += s[i].kind == 1 && s[i].exchange ? s[i].end - s[i].begin : 0.0;
        for (int64_t k = 0; k < count && s[i].kind == 0 && s[i].chain && s[i].product; k++)
            if (s[k].rank == s[i].rank && s[k].kind == 2 && s[k].exchange && s[k].begin <= s[i].begin &&
                s[k].end >= s[i].end) {
                ++*out_chains;
                break;
            }
    }
    gnti_free(s);
    return exposed;
}

/* With a bandwidth at which the interior rows take longer than the exchange, at least 90 % of it is hidden; without overlap
 * none. The pass turns itself on however fast the link is, chains go along, and no bit changes. */
static void test_hidden(void **state)
{
    static const char *const texts[] = { "gcn:64, gcn:64, gcn:64, linear", "sage:32, sage:48, sage",
                                         "sage:32:aggregate=max, sage:aggregate=max",
                                         "gat:4x8:attn-dropout=0.3, gat:4x8, gat" };
    static const double bandwidths[] = { 5e7, 3e8, 2e9 };
    nn_data d;
    gnti_partition *partition = make_band(20000, 12, &d);
    int32_t owner[CHUNKS];

    (void)state;
    parts_owner(0, CHUNKS, 4, false, owner);
    for (int k = 0; k < 6; k++) {
        parts_problem p = { .data = &d,
                            .text = texts[k < 3 ? 0 : k - 2],
                            .members = 1,
                            .strategy = GNTI_STRATEGY_HALO,
                            .link = { 1e-6, bandwidths[k % 3] },
                            .steps = 3,
                            .lr = 0.01f,
                            .context = make_context };
        parts_result on = { 0 }, off = { 0 };
        double waited, exposed;
        int64_t chains, none;

        parts_run(&p, partition, owner, 4, &on);
        p.disabled = GNTI_PASS_OVERLAP;
        parts_run(&p, partition, owner, 4, &off);
        waited = read_waits(on.trace, &chains);
        exposed = read_waits(off.trace, &none);
        print_message("'%s' at %g bytes/s: %lld of %lld exchanges, exposed %.1f us of %.1f us, %lld chains\n",
                      p.text, p.link.bytes_per_second, (long long)on.counters[0].overlapped,
                      (long long)on.counters[0].step_exchanges, waited, exposed, (long long)chains);
        assert_true(on.counters[0].step_exchanges > 0);
        assert_int_equal(on.counters[0].overlapped, on.counters[0].step_exchanges);
        assert_int_equal(off.counters[0].overlapped, 0);
        assert_true(exposed > 0.0);
        assert_true(waited <= 0.1 * exposed);
        assert_true(k >= 4 || chains > 0);
        assert_int_equal(none, 0);
        assert_null(parts_differ(&p, &on, &off, true));
        parts_result_free(&on);
        parts_result_free(&off);
    }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* ---- memory of a step ----------------------------------------------------------------------------------------------- */

static void test_no_requests(void **state)
{
    static const char *const texts[] = { "gcn:16:norm=batch:dropout=0.3, gcn:9:norm=layer, gcn",
                                         "net:kind=maxpool:hidden=9", "net:kind=gin:hidden=8" };
    nn_data d;
    gnti_partition *partition = parts_random(5, 200, CHUNKS);

    (void)state;
    nn_data_make(&d, 22, 200, 900, 12, 4, false, false);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int k = 0; k < 8; k++) {
            parts_problem p = { .data = &d,
                                .text = texts[i],
                                .members = 3,
                                .block_members = 1,
                                .bitwise = k % 2 == 1,
                                .strategy = k / 2 == 1 ? GNTI_STRATEGY_BROADCAST : GNTI_STRATEGY_HALO,
                                .wire = k == 4 ? GNTI_WIRE_BF16 : GNTI_WIRE_F32,
                                .always_overlap = k / 2 == 3,
                                .steps = 6,
                                .lr = 0.01f };
            parts_result r = { 0 };

            run(&p, partition, 1 + k % 4, &r);
            if (r.requests != 0)
                fail_msg("'%s', case %d: %lld requests for memory in steps after the second\n%s", p.text, k,
                         (long long)r.requests, r.explain);
            parts_result_free(&r);
        }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),          cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bf16_wire),       cmocka_unit_test(test_broadcast_buffers),
        cmocka_unit_test(test_broadcast_trace), cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_no_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
