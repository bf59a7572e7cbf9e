/* SPDX-License-Identifier: Apache-2.0 */
/* Events into a list, the list into Chrome's JSON: complete events ("X") with microseconds, one process a rank. */
#include "nn/trace.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

typedef struct event {
    char name[32];
    gnti_trace_kind kind;
    int32_t layer;
    int64_t step;
    double begin, end;
} event;

struct gnti_trace {
    event *events; /* (capacity) */
    int64_t count, capacity, lost;
};

gnt_status gnti_trace_create(int64_t max_events, gnti_trace **out)
{
    gnt_status st = GNT_OK;
    gnti_trace *t = NULL;

    GNT_CHECK(max_events > 0 && out != NULL, GNT_ERR_ARG, "a trace with room for %lld events",
              (long long)max_events);
    GNT_TRY(gnti_calloc_array(&t, 1));
    GNT_TRY(gnti_calloc_array(&t->events, max_events));
    t->capacity = max_events;
    *out = t;
    t = NULL; /* handed over */
done:
    gnti_free(t);
    return st;
}

void gnti_trace_free(gnti_trace **t)
{
    if (t == NULL || *t == NULL)
        return;
    gnti_free((*t)->events);
    gnti_free(*t);
    *t = NULL;
}

void gnti_trace_add(gnti_trace *t, gnti_trace_kind kind, const char *name, int32_t layer, int64_t step,
                    double begin, double end)
{
    event *e;

    if (t->count == t->capacity) {
        t->lost++;
        return;
    }
    e = &t->events[t->count++];
    *e = (event){ .kind = kind, .layer = layer, .step = step, .begin = begin, .end = end };
    snprintf(e->name, sizeof e->name, "%.31s", name);
}

int64_t gnti_trace_num_events(const gnti_trace *t)
{
    return t->count;
}

int64_t gnti_trace_num_lost(const gnti_trace *t)
{
    return t->lost;
}

static void print_rank(gnti_text *text, const gnti_trace *t, int32_t rank)
{
    static const char *const categories[] = { "op", "wait", "transfer" };

    gnti_text_printf(text,
                     "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}",
                     text->length > 1 ? ",\n" : "\n", rank, rank);
    gnti_text_printf(
        text, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"ops\"}}",
        rank);
    gnti_text_printf(text,
                     ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":1,\"args\":{\"name\":"
                     "\"rows under way\"}}",
                     rank);
    for (int64_t i = 0; i < t->count; i++) {
        const event *e = &t->events[i];

        gnti_text_printf(
            text,
            ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%d,"
            "\"tid\":%d,\"args\":{\"layer\":%d,\"step\":%lld}}",
            e->name, categories[e->kind], 1e6 * e->begin, 1e6 * (e->end - e->begin), rank,
            e->kind == GNTI_TRACE_TRANSFER, e->layer, (long long)e->step);
    }
}

gnt_status gnti_trace_print(const gnti_trace *const *traces, int32_t num_ranks, int32_t first_rank,
                            char **out)
{
    gnt_status st = GNT_OK;
    gnti_text text = { 0 };

    gnti_text_append(&text, "[");
    for (int32_t r = 0; r < num_ranks; r++)
        print_rank(&text, traces[r], first_rank + r);
    gnti_text_append(&text, "\n]\n");
    GNT_TRY(gnti_text_take(&text, out));
done:
    gnti_text_free(&text);
    return st;
}
