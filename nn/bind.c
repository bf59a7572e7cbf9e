/* SPDX-License-Identifier: Apache-2.0 */
/* Binding operators, features and what the loss reads: row counts, device arrays, plans. Arrays of the host are wrapped where
 * the device reads host memory and copied where not; the same array bound again costs nothing. What only some programs need
 * (transposed plans, expanded features, positions of entries) is made when a node reads it.
 */
#include "nn/program_state.h"

#include <string.h>

gnt_status gnti_device_array(gnti_program *p, const void *host, size_t bytes, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    if (*out != NULL && bytes > 0 && gnt_buffer_host(*out) == host &&
        ((const gnti_buffer_head *)*out)->bytes == bytes)
        return GNT_OK;
    gnti_buffer_free(out);
    if (bytes > 0)
        st = gnti_buffer_wrap(p->dev, host, bytes, &buf);
    if (buf != NULL || (st != GNT_OK && st != GNT_ERR_UNSUPPORTED)) {
        *out = buf;
        return st;
    }
    gnt_clear_error();
    GNT_TRY(gnti_buffer_alloc(p->dev, bytes > 0 ? bytes : 1, &buf));
    if (bytes > 0)
        GNT_TRY(gnti_upload(p->stream, buf, 0, host, bytes));
    *out = buf;
    buf = NULL;
done:
    gnti_buffer_free(&buf);
    return st;
}

static int64_t widest(const gnti_program *p)
{
    int64_t width = 1;

    for (int64_t v = 1; v < p->ir.num_values; v++)
        width = gnti_max_i64(width, p->ir.values[v].width * p->ir.values[v].block_members);
    return width;
}

/* ---- operators ---------------------------------------------------------------------------------------------------- */

static void free_operator(gnti_bound_operator *b)
{
    if (b->same_as == 0) {
        if (b->transposed != b->forward)
            gnti_spmm_plan_free(&b->transposed);
        gnti_spmm_plan_free(&b->forward);
        for (int i = 0; i < GNTI_NUM_VECTORS; i++)
            gnti_buffer_free(&b->vectors[i]);
        gnti_buffer_free(&b->ids);
        gnti_buffer_free(&b->ids_transposed);
        gnti_graph_free(&b->transpose);
    }
    memset(b, 0, sizeof *b);
}

static gnt_status set_rows(gnti_program *p, int32_t space, int64_t rows, int32_t adj, const char *side)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(p->spaces[space].rows < 0 || p->spaces[space].rows == rows, GNT_ERR_ARG,
              "operator %d has %lld %s, the operators before it have %lld rows there", adj, (long long)rows,
              side, (long long)p->spaces[space].rows);
    p->spaces[space].rows = rows;
done:
    return st;
}

static bool needs_transpose(const gnti_program *p, int32_t adj)
{
    for (int64_t i = 0; i < p->ir.num_nodes; i++)
        if (p->ir.nodes[i].adj == adj && p->ir.nodes[i].transposed &&
            gnti_op_get_info(p->ir.nodes[i].op)->gathers != 0)
            return true;
    return false;
}

gnt_status gnti_make_spmm_plan(gnti_program *p, const gnti_graph *g, gnt_spmm_plan **out)
{
    return gnti_spmm_plan_create(p->stream,
                                 &(gnt_spmm_plan_args){ .num_rows = g->num_rows,
                                                        .num_cols = g->num_cols,
                                                        .num_arcs = g->num_arcs,
                                                        .offsets = g->offsets,
                                                        .columns = g->columns,
                                                        .weights = g->weights,
                                                        .end_row = g->num_rows,
                                                        .max_width = widest(p),
                                                        .lasting = p->config.lasting,
                                                        .choices = p->config.measured },
                                 out);
}

static int64_t vector_rows(const gnti_operator *host, int vector)
{
    if (vector == GNTI_VECTOR_SYM)
        return host->num_src;
    return vector == GNTI_VECTOR_SYM_T || vector == GNTI_VECTOR_MEAN_T ? host->num_src_t : host->num_dst;
}

