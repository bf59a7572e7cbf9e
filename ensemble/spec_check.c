/* SPDX-License-Identifier: Apache-2.0 */
/* A spec against its dataset: what a trainer would refuse is refused before anything runs, with the line of what varies and the member
 * that it makes. Members of one variation differ in nothing that is checked here.
 */
#include "ensemble/spec_state.h"

#include "base/alloc.h"
#include "nn/model.h"
#include "train/prepare.h"

#include <string.h>

/* The texts and numbers that gnti_prepare reads are those of an earlier member. */
static bool prepares_alike(const gnt_trainer_config *a, const gnt_trainer_config *b)
{
    const char *const texts[2][2] = { { a->split, b->split }, { a->class_weights, b->class_weights } };

    for (int i = 0; i < 2; i++)
        if (strcmp(texts[i][0] == NULL ? "" : texts[i][0], texts[i][1] == NULL ? "" : texts[i][1]) != 0)
            return false;
    return (a->patience > 0) == (b->patience > 0) && a->schedule == b->schedule;
}

static gnt_status check_member(const gnti_spec_member *m, const gnt_dataset *data, bool prepare)
{
    gnt_status st = GNT_OK;
    gnt_model *model = NULL;
    gnt_trainer_config copy = { 0 };
    gnti_decay_rule *rules = NULL;
    gnti_prepared prepared = { 0 };
    gnt_loss_kind loss;
    uint32_t passes = 0;
    int32_t num_rules = 0;

    GNT_TRY(gnti_config_copy(&m->train, &copy));
    GNT_TRY(gnt_model_create_with(data, m->model, &m->net, &model));
    GNT_TRY(gnti_decay_parse(copy.weight_decay, copy.optimizer == GNTI_TRAIN_ADAMW,
                             gnt_model_num_layers(model), &rules, &num_rules));
    GNT_TRY(gnti_config_loss(&copy, data->y.kind, &loss));
    GNT_TRY(gnti_passes_parse(copy.no_pass, &passes));
    GNT_CHECK(copy.chunks <= data->num_nodes, GNT_ERR_USAGE,
              "%lld chunks are asked for, the graph has %lld nodes", (long long)copy.chunks,
              (long long)data->num_nodes);
    GNT_CHECK(copy.source != GNTI_SOURCE_WORD_CLUSTERS || copy.clusters <= data->num_nodes, GNT_ERR_USAGE,
              "%lld clusters are asked for, the graph has %lld nodes", (long long)copy.clusters,
              (long long)data->num_nodes);
    if (prepare)
        GNT_TRY(gnti_prepare(data, &copy, &prepared));
done:
    gnti_prepared_free(&prepared);
    gnti_free(rules);
    gnti_config_free(&copy);
    gnt_model_free(&model);
    return st;
}

static const gnti_yaml_node *node_of(const gnti_spec_draft *d)
{
    return gnti_spec_draft_node(d, d->num_vary > 0                                           ? "vary"
                                   : gnti_yaml_find(gnti_yaml_root(d->doc), "train") != NULL ? "train"
                                                                                             : "model");
}

/* Folds and bags that leave a member something to learn from. */
static gnt_status check_rows(const gnti_spec_draft *d, const gnti_spec_member *m, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;

    GNT_TRY(gnti_dataset_find_split(data, m->train.split, &split));
    if (m->num_folds > split->num_nodes[GNTI_TRAIN])
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "folds"), GNT_ERR_FORMAT,
                               "%d folds of %lld training nodes", (int)m->num_folds,
                               (long long)split->num_nodes[GNTI_TRAIN]));
    if (m->bagging > 0.0 && m->bagging * (double)split->num_nodes[GNTI_TRAIN] < 0.5)
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "bagging"), GNT_ERR_FORMAT,
                               "a share of %g of %lld training nodes is none", m->bagging,
                               (long long)split->num_nodes[GNTI_TRAIN]));
    if (m->view.drop_features > 0.0 && data->x.width == 0)
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "drop-features"), GNT_ERR_FORMAT,
                               "the dataset has no features"));
done:
    return st;
}

gnt_status gnti_spec_check(const gnti_spec_draft *d, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    const gnti_spec *spec = d->spec;

    for (int32_t i = 0; i < spec->num_members; i++) {
        const gnti_spec_member *m = &spec->members[i];

        if (i > 0 && m->variation == spec->members[i - 1].variation)
            continue;
        st = check_member(m, data, i == 0 || !prepares_alike(&spec->members[0].train, &m->train));
        if (st == GNT_ERR_USAGE || st == GNT_ERR_ARG || st == GNT_ERR_LIMIT)
            st = gnti_yaml_fail(node_of(d), st == GNT_ERR_LIMIT ? st : GNT_ERR_FORMAT, "member %s%s%s%s: %s",
                                m->name, m->differs[0] == '\0' ? "" : " (", m->differs,
                                m->differs[0] == '\0' ? "" : ")", gnt_last_error());
        GNT_TRY(st);
        GNT_TRY(check_rows(d, m, data));
    }
done:
    return st;
}
