/* SPDX-License-Identifier: Apache-2.0 */
/* What members of one trainer have of their own: read from options, checked, kept as the settings that a lone run of the member
 * would have. The trainer that gnt_trainer_create makes is the special case in which they differ by their seeds alone.
 *
 * Dropout, learning rate, decay and the divisor of the loss reach the program as hypers (step.c); loss weights are a column a
 * member, weight of the node in the run (split, labels, class weights) times the member's own.
 */
#include "train/member.h"
#include "train/trainer_state.h"

#include "base/alloc.h"
#include "base/sha256.h"

#include <math.h>
#include <string.h>

void gnti_member_options_init(const gnt_model *model, const gnt_trainer_config *config, int32_t member,
                              gnti_member_options *out)
{
    gnt_model_config m;

    gnti_model_get_config(model, &m);
    *out = (gnti_member_options){ .seed = (uint64_t)(config->seed + member),
                                  .epochs = config->epochs,
                                  .patience = config->patience,
                                  .lr = config->lr,
                                  .dropout = m.dropout,
                                  .input_dropout = m.input_dropout,
                                  .weight_decay = config->weight_decay };
}

/* ---- one member ---------------------------------------------------------------------------------------------------- */

static gnt_status check_rate(double rate, double model, const char *name)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(rate >= 0.0 && rate < 1.0, GNT_ERR_USAGE, "%s %g is outside of [0, 1)", name, rate);
    GNT_CHECK(rate == 0.0 || model > 0.0, GNT_ERR_USAGE,
              "%s is %g but the model has none: give the model one above 0, members may still have 0", name,
              rate);
done:
    return st;
}

static gnt_status copy_weight(const gnt_trainer *tr, const float *weight, gnti_own *own)
{
    gnt_status st = GNT_OK;
    const int64_t num = tr->data->num_nodes;

    if (weight == NULL)
        return GNT_OK;
    for (int64_t i = 0; i < num; i++)
        GNT_CHECK(isfinite(weight[i]) && weight[i] >= 0.0f, GNT_ERR_ARG,
                  "the loss weight of node %lld is %g, needed is a number of at least 0", (long long)i,
                  (double)weight[i]);
    GNT_TRY(gnti_alloc_array(&own->weight, num));
    memcpy(own->weight, weight, (size_t)num * sizeof *weight);
    GNT_TRY(gnti_sha256_of(weight, (size_t)num * sizeof *weight, own->weight_sha256));
done:
    return st;
}

static gnt_status set_member(const gnt_trainer *tr, const gnti_member_options *o, gnti_own *own)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config config = tr->config;
    gnt_model_config model;

    GNT_CHECK(o->seed <= (uint64_t)1 << 53, GNT_ERR_USAGE, "seed %llu is outside of 0 to 2^53",
              (unsigned long long)o->seed);
    config.seed = (int64_t)o->seed;
    config.seeds = 1;
    config.lr = o->lr;
    config.epochs = o->epochs;
    config.patience = o->patience;
    config.weight_decay = o->weight_decay;
    GNT_TRY(gnti_config_copy(&config, &own->config));
    if (o->name != NULL)
        GNT_TRY(gnti_strdup(&own->name, o->name));
    GNT_CHECK(tr->prepared.num_valid > 0 || o->patience == 0, GNT_ERR_USAGE,
              "patience %lld needs a validation set, split '%s' has none", (long long)o->patience,
              tr->prepared.split->name != NULL ? tr->prepared.split->name : "");
    gnti_model_get_config(tr->model, &model);
    GNT_TRY(check_rate(o->dropout, model.dropout, "dropout"));
    GNT_TRY(check_rate(o->input_dropout, model.input_dropout, "input dropout"));
    own->dropout = o->dropout;
    own->input_dropout = o->input_dropout;
    own->apart_gain = o->apart_gain;
    GNT_CHECK(o->apart == NULL || tr->loss_kind == GNT_LOSS_SOFTMAX, GNT_ERR_USAGE,
              "only a softmax loss can stay apart from other predictions");
    GNT_CHECK(o->apart == NULL || (isfinite(o->apart_gain) && o->apart_gain >= 0.0), GNT_ERR_USAGE,
              "the share of staying apart is %g, needed is a number of at least 0", o->apart_gain);
    GNT_CHECK(own == tr->own || o->apart == tr->apart, GNT_ERR_UNSUPPORTED,
              "members of one trainer stay apart from the same predictions, or none does");
    GNT_TRY(copy_weight(tr, o->weight, own));
