/* SPDX-License-Identifier: Apache-2.0 */
/* What `gnntrain partition` calls: options, the cut in memory or streamed, the files, the report.
 *
 * METIS needs the arcs in memory, so its limits are looked at before they are read; features and labels are never read but for
 * a rewrite. All other methods stream. A file whose rows are not sorted cannot be streamed and is read as a whole.
 */
#include <gnntrain/experimental.h>

#include "base/file.h"
#include "base/text.h"
#include "datasets/arc_stream.h"
#include "partition/partition_internal.h"
#include "partition/partition_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SHARES = 4096 };

static const gnt_option PARTITION_OPTIONS[] = {
    GNT_OPTION_GROUP("Partition"),
    GNT_OPTION_WORD("method", gntx_partition_options, method, 0, "metis|ldg|fennel|range|random|file",
                    "METIS; streaming, for graphs it cannot hold; ranges of ids; at random; a given vector"),
    GNT_OPTION_INT("chunks", gntx_partition_options, chunks, 0, 0, INT32_MAX,
                   "number of chunks (0: the largest power of two up to 64 and to nodes / 60)"),
    GNT_OPTION_TEXT("shares", gntx_partition_options, shares, "",
                    "speeds of unequal devices, cut first: 4:2:1"),
    GNT_OPTION_DOUBLE("tolerance", gntx_partition_options, tolerance, 1.05, 1.001, 10.0,
                      "largest work of a chunk over its share"),
    GNT_OPTION_INT("seed", gntx_partition_options, seed, 0, 0, INT32_MAX, "seed of METIS and of the draws"),
    GNT_OPTION_BOOL("balance-train", gntx_partition_options, balance_train, 0,
                    "metis: spread the training nodes evenly too (costs halo)"),
    GNT_OPTION_BOOL("metis-volume", gntx_partition_options, metis_volume, 0,
                    "metis: its own volume objective (slow)"),
    GNT_OPTION_TEXT("from", gntx_partition_options, from, "",
                    "file: text with one chunk number a line, as gpmetis writes it"),
    GNT_OPTION_TEXT("split", gntx_partition_options, split, "",
                    "whose training nodes are counted (default: public or the only one)"),
    GNT_OPTION_TEXT("picture", gntx_partition_options, picture, "",
                    "draw balance and quotient graph: an SVG"),
    GNT_OPTION_TEXT("rewrite", gntx_partition_options, rewrite, "",
                    "store the dataset in the order of the chunks too"),
    GNT_OPTION_END,
};

