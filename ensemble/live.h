/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a live ensemble, shared by run.c and live_*.c. Nobody else includes it.
 *
 *   run.c           from spec to summary                  live_task.c     a group: its trainer, made, moved, held
 *   live_open.c     folder, lock, journal: what was       live_epoch.c    one epoch of it and what follows
 *   live_devices.c  the pool; what planners see of it     live_failure.c  members and groups that fail, devices that are lost
 *   live_groups.c   members become groups, groups tasks   live_threads.c  driver on wall time: a thread a group
 *   live_finish.c   combined, summary, report             live_virtual.c  driver on a virtual clock: one thread, in order of time
 *   live_request.c  resize requests                       live_orders.c   what the manager wants; who is where
 *   live_member.c   summary.json of a member              live_spans.c    bars, into the journal
 *   live_past.c     bars of all processes, out of it
 *
 * A member is pending until its files are complete and the journal says that it ended, or until it has failed for good. A task is a group
 * of members in one trainer; tasks that fail or whose members stand at different epochs dissolve, and their members form new ones.
 * Whoever works on a task (its thread, or the one driver of a virtual clock) owns its trainer; all else is under `lock`, and files are
 * written outside of it. Tasks are in live_task.h.
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

typedef struct gnti_live gnti_live;
typedef struct gnti_live_task gnti_live_task; /* live_task.h */

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
    gnti_manager_facts facts;

    bool is_process_noted; /* in the journal */
    int64_t num_noted;     /* of the manager's closed spans */

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

/* ---- live_member.c ---- */
/* members/NAME/summary.json of a member that has ended: scores of its logits. */
gnt_status gnti_live_member_summary(const gnti_live *run, int32_t member, const float *logits,
                                    const gnti_member *progress);
/* ---- live_finish.c ---- */
gnt_status gnti_live_finish(gnti_live *run, gnti_json **out_summary);

#endif