done:
    return st;
}

/* Rules of the same layers and kinds as those of the first member. */
static gnt_status set_rules(const gnt_trainer *tr, gnti_own *own, int32_t *num_rules)
{
    gnt_status st = GNT_OK;
    const gnti_own *first = &tr->own[0];
    int32_t num = 0;

    GNT_TRY(gnti_decay_parse(own->config.weight_decay, tr->config.optimizer == GNTI_TRAIN_ADAMW,
                             gnt_model_num_layers(tr->model), &own->rules, &num));
    if (own == first) {
        *num_rules = num;
        return GNT_OK;
    }
    for (int32_t i = 0; i < num && num == *num_rules; i++)
        if (own->rules[i].layer != first->rules[i].layer || own->rules[i].kind != first->rules[i].kind)
            num = -1;
    GNT_CHECK(num == *num_rules, GNT_ERR_USAGE,
              "weight decay '%s' has other rules than '%s' of the first member: members of one trainer "
              "differ in the values alone",
              own->config.weight_decay != NULL ? own->config.weight_decay : "",
              first->config.weight_decay != NULL ? first->config.weight_decay : "");
done:
    return st;
}

void gnti_own_free(gnti_own *own)
{
    gnti_config_free(&own->config);
    gnti_free(own->weight);
    gnti_free(own->rules);
    gnti_free(own->failure);
    gnti_free(own->name);
}

void gnti_trainer_free_members(gnt_trainer *tr)
{
    for (int32_t m = 0; tr->own != NULL && m < tr->num_members; m++)
        gnti_own_free(&tr->own[m]);
    gnti_free(tr->own);
    gnti_free(tr->seeds);
    gnti_free(tr->member_weight);
    tr->own = NULL;
    tr->seeds = NULL;
    tr->member_weight = NULL;
}

gnt_status gnti_trainer_set_members(gnt_trainer *tr, const gnti_member_options *members, int32_t num)
{
    gnt_status st = GNT_OK;
    gnti_member_options one;
    int32_t m = 0;

    tr->num_members = num;
    GNT_TRY(gnti_calloc_array(&tr->own, num));
    GNT_TRY(gnti_alloc_array(&tr->seeds, num));
    for (m = 0; m < num; m++) {
        if (members != NULL)
            one = members[m];
        else
            gnti_member_options_init(tr->model, &tr->config, m, &one);
        if (m == 0)
            tr->apart = one.apart;
        GNT_TRY(set_member(tr, &one, &tr->own[m]));
        GNT_TRY(set_rules(tr, &tr->own[m], &tr->num_rules));
        tr->seeds[m] = one.seed;
    }
done:
    if (st != GNT_OK && members != NULL && m < num)
        gnti_error_prefix("member %d of %d%s%s: ", (int)m, (int)num, members[m].name != NULL ? ", " : "",
                          members[m].name != NULL ? members[m].name : "");
    return st;
}

/* ---- loss weights -------------------------------------------------------------------------------------------------- */

bool gnti_trainer_has_member_weights(const gnt_trainer *tr)
{
    for (int32_t m = 0; m < tr->num_members; m++)
        if (tr->own[m].weight != NULL)
            return true;
    return false;
}

