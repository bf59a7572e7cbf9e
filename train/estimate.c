/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a run, before it runs: the step and the evaluation are recorded and planned without weights or data (the
 * planner run dry), the rest follows from counts.
 *
 *   process     what this process holds now: code, libraries, the dataset as loaded
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
#include "train/prepare.h"

#include <stdio.h>
#include <string.h>

typedef struct estimate {
    const gnt_dataset *data;
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
    const gnti_graph *x = e->data->x.sparse;

    e->rows = e->data->num_nodes;
    e->arcs = e->data->graph->num_arcs;
    e->entries = x != NULL ? x->num_arcs : 0;
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
    gnt_tape *t = NULL;
    gnti_program *program = NULL;
    gnti_inputs in;
    gnt_loss_kind kind;
    gnti_plan_config config = { .row_capacity = training ? e->rows : e->data->num_nodes,
                                .expected_arcs = training ? e->arcs : e->data->graph->num_arcs,
                                .expected_entries = e->entries };

    GNT_TRY(gnti_passes_parse(e->config.no_pass, &config.disabled_passes));
    GNT_TRY(gnti_config_loss(&e->config, e->data->y.kind, &kind));
    GNT_TRY(gnti_tape_create(gnti_model_context(e->model), (int32_t)e->config.seeds, training, &t));
    gnti_record_inputs(t, e->model, true, e->data->x.sparse != NULL, &in);
    const gnt_var logits = gnt_model_record(e->model, t, in.adj, in.x);

    if (training) {
        const gnti_loss_config loss = { .kind = kind };
        const gnti_update_config update = { .kind = gnti_config_optimizer(&e->config),
                                            .clip = e->config.clip > 0.0 };

        gnti_record_update(t, gnti_record_loss(t, logits, &loss), &update);
    } else {
        gnti_tape_keep(t, logits);
    }
    GNT_TRY(gnti_plan_program(t, e->model, &config, NULL, NULL, &program));
    gnti_program_get_bytes(program, out);
done:
    gnti_program_free(&program);
    gnti_tape_free(&t);
    return st;
}

/* ---- what follows from counts -------------------------------------------------------------------------------------- */

static int64_t csr_bytes(int64_t rows, int64_t arcs, bool weighted)
{
    return 8 * (rows + 1) + arcs * (weighted ? 8 : 4);
}

static bool has_loop(const gnti_graph *g)
{
    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
            if (g->columns[a] == r)
                return true;
    return false;
}

/* The layout of a dense graph's lasting plan. */
static int64_t plan_bytes(int64_t rows, int64_t arcs, bool weighted)
{
    return weighted ? 0 : (int64_t)gnti_cost_blocks_bytes(rows, rows, arcs);
}

/* The arcs that carry a gradient of the loss: as large a share as that of the training rows. */
static int64_t loss_rows_bytes(const estimate *e, bool pass)
{
    const gnti_graph *g = e->data->graph;
    const gnti_split *split = NULL;
    double share;

    if (!pass || e->data->num_nodes == 0 ||
        gnti_dataset_find_split(e->data, e->config.split, &split) != GNT_OK)
        return 0;
    share = (double)split->num_nodes[GNTI_TRAIN] / (double)e->data->num_nodes;
    if (share > 0.8)
        return 0;
    return csr_bytes(e->data->num_nodes, (int64_t)((double)g->num_arcs * share), g->weights != NULL) +
           plan_bytes(e->data->num_nodes, (int64_t)((double)g->num_arcs * share), g->weights != NULL);
}

static void count_graph(estimate *e, bool symmetric_pass, bool loss_rows_pass)
{
    const gnti_graph *g = e->data->graph;
    const int64_t n = e->data->num_nodes, copy = csr_bytes(n, g->num_arcs, g->weights != NULL);
    const bool loops = has_loop(g);

    e->graph = 2 * 4 * n + (loops ? 4 * n : 0) + (loops ? copy : 0);
    if (e->data->directed || !symmetric_pass)
        e->graph += copy;
    if (e->config.source == GNTI_SOURCE_WORD_FULL && e->rows == n)
        e->graph += plan_bytes(n, g->num_arcs, g->weights != NULL) + loss_rows_bytes(e, loss_rows_pass);
    if (e->rows < n) /* the batch's own subgraph, with its transpose when directed */
        e->graph +=
            (e->data->directed ? 2 : 1) * csr_bytes(e->rows, e->arcs, g->weights != NULL) + 8 * e->rows;
}

static void count_features(estimate *e, bool entries_drop)
{
    const gnti_graph *x = e->data->x.sparse;
    const int64_t n = e->data->num_nodes, width = e->data->x.width;

    if (e->config.normalize_features != 0)
        e->features += 4 * (x != NULL ? x->num_arcs : n * width);
    if (x != NULL) {
        e->features += csr_bytes(width, e->entries, x->weights != NULL || e->config.normalize_features != 0);
        if (entries_drop)
            e->features += 4 * e->entries * (x->weights == NULL ? 3 : 2);
    }
    if (e->rows < n)
        e->features += x != NULL ? csr_bytes(e->rows, e->entries, x->weights != NULL) : 4 * e->rows * width;
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
    const int64_t available = proc_bytes("/proc/meminfo", "MemAvailable:");
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

gnt_status gntx_estimate(gnt_model *model, const gnt_dataset *data, const gnt_trainer_config *config,
                         gntx_json **out)
{
    gnt_status st = GNT_OK;
    estimate e = { .model = model, .data = data };
    gnt_model_config layers;
    uint32_t disabled = 0;
    gnti_json *facts = NULL;

    GNT_CHECK(model != NULL && data != NULL && out != NULL, GNT_ERR_ARG,
              "model, dataset and out must not be NULL");
    GNT_TRY(gnti_config_copy(config, &e.config));
    GNT_TRY(gnti_check_fit(model, data, true));
    GNT_TRY(count_batch(&e));
    GNT_TRY(plan(&e, true, &e.step));
    GNT_TRY(plan(&e, false, &e.eval));
    GNT_TRY(gnti_passes_parse(e.config.no_pass, &disabled));
    gnti_model_get_config(model, &layers);
    e.process = proc_bytes("/proc/self/status", "VmHWM:");
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
