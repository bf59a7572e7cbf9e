/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for a device plug-in of another build of the same release: its version names other interfaces, and what lies behind its
 * version is not what the library expects. Nothing but the version may be looked at.
 */
extern const void *gnti_device_plugin_get(const void *host);

static const struct {
    const char *version;
    const void *wild[8];
} stale = { GNT_VERSION " (interfaces 0000000000000000)",
            { (const void *)1, (const void *)2, (const void *)3 } };

const void *gnti_device_plugin_get(const void *host)
{
    (void)host;
    return &stale;
}
