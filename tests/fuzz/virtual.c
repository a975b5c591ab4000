/* Virtual memory: reserved addresses, created memory, and the mappings between them. */
#include "fuzz.h"

#include <stdio.h>

enum { CHUNK = 2 * MIB };

/* ---- choices ---- */

/* Addresses within a reservation, or none. What is behind a reservation is not the same on all
 * machines. */
typedef struct window {
    object *in;
    size_t offset, size;
} window;

static void clamp(window *w) {
    if (!w->in->handle)
        return;
    w->offset %= w->in->size;
    w->size = smaller(w->size, w->in->size - w->offset);
}

/* Windows that memory was mapped to, of which some may be unmapped again. */
static window mapped[8];
static unsigned mapped_count;

static window any_window(void) {
    const size_t offset = (size_t)ONE_OF(0, 0, 0, 1, 1, 2), size = (size_t)ONE_OF(1, 1, 1, 2, 3, 0);
    window w = {any(RESERVATION), offset * CHUNK, size * CHUNK};
    if (mapped_count && !one_in(3))
        w = mapped[below(mapped_count < 8 ? mapped_count : 8)];
    if (one_in(16))
        w.offset += (size_t)ONE_OF(1, 4096);
    if (one_in(16))
        w.size += (size_t)ONE_OF(1, 4096);
    clamp(&w);
    return w;
}

static CUdeviceptr address_of(window w) {
    return w.in->handle ? (CUdeviceptr)(uintptr_t)w.in->handle + w.offset : 0;
}

static CUmemGenericAllocationHandle created_of(const object *o) {
    return (CUmemGenericAllocationHandle)(uintptr_t)o->handle;
}

/* Memory that the window has a part of; NULL if there is none. */
static object *memory_in(window w, object *after) {
    for (object *o = after ? after + 1 : objects[MEMORY]; o < objects[MEMORY] + SLOTS; o++)
        if (o->handle && o->memory == MAPPED &&
            (uintptr_t)o->handle < (uintptr_t)address_of(w) + w.size &&
            (uintptr_t)address_of(w) < (uintptr_t)o->handle + o->size)
            return o;
    return NULL;
}

/* Whether a graph or a capture uses memory in the window, which must stay there. */
static bool is_in_use(window w) {
    for (object *o = memory_in(w, NULL); o; o = memory_in(w, o))
        if (o->is_used)
            return true;
    return false;
}

static void forget_memory_in(window w) {
    for (object *o = memory_in(w, NULL); o; o = memory_in(w, o))
        o->handle = NULL;
}

static CUmemAllocationProp any_properties(void) {
    CUmemAllocationProp p = {0};
    p.type = (CUmemAllocationType)ONE_OF(1, 1, 1, 1, 1, 1, 0, 2, 9);
    p.location.type = (CUmemLocationType)ONE_OF(1, 1, 1, 1, 1, 1, 1, 2, 3, 3, 4, 0, 9);
    p.location.id = one_in(6) ? any_device() : 0;
    p.allocFlags.compressionType = (unsigned char)ONE_OF(0, 0, 0, 0, 0, 0, 1, 2);
    p.allocFlags.gpuDirectRDMACapable = (unsigned char)ONE_OF(0, 0, 0, 0, 0, 0, 1, 2);
    return p;
}

static const char *properties_name(const CUmemAllocationProp *p) {
    static char text[64];
    (void)snprintf(text, sizeof text, "{%d, {%d, %d}, %u, %u}", (int)p->type, (int)p->location.type,
                   p->location.id, p->allocFlags.compressionType,
                   p->allocFlags.gpuDirectRDMACapable);
    return text;
}

/* ---- addresses ---- */

static void reserve(void) {
    object *o = empty(RESERVATION);
    const size_t size = (size_t)ONE_OF(1, 2, 3, 4, 4, 0) * CHUNK + (one_in(12) ? 4096 : 0),
                 alignment = (size_t)ONE_OF(0, 0, 0, 0, 0, 1, 4096, CHUNK, 4 * CHUNK, 3 * CHUNK);
    const unsigned long long flags = one_in(16);
    CUdeviceptr made = 7;
    if (!o)
        return;
    call("cuMemAddressReserve(%zu, %zu, %llu)", size, alignment, flags);
    const CUresult result = cuMemAddressReserve(&made, size, alignment, 0, flags);
    if (!result) {
        o->handle = (void *)(uintptr_t)made;
        o->size = size;
    }
    answer(result, "%s %d",
           o->handle   ? name(o)
           : made == 7 ? "same"
                       : "NULL",
           !result && (made % CHUNK || (alignment && made % alignment)));
}

