/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a simulation, and whether its work was conserved. */
#include "ensemble/simulate_state.h"

#include "base/alloc.h"

#include <math.h>

static const char *word_of(const char *words, int32_t index, char out[32])
{
    int n = 0;

    for (; index > 0 && *words != '\0'; words++)
        index -= *words == '|';
    for (; *words != '\0' && *words != '|' && n < 31; words++)
        out[n++] = *words;
    out[n] = '\0';
    return out;
}

gnt_status gnti_simulated_conserved(const gnti_simulated *s)
{
    gnt_status st = GNT_OK;
    double kept = 0.0, trained = 0.0;

    for (int32_t j = 0; j < s->world->num_tasks; j++) {
        const gnti_live_task *t = &s->tasks[j];

        kept += t->done;
        trained += t->trained;
        GNT_CHECK(t->done <= s->world->tasks[j].last_epoch, GNT_ERR_INTERNAL,
                  "task %d has trained %g epochs, it has %g", j, t->done, s->world->tasks[j].last_epoch);
    }
    GNT_CHECK(fabs(trained - s->lost_epochs - kept) < 0.5, GNT_ERR_INTERNAL,
              "%g epochs ran and %g were lost, but tasks have %g", trained, s->lost_epochs, kept);
done:
    return st;
}

static gnt_status add_settings(const gnti_simulated *s, gnti_json *out)
{
    gnt_status st = GNT_OK;
    char word[32];

    GNT_TRY(gnti_json_set_text(out, "policy", word_of(GNTI_POLICY_WORDS, s->world->settings.policy, word)));
    GNT_TRY(gnti_json_set_text(out, "moves", s->world->settings.moves == 0 ? "resize" : "restart"));
    GNT_TRY(gnti_json_set_int(out, "seed", (int64_t)s->world->seed));
    GNT_TRY(gnti_json_set_int(out, "devices", s->world->num_devices));
    GNT_TRY(gnti_json_set_int(out, "tasks", s->world->num_tasks));
done:
    return st;
}

static gnt_status add_schedule(const gnti_simulated *s, const gnti_manager_facts *f, gnti_json *out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_json_set_number(out, "makespan_seconds", f->makespan));
    GNT_TRY(gnti_json_set_number(out, "lower_bound_seconds", f->lower_bound));
    GNT_TRY(gnti_json_set_number(out, "makespan_over_bound", f->makespan / f->lower_bound));
    GNT_TRY(gnti_json_set_number(out, "utilisation", f->busy_speed_seconds / f->present_speed_seconds));
    GNT_TRY(gnti_json_set_number(out, "mean_completion_seconds", f->mean_completion));
    GNT_TRY(gnti_json_set_number(out, "wait_seconds", f->wait_seconds));
    GNT_TRY(gnti_json_set_number(out, "joules", f->joules));
    GNT_TRY(gnti_json_set_int(out, "ended", f->num_ended));
    GNT_TRY(gnti_json_set_int(out, "given_up", f->num_given_up));
    GNT_TRY(gnti_json_set_int(out, "left", f->num_tasks - f->num_ended - f->num_given_up));
    GNT_TRY(gnti_json_set_int(out, "moves_made", f->num_moves));
    GNT_TRY(gnti_json_set_number(out, "move_seconds", f->move_seconds));
    GNT_TRY(gnti_json_set_int(out, "retries", f->num_retries));
    GNT_TRY(gnti_json_set_int(out, "interrupted", f->num_lost));
    GNT_TRY(gnti_json_set_int(out, "plans", f->num_plans));
    GNT_TRY(gnti_json_set_int(out, "events", s->num_events));
    GNT_TRY(gnti_json_set_int(out, "actions", s->num_actions));
done:
    return st;
}

gnt_status gnti_simulated_facts(const gnti_simulated *s, gnti_manager_facts *out)
{
    gnt_status st = GNT_OK;
    const int32_t num_types = s->world->num_types;
    double *seconds = NULL;

    GNT_TRY(gnti_alloc_array(&seconds, (int64_t)s->world->num_tasks * num_types + 1));
    for (int32_t j = 0; j < s->world->num_tasks; j++)
        for (int32_t k = 0; k < num_types; k++) {
            const gnti_live_task *t = &s->tasks[j];
            const double speed = gnti_world_speed(s->world, j, k);
            const double noise = t->trained > 0.0 ? t->noise_sum / t->trained : 1.0;

            seconds[(int64_t)j * num_types + k] =
                speed > 0.0 ? s->world->tasks[j].seconds * t->scale * noise / speed : INFINITY;
        }
    GNT_TRY(gnti_manager_get_true_facts(s->manager, seconds, out));
done:
    gnti_free(seconds);
    return st;
}

gnt_status gnti_simulated_report(gnti_simulated *s, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *facts = NULL;
    gnti_manager_facts f;
    double trained = 0.0;

    for (int32_t j = 0; j < s->world->num_tasks; j++)
        trained += s->tasks[j].trained;
    GNT_TRY(gnti_simulated_facts(s, &f));
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(add_settings(s, facts));
    GNT_TRY(add_schedule(s, &f, facts));
    GNT_TRY(gnti_json_set_number(facts, "epochs_trained", trained));
    GNT_TRY(gnti_json_set_number(facts, "epochs_lost", s->lost_epochs));
    GNT_TRY(gnti_json_set_number(facts, "prediction_error", s->error_sum / s->error_count));
    *out = facts;
    facts = NULL; /* handed over */
done:
    gnti_json_free(&facts);
    return st;
}
