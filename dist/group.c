/* SPDX-License-Identifier: Apache-2.0 */
/* The edge of the groups of devices: arguments are checked here, so that a table stays small, and ranks meet over their
 * communicator. An error that only one rank can see (a call that fails) ends the job for all; what all ranks see alike (two ranks
 * on one device) does not. group.h is the manual.
 */
#include "dist/group.h"

#include "base/alloc.h"
#include "kernels/device_plugin.h"

#include <string.h>

/* ---- meeting over a communicator ------------------------------------------------------------------------------------ */

static gnt_status gather_over_comm(void *user, const void *mine, size_t bytes, void *all)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = user;

    memcpy((char *)all + (size_t)c->rank * bytes, mine, bytes);
    for (int32_t r = 0; r < c->size; r++)
        GNT_TRY(gnti_comm_broadcast(c, r, (char *)all + (size_t)r * bytes, bytes));
done:
    return st;
}

static gnt_status check_comm(void *user)
{
    return gnti_comm_check(user);
}

static void give_up_comm(void *user, const char *reason)
{
    gnti_comm_abort(user, reason);
}

static gnt_status ask_over_comm(void *user, double seconds)
{
    return gnti_comm_ask(user, seconds);
}

static gnt_status roll_call_over_comm(void *user, double seconds)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = user;
    const double limit = c->time_limit;

    c->time_limit = seconds;
    st = gnti_comm_barrier(c);
    c->time_limit = limit;
    return st;
}

static gnti_group_meeting meeting_over(gnti_comm *c)
{
    return (gnti_group_meeting){ .rank = c->rank,
                                 .size = c->size,
                                 .time_limit = c->time_limit,
                                 .user = c,
                                 .all_gather = gather_over_comm,
                                 .check = check_comm,
                                 .give_up = give_up_comm,
                                 .ask = ask_over_comm,
                                 .roll_call = roll_call_over_comm };
}

/* ---- making ---------------------------------------------------------------------------------------------------------- */

/* The table of the device's back end. */
static gnt_status find_table(const gnt_device *dev, const gnti_group_table **out)
{
    gnt_status st = GNT_OK;
    const char *name = ((const gnti_backend_head *)(const void *)dev)->backend->name;
    const gnti_device_plugin *plugin = NULL;

    GNT_TRY(gnti_device_plugin_find(name, &plugin, NULL));
    GNT_CHECK(plugin != NULL && plugin->group != NULL, GNT_ERR_UNSUPPORTED,
              "devices of backend '%s' do not exchange among themselves in this build", name);
    *out = plugin->group;
done:
    return st;
}

gnt_status gnti_group_create(gnti_comm *comm, gnt_device *dev, gnti_group **out)
{
    gnt_status st = GNT_OK;
    const gnti_group_table *table = NULL;
    gnti_group_meeting m;

    GNT_CHECK(comm != NULL && dev != NULL && out != NULL, GNT_ERR_ARG,
              "a group needs a communicator, a device and out");
    GNT_TRY(find_table(dev, &table));
    m = meeting_over(comm);
    GNT_TRY(table->create(&m, dev, out));
done:
    return st;
}

gnt_status gnti_group_rest(gnti_group *g, bool resting)
{
    return g->table->rest(g, resting);
}

gnt_status gnti_group_split(gnti_group *g, int32_t color, int32_t key, gnti_comm *part, gnti_group **out)
{
    gnt_status st = GNT_OK;
    gnti_group_meeting m = { 0 };

    GNT_CHECK(g != NULL && out != NULL, GNT_ERR_ARG, "group and out must not be NULL");
    GNT_CHECK(color < 0 || part != NULL, GNT_ERR_ARG, "color %d needs a communicator of the part",
              (int)color);
    *out = NULL;
    if (color >= 0)
        m = meeting_over(part);
    GNT_TRY(g->table->split(g, color, key, color >= 0 ? &m : NULL, out));
done:
    return st;
}

/* ---- queueing -------------------------------------------------------------------------------------------------------- */

static gnt_status check_stream(const gnti_group *g, const gnt_stream *s)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(g != NULL && s != NULL, GNT_ERR_ARG, "group and stream must not be NULL");
    GNT_CHECK(((const gnti_stream_head *)(const void *)s)->device == g->device, GNT_ERR_ARG,
              "the stream belongs to another device than the group");
done:
    return st;
}