static void give_back_addresses(void) {
    object *o = any(RESERVATION);
    const size_t size = one_in(8) ? CHUNK : o->size;
    window w = {o, 0, o->size};
    if (is_in_use(w))
        return;
    call("cuMemAddressFree(%s, %zu)", name(o), size);
    const CUresult result = cuMemAddressFree(address_of(w), size);
    if (!result) {
        forget_memory_in(w);
        o->handle = NULL;
    }
    answer(result, "%s", "");
}

/* ---- memory ---- */

static void create_memory(void) {
    object *o = empty(CREATED);
    const CUmemAllocationProp properties = any_properties();
    const size_t size = (size_t)ONE_OF(1, 1, 1, 2, 3, 0) * CHUNK + (one_in(12) ? 4096 : 0);
    const unsigned long long flags = one_in(24);
    CUmemGenericAllocationHandle made = 7;
    if (!o)
        return;
    call("cuMemCreate(%zu, %s, %llu)", size, properties_name(&properties), flags);
    const CUresult result = cuMemCreate(&made, size, &properties, flags);
    if (!result) {
        o->handle = (void *)(uintptr_t)made;
        o->size = size;
    }
    answer(result, "%s", o->handle ? name(o) : made == 7 ? "same" : "NULL");
}

static void release_memory(void) {
    object *o = any(CREATED);
    call("cuMemRelease(%s)", name(o));
    const CUresult result = cuMemRelease(created_of(o));
    if (!result)
        o->handle = NULL;
    answer(result, "%s", "");
}

static void retain_memory(void) {
    object *o = empty(CREATED);
    const window w = any_window();
    CUmemGenericAllocationHandle made = 7;
    if (!o)
        return;
    call("cuMemRetainAllocationHandle(%s+%zu)", name(w.in), w.offset);
    const CUresult result = cuMemRetainAllocationHandle(&made, (void *)(uintptr_t)address_of(w));
    if (!result)
        o->handle = (void *)(uintptr_t)made;
    answer(result, "%s", o->handle ? name(o) : made == 7 ? "same" : "NULL");
}

static void ask_properties(void) {
    const object *o = any(CREATED);
    CUmemAllocationProp p;
    memset(&p, 0x5a, sizeof p);
    call("cuMemGetAllocationPropertiesFromHandle(%s)", name(o));
    const CUresult result = cuMemGetAllocationPropertiesFromHandle(&p, created_of(o));
    answer(result, "%s %d %u", properties_name(&p), (int)p.requestedHandleTypes,
           p.allocFlags.usage);
}

static void granularity(void) {
    const CUmemAllocationProp properties = any_properties();
    const int option = ONE_OF(0, 0, 1, 2, -1);
    size_t size = 7;
    call("cuMemGetAllocationGranularity(%s, %d)", properties_name(&properties), option);
    const CUresult result =
        cuMemGetAllocationGranularity(&size, &properties, (CUmemAllocationGranularity_flags)option);
    answer(result, "%zu", size);
}

/* ---- mappings ---- */

static void map_memory(void) {
    window w = any_window();
    const object *o = any(CREATED);
    const size_t offset = (size_t)ONE_OF(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) * CHUNK;
    const unsigned long long flags = one_in(24);
    if (!one_in(6)) {
        w.size = o->size;
        w.offset = (size_t)ONE_OF(0, 0, 1, 2) * CHUNK;
    }
    clamp(&w);
    call("cuMemMap(%s+%zu, %zu, %zu, %s, %llu)", name(w.in), w.offset, w.size, offset, name(o),
         flags);
    const CUresult result = cuMemMap(address_of(w), w.size, offset, created_of(o), flags);
    if (!result)
        mapped[mapped_count++ % 8] = w;
    answer(result, "%s", "");
}

static void unmap_memory(void) {
    const window w = any_window();
    if (is_in_use(w))
        return;
    call("cuMemUnmap(%s+%zu, %zu)", name(w.in), w.offset, w.size);
    const CUresult result = cuMemUnmap(address_of(w), w.size);
    if (!result)
        forget_memory_in(w);
    answer(result, "%s", "");
}

