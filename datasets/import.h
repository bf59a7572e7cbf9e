/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of file formats. A reader is one row of a table (import.c): it tells whether an input looks
 * like its format and reads it into a gnti_raw; everything that all formats share is done behind it, in
 * raw_finish.c.
 */
#ifndef GNTI_DATASETS_IMPORT_H
#define GNTI_DATASETS_IMPORT_H

#include "datasets/raw.h"
#include "datasets/reader.h"

typedef struct gnti_import_input {
    const char *const *paths;
    int num_paths;
    const gntx_import_options *options;
    const char *folder;       /* the only path, when it is a folder */
    gnti_byte_source *source; /* the only path, open, when it is none */
    const char *head;         /* first block of the source, for telling formats apart */
    size_t head_bytes;
} gnti_import_input;

typedef struct gnti_importer {
    const char *name;
    bool takes_node_files; /* --features and --labels may add to it */
    gnt_status (*matches)(const gnti_import_input *in, bool *out);
    gnt_status (*read)(const gnti_import_input *in, gnti_raw *raw);
} gnti_importer;

extern const gnti_importer gnti_import_edge_list, gnti_import_matrix_market, gnti_import_metis,
    gnti_import_npz, gnti_import_linqs, gnti_import_geom_gcn, gnti_import_ogb, gnti_import_graphsage,
    gnti_import_debian;

/* Reads with the reader that options name or the content tells; *used is its row. */
gnt_status gnti_import_read(const char *const *paths, int num_paths, const gntx_import_options *options,
                            const gnti_importer **used, gnti_raw *raw);

/* The same from memory, for tests: one stream of that format. */
gnt_status gnti_import_read_memory(const gnti_importer *importer, const char *name, const void *bytes,
                                   size_t num_bytes, const gntx_import_options *options, gnti_raw *raw);

/* Adds --features and --labels to what an edge list, a matrix or a METIS file gave. */
gnt_status gnti_import_node_files(const gntx_import_options *options, gnti_raw *raw);

/* One label as text -> class, one row -> features: for readers of tables. ERR_FORMAT names the line. */
gnt_status gnti_import_feature_token(gnti_reader *reader, const gnti_token *token, int64_t column,
                                     gnti_raw *raw);

/* Whether a name ends so, not counting .gz, .bz2, .xz, .zst and .lz4. */
bool gnti_import_has_suffix(const char *path, const char *suffix);

/* The file of a folder whose name ends so (and starts with `name`, when not NULL), to be freed; NULL when
 * there is none. ERR_USAGE lists them when there are several. */
gnt_status gnti_import_find(const char *folder, const char *name, const char *suffix, char **out);

/* folder/relative when it exists, to be freed; else NULL. */
gnt_status gnti_import_find_exact(const char *folder, const char *relative, char **out);

/* Whether the first data line of the head starts so many numbers; for telling texts apart. */
bool gnti_import_head_is_text(const gnti_import_input *in);

/* Writes the name of an input into the provenance. */
void gnti_import_note_input(gnti_raw *raw, const char *path);

#endif
