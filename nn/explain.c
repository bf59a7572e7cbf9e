/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is made of, as text or JSON: each op with shape, place, what was fused into it and predicted seconds, the
 * passes with what they did and why not, and bytes. Predictions are those of kernels/cost.h; measured seconds stand beside
 * them after runs with timing on.
 */
#include "base/clock.h"
#include "base/json.h"
#include "kernels/choices.h"
#include "kernels/cost.h"
#include "nn/program_state.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 256 };

static const char *const aggregate_words[] = { "sum", "mean", "sym", "max" };
static const char *const act_words[] = { "none", "relu", "elu", "leaky-relu", "sigmoid", "tanh" };
static const char *const storage_words[] = { "workspace", "hoisted",  "hoist-temp", "weights",
                                             "gradients", "features", "operator",   "view",
                                             "nothing",   "partial",  "sums" };

static int64_t rows_of(const gnti_program *p, int32_t value)
{
    const gnti_value *v = &p->ir.values[value];

    return v->space == 0 ? v->rows : gnti_max_i64(p->spaces[v->space].rows, p->spaces[v->space].capacity);
}

static gnti_cost cost_of(const gnti_program *p, const gnti_node *n, const gnti_cost_device *dev)
{
    gnti_op_kind kind;

    if (n->num_out > 0 && n->out[0] != 0 && p->ir.values[n->out[0]].storage == GNTI_IN_VIEW)
        return (gnti_cost){ 0.0, 0.0, 0.0 };
    return gnti_node_cost(p, n, NULL, dev, &kind);
}

/* "matmul^T", "aggregate sym, transposed", ... */
static void name_of(const gnti_node *n, char out[LINE_BYTES])
{
    const char *name = n->custom != NULL ? n->custom->name : gnti_op_get_info(n->op)->name;

    if (n->op == GNTI_IR_AGGREGATE)
        snprintf(out, LINE_BYTES, "%s %s%s", name, aggregate_words[n->aggregate],
                 n->transposed ? " back" : "");
    else if (n->op == GNTI_IR_ACT || n->op == GNTI_IR_ACT_GRAD)
        snprintf(out, LINE_BYTES, "%s %s", name, act_words[n->act]);
    else
        snprintf(out, LINE_BYTES, "%s%s%s", name,
                 n->trans_a || (n->op == GNTI_IR_SPARSE_MATMUL && n->transposed) ? " A^T" : "",
                 n->trans_b ? " B^T" : "");
}

static void append(char out[LINE_BYTES], const char *word)
{
    const size_t used = strlen(out);

    snprintf(out + used, LINE_BYTES - used, "%s%s", used > 0 ? " " : "", word);
}

static void fused_of(const gnti_node *n, char out[LINE_BYTES])
{
    const gnti_epilogue_plan *e = &n->epilogue;

    out[0] = 0;
    if (e->row_scale != 0)
        append(out, "row-scale");
    if (n->scaled)
        append(out, "scaled-input");
    if (n->added != 0)
        append(out, "adds");
    if (e->bias != 0)
        append(out, "bias");
    if (e->act != GNT_ACT_NONE)
        append(out, act_words[e->act]);
    if (e->hyper != 0)
        append(out, "dropout");
    if (e->gate != 0) {
        append(out, "gate");
        append(out, act_words[e->gate_act]);
    }
    if (e->gate_hyper != 0)
        append(out, "gate-dropout");
}

static void shape_of(const gnti_program *p, int32_t value, char out[LINE_BYTES])
{
    const gnti_value *v = &p->ir.values[value];

    if (value == 0)
        snprintf(out, LINE_BYTES, "-");
    else if (rows_of(p, value) > 0)
        snprintf(out, LINE_BYTES, "%lld x %d x %lld", (long long)rows_of(p, value),
                 v->shared ? 1 : p->ir.num_members, (long long)v->width);
    else
        snprintf(out, LINE_BYTES, "space %d x %d x %lld", v->space, v->shared ? 1 : p->ir.num_members,
                 (long long)v->width);
}

static void text_nodes(const gnti_program *p, gnti_text *t, const gnti_cost_device *dev)
{
    char name[LINE_BYTES], shape[LINE_BYTES], fused[LINE_BYTES];
    double total = 0.0;

    gnti_text_printf(t, "  #  layer  %-26s %-22s %-10s %3s %10s %10s  %s\n", "op", "result", "in", "g",
                     "predicted", "measured", "fused");
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const gnti_node *n = &p->ir.nodes[i];
        const gnti_cost c = cost_of(p, n, dev);

        name_of(n, name);
        shape_of(p, n->out[0], shape);
        fused_of(n, fused);
        gnti_text_printf(t, "%3lld  %5d  %-26s %-22s %-10s %3d %8.3fms", (long long)i + 1, n->layer, name,
                         shape, n->out[0] != 0 ? storage_words[p->ir.values[n->out[0]].storage] : "-",
                         n->out[0] != 0 ? p->ir.values[n->out[0]].block_members : 0, 1e3 * c.seconds);
        if (p->node_seconds != NULL && p->timed_runs > 0)
            gnti_text_printf(t, " %8.3fms", 1e3 * p->node_seconds[i] / (double)p->timed_runs);
        else
            gnti_text_printf(t, " %10s", "-");
        gnti_text_printf(t, "  %s%s\n", n->hoisted ? "(once) " : "", fused);
        total += n->hoisted ? 0.0 : c.seconds;
    }
    gnti_text_printf(t, "predicted step: %.3f ms\n", 1e3 * total);
}

