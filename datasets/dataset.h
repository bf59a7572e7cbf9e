/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset in memory: the graph as stored (rows are sources), features, labels, ids, splits and whatever
 * optional members the file has. Optional members that nothing reads yet are carried as named arrays and
 * follow every rewrite.
 */
#ifndef GNTI_DATASETS_DATASET_H
#define GNTI_DATASETS_DATASET_H

#include <gnntrain/dataset.h>

#include "base/objects.h"
#include "graph/graph.h"

#include <stdatomic.h>

typedef enum gnti_dtype_file {
    GNTI_FILE_U8,
    GNTI_FILE_I32,
    GNTI_FILE_I64,
    GNTI_FILE_F16,
    GNTI_FILE_BF16,
    GNTI_FILE_F32,
    GNTI_FILE_F64,
    GNTI_FILE_TEXT, /* array of char * */
    GNTI_FILE_U64   /* only to read what others wrote */
} gnti_dtype_file;

/* What a first axis counts, so that a permutation or a subgraph knows what to do with an array. */
typedef enum gnti_axis {
    GNTI_AXIS_NODE,
    GNTI_AXIS_ARC,
    GNTI_AXIS_GRAPH,
    GNTI_AXIS_PAIR,
    GNTI_AXIS_OTHER
} gnti_axis;

/* A carried array: "/edges/time", "/nodes/type", "/graphs/ptr", "/pairs/...". Row-major, width 1 for vectors.
 */
typedef struct gnti_array {
    char *path;
    gnti_axis axis;
    gnti_dtype_file dtype;
    int64_t rows, width;
    void *data;
    char *attributes; /* JSON object of HDF5 attributes, or NULL */
} gnti_array;

/* Features: dense rows, or sparse rows when they are mostly zero. */
typedef struct gnti_features {
    int64_t rows, width;
    float *dense;       /* (rows, width) or NULL */
    gnti_graph *sparse; /* rows x width CSR with values in weights (NULL: all 1), or NULL */
    bool borrowed;      /* dense; sparse is a graph, which knows for itself */
} gnti_features;

typedef struct gnti_labels {
    gnt_label_kind kind;
    int64_t num_classes;
    int32_t *class_of; /* (N) CLASS, -1 unlabelled */
    float *rows;       /* (N, num_classes) MULTI, REGRESSION */
    char **names;      /* (num_classes) or NULL */
    bool borrowed;     /* rows; the rest is owned */
} gnti_labels;

enum { GNTI_TRAIN = 0, GNTI_VALID = 1, GNTI_TEST = 2 };

typedef struct gnti_split {
    char *name, *kind, *source;
    uint64_t seed;
    bool inductive;    /* training sees only the subgraph of the train nodes */
    int64_t *nodes[3]; /* train, valid, test: sorted node numbers */
    int64_t num_nodes[3];
} gnti_split;

/* A dataset stored in the order of a partition: chunk c has the rows first[c] .. first[c + 1] - 1 (chunk_order.c). */
typedef struct gnti_chunk_order {
    int32_t num_chunks;        /* 0: stored in no such order */
    int64_t *first;            /* (num_chunks + 1) */
    char partition_sha256[65]; /* of the partition */
    char graph_sha256[65];     /* of the dataset that was cut, which the partition states too */
} gnti_chunk_order;

/* What a file says of the arrays that were left in it. */
typedef struct gnti_dataset_header {
    int64_t num_arcs;
    int64_t num_entries;       /* of sparse features */
    bool weighted;             /* weights are stored; they may all be 1 */
    bool has_loops;            /* true where the file does not say */
    bool sparse_x, weighted_x; /* values of sparse features are stored */
    int64_t other_bytes;       /* of ids and carried arrays once they are read; 0 for a dataset in memory */
} gnti_dataset_header;

struct gnt_dataset {
    gnt_context *ctx;
    gnti_objects *objects; /* counts of its context */
    atomic_int holders;    /* beside whoever made it */
    char *path;            /* where it came from, or NULL */
    int64_t num_nodes;
    gnti_graph *graph;
    bool directed;
    gnti_features x;
    gnti_labels y;
    int64_t *id;    /* (N) or NULL */
    char **id_text; /* (N) or NULL; not both */
    gnti_split *splits;
    int64_t num_splits;
    gnti_array *arrays;
    int64_t num_arrays;
    /* A header alone (gnti_dataset_read_header): graph, rows of x and y, ids, lists of splits and carried arrays are still in
     * the file, all counts are right. NULL: everything is in memory. */
    gnti_dataset_header *header;
    gnti_chunk_order chunks; /* kept by copies, lost by subgraphs and permutations */
    char *provenance;        /* JSON text */
    char uuid[40], graph_sha256[65], content_sha256[65];
};

/* An empty dataset that owns nothing yet; free releases whatever has been set. */
/* Bytes of memory of this machine, 0: unknown. What cannot fit is refused before the system kills the process. */
double gnti_physical_memory(void);

