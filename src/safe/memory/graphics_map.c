/* Mappings of resources of graphics: how they begin and end, and what is made of them. */
#include "safe/base/active_capture.h"
#include "safe/base/device.h"
#include "safe/memory/array.h"
#include "safe/memory/graphics.h"

#include <anycuda/cudart_interop.h>

#include <limits.h>
#include <stdlib.h>

/* ---- one lock ---- */

static pthread_mutex_t mappings = PTHREAD_MUTEX_INITIALIZER;

void acu_graphics_lock(void) {
    acu_record_hold();
    pthread_mutex_lock(&mappings);
}

int acu_graphics_unlock(int code) {
    pthread_mutex_unlock(&mappings);
    acu_record_resume();
    if (code)
        acu_record_complete();
    return code;
}

/* ---- several resources ---- */

/* What a call maps or unmaps, on a stream. */
typedef struct resources {
    const char *call;
    acu_graphics *const *list;
    size_t count;
    acu_stream *on;
    cudaGraphicsResource_t *raws; /* of those that CUDA maps */
    int raw_count;
} resources;

static int check_list(const resources *r) {
    if (!r->list)
        return acu_fail(r->call, "", ACU_ERROR_ARGUMENT, "'graphics' is NULL");
    if (r->count == 0 || r->count > INT_MAX)
        return acu_fail(r->call, "", ACU_ERROR_ARGUMENT, "'count' is %zu", r->count);
    for (size_t i = 0; i < r->count; i++) {
        if (!acu_is(r->list[i], &acu_graphics_class))
            return acu_object_refuse(r->call, r->list[i], &acu_graphics_class);
        for (size_t k = 0; k < i; k++)
            if (r->list[k] == r->list[i])
                return acu_fail_on(r->call, r->list[i], ACU_ERROR_ARGUMENT,
                                   "it is resource %zu and resource %zu of the list", k, i);
    }
    return 0;
}

/* Checks that the work may be done on the stream, and in this thread, now. */
static int check_stream(const resources *r) {
    ACU_TRY(acu_stream_check(r->call, r->on));
    for (size_t i = 0; i < r->count; i++)
        if (r->on->object.device != r->list[i]->object.device)
            return acu_fail_on(r->call, r->list[i], ACU_ERROR_DEVICE,
                               "the resource was registered on device %d, and the stream is on "
                               "device %d",
                               r->list[i]->object.device, r->on->object.device);
    for (size_t i = 0; i < r->count; i++)
        ACU_TRY(
            acu_outcome(r->call, r->list[i], acu_graphics_need_context(r->list[i]->source.type)));
    ACU_TRY(acu_outcome(r->call, r->on, acu_stream_check_uncaptured(r->on)));
    if (acu_capture_delays(NULL))
        return acu_fail_on(r->call, r->on, ACU_ERROR_CAPTURE,
                           "mapping and unmapping would break the capture that is under way");
    return 0;
}

static int list_raws(resources *r) {
    r->raws = malloc(r->count * sizeof *r->raws);
    if (!r->raws)
        return acu_fail(r->call, "", ACU_ERROR_HOST_MEMORY,
                        "the host has no memory for a list of %zu resources", r->count);
    for (size_t i = 0; i < r->count; i++)
        if (acu_graphics_is_mappable(r->list[i]->source.type))
            r->raws[r->raw_count++] = r->list[i]->registration->raw;
    return 0;
}

/* Maps or unmaps raw resources on a stream of the device; returns CUDA's code. */
static int call_cuda(bool maps, int device, cudaGraphicsResource_t *raws, int count,
                     cudaStream_t on) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, device);
    if (!code && count > 0)
        ACU_IGNORING_CAPTURES(code, maps ? cudaGraphicsMapResources(count, raws, on)
                                         : cudaGraphicsUnmapResources(count, raws, on));
    acu_guard_leave(&guard);
    return code;
}

