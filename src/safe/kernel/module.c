/* Modules: loading code, and finding kernels and variables in it. */
#include "safe/kernel/module.h"
#include "safe/kernel/code.h"
#include "safe/kernel/code_bytes.h"
#include "safe/kernel/kernel.h"
#include "safe/base/active_capture.h"
#include "safe/memory/storage.h"
#include "core/translate.h"

#include <anycuda/cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME(module, code) acu_outcome(__func__, (module), (int)(code))

enum { DEFAULT_LOG_BYTES = 8192, NAMES_IN_HINT = 8 };

/* ---- options of the compiler ---- */

static void add_option(acu_code_jit *jit, enum cudaJitOption option, uintptr_t value) {
    jit->options[jit->count] = option;
    jit->values[jit->count++] = (void *)value;
}

static void add_number(acu_code_jit *jit, enum cudaJitOption option, unsigned value) {
    if (value)
        add_option(jit, option, value);
}

static void fill_jit(acu_code_jit *jit, const acu_jit_options *o, acu_module *module,
                     size_t log_bytes) {
    jit->count = 0;
    add_option(jit, cudaJitInfoLogBuffer, (uintptr_t)module->info_log);
    add_option(jit, cudaJitInfoLogBufferSizeBytes, log_bytes);
    add_option(jit, cudaJitErrorLogBuffer, (uintptr_t)module->error_log);
    add_option(jit, cudaJitErrorLogBufferSizeBytes, log_bytes);
    add_number(jit, cudaJitMaxRegisters, o->max_registers);
    add_number(jit, cudaJitThreadsPerBlock, o->threads_per_block);
    add_number(jit, cudaJitMinCtaPerSm, o->min_blocks);
    add_number(jit, cudaJitMaxThreadsPerBlock, o->max_threads);
    if (o->level != ACU_JIT_LEVEL_DEFAULT)
        add_option(jit, cudaJitOptimizationLevel, (unsigned)o->level - ACU_JIT_O0);
    add_number(jit, cudaJitCacheMode, (unsigned)o->cache); /* CG is 1, CA is 2 */
    add_number(jit, cudaJitGenerateDebugInfo, o->debug);
    add_number(jit, cudaJitGenerateLineInfo, o->lines);
    add_number(jit, cudaJitLogVerbose, o->verbose);
    add_number(jit, cudaJitPositionIndependentCode, o->position_independent);
    add_number(jit, cudaJitOverrideDirectiveValues, o->override_directives);
}

/* Adds the compiler's log to the failure that was just recorded; returns the code. */
static int with_log(const acu_module *module, int code) {
    char before[512];
    if (!code || !module->error_log || !*module->error_log)
        return code;
    snprintf(before, sizeof before, "%s", acu_last_error_message());
    return acu_record(code, "%s; the compiler's log: %s", before,
                      acu_record_one_line(module->error_log, (char[512]){0}, 512));
}

/* ---- life ---- */

