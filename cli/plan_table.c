/* SPDX-License-Identifier: Apache-2.0 */
/* Four tables and a line: members, groups, devices, who trains where. A column is as wide as its widest cell; a long list of members
 * is cut, and --json has it whole.
 *
 * The matrix has a row a device. With few members a cell is the seconds that the device trains the member, else a letter: '#' it
 * does, '.' it does not.
 */
#include "cli/plan_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 8, CELL_BYTES = 64, MAX_MEMBERS = 40, MAX_WIDE = 12, LETTERS_A_LINE = 80 };

static double number_of(const gntx_json *o, const char *key)
{
    double value = (double)NAN;

    return o != NULL && gntx_json_to_number(gntx_json_find(o, key), &value) ? value : (double)NAN;
}

static int64_t whole_of(const gntx_json *o, const char *key)
{
    int64_t value = 0;

    return o != NULL && gntx_json_to_int(gntx_json_find(o, key), &value) ? value : 0;
}

static const char *text_of(const gntx_json *o, const char *key)
{
    const char *text = o != NULL ? gntx_json_to_text(gntx_json_find(o, key)) : NULL;

    return text != NULL ? text : "";
}

/* ---- a table: rows are asked for twice, for widths and for printing ------------------------------------------------- */

typedef struct table {
    const char *titles[MAX_COLUMNS];
    int num_columns;
    int64_t num_rows;
    void (*row)(const gntx_json *plan, int64_t index, char cells[MAX_COLUMNS][CELL_BYTES]);
} table;

static void print_cells(const table *t, char cells[MAX_COLUMNS][CELL_BYTES], const int *widths)
{
    int last = t->num_columns - 1;

    while (last > 0 && cells[last][0] == '\0') /* no spaces at the end of a line */
        last--;
    for (int c = 0; c < last; c++)
        printf("  %-*s", widths[c], cells[c]);
    printf("  %s\n", cells[last]);
}

