/* SPDX-License-Identifier: Apache-2.0 */
/* The partition file (docs/file-format.md): `/chunk` is the one thing that counts, the rest tells where it comes from.
 *
 * It appears complete or not at all, and is read behind the fence of every HDF5 file. The sum over K and the vector must be the
 * stored one, so a changed value is damage; another graph's partition is refused by the sum of the graph that was cut.
 */
#include "partition/partition.h"

#include "datasets/h5_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT_MAJOR = 1, PATH_BYTES = 160, NAME_LETTERS = 100 };

/* --- writing --- */

static gnt_status write_heading(gnti_h5 *file, const gnti_partition *p)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_h5_set_text(file, "/", "format", "gnntrain-partition"));
    GNT_TRY(gnti_h5_set_text(file, "/", "format_version", "1.0"));
    GNT_TRY(gnti_h5_set_text(file, "/", "generator", "gnntrain " GNT_VERSION));
    GNT_TRY(gnti_h5_set_int(file, "/", "num_nodes", p->num_nodes));
    GNT_TRY(gnti_h5_set_int(file, "/", "num_chunks", p->num_chunks));
    GNT_TRY(gnti_h5_set_text(file, "/", "method", p->method));
    GNT_TRY(gnti_h5_set_text(file, "/", "graph_sha256", p->graph_sha256));
    GNT_TRY(gnti_h5_set_text(file, "/", "sha256", p->sha256));
done:
    return st;
}

/* An array of one integer a chunk, for whoever plots it without reading JSON. */
static gnt_status write_counts(gnti_h5 *file, const char *name, const gnti_json *list, int32_t num_chunks)
{
    gnt_status st = GNT_OK;
    const int64_t rows = num_chunks;
    int64_t *values = NULL;
    char path[PATH_BYTES];

    GNT_TRY(gnti_alloc_array(&values, num_chunks));
    for (int32_t c = 0; c < num_chunks; c++)
        if (!gnti_json_to_int(gnti_json_at(list, c), &values[c]))
            goto done; /* no counts */
    snprintf(path, sizeof path, "/quality/%s", name);
    GNT_TRY(gnti_h5_write_values(file, path, GNTI_FILE_I64, 1, &rows, values));
done:
    gnti_free(values);
    return st;
}

static gnt_status write_quality(gnti_h5 *file, const gnti_partition *p)
{
    gnt_status st = GNT_OK;
    char *text = NULL;

    if (p->quality == NULL)
        return GNT_OK;
    GNT_TRY(gnti_h5_make_group(file, "/quality"));
    GNT_TRY(gnti_json_print(p->quality, false, &text));
    GNT_TRY(gnti_h5_write_texts(file, "/quality/json", &text, -1));
    for (int64_t i = 0; i < gnti_json_length(p->quality); i++) {
        const char *name = gnti_json_key_at(p->quality, i);
        const gnti_json *list = gnti_json_find(p->quality, name);

        if (gnti_json_is_array(list) && gnti_json_length(list) == p->num_chunks &&
            strlen(name) < NAME_LETTERS && strchr(name, '/') == NULL)
            GNT_TRY(write_counts(file, name, list, p->num_chunks));
    }
done:
    gnti_free(text);
    return st;
}

gnt_status gnti_partition_write(const gnti_partition *p, const char *path)
{
    gnt_status st = GNT_OK;
    const int64_t num_nodes = p->num_nodes, num_shares = p->num_shares, num_borders = num_shares + 1;
    gnti_h5 *file = NULL;

    GNT_TRY(gnti_h5_create(path, &file));
    GNT_TRY(write_heading(file, p));
    GNT_TRY(gnti_h5_write_values(file, "/chunk", GNTI_FILE_I32, 1, &num_nodes, p->chunk_of));
    if (num_shares > 0) {
        GNT_TRY(gnti_h5_write_values(file, "/shares", GNTI_FILE_F64, 1, &num_shares, p->shares));
        GNT_TRY(gnti_h5_write_values(file, "/share_chunks", GNTI_FILE_I32, 1, &num_borders, p->share_chunks));
    }
    GNT_TRY(write_quality(file, p));
    GNT_TRY(gnti_h5_commit(&file, NULL));
done:
    gnti_h5_close(&file);
    return st;
}

/* --- reading --- */

static gnt_status read_heading(const gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    char *format = NULL, *version = NULL;
    bool found;
    int major = 0;

    GNT_TRY(gnti_h5_get_text(file, "/", "format", &found, &format));
    GNT_CHECK(found && strcmp(format, "gnntrain-partition") == 0, GNT_ERR_FORMAT,
              "file '%s' has format '%s', expected 'gnntrain-partition': make one with 'gnntrain partition'",
              gnti_h5_path(file), found ? format : "");
    GNT_TRY(gnti_h5_get_text(file, "/", "format_version", NULL, &version));
    GNT_CHECK(sscanf(version, "%9d", &major) == 1 && major == FORMAT_MAJOR, GNT_ERR_FORMAT,
              "partition '%s' has format version %s, this program reads version %d.x", gnti_h5_path(file),
              version, FORMAT_MAJOR);
done:
    gnti_free(format);
    gnti_free(version);
    return st;
}

static gnt_status read_sum(const gnti_h5 *file, const char *attribute, char out[65])
{
    gnt_status st = GNT_OK;
    char *text = NULL;

    GNT_TRY(gnti_h5_get_text(file, "/", attribute, NULL, &text));
    GNT_CHECK(strlen(text) == 64 || (text[0] == '\0' && strcmp(attribute, "sha256") != 0), GNT_ERR_FORMAT,
              "attribute '%s' of partition '%s' has %zu letters, a SHA-256 has 64", attribute,
              gnti_h5_path(file), strlen(text));
    memcpy(out, text, strlen(text) + 1);
done:
    gnti_free(text);
    return st;
}

