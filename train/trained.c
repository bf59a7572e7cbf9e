/* SPDX-License-Identifier: Apache-2.0 */
/* From a path to logits. A folder stands for its best.h5, else its checkpoint; the best weights are taken when there are
 * any, of all members. Settings that change what the model sees (row normalisation) come from the checkpoint, never from the caller.
 */
#include "train/trained.h"

#include "base/alloc.h"
#include "base/file.h"
#include "kernels/choices.h"
#include "nn/model.h"

#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The file that `run` means, to be freed. */
static gnt_status find_file(const char *run, char **out)
{
    gnt_status st = GNT_OK;
    static const char *const names[] = { "best.h5", "checkpoint.h5", "checkpoint.prev.h5" };
    char *path = NULL;

    if (!is_folder(run)) {
        GNT_TRY(gnti_strdup(out, run));
        goto done;
    }
    for (int i = 0; i < 3; i++) {
        GNT_TRY(gnti_path_join(run, names[i], &path));
        if (gnti_file_exists(path)) {
            *out = path;
            path = NULL;
            goto done;
        }
        gnti_free(path);
        path = NULL;
    }
    gnti_free(path);
    path = NULL;
    GNT_TRY(gnti_path_join(run, "journal.jsonl", &path));
    GNT_CHECK(!gnti_file_exists(path), GNT_ERR_IO,
              "'%s' is an ensemble that has not ended: gnntrain ensemble train goes on with it", run);
    GNT_FAIL(GNT_ERR_IO, "'%s' has neither best.h5 nor checkpoint.h5: is it a run folder?", run);
done:
    gnti_free(path);
    return st;
}

gnt_status gnti_trained_checkpoint(const char *run, gnti_checkpoint **out)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_CHECK(run != NULL && run[0] != 0, GNT_ERR_ARG, "a run folder or checkpoint must be given");
    GNT_TRY(find_file(run, &path));
    GNT_TRY(gnti_checkpoint_open(path, out));
done:
    gnti_free(path);
    return st;
}

/* The index of a word, or ERR_FORMAT. */
static gnt_status word_index(const char *word, const char *const *words, int32_t num, const char *what,
                             int32_t *out)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; word != NULL && i < num; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = i;
            goto done;
        }
    GNT_FAIL(GNT_ERR_FORMAT, "the checkpoint's model has %s '%s', which this version does not know", what,
             word != NULL ? word : "none");
done:
    return st;
}

static gnt_status make_model(gnt_context *ctx, gnti_trained *t)
{
    gnt_status st = GNT_OK;
    const gnti_json *o = gnti_json_find(t->cp->meta, "model");
    gnt_model_config c;
    const char *text = NULL;
    int64_t width = 0;
    int32_t kind = 0;

    GNT_CHECK(o != NULL, GNT_ERR_FORMAT, "checkpoint '%s' has no model", t->cp->path);
    gnt_model_config_init(&c);
    GNT_TRY(gnti_json_get_text(o, "text", &text));
    GNT_TRY(word_index(gnti_json_to_text(gnti_json_find(o, "act")), gnti_act_words, GNTI_NUM_ACT_WORDS,
                       "activation", &c.act));
    GNT_TRY(word_index(gnti_json_to_text(gnti_json_find(o, "norm")), gnti_norm_words, GNTI_NUM_NORM_WORDS,
                       "norm", &c.norm));
    GNT_TRY(word_index(gnti_json_to_text(gnti_json_find(o, "labels")), gnti_label_words, GNTI_NUM_LABEL_WORDS,
                       "labels", &kind));
    GNT_TRY(gnti_json_get_number(o, "dropout", &c.dropout));
    GNT_TRY(gnti_json_get_number(o, "input_dropout", &c.input_dropout));
    GNT_TRY(gnti_json_get_bool(o, "residual", &c.residual));
    GNT_TRY(gnti_json_get_int(o, "num_features", &width));
    GNT_TRY(gnti_json_get_int(o, "num_classes", &t->num_classes));
    GNT_CHECK(width >= 1 && width <= INT32_MAX && t->num_classes >= 1 && t->num_classes <= INT32_MAX,
              GNT_ERR_FORMAT, "checkpoint '%s': a model of %lld features and %lld classes", t->cp->path,
              (long long)width, (long long)t->num_classes);
    t->label_kind = (gnt_label_kind)kind;
    GNT_TRY(gnti_model_create_for(ctx, width, t->num_classes, t->label_kind, text, &c, &t->model));
done:
    return st;
}

