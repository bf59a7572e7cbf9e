/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: members that run as one program. Two members fuse when their programs are equal but for what is a hyper or a loss weight
 * (train/member.h), they see the same data and stand at the same epoch.
 *
 * A group is cut to what fits a device (bytes by the planner run dry), and into as many pieces as keep all devices busy: pieces of
 * members in proportion to speed where there are at least as many members as devices, else each member alone, on as many devices
 * as its place gives it.
 */
#ifndef GNTI_ENSEMBLE_FUSION_H
#define GNTI_ENSEMBLE_FUSION_H

#include "ensemble/spec.h"
#include "train/forecast.h"

typedef struct gnti_fused_group {
    int32_t *members; /* (num_members) indexes into the spec, ascending; owned */
    int32_t num_members;
    int64_t epoch; /* where they stand */
    int64_t
        lasting_bytes; /* weights, moments, best; with the graph and features counted apart in shared_bytes */
    int64_t scratch_bytes; /* of one step */
    int64_t shared_bytes;  /* graph and features, once per device however many groups are there */
    double epoch_seconds;  /* predicted at the rates of an ordinary machine (gnti_rates_default) */
} gnti_fused_group;

/* A text that is equal for members that fuse; to be freed. */
gnt_status gnti_fusion_key(const gnti_spec_member *member, char **out);
/* The same without what they see of the data: equal for members whose programs take as many bytes and seconds. */
gnt_status gnti_fusion_shape(const gnti_spec_member *member, char **out);

/* The planner run dry for so many members like this one, as one program; data may be a header. Zeroed before use, to be freed. */
typedef struct gnti_fusion_forecast {
    gnt_model *model;
    gnti_forecast *forecast;
} gnti_fusion_forecast;
gnt_status gnti_fusion_forecast_make(const gnti_spec_member *member, int32_t num, const gnt_dataset *data,
                                     gnti_fusion_forecast *out);
void gnti_fusion_forecast_free(gnti_fusion_forecast *f);
/* Seconds of an epoch: a step, and (evaluates) an evaluation every so many epochs as the member has it. A virtual clock counts
 * steps alone. */
double gnti_fusion_epoch_seconds(const gnti_fusion_forecast *f, const gnti_spec_member *member,
                                 const gnti_rates *rates, bool evaluates);

typedef struct gnti_grouping {
    const gnti_spec *spec;
    const int64_t *epochs;   /* (num_members) where each stands, NULL: 0 */
    const uint8_t *pending;  /* (num_members) still to be trained, NULL: all */
    const double *speeds;    /* (num_devices) relative */
    const int64_t *capacity; /* (num_devices) bytes, 0: no limit */
    int32_t num_devices;
    int32_t max_members; /* of a group, 0: no limit */
} gnti_grouping;

/* The groups, ordered by their first member; to be freed with gnti_fused_groups_free. ERR_NOMEM names a member that does not fit, even
 * over all devices together. */
gnt_status gnti_fused_groups_form(const gnti_grouping *g, const gnt_dataset *data, gnti_fused_group **out,
                                  int32_t *num);
void gnti_fused_groups_free(gnti_fused_group **groups, int32_t num);

#endif
