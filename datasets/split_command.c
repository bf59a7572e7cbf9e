/* SPDX-License-Identifier: Apache-2.0 */
/* What `gnntrain split` calls: options, names, repeats, the report. */
#include "datasets/split.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static const gnt_option SPLIT_OPTIONS[] = {
    GNT_OPTION_WORD("kind", gntx_split_options, kind, 0, "random|stratified|per-class",
                    "how nodes are drawn: at random, at random in each class, a number of each class"),
    GNT_OPTION_TEXT("name", gntx_split_options, name, "", "name of the split (default: its kind)"),
    GNT_OPTION_DOUBLE("train", gntx_split_options, train, 0.6, 0.0, 1.0, "share of train"),
    GNT_OPTION_DOUBLE("valid", gntx_split_options, valid, 0.2, 0.0, 1.0, "share of valid"),
    GNT_OPTION_DOUBLE("test", gntx_split_options, test, 0.0, 0.0, 1.0, "share of test (0: the rest)"),
    GNT_OPTION_INT("per-class", gntx_split_options, per_class, 20, 1, INT32_MAX, "train nodes of each class"),
    GNT_OPTION_INT("valid-count", gntx_split_options, valid_count, 500, 0, INT32_MAX,
                   "valid nodes of a per-class split"),
    GNT_OPTION_INT("test-count", gntx_split_options, test_count, 1000, 0, INT32_MAX,
                   "test nodes of a per-class split (0: the rest)"),
    GNT_OPTION_INT("seed", gntx_split_options, seed, 0, 0, INT32_MAX, "seed of the draws"),
    GNT_OPTION_BOOL("inductive", gntx_split_options, inductive, 0,
                    "training sees only the arcs between train nodes"),
    GNT_OPTION_BOOL("replace", gntx_split_options, replace, 0, "take the place of a split of that name"),
    GNT_OPTION_INT("repeats", gntx_split_options, repeats, 1, 1, 10000,
                   "so many splits, named NAME-0, NAME-1, ..., with seeds that count up"),
    GNT_OPTION_END,
};

const gnt_option *gntx_split_option_table(void)
{
    return SPLIT_OPTIONS;
}

/* An option of the other kinds that was set would be ignored: say so. */
static gnt_status check_kind(const gntx_split_options *o)
{
    static const char *const shares[] = { "train", "valid", "test" }, *const counts[] = { "per-class",
                                                                                          "valid-count",
                                                                                          "test-count" };
    gnt_status st = GNT_OK;
    const bool by_class = o->kind == 2;

    for (int i = 0; i < 3; i++) {
        const char *name = by_class ? shares[i] : counts[i];
        const gnt_option *row = SPLIT_OPTIONS;
        const double share[] = { o->train, o->valid, o->test };
        const int64_t count[] = { o->per_class, o->valid_count, o->test_count };

        while (strcmp(row->name, name) != 0)
            row++;
        GNT_CHECK((by_class ? share[i] : (double)count[i]) == row->default_number, GNT_ERR_USAGE,
                  "--%s means nothing to --kind %s: leave it out or use --kind %s", name,
                  by_class       ? "per-class"
                  : o->kind == 1 ? "stratified"
                                 : "random",
                  by_class ? "stratified" : "per-class");
    }
done:
    return st;
}

static gnt_status report_classes(const gnt_dataset *d, const gnti_split *s, gnti_json *to)
{
    static const char *const parts[] = { "train", "valid", "test" };
    gnt_status st = GNT_OK;
    gnti_json *classes;
    int64_t *counts = NULL;

    GNT_TRY(gnti_json_set_object(to, "classes", &classes));
    GNT_TRY(gnti_alloc_array(&counts, d->y.num_classes));
    for (int part = 0; part < 3; part++) {
        for (int64_t c = 0; c < d->y.num_classes; c++)
            counts[c] = 0;
        for (int64_t i = 0; i < s->num_nodes[part]; i++)
            if (d->y.class_of[s->nodes[part][i]] >= 0)
                counts[d->y.class_of[s->nodes[part][i]]]++;
        GNT_TRY(gnti_json_set_ints(classes, parts[part], counts, d->y.num_classes));
    }
done:
    gnti_free(counts);
    return st;
}

