/*
 * The driver API's functions, errors and devices.
 *
 * Where a function of the runtime does the same, the body here calls that function's body.
 */
#include "sim/driver/driver.h"

#include "core/values.h"
#include "sim/behaviour.h"
#include "sim/device/device.h"
#include "sim/device/error.h"
#include "sim/device/need.h"
#include "sim/entry/entries.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- symbols ---- */

acu_fn acu_sim_driver_symbol(const char *symbol) {
    pthread_mutex_lock(&acu_sim_lock);
    bool installed = acu_sim_configuration()->driver != 0;
    pthread_mutex_unlock(&acu_sim_lock);
    if (!installed)
        return NULL;
    acu_fn found = acu_sim_entries_find(acu_sim_cuda_entries, acu_sim_cuda_entry_count, symbol);
    return found ? found : acu_sim_driver_older_symbol(symbol);
}

/* The rows of a function: of the one default stream, and of the thread's own, if it has such one.
 */
typedef struct rows {
    const acu_sim_api_entry *plain, *own;
} rows;

static rows rows_of(const char *name) {
    rows found = {NULL, NULL};
    for (size_t i = 0; i < acu_sim_cuda_entry_count; i++) {
        const acu_sim_api_entry *row = &acu_sim_cuda_entries[i];
        if (strcmp(row->function->name, name) == 0)
            *(row->per_thread ? &found.own : &found.plain) = row;
    }
    return found;
}

/* A version belongs to a symbol: such a name is none that a driver is asked for. */
static bool has_version(const char *name) {
    const char *end = strrchr(name, '_');
    return end && end[1] == 'v' && end[2] >= '0' && end[2] <= '9';
}

/* The versions that a name has had, newest first: what it means today, and what it meant before.
 * Below 7.0 no function had a variant for the thread's own default stream. */
CUdriverProcAddressQueryResult acu_sim_driver_find(const char *symbol, int version, bool per_thread,
                                                   void **found) {
    enum { OWN_STREAMS = 7000 };
    const int driver = acu_sim_configuration()->driver;
    const rows r = rows_of(symbol);
    const int wanted = version < 0 ? driver : version;
    *found = NULL;
    if (strcmp(symbol, "cuGetExportTable") == 0)
        return acu_sim_driver_find_table(wanted, found);
    if (!r.plain || has_version(symbol))
        return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const bool own = per_thread && r.own;
    const int since = r.plain->since > r.plain->oldest ? r.plain->since : r.plain->oldest;
    acu_sim_older_meaning before = acu_sim_driver_older(symbol, wanted, own);
    acu_fn fn = before.fn;
    if (since <= wanted && since <= driver && !(before.fn && before.since >= since))
        fn = own ? r.own->entry : r.plain->entry;
    if (!fn && r.plain->oldest > driver)
        return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!fn || !wanted || (own && wanted < OWN_STREAMS))
        return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    memcpy(found, &fn, sizeof *found);
    return CU_GET_PROC_ADDRESS_SUCCESS;
}

/* An H200 takes any two bits of flags; and no version that is newer than the driver. */
cudaError_t acu_sim_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                     cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *symbolStatus) {
    enum {
        FLAGS = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
    };
    if (!symbol || !pfn || flags > FLAGS)
        return cudaErrorInvalidValue;
    if (cudaVersion > acu_sim_configuration()->driver)
        return SIM_REFUSE(cudaErrorInvalidValue, "cudaVersion is %d, and the driver is one of %d",
                          cudaVersion, acu_sim_configuration()->driver);
    bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CUdriverProcAddressQueryResult status =
        acu_sim_driver_find(symbol, cudaVersion, per_thread, pfn);
    if (symbolStatus)
        *symbolStatus = status;
    return cudaSuccess;
}

cudaError_t acu_sim_cuGetProcAddress_v1(const char *symbol, void **pfn, int cudaVersion,
                                        cuuint64_t flags) {
    CUdriverProcAddressQueryResult status;
    void *found;
    SIM_TRY(acu_sim_cuGetProcAddress(symbol, pfn ? &found : NULL, cudaVersion, flags, &status));
    if (status)
        return cudaErrorSymbolNotFound;
    *pfn = found;
    return cudaSuccess;
}

/* The runtime reports a symbol that is not there by the status alone. Both of its flags together
 * ask for the functions with the legacy default stream. */
static cudaError_t find_entry_point(const char *symbol, void **funcPtr, int version,
                                    unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *driverStatus) {
    if (!flags && acu_sim_self()->call.own_default)
        flags = cudaEnablePerThreadDefaultStream;
    if (!symbol || !funcPtr ||
        flags > (cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream) ||
        version > acu_sim_configuration()->driver) /* a driver refuses what is newer than itself */
        return cudaErrorInvalidValue;
    CUdriverProcAddressQueryResult status =
        acu_sim_driver_find(symbol, version, flags == cudaEnablePerThreadDefaultStream, funcPtr);
    if (driverStatus)
        *driverStatus = (enum cudaDriverEntryPointQueryResult)status;
    if (status && acu_sim_behaviour_entry_point_forgets_error())
        acu_sim_self()->last = cudaSuccess;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                            unsigned long long flags,
                                            enum cudaDriverEntryPointQueryResult *driverStatus) {
    return find_entry_point(symbol, funcPtr, acu_sim_configuration()->runtime, flags, driverStatus);
}

