/* SPDX-License-Identifier: Apache-2.0 */
/* From a draft to members: variations (all combinations of the listed values, the last key fastest; or samples drawn), `count` members
 * of each, each with a seed of its own.
 *
 * Every number drawn here is Philox of the spec's seed at (number, index, use, "ENSM"), so a member's seed depends on the spec's seed
 * and its own number alone: members that are added leave the others as they were. Seeds are 53 bits, which JSON and HDF5 readers hold
 * exactly; of two equal ones (never seen) the later draws again.
 */
#include "ensemble/spec_state.h"

#include "base/alloc.h"
#include "base/name.h"
#include "base/philox.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USE_SEED, USE_FOLDS, USE_SEARCH };
#define STREAM 0x454e534du /* "ENSM" */

static void draw(const gnti_spec *spec, uint32_t use, uint32_t number, uint32_t index, uint32_t out[4])
{
    const uint32_t counter[4] = { number, index, use, STREAM };

    gnti_philox(counter, gnti_seed_key(spec->seed), out);
}

/* 53 bits of two words. */
static uint64_t whole_of(const uint32_t w[4])
{
    return ((uint64_t)w[1] << 32 | w[0]) >> 11;
}

static uint64_t derive_seed(const gnti_spec *spec, int32_t member)
{
    for (uint32_t attempt = 0;; attempt++) {
        uint32_t w[4];
        uint64_t seed;
        bool taken;

        draw(spec, USE_SEED, (uint32_t)member, attempt, w);
        seed = whole_of(w);
        taken = seed == 0; /* 0 stands for none in gnti_member_view */
        for (int32_t m = 0; m < member && !taken; m++)
            taken = spec->members[m].seed == seed;
        if (!taken)
            return seed;
    }
}

/* ---- variations ---------------------------------------------------------------------------------------------------- */

/* A number between low and high, of four digits; whole ones all as likely as each other, on either scale. */
static void draw_number(const gnti_vary *v, double u, char out[64])
{
    const bool whole = v->row->kind == GNT_OPTION_KIND_INT;
    const double top = whole ? v->high + 1.0 : v->high;
    const double x =
        v->is_log ? exp(log(v->low) + u * (log(top) - log(v->low))) : v->low + u * (top - v->low);
    double rounded;

    if (whole) {
        snprintf(out, 64, "%.0f", fmin(fmax(floor(x), v->low), v->high));
        return;
    }
    snprintf(out, 64, "%.4g", x);
    if (gnti_parse_double(out, strlen(out), &rounded) != GNTI_PARSE_OK || rounded < v->low ||
        rounded > v->high)
        gnti_format_double(fmin(fmax(x, v->low), v->high), out);
}

/* The text that entry `index` of `vary` has in a variation. */
static const char *value_of(const gnti_spec_draft *d, int64_t variation, int64_t index, char buffer[64])
{
    const gnti_vary *v = &d->vary[index];
    int64_t step = 1;
    uint32_t w[4];

    if (d->search == GNTI_SEARCH_GRID) {
        for (int64_t i = index + 1; i < d->num_vary; i++)
            step *= d->vary[i].num_values;
        return v->values[variation / step % v->num_values];
    }
    draw(d->spec, USE_SEARCH, (uint32_t)variation, (uint32_t)index, w);
    if (v->num_values > 0)
        return v->values[gnti_below(w[2], (uint32_t)v->num_values)];
    draw_number(v, (double)whole_of(w) * 0x1p-53, buffer);
    return buffer;
}

static gnt_status make_variation(const gnti_spec_draft *d, int64_t variation, gnti_member_block *block,
                                 gnti_text *differs)
{
    gnt_status st = GNT_OK;
    char buffer[64];

    GNT_TRY(gnti_member_block_copy(&d->rows, &d->base, block));
    for (int64_t i = 0; i < d->num_vary; i++) {
        const gnti_vary *v = &d->vary[i];
        const char *value = value_of(d, variation, i, buffer);

        GNT_TRY(gnti_yaml_blame(v->node, gnti_option_set(v->row, block, value)));
        gnti_text_printf(differs, "%s%s=%s", i == 0 ? "" : " ", v->row->name, value);
    }
done:
    return st;
}

/* How many there are; ERR_FORMAT where that is more than there may be members. */
static gnt_status count_variations(const gnti_spec_draft *d, int64_t count, int64_t *out)
{
    gnt_status st = GNT_OK;
    int64_t num = d->search == GNTI_SEARCH_RANDOM ? d->samples : 1;

    for (int64_t i = 0; d->search == GNTI_SEARCH_GRID && i < d->num_vary; i++) {
        num *= d->vary[i].num_values;
        if (num * count > GNTI_SPEC_MAX_MEMBERS)
            GNT_TRY(gnti_yaml_fail(
                d->vary[i].node, GNT_ERR_FORMAT,
                "with '%s' there are %lld variations of %lld members or more, the limit is %d members: "
                "'search: random' draws 'samples' of them",
                d->vary[i].row->name, (long long)num, (long long)count, GNTI_SPEC_MAX_MEMBERS));
    }
    if (num * count > GNTI_SPEC_MAX_MEMBERS)
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "count"), GNT_ERR_FORMAT,
                               "%lld variations of %lld members, the limit is %d members", (long long)num,
                               (long long)count, GNTI_SPEC_MAX_MEMBERS));
    *out = num;
