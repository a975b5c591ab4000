/* Pools of device memory. */
#include "safe/memory/pool.h"
#include "safe/base/device.h"
#include "safe/memory/physical.h"

#define OUTCOME(pool, code) acu_outcome(__func__, (pool), (int)(code))

/* ---- life ---- */

/* All of CUDA's ways to share a pool, as bits. */
enum { SHARED_AS_ANYTHING = 15 };

static int destroy_pool(acu_object *object) {
    acu_pool *pool = (acu_pool *)object;
    if (pool->owner)
        return acu_object_release(NULL, pool->owner, pool->owner->was);
    if (!pool->owned || acu_is_unloading())
        return 0;
    return acu_forgive_unloading((int)cudaMemPoolDestroy(pool->raw));
}

static void describe_pool(const acu_object *object, acu_description *d) {
    const acu_pool *pool = (const acu_pool *)object;
    acu_describe(d, "%s %p", pool->owned ? "raw" : "wrapped", (void *)pool->raw);
    if (pool->max_size)
        acu_describe(d, "at most %zu bytes", pool->max_size);
}

const acu_class acu_pool_class = {"pool", destroy_pool, describe_pool, NULL};

static int new_pool(const char *call, acu_device device, cudaMemPool_t raw, bool owned,
                    acu_pool **out) {
    acu_pool *pool = acu_object_new(call, &acu_pool_class, sizeof *pool, device);
    if (!pool)
        return ACU_ERROR_HOST_MEMORY;
    pool->raw = raw;
    pool->owned = owned;
    *out = pool;
    return 0;
}

/* Gives up a pool that nobody has seen. */
static void destroy_raw(cudaMemPool_t raw) {
    int ignored;
    ACU_IGNORING_CAPTURES(ignored, cudaMemPoolDestroy(raw));
    (void)ignored;
}

static int create_raw(acu_device device, const acu_pool_options *options, cudaMemPool_t *raw) {
    struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .handleTypes = (enum cudaMemAllocationHandleType)options->handles,
        .location = {.type = cudaMemLocationTypeDevice, .id = device},
        .maxSize = options->max_size,
    };
    uint64_t threshold = options->threshold;
    int code;
    ACU_IGNORING_CAPTURES(code, cudaMemPoolCreate(raw, &properties));
    if (code || !threshold)
        return code;
    ACU_IGNORING_CAPTURES(
        code, cudaMemPoolSetAttribute(*raw, cudaMemPoolAttrReleaseThreshold, &threshold));
    if (code)
        destroy_raw(*raw);
    return code;
}

acu_result acu_pool_create(acu_device device, const acu_pool_options *options, acu_pool **pool) {
    ACU_SCOPE();
    static const acu_pool_options none;
    cudaMemPool_t raw = NULL;
    ACU_NEED_POINTER(pool);
    *pool = NULL;
    ACU_REQUIRE(!options || !(options->handles & ~(unsigned)SHARED_AS_ANYTHING), ACU_ERROR_ARGUMENT,
                "options.handles is %u: a pool can be shared as 1 (a file descriptor), 8 (a fabric "
                "handle), or both",
                options->handles);
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    int code = create_raw(device, options ? options : &none, &raw);
    acu_physical_hint_at_fabric(options ? options->handles : 0, code);
    ACU_TRY(OUTCOME(NULL, code));
    code = new_pool(__func__, device, raw, true, pool);
    if (code)
        destroy_raw(raw);
    else if (options)
        (*pool)->max_size = options->max_size;
    return code;
}

acu_result acu_pool_get_default(acu_device device, acu_pool **pool) {
    ACU_SCOPE();
    cudaMemPool_t raw = NULL;
    ACU_NEED_POINTER(pool);
    *pool = NULL;
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(OUTCOME(NULL, cudaDeviceGetDefaultMemPool(&raw, device)));
    return new_pool(__func__, device, raw, false, pool);
}

