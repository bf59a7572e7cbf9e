/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: one row holds name, kind, place in a struct, default, bounds and help.
 *
 * The same table feeds command-line flags, the YAML file, the environment, --help, the man page, shell completion
 * and what a checkpoint stores; a layer uses it for the keys of the model text (`gin:64:eps=0.1`).
 */
#ifndef GNNTRAIN_OPTION_H
#define GNNTRAIN_OPTION_H

#include <gnntrain/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The member's C type follows the kind. */
typedef enum gnt_option_kind {
    GNT_OPTION_KIND_END,
    GNT_OPTION_KIND_BOOL,   /* bool */
    GNT_OPTION_KIND_INT,    /* int64_t */
    GNT_OPTION_KIND_FLOAT,  /* float */
    GNT_OPTION_KIND_DOUBLE, /* double */
    GNT_OPTION_KIND_WORD,   /* int32_t: index into `words` */
    GNT_OPTION_KIND_TEXT,   /* char *: owned by the struct, set and freed by the option functions */
    GNT_OPTION_KIND_LIST    /* char *: as TEXT, but a repeated flag appends with a comma */
} gnt_option_kind;

typedef struct gnt_option {
    const char *name; /* lower case, words joined by '-' */
    gnt_option_kind kind;
    size_t offset;
    double default_number;
    double min, max; /* of numbers, inclusive */
    const char *default_text;
    const char *words; /* "off|run|bitwise" */
    const char *help;  /* one line, with the unit */
    const char *group; /* heading in --help, NULL: as the row before */
} gnt_option;

#define GNT_OPTION_BOOL(name, type, member, def, help)                                                       \
    {                                                                                                        \
        (name), GNT_OPTION_KIND_BOOL, offsetof(type, member), (def), 0.0, 1.0, NULL, NULL, (help), NULL      \
    }
#define GNT_OPTION_INT(name, type, member, def, min, max, help)                                              \
    {                                                                                                        \
        (name), GNT_OPTION_KIND_INT, offsetof(type, member), (double)(def), (double)(min), (double)(max),    \
            NULL, NULL, (help), NULL                                                                         \
    }
#define GNT_OPTION_FLOAT(name, type, member, def, min, max, help)                                            \
    {                                                                                                        \
        (name), GNT_OPTION_KIND_FLOAT, offsetof(type, member), (def), (min), (max), NULL, NULL, (help), NULL \
    }
#define GNT_OPTION_DOUBLE(name, type, member, def, min, max, help)                                           \
    {                                                                                                        \
        (name), GNT_OPTION_KIND_DOUBLE, offsetof(type, member), (def), (min), (max), NULL, NULL, (help),     \
            NULL                                                                                             \
    }
#define GNT_OPTION_WORD(name, type, member, def, words, help)                                                \
    {                                                                                                        \
        (name), GNT_OPTION_KIND_WORD, offsetof(type, member), (double)(def), 0.0, 0.0, NULL, (words),        \
            (help), NULL                                                                                     \
    }
#define GNT_OPTION_TEXT(name, type, member, def, help)                                                       \
    {                                                                                                        \
        (name), GNT_OPTION_KIND_TEXT, offsetof(type, member), 0.0, 0.0, 0.0, (def), NULL, (help), NULL       \
    }
#define GNT_OPTION_LIST(name, type, member, def, help)                                                       \
    {                                                                                                        \
        (name), GNT_OPTION_KIND_LIST, offsetof(type, member), 0.0, 0.0, 0.0, (def), NULL, (help), NULL       \
    }
#define GNT_OPTION_GROUP(title)                                                                              \
    {                                                                                                        \
        (title), GNT_OPTION_KIND_END, 1, 0.0, 0.0, 0.0, NULL, NULL, NULL, (title)                            \
    }
#define GNT_OPTION_END                                                                                       \
    {                                                                                                        \
        NULL, GNT_OPTION_KIND_END, 0, 0.0, 0.0, 0.0, NULL, NULL, NULL, NULL                                  \
    }

#ifdef __cplusplus
}
#endif
#endif
