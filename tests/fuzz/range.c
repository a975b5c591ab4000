/* Ranges of memory, and the pools of places. */
#include "fuzz.h"

static void allocate_box(void) {
    object *o = empty(MEMORY);
    const struct cudaExtent extent = {(size_t)ONE_OF(0, 1, 100, 512), (size_t)ONE_OF(0, 1, 8),
                                      (size_t)ONE_OF(0, 1, 3)};
    struct cudaPitchedPtr made = {UNWRITTEN, 7, 7, 7};
    if (!o)
        return;
    call("cudaMalloc3D({%zu, %zu, %zu})", extent.width, extent.height, extent.depth);
    const cudaError_t result = cudaMalloc3D(&made, extent);
    if (!result && made.ptr && made.ptr != UNWRITTEN) {
        o->handle = made.ptr;
        o->size = made.pitch * extent.height * extent.depth;
        o->is_undefined = true;
    }
    answer(result, "%zu %zu %zu %s", made.pitch, made.xsize, made.ysize,
           o->handle ? name(o) : handle_state(made.ptr));
}

static void range_attributes(void) {
    const place p = any_place();
    const size_t size = any_size(p.room), count = (size_t)ONE_OF(0, 1, 2, 2);
    int values[2][2] = {{-77, -77}, {-77, -77}};
    void *data[2] = {values[0], values[1]};
    size_t sizes[2] = {(size_t)ONE_OF(4, 4, 4, 8, 0), 4};
    enum cudaMemRangeAttribute attributes[2] = {
        (enum cudaMemRangeAttribute)ONE_OF(0, 1, 2, 3, 4, 5, 9),
        (enum cudaMemRangeAttribute)ONE_OF(1, 2, 3, 4)};
    call("cudaMemRangeGetAttributes({%zu}, {%d, %d}, %zu, %s, %zu)", sizes[0], (int)attributes[0],
         (int)attributes[1], count, p.name, size);
    const cudaError_t result =
        cudaMemRangeGetAttributes(data, sizes, attributes, count, p.address, size);
    answer(result, "%d %d", values[0][0], values[1][0]);
}

static void pool_of_place(void) {
    const object *pool = any(POOL);
    cudaMemPool_t got = UNWRITTEN;
    struct cudaMemLocation location = {.type = (enum cudaMemLocationType)ONE_OF(1, 1, 1, 0, 2, 9),
                                       .id = any_device()};
    const enum cudaMemAllocationType type = (enum cudaMemAllocationType)ONE_OF(1, 1, 1, 2, 0, 9);
    cudaError_t result;
    switch (below(3)) {
    case 0:
        call("cudaMemGetDefaultMemPool({%d, %d}, %d)", (int)location.type, location.id, (int)type);
        result = cudaMemGetDefaultMemPool(&got, &location, type);
        answer(result, "%s", handle_state(got));
        break;
    case 1:
        call("cudaMemGetMemPool({%d, %d}, %d)", (int)location.type, location.id, (int)type);
        result = cudaMemGetMemPool(&got, &location, type);
        answer(result, "%s", handle_state(got));
        break;
    default:
        call("cudaMemSetMemPool({%d, %d}, %d, %s)", (int)location.type, location.id, (int)type,
             name(pool));
        answer(cudaMemSetMemPool(&location, type, pool->handle), "%s", "");
    }
}

/* After a discard the memory holds what nobody compares. */
static void discard(void) {
    place p = any_place();
    size_t size = any_size(p.room), indices[1] = {0};
    const size_t count = (size_t)ONE_OF(0, 1, 1, 1), locations = (size_t)ONE_OF(0, 1, 1, 1);
    struct cudaMemLocation location = {.type = (enum cudaMemLocationType)ONE_OF(1, 1, 1, 0, 2, 9),
                                       .id = any_device()};
    const unsigned long long flags = one_in(6);
    void *addresses[1] = {p.address};
    const chosen_stream s = any_stream();
    const unsigned chosen = below(3);
    const bool captured = is_capturing(s);
    if (size > p.room || !may_write(&p))
        return;
    if (chosen == 0) {
        call("cudaMemDiscardBatchAsync(%s, %zu, %zu, %llu, %s)", p.name, size, count, flags,
             s.name);
        answer(cudaMemDiscardBatchAsync(addresses, &size, count, flags, s.handle), "%s", "");
    } else if (chosen == 1) {
        call("cudaMemPrefetchBatchAsync(%s, %zu, %zu, {%d, %d}, %zu, %llu, %s)", p.name, size,
             count, (int)location.type, location.id, locations, flags, s.name);
        answer(cudaMemPrefetchBatchAsync(addresses, &size, count, &location, indices, locations,
                                         flags, s.handle),
               "%s", "");
    } else {
        call("cudaMemDiscardAndPrefetchBatchAsync(%s, %zu, %zu, {%d, %d}, %zu, %llu, %s)", p.name,
             size, count, (int)location.type, location.id, locations, flags, s.name);
        answer(cudaMemDiscardAndPrefetchBatchAsync(addresses, &size, count, &location, indices,
                                                   locations, flags, s.handle),
               "%s", "");
    }
    if (p.object && chosen != 1)
        p.object->is_undefined = true;
    uses(&p, chosen != 1, captured);
    settle(s);
}

const operation range_operations[] = {
    OPERATION(allocate_box, 3, false),  OPERATION(range_attributes, 3, false),
    OPERATION(pool_of_place, 3, false), OPERATION(discard, 4, false),
    OPERATION(NULL, 0, false),
};
