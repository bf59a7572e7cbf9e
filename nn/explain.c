/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is made of: bytes by owner, and for people and machines the list of its ops with shapes, epilogues,
 * predicted costs (kernels/cost.h), and what each pass did or why it did not. A program that was never bound is described
 * by its capacities.
 */
#include "nn/program_state.h"

#include "base/json.h"
#include "kernels/cost.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 256 };
static const double MIB = 1048576.0;

static int64_t rows_of(const gnti_program *p, int32_t value)
{
    const gnti_value *v = &p->ir.values[value];

    if (v->space == 0)
        return v->rows;
    return p->bound ? p->spaces[v->space].rows : p->spaces[v->space].capacity;
}

/* Arcs of an adjacency, own loops too: the bound operator's, else the expected ones. */
static int64_t arcs_of(const gnti_program *p, int32_t adj)
{
    const gnti_bound_operator *b = &p->operators[adj];

    return b->host != NULL ? b->host->forward->num_arcs : p->config.expected_arcs;
}

static int64_t entries_of(const gnti_program *p)
{
    const gnti_features *x = p->x.host;

    return x != NULL && x->sparse != NULL ? x->sparse->num_arcs : p->config.expected_entries;
}

static int64_t lanes_of(const gnti_program *p, int32_t value)
{
    return p->ir.values[value].width * (p->ir.values[value].shared ? 1 : p->ir.num_members);
}

/* ---- bytes --------------------------------------------------------------------------------------------------------- */

static size_t graph_bytes(const gnti_graph *g)
{
    if (g == NULL)
        return 0;
    return (size_t)(g->num_rows + 1) * sizeof(int64_t) +
           (size_t)g->num_arcs * (sizeof(int32_t) + (g->weights != NULL ? sizeof(float) : 0));
}

/* The CSR arrays that operators read, each once. */
static size_t operators_bytes(const gnti_program *p)
{
    size_t bytes = 0;

    for (int64_t a = 1; a < p->ir.num_adjs; a++) {
        const gnti_bound_operator *b = &p->operators[a];

        if (b->host == NULL || b->same_as != 0)
            continue;
        bytes += graph_bytes(b->host->forward) + graph_bytes(b->transpose);
        if (b->host->transposed != b->host->forward)
            bytes += graph_bytes(b->host->transposed);
    }
    return bytes;
}

static size_t features_bytes(const gnti_features *x)
{
    if (x == NULL)
        return 0;
    return x->sparse != NULL ? graph_bytes(x->sparse) : (size_t)(x->rows * x->width) * sizeof(float);
}

void gnti_program_get_bytes(const gnti_program *p, gnti_program_bytes *out)
{
    const gnti_param_info *infos = p->params != NULL ? p->params->infos : p->infos;
    int64_t floats = 0;

    for (int32_t i = 0; i < p->model->num_params; i++)
        floats += p->ir.num_members * infos[i].in * infos[i].out;
    *out = (gnti_program_bytes){ .workspace = p->workspace_bytes,
                                 .live_peak = p->live_peak,
                                 .hoisted = p->hoisted_bytes,
                                 .hoist_temp = p->temp_bytes,
                                 .graph = operators_bytes(p),
                                 .features = features_bytes(p->x.host),
                                 .params = (size_t)floats * sizeof(float) };
}

/* ---- one op -------------------------------------------------------------------------------------------------------- */

