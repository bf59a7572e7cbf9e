/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a command line to a verb. A verb's name has one word ("train") or two ("ensemble plan"); the first word of
 * such names is a group, which has a help of its own and is no verb.
 *
 * A name with another letter between its words is the verb's key: GNNTRAIN_ENSEMBLE_PLAN_DEVICES, ensemble-plan.yaml.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 96, MAX_NAMES = 64 };

const cli_verb *cli_find_verb(const char *name)
{
    for (int i = 0; i < cli_num_verbs; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

bool cli_is_of_group(const cli_verb *verb, const char *group)
{
    const size_t length = strlen(group);

    return strncmp(verb->name, group, length) == 0 && verb->name[length] == ' ';
}

bool cli_is_group(const char *word)
{
    for (int i = 0; i < cli_num_verbs; i++)
        if (cli_is_of_group(cli_verbs[i], word))
            return true;
    return false;
}

void cli_verb_key(const cli_verb *verb, char between, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "%s", verb->name);
    for (char *p = out; *p != '\0'; p++)
        *p = *p == ' ' ? between : *p;
}

static gnt_status unknown_verb(const char *name)
{
    static const char *const options[] = { "--help", "--version", "--man", "--completion" };
    const char *names[MAX_NAMES], *nearest;
    size_t count = 0;

    if (name[0] == '-') {
        nearest = gntx_name_nearest(options, sizeof options / sizeof *options, name);
        return gntx_fail(GNT_ERR_USAGE, "a verb comes first, '%s' is none%s%s%s", name,
                         nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest,
                         nearest == NULL ? "" : "?");
    }
    for (int i = 0; i < cli_num_verbs && count < MAX_NAMES; i++)
        names[count++] = cli_verbs[i]->name;
    nearest = gntx_name_nearest(names, count, name);
    return gntx_fail(GNT_ERR_USAGE, "unknown verb '%s'%s%s%s", name,
                     nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
                     nearest == NULL ? "" : "'?");
}

gnt_status cli_match_verb(int num_words, char **words, const cli_verb **verb, int *num_taken)
{
    const bool two = num_words > 1 && words[1][0] != '-';
    char name[NAME_BYTES];

    *num_taken = 1;
    *verb = cli_find_verb(words[0]);
    if (*verb != NULL || (!two && cli_is_group(words[0])))
        return GNT_OK;
    snprintf(name, sizeof name, "%s %s", words[0], two ? words[1] : "");
    *verb = two ? cli_find_verb(name) : NULL;
    *num_taken = 2;
    if (*verb != NULL)
        return GNT_OK;
    return unknown_verb(cli_is_group(words[0]) ? name : words[0]);
}
