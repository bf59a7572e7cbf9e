/* SPDX-License-Identifier: Apache-2.0 */
/* Specs: what they expand to, seeds, searches, and every mistake told with file, line and key. */
#include "tests/support/train_case.h"

#include "base/file.h"
#include "ensemble/combine.h"
#include "ensemble/method.h"
#include "ensemble/place.h"
#include "ensemble/spec_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static train_case c;

static int make_case(void **state)
{
    (void)state;
    train_case_make(&c, 7);
    return 0;
}

static int free_case(void **state)
{
    (void)state;
    train_case_free(&c);
    return 0;
}

static gnt_status parse(const char *text, gnti_spec **out)
{
    return gnti_spec_parse(c.ctx, text, strlen(text), "e.yaml", c.data, out);
}

static void expands_a_grid(void **state)
{
    gnti_spec *s = NULL;

    (void)state;
    gnt_assert_status(
        parse("model: gcn:8, gcn\nvary:\n  - { key: model, values: ['gcn:4, gcn', 'sage:4, sage'] }\n", &s),
        GNT_ERR_FORMAT);
    gnt_assert_error_has("line 3, vary[0]: 'model' varies here and is fixed in line 1");
    gnt_assert_ok(
        parse("seed: 3\ncount: 2\ntrain: { lr: 0.02, epochs: 5, weight-decay: ['1:5e-4', 2:0.1] }\nvary:\n"
              "  - { key: model, values: ['gcn:4, gcn', 'sage:4, sage'] }\n"
              "  - { key: dropout, values: [0, 0.3, 0.5] }\n",
              &s));
    assert_int_equal(s->num_members, 12);
    assert_string_equal(s->members[0].name, "m00");
    assert_string_equal(s->members[11].name, "m11");
    assert_string_equal(s->members[2].differs,
                        "model=gcn:4, gcn dropout=0.3"); /* the last key is the fastest */
    assert_string_equal(s->members[6].model, "sage:4, sage");
    for (int32_t m = 0; m < 12; m++) {
        const gnti_spec_member *a = &s->members[m];

        assert_int_equal(a->variation, m / 2);
        assert_true(a->train.lr == 0.02 && a->train.epochs == 5 && a->train.seeds == 1);
        assert_string_equal(a->train.weight_decay, "1:5e-4,2:0.1");
        assert_true(a->net.dropout == (m / 2 % 3 == 0 ? 0.0 : m / 2 % 3 == 1 ? 0.3 : 0.5));
        assert_true(a->seed < (uint64_t)1 << 53 && a->seed == (uint64_t)a->train.seed && a->view.seed == 0);
        for (int32_t k = 0; k < m; k++)
            assert_true(s->members[k].seed != a->seed);
    }
    assert_int_equal(s->method, GNTI_METHOD_INDEPENDENT);
    assert_int_equal(s->combine, GNTI_COMBINE_MEAN);
    assert_int_equal(s->policy, GNTI_POLICY_MAKESPAN);
    assert_true(s->temperature && strlen(s->sha256) == 64);
    gnti_spec_free(&s);
    assert_null(s);
}

/* A member's seed depends on the spec's seed and its own number alone. */
static void seeds_stay(void **state)
{
    gnti_spec *few = NULL, *many = NULL, *other = NULL;

    (void)state;
    gnt_assert_ok(parse("model: gcn:4, gcn\nseed: 11\ncount: 3\n", &few));
    gnt_assert_ok(parse("model: gcn:4, gcn\nseed: 11\ncount: 200\nmethod: independent\n", &many));
    gnt_assert_ok(parse("model: gcn:4, gcn\nseed: 12\ncount: 3\n", &other));
    assert_string_equal(many->members[199].name, "m199");
    assert_string_equal(many->members[0].name, "m000");
    for (int32_t m = 0; m < 3; m++) {
        assert_true(few->members[m].seed == many->members[m].seed);
        assert_true(few->members[m].seed != other->members[m].seed);
    }
    gnti_spec_free(&few);
    gnti_spec_free(&many);
    gnti_spec_free(&other);
}

