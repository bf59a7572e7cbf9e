/* SPDX-License-Identifier: Apache-2.0 */
/* Random, stratified and per-class splits.
 *
 * Each labelled node gets a 64-bit draw from (seed, node); nodes are sorted by (draw, node), for the last two kinds
 * within their class, and cut:
 *   random      the first share is train, the next valid, then test
 *   stratified  the same in each class
 *   per-class   k nodes of each class are train; of all others, by draw, so many are valid, then test
 * Unlabelled nodes are in no part. Where a dataset holds labelled graphs, graphs take the place of nodes.
 */
#include "datasets/split.h"

#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_RANDOM, KIND_STRATIFIED, KIND_PER_CLASS };
static const char *const KINDS[] = { "random", "stratified", "per-class" };
static const char *const PARTS[] = { "train", "valid", "test" };

/* A labelled node (or graph) with its place in the order. */
typedef struct unit {
    uint64_t draw;
    int64_t id;
    int32_t class_of;
} unit;

typedef struct cutter {
    const gntx_split_options *o;
    unit *units;
    int64_t num_units, num_all;
    int64_t num_classes;
    signed char *part; /* (num_all) of each node, -1: in none */
    int64_t size[3];
} cutter;

static bool is_integer(const gnti_array *a)
{
    return a->dtype == GNTI_FILE_U8 || a->dtype == GNTI_FILE_I32 || a->dtype == GNTI_FILE_I64;
}

/* The class of graph g, -1 when it has none. */
static int64_t graph_class(const gnti_array *y, int64_t g)
{
    if (!is_integer(y) || y->width != 1)
        return 0;
    if (y->dtype == GNTI_FILE_U8)
        return ((const uint8_t *)y->data)[g];
    return y->dtype == GNTI_FILE_I32 ? ((const int32_t *)y->data)[g] : ((const int64_t *)y->data)[g];
}

/* The class of a node for splitting: 0 where there are no classes, -1 for unlabelled. */
static int64_t node_class(const gnti_labels *y, int64_t v)
{
    if (y->kind == GNT_LABELS_CLASS)
        return y->class_of[v];
    if (y->kind == GNT_LABELS_REGRESSION && y->num_classes > 0)
        return isnan(y->rows[v * y->num_classes]) ? -1 : 0;
    return 0;
}

static gnt_status collect(const gnt_dataset *d, uint64_t seed, cutter *c)
{
    gnt_status st = GNT_OK;
    const gnti_array *y = gnti_dataset_find_array(d, "/graphs/y");

    c->num_all = y != NULL ? gnti_dataset_num_graphs(d) : d->num_nodes;
    c->num_classes = 1;
    GNT_TRY(gnti_alloc_array(&c->units, c->num_all));
    GNT_TRY(gnti_alloc_array(&c->part, c->num_all));
    for (int64_t i = 0; i < c->num_all; i++) {
        const int64_t class_of = y != NULL ? graph_class(y, i) : node_class(&d->y, i);
        uint32_t words[4];

        c->part[i] = -1;
        GNT_CHECK(class_of <= INT32_MAX, GNT_ERR_LIMIT, "graph %lld has the class %lld", (long long)i,
                  (long long)class_of);
        if (class_of < 0)
            continue;
        gnti_draw_quad(gnti_seed_key(seed), GNTI_DRAW_SPLIT, 0, 0, i, 0, words);
        c->units[c->num_units++] =
            (unit){ .draw = (uint64_t)words[0] << 32 | words[1], .id = i, .class_of = (int32_t)class_of };
        c->num_classes = gnti_max_i64(c->num_classes, class_of + 1);
    }
done:
    return st;
}

