/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.jsonl and metrics.csv: one line an epoch with epoch, train_loss, valid_loss, metric, train_metric,
 * valid_metric, seconds, eval_seconds. What was not evaluated is null (JSON) or empty (CSV). Runs on a virtual clock
 * also have virtual_seconds (JSON).
 *
 * Lines are put together here and not by base/json.c, since an epoch must not allocate. Files are opened for each line:
 * thousands of seeds need no thousands of descriptors. A torn last line (a kill, a full disk) is cut at the next start.
 */
#include "train/run_internal.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 640, MAX_METRICS_BYTES = 1 << 30 };

#define CSV_HEADER "epoch,train_loss,valid_loss,metric,train_metric,valid_metric,seconds,eval_seconds\n"

typedef struct metrics_row {
    int64_t epoch;
    const char *metric;
    double train_loss, valid_loss, train_metric, valid_metric, seconds, eval_seconds, virtual_seconds;
} metrics_row;

static void number(double value, const char *nothing, char out[GNTI_NUMBER_BYTES])
{
    if (isfinite(value))
        gnti_format_double(value, out);
    else
        snprintf(out, GNTI_NUMBER_BYTES, "%s", nothing);
}

static gnt_status write_row(const char *jsonl, const char *csv, const metrics_row *r)
{
    gnt_status st = GNT_OK;
    const double values[] = { r->train_loss,   r->valid_loss, r->train_metric,
                              r->valid_metric, r->seconds,    r->eval_seconds };
    char n[6][GNTI_NUMBER_BYTES], line[LINE_BYTES], more[GNTI_NUMBER_BYTES + 24] = "";
    int length = 0;

    if (isfinite(r->virtual_seconds)) {
        number(r->virtual_seconds, "null", n[0]);
        snprintf(more, sizeof more, ",\"virtual_seconds\":%s", n[0]);
    }
    for (int i = 0; i < 6; i++)
        number(values[i], "null", n[i]);
    length =
        snprintf(line, sizeof line,
                 "{\"epoch\":%lld,\"train_loss\":%s,\"valid_loss\":%s,\"metric\":\"%s\",\"train_metric\":%s,"
                 "\"valid_metric\":%s,\"seconds\":%s,\"eval_seconds\":%s%s}\n",
                 (long long)r->epoch, n[0], n[1], r->metric, n[2], n[3], n[4], n[5], more);
    GNT_TRY(gnti_run_append(jsonl, line, (size_t)length));
    for (int i = 0; i < 6; i++)
        number(values[i], "", n[i]);
    length = snprintf(line, sizeof line, "%lld,%s,%s,%s,%s,%s,%s,%s\n", (long long)r->epoch, n[0], n[1],
                      r->metric, n[2], n[3], n[4], n[5]);
    GNT_TRY(gnti_run_append(csv, line, (size_t)length));
done:
    return st;
}

gnt_status gnti_run_write_metrics(gnti_run *run, const gnt_trainer *tr, const gnt_epoch_stats *stats)
{
    gnt_status st = GNT_OK;
    metrics_row row = { .epoch = stats->epoch,
                        .metric = stats->metric,
                        .train_loss = stats->train_loss,
                        .valid_loss = stats->valid_loss,
                        .train_metric = stats->train_metric,
                        .valid_metric = stats->valid_metric,
                        .seconds = stats->seconds,
                        .eval_seconds = stats->eval_seconds,
                        .virtual_seconds = stats->virtual_seconds };

    GNT_TRY(write_row(run->top.jsonl, run->top.csv, &row));
    for (int32_t m = 0; run->seeds != NULL && m < run->num_members; m++) {
        if (!tr->live[m]) /* it stopped earlier: a lone run would have ended */
            continue;
        row.train_loss = stats->member_train_loss[m];
        row.valid_loss = stats->member_valid_loss[m];
        row.train_metric = stats->member_train_metric[m];
        row.valid_metric = stats->member_valid_metric[m];
        GNT_TRY(write_row(run->seeds[m].jsonl, run->seeds[m].csv, &row));
    }
done:
    return st;
}

gnt_status gnti_folder_write_metrics(const char *folder, const gnt_epoch_stats *stats, int32_t member)
{
    gnt_status st = GNT_OK;
    char *jsonl = NULL, *csv = NULL;
    const metrics_row row = { .epoch = stats->epoch,
                              .metric = stats->metric,
                              .train_loss = stats->member_train_loss[member],
                              .valid_loss = stats->member_valid_loss[member],
                              .train_metric = stats->member_train_metric[member],
                              .valid_metric = stats->member_valid_metric[member],
                              .seconds = stats->seconds,
                              .eval_seconds = stats->eval_seconds,
                              .virtual_seconds = stats->virtual_seconds };

    GNT_TRY(gnti_path_join(folder, "metrics.jsonl", &jsonl));
    GNT_TRY(gnti_path_join(folder, "metrics.csv", &csv));
    GNT_TRY(write_row(jsonl, csv, &row));
done:
    gnti_free(jsonl);
    gnti_free(csv);
    return st;
}

