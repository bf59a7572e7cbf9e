/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen with its reasons kept: RTLD_NOW, so that a missing symbol shows here and not in the middle of a run;
 * RTLD_LOCAL, so that two plug-ins do not see each other.
 */
#include "base/plugin.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gnti_plugin {
    void *handle;
    char *path;
};

static gnt_status open_with(const char *path, int flags, gnti_plugin **out)
{
    gnt_status st = GNT_OK;
    gnti_plugin *p = NULL;

    GNT_TRY(gnti_calloc_array(&p, 1));
    GNT_TRY(gnti_strdup(&p->path, path));
    p->handle = dlopen(path, RTLD_NOW | flags);
    if (p->handle == NULL) {
        const char *reason = dlerror();

        GNT_FAIL(GNT_ERR_IO, "cannot open plug-in '%s': %s", path,
                 reason == NULL ? "no reason given" : reason);
    }
    *out = p;
    p = NULL;
done:
    gnti_plugin_close(&p);
    return st;
}

gnt_status gnti_plugin_open(const char *path, gnti_plugin **out)
{
    return open_with(path, RTLD_LOCAL, out);
}

gnt_status gnti_plugin_open_lasting(const char *path, gnti_plugin **out)
{
    return open_with(path, RTLD_LOCAL | RTLD_NODELETE, out);
}

void gnti_plugin_close(gnti_plugin **plugin)
{
    gnti_plugin *p = *plugin;

    if (p == NULL)
        return;
    if (p->handle != NULL)
        (void)dlclose(p->handle);
    gnti_free(p->path);
    gnti_free(p);
    *plugin = NULL;
}

gnt_status gnti_plugin_symbol(gnti_plugin *plugin, const char *name, void **out)
{
    gnt_status st = GNT_OK;
    void *address = dlsym(plugin->handle, name);

    GNT_CHECK(address != NULL, GNT_ERR_FORMAT, "plug-in '%s' has no symbol '%s'", plugin->path, name);
    *out = address;
done:
    return st;
}

gnt_status gnti_plugin_function(gnti_plugin *plugin, const char *name, gnti_plugin_fn *out)
{
    gnt_status st = GNT_OK;
    void *address = NULL;

    GNT_TRY(gnti_plugin_symbol(plugin, name, &address));
    memcpy(out, &address, sizeof address); /* ISO C has no cast from object to function pointers */
done:
    return st;
}

/* The program itself has no name in the loader's list: its path comes from the system then. */
gnt_status gnti_plugin_own_folder(char **out)
{
    gnt_status st = GNT_OK;
    Dl_info info;
    struct link_map *map = NULL;
    gnt_status (*self)(char **) = gnti_plugin_own_folder;
    void *address = NULL;
    char path[PATH_MAX], *slash;
    const char *name;

    memcpy(&address, &self, sizeof address);
    GNT_CHECK(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL,
              GNT_ERR_UNSUPPORTED, "the loader does not say where the library lies");
    name = map->l_name == NULL || map->l_name[0] == '\0' ? "/proc/self/exe" : map->l_name;
    GNT_CHECK(realpath(name, path) != NULL, GNT_ERR_UNSUPPORTED, "cannot find the folder of '%s'", name);
    slash = strrchr(path, '/');
    GNT_CHECK(slash != NULL, GNT_ERR_UNSUPPORTED, "'%s' has no folder", path);
    slash[slash == path] = '\0';
    GNT_TRY(gnti_strdup(out, path));
done:
    return st;
}

gnt_status gnti_plugin_open_own(const char *name, gnti_plugin **out)
{
    gnt_status st = GNT_OK;
    static const char *const folders[] = { "", "../lib/" };
    char path[PATH_MAX + 64] = "";
    char *folder = NULL;

    GNT_TRY(gnti_plugin_own_folder(&folder));
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s%s", folder, folders[i], name);
        if (access(path, R_OK) != 0)
            continue;
        GNT_TRY(gnti_plugin_open_lasting(path, out));
        goto done;
    }
    GNT_FAIL(GNT_ERR_UNSUPPORTED, "there is no '%s' in '%s': this build was made without it", name, folder);
done:
    gnti_free(folder);
    return st;
}

gnt_status gnti_plugin_check_version(const gnti_plugin *plugin, const char *version, const char *ours)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(version != NULL && strcmp(version, ours) == 0, GNT_ERR_UNSUPPORTED,
              "plug-in '%s' was built for version %s, this is %s: build it again", plugin->path,
              version == NULL ? "(none)" : version, ours);
done:
    return st;
}
