/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a spec's top level, and which of them have an effect only beside others. Keys of members (under `train`, in `vary`) are
 * the rows of the model's and the trainer's own tables; what belongs to the run instead of a member is refused with the reason.
 */
#include "ensemble/spec_state.h"

#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "ensemble/combine.h"
#include "ensemble/method.h"
#include "ensemble/place.h"

#include <string.h>

#define BIG 9007199254740992.0 /* 2^53: whole numbers that a double holds */

const gnt_option gnti_spec_rows[] = {
    GNT_OPTION_GROUP("Members"),
    GNT_OPTION_INT("seed", gnti_spec, seed, 0, 0, BIG,
                   "where the seeds of all members, folds, bags and draws come from"),
    GNT_OPTION_GROUP("Making and combining them"),
    GNT_OPTION_WORD("method", gnti_spec, method, GNTI_METHOD_INDEPENDENT, GNTI_METHOD_WORDS,
                    "how members come to be"),
    GNT_OPTION_INT("snapshots", gnti_spec, snapshots, 5, 2, 100, "cycles of the rate, of method snapshot"),
    GNT_OPTION_INT("swa-from", gnti_spec, swa_from, 0, 0, BIG,
                   "epoch after which weights enter the mean, of method swa; 0: three quarters of all"),
    GNT_OPTION_INT("swa-cycle", gnti_spec, swa_cycle, 5, 1, BIG,
                   "epochs between weights that enter the mean, of method swa"),
    GNT_OPTION_DOUBLE("swap-target", gnti_spec, swap_target, 1.0, 0.0, 1.0,
                      "training metric at which the first phase ends, of method swap"),
    GNT_OPTION_DOUBLE("swap-share", gnti_spec, swap_share, 0.1, 0.001, 1.0,
                      "share of epochs that each worker trains, of method swap"),
    GNT_OPTION_DOUBLE(
        "edde-share", gnti_spec, edde_share, 0.0, 0.0, 1.0,
        "share of layers, from the first, that a member takes from the one before, of method edde"),
    GNT_OPTION_INT("edde-folds", gnti_spec, edde_folds, 0, 0, 20,
                   "folds that find this share, from 3 on, of method edde; 0: it is edde-share"),
    GNT_OPTION_DOUBLE("edde-weight", gnti_spec, edde_weight, 0.1, 0.0, 10.0,
                      "weight of being unlike earlier members in the loss, of method edde"),
    GNT_OPTION_DOUBLE("edde-epochs", gnti_spec, edde_epochs, 0.5, 0.01, 1.0,
                      "share of epochs of members but the first, of method edde"),
    GNT_OPTION_DOUBLE("edde-rate", gnti_spec, edde_rate, 3.0, 0.01, 100.0,
                      "factor of the rate of members but the first, of method edde"),
    GNT_OPTION_DOUBLE(
        "edde-boost", gnti_spec, edde_boost, 0.25, 0.0, 1.0,
        "how much rows that a member gets wrong count for the next, of method edde; 1: as in the paper"),
    GNT_OPTION_WORD("soup", gnti_spec, soup, 0, "uniform|greedy",
                    "whose weights are averaged, of method soup"),
    GNT_OPTION_WORD("combine", gnti_spec, combine, GNTI_COMBINE_MEAN, GNTI_COMBINE_WORDS,
                    "how predictions become one"),
    GNT_OPTION_INT("select-rounds", gnti_spec, select_rounds, 50, 1, 10000, "of combine greedy"),
    GNT_OPTION_INT("select-start", gnti_spec, select_start, 4, 1, 10000,
                   "best members that combine greedy starts from"),
    GNT_OPTION_BOOL("temperature", gnti_spec, temperature, true,
                    "fit one on the validation rows after combining"),
    GNT_OPTION_GROUP("Running them"),
    GNT_OPTION_WORD("policy", gnti_spec, policy, GNTI_POLICY_MAKESPAN, GNTI_POLICY_WORDS,
                    "what is placed where"),
    GNT_OPTION_DOUBLE("energy-budget", gnti_spec, energy_budget, 0.0, 0.0, 1e9,
                      "watts of all devices together, of policy energy"),
    GNT_OPTION_DOUBLE("round-seconds", gnti_spec, round_seconds, 360.0, 1e-6, 1e9,
                      "length of a round, of policies max-min and least-service"),
    GNT_OPTION_DOUBLE("resize-gain", gnti_spec, resize_gain, 0.05, 1e-6, 1.0,
                      "a group that runs moves only if that saves this share of what is left"),
    GNT_OPTION_DOUBLE("device-wait", gnti_spec, device_wait, 60.0, 0.0, 1e9,
                      "seconds that a group which fits no device that is left waits for one"),
    GNT_OPTION_INT("retries", gnti_spec, retries, 2, 0, 100, "of a member that fails, from its last epoch"),
    GNT_OPTION_END,
};

