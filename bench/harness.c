/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats, medians, options of the benchmark programs. The first run is not counted: it pays for page faults
 * and cold caches.
 */
#include "bench/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_seconds(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool bench_repeat(bool (*body)(void *state), void *state, int32_t repeats, bench_times *out)
{
    double seconds[BENCH_MAX_REPEATS];

    if (repeats < 1 || repeats > BENCH_MAX_REPEATS || !body(state))
        return false;
    for (int32_t i = 0; i < repeats; i++) {
        const double begin = now_seconds();

        if (!body(state))
            return false;
        seconds[i] = now_seconds() - begin;
    }
    qsort(seconds, (size_t)repeats, sizeof *seconds, compare_seconds);
    *out = (bench_times){
        .median = 0.5 * (seconds[(repeats - 1) / 2] + seconds[repeats / 2]),
        .smallest = seconds[0],
        .p90 = seconds[(repeats - 1) * 9 / 10],
        .repeats = repeats,
    };
    return true;
}

void bench_print_times(const bench_times *t)
{
    printf("\"seconds\": %.9f, \"smallest\": %.9f, \"p90\": %.9f, \"repeats\": %d", t->median, t->smallest,
           t->p90, (int)t->repeats);
}

const char *bench_text(int argc, char **argv, const char *name, const char *fallback)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return i + 1 < argc ? argv[i + 1] : "";
    return fallback;
}

int64_t bench_option(int argc, char **argv, const char *name, int64_t fallback, int64_t low, int64_t high)
{
    const char *text = bench_text(argc, argv, name, NULL);
    char *end = NULL;
    long long value;

    if (text == NULL)
        return fallback;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) {
        fprintf(stderr, "--%s takes a whole number from %lld to %lld, not '%s'\n", name, (long long)low,
                (long long)high, text);
        exit(2);
    }
    return value;
}
