/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that outlive their trainer: kept in files, fetched, averaged.
 *
 * A file is complete or not there, and kept again with the same bytes when a run repeats an epoch.
 */
#include "ensemble/method_state.h"

#include "base/alloc.h"
#include "base/file.h"
#include "datasets/h5_value.h"

#include <math.h>
#include <string.h>

static const char weights_name[] = "/weights", kept_name[] = "kept.h5";

gnt_status gnti_method_paths(const gnti_method_run *mr, const char *name, const char *file, char **folder,
                             char **path)
{
    gnt_status st = GNT_OK;
    char *members = NULL;

    GNT_TRY(gnti_path_join(mr->run, "members", &members));
    GNT_TRY(gnti_path_join(members, name, folder));
    GNT_TRY(gnti_path_join(*folder, file, path));
done:
    gnti_free(members);
    return st;
}

static gnt_status write_weights(const gnti_method_run *mr, const char *name, const float *weights,
                                int64_t num_floats)
{
    gnt_status st = GNT_OK;
    char *folder = NULL, *path = NULL;
    gnti_h5 *file = NULL;

    GNT_TRY(gnti_method_paths(mr, name, kept_name, &folder, &path));
    GNT_TRY(gnti_folder_create(folder));
    GNT_TRY(gnti_h5_create(path, &file));
    GNT_TRY(gnti_h5_write_summed(file, weights_name, GNTI_FILE_F32, 1, &num_floats, weights));
    GNT_TRY(gnti_h5_commit(&file, NULL));
done:
    gnti_h5_close(&file);
    gnti_free(folder);
    gnti_free(path);
    return st;
}

gnt_status gnti_method_keep(const gnti_method_run *mr, const char *name, gnt_trainer *tr, int32_t slot,
                            bool best)
{
    gnt_status st = GNT_OK;
    gnti_member_state state = { 0 };

    GNT_TRY(gnti_trainer_take_member(tr, slot, &state));
    GNT_TRY(write_weights(mr, name, best && state.progress.best_epoch > 0.0 ? state.best : state.weights,
                          state.num_floats));
done:
    gnti_member_state_free(&state);
    return st;
}

gnt_status gnti_method_fetch(const gnti_method_run *mr, const char *name, float **out, int64_t *num_floats)
{
    gnt_status st = GNT_OK;
    char *folder = NULL, *path = NULL;
    gnti_h5 *file = NULL;
    gnti_h5_info info;
    float *weights = NULL;

    GNT_TRY(gnti_method_paths(mr, name, kept_name, &folder, &path));
    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(gnti_h5_expect(file, weights_name, -1, 1, &info));
    GNT_TRY(gnti_alloc_array(&weights, info.num_values + 1));
    GNT_TRY(gnti_h5_read_summed(file, weights_name, GNTI_FILE_F32, 1, &info.num_values, weights));
    *num_floats = info.num_values;
    *out = weights;
    weights = NULL;
done:
    gnti_free(weights);
    gnti_h5_close(&file);
    gnti_free(folder);
    gnti_free(path);
    return st;
}

gnt_status gnti_method_draw(const gnti_method_run *mr, const gnt_model *model, uint64_t seed, float **out,
                            int64_t *num_floats)
{
    gnt_status st = GNT_OK;
    gnti_params *params = NULL;
    float *weights = NULL;

    GNT_TRY(gnti_params_create(model, gnti_context_device(mr->ctx), 1, -1, &params));
    GNT_TRY(gnti_params_init_member(params, 0, seed));
    *num_floats = gnti_params_member_floats(params);
    GNT_TRY(gnti_alloc_array(&weights, *num_floats + 1));
    GNT_TRY(gnti_params_read_member(params, GNTI_BLOCK_WEIGHTS, 0, weights));
    *out = weights;
    weights = NULL;
done:
    gnti_free(weights);
    gnti_params_free(&params);
    return st;
}

