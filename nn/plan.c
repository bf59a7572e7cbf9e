/* SPDX-License-Identifier: Apache-2.0 */
/* From tape to program: copy the tape's form, run the passes that are on, make what running needs. The order matters:
 * reassociation before differentiation (gradients are then exact by construction), sparse input and hoisting before fusion
 * (they decide what is a product of the step), memory last and again whenever a binding needs more rows.
 */
#include "base/name.h"
#include "nn/program_state.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t bit;
} passes[GNTI_NUM_PASSES] = {
    [GNTI_REASSOCIATE] = { "reassociate", GNTI_PASS_REASSOCIATE },
    [GNTI_SPARSE_INPUT] = { "sparse-input", GNTI_PASS_SPARSE_INPUT },
    [GNTI_HOIST] = { "hoist", GNTI_PASS_HOIST },
    [GNTI_FUSE] = { "fuse", GNTI_PASS_FUSE },
    [GNTI_LOSS_ROWS] = { "loss-rows", GNTI_PASS_LOSS_ROWS },
    [GNTI_SYMMETRIC] = { "symmetric", GNTI_PASS_SYMMETRIC },
    [GNTI_MEMORY] = { "memory", GNTI_PASS_MEMORY },
    [GNTI_CHAIN] = { "chain", GNTI_PASS_CHAIN },
    [GNTI_OVERLAP] = { "overlap", GNTI_PASS_OVERLAP },
    [GNTI_CAPTURE] = { "capture", GNTI_PASS_CAPTURE },
    [GNTI_SLICES] = { "slices", GNTI_PASS_SLICES },
};

bool gnti_pass_is_on(const gnti_program *p, gnti_pass pass)
{
    return (p->config.disabled_passes & passes[pass].bit) == 0;
}

const char *gnti_pass_name(gnti_pass pass)
{
    return passes[pass].name;
}

void gnti_pass_note(gnti_program *p, gnti_pass pass, const char *format, ...)
{
    va_list args;

    if (p->notes[pass].length > 0)
        gnti_text_append(&p->notes[pass], "; ");
    va_start(args, format);
    gnti_text_vprintf(&p->notes[pass], format, args);
    va_end(args);
}

gnt_status gnti_passes_parse(const char *list, uint32_t *out)
{
    gnt_status st = GNT_OK;
    const char *names[GNTI_NUM_PASSES];
    uint32_t bits = 0;

    for (int i = 0; i < GNTI_NUM_PASSES; i++)
        names[i] = passes[i].name;
    for (const char *p = list != NULL ? list : ""; *p != 0;) {
        const size_t length = strcspn(p, ", ");
        char word[24] = { 0 };
        uint32_t bit = 0;

        memcpy(word, p, length < sizeof word ? length : sizeof word - 1);
        for (int i = 0; i < GNTI_NUM_PASSES; i++)
            bit = strcmp(word, names[i]) == 0 ? passes[i].bit : bit;
        if (length > 0 && bit == 0) {
            const char *near = gnti_name_nearest(names, GNTI_NUM_PASSES, word);

            GNT_FAIL(GNT_ERR_USAGE,
                     "no planner pass '%s'%s%s, there are hoist, reassociate, symmetric, sparse-input, fuse, "
                     "loss-rows, chain, memory, overlap, capture, slices",
                     word, near != NULL ? ": did you mean " : "", near != NULL ? near : "");
        }
        bits |= bit;
        p += length + (p[length] != 0);
    }
    *out = bits;
done:
    return st;
}

/* Members per block: g * width near 64 floats. Values of entries, which products read one member after the other, are apart. */
void gnti_plan_blocks(gnti_program *p)
{
    for (int64_t i = 1; i < p->ir.num_values; i++) {
        gnti_value *v = &p->ir.values[i];
        int64_t g = p->config.block_members > 0 ? p->config.block_members
                                                : gnti_max_i64(64 / gnti_max_i64(v->width, 1), 1);

        if (v->shared || v->space == 0 || v->space == p->ir.entry_space)
            g = 1;
        v->block_members = (int32_t)gnti_min_i64(g, p->ir.num_members);
    }
}

static gnt_status check_custom(const gnti_program *p, const gnt_backend *backend)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const gnt_op_class *op = p->ir.nodes[i].custom;

        GNT_CHECK(op == NULL || gnti_custom_kernels(op, backend->name).forward != NULL, GNT_ERR_UNSUPPORTED,
                  "layer %d, %s: written for backend '%s'%s, the device's is '%s'", p->ir.nodes[i].layer,
                  op->name, op->backend, gnti_custom_num_more(op) > 0 ? " and others" : "", backend->name);
    }
done:
    return st;
}