/* Returns the outcome of a call about the resources, which names the only one, or the stream. */
static int outcome(const resources *r, int code) {
    if (code)
        acu_graphics_hint(r->list[0]->source.type, code);
    return r->count == 1 ? acu_outcome(r->call, r->list[0], code)
                         : acu_outcome(r->call, r->on, code);
}

/* ---- mapping ---- */

/* Unmaps on the home stream, which comes after all uses: the last owner of the mapping went after
 * the resource. Whatever else fails, this is tried, except without a context of OpenGL. */
static int give_back(acu_storage *s) {
    acu_registration *r = (acu_registration *)s->owner;
    /* Another thread's default stream has no name here; the legacy one comes after it. */
    cudaStream_t on = acu_stream_is_foreign(s->home) ? cudaStreamLegacy : s->home->raw;
    acu_guard guard;
    int code = 0;
    if (!acu_graphics_is_mappable(r->type))
        return 0;
    const int asked = acu_graphics_need_context(r->type);
    if (asked == cudaErrorInvalidGraphicsContext)
        return asked;
    const int entered = acu_guard_enter(&guard, s->device);
    ACU_IGNORING_CAPTURES(code, cudaGraphicsUnmapResources(1, &r->raw, on));
    acu_guard_leave(&guard);
    return code ? code : entered ? entered : asked;
}

/* Asks where the memory of a mapped buffer is; an image has arrays instead. */
static int ask_memory(const acu_graphics *g, void **at, size_t *bytes) {
    acu_guard guard;
    *at = (void *)g->registration->raw;
    *bytes = 0;
    if (!acu_graphics_is_buffer(g->source.type))
        return 0;
    int code = acu_guard_enter(&guard, g->object.device);
    if (!code)
        code = (int)cudaGraphicsResourceGetMappedPointer(at, bytes, g->registration->raw);
    acu_guard_leave(&guard);
    return code;
}

/* Makes the storage of what CUDA has mapped. */
static int keep_mapping(const resources *r, acu_graphics *g) {
    void *at;
    size_t bytes;
    ACU_TRY(acu_outcome(r->call, g, ask_memory(g, &at, &bytes)));
    const acu_storage_request request = {.stream = r->on,
                                         .dtype = ACU_U8,
                                         .count = bytes,
                                         .options = {.memory = ACU_MEMORY_DEVICE},
                                         .given = at,
                                         .owned = true,
                                         .owner = &g->registration->object,
                                         .give_back = give_back};
    return acu_storage_new(r->call, &request, &g->mapping);
}

/* Ends a mapping that was given back, without another call of CUDA. */
static int forget_mapping(acu_graphics *g) {
    acu_buffer *mapping = g->mapping;
    g->mapping = NULL;
    mapping->storage->pointer = NULL; /* nothing is there to be freed, or waited for */
    return acu_object_release(NULL, mapping, &acu_buffer_class);
}

/* Unmaps what was just mapped, because the rest failed; that failure stays recorded. */
static void take_back(const resources *r) {
    acu_saved_record failure;
    acu_record_save(&failure);
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i]->mapping && forget_mapping(r->list[i]))
            acu_record_release_error();
    if (call_cuda(false, r->on->object.device, r->raws, r->raw_count, r->on->raw))
        acu_record_release_error();
    acu_record_restore(&failure);
}

/* Lets the stream wait for the ends of earlier mappings: CUDA orders a mapping only after what the
 * other API was given before. Returns 0 or a recorded failure. */
static int wait_for_ends(const resources *r) {
    int code = 0;
    for (size_t i = 0; i < r->count && !code; i++) {
        const acu_graphics *g = r->list[i];
        if (g->before)
            code = acu_timeline_wait(g->before, g->number, r->on);
    }
    return code;
}

static int map_checked(resources *r) {
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i]->mapping)
            return acu_fail_on(r->call, r->list[i], ACU_ERROR_STATE, "it is mapped already");
    ACU_TRY(list_raws(r));
    ACU_TRY(acu_outcome(r->call, r->on, wait_for_ends(r)));
    int code = outcome(r, call_cuda(true, r->on->object.device, r->raws, r->raw_count, r->on->raw));
    if (code)
        return code;
    for (size_t i = 0; i < r->count && !code; i++)
        code = keep_mapping(r, r->list[i]);
    if (code)
        take_back(r);
    return code;
}

