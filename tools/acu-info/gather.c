/*
 * Asks the library all that acu-info prints. Nothing here creates a context on a device: a program
 * that only looks shall not take memory there.
 */
#include <anycuda/nvjitlink.h>
#include <anycuda/webgpu.h>

#include "report.h"

#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const report_variables[] = {"ANYCUDA_CUDART",      "ANYCUDA_CUDA",
                                        "ANYCUDA_NVRTC",       "ANYCUDA_WEBGPU",
                                        "ANYCUDA_NVML",        "ANYCUDA_NVJITLINK",
                                        "ANYCUDA_SIM",         "ANYCUDA_TRACE",
                                        "ANYCUDA_FAIL",        "VIRTUAL_ENV",
                                        "CONDA_PREFIX",        "CUDA_PATH",
                                        "CUDA_HOME",           "LD_PRELOAD",
                                        "LD_LIBRARY_PATH",     "CUDA_VISIBLE_DEVICES",
                                        "CUDA_MODULE_LOADING", NULL};

const char *verdict_name(verdict v) {
    static const char *const names[] = {"gpu",       "error",     "usage",    "no-library",
                                        "no-driver", "no-device", "simulator"};
    return names[v];
}

static void *need(void *memory) {
    if (!memory) {
        fputs("acu-info: out of memory\n", stderr);
        exit(VERDICT_ERROR);
    }
    return memory;
}

static char *copy(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(need(malloc(size)), text, size);
}

answer report_keep(acu_result code) {
    return (answer){code, copy(code ? acu_last_error_message() : "")};
}

/* ---- libraries ---- */

/* A program that calls no function of WebGPU or nvJitLink has no loader for it. */
__attribute__((used)) static uint32_t (*const has_webgpu)(void) = wgpuGetVersion;
__attribute__((used)) static nvJitLinkResult (*const has_linker)(unsigned *,
                                                                 unsigned *) = nvJitLinkVersion;

static void load(library_report *l, const char *path) {
    l->load = report_keep(acu_load(&(acu_load_options){.library = l->id, .path = path}));
    l->loaded = acu_loaded(l->id);
    l->search = copy(acu_load_trace(l->id));
}

static void leave_out(library_report *l) {
    l->load.message = copy("");
    l->search = copy("");
}

static void load_all(report *r, const char *path) {
    static const library_report empty[LIBRARIES] = {
        [RUNTIME] = {.id = ACU_CUDART, .key = "cudart", .title = "CUDA runtime"},
        [DRIVER_API] = {.id = ACU_CUDA, .key = "cuda", .title = "Driver"},
        [COMPILER] = {.id = ACU_NVRTC, .key = "nvrtc", .title = "NVRTC"},
        [LINKER] = {.id = ACU_NVJITLINK, .key = "nvjitlink", .title = "nvJitLink"},
        [WEBGPU] = {.id = ACU_WEBGPU, .key = "webgpu", .title = "WebGPU"},
        [MONITOR] = {.id = ACU_NVML, .key = "nvml", .title = "NVML"},
    };
    memcpy(r->libraries, empty, sizeof empty);
    load(&r->libraries[RUNTIME], path);
    const acu_load_info *runtime = r->libraries[RUNTIME].loaded;
    bool simulated = runtime && runtime->is_sim;
    /* Whoever plays the runtime plays its driver. */
    load(&r->libraries[DRIVER_API], simulated ? "sim" : NULL);
    load(&r->libraries[COMPILER], NULL);
    load(&r->libraries[LINKER], NULL);
    load(&r->libraries[WEBGPU], NULL);
    /* The devices of a simulator are not NVML's, unless somebody simulates that, too. */
    if (!simulated || getenv("ANYCUDA_NVML"))
        load(&r->libraries[MONITOR], NULL);
    else
        leave_out(&r->libraries[MONITOR]);
    if (!runtime || cudaDriverGetVersion(&r->driver) != cudaSuccess)
        r->driver = r->libraries[DRIVER_API].loaded ? r->libraries[DRIVER_API].loaded->version : 0;
}