/* The vector; its length must be the stated number of nodes before memory is taken for either. */
static gnt_status read_vector(const gnti_h5 *file, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    int64_t num_nodes, num_chunks;
    int32_t *chunk_of = NULL;
    char *method = NULL;

    GNT_TRY(gnti_h5_get_int(file, "/", "num_nodes", NULL, &num_nodes));
    GNT_TRY(gnti_h5_get_int(file, "/", "num_chunks", NULL, &num_chunks));
    GNT_CHECK(num_nodes >= 0 && num_nodes <= INT32_MAX && num_chunks >= 1 &&
                  num_chunks <= gnti_max_i64(num_nodes, 1),
              GNT_ERR_FORMAT, "partition '%s' states %lld chunks of %lld nodes", gnti_h5_path(file),
              (long long)num_chunks, (long long)num_nodes);
    GNT_TRY(gnti_h5_expect(file, "/chunk", num_nodes, 1, NULL));
    GNT_TRY(gnti_h5_get_text(file, "/", "method", NULL, &method));
    GNT_TRY(gnti_alloc_array(&chunk_of, num_nodes));
    GNT_TRY(gnti_h5_read_i32(file, "/chunk", num_nodes, chunk_of));
    st = gnti_partition_from_vector(num_nodes, (int32_t)num_chunks, chunk_of, method, out);
    if (st != GNT_OK)
        gnti_error_prefix("partition '%s': ", gnti_h5_path(file));
    GNT_TRY(st);
    chunk_of = NULL; /* handed over */
done:
    gnti_free(chunk_of);
    gnti_free(method);
    return st;
}

static gnt_status read_shares(const gnti_h5 *file, gnti_partition *p)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    bool fine;

    if (gnti_h5_kind_of(file, "/shares") == GNTI_H5_NOTHING)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, "/shares", -1, 1, &info));
    GNT_CHECK(info.num_values >= 1 && info.num_values <= p->num_chunks && info.type == GNTI_H5_FLOAT,
              GNT_ERR_FORMAT, "partition '%s' has %lld shares of %d chunks", gnti_h5_path(file),
              (long long)info.num_values, p->num_chunks);
    p->num_shares = (int32_t)info.num_values;
    GNT_TRY(gnti_alloc_array(&p->shares, p->num_shares));
    GNT_TRY(gnti_alloc_array(&p->share_chunks, (int64_t)p->num_shares + 1));
    GNT_TRY(gnti_h5_expect(file, "/share_chunks", info.num_values + 1, 1, NULL));
    GNT_TRY(gnti_h5_read_rows(file, "/shares", GNTI_FILE_F64, 0, p->num_shares, p->shares));
    GNT_TRY(gnti_h5_read_i32(file, "/share_chunks", info.num_values + 1, p->share_chunks));
    fine = p->share_chunks[0] == 0 && p->share_chunks[p->num_shares] == p->num_chunks;
    for (int32_t s = 0; s < p->num_shares; s++)
        fine = fine && isfinite(p->shares[s]) && p->shares[s] > 0.0 &&
               p->share_chunks[s] < p->share_chunks[s + 1];
    GNT_CHECK(fine, GNT_ERR_FORMAT,
              "partition '%s' is damaged: its shares are no division of %d chunks into %d ranges",
              gnti_h5_path(file), p->num_chunks, p->num_shares);
done:
    return st;
}

static gnt_status read_quality(const gnti_h5 *file, gnti_partition *p)
{
    gnt_status st = GNT_OK;
    char **texts = NULL;
    int64_t num = 0;

    if (gnti_h5_kind_of(file, "/quality/json") != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, "/quality/json", 1, 1, NULL));
    GNT_TRY(gnti_h5_read_texts(file, "/quality/json", &texts, &num));
    GNT_TRY(gnti_json_parse(texts[0], strlen(texts[0]), gnti_h5_path(file), &p->quality));
done:
    gnti_h5_free_texts(&texts, num);
    return st;
}

static gnt_status check_sums(const gnti_partition *p, const char *path, const char *stored,
                             const char *graph_sha256)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(strcmp(p->sha256, stored) == 0, GNT_ERR_FORMAT,
              "partition '%s' is damaged: its vector has the sum %s, stored is %s", path, p->sha256, stored);
    GNT_CHECK(
        graph_sha256 == NULL || strcmp(graph_sha256, p->graph_sha256) == 0, GNT_ERR_FORMAT,
        "partition '%s' was cut from another graph: its graph has the sum %s, this one %s: cut this one "
        "with 'gnntrain partition'",
        path, p->graph_sha256, graph_sha256);
done:
    return st;
}

gnt_status gnti_partition_read(const char *path, const char *graph_sha256, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    gnti_partition *p = NULL;
    char stored[65];

    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(read_heading(file));
    GNT_TRY(read_vector(file, &p));
    GNT_TRY(read_sum(file, "graph_sha256", p->graph_sha256));
    GNT_TRY(read_sum(file, "sha256", stored));
    GNT_TRY(check_sums(p, path, stored, graph_sha256));
    GNT_TRY(read_shares(file, p));
    GNT_TRY(read_quality(file, p));
    *out = p;
    p = NULL;
done:
    gnti_partition_free(&p);
    gnti_h5_close(&file);
    return st;
}
