/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of gnt_trainer_config and what is checked about one: each row by its bounds, then the
 * pairs that contradict each other. A setting that would have no effect is refused, never ignored.
 */
#include "train/config.h"

#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/option.h"
#include "train/metrics.h"

#include <math.h>
#include <string.h>

#define BIG    9007199254740992.0 /* 2^53: whole numbers that a double holds */
#define CONFIG gnt_trainer_config

const gnt_option gnti_trainer_table[] = {
    GNT_OPTION_GROUP("Training"),
    GNT_OPTION_INT("epochs", CONFIG, epochs, 200, 0, BIG, "passes over the training rows"),
    GNT_OPTION_INT("seed", CONFIG, seed, 0, 0, BIG, "start of all random numbers"),
    GNT_OPTION_INT("seeds", CONFIG, seeds, 1, 1, 4096, "members trained together, member i with seed + i"),
    GNT_OPTION_WORD("optimizer", CONFIG, optimizer, 0, "adam|adamw|sgd", "update rule"),
    GNT_OPTION_DOUBLE("lr", CONFIG, lr, 0.01, 0.0, 1e6, "learning rate"),
    GNT_OPTION_DOUBLE("momentum", CONFIG, momentum, 0.9, 0.0, 1.0, "of sgd"),
    GNT_OPTION_BOOL("nesterov", CONFIG, nesterov, false, "look ahead, of sgd"),
    GNT_OPTION_DOUBLE("beta1", CONFIG, beta1, 0.9, 0.0, 1.0, "decay of the first moment, of adam and adamw"),
    GNT_OPTION_DOUBLE("beta2", CONFIG, beta2, 0.999, 0.0, 1.0,
                      "decay of the second moment, of adam and adamw"),
    GNT_OPTION_DOUBLE("eps", CONFIG, eps, 1e-8, 0.0, 1.0, "added to the root, of adam and adamw"),
    GNT_OPTION_LIST(
        "weight-decay", CONFIG, weight_decay, NULL,
        "rules [layer[:kind]:]value; layers from 1, kinds weight, bias, norm; adamw: 0.01 when not given"),
    GNT_OPTION_WORD("schedule", CONFIG, schedule, 0, "constant|step|cosine|warmup-cosine|plateau|cycles",
                    "how the learning rate changes"),
    GNT_OPTION_INT("schedule-epochs", CONFIG, schedule_epochs, 0, 0, BIG,
                   "step: epochs between drops; cosine: length (0: all); plateau: patience"),
    GNT_OPTION_INT("warmup-epochs", CONFIG, warmup_epochs, 0, 0, BIG, "of warmup-cosine"),
    GNT_OPTION_DOUBLE("schedule-factor", CONFIG, schedule_factor, 0.5, 0.0, 1.0, "drop of step and plateau"),
    GNT_OPTION_DOUBLE("clip", CONFIG, clip, 0.0, 0.0, 1e30, "largest norm of a member's gradient, 0: none"),
    GNT_OPTION_GROUP("Loss and metric"),
    GNT_OPTION_WORD("loss", CONFIG, loss, 0, "auto|softmax|bce|mse", "auto: by the labels"),
    GNT_OPTION_LIST("class-weights", CONFIG, class_weights, NULL, "none, balanced or one number a class"),
    GNT_OPTION_WORD("metric", CONFIG, metric, 0, GNTI_METRIC_WORDS,
                    "auto: accuracy, micro-f1 or mae by the labels"),
    GNT_OPTION_GROUP("Data"),
    GNT_OPTION_TEXT("split", CONFIG, split, NULL, "name of the split; public or the only one when not given"),
    GNT_OPTION_WORD("normalize-features", CONFIG, normalize_features, 0, "none|row",
                    "row: each row sums to 1"),
    GNT_OPTION_WORD("source", CONFIG, source, 0, "full|clusters",
                    "full batch, or batches of random chunks of nodes"),
    GNT_OPTION_INT("clusters", CONFIG, clusters, 0, 0, 1 << 30, "chunks of nodes, of source clusters"),
    GNT_OPTION_INT("clusters-per-batch", CONFIG, clusters_per_batch, 1, 1, 1 << 30, "of source clusters"),
    GNT_OPTION_INT("order-seed", CONFIG, order_seed, 0, 0, (int64_t)1 << 53,
                   "of which chunks make a batch, of source clusters; 0: the same for all seeds"),
    GNT_OPTION_GROUP("Stop and best weights"),
    GNT_OPTION_INT("patience", CONFIG, patience, 0, 0, BIG,
                   "epochs without a better validation value, 0: off"),
    GNT_OPTION_WORD("monitor", CONFIG, monitor, 0, "metric|loss",
                    "validation value that chooses the best epoch"),
    GNT_OPTION_INT("eval-every", CONFIG, eval_every, 1, 1, BIG, "epochs between evaluations"),
    GNT_OPTION_DOUBLE("time-limit", CONFIG, time_limit, 0.0, 0.0, 1e12,
                      "seconds until a stop with checkpoint, 0: none"),
    GNT_OPTION_GROUP("Parts and ranks"),
    GNT_OPTION_TEXT("devices", CONFIG, devices, NULL,
                    "how many, or kind:key=value;..., or cuda:0-3;cpu:threads=8 (gnntrain devices --help)"),
    GNT_OPTION_TEXT("partition", CONFIG, partition, NULL,
                    "file of gnntrain partition; made in the run folder when not given"),
    GNT_OPTION_INT("chunks", CONFIG, chunks, 0, 0, 1 << 20,
                   "of a partition made here, 0: by the number of nodes"),
    GNT_OPTION_WORD("strategy", CONFIG, strategy, 0, "auto|halo|broadcast", "how rows travel between ranks"),
    GNT_OPTION_WORD("wire", CONFIG, wire, 0, "fp32|bf16", "halo rows on the wire"),
    GNT_OPTION_WORD("balance", CONFIG, balance, 0, "auto|off", "move chunks when measured rates drift"),
    GNT_OPTION_DOUBLE("wait-limit", CONFIG, wait_limit, 60.0, 0.1, 1e6,
                      "seconds a rank waits for the others"),
    GNT_OPTION_TEXT("trace", CONFIG, trace, NULL, "Chrome trace file of the first epochs"),
    GNT_OPTION_GROUP("Run"),
    GNT_OPTION_TEXT("run", CONFIG, run, NULL, "run folder: metrics, checkpoint, summary"),
    GNT_OPTION_INT("checkpoint-every", CONFIG, checkpoint_every, 50, 0, BIG,
                   "epochs between checkpoints, 0: at the end and when stopped"),
    GNT_OPTION_TEXT(
        "resume", CONFIG, resume, "auto",
        "auto: go on from the run folder's checkpoint; never; or a checkpoint or run to start from"),
    GNT_OPTION_WORD("deterministic", CONFIG, deterministic, 0, "auto|off|run|bitwise",
                    "how far results are fixed to the bit; auto: as the device was opened"),
    GNT_OPTION_LIST(
        "no-pass", CONFIG, no_pass, NULL,
        "planner passes to switch off: hoist, reassociate, symmetric, sparse-input, fuse, loss-rows, chain, "
        "memory, overlap, capture, slices"),
    GNT_OPTION_END,
};

