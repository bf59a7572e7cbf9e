/* SPDX-License-Identifier: Apache-2.0 */
/* What the policies of placement work on: devices in classes of like ones, who owns which device, when each is free.
 *
 * A policy pins the running tasks that stay, lets others own idle devices, queues the rest (place_list.c)
 * and gives idle devices to running gangs (place_grow.c). In the end tasks that still wait may become guests
 * beside an owner (place_memory.c), and owners and guests become a plan. Everything is a function of the
 * input: orders are total, ties go to the lower index.
 */
#ifndef GNTI_ENSEMBLE_PLACE_STATE_H
#define GNTI_ENSEMBLE_PLACE_STATE_H

#include "ensemble/place.h"

#include <stddef.h>

/* Devices of equal type, bytes and lanes: which of them a task has makes no difference. */
typedef struct gnti_place_class {
    int32_t type;
    int64_t bytes, lanes;
    int32_t first, num; /* in by_class */
} gnti_place_class;

typedef struct gnti_placing {
    const gnti_place_input *in;
    double gain;
    int32_t num_present, num_classes;
    gnti_place_class *classes;
    int32_t *by_class; /* (num_present) devices, class by class, ascending */
    int32_t *class_of; /* (num_devices) -1: absent */
    double *speed;     /* (num_tasks, num_classes) epochs a second on one device, 0: it cannot run there */
    /* tasks */
    int32_t *need;   /* (num_tasks) fewest devices that hold it, 0: it can run on nothing that is present */
    int32_t *width;  /* (num_tasks) devices that it owns, 0: it waits */
    double *sum;     /* (num_tasks) speed of the devices that it owns, epochs a second */
    double *fastest; /* (num_tasks) of the fastest of them */
    double *finish;  /* (num_tasks) predicted, seconds from now */
    double *start;   /* (num_tasks) predicted start of a queued one */
    int32_t *most;   /* (num_tasks) devices that it may grow to, at first max_devices */
    int32_t *queued; /* (num_tasks) device that it waits for, -1 */
    int32_t *guest;  /* (num_tasks) device that it shares with its owner, -1 */
    double *leave; /* (num_tasks) seconds until its next epoch boundary, half an epoch: it moves no earlier */
    double *best;  /* (num_tasks) seconds that are left on the fewest devices that hold it, the fastest */
    /* devices */
    int32_t *owner;  /* (num_devices) -1: idle */
    double *free_at; /* (num_devices) seconds from now */
    double *hole;    /* (num_devices) an idle one that a gang will need: seconds until then, else 0 */
    int32_t *heap;   /* (num_present) class by class, by free_at */
    /* the line of tasks that wait */
    int32_t *order; /* (num_tasks) */
    double *key;    /* (num_tasks) least first */
    /* who shares a device */
    double *share; /* (num_tasks) of the speed that it has alone, of an owner or guest of one device */
    int32_t *lane; /* (num_tasks) */
    int32_t num_guests;
} gnti_placing;

gnt_status gnti_placing_open(gnti_placing *s, const gnti_place_input *in);
void gnti_placing_close(gnti_placing *s);
/* Nobody owns anything. */
void gnti_placing_reset(gnti_placing *s);
/* A copy of who owns what, to be freed, and back to it. */
gnt_status gnti_placing_save(const gnti_placing *s, void **out);
void gnti_placing_restore(gnti_placing *s, const void *saved);

/* ---- speed and memory ---- */
/* Epochs a second on one device of the class; 0: it cannot run there. */
static inline double gnti_placing_speed(const gnti_placing *s, int32_t task, int32_t cls)
{
    return s->speed[(int64_t)task * s->num_classes + cls];
}
/* Never 0: whoever is there takes time, so that a device with an owner is not free now. */
static inline double gnti_epochs_left(const gnti_place_task *task)
{
    return task->epochs_left > 1e-9 ? task->epochs_left : 1e-9;
}
/* Of a gang of k devices with this sum of speeds and this fastest one. */
double gnti_gang_speed(const gnti_place_task *task, double sum, double fastest, int32_t k);
/* Fewest devices of the class that hold it, at most max_devices; 0: no number does. */
int32_t gnti_placing_fewest(const gnti_placing *s, int32_t task, int32_t cls);
/* The same over all classes: count (num_classes) of each; answers their sum, 0: no set holds it. */
int32_t gnti_placing_mixed(const gnti_placing *s, int32_t task, int32_t *count);
bool gnti_placing_holds(const gnti_placing *s, int32_t task, int32_t cls, double part);
int64_t gnti_gang_part(int64_t bytes, double part,
                       int32_t k); /* of a device that has this part of a gang's speed */

/* ---- owning ---- */
void gnti_placing_give(gnti_placing *s, int32_t task, int32_t device);
void gnti_placing_drop(gnti_placing *s, int32_t task); /* all that it owns */
/* The devices that a task holds, if that is still allowed (of a gang those that are left): they become its own. */
bool gnti_placing_keep(gnti_placing *s, int32_t task);
/* Running tasks keep what they hold, those of foreground first; `leaves` (num_tasks) names those that do
 * not, or is NULL. Tasks of foreground that wait then get a device before any other: a lone task of the
 * background leaves it, and may stay as a guest. */
