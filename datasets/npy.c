/* SPDX-License-Identifier: Apache-2.0 */
/* The .npy format, numpy's NEP 1: magic "\x93NUMPY", version, length of the header, a Python dict as text
 *
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * and the items. The header is parsed by its grammar, nothing is evaluated. Memory grows with the data that
 * is there and not with the sizes that a header claims.
 */
#include "datasets/npy.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

enum { MAGIC_BYTES = 10, MAX_HEADER = 65536, MAX_ITEM = 1 << 20 };

/* ---- bytes of the open member ---- */

typedef struct member_bytes {
    char *data;
    int64_t length, capacity;
} member_bytes;

static gnt_status append(member_bytes *m, const char *block, size_t bytes)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&m->data, &m->capacity, m->length + (int64_t)bytes));
    memcpy(m->data + m->length, block, bytes);
    m->length += (int64_t)bytes;
done:
    return st;
}

/* Reads on until `wanted` bytes are there (or the end: less); -1: all. */
static gnt_status read_up_to(gnti_byte_source *source, member_bytes *m, int64_t wanted)
{
    gnt_status st = GNT_OK;
    const char *block;
    size_t bytes = 1;

    while ((wanted < 0 || m->length < wanted) && bytes > 0) {
        GNT_TRY(gnti_byte_source_next(source, &block, &bytes));
        if (bytes > 0)
            GNT_TRY(append(m, block, bytes));
    }
done:
    return st;
}

/* ---- the header ---- */

/* Value behind 'key': in the header; NULL: not there. */
static const char *find_key(const char *header, const char *key)
{
    const char *p = strstr(header, key);

    if (p == NULL)
        return NULL;
    p += strlen(key);
    while (*p == ' ' || *p == ':')
        p++;
    return p;
}

static bool parse_type(gnti_npy *a, const char *p)
{
    int64_t size = 0;
    char order;

    if (*p != '\'')
        return false;
    order = *++p;
    if (order == '<' || order == '>' || order == '|' || order == '=')
        p++;
    a->kind = *p++;
    while (*p >= '0' && *p <= '9' && size < MAX_ITEM)
        size = size * 10 + (*p++ - '0');
    if (*p != '\'' || strchr("biufUSO", a->kind) == NULL || a->kind == '\0')
        return false;
    a->swapped = order == '>';
    if (a->kind == 'O')
        return true;
    if (size < 0 || size >= MAX_ITEM / 4 || (a->kind != 'U' && a->kind != 'S' && size == 0))
        return false;
    a->item_bytes = (int)(a->kind == 'U' ? 4 * size : size);
    if (a->kind == 'f')
        return size == 2 || size == 4 || size == 8;
    return a->kind == 'U' || a->kind == 'S' || (a->kind == 'b' && size == 1) || size == 1 || size == 2 ||
           size == 4 || size == 8;
}

static bool parse_shape(gnti_npy *a, const char *p)
{
    a->count = 1;
    if (*p++ != '(')
        return false;
    for (;;) {
        const char *start;
        int64_t size;

        while (*p == ' ' || *p == ',')
            p++;
        if (*p == ')')
            return true;
        for (start = p; *p >= '0' && *p <= '9';)
            p++;
        if (a->num_dimensions == GNTI_NPY_MAX_DIMENSIONS ||
            gnti_parse_int64(start, (size_t)(p - start), &size) != GNTI_PARSE_OK ||
            __builtin_mul_overflow(a->count, size, &a->count))
            return false;
        a->shape[a->num_dimensions++] = size;
    }
}

