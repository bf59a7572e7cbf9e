/* SPDX-License-Identifier: Apache-2.0 */
/* A user's op that fails ends the run with its status, on one device and on several, whether it said why or not; it is no stop
 * that the same line would go on from.
 */
#include "tests/support/train_case.h"

#include "base/error.h"

static gnt_status failure = GNT_ERR_DEVICE_LOST;

static gnt_status fail_bare(const gnt_op_args *a)
{
    (void)a;
    return failure;
}

static int64_t same_width(const void *state, const int64_t *in)
{
    (void)state;
    return in[0];
}

static const gnt_op_class broken = { .struct_size = sizeof broken,
                                     .name = "broken",
                                     .num_inputs = 1,
                                     .width = same_width,
                                     .backend = "cpu",
                                     .forward = fail_bare,
                                     .backward = fail_bare };

typedef struct layer {
    gnt_param w;
} layer;

static void build(void *state, gnt_builder *b)
{
    ((layer *)state)->w =
        gnt_builder_param(b, "w", gnt_builder_in(b), gnt_builder_out(b), (gnt_init){ GNT_INIT_GLOROT, 1.0f });
}

static gnt_var forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const layer *l = state;

    return gnt_custom(t, &broken, NULL, (gnt_var[]){ gnt_matmul(t, in->h, gnt_use(t, l->w)) }, 1);
}

static const gnt_layer_class broken_layer = { .struct_size = sizeof broken_layer,
                                              .name = "broken",
                                              .state_size = sizeof(layer),
                                              .build = build,
                                              .forward = forward };

static void test_bare_status_is_the_run_s(void **state)
{
    static const gnt_status failures[] = { GNT_ERR_DEVICE_LOST, GNT_ERR_NOMEM, GNT_ERR_PEER_LOST,
                                           GNT_ERR_NUMERIC };
    static const char *const devices[] = { NULL, "2" };
    train_case c;

    (void)state;
    train_case_arrays(&c, GNT_LABELS_CLASS, 9);
    train_case_dataset(&c, "device=cpu;threads=1");
    gnt_assert_ok(gnt_layer_register(c.ctx, &broken_layer));
    gnt_model_free(&c.model);
    gnt_assert_ok(gnt_model_create(c.data, "broken:8, gcn", &c.model));
    c.config.chunks = 4;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        for (int d = 0; d < 2; d++) {
            gnt_trainer *tr;
            gnt_epoch_stats stats = { .struct_size = sizeof stats };

            failure = failures[i];
            c.config.devices = devices[d];
            tr = train_case_trainer(&c);
            assert_false(gnt_trainer_next(tr, &stats));
            assert_int_equal(gnt_trainer_status(tr), failure);
            gnt_assert_error_has("op 'broken'");
            gnt_trainer_free(&tr);
        }
    train_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_bare_status_is_the_run_s) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
