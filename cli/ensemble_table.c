/* SPDX-License-Identifier: Apache-2.0 */
/* The report of an ensemble on a terminal: members with weights and scores, mean and deviation, the best one, the ensemble before
 * and after its temperature; then diversity, devices, and what has to be said in words.
 */
#include "cli/ensemble_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 32, NUM_SCORES = 5, MOST_FAILED = 4 };
static const char *const keys[NUM_SCORES] = { "valid_metric", "test_metric", "nll", "brier", "ece" };

static double number_of(const gntx_json *o, const char *key)
{
    double value = (double)NAN;

    return o != NULL && gntx_json_to_number(gntx_json_find(o, key), &value) ? value : (double)NAN;
}

static const char *text_of(const gntx_json *o, const char *key)
{
    const char *text = o != NULL ? gntx_json_to_text(gntx_json_find(o, key)) : NULL;

    return text != NULL ? text : "";
}

static void print_number(double value, int width)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.4f", width, value);
}

/* Letters, not bytes, count for the width. */
static void print_name(const char *name, int width)
{
    int letters = 0;

    for (const char *p = name; *p != '\0'; p++)
        letters += ((unsigned char)*p & 0xc0) != 0x80;
    printf("%s%*s", name, width > letters ? width - letters : 0, "");
}

static void print_row(const char *name, int width, double weight, const gntx_json *scores)
{
    print_name(name, width);
    print_number(weight, 8);
    for (int k = 0; k < NUM_SCORES; k++)
        print_number(number_of(scores, keys[k]), 8);
    printf("\n");
}

static int name_width(const gntx_json *members)
{
    int width = (int)strlen("before temperature");

    for (int64_t i = 0; i < gntx_json_length(members); i++) {
        const int length = (int)strlen(text_of(gntx_json_at(members, i), "name"));

        width = length > width ? length : width;
    }
    return width < MAX_NAME ? width : MAX_NAME;
}

static void print_scores(const gntx_json *report)
{
    const gntx_json *members = gntx_json_find(report, "members");
    const gntx_json *ensemble = gntx_json_find(report, "ensemble");
    const int width = name_width(members);

    printf("%-*s %8s %8s %8s %8s %8s %8s\n", width, "", "weight", "valid", "test", "nll", "brier", "ece");
    for (int64_t i = 0; i < gntx_json_length(members); i++) {
        const gntx_json *m = gntx_json_at(members, i);

        print_row(text_of(m, "name"), width, number_of(m, "weight"), m);
    }
    print_row("mean of members", width, (double)NAN, gntx_json_find(report, "member_mean"));
    if (gntx_json_length(members) > 1)
        print_row("deviation", width, (double)NAN, gntx_json_find(report, "member_std"));
    if (gntx_json_find(report, "best_member") != NULL)
        print_row("best on validation", width, (double)NAN, gntx_json_find(report, "best_member"));
    if (gntx_json_find(ensemble, "bins") != NULL)
        print_row("before temperature", width, (double)NAN, gntx_json_find(ensemble, "before_temperature"));
    print_row("ensemble", width, (double)NAN, ensemble);
}

static void print_diversity(const gntx_json *report)
{
    const gntx_json *d = gntx_json_find(report, "diversity");
    const double disagreement = number_of(d, "mean_disagreement"), kl = number_of(d, "mean_kl");
    const double oracle = number_of(d, "oracle_accuracy");

    if (d == NULL)
        return;
    if (isnan(kl))
        printf("diversity    members differ by %.4g on %s nodes (root mean square)\n", disagreement,
               text_of(d, "rows"));
    else
        printf("diversity    two members disagree on %.1f %% of %s nodes, KL to their mean %.4f, one is "
               "right on %.1f %%\n",
               100.0 * disagreement, text_of(d, "rows"), kl, 100.0 * oracle);
}

static void print_training(const gntx_json *report)
{
    const gntx_json *run = gntx_json_find(report, "run"), *m = gntx_json_find(run, "manager");
    const int64_t processes = gntx_json_length(gntx_json_find(run, "processes"));
    char makespan[CLI_FORMAT_BYTES], bound[CLI_FORMAT_BYTES];

    if (m == NULL || !(number_of(m, "makespan_seconds") > 0.0))
        return;
    printf("training     %s, lower bound %s%s, devices busy %.1f %%\n",
           cli_format_seconds(number_of(m, "makespan_seconds"), makespan),
           cli_format_seconds(number_of(m, "lower_bound_seconds"), bound),
           number_of(m, "lower_bound_seconds") > number_of(m, "makespan_seconds") ? " by predicted rates"
                                                                                  : "",
           100.0 * number_of(m, "utilisation"));
    if (processes > 1)
        printf("             by %lld processes one after the other, the time between them not counted\n",
               (long long)processes);
}

/* Members that are missing are never passed over; a few with why. */
static void warn_of_failed(const gntx_json *report)
{
    const gntx_json *failed = gntx_json_find(report, "failed");
    const int64_t num = gntx_json_length(failed);

    for (int64_t i = 0; i < num && i < MOST_FAILED; i++) {
        const gntx_json *m = gntx_json_at(failed, i);

        cli_warn("member '%s' failed and is not in the ensemble: %s", text_of(m, "name"),
                 text_of(m, "message"));
    }
    if (num > MOST_FAILED)
        cli_warn("%lld more members failed: summary.json of the run lists them",
                 (long long)(num - MOST_FAILED));
}

gnt_status cli_print_ensemble(const gntx_json *report, bool json)
{
    const gntx_json *combine = gntx_json_find(report, "combine"),
                    *skipped = gntx_json_find(report, "skipped");
    const double temperature = number_of(gntx_json_find(report, "ensemble"), "temperature");
    const char *remark = text_of(combine, "remark");
    gnt_status st = GNT_OK;

    if (json)
        return cli_print_facts(report);
    print_scores(report);
    printf("\nvalid, test  %s on nodes of split %s\n", text_of(report, "metric"), text_of(combine, "split"));
    printf("combination  %s", text_of(combine, "how"));
    if (strcmp(text_of(combine, "how"), text_of(combine, "applied")) != 0)
        printf(" (applied: %s)", text_of(combine, "applied"));
    printf(", temperature %.4g\n", temperature);
    print_diversity(report);
    print_training(report);
    GNT_TRY(cli_flush());
    warn_of_failed(report);
    for (int64_t i = 0; i < gntx_json_length(skipped); i++)
        cli_warn("member '%s' has left no predictions: it is not in the ensemble",
                 gntx_json_to_text(gntx_json_at(skipped, i)));
    if (remark[0] != '\0')
        cli_say("note: %s", remark);
done:
    return st;
}