static gnt_status parse_header(const char *source, char *header, gnti_npy *a)
{
    gnt_status st = GNT_OK;
    const char *type = find_key(header, "'descr'"), *order = find_key(header, "'fortran_order'");
    const char *shape = find_key(header, "'shape'");

    GNT_CHECK(type != NULL && order != NULL && shape != NULL && parse_type(a, type) && parse_shape(a, shape),
              GNT_ERR_FORMAT,
              "'%s', array '%s': its header is no numpy array of numbers or text of at most %d dimensions",
              source, a->name, GNTI_NPY_MAX_DIMENSIONS);
    GNT_CHECK(strncmp(order, "True", 4) == 0 || strncmp(order, "False", 5) == 0, GNT_ERR_FORMAT,
              "'%s', array '%s': fortran_order is neither True nor False", source, a->name);
    a->fortran = order[0] == 'T' && a->num_dimensions > 1;
done:
    return st;
}

/* Splits magic, version and header off; *data_at is where the items start. */
static gnt_status read_header(gnti_byte_source *source, const char *source_name, member_bytes *m, gnti_npy *a,
                              int64_t *data_at)
{
    gnt_status st = GNT_OK;
    int64_t length, at = MAGIC_BYTES;
    const unsigned char *b;
    char *header = NULL;

    GNT_TRY(read_up_to(source, m, MAGIC_BYTES + 2));
    b = (const unsigned char *)m->data;
    GNT_CHECK(m->length >= MAGIC_BYTES + 2 && memcmp(b, "\x93NUMPY", 6) == 0 && b[6] >= 1 && b[6] <= 3,
              GNT_ERR_FORMAT, "'%s', array '%s': not in numpy's format", source_name, a->name);
    length = b[8] | b[9] << 8;
    if (b[6] >= 2) { /* versions 2 and 3 have four bytes of length */
        length |= (int64_t)b[10] << 16 | (int64_t)b[11] << 24;
        at += 2;
    }
    GNT_CHECK(length <= MAX_HEADER, GNT_ERR_FORMAT,
              "'%s', array '%s': a header of %lld bytes, the limit is %d", source_name, a->name,
              (long long)length, MAX_HEADER);
    GNT_TRY(read_up_to(source, m, at + length));
    GNT_CHECK(m->length >= at + length, GNT_ERR_FORMAT, "'%s', array '%s': cut within its header",
              source_name, a->name);
    GNT_TRY(gnti_alloc_array(&header, length + 1));
    memcpy(header, m->data + at, (size_t)length);
    header[length] = '\0';
    GNT_TRY(parse_header(source_name, header, a));
    *data_at = at + length;
done:
    gnti_free(header);
    return st;
}

static gnt_status read_array(gnti_byte_source *source, const char *source_name, gnti_npy *a)
{
    gnt_status st = GNT_OK;
    member_bytes m = { NULL, 0, 0 };
    int64_t data_at = 0, bytes = 0;

    GNT_TRY(read_header(source, source_name, &m, a, &data_at));
    if (a->kind == 'O')
        goto done;
    GNT_CHECK(!__builtin_mul_overflow(a->count, (int64_t)a->item_bytes, &bytes) && bytes <= INT64_MAX / 2,
              GNT_ERR_FORMAT, "'%s', array '%s': its shape is impossible", source_name, a->name);
    GNT_TRY(read_up_to(source, &m, data_at + bytes + 1));
    GNT_CHECK(m.length == data_at + bytes, GNT_ERR_FORMAT,
              "'%s', array '%s': %lld bytes of items, but its shape makes %lld", source_name, a->name,
              (long long)(m.length - data_at), (long long)bytes);
    memmove(m.data, m.data + data_at, (size_t)bytes);
    a->data = m.data;
    m.data = NULL; /* handed over */
done:
    gnti_free(m.data);
    return st;
}

static gnt_status add_member(gnti_npz *npz, const char *name, gnti_npy **out)
{
    gnt_status st = GNT_OK;
    gnti_npy *a;
    size_t length;

    GNT_TRY(gnti_realloc_array(&npz->members, npz->num_members + 1));
    a = &npz->members[npz->num_members];
    memset(a, 0, sizeof *a);
    npz->num_members++;
    GNT_TRY(gnti_strdup(&a->name, name));
    length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".npy") == 0)
        a->name[length - 4] = '\0';
    *out = a;