gnt_status gnti_trainer_make_member_weights(const gnt_trainer *tr, gnti_comm *comm, const float *shared,
                                            const int64_t *rows, int64_t num_rows, float **out)
{
    gnt_status st = GNT_OK;
    gnti_all_reduce_args sums = { .count = tr->num_members, .dtype = GNT_F64, .op = GNTI_COMM_SUM };
    float *weight = NULL;
    double *sum = NULL;

    if (!gnti_trainer_has_member_weights(tr))
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&weight, tr->num_members * num_rows + 1));
    GNT_TRY(gnti_calloc_array(&sum, tr->num_members));
    for (int32_t m = 0; m < tr->num_members; m++) {
        const float *own = tr->own[m].weight;

        for (int64_t i = 0; i < num_rows; i++) {
            const float w = shared[i] * (own != NULL ? own[rows != NULL ? rows[i] : i] : 1.0f);

            weight[m * num_rows + i] = w;
            sum[m] += (double)w;
        }
    }
    sums.data = sum;
    GNT_TRY(gnti_comm_all_reduce(comm, &sums));
    for (int32_t m = 0; m < tr->num_members; m++)
        GNT_CHECK(sum[m] > 0.0, GNT_ERR_USAGE,
                  "member %d of %d%s%s has a loss weight above 0 for no labelled training node", (int)m,
                  (int)tr->num_members, tr->own[m].name != NULL ? ", " : "",
                  tr->own[m].name != NULL ? tr->own[m].name : "");
    *out = weight;
    weight = NULL;
done:
    gnti_free(weight);
    gnti_free(sum);
    return st;
}

/* ---- making a trainer ---------------------------------------------------------------------------------------------- */

gnt_status gnt_trainer_create(gnt_model *model, const gnt_dataset *data, const gnt_trainer_config *config,
                              gnt_trainer **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(model != NULL && data != NULL && out != NULL, GNT_ERR_ARG,
              "model, dataset and out must not be NULL");
    GNT_TRY(gnti_trainer_create_from(model, data, config, NULL, 0, out));
done:
    return st;
}

gnt_status gnti_trainer_create_members(gnt_model *model, const gnt_dataset *data,
                                       const gnt_trainer_config *config, const gnti_member_options *members,
                                       int32_t num, gnt_trainer **out)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config given;

    GNT_CHECK(model != NULL && data != NULL && members != NULL && out != NULL, GNT_ERR_ARG,
              "model, dataset, members and out must not be NULL");
    GNT_CHECK(num >= 1, GNT_ERR_ARG, "%d members, needed is 1 at least", (int)num);
    gnt_trainer_config_init(&given);
    if (config != NULL)
        given = *config;
    GNT_CHECK(given.run == NULL && gnti_config_resume(&given) != GNTI_RESUME_PATH, GNT_ERR_USAGE,
              "members have folders of their own (gnti_trainer_save_member), not the run folder '%s'",
              given.run != NULL ? given.run : given.resume);
    given.seeds = num;
    for (int32_t m = 0; m < num; m++) /* the longest one's */
        given.epochs = m == 0 || members[m].epochs > given.epochs ? members[m].epochs : given.epochs;
    GNT_TRY(gnti_trainer_create_from(model, data, &given, members, num, out));
done:
    return st;
}

/* ---- how a member stands ------------------------------------------------------------------------------------------- */

gnti_member_phase gnti_trainer_member_phase(const gnt_trainer *tr, int32_t member)
{
    const gnti_own *own = &tr->own[member];

    if (own->failure != NULL)
        return GNTI_MEMBER_FAILED;
    if (tr->members[member].live == 0.0)
        return GNTI_MEMBER_STOPPED;
    return tr->epoch >= own->config.epochs ? GNTI_MEMBER_ENDED : GNTI_MEMBER_TRAINS;
}

const char *gnti_trainer_member_failure(const gnt_trainer *tr, int32_t member)
{
    return tr->own[member].failure;
}

const gnti_member *gnti_trainer_member_progress(const gnt_trainer *tr, int32_t member)
{
    return &tr->members[member];
}

int64_t gnti_trainer_device_bytes(const gnt_trainer *tr)
{
    int64_t most = 0;

    for (int32_t i = 0; i < gnti_ranks_local(tr->ranks); i++) {
        const gnti_rank *rank = gnti_ranks_at(tr->ranks, i);
        const size_t step = gnti_program_scratch_bytes(rank->program),
                     evaluation = gnti_evaluator_scratch_bytes(rank->evaluator);

        most = gnti_max_i64(
            most, (int64_t)(gnti_device_peak_bytes(rank->device) + (step > evaluation ? step : evaluation)));
    }
    return most;
}