cudaError_t
acu_sim_cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
                                         unsigned int cudaVersion, unsigned long long flags,
                                         enum cudaDriverEntryPointQueryResult *driverStatus) {
    return find_entry_point(symbol, funcPtr, (int)cudaVersion, flags, driverStatus);
}

/* ---- results ---- */

CUresult acu_sim_cuGetErrorName(CUresult error, const char **pStr) {
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = acu_sim_driver_knows(&acu_cuda_type_cudaError_enum, error)
                ? acu_value_name(&acu_cuda_type_cudaError_enum, error)
                : NULL;
    return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult acu_sim_cuGetErrorString(CUresult error, const char **pStr) {
    CUresult result = acu_sim_cuGetErrorName(error, pStr);
    if (!result)
        *pStr = acu_sim_error_text_of((int)error, *pStr);
    return result;
}

/* ---- init ---- */

cudaError_t acu_sim_cuInit(unsigned int Flags) {
    if (Flags)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_require_unforked());
    if (acu_sim_configuration()->listed_twice)
        return cudaErrorInvalidDevice;
    if (!acu_sim_configuration()->devices)
        return cudaErrorNoDevice;
    acu_sim_init();
    return cudaSuccess;
}

cudaError_t acu_sim_cuDriverGetVersion(int *driverVersion) {
    if (!driverVersion)
        return cudaErrorInvalidValue;
    *driverVersion = acu_sim_configuration()->driver;
    return cudaSuccess;
}

/* ---- devices ---- */

cudaError_t acu_sim_cuDeviceGetCount(int *count) {
    return acu_sim_cudaGetDeviceCount(count);
}

cudaError_t acu_sim_driver_find_device(CUdevice number, bool good, acu_sim_device **device) {
    if (!good)
        return cudaErrorInvalidValue;
    *device = acu_sim_device_at(number);
    return *device ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t acu_sim_cuDeviceGet(CUdevice *device, int ordinal) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(ordinal, device != NULL, &d));
    *device = d->index;
    return cudaSuccess;
}

cudaError_t acu_sim_cuDeviceGetName(char *name, int len, CUdevice dev) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, name && len, &d));
    /* CUDA takes a negative length for a large one. */
    snprintf(name, len > 0 ? (size_t)len : INT_MAX, "anycuda simulator");
    return cudaSuccess;
}

/* Returns the attribute's value. The numbers are the runtime's, which has not all of them. */
static int attribute_of(const acu_sim_device *device, CUdevice_attribute attribute) {
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
        return 1;
    default:
        return acu_sim_device_attribute(device, (enum cudaDeviceAttr)attribute);
    }
}

cudaError_t acu_sim_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, pi != NULL, &d));
    if (attrib == CU_DEVICE_ATTRIBUTE_MAX ||
        !acu_sim_driver_knows(&acu_cuda_type_CUdevice_attribute_enum, attrib))
        return cudaErrorInvalidValue;
    *pi = attribute_of(d, attrib);
    return cudaSuccess;
}

cudaError_t acu_sim_cuDeviceTotalMem(size_t *bytes, CUdevice dev) {
    acu_sim_device *d;
    if (bytes)
        *bytes = 0;
    SIM_TRY(acu_sim_driver_find_device(dev, bytes != NULL, &d));
    *bytes = (size_t)acu_sim_configuration()->memory;
    return cudaSuccess;
}

cudaError_t acu_sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
    struct cudaDeviceProp properties;
    if (!uuid)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_cudaGetDeviceProperties(&properties, dev));
    memcpy(uuid, &properties.uuid, sizeof *uuid);
    return cudaSuccess;
}

cudaError_t acu_sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev) {
    acu_sim_device *d;
    SIM_TRY(acu_sim_driver_find_device(dev, major && minor, &d));
    *major = acu_sim_configuration()->cc / 10;
    *minor = acu_sim_configuration()->cc % 10;
    return cudaSuccess;
}

cudaError_t acu_sim_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev) {
    return acu_sim_cudaDeviceCanAccessPeer(canAccessPeer, dev, peerDev);
}

cudaError_t acu_sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                            CUdevice srcDevice, CUdevice dstDevice) {
    return acu_sim_cudaDeviceGetP2PAttribute(value, (enum cudaDeviceP2PAttr)attrib, srcDevice,
                                             dstDevice);
}

cudaError_t acu_sim_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId) {
    return acu_sim_cudaDeviceGetByPCIBusId(dev, pciBusId);
}

cudaError_t acu_sim_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev) {
    return acu_sim_cudaDeviceGetPCIBusId(pciBusId, len, dev);
}

cudaError_t acu_sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev) {
    return acu_sim_cudaDeviceGetDefaultMemPool(pool_out, dev);
}

cudaError_t acu_sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev) {
    return acu_sim_cudaDeviceGetMemPool(pool, dev);
}

cudaError_t acu_sim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    return acu_sim_cudaDeviceSetMemPool(dev, pool);
}
