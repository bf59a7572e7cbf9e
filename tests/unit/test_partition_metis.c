/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* METIS' program when things go wrong: missing, killed, crashing, late, short of memory, lying; started by several threads at
 * once; and what a caller notices of it: an answer in every case, nothing on stdout, no process, descriptor or signal handler
 * left behind.
 */
#include "tests/support/cut_case.h"

#include "partition/part_metis.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A program of that text in a folder of its own, where the library looks for METIS' then; NULL: nothing is there. */
static void plant(const char *script)
{
    char folder[GNT_TEST_PATH_BYTES], path[GNT_TEST_PATH_BYTES + 16];
    static int count;

    snprintf(path, sizeof path, "libexec-%d", count++);
    assert_int_equal(mkdir(gnt_test_path(folder, path), 0755), 0);
    assert_int_equal(setenv("GNNTRAIN_LIBEXEC", folder, 1), 0);
    if (script == NULL)
        return;
    snprintf(path, sizeof path, "%s/part-metis", folder);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static int open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* A cut that must come out all the same, by ldg; the reason told has this phrase. */
static void falls_back(const char *phrase, gnti_partition_config config)
{
    gnti_graph *g = gnt_cut_grid(80, 80);
    gnti_partition *p = NULL;
    const char *reason = "";
    const int before = open_descriptors();

    config.num_chunks = 16;
    gnt_assert_ok(gnti_partition_make(g, &config, &p));
    gnt_cut_check(p, 6400, 16);
    assert_string_equal(p->method, "ldg");
    gnt_assert_ok(gnti_json_get_text(gnti_json_find(p->quality, "made"), "fallback", &reason));
    if (strstr(reason, phrase) == NULL)
        fail_msg("the reason is '%s', '%s' was expected in it", reason, phrase);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    gnti_partition_free(&p);
    gnti_graph_free(&g);
}

static int restore(void **state)
{
    (void)state;
    return unsetenv("GNNTRAIN_LIBEXEC");
}

static void test_missing(void **state)
{
    char version[16];
    int bits;

    (void)state;
    plant(NULL);
    falls_back("cannot be started", (gnti_partition_config){ 0 });
    gnt_assert_status(gnti_metis_version(version, &bits), GNT_ERR_UNSUPPORTED);
    gnt_assert_error_has("libexec-", "part-metis");
}

static void test_dies(void **state)
{
    (void)state;
    plant("kill -9 $$");
    falls_back("killed by signal 9", (gnti_partition_config){ 0 });
    plant("kill -SEGV $$");
    falls_back("killed by signal 11", (gnti_partition_config){ 0 });
    plant("kill -FPE $$");
    falls_back("killed by signal 8", (gnti_partition_config){ 0 });
    plant("kill -TERM $$");
    falls_back("killed by signal 15", (gnti_partition_config){ 0 });
    plant("exit 3");
    falls_back("status 3", (gnti_partition_config){ 0 });
    plant("exit 0");
    falls_back("before its answer was complete", (gnti_partition_config){ 0 });
}

/* Noise over everything that it can write to; the memory it shares too. */
static void test_lies(void **state)
{
    (void)state;
    plant("echo noise; echo noise >&2; exit 0");
    falls_back("before its answer was complete", (gnti_partition_config){ 0 });
    plant("head -c 200000 /dev/zero | tr '\\0' '\\1' >&3; exit 0");
    falls_back("before its answer", (gnti_partition_config){ 0 });
    plant(
        "printf '\\1\\0\\0\\0' | dd of=/proc/self/fd/3 bs=1 seek=24 conv=notrunc; exit 0"); /* done, it says */
    falls_back("answered 0", (gnti_partition_config){ 0 });
    plant("head -c 200000 /dev/zero | tr '\\0' '\\377' >&3; exit 0");
    falls_back("before its answer", (gnti_partition_config){ 0 });
    plant(": >&3; truncate -s 0 /proc/self/fd/3; exit 0");
    falls_back("before its answer", (gnti_partition_config){ 0 });
}

static void test_late(void **state)
{
    const double begin = gnti_clock_seconds();

    (void)state;
    plant("exec sleep 300");
    falls_back("ran longer than", (gnti_partition_config){ .time_limit = 0.3 });
    assert_true(gnti_clock_seconds() - begin < 60.0);
}

/* The real program. A killer thread finds it among our children. */
static void *kill_child(void *user)
{
    char path[64], line[64];
    int *killed = user;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int i = 0; i < 20000 && !*killed; i++) {
        FILE *file = fopen(path, "r");

        if (file != NULL && fgets(line, sizeof line, file) != NULL && atoi(line) > 0)
            *killed = kill(atoi(line), SIGKILL) == 0;
        if (file != NULL)
            fclose(file);
        (void)usleep(500);
    }
    return NULL;
}

static void test_killed(void **state)
{
    gnti_graph *g = gnt_cut_grid(700, 700);
    gnti_partition *p = NULL;
    pthread_t killer;
    int killed = 0;

    (void)state;
    assert_int_equal(pthread_create(&killer, NULL, kill_child, &killed), 0);
    gnt_assert_ok(gnti_partition_make(g, &(gnti_partition_config){ .num_chunks = 8 }, &p));
    assert_int_equal(pthread_join(killer, NULL), 0);
    if (!killed)
        skip(); /* this kernel lists no children */
    gnt_cut_check(p, 490000, 8);
    assert_string_equal(p->method, "ldg");
    gnti_partition_free(&p);
    gnti_graph_free(&g);
}

