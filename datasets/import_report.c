/* SPDX-License-Identifier: Apache-2.0 */
/* What an import did, as JSON: for the person who imports and, without times, as the provenance that the file keeps. */
#include "datasets/raw.h"

#include "base/json.h"

#include <string.h>

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

/* The lines of a text as an array. */
static gnt_status set_lines(gnti_json *root, const char *key, const char *text)
{
    gnt_status st = GNT_OK;
    gnti_json *array = NULL;
    char *line = NULL;

    GNT_TRY(gnti_json_set_array(root, key, &array));
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, "\n");

        gnti_free(line);
        line = NULL;
        GNT_TRY(gnti_alloc_array(&line, (int64_t)length + 1));
        memcpy(line, text, length);
        line[length] = '\0';
        GNT_TRY(gnti_json_append_text(array, line));
        text += length + (text[length] == '\n');
    }
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

gnt_status gnti_import_provenance(const gnti_import_report *report, const gnti_raw *raw, char **out)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL;

    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(gnti_json_set_text(root, "command", "import"));
    GNT_TRY(set_lines(root, "inputs", raw->inputs.data));
    GNT_TRY(set_counts(root, report));
    GNT_TRY(set_lines(root, "notes", raw->notes.data));
    GNT_TRY(gnti_json_print(root, false, out));
done:
    gnti_json_free(&root);
    return st;
}
