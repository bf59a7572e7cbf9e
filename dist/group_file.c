/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks without a communicator meet through files: in round k, rank r writes path.k.r and reads those of all others.
 *
 * A file is a head and what the rank has to say, with a sum over both, and appears whole, by its rename. In round 0 each head has
 * a number of the rank's own, later ones a number made of all of those: a file that an earlier job has left shows. When a rank has read all files of round k, everybody has read those of round k - 1, so each
 * rank removes its own of that round; the last one's go when the devices are connected, for then all have read them.
 */
#include "dist/group.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "kernels/device_plugin.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILE_NAME_BYTES = 1024, FILE_PAUSE_NANOSECONDS = 2000000 };

typedef struct file_head {
    char magic[8];
    int32_t round, rank, size, spare;
    uint64_t bytes, job, sum; /* of what follows; of the rank, then of the job; over all, with 0 here */
} file_head;
static const char MAGIC[8] = { 'g', 'n', 't', 'm', 'e', 'e', 't', '1' };

typedef struct file_meeting {
    const char *path;
    int32_t rank, size, round;
    uint64_t job;    /* so far */
    int32_t written; /* newest round whose file is ours, -1: none */
    double time_limit;
} file_meeting;

static gnt_status name_of(const file_meeting *f, int32_t round, int32_t rank, char out[FILE_NAME_BYTES])
{
    gnt_status st = GNT_OK;
    const int length = snprintf(out, FILE_NAME_BYTES, "%s.%d.%d", f->path, (int)round, (int)rank);

    GNT_CHECK(length > 0 && length < FILE_NAME_BYTES, GNT_ERR_USAGE, "path '%.60s...' is too long", f->path);
done:
    return st;
}

static void remove_own(const file_meeting *f, int32_t round)
{
    char name[FILE_NAME_BYTES];

    if (round >= 0 && name_of(f, round, f->rank, name) == GNT_OK)
        (void)unlink(name);
}

