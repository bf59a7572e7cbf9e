/* SPDX-License-Identifier: Apache-2.0 */
/* A run as experimental_ensemble.h lends it to the command. The flag of the stop is the process' own, since a signal handler has
 * nothing else to set.
 */
#include <gnntrain/experimental_ensemble.h>

#include "base/alloc.h"
#include "base/text.h"
#include "ensemble/run.h"

#include <string.h>

#define ROW(kind, name, member, ...) GNT_OPTION_##kind(name, gntx_ensemble_options, member, __VA_ARGS__)
static const gnt_option table[] = {
    GNT_OPTION_GROUP("Ensemble"),
    ROW(TEXT, "run", run, NULL, "run folder; NAME-ensemble beside SPEC when not given"),
    ROW(TEXT, "devices", devices, NULL,
        "how many, or kind:key=value;..., or cuda:0-3;cpu:threads=8 (gnntrain devices --help)"),
    ROW(TEXT, "partition", partition, NULL, "file of gnntrain partition, for groups over several devices"),
    ROW(INT, "checkpoint-every", checkpoint_every, 50, 0, 9007199254740991.0,
        "epochs between checkpoints of a member, 0: at its end and when stopped"),
    ROW(DOUBLE, "time-limit", time_limit, 0.0, 0.0, 1e12, "seconds until a stop with checkpoints, 0: none"),
    ROW(DOUBLE, "wait-limit", wait_limit, 60.0, 0.1, 1e6, "seconds that one device waits for others"),
    ROW(WORD, "deterministic", deterministic, 1, "off|run|bitwise", "how far results are fixed to the bit"),
    GNT_OPTION_END,
};
#undef ROW

static atomic_int g_stop;

const gnt_option *gntx_ensemble_option_table(void)
{
    return table;
}

void gntx_ensemble_request_stop(void)
{
    atomic_store(&g_stop, 1);
}

/* spec.yaml becomes spec-ensemble. */
static gnt_status name_run(const gntx_ensemble_options *o, const char *spec, char **out)
{
    const char *name = strrchr(spec, '/'), *dot = strrchr(name != NULL ? name : spec, '.');
    gnti_text t = { 0 };

    if (o->run != NULL && o->run[0] != '\0')
        return gnti_strdup(out, o->run);
    gnti_text_append_bytes(&t, spec, dot != NULL ? (size_t)(dot - spec) : strlen(spec));
    gnti_text_append(&t, "-ensemble");
    return gnti_text_take(&t, out);
}

typedef struct caller {
    gntx_ensemble_watch watch;
    void *user;
} caller;

static void pass_on(const gnti_ensemble_progress *p, void *user)
{
    const caller *c = user;
    const gntx_ensemble_progress shown = { .num_members = p->num_members,
                                           .num_ended = p->num_ended,
                                           .num_failed = p->num_failed,
                                           .num_running = p->num_running,
                                           .epochs_done = p->epochs_done,
                                           .epochs_all = p->epochs_all,
                                           .seconds = p->seconds,
                                           .seconds_left = p->seconds_left };

    c->watch(&shown, c->user);
}

gnt_status gntx_ensemble_train(gnt_context *ctx, const char *spec, const char *data,
                               const gntx_ensemble_options *options, gntx_ensemble_watch watch, void *user,
                               gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *dataset = NULL;
    gnti_spec *read = NULL;
    char *run = NULL;
    caller c = { watch, user };
    gnti_ensemble_config config = { .stop = &g_stop };

    GNT_CHECK(ctx != NULL && spec != NULL && data != NULL && options != NULL && out != NULL, GNT_ERR_ARG,
              "context, spec, dataset, options and out must not be NULL");
    config.devices = options->devices;
    config.partition = options->partition;
    config.checkpoint_every = options->checkpoint_every;
    config.time_limit = options->time_limit;
    config.wait_limit = options->wait_limit;
    GNT_TRY(name_run(options, spec, &run));
    GNT_TRY(gnt_dataset_open(ctx, data, &dataset));
    GNT_TRY(gnti_spec_open(ctx, spec, dataset, &read));
    config.run = run;
    GNT_TRY(gnti_ensemble_run(ctx, read, dataset, &config, watch != NULL ? pass_on : NULL, &c,
                              (gnti_json **)out));
done:
    gnti_spec_free(&read);
    gnt_dataset_free(&dataset);
    gnti_free(run);
    return st;
}

gnt_status gntx_ensemble_resize(const char *run, const char *devices, double wait_limit, gntx_json **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(run != NULL && devices != NULL && out != NULL, GNT_ERR_ARG,
              "run, devices and out must not be NULL");
    GNT_TRY(gnti_ensemble_resize(run, devices, wait_limit, (gnti_json **)out));
done:
    return st;
}
