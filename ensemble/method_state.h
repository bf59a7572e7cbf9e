/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a method: a table of functions a method, what a run of it keeps, and the weights that it leaves in files.
 *
 * RUN/members/NAME/kept.h5 has weights of a training that the method needs later: NAME is the member (handed on, averaged) or one of its
 * cycles. A predictor of weights that nobody trained (a mean, a snapshot) gets the files of a member: checkpoint.h5, best.h5, logits.npy.
 */
#ifndef GNTI_ENSEMBLE_METHOD_STATE_H
#define GNTI_ENSEMBLE_METHOD_STATE_H

#include "ensemble/method.h"

#include "ensemble/combine.h"

/* NULL entries: nothing to do. */
typedef struct gnti_method_class {
    gnt_status (*shape)(gnti_spec *spec, const gnt_dataset *data);
    gnt_status (*list)(gnti_method_run *mr); /* the outputs */
    gnt_status (*options)(gnti_method_run *mr, int32_t member, gnti_member_options *options);
    gnt_status (*start)(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member);
    gnt_status (*after_epoch)(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                              bool *out_ended);
    gnt_status (*after_member)(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member);
    gnt_status (*finish)(gnti_method_run *mr, const uint8_t *skip);
    gnti_member_range (*waits_for)(const gnti_spec *spec, int32_t member);
} gnti_method_class;
extern const gnti_method_class gnti_method_independent, gnti_method_snapshot, gnti_method_swa,
    gnti_method_swap, gnti_method_edde, gnti_method_soup;

struct gnti_method_run {
    gnt_context *ctx;
    const gnti_spec *spec;
    const gnt_dataset *data;
    const char *run;
    const gnti_method_class *class;
    gnti_method_output *outputs; /* (num_outputs) */
    int32_t num_outputs;
    float **weight, **apart; /* (members) what options of a member point to; NULL: none */
};

/* Adds an output "NAME" or "NAME-TAG". */
gnt_status gnti_method_add_output(gnti_method_run *mr, const char *name, const char *tag, int32_t member);

/* ---- method_shape.c: what several methods do to a spec ------------------------------------------------------------------ */
/* ERR_USAGE unless all members have one model with the same settings and see the same data. */
gnt_status gnti_method_check_alike(const gnti_spec *spec, const char *method);
/* ERR_USAGE when the member stops early, which the method's schedule does not know. */
gnt_status gnti_method_check_length(const gnti_spec_member *m, const char *method);
/* A training that no spec names: like a member, with texts of its own, a name and a seed. To be freed as a spec's member. */
gnt_status gnti_method_copy_member(const gnti_spec_member *from, const char *name, uint64_t seed,
                                   gnti_spec_member *out);
/* The first seed from `from` on (below 2^53, then 0) that none of the members has. */
uint64_t gnti_method_free_seed(const gnti_spec_member *members, int32_t num, uint64_t from);
void gnti_method_free_copy(gnti_spec_member *m);
/* Puts num trainings in front of the spec's members; it owns what they point to then, unless it fails. */
gnt_status gnti_method_put_in_front(gnti_spec *spec, const gnti_spec_member *front, int32_t num);

/* ---- method_edde.c, method_edde_folds.c ------------------------------------------------------------------------------------ */
/* What makes a member one of the later ones: fewer epochs, another rate. */
void gnti_edde_shorten(const gnti_spec *spec, gnti_spec_member *m);
/* Probabilities (num_nodes, num_classes) of a member that has ended. */
gnt_status gnti_edde_read(const gnti_method_run *mr, int32_t member, float *p);
/* How many trainings stand in front of the members; of one of them, whose layers it takes (its own number: nobody's), and how many. */
int32_t gnti_edde_first(const gnti_spec *spec);
int32_t gnti_edde_teacher(const gnti_spec *spec, int32_t member);
int32_t gnti_edde_probe_layers(const gnti_spec *spec, int32_t member);
gnt_status gnti_edde_folds_shape(gnti_spec *spec, const gnt_dataset *data);
gnt_status gnti_edde_probe_options(gnti_method_run *mr, int32_t member, gnti_member_options *options);
/* When all of them have ended: how many layers are handed on. */
gnt_status gnti_edde_find_layers(const gnti_method_run *mr, int32_t *out);

/* ---- method_files.c ------------------------------------------------------------------------------------------------------ */
/* RUN/members/NAME and a file in it. */
gnt_status gnti_method_paths(const gnti_method_run *mr, const char *name, const char *file, char **folder,
                             char **path);
/* Weights of a member go to its file. best: its best ones, else the present ones. */
gnt_status gnti_method_keep(const gnti_method_run *mr, const char *name, gnt_trainer *tr, int32_t slot,
                            bool best);
gnt_status gnti_method_fetch(const gnti_method_run *mr, const char *name, float **out, int64_t *num_floats);
/* Initial weights of a seed. */
gnt_status gnti_method_draw(const gnti_method_run *mr, const gnt_model *model, uint64_t seed, float **out,
                            int64_t *num_floats);
/* The weights of a member's state become these (best ones too), its moments 0. ERR_ARG when there are others in number. */
gnt_status gnti_method_set_weights(gnt_trainer *tr, int32_t slot, const float *weights, int64_t num_floats);

/* A predictor whose weights are set, with the model and the data of one member of the spec. */
typedef struct gnti_publisher {
    const gnti_method_run *mr;
    const gnti_spec_member *like;
    gnt_dataset *view; /* NULL: the dataset itself */
    const gnt_dataset *data;
    gnt_model *model;
    gnt_trainer *tr;
    float *logits; /* (N, C) of the weights as last set */
    int64_t num_floats;
} gnti_publisher;
gnt_status gnti_publisher_open(const gnti_method_run *mr, int32_t member, gnti_publisher *out);
void gnti_publisher_close(gnti_publisher *p);
/* Weights (num_floats), norm statistics refreshed or as they are; logits. */
gnt_status gnti_publisher_set(gnti_publisher *p, const float *weights, bool refresh);
/* Files of a member below RUN/members/NAME. */
gnt_status gnti_publisher_write(gnti_publisher *p, const char *name);
/* The metric of logits on validation rows, an error with its sign turned: higher is better; NaN: there are none. */
gnt_status gnti_publisher_quality(const gnti_publisher *p, const float *logits, double *out,
                                  int64_t *num_rows);

/* Means of kept weights, each counted once: mean <- (k mean + w) / (k + 1) in double. */
typedef struct gnti_running_mean {
    double *sum; /* (num_floats) the mean so far */
    int64_t num_floats, count;
} gnti_running_mean;
gnt_status gnti_running_mean_add(gnti_running_mean *mean, const float *weights, int64_t num_floats);
gnt_status gnti_running_mean_get(const gnti_running_mean *mean, float **out);
void gnti_running_mean_free(gnti_running_mean *mean);

#endif
