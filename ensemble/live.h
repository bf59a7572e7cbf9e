/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a live ensemble, shared by run.c and live_*.c. Nobody else includes it.
 *
 *   run.c           from spec to summary                  live_task.c     a group: its trainer, made, moved, held
 *   live_open.c     folder, lock, journal: what was       live_epoch.c    one epoch of it and what follows
 *   live_devices.c  the pool; what planners see of it     live_failure.c  members and groups that fail, devices that are lost
 *   live_groups.c   members become groups, groups tasks   live_threads.c  driver on wall time: a thread a group
 *   live_finish.c   combined, summary, report             live_virtual.c  driver on a virtual clock: one thread, in order of time
 *   live_request.c  resize requests                       live_orders.c   what the manager wants; who is where
 *
 * A member is pending until its files are complete and the journal says that it ended, or until it has failed for good. A task is a group
 * of members in one trainer; tasks that fail or whose members stand at different epochs dissolve, and their members form new ones.
 * Whoever works on a task (its thread, or the one driver of a virtual clock) owns its trainer; all else is under `lock`, and files are
 * written outside of it.
 */
#ifndef GNTI_ENSEMBLE_LIVE_H
#define GNTI_ENSEMBLE_LIVE_H

#include "base/energy.h"
#include "base/text.h"
#include "ensemble/group_profile.h"
#include "ensemble/journal.h"
#include "ensemble/lanes.h"
#include "ensemble/method.h"
#include "ensemble/pool_device.h"
#include "ensemble/run.h"
#include "kernels/quota.h"
#include "train/run_folder.h"

#include <pthread.h>

enum { GNTI_LIVE_MAX_DEVICES = 1024, GNTI_LIVE_TEXT_BYTES = 400 };

typedef enum gnti_live_outcome { GNTI_LIVE_PENDING, GNTI_LIVE_ENDED, GNTI_LIVE_FAILED } gnti_live_outcome;

typedef struct gnti_live_member {
    char *folder;  /* RUN/members/NAME */
    int64_t epoch; /* of its newest checkpoint, 0: none */
    gnti_live_outcome outcome;
    bool in_task;                       /* of some task that has not ended */
    bool alone;                         /* it failed before: in a group of its own from now on */
    int64_t epochs_trained;             /* at the end */
    double seconds;                     /* of training */
    const char *how;                    /* "ended", "stopped early", "failed": for people */
    char failure[GNTI_LIVE_TEXT_BYTES]; /* the newest, "": none */
    gnt_status status;                  /* of it */
} gnti_live_member;

/* Members of equal view share a dataset; made when the first task needs it. */
typedef struct gnti_live_view {
    gnti_member_view what;
    gnt_dataset *data; /* NULL: the dataset itself, or not made yet */
    int32_t num_users;
} gnti_live_view;

typedef struct gnti_live_device {
    char name[GNTI_POOL_NAME_BYTES];
    int32_t type;
    bool present;
    gnti_quota quota;
    int64_t bytes,
        told_bytes; /* that planners may fill, 0: no limit; before a group did not fit what was told */
    double speed;   /* by the probe, relative to the slowest */
    gnti_lanes *lanes;
} gnti_live_device;

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

typedef struct gnti_live gnti_live;
typedef struct gnti_live_task {
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
} gnti_live_task;

struct gnti_live {
    gnt_context *ctx;
    const gnti_spec *spec;
    const gnt_dataset *data;
    const gnti_ensemble_config *config;
    gnti_ensemble_watch watch;
    void *user;

    gnti_run *folder; /* lock and log */
    gnti_journal *journal;
    gnti_method_run *method;
    gnti_live_member *members; /* (spec->num_members) */
    gnti_live_view *views;
    int32_t *view_of; /* (spec->num_members) */
    int32_t num_views;

    gnti_device_spec *specs;   /* (GNTI_LIVE_MAX_DEVICES) the context's pool */
    gnti_live_device *devices; /* (num_devices) */
    int32_t num_devices, num_types;
    bool is_virtual;

