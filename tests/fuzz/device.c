/* Devices, contexts, errors and versions. */
#include "fuzz.h"

static void get_device(void) {
    int device = -7;
    call("cudaGetDevice()");
    answer(cudaGetDevice(&device), "%s", ""); /* the number was not recorded */
}

static void set_device(void) {
    const int device = any_device();
    call("cudaSetDevice(%d)", device);
    answer(cudaSetDevice(device), "%s", "");
}

static void init_device(void) {
    const int device = any_device();
    const unsigned device_flags = (unsigned)ONE_OF(0, 0, 4, 8, 16, 64),
                   flags = (unsigned)ONE_OF(0, 0, 1, 2);
    call("cudaInitDevice(%d, %u, %u)", device, device_flags, flags);
    answer(cudaInitDevice(device, device_flags, flags), "%s", "");
}

static void count_devices(void) {
    int count = -7;
    call("cudaGetDeviceCount()");
    answer(cudaGetDeviceCount(&count), "%s", ""); /* the machines have other numbers */
}

/* The values are the chip's own. */
static void device_attribute(void) {
    const int device = any_device(), attribute = (int)below(160) - 2;
    int value = -7;
    call("cudaDeviceGetAttribute(%d, %d)", attribute, device);
    const cudaError_t result =
        cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)attribute, device);
    answer(result, "%s", value == -7 ? "same" : "written");
}

static void device_properties(void) {
    const int device = any_device();
    struct cudaDeviceProp properties = {.major = -7};
    call("cudaGetDeviceProperties(%d)", device);
    const cudaError_t result = cudaGetDeviceProperties(&properties, device);
    answer(result, "%s", properties.major == -7 ? "same" : "written");
}

static void get_limit(void) {
    const int limit = (int)below(12) - 1;
    size_t value = 7;
    call("cudaDeviceGetLimit(%d)", limit);
    const cudaError_t result = cudaDeviceGetLimit(&value, (enum cudaLimit)limit);
    answer(result, "%s", value == 7 ? "same" : "written");
}

/* Instances that were made with larger stacks crash CUDA. */
size_t any_limit(int limit) {
    return limit == cudaLimitStackSize ? (size_t)ONE_OF(1024, 1024, 4096, 65536)
                                       : (size_t)ONE_OF(0, 1, 2, 16, 100, 1024, 4096, 65536);
}

static void set_limit(void) {
    const int limit = ONE_OF(-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12);
    const size_t value = any_limit(limit);
    call("cudaDeviceSetLimit(%d, %zu)", limit, value);
    answer(cudaDeviceSetLimit((enum cudaLimit)limit, value), "%s", "");
}

static void cache_config(void) {
    const int wanted = ONE_OF(-1, 0, 1, 2, 3, 4);
    enum cudaFuncCache got = (enum cudaFuncCache)9;
    call("cudaDeviceSetCacheConfig(%d)", wanted);
    answer(cudaDeviceSetCacheConfig((enum cudaFuncCache)wanted), "%s", "");
    call("cudaDeviceGetCacheConfig()");
    const cudaError_t result = cudaDeviceGetCacheConfig(&got);
    answer(result, "%d", (int)got);
}

static void device_flags(void) {
    unsigned flags = 77;
    if (one_in(2)) {
        const unsigned wanted = (unsigned)ONE_OF(0, 1, 2, 4, 8, 16, 3, 7, 32, 64, 128);
        call("cudaSetDeviceFlags(%u)", wanted);
        answer(cudaSetDeviceFlags(wanted), "%s", "");
    }
    call("cudaGetDeviceFlags()");
    const cudaError_t result = cudaGetDeviceFlags(&flags);
    answer(result, "%u", flags);
}

static void priority_range(void) {
    int least = -77, greatest = -77;
    int *no_least = one_in(8) ? NULL : &least;
    call("cudaDeviceGetStreamPriorityRange(%s)", no_least ? "" : "NULL");
    const cudaError_t result = cudaDeviceGetStreamPriorityRange(no_least, &greatest);
    answer(result, "%d %d", least, greatest);
}

