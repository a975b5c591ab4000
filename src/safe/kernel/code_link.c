/* Linking code: which linker does it, and what is linked. */
#include "safe/kernel/code_link.h"
#include "safe/base/device.h"
#include "safe/kernel/code_cache.h"

#include <anycuda/nvjitlink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which linker ---- */

/* Returns 0 if there is nvJitLink; else a recorded failure. */
static int need_nvjitlink(void) {
    unsigned major = 0, minor = 0;
    const int result = (int)nvJitLinkVersion(&major, &minor);
    if (result == NVJITLINK_SUCCESS)
        return 0;
    if (acu_loaded(ACU_NVJITLINK))
        return acu_translate_nvjitlink(result);
    const int code = acu_record_recode(result, cudaErrorSharedObjectInitFailed);
    acu_fail_hint("install nvJitLink 12.3 or newer (libnvjitlink-12-x or nvidia-nvjitlink), of the "
                  "CUDA major of NVRTC, or name its file in ANYCUDA_NVJITLINK");
    return code;
}

static bool is_simulated(void) {
    const acu_load_info *runtime = acu_loaded(ACU_CUDART);
    return runtime && runtime->is_sim;
}

/* Returns whether the driver's linker cannot do this. */
static bool needs_nvjitlink(const acu_link *link) {
    for (size_t i = 0; i < link->count; i++)
        if (link->parts[i].form == ACU_CODE_LTO)
            return true;
    return link->options->options && link->options->options[0];
}

/* Chooses the linker. Returns 0, or a recorded failure. */
static int choose_linker(const acu_link *link, acu_code_linker *linker) {
    acu_saved_record before;
    *linker = link->options->linker;
    if (*linker == ACU_CODE_LINKER_DRIVER) {
        if (!needs_nvjitlink(link))
            return 0;
        acu_fail_hint("choose ACU_CODE_LINKER_ANY; nvJitLink is needed, 12.3 or newer");
        return acu_record(ACU_NOT_SUPPORTED, "the driver's linker takes no LTO IR and none of "
                                             "'options': only nvJitLink does");
    }
    if (*linker == ACU_CODE_LINKER_ANY && is_simulated() && !needs_nvjitlink(link)) {
        *linker = ACU_CODE_LINKER_DRIVER; /* the simulator runs PTX only */
        return 0;
    }
    acu_record_save(&before);
    const int code = need_nvjitlink();
    if (!code || *linker == ACU_CODE_LINKER_NVJITLINK || needs_nvjitlink(link)) {
        *linker = ACU_CODE_LINKER_NVJITLINK;
        return code;
    }
    acu_record_restore(&before);
    *linker = ACU_CODE_LINKER_DRIVER;
    return 0;
}

/* ---- what is linked ---- */

static bool names_architecture(const acu_code_link_options *options) {
    for (const char *const *option = options->options; option && *option; option++)
        if (strncmp(*option, "-arch", 5) == 0)
            return true;
    return false;
}

/* Fills in the image with which the code takes part: the simulator links PTX alone. */
static void choose_image(const acu_code *code, acu_link_part *part) {
    static const acu_code_form order[] = {ACU_CODE_LTO,    ACU_CODE_CUBIN,   ACU_CODE_FATBIN,
                                          ACU_CODE_OBJECT, ACU_CODE_ARCHIVE, ACU_CODE_PTX};
    size_t i = 0;
    while (!code->images[order[i]].bytes)
        i++; /* code has an image */
    const bool ptx = is_simulated() && order[i] != ACU_CODE_LTO && code->images[ACU_CODE_PTX].bytes;
    part->form = ptx ? ACU_CODE_PTX : order[i];
    part->bytes = &code->images[part->form];
    part->name = code->name ? code->name : "code";
}

/* Gives the result the names of all parts. */
static int join_names(acu_code *code, acu_code *const *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        acu_code_name *names = acu_code_copy_names(parts[i]);
        const size_t room = code->name_count + parts[i]->name_count + 1;
        acu_code_name *grown = names ? realloc(code->names, room * sizeof *grown) : NULL;
        if (!grown) {
            acu_code_free_names(names, parts[i]->name_count);
            return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu names", room);
        }
        code->names = grown;
        memcpy(grown + code->name_count, names, parts[i]->name_count * sizeof *names);
        code->name_count += parts[i]->name_count;
        free(names);
    }
    return 0;
}

static int prepare(acu_link *link, acu_code *const *parts) {
    int major = 0, minor = 0, code = 0;
    link->code = acu_code_new();
    link->parts = calloc(link->count, sizeof *link->parts);
    if (!link->code || !link->parts)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu parts", link->count);
    for (size_t i = 0; i < link->count; i++)
        choose_image(parts[i], &link->parts[i]);
    if (!names_architecture(link->options)) {
        code = (int)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, link->device);
        if (!code)
            code = (int)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                                               link->device);
        snprintf(link->architecture, sizeof link->architecture, "-arch=sm_%d%d", major, minor);
    }
    return code ? code : join_names(link->code, parts, link->count);
}

