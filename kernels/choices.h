/* SPDX-License-Identifier: Apache-2.0 */
/* Choices that back ends make by measurement: which of several ways serves an op of a shape on a device, kept so that it is not
 * measured again.
 *
 *   of a run      carried in its checkpoints, so that a run that goes on chooses as before (bits included); they come first
 *   of the user   a file ($XDG_CACHE_HOME/gnntrain/choices.json, else ~/.cache), from run to run, of this version alone
 *   measured      what neither has: goes into both
 * Where results must repeat from run to run a measured choice counts only if the file has taken it; else the caller's rule serves. A
 * file that cannot be read is told once, counts as empty and is written anew. Any thread; ranks of a process share one.
 */
#ifndef GNTI_KERNELS_CHOICES_H
#define GNTI_KERNELS_CHOICES_H

#include "base/json.h"
#include "base/text.h"
#include "kernels/backend.h"

enum { GNTI_CHOICE_KEY_BYTES = 224, GNTI_CHOICE_VALUE_BYTES = 24, GNTI_CHOICE_WHY_BYTES = 160 };

typedef enum gnti_choice_origin {
    GNTI_CHOICE_BY_RULE,
    GNTI_CHOICE_OF_RUN,
    GNTI_CHOICE_STORED,
    GNTI_CHOICE_MEASURED
} gnti_choice_origin;

typedef struct gnti_choice {
    char value[GNTI_CHOICE_VALUE_BYTES]; /* a name of the back end's; "": none yet */
    char why[GNTI_CHOICE_WHY_BYTES];     /* times of all, or what the rule says */
    gnti_choice_origin origin;
} gnti_choice;

typedef struct gnti_choices_config {
    const char *path; /* of the file, NULL: the user's */
    gnti_determinism determinism;
    bool measures; /* false: what is not known goes by rule */
} gnti_choices_config;

gnt_status gnti_choices_create(const gnti_choices_config *config, gnti_choices **out);
void gnti_choices_free(gnti_choices **c);

/* What a run carries: "KEY=VALUE;KEY=VALUE". Pieces that are no such pair are left out (another version's, with a warning). */
gnt_status gnti_choices_take(gnti_choices *c, const char *text);
void gnti_choices_put(gnti_choices *c, gnti_text *t); /* each with ';' in front; rules are left out */
/* What was asked for, as lines for people or objects for programs. */
void gnti_choices_tell(gnti_choices *c, gnti_text *t);
gnt_status gnti_choices_tell_json(gnti_choices *c, gnti_json *list);
/* What the file holds: objects with key, value and why. Nothing where there is none or it cannot be read. */
gnt_status gnti_choices_list_stored(const char *path, gnti_json *list);

/* ---- for back ends; a plug-in reaches them through its host (kernels/device_plugin.h) ---- */
/* A key is a text without '=' and ';'. *out: value "" where it is not known. */
gnt_status gnti_choices_find(gnti_choices *c, const char *key, gnti_choice *out);
bool gnti_choices_measures(const gnti_choices *c);
/* choice: measured, or by rule. Answers the one to use: another's that came first, unless `anew`; value "" where it may not be used
 * because nothing can keep it. */
gnt_status gnti_choices_set(gnti_choices *c, const char *key, bool anew, gnti_choice *choice);

#endif
