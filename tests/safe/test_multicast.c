/*
 * Multicast objects: devices, bindings, mappings, and what a write reaches.
 *
 * On a GPU they are run only where ANYCUDA_TESTS_MULTICAST is set: an object takes resources of the
 * fabric that connects the devices, which others use, too.
 */
#include "kernels.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <pthread.h>
#include <unistd.h>

static size_t step;
static unsigned both; /* how many devices there are, at most 2 */

static bool may_run(void) {
    if (!is_simulated() && !getenv("ANYCUDA_TESTS_MULTICAST")) {
        print_message("multicast objects take resources that other programs share; set "
                      "ANYCUDA_TESTS_MULTICAST to run this on a GPU\n");
        return false;
    }
    bool supported = false;
    OK(acu_multicast_is_supported(0, &supported));
    if (!supported)
        print_message("device 0 has no multicast objects, or the driver is older than 12.1\n");
    return supported;
}

/* For the beginning of a test. */
#define NEEDS_MULTICAST()                                                                          \
    do {                                                                                           \
        if (!may_run())                                                                            \
            skip();                                                                                \
        OK(acu_multicast_get_granularity(1, 0, NULL, &step, NULL));                                \
        both = another_device() ? 2 : 1;                                                           \
    } while (0)

/* An object for all devices, so many steps large, to which they are added. */
static acu_multicast *object_of(size_t steps) {
    acu_multicast *made = NULL;
    OK(acu_multicast_create(both, steps * step, NULL, &made));
    for (unsigned device = 0; device < both; device++)
        OK(acu_multicast_add_device(made, (acu_device)device));
    return made;
}

static acu_physical *memory_on(acu_device device, size_t steps) {
    acu_physical *made = NULL;
    OK(acu_physical_create(device, steps * step, NULL, &made));
    return made;
}

/* Binds new memory of each device to all of the object, which keeps it; returns a range for each
 * device, through which its memory is seen. */
static void bind_all(acu_multicast *object, size_t steps, acu_virtual *seen[2]) {
    for (unsigned i = 0; i < both; i++) {
        acu_physical *memory = memory_on((acu_device)i, steps);
        OK(acu_multicast_bind(object, 0, memory, 0, steps * step));
        OK(acu_virtual_reserve((acu_device)i, steps * step, NULL, &seen[i]));
        OK(acu_virtual_map(seen[i], 0, memory));
        OK(acu_physical_release(memory));
    }
}

static int byte_at(acu_virtual *range, size_t at) {
    unsigned char byte = 0;
    assert_int_equal(cudaDeviceSynchronize(), 0);
    assert_int_equal(cudaSetDevice(acu_virtual_device(range)), 0);
    assert_int_equal(
        cudaMemcpy(&byte, (char *)acu_virtual_raw(range) + at, 1, cudaMemcpyDeviceToHost), 0);
    assert_int_equal(cudaSetDevice(0), 0);
    return byte;
}

static void release_seen(acu_virtual *seen[2]) {
    for (unsigned i = 0; i < both; i++)
        OK(acu_virtual_release(seen[i]));
}

static acu_virtual *range_of(acu_device device, size_t steps) {
    acu_virtual *range = NULL;
    OK(acu_virtual_reserve(device, steps * step, NULL, &range));
    return range;
}

/* ---- what there is ---- */

static void an_old_driver_says_what_it_lacks(void **state) {
    (void)state;
    bool supported = true;
    acu_multicast *object = NULL;
    OK(acu_multicast_is_supported(0, &supported));
    if (driver_version() >= 12010) {
        print_message("the driver is not older than 12.1\n");
        skip();
    }
    assert_false(supported);
    FAILS(acu_multicast_create(2, 2 << 20, NULL, &object), 801, "needs CUDA 12.1");
    assert_null(object);
}