bool acu_module_record_use(acu_module *module, acu_timeline *timeline) {
    for (size_t i = 0; i < ACU_MODULE_STREAMS; i++) {
        acu_timeline *here = __atomic_load_n(&module->streams[i], __ATOMIC_RELAXED);
        if (ACU_LIKELY(here == timeline))
            return true;
        if (!here && __atomic_compare_exchange_n(&module->streams[i], &here, timeline, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            (void)acu_timeline_retain(timeline); /* the caller's stream keeps it alive until here */
            return true;
        }
        if (here == timeline)
            return true;
    }
    __atomic_store_n(&module->crowded, true, __ATOMIC_RELAXED);
    return false;
}

/* Waits until the module's kernels have ended, because CUDA does not wait when it unloads. */
static int wait_for_kernels(const acu_module *module) {
    acu_guard guard;
    int code = 0;
    for (size_t i = 0; i < ACU_MODULE_STREAMS && module->streams[i] && !code; i++)
        code = acu_timeline_synchronize(module->streams[i], ACU_EVERYTHING);
    if (code || !module->crowded)
        return code;
    ACU_TRY(acu_capture_begin_device_wait(module->place.device));
    code = acu_guard_enter(&guard, module->place.device);
    if (!code)
        code = (int)cudaDeviceSynchronize();
    acu_guard_leave(&guard);
    acu_capture_end_device_wait(module->place.device);
    return code;
}

/* Unloads after entering the place has failed, by another way to make the device's context current:
 * otherwise the code would stay loaded for good. Returns the first failure. */
static int unload_after_failure(const acu_module *module) {
    acu_guard guard;
    acu_saved_record first;
    acu_record_save(&first);
    if (!acu_guard_enter(&guard, module->place.device) && !cudaFree(NULL))
        (void)module->api->unload(module->raw);
    acu_guard_leave(&guard);
    acu_record_restore(&first);
    return acu_last_error();
}

static int unload(const acu_module *module) {
    acu_code_guard guard;
    if (module->api->enter(&module->place, &guard))
        return unload_after_failure(module);
    int code = module->api->unload(module->raw);
    module->api->leave(&guard);
    return code;
}

static void free_texts(acu_module *module) {
    acu_ptx_clear(&module->ptx);
    acu_code_free_names(module->lowered, module->lowered_count);
    free(module->names);
    free(module->info_log);
    free(module->error_log);
    pthread_mutex_destroy(&module->lock);
}

static int destroy_module(acu_object *object) {
    acu_module *module = (acu_module *)object;
    int code = 0, gone = 0, closed = 0;
    bool loaded = module->raw && module->owned && !acu_is_unloading();
    if (loaded)
        code = acu_forgive_unloading(wait_for_kernels(module));
    if (!acu_timeline_was_finished(code))
        return ACU_LATER;
    if (loaded && !acu_is_unloading())
        gone = acu_forgive_unloading(unload(module));
    if (module->opened && !acu_is_unloading())
        closed = acu_forgive_unloading(module->api->close(&module->place));
    for (size_t i = 0; i < ACU_MODULE_STREAMS && module->streams[i]; i++) {
        int released = acu_timeline_release(module->streams[i]);
        code = code ? code : released;
    }
    free_texts(module);
    return gone ? gone : code ? code : closed;
}

static void describe_module(const acu_object *object, acu_description *d) {
    const acu_module *module = (const acu_module *)object;
    acu_describe(d, "%s %p", module->owned ? "raw" : "wrapped", module->raw);
}

const acu_class acu_module_class = {"module", destroy_module, describe_module, NULL};

static int new_module(const char *call, acu_device device, const acu_code_api *api,
                      acu_module **out) {
    acu_module *module = acu_object_new(call, &acu_module_class, sizeof *module, device);
    if (!module)
        return ACU_ERROR_HOST_MEMORY;
    module->api = api;
    module->place.device = device;
    pthread_mutex_init(&module->lock, NULL);
    int code = api->open(&module->place);
    module->opened = code == 0;
    if (code)
        (void)acu_object_release(call, module, &acu_module_class);
    else
        *out = module;
    return code;
}

/* Allocates the logs, whose size CUDA has in 32 bits. */
static int make_logs(const char *call, acu_module *module, size_t bytes) {
    if (bytes >= UINT32_MAX)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "a log cannot have %zu bytes: it must be smaller than 4 GiB", bytes);
    module->info_log = calloc(1, bytes + 1);
    module->error_log = calloc(1, bytes + 1);
    if (!module->info_log || !module->error_log)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for logs of %zu bytes", bytes);
    return 0;
}

static int read_ptx(const char *call, acu_module *module, const acu_module_image *image) {
    const char *text = image->ptx ? image->ptx : image->bytes;
    module->has_ptx = image->ptx || acu_code_form_of(image->bytes, image->size) == ACU_CODE_PTX;
    if (module->has_ptx && !acu_ptx_read(&module->ptx, text, strlen(text)))
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for the kernels' parameters");
    return 0;
}

