/* SPDX-License-Identifier: Apache-2.0 */
/* The communicator of an MPI job: opening the plug-in, meeting the other ranks, splits, the end. Messages, waits and sums are
 * in comm_process_*.c; comm_process.h explains the whole.
 */
#include "dist/comm_process.h"

#include "base/clock.h"
#include "base/plugin.h"
#include "dist/link_cost.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define EXIT_LIMITS                                                                                          \
    10.0 /* time limits that a rank waits at its exit for the others, which may still write files */

/* Whatever failed, a broken job stays: its notices may still be on their way. */
static void job_free(process_job *job)
{
    if (job == NULL || --job->num_comms > 0 || job->broken)
        return;
    if (job->mpi != NULL)
        job->mpi->give_back();
    pthread_mutex_destroy(&job->mutex);
    gnti_free(job->hosts);
    gnti_free(job->notices);
    gnti_free(job->asked);
    gnti_free(job->answered);
    gnti_free(job->asks_open);
    gnti_free(job->answers_open);
    gnti_free(job->is_there);
    gnti_free(job);
}

static void process_free(gnti_comm *head)
{
    process_comm *c = (process_comm *)head;

    process_exchanges_free(c);
    c->job->mpi->set_exit_seconds(EXIT_LIMITS * head->time_limit);
    job_free(c->job);
    gnti_free(c->world);
    gnti_free(c->host);
    gnti_free(c->peers);
    gnti_free(c->scratch);
    gnti_free(c);
}

static gnt_status process_check(gnti_comm *head)
{
    const process_wait w = process_wait_begin("work of the device");

    return process_check_broken((process_comm *)head, &w);
}

static void process_abort(gnti_comm *head)
{
    process_job_break(((process_comm *)head)->job, head->reason);
}

static gnt_status process_split(gnti_comm *head, int32_t color, int32_t key, gnti_comm **out);

static const gnti_comm_table process_table = {
    .name = "mpi",
    .all_reduce = process_all_reduce,
    .broadcast_start = process_broadcast_start,
    .exchange_start = process_exchange_start,
    .exchange_poll = process_exchange_poll,
    .exchange_finish = process_exchange_finish,
    .barrier = process_barrier,
    .split = process_split,
    .check = process_check,
    .ask = process_ask,
    .abort = process_abort,
    .free = process_free,
};

/* Numbers the hosts by the lowest rank on each; stays NULL while all are on one. */
static void number_hosts(process_comm *c)
{
    c->head.host = NULL;
    for (int32_t r = 0; r < c->head.size; r++) {
        int32_t first = 0;

        while (strcmp(c->job->hosts[c->world[first]], c->job->hosts[c->world[r]]) != 0)
            first++;
        c->host[r] = first;
        if (first != 0)
            c->head.host = c->host;
    }
}

/* world (size) is copied. The job has one user more. */
static gnt_status comm_create(process_job *job, int32_t rank, int32_t size, const int32_t *world, int32_t id,
                              process_comm **out)
{
    gnt_status st = GNT_OK;
    process_comm *c = NULL;

    GNT_CHECK(id <= (job->facts.highest_tag - 2) / 2, GNT_ERR_LIMIT,
              "split number %d of this job, MPI's tags allow %d", (int)id,
              (int)(job->facts.highest_tag - 2) / 2);
    GNT_TRY(gnti_calloc_array(&c, 1));
    GNT_TRY(gnti_alloc_array(&c->world, size));
    GNT_TRY(gnti_alloc_array(&c->host, size));
    GNT_TRY(gnti_calloc_array(&c->peers, size));
    memcpy(c->world, world, (size_t)size * sizeof *world);
    c->head.table = &process_table;
    c->head.rank = rank;
    c->head.size = size;
    c->head.time_limit = GNTI_COMM_TIME_LIMIT;
    c->head.num_threads = 1;
    c->id = id;
    c->chunk_bytes = PROCESS_CHUNK_BYTES;
    c->job = job;
    job->num_comms++;
    number_hosts(c);
    *out = c;
    c = NULL;
done:
    if (c != NULL) {
        gnti_free(c->world);
        gnti_free(c->host);
        gnti_free(c->peers);
        gnti_free(c);
    }
    return st;
}

