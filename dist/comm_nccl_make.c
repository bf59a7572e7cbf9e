/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of NVIDIA GPUs by NCCL: how ranks meet, how a group is made, split and ended.
 *
 * Ranks first tell each other where they are: a rank that cannot go on is then an error on all of them with the same text, and two
 * ranks on one device are found before the library is asked. Then rank 0's unique id goes round, and the communicator is made
 * without blocking. A second communicator beside one that is used may deadlock, so a device belongs to one group of several
 * devices, and a group rests while its parts are used.
 */
#include "dist/comm_nccl.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEVICES = 256 };
static atomic_bool in_group[MAX_DEVICES]; /* by index of the runtime */

/* What goes round in the second meeting: rank 0's id, and whether each rank has its device to itself. */
typedef struct nccl_invitation {
    int32_t status;
    char text[192];
    ncclUniqueId id;
} nccl_invitation;

/* ---- where ranks are ------------------------------------------------------------------------------------------------- */

/* Puts the thread's error into a message. */
static void note_error(gnt_status st, int32_t *status, char *text, size_t bytes)
{
    *status = (int32_t)st;
    if (st != GNT_OK)
        snprintf(text, bytes, "%.*s", (int)bytes - 1, gnti_error_get()->text);
}

static void read_boot(char *out, size_t bytes)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

    if (f == NULL || fgets(out, (int)bytes, f) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (f != NULL)
        fclose(f);
}

static bool same_device(const nccl_place *a, const nccl_place *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->boot, b->boot) == 0 &&
           strcmp(a->device, b->device) == 0;
}

static gnt_status find_place(const gnt_device *dev, nccl_place *p)
{
    gnt_status st = GNT_OK;
    int version = 0;

    p->index = dev->index;
    if (gethostname(p->host, sizeof p->host - 1) != 0)
        snprintf(p->host, sizeof p->host, "unknown");
    read_boot(p->boot, sizeof p->boot);
    GNT_TRY(cuda_enter(dev));
    GNT_TRY_CUDA(cudaDeviceGetPCIBusId(p->device, (int)sizeof p->device, dev->index));
    GNT_CHECK(ncclGetVersion(&version) == ncclSuccess, GNT_ERR_UNSUPPORTED, "NCCL does not tell its version");
    p->version = version;
done:
    return st;
}

static gnt_status compare_places(const nccl_place *places, int32_t size)
{
    gnt_status st = GNT_OK;

    for (int32_t r = 0; r < size; r++) {
        const nccl_place *p = &places[r];

        GNT_CHECK(p->status == GNT_OK, (gnt_status)p->status, "rank %d of %d on host '%s': %s", (int)r,
                  (int)size, p->host, p->text);
        GNT_CHECK(p->version == places[0].version, GNT_ERR_USAGE,
                  "rank 0 has version %d of NCCL, rank %d on host '%s' has %d: all need the same",
                  (int)places[0].version, (int)r, p->host, (int)p->version);
        for (int32_t other = 0; other < r; other++)
            GNT_CHECK(!same_device(&places[other], p), GNT_ERR_USAGE,
                      "ranks %d and %d both use device %d (%s) of host '%s': give each rank a device of its "
                      "own, or fewer ranks",
                      (int)other, (int)r, (int)p->index, p->device, p->host);
    }
done:
    return st;
}

/* Fills places; the same error on all ranks when something is wrong with one. */
static gnt_status meet(const gnti_group_meeting *m, const gnt_device *dev, nccl_place *places)
{
    gnt_status st = GNT_OK;
    nccl_place mine = { 0 };

    note_error(find_place(dev, &mine), &mine.status, mine.text, sizeof mine.text);
    GNT_TRY(m->all_gather(m->user, &mine, sizeof mine, places));
    GNT_TRY(compare_places(places, m->size));
done:
    return st;
}

/* ---- making ---------------------------------------------------------------------------------------------------------- */

