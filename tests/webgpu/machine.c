#define _POSIX_C_SOURCE 200809L /* setenv */
#include "machine.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

acu_gpu_adapters machine;

static _Noreturn void leave(const char *why) {
    printf("skipped: %s\n", why);
    exit(77);
}

/* Chooses Mesa's Vulkan for the CPU by both names that the loader of Vulkan has had for it. */
static void choose_vulkan(void) {
    glob_t found;
    if (getenv("VK_DRIVER_FILES") || getenv("VK_ICD_FILENAMES"))
        return;
    if (glob("/usr/share/vulkan/icd.d/lvp_icd.*json", 0, NULL, &found) != 0)
        leave("there is no Vulkan for the CPU (mesa-vulkan-drivers)");
    setenv("VK_DRIVER_FILES", found.gl_pathv[0], 1);
    setenv("VK_ICD_FILENAMES", found.gl_pathv[0], 1);
    globfree(&found);
}

void machine_require(void) {
    choose_vulkan();
    if (!getenv("ANYCUDA_WEBGPU") && access(FETCHED, R_OK) == 0)
        setenv("ANYCUDA_WEBGPU", FETCHED, 1);
    if (acu_load(&(acu_load_options){.library = ACU_WEBGPU}))
        leave(acu_last_error_message());
    if (acu_gpu_adapters_find(&machine))
        leave(acu_last_error_message());
    if (!machine.count)
        leave("WebGPU finds no adapter by Vulkan");
    printf("on %s, %s\n", machine.list[0].name, machine.list[0].driver);
}

static size_t count(const WGPURegistryReport *report) {
    return report->numAllocated;
}

/* Command buffers are left out, as wgpu-native keeps those with errors for ever. */
size_t machine_objects(void) {
    WGPUGlobalReport report = {0};
    wgpuGenerateReport(machine.instance, &report);
    const WGPUHubReport *hub = &report.hub;
    return count(&hub->devices) + count(&hub->queues) + count(&hub->pipelineLayouts) +
           count(&hub->shaderModules) + count(&hub->bindGroupLayouts) + count(&hub->bindGroups) +
           count(&hub->computePipelines) + count(&hub->buffers);
}

acu_gpu *machine_open(void) {
    acu_gpu *gpu = NULL;
    assert_int_equal(acu_gpu_open(&machine, 0, &gpu), 0);
    return gpu;
}

void machine_close(acu_gpu *gpu) {
    acu_gpu_close(gpu);
    assert_int_equal(machine_objects(), 0);
}

void machine_contains(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

uint32_t machine_random(uint32_t end) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % end;
}