const gnt_option *gntx_trainer_options(void)
{
    return gnti_trainer_table;
}

/* The default of one row; texts point at the table's. */
static void set_default(const gnt_option *o, gnt_trainer_config *config)
{
    void *at = (char *)config + o->offset;

    switch (o->kind) {
    case GNT_OPTION_KIND_BOOL:
        *(bool *)at = o->default_number != 0.0;
        break;
    case GNT_OPTION_KIND_INT:
        *(int64_t *)at = (int64_t)o->default_number;
        break;
    case GNT_OPTION_KIND_DOUBLE:
        *(double *)at = o->default_number;
        break;
    case GNT_OPTION_KIND_WORD:
        *(int32_t *)at = (int32_t)o->default_number;
        break;
    case GNT_OPTION_KIND_TEXT:
    case GNT_OPTION_KIND_LIST:
        *(const char **)at = o->default_text;
        break;
    case GNT_OPTION_KIND_FLOAT:
    case GNT_OPTION_KIND_END:
        break;
    }
}

void gnt_trainer_config_init(gnt_trainer_config *config)
{
    if (config == NULL)
        return;
    memset(config, 0, sizeof *config);
    config->struct_size = sizeof *config;
    for (int i = 0; i < gnti_options_count(gnti_trainer_table); i++)
        set_default(&gnti_trainer_table[i], config);
}

