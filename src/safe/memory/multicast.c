/* Multicast objects, by the driver's API: the runtime has none. */
#include "safe/memory/multicast.h"
#include "safe/base/device.h"
#include "safe/memory/buffer.h"
#include "safe/memory/physical.h"

#include <stdlib.h>
#include <string.h>

#define OUTCOME(multicast, code) acu_outcome(__func__, (multicast), (code))

/* What is bound, and a reference to the object that has the memory. */
typedef struct acu_bound {
    acu_binding binding;
    acu_object *memory;
} bound;

/* ---- bindings, under the lock ---- */

/* Takes a row away, and gives up its memory; a failure of that is kept as a failed release. */
static void forget(acu_multicast *m, size_t i) {
    acu_object *memory = m->bound[i].memory;
    m->count--;
    memmove(&m->bound[i], &m->bound[i + 1], (m->count - i) * sizeof *m->bound);
    if (acu_object_release(NULL, memory, memory->was))
        acu_record_release_error();
}

static int unbind(acu_multicast *m, size_t i) {
    const acu_binding b = m->bound[i].binding;
    int code = acu_translate_driver(cuMulticastUnbind(m->raw, b.device, b.at, b.bytes));
    if (!code)
        forget(m, i);
    return code;
}

/* Returns the index of the first memory that the device has bound to one of these bytes; the count
 * if there is none. */
static size_t find(const acu_multicast *m, int device, size_t at, size_t bytes) {
    size_t i = 0;
    for (; i < m->count; i++) {
        const acu_binding *b = &m->bound[i].binding;
        if (b->device == device && b->at < at + bytes && at < b->at + b->bytes)
            break;
    }
    return i;
}

/* Makes room for one more; returns false without memory. */
static bool make_room(acu_multicast *m) {
    const size_t room = m->room ? 2 * m->room : 8;
    if (m->count < m->room)
        return true;
    bound *more = realloc(m->bound, room * sizeof *more);
    if (!more)
        return false;
    m->bound = more;
    m->room = room;
    return true;
}

/* ---- life ---- */

/* Unbinds all memory; returns the first failure, or 0. */
static int unbind_all(acu_multicast *m) {
    int code = 0;
    for (size_t i = m->count; i-- > 0;) {
        int failed = unbind(m, i);
        code = code ? code : failed;
    }
    return acu_forgive_unloading(code);
}

/* What is bound goes with an object that is the handle's. Where that stays, because it is someone
 * else's or CUDA does not release it, the memory does not stay with it. */
static int destroy_multicast(acu_object *object) {
    acu_multicast *m = (acu_multicast *)object;
    int code = 0;
    if (m->owned && !acu_is_unloading())
        code = acu_forgive_unloading(acu_translate_driver(cuMemRelease(m->raw)));
    if ((!m->owned || code) && !acu_is_unloading()) {
        const int failed = unbind_all(m);
        code = code ? code : failed;
    }
    for (; m->count > 0; m->count--) {
        acu_object *memory = m->bound[m->count - 1].memory;
        int failed = acu_object_release(NULL, memory, memory->was);
        code = code ? code : failed;
    }
    free(m->bound);
    pthread_mutex_destroy(&m->lock);
    return code;
}

static void describe_multicast(const acu_object *object, acu_description *d) {
    const acu_multicast *m = (const acu_multicast *)object;
    acu_describe(d, "%zu bytes for %u devices", m->bytes, m->devices);
    if (!m->owned)
        acu_describe(d, "wrapped");
}

/* CUDA makes and gives up such objects during captures, too; but memory of a buffer that is bound
 * may break one. */
const acu_class acu_multicast_class = {"multicast object", destroy_multicast, describe_multicast,
                                       NULL};

static CUmulticastObjectProp properties_of(unsigned devices, size_t bytes, unsigned handles) {
    return (CUmulticastObjectProp){.numDevices = devices, .size = bytes, .handleTypes = handles};
}