static gnt_status report_split(const gnt_dataset *d, const gnti_split *s, gnti_json *list)
{
    gnt_status st = GNT_OK;
    gnti_json *to;
    char sum[65];

    GNT_TRY(gnti_split_sum(s, sum));
    GNT_TRY(gnti_json_append_object(list, &to));
    GNT_TRY(gnti_json_set_text(to, "name", s->name));
    GNT_TRY(gnti_json_set_text(to, "kind", s->kind));
    GNT_TRY(gnti_json_set_int(to, "seed", (int64_t)s->seed));
    GNT_TRY(gnti_json_set_text(to, "sha256", sum));
    GNT_TRY(gnti_json_set_bool(to, "inductive", s->inductive));
    GNT_TRY(gnti_json_set_int(to, "train", s->num_nodes[GNTI_TRAIN]));
    GNT_TRY(gnti_json_set_int(to, "valid", s->num_nodes[GNTI_VALID]));
    GNT_TRY(gnti_json_set_int(to, "test", s->num_nodes[GNTI_TEST]));
    if (d->y.kind == GNT_LABELS_CLASS && !gnti_dataset_splits_graphs(d))
        GNT_TRY(report_classes(d, s, to));
done:
    return st;
}

/* One more split in d, and in the report. */
static gnt_status add_split(gnt_dataset *d, const gntx_split_options *o, int64_t repeat, gnti_json *splits,
                            gnti_json *notes)
{
    static const char *const kinds[] = { "random", "stratified", "per-class" };
    gnt_status st = GNT_OK;
    gnti_split s = { .name = NULL };
    const char *base = o->name != NULL && o->name[0] != '\0' ? o->name : kinds[o->kind];
    char name[256], note[512];
    int64_t short_classes = 0;

    GNT_CHECK(strlen(base) < sizeof name - 24 && strchr(base, '/') == NULL && strcmp(base, ".") != 0,
              GNT_ERR_USAGE, "'%s' is no name for a split: use letters, digits and dashes", base);
    if (o->repeats > 1)
        snprintf(name, sizeof name, "%s-%lld", base, (long long)repeat);
    else
        snprintf(name, sizeof name, "%s", base);
    for (int64_t i = 0; i < d->num_splits; i++)
        GNT_CHECK(o->replace || strcmp(d->splits[i].name, name) != 0, GNT_ERR_USAGE,
                  "there is a split '%s' already: choose another --name or say --replace", name);
    GNT_TRY(gnti_split_make(d, o, (uint64_t)(o->seed + repeat), name, &s, &short_classes));
    GNT_TRY(report_split(d, &s, splits));
    if (short_classes > 0) {
        snprintf(note, sizeof note,
                 "split '%s': %lld classes have fewer than %lld nodes, all of them are train", name,
                 (long long)short_classes, (long long)o->per_class);
        GNT_TRY(gnti_json_append_text(notes, note));
    }
    GNT_TRY(gnti_dataset_take_split(d, &s));
done:
    gnti_split_free(&s);
    return st;
}

gnt_status gntx_dataset_split(const gnt_dataset *data, const gntx_split_options *options, gnt_dataset **out,
                              gntx_json **report)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;
    gnti_json *facts = NULL, *splits, *notes;

    GNT_CHECK(data != NULL && options != NULL && out != NULL, GNT_ERR_ARG,
              "data, options and out must not be NULL");
    GNT_CHECK(options->kind >= 0 && options->kind < 3, GNT_ERR_ARG, "split kind %d", options->kind);
    GNT_TRY(check_kind(options));
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(gnti_json_set_array(facts, "splits", &splits));
    GNT_TRY(gnti_json_set_array(facts, "notes", &notes));
    GNT_TRY(gnti_dataset_copy(data, &d));
    for (int64_t i = 0; i < gnti_max_i64(1, options->repeats); i++)
        GNT_TRY(add_split(d, options, i, splits, notes));
    *out = d;
    d = NULL;
    if (report != NULL) {
        *report = (gntx_json *)facts;
        facts = NULL;
    }
done:
    gnti_json_free(&facts);
    gnt_dataset_free(&d);
    return st;
}
