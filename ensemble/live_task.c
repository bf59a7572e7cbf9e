/* SPDX-License-Identifier: Apache-2.0 */
/* A group's trainer: made on devices of the pool, moved to others with the states of its members, held in memory, saved.
 *
 * A trainer is always made anew for its place, beside the old one where there is one; then states of members are all that goes
 * over. They decide what comes next to the bit (train/member.h), so a move changes nothing.
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

/* ---- what it trains on ---------------------------------------------------------------------------------------------- */

/* The dataset as these members see it; made once. */
static gnt_status take_view(gnti_live *run, const gnti_live_task *t, const gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnti_live_view *view = &run->views[t->view];

    *out = run->data;
    if (view->what.seed == 0)
        return GNT_OK;
    pthread_mutex_lock(&run->lock);
    if (view->data == NULL)
        st = gnti_spec_member_dataset(&run->spec->members[t->members[0]], run->data, &view->data);
    pthread_mutex_unlock(&run->lock);
    GNT_TRY(st);
    if (view->data != NULL)
        *out = view->data;
done:
    return st;
}

static gnt_status make_model(gnti_live_task *t, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *first = &t->run->spec->members[t->members[0]];

    if (t->model == NULL)
        GNT_TRY(gnt_model_create_with(data, first->model, &first->net, &t->model));
done:
    return st;
}

/* ---- what its members have of their own --------------------------------------------------------------------------------- */

typedef struct own {
    gnti_member_options *options;
    float **weights;
    int32_t num;
} own;

static void free_own(own *o)
{
    for (int32_t i = 0; o->weights != NULL && i < o->num; i++)
        gnti_free(o->weights[i]);
    gnti_free(o->weights);
    gnti_free(o->options);
}

static gnt_status make_own(gnti_live_task *t, const gnt_dataset *data, const int32_t *members, int32_t num,
                           own *o)
{
    gnt_status st = GNT_OK;

    o->num = num;
    GNT_TRY(gnti_calloc_array(&o->options, num));
    GNT_TRY(gnti_calloc_array(&o->weights, num));
    for (int32_t i = 0; i < num; i++) {
        const gnti_spec_member *m = &t->run->spec->members[members[i]];
        gnti_member_options *options = &o->options[i];

        gnti_member_options_init(t->model, &m->train, 0, options);
        options->name = m->name;
        options->seed = m->seed;
        options->dropout = m->net.dropout;
        options->input_dropout = m->net.input_dropout;
        GNT_TRY(gnti_spec_member_weights(m, data, &o->weights[i]));
        options->weight = o->weights[i];
        GNT_TRY(gnti_method_options(t->run->method, members[i], options));
    }
done:
    return st;
}

/* "pool:0;pool:3" */
static gnt_status device_text(const int32_t *devices, int32_t num, char **out)
{
    gnti_text text = { 0 };

    for (int32_t i = 0; i < num; i++)
        gnti_text_printf(&text, "%s" GNTI_POOL_BACKEND ":%d", i > 0 ? ";" : "", (int)devices[i]);
    return gnti_text_take(&text, out);
}

gnt_status gnti_live_task_make(gnti_live_task *t, const int32_t *members, int32_t num, const int32_t *devices,
                               int32_t num_devices, gnt_trainer **out)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    const gnt_dataset *data = NULL;
    gnt_trainer_config config = run->spec->members[members[0]].train;
    char *text = NULL;
    own o = { 0 };

    GNT_TRY(take_view(run, t, &data));
    GNT_TRY(make_model(t, data));
    GNT_TRY(make_own(t, data, members, num, &o));
    if (run->world == NULL)
        GNT_TRY(device_text(devices, num_devices, &text));
    config.run = config.trace = NULL;
    config.resume = "never";
    config.devices = run->world == NULL ? text : run->config->devices;
    config.partition = run->views[t->view].what.seed == 0 ? run->config->partition : NULL;
    config.epochs = t->epochs;
    config.time_limit = 0.0;
    if (run->config->wait_limit > 0.0)
        config.wait_limit = run->config->wait_limit;
    GNT_TRY(gnti_trainer_create_members(t->model, data, &config, o.options, num, out));
done:
    free_own(&o);
    gnti_free(text);
    return st;
}

/* ---- states ------------------------------------------------------------------------------------------------------------- */

static void free_states(gnti_live_task *t)
{
    for (int32_t i = 0; t->states != NULL && i < t->num_members; i++)
        gnti_member_state_free(&t->states[i]);
    gnti_free(t->states);
    t->states = NULL;
}

int32_t gnti_live_task_live(const gnti_live_task *t, int32_t *members)
{
    int32_t num = 0;

    for (int32_t i = 0; i < t->num_members; i++)
        if (!t->done[i]) {
            if (members != NULL)
                members[num] = t->members[i];
            num++;
        }
    return num;
}