static int map(resources *r) {
    ACU_TRY(check_list(r));
    ACU_TRY(check_stream(r));
    acu_destroy_deferred();
    acu_graphics_lock();
    const int code = map_checked(r);
    free(r->raws);
    return acu_graphics_unlock(code);
}

acu_result acu_graphics_map(acu_graphics *graphics, acu_stream *stream) {
    ACU_SCOPE();
    return map(&(resources){.call = __func__, .list = &graphics, .count = 1, .on = stream});
}

acu_result acu_graphics_map_all(acu_graphics *const *graphics, size_t count, acu_stream *stream) {
    ACU_SCOPE();
    return map(&(resources){.call = __func__, .list = graphics, .count = count, .on = stream});
}

/* ---- unmapping ---- */

static int owners(const acu_object *object) {
    return __atomic_load_n(&object->references, __ATOMIC_ACQUIRE);
}

/* Returns whether others than the resource have something of the mapping. */
static bool has_others(const acu_buffer *mapping) {
    return owners(&mapping->object) > 1 || owners(&mapping->storage->object) > 1;
}

static int check_mappings(const resources *r) {
    for (size_t i = 0; i < r->count; i++) {
        const acu_buffer *mapping = r->list[i]->mapping;
        if (!mapping)
            return acu_fail_on(r->call, r->list[i], ACU_ERROR_STATE, "it is not mapped");
        if (!has_others(mapping))
            continue;
        acu_fail_hint("release the buffers, arrays and mipmaps that were made of it, and the "
                      "graphs, textures and surfaces that keep them");
        return acu_fail_on(r->call, r->list[i], ACU_ERROR_STATE,
                           "its mapping is still in use, by what was made of it");
    }
    return 0;
}

/* Lets the stream wait for all uses of the first `*begun` mappings, which becomes how many it does
 * wait for; returns 0 or a recorded failure. */
static int begin_uses(const resources *r, size_t *begun) {
    uint64_t unused;
    int code = 0;
    for (*begun = 0; *begun < r->count && !code; *begun += code == 0)
        code = acu_storage_begin_use(r->list[*begun]->mapping->storage, r->on, true, &unused);
    return code;
}

static int end_uses(const resources *r, size_t begun) {
    int code = 0;
    for (size_t i = 0; i < begun; i++) {
        const int ended = acu_storage_end_use(r->list[i]->mapping->storage, r->on, true, 0);
        code = code ? code : ended;
    }
    return code;
}

/* Remembers where the mapping ended, for the next one. */
static int remember_end(acu_graphics *g, acu_timeline *end) {
    acu_timeline *before = g->before;
    g->before = acu_timeline_retain(end);
    g->number = acu_timeline_issue(end);
    return acu_timeline_release(before);
}

static int forget_mappings(const resources *r) {
    int code = 0;
    for (size_t i = 0; i < r->count; i++) {
        const int remembered = remember_end(r->list[i], r->on->timeline);
        const int released = forget_mapping(r->list[i]);
        code = code ? code : remembered ? remembered : released;
    }
    return code;
}

static int unmap_checked(resources *r) {
    size_t begun = 0;
    ACU_TRY(list_raws(r));
    int code = begin_uses(r, &begun);
    if (!code)
        code = call_cuda(false, r->on->object.device, r->raws, r->raw_count, r->on->raw);
    const int unmapped = outcome(r, code);
    const int ended = end_uses(r, begun);
    if (unmapped)
        return unmapped;
    const int forgotten = forget_mappings(r);
    return outcome(r, ended ? ended : forgotten);
}

static int unmap_locked(resources *r) {
    ACU_TRY(check_mappings(r));
    if (!r->on)
        r->on = r->list[0]->mapping->storage->home;
    ACU_TRY(check_stream(r));
    const int code = unmap_checked(r);
    free(r->raws);
    return code;
}

