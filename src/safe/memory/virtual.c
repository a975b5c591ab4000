/* Virtual memory: reserved addresses, and what is mapped to them. */
#include "safe/memory/virtual.h"
#include "safe/base/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME(addresses, code) acu_outcome(__func__, (addresses), (code))

enum {
    HOST = ACU_COUNTED_DEVICES,
    MOST = 256u << 20u /* bytes of a piece that a buffer grows by */
};

/* ---- mappings, under the lock ---- */

static CUdeviceptr address_at(const acu_virtual *v, size_t at) {
    return (CUdeviceptr)(uintptr_t)(v->pointer + at);
}

/* Returns the index of the first mapping that ends behind `at`; the count if there is none. */
static size_t first_behind(const acu_virtual *v, size_t at) {
    size_t low = 0, high = v->count;
    while (low < high) {
        const size_t i = low + (high - low) / 2;
        if (v->mappings[i].at + v->mappings[i].bytes <= at)
            low = i + 1;
        else
            high = i;
    }
    return low;
}

static bool is_free(const acu_virtual *v, size_t at, size_t bytes) {
    const size_t i = first_behind(v, at);
    return i == v->count || v->mappings[i].at >= at + bytes;
}

/* Returns whether all of these bytes are mapped. */
static bool is_filled(const acu_virtual *v, size_t at, size_t bytes) {
    size_t end = at;
    for (size_t i = first_behind(v, at); i < v->count && v->mappings[i].at <= end; i++)
        end = v->mappings[i].at + v->mappings[i].bytes;
    return end >= at + bytes;
}

/* Makes room for one more mapping; returns false without memory. */
static bool make_room(acu_virtual *v) {
    const size_t room = v->room ? 2 * v->room : 8;
    if (v->count < v->room)
        return true;
    acu_mapping *more = realloc(v->mappings, room * sizeof *more);
    if (!more)
        return false;
    v->mappings = more;
    v->room = room;
    return true;
}

/* ---- access, under the lock ---- */

/* `physical` is NULL for a multicast object. */
static CUmemAccessDesc access_of(size_t who, unsigned char access, const acu_physical *physical) {
    CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)who},
                            .flags = (CUmemAccess_flags)access};
    if (who == HOST) {
        const bool on_host = physical && physical->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
        desc.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
        desc.location.id = on_host ? physical->location.id : 0;
    }
    return desc;
}

/* Gives everybody the access that they have to the range, from `at` on: memory of one kind. */
static int grant(const acu_virtual *v, size_t at, size_t bytes, const acu_physical *physical) {
    CUmemAccessDesc descs[ACU_COUNTED_DEVICES + 1];
    size_t count = 0;
    for (size_t who = 0; who <= HOST; who++)
        if (v->access[who] != ACU_ACCESS_NONE)
            descs[count++] = access_of(who, v->access[who], physical);
    return count ? acu_translate_driver(cuMemSetAccess(address_at(v, at), bytes, descs, count)) : 0;
}

/* Changes one party's access to all that is mapped; where CUDA refuses, it is as before. */
static int change_access(acu_virtual *v, size_t who, unsigned char access) {
    int code = 0;
    size_t done = 0;
    for (; done < v->count && !code; done++) {
        const acu_mapping *m = &v->mappings[done];
        const CUmemAccessDesc desc = access_of(who, access, m->physical);
        code = acu_translate_driver(cuMemSetAccess(address_at(v, m->at), m->bytes, &desc, 1));
    }
    if (!code) {
        v->access[who] = access;
        return 0;
    }
    acu_saved_record failure;
    acu_record_save(&failure);
    for (size_t i = 0; i < done - 1; i++) {
        const acu_mapping *m = &v->mappings[i];
        const CUmemAccessDesc desc = access_of(who, v->access[who], m->physical);
        (void)acu_translate_driver(cuMemSetAccess(address_at(v, m->at), m->bytes, &desc, 1));
    }
    acu_record_restore(&failure);
    return code;
}