static void peer(void) {
    const int device = any_device(), other = any_device();
    int value = -7;
    switch (below(4)) {
    case 0: {
        call("cudaDeviceCanAccessPeer(%d, %d)", device, other);
        const cudaError_t result = cudaDeviceCanAccessPeer(&value, device, other);
        answer(result, "%d", value);
        break;
    }
    case 1: {
        const unsigned flags = (unsigned)ONE_OF(0, 0, 0, 1);
        call("cudaDeviceEnablePeerAccess(%d, %u)", device, flags);
        answer(cudaDeviceEnablePeerAccess(device, flags), "%s", "");
        break;
    }
    case 2:
        call("cudaDeviceDisablePeerAccess(%d)", device);
        answer(cudaDeviceDisablePeerAccess(device), "%s", "");
        break;
    default: {
        const int attribute = ONE_OF(-1, 0, 1, 2, 3, 4, 5, 6);
        call("cudaDeviceGetP2PAttribute(%d, %d, %d)", attribute, device, other);
        const cudaError_t result =
            cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)attribute, device, other);
        answer(result, "%d", value);
    }
    }
}

static void bus_id(void) {
    static const char *const texts[] = {"", "nonsense", "0000:ff:1f.0", "7", "ffff:ff:ff.7"};
    const unsigned chosen = below(sizeof texts / sizeof *texts);
    char text[32] = "same";
    int device = any_device(), length = ONE_OF(-1, 0, 1, 12, 13, 14, 32);
    call("cudaDeviceGetPCIBusId(%d, %d)", length, device);
    answer(cudaDeviceGetPCIBusId(text, length, device), "%s", "");
    device = -7;
    call("cudaDeviceGetByPCIBusId(\"%s\")", texts[chosen]);
    const cudaError_t result = cudaDeviceGetByPCIBusId(&device, texts[chosen]);
    answer(result, "%d", device);
}

static void synchronize_device(void) {
    call("cudaDeviceSynchronize()");
    answer(cudaDeviceSynchronize(), "%s", "");
}

static void last_error(void) {
    call("cudaGetLastError()");
    answer(cudaGetLastError(), "%s", "");
}

static void versions(void) {
    int version = -7;
    const bool nowhere = one_in(6);
    if (one_in(2)) {
        call("cudaRuntimeGetVersion(%s)", nowhere ? "NULL" : "");
        answer(cudaRuntimeGetVersion(nowhere ? NULL : &version), "%s", "");
    } else {
        call("cudaDriverGetVersion(%s)", nowhere ? "NULL" : "");
        answer(cudaDriverGetVersion(nowhere ? NULL : &version), "%s", "");
    }
}

static void memory_info(void) {
    size_t free = 7, total = 7;
    call("cudaMemGetInfo()");
    const cudaError_t result = cudaMemGetInfo(&free, &total);
    answer(result, "%s", free == 7 ? "same" : "written");
}

static void valid_devices(void) {
    int list[2] = {any_device(), any_device()};
    const int count = ONE_OF(-1, 0, 1, 1, 2);
    call("cudaSetValidDevices({%d, %d}, %d)", list[0], list[1], count);
    answer(cudaSetValidDevices(list, count), "%s", "");
}

static void texture_width(void) {
    const struct cudaChannelFormatDesc element = {ONE_OF(0, 8, 16, 32, 7), ONE_OF(0, 0, 8, 32), 0,
                                                  0, cudaChannelFormatKindUnsigned};
    const int device = any_device();
    size_t width = 7;
    call("cudaDeviceGetTexture1DLinearMaxWidth({%d, %d}, %d)", element.x, element.y, device);
    const cudaError_t result = cudaDeviceGetTexture1DLinearMaxWidth(&width, &element, device);
    answer(result, "%zu", width);
}

static void graph_memory(void) {
    const int device = any_device(), attribute = ONE_OF(-1, 0, 1, 2, 3, 4);
    cuuint64_t value = (cuuint64_t)ONE_OF(0, 0, 1);
    switch (below(3)) {
    case 0:
        call("cudaDeviceGraphMemTrim(%d)", device);
        answer(cudaDeviceGraphMemTrim(device), "%s", "");
        break;
    case 1:
        call("cudaDeviceSetGraphMemAttribute(%d, %d, %d)", device, attribute, (int)value);
        answer(cudaDeviceSetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute,
                                              &value),
               "%s", "");
        break;
    default:
        call("cudaDeviceGetGraphMemAttribute(%d, %d)", device, attribute);
        answer(cudaDeviceGetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attribute,
                                              &value),
               "%s", "");
    }
}