static void test_memory(void **state)
{
    gnti_graph *g = gnt_cut_grid(300, 300);
    gnti_partition *p = NULL;
    const char *reason = NULL;

    (void)state;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    gnt_assert_ok(
        gnti_partition_make(g, &(gnti_partition_config){ .num_chunks = 8, .memory_limit = 12 << 20 }, &p));
    gnt_cut_check(p, 90000, 8);
    gnt_assert_ok(gnti_json_get_text(gnti_json_find(p->quality, "made"), "fallback", &reason));
    print_message("12 MiB: %s\n", reason);
    assert_string_equal(p->method, "ldg");
    gnti_partition_free(&p);
#else
    (void)p;
    (void)reason;
#endif
    gnti_graph_free(&g);
}

/* SIGCHLD ignored, a handler of the caller's, all signals blocked: the cut is the same and the caller's settings stay. */
static void test_signals(void **state)
{
    gnti_graph *g = gnt_cut_grid(60, 60);
    gnti_partition *plain = NULL, *p = NULL;
    const gnti_partition_config config = { .num_chunks = 8 };
    struct sigaction before, after;
    sigset_t all, old;

    (void)state;
    gnt_assert_ok(gnti_partition_make(g, &config, &plain));
    assert_string_equal(plain->method, "metis");
    signal(SIGCHLD, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    sigaction(SIGFPE, NULL, &before);
    gnt_assert_ok(gnti_partition_make(g, &config, &p));
    sigaction(SIGFPE, NULL, &after);
    assert_true(before.sa_handler == after.sa_handler);
    sigaction(SIGCHLD, NULL, &after);
    assert_true(after.sa_handler == SIG_IGN);
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGCHLD, SIG_DFL);
    gnt_assert_same_i32(p->chunk_of, plain->chunk_of, 3600);
    gnti_partition_free(&p);
    gnti_partition_free(&plain);
    gnti_graph_free(&g);
}

typedef struct caller {
    const gnti_graph *graph;
    gnti_partition *partition;
    gnt_status status;
} caller;

static void *cut(void *user)
{
    caller *c = user;

    c->status =
        gnti_partition_make(c->graph, &(gnti_partition_config){ .num_chunks = 8, .seed = 3 }, &c->partition);
    return NULL;
}

/* METIS in one process answered four callers with four cuts (dgl and our own trial); its program answers with one. */
static void test_concurrent(void **state)
{
    gnti_graph *g = gnt_cut_random(5000, 30000, 1);
    caller callers[5] = { { 0 } };
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 5; i++)
        callers[i].graph = g;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, cut, &callers[i]), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    cut(&callers[4]);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(callers[i].status, GNT_OK);
        assert_string_equal(callers[i].partition->method, "metis");
        gnt_assert_same_i32(callers[i].partition->chunk_of, callers[4].partition->chunk_of, 5000);
    }
    for (int i = 0; i < 5; i++)
        gnti_partition_free(&callers[i].partition);
    gnti_graph_free(&g);
}

/* METIS writes to stdout ("input graph is not contiguous", reports of memory): not to ours. */
static void test_stdout(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_graph *g = gnt_cut_random(3000, 3000, 1);
    gnti_partition *p = NULL;
    const int kept = dup(STDOUT_FILENO);
    const int file = open(gnt_test_path(path, "stdout"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    gnt_status st;

    (void)state;
    (void)fflush(stdout);
    assert_true(kept >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    st = gnti_partition_make(g, &(gnti_partition_config){ .num_chunks = 16, .memory_limit = 6 << 20 }, &p);
    (void)fflush(stdout);
    (void)dup2(kept, STDOUT_FILENO);
    assert_int_equal(st, GNT_OK);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    close(kept);
    close(file);
    gnti_partition_free(&p);
    gnti_graph_free(&g);
}

static void test_version(void **state)
{
    char version[16] = "";
    int bits = 0;

    (void)state;
    gnt_assert_ok(gnti_metis_version(version, &bits));
    assert_int_equal(version[0], '5');
    assert_int_equal(bits, 32);
}

static void test_brutal(void **state)
{
    gnti_graph *g = gnt_cut_grid(30, 30);
    gnti_partition *p = NULL;
    const gnti_partition_config config = { .num_chunks = 8 };

    (void)state;
    plant("exit 1"); /* ldg too */
    GNT_BRUTAL_OUT(gnti_partition_make(g, &config, &p), p);
    gnti_partition_free(&p);
    unsetenv("GNNTRAIN_LIBEXEC");
    GNT_BRUTAL_OUT(gnti_partition_make(g, &config, &p), p);
    gnti_partition_free(&p);
    gnti_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_missing, restore),
        cmocka_unit_test_teardown(test_dies, restore),
        cmocka_unit_test_teardown(test_lies, restore),
        cmocka_unit_test_teardown(test_late, restore),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_concurrent),
        cmocka_unit_test(test_stdout),
        cmocka_unit_test(test_version),
        cmocka_unit_test_teardown(test_brutal, restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
