/* SPDX-License-Identifier: Apache-2.0 */
/* The file of events of a simulation: a JSON line for each event that the manager was told, and for each action that it answered.
 *
 * Names hold no letter that JSON would escape (gnti_world_name_check), numbers are the shortest that read back to the same value, so
 * lines are printed as they are.
 */
#include "ensemble/simulate_state.h"

#include "base/text.h"

static const char *const event_names[] = {
    [GNTI_EVENT_TASK_ARRIVED] = "task-arrived",
    [GNTI_EVENT_DEVICE_ADDED] = "device-added",
    [GNTI_EVENT_DEVICE_LOST] = "device-lost",
    [GNTI_EVENT_DEVICE_LEAVES] = "device-leaves",
    [GNTI_EVENT_EPOCH_DONE] = "epoch-done",
    [GNTI_EVENT_TASK_CHANGED] = "task-changed",
    [GNTI_EVENT_TASK_ENDED] = "task-ended",
    [GNTI_EVENT_TASK_FAILED] = "task-failed",
    [GNTI_EVENT_TASK_SHORT] = "task-short",
    [GNTI_EVENT_TASK_PLACED] = "task-placed",
    [GNTI_EVENT_TICK] = "tick",
};
static const char *const action_names[] = { "run", "hold", "give-up" };

static const char *number(double value, char out[GNTI_NUMBER_BYTES])
{
    gnti_format_double(value, out);
    return out;
}

static gnt_status log_head(gnti_simulated *s, const char *kind, const char *name)
{
    char n[GNTI_NUMBER_BYTES];

    return gnti_file_writer_printf(s->log, "{\"time\": %s, \"%s\": \"%s\"", number(s->now, n), kind, name);
}

static gnt_status log_number(gnti_simulated *s, const char *name, double value)
{
    char n[GNTI_NUMBER_BYTES];

    return gnti_file_writer_printf(s->log, ", \"%s\": %s", name, number(value, n));
}

static bool is_of_device(gnti_event_kind kind)
{
    return kind == GNTI_EVENT_DEVICE_ADDED || kind == GNTI_EVENT_DEVICE_LOST ||
           kind == GNTI_EVENT_DEVICE_LEAVES;
}

gnt_status gnti_simulated_log_event(gnti_simulated *s, const gnti_event *e)
{
    gnt_status st = GNT_OK;
    char name[GNTI_WORLD_NAME_BYTES];

    if (s->log == NULL)
        return GNT_OK;
    GNT_TRY(log_head(s, "event", event_names[e->kind]));
    if (is_of_device(e->kind))
        GNT_TRY(gnti_file_writer_printf(s->log, ", \"device\": \"%s\"",
                                        gnti_world_device_name(s->world, e->device, name)));
    else if (e->kind != GNTI_EVENT_TICK)
        GNT_TRY(gnti_file_writer_printf(s->log, ", \"task\": \"%s\"",
                                        gnti_world_task_name(s->world, (int32_t)e->task, name)));
    if (e->kind == GNTI_EVENT_EPOCH_DONE || e->kind == GNTI_EVENT_TASK_FAILED)
        GNT_TRY(log_number(s, "epochs", e->epochs_done));
    if (e->kind == GNTI_EVENT_EPOCH_DONE || e->kind == GNTI_EVENT_TASK_PLACED)
        GNT_TRY(log_number(s, "seconds", e->seconds));
    if (e->kind == GNTI_EVENT_TASK_CHANGED)
        GNT_TRY(log_number(s, "scale", e->scale));
    GNT_TRY(gnti_file_writer_write(s->log, "}\n", 2));
done:
    return st;
}

gnt_status gnti_simulated_log_action(gnti_simulated *s, const gnti_action *a)
{
    gnt_status st = GNT_OK;
    char name[GNTI_WORLD_NAME_BYTES], n[GNTI_NUMBER_BYTES];

    s->num_actions++;
    if (s->log == NULL)
        return GNT_OK;
    GNT_TRY(log_head(s, "action", action_names[a->kind]));
    GNT_TRY(gnti_file_writer_printf(s->log, ", \"task\": \"%s\", \"devices\": [",
                                    gnti_world_task_name(s->world, (int32_t)a->task, name)));
    for (int32_t i = 0; i < a->num_devices; i++)
        GNT_TRY(gnti_file_writer_printf(s->log, "%s\"%s\"", i > 0 ? ", " : "",
                                        gnti_world_device_name(s->world, a->devices[i], name)));
    GNT_TRY(gnti_file_writer_write(s->log, "], \"shares\": [", 14));
    for (int32_t i = 0; i < a->num_devices; i++)
        GNT_TRY(gnti_file_writer_printf(s->log, "%s%s", i > 0 ? ", " : "", number(a->shares[i], n)));
    GNT_TRY(gnti_file_writer_write(s->log, "]}\n", 3));
done:
    return st;
}