static void life(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    char line[200];
    size_t count = 2, best = 0;
    acu_device devices[2] = {-1, -1};
    acu_multicast *object = object_of(3);
    assert_true(acu_multicast_raw(object) != 0);
    assert_int_equal(acu_multicast_bytes(object), 3 * step);
    assert_int_equal(acu_multicast_devices(object), both);
    OK(acu_multicast_get_granularity(both, 3 * step, NULL, NULL, &best));
    assert_true(best >= step && best % step == 0);
    OK(acu_multicast_get_devices(object, devices, &count));
    assert_true(count == both && devices[0] == 0);
    assert_true(acu_multicast_describe(object, line, sizeof line) < sizeof line);
    assert_non_null(strstr(line, both == 2 ? "for 2 devices" : "for 1 devices"));
    assert_ptr_equal(acu_multicast_retain(object), object);
    OK(acu_multicast_release(object));
    OK(acu_multicast_release(object));
}

static void wrong_objects(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_multicast *object = NULL;
    FAILS(acu_multicast_create(0, step, NULL, &object), ACU_ERROR_ARGUMENT, "'devices' is 0");
    FAILS(acu_multicast_create(both, step + 1, NULL, &object), ACU_ERROR_RANGE, "multiple of");
    FAILS(acu_multicast_create(both, 0, NULL, &object), ACU_ERROR_RANGE, "multiple of");
    FAILS(acu_multicast_create(both, step, &(acu_multicast_options){.handles = 2}, &object),
          ACU_ERROR_ARGUMENT, "options.handles is 2");
    FAILS(acu_multicast_get_granularity(0, step, NULL, NULL, NULL), ACU_ERROR_ARGUMENT,
          "'devices' is 0");
    FAILS(acu_multicast_is_supported(9, &(bool){false}), 101, "device 9");
    FAILS(acu_multicast_is_supported(ACU_DEVICE_HOST, &(bool){false}), 101, "the host");
    assert_null(object);
}

static void devices_are_added_once(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_multicast *object = NULL;
    OK(acu_multicast_create(1, step, NULL, &object));
    FAILS(acu_multicast_add_device(object, 9), 101, "device 9");
    OK(acu_multicast_add_device(object, ACU_DEVICE_CURRENT));
    FAILS(acu_multicast_add_device(object, 0), ACU_ERROR_STATE, "device 0 was added already");
    if (both == 2)
        FAILS(acu_multicast_add_device(object, 1), ACU_ERROR_STATE, "all were added already");
    OK(acu_multicast_release(object));
}

static void a_device_without(void **state) {
    (void)state;
    ONLY_SIMULATED("a GPU is what it is");
    bool supported = true;
    acu_multicast *object = NULL;
    if (driver_version() < 12010) {
        print_message("the driver is older than 12.1\n");
        skip();
    }
    acu_sim_reset("devices=1,cc=8.0");
    OK(acu_multicast_is_supported(0, &supported));
    assert_false(supported);
    FAILS(acu_multicast_create(1, 2 << 20, NULL, &object), 801, "compute capability 8.0");
}

/* ---- what a write reaches ---- */

static void writes_reach_every_device(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_virtual *seen[2] = {NULL, NULL};
    acu_multicast *object = object_of(2);
    bind_all(object, 2, seen);
    acu_virtual *range = range_of(0, 2);
    OK(acu_virtual_map_multicast(range, 0, object, 0, 2 * step));
    OK(acu_multicast_release(object)); /* the range keeps it */
    assert_int_equal(cudaMemset((char *)acu_virtual_raw(range) + step - 1, 7, 2), 0);
    for (unsigned i = 0; i < both; i++) {
        assert_int_equal(byte_at(seen[i], step - 2), 0);
        assert_int_equal(byte_at(seen[i], step - 1), 7);
        assert_int_equal(byte_at(seen[i], step), 7);
    }
    OK(acu_virtual_release(range));
    release_seen(seen);
}

