/* SPDX-License-Identifier: Apache-2.0 */
/* What the command and plug-ins need beyond the stable interface. No promise: it changes with every version.
 * Functions are called gntx_*; modules add theirs below under their heading.
 */
#ifndef GNNTRAIN_EXPERIMENTAL_H
#define GNNTRAIN_EXPERIMENTAL_H

#include <gnntrain/gnntrain.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options, facts, files, threads (base/) ---- */
/* Where a value came from, in ascending rank. */
typedef enum gntx_origin {
    GNTX_ORIGIN_DEFAULT,
    GNTX_ORIGIN_USER_FILE,
    GNTX_ORIGIN_CONFIG_FILE,
    GNTX_ORIGIN_ENVIRONMENT,
    GNTX_ORIGIN_FLAG
} gntx_origin;

/* See base/option.h; texts in the struct are owned by it, gntx_options_free_texts releases them. */
GNT_API gnt_status gntx_options_defaults(const gnt_option *table, void *object);
GNT_API void gntx_options_free_texts(const gnt_option *table, void *object);
GNT_API gnt_status gntx_option_set(const gnt_option *option, void *object, const char *text);
GNT_API gnt_status gntx_option_get(const gnt_option *option, const void *object, char *out, size_t out_bytes);
GNT_API gnt_status gntx_options_from_yaml(const gnt_option *table, void *object, const char *path, gntx_origin *origin,
                                          gntx_origin from);
GNT_API gnt_status gntx_options_to_yaml(const gnt_option *table, const void *object, const gntx_origin *origin, char **out);
/* The nearest of some names to an unknown one, or NULL. */
GNT_API const char *gntx_name_nearest(const char *const *names, size_t num_names, const char *name);

/* Facts as JSON; see base/json.h. A root is freed with gntx_json_free, children are lent. */
typedef struct gntx_json gntx_json;
GNT_API gnt_status gntx_json_create_object(gntx_json **out);
GNT_API void gntx_json_free(gntx_json **root);
GNT_API gnt_status gntx_json_set_int(gntx_json *object, const char *key, int64_t value);
GNT_API gnt_status gntx_json_set_number(gntx_json *object, const char *key, double value);
GNT_API gnt_status gntx_json_set_bool(gntx_json *object, const char *key, bool value);
GNT_API gnt_status gntx_json_set_text(gntx_json *object, const char *key, const char *value);
GNT_API gnt_status gntx_json_set_object(gntx_json *object, const char *key, gntx_json **out_child);
GNT_API gnt_status gntx_json_set_array(gntx_json *object, const char *key, gntx_json **out_child);
GNT_API gnt_status gntx_json_append_object(gntx_json *array, gntx_json **out_child);
GNT_API gnt_status gntx_json_append_text(gntx_json *array, const char *value);
GNT_API const gntx_json *gntx_json_find(const gntx_json *object, const char *key);
GNT_API int64_t gntx_json_length(const gntx_json *array_or_object);
GNT_API const gntx_json *gntx_json_at(const gntx_json *array, int64_t index);
GNT_API const char *gntx_json_key_at(const gntx_json *object, int64_t index);
GNT_API bool gntx_json_is_object(const gntx_json *value);
GNT_API bool gntx_json_is_array(const gntx_json *value);
GNT_API bool gntx_json_to_int(const gntx_json *value, int64_t *out);
GNT_API bool gntx_json_to_number(const gntx_json *value, double *out);
GNT_API const char *gntx_json_to_text(const gntx_json *value);
GNT_API gnt_status gntx_json_print(const gntx_json *root, bool pretty, char **out);
GNT_API gnt_status gntx_json_read(const char *path, gntx_json **out);

/* Texts and arrays that this header hands out are freed here. */
GNT_API void gntx_free(void *block);

/* A file in one step that shows complete or not at all; a folder with those above it. */
GNT_API gnt_status gntx_file_write(const char *path, const char *text);
GNT_API gnt_status gntx_folder_create(const char *path);

GNT_API double gntx_clock_seconds(void);  /* never backwards */
GNT_API int32_t gntx_num_cores(void);     /* that this process may use */
GNT_API int64_t gntx_peak_bytes(void);    /* of the library's host memory so far */

/* ---- charts and pages (report/) ---- */

/* ---- import, generate, check, info, split (datasets/) ---- */

/* ---- explain, estimate (nn/) ---- */

/* ---- training, evaluation, prediction (train/) ---- */
/* The options of gnt_trainer_config, one row a field. Texts of a config filled through the table are owned by it. */
GNT_API const gnt_option *gntx_trainer_options(void);

#ifdef __cplusplus
}
#endif
#endif