static void print_table(const gntx_json *plan, const table *t)
{
    char cells[MAX_COLUMNS][CELL_BYTES];
    int widths[MAX_COLUMNS] = { 0 };

    for (int c = 0; c < t->num_columns; c++)
        widths[c] = (int)strlen(t->titles[c]);
    for (int64_t r = 0; r < t->num_rows; r++) {
        t->row(plan, r, cells);
        for (int c = 0; c < t->num_columns; c++)
            widths[c] = (int)strlen(cells[c]) > widths[c] ? (int)strlen(cells[c]) : widths[c];
    }
    for (int c = 0; c < t->num_columns; c++)
        snprintf(cells[c], CELL_BYTES, "%s", t->titles[c]);
    printf("\n");
    print_cells(t, cells, widths);
    for (int64_t r = 0; r < t->num_rows; r++) {
        t->row(plan, r, cells);
        print_cells(t, cells, widths);
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

static void member_row(const gntx_json *plan, int64_t index, char cells[MAX_COLUMNS][CELL_BYTES])
{
    const gntx_json *m = gntx_json_at(gntx_json_find(plan, "members"), index);

    snprintf(cells[0], CELL_BYTES, "%s", text_of(m, "name"));
    snprintf(cells[1], CELL_BYTES, "%lld", (long long)whole_of(m, "group"));
    snprintf(cells[2], CELL_BYTES, "%lld", (long long)whole_of(m, "seed"));
    snprintf(cells[3], CELL_BYTES, "%lld", (long long)whole_of(m, "epochs"));
    snprintf(cells[4], CELL_BYTES, "%s", text_of(m, "model"));
    snprintf(cells[5], CELL_BYTES, "%s", text_of(m, "differs"));
}

/* "m00 m01 m02", "m00 ... m13 (14)" */
static void put_names(const gntx_json *members, char out[CELL_BYTES])
{
    const int64_t num = gntx_json_length(members);
    size_t used = 0;

    if (num > 4) {
        snprintf(out, CELL_BYTES, "%s ... %s (%lld)", gntx_json_to_text(gntx_json_at(members, 0)),
                 gntx_json_to_text(gntx_json_at(members, num - 1)), (long long)num);
        return;
    }
    out[0] = '\0';
    for (int64_t i = 0; i < num && used < CELL_BYTES; i++)
        used += (size_t)snprintf(out + used, CELL_BYTES - used, "%s%s", i == 0 ? "" : " ",
                                 gntx_json_to_text(gntx_json_at(members, i)));
}

static void group_row(const gntx_json *plan, int64_t index, char cells[MAX_COLUMNS][CELL_BYTES])
{
    const gntx_json *g = gntx_json_at(gntx_json_find(plan, "groups"), index),
                    *devices = gntx_json_find(g, "devices");
    char text[CLI_FORMAT_BYTES];
    size_t used = 0;

    snprintf(cells[0], CELL_BYTES, "%lld", (long long)index);
    put_names(gntx_json_find(g, "members"), cells[1]);
    snprintf(cells[2], CELL_BYTES, "%s", cli_format_bytes(whole_of(g, "bytes"), text));
    snprintf(cells[3], CELL_BYTES, "%.0f", ceil(number_of(g, "epochs") - 1e-6));
    snprintf(cells[4], CELL_BYTES, "%s", cli_format_seconds(number_of(g, "begin_seconds"), text));
    snprintf(cells[5], CELL_BYTES, "%s", cli_format_seconds(number_of(g, "end_seconds"), text));
    cells[6][0] = '\0';
    for (int64_t i = 0; i < gntx_json_length(devices) && used < CELL_BYTES; i++) {
        int64_t device = 0;

        (void)gntx_json_to_int(gntx_json_at(devices, i), &device);
        used += (size_t)snprintf(cells[6] + used, CELL_BYTES - used, "%s%lld", i == 0 ? "" : ",",
                                 (long long)device);
    }
}

static void device_row(const gntx_json *plan, int64_t index, char cells[MAX_COLUMNS][CELL_BYTES])
{
    const gntx_json *d = gntx_json_at(gntx_json_find(plan, "devices"), index);
    const double makespan = number_of(plan, "makespan_seconds"), busy = number_of(d, "busy_seconds");
    char text[CLI_FORMAT_BYTES];

    snprintf(cells[0], CELL_BYTES, "%lld", (long long)index);
    snprintf(cells[1], CELL_BYTES, "%s", text_of(d, "device"));
    snprintf(cells[2], CELL_BYTES, "%.3g", number_of(d, "speed"));
    snprintf(cells[3], CELL_BYTES, "%s", cli_format_bytes(whole_of(d, "peak_bytes"), text));
    snprintf(cells[4], CELL_BYTES, "%s",
             whole_of(d, "limit_bytes") > 0 ? cli_format_bytes(whole_of(d, "limit_bytes"), text) : "-");
    snprintf(cells[5], CELL_BYTES, "%.0f %%", makespan > 0.0 ? 100.0 * busy / makespan : 0.0);
}

/* ---- the matrix ---------------------------------------------------------------------------------------------------- */

static double cell_of(const gntx_json *plan, int64_t device, int64_t member)
{
    double seconds = 0.0;

    (void)gntx_json_to_number(gntx_json_at(gntx_json_at(gntx_json_find(plan, "matrix"), device), member),
                              &seconds);
    return seconds;
}

static void print_seconds(const gntx_json *plan, int64_t num_devices, int64_t num_members)
{
    const gntx_json *members = gntx_json_find(plan, "members");
    char text[CLI_FORMAT_BYTES];

    printf("\n  device");
    for (int64_t m = 0; m < num_members; m++)
        printf("  %7s", text_of(gntx_json_at(members, m), "name"));
    for (int64_t d = 0; d < num_devices; d++) {
        printf("\n  %-6lld", (long long)d);
        for (int64_t m = 0; m < num_members; m++)
            printf("  %7s", cell_of(plan, d, m) > 0.0 ? cli_format_seconds(cell_of(plan, d, m), text) : ".");
    }
    printf("\n");
}

static void print_letters(const gntx_json *plan, int64_t num_devices, int64_t num_members)
{
    const gntx_json *members = gntx_json_find(plan, "members");

    for (int64_t first = 0; first < num_members; first += LETTERS_A_LINE) {
        const int64_t end = first + LETTERS_A_LINE < num_members ? first + LETTERS_A_LINE : num_members;

        printf("\n  device  %s to %s\n", text_of(gntx_json_at(members, first), "name"),
               text_of(gntx_json_at(members, end - 1), "name"));
        for (int64_t d = 0; d < num_devices; d++) {
            printf("  %-6lld  ", (long long)d);
            for (int64_t m = first; m < end; m++)
                printf("%s%c", m > first && m % 10 == 0 ? " " : "", cell_of(plan, d, m) > 0.0 ? '#' : '.');
            printf("\n");
        }
    }
}

gnt_status cli_print_plan(const gntx_json *plan)
{
    const int64_t members = gntx_json_length(gntx_json_find(plan, "members")),
                  groups = gntx_json_length(gntx_json_find(plan, "groups")),
                  devices = gntx_json_length(gntx_json_find(plan, "devices"));
    const table member_table = { { "member", "group", "seed", "epochs", "model", "differs" },
                                 6,
                                 members > MAX_MEMBERS ? MAX_MEMBERS : members,
                                 member_row };
    const table group_table = {
        { "group", "members", "memory", "epochs", "begin", "end", "devices" }, 7, groups, group_row
    };
    const table device_table = {
        { "device", "name", "speed", "memory", "limit", "busy" }, 6, devices, device_row
    };
    char makespan[CLI_FORMAT_BYTES], bound[CLI_FORMAT_BYTES];

    printf("%lld member%s in %lld group%s on %lld device%s: method %s, combine %s, policy %s\n",
           (long long)members, members == 1 ? "" : "s", (long long)groups, groups == 1 ? "" : "s",
           (long long)devices, devices == 1 ? "" : "s", text_of(plan, "method"), text_of(plan, "combine"),
           text_of(plan, "policy"));
    printf("predicted %s, no schedule below %s, devices busy %.0f %%\n",
           cli_format_seconds(number_of(plan, "makespan_seconds"), makespan),
           cli_format_seconds(number_of(plan, "lower_bound_seconds"), bound),
           100.0 * number_of(plan, "utilisation"));
    print_table(plan, &member_table);
    if (members > MAX_MEMBERS)
        printf("  ... and %lld more, which --json has\n", (long long)(members - MAX_MEMBERS));
    print_table(plan, &group_table);
    print_table(plan, &device_table);
    if (members <= MAX_WIDE)
        print_seconds(plan, devices, members);
    else
        print_letters(plan, devices, members);
    return cli_flush();
}
