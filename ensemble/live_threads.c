/* SPDX-License-Identifier: Apache-2.0 */
/* The driver on wall time: a thread a task, which trains it, moves it and ends it, and the caller's, which gives the manager's actions
 * out, takes requests and shows progress.
 *
 * A task that moves goes on where it is while another thread prepares a trainer on its new devices; at an epoch's end the members'
 * states go over. Where both have no room beside each other, the old one goes first. Tasks on one device take turns (lanes.h).
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const double LOOK_EVERY = 0.05;

/* ---- turns ---------------------------------------------------------------------------------------------------------------- */

/* Each rank asks for its own device alone. No device has two gangs, so they never wait for each other in a circle. */
static void take_turn(void *user, int32_t rank)
{
    gnti_live_task *t = user;
    const double begin = gnti_clock_seconds();

    if (rank < t->num_devices)
        gnti_lanes_enter(t->run->devices[t->devices[rank]].lanes, t->id);
    if (rank == 0)
        t->waited += gnti_clock_seconds() - begin;
}

static void give_turn(void *user, int32_t rank)
{
    gnti_live_task *t = user;

    if (rank < t->num_devices)
        gnti_lanes_exit(t->run->devices[t->devices[rank]].lanes, t->id);
}

/* ---- orders --------------------------------------------------------------------------------------------------------------- */

static gnt_status placed(gnti_live_task *t, int64_t generation, double begin)
{
    return gnti_live_event(t->run, (gnti_event){ .kind = GNTI_EVENT_TASK_PLACED,
                                                 .task = t->id,
                                                 .generation = generation,
                                                 .seconds = gnti_clock_seconds() - begin });
}

static void *prepare(void *user)
{
    gnti_live_task *t = user;
    gnt_trainer *tr = NULL;
    const gnt_status st =
        gnti_live_task_make(t, t->next_members, t->num_next, t->next_devices, t->num_next_devices, &tr);

    pthread_mutex_lock(&t->run->lock);
    t->next = tr;
    t->next_status = st;
    t->prepared = true;
    pthread_cond_broadcast(&t->run->wake);
    pthread_mutex_unlock(&t->run->lock);
    return NULL;
}

/* Under the lock. */
static gnt_status start_preparing(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    const gnti_live_order *o = &t->order;

    GNT_TRY(gnti_realloc_array(&t->next_devices, o->num_devices));
    memcpy(t->next_devices, o->devices, (size_t)o->num_devices * sizeof *o->devices);
    t->num_next_devices = o->num_devices;
    t->next_generation = o->generation;
    t->num_next = gnti_live_task_live(t, t->next_members);
    t->prepared = false;
    GNT_CHECK(pthread_create(&t->preparer, NULL, prepare, t) == 0, GNT_ERR_LIMIT,
              "cannot start a thread for task %lld", (long long)t->id);
    t->preparing = true;
done:
    return st;
}

/* Outside of the lock. */
static void end_preparing(gnti_live_task *t)
{
    if (t->preparing)
        pthread_join(t->preparer, NULL);
    t->preparing = t->prepared = false;
}

/* The trainer for the order, on devices that are free; what the task held or has in files goes in. Outside of the lock. */
static gnt_status start_anew(gnti_live_task *t, bool *uneven)
{
    gnt_status st = GNT_OK;
    gnt_trainer *tr = NULL;

    GNT_TRY(gnti_live_task_make(t, t->members, t->num_members, t->order.devices, t->order.num_devices, &tr));
    GNT_TRY(gnti_live_task_begin(t, tr, uneven));
    tr = NULL;
done:
    gnt_trainer_free(&tr);
    return st;
}

/* Under the lock: the task is on the order's devices. */
static gnt_status settle(gnti_live_task *t, double begin)
{
    gnt_status st = GNT_OK;
    gnti_live_order *o = &t->order;

    t->pause = gnti_clock_seconds() - begin;
    GNT_TRY(gnti_live_task_sit(t));
    GNT_TRY(placed(t, o->generation, begin));
done:
    return st;
}

