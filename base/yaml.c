/* SPDX-License-Identifier: Apache-2.0 */
/* YAML documents as trees, from the events of libyaml: every key and value keeps its line. (libcyaml, which reads into C structs whose
 * shape is known beforehand, tells no line of what it has read.) The one file that knows libyaml.
 *
 * Nodes lie in document order in one array; a second pass lays the children of each behind one another:
 *   nodes    root, child, grandchild, ..., child, ...        child[first[n] .. first[n] + length[n]) are indexes of n's children
 * Texts lie in an arena. Nothing recurses: the open maps and lists are a stack of GNTI_YAML_MAX_DEPTH.
 */
#include "base/yaml.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/name.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { MAX_NODES = 4 << 20, PLACE_BYTES = 192 };

struct gnti_yaml_node {
    const gnti_yaml *doc;
    gnti_yaml_kind kind;
    int line;
    int32_t parent, first, length; /* parent -1: the root */
    int32_t number;                /* among its parent's children */
    const char *key, *text;
};

struct gnti_yaml {
    char *source;
    gnti_arena *arena;
    gnti_yaml_node *nodes;
    int32_t *child;
    int64_t num_nodes, capacity;
};

/* What is open while events come in. */
typedef struct builder {
    gnti_yaml *doc;
    int32_t open[GNTI_YAML_MAX_DEPTH];
    int depth;
    const char *key; /* read, its value comes next */
    int key_line;
    bool ended;
} builder;

void gnti_yaml_free(gnti_yaml **doc)
{
    if (*doc == NULL)
        return;
    gnti_free((*doc)->source);
    gnti_free((*doc)->nodes);
    gnti_free((*doc)->child);
    gnti_arena_free(&(*doc)->arena);
    gnti_free(*doc);
    *doc = NULL;
}

static bool wants_key(const builder *b)
{
    return b->depth > 0 && b->key == NULL && b->doc->nodes[b->open[b->depth - 1]].kind == GNTI_YAML_MAP;
}

/* A new node below the innermost open one; takes the key that waits. */
static gnt_status add_node(builder *b, gnti_yaml_kind kind, const char *text, int line)
{
    gnt_status st = GNT_OK;
    gnti_yaml *doc = b->doc;

    GNT_CHECK(doc->num_nodes < MAX_NODES, GNT_ERR_FORMAT, "'%s' line %d: more than %d values", doc->source,
              line, MAX_NODES);
    GNT_TRY(gnti_grow_array(&doc->nodes, &doc->capacity, doc->num_nodes + 1));
    doc->nodes[doc->num_nodes] = (gnti_yaml_node){
        .doc = doc,
        .kind = kind,
        .line = b->key == NULL ? line : b->key_line,
        .parent = b->depth == 0 ? -1 : b->open[b->depth - 1],
        .key = b->key,
        .text = text,
    };
    b->key = NULL;
    if (kind == GNTI_YAML_MAP || kind == GNTI_YAML_LIST) {
        GNT_CHECK(b->depth < GNTI_YAML_MAX_DEPTH, GNT_ERR_FORMAT,
                  "'%s' line %d: more than %d maps and lists inside one another", doc->source, line,
                  GNTI_YAML_MAX_DEPTH);
        b->open[b->depth++] = (int32_t)doc->num_nodes;
    }
    doc->num_nodes++;
done:
    return st;
}

static gnt_status take_scalar(builder *b, const yaml_event_t *e, int line)
{
    gnt_status st = GNT_OK;
    const char *value = (const char *)e->data.scalar.value;
    const bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const bool nothing = plain && (value[0] == '\0' || strcmp(value, "~") == 0 || strcmp(value, "null") == 0);
    char *text = NULL;

    GNT_CHECK(strlen(value) == e->data.scalar.length, GNT_ERR_FORMAT, "'%s' line %d: a zero byte in a text",
              b->doc->source, line);
    if (!nothing) {
        text = gnti_arena_strdup(b->doc->arena, value);
        GNT_TRY(gnti_arena_status(b->doc->arena));
    }
    if (!wants_key(b)) {
        GNT_TRY(add_node(b, nothing ? GNTI_YAML_NOTHING : GNTI_YAML_TEXT, text, line));
    } else {
        GNT_CHECK(!nothing && value[0] != '\0', GNT_ERR_FORMAT, "'%s' line %d: an empty key", b->doc->source,
                  line);
        b->key = text;
        b->key_line = line;
    }
done:
    return st;
}

static bool has_anchor_or_tag(const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_ALIAS_EVENT:
        return true;
    case YAML_SCALAR_EVENT:
        return e->data.scalar.anchor != NULL || e->data.scalar.tag != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return e->data.sequence_start.anchor != NULL || e->data.sequence_start.tag != NULL;
    case YAML_MAPPING_START_EVENT:
        return e->data.mapping_start.anchor != NULL || e->data.mapping_start.tag != NULL;
    default:
        return false;
    }
}