static int unmap(resources *r) {
    ACU_TRY(check_list(r));
    acu_destroy_deferred();
    acu_graphics_lock();
    return acu_graphics_unlock(unmap_locked(r));
}

acu_result acu_graphics_unmap(acu_graphics *graphics, acu_stream *on) {
    ACU_SCOPE();
    return unmap(&(resources){.call = __func__, .list = &graphics, .count = 1, .on = on});
}

acu_result acu_graphics_unmap_all(acu_graphics *const *graphics, size_t count, acu_stream *on) {
    ACU_SCOPE();
    return unmap(&(resources){.call = __func__, .list = graphics, .count = count, .on = on});
}

/* ---- what is mapped ---- */

/* Finds the mapping, from which something is made, with a reference; returns 0 or a failure
 * recorded for `call`. */
static int find_mapping(const char *call, const acu_graphics *g, bool is_buffer,
                        acu_buffer **mapping) {
    if (acu_graphics_is_buffer(g->source.type) != is_buffer)
        return acu_fail_on(call, g, ACU_ERROR_STATE,
                           is_buffer ? "it is mapped as arrays: acu_graphics_create_array() makes "
                                       "one"
                                     : "it is mapped as a buffer: acu_graphics_create_buffer() "
                                       "makes one");
    acu_graphics_lock();
    *mapping = g->mapping;
    acu_object_add_owner(*mapping);
    const int code = *mapping ? 0
                              : acu_fail_on(call, g, ACU_ERROR_STATE,
                                            "it is not mapped: acu_graphics_map() comes first");
    return acu_graphics_unlock(code);
}

/* Gives up what find_mapping() returned; returns `code`. Another thread may have released all else
 * meanwhile. */
static int leave_mapping(acu_buffer *mapping, int code) {
    acu_saved_record failure;
    acu_record_save(&failure);
    if (acu_object_release(NULL, mapping, &acu_buffer_class))
        acu_record_release_error();
    acu_record_restore(&failure);
    return code;
}

/* Makes a buffer of a part of the mapping, whose elements are counted. */
static int create_buffer(const char *call, const acu_graphics *g, acu_buffer *mapping,
                         acu_buffer part, acu_buffer **buffer) {
    const size_t at = (size_t)(part.pointer - mapping->pointer);
    if ((uintptr_t)part.pointer % acu_dtype_alignment(part.dtype) != 0)
        return acu_fail_on(call, g, ACU_ERROR_DTYPE, "byte %zu is not aligned for %s", at,
                           acu_dtype_name(part.dtype));
    ACU_TRY(acu_buffer_new_view(call, mapping, buffer));
    (*buffer)->pointer = part.pointer;
    (*buffer)->dtype = part.dtype;
    (*buffer)->count = part.count;
    return 0;
}

/* Counts the elements, and checks that they are inside of the mapping. */
static int count_elements(const char *call, const acu_graphics *g, const acu_buffer *mapping,
                          size_t at, acu_buffer *part) {
    const size_t size = acu_dtype_size(part->dtype);
    const size_t room = at <= mapping->count ? (mapping->count - at) / size : 0;
    if (part->count == ACU_REST)
        part->count = room;
    if (part->count > 0 && part->count <= room) {
        part->pointer = mapping->pointer + at;
        return 0;
    }
    return acu_fail_on(call, g, ACU_ERROR_RANGE,
                       "%zu elements of %zu bytes from byte %zu on are none, or outside of the "
                       "%zu bytes",
                       part->count, size, at, mapping->count);
}

acu_result acu_graphics_create_buffer(acu_graphics *graphics, size_t at, acu_dtype dtype,
                                      size_t count, acu_buffer **buffer) {
    ACU_SCOPE();
    acu_buffer *mapping = NULL, part = {.dtype = dtype, .count = count};
    ACU_NEED_POINTER(buffer);
    *buffer = NULL;
    ACU_NEED(graphics, acu_graphics_class);
    if (acu_dtype_size(dtype) == 0)
        return acu_refuse_dtype(__func__, dtype);
    ACU_TRY(find_mapping(__func__, graphics, true, &mapping));
    int code = count_elements(__func__, graphics, mapping, at, &part);
    if (!code)
        code = create_buffer(__func__, graphics, mapping, part, buffer);
    return leave_mapping(mapping, code);
}