/* A part of the object, at another place of the range; and two pieces of memory behind it. */
static void parts_are_mapped_and_bound(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    size_t count = 4;
    acu_binding bindings[4];
    acu_mapping mapping;
    acu_multicast *object = object_of(3);
    acu_physical *memory[2] = {NULL, NULL};
    acu_virtual *seen[2] = {NULL, NULL}, *range = range_of(0, 3);
    for (unsigned i = 0; i < both; i++) {
        memory[i] = memory_on((acu_device)i, 3);
        OK(acu_multicast_bind(object, step, memory[i], 2 * step, step));
        OK(acu_multicast_bind(object, 2 * step, memory[i], 0, step));
        seen[i] = range_of((acu_device)i, 3);
        OK(acu_virtual_map(seen[i], 0, memory[i]));
    }
    OK(acu_multicast_get_bindings(object, bindings, &count));
    assert_int_equal(count, 2 * both);
    assert_true(bindings[1].device == 0 && bindings[1].at == 2 * step && bindings[1].bytes == step);
    assert_true(bindings[0].physical == memory[0] && bindings[0].physical_at == 2 * step);
    OK(acu_virtual_map_multicast(range, 0, object, step, 2 * step));
    count = 1;
    OK(acu_virtual_get_mappings(range, &mapping, &count));
    assert_true(count == 1 && mapping.multicast == object && mapping.multicast_at == step &&
                !mapping.physical && mapping.bytes == 2 * step);
    assert_int_equal(cudaMemset(acu_virtual_raw(range), 3, 2 * step), 0);
    for (unsigned i = 0; i < both; i++) {
        assert_int_equal(byte_at(seen[i], 0), 3);
        assert_int_equal(byte_at(seen[i], step), 0);
        assert_int_equal(byte_at(seen[i], 3 * step - 1), 3);
        OK(acu_physical_release(memory[i]));
    }
    OK(acu_virtual_unmap(range, 0, 2 * step));
    OK(acu_virtual_release(range));
    OK(acu_multicast_release(object));
    release_seen(seen);
}

static const char sum_ptx[] = ".version 8.1\n.target sm_90\n.address_size 64\n"
                              ".visible .entry sum_all(.param .u64 sum_all_at)\n{\n"
                              "    .reg .b64 %rd<2>; .reg .f32 %f<2>;\n"
                              "    ld.param.u64 %rd1, [sum_all_at];\n"
                              "    multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%rd1];\n"
                              "    multimem.st.relaxed.sys.global.f32 [%rd1], %f1;\n"
                              "    ret;\n}\n";

/* What the kernel does. */
static void sum_all(const acu_sim_launch *launch, void *const *args) {
    void *places[8], *address = *(void *const *)args[0];
    float sum = 0;
    const size_t count = acu_sim_multicast_at(launch, address, sizeof sum, places, COUNT(places));
    for (size_t i = 0; i < count; i++)
        sum += *(const float *)places[i];
    for (size_t i = 0; i < count; i++)
        *(float *)places[i] = sum;
}

static void kernels_reduce_and_write(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    acu_virtual *seen[2] = {NULL, NULL};
    acu_multicast *object = object_of(1);
    acu_stream *stream = stream_on(0);
    bind_all(object, 1, seen);
    assert_int_equal(stand_in("sum_all", sum_all), 0);
    acu_virtual *range = range_of(0, 1);
    OK(acu_virtual_map_multicast(range, 0, object, 0, step));
    for (unsigned i = 0; i < both; i++) {
        const float number = 1.5f + (float)i;
        assert_int_equal(cudaSetDevice((int)i), 0);
        assert_int_equal(cudaMemcpy(acu_virtual_raw(seen[i]), &number, 4, cudaMemcpyHostToDevice),
                         0);
        assert_int_equal(cudaDeviceSynchronize(), 0);
    }
    assert_int_equal(cudaSetDevice(0), 0);
    OK(acu_module_load(0, &(acu_module_source){.ptx = sum_ptx}, &module));
    OK(acu_module_get_kernel(module, "sum_all", &kernel));
    OK(acu_launch(stream, kernel, acu_grid_1d(1, 1), acu_virtual_raw(range)));
    OK(acu_stream_synchronize(stream));
    for (unsigned i = 0; i < both; i++) {
        float number = 0;
        assert_int_equal(cudaSetDevice((int)i), 0);
        assert_int_equal(cudaMemcpy(&number, acu_virtual_raw(seen[i]), 4, cudaMemcpyDeviceToHost),
                         0);
        assert_true(number == (both == 2 ? 4.0f : 1.5f));
    }
    assert_int_equal(cudaSetDevice(0), 0);
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
    OK(acu_virtual_release(range));
    OK(acu_multicast_release(object));
    OK(acu_stream_release(stream));
    release_seen(seen);
}