static gnt_status take_event(builder *b, const yaml_event_t *e)
{
    gnt_status st = GNT_OK;
    const int line = (int)e->start_mark.line + 1;

    GNT_CHECK(!has_anchor_or_tag(e), GNT_ERR_FORMAT, "'%s' line %d: anchors, aliases and tags are not read",
              b->doc->source, line);
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        GNT_CHECK(b->doc->num_nodes == 0, GNT_ERR_FORMAT, "'%s' line %d: a second document behind '---'",
                  b->doc->source, line);
        break;
    case YAML_SCALAR_EVENT:
        GNT_TRY(take_scalar(b, e, line));
        break;
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        GNT_CHECK(!wants_key(b), GNT_ERR_FORMAT, "'%s' line %d: a key must be a plain text", b->doc->source,
                  line);
        GNT_TRY(
            add_node(b, e->type == YAML_MAPPING_START_EVENT ? GNTI_YAML_MAP : GNTI_YAML_LIST, NULL, line));
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        break;
    case YAML_STREAM_END_EVENT:
        b->ended = true;
        break;
    default:
        break;
    }
done:
    return st;
}

static gnt_status parser_failed(const gnti_yaml *doc, const yaml_parser_t *p)
{
    const char *problem = p->problem == NULL ? "not YAML" : p->problem;

    if (p->error == YAML_MEMORY_ERROR)
        return gnti_error_set(GNT_ERR_NOMEM, __FILE__, __LINE__, __func__, "no memory to read '%s'",
                              doc->source);
    if (p->error == YAML_READER_ERROR)
        return gnti_error_set(GNT_ERR_FORMAT, __FILE__, __LINE__, __func__, "'%s' byte %zu: %s", doc->source,
                              p->problem_offset, problem);
    return gnti_error_set(GNT_ERR_FORMAT, __FILE__, __LINE__, __func__, "'%s' line %zu: %s", doc->source,
                          p->problem_mark.line + 1, problem);
}

static gnt_status read_events(gnti_yaml *doc, const char *text, size_t length)
{
    gnt_status st = GNT_OK;
    builder b = { .doc = doc };
    yaml_parser_t parser;
    yaml_event_t event;

    if (!yaml_parser_initialize(&parser))
        return gnti_error_set(GNT_ERR_NOMEM, __FILE__, __LINE__, __func__, "no memory to read '%s'",
                              doc->source);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    while (!b.ended) {
        if (!yaml_parser_parse(&parser, &event))
            GNT_TRY(parser_failed(doc, &parser));
        st = take_event(&b, &event);
        yaml_event_delete(&event);
        GNT_TRY(st);
    }
    if (doc->num_nodes == 0)
        GNT_TRY(add_node(&b, GNTI_YAML_MAP, NULL, 1));
    if (doc->nodes[0].kind == GNTI_YAML_NOTHING)
        doc->nodes[0].kind = GNTI_YAML_MAP;
done:
    yaml_parser_delete(&parser);
    return st;
}

/* Children lie behind one another, in document order: counted, placed, filled. */
static gnt_status link_children(gnti_yaml *doc)
{
    gnt_status st = GNT_OK;
    int32_t next = 0;

    GNT_TRY(gnti_alloc_array(&doc->child, doc->num_nodes));
    for (int64_t n = 1; n < doc->num_nodes; n++)
        doc->nodes[doc->nodes[n].parent].length++;
    for (int64_t n = 0; n < doc->num_nodes; n++) {
        doc->nodes[n].first = next;
        next += doc->nodes[n].length;
        doc->nodes[n].length = 0;
    }
    for (int64_t n = 1; n < doc->num_nodes; n++) {
        gnti_yaml_node *parent = &doc->nodes[doc->nodes[n].parent];

        doc->nodes[n].number = parent->length;
        doc->child[parent->first + parent->length++] = (int32_t)n;
    }
done:
    return st;
}