static void searches_at_random(void **state)
{
    static const char text[] = "model: gcn:4, gcn\nsearch: random\nsamples: 300\nseed: 5\nvary:\n"
                               "  - { key: lr, low: 0.001, high: 0.1, scale: log }\n"
                               "  - { key: dropout, low: 0, high: 0.8 }\n"
                               "  - { key: epochs, low: 3, high: 6 }\n"
                               "  - { key: act, values: [relu, elu] }\n";
    gnti_spec *s = NULL, *again = NULL;
    int below = 0, epochs[7] = { 0 }, acts[6] = { 0 };
    double sum = 0.0;

    (void)state;
    gnt_assert_ok(parse(text, &s));
    gnt_assert_ok(parse(text, &again));
    assert_int_equal(s->num_members, 300);
    for (int32_t m = 0; m < 300; m++) {
        const gnti_spec_member *a = &s->members[m];

        assert_true(a->train.lr >= 0.001 && a->train.lr <= 0.1);
        assert_true(a->net.dropout >= 0.0 && a->net.dropout <= 0.8);
        assert_true(a->train.epochs >= 3 && a->train.epochs <= 6);
        below += a->train.lr < 0.01;
        sum += a->net.dropout;
        epochs[a->train.epochs]++;
        acts[a->net.act]++;
        assert_string_equal(a->differs, again->members[m].differs);
        assert_true(a->train.lr == again->members[m].train.lr);
    }
    /* binomial: 5 standard deviations of 300 draws */
    assert_in_range(below, 150 - 43, 150 + 43);
    assert_true(fabs(sum / 300.0 - 0.4) < 5.0 * 0.8 / sqrt(12.0 * 300.0));
    for (int e = 3; e <= 6; e++)
        assert_in_range(epochs[e], 75 - 38, 75 + 38);
    assert_in_range(acts[1], 150 - 43, 150 + 43);
    assert_int_equal(acts[1] + acts[2], 300);
    gnti_spec_free(&s);
    gnti_spec_free(&again);
}

static void folds_and_views(void **state)
{
    gnti_spec *s = NULL;

    (void)state;
    gnt_assert_ok(parse("model: gcn:4, gcn\nfolds: 4\ndrop-edges: 0.2\nforeground: [m01, m03]\n", &s));
    assert_int_equal(s->num_members, 4);
    for (int32_t m = 0; m < 4; m++) {
        assert_int_equal(s->members[m].fold, m);
        assert_int_equal(s->members[m].num_folds, 4);
        assert_true(s->members[m].fold_seed == s->members[0].fold_seed);
        assert_true(s->members[m].view.drop_edges == 0.2 && s->members[m].view.seed == s->members[m].seed);
        assert_true(s->members[m].foreground == (m % 2 == 1));
    }
    assert_string_equal(s->members[2].differs, "fold=2");
    gnti_spec_free(&s);
}