/* The tape's hypers, with values for all members. */
static gnt_status take_hypers(gnti_program *p, const gnt_tape *t)
{
    gnt_status st = GNT_OK;
    const int32_t members = p->ir.num_members;

    p->num_hypers = t->num_hypers;
    p->hypers = gnti_arena_array(p->arena, t->num_hypers, sizeof *p->hypers);
    GNT_TRY(gnti_arena_status(p->arena));
    GNT_TRY(gnti_calloc_array(&p->hyper_values, t->num_hypers * members));
    for (int64_t h = 0; h < t->num_hypers; h++) {
        p->hypers[h] =
            (gnti_hyper_info){ gnti_arena_strdup(p->arena, t->hypers[h].name), t->hypers[h].value };
        for (int32_t m = 0; m < members; m++)
            p->hyper_values[h * members + m] = (float)t->hypers[h].value;
    }
    GNT_TRY(gnti_arena_status(p->arena));
done:
    return st;
}

static int32_t find_hyper(const gnti_program *p, const char *name)
{
    for (int64_t h = 1 + p->model->num_hypers; h < p->num_hypers; h++)
        if (strcmp(p->hypers[h].name, name) == 0)
            return (int32_t)h;
    return 0;
}

/* The last rule that fits decides; a rule without a kind means weights alone. */
static int32_t decay_of(const gnti_program *p, const gnti_param_decl *d)
{
    char name[32];
    int32_t hyper = -1;

    for (int32_t i = 0; i < p->update.num_rules; i++) {
        const gnti_decay_rule *r = &p->update.rules[i];

        if ((r->layer != 0 && r->layer != d->layer) ||
            (int32_t)d->kind != (r->kind < 0 ? (int32_t)GNTI_PARAM_WEIGHT : r->kind))
            continue;
        snprintf(name, sizeof name, "decay.%d", i);
        hyper = find_hyper(p, name);
    }
    return hyper;
}

static gnt_status make_update(gnti_program *p, const gnt_tape *t)
{
    gnt_status st = GNT_OK;
    const gnti_param_info *infos = p->params != NULL ? p->params->infos : p->infos;

    p->has_update = t->has_update;
    if (!t->has_update)
        return GNT_OK;
    p->update = t->update;
    p->lr = find_hyper(p, "lr");
    p->corr1 = find_hyper(p, "corr1");
    p->corr2 = find_hyper(p, "corr2");
    p->clip = find_hyper(p, "clip");
    GNT_TRY(gnti_calloc_array(&p->segments, p->model->num_params + 1));
    GNT_TRY(gnti_calloc_array(&p->segment_param, p->model->num_params + 1));
    for (int32_t i = 0; i < p->model->num_params; i++) {
        const gnti_param_decl *d = &p->model->params[i];

        if (d->kind == GNTI_PARAM_STATE)
            continue;
        p->segment_param[p->num_segments] = i;
        p->segments[p->num_segments++] =
            (gnt_param_segment){ infos[i].offset, d->in * d->out, decay_of(p, d) };
    }
    p->update.rules = NULL; /* the tape's */
done:
    return st;
}

/* Where no gradient of the loss takes their memory the logits stay readable. */
static void keep_logits(gnti_program *p)
{
    if (p->has_update || p->ir.logits == 0)
        return;
    p->ir.values[p->ir.logits].keep = true;
    p->ir.values[gnti_ir_root(&p->ir, p->ir.logits)].keep = true;
}

/* X^T G over stored entries adds them row by row, not chunk by chunk, as bits that no rank count moves must be added. */
static bool keeps_chunk_order(gnti_program *p)
{
    const bool keeps = p->config.dist != NULL && gnti_context_determinism(p->ctx) == GNTI_DET_BITWISE;

    if (keeps && p->ir.sparse_x)
        gnti_pass_note(p, GNTI_SPARSE_INPUT, "off: bitwise over parts adds gradients chunk by chunk");
    return keeps;
}

static gnt_status run_passes(gnti_program *p)
{
    gnt_status st = GNT_OK;

    if (gnti_pass_is_on(p, GNTI_REASSOCIATE))
        GNT_TRY(gnti_plan_reassociate(p));
    if (p->has_update) {
        GNT_TRY(gnti_autodiff_run(&p->ir));
        gnti_ir_node(&p->ir, GNTI_IR_UPDATE, 0, 0, 0)->backward = true;
        GNT_TRY(p->ir.status);
    }
    keep_logits(p);
    GNT_TRY(gnti_ir_remove_dead(&p->ir));
    if (gnti_pass_is_on(p, GNTI_SPARSE_INPUT) && !keeps_chunk_order(p))
        GNT_TRY(gnti_plan_sparse_input(p));
    if (gnti_pass_is_on(p, GNTI_HOIST))
        GNT_TRY(gnti_plan_hoist(p));
    if (gnti_pass_is_on(p, GNTI_FUSE))
        GNT_TRY(gnti_plan_fuse(p));
    if (gnti_pass_is_on(p, GNTI_LOSS_ROWS))
        GNT_TRY(gnti_plan_loss_rows(p));
    GNT_TRY(gnti_plan_parts(p));
    if (gnti_pass_is_on(p, GNTI_CHAIN) && (p->dev == NULL || gnti_device_has_chains(p->dev)))
        gnti_plan_chains(p);
    gnti_plan_blocks(p);
    if (gnti_pass_is_on(p, GNTI_SLICES))
        gnti_plan_slices(p);
    for (int i = 0; i < GNTI_NUM_PASSES; i++)
        GNT_TRY(p->notes[i].status);
done:
    return st;
}

