/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters: one block each for weights, gradients, moments and the best weights so far, all with the same layout
 *
 *     | parameter 0: member 0 | member 1 | ... | pad to 64 bytes | parameter 1: ... |
 *
 * so that one kernel walks them all. Initial values are draws keyed by the member's seed, the parameter's full name, row and
 * column: a member of many starts as it would alone.
 */
#include "nn/params.h"

#include "nn/model.h"

#include <math.h>

enum { ALIGN_FLOATS = 16 };

gnt_status gnti_params_layout(const gnt_model *model, int32_t num_members, gnti_param_info **out,
                              int64_t *num_floats)
{
    gnt_status st = GNT_OK;
    gnti_param_info *infos = NULL;
    int64_t offset = 0;

    GNT_TRY(gnti_calloc_array(&infos, gnti_max_i64(model->num_params, 1)));
    for (int32_t i = 0; i < model->num_params; i++) {
        const gnti_param_decl *d = &model->params[i];
        size_t count = 0;

        infos[i] = (gnti_param_info){ d->name, d->layer, d->kind, d->in, d->out, offset };
        GNT_TRY(gnti_mul_size((size_t)num_members, (size_t)(d->in * d->out), &count));
        offset += (int64_t)gnti_round_up(count, ALIGN_FLOATS);
        GNT_CHECK(offset < (int64_t)1 << 40, GNT_ERR_LIMIT,
                  "parameters of %d members need more than 2^40 values", num_members);
    }
    *num_floats = offset;
    *out = infos;
    infos = NULL;
done:
    gnti_free(infos);
    return st;
}

gnt_status gnti_params_list(const gnt_model *model, gnti_param_info **out, int32_t *num, int64_t *num_floats)
{
    *num = model->num_params;
    return gnti_params_layout(model, 1, out, num_floats);
}

static gnt_status alloc_block(gnti_params *p, int block)
{
    return gnti_buffer_alloc(p->dev, (size_t)gnti_max_i64(p->num_floats, 1) * sizeof(float),
                             &p->blocks[block]);
}

gnt_status gnti_params_create(const gnt_model *model, gnt_device *dev, int32_t num_members,
                              int32_t num_moments, gnti_params **out)
{
    gnt_status st = GNT_OK;
    gnti_params *p = NULL;

    GNT_CHECK(model != NULL && dev != NULL && out != NULL, GNT_ERR_ARG,
              "model, device and out must not be NULL");
    GNT_CHECK(num_members >= 1, GNT_ERR_ARG, "%d members, needed is 1 at least", num_members);
    GNT_CHECK(num_moments >= -1 && num_moments <= 2, GNT_ERR_ARG, "%d moments are outside of -1 to 2",
              num_moments);
    GNT_TRY(gnti_calloc_array(&p, 1));
    p->dev = dev;
    p->model = model;
    p->num_members = num_members;
    p->num_params = model->num_params;
    p->num_moments = num_moments;
    GNT_TRY(gnti_params_layout(model, num_members, &p->infos, &p->num_floats));
    GNT_TRY(gnti_stream_open(dev, 0, &p->stream));
    GNT_TRY(alloc_block(p, GNTI_BLOCK_WEIGHTS));
    if (num_moments >= 0)
        GNT_TRY(alloc_block(p, GNTI_BLOCK_GRADS));
    for (int32_t i = 0; i < num_moments; i++)
        GNT_TRY(alloc_block(p, GNTI_BLOCK_MOMENT1 + i));
    *out = p;
    p = NULL;
done:
    gnti_params_free(&p);
    return st;
}

void gnti_params_free(gnti_params **params)
{
    if (params == NULL || *params == NULL)
        return;
    for (int i = 0; i < 5; i++)
        gnti_buffer_free(&(*params)->blocks[i]);
    gnti_stream_close(&(*params)->stream);
    gnti_free((*params)->infos);
    gnti_free(*params);
    *params = NULL;
}

gnt_status gnti_params_take_turn(gnti_params *params, gnt_stream *stream)
{
    gnt_status st = GNT_OK;

    if (params->busy != NULL && params->busy != stream)
        GNT_TRY(gnti_stream_finish(params->busy));
    params->busy = stream;
done:
    return st;
}