static gnt_status check_range(const gnti_group *g, const gnt_buffer *buffer, size_t offset, size_t bytes,
                              const char *what)
{
    gnt_status st = GNT_OK;
    const gnti_buffer_head *b = (const gnti_buffer_head *)(const void *)buffer;

    if (bytes == 0)
        return GNT_OK;
    GNT_CHECK(b != NULL, GNT_ERR_ARG, "%s of %zu bytes needs a buffer", what, bytes);
    GNT_CHECK(b->device == g->device && b->host == NULL, GNT_ERR_ARG,
              "%s must lie in the memory of the group's device", what);
    GNT_CHECK(offset <= b->bytes && bytes <= b->bytes - offset, GNT_ERR_ARG,
              "%s of %zu bytes at %zu ends behind the buffer of %zu bytes", what, bytes, offset, b->bytes);
done:
    return st;
}

gnt_status gnti_group_exchange(gnti_group *g, gnt_stream *s, const gnti_group_peer *peers, int32_t num_peers)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_stream(g, s));
    GNT_CHECK(num_peers >= 0 && (num_peers == 0 || peers != NULL), GNT_ERR_ARG,
              "exchange needs a list of neighbours");
    for (int32_t i = 0; i < num_peers; i++) {
        const gnti_group_peer *p = &peers[i];

        GNT_CHECK(p->rank >= 0 && p->rank < g->meeting.size, GNT_ERR_ARG,
                  "neighbour %d is rank %d of a group of %d ranks", (int)i, (int)p->rank,
                  (int)g->meeting.size);
        GNT_TRY(check_range(g, p->send, p->send_offset, p->send_bytes, "a message sent"));
        GNT_TRY(check_range(g, p->receive, p->receive_offset, p->receive_bytes, "a message received"));
    }
    GNT_TRY(g->table->exchange(g, s, peers, num_peers));
done:
    return st;
}

static size_t value_bytes(gnt_dtype dtype)
{
    switch (dtype) {
    case GNT_F32:
    case GNT_I32:
        return 4;
    case GNT_F64:
    case GNT_I64:
        return 8;
    case GNT_U8:
        return 1;
    default:
        return 0;
    }
}

gnt_status gnti_group_all_reduce(gnti_group *g, gnt_stream *s, const gnti_group_sum *a)
{
    gnt_status st = GNT_OK;
    size_t value, bytes;

    GNT_TRY(check_stream(g, s));
    GNT_CHECK(a != NULL && a->count >= 0, GNT_ERR_ARG,
              "all-reduce needs arguments with a count of at least 0");
    value = value_bytes(a->dtype);
    GNT_CHECK(value > 0, GNT_ERR_ARG, "all-reduce cannot add values of dtype %d", (int)a->dtype);
    GNT_CHECK(a->op >= GNTI_COMM_SUM && a->op <= GNTI_COMM_MAX, GNT_ERR_ARG, "all-reduce has no operation %d",
              (int)a->op);
    GNT_CHECK(a->offset % value == 0, GNT_ERR_ARG, "values of %zu bytes cannot start at byte %zu", value,
              a->offset);
    GNT_TRY(gnti_mul_size((size_t)a->count, value, &bytes));
    GNT_TRY(check_range(g, a->buffer, a->offset, bytes, "an all-reduce"));
    GNT_TRY(g->table->all_reduce(g, s, a));
done:
    return st;
}

gnt_status gnti_group_broadcast(gnti_group *g, gnt_stream *s, int32_t root, gnt_buffer *buffer, size_t offset,
                                size_t bytes)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_stream(g, s));
    GNT_CHECK(root >= 0 && root < g->meeting.size, GNT_ERR_ARG,
              "broadcast from rank %d of a group of %d ranks", (int)root, (int)g->meeting.size);
    GNT_TRY(check_range(g, buffer, offset, bytes, "a broadcast"));
    GNT_TRY(g->table->broadcast(g, s, root, buffer, offset, bytes));
done:
    return st;
}

/* ---- waiting and ending ---------------------------------------------------------------------------------------------- */

gnt_status gnti_group_wait(gnti_group *g, gnt_stream *s, const char *what)
{
    gnt_status st = GNT_OK;
    bool done = false;

    GNT_TRY(check_stream(g, s));
    GNT_TRY(g->table->wait(g, s, g->meeting.time_limit, what, &done));
done:
    return st;
}

gnt_status gnti_group_poll(gnti_group *g, gnt_stream *s, const char *what, bool *out_done)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_stream(g, s));
    GNT_CHECK(out_done != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_TRY(g->table->wait(g, s, 0.0, what, out_done));
done:
    return st;
}

void gnti_group_abort(gnti_group *g, const char *reason)
{
    if (g == NULL)
        return;
    g->table->abort(g);
    g->meeting.give_up(g->meeting.user, reason);
}

void gnti_group_free(gnti_group **g)
{
    if (g == NULL || *g == NULL)
        return;
    (*g)->table->free(*g);
    *g = NULL;
}
