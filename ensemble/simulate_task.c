/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of a simulated world: epochs at hidden speeds, moves at epoch boundaries, failures.
 *
 * With r_d the true speed of device d for the task, k of them do an epoch of S seconds (at speed 1) in
 *   S ((1 - f) / sum r + (f + c (k - 1)) / max r) / share      f: serial share, c: overhead of each further device
 * times the epoch's noise. Moves: a resize prepares the new devices (`start` seconds) while the task trains on, and then pauses it for
 * `pause` and the way of its bytes; a restart writes a checkpoint, starts anew and reads it, all within the pause.
 */
#include "ensemble/simulate_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* ---- seats ---- */

static gnt_status set_seat(gnti_live_seat *seat, const int32_t *device, const double *share, int32_t num)
{
    gnt_status st = GNT_OK;

    if (num > seat->capacity) {
        GNT_TRY(gnti_realloc_array(&seat->device, num));
        GNT_TRY(gnti_realloc_array(&seat->share, num));
        seat->capacity = num;
    }
    for (int32_t i = 0; i < num; i++) {
        seat->device[i] = device[i];
        seat->share[i] = share[i];
    }
    seat->num = num;
done:
    return st;
}

bool gnti_live_seat_has(const gnti_live_seat *seat, int32_t device)
{
    for (int32_t i = 0; i < seat->num; i++)
        if (seat->device[i] == device)
            return true;
    return false;
}

static bool same_devices(const gnti_live_seat *a, const gnti_live_seat *b)
{
    return a->num == b->num &&
           (a->num == 0 || memcmp(a->device, b->device, (size_t)a->num * sizeof *a->device) == 0);
}

/* ---- epochs ---- */

/* Epochs a second where it is, without noise. */
static double rate_of(const gnti_simulated *s, int32_t task)
{
    const gnti_live_task *t = &s->tasks[task];
    const gnti_world_row *row = &s->world->rows[s->world->tasks[task].row];
    double sum = 0.0, fastest = 0.0, share = 1.0, seconds;

    for (int32_t i = 0; i < t->on.num; i++) {
        const int32_t d = t->on.device[i];
        const double r = gnti_world_speed(s->world, task, s->world->devices[d].type) * s->devices[d].factor;

        sum += r;
        fastest = r > fastest ? r : fastest;
        share = t->on.share[i] < share ? t->on.share[i] : share;
    }
    if (t->on.num == 0 || sum <= 0.0)
        return 0.0;
    seconds = t->on.num == 1
                  ? 1.0 / sum
                  : (1.0 - row->serial) / sum + (row->serial + row->overhead * (t->on.num - 1)) / fastest;
    return share / (seconds * s->world->tasks[task].seconds * t->scale);
}

/* What comes first, the end of the epoch or a failure. */
static gnt_status schedule(gnti_simulated *s, int32_t task)
{
    gnti_live_task *t = &s->tasks[task];
    const double seconds = (1.0 - t->part) * t->noise / t->rate;

    t->version++;
    t->part_at = s->now;
    if (t->fails_after < seconds)
        return gnti_moments_push(&s->moments, GNTI_MOMENT_FAILURE, s->now + t->fails_after, task, t->version);
    return gnti_moments_push(&s->moments, GNTI_MOMENT_EPOCH, s->now + seconds, task, t->version);
}

/* Books what has been trained of the epoch since part_at. */
static void advance(gnti_simulated *s, gnti_live_task *t)
{
    const double seconds = s->now - t->part_at;

    if (!t->training)
        return;
    t->part += seconds * t->rate / t->noise;
    t->part = t->part < 1.0 ? t->part : 1.0;
    t->fails_after -= seconds;
    t->fails_after = t->fails_after > 0.0 ? t->fails_after : 0.0;
    t->part_at = s->now;
}

static gnt_status begin_epoch(gnti_simulated *s, int32_t task)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = &s->tasks[task];
    const double deviation = s->world->settings.noise;
    const double z =
        deviation > 0.0 ? gnti_draw_normal(s->world->seed, GNTI_WORLD_NOISE, task, t->epochs_drawn++) : 0.0;

    t->noise = exp(deviation * z - 0.5 * deviation * deviation);
    t->rate = rate_of(s, task);
    GNT_CHECK(t->rate > 0.0, GNT_ERR_INTERNAL, "task %d was put on devices where it cannot run", task);
    t->training = true;
    t->mixed = false;
    t->part = 0.0;
    t->epoch_began = s->now;
    GNT_TRY(schedule(s, task));
done:
    return st;
}

