/* SPDX-License-Identifier: Apache-2.0 */
/* Until methods themselves are here: members are independent, anything else is refused. Weak, so that what comes takes its place.
 */
#include "base/alloc.h"
#include "ensemble/method.h"

#include <stdio.h>

#define WEAK __attribute__((weak))

struct gnti_method_run {
    gnti_method_output *outputs; /* (num) */
    int32_t num;
};

WEAK gnt_status gnti_method_shape(gnti_spec *spec)
{
    (void)spec;
    return GNT_OK;
}

WEAK int32_t gnti_method_waits_for(const gnti_spec *spec, int32_t member)
{
    (void)spec;
    (void)member;
    return -1;
}

WEAK gnt_status gnti_method_open(gnt_context *ctx, const gnti_spec *spec, const gnt_dataset *data,
                                 const char *run, gnti_method_run **out)
{
    gnt_status st = GNT_OK;
    gnti_method_run *r = NULL;

    (void)ctx;
    (void)data;
    (void)run;
    GNT_CHECK(spec->method == GNTI_METHOD_INDEPENDENT, GNT_ERR_UNSUPPORTED,
              "method number %d is not built: take independent", (int)spec->method);
    GNT_TRY(gnti_calloc_array(&r, 1));
    GNT_TRY(gnti_calloc_array(&r->outputs, spec->num_members));
    r->num = spec->num_members;
    for (int32_t m = 0; m < r->num; m++) {
        snprintf(r->outputs[m].name, sizeof r->outputs[m].name, "%s", spec->members[m].name);
        r->outputs[m].member = m;
        r->outputs[m].weight = 1.0;
    }
    *out = r;
    r = NULL;
done:
    gnti_method_close(&r);
    return st;
}

WEAK void gnti_method_close(gnti_method_run **mr)
{
    if (*mr != NULL)
        gnti_free((*mr)->outputs);
    gnti_free(*mr);
    *mr = NULL;
}

WEAK gnt_status gnti_method_options(gnti_method_run *mr, int32_t member, gnti_member_options *options)
{
    (void)mr;
    (void)member;
    (void)options;
    return GNT_OK;
}

WEAK gnt_status gnti_method_start(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    (void)mr;
    (void)tr;
    (void)slot;
    (void)member;
    return GNT_OK;
}

WEAK gnt_status gnti_method_after_epoch(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                                        bool *out_ended)
{
    (void)out_ended;
    return gnti_method_start(mr, tr, slot, member);
}

WEAK gnt_status gnti_method_after_member(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    return gnti_method_start(mr, tr, slot, member);
}

WEAK gnt_status gnti_method_finish(gnti_method_run *mr, const uint8_t *skip)
{
    for (int32_t m = 0; m < mr->num; m++)
        mr->outputs[m].present = skip == NULL || !skip[m];
    return GNT_OK;
}

WEAK int32_t gnti_method_outputs(const gnti_method_run *mr, const gnti_method_output **out)
{
    *out = mr->outputs;
    return mr->num;
}