acu_result acu_pool_get_current(acu_device device, acu_pool **pool) {
    ACU_SCOPE();
    cudaMemPool_t raw = NULL;
    ACU_NEED_POINTER(pool);
    *pool = NULL;
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(OUTCOME(NULL, cudaDeviceGetMemPool(&raw, device)));
    return new_pool(__func__, device, raw, false, pool);
}

acu_result acu_pool_set_current(acu_pool *pool) {
    ACU_SCOPE();
    ACU_NEED(pool, acu_pool_class);
    int code;
    ACU_IGNORING_CAPTURES(code, cudaDeviceSetMemPool(pool->object.device, pool->raw));
    return OUTCOME(pool, code);
}

static int new_pool_of(const char *call, acu_device device, cudaMemPool_t raw, bool owned,
                       acu_pool **pool) {
    if (pool)
        *pool = NULL;
    if (!pool || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", pool ? "raw" : "pool");
    int code = acu_device_resolve(call, &device);
    return code ? code : new_pool(call, device, raw, owned, pool);
}

int acu_pool_new_of(const char *call, acu_device device, cudaMemPool_t raw, acu_object *owner,
                    acu_pool **pool) {
    int code = new_pool(call, device, raw, false, pool);
    if (code)
        return code;
    acu_object_add_owner(owner);
    (*pool)->owner = owner;
    return 0;
}

acu_result acu_pool_wrap(acu_device device, struct CUmemPoolHandle_st *raw, acu_pool **pool) {
    ACU_SCOPE();
    return new_pool_of(__func__, device, raw, false, pool);
}

acu_result acu_pool_adopt(acu_device device, struct CUmemPoolHandle_st *raw, acu_pool **pool) {
    ACU_SCOPE();
    return new_pool_of(__func__, device, raw, true, pool);
}

struct CUmemPoolHandle_st *acu_pool_raw(const acu_pool *pool) {
    return acu_is(pool, &acu_pool_class) ? pool->raw : NULL;
}

acu_pool *acu_pool_retain(acu_pool *pool) {
    return acu_object_retain(__func__, pool, &acu_pool_class);
}

acu_result acu_pool_release(acu_pool *pool) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, pool, &acu_pool_class);
}

void acu_pool_cleanup(acu_pool **pool) {
    (void)acu_pool_release(acu_take(pool));
}

size_t acu_pool_describe(const acu_pool *pool, char *text, size_t size) {
    return acu_object_describe_as(pool, &acu_pool_class, text, size);
}

acu_device acu_pool_device(const acu_pool *pool) {
    return acu_is(pool, &acu_pool_class) ? pool->object.device : ACU_DEVICE_CURRENT;
}

/* ---- attributes ---- */

/* Returns whether the attribute is an int to CUDA; the others are 64 bits wide. */
static bool is_int(acu_pool_attribute attribute) {
    return attribute <= ACU_POOL_REUSE_ADDS_DEPENDENCIES ||
           (attribute >= ACU_POOL_ALLOCATION_TYPE && attribute != ACU_POOL_MAX_SIZE);
}

static bool is_known(acu_pool_attribute attribute) {
    return attribute >= ACU_POOL_REUSE_FOLLOWS_EVENTS && attribute <= ACU_POOL_LOCALITY_DOMAIN;
}

static bool is_read_only(acu_pool_attribute attribute) {
    return attribute == ACU_POOL_RESERVED || attribute == ACU_POOL_USED ||
           attribute >= ACU_POOL_ALLOCATION_TYPE;
}