/* Before the host, or the blocks' own stream, touches them. */
static gnt_status wait_busy(const gnti_params *params)
{
    return params->busy != NULL ? gnti_stream_finish(params->busy) : GNT_OK;
}

int32_t gnti_params_count(const gnti_params *params)
{
    return params->num_params;
}

const gnti_param_info *gnti_params_info(const gnti_params *params, int32_t index)
{
    return &params->infos[index];
}

int64_t gnti_params_num_floats(const gnti_params *params)
{
    return params->num_floats;
}

/* (in, out) values of one parameter of a member with this seed. */
static void draw(const gnti_param_info *info, gnt_init init, uint64_t seed, float *out)
{
    const gnti_philox_key key = gnti_member_key(seed, 0);
    const uint64_t hash = gnti_fnv1a(info->name);
    const float limit = init.value * (float)sqrt(6.0 / (double)(info->in + info->out));

    for (int64_t r = 0; r < info->in; r++)
        for (int64_t c = 0; c < info->out; c++)
            out[r * info->out + c] =
                init.kind == GNT_INIT_CONST
                    ? init.value
                    : limit *
                          (2.0f * gnti_uniform(gnti_draw_init(key, hash, (uint32_t)r, (uint32_t)c)) - 1.0f);
}

static size_t member_offset(const gnti_param_info *info, int32_t member)
{
    return (size_t)(info->offset + member * info->in * info->out) * sizeof(float);
}

static gnt_status check_member(const gnti_params *p, int32_t member)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(member >= 0 && member < p->num_members, GNT_ERR_ARG, "member %d is outside of 0 to %d", member,
              p->num_members - 1);
done:
    return st;
}

gnt_status gnti_params_init_member(gnti_params *params, int32_t member, uint64_t seed)
{
    gnt_status st = GNT_OK;
    float *values = NULL;
    int64_t largest = 1;

    GNT_TRY(wait_busy(params));
    GNT_TRY(check_member(params, member));
    for (int32_t i = 0; i < params->num_params; i++)
        largest = gnti_max_i64(largest, params->infos[i].in * params->infos[i].out);
    GNT_TRY(gnti_alloc_array(&values, largest));
    for (int32_t i = 0; i < params->num_params; i++) {
        const gnti_param_info *info = &params->infos[i];

        draw(info, params->model->params[i].init, seed, values);
        GNT_TRY(gnti_upload(params->stream, params->blocks[GNTI_BLOCK_WEIGHTS], member_offset(info, member),
                            values, (size_t)(info->in * info->out) * sizeof(float)));
        GNT_TRY(gnti_stream_finish(params->stream));
    }
done:
    gnti_free(values);
    return st;
}

static gnt_status find_block(const gnti_params *params, int block, gnt_buffer **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(block >= GNTI_BLOCK_WEIGHTS && block <= GNTI_BLOCK_BEST && params->blocks[block] != NULL,
              GNT_ERR_STATE, "there is no block %d of parameters (moments: %d)", block, params->num_moments);
    *out = params->blocks[block];
done:
    return st;
}

gnt_status gnti_params_read(const gnti_params *params, int block, float *out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    GNT_TRY(wait_busy(params));
    GNT_TRY(find_block(params, block, &buf));
    GNT_TRY(gnti_download(params->stream, out, buf, 0, (size_t)params->num_floats * sizeof(float)));
    GNT_TRY(gnti_stream_finish(params->stream));
done:
    return st;
}

gnt_status gnti_params_write(gnti_params *params, int block, const float *in)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    if (block == GNTI_BLOCK_BEST && params->blocks[GNTI_BLOCK_BEST] == NULL)
        GNT_TRY(alloc_block(params, GNTI_BLOCK_BEST));
    GNT_TRY(wait_busy(params));
    GNT_TRY(find_block(params, block, &buf));
    GNT_TRY(gnti_upload(params->stream, buf, 0, in, (size_t)params->num_floats * sizeof(float)));
    GNT_TRY(gnti_stream_finish(params->stream));
done:
    return st;
}

