/* SPDX-License-Identifier: Apache-2.0 */
/* A spec's YAML into a draft. Three tables take the keys of the top level (of the ensemble, of the draft, of members), `train` a part
 * of the members' one, and each entry of `vary` names one of its rows and what it may be. Every value is tried on a block that is
 * thrown away, so that a wrong one is told with its own line.
 */
#include "ensemble/spec_state.h"

#include "base/alloc.h"
#include "base/name.h"
#include "ensemble/place.h"

#include <string.h>

enum { MAX_VARY = 64, MAX_VALUES = GNTI_SPEC_MAX_MEMBERS };

typedef struct vary_keys {
    char *key;
    double low, high;
    int32_t scale;
} vary_keys;

static const gnt_option vary_rows[] = {
    GNT_OPTION_TEXT("key", vary_keys, key, NULL, "what varies: model, or an option of a member"),
    GNT_OPTION_DOUBLE("low", vary_keys, low, 0.0, -1e300, 1e300, "least value that search random draws"),
    GNT_OPTION_DOUBLE("high", vary_keys, high, 0.0, -1e300, 1e300, "largest value"),
    GNT_OPTION_WORD("scale", vary_keys, scale, 0, "lin|log", "how it draws between them"),
    GNT_OPTION_END,
};
enum { VARY_KEY, VARY_LOW, VARY_HIGH, VARY_SCALE, VARY_ROWS };

const gnti_yaml_node *gnti_spec_draft_node(const gnti_spec_draft *d, const char *key)
{
    const gnti_yaml_node *root = gnti_yaml_root(d->doc), *node = gnti_yaml_find(root, key);

    return node == NULL ? root : node;
}

/* ---- vary ---------------------------------------------------------------------------------------------------------- */

static gnt_status unknown_member_key(const gnti_spec_draft *d, const gnti_yaml_node *node, const char *key)
{
    const char *names[GNTI_SPEC_MAX_ROWS], *nearest;

    for (int i = 0; i < d->rows.num; i++)
        names[i] = d->rows.row[i].name;
    nearest = gnti_name_nearest(names, (size_t)d->rows.num, key);
    return gnti_yaml_fail(node, GNT_ERR_FORMAT, "unknown option '%s' of a member%s%s%s", key,
                          nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
                          nearest == NULL ? "" : "'?");
}

static bool is_number(const gnt_option *o)
{
    return o->kind == GNT_OPTION_KIND_INT || o->kind == GNT_OPTION_KIND_FLOAT ||
           o->kind == GNT_OPTION_KIND_DOUBLE;
}

/* A value for its own sake, whatever others say: kind and bounds. */
static gnt_status try_value(const gnti_spec_draft *d, const gnt_option *row, const gnti_yaml_node *node)
{
    gnt_status st = GNT_OK;
    gnti_member_block scratch;

    GNT_TRY(gnti_member_block_init(&d->rows, &scratch));
    GNT_TRY(gnti_yaml_option(node, row, &scratch));
done:
    gnti_member_block_free(&d->rows, &scratch);
    return st;
}

static gnt_status read_values(const gnti_spec_draft *d, const gnti_yaml_node *list, gnti_vary *v)
{
    gnt_status st = GNT_OK;
    const int64_t num = gnti_yaml_length(list);

    GNT_TRY(gnti_yaml_expect(list, GNTI_YAML_LIST));
    if (num < 1 || num > MAX_VALUES)
        GNT_TRY(gnti_yaml_fail(list, GNT_ERR_FORMAT, "%lld values, there must be 1 to %d", (long long)num,
                               MAX_VALUES));
    GNT_TRY(gnti_calloc_array(&v->values, num));
    v->num_values = num;
    for (int64_t i = 0; i < num; i++) {
        const gnti_yaml_node *item = gnti_yaml_at(list, i);

        GNT_TRY(gnti_yaml_expect(item, GNTI_YAML_TEXT));
        GNT_TRY(try_value(d, v->row, item));
        GNT_TRY(gnti_strdup(&v->values[i], gnti_yaml_get_text(item)));
        for (int64_t j = 0; j < i; j++)
            if (strcmp(v->values[i], v->values[j]) == 0)
                GNT_TRY(gnti_yaml_fail(item, GNT_ERR_FORMAT, "'%s' stands in the list twice", v->values[i]));
    }
done:
    return st;
}

