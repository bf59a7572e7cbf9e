/* SPDX-License-Identifier: Apache-2.0 */
/* Packages of a Debian index, for the importer that makes a graph of them. */
#ifndef GNTI_DATASETS_DEBIAN_H
#define GNTI_DATASETS_DEBIAN_H

#include "datasets/import.h"

typedef enum gnti_debian_field {
    GNTI_DEBIAN_NAME,
    GNTI_DEBIAN_VERSION,
    GNTI_DEBIAN_ARCHITECTURE,
    GNTI_DEBIAN_STATUS,
    GNTI_DEBIAN_SOURCE,
    GNTI_DEBIAN_SECTION,
    GNTI_DEBIAN_DESCRIPTION,
    GNTI_DEBIAN_DEPENDS,
    GNTI_DEBIAN_PRE_DEPENDS,
    GNTI_DEBIAN_RECOMMENDS,
    GNTI_DEBIAN_PROVIDES,
    GNTI_DEBIAN_NUM_FIELDS
} gnti_debian_field;

/* Where the fields of a package lie in the texts, 0: it has no such field. */
typedef struct gnti_debian_package {
    int64_t field[GNTI_DEBIAN_NUM_FIELDS];
} gnti_debian_package;

typedef struct gnti_debian_index {
    gnti_text texts; /* all fields, each with a zero behind it; the first byte is an empty text */
    gnti_debian_package *packages;
    int64_t num_packages, capacity, num_stanzas;
} gnti_debian_index;

/* The text of a field, "" when the package lacks it. */
const char *gnti_debian_get(const gnti_debian_index *index, int64_t package, gnti_debian_field field);

/* Appends the packages of a file (an index of apt, or dpkg's status: then only what is installed). */
gnt_status gnti_debian_read(const char *path, gnti_debian_index *index);

/* Keeps one architecture (the commonest, and "all") and the newest version of each name, sorted by name. */
gnt_status gnti_debian_select(gnti_debian_index *index);

void gnti_debian_clear(gnti_debian_index *index);

/* Below, equal or above 0 as Debian's policy manual (5.6.12) orders versions. */
int gnti_debian_compare_versions(const char *a, const char *b);

/* Words of the descriptions as feature rows of raw, one a package: see debian_words.c. */
gnt_status gnti_debian_words(const gnti_debian_index *index, gnti_raw *raw);

#endif
