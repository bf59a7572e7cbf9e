/* SPDX-License-Identifier: Apache-2.0 */
/* Our files in the hands of the real h5py, scipy and anndata. The interpreter is $GNT_PYTHON, else python3; without the
 * packages the test is skipped and says so.
 */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { NUM_FILES = 8 };

extern char **environ;

static double weight_sum(const gnti_graph *g)
{
    double sum = 0.0;

    for (int64_t a = 0; a < g->num_arcs; a++)
        sum += g->weights != NULL ? (double)g->weights[a] : 1.0;
    return sum;
}

static double feature_sum(const gnti_features *x)
{
    double sum = 0.0;

    if (x->sparse != NULL)
        return weight_sum(x->sparse);
    for (int64_t i = 0; i < x->rows * x->width; i++)
        sum += (double)x->dense[i];
    return sum;
}

/* One file and what is in it. */
static void write_case(int bits, char path[GNT_TEST_PATH_BYTES])
{
    const gnt_full_options o = { .seed = (uint64_t)bits + 1,
                                 .num_nodes = 30,
                                 .directed = bits & 1,
                                 .weighted = bits & 2,
                                 .sparse = bits & 4,
                                 .text_ids = bits & 1,
                                 .labels = (gnt_label_kind)(bits % 4) };
    gnt_dataset *d = gnt_full_dataset(&o);
    char name[32], facts[512], ignored[GNT_TEST_PATH_BYTES];

    snprintf(name, sizeof name, "case%d.h5", bits);
    gnt_assert_ok(gnt_dataset_save(d, gnt_test_path(path, name)));
    snprintf(facts, sizeof facts,
             "nodes %lld\narcs %lld\nfeatures %lld\nlabels %d\nweight_sum %.9g\nfeature_sum %.9g\n",
             (long long)d->num_nodes, (long long)d->graph->num_arcs, (long long)d->x.width, (int)d->y.kind,
             weight_sum(d->graph), feature_sum(&d->x));
    snprintf(name, sizeof name, "case%d.txt", bits);
    gnt_test_write(ignored, name, facts, -1);
    gnt_dataset_free(&d);
}

static void python_reads_what_we_write(void **state)
{
    static char paths[NUM_FILES][GNT_TEST_PATH_BYTES];
    const char *python = getenv("GNT_PYTHON");
    char script[GNT_TEST_PATH_BYTES], *arguments[NUM_FILES + 3];
    pid_t pid;
    int status = 0;

    (void)state;
    snprintf(script, sizeof script, "%s/tests/python/read_datasets.py", GNT_SOURCE_DIR);
    arguments[0] = (char *)(python != NULL ? python : "python3");
    arguments[1] = script;
    for (int i = 0; i < NUM_FILES; i++) {
        write_case(i, paths[i]);
        arguments[i + 2] = paths[i];
    }
    arguments[NUM_FILES + 2] = NULL;
    if (posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ) != 0) {
        print_message("skipped: there is no '%s'\n", arguments[0]);
        skip();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        print_message("skipped: '%s' lacks h5py, scipy or anndata, name another one in GNT_PYTHON\n",
                      arguments[0]);
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(python_reads_what_we_write) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
