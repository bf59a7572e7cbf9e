/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share: an input as a path, and one reader run over it up to a dataset. */
#ifndef GNT_FUZZ_TARGET_H
#define GNT_FUZZ_TARGET_H

#include "base/option.h"
#include "datasets/import.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A path under which the bytes can be opened until fuzz_path_done. */
const char *fuzz_path(const uint8_t *data, size_t size);
void fuzz_path_done(void);

/* Reads the bytes with one importer and, when that went well, makes the dataset of them. Ends the process when the
 * status and the outputs contradict each other. */
void fuzz_import(const gnti_importer *importer, const char *name, const uint8_t *data, size_t size);

/* The contract of every call: OK with an output, or an error with a text. */
void fuzz_check_contract(gnt_status st, const void *output);

/* How many calls were OK so far: a corpus that none of is accepted tries the first lines of a reader only. */
int fuzz_accepted(void);

#endif
