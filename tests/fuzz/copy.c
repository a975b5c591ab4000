/* Copies and fills, and what memory holds. */
#include "fuzz.h"

const chosen_stream null_stream = {NULL, NULL, "NULL"};

void wrote(place *to, place *from, bool captured, bool all) {
    uses(to, true, captured);
    if (from)
        uses(from, false, captured);
    if (to->object && from && from->object && from->object->is_undefined)
        to->object->is_undefined = true;
    if (to->object && all && !captured && !from)
        to->object->is_undefined = false;
}

void copied_array(object *array, place *memory, bool into, bool captured) {
    if (captured && array->handle)
        array->is_used = true;
    if (!into && memory->object)
        memory->object->is_undefined = true;
    uses(memory, !into, captured);
}

static void fill(void) {
    place to = any_place();
    const int value = (int)below(300) - 20;
    const size_t size = one_in(3) ? to.room : any_size(to.room);
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    cudaError_t result;
    if (captured && to.object && to.object->is_read_only)
        return;
    if (async) {
        call("cudaMemsetAsync(%s, %d, %zu, %s)", to.name, value, size, s.name);
        result = cudaMemsetAsync(to.address, value, size, s.handle);
    } else {
        call("cudaMemset(%s, %d, %zu)", to.name, value, size);
        result = cudaMemset(to.address, value, size);
    }
    answer(result, "%s", "");
    const bool all = !result && to.object && size == to.object->size;
    wrote(&to, NULL, captured, all);
    settle(async ? s : null_stream);
}

static void fill_rows(void) {
    place to = any_target();
    const size_t pitch = (size_t)ONE_OF(0, 16, 64, 64, 100),
                 width = (size_t)ONE_OF(0, 1, 16, 64, 80), height = (size_t)ONE_OF(0, 1, 2, 5);
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    if (async) {
        call("cudaMemset2DAsync(%s, %zu, 9, %zu, %zu, %s)", to.name, pitch, width, height, s.name);
        answer(cudaMemset2DAsync(to.address, pitch, 9, width, height, s.handle), "%s", "");
    } else {
        call("cudaMemset2D(%s, %zu, 9, %zu, %zu)", to.name, pitch, width, height);
        answer(cudaMemset2D(to.address, pitch, 9, width, height), "%s", "");
    }
    wrote(&to, NULL, captured, false);
    settle(async ? s : null_stream);
}

static void driver_fill(void) {
    place to = any_target();
    const size_t count = any_size(to.room / 4);
    const chosen_stream s = any_stream();
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)to.address;
    const bool captured = is_capturing(s);
    switch (below(4)) {
    case 0:
        call("cuMemsetD8Async(%s, 3, %zu, %s)", to.name, count, s.name);
        answer(cuMemsetD8Async(address, 3, count, s.handle), "%s", "");
        break;
    case 1:
        call("cuMemsetD16Async(%s, 515, %zu, %s)", to.name, count, s.name);
        answer(cuMemsetD16Async(address, 515, count, s.handle), "%s", "");
        break;
    case 2:
        call("cuMemsetD32Async(%s, 77777, %zu, %s)", to.name, count, s.name);
        answer(cuMemsetD32Async(address, 77777, count, s.handle), "%s", "");
        break;
    default: {
        const size_t pitch = (size_t)ONE_OF(0, 16, 64, 63);
        call("cuMemsetD2D16Async(%s, %zu, 515, 8, 2, %s)", to.name, pitch, s.name);
        answer(cuMemsetD2D16Async(address, pitch, 515, 8, 2, s.handle), "%s", "");
    }
    }
    wrote(&to, NULL, captured, false);
    settle(s);
}

size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

bool is_safe(const place *p, size_t bytes) {
    return bytes <= p->room ||
           (p->object && (p->object->memory == DEVICE || p->object->memory == ASYNC));
}

bool overlap(const place *a, const place *b, size_t bytes) {
    return a->object && a->object == b->object && a->address < b->address + bytes &&
           b->address < a->address + bytes;
}

bool may_write(const place *p) {
    return !p->object || !p->object->is_read_only;
}

static void copy(void) {
    place to = any_place(), from = any_place();
    const size_t size = any_size(smaller(to.room, from.room));
    const int direction = any_direction();
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    if (captured && to.object && to.object->is_read_only)
        return;
    if (!is_safe(&to, size) || !is_safe(&from, size) || overlap(&to, &from, size))
        return;
    if (async) {
        call("cudaMemcpyAsync(%s, %s, %zu, %d, %s)", to.name, from.name, size, direction, s.name);
        answer(cudaMemcpyAsync(to.address, from.address, size, (enum cudaMemcpyKind)direction,
                               s.handle),
               "%s", "");
    } else {
        call("cudaMemcpy(%s, %s, %zu, %d)", to.name, from.name, size, direction);
        answer(cudaMemcpy(to.address, from.address, size, (enum cudaMemcpyKind)direction), "%s",
               "");
    }
    wrote(&to, &from, captured, false);
    settle(async ? s : null_stream);
}

