#define _POSIX_C_SOURCE 200809L /* strdup */
#include "sim/code/execute.h"

#include "sim/code/finding.h"
#include "sim/code/device_runtime.h"
#include "sim/code/function.h"
#include "sim/code/graph_call.h"
#include "sim/code/heap.h"
#include "sim/code/print.h"
#include "sim/code/profile.h"
#include "sim/code/stopped.h"
#include "sim/code/reference.h"
#include "sim/code/texture_unit.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/memory/guard.h"
#include "sim/memory/history.h"
#include "sim/memory/memory.h"
#include "sim/memory/multicast.h"
#include "sim/memory/range.h"
#include "sim/memory/unwritten.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- code ---- */

static const char *or_no_memory(const char *text) {
    return text ? text : "there is no memory for it";
}

/* Returns what the configuration wants to know of the kernel. */
static ptx_watch wanted_watch(const char *kernel) {
    const acu_sim_config *config = acu_sim_configuration();
    ptx_watch watch = {.checks = config->checks, .profile = config->profile};
    if (acu_sim_stopped_names(kernel)) {
        watch.stop_line = config->trap.line;
        watch.stop_file = *config->trap.file ? config->trap.file : NULL;
    }
    return watch;
}

static bool is_same_watch(const ptx_watch *a, const ptx_watch *b) {
    const bool same_file = a->stop_file && b->stop_file ? strcmp(a->stop_file, b->stop_file) == 0
                                                        : !a->stop_file && !b->stop_file;
    return a->checks == b->checks && a->profile == b->profile && a->stop_line == b->stop_line &&
           same_file;
}

/* Says why PTX that does nothing is not executed, if it is of another architecture than the machine
 * code, which does something: the source has the kernel's body for newer architectures only. */
static bool refuse_empty(const acu_sim_code_image *image, const ptx_function *kernel,
                         acu_sim_entry *entry) {
    enum { EXIT_OF_NOTHING = 16 };
    const ptx_module *module = image->ptx;
    char why[512];
    if (kernel->instruction_count > 1 || entry->last_exit <= EXIT_OF_NOTHING || module->debug ||
        (image->binary == module->target && image->variant == module->variant))
        return false;
    snprintf(why, sizeof why,
             "its PTX, of compute_%d, does nothing, but its machine code of sm_%d, which is not "
             "simulated, does something: compile it to PTX of that architecture, too, with "
             "-gencode arch=compute_%d%.1s,code=compute_%d%.1s",
             module->target, image->binary, image->binary, &image->variant, image->binary,
             &image->variant);
    entry->why = strdup(why);
    return true;
}

bool acu_sim_execute_prepare(const acu_sim_function *function) {
    acu_sim_entry *entry = function->entry;
    ptx_error error = {.text = ""};
    ptx_watch watch = wanted_watch(entry->name);
    if (entry->code && (!is_same_watch(&entry->code->watch, &watch) ||
                        entry->code->level != acu_ptx_level())) { /* of another configuration */
        acu_ptx_code_free(entry->code);
        entry->code = NULL;
        entry->tried = false;
    }
    if (entry->code || entry->tried)
        return entry->code != NULL;
    entry->tried = true;
    const ptx_module *module = function->module->image->ptx;
    const ptx_function *kernel = module ? acu_ptx_module_function(module, entry->name) : NULL;
    if (!kernel || !kernel->has_body) {
        const char *why = function->module->image->why;
        entry->why = strdup(
            why ? why
                : "it has machine code only, which is not simulated: compile it to PTX too, with "
                  "nvcc -arch=compute_80 -code=compute_80");
        return false;
    }
    if (kernel->declared_only) {
        entry->why = strdup("there is no NVRTC, and the simulator reads of CUDA C++ only what it "
                            "declares: install NVRTC (libnvrtc.so)");
        return false;
    }
    if (refuse_empty(function->module->image, kernel, entry))
        return false;
    const ptx_result result = acu_ptx_code_make(module, kernel, &watch, &entry->code, &error);
    if (result)
        entry->why = strdup(error.text);
    else if (watch.stop_line && !entry->code->stops)
        acu_sim_stopped_nowhere(entry->name);
    entry->invalid = result == PTX_INVALID;
    return entry->code != NULL;
}

