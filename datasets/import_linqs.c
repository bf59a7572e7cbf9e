/* SPDX-License-Identifier: Apache-2.0 */
/* LINQS: NAME.content has "id word word ... class" a line, NAME.cites "cited citing". Nodes keep the order of
 * the content file, ids may be any text. A citation of a paper that the content file does not list is left
 * out and counted. The direction is citing -> cited when --directed keeps it.
 */
#include "datasets/import.h"

#include <string.h>

typedef struct linqs {
    gnti_reader reader;
    gnti_raw *raw;
    char *content, *cites;
} linqs;

/* Tokens of a line come one behind: the last one is the class. */
static gnt_status read_paper(linqs *l, int64_t *num_words)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &l->reader;
    gnti_token token = { "", 0 }, next = { "", 0 };
    int64_t number, column = 0;

    (void)gnti_reader_token(r, &token);
    GNT_TRY(gnti_reader_check_name(r, "node id", &token));
    GNT_TRY(gnti_string_table_add(&l->raw->names, token.text, token.length, &number));
    GNT_CHECK(number == l->raw->num_listed, GNT_ERR_FORMAT, "%s: id '%s' is listed already",
              gnti_reader_where(r), gnti_reader_show(r, &token));
    GNT_TRY(gnti_raw_add_node(l->raw, number));
    GNT_CHECK(gnti_reader_token(r, &token), GNT_ERR_FORMAT, "%s: no class behind the id",
              gnti_reader_where(r));
    for (; gnti_reader_token(r, &next); token = next)
        GNT_TRY(gnti_import_feature_token(r, &token, column++, l->raw));
    GNT_TRY(gnti_feature_rows_end(&l->raw->x));
    GNT_TRY(gnti_reader_check_name(r, "class", &token));
    GNT_TRY(gnti_raw_add_label(l->raw, token.text, token.length));
    GNT_CHECK(*num_words < 0 || *num_words == column, GNT_ERR_FORMAT,
              "%s: %lld features, the lines before have %lld", gnti_reader_where(r), (long long)column,
              (long long)*num_words);
    *num_words = column;
done:
    return st;
}

static gnt_status read_content(linqs *l)
{
    gnt_status st = GNT_OK;
    int64_t num_words = -1;

    GNT_TRY(gnti_reader_open(l->content, &l->reader));
    gnti_import_note_input(l->raw, l->content);
    while (gnti_reader_next_data(&l->reader, "#%"))
        GNT_TRY(read_paper(l, &num_words));
    GNT_TRY(gnti_reader_status(&l->reader));
    GNT_CHECK(l->raw->num_listed > 0, GNT_ERR_FORMAT, "'%s' lists no papers", l->content);
done:
    gnti_reader_close(&l->reader);
    return st;
}

static gnt_status read_cites(linqs *l)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &l->reader;
    gnti_token cited = { "", 0 }, citing = { "", 0 };

    GNT_TRY(gnti_reader_open(l->cites, r));
    gnti_import_note_input(l->raw, l->cites);
    while (gnti_reader_next_data(r, "#%")) {
        int64_t target, source;

        GNT_CHECK(gnti_reader_token(r, &cited) && gnti_reader_token(r, &citing), GNT_ERR_FORMAT,
                  "%s: two ids were expected, cited and citing", gnti_reader_where(r));
        GNT_TRY(gnti_reader_line_done(r));
        target = gnti_string_table_find(&l->raw->names, cited.text, cited.length);
        source = gnti_string_table_find(&l->raw->names, citing.text, citing.length);
        if (target < 0 || source < 0) {
            l->raw->num_dropped++;
            continue;
        }
        GNT_TRY(gnti_raw_add_arc(l->raw, source, target));
    }
    GNT_TRY(gnti_reader_status(r));
    if (l->raw->num_dropped > 0)
        gnti_text_printf(&l->raw->notes,
                         "%lld citations name a paper that '%s' does not list and were left out\n",
                         (long long)l->raw->num_dropped, l->content);
done:
    gnti_reader_close(r);
    return st;
}

static gnt_status find_files(const gnti_import_input *in, linqs *l)
{
    gnt_status st = GNT_OK;

    if (in->folder != NULL) {
        GNT_TRY(gnti_import_find(in->folder, in->options->name, ".content", &l->content));
        GNT_TRY(gnti_import_find(in->folder, in->options->name, ".cites", &l->cites));
    }
    for (int i = 0; i < in->num_paths && in->folder == NULL; i++) {
        if (l->content == NULL && gnti_import_has_suffix(in->paths[i], ".content"))
            GNT_TRY(gnti_strdup(&l->content, in->paths[i]));
        else if (l->cites == NULL && gnti_import_has_suffix(in->paths[i], ".cites"))
            GNT_TRY(gnti_strdup(&l->cites, in->paths[i]));
    }
    GNT_CHECK(l->content != NULL && l->cites != NULL, GNT_ERR_USAGE,
              "format linqs needs a folder with NAME.content and NAME.cites, or both files; no %s in '%s'",
              l->content == NULL ? "*.content" : "*.cites", in->paths[0]);
done:
    return st;
}

static gnt_status linqs_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    linqs l = { .raw = raw };

    raw->id_rule = GNTI_IDS_TEXT;
    GNT_TRY(find_files(in, &l));
    GNT_TRY(read_content(&l));
    GNT_TRY(read_cites(&l));
done:
    gnti_free(l.content);
    gnti_free(l.cites);
    return st;
}

/* A folder with several sets is a match too: reading then asks for --name. */
static gnt_status linqs_matches(const gnti_import_input *in, bool *out)
{
    gnt_status st = GNT_OK;
    char *found = NULL;

    *out = false;
    if (in->folder != NULL) {
        st = gnti_import_find(in->folder, in->options->name, ".content", &found);
        *out = st == GNT_ERR_USAGE || found != NULL;
        st = st == GNT_ERR_USAGE ? GNT_OK : st;
        gnti_free(found);
    }
    for (int i = 0; i < in->num_paths && in->num_paths == 2; i++)
        *out = *out || gnti_import_has_suffix(in->paths[i], ".content");
    return st;
}

const gnti_importer gnti_import_linqs = {
    .name = "linqs",
    .matches = linqs_matches,
    .read = linqs_read,
};