done:
    return st;
}

gnt_status gnti_npz_read(gnti_byte_source *source, gnti_npz *out)
{
    gnt_status st = GNT_OK;
    gnti_npz npz = { .source = gnti_byte_source_name(source) };
    gnti_npy *a = NULL;
    const char *name = NULL;

    GNT_CHECK(gnti_byte_source_is_zip(source), GNT_ERR_FORMAT, "'%s' is no npz: it is no zip archive",
              npz.source);
    for (;;) {
        GNT_TRY(gnti_byte_source_next_member(source, &name));
        if (name == NULL)
            break;
        GNT_TRY(add_member(&npz, name, &a));
        GNT_TRY(read_array(source, npz.source, a));
    }
    *out = npz;
    memset(&npz, 0, sizeof npz); /* handed over */
done:
    gnti_npz_clear(&npz);
    return st;
}

gnt_status gnti_npy_read(gnti_byte_source *source, gnti_npz *out)
{
    gnt_status st = GNT_OK;
    gnti_npz npz = { .source = gnti_byte_source_name(source) };
    gnti_npy *a = NULL;

    GNT_TRY(add_member(&npz, "array", &a));
    GNT_TRY(read_array(source, npz.source, a));
    *out = npz;
    memset(&npz, 0, sizeof npz); /* handed over */
done:
    gnti_npz_clear(&npz);
    return st;
}

gnt_status gnti_npy_read_head(const char *source, const void *bytes, size_t num_bytes, gnti_npy *out,
                              int64_t *data_at)
{
    gnt_status st = GNT_OK;
    char name[] = "array";
    gnti_npy a = { .name = name };
    gnti_byte_source *head = NULL;
    member_bytes m = { NULL, 0, 0 };

    num_bytes = num_bytes < 2 * MAX_HEADER ? num_bytes : 2 * MAX_HEADER;
    GNT_TRY(gnti_byte_source_open_memory(source, bytes, num_bytes, &head));
    GNT_TRY(read_header(head, source, &m, &a, data_at));
    a.name = NULL;
    *out = a;
done:
    gnti_byte_source_free(&head);
    gnti_free(m.data);
    return st;
}

void gnti_npz_clear(gnti_npz *npz)
{
    for (int64_t i = 0; i < npz->num_members; i++) {
        gnti_free(npz->members[i].name);
        gnti_free(npz->members[i].data);
    }
    gnti_free(npz->members);
    memset(npz, 0, sizeof *npz);
}

const gnti_npy *gnti_npz_find(const gnti_npz *npz, const char *name)
{
    for (int64_t i = 0; i < npz->num_members; i++)
        if (strcmp(npz->members[i].name, name) == 0)
            return &npz->members[i];
    return NULL;
}

gnt_status gnti_npz_find_readable(const gnti_npz *npz, const char *name, const gnti_npy **out)
{
    gnt_status st = GNT_OK;

    *out = gnti_npz_find(npz, name);
    GNT_CHECK(
        *out == NULL || (*out)->kind != 'O', GNT_ERR_FORMAT,
        "'%s', array '%s' holds pickled objects, which are never executed: save its parts as plain arrays",
        npz->source, name);
done:
    return st;
}

/* ---- items ---- */

/* Bytes of item i of the C order. */
static const char *item_at(const gnti_npy *a, int64_t i)
{
    if (a->fortran) { /* the first index runs fastest */
        int64_t rest = i, at = 0, stride = a->count;

        for (int d = a->num_dimensions - 1; d >= 0; d--) {
            stride /= a->shape[d];
            at += rest % a->shape[d] * stride;
            rest /= a->shape[d];
        }
        i = at;
    }
    return a->data + i * a->item_bytes;
}