const char *acu_sim_execute_why(const acu_sim_function *function) {
    return or_no_memory(function->entry->why);
}

bool acu_sim_execute_uses_runtime(const acu_sim_function *function) {
    return acu_sim_execute_prepare(function) && function->entry->code->uses_runtime;
}

void acu_sim_execute_fix_limits(const acu_sim_function *function) {
    acu_sim_context *context = function->module->context;
    const ptx_code *code = function->entry->code;
    context->prints |= code && code->prints;
    context->allocates |= code && code->uses_heap;
}

bool acu_sim_execute_launches_graphs(const acu_sim_function *function) {
    return acu_sim_execute_prepare(function) && function->entry->code->launches_graphs;
}

void acu_sim_execute_forget(acu_sim_code_image *image) {
    for (size_t n = 0; n < image->entry_count; n++) {
        acu_ptx_code_free(image->entries[n].code);
        free(image->entries[n].why);
    }
    acu_ptx_module_free(image->ptx);
    free(image->text);
}

acu_sim_function *acu_sim_execute_function(const acu_sim_module *module, uint64_t pointer) {
    const ptx_module *ptx = module->image->ptx;
    const ptx_function *f = ptx ? acu_ptx_function_at(ptx, pointer) : NULL;
    const int index = f && f->is_entry ? acu_sim_image_entry(module->image, f->name) : -1;
    return index < 0 ? NULL : &module->functions[index];
}

/* ---- variables ---- */

static uint64_t address_of_variable(const acu_sim_module *module, const char *name) {
    int index = acu_sim_image_variable(module->image, name);
    return index < 0 ? 0 : (uint64_t)(uintptr_t)module->variables[index];
}

static void relocate(const acu_sim_module *module, const ptx_module *ptx, const ptx_variable *v) {
    char *at = (char *)(uintptr_t)address_of_variable(module, v->name);
    const acu_sim_range *range = at ? acu_sim_range_of(at) : NULL;
    for (size_t n = 0; range && n < v->relocation_count; n++) {
        const ptx_relocation *r = &v->relocations[n];
        uint64_t value = r->variable ? address_of_variable(module, r->variable->name)
                                     : acu_ptx_function_pointer(ptx, r->function);
        value = (value + (uint64_t)r->addend) >> r->shift;
        memcpy(acu_sim_range_bytes(range, at + r->offset), &value, r->size < 8 ? r->size : 8);
    }
}

void acu_sim_execute_relocate(acu_sim_module *module) {
    if (!module->image->has_addresses)
        return;
    const ptx_module *ptx = module->image->ptx;
    for (const ptx_variable *v = ptx ? ptx->variables : NULL; v; v = v->next)
        if (v->relocation_count)
            relocate(module, ptx, v);
}

/* ---- running ---- */

/* What a running kernel asks of the simulator. */
typedef struct machine {
    const acu_sim_kernel_launch *launch;
    acu_sim_descendants *children;
    const acu_sim_module *module;
    const acu_sim_device *device;
    acu_sim_in_graph in_graph; /* where the launch is */
    const char *kernel;
    unsigned checks;
    acu_sim_texture_unit unit;
    uint64_t barrier[8]; /* of the grid; its blocks count in it */
} machine;

/* Finds memory that only kernels have: of the heap, the grid's barrier, or for launches. */
static bool find_own(machine *m, uint64_t address, ptx_range *found) {
    acu_sim_heap *heap = acu_sim_heap_of(m->module->context, false);
    size_t bytes = 0;
    char *own = heap ? acu_sim_heap_find(heap, (const void *)(uintptr_t)address, &bytes) : NULL;
    const bool in_heap = own != NULL;
    if (!own && address - (uintptr_t)m->barrier < sizeof m->barrier) {
        own = (char *)m->barrier;
        bytes = sizeof m->barrier;
    }
    bool writable = true;
    if (!own)
        own = acu_sim_descendants_find(m->children, (const void *)(uintptr_t)address, &bytes,
                                       &writable);
    *found = (ptx_range){.base = (uintptr_t)own, .bytes = own, .writable = writable};
    found->last = found->end = found->base + bytes - 1;
    found->heap = in_heap;
    return own != NULL;
}

