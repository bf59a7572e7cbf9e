/* SPDX-License-Identifier: Apache-2.0 */
/* Soups (Wortsman et al., ICML 2022): members of one model start from the same initial weights and differ in their seeds, rates, folds;
 * the mean of their best weights is one model more, with the cost of one when it predicts.
 *
 *   uniform   the mean of all
 *   greedy    members by validation quality; each enters the mean when the mean with it is not worse on validation than without
 * Weights of members with other initial weights do not lie in one basin (their units are permuted) and their mean predicts nothing. That is
 * looked at, not assumed: where the mean of all is worse on validation than the worst member, by more than 0.02 (the error barrier of
 * Frankle et al., ICML 2020) and a standard error, the note says so, and a uniform soup is not part of the ensemble.
 */
#include "ensemble/method_state.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static gnt_status shape_soup(gnti_spec *spec, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;

    (void)data;
    GNT_CHECK(spec->num_members >= 2, GNT_ERR_USAGE, "%s: method soup needs 2 members or more", spec->path);
    GNT_TRY(gnti_method_check_alike(spec, "soup"));
done:
    return st;
}

static gnt_status list_soup(gnti_method_run *mr)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_method_independent.list(mr));
    GNT_TRY(gnti_method_add_output(mr, "soup", "", -1));
done:
    return st;
}

/* The initial weights of the first member's seed, for everybody. */
static gnt_status start_alike(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *m = &mr->spec->members[member];
    gnt_model *model = NULL;
    float *weights = NULL;
    int64_t num;

    GNT_TRY(gnt_model_create_with(mr->data, m->model, &m->net, &model));
    GNT_TRY(gnti_method_draw(mr, model, mr->spec->members[0].seed, &weights, &num));
    GNT_TRY(gnti_method_set_weights(tr, slot, weights, num));
done:
    gnti_free(weights);
    gnt_model_free(&model);
    return st;
}

static gnt_status keep_best(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    return gnti_method_keep(mr, mr->spec->members[member].name, tr, slot, true);
}

/* ---- the mean ----------------------------------------------------------------------------------------------------------- */

typedef struct ingredient {
    int32_t member;
    float *weights;
    double quality;
} ingredient;

typedef struct soup {
    gnti_method_run *mr;
    gnti_publisher p;
    ingredient *list; /* (num) */
    int32_t num;
    int64_t num_floats, num_valid;
    float *mean; /* (num_floats) of the newest call of try_mean */
} soup;

static int by_quality(const void *a, const void *b)
{
    const ingredient *x = a, *y = b;

    if (x->quality != y->quality)
        return x->quality > y->quality ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

static gnt_status gather(soup *s, const uint8_t *skip)
{
    gnt_status st = GNT_OK;
    const gnti_spec *spec = s->mr->spec;

    GNT_TRY(gnti_calloc_array(&s->list, spec->num_members));
    for (int32_t m = 0; m < spec->num_members; m++) {
        ingredient *i = &s->list[s->num];

        if (skip != NULL && skip[m])
            continue;
        i->member = m;
        s->num++;
        GNT_TRY(gnti_method_fetch(s->mr, spec->members[m].name, &i->weights, &s->num_floats));
        GNT_TRY(gnti_publisher_set(&s->p, i->weights, false));
        GNT_TRY(gnti_publisher_quality(&s->p, s->p.logits, &i->quality, &s->num_valid));
        GNT_CHECK(
            !isnan(i->quality), GNT_ERR_USAGE,
            "method soup needs validation rows with labels: whether members' weights have a mean is looked "
            "at there");
    }
    qsort(s->list, (size_t)s->num, sizeof *s->list, by_quality);
done:
    return st;
}

/* The mean of those that are in, and how good it is. */
static gnt_status try_mean(soup *s, const uint8_t *in, double *quality)
{
    gnt_status st = GNT_OK;
    gnti_running_mean mean = { 0 };

    for (int32_t i = 0; i < s->num; i++)
        if (in[i])
            GNT_TRY(gnti_running_mean_add(&mean, s->list[i].weights, s->num_floats));
    gnti_free(s->mean);
    s->mean = NULL;
    GNT_TRY(gnti_running_mean_get(&mean, &s->mean));
    GNT_TRY(gnti_publisher_set(&s->p, s->mean, true));
    GNT_TRY(gnti_publisher_quality(&s->p, s->p.logits, quality, &s->num_valid));
done:
    gnti_running_mean_free(&mean);
    return st;
}

/* How much of a difference in quality says nothing; a quality below 0 is an error with a scale of its own. */
static double margin(const soup *s, double quality)
{
    return (0.02 + 0.5 / sqrt((double)s->num_valid)) * (quality < 0.0 ? -quality : 1.0);
}

static gnt_status stir(soup *s, gnti_method_output *o)
{
    gnt_status st = GNT_OK;
    const double worst = s->list[s->num - 1].quality;
    double all, best = s->list[0].quality, now;
    uint8_t *in = NULL;
    int32_t used = s->num;
    bool apart;

    GNT_TRY(gnti_calloc_array(&in, s->num));
    for (int32_t i = 0; i < s->num; i++)
        in[i] = 1;
    GNT_TRY(try_mean(s, in, &all));
    apart = !(all >= worst - margin(s, worst));
    for (int32_t i = 1; i < s->num && s->mr->spec->soup == 1; i++)
        in[i] = 0;
    for (int32_t i = 1; i < s->num && s->mr->spec->soup == 1; i++) {
        in[i] = 1;
        GNT_TRY(try_mean(s, in, &now));
        in[i] = now >= best;
        best = in[i] ? now : best;
    }
    if (s->mr->spec->soup == 1) {
        used = 0;
        for (int32_t i = 0; i < s->num; i++)
            used += in[i];
        GNT_TRY(try_mean(s, in, &now));
    }
    o->present = !apart || s->mr->spec->soup == 1;
    snprintf(o->note, sizeof o->note, "mean of %d of %d members%s", (int)used, (int)s->num,
             apart ? "; the mean of all is worse than each: no shared basin" : "");
    if (o->present)
        GNT_TRY(gnti_publisher_write(&s->p, o->name));
done:
    gnti_free(in);
    return st;
}

static gnt_status finish_soup(gnti_method_run *mr, const uint8_t *skip)
{
    gnt_status st = GNT_OK;
    soup s = { .mr = mr };

    GNT_TRY(gnti_publisher_open(mr, 0, &s.p));
    GNT_TRY(gather(&s, skip));
    if (s.num > 0)
        GNT_TRY(stir(&s, &mr->outputs[mr->num_outputs - 1]));
done:
    for (int32_t i = 0; i < s.num; i++)
        gnti_free(s.list[i].weights);
    gnti_free(s.list);
    gnti_free(s.mean);
    gnti_publisher_close(&s.p);
    return st;
}

const gnti_method_class gnti_method_soup = { .shape = shape_soup,
                                             .list = list_soup,
                                             .start = start_alike,
                                             .after_member = keep_best,
                                             .finish = finish_soup };
