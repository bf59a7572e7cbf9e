/* SPDX-License-Identifier: Apache-2.0 */
/* What a checkpoint says about itself, as JSON: enough to make the model again, to know whether data, split, model and
 * settings of a later run are the same, and a model card for people.
 */
#include "train/checkpoint.h"
#include "train/checkpoint_facts.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/option.h"
#include "base/sha256.h"
#include "base/text.h"

#include <string.h>

const char *const gnti_act_words[GNTI_NUM_ACT_WORDS] = { "none",       "relu",    "elu",
                                                         "leaky-relu", "sigmoid", "tanh" };
const char *const gnti_norm_words[GNTI_NUM_NORM_WORDS] = { "none", "batch", "layer" };
const char *const gnti_label_words[GNTI_NUM_LABEL_WORDS] = { "none", "class", "multi", "regression" };

static gnt_status hash_model(const gnt_model *model, const gnt_model_config *c, char out[65])
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *text = NULL;

    gnti_text_printf(&t,
                     "%s\nact %d norm %d dropout %.17g input %.17g residual %d in %lld out %lld labels %d",
                     gnti_model_text(model), (int)c->act, (int)c->norm, c->dropout, c->input_dropout,
                     (int)c->residual, (long long)gnti_model_in_width(model),
                     (long long)gnti_model_out_width(model), (int)gnti_model_label_kind(model));
    GNT_TRY(gnti_text_take(&t, &text));
    GNT_TRY(gnti_sha256_of(text, strlen(text), out));
done:
    gnti_free(text);
    return st;
}

gnt_status gnti_model_sha256(const gnt_model *model, char out[65])
{
    gnt_model_config c;

    gnti_model_get_config(model, &c);
    return hash_model(model, &c, out);
}

void gnti_member_model_config(const gnt_trainer *tr, int32_t member, gnt_model_config *out)
{
    gnti_model_get_config(tr->model, out);
    if (member >= 0) {
        out->dropout = tr->own[member].dropout;
        out->input_dropout = tr->own[member].input_dropout;
    }
}

const gnt_trainer_config *gnti_member_config(const gnt_trainer *tr, int32_t member)
{
    return member < 0 ? &tr->config : &tr->own[member].config;
}

gnt_status gnti_put_model(const gnt_model *model, const gnt_model_config *c, gnti_json *meta)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    char hash[GNTI_SHA256_HEX_BYTES];

    GNT_TRY(hash_model(model, c, hash));
    GNT_TRY(gnti_json_set_object(meta, "model", &o));
    GNT_TRY(gnti_json_set_text(o, "text", gnti_model_text(model)));
    GNT_TRY(gnti_json_set_text(o, "act", gnti_act_words[c->act]));
    GNT_TRY(gnti_json_set_text(o, "norm", gnti_norm_words[c->norm]));
    GNT_TRY(gnti_json_set_number(o, "dropout", c->dropout));
    GNT_TRY(gnti_json_set_number(o, "input_dropout", c->input_dropout));
    GNT_TRY(gnti_json_set_bool(o, "residual", c->residual));
    GNT_TRY(gnti_json_set_int(o, "num_features", gnti_model_in_width(model)));
    GNT_TRY(gnti_json_set_int(o, "num_classes", gnti_model_out_width(model)));
    GNT_TRY(gnti_json_set_text(o, "labels", gnti_label_words[gnti_model_label_kind(model)]));
    GNT_TRY(gnti_json_set_int(o, "num_parameters", gnt_model_num_parameters(model)));
    GNT_TRY(gnti_json_set_text(o, "sha256", hash));
done:
    return st;
}