acu_result acu_pool_get_attribute(acu_pool *pool, acu_pool_attribute attribute, uint64_t *value) {
    ACU_SCOPE();
    int number = 0, code;
    ACU_NEED_POINTER(value);
    ACU_NEED(pool, acu_pool_class);
    ACU_REQUIRE_OF(pool, is_known(attribute), ACU_ERROR_ARGUMENT, "a pool has no attribute %d",
                   (int)attribute);
    *value = 0;
    void *at = is_int(attribute) ? (void *)&number : (void *)value;
    ACU_IGNORING_CAPTURES(code,
                          cudaMemPoolGetAttribute(pool->raw, (enum cudaMemPoolAttr)attribute, at));
    if (is_int(attribute))
        *value = (uint64_t)number;
    return OUTCOME(pool, code);
}

acu_result acu_pool_set_attribute(acu_pool *pool, acu_pool_attribute attribute, uint64_t value) {
    ACU_SCOPE();
    int on = value != 0, code;
    ACU_NEED(pool, acu_pool_class);
    ACU_REQUIRE_OF(pool, is_known(attribute), ACU_ERROR_ARGUMENT, "a pool has no attribute %d",
                   (int)attribute);
    ACU_REQUIRE_OF(pool, !is_read_only(attribute), ACU_ERROR_ARGUMENT,
                   "the attribute can only be read");
    void *at = is_int(attribute) ? (void *)&on : (void *)&value;
    ACU_IGNORING_CAPTURES(code,
                          cudaMemPoolSetAttribute(pool->raw, (enum cudaMemPoolAttr)attribute, at));
    return OUTCOME(pool, code);
}

acu_result acu_pool_trim(acu_pool *pool, size_t keep) {
    ACU_SCOPE();
    ACU_NEED(pool, acu_pool_class);
    int code;
    ACU_IGNORING_CAPTURES(code, cudaMemPoolTrimTo(pool->raw, keep));
    return OUTCOME(pool, code);
}

/* ---- access ---- */

acu_result acu_pool_set_access(acu_pool *pool, acu_device device, acu_access access) {
    ACU_SCOPE();
    ACU_NEED(pool, acu_pool_class);
    ACU_REQUIRE_OF(pool,
                   access == ACU_ACCESS_NONE || access == ACU_ACCESS_READ ||
                       access == ACU_ACCESS_READ_WRITE,
                   ACU_ERROR_ARGUMENT, "there is no access %d", (int)access);
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_REQUIRE_OF(pool, device != pool->object.device || access == ACU_ACCESS_READ_WRITE,
                   ACU_ERROR_ARGUMENT, "a pool's own device always reads and writes its memory");
    struct cudaMemAccessDesc description = {
        .location = {.type = cudaMemLocationTypeDevice, .id = device},
        .flags = (enum cudaMemAccessFlags)access,
    };
    int code;
    ACU_IGNORING_CAPTURES(code, cudaMemPoolSetAccess(pool->raw, &description, 1));
    return OUTCOME(pool, code);
}

acu_result acu_pool_get_access(acu_pool *pool, acu_device device, acu_access *access) {
    ACU_SCOPE();
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    ACU_NEED_POINTER(access);
    *access = ACU_ACCESS_NONE;
    ACU_NEED(pool, acu_pool_class);
    ACU_TRY(acu_device_resolve(__func__, &device));
    struct cudaMemLocation location = {.type = cudaMemLocationTypeDevice, .id = device};
    int code;
    ACU_IGNORING_CAPTURES(code, cudaMemPoolGetAccess(&flags, pool->raw, &location));
    ACU_TRY(OUTCOME(pool, code));
    *access = (acu_access)flags;
    return 0;
}

int acu_pool_check_access(const char *call, acu_pool *pool, int device) {
    acu_access access = ACU_ACCESS_NONE;
    if (pool->object.device == device)
        return 0;
    ACU_TRY(acu_pool_get_access(pool, device, &access));
    if (access != ACU_ACCESS_NONE)
        return 0;
    acu_fail_hint("acu_pool_set_access() lets a device use the pool of another one");
    return acu_fail_on(call, pool, ACU_ERROR_DEVICE,
                       "the stream is on device %d, which cannot use the pool's memory", device);
}
