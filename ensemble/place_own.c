/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns which device: keeping what is held, giving, leaving, and the precedence of the foreground.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

void gnti_placing_give(gnti_placing *s, int32_t task, int32_t device)
{
    const double speed = gnti_placing_speed(s, task, s->class_of[device]);

    GNT_ASSERT(s->owner[device] < 0);
    s->owner[device] = task;
    s->width[task]++;
    s->sum[task] += speed;
    s->fastest[task] = fmax(s->fastest[task], speed);
    s->queued[task] = -1;
    s->start[task] = 0.0;
}

void gnti_placing_drop(gnti_placing *s, int32_t task)
{
    for (int32_t d = 0; s->width[task] > 0 && d < s->in->num_devices; d++)
        if (s->owner[d] == task) {
            s->owner[d] = -1;
            s->width[task]--;
        }
    s->sum[task] = s->fastest[task] = 0.0;
}

/* Whether a gang of what is left of its devices still holds it. */
static bool survives(const gnti_placing *s, int32_t task, double sum, int32_t k)
{
    const gnti_place_task *t = &s->in->tasks[task];

    for (int32_t i = 0; i < t->num_held; i++) {
        const int32_t cls = s->class_of[t->held[i]];

        if (cls < 0 || s->owner[t->held[i]] >= 0)
            continue;
        if (!gnti_placing_holds(s, task, cls, k > 1 ? gnti_placing_speed(s, task, cls) / sum : 1.0))
            return false;
    }
    return true;
}

bool gnti_placing_keep(gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    double sum = 0.0;
    int32_t k = 0;

    for (int32_t i = 0; i < t->num_held; i++) {
        const int32_t cls = s->class_of[t->held[i]];
        const double speed = cls >= 0 ? gnti_placing_speed(s, task, cls) : 0.0;

        if (cls < 0 || s->owner[t->held[i]] >= 0)
            continue;
        if (speed == 0.0)
            return false;
        sum += speed;
        k++;
    }
    if (k == 0 || k > t->max_devices || !survives(s, task, sum, k))
        return false;
    for (int32_t i = 0; i < t->num_held; i++)
        if (s->class_of[t->held[i]] >= 0 && s->owner[t->held[i]] < 0)
            gnti_placing_give(s, task, t->held[i]);
    return true;
}

bool gnti_placing_was_guest(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];

    return t->num_held == 1 && t->held_as_guest;
}

bool gnti_placing_stays(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];

    if (s->width[task] != t->num_held)
        return false;
    for (int32_t i = 0; i < t->num_held; i++)
        if (s->owner[t->held[i]] != task)
            return false;
    return true;
}

double gnti_placing_moved(const gnti_placing *s, int32_t task, double speed)
{
    const gnti_place_task *t = &s->in->tasks[task];

    return s->leave[task] + (gnti_epochs_left(t) + (t->num_held > 0 ? t->switch_epochs : 0.0)) / speed;
}

double gnti_placing_left(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const bool moves = t->num_held > 0 && !gnti_placing_stays(s, task);
    const double speed = gnti_gang_speed(t, s->sum[task], s->fastest[task], s->width[task]);

    return moves ? gnti_placing_moved(s, task, speed) : gnti_epochs_left(t) / speed;
}

int32_t gnti_placing_num_idle(const gnti_placing *s)
{
    int32_t idle = s->num_present;

    for (int32_t d = 0; d < s->in->num_devices; d++)
        idle -= s->owner[d] >= 0;
    return idle;
}

/* The fastest device for a task of the foreground: idle, or with a lone task of the background. -1: none. */
static int32_t foreground_device(const gnti_placing *s, int32_t task)
{
    double best = 0.0;
    int32_t pick = -1;

    for (int32_t d = 0; d < s->in->num_devices; d++) {
        const int32_t cls = s->class_of[d], owner = s->owner[d];
        double speed;

        if (cls < 0 || (owner >= 0 && (s->width[owner] > 1 || s->in->tasks[owner].foreground)))
            continue;
        speed = gnti_placing_speed(s, task, cls) * (owner >= 0 ? 1.0 - s->gain : 1.0);
        if (speed > best && gnti_placing_holds(s, task, cls, 1.0)) {
            best = speed;
            pick = d;
        }
    }
    return pick;
}