gnt_status gnti_put_data(const gnt_dataset *data, gnti_json *meta)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL, *names = NULL;
    char *path = NULL;
    gnti_dataset_header header;
    char graph[GNTI_SHA256_HEX_BYTES], content[GNTI_SHA256_HEX_BYTES];

    memcpy(graph, data->graph_sha256, sizeof graph);
    memcpy(content, data->content_sha256, sizeof content);
    if (content[0] == 0 || graph[0] == 0)
        GNT_TRY(gnti_dataset_sums(data, graph, content));
    GNT_TRY(gnti_json_set_object(meta, "data", &o));
    GNT_TRY(gnti_path_absolute(data->path, &path)); /* the run may be asked from any folder */
    GNT_TRY(gnti_json_set_text(o, "path", path));
    GNT_TRY(gnti_json_set_text(o, "content_sha256", content));
    GNT_TRY(gnti_json_set_text(o, "graph_sha256", graph));
    GNT_TRY(gnti_json_set_int(o, "num_nodes", data->num_nodes));
    gnti_dataset_get_header(data, &header);
    GNT_TRY(gnti_json_set_int(o, "num_arcs", header.num_arcs));
    GNT_TRY(gnti_json_set_bool(o, "directed", data->directed));
    if (data->y.names != NULL) {
        GNT_TRY(gnti_json_set_array(o, "classes", &names));
        for (int64_t c = 0; c < data->y.num_classes; c++)
            GNT_TRY(gnti_json_append_text(names, data->y.names[c]));
    }
done:
    gnti_free(path);
    return st;
}

gnt_status gnti_put_split(const gnti_prepared *p, gnti_json *meta)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_set_object(meta, "split", &o));
    GNT_TRY(gnti_json_set_text(o, "name", p->split->name));
    GNT_TRY(gnti_json_set_bool(o, "inductive", p->split->inductive));
    GNT_TRY(gnti_json_set_int(o, "train", p->split->num_nodes[GNTI_TRAIN]));
    GNT_TRY(gnti_json_set_int(o, "valid", p->split->num_nodes[GNTI_VALID]));
    GNT_TRY(gnti_json_set_int(o, "test", p->split->num_nodes[GNTI_TEST]));
    GNT_TRY(gnti_json_set_text(o, "sha256", p->split_sha256));
done:
    return st;
}

gnt_status gnti_put_partition(const gnti_partition *p, gnti_json *meta)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    if (p == NULL)
        return GNT_OK;
    GNT_TRY(gnti_json_set_object(meta, "partition", &o));
    GNT_TRY(gnti_json_set_int(o, "chunks", p->num_chunks));
    GNT_TRY(gnti_json_set_text(o, "sha256", p->sha256));
done:
    return st;
}

/* The text of a setting, "" when a text is not set. Numbers fit into buffer. */
gnt_status gnti_setting_text(const gnt_option *o, const gnt_trainer_config *config, char *buffer,
                             size_t bytes, const char **out)
{
    gnt_status st = GNT_OK;

    if (o->kind == GNT_OPTION_KIND_TEXT || o->kind == GNT_OPTION_KIND_LIST) {
        const char *text = *(const char *const *)((const char *)config + o->offset);

        *out = text != NULL ? text : "";
    } else {
        GNT_TRY(gnti_option_get(o, config, buffer, bytes));
        *out = buffer;
    }
done:
    return st;
}

static gnt_status put_config(const gnt_trainer_config *config, gnti_json *meta)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    char buffer[64];

    GNT_TRY(gnti_json_set_object(meta, "config", &o));
    for (int i = 0; i < gnti_options_count(gnti_trainer_table); i++) {
        const gnt_option *row = &gnti_trainer_table[i];
        const char *text = NULL;

        if (row->kind == GNT_OPTION_KIND_END)
            continue;
        GNT_TRY(gnti_setting_text(row, config, buffer, sizeof buffer, &text));
        GNT_TRY(gnti_json_set_text(o, row->name, text));
    }
done:
    return st;
}

static gnt_status put_params(const gnti_params *params, gnti_json *meta)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *o = NULL;

    GNT_TRY(gnti_json_set_array(meta, "params", &list));
    for (int32_t i = 0; i < gnti_params_count(params); i++) {
        const gnti_param_info *info = gnti_params_info(params, i);

        GNT_TRY(gnti_json_append_object(list, &o));
        GNT_TRY(gnti_json_set_text(o, "name", info->name));
        GNT_TRY(gnti_json_set_int(o, "in", info->in));
        GNT_TRY(gnti_json_set_int(o, "out", info->out));
    }
done:
    return st;
}

