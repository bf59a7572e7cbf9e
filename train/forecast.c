/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of forecast.h, and the programs planned dry that they follow from. Bytes: forecast_memory.c. */
#include "train/forecast_state.h"

#include "base/alloc.h"
#include "dist/link_cost.h"

#include <math.h>
#include <string.h>

/* Above this share of training rows a step reads all arcs backward (nn/plan_loss_rows.c). */
#define MASKED_SHARE 0.8
#define SLOPE_STEP   0.01

/* ---- programs planned dry ------------------------------------------------------------------------------------------ */

gnt_status gnti_plan_dry(const gnt_model *model, const gnt_trainer_config *config, gnt_label_kind labels,
                         bool sparse_x, bool training, const gnti_plan_config *plan, gnti_program **out)
{
    gnt_status st = GNT_OK;
    gnt_tape *t = NULL;
    gnti_inputs in;
    gnt_loss_kind kind;

    GNT_TRY(gnti_config_loss(config, labels, &kind));
    GNT_TRY(gnti_tape_create(gnti_model_context(model), (int32_t)config->seeds, training, &t));
    gnti_record_inputs(t, model, true, sparse_x, &in);
    const gnt_var logits = gnt_model_record(model, t, in.adj, in.x);

    if (training) {
        const gnti_loss_config loss = { .kind = kind };
        const gnti_update_config update = { .kind = gnti_config_optimizer(config),
                                            .clip = config->clip > 0.0 };

        gnti_record_update(t, gnti_record_loss(t, logits, &loss), &update);
    } else {
        gnti_tape_keep(t, logits);
    }
    GNT_TRY(gnti_plan_program(t, model, plan, NULL, NULL, out));
done:
    gnti_tape_free(&t);
    return st;
}

/* Whether a run of this config goes over parts (train/job.h): its program is another one then. One device without a partition or
 * chunks has the whole graph. */
static gnt_status goes_over_parts(const gnt_model *model, const gnt_dataset *data,
                                  const gnt_trainer_config *config, bool *out)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    int32_t num = 0;
    const gnti_comm *processes = gnti_context_processes(gnti_model_context(model));

    GNT_TRY(gnti_device_specs_parse(config->devices, &specs, &num));
    *out = num > 1 || (processes != NULL && processes->size > 1) || config->chunks > 0 ||
           (config->partition != NULL && config->partition[0] != '\0') || data->chunks.num_chunks > 0 ||
           config->run != NULL; /* whose folder may have one */
done:
    gnti_free(specs);
    return st;
}

static gnt_status plan_both(gnti_forecast *f, const gnt_model *model, const gnt_trainer_config *config,
                            gnt_label_kind labels, bool over_parts)
{
    gnt_status st = GNT_OK;
    const gnti_dist_config dist = { .strategy = (gnti_strategy)config->strategy,
                                    .wire = (gnti_wire)config->wire };
    gnti_plan_config plan = { .dist = over_parts ? &dist : NULL,
                              .disabled_passes = f->disabled,
                              .row_capacity = gnti_max_i64(f->num_nodes, 1),
                              .expected_arcs = f->facts.num_arcs,
                              .expected_entries = f->facts.num_entries };

    GNT_TRY(gnti_plan_dry(model, config, labels, f->facts.sparse_x, true, &plan, &f->step));
    GNT_TRY(gnti_plan_dry(model, config, labels, f->facts.sparse_x, false, &plan, &f->eval));
done:
    return st;
}

gnt_status gnti_forecast_create(const gnt_model *model, const gnt_dataset *data,
                                const gnt_trainer_config *config, gnti_forecast **out)
{
    gnt_status st = GNT_OK;
    gnti_forecast *f = NULL;
    const gnti_split *split = NULL;
    bool over_parts = true;

    GNT_TRY(gnti_calloc_array(&f, 1));
    gnti_dataset_get_header(data, &f->facts);
    f->num_nodes = data->num_nodes;
    f->width = data->x.width;
    f->classes = data->y.num_classes;
    f->members = config->seeds;
    f->num_moments = config->optimizer == GNTI_TRAIN_SGD ? 1 : 2;
    f->directed = data->directed;
    f->by_class = data->y.kind == GNT_LABELS_CLASS;
    f->normalized = config->normalize_features != 0;
    f->must_broadcast = config->strategy == GNTI_STRATEGY_BROADCAST;
    f->wire_bf16 = config->wire == GNTI_WIRE_BF16;
    GNT_TRY(gnti_passes_parse(config->no_pass, &f->disabled));
    f->train_share = 1.0;
    GNT_TRY(gnti_dataset_find_split(data, config->split, &split));
    if (data->num_nodes > 0)
        f->train_share = (double)split->num_nodes[GNTI_TRAIN] / (double)data->num_nodes;
    f->inductive = split->inductive;
    for (int part = 0; part < 3; part++)
        f->scored = gnti_max_i64(f->scored, split->num_nodes[part]);
    GNT_TRY(goes_over_parts(model, data, config, &over_parts));
    GNT_TRY(plan_both(f, model, config, data->y.kind, over_parts));
    f->may_broadcast = config->strategy != GNTI_STRATEGY_HALO && gnti_program_only_sums(f->step) &&
                       gnti_context_determinism(gnti_model_context(model)) != GNTI_DET_BITWISE;
    *out = f;
    f = NULL;
done:
    gnti_forecast_free(&f);
    return st;
}

