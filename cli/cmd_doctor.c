/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain doctor: a line for each thing that a run depends on: ok, warn or fail, and what helps. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

typedef enum level { OK, WARN, FAIL } level;

/* What the checks have found so far. */
typedef struct report {
    gntx_json *list;
    int64_t count[3];
    gnt_status status; /* the first failure to write a finding */
    gnt_status cause;  /* of the last check that a device failed; OK: none */
} report;

static void add(report *r, level l, const char *name, const char *remedy, const char *format, ...)
    GNT_PRINTF(5, 6);

static void add(report *r, level l, const char *name, const char *remedy, const char *format, ...)
{
    static const char *const words[] = { "ok", "warn", "fail" };
    gnt_status st = r->status;
    gntx_json *item = NULL;
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->count[l]++;
    if (st != GNT_OK)
        return;
    GNT_TRY(gntx_json_append_object(r->list, &item));
    GNT_TRY(gntx_json_set_text(item, "state", words[l]));
    GNT_TRY(gntx_json_set_text(item, "name", name));
    GNT_TRY(gntx_json_set_text(item, "text", text));
    GNT_TRY(gntx_json_set_text(item, "remedy", l == OK ? "" : remedy));
done:
    r->status = st;
}

/* The first line of a system file, "" when there is none. */
static void read_line(const char *path, char out[256])
{
    FILE *f = fopen(path, "re");

    out[0] = '\0';
    if (f == NULL)
        return;
    if (fgets(out, 256, f) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

static int64_t available_bytes(void)
{
    char line[256];
    long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "re");

    while (f != NULL && kib == 0 && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemAvailable: %lld", &kib) != 1)
            kib = 0;
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

static void check_cores(report *r)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int32_t ours = gntx_num_cores();

    add(r, ours < online ? WARN : OK, "cores", "raise the affinity or the quota of the container or job",
        "%d of %ld cores may be used", ours, online);
}

static void check_memory(report *r)
{
    const int64_t bytes = available_bytes();
    char text[CLI_FORMAT_BYTES], limit[256];
    long long quota = 0;

    add(r, bytes < (int64_t)1 << 30 ? WARN : OK, "memory", "end other programs, or use a machine with more",
        "%s available", cli_format_bytes(bytes, text));
    read_line("/sys/fs/cgroup/memory.max", limit);
    if (sscanf(limit, "%lld", &quota) == 1)
        add(r, quota < bytes ? WARN : OK, "memory limit", "raise the limit of the container or job",
            "control group allows %s", cli_format_bytes(quota, text));
}

static void check_huge_pages(report *r)
{
    char mode[256];

    read_line("/sys/kernel/mm/transparent_hugepage/enabled", mode);
    if (mode[0] == '\0')
        add(r, WARN, "large pages", "none: this kernel cannot", "the kernel offers none; epochs take longer");
    else
        add(r, strstr(mode, "[never]") != NULL ? WARN : OK, "large pages",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", "2 MiB pages: %s", mode);
}

/* Runs write in the folder where they are started, and lock files there. */
static void check_folder(report *r)
{
    char name[] = "./.gnntrain-doctor-XXXXXX", text[CLI_FORMAT_BYTES];
    struct statvfs disk;
    const int fd = mkostemp(name, O_CLOEXEC);

    if (fd < 0) {
        add(r, WARN, "folder", "start runs in a folder of your own", "this folder cannot be written: %s",
            strerror(errno));
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        add(r, WARN, "file locks", "set HDF5_USE_FILE_LOCKING=FALSE", "this file system refuses locks: %s",
            strerror(errno));
    else
        add(r, OK, "file locks", "", "work in this folder");
    close(fd);
    unlink(name);
    if (statvfs(".", &disk) == 0) {
        const double bytes = (double)disk.f_bavail * (double)disk.f_frsize;

        add(r, bytes < 1e9 ? WARN : OK, "disk", "make room, or use another folder", "%s free in this folder",
            cli_format_bytes(bytes < 9e18 ? (int64_t)bytes : INT64_MAX, text));
    }
}

static void check_clock(report *r)
{
    const time_t now = time(NULL);
    double smallest = 1.0, last = gntx_clock_seconds();

    for (int i = 0; i < 100000; i++) {
        const double t = gntx_clock_seconds();

        if (t > last && t - last < smallest)
            smallest = t - last;
        last = t;
    }
    add(r, now < 1700000000 ? WARN : OK, "clock", "set the time of this machine", "resolution %.0f ns",
        1e9 * smallest);
}

/* Trains a small graph for a second: the loss must fall. */
static gnt_status train_a_little(gnt_context *ctx, double *first, double *last, int64_t *epochs)
{
    gnt_status st = GNT_OK;
    gntx_generate_options options = { 0 };
    gnt_dataset *data = NULL;
    gnt_model *model = NULL;
    gnt_trainer *tr = NULL;
    gnt_trainer_config config;
    gnt_epoch_stats stats = { .struct_size = sizeof stats };
    const double until = gntx_clock_seconds() + 1.0;

    *epochs = 0;
    GNT_TRY(gntx_options_defaults(gntx_generate_option_table(), &options));
    GNT_TRY(gntx_generate(ctx, "karate", &options, &data, NULL));
    GNT_TRY(gnt_model_create(data, "gcn:16, gcn", &model));
    gnt_trainer_config_init(&config);
    config.epochs = 100000;
    GNT_TRY(gnt_trainer_create(model, data, &config, &tr));
    while (gntx_clock_seconds() < until && gnt_trainer_next(tr, &stats)) {
        *first = *epochs == 0 ? stats.train_loss : *first;
        *last = stats.train_loss;
        ++*epochs;
    }
    GNT_TRY(gnt_trainer_status(tr));
done:
    gnt_trainer_free(&tr);
    gnt_model_free(&model);
    gnt_dataset_free(&data);
    gntx_options_free_texts(gntx_generate_option_table(), &options);
    return st;
}

/* What to do about a self test that failed. */
static const char *remedy_of(gnt_status st)
{
    if (st == GNT_ERR_DEVICE_LOST)
        return "the device is gone or held by another program: look at it with its own tools, or train with "
               "--devices cpu";
    if (st == GNT_ERR_DEVICE_NOMEM || st == GNT_ERR_NOMEM)
        return "free memory of the device, or train with --devices cpu";
    return "please report it";
}

static void check_training(report *r)
{
    gnt_context *ctx = NULL;
    double first = (double)NAN, last = (double)NAN;
    int64_t epochs = 0;
    gnt_status st = gnt_context_create(NULL, &ctx);

    if (st == GNT_OK)
        st = train_a_little(ctx, &first, &last, &epochs);
    if (st == GNT_ERR_DEVICE_LOST || st == GNT_ERR_DEVICE_NOMEM || st == GNT_ERR_NOMEM)
        r->cause = st;
    if (st != GNT_OK)
        add(r, FAIL, "self test", remedy_of(st), "%s", gnt_last_error());
    else
        add(r, last < first ? OK : FAIL, "self test", "please report it",
            "%lld epochs of a small graph in a second, loss %.3f to %.3f", (long long)epochs, first, last);
    gnt_context_free(&ctx);
}

static gnt_status check_libraries(report *r)
{
    gnt_status st = GNT_OK;
    gntx_json *facts = NULL;
    const gntx_json *libraries;

    GNT_TRY(gntx_build_info(&facts));
    libraries = gntx_json_find(facts, "libraries");
    for (int64_t i = 0; i < gntx_json_length(libraries); i++) {
        const char *key = gntx_json_key_at(libraries, i),
                   *text = gntx_json_to_text(gntx_json_find(libraries, key));

        add(r, OK, key, "", "%s", text == NULL ? "" : text);
    }
done:
    gntx_json_free(&facts);
    return st;
}

static const char *text_of(const gntx_json *item, const char *key)
{
    const char *text = gntx_json_to_text(gntx_json_find(item, key));

    return text != NULL && text[0] != '\0' ? text : "none";
}

/* Back ends in plug-ins: versions of driver and libraries, or what is missing. One that is missing is no fault: the processor
 * serves; one that opens and finds no device is. */
static gnt_status check_plugins(report *r)
{
    gnt_status st = GNT_OK;
    gntx_json *facts = NULL;
    const gntx_json *plugins;

    GNT_TRY(gntx_devices(&facts));
    plugins = gntx_json_find(facts, "plugins");
    for (int64_t i = 0; i < gntx_json_length(plugins); i++) {
        const gntx_json *p = gntx_json_at(plugins, i);
        const char *problem = text_of(p, "problem");

        if (gntx_json_find(p, "runtime") == NULL)
            add(r, OK, text_of(p, "backend"), "", "not used: %s", problem);
        else
            add(r, strcmp(problem, "none") == 0 ? OK : WARN, text_of(p, "backend"),
                "install or update the device's driver",
                "%s%sdriver %s, runtime %s, sparse %s, blas %s, collectives %s",
                strcmp(problem, "none") == 0 ? "" : problem, strcmp(problem, "none") == 0 ? "" : "; ",
                text_of(p, "driver"), text_of(p, "runtime"), text_of(p, "sparse"), text_of(p, "blas"),
                text_of(p, "collectives"));
    }
done:
    gntx_json_free(&facts);
    return st;
}

static void print_lines(const report *r)
{
    static const char *const colors[] = { "32", "33", "31" };
    const bool color = isatty(STDOUT_FILENO) == 1 && cli_use_color();

    for (int64_t i = 0; i < gntx_json_length(r->list); i++) {
        const gntx_json *item = gntx_json_at(r->list, i);
        const char *state = gntx_json_to_text(gntx_json_find(item, "state"));
        const char *remedy = gntx_json_to_text(gntx_json_find(item, "remedy"));
        const char *tint = colors[strcmp(state, "ok") == 0 ? 0 : strcmp(state, "warn") == 0 ? 1 : 2];

        printf("%s%s%s%-4s%s  %-14s %s\n", color ? "\033[" : "", color ? tint : "", color ? "m" : "", state,
               color ? "\033[0m" : "", gntx_json_to_text(gntx_json_find(item, "name")),
               gntx_json_to_text(gntx_json_find(item, "text")));
        if (remedy != NULL && remedy[0] != '\0')
            printf("      %-14s -> %s\n", "", remedy);
    }
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    gntx_json *facts = NULL;
    report r = { .list = NULL };

    GNT_TRY(gntx_json_create_object(&facts));
    GNT_TRY(gntx_json_set_text(facts, "version", gnt_version()));
    GNT_TRY(gntx_json_set_array(facts, "checks", &r.list));
    GNT_TRY(check_libraries(&r));
    GNT_TRY(check_plugins(&r));
    check_cores(&r);
    check_memory(&r);
    check_huge_pages(&r);
    check_folder(&r);
    check_clock(&r);
    check_training(&r);
    GNT_TRY(r.status);
    GNT_TRY(gntx_json_set_int(facts, "num_warnings", r.count[WARN]));
    GNT_TRY(gntx_json_set_int(facts, "num_failures", r.count[FAIL]));
    if (call->common.json)
        GNT_TRY(cli_print_facts(facts));
    else
        print_lines(&r);
    GNT_TRY(cli_flush());
    if (r.count[FAIL] > 0)
        st = gntx_fail(r.cause != GNT_OK ? r.cause : GNT_ERR_INTERNAL, "%lld checks failed",
                       (long long)r.count[FAIL]);
done:
    gntx_json_free(&facts);
    return st;
}

const cli_verb cmd_doctor = {
    .name = "doctor",
    .summary = "look at this machine: what a run depends on, and a self test",
    .arguments = "",
    .examples = { "gnntrain doctor", "gnntrain doctor --json" },
    .min_arguments = 0,
    .max_arguments = 0,
    .run = run,
};
