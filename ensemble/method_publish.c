/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that nobody trained (a mean, a snapshot) as a predictor: a trainer of one member that does no epoch gives logits, norm
 * statistics, and the files of a member, which eval, predict, export and combine read like any other.
 */
#include "ensemble/method_state.h"

#include "base/alloc.h"
#include "base/file.h"
#include "train/prepare.h"

#include <math.h>
#include <string.h>

gnt_status gnti_publisher_open(const gnti_method_run *mr, int32_t member, gnti_publisher *out)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *like = &mr->spec->members[member];
    gnti_publisher p = { .mr = mr, .like = like };
    gnt_trainer_config config = like->train;
    gnti_member_options options;

    GNT_TRY(gnti_spec_member_dataset(like, mr->data, &p.view));
    p.data = p.view != NULL ? p.view : mr->data;
    GNT_TRY(gnt_model_create_with(p.data, like->model, &like->net, &p.model));
    config.run = config.trace = config.partition = config.devices = NULL;
    config.resume = "never";
    config.time_limit = 0.0;
    config.source = GNTI_SOURCE_WORD_FULL;
    config.clusters = config.order_seed = 0;
    config.clusters_per_batch = 1;
    gnti_member_options_init(p.model, &config, 0, &options);
    options.seed = like->seed;
    options.dropout = like->net.dropout;
    options.input_dropout = like->net.input_dropout;
    GNT_TRY(gnti_trainer_create_members(p.model, p.data, &config, &options, 1, &p.tr));
    GNT_TRY(gnti_alloc_array(&p.logits, p.data->num_nodes * gnti_model_out_width(p.model) + 1));
    *out = p;
    memset(&p, 0, sizeof p);
done:
    gnti_publisher_close(&p);
    return st;
}

void gnti_publisher_close(gnti_publisher *p)
{
    gnt_trainer_free(&p->tr);
    gnt_model_free(&p->model);
    gnt_dataset_free(&p->view);
    gnti_free(p->logits);
    p->logits = NULL;
}

gnt_status gnti_publisher_set(gnti_publisher *p, const float *weights, bool refresh)
{
    gnt_status st = GNT_OK;
    gnti_member_state state = { 0 };

    GNT_TRY(gnti_trainer_take_member(p->tr, 0, &state));
    memcpy(state.weights, weights, (size_t)state.num_floats * sizeof *weights);
    memcpy(state.best, weights, (size_t)state.num_floats * sizeof *weights);
    GNT_TRY(gnti_trainer_put_member(p->tr, 0, &state));
    p->num_floats = state.num_floats;
    if (refresh)
        GNT_TRY(gnti_trainer_refresh_norms(p->tr));
    GNT_TRY(gnti_trainer_member_logits(p->tr, 0, false, p->logits));
done:
    gnti_member_state_free(&state);
    return st;
}

gnt_status gnti_publisher_write(gnti_publisher *p, const char *name)
{
    gnt_status st = GNT_OK;
    char *folder = NULL, *path = NULL;

    GNT_TRY(gnti_method_paths(p->mr, name, "logits.npy", &folder, &path));
    GNT_TRY(gnti_folder_create(folder));
    GNT_TRY(gnti_trainer_save_member(p->tr, 0, folder, true));
    GNT_TRY(gnti_votes_write(path, p->mr->data, p->logits, gnti_model_out_width(p->model)));
done:
    gnti_free(folder);
    gnti_free(path);
    return st;
}

gnt_status gnti_publisher_quality(const gnti_publisher *p, const float *logits, double *out,
                                  int64_t *num_rows)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    gnti_metric_scratch *scratch = NULL;
    gnti_metric metric = GNTI_METRIC_AUTO;
    gnti_scored rows;

    *out = NAN;
    GNT_TRY(gnti_dataset_find_split(p->data, p->like->train.split, &split));
    GNT_TRY(gnti_metric_resolve((gnti_metric)p->like->train.metric, p->data->y.kind, &metric));
    rows = gnti_prepared_rows(p->data, split, GNTI_VALID, logits);
    *num_rows = rows.num_rows;
    GNT_TRY(gnti_metric_scratch_create(rows.num_rows, rows.num_classes, &scratch));
    *out = gnti_metric_compute(metric, &rows, scratch) * (gnti_metric_higher_is_better(metric) ? 1.0 : -1.0);
done:
    gnti_metric_scratch_free(&scratch);
    return st;
}