void gnti_forecast_free(gnti_forecast **f)
{
    if (f == NULL || *f == NULL)
        return;
    gnti_program_free(&(*f)->step);
    gnti_program_free(&(*f)->eval);
    gnti_free(*f);
    *f = NULL;
}

gnti_load gnti_forecast_whole(const gnti_forecast *f, int32_t num_ranks)
{
    return (gnti_load){ .rows = (double)f->num_nodes,
                        .arcs_in = (double)f->facts.num_arcs,
                        .arcs_out = (double)f->facts.num_arcs,
                        .num_ranks = num_ranks };
}

/* ---- seconds ------------------------------------------------------------------------------------------------------- */

/* As nn/parts_strategy.c chooses. */
bool gnti_forecast_broadcasts(const gnti_forecast *f, const gnti_load *load)
{
    return load->num_ranks > 1 && f->may_broadcast &&
           (f->must_broadcast ||
            gnti_cost_prefers_broadcast(load->num_ranks, f->num_nodes,
                                        (int64_t)fmax(load->most_halo, load->halo_rows)));
}

/* Counts of a step: an inductive split trains on the graph that its training nodes induce. */
static gnti_step_counts counts_of(const gnti_forecast *f, const gnti_load *load)
{
    const double share = f->inductive ? f->train_share : 1.0;
    const double masked = f->inductive || f->train_share > MASKED_SHARE ? 1.0 : f->train_share;
    const double nodes = fmax((double)f->num_nodes, 1.0);
    const bool broadcast = gnti_forecast_broadcasts(f, load);

    return (gnti_step_counts){ .rows = load->rows * share,
                               .halo_rows = (broadcast ? nodes - load->rows : load->halo_rows) * share,
                               .tiles = broadcast ? load->num_ranks : 1.0,
                               .arcs = { load->arcs_in * share * share, load->arcs_out * share * share },
                               .loss_arcs = load->arcs_out * share * share * masked,
                               .entries = (double)f->facts.num_entries * load->rows / nodes * share,
                               .weighted = f->facts.weighted };
}

uint32_t gnti_forecast_kinds(const gnti_forecast *f)
{
    const gnti_step_counts c = { .rows = 1e6, .arcs = { 1e7, 1e7 }, .loss_arcs = 1e7, .entries = 1e7 };
    uint32_t kinds = 0;

    for (int64_t i = 0; i < gnti_program_num_ops(f->step); i++) {
        const gnti_op_work w = gnti_program_op_work(f->step, i, &c);

        if (w.flops + w.bytes > 0.0)
            kinds |= 1u << w.kind;
    }
    return kinds;
}

static double compute_all(const gnti_program *program, const gnti_step_counts *c, const gnti_rates *rates)
{
    double seconds = 0.0;

    for (int64_t i = 0; i < gnti_program_num_ops(program); i++) {
        const gnti_op_work w = gnti_program_op_work(program, i, c);

        seconds += gnti_rates_seconds(rates, w.kind, w.flops, w.bytes);
    }
    return seconds;
}

double gnti_forecast_compute(const gnti_forecast *f, const gnti_load *load, const gnti_rates *rates)
{
    const gnti_step_counts c = counts_of(f, load);

    return compute_all(f->step, &c, rates);
}

double gnti_forecast_evaluate(const gnti_forecast *f, const gnti_load *load, const gnti_rates *rates)
{
    const gnti_step_counts c = { .rows = load->rows,
                                 .halo_rows = load->halo_rows,
                                 .tiles = 1.0,
                                 .arcs = { load->arcs_in, load->arcs_out },
                                 .loss_arcs = load->arcs_out,
                                 .entries = (double)f->facts.num_entries * load->rows /
                                            fmax((double)f->num_nodes, 1.0),
                                 .weighted = f->facts.weighted };

    return compute_all(f->eval, &c, rates);
}

static double seconds_a_byte(const gnti_link *link)
{
    return link->bytes_per_second > 0.0 ? 1.0 / link->bytes_per_second : 0.0;
}

/* A tree up and down, and each value sent and received once less a share. */
static double sum_seconds(const gnti_load *load, const gnti_link *link, double bytes)
{
    const double ranks = (double)load->num_ranks;

    return 2.0 * ceil(log2(fmax(ranks, 1.0))) * link->latency +
           2.0 * bytes * (ranks - 1.0) / fmax(ranks, 1.0) * seconds_a_byte(link);
}

/* ---- a step of several ranks ---------------------------------------------------------------------------------------- */

/* Ranks as a step sees them. */
typedef struct ensemble {
    const gnti_forecast *f;
    const gnti_load *loads;
    const gnti_rates *rates;
    int32_t num;
    const gnti_link *link;
    bool overlap;
} ensemble;

