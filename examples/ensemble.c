/* SPDX-License-Identifier: Apache-2.0 */
/* An ensemble from C: a spec, its members trained on the devices that there are, combined by two rules, and asked for predictions in
 * memory. Through experimental_ensemble.h and experimental_predict.h, which promise nothing between versions.
 *
 *   ensemble graph.h5 spec.yaml run-folder
 * A spec that is not there is written first, with four small members. The same call goes on where an earlier one ended.
 */
#include <gnntrain/experimental_ensemble.h>
#include <gnntrain/experimental_predict.h>

#include <stdio.h>
#include <stdlib.h>

static const char spec_text[] = "count: 2\n"
                                "vary:\n"
                                "  - { key: model, values: [\"gcn:16, gcn\", \"sage:16, sage\"] }\n"
                                "train: { epochs: 30 }\n"
                                "combine: greedy\n";

static gnt_status write_spec(const char *path)
{
    FILE *file = fopen(path, "r");

    if (file == NULL)
        return gntx_file_write(path, spec_text);
    fclose(file);
    return GNT_OK;
}

static void show(const gntx_ensemble_progress *p, void *user)
{
    int32_t *ended = user;

    if (p->num_ended > *ended)
        printf("%d of %d members\n", (int)p->num_ended, (int)p->num_members);
    *ended = p->num_ended;
}

static gnt_status train(gnt_context *ctx, const char *spec, const char *data, const char *run)
{
    gnt_status st = GNT_OK;
    gntx_ensemble_options options = { 0 };
    gntx_json *summary = NULL;
    int32_t ended = 0;
    char *old = NULL;

    GNT_TRY(gntx_options_defaults(gntx_ensemble_option_table(), &options));
    old = options.run; /* texts of a filled struct are its own: ours is lent, and taken back below */
    options.run = (char *)run;
    GNT_TRY(gntx_ensemble_train(ctx, spec, data, &options, show, &ended, &summary));
done:
    gntx_json_free(&summary);
    options.run = old;
    gntx_options_free_texts(gntx_ensemble_option_table(), &options);
    return st;
}

/* Once more by the plain mean; the run keeps what its spec said. */
static gnt_status combine(gnt_context *ctx, const char *data, const char *run)
{
    gnt_status st = GNT_OK;
    gntx_combine_options options = { 0 };
    gntx_json *report = NULL;

    GNT_TRY(gntx_options_defaults(gntx_combine_option_table(), &options)); /* how: mean */
    GNT_TRY(gntx_ensemble_combine(ctx, data, &run, 1, &options, &report));
    printf("%lld members combined\n", (long long)gntx_json_length(gntx_json_find(report, "members")));
done:
    gntx_json_free(&report);
    gntx_options_free_texts(gntx_combine_option_table(), &options);
    return st;
}

static gnt_status predict(gnt_context *ctx, const char *data, const char *run)
{
    gnt_status st = GNT_OK;
    const int64_t rows[] = { 0, 1, 2 };
    const gntx_predict_options options = { .what = 1, .seed = -1 }; /* probabilities, of all members */
    gnt_dataset *graph = NULL;
    gntx_rows out = { .row = rows, .num_rows = 3 };

    GNT_TRY(gnt_dataset_open(ctx, data, &graph));
    out.num_columns = gnt_dataset_num_classes(graph);
    out.values = malloc((size_t)(out.num_rows * out.num_columns) * sizeof *out.values);
    GNT_TRY(gntx_predict_rows(ctx, run, &options, &out, NULL));
    for (int64_t i = 0; i < out.num_rows; i++) {
        printf("row %lld:", (long long)rows[i]);
        for (int64_t c = 0; c < out.num_columns; c++)
            printf(" %.4f", (double)out.values[i * out.num_columns + c]);
        printf("\n");
    }
done:
    free(out.values);
    gnt_dataset_free(&graph);
    return st;
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    gnt_context *ctx = NULL;

    if (argc != 4) {
        fprintf(stderr, "usage: ensemble GRAPH SPEC RUN\n");
        return 2;
    }
    GNT_TRY(gnt_context_create(NULL, &ctx));
    GNT_TRY(write_spec(argv[2]));
    GNT_TRY(train(ctx, argv[2], argv[1], argv[3]));
    GNT_TRY(combine(ctx, argv[1], argv[3]));
    GNT_TRY(predict(ctx, argv[1], argv[3]));
done:
    if (st != GNT_OK)
        fprintf(stderr, "ensemble: %s\n", gnt_last_error());
    gnt_context_free(&ctx);
    return st == GNT_OK ? 0 : 1;
}
