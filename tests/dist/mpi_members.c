/* SPDX-License-Identifier: Apache-2.0 */
/* One process of an MPI job that trains members of one trainer: mpirun -n N mpi_members FOLDER [differ].
 *
 * Members are taken, put into other company, left behind, saved and loaded; only rank 0 holds states and logits. Each must go on
 * to the bit as it does alone over the same processes. differ: the last rank has another rate, which is told at the start.
 * Exits 0, 5 when ranks differ or are lost, 1 for anything else; the text goes to stderr.
 */
#include "tests/support/member_case.h"

#include "train/trainer_state.h"

#include <stdio.h>
#include <string.h>

enum { EPOCHS = 6, CELLS = TRAIN_CASE_NODES * TRAIN_CASE_CLASSES };

static void make(member_case *mc)
{
    train_case_arrays(&mc->c, GNT_LABELS_CLASS, 3);
    mc->c.config.epochs = EPOCHS;
    mc->c.config.chunks = 8;
    mc->c.config.wait_limit = 20.0;
    train_case_dataset(&mc->c, "threads=1;deterministic=bitwise;launch=auto");
    member_case_options(mc, true);
}

static gnt_status run(gnt_trainer *tr, int64_t epochs)
{
    gnt_status st = GNT_OK;

    train_case_run(tr, epochs, 0, NULL);
    GNT_TRY(gnt_trainer_status(tr));
done:
    return st;
}

/* Weights of both are the same on rank 0. */
static gnt_status compare(gnt_trainer *a, int32_t member_a, gnt_trainer *b, int32_t member_b)
{
    gnt_status st = GNT_OK;
    gnti_member_state x = { 0 }, y = { 0 };

    GNT_TRY(gnti_trainer_take_member(a, member_a, &x));
    GNT_TRY(gnti_trainer_take_member(b, member_b, &y));
    GNT_CHECK((x.weights != NULL) == gnti_trainer_is_root(a), GNT_ERR_INTERNAL, "rank 0 alone has states");
    if (x.weights != NULL)
        GNT_CHECK(x.epoch == y.epoch && x.step == y.step &&
                      memcmp(x.weights, y.weights, (size_t)x.num_floats * sizeof(float)) == 0 &&
                      memcmp(x.moment2, y.moment2, (size_t)x.num_floats * sizeof(float)) == 0,
                  GNT_ERR_INTERNAL, "member %d at epoch %lld is not member %d at epoch %lld", (int)member_a,
                  (long long)x.epoch, (int)member_b, (long long)y.epoch);
done:
    gnti_member_state_free(&x);
    gnti_member_state_free(&y);
    return st;
}

static gnt_status compare_logits(gnt_trainer *a, int32_t member_a, gnt_trainer *b, int32_t member_b)
{
    gnt_status st = GNT_OK;
    static float x[CELLS], y[CELLS];
    const bool root = gnti_trainer_is_root(a);

    GNT_TRY(gnti_trainer_member_logits(a, member_a, true, root ? x : NULL));
    GNT_TRY(gnti_trainer_member_logits(b, member_b, true, root ? y : NULL));
    GNT_CHECK(memcmp(x, y, sizeof x) == 0 && (!root || x[CELLS - 1] != 0.0f), GNT_ERR_INTERNAL,
              "logits of member %d and %d differ", (int)member_a, (int)member_b);
done:
    return st;
}

/* Member 2 and 0 of a group of three go on from their files, 2 and 0, and the group without 1. */
static gnt_status change_company(member_case *mc, const char *folder)
{
    gnt_status st = GNT_OK;
    gnt_trainer *group = NULL, *pair = NULL, *lone = NULL;
    gnti_member_options options[2] = { mc->members[2], mc->members[0] };
    static const uint8_t keep[] = { 1, 0, 1 };
    static const int32_t member[] = { 2, 0 };
    char path[GNT_TEST_PATH_BYTES];

    GNT_TRY(gnti_trainer_create_members(mc->c.model, mc->c.data, &mc->c.config, mc->members, 3, &group));
    GNT_TRY(run(group, 3));
    GNT_TRY(gnti_trainer_create_members(mc->c.model, mc->c.data, &mc->c.config, options, 2, &pair));
    for (int i = 0; i < 2; i++) {
        gnti_member_state s = { 0 };
        bool found = true;

        snprintf(path, sizeof path, "%s/m%d", folder, (int)member[i]);
        GNT_TRY(gnti_trainer_save_member(group, member[i], path, true));
        if (gnti_trainer_is_root(pair))
            GNT_TRY(gnti_trainer_load_member(pair, i, path, &s, &found));
        GNT_CHECK(found, GNT_ERR_INTERNAL, "'%s' has no checkpoint", path);
        st = gnti_trainer_put_member(pair, i, &s);
        gnti_member_state_free(&s);
        GNT_TRY(st);
    }
    GNT_TRY(gnti_trainer_keep_members(group, keep));
    GNT_TRY(run(group, 100));
    GNT_TRY(run(pair, 100));
    for (int i = 0; i < 2; i++) {
        GNT_TRY(gnti_trainer_create_members(mc->c.model, mc->c.data, &mc->c.config, &options[i], 1, &lone));
        GNT_TRY(run(lone, 100));
        GNT_TRY(compare(pair, i, lone, 0));
        GNT_TRY(compare(group, 1 - i, lone, 0));
        GNT_TRY(compare_logits(group, 1 - i, lone, 0));
        gnt_trainer_free(&lone);
    }
done:
    gnt_trainer_free(&group);
    gnt_trainer_free(&pair);
    gnt_trainer_free(&lone);
    return st;
}

static gnt_status differ(member_case *mc)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = gnti_context_processes(mc->c.ctx);
    gnt_trainer *tr = NULL;

    mc->members[1].lr = c->rank == c->size - 1 ? 0.25 : 0.5;
    GNT_TRY(gnti_trainer_create_members(mc->c.model, mc->c.data, &mc->c.config, mc->members, 2, &tr));
done:
    gnt_trainer_free(&tr);
    return st;
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    member_case mc;
    int32_t size;

    make(&mc);
    size = gnti_context_processes(mc.c.ctx) != NULL ? gnti_context_processes(mc.c.ctx)->size : 1;
    printf("%d processes\n", (int)size);
    st = argc > 2 ? differ(&mc) : change_company(&mc, argc > 1 ? argv[1] : ".");
    if (st != GNT_OK)
        fprintf(stderr, "mpi_members: %s: %s\n", gnt_status_name(st), gnt_last_error());
    train_case_free(&mc.c);
    return st == GNT_OK ? 0 : st == GNT_ERR_PEER_LOST || st == GNT_ERR_TIMEOUT ? 5 : 1;
}