/* ---- mapping and unmapping, under the lock ---- */

/* Returns what is mapped. */
static acu_object *object_of(const acu_mapping *m) {
    return m->physical ? &m->physical->object : (acu_object *)m->multicast;
}

static int release(const acu_mapping *m) {
    acu_object *object = object_of(m);
    return acu_object_release(NULL, object, object->was);
}

/* Maps what the mapping says, to which nobody has access yet; takes a reference to that. */
static int map(acu_virtual *v, const acu_mapping *m, CUmemGenericAllocationHandle raw) {
    if (!make_room(v))
        return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for a mapping");
    int code =
        acu_translate_driver(cuMemMap(address_at(v, m->at), m->bytes, m->multicast_at, raw, 0));
    if (code)
        return code;
    const size_t i = first_behind(v, m->at);
    memmove(&v->mappings[i + 1], &v->mappings[i], (v->count - i) * sizeof *v->mappings);
    v->mappings[i] = *m;
    v->mappings[i].buffers = v->of_buffer;
    v->count++;
    acu_object_add_owner(object_of(m));
    return 0;
}

/* Unmaps the mapping, and gives up its memory. The memory is unmapped also where it cannot be
 * released, which is kept as a failed release. */
static int unmap(acu_virtual *v, size_t i) {
    const acu_mapping m = v->mappings[i];
    int code = acu_translate_driver(cuMemUnmap(address_at(v, m.at), m.bytes));
    if (code)
        return code;
    v->count--;
    memmove(&v->mappings[i], &v->mappings[i + 1], (v->count - i) * sizeof *v->mappings);
    if (release(&m))
        acu_record_release_error();
    return 0;
}

/* Unmaps the mappings from `at` to `end`, and keeps the failure that is recorded. */
static void undo(acu_virtual *v, size_t at, size_t end) {
    acu_saved_record failure;
    acu_record_save(&failure);
    const size_t i = first_behind(v, at);
    while (i < v->count && v->mappings[i].at < end)
        if (unmap(v, i)) {
            acu_record_release_error();
            break;
        }
    acu_record_restore(&failure);
}

/* ---- life ---- */

/* Unmaps these bytes; returns 0, also where the runtime is being unloaded, or a recorded code. */
static int unmap_bytes(const acu_virtual *v, size_t at, size_t bytes) {
    if (acu_is_unloading())
        return 0;
    return acu_forgive_unloading(acu_translate_driver(cuMemUnmap(address_at(v, at), bytes)));
}

/* Unmaps everything: at once where the range is the handle's, which sets `first` to that failure or
 * 0; one by one where others may have mapped something between, or where the first way failed.
 * Returns 0, or the last failure, after which something is mapped. */
static int unmap_all(const acu_virtual *v, int *first) {
    int code = 0;
    if (v->count > 0 && v->owned && (*first = unmap_bytes(v, 0, v->bytes)) == 0)
        return 0;
    for (size_t i = 0; i < v->count; i++) {
        int failed = unmap_bytes(v, v->mappings[i].at, v->mappings[i].bytes);
        code = failed ? failed : code;
    }
    return code;
}

static int destroy_virtual(acu_object *object) {
    acu_virtual *v = (acu_virtual *)object;
    int first = 0;
    int code = unmap_all(v, &first);
    if (!code && v->owned && !acu_is_unloading())
        code = acu_forgive_unloading(
            acu_translate_driver(cuMemAddressFree(address_at(v, 0), v->bytes)));
    for (; v->count > 0; v->count--) {
        int failed = release(&v->mappings[v->count - 1]);
        code = code ? code : failed;
    }
    free(v->mappings);
    pthread_mutex_destroy(&v->lock);
    return code ? code : first;
}

static void describe_virtual(const acu_object *object, acu_description *d) {
    const acu_virtual *v = (const acu_virtual *)object;
    acu_describe(d, "%zu bytes at %p", v->bytes, (const void *)v->pointer);
    if (v->of_buffer)
        acu_describe(d, "of a buffer that can grow");
}

