/* SPDX-License-Identifier: Apache-2.0 */
/* How a process was started, told from recorded environments (Open MPI 4.1, Slurm 22.05); launches that contradict themselves
 * (users' report 11); the comparison of programs before the first exchange. */
#include "tests/support/thread_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_STEP_TASKS_PER_NODE",
    "PMIX_RANK",
    "PMI_SIZE",
    "PMI_RANK",
    "SLURM_NTASKS_PER_NODE",
};

/* "NAME=value NAME=value", and nothing else of the list above. */
static void environment(const char *text)
{
    char copy[512], *rest = copy;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');

        *value = '\0';
        setenv(word, value + 1, 1);
    }
}

typedef struct launch_case {
    const char *environment, *by;
    int32_t rank, size, local_rank, local_size;
} launch_case;

static void test_environments(void **state)
{
    static const launch_case cases[] = {
        { "", "none", 0, 1, 0, 1 },
        { "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
          "OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=3",
          "mpirun", 3, 4, 1, 2 },
        { "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0", "mpirun", 0, 1, 0, 1 },
        /* mpirun inside an allocation: its own numbers count */
        { "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 SLURM_JOB_ID=5 SLURM_STEP_ID=0 "
          "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0",
          "mpirun", 1, 2, 0, 1 },
        { "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=5 SLURM_PROCID=4 SLURM_LOCALID=0 "
          "SLURM_NODEID=2 "
          "SLURM_STEP_TASKS_PER_NODE=2(x2),1 PMIX_RANK=4",
          "srun", 4, 5, 0, 1 },
        { "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NODEID=0 "
          "SLURM_STEP_TASKS_PER_NODE=2(x2) PMIX_RANK=1",
          "srun", 1, 4, 1, 2 },
        { "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_LOCALID=0", "srun", 0,
          1, 0, 1 },
        /* the shell of a batch script is no rank */
        { "SLURM_JOB_ID=5 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_NTASKS_PER_NODE=2", "none", 0, 1, 0, 1 },
    };
    gnti_launch l;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const launch_case *c = &cases[i];

        environment(c->environment);
        gnt_assert_ok(gnti_launch_detect(&l));
        if (strcmp(l.by, c->by) != 0 || l.rank != c->rank || l.size != c->size ||
            l.local_rank != c->local_rank || l.local_size != c->local_size)
            fail_msg("'%s': %s, rank %d of %d, %d of %d here", c->environment, l.by, (int)l.rank, (int)l.size,
                     (int)l.local_rank, (int)l.local_size);
        assert_true(l.host[0] != '\0');
    }
}

static void test_contradictions(void **state)
{
    static const char *const cases[][3] = {
        /* environment, two words of the text */
        { "SLURM_JOB_ID=5 SLURM_NTASKS=1 SLURM_NTASKS_PER_NODE=2", "SLURM_NTASKS_PER_NODE", "--ntasks=2" },
        { "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1", "4 tasks", "--mpi=pmix" },
        { "PMI_SIZE=4 PMI_RANK=1", "one of 4", "Open MPI" },
        { "OMPI_COMM_WORLD_SIZE=4", "rank -1 of 4", "mpirun" },
        { "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=4", "rank 4 of 4", "mpirun" },
        { "OMPI_COMM_WORLD_SIZE=4x OMPI_COMM_WORLD_RANK=1", "'4x'", "OMPI_COMM_WORLD_SIZE" },
        { "OMPI_COMM_WORLD_SIZE=99999999999 OMPI_COMM_WORLD_RANK=1", "99999999999", "OMPI_COMM_WORLD_SIZE" },
        { "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
          "OMPI_COMM_WORLD_LOCAL_RANK=3",
          "rank 3 of the 2", "host" },
    };
    gnti_launch l;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        environment(cases[i][0]);
        gnt_assert_status(gnti_launch_detect(&l), GNT_ERR_USAGE);
        gnt_assert_error_has(cases[i][1], cases[i][2]);
    }
    environment("");
}

static void test_devices_against_ranks(void **state)
{
    const gnti_launch two = { .size = 2, .by = "srun" }, one = { .size = 1, .by = "none" };

    (void)state;
    gnt_assert_ok(gnti_launch_check_devices(&one, 4));
    gnt_assert_ok(gnti_launch_check_devices(&two, 1));
    gnt_assert_ok(gnti_launch_check_devices(&two, 2));
    gnt_assert_status(gnti_launch_check_devices(&two, 4), GNT_ERR_USAGE);
    gnt_assert_error_has("4 devices", "2 ranks", "srun -n 4", "--devices 2");
}

static void test_without_a_plugin_or_a_launcher(void **state)
{
    gnti_comm *c = NULL;
    gnt_status st = GNT_OK;

    (void)state;
    environment("PMI_SIZE=4 PMI_RANK=1");
    st = gnti_comm_mpi_create(&c); /* refused before MPI is opened */
    environment("");
    assert_int_equal(st, GNT_ERR_USAGE);
    assert_null(c);
}

static gnt_status compare(gnti_comm *comm, void *user)
{
    const char *const *facts = user;

    return gnti_comm_check_launch(comm, facts[comm->rank]);
}

/* Three ranks with these facts end with one text, which has all these words; NULL: they agree. */
static void check_facts(const char *a, const char *b, const char *c, const char *words)
{
    const char *facts[3] = { a, b, c };
    gnt_rank_result r[3];

    if (words == NULL) {
        gnt_ranks_run(3, 0.0, compare, facts, NULL);
        return;
    }
    gnt_ranks_run(3, 30.0, compare, facts, r);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r[i].status, GNT_ERR_PEER_LOST);
        if (strstr(r[i].text, words) == NULL)
            fail_msg("rank %d: no '%s' in '%s'", i, words, r[i].text);
    }
}

static void test_facts_are_compared(void **state)
{
    const char *one = "--model\tgcn:64\ncontent\tab12\t/a/x.h5\n--lr\t0.01\n";
    char longer[3000] = "--class-weights\t";

    (void)state;
    check_facts(one, one, one, NULL);
    check_facts(one, "--model\tgcn:64\ncontent\tab12\t/b/y.h5\n--lr\t0.01\n", one,
                NULL); /* a note may differ */
    check_facts("", "", "", NULL);
    check_facts(one, one, "--model\tgat:8\ncontent\tab12\t/a/x.h5\n--lr\t0.01\n",
                "--model is 'gcn:64' on rank 0 and 'gat:8' on rank 2:");
    check_facts(one, "--model\tgcn:64\ncontent\tcd34\t/b/y.h5\n--lr\t0.01\n",
                "--model\tgcn:64\ncontent\tab12\t/a/x.h5\n--lr\t0.02\n",
                "content is 'ab12' (/a/x.h5) on rank 0 and 'cd34' (/b/y.h5) on rank 1:");
    check_facts(one, one, "--model\tgcn:64\ncontent\tab12\t/a/x.h5\n--lr\t\n",
                "--lr is '0.01' on rank 0 and '' on rank 2:");
    check_facts(one, one, "--model\tgcn:64\ncontent\tab12\t/a/x.h5\n",
                "--lr is '0.01' on rank 0 and missing on rank 2:");
    check_facts("--lr\t1\n", "--lr\t1\n--new\t2\n", "--lr\t1\n",
                "--new is missing on rank 0 and '2' on rank 1:");
    memset(longer + strlen(longer), '7', 2000);
    check_facts(one, longer, one, "launch check: --model is 'gcn:64' on rank 0 and '777");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environments),          cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_devices_against_ranks), cmocka_unit_test(test_without_a_plugin_or_a_launcher),
        cmocka_unit_test(test_facts_are_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
