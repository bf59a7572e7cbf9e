/* SPDX-License-Identifier: Apache-2.0 */
/* What methods ask of a spec: members whose weights become one, or are handed on, have one shape; a schedule of the method's own stands
 * alone.
 */
#include "ensemble/method_state.h"

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
