/* Copies and fills of arrays and boxes. */
#include "fuzz.h"

/* Where a copy begins in an array, and what it copies. */
typedef struct window {
    size_t x, y, pitch, width, height;
} window;

static window any_window(void) {
    return (window){(size_t)ONE_OF(0, 0, 0, 4, 1000), (size_t)ONE_OF(0, 0, 0, 1, 100),
                    (size_t)ONE_OF(1, 64, 64), /* 0 crashes CUDA */
                    (size_t)ONE_OF(0, 4, 4, 16, 64), (size_t)ONE_OF(0, 1, 1, 2)};
}

static void array_async(void) {
    object *array = any(ARRAY);
    place p = any_place();
    const window w = any_window();
    const enum cudaMemcpyKind direction = (enum cudaMemcpyKind)any_direction();
    const chosen_stream s = any_stream();
    const bool captured = is_capturing(s), into = one_in(2);
    if (!is_safe(&p, 4096) || (!into && !may_write(&p)))
        return;
    if (into) {
        call("cudaMemcpy2DToArrayAsync(%s, %zu, %zu, %s, %zu, %zu, %zu, %d, %s)", name(array), w.x,
             w.y, p.name, w.pitch, w.width, w.height, (int)direction, s.name);
        answer(cudaMemcpy2DToArrayAsync(array->handle, w.x, w.y, p.address, w.pitch, w.width,
                                        w.height, direction, s.handle),
               "%s", "");
    } else {
        call("cudaMemcpy2DFromArrayAsync(%s, %zu, %s, %zu, %zu, %zu, %zu, %d, %s)", p.name, w.pitch,
             name(array), w.x, w.y, w.width, w.height, (int)direction, s.name);
        answer(cudaMemcpy2DFromArrayAsync(p.address, w.pitch, array->handle, w.x, w.y, w.width,
                                          w.height, direction, s.handle),
               "%s", "");
    }
    copied_array(array, &p, into, captured);
    settle(s);
}

/* The deprecated functions, which count bytes from a place in an array on. */
static void array_bytes(void) {
    object *array = any(ARRAY);
    place p = any_place();
    const window w = any_window();
    const size_t size = (size_t)ONE_OF(0, 1, 4, 16, 64);
    const enum cudaMemcpyKind direction = (enum cudaMemcpyKind)any_direction();
    const bool into = one_in(2);
    if (!is_safe(&p, 4096) || (!into && !may_write(&p)))
        return;
    if (into) {
        call("cudaMemcpyToArray(%s, %zu, %zu, %s, %zu, %d)", name(array), w.x, w.y, p.name, size,
             (int)direction);
        answer(cudaMemcpyToArray(array->handle, w.x, w.y, p.address, size, direction), "%s", "");
    } else {
        call("cudaMemcpyFromArray(%s, %s, %zu, %zu, %zu, %d)", p.name, name(array), w.x, w.y, size,
             (int)direction);
        answer(cudaMemcpyFromArray(p.address, array->handle, w.x, w.y, size, direction), "%s", "");
    }
    copied_array(array, &p, into, false);
    settle(null_stream);
}

static void array_bytes_async(void) {
    object *array = any(ARRAY);
    place p = any_place();
    const window w = any_window();
    const size_t size = (size_t)ONE_OF(0, 1, 4, 16, 64);
    const enum cudaMemcpyKind direction = (enum cudaMemcpyKind)any_direction();
    const chosen_stream s = any_stream();
    const bool captured = is_capturing(s), into = one_in(2);
    if (!is_safe(&p, 4096) || (!into && !may_write(&p)))
        return;
    if (into) {
        call("cudaMemcpyToArrayAsync(%s, %zu, %zu, %s, %zu, %d, %s)", name(array), w.x, w.y, p.name,
             size, (int)direction, s.name);
        answer(
            cudaMemcpyToArrayAsync(array->handle, w.x, w.y, p.address, size, direction, s.handle),
            "%s", "");
    } else {
        call("cudaMemcpyFromArrayAsync(%s, %s, %zu, %zu, %zu, %d, %s)", p.name, name(array), w.x,
             w.y, size, (int)direction, s.name);
        answer(
            cudaMemcpyFromArrayAsync(p.address, array->handle, w.x, w.y, size, direction, s.handle),
            "%s", "");
    }
    copied_array(array, &p, into, captured);
    settle(s);
}

static void array_to_array(void) {
    const object *to = any(ARRAY), *from = any(ARRAY);
    for (int i = 0; i < 6 && from == to; i++)
        from = any(ARRAY);
    const window w = any_window(), v = any_window();
    const enum cudaMemcpyKind direction = (enum cudaMemcpyKind)any_direction();
    if (!to->handle || !from->handle || to == from)
        return;
    if (one_in(2)) {
        call("cudaMemcpy2DArrayToArray(%s, %zu, %zu, %s, %zu, %zu, %zu, %zu, %d)", name(to), w.x,
             w.y, name(from), v.x, v.y, w.width, w.height, (int)direction);
        answer(cudaMemcpy2DArrayToArray(to->handle, w.x, w.y, from->handle, v.x, v.y, w.width,
                                        w.height, direction),
               "%s", "");
    } else {
        call("cudaMemcpyArrayToArray(%s, %zu, %zu, %s, %zu, %zu, %zu, %d)", name(to), w.x, w.y,
             name(from), v.x, v.y, w.width, (int)direction);
        answer(cudaMemcpyArrayToArray(to->handle, w.x, w.y, from->handle, v.x, v.y, w.width,
                                      direction),
               "%s", "");
    }
    settle(null_stream);
}

