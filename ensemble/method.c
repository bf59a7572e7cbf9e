/* SPDX-License-Identifier: Apache-2.0 */
/* Methods by name, and what all of them share: outputs, the arrays that options point to. An independent ensemble is the method that
 * has nothing to do: its members are its outputs.
 */
#include "ensemble/method_state.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static const gnti_method_class *class_of(int32_t method)
{
    static const gnti_method_class *const classes[] = { [GNTI_METHOD_INDEPENDENT] = &gnti_method_independent,
                                                        [GNTI_METHOD_SNAPSHOT] = &gnti_method_snapshot,
                                                        [GNTI_METHOD_SWA] = &gnti_method_swa,
                                                        [GNTI_METHOD_SWAP] = &gnti_method_swap,
                                                        [GNTI_METHOD_EDDE] = &gnti_method_edde,
                                                        [GNTI_METHOD_SOUP] = &gnti_method_soup };

    return classes[method];
}

gnt_status gnti_method_shape(gnti_spec *spec, const gnt_dataset *data)
{
    const gnti_method_class *c = class_of(spec->method);

    return c->shape != NULL ? c->shape(spec, data) : GNT_OK;
}

gnti_member_range gnti_method_waits_for(const gnti_spec *spec, int32_t member)
{
    const gnti_method_class *c = class_of(spec->method);

    return c->waits_for != NULL ? c->waits_for(spec, member) : (gnti_member_range){ 0 };
}

/* ---- a run ------------------------------------------------------------------------------------------------------------- */

gnt_status gnti_method_add_output(gnti_method_run *mr, const char *name, const char *tag, int32_t member)
{
    gnt_status st = GNT_OK;
    gnti_method_output *grown = NULL, *o;

    GNT_TRY(gnti_calloc_array(&grown, mr->num_outputs + 1));
    if (mr->num_outputs > 0)
        memcpy(grown, mr->outputs, (size_t)mr->num_outputs * sizeof *grown);
    gnti_free(mr->outputs);
    mr->outputs = grown;
    o = &grown[mr->num_outputs++];
    snprintf(o->name, sizeof o->name, "%s%s%s", name, tag[0] != '\0' ? "-" : "", tag);
    o->member = member;
    o->weight = 1.0;
done:
    return st;
}

gnt_status gnti_method_open(gnt_context *ctx, const gnti_spec *spec, const gnt_dataset *data, const char *run,
                            gnti_method_run **out)
{
    gnt_status st = GNT_OK;
    gnti_method_run *mr = NULL;

    GNT_TRY(gnti_calloc_array(&mr, 1));
    *mr = (gnti_method_run){
        .ctx = ctx, .spec = spec, .data = data, .run = run, .class = class_of(spec->method)
    };
    GNT_TRY(gnti_calloc_array(&mr->weight, spec->num_members + 1));
    GNT_TRY(gnti_calloc_array(&mr->apart, spec->num_members + 1));
    GNT_TRY(mr->class->list(mr));
    *out = mr;
    mr = NULL;
done:
    gnti_method_close(&mr);
    return st;
}

void gnti_method_close(gnti_method_run **run)
{
    gnti_method_run *mr = *run;

    if (mr == NULL)
        return;
    *run = NULL;
    for (int32_t m = 0; mr->weight != NULL && m < mr->spec->num_members; m++)
        gnti_free(mr->weight[m]);
    for (int32_t m = 0; mr->apart != NULL && m < mr->spec->num_members; m++)
        gnti_free(mr->apart[m]);
    gnti_free(mr->weight);
    gnti_free(mr->apart);
    gnti_free(mr->outputs);
    gnti_free(mr);
}

gnt_status gnti_method_options(gnti_method_run *mr, int32_t member, gnti_member_options *options)
{
    return mr->class->options != NULL ? mr->class->options(mr, member, options) : GNT_OK;
}

gnt_status gnti_method_start(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    return mr->class->start != NULL ? mr->class->start(mr, tr, slot, member) : GNT_OK;
}

gnt_status gnti_method_after_epoch(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                                   bool *out_ended)
{
    return mr->class->after_epoch != NULL ? mr->class->after_epoch(mr, tr, slot, member, out_ended) : GNT_OK;
}

gnt_status gnti_method_after_member(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member)
{
    return mr->class->after_member != NULL ? mr->class->after_member(mr, tr, slot, member) : GNT_OK;
}

gnt_status gnti_method_finish(gnti_method_run *mr, const uint8_t *skip)
{
    for (int32_t i = 0; i < mr->num_outputs; i++) {
        const int32_t m = mr->outputs[i].member;

        mr->outputs[i].present = m >= 0 && (skip == NULL || !skip[m]);
    }
    return mr->class->finish != NULL ? mr->class->finish(mr, skip) : GNT_OK;
}

int32_t gnti_method_outputs(const gnti_method_run *mr, const gnti_method_output **out)
{
    *out = mr->outputs;
    return mr->num_outputs;
}

/* ---- independent --------------------------------------------------------------------------------------------------------- */

static gnt_status list_members(gnti_method_run *mr)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < mr->spec->num_members; m++)
        GNT_TRY(gnti_method_add_output(mr, mr->spec->members[m].name, "", m));
done:
    return st;
}

const gnti_method_class gnti_method_independent = { .list = list_members };