static void mistakes(void **state)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        { "", "'e.yaml' line 1: there is no 'model'" },
        { "model: gcn:4, gcn\ncuont: 3\n", "line 2, cuont: unknown key 'cuont', did you mean 'count'?" },
        { "model: gcn:4, gcn\ndropout: 0.5\n",
          "line 2, dropout: 'dropout' is an option of members: it stands under 'train:'" },
        { "model: gcn:4, gcn\ntrain:\n  dropuot: 0.5\n",
          "line 3, train.dropuot: unknown key 'dropuot', did you mean 'dropout'?" },
        { "model: gcn:4, gcn\ntrain: { seed: 3 }\n",
          "line 2, train.seed: 'seed' is no option of a member: seeds are derived" },
        { "model: gcn:4, gcn\ntrain: { checkpoint_every: 3 }\n",
          "it belongs to the command: --checkpoint-every" },
        { "model: gcn:4, gcn\nvary:\n- {key: run, values: [a]}\n",
          "line 3, vary[0].key: 'run' is no option of a member" },
        { "model: gcn:4, gcn\ncount: 0\n",
          "line 2, count: option 'count': '0' is not a whole number from 1 to 4096" },
        { "model: gcn:4, gcn\ncount: 1e9\n", "line 2, count: option 'count': '1e9' is not a whole number" },
        { "model: gcn:4, gcn\ncount: 1000000000\n", "from 1 to 4096" },
        { "model: gcn:4, gcn\ncount: [3]\n", "line 2, count: expected a plain value, found a list" },
        { "model: gcn:4, gcn\ncount: 2\ncount: 3\n", "line 3, count: is set already in line 2" },
        { "model: gcn:4, gcn\nmethod: magic\n",
          "line 2, method: option 'method': 'magic' is not one of independent|" },
        { "model: gcn:4, gcn\nsnapshots: 4\n",
          "line 2, snapshots: has no effect here: it belongs to method: snapshot" },
        { "model: gcn:4, gcn\nselect-rounds: 4\n", "belongs to combine: greedy" },
        { "model: gcn:4, gcn\nsamples: 4\n",
          "line 2, samples: has no effect here: it belongs to search: random" },
        { "model: gcn:4, gcn\nsearch: random\n", "line 2, search: has no effect here: it belongs to vary" },
        { "model: gcn:4, gcn\npolicy: energy\n",
          "line 2, policy: policy energy needs 'energy-budget', in watts" },
        { "model: gcn:4, gcn\nround-seconds: 5\n", "belongs to policy: max-min or least-service" },
        { "model: gcn:4, gcn\nfolds: 3\nbagging: 0.5\n",
          "line 2, folds: folds and bagging exclude each other" },
        { "model: gcn:4, gcn\nfolds: 3\ncount: 4\n", "line 3, count: count 4 is no multiple of folds 3" },
        { "model: gcn:4, gcn\nfolds: 900\n", "line 2, folds: 900 folds of 24 training nodes" },
        { "model: gcn:4, gcn\nbagging: 0.01\n",
          "line 2, bagging: a share of 0.01 of 24 training nodes is none" },
        { "model: gcn:4, gcn\nforeground: m7\n",
          "line 2, foreground: there is no member 'm7': they are m00 to m00" },
        { "model: gcn:4, gcn\nvary: 3\n", "line 2, vary: expected a list, found a plain value" },
        { "model: gcn:4, gcn\nvary: []\n", "0 entries" },
        { "model: gcn:4, gcn\nvary: [3]\n", "line 2, vary[0]: expected a map" },
        { "model: gcn:4, gcn\nvary: [{values: [3]}]\n", "line 2, vary[0]: an entry needs a 'key'" },
        { "model: gcn:4, gcn\nvary:\n- {key: lr}\n",
          "line 3, vary[0]: 'lr' needs 'values', or 'low' and 'high'" },
        { "model: gcn:4, gcn\nvary:\n- {key: lr, low: 1, high: 2}\n",
          "line 3, vary[0].low: a range needs 'search: random'" },
        { "model: gcn:4, gcn\nsearch: random\nsamples: 2\nvary:\n- {key: lr, low: 2, high: 1}\n",
          "low 2 must be below high 1" },
        { "model: gcn:4, gcn\nsearch: random\nsamples: 2\nvary:\n- {key: lr, low: 0, high: 1, scale: log}\n",
          "line 5, vary[0].low: scale log needs a low above 0, not 0" },
        { "model: gcn:4, gcn\nsearch: random\nsamples: 2\nvary:\n- {key: dropout, low: 0, high: 1}\n",
          "line 5, vary[0].high: option 'dropout': '1' is not a number from 0 to 0.999" },
        { "model: gcn:4, gcn\nsearch: random\nsamples: 2\nvary:\n- {key: act, low: 0, high: 1}\n",
          "'act' is no number" },
        { "model: gcn:4, gcn\nsearch: random\nsamples: 2\nvary:\n- {key: epochs, low: 1.5, high: 3}\n",
          "vary[0].low: option 'epochs': '1.5' is not a whole number" },
        { "model: gcn:4, gcn\nvary:\n- {key: lr, values: [1], low: 2}\n", "exclude each other" },
        { "model: gcn:4, gcn\nvary:\n- {key: lr, values: [1, 0.5, 1]}\n",
          "line 3, vary[0].values[2]: '1' stands in the list twice" },
        { "model: gcn:4, gcn\nvary:\n- {key: lr, values: [1, x]}\n",
          "line 3, vary[0].values[1]: option 'lr': 'x' is not a number" },
        { "model: gcn:4, gcn\nvary:\n- {key: lr, values: [1]}\n- {key: lr, values: [2]}\n",
          "line 4, vary[1]: 'lr' varies already in line 3" },
        { "model: gcn:4, gcn\ntrain:\n  lr: 0.1\nvary:\n- {key: lr, values: [1]}\n",
          "line 5, vary[0]: 'lr' varies here and is fixed in line 3" },
        { "model: gcn:4, gcn\nvary:\n- {key: lrr, values: [1]}\n",
          "line 3, vary[0].key: unknown option 'lrr' of a member, did you mean 'lr'?" },
        { "model: gcn:4, gcm\n", "line 1, model: member m00: " },
        { "model: gcn:4, gcn\ntrain: { momentum: 0.5 }\n",
          "line 2, train: member m00: momentum has no effect here: it belongs to optimizer sgd" },
        { "model: gcn:4, gcn\ntrain: { split: nope }\n", "line 2, train: member m00: " },
        { "model: gcn:4, gcn\ntrain: { loss: bce }\n", "loss 'bce' does not fit the labels" },
        { "model: gcn:4, gcn\ntrain: { weight-decay: '5:1' }\n", "layer '5' of a model with layers 1 to 2" },
        { "model: gcn:4, gcn\nvary:\n- {key: weight-decay, values: [1, '3:1']}\n",
          "line 2, vary: member m01 (weight-decay=3:1): " },
        { "model: gcn:4, gcn\n: x\n", "line 2" },
        { "- model\n", "'e.yaml' line 1: expected a map of keys and values, found a list" },
    };
    gnti_spec *s = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gnt_assert_status(parse(cases[i].text, &s), GNT_ERR_FORMAT);
        gnt_assert_error_has(cases[i].word);
        assert_null(s);
    }
    gnt_assert_status(gnti_spec_parse(c.ctx, "a\0b", 3, "e.yaml", c.data, &s), GNT_ERR_FORMAT);
    gnt_assert_status(gnti_spec_open(c.ctx, "/nowhere/e.yaml", c.data, &s), GNT_ERR_IO);
}