static int load_image(const char *call, acu_module *module, const acu_module_image *image) {
    static const acu_jit_options none;
    const acu_jit_options *options = image->jit ? image->jit : &none;
    size_t log_bytes = options->log_bytes ? options->log_bytes : DEFAULT_LOG_BYTES;
    acu_code_guard guard;
    acu_code_jit jit;
    if ((unsigned)options->level > ACU_JIT_O4)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "%d is not an optimisation level of the driver's compiler",
                        (int)options->level);
    if ((unsigned)options->cache > ACU_JIT_CACHE_L1)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "%d is not a cache mode of the driver's compiler", (int)options->cache);
    int code = make_logs(call, module, log_bytes);
    if (!code)
        code = read_ptx(call, module, image);
    if (code)
        return code;
    fill_jit(&jit, options, module, log_bytes);
    code = module->api->enter(&module->place, &guard);
    if (!code)
        code = with_log(module, module->api->load(&module->raw, image->bytes, &jit));
    module->api->leave(&guard);
    module->owned = code == 0;
    return code && *call ? acu_cuda_failed(call, "", code) : code;
}

/* Refuses what only a linker takes: CUDA, which gets no size, would read it as a text. */
static int refuse_parts(const char *call, acu_code_form form) {
    const char *what = form == ACU_CODE_LTO       ? "LTO IR"
                       : form == ACU_CODE_OBJECT  ? "an object file"
                       : form == ACU_CODE_ARCHIVE ? "an archive"
                                                  : NULL;
    if (!what)
        return 0;
    acu_fail_hint("link it: acu_code_create() takes it, and acu_code_link() makes a cubin of it");
    return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the code is %s, which cannot be loaded", what);
}

int acu_module_new(const char *call, acu_device device, const acu_module_image *image,
                   acu_module **module) {
    acu_module *made = NULL;
    int code = acu_code_check(call, image->bytes, image->size);
    if (!code)
        code = refuse_parts(call, acu_code_form_of(image->bytes, image->size));
    if (code)
        return code;
    code = new_module(call, device, acu_code_api_for_modules(), &made);
    if (code)
        return *call ? acu_cuda_failed(call, "", code) : code;
    code = load_image(call, made, image);
    if (code)
        (void)acu_object_release(call, made, &acu_module_class);
    else
        *module = made;
    return code;
}

/* ---- sources ---- */

/* Copies the C++ names that the code has. */
static int copy_names(const char *call, acu_module *module, const acu_code *code) {
    module->lowered = acu_code_copy_names(code);
    if (!module->lowered)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for the kernels' names");
    module->lowered_count = code->name_count;
    return 0;
}

/* Fills in the image by which code is loaded: the simulator takes PTX alone. */
static int choose_image(const char *call, const acu_code *code, acu_module_image *image) {
    static const acu_code_form order[] = {ACU_CODE_CUBIN, ACU_CODE_FATBIN, ACU_CODE_PTX};
    const acu_code_bytes *ptx = &code->images[ACU_CODE_PTX], *found = NULL;
    if (acu_loaded(ACU_CUDART)->is_sim && ptx->bytes)
        found = ptx;
    for (size_t i = 0; i < sizeof order / sizeof *order && !found; i++)
        if (code->images[order[i]].bytes)
            found = &code->images[order[i]];
    if (!found) {
        acu_fail_hint("link it: acu_code_link() makes a cubin of it");
        return acu_fail_on(call, code, ACU_ERROR_ARGUMENT, "the code cannot be loaded");
    }
    image->bytes = found->bytes;
    image->size = found->size;
    image->ptx = ptx->bytes;
    return 0;
}

int acu_module_load_code(const char *call, acu_device device, const acu_code *code,
                         const acu_jit_options *jit, acu_module **module) {
    acu_module_image image = {.jit = jit};
    acu_module *made = NULL;
    int failed = choose_image(call, code, &image);
    if (!failed)
        failed = acu_module_new(call, device, &image, &made);
    if (!failed)
        failed = copy_names(call, made, code);
    if (failed)
        (void)acu_object_release(call, made, &acu_module_class);
    else
        *module = made;
    return failed;
}