static int32_t count_words(const char *words)
{
    int32_t n = 1;

    for (; *words != 0; words++)
        n += *words == '|';
    return n;
}

/* One value against its row; texts are checked where they are parsed. */
static gnt_status check_row(const gnt_option *o, const gnt_trainer_config *config)
{
    gnt_status st = GNT_OK;
    const void *at = (const char *)config + o->offset;

    if (o->kind == GNT_OPTION_KIND_INT) {
        const int64_t v = *(const int64_t *)at;

        GNT_CHECK((double)v >= o->min && (double)v <= o->max, GNT_ERR_USAGE,
                  "%s is %lld, allowed are %.0f to %.0f", o->name, (long long)v, o->min, o->max);
    } else if (o->kind == GNT_OPTION_KIND_DOUBLE) {
        const double v = *(const double *)at;

        GNT_CHECK(v >= o->min && v <= o->max, GNT_ERR_USAGE, "%s is %g, allowed are %g to %g", o->name, v,
                  o->min, o->max);
    } else if (o->kind == GNT_OPTION_KIND_WORD) {
        const int32_t v = *(const int32_t *)at;

        GNT_CHECK(v >= 0 && v < count_words(o->words), GNT_ERR_USAGE, "%s is word %d of %s", o->name, (int)v,
                  o->words);
    }
done:
    return st;
}

/* A number that was changed from its default though what reads it is not chosen. */
static gnt_status refuse_unused(const gnt_trainer_config *c, const char *name, bool used, const char *needs)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config standard;
    const gnt_option *o = gnti_options_find(gnti_trainer_table, name);
    const size_t bytes = o->kind == GNT_OPTION_KIND_BOOL ? sizeof(bool) : sizeof(int64_t);

    gnt_trainer_config_init(&standard);
    GNT_CHECK(used || memcmp((const char *)c + o->offset, (const char *)&standard + o->offset, bytes) == 0,
              GNT_ERR_USAGE, "%s has no effect here: it belongs to %s", name, needs);
done:
    return st;
}

static gnt_status check_pairs(const gnt_trainer_config *c)
{
    gnt_status st = GNT_OK;
    const bool sgd = c->optimizer == GNTI_TRAIN_SGD, clusters = c->source == GNTI_SOURCE_WORD_CLUSTERS;
    const bool drops = c->schedule == GNTI_SCHEDULE_STEP || c->schedule == GNTI_SCHEDULE_PLATEAU;

    GNT_TRY(refuse_unused(c, "momentum", sgd, "optimizer sgd"));
    GNT_TRY(refuse_unused(c, "nesterov", sgd, "optimizer sgd"));
    GNT_TRY(refuse_unused(c, "beta1", !sgd, "optimizer adam or adamw"));
    GNT_TRY(refuse_unused(c, "beta2", !sgd, "optimizer adam or adamw"));
    GNT_TRY(refuse_unused(c, "eps", !sgd, "optimizer adam or adamw"));
    GNT_TRY(refuse_unused(c, "schedule-epochs", c->schedule != GNTI_SCHEDULE_CONSTANT, "a schedule"));
    GNT_TRY(refuse_unused(c, "schedule-factor", drops, "schedule step or plateau"));
    GNT_TRY(refuse_unused(c, "warmup-epochs", c->schedule == GNTI_SCHEDULE_WARMUP_COSINE,
                          "schedule warmup-cosine"));
    GNT_TRY(refuse_unused(c, "clusters", clusters, "source clusters"));
    GNT_TRY(refuse_unused(c, "clusters-per-batch", clusters, "source clusters"));
    GNT_TRY(refuse_unused(c, "order-seed", clusters, "source clusters"));
    GNT_CHECK(!c->nesterov || c->momentum > 0.0, GNT_ERR_USAGE, "nesterov needs a momentum above 0");
    GNT_CHECK((!drops && c->schedule != GNTI_SCHEDULE_CYCLES) || c->schedule_epochs > 0, GNT_ERR_USAGE,
              "schedule %s needs schedule-epochs of at least 1",
              c->schedule == GNTI_SCHEDULE_STEP     ? "step"
              : c->schedule == GNTI_SCHEDULE_CYCLES ? "cycles"
                                                    : "plateau");
    GNT_CHECK(!clusters || c->clusters >= c->clusters_per_batch, GNT_ERR_USAGE,
              "source clusters needs clusters (now %lld) of at least clusters-per-batch (%lld)",
              (long long)c->clusters, (long long)c->clusters_per_batch);
    GNT_CHECK(sgd || (c->beta1 < 1.0 && c->beta2 < 1.0), GNT_ERR_USAGE,
              "beta1 %g and beta2 %g must be below 1", c->beta1, c->beta2);
done:
    return st;
}

