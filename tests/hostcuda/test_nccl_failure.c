/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of devices when something goes wrong: a rank that never comes, another order of calls on one rank, an error of the devices
 * inside a captured step, a lost device, a rank that ends the job, two ranks on one device. All ranks get an error within the time
 * limit that says who and where, and nothing is left on the devices.
 * label: medium, cost: 16 timeout: 600 */
#include "tests/hostcuda/group_case.h"

#include "base/clock.h"

#include <time.h>
#include <unistd.h>

#define LIMIT  0.5  /* of the wait that must end by it; the roll call takes 4 of it */
#define LONGER 30.0 /* where nobody may run into a limit, however busy the machine is */

enum { VALUES = 64 };

typedef enum failure {
    NEVER_COMES,    /* one rank makes no further call */
    OTHER_ORDER,    /* one rank exchanges before it sums */
    ERROR_CAPTURED, /* the devices report an error inside a captured step */
    DEVICE_LOST,    /* one device stops */
    RANK_ENDS       /* one rank ends the job while the others wait for devices */
} failure;

typedef struct failing {
    failure how;
    int32_t culprit;
    bool captured;
    atomic_int num_back;
} failing;

static void nap(double seconds)
{
    const struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

    nanosleep(&t, NULL);
}

static gnt_status queue_sum(const group_rank *r)
{
    return gnti_group_all_reduce(r->group, r->talk,
                                 &(gnti_group_sum){ r->data, 0, VALUES, GNT_F32, GNTI_COMM_SUM });
}

static gnt_status queue_exchange(const group_rank *r)
{
    const int32_t size = r->group->meeting.size, me = r->group->meeting.rank;
    gnti_group_peer peers[GNT_RANKS_MAX] = { 0 };

    for (int32_t i = 0; i < size; i++)
        if (i != me)
            peers[i] =
                (gnti_group_peer){ i,         r->data, 0, 4 * VALUES, r->data, (size_t)(i + 1) * 4 * VALUES,
                                   4 * VALUES };
        else
            peers[i].rank = i;
    return gnti_group_exchange(r->group, r->talk, peers, size);
}

/* Sum and exchange of a step, in the other order for whoever is wrong. */
static gnt_status queue_step(const group_rank *r, bool swapped)
{
    gnt_status st = GNT_OK;

    GNT_TRY(group_rank_to_talk(r));
    GNT_TRY(swapped ? queue_exchange(r) : queue_sum(r));
    GNT_TRY(swapped ? queue_sum(r) : queue_exchange(r));
    GNT_TRY(group_rank_from_talk(r));
done:
    return st;
}

static gnt_status do_step(const group_rank *r, const gnt_capture *step, bool swapped)
{
    gnt_status st = GNT_OK;

    if (step != NULL)
        GNT_TRY(gnti_capture_launch(r->compute, step));
    else
        GNT_TRY(queue_step(r, swapped));
    GNT_TRY(gnti_group_wait(r->group, r->compute, "step 7"));
done:
    return st;
}

static gnt_status prepare(group_rank *r, gnti_comm *comm, bool captured, gnt_capture **step)
{
    gnt_status st = GNT_OK;

    GNT_TRY(group_rank_open(r, comm->rank, (size_t)(comm->size + 1) * 4 * VALUES));
    GNT_TRY(gnti_group_create(comm, r->dev, &r->group));
    if (captured) {
        GNT_TRY(gnti_capture_begin(r->compute));
        GNT_TRY(queue_step(r, false));
        GNT_TRY(gnti_capture_end(r->compute, step));
    }
    GNT_TRY(do_step(r, *step, false)); /* all is well */
    GNT_TRY(gnti_comm_barrier(comm));
done:
    return st;
}

/* The culprit's part where it has one; *out_over: nothing more to do for it. */
static gnt_status misbehave(failing *f, gnti_comm *comm, bool *out_over)
{
    *out_over = true;
    if (f->how == RANK_ENDS) {
        nap(0.02);
        gnti_comm_abort(comm, "loss is NaN in epoch 7");
        return GNT_ERR_NUMERIC;
    }
    if (f->how == NEVER_COMES) {
        for (int i = 0; i < 3000 && atomic_load(&f->num_back) < comm->size - 1; i++)
            nap(0.01);
        return gnti_comm_check(comm);
    }
    *out_over = false;
    return GNT_OK;
}

static gnt_status run_failing(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    failing *f = user;
    const bool wrong = comm->rank == f->culprit;
    group_rank r = { 0 };
    gnt_capture *step = NULL;
    bool over = false;

    GNT_TRY(prepare(&r, comm, f->captured, &step));
    if (f->how == NEVER_COMES || f->how == OTHER_ORDER)
        r.group->meeting.time_limit = LIMIT;
    if (wrong)
        GNT_TRY(misbehave(f, comm, &over));
    for (int i = 0; i < 4 && !over; i++)
        GNT_TRY(do_step(&r, step, wrong && f->how == OTHER_ORDER));
done:
    if (st != GNT_OK &&
        f->how == DEVICE_LOST) /* any call of the device may have found it, so the program tells the others */
        gnti_group_abort(r.group, gnt_last_error());
    atomic_fetch_add(&f->num_back, 1);
    gnti_capture_free(r.compute, &step);
    group_rank_close(&r);
    return st;
}