/* Loads what `file`, `image` or `ptx` has. */
static int load_bytes(const char *call, acu_device device, const acu_module_source *source,
                      acu_module **module) {
    char *copy = NULL;
    acu_module_image image = {.bytes = source->image, .size = source->size, .jit = &source->jit};
    if (source->ptx) {
        image.bytes = source->ptx;
        image.size = strlen(source->ptx);
    } else if (source->file) {
        ACU_TRY(acu_code_read_file(call, source->file, &copy, &image.size));
        image.bytes = copy;
    } else if (acu_code_form_of(source->image, source->size) == ACU_CODE_PTX) {
        image.bytes = copy = acu_code_copy(source->image, source->size);
        if (!copy)
            return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu bytes of PTX",
                            source->size);
    }
    int code = acu_module_new(call, device, &image, module);
    free(copy);
    return code;
}

acu_result acu_module_load(acu_device device, const acu_module_source *source,
                           acu_module **module) {
    ACU_SCOPE();
    ACU_NEED_POINTER(module);
    *module = NULL;
    ACU_NEED_POINTER(source);
    acu_destroy_deferred();
    ACU_REQUIRE(!!source->ptx + !!source->image + !!source->file + !!source->code == 1,
                ACU_ERROR_ARGUMENT, "exactly one of ptx, image, file and code is needed");
    if (source->code)
        ACU_NEED(source->code, acu_code_class);
    ACU_TRY(acu_device_resolve(__func__, &device));
    return source->code ? acu_module_load_code(__func__, device, source->code, &source->jit, module)
                        : load_bytes(__func__, device, source, module);
}

static int take(const char *call, acu_device device, const acu_code_api *api, void *raw, bool owned,
                acu_module **module) {
    if (module)
        *module = NULL;
    if (!module || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", module ? "raw" : "module");
    int code = acu_device_resolve(call, &device);
    if (code)
        return code;
    code = new_module(call, device, api, module);
    if (code)
        return acu_cuda_failed(call, "", code);
    (*module)->raw = raw;
    (*module)->owned = owned;
    return 0;
}

acu_result acu_module_wrap(acu_device device, struct CUlib_st *raw, acu_module **module) {
    ACU_SCOPE();
    return take(__func__, device, &acu_code_by_runtime, raw, false, module);
}

acu_result acu_module_adopt(acu_device device, struct CUlib_st *raw, acu_module **module) {
    ACU_SCOPE();
    return take(__func__, device, &acu_code_by_runtime, raw, true, module);
}

acu_result acu_module_wrap_driver(acu_device device, struct CUmod_st *raw, acu_module **module) {
    ACU_SCOPE();
    return take(__func__, device, &acu_code_by_driver, raw, false, module);
}

acu_result acu_module_adopt_driver(acu_device device, struct CUmod_st *raw, acu_module **module) {
    ACU_SCOPE();
    return take(__func__, device, &acu_code_by_driver, raw, true, module);
}

static void *raw_of(const acu_module *module, const acu_code_api *api) {
    return acu_is(module, &acu_module_class) && module->api == api ? module->raw : NULL;
}

struct CUlib_st *acu_module_raw(const acu_module *module) {
    return raw_of(module, &acu_code_by_runtime);
}

struct CUmod_st *acu_module_raw_driver(const acu_module *module) {
    return raw_of(module, &acu_code_by_driver);
}

acu_module *acu_module_retain(acu_module *module) {
    return acu_object_retain(__func__, module, &acu_module_class);
}

acu_result acu_module_release(acu_module *module) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, module, &acu_module_class);
}

void acu_module_cleanup(acu_module **module) {
    (void)acu_module_release(acu_take(module));
}

size_t acu_module_describe(const acu_module *module, char *text, size_t size) {
    return acu_object_describe_as(module, &acu_module_class, text, size);
}

acu_device acu_module_device(const acu_module *module) {
    return acu_is(module, &acu_module_class) ? module->object.device : ACU_DEVICE_CURRENT;
}