static gnt_status allocate(const gnti_group_meeting *m, gnt_device *dev, nccl_group **out)
{
    gnt_status st = GNT_OK;
    nccl_group *g = NULL;

    GNT_TRY(gnti_calloc_array(&g, 1));
    g->head = (gnti_group){ .table = &gnti_nccl_table, .device = dev, .meeting = *m };
    pthread_mutex_init(&g->lock, NULL);
    *out = g;
    GNT_TRY(gnti_calloc_array(&g->places, m->size));
done:
    return st;
}

/* The device's one group of several. */
static gnt_status take_device(nccl_group *g)
{
    gnt_status st = GNT_OK;
    const int32_t index = g->head.device->index;
    bool free = false;

    if (g->head.meeting.size == 1)
        return GNT_OK;
    GNT_CHECK(index < MAX_DEVICES, GNT_ERR_LIMIT, "device %d: groups know devices 0 to %d", (int)index,
              MAX_DEVICES - 1);
    GNT_CHECK(atomic_compare_exchange_strong(&in_group[index], &free, true), GNT_ERR_STATE,
              "device %d belongs to a group of several devices already: one at a time", (int)index);
    g->registered = true;
done:
    return st;
}

static gnt_status prepare(nccl_group *g, nccl_invitation *mine)
{
    gnt_status st = GNT_OK;
    ncclResult_t r;

    GNT_TRY(take_device(g));
    if (g->head.meeting.rank != 0)
        return GNT_OK;
    r = ncclGetUniqueId(&mine->id);
    GNT_CHECK(r == ncclSuccess, GNT_ERR_INTERNAL, "NCCL gives no unique id: %s", ncclGetErrorString(r));
done:
    return st;
}

static gnt_status invite(nccl_group *g, ncclUniqueId *out)
{
    gnt_status st = GNT_OK;
    const gnti_group_meeting *m = &g->head.meeting;
    nccl_invitation mine = { 0 }, *all = NULL;

    GNT_TRY(gnti_calloc_array(&all, m->size));
    note_error(prepare(g, &mine), &mine.status, mine.text, sizeof mine.text);
    GNT_TRY(m->all_gather(m->user, &mine, sizeof mine, all));
    for (int32_t r = 0; r < m->size; r++)
        GNT_CHECK(all[r].status == GNT_OK, (gnt_status)all[r].status, "rank %d of %d on host '%s': %s",
                  (int)r, (int)m->size, g->places[r].host, all[r].text);
    *out = all[0].id;
done:
    gnti_free(all);
    return st;
}

static gnt_status connect(nccl_group *g)
{
    gnt_status st = GNT_OK;
    const gnti_group_meeting *m = &g->head.meeting;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;

    GNT_TRY(invite(g, &id));
    config.blocking = 0;
    GNT_TRY(cuda_enter(g->head.device));
    GNT_TRY(nccl_answer(g, ncclCommInitRankConfig(&g->comm, m->size, id, m->rank, &config),
                        "connecting devices"));
    GNT_TRY(nccl_settle(g, "connecting devices"));
done:
    return st;
}

gnt_status nccl_create(const gnti_group_meeting *m, gnt_device *dev, gnti_group **out)
{
    gnt_status st = GNT_OK;
    nccl_group *g = NULL;

    GNT_TRY(allocate(m, dev, &g));
    GNT_TRY(meet(m, dev, g->places));
    GNT_TRY(connect(g));
    *out = &g->head;
    g = NULL; /* handed over */
done:
    if (g != NULL) {
        nccl_abort(&g->head);
        nccl_free(&g->head);
    }
    return st;
}

/* ---- parts ----------------------------------------------------------------------------------------------------------- */

