/* SPDX-License-Identifier: Apache-2.0 */
/* What makes members fusible, as a text: every setting of model and trainer but those that a member may have of its own
 * (train/member.h). Of a rate of dropout only whether it is 0 counts, of decay rules only their layers and kinds.
 */
#include "ensemble/fusion.h"

#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/option.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* Settings of the run, or of a member alone. */
static bool is_own(const char *name)
{
    static const char *const names[] = {
        "seed",       "seeds",      "epochs",           "patience",      "lr",
        "run",        "devices",    "partition",        "resume",        "trace",
        "time-limit", "wait-limit", "checkpoint-every", "deterministic", "weight-decay"
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void put_model(const char *text, gnti_text *t)
{
    gnti_text_append(t, "model=");
    for (; *text != '\0'; text++)
        if (!isspace((unsigned char)*text))
            gnti_text_append_bytes(t, text, 1);
}

/* "1:bias:,:" of "1:bias:0.1,0.2": the rules without their values. */
static void put_decay(const char *rules, bool adamw, gnti_text *t)
{
    gnti_text_append(t, ";weight-decay=");
    if (rules == NULL && adamw) /* its default is one rule for all weights */
        gnti_text_append(t, ":");
    while (rules != NULL && *rules != '\0') {
        const char *end = rules + strcspn(rules, ","), *colon = end;

        while (colon > rules && colon[-1] != ':')
            colon--;
        for (const char *p = rules; p < colon; p++)
            if (!isspace((unsigned char)*p))
                gnti_text_append_bytes(t, p, 1);
        gnti_text_append(t, *end == '\0' ? ":" : ":,");
        rules = *end == '\0' ? end : end + 1;
    }
}

static gnt_status put_rows(const gnt_option *table, const void *object, gnti_text *t)
{
    gnt_status st = GNT_OK;
    char number[128];

    for (int i = 0; i < gnti_options_count(table); i++) {
        const gnt_option *o = &table[i];
        const bool is_text = o->kind == GNT_OPTION_KIND_TEXT || o->kind == GNT_OPTION_KIND_LIST;
        const char *text =
            is_text ? *(char *const *)(const void *)((const char *)object + o->offset) : number;

        if (o->kind == GNT_OPTION_KIND_END || is_own(o->name) || strstr(o->name, "dropout") != NULL)
            continue;
        if (!is_text)
            GNT_TRY(gnti_option_get(o, object, number, sizeof number));
        gnti_text_printf(t, ";%s=%s", o->name, text == NULL ? "" : text);
    }
done:
    return st;
}

gnt_status gnti_fusion_shape(const gnti_spec_member *member, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };

    put_model(member->model, &t);
    gnti_text_printf(&t, ";dropout=%d;input-dropout=%d", member->net.dropout > 0.0,
                     member->net.input_dropout > 0.0);
    GNT_TRY(put_rows(gntx_model_option_table(), &member->net, &t));
    GNT_TRY(put_rows(gnti_trainer_table, &member->train, &t));
    put_decay(member->train.weight_decay, member->train.optimizer == GNTI_TRAIN_ADAMW, &t);
    GNT_TRY(gnti_text_take(&t, out));
done:
    gnti_text_free(&t);
    return st;
}

gnt_status gnti_fusion_key(const gnti_spec_member *member, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *shape = NULL;

    GNT_TRY(gnti_fusion_shape(member, &shape));
    gnti_text_printf(&t, "%s;foreground=%d;view=%.17g,%.17g,%llu", shape, member->foreground,
                     member->view.drop_features, member->view.drop_edges,
                     (unsigned long long)member->view.seed);
    GNT_TRY(gnti_text_take(&t, out));
done:
    gnti_text_free(&t);
    gnti_free(shape);
    return st;
}
