/* SPDX-License-Identifier: Apache-2.0 */
/* Growing strings, strict numbers (against strtod and strtoll), trims, names that are near. */
#include "tests/support/gnt_test.h"

#include "base/name.h"
#include "base/philox.h"
#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void text_grows(void **state)
{
    gnti_text t = { 0 };
    char *out = NULL;

    (void)state;
    gnt_assert_ok(gnti_text_take(&t, &out));
    assert_string_equal(out, "");
    gnti_free(out);
    for (int i = 0; i < 1000; i++)
        gnti_text_printf(&t, "%d,", i);
    gnti_text_append(&t, "end");
    assert_int_equal(t.length, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    gnt_assert_ok(gnti_text_take(&t, &out));
    assert_memory_equal(out, "0,1,2,", 6);
    assert_string_equal(out + 3890, "end");
    gnti_free(out);
}

static gnt_status three_pieces(void)
{
    gnti_text t = { 0 };
    char *out = NULL;
    gnt_status st;

    gnti_text_append(&t, "one");
    gnti_text_printf(&t, "%200s", "two");
    gnti_text_append(&t, "three");
    st = gnti_text_take(&t, &out);
    gnti_free(out);
    return st;
}

static void a_failed_append_sticks(void **state)
{
    (void)state;
    GNT_BRUTAL(three_pieces());
}

static gnti_parse read_int(const char *text, int64_t *out)
{
    return gnti_parse_int64(text, strlen(text), out);
}

static void whole_numbers_are_strict(void **state)
{
    static const char *const bad[] = { "", "-", "+", " 1", "1 ", "1.0", "0x10", "1e3", "--1", "12a" };
    int64_t v = 77;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(read_int(bad[i], &v), GNTI_PARSE_BAD);
    assert_int_equal(read_int("9223372036854775808", &v), GNTI_PARSE_RANGE);
    assert_int_equal(read_int("-9223372036854775809", &v), GNTI_PARSE_RANGE);
    assert_int_equal(read_int("99999999999999999999999999", &v), GNTI_PARSE_RANGE);
    assert_int_equal(read_int("99999999999999999999999999x", &v), GNTI_PARSE_BAD);
    assert_int_equal(v, 77);
    assert_int_equal(read_int("9223372036854775807", &v), GNTI_PARSE_OK);
    assert_int_equal(v, INT64_MAX);
    assert_int_equal(read_int("-9223372036854775808", &v), GNTI_PARSE_OK);
    assert_int_equal(v, INT64_MIN);
    assert_int_equal(read_int("+0012", &v), GNTI_PARSE_OK);
    assert_int_equal(v, 12);
    assert_int_equal(gnti_parse_int64("123456", 3, &v), GNTI_PARSE_OK);
    assert_int_equal(v, 123);
}

static gnti_parse read_double(const char *text, double *out)
{
    return gnti_parse_double(text, strlen(text), out);
}

static void real_numbers_are_strict(void **state)
{
    static const char *const bad[] = { "",      ".",     "-",  "e5", "1e",   "1e+", "1,5",
                                       "0x1p3", "1.2.3", " 1", "1 ", "nano", "1f" };
    double v = 7.0;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(read_double(bad[i], &v), GNTI_PARSE_BAD);
    assert_int_equal(read_double("1e999", &v), GNTI_PARSE_RANGE);
    assert_int_equal(read_double("-1e99999999999999999999", &v), GNTI_PARSE_RANGE);
    assert_true(v == 7.0);
    assert_int_equal(read_double("NaN", &v), GNTI_PARSE_OK);
    assert_true(isnan(v));
    assert_int_equal(read_double("-Inf", &v), GNTI_PARSE_OK);
    assert_true(isinf(v) && v < 0);
    assert_int_equal(read_double(".5", &v), GNTI_PARSE_OK);
    assert_true(v == 0.5);
    assert_int_equal(read_double("5.", &v), GNTI_PARSE_OK);
    assert_true(v == 5.0);
    assert_int_equal(read_double("0e0", &v), GNTI_PARSE_OK);
    assert_true(v == 0.0);
    assert_int_equal(read_double("-0.0", &v), GNTI_PARSE_OK);
    assert_true(v == 0.0 && signbit(v));
}

/* 10^5 seeded doubles of every size, in several notations, read as strtod reads them. */
static void real_numbers_equal_strtod(void **state)
{
    static const char *const formats[] = { "%.17g", "%.3f", "%.10e", "%.0f", "%.25g", "%.6g" };
    char text[400];

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t w[4];
        double value, got = 0.0, want;

        gnti_draw_quad(gnti_seed_key(5), GNTI_DRAW_GENERATE, 0, 0, i, 0, w);
        if (i % 2 == 0) {
            const uint64_t bits = (uint64_t)w[0] << 32 | w[1];

            memcpy(&value, &bits, sizeof value);
        } else
            value = ((double)w[0] - 2147483648.0) / (double)(1u << (w[1] % 24));
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, formats[w[2] % 6], value);
        want = strtod(text, NULL);
        if (isinf(want))
            continue;
        if (read_double(text, &got) != GNTI_PARSE_OK || memcmp(&got, &want, sizeof got) != 0)
            fail_msg("'%s' read as %.17g, strtod has %.17g", text, got, want);
    }
}

