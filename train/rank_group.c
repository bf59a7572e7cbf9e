/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks whose devices are of one kind and have memory of their own form a group (dist/group.h): their rows and sums travel
 * between the devices. Ranks of other kinds are reached through the host.
 */
#include "base/alloc.h"
#include "base/philox.h"
#include "kernels/device_plugin.h"
#include "train/ranks.h"

/* A number of the device's kind, the same on all ranks; 0: it forms no group. */
static int64_t kind_of(const gnt_device *dev)
{
    const char *name = ((const gnti_backend_head *)(const void *)dev)->backend->name;
    const gnti_device_plugin *plugin = NULL;

    if (gnti_device_in_host_memory(dev))
        return 0;
    if (gnti_device_plugin_find(name, &plugin, NULL) != GNT_OK || plugin == NULL || plugin->group == NULL) {
        gnt_clear_error();
        return 0;
    }
    return (int64_t)(gnti_fnv1a(name) % INT32_MAX) + 1;
}

/* Each rank's kind, told by all to all. */
static gnt_status gather_kinds(const gnti_rank *rank, int64_t *kinds)
{
    kinds[rank->comm->rank] = kind_of(rank->device);
    return gnti_comm_all_reduce(
        rank->comm, &(gnti_all_reduce_args){
                        .data = kinds, .count = rank->comm->size, .dtype = GNT_I64, .op = GNTI_COMM_SUM });
}

gnt_status gnti_rank_join_group(gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const int32_t size = rank->comm->size;
    int64_t *kinds = NULL, mine;
    int32_t members = 0;

    if (size == 1)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&kinds, size));
    GNT_TRY(gather_kinds(rank, kinds));
    GNT_TRY(gnti_alloc_array(&rank->group_rank, size));
    mine = kinds[rank->comm->rank];
    for (int32_t r = 0; r < size; r++)
        rank->group_rank[r] = mine != 0 && kinds[r] == mine ? members++ : -1;
    GNT_TRY(
        gnti_comm_split(rank->comm, members > 1 ? (int32_t)mine : -1, rank->comm->rank, &rank->group_comm));
    if (rank->group_comm != NULL)
        GNT_TRY(gnti_group_create(rank->group_comm, rank->device, &rank->group));
done:
    gnti_free(kinds);
    return st;
}

void gnti_rank_leave_group(gnti_rank *rank)
{
    gnti_group_free(&rank->group);
    gnti_comm_free(&rank->group_comm);
    gnti_free(rank->group_rank);
    rank->group_rank = NULL;
}