const char *acu_module_log(const acu_module *module) {
    bool has = acu_is(module, &acu_module_class) && module->info_log;
    return has ? module->info_log : "";
}

/* ---- kernels and variables ---- */

/* Returns the name in the code: that of a C++ name, or the name itself. */
static const char *name_in_code(const acu_module *module, const char *name) {
    for (size_t i = 0; i < module->lowered_count; i++)
        if (strcmp(module->lowered[i].expression, name) == 0)
            return module->lowered[i].name;
    return name;
}

/* Hints, where a kernel was not found, at the one that may be meant, or lists those that exist. */
static void hint_at_names(const acu_module *module, const char *name) {
    char text[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < module->ptx.count; i++)
        if (*name && strstr(module->ptx.entries[i].name, name)) {
            acu_fail_hint(
                "\"%s\" may be meant: list C++ names in .expressions, or declare the kernel "
                "extern \"C\"",
                module->ptx.entries[i].name);
            return;
        }
    for (size_t i = 0; i < module->ptx.count && i < NAMES_IN_HINT && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "",
                                 module->ptx.entries[i].name);
    if (module->has_ptx)
        acu_fail_hint("its kernels: %s%s", *text ? text : "none",
                      module->ptx.count > NAMES_IN_HINT ? ", …" : "");
}

acu_result acu_module_get_kernel(acu_module *module, const char *name, acu_kernel **kernel) {
    ACU_SCOPE();
    ACU_NEED_POINTER(kernel);
    *kernel = NULL;
    ACU_NEED(module, acu_module_class);
    ACU_NEED_POINTER(name);
    acu_destroy_deferred();
    const char *lowered = name_in_code(module, name);
    acu_kernel_source source = {.api = module->api,
                                .place = module->place,
                                .module = module,
                                .name = name,
                                .lowered = lowered,
                                .entry = acu_ptx_find(&module->ptx, lowered)};
    int code = with_log(module, acu_kernel_new(__func__, &source, kernel));
    if (!code)
        return 0;
    if (code == cudaErrorSymbolNotFound) {
        hint_at_names(module, name);
        acu_record(code, "the module has no kernel \"%s\"", name);
    }
    return OUTCOME(module, code);
}

/* Lists the names in PTX. The caller holds the lock, as for the next three. */
static int list_ptx(acu_module *module) {
    module->names = calloc(module->ptx.count + 1, sizeof *module->names);
    if (!module->names)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for names");
    for (size_t i = 0; i < module->ptx.count; i++)
        module->names[i] = module->ptx.entries[i].name;
    module->name_count = module->ptx.count;
    return 0;
}

static int name_all(const acu_code_api *api, const void *const *functions, unsigned count,
                    const char **names) {
    int code = 0;
    for (unsigned i = 0; i < count && !code; i++)
        code = api->name(&names[i], functions[i]);
    return code;
}

static int list_code(acu_module *module) {
    unsigned count = 0;
    const acu_code_api *api = module->api;
    int code = api->count(&count, module->raw);
    if (code)
        return code;
    const char **names = calloc(count + 1u, sizeof *names);
    const void **functions = calloc(count + 1u, sizeof *functions);
    if (!names || !functions)
        code = acu_record(ACU_ERROR_HOST_MEMORY, "no memory for the names of %u kernels", count);
    if (!code && count)
        code = api->list(functions, count, module->raw);
    if (!code)
        code = name_all(api, functions, count, names);
    free(functions);
    if (code) {
        free(names);
        return code;
    }
    module->names = names;
    module->name_count = count;
    return 0;
}

static int list_once(acu_module *module) {
    acu_code_guard guard;
    if (module->names)
        return 0;
    if (module->has_ptx)
        return list_ptx(module);
    int code = module->api->enter(&module->place, &guard);
    if (!code)
        code = list_code(module);
    module->api->leave(&guard);
    return code;
}