/* Returns whether there is memory behind the range, up to a multiple of what sizes are rounded to.
 * A GPU lets kernels access it, and so does the simulator where a check reports that. */
static bool is_rounded(const acu_sim_range *range) {
    return range->kind == SIM_DEVICE && !range->bytes && !range->view;
}

static const acu_sim_range *find_rounded(const machine *m, uint64_t address) {
    const uint64_t unit = acu_sim_memory_rounded(1), first = address / unit * unit;
    const acu_sim_range *range =
        acu_sim_kernel_launch_find(m->device, (const void *)(uintptr_t)first, 1);
    return range && is_rounded(range) ? range : NULL;
}

static bool find_range(void *data, uint64_t address, ptx_range *found) {
    machine *m = data;
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_range *range =
        acu_sim_kernel_launch_find(m->device, (const void *)(uintptr_t)address, 1);
    const bool rounds = m->checks & PTX_CHECK_MEMORY;
    if (!range && rounds)
        range = find_rounded(m, address);
    bool is_own = !range && find_own(m, address, found);
    if (range && !range->multicast) {
        *found = (ptx_range){.base = range->base, .end = range->base + range->size - 1};
        found->last = rounds && is_rounded(range)
                          ? range->base + acu_sim_memory_rounded(range->size) - 1
                          : found->end;
        found->bytes = acu_sim_range_bytes(range, (const void *)range->base);
        found->writable =
            acu_sim_range_allows_writing(range, m->device) && !acu_sim_range_is_read_only(range);
    } else if (!is_own) {
        acu_sim_guard_explain((const void *)(uintptr_t)address);
        range = NULL;
    }
    pthread_mutex_unlock(&acu_sim_lock);
    return range || is_own;
}

static size_t find_multicast(void *data, uint64_t address, size_t bytes, void **places,
                             size_t room) {
    const machine *m = data;
    const void *at = (const void *)(uintptr_t)address;
    pthread_mutex_lock(&acu_sim_lock);
    const size_t count = acu_sim_kernel_launch_find(m->device, at, bytes)
                             ? acu_sim_multicast_places(at, bytes, places, room)
                             : 0;
    pthread_mutex_unlock(&acu_sim_lock);
    return count;
}

static uint64_t allocate(void *data, uint64_t bytes) {
    const machine *m = data;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_heap *heap = acu_sim_heap_of(m->module->context, true);
    pthread_mutex_unlock(&acu_sim_lock);
    void *taken = heap ? acu_sim_heap_take(heap, bytes) : NULL;
    if (taken)
        acu_sim_unwritten_fill(taken, taken, bytes);
    return (uintptr_t)taken;
}

static int release(void *data, uint64_t address) {
    const machine *m = data;
    bool overlooked;
    pthread_mutex_lock(&acu_sim_lock);
    const cudaError_t result =
        acu_sim_heap_free(m->module->context, (const void *)(uintptr_t)address, &overlooked);
    pthread_mutex_unlock(&acu_sim_lock);
    return overlooked ? PTX_OVERLOOKED : (int)result;
}

static bool stray(void *data, uint64_t address, uint64_t size, char *text, size_t room) {
    const machine *m = data;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_heap *heap = acu_sim_heap_of(m->module->context, false);
    pthread_mutex_unlock(&acu_sim_lock);
    return heap && acu_sim_heap_stray(heap, (const void *)(uintptr_t)address, size, text, room);
}

static bool set_conditional(void *data, uint64_t handle, unsigned value) {
    const machine *m = data;
    return acu_sim_graph_set_conditional(&m->in_graph, handle, value);
}

static uint64_t find_variable(void *data, const ptx_variable *variable) {
    const machine *m = data;
    const acu_sim_reference *r =
        acu_ptx_is_reference(variable) ? acu_sim_reference_named(m->module, variable->name) : NULL;
    return r ? (uint64_t)(r - m->module->references) + 1
             : address_of_variable(m->module, variable->name);
}

static void print(void *data, const char *text, size_t size) {
    (void)data;
    acu_sim_print_keep(text, size);
}

