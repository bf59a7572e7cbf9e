/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of Matrix Market files, compressed or not, up to a finished dataset. */
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import(&gnti_import_matrix_market, "input", data, size);
    return 0;
}
