/* SPDX-License-Identifier: Apache-2.0 */
/* What base/energy.c takes of NVML, for tests: two devices, the second without a meter. A reading adds 2500 mJ. */
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

static int g_devices[2];
static unsigned long long g_millijoules = 7000;

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
    *device = &g_devices[index];
    return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    if (device != &g_devices[0])
        return 3; /* NVML_ERROR_NOT_SUPPORTED */
    g_millijoules += 2500;
    *millijoules = g_millijoules;
    return 0;
}