/* Device things of a program that runs. */
static gnt_status open_device(gnti_program *p)
{
    gnt_status st = GNT_OK;
    const int64_t members = p->ir.num_members;

    GNT_TRY(check_custom(p, ((const gnti_backend_head *)p->dev)->backend));
    GNT_TRY(gnti_stream_open(p->dev, GNTI_NUM_EVENTS, &p->stream));
    p->step_bytes = gnti_step_bytes(p->num_hypers, members);
    GNT_TRY(gnti_calloc_bytes((void **)&p->step_host, p->step_bytes));
    GNT_TRY(gnti_calloc_bytes((void **)&p->step_sent, p->step_bytes));
    GNT_TRY(gnti_buffer_alloc(p->dev, p->step_bytes, &p->step));
    GNT_TRY(gnti_buffer_alloc(p->dev, (size_t)members * 4 * sizeof(double), &p->stats));
    GNT_TRY(gnti_buffer_alloc(p->dev, (size_t)members * sizeof(int32_t), &p->bad));
    p->workspace = p->config.scratch;
    if (p->workspace == NULL)
        GNT_TRY(gnti_scratch_create(p->dev, &p->workspace));
    gnti_scratch_join(p->workspace, &p->user);
done:
    return st;
}

static gnt_status read_choices(gnti_program *p, bool training)
{
    gnt_status st = GNT_OK;
    int g = 0, slice = 0;

    if (p->config.choices == NULL || p->config.choices[0] == 0)
        return GNT_OK;
    GNT_CHECK(sscanf(p->config.choices, "g=%d;slice=%d", &g, &slice) >= 1 && g >= 0 && slice >= 0,
              GNT_ERR_FORMAT, "stored choices '%s' are not those of this version", p->config.choices);
    p->config.block_members = g;
    if (training) /* it is that of the step */
        p->config.slice_members = slice;
done:
    p->config.choices = NULL; /* the caller's */
    return st;
}

gnt_status gnti_plan_program(gnt_tape *t, const gnt_model *model, const gnti_plan_config *config,
                             gnt_device *dev, gnti_params *params, gnti_program **out)
{
    gnt_status st = GNT_OK;
    gnti_program *p = NULL;

    GNT_CHECK(t != NULL && model != NULL && out != NULL, GNT_ERR_ARG, "tape, model and out must not be NULL");
    GNT_TRY(gnti_tape_status(t));
    GNT_CHECK(t->model == model, GNT_ERR_STATE, "the tape was recorded for another model");
    GNT_CHECK(t->ir.logits != 0, GNT_ERR_STATE, "the tape has neither a model's logits nor a loss");
    GNT_CHECK(params == NULL || params->num_members == t->ir.num_members, GNT_ERR_ARG,
              "the parameters have %d members, the tape %d", params != NULL ? params->num_members : 0,
              t->ir.num_members);
    GNT_CHECK(params == NULL || dev != NULL, GNT_ERR_ARG, "a program with parameters needs a device");
    GNT_CHECK(params == NULL || !t->has_update || params->num_moments >= 0, GNT_ERR_ARG,
              "the parameters were made without gradients");
    GNT_TRY(gnti_calloc_array(&p, 1));
    p->ctx = t->ctx;
    p->model = model;
    p->dev = params != NULL ? dev : NULL;
    p->params = params;
    p->lowering.p = p;
    if (config != NULL)
        p->config = *config;
    GNT_TRY(read_choices(p, t->has_update));
    GNT_TRY(gnti_arena_create(&p->arena));
    GNT_TRY(gnti_ir_copy(&t->ir, &p->ir));
    GNT_TRY(take_hypers(p, t));
    if (params == NULL) {
        int64_t floats;

        GNT_TRY(gnti_params_layout(model, p->ir.num_members, &p->infos, &floats));
    }
    GNT_TRY(make_update(p, t));
    GNT_TRY(run_passes(p));
    GNT_TRY(gnti_calloc_array(&p->spaces, p->ir.num_spaces + 1));
    GNT_TRY(gnti_calloc_array(&p->operators, p->ir.num_adjs + 1));
    if (params != NULL)
        GNT_TRY(open_device(p));
    if (p->config.batches)
        GNT_TRY(gnti_pool_create(&p->pool));
    if (config != NULL && config->row_capacity > 0) {
        for (int32_t s = 1; s <= p->ir.num_spaces; s++)
            p->spaces[s].capacity = s == p->ir.entry_space ? config->expected_entries : config->row_capacity;
        GNT_TRY(gnti_plan_memory(p));
        p->laid_out = true;
    }
    *out = p;
    p = NULL;
done:
    gnti_program_free(&p);
    return st;
}