const gnt_option *gntx_partition_option_table(void)
{
    return PARTITION_OPTIONS;
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* --- options --- */

/* "4:2:1" (or with commas) as numbers that sum to 1. */
static gnt_status parse_shares(const char *text, double **out, int32_t *num)
{
    gnt_status st = GNT_OK;
    double *shares = NULL, sum = 0.0;
    const char *at = text;

    *num = 0;
    GNT_TRY(gnti_alloc_array(&shares, MAX_SHARES));
    for (bool more = true; more;) {
        const size_t length = strcspn(at, ":,");

        GNT_CHECK(*num < MAX_SHARES, GNT_ERR_USAGE, "--shares names more than %d devices", MAX_SHARES);
        GNT_CHECK(gnti_parse_double(at, length, &shares[*num]) == GNTI_PARSE_OK && shares[*num] > 0.0 &&
                      isfinite(shares[*num]),
                  GNT_ERR_USAGE, "--shares '%s': '%.*s' is no number above 0, write 4:2:1", text,
                  (int)(length < 100 ? length : 100), at);
        sum += shares[(*num)++];
        more = at[length] != '\0';
        at += length + 1;
    }
    for (int32_t i = 0; i < *num; i++)
        shares[i] /= sum;
    *out = shares;
    shares = NULL;
done:
    gnti_free(shares);
    return st;
}

static gnt_status check_options(const char *dataset_path, const gntx_partition_options *o,
                                const char *out_path)
{
    gnt_status st = GNT_OK;
    const char *inputs[] = { dataset_path, o->from }, *outputs[] = { out_path, o->picture, o->rewrite };
    const bool file = o->method == GNTI_PART_FILE;

    GNT_CHECK(file == is_given(o->from), GNT_ERR_USAGE,
              file ? "--method file needs the vector: --from FILE"
                   : "--from is for --method file: leave it out, or say --method file");
    GNT_CHECK(o->method == GNTI_PART_METIS || (!o->balance_train && !o->metis_volume), GNT_ERR_USAGE,
              "--%s is for --method metis", o->balance_train ? "balance-train" : "metis-volume");
    GNT_CHECK(!file || !is_given(o->shares), GNT_ERR_USAGE,
              "a vector from a file is cut already: leave out --shares");
    for (int i = 0; i < 3; i++) {
        GNT_TRY(gntx_check_output(outputs[i], inputs, 2));
        for (int k = 0; k < i; k++)
            GNT_CHECK(!is_given(outputs[i]) || !is_given(outputs[k]) || strcmp(outputs[i], outputs[k]) != 0,
                      GNT_ERR_USAGE, "'%s' is named for two outputs", outputs[i]);
    }
    GNT_CHECK(!is_given(o->picture) ||
                  (strlen(o->picture) > 4 && strcmp(o->picture + strlen(o->picture) - 4, ".svg") == 0),
              GNT_ERR_USAGE, "--picture '%s': name a file that ends in .svg", o->picture);
done:
    return st;
}

/* A file can be made there: told before hours of cutting. out_path NULL: beside the dataset. */
static gnt_status check_folders(const char *dataset_path, const gntx_partition_options *o,
                                const char *out_path)
{
    gnt_status st = GNT_OK;
    const char *paths[] = { is_given(out_path) ? out_path : dataset_path, o->picture, o->rewrite };
    char *temporary = NULL;

    for (int i = 0; i < 3; i++) {
        if (!is_given(paths[i]))
            continue;
        GNT_TRY(gnti_atomic_begin(paths[i], &temporary));
        gnti_atomic_abandon(&temporary);
    }
done:
    return st;
}

/* --- the cut --- */

/* Training nodes are counted whatever was balanced: the lists of p's quality, in the rows of the file. */
static gnt_status count_train(const uint8_t *train, gnti_partition *p)
{
    gnt_status st = GNT_OK;
    int64_t *held = NULL, most = 0, all = 0;

    if (train == NULL)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&held, p->num_chunks));
    for (int64_t v = 0; v < p->num_nodes; v++)
        held[p->chunk_of[v]] += train[v] != 0;
    for (int32_t c = 0; c < p->num_chunks; c++) {
        most = gnti_max_i64(most, held[c]);
        all += held[c];
    }
    GNT_TRY(gnti_json_set_ints(p->quality, "train_nodes", held, p->num_chunks));
    GNT_TRY(gnti_json_set_number(p->quality, "balance_train_nodes",
                                 all == 0 ? 1.0 : (double)most * p->num_chunks / (double)all));
done:
    gnti_free(held);
    return st;
}

static gnt_status cut_graph(gnti_arc_stream *stream, gnti_partition_config *config, bool balance_train,
                            gnti_partition **out)
{
    gnt_status st = GNT_OK;
    const gnti_arc_stream_facts *facts = gnti_arc_stream_get_facts(stream);
    gnti_graph *graph = NULL;
    gnti_partition *p = NULL;
    uint8_t *train = NULL;
    int64_t *origin = NULL;

    GNT_TRY(gnti_metis_check_limits(facts->num_nodes, facts->num_arcs, 0.0));
    GNT_TRY(gnti_arc_stream_read_train(stream, config->split, &train));
    GNT_CHECK(!balance_train || train != NULL, GNT_ERR_USAGE,
              "--balance-train needs a split: name one with --split, or make one with 'gnntrain split'");
    config->train = balance_train ? train : NULL;
    GNT_TRY(gnti_arc_stream_read_graph(stream, &graph));
    GNT_TRY(gnti_partition_make(graph, config, &p));
    GNT_TRY(count_train(train, p));
    GNT_TRY(gnti_arc_stream_read_origin(stream, &origin));
    GNT_TRY(gnti_partition_to_source(p, origin));
    memcpy(p->graph_sha256, facts->source_sha256, sizeof p->graph_sha256);
    *out = p;
    p = NULL;
done:
    config->train = NULL;
    gnti_partition_free(&p);
    gnti_graph_free(&graph);
    gnti_free(train);
    gnti_free(origin);
    return st;
}