/* The memory of a buffer is bound by its address, and lives as long as it is bound. */
static void buffers_are_bound(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_buffer *buffers[2] = {NULL, NULL};
    acu_virtual *seen[2] = {NULL, NULL};
    acu_multicast *object = object_of(1);
    acu_stream *streams[2] = {NULL, NULL};
    for (unsigned i = 0; i < both; i++) {
        streams[i] = stream_on((acu_device)i);
        OK(acu_buffer_create_growable(streams[i], ACU_U8, step, 4 * step, &buffers[i]));
        OK(acu_multicast_bind_buffer(object, 0, buffers[i]));
        FAILS(acu_buffer_shrink(buffers[i], 1), ACU_ERROR_STATE, "keeps the memory");
        seen[i] = acu_virtual_retain(acu_buffer_virtual(buffers[i]));
        OK(acu_buffer_release(buffers[i]));
    }
    acu_virtual *range = range_of(0, 1);
    OK(acu_virtual_map_multicast(range, 0, object, 0, step));
    assert_int_equal(cudaMemset(acu_virtual_raw(range), 9, step), 0);
    for (unsigned i = 0; i < both; i++)
        assert_int_equal(byte_at(seen[i], step / 2), 9);
    OK(acu_virtual_release(range));
    OK(acu_multicast_release(object));
    for (unsigned i = 0; i < both; i++)
        OK(acu_stream_release(streams[i]));
    release_seen(seen);
}

/* ---- what is refused ---- */

static void nothing_waits_for_devices(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_multicast *object = NULL;
    acu_physical *memory = memory_on(0, 1);
    acu_virtual *range = range_of(0, 1);
    OK(acu_multicast_create(both + 1, step, NULL, &object));
    OK(acu_multicast_add_device(object, 0));
    FAILS(acu_multicast_bind(object, 0, memory, 0, step), ACU_ERROR_STATE, "devices 1 were added");
    FAILS(acu_virtual_map_multicast(range, 0, object, 0, step), ACU_ERROR_STATE,
          "devices 1 were added");
    OK(acu_virtual_release(range));
    OK(acu_physical_release(memory));
    OK(acu_multicast_release(object));
}