void gnti_placing_keep_all(gnti_placing *s, const bool *leaves)
{
    const int32_t num = s->in->num_tasks;
    int32_t num_waiting = 0;

    for (int32_t t = 0; t < num; t++)
        if (s->in->tasks[t].foreground && s->need[t] > 0 && (leaves == NULL || !leaves[t]))
            num_waiting += !gnti_placing_keep(s, t);
    for (int guest = 0; guest < 2;
         guest++) /* of those who share a device, who has all of its own speed owns it */
        for (int32_t t = 0; t < num; t++) {
            const bool is_guest = gnti_placing_was_guest(s, t);

            if (!s->in->tasks[t].foreground && s->in->tasks[t].num_held > 0 && is_guest == (guest == 1) &&
                (leaves == NULL || !leaves[t]))
                gnti_placing_keep(s, t);
        }
    for (int32_t t = 0; num_waiting > 0 && t < num; t++) {
        if (!s->in->tasks[t].foreground || s->width[t] > 0 || s->need[t] != 1)
            continue;
        const int32_t d = foreground_device(s, t);

        if (d >= 0 && s->owner[d] >= 0)
            gnti_placing_drop(s, s->owner[d]);
        if (d >= 0)
            gnti_placing_give(s, t, d);
    }
}

void gnti_placing_rank(gnti_placing *s, int32_t task, double key)
{
    s->key[task] = s->in->tasks[task].foreground ? -INFINITY : key;
}

/* The gang is not too large for what is left. */
static bool give_back(gnti_placing *s, int32_t task, int32_t device)
{
    const double sum = s->sum[task] - gnti_placing_speed(s, task, s->class_of[device]);
    double fastest = 0.0, left = 0.0;

    for (int32_t d = 0; d < s->in->num_devices; d++) {
        const double speed =
            s->owner[d] == task && d != device ? gnti_placing_speed(s, task, s->class_of[d]) : 0.0;

        if (speed > 0.0 &&
            !gnti_placing_holds(s, task, s->class_of[d], s->width[task] > 2 ? speed / sum : 1.0))
            return false;
        fastest = fmax(fastest, speed);
        left += speed;
    }
    s->owner[device] = -1;
    s->width[task]--;
    s->sum[task] = left;
    s->fastest[task] = fastest;
    return true;
}

/* Devices beyond what tasks need go back until each that waits could have one: from the widest, the
 * slowest of a gang's first. */
void gnti_placing_shrink(gnti_placing *s)
{
    int32_t lacking = -gnti_placing_num_idle(s);

    for (int32_t t = 0; t < s->in->num_tasks; t++)
        lacking += s->width[t] == 0 ? s->need[t] : 0;
    while (lacking > 0) {
        int32_t widest = -1, slowest = -1;

        for (int32_t t = 0; t < s->in->num_tasks; t++)
            if (s->width[t] > s->need[t] &&
                (widest < 0 || s->width[t] - s->need[t] > s->width[widest] - s->need[widest]))
                widest = t;
        if (widest < 0)
            return;
        for (int32_t d = s->in->num_devices - 1; d >= 0; d--)
            if (s->owner[d] == widest &&
                (slowest < 0 || gnti_placing_speed(s, widest, s->class_of[d]) <
                                    gnti_placing_speed(s, widest, s->class_of[slowest])))
                slowest = d;
        if (!give_back(s, widest, slowest))
            return;
        lacking--;
    }
}

/* ---- copies ---- */

typedef struct saved_piece {
    void *data;
    size_t bytes;
} saved_piece;

enum { NUM_PIECES = 9 };

static void pieces_of(const gnti_placing *s, saved_piece out[NUM_PIECES])
{
    const size_t tasks = (size_t)s->in->num_tasks, devices = (size_t)s->in->num_devices;
    const saved_piece all[NUM_PIECES] = {
        { s->sum, tasks * sizeof *s->sum },       { s->fastest, tasks * sizeof *s->fastest },
        { s->finish, tasks * sizeof *s->finish }, { s->start, tasks * sizeof *s->start },
        { s->key, tasks * sizeof *s->key },       { s->hole, devices * sizeof *s->hole },
        { s->width, tasks * sizeof *s->width },   { s->queued, tasks * sizeof *s->queued },
        { s->owner, devices * sizeof *s->owner },
    };

    for (int i = 0; i < NUM_PIECES; i++)
        out[i] = all[i];
}

gnt_status gnti_placing_save(const gnti_placing *s, void **out)
{
    gnt_status st = GNT_OK;
    saved_piece piece[NUM_PIECES];
    size_t bytes = 0;
    char *block = NULL;

    pieces_of(s, piece);
    for (int i = 0; i < NUM_PIECES; i++)
        bytes += piece[i].bytes;
    GNT_TRY(gnti_alloc_array(&block, (int64_t)bytes));
    *out = block;
    for (int i = 0; i < NUM_PIECES; i++) {
        memcpy(block, piece[i].data, piece[i].bytes);
        block += piece[i].bytes;
    }
done:
    return st;
}

void gnti_placing_restore(gnti_placing *s, const void *saved)
{
    saved_piece piece[NUM_PIECES];
    const char *block = saved;

    pieces_of(s, piece);
    for (int i = 0; i < NUM_PIECES; i++) {
        memcpy(piece[i].data, block, piece[i].bytes);
        block += piece[i].bytes;
    }
}