acu_result acu_module_get_kernel_names(acu_module *module, const char **names, size_t *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    const size_t room = *count;
    *count = 0;
    ACU_NEED(module, acu_module_class);
    pthread_mutex_lock(&module->lock);
    int code = list_once(module);
    if (!code)
        *count = module->name_count;
    for (size_t i = 0; names && i < room && i < *count; i++)
        names[i] = module->names[i];
    pthread_mutex_unlock(&module->lock);
    return OUTCOME(module, code);
}

static int find_unified(const acu_module *module, const char *name, void **function) {
    acu_code_guard guard;
    int code = module->api->enter(&module->place, &guard);
    if (!code)
        code = module->api->unified(function, module->raw, name_in_code(module, name));
    module->api->leave(&guard);
    if (code == cudaErrorSymbolNotFound) {
        acu_record(code, "the module has no unified function \"%s\"", name);
        acu_fail_hint("only devices with the attribute cudaDevAttrUnifiedFunctionPointers (129) "
                      "have such functions");
    }
    return with_log(module, code);
}

acu_result acu_module_get_unified_function(acu_module *module, const char *name, void **function) {
    ACU_SCOPE();
    ACU_NEED_POINTER(function);
    *function = NULL;
    ACU_NEED(module, acu_module_class);
    ACU_NEED_POINTER(name);
    return OUTCOME(module, find_unified(module, name, function));
}

static int find_global(const acu_module *module, const char *name, void **at, size_t *bytes) {
    acu_code_guard guard;
    int code = module->api->enter(&module->place, &guard);
    if (!code)
        code = module->api->global(at, bytes, module->raw, name_in_code(module, name));
    module->api->leave(&guard);
    if (code == cudaErrorSymbolNotFound)
        acu_record(code, "the module has no variable \"%s\"", name);
    return with_log(module, code);
}

/* Returns the kind of a variable's memory. */
static acu_memory memory_at(const void *at) {
    struct cudaPointerAttributes attributes = {.type = cudaMemoryTypeDevice};
    acu_saved_record before;
    acu_record_save(&before);
    if (cudaPointerGetAttributes(&attributes, at))
        (void)cudaGetLastError();
    acu_record_restore(&before);
    return attributes.type == cudaMemoryTypeManaged ? ACU_MEMORY_MANAGED : ACU_MEMORY_DEVICE;
}

acu_result acu_module_get_global(acu_module *module, const char *name, acu_stream *stream,
                                 acu_dtype dtype, acu_buffer **buffer) {
    ACU_SCOPE();
    void *at = NULL;
    size_t bytes = 0, size = acu_dtype_size(dtype);
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED(module, acu_module_class);
    ACU_NEED_POINTER(name);
    ACU_NEED_STREAM(stream);
    ACU_REQUIRE_OF(module, stream->object.device == module->object.device, ACU_ERROR_DEVICE,
                   "the module is on device %d, the stream on device %d", module->object.device,
                   stream->object.device);
    ACU_TRY(OUTCOME(module, find_global(module, name, &at, &bytes)));
    if (size == 0)
        return acu_refuse_dtype(__func__, dtype);
    ACU_REQUIRE_OF(module, bytes % size == 0, ACU_ERROR_DTYPE,
                   "\"%s\" has %zu bytes, which is no multiple of the size of %s", name, bytes,
                   acu_dtype_name(dtype));
    return acu_storage_new(__func__,
                           &(acu_storage_request){.stream = stream,
                                                  .dtype = dtype,
                                                  .count = bytes / size,
                                                  .options = {.memory = memory_at(at)},
                                                  .given = at,
                                                  .owner = &module->object},
                           buffer);
}

acu_result acu_module_get_loading_mode(acu_loading_mode *mode) {
    ACU_SCOPE();
    CUmoduleLoadingMode found = CU_MODULE_EAGER_LOADING;
    ACU_NEED_POINTER(mode);
    int code = acu_translate_driver(cuInit(0));
    if (!code)
        code = acu_translate_driver(cuModuleGetLoadingMode(&found));
    *mode = (acu_loading_mode)found;
    return code ? acu_cuda_failed(__func__, "", code) : 0;
}
