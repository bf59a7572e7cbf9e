/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank needs before the first epoch: device, communicator, its rows of the data, source, parameters, the program of
 * a step and the one that evaluates. A job without a partition has one rank, which works on the whole dataset as it lies.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include "dist/part_load.h"

enum { TRACE_EVENTS = 1 << 15 }; /* of a rank */

const gnti_features *gnti_rank_features(const gnt_trainer *tr, const gnti_rank *rank)
{
    return rank->rows != NULL ? &rank->features.x : &tr->prepared.features.x;
}

static gnt_status make_arrays(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_array(&rank->stats, 4 * (int64_t)tr->num_members));
    GNT_TRY(gnti_calloc_array(&rank->bad, tr->num_members));
    GNT_TRY(gnti_calloc_array(&rank->live, tr->num_members));
    GNT_TRY(gnti_calloc_array(&rank->failed, tr->num_members));
    GNT_TRY(gnti_calloc_array(&rank->dropout, gnt_model_num_layers(tr->model) + 1));
    GNT_TRY(gnti_calloc_array(&rank->decay, tr->num_rules + 1));
done:
    return st;
}

/* What a rank's own rows have of arrays by node of the dataset: members' loss weights, predictions to stay apart from. */
static gnt_status make_member_rows(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const gnti_local_data *d = rank->rows;
    const int64_t *origin = NULL, classes = tr->data->y.num_classes;
    int64_t *row_of = NULL, *rows = NULL;

    if (!gnti_trainer_has_member_weights(tr) && tr->apart == NULL)
        return GNT_OK;
    GNT_TRY(gnti_dataset_get_origin(tr->data, &origin));
    if (origin != NULL)
        GNT_TRY(gnti_graph_invert(origin, tr->data->num_nodes, &row_of));
    GNT_TRY(gnti_alloc_array(&rows, d->num_own + 1));
    for (int64_t r = 0; r < d->num_own; r++)
        rows[r] = row_of != NULL ? row_of[d->part->ids[r]] : d->part->ids[r];
    GNT_TRY(gnti_trainer_make_member_weights(tr, rank->comm, rank->weight, rows, d->num_own,
                                             &rank->member_weight));
    if (tr->apart != NULL)
        GNT_TRY(gnti_alloc_array(&rank->apart, d->num_own * classes + 1));
    for (int64_t r = 0; tr->apart != NULL && r < d->num_own; r++)
        memcpy(rank->apart + r * classes, tr->apart + rows[r] * classes, (size_t)classes * sizeof(float));
done:
    gnti_free(row_of);
    gnti_free(rows);
    return st;
}

/* Loss weights of own rows: class weights by the labelled training rows of all ranks. */
static gnt_status make_weights(gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const gnti_local_data *d = rank->rows;
    const bool classes = d->y.kind == GNT_LABELS_CLASS;
    const int64_t num = classes ? d->y.num_classes : 1;
    gnti_all_reduce_args counted = { .count = num, .dtype = GNT_I64, .op = GNTI_COMM_SUM };
    int64_t *counts = NULL, all = 0;
    float *by_class = NULL;

    GNT_TRY(gnti_calloc_array(&counts, num));
    GNT_TRY(gnti_alloc_array(&by_class, num));
    GNT_TRY(gnti_calloc_array(&rank->weight, d->num_own + 1));
    for (int64_t r = 0; r < d->num_own; r++)
        if ((d->member[r] & (1u << GNTI_TRAIN)) != 0 && gnti_is_labelled(&d->y, r))
            counts[classes ? d->y.class_of[r] : 0]++;
    counted.data = counts;
    GNT_TRY(gnti_comm_all_reduce(rank->comm, &counted));
    by_class[0] = 1.0f;
    if (classes)
        GNT_TRY(gnti_class_weights(tr->config.class_weights, counts, num, by_class));
    for (int64_t r = 0; r < d->num_own; r++)
        if ((d->member[r] & (1u << GNTI_TRAIN)) != 0 && gnti_is_labelled(&d->y, r))
            rank->weight[r] = by_class[classes ? d->y.class_of[r] : 0];
    for (int64_t c = 0; c < num; c++)
        all += counts[c];
    GNT_CHECK(
        all > 0, GNT_ERR_FORMAT,
        "the training set of split '%s' has %lld nodes, none of them with a label: nothing can be learned",
        d->split_name != NULL ? d->split_name : "", (long long)d->num_split[GNTI_TRAIN]);
    if (rank == tr->lead)
        tr->prepared.num_train = all;
    GNT_TRY(make_member_rows(tr, rank));
done:
    gnti_free(counts);
    gnti_free(by_class);
    return st;
}

