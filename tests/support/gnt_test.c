/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons and failing allocations of the test support.
 *
 * All element types pass through one comparison in double (a float fits exactly), so that reports look alike:
 *   got[17] = 0.25, want 0.5, difference 0.25 (allowed 1e-05 * max|want| 3 + 0); norms: got 1.2, want 1.4,
 * difference 0.3
 */
#include "gnt_test.h"

#include "base/philox.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void gnt_test_status(gnt_status got, gnt_status want, const char *call, const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s\n  answered %s, expected %s\n", call, gnt_status_name(got), gnt_status_name(want));
    if (got != GNT_OK)
        print_error("  error: %s\n%s", gnt_last_error(), gnt_last_error_trace());
    _fail(file, line);
}

void gnt_test_error_has(const char *file, int line, ...)
{
    const char *text = gnt_last_error(), *word;
    bool all = true;
    va_list words;

    va_start(words, line);
    while ((word = va_arg(words, const char *)) != NULL) {
        if (strstr(text, word) == NULL) {
            print_error("the error text lacks '%s': %s\n", word, text);
            all = false;
        }
    }
    va_end(words);
    if (!all)
        _fail(file, line);
}

typedef struct comparison {
    const float *got;
    const float *want_f32; /* one of the two */
    const double *want_f64;
    int64_t count;
} comparison;

typedef struct comparison_sums {
    int64_t worst; /* index of the largest difference, or of the first not-a-number mismatch; -1: none */
    bool broken;   /* a NaN or an infinity on one side only */
    double max_want, max_diff, got2, want2, diff2;
} comparison_sums;

static double wanted(const comparison *c, int64_t i)
{
    return c->want_f64 != NULL ? c->want_f64[i] : (double)c->want_f32[i];
}

static comparison_sums compare(const comparison *c)
{
    comparison_sums s = { .worst = -1 };

    for (int64_t i = 0; i < c->count; i++) {
        const double a = (double)c->got[i], b = wanted(c, i);

        if (!isfinite(a) || !isfinite(b)) {
            if (((isnan(a) && isnan(b)) || a == b) || s.broken)
                continue;
            s.broken = true;
            s.worst = i;
            continue;
        }
        const double diff = fabs(a - b);

        s.got2 += a * a;
        s.want2 += b * b;
        s.diff2 += diff * diff;
        s.max_want = fmax(s.max_want, fabs(b));
        if (!s.broken && (s.worst < 0 || diff > s.max_diff))
            s.worst = i;
        s.max_diff = fmax(s.max_diff, diff);
    }
    return s;
}

static void print_comparison(const comparison *c, const comparison_sums *s, const char *what)
{
    const double a = (double)c->got[s->worst], b = wanted(c, s->worst);

    print_error("%s[%" PRId64 " of %" PRId64 "] = %.9g, want %.9g, difference %.3g\n", what, s->worst,
                c->count, a, b, a - b);
    print_error("  norms: got %.6g, want %.6g, difference %.6g; max|want| %.6g\n", sqrt(s->got2),
                sqrt(s->want2), sqrt(s->diff2), s->max_want);
}

static void check_close(const comparison *c, double relative, double absolute, const char *what,
                        const char *file, int line)
{
    const comparison_sums s = compare(c);
    const double allowed = relative * s.max_want + absolute;

    if (!s.broken && s.max_diff <= allowed)
        return;
    print_comparison(c, &s, what);
    print_error("  allowed %.3g = %.3g * max|want| + %.3g\n", allowed, relative, absolute);
    _fail(file, line);
}

void gnt_test_close(const float *got, const float *want, int64_t count, double relative, double absolute,
                    const char *what, const char *file, int line)
{
    check_close(&(comparison){ .got = got, .want_f32 = want, .count = count }, relative, absolute, what, file,
                line);
}

void gnt_test_close_f64(const float *got, const double *want, int64_t count, double relative, double absolute,
                        const char *what, const char *file, int line)
{
    check_close(&(comparison){ .got = got, .want_f64 = want, .count = count }, relative, absolute, what, file,
                line);
}

