/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of checkpoints: once as the file is, which mostly tries the seal, and once under a fresh seal, so that
 * what lies behind it is reached. */
#include "tests/fuzz/fuzz_target.h"

#include "datasets/h5_value.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>

enum { SEAL_BYTES = 24 };

static void open_bytes(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(data, size);
    gnti_checkpoint *cp = NULL;
    const gnt_status st = gnti_checkpoint_open(path, &cp);

    fuzz_check_contract(st, cp);
    gnti_checkpoint_free(&cp);
    fuzz_path_done();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *sealed = NULL;
    size_t body = size;

    open_bytes(data, size);
    if (size > SEAL_BYTES && memcmp(data + size - SEAL_BYTES, "gnntrain-crc32 ", 15) == 0)
        body -= SEAL_BYTES;
    if (gnti_alloc_array(&sealed, (int64_t)body + SEAL_BYTES + 1) == GNT_OK) {
        if (body > 0)
            memcpy(sealed, data, body);
        snprintf((char *)sealed + body, SEAL_BYTES + 1, "gnntrain-crc32 %08x\n",
                 (unsigned)gnti_crc32(0, data, body));
        open_bytes(sealed, body + SEAL_BYTES);
    }
    gnti_free(sealed);
    return 0;
}