gnt_status gnti_simulated_rerate(gnti_simulated *s, int32_t task)
{
    gnti_live_task *t = &s->tasks[task];

    if (!t->training)
        return GNT_OK;
    advance(s, t);
    t->rate = rate_of(s, task);
    return schedule(s, task);
}

/* ---- moves ---- */

static double transfer(double bytes_gib, double rate)
{
    return rate > 0.0 ? bytes_gib / rate : 0.0;
}

/* Seconds during which the task does not train. */
static double cost_of(const gnti_simulated *s, int32_t task, bool runs, bool goes_on)
{
    const gnti_world_settings *w = &s->world->settings;
    const gnti_world_row *row = &s->world->rows[s->world->tasks[task].row];
    const double bytes = row->lasting * s->tasks[task].scale;

    if (!goes_on) /* held: its state is put away */
        return transfer(bytes, w->disk);
    if (!runs) /* nothing to pause: it starts, from its state where there is one */
        return w->start + (s->tasks[task].has_state ? transfer(bytes, w->disk) : 0.0);
    return w->moves == 0 ? w->pause + transfer(bytes, w->bandwidth)
                         : w->start + 2.0 * transfer(bytes, w->disk);
}

static gnt_status begin_move(gnti_simulated *s, int32_t task)
{
    gnti_live_task *t = &s->tasks[task];

    t->move_seconds = cost_of(s, task, t->on.num > 0, t->next.num > 0);
    t->pending = t->training = false;
    t->moving = true;
    t->version++;
    return gnti_moments_push(&s->moments, GNTI_MOMENT_PLACED, s->now + t->move_seconds, task, t->version);
}

gnt_status gnti_simulated_placed(gnti_simulated *s, int32_t task)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = &s->tasks[task];
    const gnti_live_seat old = t->on;
    const gnti_event e = {
        .kind = GNTI_EVENT_TASK_PLACED, .task = task, .seconds = t->move_seconds, .generation = t->generation
    };

    t->on = t->next;
    t->next = old;
    t->next.num = 0;
    t->moving = t->pending = false;
    if (t->on.num > 0 && t->began_at < 0.0)
        t->began_at = s->now;
    GNT_TRY(gnti_simulated_send(s, e));
    if (t->on.num > 0)
        GNT_TRY(begin_epoch(s, task));
done:
    return st;
}

/* Other shares of the same devices: nothing is moved, so nothing waits for a boundary. */
static gnt_status change_shares(gnti_simulated *s, int32_t task)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = &s->tasks[task];
    const gnti_event e = { .kind = GNTI_EVENT_TASK_PLACED, .task = task, .generation = t->generation };

    GNT_TRY(set_seat(&t->on, t->next.device, t->next.share, t->next.num));
    t->next.num = 0;
    t->mixed = true;
    GNT_TRY(gnti_simulated_rerate(s, task));
    GNT_TRY(gnti_simulated_send(s, e));
done:
    return st;
}

gnt_status gnti_simulated_obey(gnti_simulated *s, const gnti_action *a)
{
    gnt_status st = GNT_OK;
    const int32_t task = (int32_t)a->task;
    gnti_live_task *t = &s->tasks[task];
    const bool prepares = s->world->settings.moves == 0 && a->num_devices > 0;

    GNT_TRY(gnti_simulated_log_action(s, a));
    t->generation = a->generation;
    if (a->kind == GNTI_ACTION_GIVE_UP) {
        t->over = t->gave_up = true;
        t->training = t->pending = t->moving = false;
        t->on.num = t->next.num = 0;
        t->ended_at = s->now;
        t->version++;
        return GNT_OK;
    }
    GNT_CHECK(!t->pending && !t->moving && !t->over, GNT_ERR_INTERNAL,
              "task %d gets an action while another is under way", task);
    GNT_TRY(set_seat(&t->next, a->devices, a->shares, a->num_devices));
    if (!t->training)
        return begin_move(s, task);
    if (same_devices(&t->on, &t->next))
        return change_shares(s, task);
    t->pending = true;
    t->ready_at = s->now + (prepares ? s->world->settings.start : 0.0);
done:
    return st;
}

/* ---- what happens to a task ---- */

gnt_status gnti_simulated_arrive(gnti_simulated *s, int32_t task)
{
    gnti_live_task *t = &s->tasks[task];
    const double mean = s->world->settings.task_failure_mean;
    gnti_place_task terms;

    gnti_world_terms(s->world, task, s->seconds, &terms);
    t->arrived = true;
    t->scale = 1.0;
    t->began_at = -1.0;
    t->fails_after = mean > 0.0
                         ? mean * gnti_draw_exponential(s->world->seed, GNTI_WORLD_TASK_FAILURE, task, 0)
                         : INFINITY;
    s->num_arrived++;
    s->fruitless = 0;
    return gnti_simulated_send(
        s, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = task, .new_task = &terms });
}