gnt_status gnti_trained_name_classes(gnti_trained *t, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    const gnti_json *list = gnti_json_find(gnti_json_find(t->cp->meta, "data"), "classes");
    const bool here = data->y.names != NULL && data->y.num_classes == t->num_classes;

    if (!here && (list == NULL || gnti_json_length(list) != t->num_classes))
        goto done;
    GNT_TRY(gnti_calloc_array(&t->class_names, t->num_classes));
    for (int64_t c = 0; c < t->num_classes; c++) {
        const char *name = here ? data->y.names[c] : gnti_json_to_text(gnti_json_at(list, c));

        GNT_TRY(gnti_strdup(&t->class_names[c], name != NULL ? name : ""));
    }
done:
    return st;
}

gnt_status gnti_trained_dataset(gnt_context *ctx, const char *given, const char *stored, const char *sha256,
                                gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *data = NULL;

    if (given != NULL && given[0] != 0)
        return gnt_dataset_open(ctx, given, out);
    GNT_CHECK(stored != NULL, GNT_ERR_USAGE, "the training was on a dataset in memory: give one with --data");
    GNT_CHECK(gnti_file_exists(stored), GNT_ERR_IO,
              "the dataset of the training, '%s', is not there%s: --data says where it is now", stored,
              stored[0] == '/' ? " any more" : " (a path relative to the folder where the training began)");
    GNT_TRY(gnt_dataset_open(ctx, stored, &data));
    GNT_CHECK(sha256 == NULL || strcmp(sha256, data->content_sha256) == 0, GNT_ERR_FORMAT,
              "dataset '%s' has changed since the training, or is another one: its sha256 was %s and is %s; "
              "--data says where the right one is, --data %s takes this one nevertheless",
              stored, sha256, data->content_sha256, stored);
    *out = data;
    data = NULL;
done:
    gnt_dataset_free(&data);
    return st;
}

gnt_status gnti_trained_open_data(gnt_context *ctx, const char *data, gnti_trained *t)
{
    gnt_status st = GNT_OK;
    const gnti_json *o = gnti_json_find(t->cp->meta, "data");

    GNT_TRY(gnti_trained_dataset(ctx, data, gnti_json_to_text(gnti_json_find(o, "path")),
                                 gnti_json_to_text(gnti_json_find(o, "content_sha256")), &t->data));
    GNT_TRY(gnti_check_fit(t->model, t->data, false));
    GNT_TRY(gnti_trained_name_classes(t, t->data));
done:
    return st;
}

/* best.h5 has but one block. */
int gnti_trained_best_block(gnti_checkpoint *cp)
{
    const gnti_member *members = (const gnti_member *)cp->members;

    if (cp->block[GNTI_CP_BEST] == NULL || members == NULL)
        return GNTI_CP_WEIGHTS;
    for (int64_t i = 0; i < cp->num_params; i++) {
        const gnti_checkpoint_param *p = &cp->params[i];
        const int64_t count = p->in * p->out;

        for (int32_t m = 0; m < cp->num_members; m++)
            if (members[m].best_epoch == 0.0)
                memcpy(cp->block[GNTI_CP_BEST] + p->offset + m * count,
                       cp->block[GNTI_CP_WEIGHTS] + p->offset + m * count, (size_t)count * sizeof(float));
    }
    return GNTI_CP_BEST;
}

bool gnti_trained_normalizes(const gnti_trained *t)
{
    const char *norm =
        gnti_json_to_text(gnti_json_find(gnti_json_find(t->cp->meta, "config"), "normalize-features"));

    return norm != NULL && strcmp(norm, "row") == 0;
}

static gnt_status open_device(gnt_context *ctx, const char *devices, gnti_trained *t)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config config;

    gnt_trainer_config_init(&config);
    config.devices = devices;
    GNT_TRY(gnti_job_open(ctx, &config, &t->job));
    GNT_CHECK(t->job.place.size == 1, GNT_ERR_USAGE,
              "--devices '%s' are %d, but the run has one model, which one device computes: name one of them",
              devices != NULL ? devices : "auto", (int)t->job.place.size);
    GNT_TRY(gnti_job_open_device(&t->job, 0, &t->device, &t->owns_device));
done:
    return st;
}

static gnt_status take_choices(gnt_context *ctx, gnti_trained *t)
{
    gnt_status st = GNT_OK;
    const gnti_choices_config config = { .determinism = gnti_context_determinism(ctx), .measures = true };
    const char *text = gnti_json_to_text(gnti_json_find(t->cp->meta, "choices")),
               *rest = text != NULL ? strchr(text, ';') : NULL;

    GNT_TRY(gnti_choices_create(&config, &t->measured));
    if (rest != NULL) /* behind those of the planner */
        GNT_TRY(gnti_choices_take(t->measured, rest + 1));
done:
    return st;
}

