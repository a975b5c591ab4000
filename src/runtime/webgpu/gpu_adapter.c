#include "runtime/webgpu/gpu_adapter.h"

#include "core/fail.h"
#include "runtime/webgpu/webgpu_call.h"

#include <stdio.h>
#include <stdlib.h>

static const char find[] = "acu_gpu_adapters_find";

/* Copies a view, which need not end with a zero. */
static void copy_view(char *to, size_t size, WGPUStringView from) {
    if (from.length == WGPU_STRLEN)
        snprintf(to, size, "%s", from.data ? from.data : "");
    else
        snprintf(to, size, "%.*s", (int)from.length, from.data ? from.data : "");
}

/* Asks an adapter for all that is known of it; returns whether it answers. */
static bool ask(acu_gpu_adapter *adapter) {
    WGPUAdapterInfo info = {.adapterType = WGPUAdapterType_Unknown};
    if (wgpuAdapterGetInfo(adapter->handle, &info) != WGPUStatus_Success ||
        wgpuAdapterGetLimits(adapter->handle, &adapter->limits) != WGPUStatus_Success)
        return false;
    copy_view(adapter->name, sizeof adapter->name, info.device);
    copy_view(adapter->driver, sizeof adapter->driver, info.description);
    adapter->type = info.adapterType;
    adapter->backend = info.backendType;
    adapter->vendor = info.vendorID;
    adapter->device = info.deviceID;
    wgpuAdapterInfoFreeMembers(info);
    return true;
}

/* Fills the list with the adapters that answer. */
static acu_result list_adapters(acu_gpu_adapters *out, WGPUInstanceBackend backends) {
    const WGPUInstanceEnumerateAdapterOptions options = {.backends = backends};
    const size_t room = wgpuInstanceEnumerateAdapters(out->instance, &options, NULL);
    if (!room)
        return 0;
    WGPUAdapter *handles = calloc(room, sizeof *handles);
    out->list = calloc(room, sizeof *out->list);
    if (!handles || !out->list) {
        free(handles);
        return acu_fail(find, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu adapters", room);
    }
    const size_t count = wgpuInstanceEnumerateAdapters(out->instance, &options, handles);
    for (size_t i = 0; i < count && i < room; i++) {
        out->list[out->count].handle = handles[i];
        if (ask(&out->list[out->count]))
            out->count++;
        else
            wgpuAdapterRelease(handles[i]);
    }
    free(handles);
    return 0;
}

/* The types are numbered in the order of preference, but that the processor is before the unknown.
 */
static int order_of(const acu_gpu_adapter *adapter) {
    return acu_gpu_adapter_is_cpu(adapter) ? WGPUAdapterType_Unknown + 1 : (int)adapter->type;
}

/* Keeps the order of the library among equals. */
static void sort(acu_gpu_adapters *adapters) {
    for (size_t i = 1; i < adapters->count; i++)
        for (size_t j = i; j > 0 && order_of(&adapters->list[j]) < order_of(&adapters->list[j - 1]);
             j--) {
            const acu_gpu_adapter swap = adapters->list[j];
            adapters->list[j] = adapters->list[j - 1];
            adapters->list[j - 1] = swap;
        }
}

acu_result acu_gpu_adapters_find(acu_gpu_adapters *out) {
    *out = (acu_gpu_adapters){.instance = wgpuCreateInstance(NULL)};
    if (!out->instance)
        return acu_webgpu_refused(find, "", "wgpuCreateInstance");
    acu_result result = list_adapters(out, WGPUInstanceBackend_Vulkan);
    if (!result && !out->count) {
        free(out->list);
        out->list = NULL;
        result = list_adapters(out, WGPUInstanceBackend_GL);
    }
    if (result)
        acu_gpu_adapters_drop(out);
    sort(out);
    return result;
}

void acu_gpu_adapters_drop(acu_gpu_adapters *adapters) {
    for (size_t i = 0; i < adapters->count; i++)
        wgpuAdapterRelease(adapters->list[i].handle);
    free(adapters->list);
    if (adapters->instance)
        wgpuInstanceRelease(adapters->instance);
    *adapters = (acu_gpu_adapters){0};
}

bool acu_gpu_adapter_is_cpu(const acu_gpu_adapter *adapter) {
    return adapter->type == WGPUAdapterType_CPU;
}