/* Those that still train are all that is left of it. */
static void shrink(gnti_live_task *t)
{
    t->num_members = gnti_live_task_live(t, t->members);
    memset(t->done, 0, (size_t)t->num_members);
}

void gnti_live_task_drop(gnti_live_task *t)
{
    gnt_trainer_free(&t->trainer);
    free_states(t);
    shrink(t);
}

/* The newest checkpoint of a member, or the start that its method wants. */
static gnt_status load_member(gnti_live_task *t, gnt_trainer *tr, int32_t slot, int64_t *epoch)
{
    gnt_status st = GNT_OK;
    const int32_t m = t->members[slot];
    gnti_member_state state = { 0 };
    bool found = false;

    GNT_TRY(gnti_trainer_load_member(tr, slot, t->run->members[m].folder, &state, &found));
    *epoch = found ? state.epoch : 0;
    if (!found)
        GNT_TRY(gnti_method_start(t->run->method, tr, slot, m));
    else if (slot == 0 || *epoch == t->epoch) /* else the group is uneven */
        GNT_TRY(gnti_trainer_put_member(tr, slot, &state));
    if (t->run->crew == NULL || t->run->crew->rank == 0)
        GNT_TRY(gnti_folder_cut_metrics(t->run->members[m].folder, *epoch));
done:
    gnti_member_state_free(&state);
    return st;
}

gnt_status gnti_live_task_begin(gnti_live_task *t, gnt_trainer *tr, bool *uneven)
{
    gnt_status st = GNT_OK;

    *uneven = false;
    for (int32_t i = 0; t->states != NULL && i < t->num_members; i++)
        GNT_TRY(gnti_trainer_put_member(tr, i, &t->states[i]));
    for (int32_t i = 0; t->states == NULL && i < t->num_members; i++) {
        int64_t epoch = 0;

        GNT_TRY(load_member(t, tr, i, &epoch));
        *uneven = *uneven || (i > 0 && epoch != t->epoch);
        t->epoch = i == 0 ? epoch : t->epoch;
        t->run->members[t->members[i]].epoch = epoch;
    }
    free_states(t);
    t->trainer = tr;
done:
    return st;
}

static int32_t slot_of(const gnti_live_task *t, int32_t member)
{
    for (int32_t i = 0; i < t->num_members; i++)
        if (t->members[i] == member)
            return i;
    return -1;
}

gnt_status gnti_live_task_move(gnti_live_task *t, gnt_trainer *tr, const int32_t *members, int32_t num)
{
    gnt_status st = GNT_OK;
    gnti_member_state state = { 0 };

    for (int32_t i = 0; i < num; i++) {
        GNT_TRY(gnti_trainer_take_member(t->trainer, slot_of(t, members[i]), &state));
        GNT_TRY(gnti_trainer_put_member(tr, i, &state));
        gnti_member_state_free(&state);
    }
    for (int32_t i = 0; i < num; i++) {
        const int32_t slot = slot_of(t, members[i]);
        const uint8_t done = t->done[slot];

        /* slots before i are taken: members keep their order */
        t->members[i] = members[i];
        t->done[i] = done;
    }
    t->num_members = num;
    gnt_trainer_free(&t->trainer);
    t->trainer = tr;
done:
    gnti_member_state_free(&state);
    return st;
}

/* ---- files --------------------------------------------------------------------------------------------------------------- */

gnt_status gnti_live_task_save(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    gnti_json *o = NULL, *names = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_int(o, "task", t->id));
    GNT_TRY(gnti_json_set_int(o, "epoch", t->epoch));
    GNT_TRY(gnti_json_set_array(o, "members", &names));
    for (int32_t i = 0; i < t->num_members; i++)
        if (!t->done[i]) {
            GNT_TRY(gnti_trainer_save_member(t->trainer, i, run->members[t->members[i]].folder, false));
            run->members[t->members[i]].epoch = t->epoch;
            GNT_TRY(gnti_json_append_text(names, run->spec->members[t->members[i]].name));
        }
    GNT_TRY(gnti_json_set_number(o, "at", gnti_live_now(run)));
    GNT_TRY(gnti_journal_add(run->journal, "saved", o, false));
done:
    gnti_json_free(&o);
    return st;
}

/* Those that still train are all that is held. */
gnt_status gnti_live_task_hold(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_member_state *states = NULL;
    int32_t num = 0;

    GNT_TRY(gnti_live_task_save(t));
    GNT_TRY(gnti_calloc_array(&states, t->num_members));
    for (int32_t i = 0; i < t->num_members; i++)
        if (!t->done[i])
            GNT_TRY(gnti_trainer_take_member(t->trainer, i, &states[num++]));
    shrink(t);
    t->states = states;
    states = NULL;
    gnt_trainer_free(&t->trainer);
done:
    for (int32_t i = 0; states != NULL && i < t->num_members; i++)
        gnti_member_state_free(&states[i]);
    gnti_free(states);
    return st;
}