static double compute_at(const ensemble *e, int32_t rank, int64_t index)
{
    const gnti_step_counts c = counts_of(e->f, &e->loads[rank]);
    const gnti_op_work w = gnti_program_op_work(e->f->step, index, &c);

    return gnti_rates_seconds(&e->rates[rank], w.kind, w.flops, w.bytes);
}

/* Seconds that messages of an op take longer than what can be computed meanwhile. */
static double exposed_at(const ensemble *e, int32_t rank, int64_t index)
{
    const gnti_load *load = &e->loads[rank];
    const gnti_step_counts c = counts_of(e->f, load);
    const gnti_op_work w = gnti_program_op_work(e->f->step, index, &c);
    double seconds = 0.0;

    if (w.sum_bytes > 0.0) /* and the statistics of the loss */
        return sum_seconds(load, e->link, w.sum_bytes) + sum_seconds(load, e->link, 0.0);
    if (w.wire_bytes_a_row > 0.0 && c.halo_rows > 0.0)
        seconds =
            load->num_peers * e->link->latency + c.halo_rows * w.wire_bytes_a_row * seconds_a_byte(e->link);
    if (e->overlap && c.rows > c.halo_rows && index + 1 < gnti_program_num_ops(e->f->step))
        seconds -= (1.0 - c.halo_rows / c.rows) * compute_at(e, rank, index + 1);
    return fmax(seconds, 0.0);
}

/* Whether all ranks wait for the slowest at an op: not where each has enough to do while rows travel. */
static bool is_meeting(const ensemble *e, int64_t index)
{
    const gnti_step_counts none = { 0 };
    const gnti_op_work w = gnti_program_op_work(e->f->step, index, &none);

    if (!w.meets || e->num < 2)
        return false;
    for (int32_t r = 0; r < e->num; r++)
        if (!e->overlap || w.wire_bytes_a_row <= 0.0 || exposed_at(e, r, index) > 0.0)
            return true;
    return false;
}

double gnti_forecast_step(const gnti_forecast *f, const gnti_load *loads, const gnti_rates *rates,
                          int32_t num, const gnti_link *link, bool apart)
{
    const ensemble e = { f, loads, rates, num, link, apart && (f->disabled & GNTI_PASS_OVERLAP) == 0 };
    const int64_t ops = gnti_program_num_ops(f->step);
    double seconds = 0.0;

    for (int64_t first = 0, end; first < ops; first = end) {
        double longest = 0.0, messages = 0.0;

        for (end = first + 1; end < ops && !is_meeting(&e, end); end++)
            ;
        for (int32_t r = 0; r < num; r++) {
            double own = 0.0;

            for (int64_t i = first; i < end; i++)
                own += compute_at(&e, r, i);
            longest = fmax(longest, own);
            messages = fmax(messages, num > 1 ? exposed_at(&e, r, first) : 0.0);
        }
        seconds += longest + messages;
    }
    return seconds;
}

/* ---- slopes -------------------------------------------------------------------------------------------------------- */

/* Of a rank with what its messages take. */
static double seconds_of(const gnti_forecast *f, const gnti_load *load, const gnti_rates *rates,
                         const gnti_link *link, bool apart)
{
    const gnti_load two[2] = { *load, *load };
    const gnti_rates both[2] = { *rates, *rates };

    return gnti_forecast_step(f, two, both, 2, link, apart);
}

gnt_status gnti_forecast_get_slopes(gnti_forecast *f, const gnti_load *at, const gnti_rates *rates,
                                    const gnti_link *link, bool apart, gnti_forecast_slopes *out)
{
    gnt_status st = GNT_OK;
    gnti_load rows = *at, arcs = *at, halo = *at, none = { .num_ranks = at->num_ranks };
    gnti_forecast_bytes base, more, empty;
    const double row_step = fmax(SLOPE_STEP * at->rows, 1.0),
                 arc_step = fmax(SLOPE_STEP * 0.5 * (at->arcs_in + at->arcs_out), 1.0);
    const double compute = gnti_forecast_compute(f, at, rates), all = seconds_of(f, at, rates, link, apart);

    rows.rows += row_step;
    arcs.arcs_in += arc_step;
    arcs.arcs_out += arc_step;
    halo.halo_rows += row_step;
    *out = (gnti_forecast_slopes){ .chunk = { .row_seconds = gnti_forecast_compute(f, &rows, rates) - compute,
                                              .arc_seconds =
                                                  gnti_forecast_compute(f, &arcs, rates) - compute } };
    out->chunk.row_seconds /= row_step;
    out->chunk.arc_seconds /= arc_step;
    out->halo_seconds = fmax(seconds_of(f, &halo, rates, link, apart) - all, 0.0) / row_step;
    GNT_TRY(gnti_forecast_memory(f, at, &base));
    GNT_TRY(gnti_forecast_memory(f, &none, &empty));
    GNT_TRY(gnti_forecast_memory(f, &halo, &more));
    out->fixed_bytes = (double)empty.device;
    out->halo_bytes = (double)(more.device - base.device) / row_step;
    out->chunk.bytes_per_row =
        fmax((double)(base.device - empty.device) - out->halo_bytes * at->halo_rows, 0.0) /
        fmax(at->rows, 1.0);
done:
    return st;
}
