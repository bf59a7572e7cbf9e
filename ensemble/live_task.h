/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of a live ensemble: groups of members in one trainer each; what the manager wants of them, what an epoch has brought, and what is
 * done with them (live_groups.c, live_task.c, live_epoch.c, live_failure.c, live_orders.c).
 */
#ifndef GNTI_ENSEMBLE_LIVE_TASK_H
#define GNTI_ENSEMBLE_LIVE_TASK_H

#include "ensemble/live.h"

/* What the manager wants of a task. */
typedef struct gnti_live_order {
    bool pending, hold;
    int64_t generation;
    int32_t *devices, num_devices, capacity; /* devices, shares (capacity) */
    double *shares;
} gnti_live_order;

/* What an epoch of a task has brought. */
typedef struct gnti_live_report {
    gnt_epoch_stats stats;
    gnt_status status; /* of the trainer; error: its record */
    gnti_error_record error;
    double seconds;      /* of the epoch: virtual, or wall time; what follows it does not count */
    double waited;       /* wall time: for its turns */
    bool shared;         /* it waited: seconds are not those of an epoch alone */
    int64_t num_steps;   /* of the epoch */
    int32_t num_members; /* that trained, idle slots too */
    int64_t bytes;       /* the most that the trainer has had of a device */
    double scale;        /* members left over members before; 1: as before */
    int32_t num_failed;
    int32_t *failed; /* (num_failed) members that failed among others */
    bool over;       /* none is left */
} gnti_live_report;

struct gnti_live_task {
    gnti_live *run;
    int64_t id;
    int32_t *members; /* (num_members) by slot of the trainer; indexes into the spec */
    uint8_t *done;    /* (num_members) ended or failed; its slot idles */
    int32_t num_members;
    int32_t *members_at_start, num_at_start; /* for the report */
    gnti_group_measure measured; /* mean of the newest epochs on its one device, the first one left out */
    int32_t measured_num;        /* members that these were of; 0: nothing measured */
    int64_t seen_epoch;          /* as others than its owner see it, under the lock */
    int32_t seen_live;
    double pause;        /* wall seconds that its newest move kept it from training */
    int64_t epochs_here; /* since it is on its present devices */
    int32_t view;
    int64_t first_epoch, epoch, epochs; /* when it arrived; done; of its longest member */
    gnt_model *model;
    gnt_trainer *trainer;      /* NULL: it waits */
    gnti_member_state *states; /* (num_members) while it is held; NULL: in the members' files */

    gnti_live_order order;
    int32_t *devices, num_devices, capacity; /* that it is on, or is going to be */
    int64_t generation;                      /* of the newest order that was carried out */
    double asked_at;                         /* virtual clock: for its present epoch */
    bool over, lost;                         /* over: ended, dissolved or given up */

    /* live_threads.c */
    pthread_t thread, preparer;
    bool has_thread, thread_ended, preparing, prepared;
    double waited;     /* for turns in the epoch under way */
    gnt_trainer *next; /* of the preparer, with its members */
    int32_t *next_members, num_next, *next_devices, num_next_devices;
    int64_t next_generation; /* of the order that it is for */
    gnt_status next_status;

    /* live_virtual.c */
    bool in_epoch, in_step; /* between two steps it asks for its turn */
    int64_t steps_left;
    double step_seconds, ends_at; /* of the step under way */
    gnti_live_report report;      /* of the epoch that is under way */
};

/* ---- live_groups.c: under the lock ---- */
/* Groups of those pending members that no task has and that wait for nobody. only (spec members), NULL: all; most: of a group. */
gnt_status gnti_live_arrive(gnti_live *run, const uint8_t *only, int32_t most);
/* The same groups, for who places them himself; to be freed with gnti_fused_groups_free. */
gnt_status gnti_live_form_groups(gnti_live *run, gnti_fused_group **groups, int32_t *num);
gnt_status gnti_live_add_task(gnti_live *run, const gnti_fused_group *g, gnti_live_task **out);
/* Devices that a group of such members may be cut over without another result. */
int32_t gnti_live_widest_gang(const gnti_live *run, int32_t member);
gnti_live_task *gnti_live_find(const gnti_live *run, int64_t id);
/* The task is over: its members are in no task. */
void gnti_live_dissolve(gnti_live_task *t);
void gnti_live_task_free(gnti_live_task **t);
bool gnti_live_all_done(const gnti_live *run);