static gnti_cost cost_of(const gnti_program *p, const gnti_cost_device *dev, const gnti_node *n)
{
    const int32_t out = n->num_out > 0 ? n->out[0] : 0, in = n->num_in > 0 ? n->in[0] : 0;
    gnti_cost cost = { 0 };

    if (n->op == GNTI_IR_UPDATE) {
        gnti_program_bytes bytes;

        gnti_program_get_bytes(p, &bytes);
        return gnti_cost_map(dev, (int64_t)(bytes.params / sizeof(float)), 1, 4, sizeof(float));
    }
    if (out == 0 || in == 0)
        return cost;
    switch (n->op) {
    case GNTI_IR_MATMUL: {
        const int64_t inner = n->trans_a ? rows_of(p, in) : p->ir.values[in].width;

        cost = gnti_cost_gemm(dev, rows_of(p, out), inner, p->ir.values[out].width, sizeof(float));
        if (!p->ir.values[out].shared) {
            cost.flops *= p->ir.num_members;
            cost.bytes *= p->ir.num_members;
            cost.seconds *= p->ir.num_members;
        }
        return cost;
    }
    case GNTI_IR_AGGREGATE:
    case GNTI_IR_MAX_GRAD:
        return gnti_cost_spmm(dev, rows_of(p, out), rows_of(p, in), arcs_of(p, n->adj), lanes_of(p, out),
                              p->operators[n->adj].host != NULL &&
                                  p->operators[n->adj].host->forward->weights != NULL,
                              sizeof(float));
    case GNTI_IR_SPARSE_MATMUL:
        return gnti_cost_spmm(dev, rows_of(p, out), rows_of(p, in), entries_of(p), lanes_of(p, out), true,
                              sizeof(float));
    case GNTI_IR_SLICE:
    case GNTI_IR_SELF:
        return cost; /* views */
    default:
        return gnti_cost_map(dev, rows_of(p, out), lanes_of(p, out), n->num_in, sizeof(float));
    }
}

static const char *act_name(gnt_activation act)
{
    static const char *const names[] = { "", "relu", "elu", "leaky-relu", "sigmoid", "tanh" };

    return (unsigned)act < 6u ? names[act] : "?";
}

static void add_word(char out[TEXT_BYTES], const char *word)
{
    const size_t used = strlen(out);

    if (word[0] != '\0')
        snprintf(out + used, TEXT_BYTES - used, "%s%s", used > 0 ? ", " : "", word);
}

/* What the fuse pass has moved into a product, in the order in which it is done. */
static void epilogue_text(const gnti_node *n, char out[TEXT_BYTES])
{
    const gnti_epilogue_plan *e = &n->epilogue;

    out[0] = '\0';
    add_word(out, e->row_scale != 0 ? "row scale" : "");
    add_word(out, n->added != 0 ? "add" : "");
    add_word(out, e->bias != 0 ? "bias" : "");
    add_word(out, act_name(e->act));
    add_word(out, e->hyper != 0 ? "dropout" : "");
    add_word(out, e->gate != 0 ? "gate" : "");
}

static void shape_text(const gnti_program *p, int32_t value, char out[64])
{
    const gnti_value *v = &p->ir.values[value];

    if (value == 0)
        snprintf(out, 64, "-");
    else if (v->shared || p->ir.num_members == 1)
        snprintf(out, 64, "%lld x %lld", (long long)rows_of(p, value), (long long)v->width);
    else
        snprintf(out, 64, "%lld x %d x %lld", (long long)rows_of(p, value), p->ir.num_members,
                 (long long)v->width);
}

/* "aggregate sym", "activation relu", a custom op's own name. */
static void op_text(const gnti_node *n, char out[TEXT_BYTES])
{
    static const char *const kinds[] = {
        [GNT_AGG_SUM] = "sum", [GNT_AGG_MEAN] = "mean", [GNT_AGG_SYM] = "sym", [GNT_AGG_MAX] = "max"
    };
    const char *name = n->custom != NULL ? n->custom->name : gnti_op_get_info(n->op)->name;
    const char *detail = n->op == GNTI_IR_AGGREGATE                          ? kinds[n->aggregate]
                         : n->op == GNTI_IR_ACT || n->op == GNTI_IR_ACT_GRAD ? act_name(n->act)
                                                                             : "";

    snprintf(out, TEXT_BYTES, "%s%s%s%s", name, detail[0] != '\0' ? " " : "", detail,
             n->transposed || n->trans_a ? " transposed" : "");
}