gnt_status gnti_dataset_create(gnt_context *ctx, int64_t num_nodes, gnt_dataset **out);
void gnti_dataset_set_context(gnt_dataset *data, gnt_context *ctx); /* of one that was created without */

/* For what reads a dataset that its maker may free first: it stays until all have let it go. */
const gnt_dataset *gnti_dataset_hold(const gnt_dataset *data);
void gnti_dataset_let_go(const gnt_dataset **data);

/* Release what a part owns and zero it. A borrowed feature or label block keeps its rows. */
void gnti_array_free(gnti_array *array);
void gnti_split_free(gnti_split *split);
void gnti_features_free(gnti_features *x);
void gnti_labels_free(gnti_labels *y);

/* Take the part in (and zero it there); an array or split of that path or name is replaced. */
gnt_status gnti_dataset_take_array(gnt_dataset *data, gnti_array *array);
gnt_status gnti_dataset_take_split(gnt_dataset *data, gnti_split *split);

/* The carried array of that path, or NULL. The number of graphs: 1 unless /graphs/ptr says otherwise. Whether
 * splits list graphs: they do where /graphs/y exists. */
const gnti_array *gnti_dataset_find_array(const gnt_dataset *data, const char *path);
int64_t gnti_dataset_num_graphs(const gnt_dataset *data);
bool gnti_dataset_splits_graphs(const gnt_dataset *data);

/* The graph_sha256 that a partition of this dataset states: the imported one's, when this is stored in chunk order. */
const char *gnti_dataset_source_graph(const gnt_dataset *data);

/* Ranges, sizes, labels, splits, symmetry; ERR_FORMAT names dataset path and both values. Overlap of splits
 * and NaN features are not looked for: they are for check and for who trains. */
gnt_status gnti_dataset_validate(const gnt_dataset *data);

/* The first node that is in two parts of a split (-1: none), and these parts. */
int64_t gnti_split_overlap(const gnti_split *split, int *first_part, int *second_part);

/* SHA-256 of the three lists: each its length, then its nodes, as int64. Stored with the split as "sha256". */
gnt_status gnti_split_sum(const gnti_split *split, char hex[65]);

/* origin.c: /nodes/origin, lent, when it is a permutation of the rows (a dataset stored in another order), else NULL. And the
 * sum of a split with its nodes named by their rows in the dataset that was imported; origin NULL: gnti_split_sum. */
gnt_status gnti_dataset_get_origin(const gnt_dataset *data, const int64_t **origin);
gnt_status gnti_split_sum_imported(const gnti_split *split, const int64_t *origin, char hex[65]);

/* The first feature that is NaN or infinite: its row, or -1; *column may be NULL. */
int64_t gnti_features_find_nonfinite(const gnti_features *x, int64_t *column);

/* Fills graph_sha256 and content_sha256 (users' manual: docs/file-format.md). */
gnt_status gnti_dataset_hash(gnt_dataset *data);
gnt_status gnti_dataset_sums(const gnt_dataset *data, char graph_hex[65], char content_hex[65]);

/* The file of gnt_dataset_open and gnt_dataset_save. */
gnt_status gnti_dataset_read(gnt_context *ctx, const char *path, gnt_dataset **out);
gnt_status gnti_dataset_write(const gnt_dataset *data, const char *path);

/* Counts, widths, kinds, class names, splits by name and size, sums: enough for a model, an estimate, a rank that loads its own
 * rows. Time and memory do not grow with the file. get_header answers the same facts of a dataset in memory. */
gnt_status gnti_dataset_read_header(gnt_context *ctx, const char *path, gnt_dataset **out);
void gnti_dataset_get_header(const gnt_dataset *data, gnti_dataset_header *out);

/* The split of that name; NULL: "public" or the only one. ERR_USAGE lists the names there are. */
gnt_status gnti_dataset_find_split(const gnt_dataset *data, const char *name, const gnti_split **out);

/* A copy that owns all it has, under the same uuid. */
gnt_status gnti_dataset_copy(const gnt_dataset *data, gnt_dataset **out);

/* The dataset of chosen nodes (distinct; ascending where there are several graphs), and the one in which node
 * i is renamed to rank[i]. Every optional member follows; /nodes/origin remembers the row in the first
 * dataset. */
gnt_status gnti_dataset_subgraph(const gnt_dataset *data, const int64_t *nodes, int64_t num_nodes,
                                 gnt_dataset **out);
gnt_status gnti_dataset_permute(const gnt_dataset *data, const int64_t *rank, gnt_dataset **out);

/* A copy without the arcs whose keep_arc (num_arcs) is 0 and with 0 in the columns whose keep_column (width) is 0; NULL: all stay. */
gnt_status gnti_dataset_thin(const gnt_dataset *data, const uint8_t *keep_arc, const uint8_t *keep_column,
                             gnt_dataset **out);

#endif