void gnti_placing_keep_all(gnti_placing *s, const bool *leaves);
bool gnti_placing_was_guest(const gnti_placing *s, int32_t task); /* what it holds is somebody else's */
bool gnti_placing_stays(const gnti_placing *s, int32_t task);     /* it owns what it holds */
/* Seconds that are left at a speed elsewhere: with the way to the boundary and what the move costs when it
 * runs already. */
double gnti_placing_moved(const gnti_placing *s, int32_t task, double speed);
/* Seconds that are left on what it owns, with the move if it is one. */
double gnti_placing_left(const gnti_placing *s, int32_t task);
int32_t gnti_placing_num_idle(const gnti_placing *s);
/* Running gangs give back what they have beyond their need until each that waits could have a device. */
void gnti_placing_shrink(gnti_placing *s);
/* The key of a task in the line; those of the foreground come first. */
void gnti_placing_rank(gnti_placing *s, int32_t task, double key);

/* ---- lists ---- */
#define GNTI_PLACE_FEW                                                                                       \
    512 /* tasks for which every start and finish is predicted at each call, and plans are steady */
/* Tasks that wait go to order, in no order yet; answers how many. */
int32_t gnti_placing_line(gnti_placing *s);
/* Each of a line in turn goes where it ends first; those for which a device is idle own it now. A gang
 * reserves its devices, and later ones use them until then if they end in time. Stops when nothing is
 * idle, unless `whole`: then every one has its start and finish. */
gnt_status gnti_placing_list(gnti_placing *s, int32_t num, bool whole);
/* After a whole list of num tasks: better queues for them, the longest of each starts. */
gnt_status gnti_placing_search(gnti_placing *s, int32_t num);
/* Waiting tasks, those of the least cost first, find `idle` places free and then push out running ones of
 * at least twice the cost, the most first: leaves (num_tasks) says whom. */
gnt_status gnti_placing_push(gnti_placing *s, const double *cost, int32_t idle, bool *leaves);
/* Where moves are dear, and tasks and devices few: gangs that stay from start to end, if that ends before
 * `finish`, else as it was. */
gnt_status gnti_placing_rigid(gnti_placing *s, double finish);
/* Idle devices run tasks that are queued for others until their turn comes, those first that have the least key. */
gnt_status gnti_placing_borrow(gnti_placing *s);
/* Idle devices join running tasks, or running tasks move to them: the one with the least key[task] first.
 * With by_finish the key is -finish. */
gnt_status gnti_placing_grow(gnti_placing *s, bool by_finish);
/* Tasks that wait beside owners that leave room, by key. */
gnt_status gnti_placing_guests(gnti_placing *s);
/* gnti_place_lower_bound, with a status. */
gnt_status gnti_placing_bound(const gnti_place_input *in, double *out);
/* The latest finish, of those that run and those that are queued; what waits without a place is shared out
 * to all devices. */
double gnti_placing_finish(const gnti_placing *s);
gnt_status gnti_placing_write(const gnti_placing *s, gnti_place_plan *plan);

/* Device-seconds of a task so far over its weight. */
double gnti_placing_service(const gnti_placing *s, int32_t task);

/* ---- choices by class ---- */
typedef struct gnti_class_choice {
    int32_t cls, width; /* width 0: it waits; cls -1: it keeps what it holds */
} gnti_class_choice;
/* Tasks order[from .. num), the last one first, own what choice[from .. num) says. */
gnt_status gnti_placing_settle(gnti_placing *s, int32_t from, int32_t num, const gnti_class_choice *choice);

/* ---- steadiness ---- */
/* One plan; asked for again, with what it gave out held, it may differ. */
gnt_status gnti_place_once(const gnti_place_input *in, gnti_place_plan *plan);
/* From such a plan to one that does not differ then; it is taken over. */
gnt_status gnti_place_steady(const gnti_place_input *in, gnti_place_plan *plan);

/* ---- policies ---- */
gnt_status gnti_place_makespan(gnti_placing *s);
gnt_status gnti_place_first_come(gnti_placing *s);
gnt_status gnti_place_shortest(gnti_placing *s);
gnt_status gnti_place_max_min(gnti_placing *s);
gnt_status gnti_place_least_service(gnti_placing *s);
gnt_status gnti_place_energy(gnti_placing *s);

/* A heap of item[0 .. num) by key[item], then item; least on top. */
void gnti_place_heapify(int32_t *item, int32_t num, const double *key);
void gnti_place_sift_down(int32_t *item, int32_t num, const double *key, int32_t at);
void gnti_place_sift_up(int32_t *item, const double *key, int32_t at);
/* Takes the top out: it lies at item[num - 1] then, behind the num - 1 others. */
int32_t gnti_place_pop(int32_t *item, int32_t num, const double *key);

#endif