/* Under the lock: where it failed matters when a device is lost or too small. */
static gnt_status order_failed(gnti_live_task *t, gnt_status status, const char *text)
{
    gnt_status st = GNT_OK;

    if (status == GNT_ERR_DEVICE_LOST || status == GNT_ERR_DEVICE_NOMEM)
        GNT_TRY(gnti_live_task_sit(t));
    t->order.pending = false;
    GNT_TRY(gnti_live_task_failed(t, status, text));
done:
    return st;
}

/* Under the lock, which is given up meanwhile: a failure is the task's. */
static gnt_status carry_out(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    const double begin = gnti_clock_seconds();
    bool uneven = false;
    gnti_error_record error;

    if (!t->order.hold && t->trainer != NULL && !t->prepared)
        return start_preparing(t);
    pthread_mutex_unlock(&run->lock);
    end_preparing(t);
    if (t->next_generation != t->order.generation)
        gnt_trainer_free(&t->next); /* for an order that is void meanwhile */
    if (t->order.hold) {
        st = t->trainer != NULL ? gnti_live_task_hold(t) : GNT_OK;
    } else if (t->next != NULL) {
        gnt_trainer *next = t->next;

        t->next = NULL;
        st = gnti_live_task_move(t, next, t->next_members, t->num_next);
        if (st != GNT_OK)
            gnt_trainer_free(&next);
    } else {
        if (t->trainer != NULL)
            st = gnti_live_task_hold(t);
        if (st == GNT_OK)
            st = start_anew(t, &uneven);
    }
    error = *gnti_error_get();
    if (st != GNT_OK)
        gnti_live_task_drop(t);
    pthread_mutex_lock(&run->lock);
    if (st != GNT_OK) {
        return order_failed(t, st, error.text);
    }
    GNT_TRY(settle(t, begin));
    if (uneven)
        GNT_TRY(gnti_live_task_uneven(t));
done:
    return st;
}

/* A trainer for an order that is void: nobody will want it. Under the lock, which is given up meanwhile. */
static void forget_next(gnti_live_task *t)
{
    pthread_mutex_unlock(&t->run->lock);
    end_preparing(t);
    gnt_trainer_free(&t->next);
    pthread_mutex_lock(&t->run->lock);
}

/* Its device is gone: all that was there is; under the lock, which is given up meanwhile. */
static void let_go(gnti_live_task *t)
{
    pthread_mutex_unlock(&t->run->lock);
    end_preparing(t);
    gnt_trainer_free(&t->next);
    gnti_live_task_drop(t);
    pthread_mutex_lock(&t->run->lock);
    gnti_live_task_stand(t);
    t->lost = false;
}

/* ---- training ---------------------------------------------------------------------------------------------------------------- */

/* Under the lock, which is given up meanwhile. */
static gnt_status train(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    gnti_live_report report;
    gnti_error_record error;

    pthread_mutex_unlock(&run->lock);
    gnti_trainer_set_turns(t->trainer, &(gnti_turns){ take_turn, give_turn, t });
    st = gnti_live_task_train(t, &report);
    if (st == GNT_OK)
        st = gnti_live_task_follow(t, &report);
    error = *gnti_error_get();
    report.seconds += report.waited;
    report.shared = report.waited > 0.1 * report.seconds;
    if (st == GNT_OK && (report.status != GNT_OK || report.over))
        gnti_live_task_drop(t);
    pthread_mutex_lock(&run->lock);
    (void)gnti_error_adopt(&error);
    GNT_TRY(st);
    GNT_TRY(gnti_live_take_report(t, &report));
done:
    gnti_live_report_clear(&report);
    return st;
}