/* CUDA maps and unmaps during captures, too. */
const acu_class acu_virtual_class = {"range of addresses", destroy_virtual, describe_virtual,
                                     acu_breaks_no_capture};

static bool has_place(int device) {
    return device >= 0 && device < ACU_COUNTED_DEVICES;
}

static int refuse_ordinal(int device) {
    (void)acu_record(ACU_ERROR_LIMIT, "device %d: a range can be used by devices below %d", device,
                     ACU_COUNTED_DEVICES);
    return ACU_ERROR_LIMIT;
}

/* Returns 0 or a recorded code, as all functions here that name no call. */
static int new_virtual(int device, size_t bytes, size_t step, acu_virtual **out) {
    if (!has_place(device))
        return refuse_ordinal(device);
    acu_virtual *v = acu_object_make(&acu_virtual_class, sizeof *v, device);
    if (!v)
        return ACU_ERROR_HOST_MEMORY;
    v->bytes = bytes;
    v->step = step;
    v->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    v->access[device] = ACU_ACCESS_READ_WRITE;
    *out = v;
    return 0;
}

/* Reserves the addresses of a new range; sizes are multiples of `step`. */
static int reserve(int device, size_t bytes, size_t step, const acu_virtual_options *o,
                   acu_virtual **out) {
    CUdeviceptr at = 0;
    acu_virtual *v = NULL;
    int code = 0;
    if (bytes > PTRDIFF_MAX - step)
        return acu_record(ACU_ERROR_OVERFLOW, "%zu bytes are more than can be addressed", bytes);
    bytes = (bytes + step - 1) / step * step;
    code = new_virtual(device, bytes, step, &v);
    if (code)
        return code;
    code = acu_translate_driver(
        cuMemAddressReserve(&at, bytes, o->alignment, (CUdeviceptr)(uintptr_t)o->wish, 0));
    if (code) {
        acu_object_discard(&v->object);
        return code;
    }
    v->pointer = (char *)(uintptr_t)at;
    v->owned = true;
    *out = v;
    return 0;
}

acu_result acu_virtual_reserve(acu_device device, size_t bytes, const acu_virtual_options *options,
                               acu_virtual **addresses) {
    ACU_SCOPE();
    static const acu_virtual_options any;
    const acu_virtual_options *o = options ? options : &any;
    ACU_NEED_POINTER(addresses);
    *addresses = NULL;
    ACU_TRY(acu_physical_begin(__func__, &device));
    ACU_REQUIRE(device >= 0, cudaErrorInvalidDevice, "a range is made for a device, not the host");
    ACU_REQUIRE(bytes > 0, ACU_ERROR_RANGE, "'bytes' is 0");
    ACU_REQUIRE(!(o->alignment & (o->alignment - 1)), ACU_ERROR_ARGUMENT,
                "options.alignment is %zu, which is no power of two", o->alignment);
    size_t step = 0;
    ACU_TRY(OUTCOME(NULL, acu_physical_step(device, NULL, &step)));
    return OUTCOME(NULL, reserve(device, bytes, step, o, addresses));
}

int acu_virtual_reserve_for_buffer(int device, size_t bytes, const acu_growable_options *options,
                                   acu_virtual **addresses) {
    static const acu_virtual_options any;
    static const acu_growable_options ordinary;
    const acu_growable_options *o = options ? options : &ordinary;
    size_t step = 0;
    int code = acu_physical_step(o->on_host ? ACU_DEVICE_HOST : device, &o->physical, &step);
    if (!code)
        code = reserve(device, bytes, step, &any, addresses);
    if (code)
        return code;
    acu_virtual *v = *addresses;
    v->of_buffer = true;
    v->on_host = o->on_host;
    v->options = o->physical;
    if (v->on_host)
        v->access[HOST] = ACU_ACCESS_READ_WRITE;
    return 0;
}

