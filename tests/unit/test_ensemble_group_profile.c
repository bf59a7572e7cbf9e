/* SPDX-License-Identifier: Apache-2.0 */
/* Measured groups: what makes a class, a cache that is read back, merged, and empty where it is damaged; a short run.
 */
#include "tests/support/train_case.h"

#include "base/file.h"
#include "ensemble/group_profile.h"

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

static gnti_spec *spec_of(const char *text)
{
    gnti_spec *s = NULL;

    gnt_assert_ok(gnti_spec_parse(c.ctx, text, strlen(text), "e.yaml", c.data, &s));
    return s;
}

static gnti_device_spec device_of(const char *text)
{
    gnti_device_spec *specs = NULL, first;
    int32_t num = 0;

    gnt_assert_ok(gnti_device_specs_parse(text, &specs, &num));
    first = specs[0];
    gnti_free(specs);
    return first;
}

static void key_of(const char *spec, int32_t num, const char *device, char out[GNTI_GROUP_KEY_BYTES])
{
    gnti_spec *s = spec_of(spec);
    const gnti_device_spec d = device_of(device);

    gnt_assert_ok(gnti_group_key(&s->members[0], num, c.data, &d, out));
    gnti_spec_free(&s);
}

static void classes(void **state)
{
    static const char plain[] = "model: gcn:4, gcn", *cpu = "cpu:threads=2";
    char key[GNTI_GROUP_KEY_BYTES], other[GNTI_GROUP_KEY_BYTES];

    (void)state;
    key_of(plain, 3, cpu, key);
    key_of("model: gcn:4,gcn\nseed: 9\ntrain: {lr: 3, epochs: 7}", 3, cpu, other);
    assert_string_equal(key, other);
    key_of(plain, 4, cpu, other);
    assert_string_not_equal(key, other);
    key_of("model: gcn:5, gcn", 3, cpu, other);
    assert_string_not_equal(key, other);
    key_of(plain, 3, "cpu:threads=1", other);
    assert_string_not_equal(key, other);
    key_of(plain, 3, "cpu:threads=2,clock=virtual", other);
    assert_string_not_equal(key, other);
    key_of("model: gcn:4, gcn\ndrop-edges: 0.5", 3, cpu, other);
    assert_string_not_equal(key, other);
    key_of(plain, 3, "cpu:threads=2,mem=4M", other); /* a limit changes nothing that is measured */
    assert_string_equal(key, other);
}

static void kept(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    const gnti_group_measure a = { 0.25, 1000 }, b = { 0.5, 2000 };
    gnti_group_profile *p = NULL, *q = NULL;
    gnti_group_measure m = { 0 };
    char *text = NULL;
    size_t length = 0;

    (void)state;
    gnt_test_path(path, "cache/deep/groups.json");
    gnt_assert_ok(gnti_group_profile_open(path, &p));
    gnt_assert_ok(gnti_group_profile_open(path, &q));
    assert_false(gnti_group_profile_find(p, "a", &m));
    gnti_group_profile_save(p); /* nothing to say: no file */
    assert_false(gnti_file_exists(path));
    gnt_assert_ok(gnti_group_profile_set(p, "a", &a));
    gnt_assert_ok(gnti_group_profile_set(q, "b", &b));
    assert_true(gnti_group_profile_find(p, "a", &m) && m.seconds == 0.25 && m.bytes == 1000);
    gnti_group_profile_save(p);
    gnti_group_profile_save(q); /* which was opened before a was there */
    gnti_group_profile_free(&p);
    gnti_group_profile_free(&q);
    gnt_assert_ok(gnti_group_profile_open(path, &p));
    assert_true(gnti_group_profile_find(p, "a", &m) && m.seconds == 0.25);
    assert_true(gnti_group_profile_find(p, "b", &m) && m.bytes == 2000);
    gnti_group_profile_free(&p);
    gnt_assert_ok(gnti_file_read_all(path, 1 << 20, &text, &length));
    for (size_t cut = 0; cut < length;
         cut += 7) { /* a file of any length: as if it were not there, or whole */
        gnt_assert_ok(gnti_file_write_all(path, text, cut));
        gnt_assert_ok(gnti_group_profile_open(path, &p));
        assert_false(gnti_group_profile_find(p, "a", &m));
        gnti_group_profile_free(&p);
    }
    gnti_free(text);
    {
        static const char *const odd[] = {
            "[1]",
            "{\"version\": 3}",
            "{\"version\": \"" GNT_VERSION "\", \"classes\": [1]}",
            "{\"version\": \"" GNT_VERSION "\", \"classes\": {\"a\": [0, -1]}}",
            "{\"version\": \"" GNT_VERSION "\", \"classes\": {\"a\": [1e400, 1]}}",
            "{\"version\": \"" GNT_VERSION "\", \"classes\": {\"a\": {\"x\": 1, \"y\": 2}}}",
            "{\"version\": \"0.0.0\", \"classes\": {\"a\": [1, 1]}}"
        };

        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
            gnt_assert_ok(gnti_file_write_all(path, odd[i], strlen(odd[i])));
            gnt_assert_ok(gnti_group_profile_open(path, &p));
            assert_false(gnti_group_profile_find(p, "a", &m));
            gnti_group_profile_free(&p);
        }
    }
}

