/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of ensembles, from spec to folder. */
#include "tests/support/live_case.h"

#include <stdio.h>
#include <string.h>

gnt_status live_case_run(const live_call *c, gnti_json **summary)
{
    gnti_spec *spec = NULL;
    gnti_json *mine = NULL;
    gnt_status st;
    const gnti_ensemble_config config = { .run = c->run,
                                          .devices = c->devices,
                                          .checkpoint_every =
                                              c->checkpoint_every > 0 ? c->checkpoint_every : 3,
                                          .wait_limit = 20.0,
                                          .stop = c->stop };

    gnt_assert_ok(gnti_spec_parse(c->data->ctx, c->spec, strlen(c->spec), "spec.yaml", c->data->data, &spec));
    st = gnti_ensemble_run(c->data->ctx, spec, c->data->data, &config, c->watch, c->user, &mine);
    gnti_spec_free(&spec);
    if (summary != NULL)
        *summary = mine;
    else
        gnti_json_free(&mine);
    return st;
}

char *live_case_folder(char out[GNT_TEST_PATH_BYTES], const char *name)
{
    static int number;
    char unique[64];

    snprintf(unique, sizeof unique, "%s-%d", name, number++);
    return gnt_test_path(out, unique);
}

char *live_case_logits(const char *run, const char *member, int64_t *bytes)
{
    char path[GNT_TEST_PATH_BYTES + 64];

    snprintf(path, sizeof path, "%s/members/%s/logits.npy", run, member);
    return gnt_test_read(path, bytes);
}

void live_case_same_member(const char *a, const char *member, const char *b, const char *other)
{
    int64_t na = 0, nb = 0;
    char *x = live_case_logits(a, member, &na), *y = live_case_logits(b, other, &nb);

    assert_int_equal(na, nb);
    assert_memory_equal(x, y, (size_t)na);
    gnti_free(x);
    gnti_free(y);
}

int live_case_count(const char *run, const char *event, const char *member)
{
    char path[GNT_TEST_PATH_BYTES + 64], word[64], name[64] = "";
    char *text, *line, *rest = NULL;
    int count = 0;

    snprintf(path, sizeof path, "%s/journal.jsonl", run);
    text = gnt_test_read(path, NULL);
    snprintf(word, sizeof word, "\"event\":\"%s\"", event);
    if (member != NULL)
        snprintf(name, sizeof name, "\"member\":\"%s\"", member);
    for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        count += strstr(line, word) != NULL && strstr(line, name) != NULL;
    gnti_free(text);
    return count;
}