static int on_raw(const char *call, acu_device device, void *raw, size_t bytes, bool owned,
                  acu_virtual **addresses) {
    size_t step = 0;
    if (!addresses)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'addresses' is NULL");
    *addresses = NULL;
    if (!raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'raw' is NULL");
    ACU_TRY(acu_physical_begin(call, &device));
    if (device < 0)
        return acu_fail(call, "", cudaErrorInvalidDevice,
                        "a range is made for a device, not the host");
    acu_virtual *v = NULL;
    int code = acu_physical_step(device, NULL, &step);
    if (code)
        return acu_device_outcome(call, device, code);
    if (bytes == 0 || bytes % step)
        return acu_fail(call, "", ACU_ERROR_RANGE,
                        "'bytes' is %zu, but a reserved range is a multiple of %zu", bytes, step);
    code = new_virtual(device, bytes, step, &v);
    if (code)
        return acu_device_outcome(call, device, code);
    v->pointer = raw;
    v->owned = owned;
    *addresses = v;
    return 0;
}

acu_result acu_virtual_wrap(acu_device device, void *raw, size_t bytes, acu_virtual **addresses) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, bytes, false, addresses);
}

acu_result acu_virtual_adopt(acu_device device, void *raw, size_t bytes, acu_virtual **addresses) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, bytes, true, addresses);
}

void *acu_virtual_raw(const acu_virtual *addresses) {
    return acu_is(addresses, &acu_virtual_class) ? addresses->pointer : NULL;
}

acu_virtual *acu_virtual_retain(acu_virtual *addresses) {
    return acu_object_retain(__func__, addresses, &acu_virtual_class);
}

acu_result acu_virtual_release(acu_virtual *addresses) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, addresses, &acu_virtual_class);
}

void acu_virtual_cleanup(acu_virtual **addresses) {
    (void)acu_virtual_release(acu_take(addresses));
}

size_t acu_virtual_describe(const acu_virtual *addresses, char *text, size_t size) {
    return acu_object_describe_as(addresses, &acu_virtual_class, text, size);
}

size_t acu_virtual_bytes(const acu_virtual *addresses) {
    return acu_is(addresses, &acu_virtual_class) ? addresses->bytes : 0;
}

acu_device acu_virtual_device(const acu_virtual *addresses) {
    return acu_is(addresses, &acu_virtual_class) ? addresses->object.device : ACU_DEVICE_CURRENT;
}

/* ---- what the program maps ---- */

int acu_virtual_refuse_of_buffer(const char *call, const acu_virtual *v) {
    return acu_fail_on(call, v, ACU_ERROR_STATE,
                       "the range was made by acu_buffer_create_growable(): acu_buffer_grow(), "
                       "acu_buffer_shrink() and acu_buffer_slice() do this");
}

/* Maps the memory and gives access to it, or does nothing. */
static int map_with_access(acu_virtual *v, const acu_mapping *m, CUmemGenericAllocationHandle raw) {
    int code = map(v, m, raw);
    if (code)
        return code;
    code = grant(v, m->at, m->bytes, m->physical);
    if (!code)
        return 0;
    acu_saved_record failure;
    acu_record_save(&failure);
    if (unmap(v, first_behind(v, m->at)))
        acu_record_release_error();
    acu_record_restore(&failure);
    return code;
}