/* ---- arrays ---- */

/* CUDA looks at no level of an EGL image. */
static int ask_plane(const char *call, const acu_graphics *g, unsigned plane, unsigned level,
                     cudaArray_t *raw) {
    cudaEglFrame frame = {.planeCount = 0};
    if (level > 0)
        return acu_fail_on(call, g, ACU_ERROR_RANGE, "there is no level %u: an EGL image has one",
                           level);
    const int code = (int)cudaGraphicsResourceGetMappedEglFrame(&frame, g->registration->raw, 0, 0);
    if (code)
        return acu_outcome(call, g, code);
    if (plane >= frame.planeCount || plane >= 3)
        return acu_fail_on(call, g, ACU_ERROR_RANGE, "there is no plane %u: the image has %u",
                           plane, frame.planeCount);
    if (frame.frameType != cudaEglFrameTypeArray)
        return acu_fail_on(call, g, ACU_NOT_SUPPORTED,
                           "its planes are no arrays: cudaGraphicsResourceGetMappedEglFrame() "
                           "says where they are");
    *raw = frame.frame.pArray[plane];
    return 0;
}

/* Asks for the raw array of a part; returns 0 or a failure recorded for `call`. */
static int ask_array(const char *call, const acu_graphics *g, unsigned index, unsigned level,
                     cudaArray_t *raw) {
    acu_guard guard;
    int code = acu_outcome(call, g, acu_guard_enter(&guard, g->object.device));
    if (!code && g->source.type == ACU_GRAPHICS_EGL_IMAGE)
        code = ask_plane(call, g, index, level, raw);
    else if (!code)
        code = acu_outcome(
            call, g,
            (int)cudaGraphicsSubResourceGetMappedArray(raw, g->registration->raw, index, level));
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_graphics_create_array(acu_graphics *graphics, unsigned index, unsigned level,
                                     acu_array **array) {
    ACU_SCOPE();
    acu_buffer *mapping = NULL;
    cudaArray_t raw = NULL;
    ACU_NEED_POINTER(array);
    *array = NULL;
    ACU_NEED(graphics, acu_graphics_class);
    ACU_TRY(find_mapping(__func__, graphics, false, &mapping));
    int code = ask_array(__func__, graphics, index, level, &raw);
    if (!code)
        code = acu_array_share(__func__, mapping, raw, array);
    return leave_mapping(mapping, code);
}

static int ask_mipmap(const acu_graphics *g, cudaMipmappedArray_t *raw) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, g->object.device);
    if (!code)
        code = (int)cudaGraphicsResourceGetMappedMipmappedArray(raw, g->registration->raw);
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_graphics_create_mipmap(acu_graphics *graphics, unsigned levels,
                                      acu_mipmap **mipmap) {
    ACU_SCOPE();
    acu_buffer *mapping = NULL;
    cudaMipmappedArray_t raw = NULL;
    ACU_NEED_POINTER(mipmap);
    *mipmap = NULL;
    ACU_NEED(graphics, acu_graphics_class);
    ACU_REQUIRE_OF(graphics, graphics->source.type == ACU_GRAPHICS_GL_IMAGE, ACU_ERROR_STATE,
                   "only images of OpenGL are mapped as mipmaps");
    ACU_REQUIRE_OF(graphics, levels > 0, ACU_ERROR_RANGE,
                   "'levels' is 0: an image without further levels has 1");
    ACU_TRY(find_mapping(__func__, graphics, false, &mapping));
    int code = acu_outcome(__func__, graphics, ask_mipmap(graphics, &raw));
    if (!code)
        code = acu_mipmap_share(__func__, mapping, raw, levels, mipmap);
    return leave_mapping(mapping, code);
}
