/* SPDX-License-Identifier: Apache-2.0 */
/* The seal of a checkpoint file: its last 24 bytes are "gnntrain-crc32 xxxxxxxx\n", the CRC-32 of all bytes before.
 *
 * The sums of the arrays cannot protect what HDF5 itself reads to find them: version 1.10 crashes on some damaged
 * metadata. So a file is checked whole before the library sees it. HDF5 and tools on top of it ignore what stands behind
 * the end that the superblock names.
 */
#include "train/checkpoint.h"

#include "base/alloc.h"
#include "base/file.h"
#include "datasets/h5_value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SEAL_BYTES = 24, CHUNK_BYTES = 1 << 20 };

/* CRC of the first `count` bytes. */
static gnt_status sum_bytes(int fd, const char *path, int64_t count, uint32_t *out)
{
    gnt_status st = GNT_OK;
    char *chunk = NULL;
    uint32_t crc = 0;

    GNT_TRY(gnti_alloc_array(&chunk, CHUNK_BYTES));
    while (count > 0) {
        const ssize_t got = read(fd, chunk, (size_t)gnti_min_i64(count, CHUNK_BYTES));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            st = gnti_error_errno(errno, 0, "read", path);
            goto done;
        }
        GNT_CHECK(got > 0, GNT_ERR_IO, "'%s' became shorter while it was read", path);
        crc = gnti_crc32(crc, chunk, (size_t)got);
        count -= got;
    }
    *out = crc;
done:
    gnti_free(chunk);
    return st;
}

static void print_seal(uint32_t crc, char out[SEAL_BYTES + 1])
{
    snprintf(out, SEAL_BYTES + 1, "gnntrain-crc32 %08x\n", (unsigned)crc);
}

gnt_status gnti_checkpoint_seal(const char *path)
{
    gnt_status st = GNT_OK;
    int64_t bytes = 0;
    uint32_t crc = 0;
    char seal[SEAL_BYTES + 1];
    const int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return gnti_error_errno(errno, 1, "open", path);
    GNT_TRY(gnti_file_size(path, &bytes));
    GNT_TRY(sum_bytes(fd, path, bytes, &crc));
    print_seal(crc, seal);
    GNT_TRY(gnti_fd_write(fd, path, seal, SEAL_BYTES)); /* reading left us at the end */
done:
    close(fd);
    return st;
}

gnt_status gnti_checkpoint_check_seal(const char *path)
{
    gnt_status st = GNT_OK;
    int64_t bytes = 0;
    uint32_t crc = 0;
    char want[SEAL_BYTES + 1], seal[SEAL_BYTES + 1] = { 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return gnti_error_errno(errno, 0, "open", path);
    GNT_TRY(gnti_file_size(path, &bytes));
    GNT_CHECK(bytes > SEAL_BYTES && pread(fd, seal, SEAL_BYTES, bytes - SEAL_BYTES) == SEAL_BYTES &&
                  strncmp(seal, "gnntrain-crc32 ", 15) == 0,
              GNT_ERR_FORMAT,
              "'%s' is no checkpoint, or cut short: its %lld bytes do not end with a checksum", path,
              (long long)bytes);
    GNT_TRY(sum_bytes(fd, path, bytes - SEAL_BYTES, &crc));
    print_seal(crc, want);
    GNT_CHECK(memcmp(seal, want, SEAL_BYTES) == 0, GNT_ERR_FORMAT,
              "checkpoint '%s' is damaged: its checksum is %08x but says %.8s", path, (unsigned)crc,
              seal + 15);
done:
    close(fd);
    return st;
}
