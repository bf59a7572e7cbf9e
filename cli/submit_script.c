/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the batch template. "@NAME@" is replaced, any other '@' stays; a line that holds nothing but a name which stands
 * for nothing is left out. Words that a shell would take apart or expand stand in single quotes.
 */
#include "cli/cli.h"
#include "cli/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";

    return text[0] != '\0' && text[strspn(text, plain)] == '\0';
}

static void put_word(FILE *out, const char *text)
{
    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

char *cli_shell_word(const char *text)
{
    char *word = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&word, &size);

    if (out == NULL)
        return NULL;
    put_word(out, text);
    if (fclose(out) != 0) {
        free(word);
        word = NULL;
    }
    return word;
}

static void put_text_directive(FILE *out, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        fprintf(out, "#SBATCH --%s=%s\n", name, value);
}

static void put_number_directive(FILE *out, const char *name, int64_t value)
{
    if (value > 0)
        fprintf(out, "#SBATCH --%s=%lld\n", name, (long long)value);
}

static void put_directives(FILE *out, const cli_submit *o, const char *job_name)
{
    char gres[128] = "";

    if (o->gpus != NULL && o->gpus[0] != '\0')
        snprintf(gres, sizeof gres, "gpu:%s", o->gpus);
    put_text_directive(out, "job-name", job_name);
    fprintf(out, "#SBATCH --output=%s-%%j.log\n", job_name);
    put_text_directive(out, "nodes", o->nodes);
    if (o->tasks == 0 && o->tasks_per_node == 0)
        put_number_directive(out, "ntasks-per-node", 1);
    put_number_directive(out, "ntasks", o->tasks);
    put_number_directive(out, "ntasks-per-node", o->tasks_per_node);
    put_number_directive(out, "cpus-per-task", o->cpus_per_task);
    put_text_directive(out, "gres", gres);
    put_text_directive(out, "mem", o->mem);
    put_text_directive(out, "time", o->time);
    put_text_directive(out, "partition", o->partition);
    put_text_directive(out, "account", o->account);
}

/* The command as the user gave it, which may be several words, else this program by its path. */
static void put_command(FILE *out, const cli_submit *o)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (o->command != NULL && o->command[0] != '\0') {
        fputs(o->command, out);
        return;
    }
    path[length < 0 ? 0 : length] = '\0';
    put_word(out, length < 0 ? "gnntrain" : path);
}

typedef struct script {
    const cli_submit *options;
    const char *job_name, *run;
    char *const *words;
    int num_words;
} script;

static bool is_one_rank(const cli_submit *o)
{
    const bool one_node = o->nodes == NULL || strcmp(o->nodes, "1") == 0;

    return one_node && o->tasks <= 1 && o->tasks_per_node <= 1;
}

static void put_name(FILE *out, const script *s, const char *name, size_t length)
{
    char key[32];

    snprintf(key, sizeof key, "%.*s", (int)length, name);
    if (strcmp(key, "VERSION") == 0) {
        fputs(gnt_version(), out);
    } else if (strcmp(key, "DIRECTIVES") == 0) {
        put_directives(out, s->options, s->job_name);
    } else if (strcmp(key, "GRACE") == 0) {
        fprintf(out, "%lld", (long long)s->options->grace);
    } else if (strcmp(key, "RETRIES") == 0) {
        fprintf(out, "%lld", (long long)s->options->retries);
    } else if (strcmp(key, "SETUP") == 0) {
        if (s->options->setup != NULL && s->options->setup[0] != '\0')
            fprintf(out, "%s\n", s->options->setup);
    } else if (strcmp(key, "RUN") == 0) {
        put_word(out, s->run);
    } else if (strcmp(key, "COMMAND") == 0) {
        put_command(out, s->options);
    } else if (strcmp(key, "MPI") == 0) {
        fputs(is_one_rank(s->options) ? "none" : "pmix", out);
    } else if (strcmp(key, "WORDS") == 0) {
        for (int i = 0; i < s->num_words; i++) {
            if (i > 0)
                fputc(' ', out);
            put_word(out, s->words[i]);
        }
    }
}

/* True when the line was one name alone, whose lines bring their own ends. */
static bool put_line(FILE *out, const script *s, const char *line)
{
    static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t all = strlen(line);

    for (const char *at = line; *at != '\0';) {
        const size_t length = *at == '@' ? strspn(at + 1, upper) : 0;

        if (length > 0 && at[1 + length] == '@') {
            put_name(out, s, at + 1, length);
            at += length + 2;
            if (at == line + all && length + 2 == all)
                return true;
        } else {
            fputc(*at++, out);
        }
    }
    return false;
}

char *cli_batch_script(const cli_submit *options, const char *job_name, const char *run, char *const *words,
                       int num_words)
{
    const script s = { options, job_name, run, words, num_words };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    for (int i = 0; cli_batch_template[i] != NULL; i++)
        if (!put_line(out, &s, cli_batch_template[i]))
            fputc('\n', out);
    if (fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}
