/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchanges over random plans against a plain copy: widths, strides, blocks of members, both wires, raw ids; counters
 * against their formula; nothing allocated once warm. */
#include "tests/support/comm_cases.h"

#include "dist/halo.h"

static void test_random_plans(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++)
        gnt_ranks_run(1 + (int32_t)(seed % 8), 0.0, gnt_case_halo_rounds, &seed, NULL);
}

static void test_random_plans_on_devices(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        gnt_device_halo_case c = { "cpu", true, seed, false };

        gnt_ranks_run(1 + (int32_t)(seed % 8), 0.0, gnt_case_device_halo_rounds, &c, NULL);
    }
}

static void test_large_swaps_allocate_nothing(void **state)
{
    gnti_wire wire = GNTI_WIRE_F32;

    (void)state;
    gnt_ranks_run(2, 0.0, gnt_case_halo_swap, &wire, NULL);
    wire = GNTI_WIRE_BF16;
    gnt_ranks_run(2, 0.0, gnt_case_halo_swap, &wire, NULL);
}

/* Computing for longer than the transfer takes hides it; on the virtual clock that is exact. */
static gnt_status hide_transfer(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    int32_t peer = 1 - comm->rank, row = 0;
    int64_t ptr[2] = { 0, 1 };
    const gnti_halo_plan plan = { .num_own = 1,
                                  .num_halo = 1,
                                  .num_peers = 1,
                                  .peer = &peer,
                                  .send_ptr = ptr,
                                  .recv_ptr = ptr,
                                  .send_rows = &row };
    float data[2 * 250] = { 0 };
    const gnti_halo_rows rows = { data, 1, 0, 250, 250 };
    const double compute = *(double *)user;
    double clock = 10.0;
    gnti_halo *h = NULL;
    gnti_halo_counters c;

    comm->virtual_seconds = &clock;
    comm->link = (gnti_link){ 0.0, 1000.0 };
    GNT_TRY(gnti_halo_create(comm, &plan, GNTI_WIRE_F32, 250, &h));
    GNT_TRY(gnti_halo_start(h, &rows, false));
    clock += compute;
    GNT_TRY(gnti_halo_finish(h));
    gnti_halo_get_counters(h, &c);
    GNT_RANK_CHECK(c.transfer_seconds == 1.0);
    GNT_RANK_CHECK(c.exposed_seconds == (compute < 1.0 ? 1.0 - compute : 0.0));
    GNT_RANK_CHECK(clock == 10.0 + (compute < 1.0 ? 1.0 : compute));
done:
    gnti_halo_free(&h);
    return st;
}

static void test_hidden_transfer_on_the_virtual_clock(void **state)
{
    double compute[3] = { 0.0, 0.25, 2.5 };

    (void)state;
    for (int i = 0; i < 3; i++)
        gnt_ranks_run(2, 0.0, hide_transfer, &compute[i], NULL);
}

static void test_wrong_use_is_told(void **state)
{
    gnti_comm *c = NULL;
    gnti_halo *h = NULL;
    int64_t ptr[1] = { 0 };
    const gnti_halo_plan none = { .send_ptr = ptr, .recv_ptr = ptr };
    const gnti_halo_rows rows = { NULL, 1, 0, 8, 8 }, wide = { NULL, 3, 0, 8, 8 },
                         narrow = { NULL, 1, 0, 4, 8 };

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    GNT_BRUTAL_OUT(gnti_halo_create(c, &none, GNTI_WIRE_BF16, 16, &h), h);
    gnt_assert_status(gnti_halo_finish(h), GNT_ERR_STATE);
    gnt_assert_status(gnti_halo_start(h, &wide, false), GNT_ERR_ARG);
    gnt_assert_error_has("3 blocks of 8", "16");
    gnt_assert_status(gnti_halo_start(h, &narrow, false), GNT_ERR_ARG);
    gnt_assert_ok(gnti_halo_start(h, &rows, false));
    gnt_assert_status(gnti_halo_start(h, &rows, false), GNT_ERR_STATE);
    gnt_assert_ok(gnti_halo_finish(h));
    gnti_halo_free(&h);
    gnti_halo_free(&h);
    gnti_comm_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_plans),
        cmocka_unit_test(test_random_plans_on_devices),
        cmocka_unit_test(test_large_swaps_allocate_nothing),
        cmocka_unit_test(test_hidden_transfer_on_the_virtual_clock),
        cmocka_unit_test(test_wrong_use_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