int64_t gnti_params_member_floats(const gnti_params *params)
{
    int64_t count = 0;

    for (int32_t i = 0; i < params->num_params; i++)
        count += params->infos[i].in * params->infos[i].out;
    return count;
}

gnt_status gnti_params_read_member(const gnti_params *params, int block, int32_t member, float *out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    GNT_TRY(wait_busy(params));
    GNT_TRY(check_member(params, member));
    GNT_TRY(find_block(params, block, &buf));
    for (int32_t i = 0; i < params->num_params; i++) {
        const gnti_param_info *info = &params->infos[i];
        const int64_t count = info->in * info->out;

        GNT_TRY(gnti_download(params->stream, out, buf, member_offset(info, member),
                              (size_t)count * sizeof(float)));
        out += count;
    }
    GNT_TRY(gnti_stream_finish(params->stream));
done:
    return st;
}

gnt_status gnti_params_write_member(gnti_params *params, int block, int32_t member, const float *in)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    if (block == GNTI_BLOCK_BEST && params->blocks[GNTI_BLOCK_BEST] == NULL)
        GNT_TRY(alloc_block(params, GNTI_BLOCK_BEST));
    GNT_TRY(wait_busy(params));
    GNT_TRY(check_member(params, member));
    GNT_TRY(find_block(params, block, &buf));
    for (int32_t i = 0; i < params->num_params; i++) {
        const gnti_param_info *info = &params->infos[i];
        const int64_t count = info->in * info->out;

        GNT_TRY(
            gnti_upload(params->stream, buf, member_offset(info, member), in, (size_t)count * sizeof(float)));
        in += count;
    }
    GNT_TRY(gnti_stream_finish(params->stream));
done:
    return st;
}

gnt_status gnti_params_keep_best(gnti_params *params, int32_t member)
{
    gnt_status st = GNT_OK;

    GNT_TRY(wait_busy(params));
    GNT_TRY(check_member(params, member));
    if (params->blocks[GNTI_BLOCK_BEST] == NULL)
        GNT_TRY(alloc_block(params, GNTI_BLOCK_BEST));
    for (int32_t i = 0; i < params->num_params; i++) {
        const gnti_param_info *info = &params->infos[i];
        const size_t offset = member_offset(info, member);

        GNT_TRY(
            gnti_copy(params->stream, &(gnt_copy_args){ params->blocks[GNTI_BLOCK_BEST], offset,
                                                        params->blocks[GNTI_BLOCK_WEIGHTS], offset,
                                                        (size_t)(info->in * info->out) * sizeof(float) }));
    }
    GNT_TRY(gnti_stream_finish(params->stream));
done:
    return st;
}

/* Programs hold on to the weights' buffer, so the contents change places. Gradients, which every step writes anew, lend their
 * room: a run that fitted its device must not fail at its end. */
gnt_status gnti_params_use_best(gnti_params *params, bool best)
{
    gnt_status st = GNT_OK;
    gnt_buffer *own = NULL, *temp = params->blocks[GNTI_BLOCK_GRADS];
    const size_t bytes = (size_t)params->num_floats * sizeof(float);
    gnt_buffer *w = params->blocks[GNTI_BLOCK_WEIGHTS], *b = params->blocks[GNTI_BLOCK_BEST];

    if (best == params->best_in_use)
        return GNT_OK;
    GNT_CHECK(b != NULL, GNT_ERR_STATE, "no best weights were kept");
    GNT_TRY(wait_busy(params));
    if (temp == NULL) {
        GNT_TRY(gnti_buffer_alloc(params->dev, bytes > 0 ? bytes : 1, &own));
        temp = own;
    }
    GNT_TRY(gnti_copy(params->stream, &(gnt_copy_args){ temp, 0, w, 0, bytes }));
    GNT_TRY(gnti_copy(params->stream, &(gnt_copy_args){ w, 0, b, 0, bytes }));
    GNT_TRY(gnti_copy(params->stream, &(gnt_copy_args){ b, 0, temp, 0, bytes }));
    GNT_TRY(gnti_stream_finish(params->stream));
    params->best_in_use = best;
done:
    gnti_buffer_free(&own);
    return st;
}