int acu_virtual_add(const char *call, acu_virtual *addresses, const acu_mapping *m,
                    CUmemGenericAllocationHandle raw) {
    acu_virtual *v = addresses;
    if (v->of_buffer)
        return acu_virtual_refuse_of_buffer(call, v);
    if (m->at > v->bytes || m->bytes > v->bytes - m->at)
        return acu_fail_on(call, v, ACU_ERROR_RANGE,
                           "%zu bytes from byte %zu on are outside of the range", m->bytes, m->at);
    if (m->at % v->step)
        return acu_fail_on(call, v, ACU_ERROR_RANGE,
                           "'at' is %zu, and must be a multiple of %zu, the granularity", m->at,
                           v->step);
    pthread_mutex_lock(&v->lock);
    const bool is_there = !is_free(v, m->at, m->bytes);
    int code = is_there ? 0 : map_with_access(v, m, raw);
    pthread_mutex_unlock(&v->lock);
    if (is_there)
        return acu_fail_on(call, v, ACU_ERROR_STATE,
                           "something is mapped already between byte %zu and byte %zu", m->at,
                           m->at + m->bytes);
    return acu_outcome(call, v, code);
}

acu_result acu_virtual_map(acu_virtual *addresses, size_t at, acu_physical *physical) {
    ACU_SCOPE();
    ACU_NEED(addresses, acu_virtual_class);
    ACU_NEED(physical, acu_physical_class);
    ACU_REQUIRE_OF(physical, !physical->tiles, ACU_ERROR_STATE,
                   "the memory was made with options.tiles: acu_array_map() maps it to arrays, and "
                   "nothing to addresses");
    const acu_mapping mapping = {.at = at, .bytes = physical->bytes, .physical = physical};
    return acu_virtual_add(__func__, addresses, &mapping, physical->raw);
}

/* Returns why the bytes cannot be unmapped, with the code; NULL if they can. */
static const char *why_not_unmapped(const acu_virtual *v, size_t at, size_t bytes, int *code) {
    size_t i = first_behind(v, at);
    *code = ACU_ERROR_RANGE;
    if (i == v->count || v->mappings[i].at >= at + bytes)
        return "nothing is mapped there";
    for (; i < v->count && v->mappings[i].at < at + bytes; i++) {
        const acu_mapping *m = &v->mappings[i];
        if (m->at < at || m->at + m->bytes > at + bytes)
            return "a piece of memory would be cut: it is unmapped as it was mapped";
        if (m->buffers > 0) {
            *code = ACU_ERROR_STATE;
            return "a buffer lies there, or a graph or a capture keeps one's memory: release them "
                   "first";
        }
    }
    *code = 0;
    return NULL;
}

acu_result acu_virtual_unmap(acu_virtual *addresses, size_t at, size_t bytes) {
    ACU_SCOPE();
    ACU_NEED(addresses, acu_virtual_class);
    acu_virtual *v = addresses;
    int why_code = 0, code = 0;
    acu_destroy_deferred();
    if (v->of_buffer)
        return acu_virtual_refuse_of_buffer(__func__, v);
    ACU_REQUIRE_OF(v, at <= v->bytes && bytes <= v->bytes - at, ACU_ERROR_RANGE,
                   "%zu bytes from byte %zu on are outside of the range", bytes, at);
    pthread_mutex_lock(&v->lock);
    const char *why = why_not_unmapped(v, at, bytes, &why_code);
    const size_t i = first_behind(v, at);
    while (!why && !code && i < v->count && v->mappings[i].at < at + bytes)
        code = unmap(v, i);
    pthread_mutex_unlock(&v->lock);
    ACU_REQUIRE_OF(v, !why, why_code, "bytes %zu to %zu: %s", at, at + bytes, why);
    return OUTCOME(v, code);
}

/* Replaces the device by its place in `access`. */
static int party_of(const char *call, acu_device device, size_t *who) {
    *who = HOST;
    if (device == ACU_DEVICE_HOST)
        return 0;
    ACU_TRY(acu_device_resolve(call, &device));
    if (!has_place(device))
        return acu_device_outcome(call, device, refuse_ordinal(device));
    *who = (size_t)device;
    return 0;
}

