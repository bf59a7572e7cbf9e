/* SPDX-License-Identifier: Apache-2.0 */
/* The file of measured choices, one JSON object:
 *
 *   {"format": "gnntrain-choices", "version": "0.1.0", "choices": {KEY: {"choice": "csr_alg3", "why": "own 12.1 us, ..."}}}
 * Another version's file, or one of more than 4096 choices, counts as empty. Writers lock "PATH.lock", read again, and rename.
 */
#ifndef GNTI_KERNELS_CHOICES_FILE_H
#define GNTI_KERNELS_CHOICES_FILE_H

#include "kernels/choices.h"

/* path, or where the user's is; NULL: nowhere. To be freed. */
gnt_status gnti_choices_file_path(const char *path, char **out);
/* What is in the file and not yet in the object. A file that cannot be read is told by a warning and has nothing. */
gnt_status gnti_choices_file_read(const char *path, gnti_json *into);
bool gnti_choices_file_find(const gnti_json *choices, const char *key, gnti_choice *out);
/* Adds one, unless the file has it (then *choice becomes that); anew: replaces it. */
gnt_status gnti_choices_file_add(const char *path, const char *key, bool anew, gnti_choice *choice);

#endif
