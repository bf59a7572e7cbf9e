/* SPDX-License-Identifier: Apache-2.0 */
/* The table of generators, their options, and what all of them do at the end: random labels and features where asked
 * for, a stratified split of labelled nodes, provenance.
 */
#include "datasets/generate.h"

#include "datasets/split.h"

#include <stdlib.h>
#include <string.h>

/* Of an edge: both ends in the list and the columns of both directions in the graph. */
enum { EDGE_BYTES = 24 };

static const gnt_option GENERATE_OPTIONS[] = {
    GNT_OPTION_INT("nodes", gntx_generate_options, nodes, 0, 0, INT32_MAX,
                   "number of nodes (0: the kind's default)"),
    GNT_OPTION_INT("seed", gntx_generate_options, seed, 0, 0, INT32_MAX, "seed of the draws"),
    GNT_OPTION_INT("classes", gntx_generate_options, classes, 0, 0, 1 << 20,
                   "number of classes (0: the kind's default, none for kinds without structure)"),
    GNT_OPTION_INT("features", gntx_generate_options, features, 0, 0, 1 << 20,
                   "number of features (0: the kind's default, none for kinds without structure)"),
    GNT_OPTION_INT("scale", gntx_generate_options, scale, 14, 1, 30, "rmat: 2^scale nodes"),
    GNT_OPTION_INT("edge-factor", gntx_generate_options, edge_factor, 16, 1, 4096,
                   "rmat: edges drawn a node"),
    GNT_OPTION_INT("rows", gntx_generate_options, rows, 32, 1, INT32_MAX, "grid: rows"),
    GNT_OPTION_INT("columns", gntx_generate_options, columns, 32, 1, INT32_MAX, "grid: columns"),
    GNT_OPTION_DOUBLE("degree", gntx_generate_options, degree, 10.0, 0.0, 1e6,
                      "csbm: mean degree before merging"),
    GNT_OPTION_DOUBLE("homophily", gntx_generate_options, homophily, 0.8, 0.0, 1.0,
                      "csbm: share of edges inside a class"),
    GNT_OPTION_DOUBLE("feature-signal", gntx_generate_options, feature_signal, 1.0, 0.0, 1e3,
                      "csbm: length of the class means in units of the noise"),
    GNT_OPTION_END,
};

const gnt_option *gntx_generate_option_table(void)
{
    return GENERATE_OPTIONS;
}

static const struct {
    const char *name, *options; /* the options it uses, each between spaces */
    int64_t nodes, classes, features;
    gnt_status (*make)(gnti_generation *g);
} GENERATORS[] = {
    { "karate", " ", 34, 4, 34, gnti_generate_karate },
    { "csbm", " nodes seed classes features degree homophily feature-signal ", 2000, 4, 16,
      gnti_generate_csbm },
    { "sbm", " nodes seed classes features degree homophily feature-signal ", 2000, 4, 16,
      gnti_generate_csbm }, /* the short name of the same */
    { "rmat", " seed classes features scale edge-factor ", 0, 0, 0, gnti_generate_rmat },
    { "grid", " seed classes features rows columns ", 0, 0, 0, gnti_generate_grid },
    { "star", " nodes seed classes features ", 1000, 0, 0, gnti_generate_star },
    { "path", " nodes seed classes features ", 1000, 0, 0, gnti_generate_path },
};

enum { NUM_GENERATORS = sizeof GENERATORS / sizeof GENERATORS[0] };

const char *gntx_generate_kinds(void)
{
    return "karate: Zachary's karate club, 34 members in 4 groups\n"
           "csbm (or sbm): contextual stochastic block model, with the accuracy that nobody can beat\n"
           "rmat: power-law graph with the parameters of Graph500\n"
           "grid: rows x columns, each node joined to its four neighbours\n"
           "star: node 0 joined to all others\n"
           "path: each node joined to the next\n";
}

static double option_value(const gnt_option *row, const gntx_generate_options *o)
{
    const char *at = (const char *)o + row->offset;
    int64_t whole;
    double number;

    memcpy(&whole, at, sizeof whole);
    memcpy(&number, at, sizeof number);
    return row->kind == GNT_OPTION_KIND_INT ? (double)whole : number;
}

