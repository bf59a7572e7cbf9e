/* SPDX-License-Identifier: Apache-2.0 */
/* EDDE (Zhang, Jiang, Shao, Cui, ICDE 2020): members in turn. Member t > 1 takes the lower `edde-share` of layers of the one before and draws
 * the others anew, trains `edde-epochs` of the epochs, with loss W_t (CE - g |p - H|_2), g = `edde-weight`.
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

static gnt_status shape_edde(gnti_spec *spec)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_method_check_alike(spec, "edde"));
    for (int32_t m = 1; m < spec->num_members; m++) {
        gnt_trainer_config *c = &spec->members[m].train;

        c->epochs = gnti_max_i64(1, (int64_t)llround(spec->edde_epochs * (double)c->epochs));
    }
done:
    return st;
}

static int32_t waits_for_previous(int32_t member)
{
    return member - 1;
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

/* The probabilities of a member that has ended. */
static gnt_status read_member(const gnti_method_run *mr, int32_t member, chain *c)
{
    gnt_status st = GNT_OK;
    char *folder = NULL, *path = NULL;
    gnti_votes votes = { 0 };

    GNT_TRY(gnti_method_paths(mr, mr->spec->members[member].name, "logits.npy", &folder, &path));
    GNT_TRY(gnti_votes_open(path, mr->data, &votes));
    GNT_CHECK(votes.are_logits && votes.num_rows == c->num_nodes && votes.num_classes == c->num_classes,
              GNT_ERR_FORMAT, "'%s' has (%lld, %lld) values, needed are (%lld, %lld) logits", path,
              (long long)votes.num_rows, (long long)votes.num_classes, (long long)c->num_nodes,
              (long long)c->num_classes);
    softmax_rows(votes.values, c->num_nodes, c->num_classes, c->p);
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
                              .weight = c->weight };

    GNT_TRY(read_member(mr, member, c));
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
    chain c = { 0 };

    if (member == 0)
        return GNT_OK;
    GNT_TRY(open_chain(mr, &c));
    for (int32_t m = 0; m < member; m++)
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

/* A fresh start for the upper layers, the weights of the member before for the lower ones. */
static gnt_status start_member(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *m = &mr->spec->members[member];
    gnt_model *model = NULL;
    float *before = NULL, *weights = NULL;
    int64_t num, drawn;

    if (member == 0)
        return GNT_OK;
    GNT_TRY(gnt_model_create_with(mr->data, m->model, &m->net, &model));
    GNT_TRY(gnti_method_draw(mr, model, m->seed, &weights, &drawn));
    GNT_TRY(gnti_method_fetch(mr, mr->spec->members[member - 1].name, &before, &num));
    GNT_CHECK(num == drawn, GNT_ERR_FORMAT, "member '%s' left %lld weights, '%s' has %lld",
              mr->spec->members[member - 1].name, (long long)num, m->name, (long long)drawn);
    GNT_TRY(take_layers(model, gnti_edde_layers(mr->spec->edde_share, gnt_model_num_layers(model)), before,
                        weights));
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
    chain c = { 0 };

    GNT_TRY(open_chain(mr, &c));
    for (int32_t m = 0; m < mr->spec->num_members && (skip == NULL || !skip[m]); m++) {
        GNT_TRY(add_member(mr, m, &c));
        mr->outputs[m].weight = c.vote;
        snprintf(mr->outputs[m].note, sizeof mr->outputs[m].note, "votes with %.3g", c.vote);
    }
done:
    free_chain(&c);
    return st;
}

static gnt_status list_members(gnti_method_run *mr)
{
    return gnti_method_independent.list(mr);
}

const gnti_method_class gnti_method_edde = { .shape = shape_edde,
                                             .waits_for = waits_for_previous,
                                             .list = list_members,
                                             .options = options_of,
                                             .start = start_member,
                                             .after_member = keep_best,
                                             .finish = find_votes };
