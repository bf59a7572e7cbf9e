/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of combinations: everything is drawn by (seed, node, column), so that a test can say which numbers it saw. */
#include "tests/support/votes_case.h"

#include "base/philox.h"

#include <stdio.h>
#include <string.h>

static float draw(uint64_t seed, int64_t node, uint32_t column)
{
    return gnti_uniform(gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 9, 0, node, column));
}

static void make_labels(gnt_label_kind kind, int64_t n, int64_t width, uint64_t seed, int64_t *y_class,
                        float *y_row)
{
    for (int64_t i = 0; i < n; i++) {
        y_class[i] = (int64_t)(draw(seed, i, 0) * (float)width);
        for (int64_t c = 0; c < width; c++) {
            const float value = draw(seed, i, 1 + (uint32_t)c);

            y_row[i * width + c] = kind == GNT_LABELS_REGRESSION ? 4.0f * value : value < 0.4f ? 1.0f : 0.0f;
        }
    }
}

static void make_dataset(votes_case *c, gnt_label_kind kind, int64_t n, int64_t width, int64_t num_valid,
                         const int64_t *y_class, const float *y_row)
{
    gnt_dataset_arrays arrays;
    int64_t *indptr = NULL, *nodes = NULL;
    float *x = NULL;

    gnt_assert_ok(gnti_calloc_array(&indptr, n + 1));
    gnt_assert_ok(gnti_calloc_array(&x, n));
    gnt_assert_ok(gnti_alloc_array(&nodes, n));
    for (int64_t i = 0; i < n; i++)
        nodes[i] = i;
    gnt_dataset_arrays_init(&arrays);
    arrays.num_nodes = n;
    arrays.num_features = 1;
    arrays.num_classes = width;
    arrays.indptr = indptr;
    arrays.indices = (const int32_t[]){ 0 };
    arrays.x = x;
    arrays.label_kind = kind;
    arrays.y_class = kind == GNT_LABELS_CLASS ? y_class : NULL;
    arrays.y_row = kind == GNT_LABELS_CLASS ? NULL : y_row;
    arrays.train = nodes;
    arrays.num_train = 2;
    arrays.valid = nodes + 2;
    arrays.num_valid = num_valid;
    arrays.test = nodes + 2 + num_valid;
    arrays.num_test = n - 2 - num_valid;
    gnt_dataset *borrowed = NULL;

    gnt_assert_ok(gnt_dataset_from_arrays(c->ctx, &arrays, &borrowed));
    gnt_assert_ok(gnti_dataset_copy(borrowed, &c->data));
    gnt_dataset_free(&borrowed);
    gnti_free(indptr);
    gnti_free(x);
    gnti_free(nodes);
}

static void make_member(votes_case *c, int32_t m, double skill, uint64_t seed)
{
    const int64_t n = c->data->num_nodes, width = c->data->y.num_classes;
    const gnti_labels *y = &c->data->y;
    float *values = NULL;
    char name[16];

    gnt_assert_ok(gnti_alloc_array(&values, n * width));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < width; k++) {
            const double noise = 2.0 * (double)draw(seed + 1, i, (uint32_t)(m * width + k)) - 1.0;
            const double truth = y->kind == GNT_LABELS_CLASS ? (y->class_of[i] == k ? skill : 0.0)
                                 : y->kind == GNT_LABELS_MULTI
                                     ? skill * ((double)y->rows[i * width + k] - 0.5)
                                     : (double)y->rows[i * width + k] / skill;

            values[i * width + k] =
                (float)(y->kind == GNT_LABELS_REGRESSION ? truth * skill + noise / skill : noise + truth);
        }
    snprintf(name, sizeof name, "m%02d", m);
    c->votes[m] = (gnti_votes){ .values = values, .are_logits = true, .num_rows = n, .num_classes = width };
    gnt_assert_ok(gnti_strdup(&c->votes[m].name, name));
}

void votes_case_make(votes_case *c, gnt_label_kind kind, int64_t num_nodes, int64_t num_classes,
                     int64_t num_valid, const double *skill, int32_t num, uint64_t seed)
{
    int64_t *y_class = NULL;
    float *y_row = NULL;

    *c = (votes_case){
        .num = num,
        .config = { .how = GNTI_COMBINE_MEAN, .rounds = 20, .start = 1, .temperature = true, .seed = 1 }
    };
    gnt_assert_ok(gnti_alloc_array(&y_class, num_nodes));
    gnt_assert_ok(gnti_alloc_array(&y_row, num_nodes * num_classes));
    make_labels(kind, num_nodes, num_classes, seed, y_class, y_row);
    gnt_assert_ok(gnt_context_create(NULL, &c->ctx));
    make_dataset(c, kind, num_nodes, num_classes, num_valid, y_class, y_row);
    gnt_assert_ok(gnti_calloc_array(&c->votes, num));
    for (int32_t m = 0; m < num; m++)
        make_member(c, m, skill[m], seed);
    gnti_free(y_class);
    gnti_free(y_row);
}

void votes_case_free(votes_case *c)
{
    for (int32_t m = 0; m < c->num; m++) {
        gnti_free(votes_case_values(c, m));
        gnti_free(c->votes[m].name);
    }
    gnti_free(c->votes);
    gnt_dataset_free(&c->data);
    gnt_context_free(&c->ctx);
    *c = (votes_case){ 0 };
}

float *votes_case_values(const votes_case *c, int32_t member)
{
    float *values = NULL;

    memcpy(&values, &c->votes[member].values, sizeof values); /* made by this file: not const */
    return values;
}

void votes_case_to_probabilities(votes_case *c, int32_t member)
{
    const int64_t n = c->data->num_nodes, width = c->data->y.num_classes;
    float *values = votes_case_values(c, member);
    double *row = NULL;

    gnt_assert_ok(gnti_alloc_array(&row, width));
    for (int64_t i = 0; i < n; i++) {
        gnti_probabilities(values + i * width, width, c->data->y.kind, row);
        for (int64_t k = 0; k < width; k++)
            values[i * width + k] = (float)row[k];
    }
    c->votes[member].are_logits = false;
    gnti_free(row);
}
