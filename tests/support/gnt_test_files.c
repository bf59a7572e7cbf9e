/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary folders and the folder of shared data.
 *
 * The folder lies below TMPDIR (else /tmp) and belongs to the process that made it: a forked child that exits
 * leaves it alone. Shared data is read only and may be missing; the test then says so and is skipped.
 */
#include "gnt_test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char g_folder[GNT_TEST_PATH_BYTES];
static pid_t g_owner;

static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *position)
{
    (void)info;
    (void)position;
    if (flag == FTW_D || flag == FTW_DNR)
        (void)chmod(path, 0700); /* a test may have locked it */
    return remove(path);
}

static int unlock_entry(const char *path, const struct stat *info, int flag, struct FTW *position)
{
    (void)info;
    (void)position;
    if (flag == FTW_D || flag == FTW_DNR)
        (void)chmod(path, 0700);
    return 0;
}

static void remove_folder(void)
{
    if (g_folder[0] == '\0' || g_owner != getpid())
        return;
    (void)nftw(g_folder, unlock_entry, 16, FTW_PHYS);
    (void)nftw(g_folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *gnt_test_folder(void)
{
    const char *base = getenv("TMPDIR");

    if (g_folder[0] != '\0')
        return g_folder;
    snprintf(g_folder, sizeof g_folder, "%s/gnntrain-test-XXXXXX",
             base != NULL && base[0] != '\0' ? base : "/tmp");
    assert_non_null(mkdtemp(g_folder));
    g_owner = getpid();
    assert_int_equal(atexit(remove_folder), 0);
    return g_folder;
}

char *gnt_test_path(char out[GNT_TEST_PATH_BYTES], const char *name)
{
    const int n = snprintf(out, GNT_TEST_PATH_BYTES, "%s/%s", gnt_test_folder(), name);

    assert_in_range(n, 1, GNT_TEST_PATH_BYTES - 1);
    return out;
}

char *gnt_test_write(char out[GNT_TEST_PATH_BYTES], const char *name, const void *content, int64_t bytes)
{
    const size_t size = bytes < 0 ? strlen(content) : (size_t)bytes;
    FILE *f = fopen(gnt_test_path(out, name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return out;
}

char *gnt_test_read(const char *path, int64_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;

    if (f == NULL)
        print_error("cannot open '%s'\n", path);
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const int64_t size = ftell(f);

    rewind(f);
    gnt_assert_ok(gnti_alloc_array(&text, size + 1));
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    fclose(f);
    text[size] = '\0';
    if (bytes != NULL)
        *bytes = size;
    return text;
}

bool gnt_test_data_find(char out[GNT_TEST_PATH_BYTES], const char *relative)
{
    const char *root = getenv("GNT_SHARED_DATA");
    const int n = root != NULL && root[0] != '\0'
                      ? snprintf(out, GNT_TEST_PATH_BYTES, "%s/%s", root, relative)
                      : snprintf(out, GNT_TEST_PATH_BYTES, "%s/../shared/data/%s", GNT_SOURCE_DIR, relative);

    assert_in_range(n, 1, GNT_TEST_PATH_BYTES - 1);
    return access(out, R_OK) == 0;
}

char *gnt_test_data(char out[GNT_TEST_PATH_BYTES], const char *relative)
{
    if (!gnt_test_data_find(out, relative)) {
        print_message("SKIPPED: no shared data '%s' (set GNT_SHARED_DATA to its folder)\n", out);
        skip();
    }
    return out;
}