/* Ranks of the same color, by key, then rank. members (size); answers how many, and one's own place among them. */
static int32_t members_of(const int32_t *colors, const int32_t *keys, const gnti_comm *c, int32_t *members,
                          int32_t *place)
{
    int32_t count = 0;

    for (int32_t r = 0; r < c->size; r++) {
        int32_t at = count;

        if (colors[r] != colors[c->rank])
            continue;
        for (; at > 0 && keys[members[at - 1]] > keys[r]; at--)
            members[at] = members[at - 1];
        members[at] = r;
        count++;
    }
    for (int32_t i = 0; i < count; i++)
        if (members[i] == c->rank)
            *place = i;
    return count;
}

static gnt_status process_split(gnti_comm *head, int32_t color, int32_t key, gnti_comm **out)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)head, *part = NULL;
    const int32_t size = head->size;
    int32_t *facts = NULL, *members = NULL;
    int32_t id = c->job->next_id, place = 0, count = 0;

    GNT_TRY(gnti_calloc_array(&facts, 2 * (int64_t)size));
    GNT_TRY(gnti_calloc_array(&members, size));
    facts[head->rank] = color;
    facts[size + head->rank] = key;
    GNT_TRY(process_all_reduce(head,
                               &(gnti_all_reduce_args){ facts, 2 * (int64_t)size, GNT_I32, GNTI_COMM_SUM }));
    GNT_TRY(process_all_reduce(head, &(gnti_all_reduce_args){ &id, 1, GNT_I32, GNTI_COMM_MAX }));
    c->job->next_id = id + 1; /* parts of one split share no rank, so they may share the tags */
    if (color >= 0) {
        count = members_of(facts, facts + size, head, members, &place);
        for (int32_t i = 0; i < count; i++)
            members[i] = c->world[members[i]];
        GNT_TRY(comm_create(c->job, place, count, members, id, &part));
        part->head.time_limit = head->time_limit;
        part->head.num_threads = head->num_threads;
        part->head.virtual_seconds = head->virtual_seconds;
        part->head.link = head->link;
        memcpy(part->head.measured, head->measured, sizeof head->measured);
        part->chunk_bytes = c->chunk_bytes;
    }
    *out = part != NULL ? &part->head : NULL;
done:
    gnti_free(facts);
    gnti_free(members);
    return st;
}

/* Opens the plug-in; it stays open for the process. */
static gnt_status open_transport(const gnti_mpi_transport **out)
{
    gnt_status st = GNT_OK;
    gnti_plugin *plugin = NULL;
    gnti_plugin_fn get = NULL;
    gnti_mpi_transport_fn transport = NULL;

    st = gnti_plugin_open_own("libgnntrain-mpi.so", &plugin);
    if (st != GNT_OK) {
        gnti_error_prefix("ranks as processes need MPI (Debian: libopenmpi-dev when configuring): ");
        gnti_error_trace(__FILE__, __LINE__, __func__);
        goto done;
    }
    GNT_TRY(gnti_plugin_function(plugin, GNTI_MPI_TRANSPORT_SYMBOL, &get));
    memcpy(&transport, &get, sizeof transport);
    GNT_TRY(gnti_plugin_check_version(plugin, transport()->version, GNT_VERSION));
    *out = transport();
done:
    gnti_plugin_close(&plugin);
    return st;
}

static gnt_status check_facts(const gnti_launch *launch, const gnti_mpi_facts *facts)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(
        launch->size == 1 || (facts->size == launch->size && facts->rank == launch->rank), GNT_ERR_USAGE,
        "%s started rank %d of %d, but %s knows it as rank %d of %d: start it with the launcher of that MPI "
        "(mpirun.openmpi, srun --mpi=pmix)",
        launch->by, (int)launch->rank, (int)launch->size, facts->library, (int)facts->rank, (int)facts->size);
done:
    return st;
}

