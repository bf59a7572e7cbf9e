/* SPDX-License-Identifier: Apache-2.0 */
/* The Chrome trace of a run's first epochs: every rank's events in one file, written once by the process of rank 0.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#include <string.h>

enum { TRACED_EPOCHS = 3, LARGEST_TRACE = 1 << 30 };

gnt_status gnti_trace_check(const char *path)
{
    gnt_status st = GNT_OK;
    char *old = NULL;
    size_t bytes = 0;

    if (path == NULL || !gnti_file_exists(path))
        return GNT_OK;
    if (gnti_file_read_all(path, LARGEST_TRACE, &old, &bytes) != GNT_OK || bytes == 0 || old[0] != '[')
        GNT_FAIL(GNT_ERR_USAGE, "'%s' is there and is no trace: it would be overwritten, name another file",
                 path);
done:
    gnti_free(old);
    return st;
}

/* The events of this process' ranks, without the brackets around them. */
static gnt_status print_own(gnt_trainer *tr, char **out)
{
    gnt_status st = GNT_OK;
    const int32_t num = gnti_ranks_local(tr->ranks);
    const gnti_trace **traces = NULL;
    char *text = NULL, *end;

    GNT_TRY(gnti_alloc_array(&traces, num));
    for (int32_t i = 0; i < num; i++)
        traces[i] = gnti_ranks_at(tr->ranks, i)->trace;
    GNT_TRY(gnti_trace_print(traces, num, tr->lead->rank, &text));
    end = strrchr(text, ']');
    if (end != NULL)
        *end = 0;
    GNT_TRY(gnti_strdup(out, text + strspn(text, "[ \n")));
done:
    gnti_free(text);
    gnti_free(traces);
    return st;
}

/* Those of process `from`, at every process. */
static gnt_status share_text(gnti_comm *c, int32_t from, char **text)
{
    gnt_status st = GNT_OK;
    int64_t length = c->rank == from ? (int64_t)strlen(*text) + 1 : 0;

    GNT_TRY(gnti_comm_broadcast(c, from, &length, sizeof length));
    if (c->rank != from) {
        gnti_free(*text);
        *text = NULL;
        GNT_TRY(gnti_alloc_array(text, length));
    }
    GNT_TRY(gnti_comm_broadcast(c, from, *text, (size_t)length));
done:
    return st;
}

gnt_status gnti_trainer_write_trace(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = tr->job.processes;
    gnti_text all = { 0 };
    char *own = NULL, *text = NULL, *whole = NULL;

    if (tr->config.trace == NULL || tr->trace_written ||
        (tr->epoch < TRACED_EPOCHS && !gnti_trainer_is_complete(tr)))
        return GNT_OK;
    GNT_TRY(print_own(tr, &own));
    gnti_text_append(&all, "[\n");
    for (int32_t r = 0; r < c->size; r++) {
        if (r == c->rank)
            GNT_TRY(gnti_strdup(&text, own));
        GNT_TRY(share_text(c, r, &text));
        gnti_text_append(&all, r > 0 && text[0] != 0 ? ",\n" : "");
        gnti_text_append(&all, text);
        gnti_free(text);
        text = NULL;
    }
    gnti_text_append(&all, "]\n");
    GNT_TRY(gnti_text_take(&all, &whole));
    if (gnti_trainer_is_root(tr)) {
        GNT_TRY(gnti_file_write_all(tr->config.trace, whole, strlen(whole)));
        gnti_log(GNT_LOG_INFO, "train", "trace of %lld epochs written to '%s'", (long long)tr->epoch,
                 tr->config.trace);
    }
    tr->trace_written = true;
done:
    gnti_text_free(&all);
    gnti_free(own);
    gnti_free(text);
    gnti_free(whole);
    return st;
}