/* Rows that are not sorted: the dataset reader sorts them. */
static gnt_status cut_unsorted(const char *path, gnti_partition_config *config, bool balance_train,
                               gnti_partition **out)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    gnti_partition *p = NULL;
    gnt_dataset *d = NULL;
    uint8_t *train = NULL;

    GNT_TRY(gnti_dataset_read(NULL, path, &d));
    if (balance_train || config->split != NULL) {
        GNT_TRY(gnti_dataset_find_split(d, config->split, &split));
        GNT_TRY(gnti_calloc_array(&train, d->num_nodes));
        for (int64_t i = 0; i < split->num_nodes[GNTI_TRAIN]; i++)
            train[split->nodes[GNTI_TRAIN][i]] = 1;
    }
    config->train = balance_train ? train : NULL;
    GNT_TRY(gnti_partition_make(d->graph, config, &p));
    GNT_TRY(count_train(train, p));
    memcpy(p->graph_sha256, d->graph_sha256, sizeof p->graph_sha256);
    *out = p;
    p = NULL;
done:
    config->train = NULL;
    gnti_partition_free(&p);
    gnti_free(train);
    gnt_dataset_free(&d);
    return st;
}

static gnt_status cut(const char *path, const gntx_partition_options *o, gnti_partition_config *config,
                      gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *stream = NULL;

    if (config->method == GNTI_PART_METIS) {
        GNT_TRY(gnti_arc_stream_open(path, &stream));
        st = cut_graph(stream, config, o->balance_train, out);
    } else {
        st = gnti_partition_stream(path, config, out);
    }
    if (st == GNT_ERR_UNSUPPORTED)
        st = cut_unsorted(path, config, o->balance_train, out);
    GNT_TRY(st);
done:
    gnti_arc_stream_close(&stream);
    return st;
}

/* --- the report --- */

/* "cora.h5" and 8 chunks: "cora.k8.part.h5". */
static gnt_status default_name(const char *path, int32_t num_chunks, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    const size_t length = strlen(path);
    const bool h5 = length > 3 && strcmp(path + length - 3, ".h5") == 0;

    gnti_text_append_bytes(&t, path, h5 ? length - 3 : length);
    gnti_text_printf(&t, ".k%d.part.h5", num_chunks);
    GNT_TRY(gnti_text_take(&t, out));
done:
    gnti_text_free(&t);
    return st;
}

static gnt_status report_chunks(const gnti_partition *p, gnti_json *to)
{
    static const char *const from[] = { "nodes", "arcs", "train_nodes", "halo", "sent" };
    static const char *const names[] = { "nodes", "arcs", "train_nodes", "halo_in", "halo_out" };
    gnt_status st = GNT_OK;
    gnti_json *list, *one;

    GNT_TRY(gnti_json_set_array(to, "chunks", &list));
    for (int32_t c = 0; c < p->num_chunks; c++) {
        GNT_TRY(gnti_json_append_object(list, &one));
        GNT_TRY(gnti_json_set_int(one, "chunk", c));
        for (int i = 0; i < 5; i++) {
            int64_t value = 0;

            if (gnti_json_to_int(gnti_json_at(gnti_json_find(p->quality, from[i]), c), &value))
                GNT_TRY(gnti_json_set_int(one, names[i], value));
        }
    }
done:
    return st;
}

/* The quality's single values and what its maker told; lists go into the chunks. */
static gnt_status report_quality(const gnti_partition *p, gnti_json *to)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < gnti_json_length(p->quality); i++) {
        const char *key = gnti_json_key_at(p->quality, i);
        const gnti_json *value = gnti_json_find(p->quality, key);

        if (!gnti_json_is_array(value) && strcmp(key, "num_parts") != 0)
            GNT_TRY(gnti_json_set_copy(to, key, value));
    }
    GNT_TRY(report_chunks(p, to));
