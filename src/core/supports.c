/*
 * Run-time gates: the library, the driver and the device are asked, in this order.
 *
 * The device is asked through the driver API, because a failing call there does not change the
 * runtime's last error, and because it tells an attribute that is newer than the driver from one
 * that is 0.
 */
#include <anycuda/supports.h>

#include <anycuda/cuda_types.h>
#include <anycuda/cudart_types.h>

#include "core/explain.h"
#include "core/fail.h"
#include "core/record.h"
#include "core/supports.h"
#include "loader/driver.h"
#include "loader/load.h"

#include <stdio.h>

static const acu_feature_info *find(acu_feature feature) {
    return (unsigned)feature < ACU_FEATURE_COUNT ? &acu_features[feature] : NULL;
}

const char *acu_feature_name(acu_feature feature) {
    const acu_feature_info *info = find(feature);
    return info ? info->title : "unknown feature";
}

const char *acu_feature_id(acu_feature feature) {
    const acu_feature_info *info = find(feature);
    return info ? info->id : "unknown feature";
}

acu_result acu_feature_get_info(acu_feature feature, acu_feature_info *info) {
    const acu_feature_info *found = find(feature);
    if (!info)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'info' is NULL");
    if (!found)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "there is no feature %d", (int)feature);
    *info = *found;
    return 0;
}

