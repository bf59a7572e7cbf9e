/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of halo exchange and broadcast, and which of the two a graph should use. */
#include "dist/link_cost.h"

#include <math.h>
#include <string.h>

gnti_link_class gnti_cost_link_class(const gnti_comm *c, int32_t rank)
{
    return c->host == NULL || c->host[rank] == c->host[c->rank] ? GNTI_LINK_HOST : GNTI_LINK_NETWORK;
}

/* Messages cost something on a virtual clock. */
static bool is_virtual(const gnti_comm *c)
{
    return c->link.latency > 0.0 || c->link.bytes_per_second > 0.0;
}

gnti_link gnti_cost_link_default(const gnti_comm *c)
{
    if (strcmp(c->table->name, "mpi") == 0)
        return (gnti_link){ 5e-6, 5e9 };
    return (gnti_link){ 2e-6, 8e9 }; /* one copy in memory */
}

gnti_link gnti_cost_link(const gnti_comm *c)
{
    if (is_virtual(c))
        return (gnti_link){ c->link.latency,
                            c->link.bytes_per_second > 0.0 ? c->link.bytes_per_second : INFINITY };
    for (int32_t class = GNTI_LINK_NUM_CLASSES - 1; class >= 0; class --)
        if (c->measured[class].bytes_per_second > 0.0)
            return c->measured[class];
    return gnti_cost_link_default(c);
}

bool gnti_cost_link_is_apart(const gnti_comm *c)
{
    bool network = false;

    for (int32_t r = 0; r < c->size; r++)
        network = network || gnti_cost_link_class(c, r) == GNTI_LINK_NETWORK;
    return c->size > 1 && (is_virtual(c) || network);
}

double gnti_cost_halo_seconds(const gnti_link *link, int32_t num_peers, int64_t num_rows, int64_t row_bytes)
{
    return (double)num_peers * link->latency +
           (double)num_rows * (double)row_bytes / link->bytes_per_second * (1.0 + GNTI_COST_PACK);
}

double gnti_cost_broadcast_seconds(const gnti_link *link, int32_t num_ranks, int64_t num_nodes,
                                   int64_t row_bytes)
{
    const double ranks = (double)num_ranks;

    return ranks * link->latency * log2(fmax(ranks, 1.0)) +
           (double)num_nodes * (double)row_bytes / link->bytes_per_second * (ranks - 1.0) / ranks;
}

bool gnti_cost_prefers_broadcast(int32_t num_ranks, int64_t num_nodes, int64_t most_halo)
{
    const double received = (double)num_nodes * (double)(num_ranks - 1) / (double)num_ranks;

    return (double)most_halo * (1.0 + GNTI_COST_PACK) >= GNTI_COST_COLLECTIVE * received && received > 0.0;
}