/* At the end of a run that stops, what a task has is saved. Under the lock, which is given up meanwhile. */
static gnt_status leave_run(gnti_live_task *t)
{
    gnt_status st = GNT_OK;

    pthread_mutex_unlock(&t->run->lock);
    end_preparing(t);
    if (t->trainer != NULL && !t->over && !t->lost && gnti_live_task_live(t, NULL) > 0)
        st = gnti_live_task_save(t);
    gnt_trainer_free(&t->next);
    gnti_live_task_drop(t);
    pthread_mutex_lock(&t->run->lock);
    return st;
}

static void *work(void *user)
{
    gnti_live_task *t = user;
    gnti_live *run = t->run;
    gnt_status st = GNT_OK;

    pthread_mutex_lock(&run->lock);
    while (st == GNT_OK && !t->over && !run->halting) {
        if (t->lost)
            let_go(t);
        else if (t->order.pending && (!t->preparing || t->prepared))
            st = carry_out(t);
        else if (t->prepared)
            forget_next(t);
        else if (t->trainer != NULL)
            st = train(t);
        else
            pthread_cond_wait(&run->wake, &run->lock);
        pthread_cond_signal(&run->changed);
    }
    if (st != GNT_OK)
        gnti_live_fail(run, st);
    st = leave_run(t);
    if (st != GNT_OK)
        gnti_live_fail(run, st);
    t->thread_ended = true;
    pthread_cond_signal(&run->changed);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* ---- the driver ------------------------------------------------------------------------------------------------------------ */

static gnt_status give_actions_out(gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_action action;

    while (gnti_manager_next(run->manager, &action)) {
        gnti_live_task *t = gnti_live_find(run, action.task);

        GNT_TRY(gnti_live_take_action(run, &action));
        if (t->order.pending && !t->has_thread) {
            GNT_CHECK(pthread_create(&t->thread, NULL, work, t) == 0, GNT_ERR_LIMIT,
                      "cannot start a thread for task %lld", (long long)t->id);
            t->has_thread = true;
        }
        pthread_cond_broadcast(&run->wake);
    }
    GNT_TRY(gnti_manager_status(run->manager));
done:
    return st;
}

static void wait_a_little(gnti_live *run)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(LOOK_EVERY * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_cond_timedwait(&run->changed, &run->lock, &until);
}

static void join_threads(gnti_live *run, bool all)
{
    for (int64_t i = 0; i < run->num_tasks; i++) {
        gnti_live_task *t = run->tasks[i];

        if (!t->has_thread || (!all && !t->thread_ended))
            continue;
        pthread_mutex_unlock(&run->lock);
        pthread_join(t->thread, NULL);
        pthread_mutex_lock(&run->lock);
        t->has_thread = false;
    }
}

static gnt_status look(gnti_live *run)
{
    gnt_status st = GNT_OK;

    if (gnti_live_now(run) >= gnti_manager_wants_tick(run->manager))
        GNT_TRY(gnti_live_event(run, (gnti_event){ .kind = GNTI_EVENT_TICK }));
    GNT_TRY(give_actions_out(run));
    GNT_TRY(gnti_live_take_requests(run));
    GNT_TRY(gnti_live_show(run, false));
    join_threads(run, false);
done:
    return st;
}

gnt_status gnti_live_drive_threads(gnti_live *run)
{
    gnt_status st = GNT_OK;

    pthread_mutex_lock(&run->lock);
    while (st == GNT_OK && !run->halting && !gnti_live_all_done(run)) {
        st = look(run);
        if (st == GNT_OK && gnti_live_should_stop(run))
            break;
        if (st == GNT_OK && !gnti_live_all_done(run))
            wait_a_little(run);
    }
    if (st != GNT_OK)
        gnti_live_fail(run, st);
    run->halting = true;
    pthread_cond_broadcast(&run->wake);
    join_threads(run, true);
    st = run->status;
    if (st != GNT_OK)
        (void)gnti_error_adopt(&run->error);
    pthread_mutex_unlock(&run->lock);
    return st;
}