static uint64_t sum_bytes(uint64_t start, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t h = start ^ UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ at[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t sum_of(file_head head, const void *content)
{
    head.sum = 0;
    return sum_bytes(sum_bytes(0, &head, sizeof head), content, (size_t)head.bytes);
}

/* No two jobs have the same, nor two ranks. */
static uint64_t own_number(const file_meeting *f)
{
    struct timespec t = { 0 };
    int64_t facts[4];

    clock_gettime(CLOCK_REALTIME, &t);
    facts[0] = (int64_t)t.tv_sec;
    facts[1] = (int64_t)t.tv_nsec;
    facts[2] = getpid();
    facts[3] = f->rank;
    return sum_bytes(0, facts, sizeof facts);
}

static gnt_status check_head(const file_meeting *f, const char *name, int32_t rank, const file_head *head,
                             const void *content)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(memcmp(head->magic, MAGIC, sizeof MAGIC) == 0 && head->sum == sum_of(*head, content),
              GNT_ERR_FORMAT, "'%s' is damaged, or no file of ranks that meet: remove it and start again",
              name);
    GNT_CHECK(
        head->round == f->round && head->rank == rank && head->size == f->size, GNT_ERR_USAGE,
        "'%s' is of rank %d of %d in round %d instead of rank %d of %d in round %d: give each job a path "
        "of its own",
        name, (int)head->rank, (int)head->size, (int)head->round, (int)rank, (int)f->size, (int)f->round);
    GNT_CHECK(
        f->round == 0 || head->job == f->job, GNT_ERR_USAGE,
        "'%s' is of a job that has met other ranks, perhaps one that is over: remove all files '%s.*' and "
        "start again",
        name, f->path);
done:
    return st;
}

static gnt_status read_one(file_meeting *f, int32_t rank, double began, size_t bytes, void *out,
                           uint64_t *out_job)
{
    gnt_status st = GNT_OK;
    char name[FILE_NAME_BYTES];
    char *content = NULL;
    file_head head;
    size_t length = 0;
    const struct timespec pause = { .tv_nsec = FILE_PAUSE_NANOSECONDS };

    GNT_TRY(name_of(f, f->round, rank, name));
    while (!gnti_file_exists(name)) {
        GNT_CHECK(gnti_clock_seconds() - began < f->time_limit, GNT_ERR_TIMEOUT,
                  "rank %d of %d waits for rank %d, which has not written '%s' within %.1f s", (int)f->rank,
                  (int)f->size, (int)rank, name, f->time_limit);
        nanosleep(&pause, NULL);
    }
    GNT_TRY(gnti_file_read_all(name, sizeof head + bytes, &content, &length));
    memcpy(&head, content, length < sizeof head ? 0 : sizeof head);
    GNT_CHECK(
        length == sizeof head + bytes && head.bytes == bytes, GNT_ERR_FORMAT,
        "'%s' has %zu bytes instead of %zu: it is damaged or not of this job, give each job a path of its "
        "own",
        name, length, sizeof head + bytes);
    GNT_TRY(check_head(f, name, rank, &head, content + sizeof head));
    memcpy(out, content + sizeof head, bytes);
    *out_job = sum_bytes(*out_job, &head.job, sizeof head.job);
done:
    gnti_free(content);
    return st;
}

static gnt_status write_own(const file_meeting *f, const char *name, const void *mine, size_t bytes)
{
    gnt_status st = GNT_OK;
    file_head head = { .round = f->round, .rank = f->rank, .size = f->size, .bytes = bytes };
    char *all = NULL;

    memcpy(head.magic, MAGIC, sizeof MAGIC);
    head.job = f->round == 0 ? own_number(f) : f->job;
    head.sum = sum_of(head, mine);
    GNT_TRY(gnti_alloc_array(&all, (int64_t)(sizeof head + bytes)));
    memcpy(all, &head, sizeof head);
    memcpy(all + sizeof head, mine, bytes);
    GNT_TRY(gnti_file_write_all(name, all, sizeof head + bytes));
done:
    gnti_free(all);
    return st;
}

static gnt_status gather_by_file(void *user, const void *mine, size_t bytes, void *all)
{
    gnt_status st = GNT_OK;
    file_meeting *f = user;
    const double began = gnti_clock_seconds();
    char name[FILE_NAME_BYTES];
    uint64_t job = 0;

    GNT_TRY(name_of(f, f->round, f->rank, name));
    GNT_CHECK(!gnti_file_exists(name), GNT_ERR_USAGE,
              "'%s' is left from another job: remove it, or give this job a path of its own", name);
    GNT_TRY(write_own(f, name, mine, bytes));
    f->written = f->round;
    for (int32_t r = 0; r < f->size; r++)
        GNT_TRY(read_one(f, r, began, bytes, (char *)all + (size_t)r * bytes, &job));
    if (f->round == 0)
        f->job = job;
    remove_own(f, f->round - 1);
    f->round++;
done:
    return st;
}

static gnt_status check_nothing(void *user)
{
    (void)user;
    return GNT_OK;
}

static void tell_nobody(void *user, const char *reason)
{
    (void)user;
    (void)reason;
}

gnt_status gnti_group_create_by_file(const char *path, int32_t rank, int32_t size, double time_limit,
                                     gnt_device *dev, gnti_group **out)
{
    gnt_status st = GNT_OK;
    const gnti_device_plugin *plugin = NULL;
    file_meeting f = { .path = path, .rank = rank, .size = size, .written = -1, .time_limit = time_limit };
    const gnti_group_meeting m = { .rank = rank,
                                   .size = size,
                                   .time_limit = time_limit,
                                   .user = &f,
                                   .all_gather = gather_by_file,
                                   .check = check_nothing,
                                   .give_up = tell_nobody };

    GNT_CHECK(path != NULL && path[0] != '\0' && dev != NULL && out != NULL, GNT_ERR_ARG,
              "a group needs a path, a device and out");
    GNT_CHECK(size >= 1 && rank >= 0 && rank < size, GNT_ERR_ARG, "rank %d of %d ranks", (int)rank,
              (int)size);
    GNT_TRY(gnti_device_plugin_find(((const gnti_backend_head *)(const void *)dev)->backend->name, &plugin,
                                    NULL));
    GNT_CHECK(plugin != NULL && plugin->group != NULL, GNT_ERR_UNSUPPORTED,
              "this device does not exchange with others in this build");
    GNT_TRY(plugin->group->create(&m, dev, out));
done:
    remove_own(&f, f.written); /* all have read it, or the job has failed */
    remove_own(&f, f.written - 1);
    return st;
}