/* low and high as the option itself would read them, in order, and above 0 on a logarithmic scale. */
static gnt_status read_range(const gnti_spec_draft *d, const vary_keys *keys, gnti_vary *v)
{
    gnt_status st = GNT_OK;
    const gnti_yaml_node *low = gnti_yaml_find(v->node, "low"), *high = gnti_yaml_find(v->node, "high");

    if (low == NULL || high == NULL)
        GNT_TRY(
            gnti_yaml_fail(v->node, GNT_ERR_FORMAT, "'%s' needs 'values', or 'low' and 'high'", keys->key));
    if (d->search != GNTI_SEARCH_RANDOM)
        GNT_TRY(gnti_yaml_fail(low, GNT_ERR_FORMAT,
                               "a range needs 'search: random' and 'samples'; a grid needs 'values'"));
    if (!is_number(v->row))
        GNT_TRY(gnti_yaml_fail(low, GNT_ERR_FORMAT, "'%s' is no number: give 'values'", v->row->name));
    GNT_TRY(try_value(d, v->row, low));
    GNT_TRY(try_value(d, v->row, high));
    if (!(keys->low < keys->high))
        GNT_TRY(gnti_yaml_fail(high, GNT_ERR_FORMAT, "low %g must be below high %g", keys->low, keys->high));
    v->is_log = keys->scale == 1;
    if (v->is_log && !(keys->low > 0.0))
        GNT_TRY(gnti_yaml_fail(low, GNT_ERR_FORMAT, "scale log needs a low above 0, not %g", keys->low));
    v->low = keys->low;
    v->high = keys->high;
done:
    return st;
}

/* Nothing is said of a key twice: not by two entries, not by one and `train` or the top level. */
static gnt_status check_said_once(const gnti_spec_draft *d, const gnti_vary *v)
{
    gnt_status st = GNT_OK;
    const gnti_yaml_node *root = gnti_yaml_root(d->doc), *train = gnti_yaml_find(root, "train");
    const bool own = v->row - d->rows.row < d->rows.num_own;
    const gnti_yaml_node *fixed = own             ? gnti_yaml_find(root, v->row->name)
                                  : train == NULL ? NULL
                                                  : gnti_yaml_find(train, v->row->name);

    if (fixed != NULL)
        GNT_TRY(gnti_yaml_fail(v->node, GNT_ERR_FORMAT, "'%s' varies here and is fixed in line %d",
                               v->row->name, gnti_yaml_line(fixed)));
    for (const gnti_vary *w = d->vary; w < v; w++)
        if (w->row == v->row)
            GNT_TRY(gnti_yaml_fail(v->node, GNT_ERR_FORMAT, "'%s' varies already in line %d", v->row->name,
                                   gnti_yaml_line(w->node)));
done:
    return st;
}

static gnt_status read_vary_entry(gnti_spec_draft *d, const gnti_yaml_node *node, gnti_vary *v)
{
    gnt_status st = GNT_OK;
    static const char *const others[] = { "values", NULL };
    const gnti_yaml_node *values = gnti_yaml_find(node, "values");
    vary_keys keys = { 0 };
    bool set[VARY_ROWS] = { false };

    v->node = node;
    GNT_TRY(gnti_yaml_options(node, vary_rows, others, &keys, set));
    if (!set[VARY_KEY])
        GNT_TRY(gnti_yaml_fail(node, GNT_ERR_FORMAT, "an entry needs a 'key'"));
    GNT_TRY(gnti_spec_check_train_key(gnti_yaml_find(node, "key"), keys.key));
    v->row = gnti_options_find(d->rows.row, keys.key);
    if (v->row == NULL)
        GNT_TRY(unknown_member_key(d, gnti_yaml_find(node, "key"), keys.key));
    GNT_TRY(check_said_once(d, v));
    if (values != NULL && (set[VARY_LOW] || set[VARY_HIGH] || set[VARY_SCALE]))
        GNT_TRY(gnti_yaml_fail(node, GNT_ERR_FORMAT, "'values' and a range exclude each other"));
    if (values != NULL)
        GNT_TRY(read_values(d, values, v));
    else
        GNT_TRY(read_range(d, &keys, v));
done:
    gnti_options_free_texts(vary_rows, &keys);
    return st;
}