/* A grid of 10^6 points is refused before anything is made of it. */
static void huge_grids(void **state)
{
    gnti_spec *s = NULL;
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text, "model: gcn:4, gcn\nvary:\n");
    static const char *const keys[] = { "lr", "eps", "clip", "beta1", "beta2", "dropout" };

    (void)state;
    for (int k = 0; k < 6; k++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "- {key: %s, values: [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1]}\n", keys[k]);
    gnt_assert_status(parse(text, &s), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 6, vary[3]: with 'beta1' there are 10000 variations of 1 members or more",
                         "limit is 4096");
}

/* docs/ensembles.md has a line "| `key` | default |" for each key there is, and for no other. */
static void documented(void **state)
{
    static const char *const maps[] = { "train", "vary" };
    gnti_member_rows rows = { .num = 0 };
    const gnt_option *tables[] = { gnti_spec_rows, gnti_draft_rows, rows.row };
    char *text = NULL, *keys = NULL, *end = NULL, line[96], value[64];
    size_t length = 0;
    int expected = 2, found = 0;
    gnti_spec defaults;

    (void)state;
    gnt_assert_ok(gnti_file_read_all(GNT_SOURCE_DIR "/docs/ensembles.md", 1 << 20, &text, &length));
    keys = strstr(text, "### Keys");
    assert_non_null(keys);
    end = strstr(keys + 4, "###");
    assert_non_null(end);
    *end = '\0';
    gnt_assert_ok(gnti_member_rows_make(&rows));
    gnt_assert_ok(gnti_options_defaults(gnti_spec_rows, &defaults));
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "\n| `%s` |", maps[i]);
        assert_non_null(strstr(keys, line));
    }
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < (t == 2 ? rows.num_own : gnti_options_count(tables[t])); i++) {
            if (tables[t][i].kind == GNT_OPTION_KIND_END)
                continue;
            expected++;
            value[0] = '\0';
            if (t == 0)
                gnt_assert_ok(gnti_option_get(&tables[t][i], &defaults, value, sizeof value));
            snprintf(line, sizeof line, "\n| `%s` | %s%s", tables[t][i].name, value, t == 0 ? " |" : "");
            if (strstr(keys, line) == NULL)
                fail_msg("docs/ensembles.md lacks the line: %s", line + 1);
        }
    for (const char *p = keys; (p = strstr(p, "\n| `")) != NULL; p++)
        found++;
    assert_int_equal(found, expected);
    gnti_free(text);
}

static void brutal(void **state)
{
    gnti_spec *s = NULL;

    (void)state;
    GNT_BRUTAL_OUT(
        parse("model: gcn:4, gcn\ncount: 2\nvary:\n- {key: lr, values: [0.1, 0.2]}\nforeground: m01\n", &s),
        s);
    gnti_spec_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands_a_grid),  cmocka_unit_test(seeds_stay), cmocka_unit_test(searches_at_random),
        cmocka_unit_test(folds_and_views), cmocka_unit_test(mistakes),   cmocka_unit_test(huge_grids),
        cmocka_unit_test(documented),      cmocka_unit_test(brutal),
    };

    return cmocka_run_group_tests(tests, make_case, free_case);
}