static void check_results(const failing *f, const gnt_rank_result *results, int32_t size)
{
    char host[64] = { 0 }, culprit[32];
    int timeouts = 0, lost = 0, named = 0;

    gethostname(host, sizeof host - 1);
    snprintf(culprit, sizeof culprit, "rank %d of %d", (int)f->culprit, (int)size);
    for (int32_t r = 0; r < size; r++) {
        const gnt_rank_result *a = &results[r];

        if (f->how == RANK_ENDS && r == f->culprit)
            continue;
        timeouts += a->status == GNT_ERR_TIMEOUT;
        lost += a->status == GNT_ERR_DEVICE_LOST;
        if (a->status != GNT_ERR_PEER_LOST && a->status != GNT_ERR_TIMEOUT &&
            a->status != GNT_ERR_DEVICE_LOST)
            fail_msg("failure %d: rank %d answers %s: %s", (int)f->how, (int)r, gnt_status_name(a->status),
                     a->text);
        if (a->status == GNT_ERR_DEVICE_LOST)
            continue;
        if (strstr(a->text, host) == NULL || strstr(a->text, "rank") == NULL)
            fail_msg("failure %d: rank %d does not say who and where: %s", (int)f->how, (int)r, a->text);
        assert_true(a->seconds < LONGER);
        if (f->how == RANK_ENDS)
            assert_non_null(strstr(a->text, "epoch 7"));
        if (f->how == NEVER_COMES && strstr(a->text, "did not answer") == NULL)
            fail_msg("rank %d does not say who did not answer: %s", (int)r, a->text);
        named += r != f->culprit && strstr(a->text, culprit) != NULL;
    }
    /* a rank that a busy machine keeps from the roll call may be blamed by another one */
    if (f->how == NEVER_COMES && named == 0)
        fail_msg("nobody names %s: '%s' and '%s'", culprit, results[0].text, results[1].text);
    if (lost != (f->how == DEVICE_LOST))
        fail_msg("failure %d: %d ranks lost their device: '%s' and '%s'", (int)f->how, lost, results[0].text,
                 results[1].text);
    assert_int_equal(timeouts > 0, f->how == NEVER_COMES || f->how == OTHER_ORDER);
}

static void run_all(failure how, const char *fail)
{
    const bool waits = how == NEVER_COMES || how == OTHER_ORDER; /* for the limit, in each of its runs */

    for (int seed = 1; seed <= (waits ? group_case_seeds() / 4 : group_case_seeds()); seed++) {
        const int32_t size = 2 + seed % 2;
        failing f = { .how = how,
                      .culprit = how == ERROR_CAPTURED || how == DEVICE_LOST ? 1 : (int32_t)seed % size,
                      .captured = how == ERROR_CAPTURED || (how != OTHER_ORDER && seed % 3 == 0) };
        gnt_rank_result results[3] = { 0 };

        group_case_reset("4M,4M,4M", seed, fail);
        gnt_ranks_run(size, LONGER, run_failing, &f, results);
        check_results(&f, results, size);
        if (how != DEVICE_LOST)
            group_case_check_clean();
    }
}

static void test_rank_never_comes(void **state)
{
    (void)state;
    run_all(NEVER_COMES, NULL);
}

/* The stand-in would find the circle; here it hangs as a device does. */
static void test_other_order(void **state)
{
    (void)state;
    setenv("HOSTCUDA_HANG", "1", 1);
    run_all(OTHER_ORDER, NULL);
    unsetenv("HOSTCUDA_HANG");
}

static void test_error_in_captured_step(void **state)
{
    (void)state;
    run_all(ERROR_CAPTURED, "nccl:1:6");
}

static void test_device_lost(void **state)
{
    (void)state;
    run_all(DEVICE_LOST, "lost:1:9");
}

static void test_rank_ends_the_job(void **state)
{
    (void)state;
    run_all(RANK_ENDS, NULL);
}

/* ---- refused before the library is asked ------------------------------------------------------------------------------ */

static gnt_status run_on_one_device(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    group_rank r = { 0 };

    (void)user;
    GNT_TRY(group_rank_open(&r, comm->rank == 2 ? 1 : comm->rank, 64));
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
done:
    group_rank_close(&r);
    return st;
}

static void test_two_ranks_on_one_device(void **state)
{
    (void)state;
    gnt_rank_result results[3];

    group_case_reset("4M,4M,4M", 1, NULL);
    gnt_ranks_run(3, LONGER, run_on_one_device, NULL, results);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(results[r].status, GNT_ERR_USAGE);
        assert_non_null(strstr(results[r].text, "ranks 1 and 2 both use device 1"));
    }
    group_case_check_clean();
}