acu_result acu_virtual_set_access(acu_virtual *addresses, acu_device device, acu_access access) {
    ACU_SCOPE();
    size_t who;
    ACU_NEED(addresses, acu_virtual_class);
    ACU_TRY(party_of(__func__, device, &who));
    ACU_REQUIRE_OF(addresses,
                   access == ACU_ACCESS_NONE || access == ACU_ACCESS_READ ||
                       access == ACU_ACCESS_READ_WRITE,
                   ACU_ERROR_ARGUMENT, "%d is no acu_access", (int)access);
    pthread_mutex_lock(&addresses->lock);
    int code = change_access(addresses, who, (unsigned char)access);
    pthread_mutex_unlock(&addresses->lock);
    return OUTCOME(addresses, code);
}

acu_result acu_virtual_get_access(acu_virtual *addresses, acu_device device, acu_access *access) {
    ACU_SCOPE();
    size_t who;
    ACU_NEED_POINTER(access);
    *access = ACU_ACCESS_NONE;
    ACU_NEED(addresses, acu_virtual_class);
    ACU_TRY(party_of(__func__, device, &who));
    pthread_mutex_lock(&addresses->lock);
    *access = (acu_access)addresses->access[who];
    pthread_mutex_unlock(&addresses->lock);
    return 0;
}

acu_result acu_virtual_get_mappings(acu_virtual *addresses, acu_mapping *mappings, size_t *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    const size_t room = *count;
    *count = 0;
    ACU_NEED(addresses, acu_virtual_class);
    pthread_mutex_lock(&addresses->lock);
    *count = addresses->count;
    for (size_t i = 0; mappings && i < addresses->count && i < room; i++)
        mappings[i] = addresses->mappings[i];
    pthread_mutex_unlock(&addresses->lock);
    return 0;
}

/* ---- the range of a buffer that grows, or of an allocator ---- */

/* Maps a new piece of at most so many bytes there, and sets how large it is. Pieces can be given
 * back one by one. On an H100, 1 GiB in pieces of 64 MiB takes twice as long as in pieces of 256
 * MiB, and those are as fast as one piece. */
static int map_piece(acu_virtual *v, size_t at, size_t bytes, size_t *mapped) {
    acu_physical *piece = NULL;
    const size_t most = v->step < MOST ? MOST / v->step * v->step : v->step;
    int code = acu_physical_take(v->on_host ? ACU_DEVICE_HOST : v->object.device, &v->options,
                                 bytes < most ? bytes : most, &piece);
    if (code)
        return code;
    const acu_mapping mapping = {.at = at, .bytes = piece->bytes, .physical = piece};
    *mapped = piece->bytes;
    code = map(v, &mapping, piece->raw);
    if (code)
        acu_physical_cleanup(&piece); /* which keeps the failure */
    else
        (void)acu_object_release(NULL, piece, &acu_physical_class); /* the mapping is an owner */
    return code;
}

/* Maps new memory from `at` on, until at least so many bytes are mapped there. */
static int fill(acu_virtual *v, size_t at, size_t bytes) {
    const size_t end = (at + bytes + v->step - 1) / v->step * v->step;
    size_t now = at, mapped = 0;
    int code = 0;
    for (; !code && now < end; now += mapped)
        code = map_piece(v, now, end - now, &mapped);
    if (!code && end > at)
        code = grant(v, at, end - at, v->mappings[first_behind(v, at)].physical);
    if (code)
        undo(v, at, end);
    return code;
}

int acu_virtual_fill(acu_virtual *addresses, size_t at, size_t bytes) {
    pthread_mutex_lock(&addresses->lock);
    const int code = fill(addresses, at, bytes);
    pthread_mutex_unlock(&addresses->lock);
    return code;
}

static size_t filled(const acu_virtual *v) {
    return v->count ? v->mappings[v->count - 1].at + v->mappings[v->count - 1].bytes : 0;
}

int acu_virtual_extend(acu_virtual *addresses, size_t bytes) {
    acu_virtual *v = addresses;
    pthread_mutex_lock(&v->lock);
    const size_t begin = filled(v);
    const int code = begin < bytes ? fill(v, begin, bytes - begin) : 0;
    pthread_mutex_unlock(&v->lock);
    return code;
}

