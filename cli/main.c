/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain: finds the verb, parses its options, runs it, and turns the status into an exit code. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* "GNNTRAIN_TRAIN_EPOCHS=..." begins with GNNTRAIN_, the verb's key in upper case, and '_'. */
static bool is_of_a_verb(const char *entry)
{
    char key[64];

    for (int i = 0; i < cli_num_verbs; i++) {
        size_t length = 0;

        cli_verb_key(cli_verbs[i], '_', key, sizeof key);
        while (key[length] != '\0' &&
               (entry[9 + length] == key[length] || entry[9 + length] == key[length] - 'a' + 'A'))
            length++;
        if (key[length] == '\0' && entry[9 + length] == '_')
            return true;
    }
    return false;
}

/* GNNTRAIN_TRIAN_EPOCHS would do nothing: say so. */
static void warn_of_strange_variables(void)
{
    for (char **e = environ; *e != NULL; e++)
        if (strncmp(*e, "GNNTRAIN_", 9) == 0 && !cli_is_library_variable(*e) && !is_of_a_verb(*e))
            cli_warn("environment variable %.*s is not used: names are GNNTRAIN_VERB_OPTION",
                     (int)strcspn(*e, "="), *e);
}

static gnt_status check_arguments(const cli_call *call)
{
    const cli_verb *verb = call->verb;

    if (call->num_arguments < verb->min_arguments)
        return gntx_fail(GNT_ERR_USAGE, "'gnntrain %s' needs %s", verb->name, verb->arguments);
    if (verb->max_arguments >= 0 && call->num_arguments > verb->max_arguments)
        return gntx_fail(GNT_ERR_USAGE, "'gnntrain %s' does not take '%s': usage is gnntrain %s %s",
                         verb->name, call->arguments[verb->max_arguments], verb->name, verb->arguments);
    return GNT_OK;
}

static gnt_status print_config(const cli_call *call)
{
    gnt_status st = GNT_OK;
    char *text = NULL;

    GNT_TRY(cli_config_text(call, &text));
    printf("%s", text);
    GNT_TRY(cli_flush());
done:
    gntx_free(text);
    return st;
}

static gnt_status run_verb(cli_call *call, const cli_verb *verb, int argc, char **argv, int *exit_code)
{
    gnt_status st = GNT_OK;

    GNT_TRY(cli_call_begin(call, verb));
    cli_set_call(call);
    GNT_TRY(cli_call_parse(call, argc, argv));
    if (call->common.help || (call->no_arguments_at_all && verb->min_arguments > 0)) {
        cli_print_help(verb);
        *exit_code = call->common.help ? 0 : CLI_EXIT_USAGE;
        return cli_flush();
    }
    if (call->common.log != NULL)
        GNT_TRY(gnt_log_set_levels(call->common.log));
    warn_of_strange_variables();
    if (call->common.print_config)
        return print_config(call);
    GNT_TRY(check_arguments(call));
    if (!verb->ranks)
        GNT_TRY(gntx_check_single());
    GNT_TRY(verb->run(call));
done:
    return st;
}

/* `gnntrain ensemble`, with --help or alone, tells of its verbs; other options need one of them. */
static gnt_status run_group(const char *group, int argc, char **argv, int *exit_code)
{
    if (argc > 0 && strcmp(argv[0], "--help") != 0 && strcmp(argv[0], "-h") != 0)
        return gntx_fail(GNT_ERR_USAGE, "'gnntrain %s %s' names no verb: gnntrain %s --help lists them",
                         group, argv[0], group);
    cli_print_group_help(group);
    *exit_code = argc > 0 ? 0 : CLI_EXIT_USAGE;
    return cli_flush();
}

static gnt_status run_words(int argc, char **argv, int *exit_code)
{
    static cli_call call;
    gnt_status st = GNT_OK;
    const cli_verb *verb = NULL;
    int taken = 0;

    GNT_TRY(cli_match_verb(argc, argv, &verb, &taken));
    st = verb == NULL ? run_group(argv[0], argc - taken, argv + taken, exit_code)
                      : run_verb(&call, verb, argc - taken, argv + taken, exit_code);
done:
    if (st == GNT_STOPPED)
        *exit_code = cli_exit_code(st); /* the verb has told why */
    else if (st != GNT_OK)
        *exit_code = cli_report_error(st);
    cli_call_free(&call);
    return st;
}

/* Words that stand where a verb would. True when it was one of them. */
static bool run_word(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        cli_print_overview();
    else if (strcmp(word, "--man") == 0)
        cli_print_man();
    else if (strcmp(word, "--completion") == 0)
        cli_print_completion();
    else if (strcmp(word, "--version") == 0)
        cli_print_version();
    else
        return false;
    return true;
}

/* Threads that wait for each other spin some 20 microseconds and then sleep, so that a busy machine is not kept busier by
 * waiting. The OpenMP runtime reads this before main, hence once more from the start; a user's own setting stands. */
static void set_waits(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL ||
        setenv("GOMP_SPINCOUNT", "1000", 1) != 0)
        return;
    execv("/proc/self/exe", argv); /* where this fails the runtime's own habit stays */
}

int main(int argc, char **argv)
{
    int exit_code = 0;

    set_waits(argv);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that leaves early is no failure */
    if (argc < 2) {
        cli_print_overview();
        return cli_flush() == GNT_OK ? CLI_EXIT_USAGE : cli_report_error(GNT_ERR_OUTPUT);
    }
    if (run_word(argv[1]))
        return cli_flush() == GNT_OK ? 0 : cli_report_error(GNT_ERR_OUTPUT);
    (void)run_words(argc - 1, argv + 1, &exit_code);
    return exit_code;
}
