/* SPDX-License-Identifier: Apache-2.0 */
/* Halo plans without a message: whom a rank sends to stands in its own rows of the transpose.
 *
 * Rank q reads own row i exactly when i has an arc to a row of q, which is an entry of the transpose's row i. Own rows ascend
 * in global order, and so do q's halo rows of this rank: both lists are the same list.
 */
#include "partition/part_build.h"

#include "base/alloc.h"

/* owner[h]: rank of each halo row. */
static gnt_status owners_of(const gnti_halo_rows_of *halo, int32_t num_ranks, int32_t **out)
{
    gnt_status st = GNT_OK;
    int32_t *owner = NULL;

    GNT_TRY(gnti_alloc_array(&owner, halo->num_halo));
    for (int32_t q = 0; q < num_ranks; q++)
        for (int64_t h = halo->rank_ptr[q]; h < halo->rank_ptr[q + 1]; h++)
            owner[h] = q;
    *out = owner;
done:
    return st;
}

/* Calls for every (row, rank) that the row is sent to: counts into next, or, with rows, writes them there. */
static void visit_sends(const gnti_graph *answers, const int32_t *owner, int32_t num_ranks, int64_t *last,
                        int64_t *next, int32_t *rows)
{
    for (int32_t q = 0; q < num_ranks; q++)
        last[q] = -1;
    for (int64_t r = 0; r < answers->num_rows; r++) {
        for (int64_t a = answers->offsets[r]; a < answers->offsets[r + 1]; a++) {
            const int64_t h = answers->columns[a] - answers->num_rows;

            if (h < 0 || last[owner[h]] == r)
                continue;
            last[owner[h]] = r;
            if (rows != NULL)
                rows[next[owner[h]]] = (int32_t)r;
            next[owner[h]]++;
        }
    }
}

/* Peers with rows in either direction; next[q] counts rows sent to q before, and says where they go after. */
static gnt_status set_peers(gnti_halo_plan *plan, const gnti_halo_rows_of *halo, int32_t num_ranks,
                            int64_t *next)
{
    gnt_status st = GNT_OK;
    int32_t n = 0;
    int64_t sent = 0;

    for (int32_t q = 0; q < num_ranks; q++)
        plan->num_peers += next[q] > 0 || halo->rank_ptr[q + 1] > halo->rank_ptr[q];
    GNT_TRY(gnti_alloc_array(&plan->peer, plan->num_peers));
    GNT_TRY(gnti_alloc_array(&plan->send_ptr, (int64_t)plan->num_peers + 1));
    GNT_TRY(gnti_alloc_array(&plan->recv_ptr, (int64_t)plan->num_peers + 1));
    for (int32_t q = 0; q < num_ranks; q++) {
        const int64_t count = next[q];

        next[q] = sent;
        if (count == 0 && halo->rank_ptr[q + 1] == halo->rank_ptr[q])
            continue;
        plan->peer[n] = q;
        plan->send_ptr[n] = sent;
        plan->recv_ptr[n++] = halo->rank_ptr[q];
        sent += count;
    }
    plan->send_ptr[n] = sent;
    plan->recv_ptr[n] = halo->num_halo;
done:
    return st;
}

static gnt_status set_sends(gnti_halo_plan *plan, const gnti_halo_rows_of *halo, const gnti_graph *answers,
                            const gnti_halo_rows_of *answers_halo, int32_t num_ranks)
{
    gnt_status st = GNT_OK;
    int32_t *owner = NULL;
    int64_t *last = NULL, *next = NULL;

    GNT_TRY(owners_of(answers_halo, num_ranks, &owner));
    GNT_TRY(gnti_alloc_array(&last, num_ranks));
    GNT_TRY(gnti_calloc_array(&next, num_ranks));
    visit_sends(answers, owner, num_ranks, last, next, NULL);
    GNT_TRY(set_peers(plan, halo, num_ranks, next));
    GNT_TRY(gnti_alloc_array(&plan->send_rows, plan->send_ptr[plan->num_peers]));
    visit_sends(answers, owner, num_ranks, last, next, plan->send_rows);
done:
    gnti_free(owner);
    gnti_free(last);
    gnti_free(next);
    return st;
}

static bool is_interior(const gnti_graph *rows, int64_t r)
{
    for (int64_t a = rows->offsets[r]; a < rows->offsets[r + 1]; a++)
        if (rows->columns[a] >= rows->num_rows)
            return false;
    return true;
}

static gnt_status set_lists(gnti_halo_plan *plan, const gnti_graph *rows)
{
    gnt_status st = GNT_OK;
    int64_t i = 0, b = 0;

    for (int64_t r = 0; r < rows->num_rows; r++)
        plan->num_interior += is_interior(rows, r);
    plan->num_boundary = rows->num_rows - plan->num_interior;
    GNT_TRY(gnti_alloc_array(&plan->interior, plan->num_interior));
    GNT_TRY(gnti_alloc_array(&plan->boundary, plan->num_boundary));
    for (int64_t r = 0; r < rows->num_rows; r++) {
        if (is_interior(rows, r))
            plan->interior[i++] = (int32_t)r;
        else
            plan->boundary[b++] = (int32_t)r;
    }
done:
    return st;
}

gnt_status gnti_halo_plan_make(int32_t num_ranks, const gnti_graph *rows, const gnti_halo_rows_of *halo,
                               const gnti_graph *answers, const gnti_halo_rows_of *answers_halo,
                               gnti_halo_plan **out)
{
    gnt_status st = GNT_OK;
    gnti_halo_plan *plan = NULL;

    GNT_TRY(gnti_calloc_array(&plan, 1));
    plan->num_own = rows->num_rows;
    plan->num_halo = halo->num_halo;
    GNT_TRY(set_sends(plan, halo, answers, answers_halo, num_ranks));
    GNT_TRY(set_lists(plan, rows));
    *out = plan;
    plan = NULL;
done:
    gnti_halo_plan_free(&plan);
    return st;
}

void gnti_halo_plan_free(gnti_halo_plan **plan)
{
    if (plan == NULL || *plan == NULL)
        return;
    gnti_free((*plan)->peer);
    gnti_free((*plan)->send_ptr);
    gnti_free((*plan)->send_rows);
    gnti_free((*plan)->recv_ptr);
    gnti_free((*plan)->interior);
    gnti_free((*plan)->boundary);
    gnti_free(*plan);
    *plan = NULL;
}