static gnt_status compute(gnt_context *ctx, bool keep_hidden, gnti_trained *t)
{
    gnt_status st = GNT_OK;
    gnti_evaluator_config config = { .ctx = ctx,
                                     .device = t->device,
                                     .model = t->model,
                                     .num_members = t->num_members,
                                     .graph = t->data->graph,
                                     .keep_hidden = keep_hidden };

    GNT_TRY(gnti_model_features_make(&t->data->x, gnti_trained_normalizes(t), &t->features));
    GNT_TRY(gnti_params_create(t->model, t->device, t->num_members, -1, &t->params));
    GNT_TRY(gnti_checkpoint_put_block(t->cp, gnti_trained_best_block(t->cp), -1, t->params, t->num_members,
                                      GNTI_BLOCK_WEIGHTS));
    GNT_TRY(take_choices(ctx, t));
    config.params = t->params;
    config.measured = t->measured;
    config.x = &t->features.x;
    GNT_TRY(gnti_evaluator_create(&config, &t->evaluator));
    GNT_TRY(gnti_evaluator_run(t->evaluator));
done:
    return st;
}

int64_t gnti_trained_seed(const gnti_trained *t, int32_t member)
{
    int64_t seed = member;

    (void)gnti_json_to_int(gnti_json_at(gnti_json_find(t->cp->meta, "seeds"), member), &seed);
    return seed;
}

gnt_status gnti_trained_find_seed(const gnti_trained *t, int64_t seed, int32_t *member)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < t->num_members; m++)
        if (gnti_trained_seed(t, m) == seed) {
            *member = m;
            goto done;
        }
    GNT_FAIL(GNT_ERR_USAGE, "'%s' has no seed %lld: its %d seeds are %lld to %lld", t->cp->path,
             (long long)seed, (int)t->num_members, (long long)gnti_trained_seed(t, 0),
             (long long)gnti_trained_seed(t, t->num_members - 1));
done:
    return st;
}

gnt_status gnti_trained_logits(const gnti_trained *t, int32_t member, float **out)
{
    gnt_status st = GNT_OK;
    float *logits = NULL;
    size_t cells = 0;

    GNT_TRY(gnti_mul_size((size_t)t->data->num_nodes, (size_t)t->num_classes, &cells));
    GNT_TRY(gnti_alloc_array(&logits, (int64_t)cells));
    GNT_TRY(gnti_evaluator_read(t->evaluator, member, logits));
    *out = logits;
    logits = NULL;
done:
    gnti_free(logits);
    return st;
}

gnt_status gnti_trained_load(gnt_context *ctx, const char *run, gnti_trained *out)
{
    gnt_status st = GNT_OK;

    memset(out, 0, sizeof *out);
    GNT_TRY(gnti_trained_checkpoint(run, &out->cp));
    out->num_members = out->cp->num_members;
    GNT_TRY(make_model(ctx, out));
done:
    if (st != GNT_OK)
        gnti_trained_free(out);
    return st;
}

gnt_status gnti_trained_open(gnt_context *ctx, const char *run, const char *data, const char *devices,
                             bool keep_hidden, gnti_trained *out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_trained_load(ctx, run, out));
    GNT_CHECK(!keep_hidden || gnt_model_num_layers(out->model) > 1, GNT_ERR_USAGE,
              "the model '%s' has one layer: its embeddings would be its input", gnti_model_text(out->model));
    GNT_TRY(gnti_trained_open_data(ctx, data, out));
    GNT_TRY(open_device(ctx, devices, out));
    GNT_TRY(compute(ctx, keep_hidden, out));
done:
    if (st != GNT_OK)
        gnti_trained_free(out);
    return st;
}

gnt_status gnti_trained_ask(gnt_context *ctx, const char *run, const gnt_dataset *data, float **out)
{
    gnt_status st = GNT_OK;
    gnti_trained t = { 0 };

    GNT_TRY(gnti_trained_load(ctx, run, &t));
    GNT_TRY(gnti_check_fit(t.model, data, true));
    t.data = (gnt_dataset *)data; /* lent */
    GNT_TRY(open_device(ctx, "cpu", &t));
    GNT_TRY(compute(ctx, false, &t));
    GNT_TRY(gnti_trained_logits(&t, 0, out));
done:
    t.data = NULL;
    gnti_trained_free(&t);
    return st;
}

void gnti_trained_free(gnti_trained *t)
{
    for (int64_t c = 0; t->class_names != NULL && c < t->num_classes; c++)
        gnti_free(t->class_names[c]);
    gnti_free(t->class_names);
    gnti_evaluator_free(&t->evaluator);
    gnti_choices_free(&t->measured);
    gnti_params_free(&t->params);
    if (t->owns_device)
        gnti_device_close(&t->device);
    gnti_job_close(&t->job);
    gnti_model_features_free(&t->features);
    gnt_model_free(&t->model);
    gnt_dataset_free(&t->data);
    gnti_checkpoint_free(&t->cp);
    memset(t, 0, sizeof *t);
}