static const char *pass_state(const gnti_program *p, int pass)
{
    if (!gnti_pass_is_on(p, (gnti_pass)pass))
        return "off";
    return p->fired[pass] > 0 ? "fired" : "nothing to do";
}

static gnt_status explain_text(const gnti_program *p, const gnti_cost_device *dev, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    gnti_program_bytes b;

    gnti_program_get_bytes(p, &b);
    gnti_text_printf(&t, "model '%s', %d member%s, %s program of %lld ops\n", p->model->text,
                     p->ir.num_members, p->ir.num_members == 1 ? "" : "s",
                     p->has_update ? "training" : "evaluation", (long long)p->ir.num_nodes);
    text_nodes(p, &t, dev);
    for (int i = 0; i < GNTI_NUM_PASSES; i++)
        gnti_text_printf(&t, "pass %-12s %-13s %s\n", gnti_pass_name((gnti_pass)i), pass_state(p, i),
                         p->notes[i].data != NULL ? p->notes[i].data : "");
    gnti_explain_parts_text(p, &t);
    if (p->config.measured != NULL)
        gnti_choices_tell(p->config.measured, &t);
    gnti_text_printf(
        &t,
        "bytes: workspace %zu (largest sum of live values %zu), hoisted %zu, graph %zu, features %zu, "
        "parameters %zu\n",
        b.workspace, b.live_peak, b.hoisted, b.graph, b.features, b.params);
    GNT_TRY(gnti_text_take(&t, out));
done:
    return st;
}

static gnt_status json_node(const gnti_program *p, int64_t i, const gnti_cost_device *dev, gnti_json *item)
{
    gnt_status st = GNT_OK;
    const gnti_node *n = &p->ir.nodes[i];
    const gnti_cost c = cost_of(p, n, dev);
    char name[LINE_BYTES], fused[LINE_BYTES];

    name_of(n, name);
    fused_of(n, fused);
    GNT_TRY(gnti_json_set_text(item, "op", name));
    GNT_TRY(gnti_json_set_int(item, "layer", n->layer));
    GNT_TRY(gnti_json_set_bool(item, "once", n->hoisted));
    GNT_TRY(gnti_json_set_bool(item, "backward", n->backward));
    if (n->out[0] != 0) {
        const gnti_value *v = &p->ir.values[n->out[0]];

        GNT_TRY(gnti_json_set_int(item, "rows", rows_of(p, n->out[0])));
        GNT_TRY(gnti_json_set_int(item, "members", v->shared ? 1 : p->ir.num_members));
        GNT_TRY(gnti_json_set_int(item, "width", v->width));
        GNT_TRY(gnti_json_set_int(item, "block_members", v->block_members));
        GNT_TRY(gnti_json_set_text(item, "in", storage_words[v->storage]));
    }
    GNT_TRY(gnti_json_set_text(item, "fused", fused));
    GNT_TRY(gnti_json_set_number(item, "flops", c.flops));
    GNT_TRY(gnti_json_set_number(item, "bytes", c.bytes));
    GNT_TRY(gnti_json_set_number(item, "predicted_seconds", c.seconds));
    if (p->node_seconds != NULL && p->timed_runs > 0)
        GNT_TRY(gnti_json_set_number(item, "measured_seconds", p->node_seconds[i] / (double)p->timed_runs));
done:
    return st;
}

static gnt_status json_passes(const gnti_program *p, gnti_json *root)
{
    gnt_status st = GNT_OK;
    gnti_json *passes = NULL;

    GNT_TRY(gnti_json_set_array(root, "passes", &passes));
    for (int i = 0; i < GNTI_NUM_PASSES; i++) {
        gnti_json *item = NULL;

        GNT_TRY(gnti_json_append_object(passes, &item));
        GNT_TRY(gnti_json_set_text(item, "name", gnti_pass_name((gnti_pass)i)));
        GNT_TRY(gnti_json_set_text(item, "state", pass_state(p, i)));
        GNT_TRY(gnti_json_set_int(item, "fired", p->fired[i]));
        GNT_TRY(gnti_json_set_text(item, "note", p->notes[i].data != NULL ? p->notes[i].data : ""));
    }
done:
    return st;
}