static int compare_draws(const void *a, const void *b)
{
    const unit *x = a, *y = b;

    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int compare_classes(const void *a, const void *b)
{
    const unit *x = a, *y = b;

    if (x->class_of != y->class_of)
        return x->class_of < y->class_of ? -1 : 1;
    return compare_draws(a, b);
}

static void assign(cutter *c, const unit *u, int part)
{
    c->part[u->id] = (signed char)part;
    c->size[part]++;
}

/* Cuts count units by the shares; what test 0 leaves over is test. */
static void cut_by_shares(cutter *c, const unit *units, int64_t count)
{
    const double n = (double)count;
    const int64_t train = gnti_min_i64(count, (int64_t)floor(c->o->train * n + 0.5));
    const int64_t valid = gnti_min_i64(count, (int64_t)floor((c->o->train + c->o->valid) * n + 0.5));
    int64_t test = count;

    if (c->o->test > 0.0)
        test = gnti_min_i64(count, (int64_t)floor((c->o->train + c->o->valid + c->o->test) * n + 0.5));
    for (int64_t i = 0; i < test; i++)
        assign(c, &units[i], i < train ? 0 : i < gnti_max_i64(train, valid) ? 1 : 2);
}

static void cut_stratified(cutter *c)
{
    qsort(c->units, (size_t)c->num_units, sizeof *c->units, compare_classes);
    for (int64_t begin = 0, end; begin < c->num_units; begin = end) {
        for (end = begin; end < c->num_units && c->units[end].class_of == c->units[begin].class_of; end++)
            ;
        cut_by_shares(c, c->units + begin, end - begin);
    }
}

static gnt_status cut_per_class(cutter *c, int64_t *short_classes)
{
    gnt_status st = GNT_OK;
    int64_t *taken = NULL, valid = 0, test = 0, left = 0;
    const int64_t most_test = c->o->test_count > 0 ? c->o->test_count : INT64_MAX;

    GNT_TRY(gnti_calloc_array(&taken, c->num_classes));
    qsort(c->units, (size_t)c->num_units, sizeof *c->units, compare_draws);
    for (int64_t i = 0; i < c->num_units; i++)
        left += taken[c->units[i].class_of]++ >= c->o->per_class;
    *short_classes = 0;
    for (int64_t k = 0; k < c->num_classes; k++) {
        *short_classes += taken[k] < c->o->per_class;
        taken[k] = 0;
    }
    GNT_CHECK(left > c->o->valid_count &&
                  (c->o->test_count == 0 || left >= c->o->valid_count + c->o->test_count),
              GNT_ERR_USAGE,
              "%lld labelled nodes are left after %lld of each class, %lld for valid and %lld for test do "
              "not fit: lower "
              "--per-class, --valid-count or --test-count",
              (long long)left, (long long)c->o->per_class, (long long)c->o->valid_count,
              (long long)c->o->test_count);
    for (int64_t i = 0; i < c->num_units; i++) {
        const unit *u = &c->units[i];

        if (taken[u->class_of]++ < c->o->per_class)
            assign(c, u, 0);
        else if (valid++ < c->o->valid_count)
            assign(c, u, 1);
        else if (test++ < most_test)
            assign(c, u, 2);
    }
done:
    gnti_free(taken);
    return st;
}

static gnt_status check_options(const gnt_dataset *d, const gntx_split_options *o)
{
    gnt_status st = GNT_OK;
    const gnti_array *y = gnti_dataset_find_array(d, "/graphs/y");
    const bool classes = y != NULL ? is_integer(y) && y->width == 1 : d->y.kind == GNT_LABELS_CLASS;

    GNT_CHECK(o->kind >= KIND_RANDOM && o->kind <= KIND_PER_CLASS, GNT_ERR_ARG, "split kind %d", o->kind);
    GNT_CHECK(classes || o->kind == KIND_RANDOM, GNT_ERR_USAGE,
              "a %s split needs one class a node, this dataset has none: use --kind random", KINDS[o->kind]);
    if (o->kind == KIND_PER_CLASS) {
        GNT_CHECK(o->per_class > 0 && o->valid_count >= 0 && o->test_count >= 0, GNT_ERR_USAGE,
                  "--per-class %lld --valid-count %lld --test-count %lld: the first must be positive, no "
                  "other negative",
                  (long long)o->per_class, (long long)o->valid_count, (long long)o->test_count);
        return GNT_OK;
    }
    GNT_CHECK(
        o->train > 0.0 && o->valid >= 0.0 && o->test >= 0.0 && o->train + o->valid + o->test <= 1.0 + 1e-9,
        GNT_ERR_USAGE, "the shares --train %g --valid %g --test %g must add up to 1 at most, train above 0",
        o->train, o->valid, o->test);
done:
    return st;
}

static gnt_status cut(cutter *c, int64_t *short_classes)
{
    gnt_status st = GNT_OK;
    const bool wanted[] = { true, c->o->kind == KIND_PER_CLASS ? c->o->valid_count > 0 : c->o->valid > 0.0,
                            true };

    *short_classes = 0;
    if (c->o->kind == KIND_PER_CLASS) {
        GNT_TRY(cut_per_class(c, short_classes));
    } else if (c->o->kind == KIND_STRATIFIED) {
        cut_stratified(c);
    } else {
        qsort(c->units, (size_t)c->num_units, sizeof *c->units, compare_draws);
        cut_by_shares(c, c->units, c->num_units);
    }
    for (int part = 0; part < 3; part++)
        GNT_CHECK(c->size[part] > 0 || !wanted[part], GNT_ERR_USAGE,
                  "%s would be empty: %lld labelled nodes are too few for these shares", PARTS[part],
                  (long long)c->num_units);
done:
    return st;
}

/* The parts as ascending lists. */
static gnt_status fill_lists(const cutter *c, gnti_split *s)
{
    gnt_status st = GNT_OK;

    for (int part = 0; part < 3; part++)
        GNT_TRY(gnti_alloc_array(&s->nodes[part], c->size[part]));
    for (int64_t i = 0; i < c->num_all; i++)
        if (c->part[i] >= 0)
            s->nodes[c->part[i]][s->num_nodes[c->part[i]]++] = i;
done:
    return st;
}

gnt_status gnti_split_make(const gnt_dataset *data, const gntx_split_options *options, uint64_t seed,
                           const char *name, gnti_split *out, int64_t *short_classes)
{
    gnt_status st = GNT_OK;
    cutter c = { .o = options };
    gnti_split s = { .seed = seed, .inductive = options->inductive };

    GNT_TRY(check_options(data, options));
    GNT_TRY(collect(data, seed, &c));
    GNT_TRY(cut(&c, short_classes));
    GNT_TRY(gnti_strdup(&s.name, name));
    GNT_TRY(gnti_strdup(&s.kind, KINDS[options->kind]));
    GNT_TRY(gnti_strdup(&s.source, "gnntrain split"));
    GNT_TRY(fill_lists(&c, &s));
    *out = s;
    memset(&s, 0, sizeof s);
done:
    gnti_split_free(&s);
    gnti_free(c.units);
    gnti_free(c.part);
    return st;
}
