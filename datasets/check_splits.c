/* SPDX-License-Identifier: Apache-2.0 */
/* What check says about splits: sizes, overlap, empty parts, unlabelled or missing classes, equal nodes in train and test.
 *
 * Equal nodes are found by a 64-bit hash of feature row and label: two nodes that agree in both, one in train and one in
 * test, tell the model a test answer. A collision of hashes would only make the note one too high.
 */
#include "datasets/check_page.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const PARTS[] = { "train", "valid", "test" };

static gnt_status check_parts(gnti_check *c, const gnti_split *s, const char *fix)
{
    gnt_status st = GNT_OK;
    int first, second;
    const int64_t twice = gnti_split_overlap(s, &first, &second);

    if (twice >= 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_ERROR, fix,
                               "split '%s': %lld is in %s and in %s, so scores are too good", s->name,
                               (long long)twice, PARTS[first], PARTS[second]));
    if (s->num_nodes[GNTI_TRAIN] == 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_ERROR, fix, "split '%s' has no train nodes", s->name));
    if (s->num_nodes[GNTI_VALID] == 0)
        GNT_TRY(gnti_check_add(
            c, GNTI_FINDING_WARNING, fix,
            "split '%s' has no valid nodes: neither early stopping nor the best epoch can be found",
            s->name));
    if (s->num_nodes[GNTI_TEST] == 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, NULL, "split '%s' has no test nodes", s->name));
done:
    return st;
}

static gnt_status check_split_classes(gnti_check *c, const gnti_split *s, const char *fix)
{
    gnt_status st = GNT_OK;
    const gnti_labels *y = &c->data->y;
    int64_t *train = NULL, *other = NULL, unlabelled = 0, absent = 0;

    GNT_TRY(gnti_calloc_array(&train, y->num_classes));
    GNT_TRY(gnti_calloc_array(&other, y->num_classes));
    for (int part = 0; part < 3; part++) {
        for (int64_t i = 0; i < s->num_nodes[part]; i++) {
            const int32_t k = y->class_of[s->nodes[part][i]];

            if (k < 0)
                unlabelled++;
            else
                (part == GNTI_TRAIN ? train : other)[k]++;
        }
    }
    for (int64_t k = 0; k < y->num_classes; k++)
        absent += train[k] == 0 && other[k] > 0;
    if (unlabelled > 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_WARNING, fix, "split '%s' lists %lld nodes without a label",
                               s->name, (long long)unlabelled));
    if (absent > 0)
        GNT_TRY(gnti_check_add(
            c, GNTI_FINDING_WARNING, fix,
            "split '%s': %lld classes of valid or test never occur in train and cannot be learnt", s->name,
            (long long)absent));
done:
    gnti_free(train);
    gnti_free(other);
    return st;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ p[i]) * 1099511628211u; /* FNV-1a */
    return hash;
}

/* Of the non-zero features and the label, so that storage does not matter; 0: no feature at all. */
static uint64_t node_hash(const gnt_dataset *d, int64_t v)
{
    uint64_t hash = 14695981039346656037u;
    bool any = false;

    for (int64_t c = 0; d->x.dense != NULL && c < d->x.width; c++) {
        const float x = d->x.dense[v * d->x.width + c];

        if (x == 0.0f)
            continue;
        any = true;
        hash = mix(mix(hash, &c, sizeof c), &x, sizeof x);
    }
    for (int64_t a = d->x.sparse != NULL ? d->x.sparse->offsets[v] : 0;
         d->x.sparse != NULL && a < d->x.sparse->offsets[v + 1]; a++) {
        const int64_t c = d->x.sparse->columns[a];
        const float x = d->x.sparse->weights != NULL ? d->x.sparse->weights[a] : 1.0f;

        if (x == 0.0f)
            continue;
        any = true;
        hash = mix(mix(hash, &c, sizeof c), &x, sizeof x);
    }
    return any ? mix(hash, &d->y.class_of[v], sizeof d->y.class_of[v]) : 0;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static gnt_status check_equal_nodes(gnti_check *c, const gnti_split *s)
{
    gnt_status st = GNT_OK;
    uint64_t *train = NULL;
    const int64_t num = s->num_nodes[GNTI_TRAIN];
    int64_t equal = 0;

    if (c->data->x.width == 0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&train, num));
    for (int64_t i = 0; i < num; i++)
        train[i] = node_hash(c->data, s->nodes[GNTI_TRAIN][i]);
    qsort(train, (size_t)num, sizeof *train, compare_hashes);
    for (int64_t i = 0; i < s->num_nodes[GNTI_TEST]; i++) {
        const uint64_t hash = node_hash(c->data, s->nodes[GNTI_TEST][i]);

        equal += hash != 0 && bsearch(&hash, train, (size_t)num, sizeof *train, compare_hashes) != NULL;
    }
    if (equal > 0)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_NOTE, NULL,
                               "split '%s': %lld test nodes equal a train node in features and label",
                               s->name, (long long)equal));
done:
    gnti_free(train);
    return st;
}

static gnt_status check_split(gnti_check *c, const gnti_split *s, gnti_json *facts)
{
    gnt_status st = GNT_OK;
    gnti_json *to;
    const char *path = c->data->path != NULL ? c->data->path : "FILE";
    char fix[1024];

    snprintf(fix, sizeof fix, "gnntrain split %s --name '%s' --replace -o %s", path, s->name, path);
    GNT_TRY(gnti_json_set_object(facts, s->name, &to));
    for (int part = 0; part < 3; part++)
        GNT_TRY(gnti_json_set_int(to, PARTS[part], s->num_nodes[part]));
    GNT_TRY(check_parts(c, s, fix));
    if (c->data->y.kind == GNT_LABELS_CLASS && !gnti_dataset_splits_graphs(c->data)) {
        GNT_TRY(check_split_classes(c, s, fix));
        GNT_TRY(check_equal_nodes(c, s));
    }
done:
    return st;
}

gnt_status gnti_check_splits(gnti_check *c)
{
    gnt_status st = GNT_OK;
    gnti_json *facts;
    const char *path = c->data->path != NULL ? c->data->path : "FILE";
    char fix[1024];

    GNT_TRY(gnti_json_set_object(c->facts, "splits", &facts));
    for (int64_t i = 0; i < c->data->num_splits; i++)
        GNT_TRY(check_split(c, &c->data->splits[i], facts));
    snprintf(fix, sizeof fix, "gnntrain split %s -o %s", path, path);
    if (c->data->num_splits == 0 && c->data->y.kind != GNT_LABELS_NONE)
        GNT_TRY(gnti_check_add(c, GNTI_FINDING_WARNING, fix, "there is no split: training needs one"));
done:
    return st;
}
