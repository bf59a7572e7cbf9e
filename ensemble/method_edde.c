/* SPDX-License-Identifier: Apache-2.0 */
/* EDDE (Zhang, Jiang, Shao, Cui, ICDE 2020): members in turn. Member t > 1 takes the lower `edde-share` of layers of the one before and draws
 * the others anew, trains `edde-epochs` of the epochs at `edde-rate` times the rate, with loss W_t (CE - g |p - H|_2), g = `edde-weight`.
 * With `edde-folds` the layers are counted by trainings of their own, which stand in front of the members (method_edde_folds.c).
 *
 * H, W_t and votes are computed anew from the earlier members' logits.npy whenever they are needed: nothing else is kept, so a
 * run that goes on has the same ones. Formulas: edde.c.
 */
#include "ensemble/method_state.h"

#include "base/alloc.h"
#include "base/size.h"
#include "ensemble/edde.h"
#include "ensemble/panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void gnti_edde_shorten(const gnti_spec *spec, gnti_spec_member *m)
{
    m->train.epochs = gnti_max_i64(1, (int64_t)llround(spec->edde_epochs * (double)m->train.epochs));
    m->train.lr *= spec->edde_rate;
}

static gnt_status shape_edde(gnti_spec *spec, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_method_check_alike(spec, "edde"));
    GNT_TRY(gnti_edde_folds_shape(spec, data));
    for (int32_t m = gnti_edde_first(spec) + 1; m < spec->num_members; m++)
        gnti_edde_shorten(spec, &spec->members[m]);
done:
    return st;
}

/* Members wait for the one before, the second one also for all that counts its layers; probes for their teacher. */
static gnti_member_range waits_for_previous(const gnti_spec *spec, int32_t member)
{
    const int32_t first = gnti_edde_first(spec);
    gnti_member_range before = { .first = member - 1, .num = 1 };

    if (member < first) {
        before.first = gnti_edde_teacher(spec, member);
        before.num = before.first == member ? 0 : 1;
    } else if (member == first) {
        before.num = 0;
    } else if (member == first + 1) {
        before = (gnti_member_range){ .first = 0, .num = member };
    }
    return before;
}

/* ---- what came before ----------------------------------------------------------------------------------------------------- */

typedef struct chain {
    gnti_panel train; /* training rows */
    int64_t num_nodes, num_classes;
    float *mean;          /* (num_nodes, C) of the members so far: H */
    float *p, *row_p, *h; /* (num_nodes, C) of one member; of the panel */
    double *weight;       /* (training rows) of the next member */
    double votes;         /* in the mean */
    double vote;          /* of the newest member */
} chain;

static void free_chain(chain *c)
{
    gnti_panel_free(&c->train);
    gnti_free(c->mean);
    gnti_free(c->p);
    gnti_free(c->row_p);
    gnti_free(c->h);
    gnti_free(c->weight);
}

static gnt_status open_chain(const gnti_method_run *mr, chain *c)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    int64_t rows;

    GNT_CHECK(mr->data->y.kind == GNT_LABELS_CLASS, GNT_ERR_UNSUPPORTED,
              "method edde needs class labels, one a node");
    GNT_TRY(gnti_dataset_find_split(mr->data, mr->spec->members[0].train.split, &split));
    GNT_TRY(gnti_panel_create(mr->data, split, GNTI_TRAIN, &c->train));
    rows = c->train.num_nodes;
    c->num_nodes = mr->data->num_nodes;
    c->num_classes = mr->data->y.num_classes;
    GNT_TRY(gnti_calloc_array(&c->mean, c->num_nodes * c->num_classes + 1));
    GNT_TRY(gnti_alloc_array(&c->p, c->num_nodes * c->num_classes + 1));
    GNT_TRY(gnti_alloc_array(&c->row_p, rows * c->num_classes + 1));
    GNT_TRY(gnti_alloc_array(&c->h, rows * c->num_classes + 1));
    GNT_TRY(gnti_alloc_array(&c->weight, rows + 1));
    for (int64_t i = 0; i < rows; i++)
        c->weight[i] = 1.0 / (double)rows;
done:
    return st;
}