/* ---- live_task.c: by the owner of the task, outside of the lock ---- */
/* A trainer of these members on devices of the pool. */
gnt_status gnti_live_task_make(gnti_live_task *t, const int32_t *members, int32_t num, const int32_t *devices,
                               int32_t num_devices, gnt_trainer **out);
/* Into a new trainer: what the task holds, else what members' files have. uneven: members stand at different epochs, which is for
 * live_groups.c to sort out. */
gnt_status gnti_live_task_begin(gnti_live_task *t, gnt_trainer *tr, bool *uneven);
/* From the present trainer into a new one of some of its members, which becomes the task's. */
gnt_status gnti_live_task_move(gnti_live_task *t, gnt_trainer *tr, const int32_t *members, int32_t num);
/* Members' states into memory and files; the trainer goes. */
gnt_status gnti_live_task_hold(gnti_live_task *t);
void gnti_live_task_drop(gnti_live_task *t); /* trainer and states; files stay */
/* Members that still train. */
int32_t gnti_live_task_live(const gnti_live_task *t, int32_t *members);
gnt_status gnti_live_task_save(gnti_live_task *t);

/* ---- live_epoch.c: by the owner, outside of the lock ---- */
/* One epoch, and what follows it: metrics, checkpoints, members that end. They answer failures of the run as a whole (files); those
 * of members and of the trainer are in the report, to be cleared with gnti_live_report_clear. */
gnt_status gnti_live_task_train(gnti_live_task *t, gnti_live_report *report);
gnt_status gnti_live_task_follow(gnti_live_task *t, gnti_live_report *report);
void gnti_live_report_clear(gnti_live_report *report);
gnt_status gnti_live_note_end(gnti_live *run, int32_t member, int64_t task); /* in the journal */

/* ---- live_failure.c: under the lock ---- */
/* After an epoch: tells the manager, retries what failed. t->trainer is gone where the report has a status. */
gnt_status gnti_live_take_report(gnti_live_task *t, const gnti_live_report *report);
gnt_status gnti_live_lose_device(gnti_live *run, int32_t device, const char *text);
gnt_status gnti_live_task_failed(gnti_live_task *t, gnt_status status, const char *text);
/* Its members stand at different epochs: they come back as groups of equal ones. */
gnt_status gnti_live_task_uneven(gnti_live_task *t);
gnt_status gnti_live_give_up(gnti_live_task *t);
gnt_status gnti_live_note_failure(gnti_live *run, int32_t member, gnt_status status, const char *text);
/* No more in this run; status, why: where it has not failed itself. What its loss or gradient is to blame for is given up for good,
 * all else set aside: a run that goes on tries it again. */
gnt_status gnti_live_member_give_up(gnti_live *run, int32_t member, gnt_status status, const char *why);
gnt_status gnti_live_event(gnti_live *run, gnti_event e); /* with the time of now */

/* ---- live_orders.c: under the lock ---- */
/* An order for its owner; a GIVE_UP is done at once. */
gnt_status gnti_live_take_action(gnti_live *run, const gnti_action *a);
/* The order has been carried out: the task is on its devices, or on none. */
gnt_status gnti_live_task_sit(gnti_live_task *t);
gnt_status gnti_live_note_place(const gnti_live_task *t, double at); /* in the journal */
void gnti_live_task_stand(gnti_live_task *t);                        /* off all devices */
void gnti_live_task_seen(gnti_live_task *t); /* by its owner: what others see of it from now on */
gnt_status gnti_live_show(gnti_live *run, bool last);

#endif
