/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of spec_*.c: a spec as its file says it, before it is expanded into members.
 *
 * All that a member can have of its own is a block with one option table: the model's text, shares of what is dropped, and the
 * options of gnntrain train (model and trainer). The keys model, bagging, drop-* of the top level, the keys under `train` and those
 * that `vary` names all set rows of that table.
 */
#ifndef GNTI_ENSEMBLE_SPEC_STATE_H
#define GNTI_ENSEMBLE_SPEC_STATE_H

#include "base/yaml.h"
#include "ensemble/spec.h"

enum { GNTI_SPEC_MAX_ROWS = 128 };

typedef struct gnti_member_block {
    char *model;
    double bagging, drop_features, drop_edges;
    gnt_model_config net;
    gnt_trainer_config train;
} gnti_member_block;

/* The table of a block, made of the tables of model and trainer; `num_own` rows first that are keys of the top level. */
typedef struct gnti_member_rows {
    gnt_option row[GNTI_SPEC_MAX_ROWS + 1];
    int num_own, num;
} gnti_member_rows;
gnt_status gnti_member_rows_make(gnti_member_rows *out);
gnt_status gnti_member_block_init(const gnti_member_rows *rows, gnti_member_block *out);
gnt_status gnti_member_block_copy(const gnti_member_rows *rows, const gnti_member_block *from,
                                  gnti_member_block *out);
void gnti_member_block_free(const gnti_member_rows *rows, gnti_member_block *block);

/* One entry of `vary`: listed values, or a range (num_values 0). */
typedef struct gnti_vary {
    const gnti_yaml_node *node;
    const gnt_option *row;
    char **values;
    int64_t num_values;
    double low, high;
    bool is_log;
} gnti_vary;

typedef enum gnti_search { GNTI_SEARCH_GRID, GNTI_SEARCH_RANDOM } gnti_search;

typedef struct gnti_spec_draft {
    gnti_yaml *doc;
    gnti_member_rows rows;
    gnti_member_block base;
    gnti_vary *vary;
    int64_t num_vary;
    int64_t count, samples, folds; /* count 0: not given */
    int32_t search;
    char *foreground;
    gnti_spec *spec; /* the keys that are its fields */
} gnti_spec_draft;

/* spec_table.c: keys of the top level that fill gnti_spec and the draft. */
extern const gnt_option gnti_spec_rows[], gnti_draft_rows[];
/* ERR_FORMAT for an option of gnntrain train that belongs to the run, not to a member; says what to write instead. */
gnt_status gnti_spec_check_train_key(const gnti_yaml_node *entry, const char *key);
/* ERR_FORMAT names a key that is set and has no effect. */
gnt_status gnti_spec_check_belongs(const gnti_spec_draft *d);

/* spec_file.c: fills a zeroed draft, whose spec is there. */
gnt_status gnti_spec_draft_read(gnti_spec_draft *d);
void gnti_spec_draft_free(gnti_spec_draft *d);
/* The node to blame for something about a key: where it stands, else the root. */
const gnti_yaml_node *gnti_spec_draft_node(const gnti_spec_draft *d, const char *key);

/* spec_expand.c: the members of a draft, into its spec. */
gnt_status gnti_spec_expand(gnti_spec_draft *d);

/* spec_check.c: each variation against model and dataset. */
gnt_status gnti_spec_check(const gnti_spec_draft *d, const gnt_dataset *data);

#endif
