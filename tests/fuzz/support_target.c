/* SPDX-License-Identifier: Apache-2.0 */
/* Shared parts of the fuzz targets. An input becomes a file of a memory file system, which has a name: HDF5 opens no file
 * that has none, such as a memfd, and a target over one would try nothing.
 */
#include "tests/fuzz/fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

static char g_path[64];
static int g_accepted;

const char *fuzz_path(const uint8_t *data, size_t size)
{
    int fd;

    snprintf(g_path, sizeof g_path, "%s/gnntrain-fuzz-%ld",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    fd = open(g_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (size > 0 && write(fd, data, size) != (ssize_t)size) || close(fd) != 0) {
        perror(g_path); /* a target without its file would try nothing */
        abort();
    }
    return g_path;
}

void fuzz_path_done(void)
{
    (void)unlink(g_path);
}

int fuzz_accepted(void)
{
    return g_accepted;
}

void fuzz_check_contract(gnt_status st, const void *output)
{
    g_accepted += st == GNT_OK;
    if (st == GNT_OK ? output != NULL : output == NULL && gnt_last_error()[0] != '\0')
        return;
    fprintf(stderr, "status %s with output %p and text '%s'\n", gnt_status_name(st), output,
            gnt_last_error());
    abort();
}

void fuzz_import(const gnti_importer *importer, const char *name, const uint8_t *data, size_t size)
{
    gntx_import_options options;
    gnt_dataset *dataset = NULL;
    gnti_raw raw;

    gnti_raw_init(&raw);
    if (gnti_options_defaults(gntx_import_option_table(), &options) != GNT_OK)
        abort();
    if (gnti_import_read_memory(importer, name, data, size, &options, &raw) == GNT_OK) {
        gnti_import_report report;

        memset(&report, 0, sizeof report);
        const gnt_status st = gnti_raw_finish(NULL, &raw, &options, &report, &dataset);

        fuzz_check_contract(st, dataset);
        gnti_free(report.notes);
        gnt_dataset_free(&dataset);
    }
    gnti_raw_clear(&raw);
    gnti_options_free_texts(gntx_import_option_table(), &options);
}