static void copy_rows(void) {
    place to = any_target(), from = any_place();
    const size_t to_pitch = (size_t)ONE_OF(0, 16, 64, 100),
                 from_pitch = (size_t)ONE_OF(0, 16, 64, 100),
                 width = (size_t)ONE_OF(0, 1, 16, 64, 80), height = (size_t)ONE_OF(0, 1, 2, 5);
    const int direction = any_direction();
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    if (!is_safe(&to, 600) || !is_safe(&from, 600) || overlap(&to, &from, 600))
        return;
    if (async) {
        call("cudaMemcpy2DAsync(%s, %zu, %s, %zu, %zu, %zu, %d, %s)", to.name, to_pitch, from.name,
             from_pitch, width, height, direction, s.name);
        answer(cudaMemcpy2DAsync(to.address, to_pitch, from.address, from_pitch, width, height,
                                 (enum cudaMemcpyKind)direction, s.handle),
               "%s", "");
    } else {
        call("cudaMemcpy2D(%s, %zu, %s, %zu, %zu, %zu, %d)", to.name, to_pitch, from.name,
             from_pitch, width, height, direction);
        answer(cudaMemcpy2D(to.address, to_pitch, from.address, from_pitch, width, height,
                            (enum cudaMemcpyKind)direction),
               "%s", "");
    }
    wrote(&to, &from, captured, false);
    settle(async ? s : null_stream);
}

struct cudaMemcpy3DParms any_box(const place *to, const place *from) {
    struct cudaMemcpy3DParms p;
    memset(&p, 0, sizeof p);
    p.extent = (struct cudaExtent){(size_t)ONE_OF(0, 1, 16, 64), (size_t)ONE_OF(0, 1, 2),
                                   (size_t)ONE_OF(0, 1, 1, 2)};
    p.kind = (enum cudaMemcpyKind)any_direction();
    p.dstPtr = (struct cudaPitchedPtr){to->address, (size_t)ONE_OF(0, 64, 100), 64,
                                       (size_t)ONE_OF(0, 2, 4)};
    p.srcPtr = (struct cudaPitchedPtr){from->address, (size_t)ONE_OF(0, 64, 100), 64,
                                       (size_t)ONE_OF(0, 2, 4)};
    return p;
}

static void copy_box(void) {
    place to = any_target(), from = any_place();
    object *array = one_in(3) ? any(ARRAY) : NULL;
    const bool into = one_in(2);
    struct cudaMemcpy3DParms p;
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    if (!is_safe(&to, 4096) || !is_safe(&from, 4096) || overlap(&to, &from, 4096))
        return;
    p = any_box(&to, &from);
    if (array && into) {
        p.dstPtr = (struct cudaPitchedPtr){0};
        p.dstArray = array->handle;
    } else if (array) {
        p.srcPtr = (struct cudaPitchedPtr){0};
        p.srcArray = array->handle;
    }
    call("cudaMemcpy3D%s(%s p%zu y%zu, %s p%zu y%zu, {%zu, %zu, %zu}, %d, %s)",
         async ? "Async" : "", p.dstArray ? name(array) : to.name, p.dstPtr.pitch, p.dstPtr.ysize,
         p.srcArray ? name(array) : from.name, p.srcPtr.pitch, p.srcPtr.ysize, p.extent.width,
         p.extent.height, p.extent.depth, (int)p.kind, async ? s.name : "");
    answer(async ? cudaMemcpy3DAsync(&p, s.handle) : cudaMemcpy3D(&p), "%s", "");
    if (array && captured)
        array->is_used = true;
    if (array && !into && to.object)
        to.object->is_undefined = true;
    wrote(&to, &from, captured, false);
    settle(async ? s : null_stream);
}

static void copy_array(void) {
    object *array = any(ARRAY);
    place p = any_place();
    const size_t x = (size_t)ONE_OF(0, 0, 4, 1000), y = (size_t)ONE_OF(0, 0, 1, 100),
                 pitch = (size_t)ONE_OF(1, 64, 64),
                 /* 0 crashes CUDA */ width = (size_t)ONE_OF(0, 4, 16, 64),
                 height = (size_t)ONE_OF(0, 1, 1, 2);
    const int direction = any_direction();
    if (!is_safe(&p, 4096))
        return;
    if (one_in(2)) {
        call("cudaMemcpy2DToArray(%s, %zu, %zu, %s, %zu, %zu, %zu, %d)", name(array), x, y, p.name,
             pitch, width, height, direction);
        answer(cudaMemcpy2DToArray(array->handle, x, y, p.address, pitch, width, height,
                                   (enum cudaMemcpyKind)direction),
               "%s", "");
    } else {
        call("cudaMemcpy2DFromArray(%s, %zu, %s, %zu, %zu, %zu, %zu, %d)", p.name, pitch,
             name(array), x, y, width, height, direction);
        answer(cudaMemcpy2DFromArray(p.address, pitch, array->handle, x, y, width, height,
                                     (enum cudaMemcpyKind)direction),
               "%s", "");
        if (p.object)
            p.object->is_undefined = true;
    }
    settle(null_stream);
}

