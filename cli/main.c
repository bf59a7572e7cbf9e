/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain: finds the verb, parses its options, runs it, and turns the status into an exit code. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

const cli_verb *cli_find_verb(const char *name)
{
    for (int i = 0; i < cli_num_verbs; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

static gnt_status unknown_verb(const char *name)
{
    const char *names[64], *nearest;
    size_t count = 0;

    for (int i = 0; i < cli_num_verbs && count < 64; i++)
        names[count++] = cli_verbs[i]->name;
    nearest = gntx_name_nearest(names, count, name);
    return gntx_fail(GNT_ERR_USAGE, "unknown verb '%s'%s%s%s", name,
                     nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
                     nearest == NULL ? "" : "'?");
}

/* GNNTRAIN_TRIAN_EPOCHS would do nothing: say so. */
static void warn_of_strange_variables(void)
{
    for (char **e = environ; *e != NULL; e++) {
        char verb[32] = "";

        if (strncmp(*e, "GNNTRAIN_", 9) != 0 || cli_is_library_variable(*e))
            continue;
        for (size_t i = 0; i < sizeof verb - 1 && (*e)[9 + i] >= 'A' && (*e)[9 + i] <= 'Z'; i++)
            verb[i] = (char)((*e)[9 + i] - 'A' + 'a');
        if (cli_find_verb(verb) == NULL)
            cli_warn("environment variable %.*s is not used: names are GNNTRAIN_VERB_OPTION",
                     (int)strcspn(*e, "="), *e);
    }
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
    static cli_call call;
    const cli_verb *verb;
    gnt_status st = GNT_OK;
    int exit_code = 0;

    set_waits(argv);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that leaves early is no failure */
    if (argc < 2) {
        cli_print_overview();
        return cli_flush() == GNT_OK ? CLI_EXIT_USAGE : cli_report_error(GNT_ERR_OUTPUT);
    }
    if (run_word(argv[1])) {
        st = cli_flush();
    } else {
        verb = cli_find_verb(argv[1]);
        st = verb == NULL ? unknown_verb(argv[1]) : run_verb(&call, verb, argc - 2, argv + 2, &exit_code);
    }
    if (st == GNT_STOPPED)
        exit_code = cli_exit_code(st); /* the verb has told why */
    else if (st != GNT_OK)
        exit_code = cli_report_error(st);
    cli_call_free(&call);
    return exit_code;
}