static void softmax_rows(const float *logits, int64_t rows, int64_t classes, float *out)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *z = logits + r * classes;
        double top = (double)z[0], sum = 0.0;

        for (int64_t c = 1; c < classes; c++)
            top = (double)z[c] > top ? (double)z[c] : top;
        for (int64_t c = 0; c < classes; c++)
            sum += exp((double)z[c] - top);
        for (int64_t c = 0; c < classes; c++)
            out[r * classes + c] = (float)(exp((double)z[c] - top) / sum);
    }
}

gnt_status gnti_edde_read(const gnti_method_run *mr, int32_t member, float *p)
{
    gnt_status st = GNT_OK;
    const int64_t nodes = mr->data->num_nodes, classes = mr->data->y.num_classes;
    char *folder = NULL, *path = NULL;
    gnti_votes votes = { 0 };

    GNT_TRY(gnti_method_paths(mr, mr->spec->members[member].name, "logits.npy", &folder, &path));
    GNT_TRY(gnti_votes_open(path, mr->data, &votes));
    GNT_CHECK(votes.are_logits && votes.num_rows == nodes && votes.num_classes == classes, GNT_ERR_FORMAT,
              "'%s' has (%lld, %lld) values, needed are (%lld, %lld) logits", path, (long long)votes.num_rows,
              (long long)votes.num_classes, (long long)nodes, (long long)classes);
    softmax_rows(votes.values, nodes, classes, p);
done:
    gnti_votes_close(&votes);
    gnti_free(folder);
    gnti_free(path);
    return st;
}

/* Takes the next member into the chain. */
static gnt_status add_member(const gnti_method_run *mr, int32_t member, chain *c)
{
    gnt_status st = GNT_OK;
    gnti_edde_round round = { .num_rows = c->train.num_nodes,
                              .num_classes = c->num_classes,
                              .p = c->row_p,
                              .earlier = c->votes > 0.0 ? c->h : NULL,
                              .labels = c->train.class_of,
                              .weight = c->weight,
                              .boost = mr->spec->edde_boost };

    GNT_TRY(gnti_edde_read(mr, member, c->p));
    gnti_panel_gather(&c->train, c->p, c->row_p);
    gnti_panel_gather(&c->train, c->mean, c->h);
    gnti_edde_advance(&round, c->weight, &c->vote);
    gnti_edde_mean_add(c->mean, c->votes, c->p, c->vote, c->num_nodes * c->num_classes);
    c->votes += c->vote;
done:
    return st;
}

/* ---- a member -------------------------------------------------------------------------------------------------------------- */

/* W_t n, so that it is 1 on average, times the member's own weights. */
static gnt_status make_weight(gnti_method_run *mr, int32_t member, const chain *c, const float *own)
{
    gnt_status st = GNT_OK;
    float *weight = NULL;

    GNT_TRY(gnti_alloc_array(&weight, c->num_nodes + 1));
    for (int64_t i = 0; i < c->num_nodes; i++)
        weight[i] = own != NULL ? own[i] : 1.0f;
    for (int64_t i = 0; i < c->train.num_nodes; i++)
        weight[c->train.nodes[i]] *= (float)(c->weight[i] * (double)c->train.num_nodes);
    gnti_free(mr->weight[member]);
    mr->weight[member] = weight;
done:
    return st;
}

static gnt_status options_of(gnti_method_run *mr, int32_t member, gnti_member_options *options)
{
    gnt_status st = GNT_OK;
    const int32_t first = gnti_edde_first(mr->spec);
    chain c = { 0 };

    if (member < first)
        return gnti_edde_probe_options(mr, member, options);
    if (member == first)
        return GNT_OK;
    GNT_TRY(open_chain(mr, &c));
    for (int32_t m = first; m < member; m++)
        GNT_TRY(add_member(mr, m, &c));
    GNT_TRY(make_weight(mr, member, &c, options->weight));
    gnti_free(mr->apart[member]);
    mr->apart[member] = c.mean;
    c.mean = NULL;
    options->weight = mr->weight[member];
    options->apart = mr->apart[member];
    options->apart_gain = mr->spec->edde_weight;
done:
    free_chain(&c);
    return st;
}

