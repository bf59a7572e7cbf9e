/* SPDX-License-Identifier: Apache-2.0 */
/* --help: examples first, then the options of each heading with kind, default and unit, as their tables have them. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

const char *cli_value_name(const gnt_option *row)
{
    switch (row->kind) {
    case GNT_OPTION_KIND_INT:
        return "N";
    case GNT_OPTION_KIND_FLOAT:
    case GNT_OPTION_KIND_DOUBLE:
        return "X";
    case GNT_OPTION_KIND_WORD:
        return "WORD";
    case GNT_OPTION_KIND_TEXT:
        return "TEXT";
    case GNT_OPTION_KIND_LIST:
        return "LIST";
    case GNT_OPTION_KIND_BOOL:
    case GNT_OPTION_KIND_END:
        break;
    }
    return "";
}

void cli_default_text(const gnt_option *row, char out[64])
{
    _Alignas(16) unsigned char block[64] = { 0 }; /* room for one value */
    gnt_option lone[2] = { *row, GNT_OPTION_END };

    lone[0].offset = 0;
    out[0] = '\0';
    if (row->kind == GNT_OPTION_KIND_BOOL && !(row->default_number > 0.0))
        return;
    if (gntx_options_defaults(lone, block) == GNT_OK && gntx_option_get(lone, block, out, 64) != GNT_OK)
        out[0] = '\0';
    gntx_options_free_texts(lone, block);
}

/* Writes words, broken so that lines stay within HELP_WIDTH, behind `column` spaces from the second line on. */
static void print_wrapped(const char *text, int column)
{
    int at = column;

    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");

        if (at > column && at + 1 + length > HELP_WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            putchar(' ');
            at++;
        }
        printf("%.*s", length, text);
        at += length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_row(const gnt_option *row)
{
    char left[128], right[1024], value[64];
    const bool is_short = row->help[0] == '-' && row->help[2] == ':';
    const char *help = is_short ? row->help + 4 : row->help;
    const char *name = cli_value_name(row);

    snprintf(left, sizeof left, "  %.2s%s--%s%s%s", is_short ? row->help : "  ", is_short ? ", " : "  ",
             row->name, name[0] == '\0' ? "" : " ", name);
    cli_default_text(row, value);
    snprintf(right, sizeof right, "%s%s%s%s%s%s%s", help,
             row->kind == GNT_OPTION_KIND_WORD ? "; one of " : "",
             row->kind == GNT_OPTION_KIND_WORD ? row->words : "", value[0] == '\0' ? "" : " (", value,
             value[0] == '\0' ? "" : ")", "");
    printf("%-*s", HELP_COLUMN, left);
    if (strlen(left) >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    print_wrapped(right, HELP_COLUMN);
}

static void print_table(const gnt_option *table)
{
    for (const gnt_option *o = table; !cli_is_end(o); o++) {
        if (o->kind == GNT_OPTION_KIND_END)
            printf("\n%s\n", o->name);
        else
            print_row(o);
    }
}

void cli_print_help(const cli_verb *verb)
{
    printf("gnntrain %s: %s\n\nExamples\n", verb->name, verb->summary);
    for (int i = 0; i < CLI_MAX_EXAMPLES; i++)
        if (verb->examples[i] != NULL)
            printf("  %s\n", verb->examples[i]);
    printf("\nUsage\n  gnntrain %s %s%s[options]\n", verb->name, verb->arguments,
           verb->arguments[0] == '\0' ? "" : " ");
    if (verb->details != NULL) {
        printf("\n");
        print_wrapped(verb->details, 0);
    }
    for (int s = 0; s < CLI_MAX_SECTIONS && verb->sections[s].table != NULL; s++)
        print_table(verb->sections[s].table());
    print_table(cli_common_table());
}

/* Verbs (of a group, NULL: all) with their summaries; the column is as wide as the longest name. */
static void print_verbs(const char *group)
{
    int width = 10;

    for (int i = 0; i < cli_num_verbs; i++)
        if ((group == NULL || cli_is_of_group(cli_verbs[i], group)) &&
            (int)strlen(cli_verbs[i]->name) > width)
            width = (int)strlen(cli_verbs[i]->name);
    for (int i = 0; i < cli_num_verbs; i++) {
        if (group != NULL && !cli_is_of_group(cli_verbs[i], group))
            continue;
        printf("  %-*s  ", width, cli_verbs[i]->name);
        print_wrapped(cli_verbs[i]->summary, width + 4);
    }
}

void cli_print_group_help(const char *group)
{
    printf("gnntrain %s: verbs of two words\n\nExamples\n", group);
    for (int i = 0; i < cli_num_verbs; i++)
        if (cli_is_of_group(cli_verbs[i], group))
            printf("  %s\n", cli_verbs[i]->examples[0]);
    printf("\nVerbs\n");
    print_verbs(group);
    printf("\n  gnntrain %s VERB --help      options of a verb\n", group);
}

void cli_print_overview(void)
{
    printf("gnntrain %s: trains graph neural networks\n\nExamples\n", gnt_version());
    printf("  gnntrain generate karate -o karate.h5\n");
    printf("  gnntrain train karate.h5 --model 'gcn:16, gcn' --run karate-run\n\nVerbs\n");
    print_verbs(NULL);
    printf("\n  gnntrain VERB --help      options of a verb\n"
           "  gnntrain --version        version and what is built in\n"
           "  gnntrain --man            the manual page (troff)\n"
           "  gnntrain --completion     completion for bash\n\n"
           "Exit codes: 0 done, 1 bug, 2 usage, 3 bad data, 4 does not fit or cannot be written, 5 device or "
           "rank\n"
           "lost, 6 diverged, 75 stopped with a checkpoint (the same line goes on), 130 second interrupt.\n");
}
