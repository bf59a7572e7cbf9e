/* SPDX-License-Identifier: Apache-2.0 */
/* The library's side of the METIS program: shared memory, limits, what it answered.
 *
 * The memory is a memfd whose pages are taken at once (fallocate), so that running out of it is a status and not a SIGBUS.
 * Values that come back are checked before anybody uses them as an index.
 */
#include "partition/part_metis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct gnti_metis_batch {
    gnti_metis_head *head;        /* the mapping */
    gnti_metis_request *requests; /* our own copy: nothing that the program may have damaged is trusted */
    int32_t num_requests;
    size_t bytes;
    int fd;
};

gnti_metis_request *gnti_metis_batch_request(const gnti_metis_batch *b, int32_t i)
{
    return &b->requests[i];
}

static gnti_metis_request *shared_requests(const gnti_metis_batch *b)
{
    return (gnti_metis_request *)(void *)(b->head + 1);
}

static void *at(const gnti_metis_batch *b, int64_t offset)
{
    return (char *)b->head + offset;
}

/* Sets the offsets of one request's arrays behind `used`, 64-byte aligned; answers the end. */
static int64_t lay_out(gnti_metis_request *r, int64_t used)
{
    const int64_t nodes = r->num_nodes, weights = r->num_weights;
    const struct {
        int64_t *offset, count;
    } arrays[] = { { &r->offsets, nodes + 1 },
                   { &r->columns, r->num_arcs },
                   { &r->weights, nodes * weights },
                   { &r->targets, (int64_t)r->num_parts * weights },
                   { &r->parts, nodes * r->num_tries } };

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i].offset = used;
        used += (int64_t)gnti_round_up((size_t)arrays[i].count * 4, 64);
    }
    return used;
}