static gnt_status explain_json(const gnti_program *p, const gnti_cost_device *dev, char **out)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL, *list = NULL, *bytes = NULL;
    gnti_program_bytes b;

    gnti_program_get_bytes(p, &b);
    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(gnti_json_set_text(root, "model", p->model->text));
    GNT_TRY(gnti_json_set_int(root, "members", p->ir.num_members));
    GNT_TRY(gnti_json_set_bool(root, "training", p->has_update));
    GNT_TRY(gnti_json_set_array(root, "ops", &list));
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        gnti_json *item = NULL;

        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(json_node(p, i, dev, item));
    }
    GNT_TRY(json_passes(p, root));
    GNT_TRY(gnti_explain_parts_json(p, root));
    GNT_TRY(gnti_json_set_array(root, "choices", &list));
    if (p->config.measured != NULL)
        GNT_TRY(gnti_choices_tell_json(p->config.measured, list));
    GNT_TRY(gnti_json_set_object(root, "bytes", &bytes));
    GNT_TRY(gnti_json_set_int(bytes, "workspace", (int64_t)b.workspace));
    GNT_TRY(gnti_json_set_int(bytes, "live_peak", (int64_t)b.live_peak));
    GNT_TRY(gnti_json_set_int(bytes, "hoisted", (int64_t)b.hoisted));
    GNT_TRY(gnti_json_set_int(bytes, "graph", (int64_t)b.graph));
    GNT_TRY(gnti_json_set_int(bytes, "features", (int64_t)b.features));
    GNT_TRY(gnti_json_set_int(bytes, "params", (int64_t)b.params));
    GNT_TRY(gnti_json_print(root, true, out));
done:
    gnti_json_free(&root);
    return st;
}

gnt_status gnti_program_explain(const gnti_program *p, bool json, char **out)
{
    const gnti_cost_device dev = gnti_cost_device_default(p->ctx->num_threads);

    return json ? explain_json(p, &dev, out) : explain_text(p, &dev, out);
}

/* ---- bytes --------------------------------------------------------------------------------------------------------- */

static size_t graph_bytes(const gnti_program *p)
{
    size_t bytes = 0;

    for (int32_t i = 1; i < p->ir.num_adjs; i++) {
        const gnti_bound_operator *b = &p->operators[i];
        const gnti_operator *op = b->host;

        if (op == NULL || b->same_as != 0)
            continue;
        bytes += (size_t)(op->forward->num_rows + 1) * sizeof(int64_t) +
                 (size_t)op->forward->num_arcs * sizeof(int32_t);
        if (op->transposed != NULL && op->transposed != op->forward)
            bytes += (size_t)(op->transposed->num_rows + 1) * sizeof(int64_t) +
                     (size_t)op->transposed->num_arcs * sizeof(int32_t);
        bytes += (size_t)(op->num_src + op->num_dst) * sizeof(float);
    }
    if (bytes == 0 && p->config.row_capacity > 0) /* a dry run: an undirected graph without weights */
        bytes = (size_t)(p->config.row_capacity + 1) * sizeof(int64_t) +
                (size_t)p->config.expected_arcs * sizeof(int32_t) +
                2 * (size_t)p->config.row_capacity * sizeof(float);
    return bytes;
}

static size_t features_bytes(const gnti_program *p)
{
    const gnti_value *x = &p->ir.values[p->ir.x];
    const int64_t rows = rows_of(p, p->ir.x);
    const gnti_graph *sparse = p->x.view.sparse;
    const int64_t entries = sparse != NULL ? sparse->num_arcs : p->config.expected_entries;

    if (p->ir.sparse_x)
        return (size_t)entries * (sizeof(int32_t) + sizeof(float)) + (size_t)(rows + 1) * sizeof(int64_t);
    return (size_t)(rows * x->width) * sizeof(float);
}

void gnti_program_get_bytes(const gnti_program *p, gnti_program_bytes *out)
{
    const int32_t last = p->model->num_params - 1;
    const gnti_param_info *infos = p->params != NULL ? p->params->infos : p->infos;
    size_t floats = 0;

    if (last >= 0)
        floats = (size_t)(infos[last].offset + infos[last].in * infos[last].out * p->ir.num_members);
    *out =
        (gnti_program_bytes){ .workspace = p->workspace_bytes,
                              .live_peak = p->live_peak,
                              .hoisted = p->hoisted_shared ? 0 : p->hoisted_bytes,
                              .hoist_temp = p->temp_bytes,
                              .graph = graph_bytes(p),
                              .features = features_bytes(p),
                              .params = floats * sizeof(float) * (p->has_update ? 4 : 1),
                              .sums = sizeof(float) * (size_t)(p->parts.widest_group + p->parts.num_results) +
                                      2 * sizeof(double) * (size_t)p->parts.widest_norm,
                              .stage = gnti_broadcast_bytes(p),
                              .stage_row = p->parts.on ? gnti_broadcast_row_bytes(p) : 0 };
}