gnt_status gnti_simulated_end(gnti_simulated *s, int32_t task)
{
    gnti_live_task *t = &s->tasks[task];

    if (!t->arrived || t->over)
        return GNT_OK;
    t->over = true;
    t->training = t->pending = t->moving = false;
    t->on.num = t->next.num = 0;
    t->ended_at = s->now;
    t->version++;
    return gnti_simulated_send(s, (gnti_event){ .kind = GNTI_EVENT_TASK_ENDED, .task = task });
}

static void note_error(gnti_simulated *s, int32_t task, double seconds)
{
    const gnti_live_task *t = &s->tasks[task];
    double predicted;

    if (t->on.num != 1 || t->mixed)
        return;
    predicted = gnti_manager_epoch_seconds(s->manager, task, s->world->devices[t->on.device[0]].type) /
                t->on.share[0];
    s->error_sum += fabs(predicted / seconds - 1.0);
    s->error_count += 1.0;
}

gnt_status gnti_simulated_epoch(gnti_simulated *s, int32_t task)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = &s->tasks[task];
    const double seconds = s->now - t->epoch_began;
    gnti_event e = { .kind = GNTI_EVENT_EPOCH_DONE, .task = task };

    advance(s, t);
    t->training = false;
    t->has_state = true;
    t->done += 1.0;
    t->trained += 1.0;
    t->noise_sum += t->noise;
    s->fruitless = 0;
    if (fmod(t->done, (double)s->world->settings.checkpoint_every) == 0.0)
        t->kept = t->done;
    note_error(s, task, seconds);
    e.epochs_done = t->done;
    e.seconds = t->mixed ? 0.0 : seconds;
    GNT_TRY(gnti_simulated_send(s, e));
    if (t->done >= s->world->tasks[task].last_epoch)
        return gnti_simulated_end(s, task);
    if (t->pending && s->now >= t->ready_at)
        return begin_move(s, task);
    GNT_TRY(begin_epoch(s, task));
done:
    return st;
}

/* Off all devices; what came after the last checkpoint is lost. */
static void take_off(gnti_simulated *s, gnti_live_task *t)
{
    t->training = t->pending = t->moving = false;
    t->on.num = t->next.num = 0;
    t->version++;
    s->lost_epochs += t->done - t->kept;
    t->done = t->kept;
}

gnt_status gnti_simulated_fail(gnti_simulated *s, int32_t task)
{
    gnti_live_task *t = &s->tasks[task];
    const double mean = s->world->settings.task_failure_mean;

    if (!t->arrived || t->over || t->on.num == 0)
        return GNT_OK; /* it does not run */
    take_off(s, t);
    t->fails_after = mean > 0.0 ? mean * gnti_draw_exponential(s->world->seed, GNTI_WORLD_TASK_FAILURE, task,
                                                               ++t->failures)
                                : INFINITY;
    return gnti_simulated_send(
        s, (gnti_event){ .kind = GNTI_EVENT_TASK_FAILED, .task = task, .epochs_done = t->done });
}

gnt_status gnti_simulated_shrink(gnti_simulated *s, int32_t task, double factor)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = &s->tasks[task];

    if (!t->arrived || t->over)
        return GNT_OK;
    t->scale *= factor;
    t->mixed = true;
    GNT_TRY(gnti_simulated_rerate(s, task));
    GNT_TRY(gnti_simulated_send(
        s, (gnti_event){ .kind = GNTI_EVENT_TASK_CHANGED, .task = task, .scale = factor }));
done:
    return st;
}

gnt_status gnti_simulated_drop(gnti_simulated *s, int32_t task, int32_t device)
{
    gnti_live_task *t = &s->tasks[task];
    const bool was_moving = t->moving;

    if (gnti_live_seat_has(&t->on, device)) {
        take_off(s, t);
        return GNT_OK;
    }
    if (!(t->pending || t->moving) || !gnti_live_seat_has(&t->next, device))
        return GNT_OK;
    t->pending = t->moving = false;
    t->next.num = 0;
    if (!was_moving)
        return GNT_OK; /* it trains on where it is */
    t->version++;
    return t->on.num > 0 ? begin_epoch(s, task) : GNT_OK;
}
