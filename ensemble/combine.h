/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of members, made one. Files of predictions are mapped, never held all at once in memory of our own; joined by id.
 *
 *   mean      mean of probabilities (default)      logits   mean of logits
 *   vote      share of members that choose a class  weighted mean of probabilities by validation quality
 *   greedy    selection with replacement (Caruana et al., ICML 2004) on validation rows
 * Temperature comes after combining and is fitted on validation rows only (Guo et al., ICML 2017). The result is never worse on
 * validation than the best member: where it is, it moves towards greedy selection until it is not, and the report says so. Test
 * labels are read by the report alone, after all is chosen.
 */
#ifndef GNTI_ENSEMBLE_COMBINE_H
#define GNTI_ENSEMBLE_COMBINE_H

#include "base/json.h"
#include "datasets/dataset.h"
#include "train/metrics.h"

typedef enum gnti_combine {
    GNTI_COMBINE_MEAN,
    GNTI_COMBINE_LOGITS,
    GNTI_COMBINE_VOTE,
    GNTI_COMBINE_WEIGHTED,
    GNTI_COMBINE_GREEDY
} gnti_combine;
#define GNTI_COMBINE_WORDS "mean|logits|vote|weighted|greedy"
const char *gnti_combine_name(gnti_combine how); /* "mean" */

/* One member's predictions of all nodes. */
typedef struct gnti_votes {
    char *name;
    const float *values; /* (num_rows, num_classes) logits or probabilities; lent from the mapping */
    bool are_logits;
    int64_t num_rows, num_classes;
    void *mapping;
    size_t mapping_bytes;
} gnti_votes;

/* RUN/members/NAME/logits.npy as the run leaves it, or a file that gnntrain predict (or another tool) wrote: npy, h5 or csv with
 * probabilities, whose ids are brought in the order of the dataset's nodes. A file whose name ends with "logits" (before its suffix) holds
 * logits. ERR_FORMAT names the first id that one side lacks. */
gnt_status gnti_votes_open(const char *path, const gnt_dataset *data, gnti_votes *out);
/* Writes logits (by node of the dataset) as a .npy that open maps, rows in the order of the imported dataset; complete or not at
 * all. */
gnt_status gnti_votes_write(const char *path, const gnt_dataset *data, const float *logits,
                            int64_t num_classes);
void gnti_votes_close(gnti_votes *v);

typedef struct gnti_combine_config {
    gnti_combine how;
    int64_t rounds, start; /* of greedy; best members it starts from */
    bool temperature;
    gnti_metric metric; /* what validation quality means; AUTO by the labels */
    const char *split;  /* name, NULL as training */
    uint64_t seed;      /* of the fold that selects where validation has 2000 rows or more */
    const double *
        prior; /* (num) relative weights of mean, logits and vote, as of a method that boosts; at least 0; NULL: equal */
} gnti_combine_config;

typedef struct gnti_combined {
    double *weight;      /* (num) of members, sum 1; 0: not used, `why` says why */
    char **why;          /* (num) a sentence, NULL where the weight is not 0 */
    gnti_combine how;    /* what makes the result of the weights: MEAN when fell_back */
    double temperature;  /* 1: none */
    bool fell_back;      /* moved towards greedy selection, at worst the best member alone */
    int32_t best_member; /* on validation */
    gnti_metric metric;  /* resolved */
    double valid_metric, best_valid_metric; /* of the combination before a fallback; of the best member */
    char *
        remark; /* sentences about the temperature, small validation sets, the fallback; "": nothing to say */
    float *probabilities; /* (num_rows, num_classes) after temperature; regression: outputs */
} gnti_combined;

/* ERR_FORMAT names a member whose predictions are missing or not finite: they are never averaged. */
gnt_status gnti_combine_members(const gnti_votes *votes, int32_t num, const gnt_dataset *data,
                                const gnti_combine_config *config, gnti_combined *out);
void gnti_combined_free(gnti_combined *c, int32_t num);

/* The rule alone, for any rows: what gnntrain predict of an ensemble does with its members' values (num_rows, num_classes) each:
 * logits where are_logits[m] (NULL: all), else probabilities; regression: outputs. Temperature 1: none. out may not overlap. */
typedef struct gnti_combine_rule {
    gnti_combine how;
    gnt_label_kind kind;
    const double *weight; /* (num), sum 1; a member of weight 0 is not read */
    double temperature;
} gnti_combine_rule;
gnt_status gnti_combine_apply(const gnti_combine_rule *rule, const float *const *values,
                              const bool *are_logits, int32_t num, int64_t num_rows, int64_t num_classes,
                              float *out);

/* The facts of report.json: members, member_mean and std, best_member, ensemble (each test_metric, nll, brier, ece with bins), before and
 * after temperature, diversity (pairwise disagreement, KL to the mean). */
gnt_status gnti_combine_facts(const gnti_votes *votes, int32_t num, const gnt_dataset *data,
                              const gnti_combine_config *config, const gnti_combined *c, gnti_json *out);

#endif
