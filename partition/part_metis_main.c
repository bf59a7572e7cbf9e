/* SPDX-License-Identifier: Apache-2.0 */
/* part-metis: METIS in a process of its own, where it may print, trap signals, jump, run out of memory or die.
 *
 * Started by part_metis.c with the shared memory as descriptor 3. Cuts every request and writes the parts back; exit 0 says that
 * all were tried, each has METIS' code. It dies with its parent. `part-metis --version` prints METIS' version and the bits of
 * an index, for people.
 */
#include "partition/part_metis_wire.h"

#include <metis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

_Static_assert(sizeof(idx_t) == 4 && sizeof(real_t) == 4,
               "this program shares arrays of 32-bit numbers with METIS");

enum { EXIT_WIRE = 3 };

/* A sanitizer reserves more addresses than any limit allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMITS_MEMORY 0
#endif
#endif
#ifndef LIMITS_MEMORY
#define LIMITS_MEMORY 1
#endif

static void limit_memory(uint64_t bytes)
{
    struct rlimit limit;

    if (!LIMITS_MEMORY || bytes == 0 || getrlimit(RLIMIT_AS, &limit) != 0)
        return;
    if (limit.rlim_max != RLIM_INFINITY && bytes > limit.rlim_max)
        bytes = limit.rlim_max;
    if (limit.rlim_cur == RLIM_INFINITY || bytes < limit.rlim_cur)
        limit.rlim_cur = bytes;
    (void)setrlimit(RLIMIT_AS, &limit);
}

static int cut(char *base, gnti_metis_request *r, int32_t try_number)
{
    idx_t options[METIS_NOPTIONS], nodes = r->num_nodes, weights = r->num_weights, parts = r->num_parts,
                                   objective;
    idx_t *offsets = (idx_t *)(void *)(base + r->offsets), *columns = (idx_t *)(void *)(base + r->columns);
    idx_t *weight = (idx_t *)(void *)(base + r->weights);
    idx_t *part = (idx_t *)(void *)(base + r->parts) + (int64_t)try_number * r->num_nodes;
    real_t *targets = (real_t *)(void *)(base + r->targets);

    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = r->seed + try_number;
    if (!r->kway)
        return METIS_PartGraphRecursive(&nodes, &weights, offsets, columns, weight, NULL, NULL, &parts,
                                        targets, r->tolerance, options, &objective, part);
    options[METIS_OPTION_OBJTYPE] = r->volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
    return METIS_PartGraphKway(&nodes, &weights, offsets, columns, weight, NULL, NULL, &parts, targets,
                               r->tolerance, options, &objective, part);
}

int main(int argc, char **argv)
{
    struct stat info;
    gnti_metis_head *head;
    gnti_metis_request *request;

    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("METIS %d.%d.%d, %d-bit indices\n", METIS_VER_MAJOR, METIS_VER_MINOR, METIS_VER_SUBMINOR,
               IDXTYPEWIDTH);
        return 0;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1 || fstat(GNTI_METIS_FD, &info) != 0 || info.st_size < (off_t)sizeof *head) {
        fputs("part-metis: started by gnntrain only\n", stderr);
        return EXIT_WIRE;
    }
    head = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, GNTI_METIS_FD, 0);
    if (head == MAP_FAILED || head->wire_version != GNTI_METIS_WIRE_VERSION ||
        head->total_bytes != info.st_size)
        return EXIT_WIRE;
    head->index_bits = IDXTYPEWIDTH;
    snprintf(head->version, sizeof head->version, "%d.%d.%d", METIS_VER_MAJOR, METIS_VER_MINOR,
             METIS_VER_SUBMINOR);
    limit_memory(head->memory_bytes);
    request = (gnti_metis_request *)(void *)(head + 1);
    for (int32_t i = 0; i < head->num_requests; i++) {
        request[i].result = METIS_OK;
        for (int32_t t = 0; t < request[i].num_tries && request[i].result == METIS_OK; t++)
            request[i].result = cut((char *)head, &request[i], t);
    }
    head->done = 1;
    return 0;
}