    gnti_manager *manager;
    gnti_group_profile *profile, *cache; /* of this run, written; of the user, read */
    gnti_live_task **tasks;
    int64_t num_tasks, tasks_capacity;

    pthread_mutex_t lock;
    pthread_cond_t wake, changed; /* tasks; the driver */
    bool has_lock, halting;
    gnt_status status; /* the first failure of the run as a whole */
    gnti_error_record error;
    gnti_energy *energy; /* what meters have counted since the start, of the whole machine */
    double started, now; /* wall time of the start; newest virtual time */
    gnti_text notes;     /* for the report, one a line */
    double polled_at, shown_at, metered_at;
    /* over MPI processes (live_processes.h) */
    gnti_comm *all, *world,
        *crew; /* the context's; all, for this run; those of the group under way. NULL: this process alone */
    int32_t *tries;      /* (members) of those that failed alone */
    int32_t num_working; /* processes that a resize has left at work: the first ones */
    gnti_span *spans;    /* (num_spans) bars of the report, in the place of the manager's */
    int64_t num_spans, spans_capacity;
    gnti_manager_facts facts;

    int64_t epochs_before; /* of all members when this process began, -1: not counted yet */
};

/* ---- live_open.c ---- */
/* Folder, lock, copy of the spec, journal; outcomes and epochs of members. ERR_FORMAT for the folder of another ensemble, with both
 * hashes. complete: everything was done before. */
gnt_status gnti_live_open(gnti_live *run, bool *complete);
/* The same for a process that is not the root: without lock, journal and log, which stay NULL. */
gnt_status gnti_live_open_beside(gnti_live *run);
gnt_status gnti_live_note(gnti_live *run, const char *format, ...) GNT_PRINTF(2, 3); /* log.txt, the report */
void gnti_live_close(gnti_live *run);
double gnti_live_now(const gnti_live *run);
/* Keeps the first failure of the run; everybody halts. Under the lock. */
void gnti_live_fail(gnti_live *run, gnt_status st);
bool gnti_live_should_stop(const gnti_live *run);

/* ---- live_devices.c: under the lock ---- */
gnt_status gnti_live_devices_open(gnti_live *run);
void gnti_live_devices_close(gnti_live *run);
/* Other devices from now on; the manager is told. */
gnt_status gnti_live_devices_set(gnti_live *run, const char *devices, int32_t *added, int32_t *removed);
/* Seconds of an epoch of a group on each type (num_types), and bytes on a device (0: not known): measured where they were, else by
 * forecast. */
gnt_status gnti_live_forecast(const gnti_live *run, const gnti_fused_group *g, double *seconds,
                              int64_t *bytes);
/* What a task has measured on its device so far goes to the profile; the profile to its file. */
gnt_status gnti_live_note_measure(gnti_live_task *t);
gnt_status gnti_live_write_profile(gnti_live *run);

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
gnt_status gnti_live_note_place(const gnti_live_task *t); /* in the journal */
void gnti_live_task_stand(gnti_live_task *t);             /* off all devices */
void gnti_live_task_seen(gnti_live_task *t); /* by its owner: what others see of it from now on */
gnt_status gnti_live_show(gnti_live *run, bool last);

/* ---- drivers ---- */
gnt_status gnti_live_drive_threads(gnti_live *run);
gnt_status gnti_live_drive_virtual(gnti_live *run);
/* Every process calls them. */
gnt_status gnti_live_open_processes(gnti_live *run, bool *complete);
gnt_status gnti_live_drive_processes(gnti_live *run);

/* ---- live_request.c ---- */
/* Takes requests that lie in RUN/requests, at most one at a call; answers them. Under the lock. */
gnt_status gnti_live_take_requests(gnti_live *run);
/* Those of an earlier process. */
gnt_status gnti_live_forget_requests(const gnti_live *run);

/* ---- live_finish.c ---- */
/* members/NAME/summary.json of a member that has ended: scores of its logits. */
gnt_status gnti_live_member_summary(const gnti_live *run, int32_t member, const float *logits,
                                    const gnti_member *progress);
gnt_status gnti_live_finish(gnti_live *run, gnti_json **out_summary);

#endif
