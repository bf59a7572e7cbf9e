/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain export: a run's best weights as a safetensors file, which other tools read with a few lines.
 *
 *   8 bytes  length of the header, little-endian
 *   header   JSON: {"__metadata__": {text: text}, NAME: {"dtype": "F32", "shape": [in, out], "data_offsets": [a, b]}, ...},
 *            filled up with spaces so that the data start at a multiple of 8
 *   data     float32, little-endian, (in, out) by rows: y = x W + b
 * A run of several seeds has every parameter once a member, as "seed-S.NAME".
 * (github.com/huggingface/safetensors, "Format")
 */
#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/file.h"
#include "train/trained.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 512, ALIGN = 8, FORMAT_SAFETENSORS = 0 };

static const gnt_option export_table[] = {
    GNT_OPTION_WORD("format", gntx_export_options, format, FORMAT_SAFETENSORS, "safetensors", "of the file"),
    GNT_OPTION_INT("seed", gntx_export_options, seed, -1, -1, 9007199254740992.0,
                   "which of several seeds, -1: all, under names of their own"),
    GNT_OPTION_END,
};

const gnt_option *gntx_export_option_table(void)
{
    return export_table;
}

/* What is written: the checkpoint's members first .. first + count - 1 of one block. */
typedef struct exported {
    gnti_trained run; /* its checkpoint alone */
    const float *block;
    int32_t first, count;
} exported;

static void name_of(const exported *e, int64_t param, int32_t member, char out[NAME_BYTES])
{
    const char *name = e->run.cp->params[param].name;

    if (e->count > 1)
        snprintf(out, NAME_BYTES, "seed-%lld.%s", (long long)gnti_trained_seed(&e->run, member), name);
    else
        snprintf(out, NAME_BYTES, "%s", name);
}

static size_t param_bytes(const gnti_checkpoint_param *p)
{
    return (size_t)(p->in * p->out) * sizeof(float);
}

/* Values of __metadata__ are texts. */
static gnt_status put_metadata(const exported *e, gnti_json *header)
{
    gnt_status st = GNT_OK;
    const gnti_json *model = gnti_json_find(e->run.cp->meta, "model"),
                    *data = gnti_json_find(e->run.cp->meta, "data");
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_set_object(header, "__metadata__", &o));
    GNT_TRY(gnti_json_set_text(o, "format", "gnntrain"));
    GNT_TRY(gnti_json_set_text(o, "version", GNT_VERSION));
    GNT_TRY(gnti_json_set_text(o, "layout", "(in, out) by rows: y = x W + b"));
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = { "text", "act", "norm" };
        static const char *const names[] = { "model", "act", "norm" };
        const char *text = gnti_json_to_text(gnti_json_find(model, keys[i]));

        if (text != NULL)
            GNT_TRY(gnti_json_set_text(o, names[i], text));
    }
    if (gnti_json_to_text(gnti_json_find(data, "content_sha256")) != NULL)
        GNT_TRY(
            gnti_json_set_text(o, "data_sha256", gnti_json_to_text(gnti_json_find(data, "content_sha256"))));
done:
    return st;
}

/* Parameters in the order of the checkpoint, members inside. */
static gnt_status make_header(const exported *e, char **out, int64_t *num_bytes)
{
    gnt_status st = GNT_OK;
    gnti_json *header = NULL, *tensor = NULL;
    int64_t at = 0;

    GNT_TRY(gnti_json_create_object(&header));
    GNT_TRY(put_metadata(e, header));
    for (int64_t i = 0; i < e->run.cp->num_params; i++)
        for (int32_t m = e->first; m < e->first + e->count; m++) {
            const gnti_checkpoint_param *p = &e->run.cp->params[i];
            const int64_t shape[] = { p->in, p->out }, span[] = { at, at + (int64_t)param_bytes(p) };
            char name[NAME_BYTES];

            name_of(e, i, m, name);
            GNT_TRY(gnti_json_set_object(header, name, &tensor));
            GNT_TRY(gnti_json_set_text(tensor, "dtype", "F32"));
            GNT_TRY(gnti_json_set_ints(tensor, "shape", shape, 2));
            GNT_TRY(gnti_json_set_ints(tensor, "data_offsets", span, 2));
            at = span[1];
        }
    GNT_TRY(gnti_json_print(header, false, out));
    *num_bytes = at;
done:
    gnti_json_free(&header);
    return st;
}

static gnt_status write_tensors(const exported *e, const char *header, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_file_writer *w = NULL;
    const size_t length = strlen(header), padded = (length + ALIGN - 1) / ALIGN * ALIGN;
    unsigned char size[8];

    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    GNT_TRY(gnti_file_writer_open(path, &w));
    GNT_TRY(gnti_file_writer_write(w, size, sizeof size));
    GNT_TRY(gnti_file_writer_write(w, header, length));
    GNT_TRY(gnti_file_writer_write(w, "        ", padded - length));
    for (int64_t i = 0; i < e->run.cp->num_params; i++) {
        const gnti_checkpoint_param *p = &e->run.cp->params[i];

        GNT_TRY(gnti_file_writer_write(w, e->block + p->offset + e->first * p->in * p->out,
                                       (size_t)e->count * param_bytes(p)));
    }
    GNT_TRY(gnti_file_writer_commit(&w));
done:
    gnti_file_writer_abandon(&w);
    return st;
}

static gnt_status make_report(const exported *e, const char *path, int64_t num_bytes, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_text(o, "checkpoint", e->run.cp->path));
    GNT_TRY(gnti_json_set_text(o, "output", path));
    GNT_TRY(gnti_json_set_text(o, "format", "safetensors"));
    GNT_TRY(gnti_json_set_int(o, "tensors", e->run.cp->num_params * e->count));
    GNT_TRY(gnti_json_set_int(o, "members", e->count));
    GNT_TRY(gnti_json_set_int(o, "bytes", num_bytes));
    *out = (gntx_json *)o;
    o = NULL; /* handed over */
done:
    gnti_json_free(&o);
    return st;
}

gnt_status gntx_export(const char *run, const gntx_export_options *options, const char *out_path,
                       gntx_json **report)
{
    gnt_status st = GNT_OK;
    exported e = { .count = 1 };
    const int64_t seed = options != NULL ? options->seed : -1;
    char *header = NULL;
    int64_t num_bytes = 0;

    GNT_CHECK(out_path != NULL && out_path[0] != '\0', GNT_ERR_ARG, "the output must be named");
    GNT_TRY(gnti_trained_checkpoint(run, &e.run.cp));
    e.run.num_members = e.run.cp->num_members;
    GNT_TRY(gntx_check_output(out_path, (const char *const[]){ e.run.cp->path }, 1));
    e.block = e.run.cp->block[gnti_trained_best_block(e.run.cp)];
    GNT_CHECK(e.block != NULL, GNT_ERR_FORMAT, "checkpoint '%s' holds no weights", e.run.cp->path);
    if (seed >= 0)
        GNT_TRY(gnti_trained_find_seed(&e.run, seed, &e.first));
    else
        e.count = e.run.num_members;
    GNT_TRY(make_header(&e, &header, &num_bytes));
    GNT_TRY(write_tensors(&e, header, out_path));
    if (report != NULL)
        GNT_TRY(make_report(&e, out_path, num_bytes, report));
done:
    gnti_free(header);
    gnti_trained_free(&e.run);
    return st;
}
