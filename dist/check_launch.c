/* SPDX-License-Identifier: Apache-2.0 */
/* The check before the first exchange: do all ranks run the same program over the same plan? Two that differ would wait for
 * messages that never come, or add numbers that do not belong together.
 *
 * Every rank lays its text and hash into a list of zeros; the sum of the lists is the list of all.
 */
#include "base/alloc.h"
#include "dist/comm.h"

#include <stdio.h>
#include <string.h>

enum { WHAT_BYTES = 201, HASH_BYTES = 65 };

typedef struct entry {
    char what[WHAT_BYTES], sha256[HASH_BYTES];
} entry;

gnt_status gnti_comm_check_launch(gnti_comm *c, const char *what, const char sha256[65])
{
    gnt_status st = GNT_OK;
    entry *all = NULL;

    GNT_CHECK(c != NULL && what != NULL && sha256 != NULL, GNT_ERR_ARG,
              "a launch is checked by a text and a hash");
    GNT_TRY(gnti_calloc_array(&all, c->size));
    snprintf(all[c->rank].what, WHAT_BYTES, "%s", what);
    snprintf(all[c->rank].sha256, HASH_BYTES, "%s", sha256);
    GNT_TRY(gnti_comm_all_reduce(
        c, &(gnti_all_reduce_args){ all, (int64_t)sizeof *all * c->size, GNT_U8, GNTI_COMM_MAX }));
    for (int32_t r = 1; r < c->size; r++)
        GNT_CHECK(strcmp(all[0].sha256, all[r].sha256) == 0 && strcmp(all[0].what, all[r].what) == 0,
                  GNT_ERR_PEER_LOST,
                  "launch check: rank 0 has %s (%.12s), rank %d has %s (%.12s): start all ranks with the "
                  "same command, "
                  "version and files",
                  all[0].what, all[0].sha256, (int)r, all[r].what, all[r].sha256);
done:
    gnti_free(all);
    return st;
}
