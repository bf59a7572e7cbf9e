/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets with a CRC-32 of their bytes, for checkpoints: the old file format has no sums of its own, and a
 * flipped bit in weights would go unnoticed. The polynomial is zlib's (0xEDB88320, reflected), eight bytes a
 * step.
 */
#include "datasets/h5_value.h"

#include <pthread.h>
#include <string.h>

static uint32_t g_table[8][256]; /* written once, before its first use */
static pthread_once_t g_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
        g_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            g_table[k][i] = g_table[k - 1][i] >> 8 ^ g_table[0][g_table[k - 1][i] & 0xff];
}

uint32_t gnti_crc32(uint32_t crc, const void *bytes, size_t count)
{
    const unsigned char *p = bytes;
    uint32_t c = ~crc;

    pthread_once(&g_once, fill_table);
    for (; count >= 8; count -= 8, p += 8) {
        uint32_t low, high;

        memcpy(&low, p, 4);
        memcpy(&high, p + 4, 4);
        low ^= c;
        c = g_table[7][low & 0xff] ^ g_table[6][low >> 8 & 0xff] ^ g_table[5][low >> 16 & 0xff] ^
            g_table[4][low >> 24] ^ g_table[3][high & 0xff] ^ g_table[2][high >> 8 & 0xff] ^
            g_table[1][high >> 16 & 0xff] ^ g_table[0][high >> 24];
    }
    for (; count > 0; count--)
        c = c >> 8 ^ g_table[0][(c ^ *p++) & 0xff];
    return ~c;
}

static int64_t count_of(int32_t rank, const int64_t *dims)
{
    int64_t count = 1;

    for (int i = 0; i < rank; i++)
        count *= dims[i];
    return count;
}

gnt_status gnti_h5_write_summed(gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                                const int64_t *dims, const void *data)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)count_of(rank, dims) * gnti_file_dtype_bytes(type);

    GNT_CHECK(type != GNTI_FILE_TEXT, GNT_ERR_ARG, "texts have no sum ('%s')", path);
    GNT_TRY(gnti_h5_write_values(file, path, type, rank, dims, data));
    GNT_TRY(gnti_h5_set_int(file, path, "crc32", (int64_t)gnti_crc32(0, data, bytes)));
done:
    return st;
}

gnt_status gnti_h5_read_summed(const gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                               const int64_t *dims, void *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    int64_t want, got;
    bool same;

    GNT_TRY(gnti_h5_expect(file, path, -1, -1, &info));
    same = info.rank == rank && info.item_bytes == gnti_file_dtype_bytes(type);
    for (int i = 0; i < rank && same; i++)
        same = info.dims[i] == dims[i];
    GNT_CHECK(same, GNT_ERR_FORMAT,
              "'%s' of file '%s' has %d dimensions (%lld, %lld, %lld), expected %d (%lld, %lld, %lld) of the "
              "same type",
              path, gnti_h5_path(file), info.rank, (long long)info.dims[0], (long long)info.dims[1],
              (long long)info.dims[2], rank, (long long)(rank > 0 ? dims[0] : 1),
              (long long)(rank > 1 ? dims[1] : 1), (long long)(rank > 2 ? dims[2] : 1));
    GNT_TRY(gnti_h5_get_int(file, path, "crc32", NULL, &want));
    GNT_TRY(gnti_h5_read_rows(file, path, type, 0, rank > 0 ? dims[0] : 1, out));
    got = (int64_t)gnti_crc32(0, out, (size_t)info.num_values * info.item_bytes);
    GNT_CHECK(got == want, GNT_ERR_FORMAT,
              "'%s' of file '%s' is damaged: its CRC-32 is %08llx, stored is %08llx", path,
              gnti_h5_path(file), (unsigned long long)got, (unsigned long long)want);
done:
    return st;
}