/* The memory is given to the other operations only where device 0 may write to all of it. */
static void keep_memory(window w) {
    object *o = empty(MEMORY);
    if (!o)
        return;
    o->handle = (void *)(uintptr_t)address_of(w);
    o->size = w.size;
    o->memory = MAPPED;
    o->is_undefined = true;
}

static void set_access(void) {
    const window w = any_window();
    const size_t count = (size_t)ONE_OF(1, 1, 1, 1, 1, 1, 2, 0);
    CUmemAccessDesc access[2];
    if (is_in_use(w))
        return;
    for (int i = 0; i < 2; i++) {
        access[i].location.type =
            (CUmemLocationType)ONE_OF(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 0, 9);
        access[i].location.id = one_in(8) ? any_device() : 0;
        access[i].flags = (CUmemAccess_flags)ONE_OF(3, 3, 3, 3, 3, 3, 1, 0, 2, 4);
    }
    call("cuMemSetAccess(%s+%zu, %zu, {{%d, %d, %d}, {%d, %d, %d}}, %zu)", name(w.in), w.offset,
         w.size, (int)access[0].location.type, access[0].location.id, (int)access[0].flags,
         (int)access[1].location.type, access[1].location.id, (int)access[1].flags, count);
    const CUresult result = cuMemSetAccess(address_of(w), w.size, access, count);
    unsigned long long flags = 0;
    const CUmemLocation first = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    if (!result) {
        forget_memory_in(w);
        if (!cuMemGetAccess(&flags, &first, address_of(w)) && flags == 3)
            keep_memory(w);
    }
    answer(result, "%llu", flags);
}

static void get_access(void) {
    const window w = any_window();
    const CUmemLocation location = {.type = (CUmemLocationType)ONE_OF(1, 1, 1, 1, 2, 3, 4, 0, 9),
                                    .id = one_in(8) ? any_device() : 0};
    unsigned long long flags = 7;
    call("cuMemGetAccess({%d, %d}, %s+%zu)", (int)location.type, location.id, name(w.in), w.offset);
    const CUresult result = cuMemGetAccess(&flags, &location, address_of(w));
    answer(result, "%llu", flags);
}

/* ---- what CUDA says of addresses that may not be mapped ---- */

static void describe_reserved(void) {
    const window w = any_window();
    struct cudaPointerAttributes attributes;
    memset(&attributes, 0x5a, sizeof attributes);
    call("cudaPointerGetAttributes(%s+%zu)", name(w.in), w.offset);
    const cudaError_t result =
        cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)address_of(w));
    answer(result, "%d %d %s %s", (int)attributes.type, attributes.device,
           attributes.devicePointer ? "new" : "NULL", attributes.hostPointer ? "new" : "NULL");
}

static void driver_reserved(void) {
    const window w = any_window();
    if (one_in(3)) {
        CUdeviceptr base = 7;
        size_t size = 7;
        call("cuMemGetAddressRange(%s+%zu)", name(w.in), w.offset);
        const CUresult result = cuMemGetAddressRange(&base, &size, address_of(w));
        answer(result, "%zd %zu", result || !base ? (size_t)-1 : (size_t)(address_of(w) - base),
               size);
        return;
    }
    const int attribute = ONE_OF(2, 6, 8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21);
    int value[16] = {0x5a5a5a5a, 0x5a5a5a5a};
    call("cuPointerGetAttribute(%d, %s+%zu)", attribute, name(w.in), w.offset);
    const CUresult result =
        cuPointerGetAttribute(value, (CUpointer_attribute)attribute, address_of(w));
    const bool is_anywhere = attribute == CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID ||
                             (!result && attribute == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR);
    answer(result, "%d", is_anywhere ? 0 : value[0]);
}

const operation virtual_operations[] = {
    OPERATION(reserve, 3, true),          OPERATION(give_back_addresses, 1, false),
    OPERATION(create_memory, 4, true),    OPERATION(release_memory, 2, false),
    OPERATION(retain_memory, 1, false),   OPERATION(ask_properties, 1, false),
    OPERATION(granularity, 1, false),     OPERATION(map_memory, 6, true),
    OPERATION(unmap_memory, 2, false),    OPERATION(set_access, 6, true),
    OPERATION(get_access, 2, false),      OPERATION(describe_reserved, 1, false),
    OPERATION(driver_reserved, 3, false), {NULL, NULL, 0, false},
};