static void describe(void *data, uint64_t address, char *text, size_t size) {
    (void)data;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_history_describe((const void *)(uintptr_t)address, text, size);
    pthread_mutex_unlock(&acu_sim_lock);
}

static void show_stopped(void *data, const ptx_warp *w, const ptx_op *op) {
    const machine *m = data;
    acu_sim_stopped_show(m->kernel, m->device, w, op);
}

static void take_finding(void *data, const ptx_finding *finding) {
    const machine *m = data;
    acu_sim_finding_add(m->kernel, finding);
}

static void call_runtime(void *data, ptx_runtime_call *call) {
    const machine *m = data;
    if (!acu_sim_graph_call(&m->in_graph, call))
        acu_sim_device_runtime_call(m->children, m->launch, call);
}

static const void *open_object(void *data, uint64_t handle, bool is_surface) {
    machine *m = data;
    return acu_sim_texture_unit_open(&m->unit, handle, is_surface);
}

static const char *why_not(void *data) {
    const machine *m = data;
    return m->unit.why;
}

static bool is_reference(void *data, uint64_t handle, bool is_surface) {
    const machine *m = data;
    return acu_sim_texture_unit_is_reference(&m->unit, handle, is_surface);
}

static const ptx_textures textures = {.open = open_object,
                                      .why = why_not,
                                      .is_reference = is_reference,
                                      .sample = acu_sim_texture_unit_sample,
                                      .find = acu_sim_texture_unit_find,
                                      .extent = acu_sim_texture_unit_extent,
                                      .format = acu_sim_texture_unit_format};

static int capability_of(const acu_sim_device *device) {
    return acu_sim_device_attribute(device, cudaDevAttrComputeCapabilityMajor) * 10 +
           acu_sim_device_attribute(device, cudaDevAttrComputeCapabilityMinor);
}

/* Says which thread of the kernel failed, where and why. */
static void report(const acu_sim_kernel_launch *prepared, const ptx_fault *fault) {
    const ptx_instruction *i = fault->instruction;
    char place[256];
    fprintf(
        stderr,
        "anycuda: simulator: kernel \"%s\": block (%u, %u, %u), thread (%u, %u, %u): error %d: %s",
        prepared->function->entry->name, fault->block[0], fault->block[1], fault->block[2],
        fault->thread[0], fault->thread[1], fault->thread[2], fault->code, fault->what);
    if (fault->address)
        fprintf(stderr, ", at address 0x%llx", (unsigned long long)fault->address);
    acu_sim_finding_place(fault->function ? prepared->function->module->image->ptx : NULL, i, place,
                          sizeof place);
    fprintf(stderr, "%s%s\n", i ? "; " : "", place);
}

/* ---- profiles ---- */

static double occupancy_of(const acu_sim_kernel_launch *prepared) {
    const acu_sim_function *f = prepared->function;
    unsigned grid[3], block[3];
    acu_sim_kernel_launch_extents(prepared, grid, block);
    const unsigned threads = block[0] * block[1] * block[2];
    pthread_mutex_lock(&acu_sim_lock);
    unsigned resident = acu_sim_function_occupancy(f, threads, prepared->shared);
    int room = acu_sim_device_attribute(f->module->device, cudaDevAttrMaxThreadsPerMultiProcessor);
    pthread_mutex_unlock(&acu_sim_lock);
    return acu_sim_profile_occupancy(
        (uint64_t)grid[0] * grid[1] * grid[2], (threads + PTX_LANES - 1) / PTX_LANES,
        prepared->multiprocessors, resident, (unsigned)room / PTX_LANES);
}

/* Returns 0, or the code of the fault, as acu_ptx_grid_run() does, and keeps what the launch did if
 * that is wanted. */
static int run_grid(const acu_sim_kernel_launch *prepared, ptx_launch *launch, ptx_fault *fault) {
    const ptx_code *code = launch->code;
    if (!code->watch.profile)
        return acu_ptx_grid_run(launch, fault);
    launch->counts = calloc(code->counted_count + 1, sizeof *launch->counts);
    *fault = (ptx_fault){.code = 2, .what = "there is no memory for its profile"};
    if (!launch->counts)
        return fault->code;
    acu_ptx_grid_run(launch, fault);
    acu_sim_profile_launch(prepared->function->entry->name, code, launch->counts,
                           occupancy_of(prepared));
    free(launch->counts);
    return fault->code;
}