/* Prepares the driver, and checks what objects have in common; returns 0 or a failure recorded for
 * `call`. */
static int begin(const char *call, unsigned devices, unsigned handles) {
    const unsigned known = (unsigned)ACU_SHARE_FILE_DESCRIPTOR | (unsigned)ACU_SHARE_FABRIC;
    acu_device any = ACU_DEVICE_CURRENT;
    ACU_TRY(acu_physical_begin(call, &any));
    if (devices == 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "'devices' is 0, but an object is for at least one");
    if (handles & ~known)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "options.handles is %u: objects can be shared as 1 (a file descriptor), 8 "
                        "(a fabric handle), or both",
                        handles);
    return 0;
}

static int granularity_of(const CUmulticastObjectProp *p, CUmulticastGranularity_flags which,
                          size_t *bytes) {
    return acu_translate_driver(cuMulticastGetGranularity(bytes, p, which));
}

/* Makes a handle without a raw object; returns 0, or a failure recorded for `call`. */
static int new_multicast(const char *call, unsigned devices, size_t bytes, unsigned handles,
                         acu_multicast **out) {
    size_t step = 0;
    const CUmulticastObjectProp p = properties_of(devices, bytes, handles);
    ACU_TRY(begin(call, devices, handles));
    ACU_TRY(acu_outcome(call, NULL, granularity_of(&p, CU_MULTICAST_GRANULARITY_MINIMUM, &step)));
    if (bytes == 0 || bytes % step)
        return acu_fail(call, "", ACU_ERROR_RANGE,
                        "'bytes' is %zu, and must be a multiple of %zu, the granularity of such "
                        "objects",
                        bytes, step);
    acu_multicast *m = acu_object_new(call, &acu_multicast_class, sizeof *m, ACU_DEVICE_CURRENT);
    if (!m)
        return ACU_ERROR_HOST_MEMORY;
    m->bytes = bytes;
    m->step = step;
    m->devices = devices;
    m->handles = handles;
    m->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    *out = m;
    return 0;
}

/* Asks as the public function does; failures are recorded for `call`. */
static int ask_support(const char *call, acu_device device, bool *supported) {
    int value = 0;
    acu_saved_record before;
    ACU_TRY(acu_physical_begin(call, &device));
    if (device < 0)
        return acu_fail(call, "", cudaErrorInvalidDevice,
                        "the host is no device of multicast objects");
    acu_record_save(&before);
    const int code = acu_translate_driver(
        cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device));
    if (code == cudaErrorNotSupported || code == cudaErrorInvalidValue) { /* an older driver */
        acu_record_restore(&before);
        return 0;
    }
    *supported = value != 0;
    return acu_device_outcome(call, device, code);
}

acu_result acu_multicast_is_supported(acu_device device, bool *supported) {
    ACU_SCOPE();
    ACU_NEED_POINTER(supported);
    *supported = false;
    return ask_support(__func__, device, supported);
}

acu_result acu_multicast_get_granularity(unsigned devices, size_t bytes,
                                         const acu_multicast_options *options, size_t *least,
                                         size_t *best) {
    ACU_SCOPE();
    size_t ignored;
    const unsigned handles = options ? options->handles : 0;
    const CUmulticastObjectProp p = properties_of(devices, bytes, handles);
    ACU_TRY(begin(__func__, devices, handles));
    ACU_TRY(OUTCOME(
        NULL, granularity_of(&p, CU_MULTICAST_GRANULARITY_MINIMUM, least ? least : &ignored)));
    return OUTCOME(
        NULL, granularity_of(&p, CU_MULTICAST_GRANULARITY_RECOMMENDED, best ? best : &ignored));
}