static gnt_status make_operator(gnti_program *p, const gnti_operator *host, bool transposed,
                                gnti_bound_operator *b)
{
    gnt_status st = GNT_OK;
    const float *vectors[GNTI_NUM_VECTORS] = { host->loop,       host->self,        host->sym_scale,
                                               host->mean_scale, host->sym_scale_t, host->mean_scale_t };
    /* a part's rows are no transpose of its columns: only its own two matrices serve */
    const bool share =
        host->transposed == host->forward && (gnti_pass_is_on(p, GNTI_SYMMETRIC) || p->parts.on);

    b->host = host;
    GNT_TRY(gnti_make_spmm_plan(p, host->forward, &b->forward));
    if (share) {
        b->transposed = b->forward;
        p->fired[GNTI_SYMMETRIC] = 1;
    } else if (transposed && host->transposed != host->forward) {
        GNT_TRY(gnti_make_spmm_plan(p, host->transposed, &b->transposed));
    } else if (transposed) {
        GNT_TRY(gnti_graph_transpose(host->forward, NULL, &b->transpose));
        GNT_TRY(gnti_make_spmm_plan(p, b->transpose, &b->transposed));
    }
    for (int i = 0; i < GNTI_NUM_VECTORS; i++)
        if (vectors[i] != NULL)
            GNT_TRY(gnti_device_array(p, vectors[i], (size_t)vector_rows(host, i) * sizeof(float),
                                      &b->vectors[i]));
    if (host->src_ids != NULL)
        GNT_TRY(gnti_device_array(p, host->src_ids, (size_t)host->num_src * sizeof(int64_t), &b->ids));
done:
    return st;
}

/* The operator of an earlier adj if it is the same. */
static int32_t find_same(const gnti_program *p, int32_t adj, const gnti_operator *host)
{
    for (int32_t i = 1; i < adj; i++)
        if (p->operators[i].host == host && p->operators[i].same_as == 0)
            return i;
    return 0;
}

gnt_status gnti_bind_operators(gnti_program *p, const gnti_operator *const *adj)
{
    gnt_status st = GNT_OK;
    const int32_t num = (int32_t)p->ir.num_adjs;
    bool transposed = false;

    for (int32_t i = num - 1; i >= 1; i--)
        free_operator(&p->operators[i]);
    gnti_loss_rows_free(p); /* an operator at the same address may be another one */
    for (int32_t s = 1; s <= p->ir.num_spaces; s++)
        if (s != p->ir.entry_space && !p->parts.on)
            p->spaces[s].rows = -1;
    for (int32_t i = 1; i < num; i++)
        transposed = transposed || needs_transpose(p, i);
    for (int32_t i = 1; i < num; i++) {
        const gnti_operator *host = adj[i - 1];
        gnti_bound_operator *b = &p->operators[i];
        const gnti_adj_info spaces = p->ir.adjs[i];

        GNT_CHECK(host != NULL, GNT_ERR_ARG, "operator %d of %d is NULL", i, num - 1);
        if (!p->parts.on) /* else gnti_bind_part has set them */
            GNT_TRY(set_rows(p, spaces.source, host->num_src, i, "sources"));
        GNT_TRY(set_rows(p, spaces.destination, host->num_dst, i, "destinations"));
        b->same_as = find_same(p, i, host);
        if (b->same_as != 0) {
            const int32_t same = b->same_as;

            *b = p->operators[same];
            b->same_as = same;
        } else {
            GNT_TRY(make_operator(p, host, transposed, b));
        }
        p->spaces[spaces.source].ids = b->ids;
        p->spaces[spaces.destination].ids = b->ids; /* destinations are the first sources */
    }
done:
    return st;
}

/* ---- features ----------------------------------------------------------------------------------------------------- */

/* Dense features; memory of expanded ones is kept. */
static void drop_dense(gnti_bound_features *x)
{
    if (x->dense != x->expanded)
        gnti_buffer_free(&x->dense);
    x->dense = NULL;
}