static gnt_status check_features(const gnti_local_data *d)
{
    gnt_status st = GNT_OK;
    int64_t column = 0;
    const int64_t row = gnti_features_find_nonfinite(&d->x, &column);

    GNT_CHECK(row < 0, GNT_ERR_FORMAT, "feature %lld of node %lld is not finite: gnntrain check tells of all",
              (long long)column, (long long)d->part->ids[row < 0 ? 0 : row]);
done:
    return st;
}

static gnti_local_config local_config(const gnt_trainer *tr)
{
    return (gnti_local_config){ .partition = tr->job.partition,
                                .owner = tr->job.place.owner,
                                .num_ranks = tr->job.place.size,
                                .split = tr->config.split };
}

/* Ranks as threads over a dataset in memory: all of them are cut at once. */
static gnt_status cut_rows(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const gnti_local_config config = local_config(tr);
    gnti_local_data **rows = NULL;

    if (tr->job.partition == NULL || tr->data->header != NULL || tr->job.processes->size > 1)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&rows, tr->job.place.size));
    GNT_TRY(gnti_local_data_make_all(tr->data, &config, rows));
    for (int32_t i = 0; i < tr->job.place.size; i++)
        gnti_ranks_at(tr->ranks, i)->rows = rows[i];
done:
    gnti_free(rows);
    return st;
}

/* Own rows as the model sees them; they are read by the rank unless they were cut already. */
static gnt_status make_local(gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const gnti_local_config config = local_config(tr);

    if (rank->rows == NULL)
        GNT_TRY(gnti_local_data_load(tr->data, &config, rank->comm, &rank->rows));
    GNT_TRY(check_features(rank->rows));
    GNT_TRY(gnti_model_features_make(&rank->rows->x, tr->config.normalize_features == 1, &rank->features));
    GNT_TRY(make_weights(tr, rank));
    if (tr->config.trace != NULL && !tr->trace_written)
        GNT_TRY(gnti_trace_create(TRACE_EVENTS, &rank->trace));
    rank->dist = (gnti_dist_config){ .comm = rank->comm,
                                     .strategy = (gnti_strategy)tr->config.strategy,
                                     .wire = (gnti_wire)tr->config.wire,
                                     .clock = rank->clock,
                                     .trace = rank->trace,
                                     .group = rank->group,
                                     .group_rank = rank->group != NULL ? rank->group_rank : NULL };
done:
    return st;
}

static gnt_status make_part_source(const gnt_trainer *tr, gnti_rank *rank)
{
    const gnti_source_part_data data = { .local = rank->rows,
                                         .x = &rank->features.x,
                                         .weight = rank->weight,
                                         .member_weight = rank->member_weight,
                                         .num_members = tr->num_members,
                                         .apart = rank->apart,
                                         .num_adjs = gnt_model_num_layers(tr->model),
                                         .comm = rank->comm };

    return gnti_source_create_part(&data, &rank->source);
}