/* The epoch of a line: of its JSON member, or its first CSV field; -1 for anything else. */
static int64_t epoch_of(const char *line, size_t length, bool json)
{
    int64_t epoch = -1;
    gnti_json *value = NULL;

    if (!json) {
        const char *comma = memchr(line, ',', length);

        if (comma == NULL || gnti_parse_int64(line, (size_t)(comma - line), &epoch) != GNTI_PARSE_OK)
            return -1;
        return epoch;
    }
    if (gnti_json_parse(line, length, "metrics", &value) != GNT_OK)
        return -1;
    if (gnti_json_get_int(value, "epoch", &epoch) != GNT_OK)
        epoch = -1;
    gnti_json_free(&value);
    return epoch;
}

/* How many bytes from the start are whole lines of epochs up to `epoch`. */
static size_t sound_bytes(const char *text, size_t bytes, size_t from, int64_t epoch, bool json)
{
    size_t good = from;

    while (good < bytes) {
        const char *end = memchr(text + good, '\n', bytes - good);
        const int64_t at = end != NULL ? epoch_of(text + good, (size_t)(end - text) - good, json) : -1;

        if (at < 1 || at > epoch)
            break;
        good = (size_t)(end - text) + 1;
    }
    return good;
}

static gnt_status cut_file(const char *path, int64_t epoch, bool json)
{
    gnt_status st = GNT_OK;
    char *text = NULL;
    size_t bytes = 0, good = 0;
    const char *header = json ? "" : CSV_HEADER;
    const size_t header_bytes = strlen(header);

    if (gnti_file_exists(path) && epoch > 0)
        GNT_TRY(gnti_file_read_all(path, MAX_METRICS_BYTES, &text, &bytes));
    if (bytes >= header_bytes && memcmp(text != NULL ? text : "", header, header_bytes) == 0)
        good = sound_bytes(text, bytes, header_bytes, epoch, json);
    gnt_clear_error(); /* lines that did not parse are no errors of the run */
    if (text == NULL || good < header_bytes)
        GNT_TRY(gnti_file_write_all(path, header, header_bytes));
    else if (good != bytes)
        GNT_TRY(gnti_file_write_all(path, text, good));
done:
    gnti_free(text);
    return st;
}

static gnt_status cut_place(const gnti_run_place *place, int64_t epoch)
{
    gnt_status st = GNT_OK;

    GNT_TRY(cut_file(place->jsonl, epoch, true));
    GNT_TRY(cut_file(place->csv, epoch, false));
done:
    return st;
}

gnt_status gnti_folder_cut_metrics(const char *folder, int64_t epoch)
{
    gnt_status st = GNT_OK;
    char *jsonl = NULL, *csv = NULL;

    GNT_TRY(gnti_path_join(folder, "metrics.jsonl", &jsonl));
    GNT_TRY(gnti_path_join(folder, "metrics.csv", &csv));
    GNT_TRY(cut_file(jsonl, epoch, true));
    GNT_TRY(cut_file(csv, epoch, false));
done:
    gnti_free(jsonl);
    gnti_free(csv);
    return st;
}

gnt_status gnti_run_cut_metrics(gnti_run *run, int64_t epoch)
{
    gnt_status st = GNT_OK;

    GNT_TRY(cut_place(&run->top, epoch));
    for (int32_t m = 0; run->seeds != NULL && m < run->num_members; m++)
        GNT_TRY(cut_place(&run->seeds[m], epoch));
done:
    return st;
}

static gnt_status sync_file(const char *path)
{
    gnt_status st = GNT_OK;
    const int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? GNT_OK : gnti_error_errno(errno, 1, "open", path);
    st = gnti_fd_sync(fd, path);
    if (close(fd) != 0 && st == GNT_OK)
        st = gnti_error_errno(errno, 1, "close", path);
    return st;
}

gnt_status gnti_run_sync_metrics(gnti_run *run)
{
    gnt_status st = GNT_OK;

    GNT_TRY(sync_file(run->top.jsonl));
    GNT_TRY(sync_file(run->top.csv));
    for (int32_t m = 0; run->seeds != NULL && m < run->num_members; m++) {
        GNT_TRY(sync_file(run->seeds[m].jsonl));
        GNT_TRY(sync_file(run->seeds[m].csv));
    }
done:
    return st;
}
