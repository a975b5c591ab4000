/* Memory, copies and fills by the driver. */
#include "fuzz.h"

static CUdeviceptr device_address(const void *address) {
    return (CUdeviceptr)(uintptr_t)address;
}

/* ---- memory ---- */

static CUresult allocate_device(CUdeviceptr *made, size_t size, memory_kind *memory) {
    const unsigned flags = (unsigned)ONE_OF(1, 1, 2, 0, 4);
    size_t pitch = 7;
    switch (below(4)) {
    case 0:
        call("cuMemAllocManaged(%zu, %u)", size, flags);
        *memory = MANAGED;
        return cuMemAllocManaged(made, size, flags);
    case 1: {
        const unsigned element = (unsigned)ONE_OF(4, 4, 8, 16, 0, 3);
        call("cuMemAllocPitch(%zu, 2, %u)", size, element);
        return cuMemAllocPitch(made, &pitch, size, 2, element);
    }
    default:
        call("cuMemAlloc(%zu)", size);
        return cuMemAlloc(made, size);
    }
}

static CUresult allocate_host(void **made, size_t size, memory_kind *memory) {
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 2, 4, 7, 8, 16);
    *memory = PINNED;
    if (one_in(2)) {
        call("cuMemHostAlloc(%zu, %u)", size, flags);
        return cuMemHostAlloc(made, size, flags);
    }
    call("cuMemAllocHost(%zu)", size);
    return cuMemAllocHost(made, size);
}

static void driver_allocate(void) {
    object *o = empty(MEMORY);
    const size_t size = (size_t)ONE_OF(0, 1, 100, 4096, 4096, 65536, 1 << 20);
    void *made = UNWRITTEN;
    CUdeviceptr address = device_address(UNWRITTEN);
    memory_kind memory = DEVICE;
    CUresult result;
    if (!o)
        return;
    if (one_in(2)) {
        result = allocate_host(&made, size, &memory);
    } else {
        result = allocate_device(&address, size, &memory);
        made = (void *)(uintptr_t)address;
    }
    if (!result && made && made != UNWRITTEN) {
        o->handle = made;
        o->size = size;
        o->memory = memory;
        o->is_undefined = true;
    }
    answer(result, "%s", o->handle ? name(o) : handle_state(made));
}

static void driver_release(void) {
    object *o = unused(MEMORY);
    CUresult result;
    if (!o || !o->handle || o->memory == REGISTERED)
        return;
    void *handle = o->handle;
    if ((o->memory == PINNED) != one_in(8)) {
        call("cuMemFreeHost(%s)", name(o));
        result = cuMemFreeHost(handle);
    } else {
        call("cuMemFree(%s)", name(o));
        result = cuMemFree(device_address(handle));
    }
    if (!result)
        o->handle = NULL;
    answer(result, "%s", "");
}

/* ---- copies of bytes ---- */

static void driver_copy_to(void) {
    place to = any_target(), from = any_place();
    const size_t size = any_size(smaller(to.room, from.room));
    if (!is_safe(&to, size) || !is_safe(&from, size) || overlap(&to, &from, size) ||
        !may_write(&to))
        return;
    switch (below(3)) {
    case 0:
        call("cuMemcpyHtoD(%s, %s, %zu)", to.name, from.name, size);
        answer(cuMemcpyHtoD(device_address(to.address), from.address, size), "%s", "");
        break;
    case 1:
        call("cuMemcpyDtoH(%s, %s, %zu)", to.name, from.name, size);
        answer(cuMemcpyDtoH(to.address, device_address(from.address), size), "%s", "");
        break;
    default:
        call("cuMemcpyDtoD(%s, %s, %zu)", to.name, from.name, size);
        answer(cuMemcpyDtoD(device_address(to.address), device_address(from.address), size), "%s",
               "");
    }
    wrote(&to, &from, false, false);
    settle(null_stream);
}

