/* SPDX-License-Identifier: Apache-2.0 */
/* A partition: the chunk of each node, made once and kept in a file of its own (NAME.kK.part.h5).
 *
 * Chunk ids follow the tree of bisections: neighbouring ids are neighbouring pieces, so a range of ids has a small halo and
 * the tree over [0, K) (kernels/args.h, gnt_row_tree) is the tree of the cuts. Global row order is (chunk, node id).
 * K does not depend on the number of devices of a run. Nodes are rows of the dataset that was imported, whatever the order
 * of the file (docs/file-format.md, /nodes/origin).
 */
#ifndef GNTI_PARTITION_PARTITION_H
#define GNTI_PARTITION_PARTITION_H

#include "base/json.h"
#include "datasets/dataset.h"

typedef struct gnti_partition {
    int64_t num_nodes;
    int32_t num_chunks;    /* K >= 1, none is empty unless num_nodes < K was allowed by a given file */
    int32_t *chunk_of;     /* (num_nodes) */
    int64_t *chunk_nodes;  /* (K) nodes per chunk */
    double *shares;        /* (num_shares) target shares that were cut first, sum 1; NULL: none */
    int32_t num_shares;    /* 0: none */
    int32_t *share_chunks; /* (num_shares + 1) first chunk of each share */
    char *method;          /* "metis", "bisect", "ldg", "fennel", "range", "random", "file", "one" */
    char graph_sha256[65]; /* of the graph that was cut */
    char sha256[65];       /* of K and chunk_of: what runs and checkpoints store */
    gnti_json *quality;    /* gnti_partition_quality, or NULL */
} gnti_partition;

void gnti_partition_free(gnti_partition **p);
/* Takes chunk_of over (num_nodes values in 0 .. K-1, ERR_FORMAT names node and both values otherwise), counts, hashes. On failure
 * it stays the caller's. */
gnt_status gnti_partition_from_vector(int64_t num_nodes, int32_t num_chunks, int32_t *chunk_of,
                                      const char *method, gnti_partition **out);
/* All nodes in one chunk: what a run of one device without a partition would have. */
gnt_status gnti_partition_one(int64_t num_nodes, gnti_partition **out);

/* The largest power of two <= min(64, num_nodes / 60), at least 1. */
int32_t gnti_default_chunks(int64_t num_nodes);

/* ---- make.c: one call for all methods --------------------------------------------------------------------------- */
typedef enum gnti_partition_method {
    GNTI_PART_METIS, /* nested: shares, then recursive bisection; own bisection below 60 nodes a chunk; falls back to ldg, saying so */
    GNTI_PART_LDG,   /* streaming (Stanton, Kliot, KDD 2012) */
    GNTI_PART_FENNEL, /* streaming (Tsourakakis et al., WSDM 2014) */
    GNTI_PART_RANGE,  /* equal ranges of node ids: chunk(v) = v K div N */
    GNTI_PART_RANDOM,
    GNTI_PART_FILE /* a vector given as text, one chunk a line (gpmetis), renumbered along a tree */
} gnti_partition_method;

typedef struct gnti_partition_config {
    gnti_partition_method method;
    int32_t num_chunks; /* 0: gnti_default_chunks */
    uint64_t seed;
    const double *shares; /* of unequal devices, sum 1 +- 0.01; NULL: none */
    int32_t num_shares;
    double tolerance; /* of balance, 1.05 */
    double arc_work,
        row_work; /* work of a node = arc_work degree + row_work, rounded (algorithms: a, b); 0, 0: 1, 1 */
    bool metis_volume;    /* opt-in: METIS' own volume objective */
    const uint8_t *train; /* (N) opt-in second constraint: balance training nodes; NULL: none */
    const char *path;     /* GNTI_PART_FILE */
    double time_limit;    /* seconds of the METIS program, 0: 3600 */
    size_t memory_limit;  /* bytes of the METIS program, 0: what the machine has free */
    const char *split;    /* gnti_partition_stream: whose training nodes are counted; NULL: the usual one */
} gnti_partition_config;

/* graph: rows are sources; directed, looped or repeated arcs are fine. ERR_USAGE: K > nodes (names --chunks); ERR_LIMIT:
 * METIS' index width, with the alternatives. */
gnt_status gnti_partition_make(const gnti_graph *graph, const gnti_partition_config *config,
                               gnti_partition **out);
/* The same of a dataset, in the rows of the imported one and with graph_sha256, whatever the order it is stored in
 * (partition_rewrite.c). What a run makes and keeps when no partition is given. */
gnt_status gnti_partition_make_dataset(const gnt_dataset *data, const gnti_partition_config *config,
                                       gnti_partition **out);
/* For a run that was given none: the order that the dataset is stored in when it has as many chunks, else a cut. Of a header
 * alone the file is read: its arcs for METIS, or as a stream (ldg) when they are many. */
gnt_status gnti_partition_of_dataset(const gnt_dataset *data, const gnti_partition_config *config,
                                     gnti_partition **out);
/* partition_update.c: the old chunks refined around the nodes whose arcs have changed (touched (N)), for changes of about 1 % of the arcs: as
 * good as a fresh cut within 5 % of its volume, in a fraction of its time, and few nodes change their chunk. K and shares are the old ones. */
gnt_status gnti_partition_update(const gnti_graph *graph, const gnti_partition *old, const uint8_t *touched,
                                 const gnti_partition_config *config, gnti_partition **out);
/* The same from a dataset file without its arcs in memory (ldg, fennel, range, random, file): rows stream through. */
gnt_status gnti_partition_stream(const char *dataset_path, const gnti_partition_config *config,
                                 gnti_partition **out);

/* ---- partition_file.c ------------------------------------------------------------------------------------------- */
gnt_status gnti_partition_write(const gnti_partition *p, const char *path);
/* ERR_FORMAT: damaged; or graph_sha256 differs from `graph_sha256` (NULL: not compared), both named. */
gnt_status gnti_partition_read(const char *path, const char *graph_sha256, gnti_partition **out);

/* ---- partition_rewrite.c ----------------------------------------------------------------------------------------- */
/* The dataset with its rows in the order (chunk, row of the imported dataset), chunk starts and sums in out->chunks; original
 * ids and /nodes/origin are kept. ERR_FORMAT: the partition is of another graph. */
gnt_status gnti_partition_rewrite(const gnt_dataset *data, const gnti_partition *p, gnt_dataset **out);

/* ---- quality.c -------------------------------------------------------------------------------------------------- */
/* cut, halo per chunk (or per device when owner_of_chunk (K) is given), volume = sum of halos, replication, max/mean of rows,
 * arcs, halo, training rows. Definitions: docs/distributed.md. Self loops and repeated arcs count nothing. */
typedef struct gnti_quality {
    int32_t num_parts;
    int64_t
        cut; /* undirected edges between parts (arcs between parts of a directed graph's symmetric closure) */
    int64_t volume;                      /* sum of halo = sum_v |{parts != part(v) among N(v)}| */
    int64_t *rows, *arcs, *halo, *train; /* (num_parts) */
    int64_t *sent; /* (num_parts) rows that a part sends, a row to two parts counted twice */
    int64_t *send; /* (num_parts, num_parts): rows that part p sends to part q; NULL when num_parts > 256 */
} gnti_quality;
gnt_status gnti_quality_measure(const gnti_graph *graph, const int32_t *part_of, int32_t num_parts,
                                const uint8_t *train, gnti_quality **out);
void gnti_quality_free(gnti_quality **q);
gnt_status gnti_quality_to_json(const gnti_quality *q, gnti_json **out);

#endif