void gnt_test_nmse(const float *got, const float *want, int64_t count, double bound, const char *what,
                   const char *file, int line)
{
    const comparison c = { .got = got, .want_f32 = want, .count = count };
    const comparison_sums s = compare(&c);

    if (!s.broken && s.diff2 <= bound * s.want2)
        return;
    print_comparison(&c, &s, what);
    print_error("  nmse %.3g, allowed %.3g\n", s.diff2 / s.want2, bound);
    _fail(file, line);
}

void gnt_test_same_bits(const float *got, const float *want, int64_t count, const char *what,
                        const char *file, int line)
{
    if (count == 0 || memcmp(got, want, (size_t)count * sizeof *got) == 0)
        return;
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(&got[i], &want[i], sizeof *got) != 0) {
            print_error("%s[%" PRId64 " of %" PRId64 "] = %a, want %a (%.9g, %.9g)\n", what, i, count,
                        (double)got[i], (double)want[i], (double)got[i], (double)want[i]);
            break;
        }
    }
    _fail(file, line);
}

void gnt_test_same_i64(const int64_t *got, const int64_t *want, int64_t count, const char *what,
                       const char *file, int line)
{
    for (int64_t i = 0; i < count; i++) {
        if (got[i] != want[i]) {
            print_error("%s[%" PRId64 " of %" PRId64 "] = %" PRId64 ", want %" PRId64 "\n", what, i, count,
                        got[i], want[i]);
            _fail(file, line);
        }
    }
}

void gnt_test_same_i32(const int32_t *got, const int32_t *want, int64_t count, const char *what,
                       const char *file, int line)
{
    for (int64_t i = 0; i < count; i++) {
        if (got[i] != want[i]) {
            print_error("%s[%" PRId64 " of %" PRId64 "] = %d, want %d\n", what, i, count, got[i], want[i]);
            _fail(file, line);
        }
    }
}

void gnt_test_fill(float *out, int64_t count, uint64_t seed)
{
    const gnti_philox_key key = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t words[4] = { 0, 0, 0, 0 };

    for (int64_t i = 0; i < count; i++) {
        if (i % 4 == 0) {
            const uint32_t counter[4] = { (uint32_t)(i / 4), (uint32_t)((uint64_t)i >> 34), 0x54455354u, 0 };

            gnti_philox(counter, key, words);
        }
        out[i] = 2.0f * gnti_uniform(words[i % 4]) - 1.0f;
    }
}

void gnt_brutal_begin(gnt_brutal *b)
{
    gnti_alloc_stats stats;

    assert_true(b->out_bytes <= sizeof b->saved);
    if (b->out != NULL)
        memcpy(b->saved, b->out, b->out_bytes);
    gnti_alloc_get_stats(&stats);
    b->live_blocks = stats.live_blocks;
    gnti_alloc_fail_at(b->k);
}

bool gnt_brutal_end(gnt_brutal *b, gnt_status st)
{
    const bool fired = gnti_alloc_fail_at(-1);
    gnti_alloc_stats stats;

    gnti_alloc_get_stats(&stats);
    if (!fired) {
        gnt_test_status(st, GNT_OK, b->call, b->file, b->line);
        return true;
    }
    if (st != GNT_ERR_NOMEM)
        print_error("allocation %" PRId64 " failed in %s\n", b->k, b->call);
    gnt_test_status(st, GNT_ERR_NOMEM, b->call, b->file, b->line);
    if (stats.live_blocks != b->live_blocks) {
        print_error("allocation %" PRId64 " failed in %s\n  %" PRId64 " blocks alive before, %" PRId64
                    " after\n%s",
                    b->k, b->call, b->live_blocks, stats.live_blocks, gnt_last_error_trace());
        _fail(b->file, b->line);
    }
    if (b->out != NULL && memcmp(b->saved, b->out, b->out_bytes) != 0) {
        print_error("allocation %" PRId64 " failed in %s, which changed its output\n", b->k, b->call);
        _fail(b->file, b->line);
    }
    b->k++;
    return false;
}
