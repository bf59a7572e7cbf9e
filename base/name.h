/* SPDX-License-Identifier: Apache-2.0 */
/* Names that people mistype: how far two are apart, and whether one may be meant by the other. */
#ifndef GNTI_BASE_NAME_H
#define GNTI_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Fewest single-letter changes (insert, delete, replace, swap of neighbours) that make b of a; '_' equals
 * '-'. Only the first 63 letters count. */
int gnti_name_distance(const char *a, const char *b);

/* Near enough to be offered: at most a third of the longer name changed, or one a beginning (3 letters) of
 * the other. */
bool gnti_name_is_near(const char *a, const char *b);

/* The nearest of a list to an unknown name, or NULL. */
const char *gnti_name_nearest(const char *const *names, size_t num_names, const char *name);

#endif