const gnt_option gnti_draft_rows[] = {
    GNT_OPTION_INT("count", gnti_spec_draft, count, 0, 1, GNTI_SPEC_MAX_MEMBERS,
                   "members of each variation; 1, or as many as folds"),
    GNT_OPTION_WORD("search", gnti_spec_draft, search, GNTI_SEARCH_GRID, "grid|random",
                    "all combinations of what varies, or `samples` of them drawn"),
    GNT_OPTION_INT("samples", gnti_spec_draft, samples, 0, 1, GNTI_SPEC_MAX_MEMBERS,
                   "variations that search random draws"),
    GNT_OPTION_INT("folds", gnti_spec_draft, folds, 0, 2, 1000,
                   "the training nodes are cut in so many; member i does without fold i"),
    GNT_OPTION_LIST("foreground", gnti_spec_draft, foreground, NULL,
                    "members (m00, m03) that share a device only where they are slowed at most 1.2x"),
    GNT_OPTION_END,
};

static const gnt_option own_rows[] = {
    GNT_OPTION_TEXT("model", gnti_member_block, model, NULL, "layers, as of gnntrain train --model"),
    GNT_OPTION_DOUBLE(
        "bagging", gnti_member_block, bagging, 0.0, 0.0, 10.0,
        "each member draws this share of the training nodes, with replacement; 0: takes all once"),
    GNT_OPTION_DOUBLE("drop-features", gnti_member_block, drop_features, 0.0, 0.0, 0.99,
                      "share of the columns that a member never sees"),
    GNT_OPTION_DOUBLE("drop-edges", gnti_member_block, drop_edges, 0.0, 0.0, 0.99,
                      "share of the edges that a member never sees"),
    GNT_OPTION_END,
};

/* Options of gnntrain train that no member has, and what to write instead. */
static const char *const not_of_members[][2] = {
    { "seed", "seeds are derived from 'seed' at the top level" },
    { "seeds", "'count' at the top level says how many members there are" },
    { "run", "it belongs to the command: --run" },
    { "devices", "it belongs to the command: --devices" },
    { "partition", "it belongs to the command: --partition" },
    { "checkpoint-every", "it belongs to the command: --checkpoint-every" },
    { "time-limit", "it belongs to the command: --time-limit" },
    { "wait-limit", "it belongs to the command: --wait-limit" },
    { "resume", "the same command goes on with what its run folder has" },
    { "deterministic", "it belongs to the command: --deterministic" },
    { "trace", "a trace is that of one run: gnntrain train --trace" },
};

static const char *why_not_of_members(const char *name)
{
    for (size_t i = 0; i < sizeof not_of_members / sizeof not_of_members[0]; i++)
        if (strcmp(not_of_members[i][0], name) == 0)
            return not_of_members[i][1];
    return NULL;
}

gnt_status gnti_spec_check_train_key(const gnti_yaml_node *entry, const char *key)
{
    char name[64];
    size_t i = 0;

    for (; key[i] != '\0' && i + 1 < sizeof name; i++)
        name[i] = (char)(key[i] == '_' ? '-' : key[i]);
    name[i] = '\0';
    if (why_not_of_members(name) == NULL)
        return GNT_OK;
    return gnti_yaml_fail(entry, GNT_ERR_FORMAT, "'%s' is no option of a member: %s", key,
                          why_not_of_members(name));
}

static gnt_status add_rows(gnti_member_rows *r, const gnt_option *table, size_t offset)
{
    gnt_status st = GNT_OK;

    for (int i = 0; i < gnti_options_count(table); i++) {
        if (table[i].kind == GNT_OPTION_KIND_END || why_not_of_members(table[i].name) != NULL)
            continue;
        GNT_CHECK(r->num < GNTI_SPEC_MAX_ROWS, GNT_ERR_INTERNAL, "more than %d options of a member",
                  GNTI_SPEC_MAX_ROWS);
        r->row[r->num] = table[i];
        r->row[r->num++].offset += offset;
    }
    r->row[r->num] = (gnt_option)GNT_OPTION_END;
done:
    return st;
}

gnt_status gnti_member_rows_make(gnti_member_rows *out)
{
    gnt_status st = GNT_OK;

    out->num = 0;
    GNT_TRY(add_rows(out, own_rows, 0));
    out->num_own = out->num;
    GNT_TRY(add_rows(out, gntx_model_option_table(), offsetof(gnti_member_block, net)));
    GNT_TRY(add_rows(out, gnti_trainer_table, offsetof(gnti_member_block, train)));
done:
    return st;
}

static bool is_text(const gnt_option *o)
{
    return o->kind == GNT_OPTION_KIND_TEXT || o->kind == GNT_OPTION_KIND_LIST;
}