/* Collective over the whole; NULL part: this rank is in none. */
static gnt_status split_comm(nccl_group *whole, nccl_group *part, int32_t color, int32_t key)
{
    gnt_status st = GNT_OK;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t none = NULL;
    ncclResult_t r = ncclInvalidUsage;

    config.blocking = 0;
    GNT_TRY(cuda_enter(whole->head.device));
    pthread_mutex_lock(&whole->lock);
    if (whole->comm != NULL)
        r = ncclCommSplit(whole->comm, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key,
                          part != NULL ? &part->comm : &none, &config);
    pthread_mutex_unlock(&whole->lock);
    GNT_TRY(nccl_answer(whole, r, "splitting a group"));
    GNT_TRY(nccl_settle(whole, "splitting a group")); /* the part's communicator is there now */
    if (part != NULL)
        GNT_TRY(nccl_settle(part, "splitting a group"));
done:
    return st;
}

gnt_status nccl_split(gnti_group *head, int32_t color, int32_t key, const gnti_group_meeting *part,
                      gnti_group **out)
{
    gnt_status st = GNT_OK;
    nccl_group *whole = (nccl_group *)head, *g = NULL;

    *out = NULL;
    GNT_CHECK(!whole->ended, GNT_ERR_PEER_LOST, "a group that has ended cannot be split");
    GNT_CHECK(whole->num_parts == 0 && !whole->resting, GNT_ERR_STATE,
              "a part of the group is in use, or it rests; free the part first");
    if (part != NULL) {
        GNT_TRY(allocate(part, head->device, &g));
        GNT_TRY(meet(part, head->device, g->places));
        g->whole = whole;
        whole->num_parts++;
    }
    GNT_TRY(split_comm(whole, g, color, key));
    if (g != NULL)
        *out = &g->head;
    g = NULL; /* handed over */
done:
    if (g != NULL) {
        nccl_abort(&g->head);
        nccl_free(&g->head);
    }
    return st;
}

/* ---- resting ---------------------------------------------------------------------------------------------------------- */

static void give_device_back(nccl_group *g)
{
    if (g->registered)
        atomic_store(&in_group[g->head.device->index], false);
    g->registered = false;
}

gnt_status nccl_rest(gnti_group *head, bool resting)
{
    gnt_status st = GNT_OK;
    nccl_group *g = (nccl_group *)head;

    if (resting)
        give_device_back(g);
    else if (g->resting)
        GNT_TRY(take_device(g));
    g->resting = resting;
done:
    return st;
}

/* ---- ending ---------------------------------------------------------------------------------------------------------- */

/* All ranks leave together; one that cannot wait for the others aborts. */
static gnt_status leave(nccl_group *g)
{
    gnt_status st = GNT_OK;
    const gnti_group_meeting *m = &g->head.meeting;
    ncclResult_t r = ncclInvalidUsage;

    if (m->check(m->user) != GNT_OK) /* the job has ended */
        return GNT_ERR_PEER_LOST;
    GNT_TRY(cuda_enter(g->head.device));
    pthread_mutex_lock(&g->lock);
    if (g->comm != NULL)
        r = ncclCommFinalize(g->comm);
    pthread_mutex_unlock(&g->lock);
    GNT_TRY(nccl_answer(g, r, "leaving a group"));
    GNT_TRY(nccl_settle(g, "leaving a group"));
    pthread_mutex_lock(&g->lock);
    if (g->comm != NULL)
        (void)ncclCommDestroy(g->comm);
    g->comm = NULL;
    pthread_mutex_unlock(&g->lock);
done:
    return st;
}

void nccl_free(gnti_group *head)
{
    nccl_group *g = (nccl_group *)head;
    const gnti_error_record error = *gnti_error_get(); /* what the caller reports */

    if (g->comm != NULL && leave(g) != GNT_OK)
        nccl_abort(head);
    if (g->whole != NULL)
        g->whole->num_parts--;
    give_device_back(g);
    pthread_mutex_destroy(&g->lock);
    gnti_free(g->places);
    gnti_free(g);
    (void)gnti_error_adopt(&error);
}
