/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page, gnntrain(1), from the tables of the verbs. Text is escaped for troff: backslashes, dashes of options,
 * and lines that would begin with a control character; lists of words may be broken between two.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void put_text(const char *text)
{
    if (*text == '.' || *text == '\'')
        printf("\\&");
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else if (*text == '|')
            printf("|\\:"); /* a line may end here */
        else
            putchar(*text);
    }
}

static void put_row(const gnt_option *row)
{
    const bool is_short = row->help[0] == '-' && row->help[2] == ':';
    const char *name = cli_value_name(row);
    char value[64];

    printf(".TP\n.B ");
    if (is_short)
        printf("\\-%c\\fR, \\fB", row->help[1]);
    printf("\\-\\-");
    put_text(row->name);
    printf("%s%s%s\n", name[0] == '\0' ? "" : " \\fI", name, name[0] == '\0' ? "" : "\\fR");
    put_text(is_short ? row->help + 4 : row->help);
    if (row->kind == GNT_OPTION_KIND_WORD) {
        printf("; one of ");
        put_text(row->words);
    }
    cli_default_text(row, value);
    if (value[0] != '\0') {
        printf(" (default ");
        put_text(value);
        printf(")");
    }
    printf("\n");
}

static void put_table(const gnt_option *table)
{
    for (const gnt_option *o = table; !cli_is_end(o); o++) {
        if (o->kind == GNT_OPTION_KIND_END) {
            printf(".PP\n.I ");
            put_text(o->name);
            printf("\n");
        } else
            put_row(o);
    }
}

static void put_verb(const cli_verb *verb)
{
    printf(".SS gnntrain %s ", verb->name);
    put_text(verb->arguments);
    printf("\n");
    put_text(verb->summary);
    printf(".\n");
    if (verb->details != NULL) {
        printf(".PP\n");
        put_text(verb->details);
        printf("\n");
    }
    printf(".PP\n.nf\n");
    for (int i = 0; i < CLI_MAX_EXAMPLES; i++) {
        if (verb->examples[i] == NULL)
            continue;
        put_text(verb->examples[i]);
        printf("\n");
    }
    printf(".fi\n");
    for (int s = 0; s < CLI_MAX_SECTIONS && verb->sections[s].table != NULL; s++)
        put_table(verb->sections[s].table());
}

void cli_print_man(void)
{
    printf(".TH GNNTRAIN 1 \"\" \"gnntrain %s\" \"User Commands\"\n.SH NAME\ngnntrain \\- train graph neural "
           "networks\n"
           ".SH SYNOPSIS\n.B gnntrain\n.I VERB\n[arguments] [options]\n.SH VERBS\n",
           gnt_version());
    for (int i = 0; i < cli_num_verbs; i++)
        put_verb(cli_verbs[i]);
    printf(".SH GENERAL OPTIONS\n");
    put_table(cli_common_table());
    printf(
        ".SH PRECEDENCE\nDefaults, then the user's file\n.I $XDG_CONFIG_HOME/gnntrain/VERB.yaml\n"
        "(or\n.IR ~/.config ),\nthen\n.BR \\-\\-config ,\nthen environment variables\n.BR "
        "GNNTRAIN_VERB_OPTION ,\n"
        "then flags.\n.SH EXIT STATUS\n0 done; 1 a bug of gnntrain; 2 usage; 3 bad data or unreadable input; "
        "4 does not\n"
        "fit or cannot be written; 5 a device or a rank was lost; 6 diverged; 75 stopped with a checkpoint, "
        "the same\n"
        "line goes on; 130 second interrupt.\n.SH ENVIRONMENT\n.TP\n.B GNNTRAIN_THREADS\nthreads when\n"
        ".B \\-\\-threads\nis not given\n.TP\n.B GNNTRAIN_LOG\nlevels of the log, such as info,dist=debug\n"
        ".TP\n.B GNNTRAIN_PLUGIN_DIR\nfolder in which plug-ins of devices are looked for first\n"
        ".TP\n.B GNNTRAIN_LIBEXEC\nfolder of part-metis, when it is not where it was installed\n"
        ".TP\n.B NO_COLOR\nno colours on a terminal\n");
}