static void copy_peer(void) {
    place to = any_target(), from = any_place();
    const size_t size = any_size(smaller(to.room, from.room));
    const int device = any_device(), other = any_device();
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    if (!is_safe(&to, size) || !is_safe(&from, size) || overlap(&to, &from, size))
        return;
    if (async) {
        call("cudaMemcpyPeerAsync(%s, %d, %s, %d, %zu, %s)", to.name, device, from.name, other,
             size, s.name);
        answer(cudaMemcpyPeerAsync(to.address, device, from.address, other, size, s.handle), "%s",
               "");
    } else {
        call("cudaMemcpyPeer(%s, %d, %s, %d, %zu)", to.name, device, from.name, other, size);
        answer(cudaMemcpyPeer(to.address, device, from.address, other, size), "%s", "");
    }
    wrote(&to, &from, captured, false);
    settle(async ? s : null_stream);
}

static void copy_batch(void) {
    place to = any_target(), from = any_place();
    const size_t size = any_size(smaller(to.room, from.room)), count = (size_t)ONE_OF(0, 1, 1, 1);
    struct cudaMemcpyAttributes attributes;
    size_t indices[1] = {(size_t)ONE_OF(0, 0, 0, 1)}, attribute_count = (size_t)ONE_OF(0, 1, 1, 1);
    void *const tos[1] = {to.address};
    const void *const froms[1] = {from.address};
    const chosen_stream s = any_stream();
    const bool captured = is_capturing(s);
    if (!is_safe(&to, size) || !is_safe(&from, size) || overlap(&to, &from, size))
        return;
    memset(&attributes, 0, sizeof attributes);
    attributes.srcAccessOrder = (enum cudaMemcpySrcAccessOrder)ONE_OF(1, 1, 2, 3, 0);
    call("cudaMemcpyBatchAsync(%s, %s, %zu, %zu, {%d}, %zu, %zu, %s)", to.name, from.name, size,
         count, (int)attributes.srcAccessOrder, indices[0], attribute_count, s.name);
    answer(cudaMemcpyBatchAsync(tos, froms, &size, count, &attributes, indices, attribute_count,
                                s.handle),
           "%s", "");
    wrote(&to, &from, captured, false);
    settle(s);
}

static void driver_copy(void) {
    place to = any_target(), from = any_place();
    const size_t size = any_size(smaller(to.room, from.room));
    const chosen_stream s = any_stream();
    const CUdeviceptr to_address = (CUdeviceptr)(uintptr_t)to.address,
                      from_address = (CUdeviceptr)(uintptr_t)from.address;
    const bool async = one_in(2), captured = async && is_capturing(s);
    if (!is_safe(&to, size) || !is_safe(&from, size) || overlap(&to, &from, size))
        return;
    if (async) {
        call("cuMemcpyAsync(%s, %s, %zu, %s)", to.name, from.name, size, s.name);
        answer(cuMemcpyAsync(to_address, from_address, size, s.handle), "%s", "");
    } else {
        call("cuMemcpy(%s, %s, %zu)", to.name, from.name, size);
        answer(cuMemcpy(to_address, from_address, size), "%s", "");
    }
    wrote(&to, &from, captured, false);
    settle(async ? s : null_stream);
}

/* A sum of the bytes, once everything that could write to them is done and known. */
static void compare(void) {
    static unsigned char bytes[4 << 20];
    const object *o = any(MEMORY);
    unsigned sum = 2166136261;
    if (!o->handle || o->is_undefined || any_capture())
        return;
    call("bytes of %s", name(o));
    const cudaError_t result = cudaMemcpy(bytes, o->handle, o->size, cudaMemcpyDefault);
    for (size_t i = 0; i < o->size && !result; i++)
        sum = (sum ^ bytes[i]) * 16777619;
    answer(result, "%08x", sum);
}

const operation copy_operations[] = {
    OPERATION(fill, 14, false),       OPERATION(fill_rows, 4, false),
    OPERATION(driver_fill, 4, false), OPERATION(copy, 16, false),
    OPERATION(copy_rows, 6, false),   OPERATION(copy_box, 5, false),
    OPERATION(copy_array, 4, false),  OPERATION(copy_peer, 3, false),
    OPERATION(copy_batch, 3, false),  OPERATION(driver_copy, 4, false),
    OPERATION(compare, 12, false),    OPERATION(NULL, 0, false),
};