done:
    return st;
}

/* ---- members ------------------------------------------------------------------------------------------------------- */

static gnt_status fill_member(const gnti_spec_draft *d, const gnti_member_block *block, const char *differs,
                              int32_t number, int32_t place, gnti_spec_member *m)
{
    gnt_status st = GNT_OK;
    gnti_member_block own;
    gnti_text text = { 0 };
    uint32_t w[4];

    GNT_TRY(gnti_member_block_copy(&d->rows, block, &own));
    m->model = own.model; /* all texts of the block are the member's now */
    m->net = own.net;
    m->train = own.train;
    m->bagging = own.bagging;
    m->seed = derive_seed(d->spec, number);
    m->train.seeds = 1;
    m->train.seed = (int64_t)m->seed;
    m->view = (gnti_member_view){ .drop_features = own.drop_features, .drop_edges = own.drop_edges };
    if (own.drop_features > 0.0 || own.drop_edges > 0.0)
        m->view.seed = m->seed;
    if (d->folds > 0) {
        draw(d->spec, USE_FOLDS, 0, 0, w);
        m->num_folds = (int32_t)d->folds;
        m->fold = (int32_t)(place % d->folds);
        m->fold_seed = whole_of(w);
    }
    gnti_text_append(&text, differs);
    if (d->folds > 0)
        gnti_text_printf(&text, "%sfold=%d", differs[0] == '\0' ? "" : " ", (int)m->fold);
    GNT_TRY(gnti_text_take(&text, &m->differs));
done:
    gnti_text_free(&text);
    return st;
}

static gnt_status expand_variation(gnti_spec_draft *d, int64_t variation, int64_t count, int digits)
{
    gnt_status st = GNT_OK;
    gnti_spec *spec = d->spec;
    gnti_member_block block = { 0 };
    gnti_text t = { 0 };
    char *differs = NULL;

    GNT_TRY(make_variation(d, variation, &block, &t));
    GNT_TRY(gnti_text_take(&t, &differs));
    for (int64_t c = 0; c < count; c++) {
        gnti_spec_member *m = &spec->members[spec->num_members];

        snprintf(m->name, sizeof m->name, "m%0*d", digits, (int)spec->num_members);
        m->variation = (int32_t)variation;
        spec->num_members++; /* from here on it is freed with the others */
        GNT_TRY(fill_member(d, &block, differs, spec->num_members - 1, (int32_t)c, m));
    }
done:
    gnti_text_free(&t);
    gnti_free(differs);
    gnti_member_block_free(&d->rows, &block);
    return st;
}

static gnt_status set_foreground(gnti_spec *spec, const gnti_yaml_node *node, const char *name, size_t length)
{
    char wanted[32], first[32], last[32];

    snprintf(wanted, sizeof wanted, "%.*s", (int)length, name);
    for (int32_t m = 0; m < spec->num_members; m++) {
        if (strcmp(spec->members[m].name, wanted) != 0)
            continue;
        spec->members[m].foreground = true;
        return GNT_OK;
    }
    snprintf(first, sizeof first, "%s", spec->members[0].name);
    snprintf(last, sizeof last, "%s", spec->members[spec->num_members - 1].name);
    return gnti_yaml_fail(node, GNT_ERR_FORMAT, "there is no member '%s': they are %s to %s", wanted, first,
                          last);
}

static gnt_status read_foreground(gnti_spec_draft *d)
{
    gnt_status st = GNT_OK;
    const char *p = d->foreground;

    while (p != NULL && *p != '\0') {
        const char *begin = p, *end = p + strcspn(p, ",");

        p = *end == '\0' ? end : end + 1;
        gnti_trim(&begin, &end);
        GNT_TRY(set_foreground(d->spec, gnti_spec_draft_node(d, "foreground"), begin, (size_t)(end - begin)));
    }
done:
    return st;
}

gnt_status gnti_spec_expand(gnti_spec_draft *d)
{
    gnt_status st = GNT_OK;
    const int64_t count = d->count > 0 ? d->count : d->folds > 0 ? d->folds : 1;
    int64_t variations = 0;
    int digits = 2;

    GNT_TRY(count_variations(d, count, &variations));
    for (int64_t last = variations * count - 1; last >= 100; last /= 10)
        digits++;
    GNT_TRY(gnti_calloc_array(&d->spec->members, variations * count));
    for (int64_t v = 0; v < variations; v++)
        GNT_TRY(expand_variation(d, v, count, digits));
    GNT_TRY(read_foreground(d));
done:
    return st;
}