static void free_features(gnti_bound_features *x)
{
    gnt_buffer *expanded = x->expanded;

    drop_dense(x);
    gnti_spmm_plan_free(&x->forward);
    gnti_spmm_plan_free(&x->transposed);
    gnti_graph_free(&x->transpose);
    gnti_buffer_free(&x->values);
    gnti_buffer_free(&x->values_transposed);
    gnti_buffer_free(&x->rows);
    gnti_buffer_free(&x->columns);
    gnti_buffer_free(&x->rows_transposed);
    gnti_buffer_free(&x->columns_transposed);
    gnti_free(x->ones);
    gnti_free(x->row_of);
    gnti_free(x->column_of_transposed);
    memset(x, 0, sizeof *x);
    x->expanded = expanded;
}

/* Whether a node reads X as a dense matrix; `step` asks about nodes that run at each step alone. */
static bool reads_dense(const gnti_program *p, bool step)
{
    int32_t reads[GNTI_NODE_READS];

    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        if (step && p->ir.nodes[i].hoisted)
            continue;
        for (int k = gnti_node_reads(&p->ir.nodes[i], reads) - 1; k >= 0; k--)
            if (gnti_ir_root(&p->ir, reads[k]) == p->ir.x)
                return true;
    }
    return false;
}

/* Room for all rows that a batch may have. */
static gnt_status reserve_expanded(gnti_program *p, int64_t rows, int64_t width)
{
    gnt_status st = GNT_OK;
    const int64_t room = p->config.batches ? gnti_max_i64(rows, p->config.row_capacity) : rows;
    const size_t bytes = (size_t)gnti_max_i64(room * width, 1) * sizeof(float);

    if (p->x.expanded != NULL && ((const gnti_buffer_head *)p->x.expanded)->bytes >= bytes)
        return GNT_OK;
    gnti_buffer_free(&p->x.expanded);
    GNT_TRY(gnti_buffer_alloc(p->dev, bytes, &p->x.expanded));
done:
    return st;
}

static gnt_status expand(gnti_program *p, const gnti_graph *x)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)gnti_max_i64(x->num_rows * x->num_cols, 1) * sizeof(float);
    void *pages = NULL;
    float *to;

    GNT_TRY(reserve_expanded(p, x->num_rows, x->num_cols));
    p->x.dense = p->x.expanded;
    to = gnt_buffer_host(p->x.dense);
    if (to != NULL) {
        memset(to, 0, bytes);
    } else {
        GNT_TRY(gnti_pages_alloc(bytes, &pages));
        to = pages;
    }
    for (int64_t r = 0; r < x->num_rows; r++)
        for (int64_t e = x->offsets[r]; e < x->offsets[r + 1]; e++)
            to[r * x->num_cols + x->columns[e]] = x->weights != NULL ? x->weights[e] : 1.0f;
    if (pages != NULL) {
        GNT_TRY(gnti_upload(p->stream, p->x.dense, 0, pages, bytes));
        GNT_TRY(gnti_stream_finish(p->stream));
    }
done:
    gnti_pages_free(pages, bytes);
    return st;
}

/* The row of each entry. */
static gnt_status rows_of_entries(const gnti_graph *g, int32_t **out)
{
    gnt_status st = GNT_OK;
    int32_t *rows = NULL;

    GNT_TRY(gnti_alloc_array(&rows, g->num_arcs + 1));
    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t e = g->offsets[r]; e < g->offsets[r + 1]; e++)
            rows[e] = (int32_t)r;
    *out = rows;
done:
    return st;
}