gnt_status gnti_member_block_init(const gnti_member_rows *rows, gnti_member_block *out)
{
    memset(out, 0, sizeof *out);
    gnt_model_config_init(&out->net);
    gnt_trainer_config_init(&out->train);
    for (int i = 0; i < gnti_options_count(gnti_trainer_table);
         i++) /* the table's own texts are nobody's to free */
        if (is_text(&gnti_trainer_table[i]))
            *(char **)(void *)((char *)&out->train + gnti_trainer_table[i].offset) = NULL;
    return gnti_options_defaults(rows->row, out);
}

gnt_status gnti_member_block_copy(const gnti_member_rows *rows, const gnti_member_block *from,
                                  gnti_member_block *out)
{
    gnt_status st = GNT_OK;

    *out = *from;
    for (const gnt_option *o = rows->row; o->kind != GNT_OPTION_KIND_END; o++)
        if (is_text(o))
            *(char **)(void *)((char *)out + o->offset) = NULL;
    for (const gnt_option *o = rows->row; o->kind != GNT_OPTION_KIND_END; o++) {
        const char *text = is_text(o) ? *(char *const *)(const void *)((const char *)from + o->offset) : NULL;

        if (text != NULL)
            GNT_TRY(gnti_strdup((char **)(void *)((char *)out + o->offset), text));
    }
done:
    if (st != GNT_OK)
        gnti_member_block_free(rows, out);
    return st;
}

void gnti_member_block_free(const gnti_member_rows *rows, gnti_member_block *block)
{
    if (rows->num > 0)
        gnti_options_free_texts(rows->row, block);
}

/* `key` has an effect only where `word_key` has one of `words` (bits), or, words 0, where `word_key` is there at all. */
typedef struct belongs {
    const char *key, *word_key;
    uint32_t words;
    const char *needs;
} belongs;

static const belongs belongs_to[] = {
    { "search", "vary", 0, "vary" },
    { "samples", "search", 1u << GNTI_SEARCH_RANDOM, "search: random" },
    { "snapshots", "method", 1u << GNTI_METHOD_SNAPSHOT, "method: snapshot" },
    { "swa-from", "method", 1u << GNTI_METHOD_SWA, "method: swa" },
    { "edde-share", "method", 1u << GNTI_METHOD_EDDE, "method: edde" },
    { "edde-folds", "method", 1u << GNTI_METHOD_EDDE, "method: edde" },
    { "edde-rate", "method", 1u << GNTI_METHOD_EDDE, "method: edde" },
    { "edde-boost", "method", 1u << GNTI_METHOD_EDDE, "method: edde" },
    { "edde-weight", "method", 1u << GNTI_METHOD_EDDE, "method: edde" },
    { "edde-epochs", "method", 1u << GNTI_METHOD_EDDE, "method: edde" },
    { "swa-cycle", "method", 1u << GNTI_METHOD_SWA, "method: swa" },
    { "swap-target", "method", 1u << GNTI_METHOD_SWAP, "method: swap" },
    { "swap-share", "method", 1u << GNTI_METHOD_SWAP, "method: swap" },
    { "soup", "method", 1u << GNTI_METHOD_SOUP, "method: soup" },
    { "select-rounds", "combine", 1u << GNTI_COMBINE_GREEDY, "combine: greedy" },
    { "select-start", "combine", 1u << GNTI_COMBINE_GREEDY, "combine: greedy" },
    { "energy-budget", "policy", 1u << GNTI_POLICY_ENERGY, "policy: energy" },
    { "round-seconds", "policy", 1u << GNTI_POLICY_MAX_MIN | 1u << GNTI_POLICY_LEAST_SERVICE,
      "policy: max-min or least-service" },
};

static uint32_t present_word(const gnti_spec_draft *d, const char *key)
{
    const gnt_option *row = gnti_options_find(gnti_spec_rows, key);

    if (row != NULL)
        return 1u << *(const int32_t *)(const void *)((const char *)d->spec + row->offset);
    return 1u << d->search;
}

gnt_status gnti_spec_check_belongs(const gnti_spec_draft *d)
{
    gnt_status st = GNT_OK;
    const gnti_yaml_node *root = gnti_yaml_root(d->doc);

    for (size_t i = 0; i < sizeof belongs_to / sizeof belongs_to[0]; i++) {
        const belongs *b = &belongs_to[i];
        const gnti_yaml_node *node = gnti_yaml_find(root, b->key);
        const bool used = b->words == 0 ? gnti_yaml_find(root, b->word_key) != NULL
                                        : (present_word(d, b->word_key) & b->words) != 0;

        if (node != NULL && !used)
            GNT_TRY(gnti_yaml_fail(node, GNT_ERR_FORMAT, "has no effect here: it belongs to %s", b->needs));
    }
done:
    return st;
}

const char *gnti_spec_word(const gnti_spec *spec, const char *key, char out[32])
{
    const gnt_option *row = gnti_options_find(gnti_spec_rows, key);

    if (row == NULL || row->kind != GNT_OPTION_KIND_WORD || gnti_option_get(row, spec, out, 32) != GNT_OK)
        out[0] = '\0';
    return out;
}
