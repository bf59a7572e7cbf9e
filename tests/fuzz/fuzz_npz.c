/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of npz archives: zip members, npy headers, CSR arrays, masks. */
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import(&gnti_import_npz, "input.npz", data, size);
    return 0;
}
