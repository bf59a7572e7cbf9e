/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects opened while running: users' layers, and back ends. */
#ifndef GNTI_BASE_PLUGIN_H
#define GNTI_BASE_PLUGIN_H

#include "base/check.h"

typedef struct gnti_plugin gnti_plugin;

/* ERR_IO tells the loader's reason. A path without '/' is looked for where the loader looks; use "./x.so" for
 * here. */
gnt_status gnti_plugin_open(const char *path, gnti_plugin **out);

/* The same, and it stays loaded until the process ends, closed or not. */
gnt_status gnti_plugin_open_lasting(const char *path, gnti_plugin **out);

/* A plug-in of ours: `name` is looked for beside the library or program that this code is part of, then in ../lib from
 * there. It stays loaded until the process ends, closed or not. ERR_UNSUPPORTED when there is none. */
gnt_status gnti_plugin_open_own(const char *name, gnti_plugin **out);

/* Code of the object must not run or be pointed to after this. */
void gnti_plugin_close(gnti_plugin **plugin);

/* Address of a symbol; ERR_FORMAT names object and symbol when it is missing. Functions: copy the bytes of
 * the pointer, see gnti_plugin_function. */
gnt_status gnti_plugin_symbol(gnti_plugin *plugin, const char *name, void **out);

typedef void (*gnti_plugin_fn)(void);
gnt_status gnti_plugin_function(gnti_plugin *plugin, const char *name, gnti_plugin_fn *out);

/* The folder of the object that holds this library's code (libgnntrain.so, or a program that links it statically), absolute;
 * to be freed. Files that belong to the library are found relative to it. */
gnt_status gnti_plugin_own_folder(char **out);

/* ERR_UNSUPPORTED unless the object was built for exactly our version, which may say more than the release; names both. */
gnt_status gnti_plugin_check_version(const gnti_plugin *plugin, const char *version, const char *ours);

#endif