static gnt_status open_and_set(const char *path, gnti_group_profile **out)
{
    gnt_status st = GNT_OK;
    const gnti_group_measure a = { 0.25, 1000 };
    gnti_group_profile *p = NULL;

    GNT_TRY(gnti_group_profile_open(path, &p));
    GNT_TRY(gnti_group_profile_set(p, "c", &a));
    *out = p;
    p = NULL;
done:
    gnti_group_profile_free(&p);
    return st;
}

static void brutal(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_group_profile *p = NULL;

    (void)state;
    gnt_test_path(path, "groups.json");
    gnt_assert_ok(open_and_set(path, &p));
    gnti_group_profile_save(p);
    gnti_group_profile_free(&p);
    GNT_BRUTAL_OUT(open_and_set(path, &p), p);
    gnti_group_profile_free(&p);
}

/* On the virtual clock a short run takes what the clock charges, twice as fast on a device of twice the speed; a device too small. */
static void short_runs(void **state)
{
    gnti_spec *s = spec_of("model: gcn:8, gcn\ncount: 3\nbagging: 1\ntrain: {schedule: cosine, patience: 2, "
                           "weight-decay: 1e-3}\n");
    int32_t members[] = { 0, 1, 2 };
    const gnti_fused_group g = { .members = members, .num_members = 3 };
    gnti_device_spec slow = device_of("cpu:clock=virtual"), fast = device_of("cpu:clock=virtual,speed=2");
    gnti_group_measure a, b;

    (void)state;
    gnt_assert_ok(gnti_group_measure_run(c.ctx, s, &g, c.data, &slow, &a));
    gnt_assert_ok(gnti_group_measure_run(c.ctx, s, &g, c.data, &fast, &b));
    assert_true(a.seconds > 0.0 && a.bytes > 0 && a.bytes == b.bytes);
    assert_true(a.seconds > 1.9 * b.seconds && a.seconds < 2.1 * b.seconds);
    slow.memory = (size_t)a.bytes;
    gnt_assert_ok(gnti_group_measure_run(c.ctx, s, &g, c.data, &slow, &b));
    slow.memory = (size_t)a.bytes - 1;
    gnt_assert_status(gnti_group_measure_run(c.ctx, s, &g, c.data, &slow, &b), GNT_ERR_DEVICE_NOMEM);
    gnti_spec_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),
        cmocka_unit_test(kept),
        cmocka_unit_test(brutal),
        cmocka_unit_test(short_runs),
    };

    return cmocka_run_group_tests(tests, make_case, free_case);
}