/* ---- the log ---- */

/* Returns whether a linker fails so where the log says what is wrong in the code, such as an
 * undefined symbol: the driver in one way, nvJitLink in another, each version in its own. */
static bool is_about_code(int code) {
    return code == cudaErrorUnknown || code == cudaErrorInvalidSource ||
           code == cudaErrorInvalidPtx || code == cudaErrorInvalidKernelImage;
}

int acu_link_take_log(acu_link *link, char *log, int code) {
    char before[512], line[700];
    acu_code_keep_log(log);
    link->code->log = log;
    if (!code || !log || !*log)
        return code;
    snprintf(before, sizeof before, "%s", acu_last_error_message());
    return acu_record(is_about_code(code) ? ACU_ERROR_COMPILE : code, "%s; the linker's log: %s",
                      before, acu_record_one_line(log, line, sizeof line));
}

/* ---- linking ---- */

static void make_key(const acu_link *link, acu_code_linker linker, acu_code_key *key) {
    const acu_code_link_options *o = link->options;
    acu_digest digest;
    size_t count = 0;
    const bool own = linker == ACU_CODE_LINKER_NVJITLINK;
    acu_code_key_begin(&digest, own ? "link" : "link by driver", own ? ACU_NVJITLINK : ACU_CUDA);
    acu_digest_add_text(&digest, link->architecture);
    for (; o->options && o->options[count]; count++)
        acu_digest_add_text(&digest, o->options[count]);
    acu_digest_add_number(&digest, count);
    acu_digest_add_number(&digest, o->max_registers);
    acu_digest_add_number(&digest, o->level);
    acu_digest_add_number(&digest,
                          (o->debug ? 1u : 0u) | (o->lines ? 2u : 0u) | (o->verbose ? 4u : 0u));
    for (size_t i = 0; i < link->count; i++) {
        acu_digest_add_number(&digest, link->parts[i].form);
        acu_digest_add_sized(&digest, link->parts[i].bytes->bytes, link->parts[i].bytes->size);
        acu_digest_add_text(&digest, link->parts[i].name);
    }
    for (size_t i = 0; i < link->code->name_count; i++) {
        acu_digest_add_text(&digest, link->code->names[i].expression);
        acu_digest_add_text(&digest, link->code->names[i].name);
    }
    acu_digest_end(&digest, key->bytes);
}

/* Finds the result in the cache, or links, and stores it there. */
static int find_or_link(acu_link *link, acu_code_cache *cache) {
    acu_code_linker linker;
    acu_code_key key;
    ACU_TRY(choose_linker(link, &linker));
    if (cache) {
        make_key(link, linker, &key);
        acu_code *found = acu_code_cache_find(cache, &key);
        if (found) {
            (void)acu_object_release(NULL, link->code, &acu_code_class);
            link->code = found;
            acu_code_keep_log(found->log);
            return 0;
        }
    }
    ACU_TRY(linker == ACU_CODE_LINKER_NVJITLINK ? acu_link_by_nvjitlink(link)
                                                : acu_link_by_driver(link));
    if (cache)
        acu_code_cache_store(cache, &key, link->code);
    return 0;
}

static int link_parts(acu_link *link, acu_code *const *parts, acu_code **code) {
    acu_code_cache *cache = NULL;
    ACU_TRY(acu_code_cache_choose(link->call, link->options->cache, &cache));
    int failed = prepare(link, parts);
    if (!failed)
        failed = find_or_link(link, cache);
    if (failed)
        (void)acu_cuda_failed(link->call, "", failed);
    free(link->parts);
    (void)acu_object_release(NULL, cache, &acu_code_cache_class);
    if (failed)
        (void)acu_object_release(NULL, link->code, &acu_code_class);
    else
        *code = link->code;
    return failed;
}

acu_result acu_code_link(acu_device device, acu_code *const *parts, size_t count,
                         const acu_code_link_options *options, acu_code **code) {
    ACU_SCOPE();
    static const acu_code_link_options defaults;
    acu_link link = {.call = __func__,
                     .device = device,
                     .count = count,
                     .options = options ? options : &defaults};
    ACU_NEED_POINTER(code);
    *code = NULL;
    ACU_NEED_POINTER(parts);
    ACU_REQUIRE(count > 0, ACU_ERROR_ARGUMENT, "there is nothing to link: 'count' is 0");
    for (size_t i = 0; i < count; i++)
        ACU_NEED(parts[i], acu_code_class);
    ACU_REQUIRE((unsigned)link.options->linker <= ACU_CODE_LINKER_DRIVER, ACU_ERROR_ARGUMENT,
                "%d is not a linker", (int)link.options->linker);
    ACU_REQUIRE((unsigned)link.options->level <= ACU_JIT_O4, ACU_ERROR_ARGUMENT,
                "%d is not an optimisation level", (int)link.options->level);
    acu_destroy_deferred();
    acu_code_keep_log(NULL);
    if (!names_architecture(link.options))
        ACU_TRY(acu_device_resolve(__func__, &link.device));
    return link_parts(&link, parts, code);
}