gnt_status gnti_metis_batch_create(const gnti_metis_request *requests, int32_t num_requests,
                                   gnti_metis_batch **out)
{
    gnt_status st = GNT_OK;
    gnti_metis_batch *b = NULL;
    int64_t used;
    void *map;

    GNT_TRY(gnti_calloc_array(&b, 1));
    b->fd = -1;
    b->num_requests = num_requests;
    GNT_TRY(gnti_alloc_array(&b->requests, num_requests));
    used = (int64_t)gnti_round_up(sizeof *b->head + (size_t)num_requests * sizeof *b->requests, 64);
    for (int32_t i = 0; i < num_requests; i++) {
        b->requests[i] = requests[i];
        used = lay_out(&b->requests[i], used);
    }
    b->bytes = (size_t)used;
    b->fd = memfd_create("gnntrain-metis", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    GNT_CHECK(b->fd >= 0, GNT_ERR_NOMEM, "cannot make memory to share with METIS' program: %s",
              strerror(errno));
    GNT_CHECK(fallocate(b->fd, 0, 0, used) == 0, GNT_ERR_NOMEM,
              "cannot share %lld bytes with METIS' program: %s", (long long)used, strerror(errno));
    (void)fcntl(b->fd, F_ADD_SEALS,
                F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); /* the program cannot take pages away */
    map = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
    GNT_CHECK(map != MAP_FAILED, GNT_ERR_NOMEM, "cannot map %lld bytes: %s", (long long)used,
              strerror(errno));
    b->head = map;
    *out = b;
    b = NULL;
done:
    gnti_metis_batch_free(&b);
    return st;
}

void gnti_metis_batch_free(gnti_metis_batch **batch)
{
    gnti_metis_batch *b = *batch;

    if (b == NULL)
        return;
    if (b->head != NULL)
        (void)munmap(b->head, b->bytes);
    if (b->fd >= 0)
        (void)close(b->fd);
    gnti_free(b->requests);
    gnti_free(b);
    *batch = NULL;
}

gnt_status gnti_metis_batch_graph(gnti_metis_batch *batch, int32_t i, gnti_cut_graph **out)
{
    gnt_status st = GNT_OK;
    const gnti_metis_request *r = gnti_metis_batch_request(batch, i);
    gnti_cut_graph *g = NULL;

    GNT_TRY(gnti_calloc_array(&g, 1));
    g->num_nodes = r->num_nodes;
    g->num_arcs = r->num_arcs;
    g->num_weights = r->num_weights;
    g->offsets = at(batch, r->offsets);
    g->columns = at(batch, r->columns);
    g->weight = at(batch, r->weights);
    g->borrowed = true;
    *out = g;
done:
    return st;
}

float *gnti_metis_batch_targets(gnti_metis_batch *batch, int32_t i)
{
    return at(batch, gnti_metis_batch_request(batch, i)->targets);
}

const int32_t *gnti_metis_batch_parts(const gnti_metis_batch *batch, int32_t i, int32_t try_number)
{
    const gnti_metis_request *r = gnti_metis_batch_request(batch, i);

    return (const int32_t *)at(batch, r->parts) + (int64_t)try_number * r->num_nodes;
}

const char *gnti_metis_batch_version(const gnti_metis_batch *batch, int *index_bits)
{
    *index_bits = batch->head->index_bits;
    batch->head->version[sizeof batch->head->version - 1] = '\0';
    return batch->head->version;
}

/* What the machine has free, by the kernel's own estimate; 0: unknown. */
static size_t free_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kib = 0;

    if (file == NULL)
        return 0;
    while (kib == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
            kib = 0;
    (void)fclose(file);
    return (size_t)kib * 1024;
}

static void check_answers(const gnti_metis_batch *b, char *failure)
{
    for (int32_t i = 0; i < b->num_requests && failure[0] == '\0'; i++) {
        const gnti_metis_request *r = &b->requests[i];
        const int32_t *part = at(b, r->parts), result = shared_requests(b)[i].result;

        if (result != 1)
            snprintf(failure, GNTI_METIS_FAILURE_BYTES, "answered %d (%s)", result,
                     result == -3   ? "not enough memory"
                     : result == -2 ? "input refused"
                                    : "it gave up");
        for (int64_t k = 0; k < (int64_t)r->num_nodes * r->num_tries && failure[0] == '\0'; k++)
            if (part[k] < 0 || part[k] >= r->num_parts)
                snprintf(failure, GNTI_METIS_FAILURE_BYTES, "answered part %d of %d", part[k], r->num_parts);
    }
}

gnt_status gnti_metis_batch_run(gnti_metis_batch *batch, const gnti_metis_limits *limits,
                                char failure[GNTI_METIS_FAILURE_BYTES])
{
    gnt_status st = GNT_OK;
    const size_t memory = limits->memory_bytes > 0 ? limits->memory_bytes : free_memory();

    *batch->head = (gnti_metis_head){ .wire_version = GNTI_METIS_WIRE_VERSION,
                                      .num_requests = batch->num_requests,
                                      .total_bytes = (int64_t)batch->bytes,
                                      .memory_bytes = memory > 0 ? memory + batch->bytes : 0 };
    memcpy(shared_requests(batch), batch->requests, (size_t)batch->num_requests * sizeof *batch->requests);
    GNT_TRY(gnti_metis_program_run(batch->fd, limits->seconds > 0.0 ? limits->seconds : 3600.0, failure));
    if (failure[0] == '\0' && batch->head->done != 1)
        snprintf(failure, GNTI_METIS_FAILURE_BYTES, "ended before its answer was complete");
    if (failure[0] == '\0')
        check_answers(batch, failure);
done:
    return st;
}

gnt_status gnti_metis_version(char version[16], int *index_bits)
{
    gnt_status st = GNT_OK;
    gnti_metis_batch *b = NULL;
    char failure[GNTI_METIS_FAILURE_BYTES];

    GNT_TRY(gnti_metis_batch_create(NULL, 0, &b));
    GNT_TRY(gnti_metis_batch_run(b, &(gnti_metis_limits){ .seconds = 60.0 }, failure));
    GNT_CHECK(failure[0] == '\0', GNT_ERR_UNSUPPORTED, "METIS' program %s", failure);
    snprintf(version, 16, "%.15s", gnti_metis_batch_version(b, index_bits));
done:
    gnti_metis_batch_free(&b);
    return st;
}

gnt_status gnti_metis_check_limits(int64_t num_nodes, int64_t num_arcs, double weight_sum)
{
    gnt_status st = GNT_OK;
    const int64_t limit = INT32_MAX - 1;
    char version[16] = "";
    int bits = 32;

    if (num_nodes <= limit && num_arcs <= limit && weight_sum <= (double)limit)
        return GNT_OK;
    if (gnti_metis_version(version, &bits) != GNT_OK)
        snprintf(version, sizeof version, "(unknown)");
    GNT_FAIL(GNT_ERR_LIMIT,
             "METIS %s has %d-bit indices: %lld nodes, %lld arcs or a sum of work of %.0f exceed %lld; cut "
             "with the method ldg, "
             "fennel or range, or build METIS with IDXTYPEWIDTH 64 and gnntrain's part-metis against it",
             version, bits, (long long)num_nodes, (long long)num_arcs, weight_sum, (long long)limit);
done:
    return st;
}
