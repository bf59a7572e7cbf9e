/* SPDX-License-Identifier: Apache-2.0 */
/* members/NAME/summary.json of a member that has ended: scores of its logits, its settings, epochs and seconds. Labels of test nodes are
 * read here for scores alone.
 */
#include "ensemble/live.h"

#include "base/file.h"

#include <math.h>

static gnt_status score(const gnti_live *run, gnti_metric metric, const gnti_split *split, int part,
                        const float *logits, double *value, gnti_calibration *calibration)
{
    gnt_status st = GNT_OK;
    gnti_metric_scratch *scratch = NULL;
    const gnti_scored s = gnti_prepared_rows(run->data, split, part, logits);

    GNT_TRY(gnti_metric_scratch_create(s.num_rows, s.num_classes, &scratch));
    *value = gnti_metric_compute(metric, &s, scratch);
    if (calibration != NULL && s.kind != GNT_LABELS_REGRESSION)
        gnti_calibration_compute(&s, calibration);
done:
    gnti_metric_scratch_free(&scratch);
    return st;
}

gnt_status gnti_live_member_summary(const gnti_live *run, int32_t member, const float *logits,
                                    const gnti_member *progress)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *spec = &run->spec->members[member];
    const gnti_live_member *m = &run->members[member];
    const gnti_split *split = NULL;
    gnti_metric metric = GNTI_METRIC_AUTO;
    gnti_calibration c = { .nll = NAN, .ece = NAN, .brier = NAN };
    double valid = NAN, test = NAN;
    gnti_json *o = NULL;
    char *path = NULL;

    GNT_TRY(gnti_dataset_find_split(run->data, spec->train.split, &split));
    GNT_TRY(gnti_metric_resolve((gnti_metric)spec->train.metric, run->data->y.kind, &metric));
    GNT_TRY(score(run, metric, split, GNTI_VALID, logits, &valid, NULL));
    GNT_TRY(score(run, metric, split, GNTI_TEST, logits, &test, &c));
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_text(o, "outcome", "complete"));
    GNT_TRY(gnti_json_set_text(o, "how", m->how));
    GNT_TRY(gnti_json_set_text(o, "name", spec->name));
    GNT_TRY(gnti_json_set_int(o, "seed", (int64_t)spec->seed));
    GNT_TRY(gnti_json_set_text(o, "model", spec->model));
    GNT_TRY(gnti_json_set_text(o, "differs", spec->differs));
    GNT_TRY(gnti_json_set_text(o, "metric", gnti_metric_name(metric)));
    GNT_TRY(gnti_json_set_number(o, "valid_metric", valid));
    GNT_TRY(gnti_json_set_number(o, "test_metric", test));
    GNT_TRY(gnti_json_set_number(o, "nll", c.nll));
    GNT_TRY(gnti_json_set_number(o, "brier", c.brier));
    GNT_TRY(gnti_json_set_number(o, "ece", c.ece));
    GNT_TRY(gnti_json_set_int(o, "best_epoch", (int64_t)progress->best_epoch));
    GNT_TRY(gnti_json_set_int(o, "epochs", m->epochs_trained));
    GNT_TRY(gnti_json_set_number(o, "seconds", m->seconds));
    GNT_TRY(gnti_path_join(m->folder, "summary.json", &path));
    GNT_TRY(gnti_json_write(path, o));
done:
    gnti_json_free(&o);
    gnti_free(path);
    return st;
}
