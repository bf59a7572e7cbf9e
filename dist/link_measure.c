/* SPDX-License-Identifier: Apache-2.0 */
/* Latency and bandwidth of the links of a communicator. One exchange with all ranks of a class takes
 *   peers a + peers bytes / bandwidth
 * so few bytes give the latency a, many the bandwidth. All ranks exchange at once, as in a step, so what they share (cores,
 * memory, a network card) is shared here too. Ranks without a peer of the class take part in the barriers alone.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/link_cost.h"

#include <stdlib.h>

enum { SMALL_BYTES = 8, LARGE_BYTES = 1 << 20, SMALL_TIMES = 15, LARGE_TIMES = 5 };

typedef struct measuring {
    gnti_comm *comm;
    gnti_comm_peer *peers;
    int32_t num_peers;
    char *send, *receive;
} measuring;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Median of the seconds that an exchange of so many bytes with each peer takes. */
static gnt_status time_exchanges(measuring *m, size_t bytes, int32_t times, double *out)
{
    gnt_status st = GNT_OK;
    double seconds[SMALL_TIMES] = { 0.0 };
    gnti_exchange *x = NULL;

    for (int32_t p = 0; p < m->num_peers; p++)
        m->peers[p].send_bytes = m->peers[p].receive_bytes = bytes;
    for (int32_t i = 0; i < times; i++) {
        double began = 0.0;

        GNT_TRY(gnti_comm_barrier(m->comm));
        began = gnti_clock_seconds();
        GNT_TRY(gnti_comm_exchange_start(m->comm, m->peers, m->num_peers, &x));
        GNT_TRY(gnti_comm_exchange_finish(&x));
        seconds[i] = gnti_clock_seconds() - began;
    }
    qsort(seconds, (size_t)times, sizeof *seconds, ascending);
    *out = seconds[times / 2];
done:
    return st;
}

static gnt_status find_peers(measuring *m, gnti_link_class class)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = m->comm;

    m->num_peers = 0;
    for (int32_t r = 0; r < c->size; r++)
        if (r != c->rank && gnti_cost_link_class(c, r) == class)
            m->peers[m->num_peers++] = (gnti_comm_peer){ .rank = r };
    gnti_free(m->receive);
    m->receive = NULL;
    GNT_TRY(gnti_calloc_array(&m->receive, (int64_t)m->num_peers * LARGE_BYTES));
    for (int32_t p = 0; p < m->num_peers; p++) {
        m->peers[p].send = m->send;
        m->peers[p].receive = m->receive + (size_t)p * LARGE_BYTES;
    }
done:
    return st;
}

static gnt_status measure_class(measuring *m, gnti_link_class class)
{
    gnt_status st = GNT_OK;
    double pair[2] = { 0.0, 0.0 }, small = 0.0, large = 0.0;
    gnti_link *link = &m->comm->measured[class];

    GNT_TRY(find_peers(m, class));
    GNT_TRY(time_exchanges(m, SMALL_BYTES, SMALL_TIMES, &small));
    GNT_TRY(time_exchanges(m, LARGE_BYTES, LARGE_TIMES, &large));
    if (m->num_peers > 0) {
        pair[0] = small / m->num_peers;
        pair[1] = (large > small ? large - small : large) / ((double)m->num_peers * LARGE_BYTES);
    }
    GNT_TRY(gnti_comm_all_reduce(m->comm, &(gnti_all_reduce_args){ pair, 2, GNT_F64, GNTI_COMM_MAX }));
    *link = (gnti_link){ pair[0], pair[1] > 0.0 ? 1.0 / pair[1] : 0.0 };
done:
    return st;
}

gnt_status gnti_cost_measure(gnti_comm *c)
{
    gnt_status st = GNT_OK;
    measuring m = { .comm = c };
    double *clock = c->virtual_seconds; /* measuring takes no virtual time */

    c->virtual_seconds = NULL;
    GNT_TRY(gnti_calloc_array(&m.peers, c->size));
    GNT_TRY(gnti_calloc_array(&m.send, LARGE_BYTES));
    for (int class = 0; c->size > 1 && class < GNTI_LINK_NUM_CLASSES; class ++)
        if (class == GNTI_LINK_HOST || c->host != NULL)
            GNT_TRY(measure_class(&m, (gnti_link_class) class));
done:
    c->virtual_seconds = clock;
    gnti_free(m.peers);
    gnti_free(m.send);
    gnti_free(m.receive);
    return st;
}
