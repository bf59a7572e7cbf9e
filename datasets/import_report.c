/* SPDX-License-Identifier: Apache-2.0 */
/* What an import did, as JSON: for the person who imports and, without times, as the provenance that the file keeps. */
#include "datasets/raw.h"

#include "base/json.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 1 << 18 };

/* Counts that both have. */
static gnt_status set_counts(gnti_json *root, const gnti_import_report *r)
{
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {
        { "records", r->num_records },
        { "dropped", r->num_dropped },
        { "repeated", r->num_repeated },
        { "loops", r->num_loops },
        { "reversed_added", r->num_reversed_added },
        { "isolated_from_gaps", r->num_gap_nodes },
        { "without_features", r->num_without_features },
        { "unlabelled", r->num_unlabelled },
    };
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_json_set_text(root, "format", r->format));
    GNT_TRY(gnti_json_set_text(root, "ids", r->id_rule));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        GNT_TRY(gnti_json_set_int(root, counts[i].key, counts[i].value));
    GNT_TRY(gnti_json_set_bool(root, "directed", r->directed));
    GNT_TRY(gnti_json_set_bool(root, "direction_stated", r->direction_stated));
done:
    return st;
}

/* The next line of a text, copied to *line; false at the end and when memory runs out, which *st tells. */
static bool next_line(const char **text, char **line, gnt_status *st)
{
    size_t length;

    gnti_free(*line);
    *line = NULL;
    if (*text == NULL || **text == '\0')
        return false;
    length = strcspn(*text, "\n");
    *st = gnti_alloc_array(line, (int64_t)length + 1);
    if (*st != GNT_OK)
        return false;
    memcpy(*line, *text, length);
    (*line)[length] = '\0';
    *text += length + ((*text)[length] == '\n');
    return true;
}

/* The lines of a text as an array. */
static gnt_status set_lines(gnti_json *root, const char *key, const char *text)
{
    gnt_status st = GNT_OK;
    gnti_json *array = NULL;
    char *line = NULL;

    GNT_TRY(gnti_json_set_array(root, key, &array));
    while (next_line(&text, &line, &st))
        GNT_TRY(gnti_json_append_text(array, line));
    GNT_TRY(st);
done:
    gnti_free(line);
    return st;
}

gnt_status gnti_import_report_json(const gnti_import_report *report, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL;

    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(set_counts(root, report));
    GNT_TRY(gnti_json_set_int(root, "num_nodes", report->num_nodes));
    GNT_TRY(gnti_json_set_int(root, "num_arcs", report->num_arcs));
    GNT_TRY(gnti_json_set_int(root, "num_features", report->num_features));
    GNT_TRY(gnti_json_set_int(root, "num_classes", report->num_classes));
    GNT_TRY(gnti_json_set_number(root, "seconds", report->seconds));
    GNT_TRY(gnti_json_set_int(root, "peak_bytes", report->peak_bytes));
    GNT_TRY(set_lines(root, "notes", report->notes));
    *out = (gntx_json *)(void *)root; /* one type, its outer name is opaque */
    root = NULL;                      /* handed over */
done:
    gnti_json_free(&root);
    return st;
}

/* The sum of a file as it lies on the disk; NULL for what is no regular file. */
static gnt_status sum_of(const char *path, char hex[GNTI_SHA256_HEX_BYTES], bool *found)
{
    gnt_status st = GNT_OK;
    gnti_sha256 *hash = NULL;
    char *block = NULL;
    struct stat info;
    size_t n;
    FILE *f = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;

    *found = f != NULL;
    if (f == NULL)
        goto done;
    GNT_TRY(gnti_sha256_create(&hash));
    GNT_TRY(gnti_alloc_array(&block, BLOCK_BYTES));
    while ((n = fread(block, 1, BLOCK_BYTES, f)) > 0)
        GNT_TRY(gnti_sha256_update(hash, block, n));
    *found = !ferror(f);
    GNT_TRY(gnti_sha256_finish(hash, hex));
done:
    if (f != NULL)
        fclose(f);
    gnti_free(block);
    gnti_sha256_free(&hash);
    return st;
}

/* One input file as {"path", "sha256"}. */
static gnt_status add_input(gnti_json *array, const char *path)
{
    gnt_status st = GNT_OK;
    char hex[GNTI_SHA256_HEX_BYTES];
    gnti_json *input = NULL;
    bool found = false;

    GNT_TRY(gnti_json_append_object(array, &input));
    GNT_TRY(gnti_json_set_text(input, "path", path));
    GNT_TRY(sum_of(path, hex, &found));
    GNT_TRY(gnti_json_set_text(input, "sha256", found ? hex : NULL));
done:
    return st;
}

static gnt_status set_inputs(gnti_json *root, const char *paths)
{
    gnt_status st = GNT_OK;
    gnti_json *array = NULL;
    char *path = NULL;

    GNT_TRY(gnti_json_set_array(root, "inputs", &array));
    while (next_line(&paths, &path, &st))
        GNT_TRY(add_input(array, path));
    GNT_TRY(st);
done:
    gnti_free(path);
    return st;
}

gnt_status gnti_import_provenance(const gnti_import_report *report, const gnti_raw *raw, char **out)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL;

    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(gnti_json_set_text(root, "command", "import"));
    GNT_TRY(set_inputs(root, raw->inputs.data));
    GNT_TRY(set_counts(root, report));
    GNT_TRY(set_lines(root, "notes", raw->notes.data));
    GNT_TRY(gnti_json_print(root, false, out));
done:
    gnti_json_free(&root);
    return st;
}
