/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a run, before it runs: the step and the evaluation are recorded and planned without weights or data (the
 * planner run dry), the rest follows from counts.
 *
 *   process     what this process holds now: code, libraries; and the dataset, loaded or as its header tells
 *   graph       copies that an operator needs: without loops, transposed when directed; scales by node; the arcs from rows in
 *               the loss; dense graphs' layout by blocks
 *   features    normalised values, the transpose and the places of the entries of sparse ones
 *   parameters  weights, gradients, moments, best weights
 *   workspace   the larger of step and evaluation (they share it), values kept between steps
 *   rest        logits, loss weights, metrics, a checkpoint on its way to the disk
 */
#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/cost.h"
#include "sampler/source.h"
#include "train/estimate.h"
#include "train/forecast.h"
#include "train/prepare.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

typedef struct estimate {
    const gnt_dataset *data;
    gnti_dataset_header facts;
    gnt_model *model;
    gnt_trainer_config config;
    int64_t rows, arcs, entries; /* of the widest batch */
    gnti_program_bytes step, eval;
    int64_t process, graph, features, parameters, workspace, rest;
} estimate;

/* ---- counts of the batch ------------------------------------------------------------------------------------------- */

/* A subgraph of n of the N nodes, chosen without looking, keeps (n / N)^2 of the arcs and n / N of the entries. */
static void shrink(estimate *e, int64_t rows)
{
    const double share = e->data->num_nodes > 0 ? (double)rows / (double)e->data->num_nodes : 0.0;

    e->arcs = (int64_t)((double)e->arcs * share * share);
    e->entries = (int64_t)((double)e->entries * share);
    e->rows = rows;
}

static gnt_status count_batch(estimate *e)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;

    e->rows = e->data->num_nodes;
    e->arcs = e->facts.num_arcs;
    e->entries = e->facts.num_entries;
    GNT_TRY(gnti_dataset_find_split(e->data, e->config.split, &split));
    if (split->inductive)
        shrink(e, split->num_nodes[GNTI_TRAIN]);
    if (e->config.source == GNTI_SOURCE_WORD_CLUSTERS && e->config.clusters > 0)
        shrink(e, gnti_min_i64(e->rows,
                               e->config.clusters_per_batch * gnti_ceil_div(e->rows, e->config.clusters)));
done:
    return st;
}

/* ---- the planner run dry ------------------------------------------------------------------------------------------- */

static gnt_status plan(estimate *e, bool training, gnti_program_bytes *out)
{
    gnt_status st = GNT_OK;
    gnti_program *program = NULL;
    gnti_plan_config config = { .row_capacity = training ? e->rows : e->data->num_nodes,
                                .expected_arcs = training ? e->arcs : e->facts.num_arcs,
                                .expected_entries = e->entries };

    GNT_TRY(gnti_passes_parse(e->config.no_pass, &config.disabled_passes));
    GNT_TRY(
        gnti_plan_dry(e->model, &e->config, e->data->y.kind, e->facts.sparse_x, training, &config, &program));
    gnti_program_get_bytes(program, out);
done:
    gnti_program_free(&program);
    return st;
}

/* ---- what follows from counts -------------------------------------------------------------------------------------- */

static int64_t csr_bytes(int64_t rows, int64_t arcs, bool weighted)
{
    return 8 * (rows + 1) + arcs * (weighted ? 8 : 4);
}

/* Arrays that a run reads and this process has not. */
static int64_t dataset_bytes(const gnt_dataset *d)
{
    const int64_t n = d->num_nodes;
    gnti_dataset_header facts;
    int64_t bytes;

    gnti_dataset_get_header(d, &facts);
    bytes = csr_bytes(n, facts.num_arcs, facts.weighted) + facts.other_bytes;
    bytes += facts.sparse_x ? csr_bytes(n, facts.num_entries, facts.weighted_x) : 4 * n * d->x.width;
    bytes += 4 * n * (d->y.kind == GNT_LABELS_CLASS ? 1 : d->y.num_classes);
    for (int64_t i = 0; i < d->num_splits; i++)
        for (int part = 0; part < 3; part++)
            bytes += 8 * d->splits[i].num_nodes[part];
    return bytes;
}

/* The layout of a dense graph's lasting plan. */
static int64_t plan_bytes(int64_t rows, int64_t arcs, bool weighted)
{
    return weighted ? 0 : (int64_t)gnti_cost_blocks_bytes(rows, rows, arcs);
}