static const char *when_of(const gnti_node *n)
{
    return n->hoisted ? "once" : n->backward ? "backward" : "forward";
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static gnt_status put_op(const gnti_program *p, const gnti_cost_device *dev, const gnti_node *n,
                         gnti_json *list)
{
    gnt_status st = GNT_OK;
    const gnti_cost cost = cost_of(p, dev, n);
    const int32_t out = n->num_out > 0 ? n->out[0] : 0;
    gnti_json *o = NULL;
    char text[TEXT_BYTES];

    GNT_TRY(gnti_json_append_object(list, &o));
    op_text(n, text);
    GNT_TRY(gnti_json_set_text(o, "op", text));
    GNT_TRY(gnti_json_set_int(o, "layer", n->layer));
    GNT_TRY(gnti_json_set_text(o, "when", when_of(n)));
    if (out != 0) {
        GNT_TRY(gnti_json_set_int(o, "rows", rows_of(p, out)));
        GNT_TRY(gnti_json_set_int(o, "members", p->ir.values[out].shared ? 1 : p->ir.num_members));
        GNT_TRY(gnti_json_set_int(o, "width", p->ir.values[out].width));
        GNT_TRY(gnti_json_set_int(o, "block_members", p->ir.values[out].block_members));
    }
    epilogue_text(n, text);
    GNT_TRY(gnti_json_set_text(o, "epilogue", text));
    GNT_TRY(gnti_json_set_number(o, "flops", cost.flops));
    GNT_TRY(gnti_json_set_number(o, "bytes_moved", cost.bytes));
    GNT_TRY(gnti_json_set_number(o, "predicted_seconds", cost.seconds));
done:
    return st;
}

static gnt_status put_passes(const gnti_program *p, gnti_json *root)
{
    gnt_status st = GNT_OK;
    gnti_json *passes = NULL, *o = NULL;

    GNT_TRY(gnti_json_set_object(root, "passes", &passes));
    for (int i = 0; i < GNTI_NUM_PASSES; i++) {
        GNT_TRY(gnti_json_set_object(passes, gnti_pass_name((gnti_pass)i), &o));
        GNT_TRY(gnti_json_set_bool(o, "on", gnti_pass_is_on(p, (gnti_pass)i)));
        GNT_TRY(gnti_json_set_int(o, "fired", p->fired[i]));
        GNT_TRY(p->notes[i].status);
        GNT_TRY(gnti_json_set_text(o, "notes", p->notes[i].data == NULL ? "" : p->notes[i].data));
    }
done:
    return st;
}

static gnt_status put_bytes(const gnti_program *p, gnti_json *root)
{
    gnt_status st = GNT_OK;
    gnti_program_bytes b;
    gnti_json *o = NULL;

    gnti_program_get_bytes(p, &b);
    GNT_TRY(gnti_json_set_object(root, "bytes", &o));
    GNT_TRY(gnti_json_set_int(o, "workspace", (int64_t)b.workspace));
    GNT_TRY(gnti_json_set_int(o, "live_peak", (int64_t)b.live_peak));
    GNT_TRY(gnti_json_set_int(o, "hoisted", (int64_t)b.hoisted));
    GNT_TRY(gnti_json_set_int(o, "graph", (int64_t)b.graph));
    GNT_TRY(gnti_json_set_int(o, "features", (int64_t)b.features));
    GNT_TRY(gnti_json_set_int(o, "parameters", (int64_t)b.params));
done:
    return st;
}

static gnti_cost_device device_of(const gnti_program *p)
{
    int32_t threads = 1;
    gnt_device_info info;
    int32_t count = 0;

    if (p->dev != NULL && ((const gnti_backend_head *)p->dev)->backend->list(&info, 1, &count) == GNT_OK &&
        count > 0)
        threads = info.num_threads;
    return gnti_cost_device_default(threads);
}

static gnt_status explain_json(const gnti_program *p, char **out)
{
    gnt_status st = GNT_OK;
    const gnti_cost_device dev = device_of(p);
    gnti_json *root = NULL, *ops = NULL;
    double seconds = 0.0;

    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(gnti_json_set_text(root, "model", p->model->text));
    GNT_TRY(gnti_json_set_int(root, "members", p->ir.num_members));
    GNT_TRY(gnti_json_set_bool(root, "training", p->has_update));
    GNT_TRY(put_passes(p, root));
    GNT_TRY(put_bytes(p, root));
    GNT_TRY(gnti_json_set_array(root, "ops", &ops));
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        GNT_TRY(put_op(p, &dev, &p->ir.nodes[i], ops));
        seconds += p->ir.nodes[i].hoisted ? 0.0 : cost_of(p, &dev, &p->ir.nodes[i]).seconds;
    }
    GNT_TRY(gnti_json_set_number(root, "predicted_step_seconds", seconds));
    GNT_TRY(gnti_json_print(root, true, out));
done:
    gnti_json_free(&root);
    return st;
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */

static void append_op(const gnti_program *p, const gnti_cost_device *dev, int64_t index, gnti_text *t)
{
    const gnti_node *n = &p->ir.nodes[index];
    const gnti_cost cost = cost_of(p, dev, n);
    char name[TEXT_BYTES], epilogue[TEXT_BYTES], shape[64], layer[16] = "";

    op_text(n, name);
    epilogue_text(n, epilogue);
    shape_text(p, n->num_out > 0 ? n->out[0] : 0, shape);
    if (n->layer > 0)
        snprintf(layer, sizeof layer, "%d", n->layer);
    gnti_text_printf(t, "%3lld  %-8s %-5s  %-26s %-20s %10.3f ms  %9.3f Mflop  %s\n", (long long)index + 1,
                     when_of(n), layer, name, shape, 1e3 * cost.seconds, 1e-6 * cost.flops, epilogue);
}

static gnt_status explain_text(const gnti_program *p, char **out)
{
    gnt_status st = GNT_OK;
    const gnti_cost_device dev = device_of(p);
    gnti_program_bytes b;
    gnti_text t = { 0 };
    double seconds = 0.0;

    gnti_program_get_bytes(p, &b);
    gnti_text_printf(&t, "model %s, %d member%s\n\n", p->model->text, p->ir.num_members,
                     p->ir.num_members == 1 ? "" : "s");
    gnti_text_printf(&t, "%3s  %-8s %-5s  %-26s %-20s %13s  %15s  %s\n", "#", "when", "layer", "op", "result",
                     "predicted", "work", "then");
    for (int64_t n = 0; n < p->ir.num_nodes; n++) {
        append_op(p, &dev, n, &t);
        seconds += p->ir.nodes[n].hoisted ? 0.0 : cost_of(p, &dev, &p->ir.nodes[n]).seconds;
    }
    gnti_text_printf(&t, "\nstep: %.3f ms predicted\n", 1e3 * seconds);
    gnti_text_printf(&t,
                     "MiB: workspace %.2f (largest sum of live values %.2f), kept values %.2f, parameters "
                     "%.2f, graph %.2f, "
                     "features %.2f\n\npasses\n",
                     (double)b.workspace / MIB, (double)b.live_peak / MIB, (double)b.hoisted / MIB,
                     (double)b.params / MIB, (double)b.graph / MIB, (double)b.features / MIB);
    for (int i = 0; i < GNTI_NUM_PASSES; i++) {
        const char *notes = p->notes[i].data == NULL ? "" : p->notes[i].data;

        if (!gnti_pass_is_on(p, (gnti_pass)i))
            gnti_text_printf(&t, "  %-13s switched off\n", gnti_pass_name((gnti_pass)i));
        else
            gnti_text_printf(&t, "  %-13s %s%s%s\n", gnti_pass_name((gnti_pass)i),
                             p->fired[i] > 0 ? "fired" : "did not fire", notes[0] != '\0' ? ": " : "", notes);
    }
    GNT_TRY(gnti_text_take(&t, out));
done:
    return st;
}

gnt_status gnti_program_explain(const gnti_program *p, bool json, char **out)
{
    return json ? explain_json(p, out) : explain_text(p, out);
}