static void wrong_bindings(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_multicast *object = object_of(2);
    acu_physical *memory = memory_on(0, 2), *host = NULL;
    acu_stream *stream = stream_on(0);
    acu_buffer *buffer = NULL, *pinned = NULL, *small = NULL;
    FAILS(acu_multicast_bind(object, step, memory, 0, 2 * step), ACU_ERROR_RANGE,
          "outside of the object");
    FAILS(acu_multicast_bind(object, 0, memory, step, 2 * step), ACU_ERROR_RANGE,
          "outside of the memory");
    FAILS(acu_multicast_bind(object, 1, memory, 0, step), ACU_ERROR_RANGE, "multiples of");
    FAILS(acu_multicast_bind(object, 0, memory, 0, 0), ACU_ERROR_RANGE, "multiples of");
    OK(acu_multicast_bind(object, 0, memory, 0, step));
    FAILS(acu_multicast_bind(object, 0, memory, step, step), ACU_ERROR_STATE, "bound memory");
    FAILS(acu_multicast_unbind(object, 0, 0, 2 * step), ACU_ERROR_RANGE, "bound nothing");
    FAILS(acu_multicast_unbind(object, 0, step, step), ACU_ERROR_RANGE, "bound nothing");
    FAILS(acu_multicast_unbind(object, 9, 0, step), 101, "device 9");
    OK(acu_multicast_unbind(object, 0, 0, step));
    OK(acu_multicast_bind(object, 0, memory, step, step));
    if (acu_physical_create(ACU_DEVICE_HOST, step, NULL, &host) == 0) {
        FAILS(acu_multicast_bind(object, step, host, 0, step), ACU_ERROR_DEVICE, "the host's");
        OK(acu_physical_release(host));
    }
    OK(acu_buffer_create_with(stream, ACU_U8, step,
                              &(acu_buffer_options){.memory = ACU_MEMORY_PINNED}, &pinned));
    OK(acu_buffer_create(stream, ACU_U8, 100, &small));
    OK(acu_buffer_create_growable(stream, ACU_U8, step, step, &buffer));
    FAILS(acu_multicast_bind_buffer(object, step, pinned), ACU_ERROR_MEMORY_KIND,
          "memory of pools");
    FAILS(acu_multicast_bind_buffer(object, step, small), ACU_ERROR_RANGE, "multiples of");
    FAILS(acu_multicast_bind_buffer(object, 2 * step, buffer), ACU_ERROR_RANGE, "outside of");
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(small));
    OK(acu_buffer_release(pinned));
    OK(acu_stream_release(stream));
    OK(acu_physical_release(memory));
    OK(acu_multicast_release(object)); /* with what is bound */
}

static void wrong_mappings(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_multicast *object = object_of(2);
    acu_virtual *range = range_of(0, 2), *seen[2] = {NULL, NULL};
    acu_stream *stream = stream_on(0);
    acu_buffer *buffer = NULL;
    bind_all(object, 2, seen);
    FAILS(acu_virtual_map_multicast(range, 0, object, step, 2 * step), ACU_ERROR_RANGE,
          "outside of the object");
    FAILS(acu_virtual_map_multicast(range, step, object, 0, 2 * step), ACU_ERROR_RANGE,
          "outside of the range");
    FAILS(acu_virtual_map_multicast(range, 0, object, 0, step + 1), ACU_ERROR_RANGE, "multiples");
    FAILS(acu_virtual_map_multicast(range, 0, object, 0, 0), ACU_ERROR_RANGE, "multiples");
    OK(acu_virtual_map_multicast(range, 0, object, 0, step));
    FAILS(acu_virtual_map_multicast(range, 0, object, 0, 2 * step), ACU_ERROR_STATE, "mapped");
    FAILS(acu_virtual_create_buffer(range, 0, stream, ACU_U8, 8, &buffer), ACU_ERROR_MEMORY_KIND,
          "a multicast object is mapped");
    OK(acu_virtual_release(range));
    OK(acu_multicast_release(object));
    OK(acu_stream_release(stream));
    release_seen(seen);
}

static void only_devices_of_the_object_have_access(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    NEEDS_MULTICAST();
    acu_multicast *object = NULL;
    acu_physical *memory = memory_on(0, 1), *far = memory_on(1, 1);
    acu_virtual *range = range_of(1, 1);
    OK(acu_multicast_create(1, step, NULL, &object));
    OK(acu_multicast_add_device(object, 0));
    FAILS(acu_multicast_bind(object, 0, far, 0, step), ACU_ERROR_DEVICE, "device 1, which was not");
    OK(acu_multicast_bind(object, 0, memory, 0, step));
    FAILS(acu_virtual_map_multicast(range, 0, object, 0, step), ACU_ERROR_DEVICE,
          "device 1 has access to the range");
    OK(acu_virtual_set_access(range, 1, ACU_ACCESS_NONE));
    OK(acu_virtual_set_access(range, 0, ACU_ACCESS_READ_WRITE));
    OK(acu_virtual_map_multicast(range, 0, object, 0, step));
    FAILS(acu_virtual_set_access(range, 1, ACU_ACCESS_READ), 401, "cuMemSetAccess");
    OK(acu_virtual_release(range));
    OK(acu_physical_release(far));
    OK(acu_physical_release(memory));
    OK(acu_multicast_release(object));
}