static gnt_status job_create(process_job **out)
{
    gnt_status st = GNT_OK;
    process_job *job = NULL;
    const gnti_mpi_transport *mpi = NULL;
    gnti_launch launch;
    char text[GNTI_MPI_ERROR_BYTES];
    int code = 0;

    GNT_TRY(gnti_launch_detect(&launch));
    GNT_TRY(open_transport(&mpi));
    GNT_TRY(gnti_calloc_array(&job, 1));
    pthread_mutex_init(&job->mutex, NULL);
    job->num_comms = 1;
    mpi->set_exit_seconds(EXIT_LIMITS * GNTI_COMM_TIME_LIMIT);
    code = mpi->open(&job->facts);
    if (code != 0)
        mpi->error_text(code, text);
    GNT_CHECK(code == 0, GNT_ERR_PEER_LOST, "MPI on host '%s' does not start: %s", launch.host, text);
    GNT_TRY(check_facts(&launch, &job->facts));
    GNT_TRY(gnti_calloc_array(&job->hosts, job->facts.size));
    GNT_TRY(gnti_calloc_array(&job->notices, job->facts.size));
    GNT_TRY(gnti_calloc_array(&job->asked, job->facts.size));
    GNT_TRY(gnti_calloc_array(&job->answered, job->facts.size));
    GNT_TRY(gnti_calloc_array(&job->asks_open, job->facts.size));
    GNT_TRY(gnti_calloc_array(&job->answers_open, job->facts.size));
    GNT_TRY(gnti_calloc_array(&job->is_there, job->facts.size));
    for (int32_t r = 0; r < job->facts.size; r++)
        snprintf(job->hosts[r], PROCESS_HOST_BYTES, "%s", r == job->facts.rank ? launch.host : "unknown");
    GNT_CHECK(mpi->take(), GNT_ERR_STATE,
              "this process has an MPI communicator already, or had one that is broken: "
              "split that one");
    job->mpi = mpi;
    *out = job;
    job = NULL;
done:
    job_free(job);
    return st;
}

static gnt_status wait_for_ready(process_comm *c)
{
    gnt_status st = GNT_OK;
    const double began = gnti_clock_seconds();
    const struct timespec pause = { 0, 200000 };
    bool ready = false;
    int code = 0;

    while (code == 0 && !ready && gnti_clock_seconds() < began + c->head.time_limit) {
        code = c->job->mpi->ready(&ready);
        if (!ready)
            nanosleep(&pause, NULL);
    }
    if (code != 0)
        GNT_TRY(process_mpi_error(c, "start", c->head.rank, code));
    if (!ready)
        c->job->mpi->set_broken(false);
    GNT_CHECK(ready, GNT_ERR_TIMEOUT,
              "start: not all of the %d ranks have come within %.1f s (rank %d on host '%s' waited)",
              (int)c->head.size, c->head.time_limit, (int)c->head.rank, c->job->hosts[c->head.rank]);
done:
    return st;
}

/* All ranks learn all hosts: each adds its own to a list of zeros. */
static gnt_status tell_hosts(process_comm *c)
{
    gnt_status st = GNT_OK;
    const int32_t size = c->head.size;
    char(*list)[PROCESS_HOST_BYTES] = NULL;

    GNT_TRY(gnti_calloc_array(&list, size));
    memcpy(list[c->head.rank], c->job->hosts[c->head.rank], PROCESS_HOST_BYTES);
    GNT_TRY(process_all_reduce(&c->head, &(gnti_all_reduce_args){ list, (int64_t)size * PROCESS_HOST_BYTES,
                                                                  GNT_U8, GNTI_COMM_MAX }));
    memcpy(c->job->hosts, list, (size_t)size * PROCESS_HOST_BYTES);
    number_hosts(c);
done:
    gnti_free(list);
    return st;
}

gnt_status gnti_comm_mpi_create(gnti_comm **out)
{
    gnt_status st = GNT_OK;
    process_job *job = NULL;
    process_comm *c = NULL;
    int32_t *world = NULL;

    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_TRY(job_create(&job));
    GNT_TRY(gnti_alloc_array(&world, job->facts.size));
    for (int32_t r = 0; r < job->facts.size; r++)
        world[r] = r;
    GNT_TRY(comm_create(job, job->facts.rank, job->facts.size, world, job->next_id++, &c));
    GNT_TRY(wait_for_ready(c));
    GNT_TRY(tell_hosts(c));
    GNT_TRY(gnti_cost_measure(&c->head));
    *out = &c->head;
    c = NULL;
done:
    if (c != NULL)
        process_free(&c->head);
    job_free(job); /* what made it needs it no longer */
    gnti_free(world);
    return st;
}

void gnti_comm_mpi_set_chunk(gnti_comm *c, size_t bytes)
{
    ((process_comm *)c)->chunk_bytes = bytes;
}