/* Values and places of the entries, which dropout draws for. */
static gnt_status bind_entries(gnti_program *p, const gnti_graph *x, bool transposed)
{
    gnt_status st = GNT_OK;
    gnti_bound_features *b = &p->x;
    const size_t bytes = (size_t)x->num_arcs * sizeof(int32_t);
    const float *values = x->weights;

    if (values == NULL) {
        GNT_TRY(gnti_alloc_array(&b->ones, x->num_arcs + 1));
        for (int64_t e = 0; e < x->num_arcs; e++)
            b->ones[e] = 1.0f;
        values = b->ones;
    }
    GNT_TRY(rows_of_entries(x, &b->row_of));
    GNT_TRY(gnti_device_array(p, values, bytes, &b->values));
    GNT_TRY(gnti_device_array(p, b->row_of, bytes, &b->rows));
    GNT_TRY(gnti_device_array(p, x->columns, bytes, &b->columns));
    if (!transposed)
        return GNT_OK;
    GNT_TRY(rows_of_entries(b->transpose, &b->column_of_transposed));
    GNT_TRY(gnti_device_array(p, b->transpose->weights != NULL ? b->transpose->weights : values, bytes,
                              &b->values_transposed));
    GNT_TRY(gnti_device_array(p, b->transpose->columns, bytes, &b->rows_transposed));
    GNT_TRY(gnti_device_array(p, b->column_of_transposed, bytes, &b->columns_transposed));
done:
    return st;
}

static gnt_status bind_sparse(gnti_program *p, const gnti_graph *x)
{
    gnt_status st = GNT_OK;
    bool forward = false, transposed = false, entries = false;

    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const gnti_node *n = &p->ir.nodes[i];

        if (n->op != GNTI_IR_SPARSE_MATMUL)
            continue;
        *(n->transposed ? &transposed : &forward) = true;
        entries = entries || n->in[1] != 0;
    }
    if (forward)
        GNT_TRY(gnti_make_spmm_plan(p, x, &p->x.forward));
    if (transposed) {
        GNT_TRY(gnti_graph_transpose(x, NULL, &p->x.transpose));
        GNT_TRY(gnti_make_spmm_plan(p, p->x.transpose, &p->x.transposed));
    }
    if (entries)
        GNT_TRY(bind_entries(p, x, transposed));
done:
    return st;
}

static bool has_sparse_nodes(const gnti_program *p)
{
    for (int64_t i = 0; i < p->ir.num_nodes; i++)
        if (p->ir.nodes[i].op == GNTI_IR_SPARSE_MATMUL)
            return true;
    return false;
}

gnt_status gnti_bind_features(gnti_program *p, const gnti_features *x, const gnti_features *owner)
{
    gnt_status st = GNT_OK;
    const gnti_value *v = &p->ir.values[p->ir.x];
    const bool same = p->x.host == owner && x->dense != NULL && p->x.dense != NULL &&
                      gnt_buffer_host(p->x.dense) == x->dense && p->x.view.rows == x->rows;

    GNT_CHECK(x->width == v->width, GNT_ERR_ARG, "features are %lld wide but the model takes %lld",
              (long long)x->width, (long long)v->width);
    GNT_CHECK(x->rows == p->spaces[v->space].rows, GNT_ERR_ARG,
              "features have %lld rows but the graph has %lld nodes", (long long)x->rows,
              (long long)p->spaces[v->space].rows);
    GNT_CHECK(x->dense != NULL || x->sparse != NULL || x->rows == 0, GNT_ERR_ARG,
              "features have neither dense nor sparse rows");
    if (same)
        return GNT_OK;
    free_features(&p->x);
    if (!p->config.batches)
        gnti_buffer_free(&p->x.expanded);
    p->x.host = owner;
    p->x.view = *x;
    if (has_sparse_nodes(p)) {
        GNT_CHECK(x->sparse != NULL, GNT_ERR_ARG,
                  "the tape was recorded for sparse features, these are dense");
        GNT_TRY(bind_sparse(p, x->sparse));
        if (p->ir.entry_space != 0)
            p->spaces[p->ir.entry_space].rows = x->sparse->num_arcs;
    }
    if (!reads_dense(p, false))
        return GNT_OK;
    if (x->dense != NULL)
        GNT_TRY(gnti_device_array(p, x->dense, (size_t)(x->rows * x->width) * sizeof(float), &p->x.dense));
    else if (x->sparse != NULL)
        GNT_TRY(expand(p, x->sparse));
    else /* no rows: a rank that owns nothing */
        GNT_TRY(gnti_buffer_alloc(p->dev, sizeof(float), &p->x.dense));
done:
    return st;
}

