/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules, with e the epoch from 0:
 *   step           lr f^(e div s)
 *   cosine         lr (1 + cos(pi e / s)) / 2, 0 behind s            (Loshchilov, Hutter, ICLR 2017, one
 * cycle) warmup-cosine  lr (e + 1) / w for e < w, then cosine over the s - w epochs left plateau        lr
 * f^(drops); a drop after s epochs without a better validation value, then the count starts anew
 *   cycles         lr (1 + cos(pi (e mod s) / s)) / 2                (Huang et al., ICLR 2017): up again after each s epochs
 */
#include "train/schedule.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

void gnti_member_init(gnti_member *member)
{
    memset(member, 0, sizeof *member);
    member->live = 1.0;
    member->plateau_scale = 1.0;
    member->best_value = member->best_valid_metric = member->best_valid_loss = NAN;
    member->train_metric = member->valid_loss = member->valid_metric = NAN;
    member->plateau_best = NAN;
}

static double cosine(double done, double length)
{
    return length <= 0.0 || done >= length ? 0.0 : 0.5 * (1.0 + cos(PI * done / length));
}

double gnti_schedule_lr(const gnt_trainer_config *config, const gnti_member *member, int64_t epoch)
{
    const double e = (double)epoch, warm = (double)config->warmup_epochs;
    const double length = (double)(config->schedule_epochs > 0 ? config->schedule_epochs : config->epochs);

    switch ((gnti_schedule_kind)config->schedule) {
    case GNTI_SCHEDULE_STEP:
        return config->lr * pow(config->schedule_factor, (double)(epoch / config->schedule_epochs));
    case GNTI_SCHEDULE_COSINE:
        return config->lr * cosine(e, length);
    case GNTI_SCHEDULE_WARMUP_COSINE:
        return config->lr * (e < warm ? (e + 1.0) / warm : cosine(e - warm, length - warm));
    case GNTI_SCHEDULE_CYCLES:
        return config->lr *
               cosine((double)(epoch % config->schedule_epochs), (double)config->schedule_epochs);
    case GNTI_SCHEDULE_PLATEAU:
        return config->lr * member->plateau_scale;
    case GNTI_SCHEDULE_CONSTANT:
        break;
    }
    return config->lr;
}

static bool is_better(double value, double than, bool higher_is_better)
{
    if (isnan(value))
        return false;
    return isnan(than) || (higher_is_better ? value > than : value < than);
}

bool gnti_member_observe(gnti_member *member, const gnt_trainer_config *config, int64_t epoch, double value,
                         bool higher_is_better)
{
    const bool best = is_better(value, member->best_value, higher_is_better);

    if (best) {
        member->best_value = value;
        member->best_epoch = (double)epoch;
    }
    if (config->patience > 0 && (double)epoch - member->best_epoch >= (double)config->patience)
        member->live = 0.0;
    if (config->schedule == GNTI_SCHEDULE_PLATEAU) {
        if (is_better(value, member->plateau_best, higher_is_better)) {
            member->plateau_best = value;
            member->plateau_epoch = (double)epoch;
        } else if ((double)epoch - member->plateau_epoch >= (double)config->schedule_epochs) {
            member->plateau_scale *= config->schedule_factor;
            member->plateau_epoch = (double)epoch;
        }
    }
    return best;
}
