/* SPDX-License-Identifier: Apache-2.0 */
/* Shared parts of the fuzz targets. An input becomes a file in memory (memfd), so that nothing is written to disk. */
#include "tests/fuzz/fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int g_fd = -1;
static char g_path[64];

const char *fuzz_path(const uint8_t *data, size_t size)
{
    g_fd = memfd_create("input", MFD_CLOEXEC);
    if (g_fd < 0 || (size > 0 && write(g_fd, data, size) != (ssize_t)size)) {
        fuzz_path_done();
        return NULL;
    }
    snprintf(g_path, sizeof g_path, "/proc/self/fd/%d", g_fd);
    return g_path;
}

void fuzz_path_done(void)
{
    if (g_fd >= 0)
        close(g_fd);
    g_fd = -1;
}

void fuzz_check_contract(gnt_status st, const void *output)
{
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