void gnti_release_features(gnti_program *p)
{
    if (p->x.dense == NULL || reads_dense(p, true))
        return;
    drop_dense(&p->x);
    if (!p->config.batches)
        gnti_buffer_free(&p->x.expanded);
}

/* ---- what the loss reads ------------------------------------------------------------------------------------------- */

/* A rank without rows may bring no arrays. */
static gnt_status bind_nothing(gnti_program *p)
{
    gnt_status st = GNT_OK;
    gnt_buffer **arrays[4] = { &p->loss.labels, &p->loss.target, &p->loss.weight, &p->loss.apart };

    for (int i = 0; i < 4; i++)
        if (*arrays[i] == NULL)
            GNT_TRY(gnti_buffer_alloc(p->dev, sizeof(float), arrays[i]));
done:
    return st;
}

gnt_status gnti_bind_loss(gnti_program *p, const gnti_batch *batch)
{
    gnt_status st = GNT_OK;
    const gnti_loss_config *c = &p->ir.loss_config;
    size_t rows, members;
    int64_t width;

    if (p->ir.loss == 0)
        return GNT_OK;
    rows = (size_t)p->spaces[p->ir.values[p->ir.logits].space].rows;
    width = p->ir.values[p->ir.logits].width;
    members = c->weight_per_member ? (size_t)p->ir.num_members : 1;
    if (batch->labels != NULL && c->kind == GNT_LOSS_SOFTMAX)
        GNT_TRY(gnti_device_array(p, batch->labels, rows * sizeof(int32_t), &p->loss.labels));
    if (batch->target != NULL && c->kind != GNT_LOSS_SOFTMAX)
        GNT_TRY(gnti_device_array(p, batch->target, rows * (size_t)width * sizeof(float), &p->loss.target));
    if (batch->apart != NULL && c->apart)
        GNT_TRY(gnti_device_array(p, batch->apart, rows * (size_t)width * sizeof(float), &p->loss.apart));
    if (batch->weight != NULL)
        GNT_TRY(gnti_device_array(p, batch->weight, rows * members * sizeof(float), &p->loss.weight));
    if (batch->class_weight != NULL && c->num_class_weights > 0)
        GNT_TRY(gnti_device_array(p, batch->class_weight, (size_t)c->num_class_weights * sizeof(float),
                                  &p->loss.class_weight));
    if (rows == 0 && p->parts.on)
        GNT_TRY(bind_nothing(p));
    GNT_CHECK(
        p->loss.weight != NULL && (c->kind == GNT_LOSS_SOFTMAX ? p->loss.labels : p->loss.target) != NULL,
        GNT_ERR_ARG, "the loss lacks %s", p->loss.weight == NULL ? "the rows' weights" : "labels or targets");
    GNT_CHECK(!c->apart || p->loss.apart != NULL, GNT_ERR_ARG,
              "the loss lacks the probabilities that it stays apart from");
    if (batch->weight != NULL)
        p->loss.host_weight = batch->weight;
    GNT_TRY(gnti_bind_loss_rows(p, p->loss.host_weight));
    GNT_CHECK(c->num_class_weights == 0 || p->loss.class_weight != NULL, GNT_ERR_ARG,
              "the loss lacks its class weights");
done:
    return st;
}

void gnti_bound_free(gnti_program *p)
{
    gnti_loss_rows_free(p);
    if (p->operators != NULL)
        for (int32_t i = (int32_t)p->ir.num_adjs - 1; i >= 1; i--)
            free_operator(&p->operators[i]);
    free_features(&p->x);
    gnti_buffer_free(&p->x.expanded);
    gnti_buffer_free(&p->loss.labels);
    gnti_buffer_free(&p->loss.target);
    gnti_buffer_free(&p->loss.weight);
    gnti_buffer_free(&p->loss.class_weight);
    gnti_buffer_free(&p->loss.apart);
}