acu_result acu_multicast_create(unsigned devices, size_t bytes,
                                const acu_multicast_options *options, acu_multicast **multicast) {
    ACU_SCOPE();
    acu_multicast *made = NULL;
    const unsigned handles = options ? options->handles : 0;
    ACU_NEED_POINTER(multicast);
    *multicast = NULL;
    ACU_TRY(new_multicast(__func__, devices, bytes, handles, &made));
    const CUmulticastObjectProp p = properties_of(devices, bytes, handles);
    int code = acu_translate_driver(cuMulticastCreate(&made->raw, &p));
    if (code) {
        acu_object_discard(&made->object);
        acu_physical_hint_at_fabric(handles, code);
        return OUTCOME(NULL, code);
    }
    made->owned = true;
    *multicast = made;
    return 0;
}

/* ---- handles for what is there ---- */

static int on_raw(const char *call, unsigned long long raw, unsigned devices, size_t bytes,
                  bool owned, acu_multicast **multicast) {
    if (!multicast)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'multicast' is NULL");
    *multicast = NULL;
    if (!raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'raw' is 0, which is no handle");
    ACU_TRY(new_multicast(call, devices, bytes, 0, multicast));
    (*multicast)->raw = raw;
    (*multicast)->owned = owned;
    (*multicast)->wrapped = (*multicast)->shared = true;
    return 0;
}

acu_result acu_multicast_wrap(unsigned long long raw, unsigned devices, size_t bytes,
                              acu_multicast **multicast) {
    ACU_SCOPE();
    return on_raw(__func__, raw, devices, bytes, false, multicast);
}

acu_result acu_multicast_adopt(unsigned long long raw, unsigned devices, size_t bytes,
                               acu_multicast **multicast) {
    ACU_SCOPE();
    return on_raw(__func__, raw, devices, bytes, true, multicast);
}

static void mark_shared(acu_multicast *m) {
    __atomic_store_n(&m->shared, true, __ATOMIC_RELAXED);
}

static bool is_shared(const acu_multicast *m) {
    return __atomic_load_n(&m->shared, __ATOMIC_RELAXED);
}

acu_result acu_multicast_export(acu_multicast *multicast, int *descriptor) {
    ACU_SCOPE();
    ACU_NEED_POINTER(descriptor);
    *descriptor = -1;
    ACU_NEED(multicast, acu_multicast_class);
    ACU_REQUIRE_OF(multicast,
                   multicast->wrapped || acu_has(multicast->handles, ACU_SHARE_FILE_DESCRIPTOR),
                   ACU_ERROR_STATE,
                   "the object was made without ACU_SHARE_FILE_DESCRIPTOR in options.handles");
    int code = acu_translate_driver(cuMemExportToShareableHandle(
        descriptor, multicast->raw, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (code)
        *descriptor = -1;
    else
        mark_shared(multicast);
    return OUTCOME(multicast, code);
}

acu_result acu_multicast_import(int descriptor, unsigned devices, size_t bytes,
                                acu_multicast **multicast) {
    ACU_SCOPE();
    acu_multicast *made = NULL;
    ACU_NEED_POINTER(multicast);
    *multicast = NULL;
    ACU_REQUIRE(descriptor >= 0, ACU_ERROR_ARGUMENT, "'descriptor' is %d, which is no descriptor",
                descriptor);
    ACU_TRY(new_multicast(__func__, devices, bytes, ACU_SHARE_FILE_DESCRIPTOR, &made));
    int code = acu_translate_driver(cuMemImportFromShareableHandle(
        &made->raw, (void *)(uintptr_t)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    if (code) {
        acu_object_discard(&made->object);
        return OUTCOME(NULL, code);
    }
    made->owned = made->wrapped = made->shared = true;
    *multicast = made;
    return 0;
}

/* ---- what it is ---- */

unsigned long long acu_multicast_raw(acu_multicast *multicast) {
    if (!acu_is(multicast, &acu_multicast_class))
        return 0;
    mark_shared(multicast);
    return multicast->raw;
}

acu_multicast *acu_multicast_retain(acu_multicast *multicast) {
    return acu_object_retain(__func__, multicast, &acu_multicast_class);
}

acu_result acu_multicast_release(acu_multicast *multicast) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, multicast, &acu_multicast_class);
}

void acu_multicast_cleanup(acu_multicast **multicast) {
    (void)acu_multicast_release(acu_take(multicast));
}

size_t acu_multicast_describe(const acu_multicast *multicast, char *text, size_t size) {
    return acu_object_describe_as(multicast, &acu_multicast_class, text, size);
}

size_t acu_multicast_bytes(const acu_multicast *multicast) {
    return acu_is(multicast, &acu_multicast_class) ? multicast->bytes : 0;
}

unsigned acu_multicast_devices(const acu_multicast *multicast) {
    return acu_is(multicast, &acu_multicast_class) ? multicast->devices : 0;
}

/* ---- devices ---- */

/* Returns the bit of a device in `added`. */
static uint64_t bit_of(int device) {
    return (uint64_t)1 << (unsigned)device;
}

static unsigned count_added(acu_multicast *m) {
    pthread_mutex_lock(&m->lock);
    const uint64_t added = m->added;
    pthread_mutex_unlock(&m->lock);
    return (unsigned)__builtin_popcountll(added);
}

int acu_multicast_check_devices(const char *call, acu_multicast *m) {
    const unsigned added = count_added(m);
    if (added >= m->devices || is_shared(m))
        return 0;
    acu_fail_hint("acu_multicast_add_device() adds the others; CUDA would wait for them");
    return acu_fail_on(call, m, ACU_ERROR_STATE, "of %u devices %u were added", m->devices, added);
}

bool acu_multicast_may_have(acu_multicast *m, int device) {
    pthread_mutex_lock(&m->lock);
    const bool has = (m->added & bit_of(device)) != 0;
    pthread_mutex_unlock(&m->lock);
    return has || is_shared(m);
}

static int check_support(const char *call, acu_device device) {
    bool supported = false;
    ACU_TRY(ask_support(call, device, &supported));
    if (supported)
        return 0;
    acu_fail_hint("devices of compute capability 9.0 or later have them, where NVSwitch connects "
                  "them and its fabric manager runs");
    return acu_fail(call, "", ACU_NOT_SUPPORTED, "device %d has no multicast objects", device);
}

/* Returns why the device cannot be added; NULL if it can be. Under the lock. */
static const char *why_not_added(const acu_multicast *m, acu_device device) {
    if ((m->added & bit_of(device)) != 0)
        return "was added already";
    const bool full = (unsigned)__builtin_popcountll(m->added) >= m->devices;
    return full ? "is one too many: all were added already" : NULL;
}

acu_result acu_multicast_add_device(acu_multicast *multicast, acu_device device) {
    ACU_SCOPE();
    int code = 0;
    ACU_NEED(multicast, acu_multicast_class);
    acu_multicast *m = multicast;
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_REQUIRE_OF(m, device >= 0 && device < ACU_COUNTED_DEVICES, ACU_ERROR_LIMIT,
                   "device %d: devices below %d can be added", device, ACU_COUNTED_DEVICES);
    ACU_TRY(check_support(__func__, device));
    pthread_mutex_lock(&m->lock);
    const char *why = why_not_added(m, device);
    if (!why)
        code = acu_translate_driver(cuMulticastAddDevice(m->raw, device));
    if (!why && !code)
        m->added |= bit_of(device);
    pthread_mutex_unlock(&m->lock);
    ACU_REQUIRE_OF(m, !why, ACU_ERROR_STATE, "device %d %s", device, why);
    return OUTCOME(m, code);
}

acu_result acu_multicast_get_devices(acu_multicast *multicast, acu_device *devices, size_t *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    const size_t room = *count;
    *count = 0;
    ACU_NEED(multicast, acu_multicast_class);
    pthread_mutex_lock(&multicast->lock);
    for (int device = 0; device < ACU_COUNTED_DEVICES; device++) {
        if (!(multicast->added & bit_of(device)))
            continue;
        if (devices && *count < room)
            devices[*count] = device;
        (*count)++;
    }
    pthread_mutex_unlock(&multicast->lock);
    return 0;
}

/* ---- binding ---- */

/* What is to be bound. */
typedef struct bind_job {
    const char *call;
    acu_multicast *to;
    bound bound; /* without a reference yet */
    CUmemGenericAllocationHandle raw;
    CUdeviceptr address; /* where `binding.physical` is NULL */
} bind_job;

static int check_place(const bind_job *j, size_t memory_bytes, size_t memory_at) {
    const acu_multicast *m = j->to;
    const acu_binding *b = &j->bound.binding;
    if (b->at > m->bytes || b->bytes > m->bytes - b->at)
        return acu_fail_on(j->call, m, ACU_ERROR_RANGE,
                           "%zu bytes from byte %zu on are outside of the object", b->bytes, b->at);
    if (memory_at > memory_bytes || b->bytes > memory_bytes - memory_at)
        return acu_fail_on(j->call, m, ACU_ERROR_RANGE,
                           "%zu bytes from byte %zu on are outside of the memory, which has %zu",
                           b->bytes, memory_at, memory_bytes);
    if (b->bytes == 0 || (b->at | b->bytes | memory_at | (size_t)j->address) % m->step)
        return acu_fail_on(j->call, m, ACU_ERROR_RANGE,
                           "%zu bytes from byte %zu on, of memory from byte %zu on%s: all must be "
                           "multiples of %zu, the granularity",
                           b->bytes, b->at, memory_at, j->address ? ", and its address" : "",
                           m->step);
    return 0;
}

static int check_device(const bind_job *j) {
    const acu_device device = j->bound.binding.device;
    if (device < 0)
        return acu_fail_on(j->call, j->to, ACU_ERROR_DEVICE,
                           "the memory is the host's, but only that of devices can be bound");
    ACU_TRY(acu_multicast_check_devices(j->call, j->to));
    return acu_multicast_may_have(j->to, device)
               ? 0
               : acu_fail_on(j->call, j->to, ACU_ERROR_DEVICE,
                             "the memory is of device %d, which was not added", device);
}

/* Adds a row, before CUDA is called. Returns 0 or a failure recorded for the call. */
static int add_row(const bind_job *j) {
    acu_multicast *m = j->to;
    const acu_binding *b = &j->bound.binding;
    pthread_mutex_lock(&m->lock);
    const bool is_there = find(m, b->device, b->at, b->bytes) < m->count;
    const bool has_room = is_there || make_room(m);
    if (!is_there && has_room) {
        acu_object_add_owner(j->bound.memory);
        m->bound[m->count++] = j->bound;
    }
    pthread_mutex_unlock(&m->lock);
    if (is_there)
        return acu_fail_on(j->call, m, ACU_ERROR_STATE,
                           "device %d has bound memory between byte %zu and byte %zu already",
                           b->device, b->at, b->at + b->bytes);
    return has_room ? 0
                    : acu_fail_on(j->call, m, ACU_ERROR_HOST_MEMORY,
                                  "the host has no memory for a binding");
}

/* Takes the row away again; the caller of the public function still owns the memory. */
static void remove_row(const bind_job *j) {
    acu_multicast *m = j->to;
    const acu_binding *b = &j->bound.binding;
    acu_saved_record failure;
    acu_record_save(&failure);
    pthread_mutex_lock(&m->lock);
    const size_t i = find(m, b->device, b->at, b->bytes);
    if (i < m->count)
        forget(m, i);
    pthread_mutex_unlock(&m->lock);
    acu_record_restore(&failure);
}

/* Does what is checked but for the devices; returns the public function's result. CUDA is called
 * without the lock, because it may wait until another thread has added a device. */
static int run_bind(const bind_job *j) {
    acu_multicast *m = j->to;
    const acu_binding *b = &j->bound.binding;
    ACU_TRY(check_device(j));
    ACU_TRY(add_row(j));
    const int code =
        b->physical
            ? acu_translate_driver(
                  cuMulticastBindMem(m->raw, b->at, j->raw, b->physical_at, b->bytes, 0))
            : acu_translate_driver(cuMulticastBindAddr(m->raw, b->at, j->address, b->bytes, 0));
    if (code)
        remove_row(j);
    if (code == cudaErrorInvalidValue && m->handles)
        acu_fail_hint("an object that can be shared takes memory that can be shared only: name its "
                      "handles in acu_physical_options");
    return acu_outcome(j->call, m, code);
}

acu_result acu_multicast_bind(acu_multicast *multicast, size_t at, acu_physical *physical,
                              size_t physical_at, size_t bytes) {
    ACU_SCOPE();
    ACU_NEED(multicast, acu_multicast_class);
    ACU_NEED(physical, acu_physical_class);
    bind_job job = {.call = __func__,
                    .to = multicast,
                    .bound = {{.device = acu_physical_device(physical),
                               .at = at,
                               .bytes = bytes,
                               .physical = physical,
                               .physical_at = physical_at},
                              &physical->object},
                    .raw = physical->raw};
    ACU_TRY(check_place(&job, physical->bytes, physical_at));
    return run_bind(&job);
}

acu_result acu_multicast_bind_buffer(acu_multicast *multicast, size_t at, acu_buffer *buffer) {
    ACU_SCOPE();
    ACU_NEED(multicast, acu_multicast_class);
    ACU_NEED(buffer, acu_buffer_class);
    acu_storage *s = buffer->storage;
    ACU_REQUIRE_OF(buffer, s->memory == ACU_MEMORY_POOL || s->memory == ACU_MEMORY_VIRTUAL,
                   ACU_ERROR_MEMORY_KIND,
                   "only memory of pools, and what is mapped to addresses, can be bound");
    bind_job job = {
        .call = __func__,
        .to = multicast,
        .bound = {{.device = s->device, .at = at, .bytes = acu_buffer_bytes(buffer)}, &s->object},
        .address = (CUdeviceptr)(uintptr_t)buffer->pointer};
    ACU_TRY(check_place(&job, job.bound.binding.bytes, 0));
    return run_bind(&job);
}

acu_result acu_multicast_unbind(acu_multicast *multicast, acu_device device, size_t at,
                                size_t bytes) {
    ACU_SCOPE();
    int code = 0;
    acu_destroy_deferred();
    ACU_NEED(multicast, acu_multicast_class);
    acu_multicast *m = multicast;
    ACU_TRY(acu_device_resolve(__func__, &device));
    pthread_mutex_lock(&m->lock);
    const size_t i = find(m, device, at, bytes);
    const bool exact =
        i < m->count && m->bound[i].binding.at == at && m->bound[i].binding.bytes == bytes;
    if (exact)
        code = unbind(m, i);
    pthread_mutex_unlock(&m->lock);
    if (!exact)
        acu_fail_hint("memory is unbound as it was bound: acu_multicast_get_bindings() lists it");
    ACU_REQUIRE_OF(m, exact, ACU_ERROR_RANGE,
                   "device %d has bound nothing that is %zu bytes long from byte %zu on", device,
                   bytes, at);
    return OUTCOME(m, code);
}

acu_result acu_multicast_get_bindings(acu_multicast *multicast, acu_binding *bindings,
                                      size_t *count) {
    ACU_SCOPE();
    ACU_NEED_POINTER(count);
    const size_t room = *count;
    *count = 0;
    ACU_NEED(multicast, acu_multicast_class);
    pthread_mutex_lock(&multicast->lock);
    *count = multicast->count;
    for (size_t i = 0; bindings && i < multicast->count && i < room; i++)
        bindings[i] = multicast->bound[i].binding;
    pthread_mutex_unlock(&multicast->lock);
    return 0;
}
