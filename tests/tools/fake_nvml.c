/*
 * A libnvidia-ml.so.1 for the devices of the simulator, so that acu-info can be tested without a
 * GPU. Devices 0 to 3 have two links each: with SWITCHED both lead to a switch, otherwise one
 * connects 0 with 1 and 2 with 3, and the other one is down. Device 4 and later ones are not known.
 * With BROKEN there is no driver for it.
 */
#include <anycuda/nvml_types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>

/* A function that the library exports. */
#define EXPORT(name, ...)                                                                          \
    __attribute__((visibility("default"))) nvmlReturn_t name(__VA_ARGS__);                         \
    nvmlReturn_t name(__VA_ARGS__)

enum { DEVICES = 4, FIRST_BUS = 0x17 };
struct nvmlDevice_st {
    unsigned bus;
};
static struct nvmlDevice_st devices[DEVICES];

EXPORT(nvmlSystemGetCudaDriverVersion, int *version) {
    *version = 13050;
    return NVML_SUCCESS;
}

EXPORT(nvmlInit, void) {
#if defined(BROKEN)
    return NVML_ERROR_DRIVER_NOT_LOADED;
#endif
    for (unsigned i = 0; i < DEVICES; i++)
        devices[i].bus = FIRST_BUS + i;
    return NVML_SUCCESS;
}

EXPORT(nvmlShutdown, void) {
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetCount, unsigned *count) {
    *count = DEVICES;
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetHandleByIndex, unsigned index, nvmlDevice_t *device) {
    *device = &devices[index];
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetHandleByPciBusId, const char *id, nvmlDevice_t *device) {
    const char *colon = strchr(id, ':');
    const unsigned long bus = colon ? strtoul(colon + 1, NULL, 16) : 0;
    if (bus < FIRST_BUS || bus >= FIRST_BUS + DEVICES)
        return NVML_ERROR_NOT_FOUND;
    *device = &devices[bus - FIRST_BUS];
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetClockInfo, nvmlDevice_t device, nvmlClockType_t type, unsigned *clock) {
    *clock = type == NVML_CLOCK_SM ? 1980 + device->bus - FIRST_BUS : 2619;
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetTemperature, nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
       unsigned *temperature) {
    (void)device;
    *temperature = 34;
    return sensor == NVML_TEMPERATURE_GPU ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

EXPORT(nvmlDeviceGetPowerUsage, nvmlDevice_t device, unsigned *milliwatts) {
    *milliwatts = 70500;
    return device->bus == FIRST_BUS ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

EXPORT(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, nvmlMemory_t *memory) {
    (void)device;
    *memory = (nvmlMemory_t){.total = 8ull << 30u, .free = 5ull << 30u, .used = 3ull << 30u};
    return NVML_SUCCESS;
}

/* As NVML does, the call writes how many there are where there is no room for all. */
EXPORT(nvmlDeviceGetComputeRunningProcesses, nvmlDevice_t device, unsigned *count,
       nvmlProcessInfo_t *infos) {
    const unsigned room = *count;
    (void)device;
    *count = 2;
    if (room < 2)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    infos[0] = (nvmlProcessInfo_t){.pid = 4711, .usedGpuMemory = 2ull << 30u};
    infos[1] = (nvmlProcessInfo_t){.pid = 4712,
                                   .usedGpuMemory = (unsigned long long)NVML_VALUE_NOT_AVAILABLE};
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetCurrPcieLinkGeneration, nvmlDevice_t device, unsigned *generation) {
    (void)device;
    *generation = 5;
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetCurrPcieLinkWidth, nvmlDevice_t device, unsigned *width) {
    (void)device;
    *width = 16;
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetNvLinkState, nvmlDevice_t device, unsigned link, nvmlEnableState_t *state) {
    (void)device;
#if defined(SWITCHED)
    *state = NVML_FEATURE_ENABLED;
#else
    *state = link == 0 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
#endif
    return link < 2 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

EXPORT(nvmlDeviceGetNvLinkRemotePciInfo, nvmlDevice_t device, unsigned link, nvmlPciInfo_t *pci) {
    *pci = (nvmlPciInfo_t){.bus = 0};
#if defined(SWITCHED)
    (void)device;
    snprintf(pci->busId, sizeof pci->busId, "00000000:0%u:00.0", link + 1);
#else
    /* 0 and 1 are connected, 2 and 3. */
    (void)link;
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0",
             FIRST_BUS + ((device->bus - FIRST_BUS) ^ 1u));
#endif
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetNvLinkRemoteDeviceType, nvmlDevice_t device, unsigned link,
       nvmlIntNvLinkDeviceType_t *type) {
    (void)device, (void)link;
#if defined(SWITCHED)
    *type = NVML_NVLINK_DEVICE_TYPE_SWITCH;
#else
    *type = NVML_NVLINK_DEVICE_TYPE_GPU;
#endif
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetFieldValues, nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
    (void)device;
    for (int i = 0; i < count; i++) {
        const bool known = values[i].fieldId == NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON;
        values[i].nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        values[i].value.uiVal = 26562;
    }
    return NVML_SUCCESS;
}

EXPORT(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t a, nvmlDevice_t b,
       nvmlGpuTopologyLevel_t *level) {
    *level = (a->bus - FIRST_BUS) / 2 == (b->bus - FIRST_BUS) / 2 ? NVML_TOPOLOGY_SINGLE
                                                                  : NVML_TOPOLOGY_SYSTEM;
    return NVML_SUCCESS;
}
