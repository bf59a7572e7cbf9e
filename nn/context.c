/* SPDX-License-Identifier: Apache-2.0 */
/* The context: one device, the registered layers, opened plug-ins. Settings are "key=value" pairs joined by ';', read by
 * the same option table as everything else.
 */
#include <gnntrain/experimental.h>

#include "base/option.h"
#include "nn/model.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    char *device;
    int64_t threads;
    int32_t isa, deterministic, launch;
} settings;

enum { LAUNCH_NONE, LAUNCH_AUTO };

static const gnt_option table[] = {
    GNT_OPTION_TEXT("device", settings, device, "auto", "auto, cpu, or ref (the slow oracle)"),
    GNT_OPTION_INT("threads", settings, threads, 0, 0, 4096,
                   "threads of the CPU backend, 0: the cores we may use"),
    GNT_OPTION_WORD("isa", settings, isa, 0, "auto|portable|avx2|avx512", "vector level of the CPU backend"),
    GNT_OPTION_WORD("deterministic", settings, deterministic, 1, "off|run|bitwise",
                    "how equal repeated runs are"),
    GNT_OPTION_WORD("launch", settings, launch, 0, "none|auto",
                    "auto: the processes that mpirun or srun started are ranks"),
    GNT_OPTION_END,
};

const char *gnt_version(void)
{
    return GNT_VERSION;
}

/* One "key=value" of `length` letters. */
static gnt_status read_pair(settings *s, const char *text, size_t length)
{
    gnt_status st = GNT_OK;
    char pair[256], *equals;
    const gnt_option *option;
    const char *nearest;

    GNT_CHECK(length < sizeof pair, GNT_ERR_USAGE, "a context setting of %zu letters is too long", length);
    memcpy(pair, text, length);
    pair[length] = 0;
    equals = strchr(pair, '=');
    GNT_CHECK(equals != NULL, GNT_ERR_USAGE, "context setting '%s' is not key=value", pair);
    *equals = 0;
    option = gnti_options_find(table, pair);
    nearest = option == NULL ? gnti_options_nearest(table, pair) : NULL;
    GNT_CHECK(option != NULL, GNT_ERR_USAGE, "unknown context setting '%s'%s%s%s", pair,
              nearest != NULL ? ", did you mean '"
                              : " (there are device, threads, isa, deterministic, launch",
              nearest != NULL ? nearest : "", nearest != NULL ? "'?" : ")");
    GNT_TRY(gnti_option_set(option, s, equals + 1));
done:
    return st;
}

static gnt_status read_settings(settings *s, const char *text)
{
    gnt_status st = GNT_OK;

    while (text != NULL && *text != 0) {
        const size_t length = strcspn(text, ";");

        if (length > 0)
            GNT_TRY(read_pair(s, text, length));
        text += length + (text[length] == ';');
    }
done:
    return st;
}

/* The processes of a launcher become ranks. */
static gnt_status join_processes(gnt_context *ctx, const settings *s)
{
    gnt_status st = GNT_OK;

    ctx->launch = (gnti_launch){ .size = 1, .local_size = 1 };
    if (s->launch == LAUNCH_NONE)
        return GNT_OK;
    GNT_TRY(gnti_launch_detect(&ctx->launch));
    if (ctx->launch.size > 1)
        GNT_TRY(gnti_comm_mpi_create(&ctx->processes));
done:
    return st;
}

gnt_status gntx_check_single(void)
{
    gnt_status st = GNT_OK;
    gnti_launch l;

    GNT_TRY(gnti_launch_detect(&l));
    GNT_CHECK(l.size == 1, GNT_ERR_USAGE, "%s started %d processes but this runs as one: start it without %s",
              l.by, (int)l.size, l.by);
done:
    return st;
}

static void end_context(void *context)
{
    gnt_context *ctx = context;

    for (int64_t i = 0; i < ctx->num_plugins; i++)
        gnti_plugin_close(&ctx->plugins[i]);
    gnti_free(ctx->plugins);
    gnti_free(ctx->layers);
    gnti_device_close(&ctx->device);
    gnti_comm_free(&ctx->processes);
    gnti_free(ctx);
}

