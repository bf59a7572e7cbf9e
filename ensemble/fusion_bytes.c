/* SPDX-License-Identifier: Apache-2.0 */
/* What a group takes: bytes and seconds of its program, planned dry for its members, on the whole graph.
 *
 *   shared   graph and features, once per device              lasting   weights, moments, best weights, values computed once, and what
 *   scratch  the workspace: free between steps                          the host keeps of the group: loss weights, logits
 * Programs of one shape and number of members are planned once (the cache below).
 */
#include "ensemble/fusion_state.h"

#include "base/alloc.h"

#include <string.h>

gnt_status gnti_fusion_forecast_make(const gnti_spec_member *member, int32_t num, const gnt_dataset *data,
                                     gnti_fusion_forecast *out)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config config = member->train; /* texts are lent */
    gnti_fusion_forecast f = { 0 };

    config.seeds = num;
    GNT_TRY(gnt_model_create_with(data, member->model, &member->net, &f.model));
    GNT_TRY(gnti_forecast_create(f.model, data, &config, &f.forecast));
    *out = f;
    f = (gnti_fusion_forecast){ 0 };
done:
    if (st != GNT_OK)
        gnti_error_prefix("member %s: ", member->name);
    gnti_fusion_forecast_free(&f);
    return st;
}

void gnti_fusion_forecast_free(gnti_fusion_forecast *f)
{
    gnti_forecast_free(&f->forecast);
    gnt_model_free(&f->model);
}

double gnti_fusion_epoch_seconds(const gnti_fusion_forecast *f, const gnti_spec_member *member,
                                 const gnti_rates *rates, bool evaluates)
{
    const gnti_load load = gnti_forecast_whole(f->forecast, 1);
    const double step = gnti_forecast_compute(f->forecast, &load, rates);

    return evaluates ? step + gnti_forecast_evaluate(f->forecast, &load, rates) /
                                  (double)gnti_max_i64(member->train.eval_every, 1)
                     : step;
}

static gnt_status measure(const gnti_spec_member *member, int32_t num, const gnt_dataset *data,
                          gnti_fusion_cost *out)
{
    gnt_status st = GNT_OK;
    gnti_fusion_forecast f = { 0 };
    gnti_forecast_bytes bytes;
    const gnti_rates rates = gnti_rates_default(1);
    gnti_load load;

    GNT_TRY(gnti_fusion_forecast_make(member, num, data, &f));
    load = gnti_forecast_whole(f.forecast, 1);
    GNT_TRY(gnti_forecast_memory(f.forecast, &load, &bytes));
    *out = (gnti_fusion_cost){ .shared = bytes.graph + bytes.features,
                               .lasting = bytes.device - bytes.workspace + bytes.rest,
                               .scratch = bytes.workspace,
                               .seconds = gnti_fusion_epoch_seconds(&f, member, &rates, true) };
done:
    gnti_fusion_forecast_free(&f);
    return st;
}

gnt_status gnti_fusion_cost_of(gnti_fusion_cache *cache, int32_t shape, const gnti_spec_member *member,
                               int32_t num, const gnt_dataset *data, gnti_fusion_cost *out)
{
    gnt_status st = GNT_OK;
    gnti_fusion_cost cost;

    for (int64_t i = 0; i < cache->num; i++)
        if (cache->entries[i].shape == shape && cache->entries[i].members == num) {
            *out = cache->entries[i].cost;
            return GNT_OK;
        }
    GNT_TRY(measure(member, num, data, &cost));
    GNT_TRY(gnti_grow_array(&cache->entries, &cache->capacity, cache->num + 1));
    cache->entries[cache->num++] = (gnti_fusion_cached){ .shape = shape, .members = num, .cost = cost };
    *out = cost;
done:
    return st;
}

void gnti_fusion_cache_free(gnti_fusion_cache *cache)
{
    gnti_free(cache->entries);
    memset(cache, 0, sizeof *cache);
}
