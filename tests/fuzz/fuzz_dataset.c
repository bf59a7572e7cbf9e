/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of dataset files (HDF5). */
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(data, size);
    gnt_dataset *dataset = NULL;
    const gnt_status st = gnt_dataset_open(NULL, path, &dataset);

    fuzz_check_contract(st, dataset);
    gnt_dataset_free(&dataset);
    fuzz_path_done();
    return 0;
}