gnt_status gnt_context_create(const char *text, gnt_context **out)
{
    gnt_status st = GNT_OK;
    gnt_context *ctx = NULL;
    settings s = { 0 };
    gnti_device_config config;

    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_TRY(gnti_options_defaults(table, &s));
    GNT_TRY(read_settings(&s, text));
    GNT_TRY(gnti_calloc_array(&ctx, 1));
    GNT_TRY(gnti_objects_create(end_context, ctx, &ctx->head.objects));
    ctx->determinism = (gnti_determinism)s.deterministic;
    ctx->num_threads = s.threads > 0 ? (int32_t)s.threads : (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    config = (gnti_device_config){ .num_threads = (int32_t)s.threads,
                                   .isa = (gnti_isa)s.isa,
                                   .determinism = ctx->determinism };
    ctx->config = config;
    GNT_TRY(gnti_device_open(s.device, 0, &config, &ctx->device));
    GNT_TRY(join_processes(ctx, &s));
    GNT_TRY(gnt_layer_register(ctx, &gnti_layer_gcn));
    GNT_TRY(gnt_layer_register(ctx, &gnti_layer_sage));
    GNT_TRY(gnt_layer_register(ctx, &gnti_layer_gat));
    GNT_TRY(gnt_layer_register(ctx, &gnti_layer_linear));
    *out = ctx;
    ctx = NULL;
done:
    gnti_options_free_texts(table, &s);
    gnt_context_free(&ctx);
    return st;
}

void gnt_context_free(gnt_context **context)
{
    gnt_context *ctx = context != NULL ? *context : NULL;

    if (ctx == NULL)
        return;
    *context = NULL;
    if (ctx->head.objects != NULL)
        gnti_objects_close(ctx->head.objects); /* ends the context, now or with its last object */
    else
        end_context(ctx);
}

const gnt_layer_class *gnti_context_find_layer(const gnt_context *ctx, const char *name, size_t length)
{
    for (int64_t i = 0; i < ctx->num_layers; i++)
        if (strlen(ctx->layers[i]->name) == length && memcmp(ctx->layers[i]->name, name, length) == 0)
            return ctx->layers[i];
    return NULL;
}

gnt_status gnt_layer_register(gnt_context *ctx, const gnt_layer_class *layer)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(ctx != NULL && layer != NULL, GNT_ERR_ARG, "context and layer must not be NULL");
    GNT_CHECK(layer->struct_size == sizeof *layer, GNT_ERR_ARG,
              "the layer class has %zu bytes, this library's has %zu: build it against this version",
              layer->struct_size, sizeof *layer);
    GNT_CHECK(layer->name != NULL && layer->name[0] >= 'a' && layer->name[0] <= 'z' &&
                  strcspn(layer->name, ":,= \t") == strlen(layer->name),
              GNT_ERR_ARG, "layer name '%s' must start with a small letter and have none of ':,= '",
              layer->name != NULL ? layer->name : "");
    GNT_CHECK(layer->build != NULL && layer->forward != NULL && layer->state_size > 0, GNT_ERR_ARG,
              "layer '%s' lacks build, forward or its state size", layer->name);
    GNT_CHECK(gnti_context_find_layer(ctx, layer->name, strlen(layer->name)) == NULL, GNT_ERR_ARG,
              "there is a layer '%s' already", layer->name);
    GNT_TRY(gnti_grow_array(&ctx->layers, &ctx->layers_capacity, ctx->num_layers + 1));
    ctx->layers[ctx->num_layers++] = layer;
done:
    return st;
}

gnt_status gnt_context_load_plugin(gnt_context *ctx, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_plugin *plugin = NULL;
    gnti_plugin_fn function = NULL;
    gnt_status (*init)(gnt_context *) = NULL;

    GNT_CHECK(ctx != NULL && path != NULL, GNT_ERR_ARG, "context and path must not be NULL");
    GNT_TRY(gnti_grow_array(&ctx->plugins, &ctx->plugins_capacity, ctx->num_plugins + 1));
    GNT_TRY(gnti_plugin_open(path, &plugin));
    GNT_TRY(gnti_plugin_function(plugin, "gnt_plugin_init", &function));
    memcpy(&init, &function, sizeof init);
    /* layers that it registered before it failed point into it: it stays open either way */
    ctx->plugins[ctx->num_plugins++] = plugin;
    plugin = NULL;
    GNT_TRY(init(ctx));
done:
    gnti_plugin_close(&plugin);
    return st;
}

gnt_device *gnti_context_device(gnt_context *ctx)
{
    return ctx->device;
}

gnti_determinism gnti_context_determinism(const gnt_context *ctx)
{
    return ctx->determinism;
}

const gnti_device_config *gnti_context_device_config(const gnt_context *ctx)
{
    return &ctx->config;
}

gnti_comm *gnti_context_processes(const gnt_context *ctx)
{
    return ctx->processes;
}

gnti_comm *gnti_context_swap_processes(gnt_context *ctx, gnti_comm *processes)
{
    gnti_comm *before = ctx->processes;

    ctx->processes = processes;
    return before;
}

const gnti_launch *gnti_context_launch(const gnt_context *ctx)
{
    return &ctx->launch;
}

void gnti_context_set_pool(gnt_context *ctx, const gnti_device_spec *specs, int32_t num)
{
    ctx->pool = specs;
    ctx->pool_size = num;
}

void gnti_context_expect(gnt_context *ctx, const gnti_device_spec *specs, int32_t num)
{
    for (int32_t i = 0; i < num; i++) {
        const gnt_backend *backend = NULL;

        if (strcmp(specs[i].backend, "auto") == 0) /* the context's own */
            continue;
        if (gnti_backend_find(specs[i].backend, &backend) != GNT_OK)
            gnt_clear_error(); /* opening it tells why */
        else if (!backend->in_host_memory)
            atomic_store(&ctx->expects_own_memory, true);
    }
}

bool gnti_context_expects_own_memory(const gnt_context *ctx)
{
    return atomic_load(&ctx->expects_own_memory) || !gnti_device_in_host_memory(ctx->device);
}

gnt_status gnti_context_take_pool(const gnt_context *ctx, gnti_device_spec *specs, int32_t num)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < num; i++) {
        const int32_t index = specs[i].index;

        if (strcmp(specs[i].backend, GNTI_POOL_BACKEND) != 0)
            continue;
        GNT_CHECK(index >= 0 && index < ctx->pool_size, GNT_ERR_USAGE,
                  "devices: there is no device %d in a pool of %d", (int)index, (int)ctx->pool_size);
        specs[i] = ctx->pool[index];
    }
done:
    return st;
}

int32_t gntx_context_rank(const gnt_context *ctx)
{
    return ctx != NULL ? ctx->launch.rank : 0;
}

int32_t gntx_context_num_processes(const gnt_context *ctx)
{
    return ctx != NULL ? ctx->launch.size : 1;
}