static gnt_status check_options(int kind, const gntx_generate_options *o)
{
    gnt_status st = GNT_OK;

    for (const gnt_option *row = GENERATE_OPTIONS; row->kind != GNT_OPTION_KIND_END; row++) {
        const double value = option_value(row, o);
        char word[64] = " ";

        GNT_CHECK(value >= row->min && value <= row->max, GNT_ERR_USAGE, "--%s is %g, allowed is %g .. %g",
                  row->name, value, row->min, row->max);
        if (value == row->default_number)
            continue;
        strncat(word, row->name, sizeof word - 3);
        strncat(word, " ", sizeof word - strlen(word) - 1);
        GNT_CHECK(strstr(GENERATORS[kind].options, word) != NULL, GNT_ERR_USAGE,
                  "--%s means nothing to '%s', which takes%s", row->name, GENERATORS[kind].name,
                  GENERATORS[kind].options[1] != '\0' ? GENERATORS[kind].options : " no options");
    }
done:
    return st;
}

typedef struct ranked {
    uint64_t draw;
    int64_t node;
} ranked;

static int compare_draws(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

gnt_status gnti_generation_order(const gnti_generation *g, uint32_t what, int64_t num_nodes, int64_t **out)
{
    gnt_status st = GNT_OK;
    ranked *r = NULL;
    int64_t *order = NULL;

    GNT_TRY(gnti_alloc_array(&r, num_nodes));
    GNT_TRY(gnti_alloc_array(&order, num_nodes));
    for (int64_t v = 0; v < num_nodes; v++)
        r[v] = (ranked){
            (uint64_t)gnti_generation_word(g, what, v, 0) << 32 | gnti_generation_word(g, what, v, 1), v
        };
    qsort(r, (size_t)num_nodes, sizeof *r, compare_draws);
    for (int64_t i = 0; i < num_nodes; i++)
        order[i] = r[i].node;
    *out = order;
    order = NULL; /* handed over */
done:
    gnti_free(r);
    gnti_free(order);
    return st;
}

gnt_status gnti_generation_edges(gnti_generation *g, int64_t num_edges)
{
    gnt_status st = GNT_OK;
    const double memory = gnti_physical_memory();
    const double needed =
        (double)num_edges * EDGE_BYTES + (double)g->o.nodes * (double)g->o.features * (double)sizeof(float);

    GNT_CHECK(memory <= 0.0 || needed < memory, GNT_ERR_NOMEM,
              "%lld edges and %lld features of %lld nodes need at least %.1f GiB, this machine has %.1f: "
              "make a smaller graph",
              (long long)num_edges, (long long)g->o.features, (long long)g->o.nodes, needed / 0x1p30,
              memory / 0x1p30);
    GNT_TRY(gnti_alloc_array(&g->edges.source, num_edges));
    GNT_TRY(gnti_alloc_array(&g->edges.target, num_edges));
    g->edges.num_arcs = num_edges;
done:
    return st;
}

static void free_edges(gnti_generation *g)
{
    gnti_free(g->edges.source);
    gnti_free(g->edges.target);
    memset(&g->edges, 0, sizeof g->edges);
}

gnt_status gnti_generation_build(gnti_generation *g, int64_t num_nodes)
{
    gnt_status st = GNT_OK;
    const gnti_build_options options = { .symmetrise = true, .drop_loops = true };
    gnti_build_report report;

    GNT_TRY(gnti_dataset_create(g->ctx, num_nodes, &g->data));
    GNT_TRY(gnti_graph_build(num_nodes, &g->edges, &options, &report, NULL, &g->data->graph));
    GNT_TRY(gnti_json_set_int(g->facts, "edges_drawn", report.num_records));
    GNT_TRY(gnti_json_set_int(g->facts, "loops_dropped", report.num_loops));
    GNT_TRY(gnti_json_set_int(g->facts, "repeats_merged", report.num_repeated));
done:
    free_edges(g);
    return st;
}

/* Labels and features without any meaning, for kinds that have none of their own. */
static gnt_status add_noise(gnti_generation *g)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = g->data;
    const int64_t n = d->num_nodes;

    if (g->o.classes > 0 && d->y.kind == GNT_LABELS_NONE) {
        GNT_TRY(gnti_alloc_array(&d->y.class_of, n));
        d->y.kind = GNT_LABELS_CLASS;
        d->y.num_classes = g->o.classes;
        for (int64_t i = 0; i < n; i++)
            d->y.class_of[i] = (int32_t)gnti_below(gnti_generation_word(g, GNTI_GENERATE_LABELS, i, 0),
                                                   (uint32_t)g->o.classes);
    }
    if (g->o.features > 0 && d->x.dense == NULL && d->x.sparse == NULL) {
        GNT_TRY(gnti_array_bytes((void **)(void *)&d->x.dense, n * g->o.features, sizeof(float), false));
        d->x.rows = n;
        d->x.width = g->o.features;
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < g->o.features; c++)
                d->x.dense[i * g->o.features + c] =
                    2.0f * gnti_uniform(gnti_generation_word(g, GNTI_GENERATE_FEATURES, i, (uint32_t)c)) -
                    1.0f;
    }
