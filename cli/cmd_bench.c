/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain bench: measures one of the project's figures and prints baseline, ours, ratio, goal and where it was measured.
 *
 * A figure is a script NAME.py that talks to this command and to the peers; they lie in ../share/gnntrain/figures beside an
 * installed command, in bench/figures beside a build folder of the sources. The script takes over this process' output and
 * its exit code becomes ours.
 */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MAX_FIGURES = 64, NAME_BYTES = 64, LINE_BYTES = 512 };

typedef struct bench_options {
    char *figure, *case_text, *peers, *data;
    bool list;
    int64_t rounds, threads;
} bench_options;

static const gnt_option options[] = {
    GNT_OPTION_GROUP("Figures"),
    GNT_OPTION_TEXT("figure", bench_options, figure, NULL, "the figure to measure"),
    GNT_OPTION_BOOL("list", bench_options, list, false, "names of the figures and what they show"),
    GNT_OPTION_TEXT("case", bench_options, case_text, NULL, "only cases with this text in their name"),
    GNT_OPTION_TEXT("peers", bench_options, peers, NULL,
                    "Python of the peers' environment (bench/peers/README.md)"),
    GNT_OPTION_TEXT("data", bench_options, data, NULL, "folder where synthetic graphs are kept"),
    GNT_OPTION_INT("rounds", bench_options, rounds, 5, 1, 1000, "how often ours and the peers take turns"),
    GNT_OPTION_INT("threads", bench_options, threads, 2, 1, 1024, "threads of each side"),
    GNT_OPTION_END,
};

static const gnt_option *table(void)
{
    return options;
}

static const char *const places[] = { "/../share/gnntrain/figures", "/../../../bench/figures" };

/* This command's own path, and the folder of the figures that belongs to it. */
static gnt_status find_folder(char self[PATH_BYTES], char folder[PATH_BYTES + 64])
{
    const ssize_t n = readlink("/proc/self/exe", self, PATH_BYTES - 1);
    char *slash;

    if (n <= 0)
        return gntx_fail(GNT_ERR_IO, "cannot tell where this command lies: %s", strerror(errno));
    self[n] = '\0';
    slash = strrchr(self, '/');
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(folder, PATH_BYTES + 64, "%.*s%s", (int)(slash - self), self, places[i]);
        if (access(folder, R_OK | X_OK) == 0)
            return GNT_OK;
    }
    return gntx_fail(GNT_ERR_IO, "no folder of figures beside '%s' (%s, %s)", self, places[0], places[1]);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Names of the figures in ascending order; answers how many. */
static size_t list_names(const char *folder, char names[MAX_FIGURES][NAME_BYTES])
{
    DIR *d = opendir(folder);
    size_t count = 0;

    if (d == NULL)
        return 0;
    for (const struct dirent *e = readdir(d); e != NULL && count < MAX_FIGURES; e = readdir(d)) {
        const size_t length = strlen(e->d_name);

        if (length < 4 || length >= NAME_BYTES || strcmp(e->d_name + length - 3, ".py") != 0 ||
            strcmp(e->d_name, "figure.py") == 0)
            continue;
        memcpy(names[count], e->d_name, length - 3);
        names[count++][length - 3] = '\0';
    }
    closedir(d);
    qsort(names, count, NAME_BYTES, compare_names);
    return count;
}

/* What a script says about itself: the line "# Figure: ..." in its head. */
static void read_title(const char *folder, const char *name, char out[LINE_BYTES])
{
    static const char mark[] = "# Figure: ";
    char path[PATH_BYTES + 256], line[LINE_BYTES];
    FILE *f;

    out[0] = '\0';
    snprintf(path, sizeof path, "%s/%s.py", folder, name);
    f = fopen(path, "re");
    for (int i = 0; f != NULL && i < 10 && fgets(line, sizeof line, f) != NULL; i++) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, mark, sizeof mark - 1) == 0)
            memcpy(out, line + sizeof mark - 1, strlen(line) - sizeof mark + 2);
    }
    if (f != NULL)
        fclose(f);
}