static int record(int code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

static int record(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    acu_record_call("acu_supports", code, format, args);
    va_end(args);
    return code;
}

/* What to do, without a device that has the feature. */
static const char *hint_for(const acu_feature_info *feature, int code, acu_error_kind kind) {
    if (code != cudaErrorNotSupported)
        return NULL; /* the code's own */
    if (kind == ACU_ERROR_KIND_DRIVER)
        return "install a newer driver, or work without the feature";
    if (kind == ACU_ERROR_KIND_DEVICE)
        return "use another device, or work without the feature";
    return feature->removed ? "use an older CUDA, or work without the feature"
                            : "use a newer CUDA, or work without the feature";
}

/* Completes the failure just recorded by what it is about; returns its code. */
static int complete_with(const acu_feature_info *feature, int code, acu_error_kind kind, int needed,
                         int found, const char *hint) {
    const acu_failure_facts facts = {.kind = (int)kind,
                                     .feature = (int)(feature - acu_features) + 1,
                                     .since = feature->since,
                                     .until = feature->until,
                                     .needed = needed,
                                     .found = found,
                                     .hint = hint};
    acu_record_facts(code, &facts);
    acu_record_complete();
    return code;
}

static int complete(const acu_feature_info *feature, int code, acu_error_kind kind, int needed,
                    int found) {
    return complete_with(feature, code, kind, needed, found, hint_for(feature, code, kind));
}

/* ---- the library ---- */

static acu_library *library_of(const acu_feature_info *feature) {
    return feature->library == ACU_CUDART ? &acu_cudart
           : feature->library == ACU_CUDA ? &acu_cuda
                                          : &acu_nvrtc;
}

/* Returns a load's error in the runtime's numbers. libcuda is the driver, so where it is absent
 * there is no driver, whichever library the feature is of. */
static int code_of(const acu_library *library, int code) {
    return library->id == ACU_CUDA && code == library->info->error_missing
               ? (int)cudaErrorInsufficientDriver
               : acu_load_code(library, code);
}

/* Returns the oldest driver that has the feature, 0 if any has. */
static int driver_for(const acu_feature_info *feature) {
    int oldest = feature->library == ACU_CUDA ? feature->since : 0; /* that is the driver */
    if (feature->library == ACU_CUDART && acu_library_state(&acu_cudart) == ACU_LOADED)
        oldest = ACU_MAJOR(acu_cudart.loaded.version) * 1000; /* a driver has all of its major */
    return feature->driver > oldest ? feature->driver : oldest;
}

/* Loads the library if that was not tried yet; returns 0 or the recorded error. */
static int need(const acu_feature_info *feature, acu_library *library) {
    while (!acu_load_once(library)) {
        char why[2 * ACU_WHY_SIZE];
        int code = acu_load_why(library, why, sizeof why);
        if (code) {
            code = code_of(library, code);
            record(code, "%s: %s", feature->title, why);
            bool driver = library->id == ACU_CUDA || code == (int)cudaErrorInsufficientDriver;
            int found = library->id == ACU_CUDA ? 0 : acu_driver_version(library);
            return complete_with(feature, code,
                                 driver ? ACU_ERROR_KIND_DRIVER : ACU_ERROR_KIND_LIBRARY,
                                 driver ? driver_for(feature) : feature->since,
                                 driver && found > 0 ? found : 0, acu_load_hint(library));
        }
    } /* without a reason, another thread has loaded the library in the meantime */
    return 0;
}

static int ask_library(const acu_feature_info *feature) {
    acu_library *library = library_of(feature);
    int code = need(feature, library);
    if (code)
        return code;
    char text[ACU_LIBRARY_TEXT];
    acu_library_describe(library, " is", text);
    int version = library->loaded.version;
    if (feature->since > version) {
        record(cudaErrorNotSupported, "%s: needs CUDA %d.%d; loaded %s", feature->title,
               ACU_MAJOR(feature->since), ACU_MINOR(feature->since), text);
        return complete(feature, cudaErrorNotSupported,
                        library->id == ACU_CUDA ? ACU_ERROR_KIND_DRIVER : ACU_ERROR_KIND_VERSION,
                        feature->since, version);
    }
    if (feature->removed && feature->removed <= version) {
        record(cudaErrorNotSupported, "%s: removed in CUDA %d.%d (last in %d.%d); loaded %s",
               feature->title, ACU_MAJOR(feature->removed), ACU_MINOR(feature->removed),
               ACU_MAJOR(feature->until), ACU_MINOR(feature->until), text);
        return complete(feature, cudaErrorNotSupported, ACU_ERROR_KIND_VERSION, feature->until,
                        version);
    }
    return 0;
}

/* ---- the driver ---- */

/* ACU_DRIVER_NONE, ACU_DRIVER_SILENT, or 12040. */
static int driver_version(const acu_feature_info *feature) {
    if (feature->library == ACU_CUDA) /* the library is the driver */
        return acu_cuda.loaded.version;
    return acu_driver_version(&acu_cudart);
}

static int ask_driver(const acu_feature_info *feature) {
    if (feature->library == ACU_NVRTC) /* NVRTC needs no driver */
        return 0;
    int version = driver_version(feature);
    bool carries = feature->library == ACU_CUDA || version < 0 ||
                   ACU_MAJOR(version) >= ACU_MAJOR(acu_cudart.loaded.version);
    if (version == 0 || !carries) {
        char why[160];
        acu_explain_driver(&acu_cudart, why, sizeof why);
        record(cudaErrorInsufficientDriver, "%s: %s", feature->title, why);
        return complete(feature, cudaErrorInsufficientDriver, ACU_ERROR_KIND_DRIVER,
                        driver_for(feature), version);
    }
    if (version > 0 && feature->driver > version) {
        record(cudaErrorNotSupported, "%s: needs driver %d.%d; the installed driver supports %d.%d",
               feature->title, ACU_MAJOR(feature->driver), ACU_MINOR(feature->driver),
               ACU_MAJOR(version), ACU_MINOR(version));
        return complete(feature, cudaErrorNotSupported, ACU_ERROR_KIND_DRIVER, feature->driver,
                        version);
    }
    return 0;
}

/* ---- the device ---- */

typedef CUresult init_call(unsigned);
typedef CUresult count_call(int *);
typedef CUresult device_call(CUdevice *, int);
typedef CUresult attribute_call(int *, CUdevice_attribute, CUdevice);
typedef CUresult name_call(char *, int, CUdevice);

typedef struct asked_driver {
    init_call *init;
    count_call *count;
    device_call *device;
    attribute_call *attribute;
    name_call *name;
} asked_driver;

static bool bind_driver(acu_library *library, asked_driver *driver) {
    driver->init = (init_call *)acu_load_symbol(library, "cuInit");
    driver->count = (count_call *)acu_load_symbol(library, "cuDeviceGetCount");
    driver->device = (device_call *)acu_load_symbol(library, "cuDeviceGet");
    driver->attribute = (attribute_call *)acu_load_symbol(library, "cuDeviceGetAttribute");
    driver->name = (name_call *)acu_load_symbol(library, "cuDeviceGetName");
    return driver->init && driver->count && driver->device && driver->attribute && driver->name;
}

/* Records that a call of the driver failed, and why, where the driver said more than its code: the
 * simulator names a fork. Returns the code. */
static int failed(const acu_feature_info *feature, const char *call, CUresult result) {
    char why[ACU_REASON_SIZE];
    acu_record_take_reason(why);
    if (result == CUDA_ERROR_NO_DEVICE) {
        acu_explain_device(why, sizeof why);
        record(cudaErrorNoDevice, "%s: %s", feature->title, why);
        return complete(feature, cudaErrorNoDevice, ACU_ERROR_KIND_DEVICE, 0, 0);
    }
    record((int)result, "%s: %s failed with %s (%d)%s%s", feature->title, call,
           acu_explain_code(&acu_cuda, (int)result), (int)result, *why ? ": " : "", why);
    return complete(feature, (int)result, ACU_ERROR_KIND_NONE, 0, 0);
}

static int find_device(const acu_feature_info *feature, const asked_driver *driver, int ordinal,
                       CUdevice *device) {
    int count = 0;
    CUresult result = driver->init(0);
    if (result != CUDA_SUCCESS)
        return failed(feature, "cuInit", result);
    result = driver->count(&count);
    if (result != CUDA_SUCCESS || count == 0)
        return failed(feature, "cuDeviceGetCount", result ? result : CUDA_ERROR_NO_DEVICE);
    if (ordinal < 0 || ordinal >= count) {
        record(cudaErrorInvalidDevice,
               count == 1 ? "%s: device %d does not exist; there is %d device"
                          : "%s: device %d does not exist; there are %d devices",
               feature->title, ordinal, count);
        return complete(feature, cudaErrorInvalidDevice, ACU_ERROR_KIND_DEVICE, 0, 0);
    }
    result = driver->device(device, ordinal);
    return result == CUDA_SUCCESS ? 0 : failed(feature, "cuDeviceGet", result);
}

static int lacks(const acu_feature_info *feature, const asked_driver *driver, int ordinal,
                 CUdevice device, const char *why, int needed, int found) {
    char name[256] = "";
    if (driver->name(name, sizeof name, device) != CUDA_SUCCESS)
        snprintf(name, sizeof name, "unknown name");
    record(cudaErrorNotSupported, "device %d (%s) does not support %s: %s", ordinal, name,
           feature->title, why);
    return complete(feature, cudaErrorNotSupported, ACU_ERROR_KIND_DEVICE, needed, found);
}

static int ask_attribute(const acu_feature_info *feature, const asked_driver *driver, int ordinal,
                         CUdevice device) {
    char why[160];
    int value = 0;
    CUresult result =
        driver->attribute(&value, (CUdevice_attribute)feature->attribute_number, device);
    if (result == CUDA_ERROR_INVALID_VALUE) /* unknown to this driver, whose version is new enough
                                               for the feature */
        return 0;
    if (result != CUDA_SUCCESS)
        return failed(feature, "cuDeviceGetAttribute", result);
    if (value != 0)
        return 0;
    snprintf(why, sizeof why, "%s is 0", feature->attribute);
    return lacks(feature, driver, ordinal, device, why, 0, 0);
}

static int ask_compute_capability(const acu_feature_info *feature, const asked_driver *driver,
                                  int ordinal, CUdevice device) {
    char why[160];
    int major = 0, minor = 0, needed = feature->compute_capability;
    CUresult result =
        driver->attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_SUCCESS)
        result = driver->attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (result != CUDA_SUCCESS)
        return failed(feature, "cuDeviceGetAttribute", result);
    if (major * 10 + minor >= needed)
        return 0;
    snprintf(why, sizeof why, "its compute capability is %d.%d, not %d.%d", major, minor,
             needed / 10, needed % 10);
    return lacks(feature, driver, ordinal, device, why, needed, major * 10 + minor);
}

static int ask_device(const acu_feature_info *feature, int ordinal) {
    acu_library *library = acu_driver_of(library_of(feature));
    asked_driver driver;
    CUdevice device = 0;
    int code = need(feature, library);
    if (code)
        return code;
    if (!bind_driver(library, &driver)) {
        record(cudaErrorNotSupported, "%s: the driver lacks a function that queries devices",
               feature->title);
        return complete(feature, cudaErrorNotSupported, ACU_ERROR_KIND_DRIVER, 0, 0);
    }
    code = find_device(feature, &driver, ordinal, &device);
    if (!code && feature->attribute)
        code = ask_attribute(feature, &driver, ordinal, device);
    if (!code && feature->compute_capability)
        code = ask_compute_capability(feature, &driver, ordinal, device);
    return code;
}

int acu_supports(acu_feature feature, int device) {
    const acu_feature_info *info = find(feature);
    if (!info)
        return acu_fail(__func__, "", cudaErrorInvalidValue, "there is no feature %d",
                        (int)feature);
    int code = ask_library(info);
    if (!code)
        code = ask_driver(info);
    if (!code && device != -1)
        code = ask_device(info, device);
    return code;
}