/* Returns how much of its stack a thread has for recursion. A frame here is never larger than a
 * GPU's, so what the program asked for is enough. */
static size_t stack_of(const acu_sim_kernel_launch *prepared) {
    enum { LEAST = 64 << 10 };
    pthread_mutex_lock(&acu_sim_lock);
    size_t limit = acu_sim_kernel_launch_context(prepared)->limits[cudaLimitStackSize];
    pthread_mutex_unlock(&acu_sim_lock);
    return limit > LEAST ? limit : LEAST;
}

cudaError_t acu_sim_execute_run(const acu_sim_kernel_launch *prepared,
                                acu_sim_descendants *children) {
    const acu_sim_function *function = prepared->function;
    machine m = {.launch = prepared,
                 .children = children,
                 .module = function->module,
                 .device = function->module->device,
                 .in_graph = acu_sim_in_graph_of(prepared),
                 .kernel = function->entry->name,
                 .unit = {.references = prepared->references,
                          .reference_count =
                              prepared->references ? function->module->image->reference_count : 0},
                 .checks = function->entry->code->watch.checks};
    ptx_machine needs = {.find = find_range,
                         .variable = find_variable,
                         .multicast = find_multicast,
                         .allocate = allocate,
                         .release = release,
                         .set_conditional = set_conditional,
                         .print = print,
                         .finding = take_finding,
                         .stopped = show_stopped,
                         .describe = describe,
                         .stray = stray,
                         .unwritten = acu_sim_unwritten_word,
                         .runtime = call_runtime,
                         .textures = &textures,
                         .data = &m,
                         .capability = capability_of(m.device),
                         .clock_khz =
                             (unsigned)acu_sim_device_attribute(m.device, cudaDevAttrClockRate)};
    const acu_sim_processors all = acu_sim_processors_all(m.device);
    ptx_fault fault;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_execute_fix_limits(function);
    pthread_mutex_unlock(&acu_sim_lock);
    ptx_launch launch = {
        .code = function->entry->code,
        .machine = &needs,
        .dynamic_shared = prepared->shared,
        .params = prepared->arguments,
        .multiprocessors = prepared->multiprocessors,
        .processors = prepared->processors.bits,
        .smids = acu_sim_processors_count(&all),
        .stack = stack_of(prepared),
        .cycles = acu_sim_configuration()->seeded ? &function->module->device->cycles : NULL,
        .graph = m.in_graph.exec,
        .barrier = prepared->cooperative ? (uintptr_t)m.barrier : 0,
        .jit = (ptx_jit_use)acu_sim_configuration()->jit,
        .timeout = acu_sim_configuration()->timeout,
        .workers = acu_sim_configuration()->seeded ? 1 : acu_sim_configuration()->threads};
    acu_sim_kernel_launch_extents(prepared, launch.grid, launch.block);
    const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
    pthread_mutex_lock(&acu_sim_lock);
    launch.resident =
        prepared->multiprocessors * acu_sim_function_resident(function, threads, prepared->shared);
    pthread_mutex_unlock(&acu_sim_lock);
    for (unsigned n = 0; n < 3; n++)
        launch.cluster[n] = prepared->cluster[n] ? prepared->cluster[n] : 1;
    if (run_grid(prepared, &launch, &fault))
        report(prepared, &fault);
    if (launch.code->watch.checks)
        acu_sim_finding_launch_ends(m.kernel);
    acu_sim_texture_unit_close(&m.unit);
    return fault.code == 2 ? cudaErrorLaunchFailure : (cudaError_t)fault.code;
}

static void configure_level(const acu_sim_config *config) {
    const ptx_level level = (ptx_level)config->level;
    const char *lack = acu_ptx_level_lack(level, acu_ptx_processor_level());
    if (lack)
        fprintf(stderr, "anycuda: ANYCUDA_SIM: \"level=%s\" is ignored: %s\n",
                level == PTX_AVX2 ? "avx2" : "avx512", lack);
    acu_ptx_level_use(level);
}

const acu_sim_noun acu_sim_execute_noun = {.configure = configure_level};