/* ---- boxes ---- */

static void fill_box(void) {
    place to = any_target();
    const struct cudaPitchedPtr p = {to.address, (size_t)ONE_OF(0, 64, 64, 100), 64,
                                     (size_t)ONE_OF(0, 2, 4)};
    const struct cudaExtent extent = {(size_t)ONE_OF(0, 1, 16, 64, 65), (size_t)ONE_OF(0, 1, 2),
                                      (size_t)ONE_OF(0, 1, 1, 2)};
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    if (!is_safe(&to, 1024) || !may_write(&to))
        return;
    call("cudaMemset3D%s(%s p%zu y%zu, 9, {%zu, %zu, %zu}, %s)", async ? "Async" : "", to.name,
         p.pitch, p.ysize, extent.width, extent.height, extent.depth, async ? s.name : "");
    answer(async ? cudaMemset3DAsync(p, 9, extent, s.handle) : cudaMemset3D(p, 9, extent), "%s",
           "");
    wrote(&to, NULL, captured, false);
    settle(async ? s : null_stream);
}

static void copy_box_peer(void) {
    place to = any_target(), from = any_place();
    const chosen_stream s = any_stream();
    const bool async = one_in(2), captured = async && is_capturing(s);
    struct cudaMemcpy3DPeerParms p;
    if (!is_safe(&to, 4096) || !is_safe(&from, 4096) || overlap(&to, &from, 4096) ||
        !may_write(&to))
        return;
    const struct cudaMemcpy3DParms box = any_box(&to, &from);
    memset(&p, 0, sizeof p);
    p.srcPtr = box.srcPtr;
    p.dstPtr = box.dstPtr;
    p.extent = box.extent;
    p.dstDevice = any_device();
    p.srcDevice = any_device();
    call("cudaMemcpy3DPeer%s(%s p%zu y%zu, %d, %s p%zu y%zu, %d, {%zu, %zu, %zu}, %s)",
         async ? "Async" : "", to.name, p.dstPtr.pitch, p.dstPtr.ysize, p.dstDevice, from.name,
         p.srcPtr.pitch, p.srcPtr.ysize, p.srcDevice, p.extent.width, p.extent.height,
         p.extent.depth, async ? s.name : "");
    answer(async ? cudaMemcpy3DPeerAsync(&p, s.handle) : cudaMemcpy3DPeer(&p), "%s", "");
    wrote(&to, &from, captured, false);
    settle(async ? s : null_stream);
}

static struct cudaMemcpy3DOperand operand_of(const place *p) {
    struct cudaMemcpy3DOperand made;
    memset(&made, 0, sizeof made);
    made.type = (enum cudaMemcpy3DOperandType)ONE_OF(1, 1, 1, 1, 1, 1, 1, 0, 7);
    made.op.ptr.ptr = p->address;
    made.op.ptr.rowLength = (size_t)ONE_OF(0, 64, 64, 100, 100, 8);
    made.op.ptr.layerHeight = (size_t)ONE_OF(0, 2, 4, 1);
    made.op.ptr.locHint.type = (enum cudaMemLocationType)ONE_OF(0, 0, 1, 1, 2);
    return made;
}

static void copy_boxes(void) {
    place to = any_target(), from = any_place();
    const object *array = one_in(3) ? any(ARRAY) : NULL;
    struct cudaMemcpy3DBatchOp op;
    const size_t count = (size_t)ONE_OF(0, 1, 1, 1, 1);
    const unsigned long long flags = (unsigned long long)ONE_OF(0, 0, 0, 1);
    const chosen_stream s = any_stream();
    if (!is_safe(&to, 16384) || !is_safe(&from, 16384) || overlap(&to, &from, 16384) ||
        !may_write(&to) || is_capturing(s))
        return;
    memset(&op, 0, sizeof op);
    op.dst = operand_of(&to);
    op.src = operand_of(&from);
    if (array && array->handle) {
        op.dst.type = cudaMemcpyOperandTypeArray;
        op.dst.op.array.array = array->handle;
        op.dst.op.array.offset = (struct cudaOffset3D){(size_t)ONE_OF(0, 4, 1000), 0, 0};
    }
    op.extent = (struct cudaExtent){(size_t)ONE_OF(0, 1, 16, 64), (size_t)ONE_OF(0, 1, 2),
                                    (size_t)ONE_OF(0, 1, 1, 2)};
    op.srcAccessOrder = (enum cudaMemcpySrcAccessOrder)ONE_OF(1, 1, 2, 3, 0);
    op.flags = (unsigned)ONE_OF(0, 0, 0, 1, 7);
    call("cudaMemcpy3DBatchAsync(%zu, {%d %s, %d %s, {%zu, %zu, %zu}, %d, %u}, %llu, %s)", count,
         (int)op.dst.type, array && array->handle ? name(array) : to.name, (int)op.src.type,
         from.name, op.extent.width, op.extent.height, op.extent.depth, (int)op.srcAccessOrder,
         op.flags, flags, s.name);
    answer(cudaMemcpy3DBatchAsync(count, &op, flags, s.handle), "%s", "");
    wrote(&to, &from, false, false);
    settle(s);
}

const operation array_operations[] = {
    OPERATION(array_async, 4, false),       OPERATION(array_bytes, 3, false),
    OPERATION(array_bytes_async, 2, false), OPERATION(array_to_array, 3, false),
    OPERATION(fill_box, 4, false),          OPERATION(copy_box_peer, 3, false),
    OPERATION(copy_boxes, 3, false),        OPERATION(NULL, 0, false),
};
