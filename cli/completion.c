/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for bash, from the tables: verbs (of one word or two), then the options of the verb, the words of an option that has words,
 * file names for everything else. Use: eval "$(gnntrain --completion)".
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void put_options(const gnt_option *table)
{
    for (const gnt_option *o = table; !cli_is_end(o); o++)
        if (o->kind != GNT_OPTION_KIND_END)
            printf(" --%s", o->name);
}

/* `VERB:--option) words="a b c" ;;` for options with words. */
static void put_words(const cli_verb *verb, const gnt_option *table)
{
    for (const gnt_option *o = table; !cli_is_end(o); o++) {
        if (o->kind != GNT_OPTION_KIND_WORD)
            continue;
        printf("        '%s:--%s') words='", verb->name, o->name);
        for (const char *p = o->words; *p != '\0'; p++)
            putchar(*p == '|' ? ' ' : *p);
        printf("' ;;\n");
    }
}

/* The first words of all verbs, each once. */
static void put_first_words(void)
{
    for (int i = 0; i < cli_num_verbs; i++) {
        const char *name = cli_verbs[i]->name;
        const int length = (int)strcspn(name, " ");
        bool seen = false;

        for (int j = 0; j < i; j++)
            seen = seen || (strncmp(cli_verbs[j]->name, name, (size_t)length) == 0 &&
                            cli_verbs[j]->name[length] == ' ');
        if (!seen)
            printf("%.*s ", length, name);
    }
}

/* `GROUP) words='a b' ;;` for each group, and the group's verb becomes two words. */
static void put_groups(void)
{
    for (int i = 0; i < cli_num_verbs; i++) {
        const char *name = cli_verbs[i]->name, *space = strchr(name, ' ');

        if (space == NULL ||
            (i > 0 && strncmp(cli_verbs[i - 1]->name, name, (size_t)(space - name) + 1) == 0))
            continue;
        printf("        %.*s) if [ \"$COMP_CWORD\" -eq 2 ]; then words='", (int)(space - name), name);
        for (int j = i; j < cli_num_verbs; j++)
            if (strncmp(cli_verbs[j]->name, name, (size_t)(space - name) + 1) == 0)
                printf("%s ", cli_verbs[j]->name + (space - name) + 1);
        printf("--help'; else verb=\"$verb ${COMP_WORDS[2]}\"; fi ;;\n");
    }
}

void cli_print_completion(void)
{
    printf("# bash completion of gnntrain %s\n_gnntrain()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
           "verb=${COMP_WORDS[1]} words=''\n"
           "    [[ \" ${COMP_WORDS[*]:0:COMP_CWORD} \" != *' -- train '* ]] || verb=train # what a job runs\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='",
           gnt_version());
    put_first_words();
    printf("--help --version --man --completion'\n    else\n        case $verb in\n");
    put_groups();
    printf("        esac\n        case $verb:$before in\n");
    for (int i = 0; i < cli_num_verbs; i++)
        for (int s = 0; s < CLI_MAX_SECTIONS && cli_verbs[i]->sections[s].table != NULL; s++)
            put_words(cli_verbs[i], cli_verbs[i]->sections[s].table());
    printf("        esac\n        if [ -z \"$words\" ] && [ \"${word:0:1}\" = - ]; then\n            case "
           "$verb in\n");
    for (int i = 0; i < cli_num_verbs; i++) {
        printf("            '%s') words='", cli_verbs[i]->name);
        for (int s = 0; s < CLI_MAX_SECTIONS && cli_verbs[i]->sections[s].table != NULL; s++)
            put_options(cli_verbs[i]->sections[s].table());
        put_options(cli_common_table());
        printf("' ;;\n");
    }
    printf("            esac\n        fi\n    fi\n"
           "    if [ -n \"$words\" ]; then\n        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
           "\"$word\")\n"
           "    else\n        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    fi\n}\n"
           "complete -o filenames -F _gnntrain gnntrain\n");
}