gnt_status gnti_checkpoint_make_meta(const gnt_trainer *tr, int32_t member, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *meta = NULL, *seeds = NULL;
    gnt_model_config model;
    const int32_t first = member < 0 ? 0 : member, end = member < 0 ? tr->num_members : member + 1;
    char *choices = NULL;

    GNT_TRY(gnti_json_create_object(&meta));
    GNT_TRY(gnti_json_set_int(meta, "num_members", end - first));
    GNT_TRY(gnti_json_set_array(meta, "seeds", &seeds));
    for (int32_t m = first; m < end; m++)
        GNT_TRY(gnti_json_append_int(seeds, (int64_t)tr->seeds[m]));
    GNT_TRY(gnti_json_set_int(meta, "epoch", tr->epoch));
    GNT_TRY(gnti_json_set_int(meta, "step", tr->step));
    GNT_TRY(gnti_json_set_int(meta, "position", tr->position));
    GNT_TRY(gnti_json_set_text(meta, "metric", gnti_metric_name(tr->metric)));
    GNT_TRY(gnti_trainer_list_choices(tr, &choices));
    GNT_TRY(gnti_json_set_text(meta, "choices", choices));
    gnti_member_model_config(tr, member, &model);
    GNT_TRY(gnti_put_model(tr->model, &model, meta));
    GNT_TRY(gnti_put_data(tr->data, meta));
    GNT_TRY(gnti_put_split(&tr->prepared, meta));
    GNT_TRY(gnti_put_partition(tr->job.partition, meta));
    GNT_TRY(put_config(gnti_member_config(tr, member), meta));
    if (member >= 0 && tr->own[member].weight != NULL)
        GNT_TRY(gnti_json_set_text(meta, "weights_sha256", tr->own[member].weight_sha256));
    GNT_TRY(put_params(tr->lead->params, meta));
    *out = meta;
    meta = NULL;
done:
    gnti_json_free(&meta);
    gnti_free(choices);
    return st;
}

static gnt_status put_members(const gnt_trainer *tr, int32_t member, gnti_json *card)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *o = NULL;
    const int32_t first = member < 0 ? 0 : member, end = member < 0 ? tr->num_members : member + 1;

    GNT_TRY(gnti_json_set_array(card, "metrics", &list));
    for (int32_t m = first; m < end; m++) {
        GNT_TRY(gnti_json_append_object(list, &o));
        GNT_TRY(gnti_json_set_int(o, "seed", (int64_t)tr->seeds[m]));
        GNT_TRY(gnti_json_set_text(o, "metric", gnti_metric_name(tr->metric)));
        GNT_TRY(gnti_json_set_int(o, "best_epoch", (int64_t)tr->members[m].best_epoch));
        GNT_TRY(gnti_json_set_number(o, "valid_metric", tr->members[m].best_valid_metric));
        GNT_TRY(gnti_json_set_number(o, "test_metric", tr->test_metric[m]));
    }
done:
    return st;
}

gnt_status gnti_checkpoint_make_card(const gnt_trainer *tr, int32_t member, const gnti_json *meta,
                                     gnti_json **out)
{
    gnt_status st = GNT_OK;
    static const char *const tasks[] = { "none", "node classification, one class a node",
                                         "node classification, several labels a node", "node regression" };
    static const char *const copied[] = { "model", "data", "split", "config", "seeds" };
    gnti_json *card = NULL, *o = NULL;
    char now[GNTI_CLOCK_UTC_BYTES];

    gnti_clock_utc(now);
    GNT_TRY(gnti_json_create_object(&card));
    GNT_TRY(gnti_json_set_text(card, "task", tasks[tr->data->y.kind]));
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        GNT_TRY(gnti_json_set_copy(card, copied[i], gnti_json_find(meta, copied[i])));
    GNT_TRY(put_members(tr, member, card));
    GNT_TRY(gnti_json_set_object(card, "software", &o));
    GNT_TRY(gnti_json_set_text(o, "gnntrain", GNT_VERSION));
    GNT_TRY(gnti_json_set_object(card, "hardware", &o));
    GNT_TRY(gnti_json_set_text(o, "device",
                               ((const gnti_backend_head *)gnti_context_device(tr->ctx))->backend->name));
    GNT_TRY(gnti_json_set_text(card, "created", now));
    GNT_TRY(gnti_json_set_number(card, "seconds", gnti_clock_seconds() - tr->started));
    GNT_TRY(gnti_json_set_text(
        card, "limits",
        "measured on the split named above; other graphs need the same features and classes"));
    *out = card;
    card = NULL;
done:
    gnti_json_free(&card);
    return st;
}