static gnt_status run_second_group(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    group_rank r = { 0 };
    gnti_group *second = NULL;

    (void)user;
    GNT_TRY(group_rank_open(&r, comm->rank, 4 * VALUES));
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
    GNT_RANK_CHECK(gnti_group_create(comm, r.dev, &second) == GNT_ERR_STATE);
    GNT_RANK_CHECK(second == NULL);
    GNT_RANK_CHECK(strstr(gnt_last_error(), "one at a time") != NULL);
    GNT_TRY(queue_sum(&r)); /* the first one lives */
    GNT_TRY(gnti_group_wait(r.group, r.talk, "sum"));
done:
    group_rank_close(&r);
    return st;
}

static void test_one_group_a_device(void **state)
{
    (void)state;
    group_case_reset("4M,4M", 1, NULL);
    gnt_ranks_run(2, LONGER, run_second_group, NULL, NULL);
    group_case_check_clean();
}

static gnt_status run_alone(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    group_rank r = { 0 };

    (void)user;
    GNT_TRY(group_rank_open(&r, comm->rank, 64));
    if (comm->rank == 1)
        GNT_FAIL(GNT_ERR_FORMAT, "this rank stops before it meets the others");
    comm->time_limit = LIMIT;
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
done:
    if (comm->rank == 1)
        gnti_comm_abort(comm, gnt_last_error());
    group_rank_close(&r);
    return st;
}

static void test_missing_when_made(void **state)
{
    (void)state;
    gnt_rank_result results[3];

    for (int seed = 1; seed <= group_case_seeds(); seed++) {
        group_case_reset("4M,4M,4M", seed, NULL);
        gnt_ranks_run(3, LONGER, run_alone, NULL, results);
        for (int r = 0; r < 3; r += 2)
            assert_true(results[r].status == GNT_ERR_PEER_LOST || results[r].status == GNT_ERR_TIMEOUT);
        group_case_check_clean();
    }
}

static gnt_status run_wrong_arguments(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    group_rank r = { 0 };
    gnti_group_peer p = { 0 };

    (void)user;
    GNT_TRY(group_rank_open(&r, comm->rank, 64));
    GNT_TRY(gnti_group_create(comm, r.dev, &r.group));
    p = (gnti_group_peer){ 7, NULL, 0, 0, NULL, 0, 0 };
    GNT_RANK_CHECK(gnti_group_exchange(r.group, r.talk, &p, 1) == GNT_ERR_ARG);
    p = (gnti_group_peer){ 1 - comm->rank, r.data, 60, 8, NULL, 0, 0 };
    GNT_RANK_CHECK(gnti_group_exchange(r.group, r.talk, &p, 1) == GNT_ERR_ARG);
    p = (gnti_group_peer){ 1 - comm->rank, NULL, 0, 0, NULL, 0, 8 };
    GNT_RANK_CHECK(gnti_group_exchange(r.group, r.talk, &p, 1) == GNT_ERR_ARG);
    GNT_RANK_CHECK(
        gnti_group_all_reduce(r.group, r.talk, &(gnti_group_sum){ r.data, 4, 1, GNT_F64, GNTI_COMM_SUM }) ==
        GNT_ERR_ARG);
    GNT_RANK_CHECK(
        gnti_group_all_reduce(r.group, r.talk, &(gnti_group_sum){ r.data, 0, 17, GNT_F32, GNTI_COMM_SUM }) ==
        GNT_ERR_ARG);
    GNT_RANK_CHECK(
        gnti_group_all_reduce(r.group, r.talk, &(gnti_group_sum){ r.data, 0, 1, GNT_BF16, GNTI_COMM_SUM }) ==
        GNT_ERR_ARG);
    GNT_RANK_CHECK(gnti_group_broadcast(r.group, r.talk, 2, r.data, 0, 4) == GNT_ERR_ARG);
    p = (gnti_group_peer){ 1 - comm->rank, NULL, 0, 0, NULL, 0, 0 };
    GNT_TRY(gnti_group_exchange(r.group, r.talk, &p, 1)); /* nothing to do */
done:
    group_rank_close(&r);
    return st;
}

static void test_arguments(void **state)
{
    (void)state;
    group_case_reset("4M,4M", 1, NULL);
    gnt_ranks_run(2, LONGER, run_wrong_arguments, NULL, NULL);
    group_case_check_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_never_comes),
        cmocka_unit_test(test_other_order),
        cmocka_unit_test(test_error_in_captured_step),
        cmocka_unit_test(test_device_lost),
        cmocka_unit_test(test_rank_ends_the_job),
        cmocka_unit_test(test_two_ranks_on_one_device),
        cmocka_unit_test(test_one_group_a_device),
        cmocka_unit_test(test_missing_when_made),
        cmocka_unit_test(test_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
