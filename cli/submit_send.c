/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the batch script to sbatch: kept in the run folder first, so that what was sent can be read, and sent again. */
#include "cli/submit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Asks sbatch; its own words go to stderr. */
static gnt_status call_sbatch(const char *path, char *id, size_t id_bytes)
{
    char *word = cli_shell_word(path), line[8192];
    FILE *in = NULL;
    int code;

    if (word == NULL)
        return gntx_fail(GNT_ERR_NOMEM, "no memory for the path of the script");
    snprintf(line, sizeof line, "exec sbatch --parsable %s", word);
    free(word);
    in = popen(line, "r");
    if (in == NULL)
        return gntx_fail(GNT_ERR_USAGE, "cannot start sbatch: %s; --dry-run prints the script",
                         strerror(errno));
    if (fgets(id, (int)id_bytes, in) == NULL)
        id[0] = '\0';
    code = pclose(in);
    code = WIFEXITED(code) ? WEXITSTATUS(code) : 128;
    if (code == 127)
        return gntx_fail(GNT_ERR_USAGE,
                         "there is no sbatch here: submit on a login node of the cluster, or print the "
                         "script with --dry-run and send it there");
    if (code != 0)
        return gntx_fail(GNT_ERR_USAGE,
                         "sbatch refused the job (exit code %d, its reason stands above); the script is '%s'",
                         code, path);
    id[strspn(id, "0123456789")] = '\0';
    if (id[0] == '\0')
        return gntx_fail(GNT_ERR_USAGE, "sbatch named no job: look with squeue; the script is '%s'", path);
    return GNT_OK;
}

gnt_status cli_submit_send(const char *script, const cli_job_line *l)
{
    gnt_status st = GNT_OK;
    char path[4096], id[64];
    gntx_json *facts = NULL;

    for (int i = 0; i < l->call->num_arguments; i++)
        if (access(l->call->arguments[i], R_OK) != 0)
            return gntx_fail(GNT_ERR_IO, "cannot read '%s', which the job would read: %s",
                             l->call->arguments[i], strerror(errno));
    if (snprintf(path, sizeof path, "%s/submit.sbatch", l->run) >= (int)sizeof path)
        return gntx_fail(GNT_ERR_USAGE, "the path of the run folder is too long: %zu letters",
                         strlen(l->run));
    GNT_TRY(gntx_folder_create(l->run));
    GNT_TRY(gntx_file_write(path, script));
    GNT_TRY(call_sbatch(path, id, sizeof id));
    GNT_TRY(gntx_json_create_object(&facts));
    GNT_TRY(gntx_json_set_text(facts, "job", id));
    GNT_TRY(gntx_json_set_text(facts, "script", path));
    GNT_TRY(gntx_json_set_text(facts, "run", l->run));
    GNT_TRY(cli_print_facts(facts));
    cli_say("next: squeue -j %s, gnntrain info %s", id, l->run);
done:
    gntx_json_free(&facts);
    return st;
}