/* ---- devices ---- */

static void ask_features(answer answers[ACU_FEATURE_COUNT], int device) {
    for (int i = 0; i < ACU_FEATURE_COUNT; i++)
        answers[i] = report_keep(acu_supports((acu_feature)i, device));
}

static void ask_device(device_report *d, int ordinal) {
    acu_result result = acu_device_get_info(ordinal, &d->info);
    if (!result)
        result = acu_device_get_uuid(ordinal, d->uuid);
    d->asked = report_keep(result);
    ask_features(d->features, ordinal);
}

static verdict judge_count(acu_result result, int count) {
    switch (result) {
    case 0:
        return count ? VERDICT_GPU : VERDICT_NO_DEVICE;
    case cudaErrorNoDevice:
        return VERDICT_NO_DEVICE;
    case cudaErrorStubLibrary:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
        return VERDICT_NO_DRIVER;
    default:
        return VERDICT_ERROR;
    }
}

/* One device that answers is enough. */
static void judge_devices(report *r) {
    for (int i = 0; i < r->device_count; i++)
        if (!r->devices[i].asked.code)
            return;
    r->verdict = VERDICT_ERROR;
    free(r->reason.message);
    r->reason = (answer){r->devices[0].asked.code, copy(r->devices[0].asked.message)};
}

/* ---- pairs ---- */

pair_report *report_pair(const report *r, int from, int to) {
    return &r->pairs[from * r->device_count + to];
}

static void ask_pairs(report *r) {
    const size_t count = (size_t)r->device_count;
    r->pairs = need(calloc(count * count, sizeof *r->pairs));
    for (int from = 0; from < r->device_count; from++)
        for (int to = 0; to < r->device_count; to++) {
            pair_report *pair = report_pair(r, from, to);
            pair->ancestor = UNKNOWN;
            pair->known = from != to && !acu_device_get_peer_info(from, to, &pair->peer);
        }
}

static void ask_devices(report *r) {
    acu_result result = acu_device_get_count(&r->device_count);
    r->reason = report_keep(result);
    r->hint = copy(result ? acu_last_error_details().hint : "");
    r->verdict = judge_count(result, r->device_count);
    if (r->device_count <= 0)
        return;
    r->devices = need(calloc((size_t)r->device_count, sizeof *r->devices));
    for (int i = 0; i < r->device_count; i++)
        ask_device(&r->devices[i], i);
    judge_devices(r);
    if (r->verdict == VERDICT_GPU && r->libraries[RUNTIME].loaded->is_sim)
        r->verdict = VERDICT_SIMULATOR;
}

void report_gather(report *r, const char *library, bool all) {
    *r = (report){0};
    load_all(r, library);
    ask_features(r->features, -1);
    if (r->libraries[RUNTIME].loaded) {
        ask_devices(r);
        if (all && r->device_count > 0) {
            ask_pairs(r);
            monitor_gather(r);
        }
        return;
    }
    r->verdict = VERDICT_NO_LIBRARY;
    r->reason = (answer){r->libraries[RUNTIME].load.code, copy(r->libraries[RUNTIME].load.message)};
    r->hint = copy("install a CUDA runtime, or name one: ANYCUDA_CUDART=/path/to/libcudart.so.12");
}

static void free_answers(answer answers[ACU_FEATURE_COUNT]) {
    for (int i = 0; i < ACU_FEATURE_COUNT; i++)
        free(answers[i].message);
}

void report_free(report *r) {
    for (int i = 0; i < r->device_count; i++) {
        free(r->devices[i].asked.message);
        free_answers(r->devices[i].features);
    }
    for (int i = 0; i < LIBRARIES; i++) {
        free(r->libraries[i].load.message);
        free(r->libraries[i].search);
    }
    free_answers(r->features);
    free(r->devices);
    free(r->pairs);
    free(r->reason.message);
    free(r->hint);
}