gnt_status gnti_method_set_weights(gnt_trainer *tr, int32_t slot, const float *weights, int64_t num_floats)
{
    gnt_status st = GNT_OK;
    gnti_member_state state = { 0 };
    const size_t bytes = (size_t)num_floats * sizeof(float);

    GNT_TRY(gnti_trainer_take_member(tr, slot, &state));
    GNT_CHECK(state.num_floats == num_floats, GNT_ERR_ARG, "%lld weights for a member that has %lld",
              (long long)num_floats, (long long)state.num_floats);
    memcpy(state.weights, weights, bytes);
    memcpy(state.best, weights, bytes);
    if (state.moment1 != NULL)
        memset(state.moment1, 0, bytes);
    if (state.moment2 != NULL)
        memset(state.moment2, 0, bytes);
    GNT_TRY(gnti_trainer_put_member(tr, slot, &state));
done:
    gnti_member_state_free(&state);
    return st;
}

/* ---- means ---------------------------------------------------------------------------------------------------------------- */

gnt_status gnti_running_mean_add(gnti_running_mean *mean, const float *weights, int64_t num_floats)
{
    gnt_status st = GNT_OK;

    if (mean->sum == NULL) {
        GNT_TRY(gnti_calloc_array(&mean->sum, num_floats + 1));
        mean->num_floats = num_floats;
    }
    GNT_CHECK(num_floats == mean->num_floats, GNT_ERR_ARG,
              "the mean of %lld weights and %lld: members differ in shape", (long long)mean->num_floats,
              (long long)num_floats);
    for (int64_t i = 0; i < num_floats; i++)
        mean->sum[i] = ((double)mean->count * mean->sum[i] + (double)weights[i]) / (double)(mean->count + 1);
    mean->count++;
done:
    return st;
}

gnt_status gnti_running_mean_get(const gnti_running_mean *mean, float **out)
{
    gnt_status st = GNT_OK;
    float *weights = NULL;

    GNT_CHECK(mean->count > 0, GNT_ERR_STATE, "the mean of no weights");
    GNT_TRY(gnti_alloc_array(&weights, mean->num_floats + 1));
    for (int64_t i = 0; i < mean->num_floats; i++)
        weights[i] = (float)mean->sum[i];
    *out = weights;
done:
    return st;
}

void gnti_running_mean_free(gnti_running_mean *mean)
{
    gnti_free(mean->sum);
    memset(mean, 0, sizeof *mean);
}

gnt_status gnti_states_mean(const gnti_member_state *const *states, const double *share, int32_t num,
                            gnti_member_state *out)
{
    gnt_status st = GNT_OK;
    gnti_member_state made = { 0 };
    double all = 0.0;
    const int64_t n = num > 0 ? states[0]->num_floats : 0;

    for (int32_t k = 0; k < num; k++) {
        GNT_CHECK(states[k]->num_floats == n, GNT_ERR_ARG,
                  "state %d has %lld parameters, state 0 has %lld: members differ in shape", (int)k,
                  (long long)states[k]->num_floats, (long long)n);
        GNT_CHECK(isfinite(share[k]) && share[k] >= 0.0, GNT_ERR_ARG, "the share of state %d is %g", (int)k,
                  share[k]);
        all += share[k];
    }
    GNT_CHECK(all > 0.0, GNT_ERR_ARG, "the mean of %d states with shares that sum to %g", (int)num, all);
    made.seed = states[0]->seed;
    made.num_floats = n;
    gnti_member_init(&made.progress);
    GNT_TRY(gnti_alloc_array(&made.weights, n + 1));
    GNT_TRY(gnti_alloc_array(&made.best, n + 1));
    if (states[0]->moment1 != NULL)
        GNT_TRY(gnti_calloc_array(&made.moment1, n + 1));
    if (states[0]->moment2 != NULL)
        GNT_TRY(gnti_calloc_array(&made.moment2, n + 1));
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;

        for (int32_t k = 0; k < num; k++)
            sum += share[k] * (double)states[k]->weights[i];
        made.weights[i] = made.best[i] = (float)(sum / all);
    }
    *out = made;
    memset(&made, 0, sizeof made);
done:
    gnti_member_state_free(&made);
    return st;
}