/* Copies the parameters of layers 1..n. */
static gnt_status take_layers(const gnt_model *model, int32_t n, const float *from, float *to)
{
    gnt_status st = GNT_OK;
    gnti_param_info *infos = NULL;
    int64_t floats = 0, at = 0;
    int32_t num = 0;

    GNT_TRY(gnti_params_list(model, &infos, &num, &floats));
    for (int32_t i = 0; i < num; i++) {
        const int64_t count = infos[i].in * infos[i].out;

        if (infos[i].layer <= n)
            memcpy(to + at, from + at, (size_t)count * sizeof *to);
        at += count;
    }
done:
    gnti_free(infos);
    return st;
}

/* How many layers a member takes, and of which one. */
static gnt_status count_layers(const gnti_method_run *mr, int32_t member, const gnt_model *model,
                               int32_t *from, int32_t *layers)
{
    const gnti_spec *spec = mr->spec;

    *from = member < gnti_edde_first(spec) ? gnti_edde_teacher(spec, member) : member - 1;
    *layers = member < gnti_edde_first(spec)
                  ? gnti_edde_probe_layers(spec, member)
                  : gnti_edde_layers(spec->edde_share, gnt_model_num_layers(model));
    return member >= gnti_edde_first(spec) && spec->edde_folds > 0 ? gnti_edde_find_layers(mr, layers)
                                                                   : GNT_OK;
}

/* A fresh start for the upper layers, the weights of the one before for the lower ones. */
static gnt_status start_member(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *m = &mr->spec->members[member];
    gnt_model *model = NULL;
    float *before = NULL, *weights = NULL;
    int64_t num, drawn;
    int32_t from, layers;

    if (gnti_method_waits_for(mr->spec, member).num == 0)
        return GNT_OK;
    GNT_TRY(gnt_model_create_with(mr->data, m->model, &m->net, &model));
    GNT_TRY(count_layers(mr, member, model, &from, &layers));
    GNT_TRY(gnti_method_draw(mr, model, m->seed, &weights, &drawn));
    GNT_TRY(gnti_method_fetch(mr, mr->spec->members[from].name, &before, &num));
    GNT_CHECK(num == drawn, GNT_ERR_FORMAT, "member '%s' left %lld weights, '%s' has %lld",
              mr->spec->members[from].name, (long long)num, m->name, (long long)drawn);
    GNT_TRY(take_layers(model, layers, before, weights));
    GNT_TRY(gnti_method_set_weights(tr, slot, weights, num));
done:
    gnti_free(before);
    gnti_free(weights);
    gnt_model_free(&model);
    return st;
}

static gnt_status keep_best(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    return gnti_method_keep(mr, mr->spec->members[member].name, tr, slot, true);
}

static gnt_status find_votes(gnti_method_run *mr, const uint8_t *skip)
{
    gnt_status st = GNT_OK;
    const gnti_spec *spec = mr->spec;
    const int32_t first = gnti_edde_first(spec);
    int32_t layers = 0;
    chain c = { 0 };

    GNT_TRY(open_chain(mr, &c));
    for (int32_t m = first; m < spec->num_members && (skip == NULL || !skip[m]); m++) {
        gnti_method_output *o = &mr->outputs[m - first];
        int used;

        GNT_TRY(add_member(mr, m, &c));
        o->weight = c.vote;
        used = snprintf(o->note, sizeof o->note, "votes with %.3g", c.vote);
        if (m == first + 1 && spec->edde_folds > 0)
            GNT_TRY(gnti_edde_find_layers(mr, &layers));
        if (m > first && spec->edde_folds > 0)
            snprintf(o->note + used, sizeof o->note - (size_t)used, ", took %d of %d layers", (int)layers,
                     (int)spec->edde_layers);
    }
done:
    free_chain(&c);
    return st;
}

static gnt_status list_members(gnti_method_run *mr)
{
    gnt_status st = GNT_OK;

    for (int32_t m = gnti_edde_first(mr->spec); m < mr->spec->num_members; m++)
        GNT_TRY(gnti_method_add_output(mr, mr->spec->members[m].name, "", m));
done:
    return st;
}

const gnti_method_class gnti_method_edde = { .shape = shape_edde,
                                             .waits_for = waits_for_previous,
                                             .list = list_members,
                                             .options = options_of,
                                             .start = start_member,
                                             .after_member = keep_best,
                                             .finish = find_votes };