static gnt_status make_source(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = tr->data;
    const gnti_split *split = tr->prepared.split;
    gnti_source_data data = { .graph = d->graph,
                              .x = &tr->prepared.features.x,
                              .labels = d->y.class_of,
                              .target = d->y.rows,
                              .num_classes = d->y.num_classes,
                              .weight = tr->prepared.weight,
                              .member_weight = tr->member_weight,
                              .num_members = tr->num_members,
                              .apart = tr->apart,
                              .order_seed = (uint64_t)tr->config.order_seed,
                              .nodes = split->inductive ? split->nodes[GNTI_TRAIN] : NULL,
                              .num_nodes = split->num_nodes[GNTI_TRAIN],
                              .num_adjs = gnt_model_num_layers(tr->model) };

    if (rank->rows == NULL)
        GNT_TRY(gnti_dataset_get_origin(d, &data.ids));
    if (rank->rows != NULL)
        GNT_TRY(make_part_source(tr, rank));
    else if (tr->config.source == GNTI_SOURCE_WORD_CLUSTERS)
        GNT_TRY(gnti_source_create_clusters(&data, tr->config.clusters, tr->config.clusters_per_batch,
                                            &rank->source));
    else
        GNT_TRY(gnti_source_create_full(&data, &rank->source));
done:
    return st;
}

static gnt_status make_params(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_params_create(tr->model, rank->device, tr->num_members,
                               tr->config.optimizer == GNTI_TRAIN_SGD ? 1 : 2, &rank->params));
    for (int32_t m = 0; m < tr->num_members; m++) {
        GNT_TRY(gnti_params_init_member(rank->params, m, tr->seeds[m]));
        GNT_TRY(
            gnti_params_keep_best(rank->params, m)); /* the block is there from the start, for checkpoints */
    }
done:
    return st;
}

/* The one batch of a full source is bound now, so that evaluation finds what is computed once and need not keep it twice. */
static gnt_status bind_whole(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    gnti_source_batch batch;

    if (tr->config.source != GNTI_SOURCE_WORD_FULL)
        return GNT_OK;
    gnti_source_begin(rank->source, 0, 0);
    if (gnti_source_next(rank->source, &batch)) {
        GNT_TRY(gnti_program_bind(rank->program, &batch.bind));
        rank->bound = true;
    }
    GNT_TRY(gnti_source_status(rank->source));
done:
    return st;
}

static gnt_status make_evaluator(const gnt_trainer *tr, gnti_rank *rank)
{
    const gnti_evaluator_config config = { .ctx = tr->ctx,
                                           .device = rank->device,
                                           .model = tr->model,
                                           .params = rank->params,
                                           .num_members = tr->num_members,
                                           .graph = tr->data->graph,
                                           .whole = gnti_source_whole(rank->source),
                                           .x = gnti_rank_features(tr, rank),
                                           .part = rank->rows != NULL ? rank->rows->part : NULL,
                                           .dist = &rank->dist,
                                           .disabled_passes = tr->disabled_passes,
                                           .choices = tr->choices,
                                           .measured = tr->measured,
                                           .share = rank->program };

    return gnti_evaluator_create(&config, &rank->evaluator);
}

static gnt_status make_scorer(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const gnti_scorer_config config = { .comm = rank->comm,
                                        .metric = tr->metric,
                                        .labels = rank->rows != NULL ? &rank->rows->y : &tr->data->y,
                                        .rows = rank->rows,
                                        .split = tr->prepared.split };
    size_t cells = 0;

    GNT_TRY(
        gnti_mul_size((size_t)gnti_rank_features(tr, rank)->rows, (size_t)tr->data->y.num_classes, &cells));
    GNT_TRY(gnti_alloc_array(&rank->logits, (int64_t)cells + 1));
    GNT_TRY(gnti_scorer_create(&config, &rank->scorer));
done:
    return st;
}

/* Says which device is too small, and what to change. */
static gnt_status too_small(const gnt_trainer *tr, const gnti_rank *rank)
{
    char text[GNTI_ERROR_TEXT_BYTES], which[64] = "";

    snprintf(text, sizeof text, "%s", gnt_last_error());
    if (tr->job.place.size > 1)
        snprintf(which, sizeof which, "device %d of %d, with %lld rows: ", (int)rank->rank,
                 (int)tr->job.place.size,
                 (long long)(rank->rows != NULL ? rank->rows->num_own : tr->data->num_nodes));
    return gnti_error_set(
        GNT_ERR_DEVICE_NOMEM, __FILE__, __LINE__, __func__,
        "%s%s: add a device (--devices), raise its mem, or take narrower layers or fewer seeds", which, text);
}