int acu_virtual_cut(acu_virtual *addresses, size_t bytes, size_t *left) {
    acu_virtual *v = addresses;
    int code = 0;
    pthread_mutex_lock(&v->lock);
    while (!code && v->count > 0 && v->mappings[v->count - 1].at >= bytes)
        code = unmap(v, v->count - 1);
    *left = filled(v);
    pthread_mutex_unlock(&v->lock);
    return code;
}

bool acu_virtual_find_last(acu_virtual *addresses, size_t at, size_t end, size_t most,
                           size_t *found, size_t *bytes) {
    acu_virtual *v = addresses;
    pthread_mutex_lock(&v->lock);
    size_t i = first_behind(v, end);
    const acu_mapping *m = NULL;
    for (; !m && i > 0 && v->mappings[i - 1].at >= at; i--)
        m = v->mappings[i - 1].bytes <= most ? &v->mappings[i - 1] : NULL;
    *found = m ? m->at : 0;
    *bytes = m ? m->bytes : 0;
    pthread_mutex_unlock(&v->lock);
    return m;
}

int acu_virtual_empty(acu_virtual *addresses, size_t at) {
    pthread_mutex_lock(&addresses->lock);
    const int code = unmap(addresses, first_behind(addresses, at));
    pthread_mutex_unlock(&addresses->lock);
    return code;
}

/* ---- the range of a buffer on a part ---- */

bool acu_virtual_lock_part(acu_virtual *addresses, size_t at, size_t bytes) {
    acu_virtual *v = addresses;
    pthread_mutex_lock(&v->lock);
    const bool there = is_filled(v, at, bytes);
    for (size_t i = first_behind(v, at); there && i < v->count && v->mappings[i].at < at + bytes;
         i++)
        v->mappings[i].buffers++;
    pthread_mutex_unlock(&v->lock);
    return there;
}

void acu_virtual_unlock_part(acu_virtual *addresses, size_t at, size_t bytes) {
    acu_virtual *v = addresses;
    pthread_mutex_lock(&v->lock);
    for (size_t i = first_behind(v, at); i < v->count && v->mappings[i].at < at + bytes; i++)
        v->mappings[i].buffers--;
    pthread_mutex_unlock(&v->lock);
}

size_t acu_virtual_find_mappings(acu_virtual *addresses, size_t at, size_t bytes,
                                 acu_mapping *found, size_t room) {
    acu_virtual *v = addresses;
    size_t count = 0;
    pthread_mutex_lock(&v->lock);
    const bool there = is_filled(v, at, bytes);
    for (size_t i = first_behind(v, at); there && i < v->count && v->mappings[i].at < at + bytes;
         i++)
        if (v->mappings[i].physical && count++ < room) {
            found[count - 1] = v->mappings[i];
            acu_object_add_owner(v->mappings[i].physical);
        }
    pthread_mutex_unlock(&v->lock);
    return count;
}

bool acu_virtual_has_multicast(acu_virtual *addresses, size_t at, size_t bytes) {
    acu_virtual *v = addresses;
    bool has = false;
    pthread_mutex_lock(&v->lock);
    for (size_t i = first_behind(v, at); i < v->count && v->mappings[i].at < at + bytes; i++)
        has = has || v->mappings[i].multicast;
    pthread_mutex_unlock(&v->lock);
    return has;
}

bool acu_virtual_is_for_host(acu_virtual *addresses, size_t at, size_t bytes) {
    acu_virtual *v = addresses;
    pthread_mutex_lock(&v->lock);
    bool host = v->access[HOST] == ACU_ACCESS_READ_WRITE && is_filled(v, at, bytes);
    for (size_t i = first_behind(v, at); host && i < v->count && v->mappings[i].at < at + bytes;
         i++)
        host = v->mappings[i].physical &&
               v->mappings[i].physical->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    pthread_mutex_unlock(&v->lock);
    return host;
}
