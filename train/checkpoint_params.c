/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a model into the layout of a checkpoint and back.
 *
 * A block of gnti_params holds member m of parameter p at info.offset + m in out, with gaps between
 * parameters; a checkpoint packs them in the same order. Names and shapes must agree: a checkpoint of another
 * model never fits by luck.
 */
#include "train/checkpoint.h"

#include "base/alloc.h"

#include <string.h>

gnt_status gnti_checkpoint_shape(const gnti_params *params, int32_t num_members, int32_t member,
                                 gnti_checkpoint **out)
{
    gnt_status st = GNT_OK;
    gnti_checkpoint *cp = NULL;
    const int32_t num = gnti_params_count(params);

    GNT_TRY(gnti_calloc_array(&cp, 1));
    GNT_TRY(gnti_calloc_array(&cp->params, (int64_t)num + 1));
    cp->num_params = num;
    cp->num_members = member < 0 ? num_members : 1;
    for (int32_t i = 0; i < num; i++) {
        const gnti_param_info *info = gnti_params_info(params, i);

        GNT_TRY(gnti_strdup(&cp->params[i].name, info->name));
        cp->params[i].in = info->in;
        cp->params[i].out = info->out;
        cp->params[i].offset = cp->num_floats;
        cp->num_floats += cp->num_members * info->in * info->out;
    }
    *out = cp;
    cp = NULL;
done:
    gnti_checkpoint_free(&cp);
    return st;
}

gnt_status gnti_checkpoint_take_block(gnti_checkpoint *cp, const gnti_params *params, int32_t member,
                                      int block, int which)
{
    gnt_status st = GNT_OK;
    float *all = NULL;

    if (cp->block[which] == NULL)
        GNT_TRY(gnti_alloc_array(&cp->block[which], cp->num_floats));
    if (member >= 0) {
        GNT_TRY(gnti_params_read_member(params, block, member, cp->block[which]));
        return GNT_OK;
    }
    GNT_TRY(gnti_alloc_array(&all, gnti_params_num_floats(params)));
    GNT_TRY(gnti_params_read(params, block, all));
    for (int64_t i = 0; i < cp->num_params; i++) {
        const gnti_checkpoint_param *p = &cp->params[i];

        memcpy(cp->block[which] + p->offset, all + gnti_params_info(params, (int32_t)i)->offset,
               (size_t)(cp->num_members * p->in * p->out) * sizeof(float));
    }
done:
    gnti_free(all);
    return st;
}

/* The file's parameter i must be the model's parameter i. */
gnt_status gnti_checkpoint_check_params(const gnti_checkpoint *cp, const gnti_params *params)
{
    gnt_status st = GNT_OK;
    const int32_t num = gnti_params_count(params);

    GNT_CHECK(cp->num_params == num, GNT_ERR_FORMAT,
              "checkpoint '%s' has %lld parameters but the model has %d", cp->path, (long long)cp->num_params,
              (int)num);
    for (int32_t i = 0; i < num; i++) {
        const gnti_param_info *info = gnti_params_info(params, i);
        const gnti_checkpoint_param *p = &cp->params[i];

        GNT_CHECK(strcmp(p->name, info->name) == 0 && p->in == info->in && p->out == info->out,
                  GNT_ERR_FORMAT,
                  "checkpoint '%s' has parameter '%s' %lld x %lld where the model has '%s' %lld x %lld",
                  cp->path, p->name, (long long)p->in, (long long)p->out, info->name, (long long)info->in,
                  (long long)info->out);
    }
done:
    return st;
}

gnt_status gnti_checkpoint_put_block(const gnti_checkpoint *cp, int which, int32_t member,
                                     gnti_params *params, int32_t num_members, int block)
{
    gnt_status st = GNT_OK;
    float *all = NULL;

    GNT_CHECK(cp->block[which] != NULL, GNT_ERR_FORMAT, "checkpoint '%s' lacks a part that this needs",
              cp->path);
    GNT_CHECK(member < cp->num_members && (member >= 0 || num_members == cp->num_members), GNT_ERR_FORMAT,
              "checkpoint '%s' has %d members, not %d", cp->path, (int)cp->num_members,
              (int)(member >= 0 ? member + 1 : num_members));
    GNT_TRY(gnti_checkpoint_check_params(cp, params));
    GNT_TRY(gnti_calloc_array(&all, gnti_params_num_floats(params)));
    for (int64_t i = 0; i < cp->num_params; i++) {
        const gnti_checkpoint_param *p = &cp->params[i];
        const int64_t from = p->offset + (member < 0 ? 0 : member * p->in * p->out);

        memcpy(all + gnti_params_info(params, (int32_t)i)->offset, cp->block[which] + from,
               (size_t)(num_members * p->in * p->out) * sizeof(float));
    }
    GNT_TRY(gnti_params_write(params, block, all));
done:
    gnti_free(all);
    return st;
}