static void numbers_print_shortest(void **state)
{
    char out[GNTI_NUMBER_BYTES];
    double back = 0.0;

    (void)state;
    gnti_format_double(0.1, out);
    assert_string_equal(out, "0.1");
    gnti_format_double(1.0 / 3.0, out);
    assert_int_equal(read_double(out, &back), GNTI_PARSE_OK);
    assert_true(back == 1.0 / 3.0);
    gnti_format_double(5e-4, out);
    assert_string_equal(out, "0.0005");
    gnti_format_double(200.0, out);
    assert_string_equal(out, "200");
    gnti_format_float(0.1f, out);
    assert_string_equal(out, "0.1");
    gnti_format_double(1.7976931348623157e308, out);
    assert_int_equal(read_double(out, &back), GNTI_PARSE_OK);
    assert_true(back == 1.7976931348623157e308);
    gnti_format_double((double)NAN, out);
    assert_non_null(strstr(out, "nan"));
}

static void a_decimal_comma_of_the_program_does_not_matter(void **state)
{
    char out[GNTI_NUMBER_BYTES];
    double v = 0.0;

    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL && setlocale(LC_NUMERIC, "de_DE.utf8") == NULL)
        skip(); /* the machine has no such locale */
    gnti_format_double(0.25, out);
    const gnti_parse parsed = read_double("1.2345678901234567890e-30", &v);

    setlocale(LC_NUMERIC, "C");
    assert_string_equal(out, "0.25");
    assert_int_equal(parsed, GNTI_PARSE_OK);
    assert_true(v == 1.2345678901234567890e-30);
}

static void trims(void **state)
{
    const char *text = " \t ab c\r\n", *begin = text, *end = text + strlen(text);

    (void)state;
    gnti_trim(&begin, &end);
    assert_int_equal(end - begin, 4);
    assert_memory_equal(begin, "ab c", 4);
    begin = end = text;
    gnti_trim(&begin, &end);
    assert_ptr_equal(begin, end);
}

static void distances_of_names(void **state)
{
    static const char *const names[] = { "import", "train", "eval" };

    (void)state;
    assert_int_equal(gnti_name_distance("kitten", "sitting"), 3);
    assert_int_equal(gnti_name_distance("ab", "ba"), 1);
    assert_int_equal(gnti_name_distance("", "abc"), 3);
    assert_int_equal(gnti_name_distance("a_b", "a-b"), 0);
    assert_string_equal(gnti_name_nearest(names, 3, "trian"), "train");
    assert_string_equal(gnti_name_nearest(names, 3, "evaluate"), "eval");
    assert_null(gnti_name_nearest(names, 3, "qqqq"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows),
        cmocka_unit_test(a_failed_append_sticks),
        cmocka_unit_test(whole_numbers_are_strict),
        cmocka_unit_test(real_numbers_are_strict),
        cmocka_unit_test(real_numbers_equal_strtod),
        cmocka_unit_test(numbers_print_shortest),
        cmocka_unit_test(a_decimal_comma_of_the_program_does_not_matter),
        cmocka_unit_test(trims),
        cmocka_unit_test(distances_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
