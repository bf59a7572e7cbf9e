/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmark programs share: whole numbers from the command line, the median of repeats, one JSON
 * line a case.
 *
 * A program that takes turns with others is asked line by line on its standard input, as the peers' programs
 * are.
 */
#ifndef GNT_BENCH_HARNESS_H
#define GNT_BENCH_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_MAX_REPEATS = 1000 };

typedef struct bench_times {
    double median, smallest, p90; /* seconds */
    int32_t repeats;
} bench_times;

/* Runs `body` once to warm up, then `repeats` times (1 to BENCH_MAX_REPEATS). A false answer ends it and is
 * passed on. */
bool bench_repeat(bool (*body)(void *state), void *state, int32_t repeats, bench_times *out);

/* Prints the times as members of a JSON object, without braces. */
void bench_print_times(const bench_times *t);

/* The value behind --NAME among the arguments, or `fallback`; a value that is no whole number in [low, high]
 * ends the program with exit code 2. */
int64_t bench_option(int argc, char **argv, const char *name, int64_t fallback, int64_t low, int64_t high);

/* The text behind --NAME among the arguments, or `fallback`. */
const char *bench_text(int argc, char **argv, const char *name, const char *fallback);

#endif
