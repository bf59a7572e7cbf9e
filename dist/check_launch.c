/* SPDX-License-Identifier: Apache-2.0 */
/* The check before the first exchange: do all ranks run the same program over the same plan? Two that differ would wait for
 * messages that never come, or add numbers that do not belong together.
 *
 * Rank 0 sends its facts to all; each rank looks for the first line in which its own differ; the lowest rank that has found one
 * tells it to all, so that every rank ends with the same text.
 */
#include "base/alloc.h"
#include "dist/comm.h"

#include <stdio.h>
#include <string.h>

enum { DIFFERENCE_BYTES = 640, SHOWN_BYTES = 160, NAME_BYTES = 60 };

/* The facts of rank 0, to be freed. */
static gnt_status take_first(gnti_comm *c, const char *facts, char **out)
{
    gnt_status st = GNT_OK;
    char *first = NULL;
    int64_t bytes = (int64_t)strlen(facts) + 1;

    GNT_TRY(gnti_comm_broadcast(c, 0, &bytes, sizeof bytes));
    GNT_TRY(gnti_calloc_array(&first, bytes));
    if (c->rank == 0)
        memcpy(first, facts, (size_t)bytes);
    GNT_TRY(gnti_comm_broadcast(c, 0, first, (size_t)bytes));
    *out = first;
    first = NULL;
done:
    gnti_free(first);
    return st;
}

/* Length of a line and of what of it is compared: all before a second tab. */
static size_t line_length(const char *line, size_t *compared)
{
    const size_t length = strcspn(line, "\n");
    const size_t name = strcspn(line, "\t\n");
    const size_t value = name < length ? strcspn(line + name + 1, "\t\n") : 0;

    *compared = name < length ? name + 1 + value : length;
    return length;
}

/* 'VALUE', and behind it in brackets what is shown but not compared. */
static void show(const char *line, char out[SHOWN_BYTES])
{
    size_t compared;
    const size_t length = line_length(line, &compared), name = strcspn(line, "\t\n");

    if (name >= length) {
        snprintf(out, SHOWN_BYTES, "missing");
        return;
    }
    snprintf(out, SHOWN_BYTES, "'%.*s'%s%.*s%s", (int)(compared - name - 1), line + name + 1,
             compared < length ? " (" : "", compared < length ? (int)(length - compared - 1) : 0,
             line + compared + (compared < length), compared < length ? ")" : "");
}

/* The first line that differs, as text; "" when there is none. */
static void compare(const char *first, const char *own, int32_t rank, char out[DIFFERENCE_BYTES])
{
    out[0] = 0;
    while (*first != 0 || *own != 0) {
        size_t compared[2];
        const size_t length[2] = { line_length(first, &compared[0]), line_length(own, &compared[1]) };

        if (compared[0] != compared[1] || strncmp(first, own, compared[0]) != 0) {
            char shown[2][SHOWN_BYTES];
            const char *named = *first != 0 ? first : own;

            show(first, shown[0]);
            show(own, shown[1]);
            snprintf(out, DIFFERENCE_BYTES, "%.*s is %s on rank 0 and %s on rank %d",
                     (int)gnti_min_i64((int64_t)strcspn(named, "\t\n"), NAME_BYTES), named, shown[0],
                     shown[1], (int)rank);
            return;
        }
        first += length[0] + (first[length[0]] != 0);
        own += length[1] + (own[length[1]] != 0);
    }
}

gnt_status gnti_comm_check_launch(gnti_comm *c, const char *facts)
{
    gnt_status st = GNT_OK;
    char *first = NULL, difference[DIFFERENCE_BYTES] = "";
    int32_t found = 0; /* size - rank of the lowest rank that differs, 0: none */

    GNT_CHECK(c != NULL && facts != NULL, GNT_ERR_ARG, "a launch is checked by its facts");
    GNT_TRY(take_first(c, facts, &first));
    compare(first, facts, c->rank, difference);
    if (difference[0] != 0)
        found = c->size - c->rank;
    GNT_TRY(gnti_comm_all_reduce(c, &(gnti_all_reduce_args){ &found, 1, GNT_I32, GNTI_COMM_MAX }));
    if (found == 0)
        goto done;
    GNT_TRY(gnti_comm_broadcast(c, c->size - found, difference, sizeof difference));
    GNT_FAIL(GNT_ERR_PEER_LOST, "launch check: %s: start all ranks with the same command, version and files",
             difference);
done:
    gnti_free(first);
    return st;
}
