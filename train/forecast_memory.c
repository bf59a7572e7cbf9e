/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of forecast.h, of a rank with n own rows, h halo rows, m arcs:
 *
 *   device    blocks of parameters; the larger workspace of step and evaluation, which share it; values computed once and what
 *             computing them needs; sums over rows
 *   graph     offsets, columns, weights (twice when directed); scales and ids of n + h rows; the lists of an exchange and
 *             its send buffer; the arcs from rows in the loss; dense graphs' layout by blocks
 *   features  own rows as stored, a normalised copy, the transpose of sparse ones
 *   rest      labels, place in the split, loss weights, logits, what is scored
 */
#include "train/forecast_state.h"

#include "kernels/cost.h"

#include <math.h>

#define MASKED_SHARE 0.8
#define SMALL_BYTES  1024 /* step blocks, statistics */

static int64_t csr_bytes(double rows, double arcs, bool weighted)
{
    return (int64_t)(8.0 * (rows + 1.0) + arcs * (weighted ? 8.0 : 4.0));
}

/* Floats of the widest row that ranks exchange. */
static double widest_exchange(const gnti_forecast *f)
{
    const double bytes = f->wire_bf16 ? 2.0 : 4.0;
    const gnti_step_counts none = { 0 };
    double widest = 0.0;

    for (int64_t i = 0; i < gnti_program_num_ops(f->step); i++)
        widest = fmax(widest, gnti_program_op_work(f->step, i, &none).wire_bytes_a_row / bytes);
    return widest;
}

/* What one program has beside the workspace; on_bind: while its values are computed once. */
static void own_bytes(const gnti_forecast *f, const gnti_load *load, const gnti_program_bytes *b,
                      size_t *kept, size_t *on_bind)
{
    *kept = b->sums + b->hoisted;
    if (gnti_forecast_broadcasts(f, load)) /* buffers of rows under way, and the scales of all rows */
        *kept += (size_t)(fmax(load->most_rows, load->rows) * (double)b->stage_row +
                          (f->directed ? 16.0 : 8.0) * (double)f->num_nodes);
    *on_bind = b->hoist_temp;
}

/* Both programs laid out for these rows. The step is bound first, then evaluation, which finds its values and the workspace. */
static gnt_status device_bytes(gnti_forecast *f, const gnti_load *load, gnti_forecast_bytes *out)
{
    gnt_status st = GNT_OK;
    const double share = f->inductive ? f->train_share : 1.0;
    const double halo = gnti_forecast_broadcasts(f, load) ? 0.0 : load->halo_rows;
    gnti_program_bytes step, eval;
    size_t kept, temp, more, more_temp;

    GNT_TRY(gnti_program_lay_out(f->step, (int64_t)(share * load->rows), (int64_t)(share * halo)));
    GNT_TRY(gnti_program_lay_out(f->eval, (int64_t)load->rows, (int64_t)halo));
    gnti_program_get_bytes(f->step, &step);
    gnti_program_get_bytes(f->eval, &eval);
    own_bytes(f, load, &step, &kept, &temp);
    own_bytes(f, load, &eval, &more, &more_temp);
    if (!f->inductive && eval.hoisted == step.hoisted) { /* shared */
        more -= eval.hoisted;
        more_temp = 0;
    }
    kept += SMALL_BYTES + (size_t)(3 + f->num_moments) * eval.params;
    out->workspace = (int64_t)(step.workspace > eval.workspace ? step.workspace : eval.workspace);
    out->device = out->workspace + (int64_t)(kept + (temp > more + more_temp ? temp : more + more_temp));
done:
    return st;
}

static int64_t graph_bytes(const gnti_forecast *f, const gnti_load *load)
{
    const double n = load->rows, h = load->halo_rows, m = load->arcs_in;
    const bool weighted = f->facts.weighted, masked = (f->disabled & GNTI_PASS_LOSS_ROWS) == 0;
    int64_t bytes = csr_bytes(n, m, weighted);

    if (f->directed)
        bytes += csr_bytes(n, load->arcs_out, weighted);
    bytes += (int64_t)((8.0 + 4.0 + 4.0) * (n + h) + 4.0 * n);          /* ids, scales; interior, boundary */
    bytes += (int64_t)((4.0 + sizeof(float) * widest_exchange(f)) * h); /* rows to send and their buffer */
    if (f->facts.has_loops)
        bytes += (int64_t)(8.0 * n);
    if (!f->inductive && masked && f->train_share <= MASKED_SHARE)
        bytes += csr_bytes(n, load->arcs_out * f->train_share, weighted) + (int64_t)(n + h);
    if (!weighted)
        bytes += (int64_t)gnti_cost_blocks_bytes((int64_t)n, (int64_t)(n + h), (int64_t)m);
    if (f->inductive) /* the part of the training graph beside that of the whole */
        bytes += csr_bytes(f->train_share * n, f->train_share * f->train_share * m, weighted) +
                 (int64_t)(16.0 * f->train_share * (n + h));
    return bytes;
}

static int64_t feature_bytes(const gnti_forecast *f, const gnti_load *load)
{
    const bool weighted = f->facts.weighted_x || f->normalized;
    const double n = load->rows, share = f->num_nodes > 0 ? n / (double)f->num_nodes : 0.0;
    const double entries = (double)f->facts.num_entries * share;

    if (!f->facts.sparse_x)
        return (int64_t)(4.0 * n * (double)f->width * (f->normalized ? 2.0 : 1.0) +
                         (f->inductive ? 4.0 * f->train_share * n * (double)f->width : 0.0));
    return csr_bytes(n, entries, f->facts.weighted_x) + (int64_t)(f->normalized ? 4.0 * entries : 0.0) +
           csr_bytes((double)f->width, entries, weighted);
}

gnt_status gnti_forecast_memory(gnti_forecast *f, const gnti_load *load, gnti_forecast_bytes *out)
{
    gnt_status st = GNT_OK;
    const double n = load->rows, classes = (double)f->classes;
    const double share = f->num_nodes > 0 ? n / (double)f->num_nodes : 0.0;

    GNT_TRY(device_bytes(f, load, out));
    out->graph = graph_bytes(f, load);
    out->features = feature_bytes(f, load);
    out->rest = (int64_t)(4.0 * n * (f->by_class ? 1.0 : classes) + 5.0 * n + 4.0 * n * classes +
                          16.0 * share * (double)f->scored);
done:
    return st;
}
