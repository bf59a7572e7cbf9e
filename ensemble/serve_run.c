/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks carried out: a thread a device. Members of one shape that have the same units and batch on a device are one program of that
 * many members; when that does not fit after all, half of it is tried. The first failure stops the other devices between batches.
 */
#include "ensemble/serve.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/source_base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef struct worker {
    gnti_serve *s;
    atomic_int *stop;
    int32_t device, wave;
    pthread_t thread;
    gnt_status status;
    gnti_error_record error;
    /* while it runs */
    gnt_device *dev;
    gnti_virtual *clock;
    int64_t num_pieces; /* steps, for a device that is to be lost at one */
} worker;

/* Members that run as one program, and what of the graph. */
typedef struct bunch {
    const int32_t *members; /* (num) */
    int32_t num, first, end, batch;
} bunch;

/* What a batch is computed with. */
typedef struct piece {
    int64_t begin, end; /* nodes that are asked for */
    int64_t offset;     /* row of the first of them */
    const gnti_operator *op;
    const gnti_features *x;
    gnti_operator *owned;
    gnti_source_rows rows;
} piece;

/* ---- weights --------------------------------------------------------------------------------------------------------- */

/* The best weights of the members side by side, in the order of a checkpoint of that many members. */
static gnt_status fill_weights(const gnti_serve *s, const bunch *b, gnti_checkpoint *all)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_alloc_array(&all->block[GNTI_CP_WEIGHTS], all->num_floats));
    for (int32_t i = 0; i < b->num; i++) {
        gnti_checkpoint *own = s->members[b->members[i]].trained.cp;
        const int block = gnti_trained_best_block(own);

        GNT_CHECK(own->num_params == all->num_params, GNT_ERR_FORMAT,
                  "checkpoint '%s' has %lld parameters but its model has %lld", own->path,
                  (long long)own->num_params, (long long)all->num_params);
        for (int64_t k = 0; k < all->num_params; k++) {
            const gnti_checkpoint_param *to = &all->params[k], *from = &own->params[k];
            const int64_t count = to->in * to->out;

            GNT_CHECK(strcmp(to->name, from->name) == 0 && to->in == from->in && to->out == from->out,
                      GNT_ERR_FORMAT,
                      "checkpoint '%s' has parameter '%s' %lld x %lld where its model has '%s' %lld x %lld",
                      own->path, from->name, (long long)from->in, (long long)from->out, to->name,
                      (long long)to->in, (long long)to->out);
            memcpy(all->block[GNTI_CP_WEIGHTS] + to->offset + i * count, own->block[block] + from->offset,
                   (size_t)count * sizeof(float));
        }
    }
done:
    return st;
}

static gnt_status make_params(worker *w, const bunch *b, gnti_params **out)
{
    gnt_status st = GNT_OK;
    const gnt_model *model = w->s->members[b->members[0]].trained.model;
    gnti_params *params = NULL;
    gnti_checkpoint *all = NULL;

    GNT_TRY(gnti_params_create(model, w->dev, b->num, -1, &params));
    GNT_TRY(gnti_checkpoint_shape(params, b->num, -1, &all));
    GNT_TRY(fill_weights(w->s, b, all));
    GNT_TRY(gnti_checkpoint_put_block(all, GNTI_CP_WEIGHTS, -1, params, b->num, GNTI_BLOCK_WEIGHTS));
    *out = params;
    params = NULL;
done:
    gnti_checkpoint_free(&all);
    gnti_params_free(&params);
    return st;
}

/* ---- batches --------------------------------------------------------------------------------------------------------- */

static void free_piece(piece *p)
{
    gnti_operator_free(&p->owned);
    gnti_source_rows_free(&p->rows);
}

static int64_t node_of_unit(const gnti_serve *s, int32_t unit)
{
    return s->data->num_nodes * unit / GNTI_SERVE_UNITS;
}