static uint64_t load(const gnti_npy *a, const char *item)
{
    uint64_t bits = 0;

    for (int b = 0; b < a->item_bytes; b++)
        bits |= (uint64_t)(unsigned char)item[a->swapped ? a->item_bytes - 1 - b : b] << 8 * b;
    return bits;
}

static double half_to_double(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double fraction = (double)(bits & 1023), sign = bits >> 15 ? -1.0 : 1.0;

    if (exponent == 31)
        return bits & 1023 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024.0, exponent - 25));
}

static double load_float(const gnti_npy *a, const char *item)
{
    const uint64_t bits = load(a, item);
    const uint32_t low = (uint32_t)bits;
    float single;
    double value;

    if (a->item_bytes == 2)
        return half_to_double(bits);
    if (a->item_bytes == 4) {
        memcpy(&single, &low, sizeof single);
        return (double)single;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Sign-extends an item of kind i. */
static int64_t load_signed(const gnti_npy *a, const char *item)
{
    const int unused = 64 - 8 * a->item_bytes;

    return (int64_t)(load(a, item) << unused) >> unused;
}

gnt_status gnti_npy_i64(const gnti_npz *npz, const gnti_npy *array, int64_t i, int64_t *out)
{
    gnt_status st = GNT_OK;
    const char *item = item_at(array, i);
    uint64_t bits;
    double value;

    switch (array->kind) {
    case 'i':
        *out = load_signed(array, item);
        break;
    case 'b':
    case 'u':
        bits = load(array, item);
        GNT_CHECK(bits <= INT64_MAX, GNT_ERR_FORMAT,
                  "'%s', array '%s', item %lld does not fit 64 bits with a sign", npz->source, array->name,
                  (long long)i);
        *out = (int64_t)bits;
        break;
    case 'f':
        value = load_float(array, item);
        GNT_CHECK(value >= -0x1p53 && value <= 0x1p53 && !(rint(value) < value) && !(rint(value) > value),
                  GNT_ERR_FORMAT, "'%s', array '%s', item %lld is %g, an integer was expected", npz->source,
                  array->name, (long long)i, value);
        *out = (int64_t)value;
        break;
    default:
        GNT_FAIL(GNT_ERR_FORMAT, "'%s', array '%s' holds no numbers", npz->source, array->name);
    }
done:
    return st;
}

gnt_status gnti_npy_float(const gnti_npz *npz, const gnti_npy *array, int64_t i, float *out)
{
    gnt_status st = GNT_OK;
    const char *item = item_at(array, i);
    double value = 0.0;

    switch (array->kind) {
    case 'i':
        value = (double)load_signed(array, item);
        break;
    case 'b':
    case 'u':
        value = (double)load(array, item);
        break;
    case 'f':
        value = load_float(array, item);
        break;
    default:
        GNT_FAIL(GNT_ERR_FORMAT, "'%s', array '%s' holds no numbers", npz->source, array->name);
    }
    GNT_CHECK(isfinite((float)value), GNT_ERR_FORMAT,
              "'%s', array '%s', item %lld is %g, not finite in float32", npz->source, array->name,
              (long long)i, value);
    *out = (float)value;
done:
    return st;
}

static int put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7));
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

gnt_status gnti_npy_text(const gnti_npy *array, int64_t i, char **buffer, int64_t *capacity)
{
    gnt_status st = GNT_OK;
    const char *item = item_at(array, i);
    int64_t length = 0;

    GNT_TRY(gnti_grow_array(buffer, capacity, array->item_bytes + 5));
    if (array->kind == 'S') {
        memcpy(*buffer, item, (size_t)array->item_bytes);
        length = array->item_bytes;
    } else {
        for (int at = 0; at < array->item_bytes; at += 4) {
            const gnti_npy word = { .item_bytes = 4, .swapped = array->swapped };
            const uint32_t c = (uint32_t)load(&word, item + at);

            if (c == 0)
                break;
            length += put_utf8(*buffer + length, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
        }
    }
    (*buffer)[length] = '\0';
done:
    return st;
}