static gnt_status read_vary(gnti_spec_draft *d, const gnti_yaml_node *list)
{
    gnt_status st = GNT_OK;
    const int64_t num = gnti_yaml_length(list);

    GNT_TRY(gnti_yaml_expect(list, GNTI_YAML_LIST));
    if (num < 1 || num > MAX_VARY)
        GNT_TRY(gnti_yaml_fail(list, GNT_ERR_FORMAT, "%lld entries, there must be 1 to %d", (long long)num,
                               MAX_VARY));
    GNT_TRY(gnti_calloc_array(&d->vary, num));
    for (; d->num_vary < num; d->num_vary++)
        GNT_TRY(read_vary_entry(d, gnti_yaml_at(list, d->num_vary), &d->vary[d->num_vary]));
done:
    if (st != GNT_OK && d->vary != NULL)
        d->num_vary++; /* the one that failed may hold values */
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

static gnt_status read_train(gnti_spec_draft *d, const gnti_yaml_node *train)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_yaml_expect(train, GNTI_YAML_MAP));
    for (int64_t i = 0; i < gnti_yaml_length(train); i++)
        GNT_TRY(gnti_spec_check_train_key(gnti_yaml_at(train, i), gnti_yaml_key_at(train, i)));
    GNT_TRY(gnti_yaml_options(train, d->rows.row + d->rows.num_own, NULL, &d->base, NULL));
done:
    return st;
}

static gnt_status unknown_top_key(const gnti_spec_draft *d, const gnti_yaml_node *entry, const char *key)
{
    const char *names[2 * GNTI_SPEC_MAX_ROWS] = { "train", "vary" }, *nearest;
    const gnt_option *in_train = gnti_options_find(d->rows.row, key);
    size_t num = 2;

    GNT_ASSERT(gnti_options_count(gnti_spec_rows) + gnti_options_count(gnti_draft_rows) < GNTI_SPEC_MAX_ROWS);
    if (in_train != NULL)
        return gnti_yaml_fail(entry, GNT_ERR_FORMAT, "'%s' is an option of members: it stands under 'train:'",
                              key);
    for (const gnt_option *o = gnti_spec_rows; o < gnti_spec_rows + gnti_options_count(gnti_spec_rows); o++)
        if (o->kind != GNT_OPTION_KIND_END)
            names[num++] = o->name;
    for (int i = 0; i < gnti_options_count(gnti_draft_rows); i++)
        names[num++] = gnti_draft_rows[i].name;
    for (int i = 0; i < d->rows.num_own; i++)
        names[num++] = d->rows.row[i].name;
    nearest = gnti_name_nearest(names, num, key);
    return gnti_yaml_fail(entry, GNT_ERR_FORMAT, "unknown key '%s'%s%s%s", key,
                          nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
                          nearest == NULL ? "" : "'?");
}