done:
    return st;
}

/* 60 % train, 20 % valid, 20 % test of each class, where there are labels and no split yet; tiny sets get none. */
static gnt_status add_split(gnti_generation *g)
{
    gnt_status st = GNT_OK;
    const gntx_split_options o = { .kind = 1, .train = 0.6, .valid = 0.2 };
    gnti_split s = { .name = NULL };
    int64_t short_classes;

    if (g->data->y.kind != GNT_LABELS_CLASS || g->data->num_splits > 0 ||
        g->data->num_nodes < 10 * g->o.classes)
        return GNT_OK;
    GNT_TRY(gnti_split_make(g->data, &o, (uint64_t)g->o.seed, "public", &s, &short_classes));
    GNT_TRY(gnti_dataset_take_split(g->data, &s));
done:
    gnti_split_free(&s);
    return st;
}

/* The facts are report and provenance in one: kind, options in use, counts. */
static gnt_status add_facts(gnti_generation *g, int kind)
{
    gnt_status st = GNT_OK;
    gnti_json *options;

    GNT_TRY(gnti_json_set_object(g->facts, "options", &options));
    for (const gnt_option *row = GENERATE_OPTIONS; row->kind != GNT_OPTION_KIND_END; row++) {
        char word[64] = " ";

        strncat(word, row->name, sizeof word - 3);
        strncat(word, " ", sizeof word - strlen(word) - 1);
        if (strstr(GENERATORS[kind].options, word) != NULL)
            GNT_TRY(gnti_json_set_number(options, row->name, option_value(row, &g->o)));
    }
    GNT_TRY(gnti_json_set_int(g->facts, "num_nodes", g->data->num_nodes));
    GNT_TRY(gnti_json_set_int(g->facts, "num_arcs", g->data->graph->num_arcs));
    GNT_TRY(gnti_json_set_int(g->facts, "num_features", g->data->x.width));
    GNT_TRY(gnti_json_set_int(g->facts, "num_classes", g->data->y.num_classes));
    GNT_TRY(gnti_json_print(g->facts, false, &g->data->provenance));
done:
    return st;
}

static gnt_status make(gnti_generation *g, int kind)
{
    gnt_status st = GNT_OK;

    if (g->o.nodes == 0)
        g->o.nodes = GENERATORS[kind].nodes;
    if (g->o.classes == 0)
        g->o.classes = GENERATORS[kind].classes;
    if (g->o.features == 0)
        g->o.features = GENERATORS[kind].features;
    GNT_TRY(gnti_json_set_text(g->facts, "kind", GENERATORS[kind].name));
    GNT_TRY(GENERATORS[kind].make(g));
    GNT_TRY(add_noise(g));
    GNT_TRY(add_split(g));
    GNT_TRY(add_facts(g, kind));
    GNT_TRY(gnti_dataset_validate(g->data));
    GNT_TRY(gnti_dataset_hash(g->data));
done:
    return st;
}

gnt_status gntx_generate(gnt_context *ctx, const char *kind, const gntx_generate_options *options,
                         gnt_dataset **out, gntx_json **report)
{
    gnt_status st = GNT_OK;
    gnti_generation g = { .ctx = ctx };
    const char *names[NUM_GENERATORS];
    int at = 0;

    GNT_CHECK(kind != NULL && options != NULL && out != NULL, GNT_ERR_ARG,
              "kind, options and out must not be NULL");
    for (int i = 0; i < NUM_GENERATORS; i++)
        names[i] = GENERATORS[i].name;
    while (at < NUM_GENERATORS && strcmp(kind, names[at]) != 0)
        at++;
    if (at == NUM_GENERATORS) {
        const char *nearest = gntx_name_nearest(names, NUM_GENERATORS, kind);

        GNT_FAIL(GNT_ERR_USAGE,
                 "there is no generator '%s'%s%s%s: there are karate, csbm (or sbm), rmat, grid, star, path",
                 kind, nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                 nearest != NULL ? "'?" : "");
    }
    GNT_TRY(check_options(at, options));
    GNT_TRY(gnti_json_create_object(&g.facts));
    g.o = *options;
    GNT_TRY(make(&g, at));
    *out = g.data;
    g.data = NULL;
    if (report != NULL) {
        *report = (gntx_json *)g.facts;
        g.facts = NULL;
    }
done:
    free_edges(&g);
    gnt_dataset_free(&g.data);
    gnti_json_free(&g.facts);
    return st;
}