static gnt_status print_list(const char *folder)
{
    gnt_status st = GNT_OK;
    static char names[MAX_FIGURES][NAME_BYTES];
    const size_t count = list_names(folder, names);
    gntx_json *facts = NULL;
    char title[LINE_BYTES];

    GNT_TRY(gntx_json_create_object(&facts));
    for (size_t i = 0; i < count; i++) {
        read_title(folder, names[i], title);
        if (title[0] != '\0') /* else a script that others use */
            GNT_TRY(gntx_json_set_text(facts, names[i], title));
    }
    GNT_TRY(cli_print_facts(facts));
done:
    gntx_json_free(&facts);
    return st;
}

static gnt_status unknown_figure(const char *folder, const char *name)
{
    static char names[MAX_FIGURES][NAME_BYTES];
    const char *list[MAX_FIGURES], *nearest;
    const size_t count = list_names(folder, names);

    for (size_t i = 0; i < count; i++)
        list[i] = names[i];
    nearest = gntx_name_nearest(list, count, name);
    return gntx_fail(GNT_ERR_USAGE, "unknown figure '%s'%s%s%s (gnntrain bench --list names them)", name,
                     nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
                     nearest == NULL ? "" : "'?");
}

/* Replaces this process: nothing of ours is left to do. Comes back only when it cannot. */
static gnt_status run_script(const cli_call *call, const bench_options *o, const char *self,
                             const char *script)
{
    char rounds[24], threads[24];
    const char *words[12] = { "python3", script };
    int n = 2;

    snprintf(rounds, sizeof rounds, "%lld", (long long)o->rounds);
    snprintf(threads, sizeof threads, "%lld", (long long)o->threads);
    words[n++] = "--rounds";
    words[n++] = rounds;
    words[n++] = "--threads";
    words[n++] = threads;
    if (o->case_text != NULL) {
        words[n++] = "--case";
        words[n++] = o->case_text;
    }
    if (call->common.json)
        words[n++] = "--json";
    /* the script measures this very command unless told otherwise */
    if (setenv("GNNTRAIN", self, 0) == 0 &&
        (o->peers == NULL || setenv("GNNTRAIN_BENCH_PEERS", o->peers, 1) == 0) &&
        (o->data == NULL || setenv("GNNTRAIN_BENCH_DATA", o->data, 1) == 0))
        execvp("python3", (char *const *)(uintptr_t)words);
    return gntx_fail(GNT_ERR_UNSUPPORTED, "cannot run python3 for '%s': %s", script, strerror(errno));
}

static gnt_status run(cli_call *call)
{
    gnt_status st = GNT_OK;
    const bench_options *o = cli_options_of(call, 0);
    char self[PATH_BYTES], folder[PATH_BYTES + 64], script[PATH_BYTES + 256], title[LINE_BYTES];

    GNT_TRY(find_folder(self, folder));
    if (o->list)
        return print_list(folder);
    if (o->figure == NULL)
        return gntx_fail(GNT_ERR_USAGE, "no figure: add --figure NAME, or --list");
    read_title(folder, o->figure, title);
    if (strchr(o->figure, '/') != NULL || title[0] == '\0' ||
        snprintf(script, sizeof script, "%s/%s.py", folder, o->figure) < 0 || access(script, R_OK) != 0)
        return unknown_figure(folder, o->figure);
    GNT_TRY(run_script(call, o, self, script));
done:
    return st;
}

const cli_verb cmd_bench = {
    .name = "bench",
    .summary = "measure a figure: baseline, ours, ratio, goal",
    .arguments = "",
    .details =
        "Ours and the peers take turns in one session. What is missing for it is said, with exit code 2.",
    .examples = { "gnntrain bench --list", "gnntrain bench --figure epoch-cora --rounds 7 --json" },
    .min_arguments = 0,
    .max_arguments = 0,
    .sections = { { table, sizeof(bench_options) } },
    .run = run,
};
