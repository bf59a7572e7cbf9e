/* SPDX-License-Identifier: Apache-2.0 */
/* Every reader on damaged files: cut at each length, each byte changed in several ways; and each allocation failing once.
 * A damaged file may still be a file, but no reader may crash, hang, lose memory or answer without a text.
 */
#include "tests/support/gnt_test.h"

#include "base/file.h"
#include "datasets/import.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const gnti_importer *importer;
} FIXTURES[] = {
    { "edges.txt", &gnti_import_edge_list },     { "edges.txt.gz", &gnti_import_edge_list },
    { "edges.txt.zst", &gnti_import_edge_list }, { "edges.txt.xz", &gnti_import_edge_list },
    { "tiny.mtx", &gnti_import_matrix_market },  { "tiny.graph", &gnti_import_metis },
    { "masks.npz", &gnti_import_npz },           { "scipy_csr.npz", &gnti_import_npz },
    { "scipy_csc.npz", &gnti_import_npz },       { "scipy_coo.npz", &gnti_import_npz },
    { "benchmark.npz", &gnti_import_npz },
};
static const char *const PATHS[] = { "linqs", "geom", "ogb", "sage", "Packages" };
static const char *const FOLDER_FILES[][2] = {
    { "linqs", "tiny.content" },
    { "linqs", "tiny.cites" },
    { "geom", "out1_graph_edges.txt" },
    { "geom", "out1_node_feature_label.txt" },
    { "geom", "tiny_split_0.6_0.2_0.npz" },
    { "sage", "tiny-G.json" },
    { "sage", "tiny-class_map.json" },
    { "sage", "tiny-id_map.json" },
    { "sage", "tiny-feats.npy" },
};

static char *fixture(char out[GNT_TEST_PATH_BYTES], const char *name)
{
    snprintf(out, GNT_TEST_PATH_BYTES, "%s/tests/data/import/%s", GNT_SOURCE_DIR, name);
    return out;
}

static gnt_status import_path(const char *path, gnt_dataset **out)
{
    const char *const paths[] = { path };
    gntx_import_options options = { .num_nodes = -1 };

    options.format = strstr(path, "Packages") != NULL ? "debian" : NULL;
    return gntx_import(NULL, paths, 1, &options, out, NULL);
}

/* What must hold whatever an import made of its input. */
static void check_outcome(gnt_status st, gnt_dataset *data, int64_t blocks_before, const char *what,
                          int64_t at)
{
    gnti_alloc_stats after;

    if (st != GNT_OK && (data != NULL || gnt_last_error()[0] == '\0'))
        fail_msg("%s at %lld: %s without a text", what, (long long)at, gnt_status_name(st));
    if (st == GNT_ERR_INTERNAL || st == GNT_ERR_STATE || st == GNT_ERR_ARG)
        fail_msg("%s at %lld: %s, %s", what, (long long)at, gnt_status_name(st), gnt_last_error());
    gnt_dataset_free(&data);
    gnti_alloc_get_stats(&after);
    if (after.live_blocks != blocks_before)
        fail_msg("%s at %lld: %lld blocks are lost", what, (long long)at,
                 (long long)(after.live_blocks - blocks_before));
}

static void try_folder(const char *folder, const char *what, int64_t at)
{
    gnti_alloc_stats before;
    gnt_dataset *data = NULL;

    gnti_alloc_get_stats(&before);
    gnt_clear_error();
    const gnt_status st = import_path(folder, &data);

    check_outcome(st, data, before.live_blocks, what, at);
}

static void try_bytes(const gnti_importer *importer, const char *name, const char *bytes, int64_t num,
                      int64_t at)
{
    const gntx_import_options options = { .num_nodes = -1 };
    gnti_import_report report = { .format = "" };
    gnti_alloc_stats before;
    gnt_dataset *data = NULL;
    gnti_raw raw;
    gnt_status st;

    gnti_alloc_get_stats(&before);
    gnt_clear_error();
    gnti_raw_init(&raw);
    st = gnti_import_read_memory(importer, name, bytes, (size_t)num, &options, &raw);
    if (st == GNT_OK)
        st = gnti_raw_finish(NULL, &raw, &options, &report, &data);
    gnti_free(report.notes);
    gnti_raw_clear(&raw);
    check_outcome(st, data, before.live_blocks, name, at);
}

