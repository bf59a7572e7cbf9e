/* SPDX-License-Identifier: Apache-2.0 */
/* What methods ask of a spec: members whose weights become one, or are handed on, have one shape; a schedule of the method's own stands
 * alone. And trainings that a method adds to those of the spec.
 */
#include "ensemble/method_state.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static bool same_view(const gnti_member_view *a, const gnti_member_view *b)
{
    return a->drop_features == b->drop_features && a->drop_edges == b->drop_edges && a->seed == b->seed;
}

gnt_status gnti_method_check_alike(const gnti_spec *spec, const char *method)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *first = &spec->members[0];

    for (int32_t m = 1; m < spec->num_members; m++) {
        const gnti_spec_member *other = &spec->members[m];

        GNT_CHECK(strcmp(first->model, other->model) == 0 && first->net.act == other->net.act &&
                      first->net.norm == other->net.norm && first->net.residual == other->net.residual,
                  GNT_ERR_USAGE,
                  "%s: method %s needs members of one model, member '%s' has '%s', '%s' has '%s'", spec->path,
                  method, first->name, first->model, other->name, other->model);
        GNT_CHECK(same_view(&first->view, &other->view), GNT_ERR_USAGE,
                  "%s: method %s needs members that see the same data: no drop-features, no drop-edges",
                  spec->path, method);
    }
done:
    return st;
}

gnt_status gnti_method_check_length(const gnti_spec_member *m, const char *method)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(m->train.patience == 0, GNT_ERR_USAGE,
              "member '%s': method %s has a length of its own: no patience (now %lld)", m->name, method,
              (long long)m->train.patience);
done:
    return st;
}

/* ---- trainings that no spec names --------------------------------------------------------------------------------------- */

uint64_t gnti_method_free_seed(const gnti_spec_member *members, int32_t num, uint64_t from)
{
    for (int32_t i = 0; i < num; i++)
        if (members[i].seed == from) {
            from = (from + 1) & (((uint64_t)1 << 53) - 1);
            i = -1;
        }
    return from;
}

void gnti_method_free_copy(gnti_spec_member *m)
{
    gnti_free(m->model);
    gnti_free(m->differs);
    gnti_config_free(&m->train);
}

gnt_status gnti_method_copy_member(const gnti_spec_member *from, const char *name, uint64_t seed,
                                   gnti_spec_member *out)
{
    gnt_status st = GNT_OK;
    gnti_spec_member m = *from;

    m.model = m.differs = NULL;
    memset(&m.train, 0, sizeof m.train);
    snprintf(m.name, sizeof m.name, "%s", name);
    m.seed = seed;
    GNT_TRY(gnti_strdup(&m.model, from->model));
    GNT_TRY(gnti_strdup(&m.differs, ""));
    GNT_TRY(gnti_config_copy(&from->train, &m.train));
    *out = m;
    memset(&m, 0, sizeof m);
done:
    if (st != GNT_OK)
        gnti_method_free_copy(&m);
    return st;
}

gnt_status gnti_method_put_in_front(gnti_spec *spec, const gnti_spec_member *front, int32_t num)
{
    gnt_status st = GNT_OK;
    gnti_spec_member *members = NULL;

    GNT_TRY(gnti_calloc_array(&members, spec->num_members + num));
    memcpy(members, front, (size_t)num * sizeof *members);
    memcpy(members + num, spec->members, (size_t)spec->num_members * sizeof *members);
    gnti_free(spec->members);
    spec->members = members;
    spec->num_members += num;
done:
    return st;
}