/* On the rank's thread, which touches its memory first. */
static gnt_status make_rank(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    gnt_trainer *tr = user;

    GNT_TRY(gnti_job_open_device(&tr->job, rank->rank, &rank->device, &rank->owns_device));
    GNT_TRY(gnti_sync_create("bsp", rank->comm, &rank->sync));
    GNT_TRY(make_arrays(tr, rank));
    GNT_TRY(gnti_rank_join_group(rank));
    if (tr->job.partition != NULL)
        GNT_TRY(make_local(tr, rank));
    GNT_TRY(make_source(tr, rank));
    GNT_TRY(make_params(tr, rank));
    GNT_TRY(gnti_rank_compile(tr, rank));
    GNT_TRY(bind_whole(tr, rank));
    GNT_TRY(make_evaluator(tr, rank));
    GNT_TRY(make_scorer(tr, rank));
done:
    if (st == GNT_ERR_DEVICE_NOMEM)
        st = too_small(tr, rank);
    return st;
}

/* One communicator a rank: threads of this process, or the process' own. */
static gnt_status make_comms(gnt_trainer *tr, gnti_ranks *from)
{
    gnt_status st = GNT_OK;
    gnti_comm **comms = NULL;
    const gnti_job *job = &tr->job;

    GNT_TRY(gnti_calloc_array(&comms, job->place.num_local));
    if (job->processes->size > 1)
        GNT_TRY(gnti_comm_split(job->processes, 0, job->processes->rank, &comms[0]));
    else if (job->place.num_local > 1)
        GNT_TRY(gnti_comm_threads_create(job->place.num_local, comms));
    else
        GNT_TRY(gnti_comm_self_create(&comms[0]));
    for (int32_t i = 0; i < job->place.num_local; i++) {
        gnti_rank *rank = gnti_ranks_at(tr->ranks, i);

        rank->comm = comms[i];
        rank->comm->time_limit = tr->config.wait_limit;
        GNT_TRY(gnti_virtual_create(&job->place.specs[job->place.first + i],
                                    (uint64_t)(tr->config.seed + job->place.first + i), &rank->clock));
        if (from != NULL) { /* goes on where it was; a failed move swaps back */
            gnti_virtual *fresh = rank->clock;

            rank->clock = gnti_ranks_at(from, i)->clock;
            gnti_ranks_at(from, i)->clock = fresh;
            rank->took_clock = true;
        }
        rank->comm->virtual_seconds = gnti_virtual_clock(rank->clock);
        rank->comm->link = (gnti_link){ job->place.specs[job->place.first + i].latency,
                                        job->place.specs[job->place.first + i].bandwidth };
    }
done:
    gnti_free(comms);
    return st;
}

gnt_status gnti_trainer_make_ranks(gnt_trainer *tr, gnti_ranks *from)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();

    GNT_TRY(gnti_ranks_create(tr->job.place.num_local, tr->job.place.first, tr->job.place.size, &tr->ranks));
    tr->lead = gnti_ranks_at(tr->ranks, 0);
    if (tr->job.partition == NULL && tr->prepared.weight == NULL)
        GNT_TRY(gnti_prepare_whole(tr->data, &tr->config, &tr->prepared));
    GNT_TRY(make_comms(tr, from));
    if (tr->job.partition == NULL && tr->member_weight == NULL)
        GNT_TRY(gnti_trainer_make_member_weights(tr, tr->lead->comm, tr->prepared.weight, NULL,
                                                 tr->data->num_nodes, &tr->member_weight));
    GNT_TRY(cut_rows(tr));
    GNT_TRY(gnti_ranks_each(tr->ranks, make_rank, tr));
    if (tr->choices == NULL)
        GNT_TRY(gnti_program_get_choices(tr->lead->program, &tr->choices));
    tr->setup_seconds = gnti_clock_seconds() - begin;
done:
    return st;
}