/* ---- the driver ---- */

static void driver_context(void) {
    CUcontext context = UNWRITTEN;
    CUdevice device = -7;
    unsigned flags = 77;
    int least = -77, greatest = -77;
    switch (below(7)) {
    case 0: {
        call("cuCtxGetCurrent()");
        const CUresult result = cuCtxGetCurrent(&context);
        answer(result, "%s", handle_state(context));
        break;
    }
    case 1: {
        call("cuCtxGetDevice()");
        const CUresult result = cuCtxGetDevice(&device);
        answer(result, "%d", device);
        break;
    }
    case 2:
        call("cuCtxSynchronize()");
        answer(cuCtxSynchronize(), "%s", "");
        break;
    case 3: {
        call("cuCtxGetFlags()");
        const CUresult result = cuCtxGetFlags(&flags);
        answer(result, "%u", flags);
        break;
    }
    case 4: {
        call("cuCtxGetStreamPriorityRange()");
        const CUresult result = cuCtxGetStreamPriorityRange(&least, &greatest);
        answer(result, "%d %d", least, greatest);
        break;
    }
    case 5: {
        const int limit = (int)below(11);
        size_t value = 7;
        call("cuCtxGetLimit(%d)", limit);
        const CUresult result = cuCtxGetLimit(&value, (CUlimit)limit);
        answer(result, "%s", value == 7 ? "same" : "written");
        break;
    }
    default: {
        device = any_device();
        int active = -7;
        call("cuDevicePrimaryCtxGetState(%d)", device);
        const CUresult result = cuDevicePrimaryCtxGetState(device, &flags, &active);
        answer(result, "%u %d", flags, active);
    }
    }
}

static void driver_device(void) {
    const int ordinal = any_device();
    CUdevice device = -7;
    switch (below(3)) {
    case 0: {
        call("cuDeviceGet(%d)", ordinal);
        const CUresult result = cuDeviceGet(&device, ordinal);
        answer(result, "%d", device);
        break;
    }
    case 1: {
        int value = -7;
        const int attribute = (int)below(160) - 2;
        call("cuDeviceGetAttribute(%d, %d)", attribute, ordinal);
        const CUresult result =
            cuDeviceGetAttribute(&value, (CUdevice_attribute)attribute, ordinal);
        answer(result, "%s", value == -7 ? "same" : "written");
        break;
    }
    default: {
        char text[100] = "";
        const int length = ONE_OF(-1, 2, 1, 5, 100); /* 0 crashes CUDA */
        call("cuDeviceGetName(%d, %d)", length, ordinal);
        answer(cuDeviceGetName(text, length, ordinal), "%s", "");
    }
    }
}

static void error_texts(void) {
    const int code = ONE_OF(0, 1, 2, 3, 35, 46, 100, 400, 700, 719, 900, 917, 999, 12345, -1);
    const char *text = NULL;
    call("cuGetErrorName(%d)", code);
    const CUresult result = cuGetErrorName((CUresult)code, &text);
    answer(result, "%s", text ? text : "NULL");
    call("cudaGetErrorName(%d)", code);
    answer(0, "%s", cudaGetErrorName((cudaError_t)code));
}

const operation device_operations[] = {
    OPERATION(get_device, 2, false),       OPERATION(set_device, 4, false),
    OPERATION(init_device, 2, false),      OPERATION(count_devices, 1, false),
    OPERATION(device_attribute, 3, false), OPERATION(device_properties, 1, false),
    OPERATION(get_limit, 2, false),        OPERATION(set_limit, 3, false),
    OPERATION(cache_config, 2, false),     OPERATION(device_flags, 2, false),
    OPERATION(priority_range, 1, false),   OPERATION(peer, 3, false),
    OPERATION(bus_id, 1, false),           OPERATION(synchronize_device, 4, false),
    OPERATION(last_error, 8, false),       OPERATION(versions, 1, false),
    OPERATION(memory_info, 1, false),      OPERATION(valid_devices, 1, false),
    OPERATION(texture_width, 1, false),    OPERATION(graph_memory, 3, false),
    OPERATION(driver_context, 5, false),   OPERATION(driver_device, 2, false),
    OPERATION(error_texts, 1, false),      OPERATION(NULL, 0, false),
};