gnt_status gnti_config_copy(const gnt_trainer_config *config, gnt_trainer_config *out)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config given, copy = { 0 };
    const int count = gnti_options_count(gnti_trainer_table);

    gnt_trainer_config_init(&given);
    if (config != NULL) {
        GNT_CHECK(config->struct_size >= sizeof(size_t) && config->struct_size <= sizeof given, GNT_ERR_ARG,
                  "trainer config has %zu bytes, this version knows %zu: call gnt_trainer_config_init",
                  config->struct_size, sizeof given);
        memcpy(&given, config, config->struct_size);
    }
    for (int i = 0; i < count; i++)
        GNT_TRY(check_row(&gnti_trainer_table[i], &given));
    GNT_TRY(check_pairs(&given));
    copy = given;
    copy.struct_size = sizeof copy;
    copy.weight_decay = copy.class_weights = copy.split = copy.run = copy.no_pass = NULL;
    copy.devices = copy.partition = copy.trace = copy.resume = NULL;
    for (int i = 0; i < count; i++) {
        const gnt_option *o = &gnti_trainer_table[i];
        const char *text = NULL;

        if (o->kind != GNT_OPTION_KIND_TEXT && o->kind != GNT_OPTION_KIND_LIST)
            continue;
        text = *(const char *const *)((const char *)&given + o->offset);
        if (text != NULL && text[0] != 0)
            GNT_TRY(gnti_strdup((char **)(void *)((char *)&copy + o->offset), text));
    }
    *out = copy;
    memset(&copy, 0, sizeof copy);
done:
    gnti_config_free(&copy);
    return st;
}

void gnti_config_free(gnt_trainer_config *config)
{
    gnti_options_free_texts(gnti_trainer_table, config);
}

gnt_optimizer_kind gnti_config_optimizer(const gnt_trainer_config *config)
{
    return config->optimizer == GNTI_TRAIN_SGD     ? GNT_OPTIMIZER_SGD
           : config->optimizer == GNTI_TRAIN_ADAMW ? GNT_OPTIMIZER_ADAMW
                                                   : GNT_OPTIMIZER_ADAM;
}

gnti_resume gnti_config_resume(const gnt_trainer_config *config)
{
    const char *text = config->resume;

    if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0)
        return GNTI_RESUME_AUTO;
    return strcmp(text, "never") == 0 ? GNTI_RESUME_NEVER : GNTI_RESUME_PATH;
}

gnt_status gnti_config_loss(const gnt_trainer_config *config, gnt_label_kind kind, gnt_loss_kind *out)
{
    gnt_status st = GNT_OK;
    static const char *const words[] = { "auto", "softmax", "bce", "mse" };
    const gnti_loss_word fits = kind == GNT_LABELS_CLASS        ? GNTI_LOSS_SOFTMAX
                                : kind == GNT_LABELS_MULTI      ? GNTI_LOSS_BCE
                                : kind == GNT_LABELS_REGRESSION ? GNTI_LOSS_MSE
                                                                : GNTI_LOSS_AUTO;

    GNT_CHECK(fits != GNTI_LOSS_AUTO, GNT_ERR_USAGE, "the dataset has no labels, nothing can be trained");
    GNT_CHECK(config->loss == GNTI_LOSS_AUTO || config->loss == (int32_t)fits, GNT_ERR_USAGE,
              "loss '%s' does not fit the labels of the dataset, which need '%s'", words[config->loss],
              words[fits]);
    *out = (gnt_loss_kind)(fits - GNTI_LOSS_SOFTMAX + GNT_LOSS_SOFTMAX);
done:
    return st;
}