done:
    return st;
}

static gnt_status make_report(const gnti_partition *p, const char *file, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *facts = NULL;
    int64_t num_arcs = 0, arcs;

    for (int32_t c = 0; c < p->num_chunks; c++)
        if (gnti_json_to_int(gnti_json_at(gnti_json_find(p->quality, "arcs"), c), &arcs))
            num_arcs += arcs;
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(gnti_json_set_text(facts, "file", file));
    GNT_TRY(gnti_json_set_int(facts, "num_nodes", p->num_nodes));
    GNT_TRY(gnti_json_set_int(facts, "num_arcs", num_arcs));
    GNT_TRY(gnti_json_set_int(facts, "num_chunks", p->num_chunks));
    GNT_TRY(gnti_json_set_text(facts, "method", p->method));
    GNT_TRY(gnti_json_set_text(facts, "sha256", p->sha256));
    GNT_TRY(gnti_json_set_text(facts, "graph_sha256", p->graph_sha256));
    if (p->num_shares > 0)
        GNT_TRY(gnti_json_set_numbers(facts, "shares", p->shares, p->num_shares));
    GNT_TRY(report_quality(p, facts));
    *out = facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    return st;
}

/* --- together --- */

static gnt_status rewrite(const char *dataset_path, const gnti_partition *p, const char *path)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL, *moved = NULL;

    GNT_TRY(gnti_dataset_read(NULL, dataset_path, &d));
    GNT_TRY(gnti_partition_rewrite(d, p, &moved));
    gnt_dataset_free(&d);
    GNT_TRY(gnti_dataset_write(moved, path));
done:
    gnt_dataset_free(&d);
    gnt_dataset_free(&moved);
    return st;
}

static gnt_status write_files(const char *dataset_path, const gntx_partition_options *o,
                              const gnti_partition *p, const char *file, gnti_json *facts)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_partition_write(p, file));
    if (is_given(o->picture)) {
        GNT_TRY(gnti_partition_draw(p, o->picture));
        GNT_TRY(gnti_json_set_text(facts, "picture", o->picture));
    }
    if (is_given(o->rewrite)) {
        GNT_TRY(rewrite(dataset_path, p, o->rewrite));
        GNT_TRY(gnti_json_set_text(facts, "rewritten", o->rewrite));
    }
done:
    return st;
}

gnt_status gntx_partition(const char *dataset_path, const gntx_partition_options *options,
                          const char *out_path, gntx_json **report)
{
    gnt_status st = GNT_OK;
    gnti_partition_config config = { .method = GNTI_PART_METIS };
    gnti_partition *p = NULL;
    gnti_json *facts = NULL;
    double *shares = NULL;
    char *file = NULL;

    GNT_CHECK(dataset_path != NULL && options != NULL, GNT_ERR_ARG,
              "dataset_path and options must not be NULL");
    GNT_TRY(check_options(dataset_path, options, out_path));
    GNT_TRY(check_folders(dataset_path, options, out_path));
    if (is_given(options->shares))
        GNT_TRY(parse_shares(options->shares, &shares, &config.num_shares));
    config.method = (gnti_partition_method)options->method;
    config.num_chunks = (int32_t)options->chunks;
    config.seed = (uint64_t)options->seed;
    config.shares = shares;
    config.tolerance = options->tolerance;
    config.metis_volume = options->metis_volume;
    config.path = is_given(options->from) ? options->from : NULL;
    config.split = is_given(options->split) ? options->split : NULL;
    GNT_TRY(cut(dataset_path, options, &config, &p));
    if (is_given(out_path))
        GNT_TRY(gnti_strdup(&file, out_path));
    else
        GNT_TRY(default_name(dataset_path, p->num_chunks, &file));
    GNT_TRY(make_report(p, file, &facts));
    GNT_TRY(write_files(dataset_path, options, p, file, facts));
    if (report != NULL) {
        *report = (gntx_json *)facts;
        facts = NULL;
    }
done:
    gnti_json_free(&facts);
    gnti_partition_free(&p);
    gnti_free(shares);
    gnti_free(file);
    return st;
}
