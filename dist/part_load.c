/* SPDX-License-Identifier: Apache-2.0 */
/* Loading by rank, in the order that keeps memory low: arcs and plans first, then features. */
#include "dist/load.h"

#include "base/alloc.h"

static gnt_status load_part(gnti_load *l, gnti_local_data *d)
{
    gnt_status st = GNT_OK;
    gnti_graph *arcs = NULL;
    gnti_part_rows rows = { 0 };
    int64_t num_arcs = 0;

    GNT_TRY(gnti_load_ids(l));
    GNT_TRY(gnti_load_arcs(l, &arcs));
    GNT_TRY(gnti_load_settle(l->layout, l->comm, &arcs, &rows, &num_arcs));
    GNT_CHECK(
        l->head->directed || rows.transposed == NULL, GNT_ERR_FORMAT,
        "'/graph/adj' of file '%s' is said to be undirected but some arc has no equal reverse: store both "
        "directions with the same weight or say that it is directed",
        l->head->path);
    GNT_TRY(gnti_load_finish(l->layout, l->comm, &rows, l->ids, num_arcs, &d->part));
    d->num_own = d->part->num_own;
done:
    gnti_graph_free(&arcs);
    gnti_part_rows_clear(&rows);
    return st;
}

static gnt_status load_train_part(gnti_load *l, gnti_local_data *d)
{
    gnt_status st = GNT_OK;
    uint8_t *keep = NULL;

    GNT_TRY(gnti_alloc_array(&keep, d->num_own));
    for (int64_t i = 0; i < d->num_own; i++)
        keep[i] = d->member[i] >> GNTI_TRAIN & 1;
    GNT_TRY(gnti_load_induce(d->part, l->comm, keep, &d->train_part));
    GNT_TRY(gnti_local_train_rows(d));
done:
    gnti_free(keep);
    return st;
}

static gnt_status load_all(gnti_load *l, gnti_local_data *d)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(!gnti_dataset_splits_graphs(l->head), GNT_ERR_UNSUPPORTED,
              "the dataset has labels of whole graphs, only labels of nodes can be cut into parts");
    GNT_TRY(gnti_h5_open_unfenced(l->head->path, &l->file)); /* its header was read behind the fence */
    GNT_TRY(gnti_load_place(l));
    GNT_TRY(load_part(l, d));
    if (!l->config->without_split)
        GNT_TRY(gnti_load_split(l, d));
    if (d->inductive)
        GNT_TRY(load_train_part(l, d));
    GNT_TRY(gnti_load_labels(l, &d->y));
    GNT_TRY(gnti_load_features(l, &d->x));
    d->bytes_read = gnti_h5_bytes_read(l->file);
    GNT_TRY(gnti_comm_barrier(l->comm)); /* a rank has its data when all have */
done:
    return st;
}

static gnt_status load_file(const gnt_dataset *head, const gnti_local_config *config, gnti_comm *comm,
                            gnti_local_data **out)
{
    gnt_status st = GNT_OK;
    gnti_load l = { .head = head, .config = config, .comm = comm };
    gnti_local_data *d = NULL;

    GNT_TRY(gnti_calloc_array(&d, 1));
    GNT_TRY(load_all(&l, d));
    *out = d;
    d = NULL;
done:
    gnti_load_clear(&l);
    gnti_local_data_free(&d);
    return st;
}

gnt_status gnti_local_data_load(const gnt_dataset *data, const gnti_local_config *config, gnti_comm *comm,
                                gnti_local_data **out)
{
    gnt_status st = GNT_OK;

    if (data->header != NULL)
        GNT_TRY(load_file(data, config, comm, out));
    else
        GNT_TRY(gnti_local_data_make(data, config, comm->rank, out));
done:
    if (st != GNT_OK)
        gnti_comm_abort(comm, gnt_last_error());
    return st;
}