static gnt_status make_piece(const gnti_serve *s, const bunch *b, int32_t first, int32_t end, piece *out)
{
    gnt_status st = GNT_OK;
    const gnti_serve_member *m = &s->members[b->members[0]];
    const gnti_serve_sight *sight = &s->sights[m->sight];
    const gnti_features *x = &sight->features[m->normalizes].x;
    const gnti_source_data from = { .x = x, .weight = sight->zeros };
    int64_t *nodes = NULL, num = 0;

    *out = (piece){ .begin = node_of_unit(s, first),
                    .end = node_of_unit(s, end),
                    .offset = node_of_unit(s, first),
                    .op = sight->whole,
                    .x = x };
    if (end - first == GNTI_SERVE_UNITS || out->begin == out->end)
        goto done;
    GNT_TRY(
        gnti_operator_reach(sight->whole, out->begin, out->end, s->shapes[m->shape].num_hops, &nodes, &num));
    if (num == s->data->num_nodes) /* all is near: nothing to be cut */
        goto done;
    GNT_TRY(gnti_operator_within(sight->whole, nodes, num, &out->owned));
    GNT_TRY(gnti_source_rows_gather(&from, nodes, num, &out->rows));
    out->op = out->owned;
    out->x = &out->rows.x;
    for (out->offset = 0; nodes[out->offset] != out->begin; out->offset++)
        ;
done:
    gnti_free(nodes);
    if (st != GNT_OK)
        free_piece(out);
    return st;
}

/* Logits of all members of a bunch for the nodes of a piece. */
static gnt_status run_piece(worker *w, const bunch *b, gnti_params *params, const piece *p)
{
    gnt_status st = GNT_OK;
    gnti_serve *s = w->s;
    const int64_t width = s->num_classes;
    const gnti_evaluator_config config = { .ctx = s->ctx,
                                           .device = w->dev,
                                           .model = s->members[b->members[0]].trained.model,
                                           .params = params,
                                           .num_members = b->num,
                                           .graph = p->op->forward,
                                           .whole = p->op,
                                           .x = p->x,
                                           .clock = w->clock };
    gnti_evaluator *ev = NULL;
    float *logits = NULL;
    size_t cells = 0;

    if (p->begin == p->end)
        return GNT_OK;
    GNT_TRY(gnti_mul_size((size_t)p->op->num_dst, (size_t)width, &cells));
    GNT_TRY(gnti_evaluator_create(&config, &ev));
    GNT_TRY(gnti_evaluator_run(ev));
    GNT_TRY(gnti_alloc_array(&logits, (int64_t)cells));
    for (int32_t i = 0; i < b->num; i++) {
        GNT_TRY(gnti_evaluator_read(ev, i, logits));
        memcpy(s->members[b->members[i]].logits + p->begin * width, logits + p->offset * width,
               (size_t)((p->end - p->begin) * width) * sizeof *logits);
    }
done:
    gnti_evaluator_free(&ev);
    gnti_free(logits);
    return st;
}

static gnt_status run_bunch(worker *w, const bunch *b)
{
    gnt_status st = GNT_OK;
    gnti_params *params = NULL;
    piece p = { 0 };

    GNT_TRY(make_params(w, b, &params));
    for (int32_t u = b->first; u < b->end && atomic_load(w->stop) == 0; u += b->batch) {
        GNT_TRY(gnti_virtual_check(w->clock, w->num_pieces++));
        free_piece(&p);
        GNT_TRY(make_piece(w->s, b, u, u + b->batch < b->end ? u + b->batch : b->end, &p));
        GNT_TRY(run_piece(w, b, params, &p));
    }
done:
    free_piece(&p);
    gnti_params_free(&params);
    return st;
}

/* The whole bunch; where it does not fit after all, its halves, and at last fewer units at once. */
static gnt_status run_or_halve(worker *w, const bunch *b)
{
    gnt_status st = run_bunch(w, b);
    bunch half = *b;

    if (st != GNT_ERR_DEVICE_NOMEM || (b->num == 1 && b->batch == 1))
        return st;
    gnt_clear_error();
    if (b->num == 1) {
        half.batch = b->batch / 2;
        return run_or_halve(w, &half);
    }
    half.num = b->num / 2;
    st = run_or_halve(w, &half);
    if (st != GNT_OK)
        return st;
    half.members = b->members + half.num;
    half.num = b->num - half.num;
    return run_or_halve(w, &half);
}

/* ---- devices --------------------------------------------------------------------------------------------------------- */