static bool same_key(const char *a, const char *b)
{
    while (*a != '\0' && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static gnt_status check_keys(const gnti_yaml *doc)
{
    gnt_status st = GNT_OK;

    for (int64_t n = 0; n < doc->num_nodes; n++) {
        const gnti_yaml_node *map = &doc->nodes[n];

        if (map->kind != GNTI_YAML_MAP)
            continue;
        if (map->length > GNTI_YAML_MAX_KEYS)
            return gnti_yaml_fail(map, GNT_ERR_FORMAT, "%d keys, the limit is %d", (int)map->length,
                                  GNTI_YAML_MAX_KEYS);
        for (int32_t i = 1; i < map->length; i++) {
            const gnti_yaml_node *entry = gnti_yaml_at(map, i);

            for (int32_t j = 0; j < i; j++)
                if (same_key(entry->key, gnti_yaml_key_at(map, j)))
                    GNT_TRY(gnti_yaml_fail(entry, GNT_ERR_FORMAT, "is set already in line %d",
                                           gnti_yaml_at(map, j)->line));
        }
    }
done:
    return st;
}

gnt_status gnti_yaml_parse(const char *text, size_t length, const char *source, gnti_yaml **out)
{
    gnt_status st = GNT_OK;
    gnti_yaml *doc = NULL;

    GNT_CHECK(length <= GNTI_YAML_MAX_BYTES, GNT_ERR_FORMAT, "'%s' has %zu bytes, the limit is %d", source,
              length, GNTI_YAML_MAX_BYTES);
    GNT_TRY(gnti_calloc_array(&doc, 1));
    GNT_TRY(gnti_strdup(&doc->source, source));
    GNT_TRY(gnti_arena_create(&doc->arena));
    GNT_TRY(read_events(doc, text, length));
    GNT_TRY(link_children(doc));
    GNT_TRY(check_keys(doc));
    *out = doc;
    doc = NULL;
done:
    gnti_yaml_free(&doc);
    return st;
}

gnt_status gnti_yaml_read(const char *path, gnti_yaml **out)
{
    gnt_status st = GNT_OK;
    char *text = NULL;
    size_t length = 0;

    GNT_TRY(gnti_file_read_all(path, GNTI_YAML_MAX_BYTES, &text, &length));
    GNT_TRY(gnti_yaml_parse(text, length, path, out));
done:
    gnti_free(text);
    return st;
}

const gnti_yaml_node *gnti_yaml_root(const gnti_yaml *doc)
{
    return &doc->nodes[0];
}

gnti_yaml_kind gnti_yaml_get_kind(const gnti_yaml_node *node)
{
    return node->kind;
}

int gnti_yaml_line(const gnti_yaml_node *node)
{
    return node->line;
}

const char *gnti_yaml_get_text(const gnti_yaml_node *node)
{
    return node->kind == GNTI_YAML_TEXT ? node->text : NULL;
}

int64_t gnti_yaml_length(const gnti_yaml_node *node)
{
    return node->length;
}

const gnti_yaml_node *gnti_yaml_at(const gnti_yaml_node *node, int64_t index)
{
    return index < 0 || index >= node->length ? NULL
                                              : &node->doc->nodes[node->doc->child[node->first + index]];
}

const char *gnti_yaml_key_at(const gnti_yaml_node *map, int64_t index)
{
    const gnti_yaml_node *entry = gnti_yaml_at(map, index);

    return entry == NULL ? NULL : entry->key;
}

const gnti_yaml_node *gnti_yaml_find(const gnti_yaml_node *map, const char *key)
{
    for (int32_t i = 0; map->kind == GNTI_YAML_MAP && i < map->length; i++)
        if (same_key(gnti_yaml_key_at(map, i), key))
            return gnti_yaml_at(map, i);
    return NULL;
}

/* "vary[1].low", "" for the root; what does not fit loses its front. */
static void put_place(const gnti_yaml_node *node, char out[PLACE_BYTES])
{
    char piece[PLACE_BYTES], rest[PLACE_BYTES] = "";

    for (; node->parent >= 0; node = &node->doc->nodes[node->parent]) {
        const char *between = rest[0] == '\0' || rest[0] == '[' ? "" : ".";

        if (node->key != NULL)
            snprintf(piece, sizeof piece, "%.60s%s", node->key, between);
        else
            snprintf(piece, sizeof piece, "[%d]%s", (int)node->number, between);
        if (strlen(piece) + strlen(rest) + 1 > sizeof rest)
            break;
        memmove(rest + strlen(piece), rest, strlen(rest) + 1);
        memcpy(rest, piece, strlen(piece));
    }
    memcpy(out, rest, PLACE_BYTES);
}

static void prefix_place(const gnti_yaml_node *node)
{
    char place[PLACE_BYTES];

    put_place(node, place);
    gnti_error_prefix("'%s' line %d%s%s: ", node->doc->source, node->line, place[0] == '\0' ? "" : ", ",
                      place);
}

gnt_status gnti_yaml_fail(const gnti_yaml_node *node, gnt_status code, const char *format, ...)
{
    char text[GNTI_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)gnti_error_set(code, __FILE__, __LINE__, __func__, "%s", text);
    prefix_place(node);
    return code;
}

gnt_status gnti_yaml_blame(const gnti_yaml_node *node, gnt_status st)
{
    if (st == GNT_ERR_USAGE || st == GNT_ERR_ARG)
        return gnti_yaml_fail(node, GNT_ERR_FORMAT, "%s", gnt_last_error());
    if (st != GNT_OK)
        prefix_place(node);
    return st;
}

gnt_status gnti_yaml_expect(const gnti_yaml_node *node, gnti_yaml_kind kind)
{
    static const char *const names[] = { "nothing", "a plain value", "a list", "a map of keys and values" };

    if (node->kind == kind)
        return GNT_OK;
    return gnti_yaml_fail(node, GNT_ERR_FORMAT, "expected %s, found %s", names[kind], names[node->kind]);
}