static gnt_status read_top(gnti_spec_draft *d, const gnti_yaml_node *root)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_yaml_expect(root, GNTI_YAML_MAP));
    for (int64_t i = 0; i < gnti_yaml_length(root); i++) {
        const gnti_yaml_node *entry = gnti_yaml_at(root, i);
        const char *key = gnti_yaml_key_at(root, i);
        const gnt_option *of_spec = gnti_options_find(gnti_spec_rows, key);
        const gnt_option *of_draft = gnti_options_find(gnti_draft_rows, key);
        const gnt_option *of_member = gnti_options_find(d->rows.row, key);

        if (of_spec != NULL)
            GNT_TRY(gnti_yaml_option(entry, of_spec, d->spec));
        else if (of_draft != NULL)
            GNT_TRY(gnti_yaml_option(entry, of_draft, d));
        else if (of_member != NULL && of_member - d->rows.row < d->rows.num_own)
            GNT_TRY(gnti_yaml_option(entry, of_member, &d->base));
        else if (strcmp(key, "train") == 0)
            GNT_TRY(read_train(d, entry));
        else if (strcmp(key, "vary") != 0)
            GNT_TRY(unknown_top_key(d, entry, key));
    }
done:
    return st;
}

static bool varies(const gnti_spec_draft *d, const char *name)
{
    for (int64_t i = 0; i < d->num_vary; i++)
        if (strcmp(d->vary[i].row->name, name) == 0)
            return true;
    return false;
}

static gnt_status check_pairs(const gnti_spec_draft *d)
{
    gnt_status st = GNT_OK;
    const bool random = d->search == GNTI_SEARCH_RANDOM, bags = d->base.bagging > 0.0 || varies(d, "bagging");

    GNT_TRY(gnti_spec_check_belongs(d));
    if (d->base.model == NULL && !varies(d, "model"))
        GNT_TRY(gnti_yaml_fail(gnti_yaml_root(d->doc), GNT_ERR_FORMAT,
                               "there is no 'model', such as model: \"gcn:16, gcn\""));
    if (random && d->samples == 0)
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "search"), GNT_ERR_FORMAT,
                               "search random needs 'samples', how many it draws"));
    if (d->folds > 0 && bags)
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "folds"), GNT_ERR_FORMAT,
                               "folds and bagging exclude each other"));
    if (d->folds > 0 && d->count % d->folds != 0)
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "count"), GNT_ERR_FORMAT,
                               "count %lld is no multiple of folds %lld", (long long)d->count,
                               (long long)d->folds));
    if (d->spec->policy == GNTI_POLICY_ENERGY && !(d->spec->energy_budget > 0.0))
        GNT_TRY(gnti_yaml_fail(gnti_spec_draft_node(d, "policy"), GNT_ERR_FORMAT,
                               "policy energy needs 'energy-budget', in watts"));
done:
    return st;
}

gnt_status gnti_spec_draft_read(gnti_spec_draft *d)
{
    gnt_status st = GNT_OK;
    const gnti_yaml_node *root = NULL;

    GNT_TRY(gnti_yaml_parse(d->spec->text, strlen(d->spec->text), d->spec->path, &d->doc));
    GNT_TRY(gnti_options_defaults(gnti_spec_rows, d->spec));
    GNT_TRY(gnti_options_defaults(gnti_draft_rows, d));
    GNT_TRY(gnti_member_rows_make(&d->rows));
    GNT_TRY(gnti_member_block_init(&d->rows, &d->base));
    root = gnti_yaml_root(d->doc);
    GNT_TRY(read_top(d, root));
    if (gnti_yaml_find(root, "vary") != NULL) /* `search` may stand behind it */
        GNT_TRY(read_vary(d, gnti_yaml_find(root, "vary")));
    GNT_TRY(check_pairs(d));
done:
    return st;
}

void gnti_spec_draft_free(gnti_spec_draft *d)
{
    for (int64_t i = 0; i < d->num_vary; i++) {
        for (int64_t k = 0; d->vary[i].values != NULL && k < d->vary[i].num_values; k++)
            gnti_free(d->vary[i].values[k]);
        gnti_free(d->vary[i].values);
    }
    gnti_free(d->vary);
    gnti_options_free_texts(gnti_draft_rows, d);
    gnti_member_block_free(&d->rows, &d->base);
    gnti_yaml_free(&d->doc);
}