static void damaged_files_never_crash(void **state)
{
    static const unsigned char masks[] = { 0x01, 0x10, 0x80, 0xff };

    (void)state;
    for (size_t i = 0; i < sizeof FIXTURES / sizeof *FIXTURES; i++) {
        const char *name = FIXTURES[i].name;
        char path[GNT_TEST_PATH_BYTES];
        int64_t bytes = 0;
        char *content = gnt_test_read(fixture(path, name), &bytes);

        for (int64_t length = 0; length < bytes; length++)
            try_bytes(FIXTURES[i].importer, name, content, length, length);
        for (int64_t at = 0; at < 4 * bytes; at++) {
            content[at / 4] = (char)(content[at / 4] ^ masks[at % 4]);
            try_bytes(FIXTURES[i].importer, name, content, bytes, at);
            content[at / 4] = (char)(content[at / 4] ^ masks[at % 4]);
        }
        gnti_free(content);
    }
}

static void write_file(const char *path, const char *content, int64_t bytes)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, (size_t)bytes, f), (size_t)bytes);
    assert_int_equal(fclose(f), 0);
}

/* Damages one file of a folder in up to NUM_PLACES places and imports the folder each time. */
static void damage(const char *name, char *content, int64_t bytes, const char *folder)
{
    enum { NUM_PLACES = 40 };
    const int64_t step = gnti_max_i64(bytes / NUM_PLACES, 1);
    char path[GNT_TEST_PATH_BYTES];

    gnt_test_path(path, name);
    for (int64_t at = 0; at < bytes; at += step) {
        write_file(path, content, at);
        try_folder(folder, name, at);
        content[at] = (char)(content[at] ^ 0x11);
        write_file(path, content, bytes);
        try_folder(folder, name, at);
        content[at] = (char)(content[at] ^ 0x11);
    }
    write_file(path, content, bytes);
}

/* A copy of each folder whose files are damaged in turn. */
static void damaged_folders_never_crash(void **state)
{
    enum { NUM = sizeof FOLDER_FILES / sizeof *FOLDER_FILES };
    char path[GNT_TEST_PATH_BYTES], name[128], folder[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < NUM; i++) {
            int64_t bytes = 0;
            char *content;

            snprintf(name, sizeof name, "%s/%s", FOLDER_FILES[i][0], FOLDER_FILES[i][1]);
            content = gnt_test_read(fixture(path, name), &bytes);
            gnt_assert_ok(gnti_folder_create(gnt_test_path(folder, FOLDER_FILES[i][0])));
            if (pass == 0)
                gnt_test_write(path, name, content, bytes);
            else
                damage(name, content, bytes, folder);
            gnti_free(content);
        }
    }
}

static void damaged_package_indexes_never_crash(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t bytes = 0;
    char *content = gnt_test_read(fixture(path, "Packages"), &bytes);

    (void)state;
    damage("Packages", content, bytes, gnt_test_path(path, "Packages"));
    gnti_free(content);
}

static void failing_allocations_leave_nothing(void **state)
{
    gnt_dataset *data = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof FIXTURES / sizeof *FIXTURES; i++) {
        fixture(path, FIXTURES[i].name);
        GNT_BRUTAL_OUT(import_path(path, &data), data);
        gnt_dataset_free(&data);
    }
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        fixture(path, PATHS[i]);
        GNT_BRUTAL_OUT(import_path(path, &data), data);
        gnt_dataset_free(&data);
    }
}

/* Edge lists with every helper file, through text ids. */
static void failing_allocations_with_node_files(void **state)
{
    char edges[GNT_TEST_PATH_BYTES], features[GNT_TEST_PATH_BYTES], labels[GNT_TEST_PATH_BYTES];
    const char *const paths[] = { gnt_test_write(edges, "edges", "a,b\nb,c\n", -1) };
    gntx_import_options options = { .num_nodes = -1 };
    gnt_dataset *data = NULL;

    (void)state;
    options.features = gnt_test_write(features, "features", "a 1 0\nc 0 2\n", -1);
    options.labels = gnt_test_write(labels, "labels", "b x\nd y\n", -1);
    GNT_BRUTAL_OUT(gntx_import(NULL, paths, 1, &options, &data, NULL), data);
    assert_int_equal(data->num_nodes, 4);
    gnt_dataset_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_never_crash),
        cmocka_unit_test(damaged_folders_never_crash),
        cmocka_unit_test(damaged_package_indexes_never_crash),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(failing_allocations_with_node_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