/* The members of the tasks that run with task i, itself first; they are marked as done. */
static int32_t gather_bunch(const gnti_serve *s, int32_t i, uint8_t *done, int32_t *members)
{
    const gnti_serve_task *t = &s->tasks[i];
    int32_t num = 0;

    for (int32_t k = i; k < s->num_tasks; k++) {
        const gnti_serve_task *other = &s->tasks[k];

        if (done[k] != 0 || other->device != t->device || other->first != t->first || other->end != t->end ||
            other->batch != t->batch || other->wave != t->wave ||
            s->members[other->member].shape != s->members[t->member].shape)
            continue;
        done[k] = 1;
        members[num++] = other->member;
    }
    return num;
}

static gnt_status run_tasks(worker *w)
{
    gnt_status st = GNT_OK;
    const gnti_serve *s = w->s;
    uint8_t *done = NULL;
    int32_t *members = NULL;

    GNT_TRY(gnti_calloc_array(&done, s->num_tasks));
    GNT_TRY(gnti_alloc_array(&members, s->num_tasks));
    for (int32_t i = 0; i < s->num_tasks && atomic_load(w->stop) == 0; i++) {
        bunch b = {
            .members = members, .first = s->tasks[i].first, .end = s->tasks[i].end, .batch = s->tasks[i].batch
        };

        if (s->tasks[i].device != w->device || s->tasks[i].wave != w->wave || done[i] != 0)
            continue;
        b.num = gather_bunch(s, i, done, members);
        GNT_TRY(run_or_halve(w, &b));
    }
done:
    gnti_free(done);
    gnti_free(members);
    return st;
}

static gnt_status run_device(worker *w)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    bool owns = false, has_work = false;

    for (int32_t i = 0; i < w->s->num_tasks; i++)
        has_work = has_work || (w->s->tasks[i].device == w->device && w->s->tasks[i].wave == w->wave);
    if (!has_work)
        return GNT_OK;
    GNT_TRY(gnti_job_open_device(&w->s->job, w->device, &w->dev, &owns));
    GNT_TRY(gnti_virtual_create(&w->s->job.place.specs[w->device], (uint64_t)w->device, &w->clock));
    GNT_TRY(run_tasks(w));
    w->s->seconds[w->device] +=
        gnti_virtual_clock(w->clock) != NULL ? *gnti_virtual_clock(w->clock) : gnti_clock_seconds() - begin;
done:
    gnti_virtual_free(&w->clock);
    if (owns)
        gnti_device_close(&w->dev);
    return st;
}

static void *work(void *user)
{
    worker *w = user;

    w->status = run_device(w);
    if (w->status != GNT_OK) {
        w->error = *gnti_error_get();
        atomic_store(w->stop, 1);
    }
    return NULL;
}

/* The first failure of a device that is not lost is that of all; those that are lost say why. */
static gnt_status judge(gnti_serve *s, const worker *workers)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &s->job.place;

    for (int32_t d = place->first; d < place->first + place->num_local; d++) {
        const worker *w = &workers[d];

        if (w->status != GNT_OK && w->status != GNT_ERR_DEVICE_LOST) {
            st = gnti_error_adopt(&w->error);
            return st != GNT_OK ? st : w->status;
        }
        if (w->status == GNT_ERR_DEVICE_LOST && s->lost[d] == NULL)
            GNT_TRY(gnti_strdup(&s->lost[d], w->error.text));
    }
done:
    return st;
}

static gnt_status run_all(gnti_serve *s, worker *workers)
{
    gnt_status st = GNT_OK;
    const int32_t first = s->job.place.first, end = first + s->job.place.num_local;
    int32_t started = first + 1;

    for (; started < end; started++)
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
    if (started == end)
        (void)work(&workers[first]);
    else
        atomic_store(workers[first].stop, 1);
    for (int32_t d = first + 1; d < started; d++)
        pthread_join(workers[d].thread, NULL);
    GNT_TRY(judge(s, workers));
    GNT_CHECK(started == end, GNT_ERR_LIMIT, "cannot start a thread for device %d of %d: use fewer devices",
              (int)started + 1, (int)s->job.place.size);
done:
    return st;
}

gnt_status gnti_serve_run_wave(gnti_serve *s, int32_t wave)
{
    gnt_status st = GNT_OK;
    worker *workers = NULL;
    atomic_int stop = 0;

    GNT_TRY(gnti_calloc_array(&workers, s->job.place.size));
    for (int32_t d = 0; d < s->job.place.size; d++)
        workers[d] = (worker){ .s = s, .stop = &stop, .device = d, .wave = wave };
    GNT_TRY(run_all(s, workers));
done:
    gnti_free(workers);
    return st;
}