static void driver_copy_to_async(void) {
    place to = any_target(), from = any_place();
    const size_t size = any_size(smaller(to.room, from.room));
    const chosen_stream s = any_stream();
    const bool captured = is_capturing(s);
    if (!is_safe(&to, size) || !is_safe(&from, size) || overlap(&to, &from, size) ||
        !may_write(&to))
        return;
    switch (below(3)) {
    case 0:
        call("cuMemcpyHtoDAsync(%s, %s, %zu, %s)", to.name, from.name, size, s.name);
        answer(cuMemcpyHtoDAsync(device_address(to.address), from.address, size, s.handle), "%s",
               "");
        break;
    case 1:
        call("cuMemcpyDtoHAsync(%s, %s, %zu, %s)", to.name, from.name, size, s.name);
        answer(cuMemcpyDtoHAsync(to.address, device_address(from.address), size, s.handle), "%s",
               "");
        break;
    default:
        call("cuMemcpyDtoDAsync(%s, %s, %zu, %s)", to.name, from.name, size, s.name);
        answer(cuMemcpyDtoDAsync(device_address(to.address), device_address(from.address), size,
                                 s.handle),
               "%s", "");
    }
    wrote(&to, &from, captured, false);
    settle(s);
}

static void driver_array_bytes(void) {
    object *array = any(ARRAY);
    place p = any_place();
    const size_t offset = (size_t)ONE_OF(0, 0, 0, 4, 1000), size = (size_t)ONE_OF(0, 1, 4, 16, 64);
    const bool into = one_in(2), by_host = one_in(2);
    CUresult result;
    if (!array->handle || !is_safe(&p, size) || (!into && !may_write(&p)))
        return;
    call("cuMemcpy%s(%s, %s, %zu, %zu)",
         into ? (by_host ? "HtoA" : "DtoA") : (by_host ? "AtoH" : "AtoD"), name(array), p.name,
         offset, size);
    if (into)
        result = by_host ? cuMemcpyHtoA(array->handle, offset, p.address, size)
                         : cuMemcpyDtoA(array->handle, offset, device_address(p.address), size);
    else
        result = by_host ? cuMemcpyAtoH(p.address, array->handle, offset, size)
                         : cuMemcpyAtoD(device_address(p.address), array->handle, offset, size);
    answer(result, "%s", "");
    copied_array(array, &p, into, false);
    settle(null_stream);
}

static void driver_array_to_array(void) {
    const object *to = any(ARRAY), *from = any(ARRAY);
    const size_t offset = (size_t)ONE_OF(0, 0, 4), size = (size_t)ONE_OF(0, 1, 4, 16, 64);
    if (!to->handle || !from->handle || to == from)
        return;
    call("cuMemcpyAtoA(%s, %zu, %s, 0, %zu)", name(to), offset, name(from), size);
    answer(cuMemcpyAtoA(to->handle, offset, from->handle, 0, size), "%s", "");
    settle(null_stream);
}

/* ---- copies of rows and boxes ---- */

