/* SPDX-License-Identifier: Apache-2.0 */
/* Meters of energy. Nothing of NVML is linked or included: its library is opened where there is one, and five of its functions, whose
 * shapes its documentation fixes (NVML API reference, "Device Queries"), are taken by name.
 */
#include "base/energy.h"

#include "base/alloc.h"
#include "base/plugin.h"
#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METERS = 64, PATH_BYTES = 512 };

typedef int (*nvml_plain_fn)(void);
typedef int (*nvml_count_fn)(unsigned int *count);
typedef int (*nvml_handle_fn)(unsigned int index, void **device);
typedef int (*nvml_energy_fn)(void *device, unsigned long long *millijoules);

typedef struct package {
    char path[PATH_BYTES]; /* of energy_uj */
    double range, last;    /* microjoules */
} package;

typedef struct gpu {
    void *device;
    unsigned long long last; /* millijoules */
} gpu;

struct gnti_energy {
    package packages[MOST_METERS];
    gpu gpus[MOST_METERS];
    int num_packages, num_gpus;
    double joules;
    gnti_plugin *library;
    nvml_plain_fn shutdown;
    nvml_energy_fn energy;
};

/* A number alone in a file. */
static bool read_number(const char *path, double *out)
{
    FILE *f = fopen(path, "re");
    char text[64], *end = text;

    if (f == NULL)
        return false;
    if (fgets(text, sizeof text, f) != NULL)
        *out = strtod(text, &end);
    fclose(f);
    return end != text && *out >= 0.0;
}

/* Packages are intel-rapl:N (also on AMD); intel-rapl:N:M are their parts, "psys" the platform with the packages in it. */
static bool is_package(const char *root, const char *name)
{
    char path[PATH_BYTES], label[32] = "";
    FILE *f;

    if (strncmp(name, "intel-rapl:", 11) != 0 || name[11] == 0 ||
        strspn(name + 11, "0123456789") != strlen(name + 11))
        return false;
    snprintf(path, sizeof path, "%s/%s/name", root, name);
    f = fopen(path, "re");
    if (f != NULL) {
        if (fgets(label, sizeof label, f) == NULL)
            label[0] = 0;
        fclose(f);
    }
    return strncmp(label, "psys", 4) != 0;
}

static void find_packages(gnti_energy *e, const char *root)
{
    DIR *folder = opendir(root);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL && e->num_packages < MOST_METERS) {
        package *p = &e->packages[e->num_packages];
        char range[PATH_BYTES];

        if (!is_package(root, entry->d_name) ||
            (size_t)snprintf(p->path, sizeof p->path, "%s/%s/energy_uj", root, entry->d_name) >=
                sizeof p->path ||
            (size_t)snprintf(range, sizeof range, "%s/%s/max_energy_range_uj", root, entry->d_name) >=
                sizeof range)
            continue;
        if (read_number(p->path, &p->last) && read_number(range, &p->range) && p->range > 0.0)
            e->num_packages++;
    }
    if (folder != NULL)
        closedir(folder);
}

/* Takes what the library has; false: it has not all of it. */
static bool take_functions(gnti_energy *e, nvml_plain_fn *init, nvml_count_fn *count, nvml_handle_fn *handle)
{
    static const char *const names[] = { "nvmlInit_v2", "nvmlDeviceGetCount_v2",
                                         "nvmlDeviceGetHandleByIndex_v2",
                                         "nvmlDeviceGetTotalEnergyConsumption", "nvmlShutdown" };
    gnti_plugin_fn found[sizeof names / sizeof names[0]];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (gnti_plugin_function(e->library, names[i], &found[i]) != GNT_OK)
            return false;
    *init = (nvml_plain_fn)found[0];
    *count = (nvml_count_fn)found[1];
    *handle = (nvml_handle_fn)found[2];
    e->energy = (nvml_energy_fn)found[3];
    e->shutdown = (nvml_plain_fn)found[4];
    return true;
}

static void find_gpus(gnti_energy *e, const char *library)
{
    nvml_plain_fn init;
    nvml_count_fn count;
    nvml_handle_fn handle;
    unsigned int num = 0;

    if (gnti_plugin_open(library, &e->library) != GNT_OK)
        return;
    if (!take_functions(e, &init, &count, &handle) || init() != 0) {
        e->shutdown = NULL;
        return;
    }
    if (count(&num) != 0)
        num = 0;
    for (unsigned int i = 0; i < num && e->num_gpus < MOST_METERS; i++) {
        gpu *g = &e->gpus[e->num_gpus];

        if (handle(i, &g->device) == 0 && e->energy(g->device, &g->last) == 0)
            e->num_gpus++;
    }
}

gnt_status gnti_energy_open(const char *root, const char *library, gnti_energy **out)
{
    gnt_status st = GNT_OK;
    gnti_energy *e = NULL;

    GNT_TRY(gnti_calloc_array(&e, 1));
    find_packages(e, root != NULL ? root : "/sys/class/powercap");
    find_gpus(e, library != NULL ? library : "libnvidia-ml.so.1");
    *out = e;
done:
    return st;
}

void gnti_energy_free(gnti_energy **out)
{
    gnti_energy *e = out != NULL ? *out : NULL;

    if (e == NULL)
        return;
    *out = NULL;
    if (e->shutdown != NULL)
        e->shutdown();
    gnti_plugin_close(&e->library);
    gnti_free(e);
}

const char *gnti_energy_sources(const gnti_energy *e)
{
    if (e->num_packages > 0)
        return e->num_gpus > 0 ? "rapl+nvml" : "rapl";
    return e->num_gpus > 0 ? "nvml" : "none";
}

double gnti_energy_joules(gnti_energy *e)
{
    for (int i = 0; i < e->num_packages; i++) {
        package *p = &e->packages[i];
        double now;

        if (!read_number(p->path, &now))
            continue;
        e->joules += (now >= p->last ? now - p->last : now + p->range - p->last) * 1e-6;
        p->last = now;
    }
    for (int i = 0; i < e->num_gpus; i++) {
        gpu *g = &e->gpus[i];
        unsigned long long now;

        if (e->energy(g->device, &now) != 0 || now < g->last)
            continue;
        e->joules += (double)(now - g->last) * 1e-3;
        g->last = now;
    }
    return e->joules;
}
