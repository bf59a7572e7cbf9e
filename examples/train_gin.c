/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of one's own, GIN (Xu, Hu, Leskovec, Jegelka, ICLR 2019), and a program that trains it.
 *
 *     h' = W2 relu(W1 (h + eps h + sum of the neighbours' h) + b1) + b2
 *
 * The layer states its formula once; gradients, memory, threads and several members at a time come with it.
 *   program: train_gin graph.h5 [model text]
 *   plug-in: gnntrain train graph.h5 --plugin libgin.so --model 'gin:64:eps=0.1, gin:64, linear'
 */
#include <gnntrain/gnntrain.h>

#include <stdio.h>

typedef struct gin {
    float eps_start;
    gnt_param eps, w1, b1, w2, b2;
} gin;

static const gnt_option gin_options[] = {
    GNT_OPTION_FLOAT("eps", gin, eps_start, 0.0, -1.0, 1.0, "start of the learnable self weight"),
    GNT_OPTION_END,
};

static void gin_build(void *state, gnt_builder *b)
{
    gin *l = state;
    const int64_t in = gnt_builder_in(b), out = gnt_builder_out(b);
    const gnt_init zero = { GNT_INIT_CONST, 0.0f }, glorot = { GNT_INIT_GLOROT, 1.0f };

    l->eps = gnt_builder_param(b, "eps", 1, 1, (gnt_init){ GNT_INIT_CONST, l->eps_start });
    l->w1 = gnt_builder_param(b, "w1", in, out, glorot); /* (M, in, out): M is added for you */
    l->b1 = gnt_builder_param(b, "b1", 1, out, zero);
    l->w2 = gnt_builder_param(b, "w2", out, out, glorot);
    l->b2 = gnt_builder_param(b, "b2", 1, out, zero);
}

static gnt_var gin_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const gin *l = state;
    const gnt_var own = gnt_self(t, in->adj, in->h); /* the rows aggregate writes; in full batch h itself */
    const gnt_var self = gnt_add(t, own, gnt_scale(t, own, gnt_use(t, l->eps)));
    const gnt_var sum = gnt_add(t, self, gnt_aggregate(t, in->adj, GNT_AGG_SUM, in->h));
    const gnt_var mid = gnt_relu(t, gnt_linear(t, sum, l->w1, l->b1));

    return gnt_linear(t, mid, l->w2, l->b2);
}

static const gnt_layer_class gin_layer = {
    .struct_size = sizeof(gnt_layer_class),
    .name = "gin",
    .state_size = sizeof(gin),
    .options = gin_options,
    .build = gin_build,
    .forward = gin_forward,
};

/* What `--plugin` looks for. */
GNT_API gnt_status gnt_plugin_init(gnt_context *ctx);
gnt_status gnt_plugin_init(gnt_context *ctx)
{
    return gnt_layer_register(ctx, &gin_layer);
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    gnt_context *ctx = NULL;
    gnt_dataset *data = NULL;
    gnt_model *model = NULL;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };

    GNT_TRY(gnt_context_create("device=auto", &ctx)); /* the CPU when there is no GPU */
    GNT_TRY(gnt_layer_register(ctx, &gin_layer));
    GNT_TRY(gnt_check_gradient(ctx, "gin:eps=0.1", 1e-2)); /* while writing a layer; costs a moment */
    GNT_TRY(gnt_dataset_open(ctx, argc > 1 ? argv[1] : "graph.h5", &data));
    GNT_TRY(gnt_model_create(data, argc > 2 ? argv[2] : "gin:64:eps=0.1, gin:64, linear", &model));
    GNT_TRY(gnt_trainer_create(model, data, NULL, &tr)); /* NULL: one member, default options */
    while (gnt_trainer_next(tr, &s))
        printf("epoch %3lld  loss %.4f  valid %.3f\n", (long long)s.epoch, s.train_loss, s.valid_metric);
    GNT_TRY(gnt_trainer_status(tr));
    GNT_TRY(gnt_trainer_finish(tr));
    printf("test %.3f\n", gnt_trainer_test_metric(tr, 0));
done:
    if (st != GNT_OK)
        fprintf(stderr, "train_gin: %s\n", gnt_last_error());
    gnt_trainer_free(&tr);
    gnt_model_free(&model);
    gnt_dataset_free(&data);
    gnt_context_free(&ctx);
    return st == GNT_OK ? 0 : 1;
}