/* The arcs that carry a gradient of the loss: as large a share as that of the training rows. */
static int64_t loss_rows_bytes(const estimate *e, bool pass)
{
    const gnti_split *split = NULL;
    double share;
    int64_t arcs;

    if (!pass || e->data->num_nodes == 0 ||
        gnti_dataset_find_split(e->data, e->config.split, &split) != GNT_OK)
        return 0;
    share = (double)split->num_nodes[GNTI_TRAIN] / (double)e->data->num_nodes;
    if (share > 0.8)
        return 0;
    arcs = (int64_t)((double)e->facts.num_arcs * share);
    return csr_bytes(e->data->num_nodes, arcs, e->facts.weighted) +
           plan_bytes(e->data->num_nodes, arcs, e->facts.weighted);
}

static void count_graph(estimate *e, bool symmetric_pass, bool loss_rows_pass)
{
    const int64_t n = e->data->num_nodes, copy = csr_bytes(n, e->facts.num_arcs, e->facts.weighted);
    const bool loops = e->facts.has_loops;

    e->graph = 2 * 4 * n + (loops ? 4 * n : 0) + (loops ? copy : 0);
    if (e->data->directed || !symmetric_pass)
        e->graph += copy;
    if (e->config.source == GNTI_SOURCE_WORD_FULL && e->rows == n)
        e->graph += plan_bytes(n, e->facts.num_arcs, e->facts.weighted) + loss_rows_bytes(e, loss_rows_pass);
    if (e->rows < n) /* the batch's own subgraph, with its transpose when directed */
        e->graph +=
            (e->data->directed ? 2 : 1) * csr_bytes(e->rows, e->arcs, e->facts.weighted) + 8 * e->rows;
}

static void count_features(estimate *e, bool entries_drop)
{
    const bool sparse = e->facts.sparse_x, weighted = e->facts.weighted_x;
    const int64_t n = e->data->num_nodes, width = e->data->x.width;

    if (e->config.normalize_features != 0)
        e->features += 4 * (sparse ? e->facts.num_entries : n * width);
    if (sparse) {
        e->features += csr_bytes(width, e->entries, weighted || e->config.normalize_features != 0);
        if (entries_drop)
            e->features += 4 * e->entries * (weighted ? 2 : 3);
    }
    if (e->rows < n)
        e->features += sparse ? csr_bytes(e->rows, e->entries, weighted) : 4 * e->rows * width;
}

static void count_rest(estimate *e)
{
    const int64_t n = e->data->num_nodes, classes = e->data->y.num_classes, members = e->config.seeds;
    const int64_t blocks = e->config.optimizer == GNTI_TRAIN_SGD ? 4 : 5;
    const gnti_split *split = NULL;
    int64_t scored = 0;

    if (gnti_dataset_find_split(e->data, e->config.split, &split) == GNT_OK)
        for (int part = 0; part < 3; part++)
            scored = gnti_max_i64(scored, split->num_nodes[part]);
    e->parameters = blocks * (int64_t)e->eval.params;
    e->workspace = (int64_t)(e->step.workspace > e->eval.workspace ? e->step.workspace : e->eval.workspace) +
                   (int64_t)(e->step.hoisted + e->step.hoist_temp);
    if (e->eval.hoisted != e->step.hoisted)
        e->workspace += (int64_t)(e->eval.hoisted + e->eval.hoist_temp);
    e->rest = 4 * n * classes + 4 * n + 16 * scored + (classes <= 100 ? 8 * members * classes * classes : 0) +
              blocks * (int64_t)e->eval.params;
}

/* ---- what the machine has ------------------------------------------------------------------------------------------ */

/* The number behind a word of a /proc file, in bytes; 0 when there is none. */
static int64_t proc_bytes(const char *path, const char *word)
{
    FILE *f = fopen(path, "re");
    char line[256];
    long long kib = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, word, strlen(word)) == 0 && sscanf(line + strlen(word), " %lld", &kib) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

int64_t gnti_estimate_process(const gnt_dataset *data)
{
    return proc_bytes("/proc/self/status", "VmHWM:") + (data->header != NULL ? dataset_bytes(data) : 0);
}

int64_t gnti_estimate_available(void)
{
    return proc_bytes("/proc/meminfo", "MemAvailable:");
}

static gnt_status put_knobs(const estimate *e, int64_t missing, gnti_json *o)
{
    gnt_status st = GNT_OK;
    const int64_t per_member = (e->workspace + e->parameters) / gnti_max_i64(e->config.seeds, 1);
    gnti_json *knobs = NULL;
    char text[160];

    GNT_TRY(gnti_json_set_array(o, "knobs", &knobs));
    if (missing <= 0)
        return GNT_OK;
    if (e->config.seeds > 1) {
        snprintf(text, sizeof text, "fewer --seeds: each takes about %lld MiB",
                 (long long)(per_member >> 20));
        GNT_TRY(gnti_json_append_text(knobs, text));
    }
    if (e->config.source != GNTI_SOURCE_WORD_CLUSTERS)
        GNT_TRY(gnti_json_append_text(
            knobs, "--source clusters --clusters 16: a step then holds a part of the graph"));
    GNT_TRY(
        gnti_json_append_text(knobs, "narrower layers or fewer of them: the workspace follows their widths"));
done:
    return st;
}