/* ---- handles ---- */

static void goes_through_a_descriptor(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    const acu_multicast_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    const acu_physical_options shareable = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    acu_multicast *object = NULL, *same = NULL, *plain = object_of(1);
    acu_physical *memory = NULL, *other = memory_on(0, 1);
    int descriptor = 0;
    FAILS(acu_multicast_export(plain, &descriptor), ACU_ERROR_STATE, "without ACU_SHARE_FILE");
    assert_int_equal(descriptor, -1);
    OK(acu_multicast_create(1, step, &options, &object));
    OK(acu_multicast_export(object, &descriptor));
    OK(acu_multicast_import(descriptor, 1, step, &same));
    assert_int_equal(close(descriptor), 0);
    OK(acu_multicast_add_device(same, 0));
    OK(acu_multicast_release(same));
    OK(acu_physical_create(0, step, &shareable, &memory));
    FAILS(acu_multicast_bind(object, 0, other, 0, step), 1, "cuMulticastBindMem");
    assert_non_null(strstr(acu_last_error_details().hint, "memory that can be shared only"));
    OK(acu_multicast_bind(object, 0, memory, 0, step)); /* the other handle has added the device */
    OK(acu_physical_release(memory));
    OK(acu_physical_release(other));
    OK(acu_multicast_release(object));
    OK(acu_multicast_release(plain));
}

static void wrap_borrows_adopt_takes(void **state) {
    (void)state;
    NEEDS_MULTICAST();
    acu_multicast *object = NULL;
    acu_physical *memory = memory_on(0, 1);
    CUmemGenericAllocationHandle raw = 0;
    const CUmulticastObjectProp p = {.numDevices = 1, .size = step};
    assert_int_equal(cuMulticastCreate(&raw, &p), 0);
    OK(acu_multicast_wrap(raw, 1, step, &object));
    OK(acu_multicast_add_device(object, 0));
    OK(acu_multicast_bind(object, 0, memory, 0, step));
    OK(acu_multicast_release(object)); /* unbinds */
    OK(acu_multicast_adopt(raw, 1, step, &object));
    OK(acu_multicast_bind(object, 0, memory, 0, step));
    assert_true(acu_multicast_raw(object) == raw);
    OK(acu_multicast_release(object));
    OK(acu_physical_release(memory));
}

static void *add_other_device(void *object) {
    OK(acu_multicast_add_device(object, 1));
    return NULL;
}

/* Once others may know the object, binding waits for them, as CUDA does; another thread may use the
 * handle meanwhile. */
static void binding_waits_for_another_thread(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    NEEDS_MULTICAST();
    pthread_t thread;
    acu_multicast *object = NULL;
    acu_physical *memory = memory_on(0, 1);
    OK(acu_multicast_create(2, step, NULL, &object));
    OK(acu_multicast_add_device(object, 0));
    assert_true(acu_multicast_raw(object) != 0);
    assert_int_equal(pthread_create(&thread, NULL, add_other_device, object), 0);
    OK(acu_multicast_bind(object, 0, memory, 0, step));
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(acu_physical_release(memory));
    OK(acu_multicast_release(object));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(an_old_driver_says_what_it_lacks),
        KERNEL_TEST(life),
        KERNEL_TEST(wrong_objects),
        KERNEL_TEST(devices_are_added_once),
        KERNEL_TEST(a_device_without),
        KERNEL_TEST(writes_reach_every_device),
        KERNEL_TEST(parts_are_mapped_and_bound),
        KERNEL_TEST(kernels_reduce_and_write),
        KERNEL_TEST(buffers_are_bound),
        KERNEL_TEST(nothing_waits_for_devices),
        KERNEL_TEST(wrong_bindings),
        KERNEL_TEST(wrong_mappings),
        KERNEL_TEST(only_devices_of_the_object_have_access),
        KERNEL_TEST(goes_through_a_descriptor),
        KERNEL_TEST(wrap_borrows_adopt_takes),
        KERNEL_TEST(binding_waits_for_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