/* Mostly what the memory is. */
static CUmemorytype type_of(const place *p) {
    const bool on_host = p->object && p->object->memory != DEVICE && p->object->memory != ASYNC &&
                         p->object->memory != MANAGED;
    if (one_in(3))
        return (CUmemorytype)ONE_OF(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, 0, 9);
    if (one_in(3))
        return CU_MEMORYTYPE_UNIFIED;
    return on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static CUDA_MEMCPY3D any_driver_box(const place *to, const place *from) {
    CUDA_MEMCPY3D p;
    memset(&p, 0, sizeof p);
    p.srcMemoryType = type_of(from);
    p.srcHost = from->address;
    p.srcDevice = device_address(from->address);
    p.srcPitch = (size_t)ONE_OF(0, 64, 64, 100);
    p.srcHeight = (size_t)ONE_OF(0, 2, 4);
    p.dstMemoryType = type_of(to);
    p.dstHost = to->address;
    p.dstDevice = device_address(to->address);
    p.dstPitch = (size_t)ONE_OF(0, 64, 64, 100);
    p.dstHeight = (size_t)ONE_OF(0, 2, 4);
    p.dstXInBytes = (size_t)ONE_OF(0, 0, 0, 4, 16);
    p.srcY = (size_t)ONE_OF(0, 0, 0, 1);
    p.WidthInBytes = (size_t)ONE_OF(0, 1, 16, 16, 64);
    p.Height = (size_t)ONE_OF(0, 1, 1, 2);
    p.Depth = (size_t)ONE_OF(0, 1, 1, 2);
    return p;
}

/* The source or the destination becomes an array, which needs a pitch of the other. */
static void take_array(CUDA_MEMCPY3D *p, const object *array, bool into) {
    p->srcPitch = p->dstPitch = 100;
    if (into) {
        p->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        p->dstArray = array->handle;
    } else {
        p->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        p->srcArray = array->handle;
    }
}

static CUDA_MEMCPY2D rows_of(const CUDA_MEMCPY3D *p) {
    CUDA_MEMCPY2D made;
    memset(&made, 0, sizeof made);
    made.srcY = p->srcY;
    made.srcMemoryType = p->srcMemoryType;
    made.srcHost = p->srcHost;
    made.srcDevice = p->srcDevice;
    made.srcArray = p->srcArray;
    made.srcPitch = p->srcPitch;
    made.dstXInBytes = p->dstXInBytes;
    made.dstMemoryType = p->dstMemoryType;
    made.dstHost = p->dstHost;
    made.dstDevice = p->dstDevice;
    made.dstArray = p->dstArray;
    made.dstPitch = p->dstPitch;
    made.WidthInBytes = p->WidthInBytes;
    made.Height = p->Height;
    return made;
}

static void driver_copy_box(void) {
    static const char *const names[] = {"cuMemcpy2D", "cuMemcpy2DAsync", "cuMemcpy2DUnaligned",
                                        "cuMemcpy3D", "cuMemcpy3DAsync"};
    place to = any_target(), from = any_place();
    object *array = one_in(4) ? any(ARRAY) : NULL;
    const unsigned chosen = below(5);
    const chosen_stream s = chosen == 1 || chosen == 4 ? any_stream() : null_stream;
    const bool captured = is_capturing(s), into = one_in(2);
    CUresult result;
    if (!is_safe(&to, 4096) || !is_safe(&from, 4096) || overlap(&to, &from, 4096) ||
        !may_write(&to))
        return;
    CUDA_MEMCPY3D p = any_driver_box(&to, &from);
    if (array && array->handle)
        take_array(&p, array, into);
    const CUDA_MEMCPY2D rows = rows_of(&p);
    call("%s(%d %s p%zu y%zu, %d %s p%zu y%zu, +%zu +%zu, {%zu, %zu, %zu}, %s)", names[chosen],
         (int)p.dstMemoryType, p.dstArray ? name(array) : to.name, p.dstPitch, p.dstHeight,
         (int)p.srcMemoryType, p.srcArray ? name(array) : from.name, p.srcPitch, p.srcHeight,
         p.dstXInBytes, p.srcY, p.WidthInBytes, p.Height, p.Depth, s.name);
    if (chosen < 3)
        result = chosen == 0   ? cuMemcpy2D(&rows)
                 : chosen == 1 ? cuMemcpy2DAsync(&rows, s.handle)
                               : cuMemcpy2DUnaligned(&rows);
    else
        result = chosen == 3 ? cuMemcpy3D(&p) : cuMemcpy3DAsync(&p, s.handle);
    answer(result, "%s", "");
    if (array)
        copied_array(array, &to, into, captured);
    wrote(&to, &from, captured, false);
    settle(s);
}

/* ---- fills ---- */

static void driver_fill_now(void) {
    place to = any_target();
    const size_t count = any_size(to.room / 4);
    const CUdeviceptr address = device_address(to.address);
    if (!is_safe(&to, 600) || !may_write(&to))
        return;
    switch (below(4)) {
    case 0:
        call("cuMemsetD8(%s, 3, %zu)", to.name, count);
        answer(cuMemsetD8(address, 3, count), "%s", "");
        break;
    case 1:
        call("cuMemsetD16(%s, 515, %zu)", to.name, count);
        answer(cuMemsetD16(address, 515, count), "%s", "");
        break;
    case 2:
        call("cuMemsetD32(%s, 77777, %zu)", to.name, count);
        answer(cuMemsetD32(address, 77777, count), "%s", "");
        break;
    default: {
        const size_t pitch = (size_t)ONE_OF(0, 16, 64, 63);
        call("cuMemsetD2D8(%s, %zu, 7, 8, 2)", to.name, pitch);
        answer(cuMemsetD2D8(address, pitch, 7, 8, 2), "%s", "");
    }
    }
    wrote(&to, NULL, false, false);
    settle(null_stream);
}

const operation driver_memory_operations[] = {
    OPERATION(driver_allocate, 5, true),
    OPERATION(driver_release, 3, false),
    OPERATION(driver_copy_to, 5, false),
    OPERATION(driver_copy_to_async, 4, false),
    OPERATION(driver_array_bytes, 3, false),
    OPERATION(driver_array_to_array, 1, false),
    OPERATION(driver_copy_box, 5, false),
    OPERATION(driver_fill_now, 3, false),
    OPERATION(NULL, 0, false),
};