static gnt_status put_facts(const estimate *e, gnti_json *o)
{
    gnt_status st = GNT_OK;
    const int64_t extra = e->graph + e->features + e->parameters + e->workspace + e->rest;
    const int64_t available = gnti_estimate_available();
    gnti_json *parts = NULL;

    GNT_TRY(gnti_json_set_int(o, "total_bytes", e->process + extra));
    GNT_TRY(gnti_json_set_int(o, "available_bytes", e->process + available));
    GNT_TRY(gnti_json_set_bool(o, "fits", extra <= available));
    GNT_TRY(gnti_json_set_object(o, "parts", &parts));
    GNT_TRY(gnti_json_set_int(parts, "process_bytes", e->process));
    GNT_TRY(gnti_json_set_int(parts, "graph_bytes", e->graph));
    GNT_TRY(gnti_json_set_int(parts, "features_bytes", e->features));
    GNT_TRY(gnti_json_set_int(parts, "parameters_bytes", e->parameters));
    GNT_TRY(gnti_json_set_int(parts, "workspace_bytes", e->workspace));
    GNT_TRY(gnti_json_set_int(parts, "rest_bytes", e->rest));
    GNT_TRY(put_knobs(e, extra - available, o));
done:
    return st;
}

bool gnti_estimate_own_memory(const gnti_device_spec *spec, int32_t number, int64_t *free_bytes)
{
    const gnt_backend *backend = NULL;
    gnt_device_info infos[MAX_DEVICES];
    int32_t count = 0, index = spec->index >= 0 ? spec->index : number;

    if (free_bytes != NULL)
        *free_bytes = 0;
    if (gnti_backend_find(spec->backend, &backend) != GNT_OK) { /* opening it tells why */
        gnt_clear_error();
        return strcmp(spec->backend, "auto") != 0;
    }
    if (backend->in_host_memory || free_bytes == NULL)
        return !backend->in_host_memory;
    if (backend->list(infos, MAX_DEVICES, &count) != GNT_OK)
        gnt_clear_error();
    else if (index < count && index < MAX_DEVICES)
        *free_bytes = (int64_t)infos[index].free_bytes;
    return true;
}

/* Whether the answer is by device: several, parts, or one that has a limit or is no processor. */
static gnt_status has_ranks(const gnt_trainer_config *c, bool *out)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    int32_t num = 0;

    GNT_TRY(gnti_device_specs_parse(c->devices, &specs, &num));
    *out = num > 1 || c->partition != NULL || c->chunks > 0 || specs[0].memory > 0 ||
           gnti_estimate_own_memory(&specs[0], 0, NULL);
done:
    gnti_free(specs);
    return st;
}

gnt_status gntx_estimate(gnt_model *model, const gnt_dataset *data, const gnt_trainer_config *config,
                         gntx_json **out)
{
    gnt_status st = GNT_OK;
    estimate e = { .model = model, .data = data };
    gnt_model_config layers;
    uint32_t disabled = 0;
    gnti_json *facts = NULL;
    bool ranks = false;

    GNT_CHECK(model != NULL && data != NULL && out != NULL, GNT_ERR_ARG,
              "model, dataset and out must not be NULL");
    GNT_TRY(gnti_config_copy(config, &e.config));
    GNT_TRY(gnti_check_fit(model, data, true));
    GNT_TRY(has_ranks(&e.config, &ranks));
    if (ranks) {
        GNT_TRY(gnti_estimate_ranks(model, data, &e.config, (gnti_json **)out));
        goto done;
    }
    gnti_dataset_get_header(data, &e.facts);
    GNT_TRY(count_batch(&e));
    GNT_TRY(plan(&e, true, &e.step));
    GNT_TRY(plan(&e, false, &e.eval));
    GNT_TRY(gnti_passes_parse(e.config.no_pass, &disabled));
    gnti_model_get_config(model, &layers);
    e.process = gnti_estimate_process(data);
    count_graph(&e, (disabled & GNTI_PASS_SYMMETRIC) == 0, (disabled & GNTI_PASS_LOSS_ROWS) == 0);
    count_features(&e, layers.input_dropout > 0.0);
    count_rest(&e);
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(put_facts(&e, facts));
    *out = (gntx_json *)facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    gnti_config_free(&e.config);
    return st;
}

gnt_status gntx_dataset_open_header(gnt_context *ctx, const char *path, gnt_dataset **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(path != NULL && out != NULL, GNT_ERR_ARG, "path and out must not be NULL");
    GNT_TRY(gnti_dataset_read_header(ctx, path, out));
done:
    return st;
}
