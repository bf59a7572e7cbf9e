/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of devices do what the communicator of their ranks does: random plans of messages, sums and broadcasts, queued one by one
 * and as a captured step, parts of a split, ranks that meet by files. 20 seeds each, or HOSTCUDA_SEEDS. */
#include "tests/hostcuda/group_plan.h"

#include <pthread.h>
#include <unistd.h>

static void test_plans(void **state)
{
    (void)state;
    for (int seed = 1; seed <= group_case_seeds(); seed++) {
        plan p = { (uint32_t)seed, 2 + seed % 3 };

        group_case_reset("4M,4M,4M,4M", seed, NULL);
        gnt_ranks_run(p.size, 0, run_plan, &p, NULL);
        group_case_check_clean();
    }
}

/* ---- captured -------------------------------------------------------------------------------------------------------- */

static void test_captured_plans(void **state)
{
    (void)state;
    hostcuda_counts counts;

    for (int seed = 1; seed <= group_case_seeds(); seed++) {
        plan p = { 1000 + (uint32_t)seed, 2 + seed % 3 };

        group_case_reset("4M,4M,4M,4M", seed, NULL);
        gnt_ranks_run(p.size, 0, run_captured, &p, NULL);
        hostcuda_get_counts(&counts);
        assert_int_equal(counts.graph_launches, 3 * p.size);
        group_case_check_clean();
    }
}

/* ---- parts ----------------------------------------------------------------------------------------------------------- */

static void test_split(void **state)
{
    (void)state;
    for (int seed = 1; seed <= group_case_seeds(); seed++) {
        group_case_reset("4M,4M,4M,4M", seed, NULL);
        gnt_ranks_run(3 + seed % 2, 0, run_split, NULL, NULL);
        group_case_check_clean();
    }
}

/* ---- other ways to meet ---------------------------------------------------------------------------------------------- */

static void test_ranks_meet_by_file(void **state)
{
    (void)state;
    meeting_place place = { .time_limit = 60.0 };
    char left[600];
    gnt_rank_result results[3];
    FILE *f = NULL;

    snprintf(place.path, sizeof place.path, "%s/meet", gnt_test_folder());
    group_case_reset("4M,4M,4M", 1, NULL);
    gnt_ranks_run(3, 0, run_by_file, &place, NULL);
    group_case_check_clean();
    for (int round = 0; round < 4; round++)
        for (int rank = 0; rank < 3; rank++) {
            snprintf(left, sizeof left, "%s.%d.%d", place.path, round, rank);
            assert_int_not_equal(access(left, F_OK), 0);
        }
    snprintf(left, sizeof left, "%s.0.1", place.path);
    f = fopen(left, "w");
    assert_non_null(f);
    fclose(f);
    place.time_limit = 1.0;
    group_case_reset("4M,4M,4M", 1, NULL);
    gnt_ranks_run(3, 0, run_by_file, &place, results);
    for (int rank = 0; rank < 3; rank += 2) /* they read it, or come late and find that rank 1 has gone */
        assert_true(results[rank].status == GNT_ERR_FORMAT || results[rank].status == GNT_ERR_TIMEOUT);
    assert_int_equal(results[1].status, GNT_ERR_USAGE);
    assert_non_null(strstr(results[1].text, "is left from another job"));
    group_case_check_clean();
}

/* Rank 0 of two finds rank 1's file: what an earlier job has left, half a file, another file, a byte that changed. */
static void meet_a_file(const char *path, const void *content, size_t bytes, gnt_status want,
                        const char *text)
{
    const gnti_device_config config = { 0 };
    gnt_device *dev = NULL;
    gnti_group *g = NULL;
    char name[600];
    FILE *f = NULL;

    snprintf(name, sizeof name, "%s.0.1", path);
    f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, bytes, f), bytes);
    fclose(f);
    assert_int_equal(gnti_device_open("cuda", 0, &config, &dev), GNT_OK);
    assert_int_equal(gnti_group_create_by_file(path, 0, 2, 0.2, dev, &g), want);
    assert_non_null(strstr(gnt_last_error(), text));
    assert_null(g);
    gnti_device_close(&dev);
    snprintf(name, sizeof name, "%s.0.0", path);
    assert_int_not_equal(access(name, F_OK), 0); /* its own */
}

typedef struct stolen {
    char path[512], content[4096];
    size_t bytes;
} stolen;

/* Rank 1 of a job that is over: the file that it wrote first. */
static void *steal(void *user)
{
    stolen *s = user;
    char name[600];
    FILE *f = NULL;

    snprintf(name, sizeof name, "%s.0.1", s->path);
    for (int i = 0; i < 2000 && (f = fopen(name, "r")) == NULL; i++)
        usleep(1000);
    if (f != NULL) {
        s->bytes = fread(s->content, 1, sizeof s->content, f);
        fclose(f);
    }
    return NULL;
}

static void test_files_that_are_not_of_the_job(void **state)
{
    (void)state;
    const gnti_device_config config = { 0 };
    gnt_device *dev = NULL;
    gnti_group *g = NULL;
    stolen s = { 0 };
    pthread_t thief;

    group_case_reset("4M,4M", 1, NULL);
    snprintf(s.path, sizeof s.path, "%s/stale", gnt_test_folder());
    assert_int_equal(pthread_create(&thief, NULL, steal, &s), 0);
    assert_int_equal(gnti_device_open("cuda", 1, &config, &dev), GNT_OK);
    assert_int_equal(gnti_group_create_by_file(s.path, 1, 2, 0.5, dev, &g), GNT_ERR_TIMEOUT);
    pthread_join(thief, NULL);
    gnti_device_close(&dev);
    assert_true(s.bytes > 64);
    meet_a_file(s.path, s.content, s.bytes, GNT_ERR_TIMEOUT, "waits for rank 1, which has not written");
    meet_a_file(s.path, s.content, s.bytes / 2, GNT_ERR_FORMAT, "it is damaged or not of this job");
    meet_a_file(s.path, "", 0, GNT_ERR_FORMAT, "has 0 bytes instead of");
    s.content[s.bytes - 1] ^= 1;
    meet_a_file(s.path, s.content, s.bytes, GNT_ERR_FORMAT, "is damaged, or no file of ranks that meet");
    s.content[s.bytes - 1] ^= 1;
    s.content[0] = 'x';
    meet_a_file(s.path, s.content, s.bytes, GNT_ERR_FORMAT, "is damaged");
    group_case_check_clean();
}

static void test_made_anew(void **state)
{
    (void)state;
    int rounds = 40;

    group_case_reset("4M,4M,4M", 1, NULL);
    gnt_ranks_run(3, 0, run_anew, &rounds, NULL);
    group_case_check_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),     cmocka_unit_test(test_captured_plans),
        cmocka_unit_test(test_split),     cmocka_unit_test(test_ranks_meet_by_file),
        cmocka_unit_test(test_made_anew), cmocka_unit_test(test_files_that_are_not_of_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
