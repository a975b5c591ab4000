/*
 * Memory and semaphores of another API. The memory is what CUDA itself exports; the semaphores are
 * the simulator's, since CUDA exports none. tests/vulkan/ has those of a real API.
 */
#define _GNU_SOURCE /* memfd_create */
#include "kernels.h"

#include <anycuda/cudart.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h> /* memfd_create */
#include <unistd.h>

static acu_stream *stream, *their_stream;

/* Memory that CUDA exports, which is imported as another API's is; and what "the other API" sees of
 * it. */
static acu_physical *physical;
static acu_virtual *range;
static acu_buffer *theirs;
static size_t bytes;

static int begin_external(void **state) {
    int code = begin_kernels(state);
    const acu_physical_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_create(0, NULL, &their_stream));
    OK(acu_physical_get_granularity(0, &options, &bytes, NULL));
    OK(acu_physical_create(0, bytes, &options, &physical));
    OK(acu_virtual_reserve(0, bytes, NULL, &range));
    OK(acu_virtual_map(range, 0, physical));
    OK(acu_virtual_create_buffer(range, 0, their_stream, ACU_I32, bytes / 4, &theirs));
    OK(acu_buffer_zero(theirs, NULL));
    OK(acu_stream_synchronize(their_stream));
    return code;
}

static int end_external(void **state) {
    OK(acu_buffer_release(theirs));
    OK(acu_virtual_release(range));
    OK(acu_physical_release(physical));
    OK(acu_stream_release(their_stream));
    OK(acu_stream_release(stream));
    return nothing_left(state);
}

static int exported(void) {
    int descriptor = -1;
    OK(acu_physical_export(physical, &descriptor));
    return descriptor;
}

static void set_theirs(size_t at, int32_t value) {
    OK(acu_buffer_write_typed(theirs, at, ACU_I32, &value, 1, NULL));
}

static int32_t theirs_at(size_t at) {
    int32_t value = 0;
    OK(acu_stream_synchronize(stream));
    OK(acu_buffer_read_typed(theirs, at, ACU_I32, &value, 1, NULL));
    return value;
}

#define EXTERNAL_TEST(function) SAFE_TEST(function, begin_external, end_external)
#define ONLY_WITH_SEMAPHORES()  ONLY_SIMULATED("a GPU's semaphores are Vulkan's: tests/vulkan/")

static bool is_open(int descriptor) {
    return fcntl(descriptor, F_GETFD) >= 0;
}

static int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* ---- memory ---- */

static acu_external_memory *imported(void) {
    acu_external_memory *memory = NULL;
    const acu_external_memory_source source = {
        .type = ACU_EXTERNAL_MEMORY_OPAQUE_FD, .descriptor = exported(), .bytes = bytes};
    OK(acu_external_memory_import(0, &source, &memory));
    assert_false(is_open(source.descriptor)); /* CUDA has it */
    return memory;
}

static void data_goes_both_ways(void **state) {
    (void)state;
    int32_t got[3] = {0};
    acu_buffer *buffer = NULL;
    acu_external_memory *memory = imported();
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_I32, bytes / 4, &buffer));
    set_theirs(0, 5);
    set_theirs(1, 6);
    set_theirs(bytes / 4 - 1, 7);
    OK(acu_buffer_read(buffer, got, 2));
    assert_true(got[0] == 5 && got[1] == 6);
    OK(acu_buffer_read_typed(buffer, bytes / 4 - 1, ACU_I32, got, 1, NULL));
    assert_int_equal(got[0], 7);
    OK(acu_buffer_write(buffer, ((int32_t[]){1, 2, 3}), 3));
    assert_true(theirs_at(0) == 1 && theirs_at(1) == 2 && theirs_at(2) == 3);
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
    assert_int_equal(theirs_at(2), 3); /* the other API has it still */
}

static void a_buffer_keeps_the_memory(void **state) {
    (void)state;
    int32_t got = 0;
    acu_buffer *buffer = NULL, *slice = NULL;
    acu_external_memory *memory = imported();
    OK(acu_external_memory_create_buffer(memory, 256, stream, ACU_I32, 8, &buffer));
    OK(acu_external_memory_release(memory));
    OK(acu_buffer_slice(buffer, 2, 2, &slice));
    OK(acu_buffer_release(buffer));
    set_theirs(64 + 2, 9);
    OK(acu_buffer_read(slice, &got, 1));
    assert_int_equal(got, 9);
    assert_int_equal(acu_buffer_memory(slice), ACU_MEMORY_DEVICE);
    OK(acu_buffer_release(slice));
}

static void kernels_use_the_memory(void **state) {
    (void)state;
    float floats[8];
    acu_buffer *buffer = NULL;
    acu_external_memory *memory = imported();
    acu_kernel *kernel = kernel_on(0, "scale");
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_F32, 8, &buffer));
    for (int i = 0; i < 8; i++)
        floats[i] = (float)i;
    OK(acu_buffer_write_typed(theirs, 0, ACU_I32, (int32_t *)floats, 8, NULL));
    OK(acu_launch(stream, kernel, acu_grid_1d(8, 32), acu_inout(buffer), 3.0F, 8u));
    OK(acu_stream_synchronize(stream));
    OK(acu_buffer_read_typed(theirs, 0, ACU_I32, (int32_t *)floats, 8, NULL));
    assert_true(floats[0] == 0 && floats[1] == 3 && floats[7] == 21);
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
    OK(acu_kernel_release(kernel));
}

static void what_memory_is(void **state) {
    (void)state;
    acu_external_memory *memory = NULL;
    acu_external_memory_info info;
    const acu_external_memory_source source = {.type = ACU_EXTERNAL_MEMORY_OPAQUE_FD,
                                               .descriptor = exported(),
                                               .bytes = bytes,
                                               .dedicated = true};
    OK(acu_external_memory_import(another_device(), &source, &memory));
    OK(acu_external_memory_get_info(memory, &info));
    assert_true(info.device == another_device() && info.type == source.type);
    assert_true(info.bytes == bytes && info.dedicated);
    assert_int_equal(acu_external_memory_bytes(memory), bytes);
    assert_int_equal(acu_external_memory_device(memory), another_device());
    assert_non_null(acu_external_memory_raw(memory));
    assert_ptr_equal(acu_external_memory_retain(memory), memory);
    OK(acu_external_memory_release(memory));
    OK(acu_external_memory_release(memory));
}

static void wrapped_and_adopted_memory(void **state) {
    (void)state;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    acu_external_memory *memory = NULL;
    acu_external_memory_info info;
    cudaExternalMemory_t raw = NULL;
    const struct cudaExternalMemoryHandleDesc desc = {
        .type = cudaExternalMemoryHandleTypeOpaqueFd, .handle.fd = exported(), .size = bytes};
    assert_int_equal(cudaImportExternalMemory(&raw, &desc), 0);
    FAILS(acu_external_memory_wrap(0, raw, 0, &memory), ACU_ERROR_RANGE, "the size is 0 bytes");
    OK(acu_external_memory_wrap(0, raw, bytes, &memory));
    OK(acu_external_memory_get_info(memory, &info));
    assert_true(info.type == ACU_EXTERNAL_MEMORY_UNKNOWN && info.bytes == bytes);
    OK(acu_external_memory_release(memory)); /* the raw one is still there */
    OK(acu_external_memory_adopt(0, raw, bytes, &memory));
    assert_ptr_equal(acu_external_memory_raw(memory), raw);
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, bytes, &buffer));
    OK(acu_external_memory_release(memory));
}

static void parts_outside_of_the_memory(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_external_memory *memory = imported();
    FAILS(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, bytes + 1, &buffer),
          ACU_ERROR_RANGE, "outside of the memory");
    FAILS(acu_external_memory_create_buffer(memory, bytes, stream, ACU_U8, 1, &buffer),
          ACU_ERROR_RANGE, "outside of the memory");
    FAILS(acu_external_memory_create_buffer(memory, SIZE_MAX, stream, ACU_U8, 2, &buffer),
          ACU_ERROR_RANGE, "outside of the memory");
    FAILS(acu_external_memory_create_buffer(memory, 0, stream, ACU_F64, SIZE_MAX / 4, &buffer),
          ACU_ERROR_RANGE, "outside of the memory");
    FAILS(acu_external_memory_create_buffer(memory, 0, stream, ACU_F64, 0, &buffer),
          ACU_ERROR_RANGE, "'count' is 0");
    FAILS(acu_external_memory_create_buffer(memory, 0, stream, (acu_dtype)0x77777777, 1, &buffer),
          ACU_ERROR_DTYPE, "no type of elements");
    assert_null(buffer);
    OK(acu_external_memory_release(memory));
}

static void memory_of_another_device(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_stream *other = NULL;
    NEEDS_TWO_DEVICES();
    acu_external_memory *memory = imported();
    OK(acu_stream_create(1, NULL, &other));
    FAILS(acu_external_memory_create_buffer(memory, 0, other, ACU_U8, 1, &buffer), ACU_ERROR_DEVICE,
          "imported on device 0, and the stream is on device 1");
    OK(acu_stream_release(other));
    OK(acu_external_memory_release(memory));
}

static void graphs_keep_the_memory(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_external_memory *memory = imported();
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_I32, 4, &buffer));
    OK(acu_external_memory_release(memory));
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_fill(graph, NULL, 0,
                          &(acu_fill){buffer, ACU_I32, &(int32_t){4}, .width = ACU_REST}, NULL));
    OK(acu_buffer_release(buffer));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_true(theirs_at(0) == 4 && theirs_at(3) == 4 && theirs_at(4) == 0);
    OK(acu_exec_release(exec));
}

/* ---- images ---- */

enum { COLUMNS = 100, ROWS = 60, LEVELS = 4, ELEMENTS = COLUMNS * ROWS };

/* What is written to one mapping of an image is read from another, and lies in the memory. */
static void images_are_mapped(void **state) {
    (void)state;
    static uint32_t given[ELEMENTS], got[ELEMENTS];
    acu_mipmap *mipmap = NULL, *twin = NULL;
    acu_array *level = NULL;
    acu_external_memory *memory = imported();
    const acu_format format = {.dtype = ACU_U32};
    const acu_extent extent = {COLUMNS, ROWS, 0};
    OK(acu_external_memory_create_mipmap(memory, 0, stream, format, extent, LEVELS, 0, &mipmap));
    OK(acu_external_memory_create_mipmap(memory, 0, stream, format, extent, LEVELS, 0, &twin));
    OK(acu_external_memory_release(memory)); /* the mipmaps keep it */
    assert_int_equal(acu_mipmap_levels(mipmap), LEVELS);
    for (unsigned i = 0; i < LEVELS; i++) {
        const size_t count = (size_t)(COLUMNS >> i) * (ROWS >> i);
        for (uint32_t k = 0; k < count; k++)
            given[k] = 0x1000000 * (i + 1) + k;
        OK(acu_mipmap_get_level(mipmap, i, &level));
        assert_int_equal(acu_array_count(level), count);
        OK(acu_array_write(level, given, count));
        OK(acu_array_release(level));
        OK(acu_mipmap_get_level(twin, i, &level));
        OK(acu_array_read(level, got, count));
        assert_memory_equal(got, given, count * sizeof *got);
        OK(acu_array_release(level));
        if (i == 0)
            OK(acu_mipmap_release(mipmap));
        if (i == 0)
            mipmap = acu_mipmap_retain(twin);
    }
    assert_int_equal(theirs_at(0), 0x1000000); /* the first element is the first of the memory */
    OK(acu_mipmap_release(mipmap));
    OK(acu_mipmap_release(twin));
}

static void wrong_images(void **state) {
    (void)state;
    acu_mipmap *mipmap = NULL;
    acu_external_memory *memory = imported();
    const acu_format format = {.dtype = ACU_U32};
    const acu_extent extent = {64, 64, 0}, large = {4096, 4096, 0};
    FAILS(acu_external_memory_create_mipmap(memory, bytes, stream, format, extent, 1, 0, &mipmap),
          ACU_ERROR_RANGE, "outside of the memory");
    FAILS(acu_external_memory_create_mipmap(memory, 0, stream, format, extent, 0, 0, &mipmap),
          ACU_ERROR_RANGE, "'levels' is 0");
    FAILS(acu_external_memory_create_mipmap(memory, 0, stream, format, extent, 8, 0, &mipmap),
          ACU_ERROR_RANGE, "there can be 7");
    FAILS(acu_external_memory_create_mipmap(memory, 0, stream, (acu_format){.dtype = ACU_F64},
                                            extent, 1, 0, &mipmap),
          ACU_ERROR_DTYPE, "no array holds f64");
    FAILS(acu_external_memory_create_mipmap(memory, 0, stream, format, large, 1, 0, &mipmap), 1,
          "cudaExternalMemoryGetMappedMipmappedArray");
    assert_null(mipmap);
    if (another_device()) {
        acu_stream *other = NULL;
        OK(acu_stream_create(1, NULL, &other));
        FAILS(acu_external_memory_create_mipmap(memory, 0, other, format, extent, 1, 0, &mipmap),
              ACU_ERROR_DEVICE, "imported on device 0, and the stream is on device 1");
        OK(acu_stream_release(other));
    }
    OK(acu_external_memory_release(memory));
}

/* ---- what is refused, and whose the descriptor is then ---- */

static int other_file(void) {
    int descriptor = memfd_create("mine", MFD_CLOEXEC);
    assert_true(descriptor >= 0);
    return descriptor;
}

/* CUDA closes the descriptor of what is no memory, and not that of what is no semaphore. */
static void a_refused_descriptor_stays_the_callers(void **state) {
    (void)state;
    acu_external_memory *memory = NULL;
    acu_external_semaphore *semaphore = NULL;
    acu_stream *first = NULL;
    OK(acu_stream_create(0, NULL, &first)); /* the device's own descriptors are there */
    acu_external_memory_source m = {.type = ACU_EXTERNAL_MEMORY_OPAQUE_FD, .bytes = bytes};
    m.descriptor = other_file();
    assert_int_not_equal(acu_external_memory_import(0, &m, &memory), 0);
    assert_true(is_open(m.descriptor));
    const int before = open_descriptors();
    FAILS(acu_external_memory_import(0, &m, &memory), 999, "cudaImportExternalMemory");
    assert_non_null(strstr(acu_last_error_details().hint, "the same device"));
    assert_null(memory);
    const acu_external_semaphore_type types[] = {ACU_EXTERNAL_SEMAPHORE_OPAQUE_FD,
                                                 ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD};
    for (size_t i = 0; i < COUNT(types); i++) {
        const acu_external_semaphore_source s = {types[i], m.descriptor, NULL, NULL};
        FAILS(acu_external_semaphore_import(0, &s, &semaphore), 999, "cudaImportExternalSemaphore");
        assert_non_null(strstr(acu_last_error_details().hint, "the same device"));
        assert_null(semaphore);
    }
    assert_int_equal(open_descriptors(), before); /* no duplicate is left */
    assert_int_equal(close(m.descriptor), 0);     /* it was the caller's all the time */
    OK(acu_stream_release(first));
}

static void descriptors_that_are_none(void **state) {
    (void)state;
    acu_external_memory *memory = NULL;
    acu_external_semaphore *semaphore = NULL;
    acu_external_memory_source m = {ACU_EXTERNAL_MEMORY_OPAQUE_FD, -1, NULL, NULL, bytes, false};
    FAILS(acu_external_memory_import(0, &m, &memory), ACU_ERROR_ARGUMENT, "descriptor is -1");
    m.descriptor = 987654;
    FAILS(acu_external_memory_import(0, &m, &memory), 304, "descriptor 987654 cannot be");
    m.bytes = 0;
    FAILS(acu_external_memory_import(0, &m, &memory), ACU_ERROR_RANGE, "the size is 0 bytes");
    acu_external_semaphore_source s = {ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD, -1, NULL, NULL};
    FAILS(acu_external_semaphore_import(0, &s, &semaphore), ACU_ERROR_ARGUMENT, "descriptor is -1");
    s.descriptor = 987654;
    FAILS(acu_external_semaphore_import(0, &s, &semaphore), 304, "descriptor 987654 cannot be");
}

/* Linux has none of them. */
static void types_of_other_systems(void **state) {
    (void)state;
    int object = 0;
    acu_external_memory *memory = NULL;
    acu_external_semaphore *semaphore = NULL;
    acu_external_memory_source m = {.bytes = bytes};
    acu_external_semaphore_source s = {.handle = NULL};
    FAILS(acu_external_memory_import(0, &m, &memory), ACU_ERROR_ARGUMENT, "source.type is 0");
    FAILS(acu_external_semaphore_import(0, &s, &semaphore), ACU_ERROR_ARGUMENT, "source.type is 0");
    for (m.type = ACU_EXTERNAL_MEMORY_OPAQUE_WIN32; m.type < ACU_EXTERNAL_MEMORY_NVSCI_BUF;
         m.type++) {
        m.handle = NULL;
        m.dedicated = m.type >= ACU_EXTERNAL_MEMORY_D3D12_RESOURCE;
        FAILS(acu_external_memory_import(0, &m, &memory), ACU_ERROR_ARGUMENT, "source.handle ");
        m.handle = &object;
        FAILS(acu_external_memory_import(0, &m, &memory), 801, "cudaImportExternalMemory");
        assert_non_null(strstr(acu_last_error_details().hint, "Linux has file descriptors"));
        m.dedicated = false;
        if (m.type >= ACU_EXTERNAL_MEMORY_D3D12_RESOURCE)
            FAILS(acu_external_memory_import(0, &m, &memory), ACU_ERROR_ARGUMENT,
                  "source.dedicated is false");
    }
    for (s.type = ACU_EXTERNAL_SEMAPHORE_OPAQUE_WIN32;
         s.type <= ACU_EXTERNAL_SEMAPHORE_TIMELINE_WIN32; s.type++) {
        if (s.type == ACU_EXTERNAL_SEMAPHORE_NVSCI_SYNC ||
            s.type == ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD)
            continue;
        s.handle = NULL;
        FAILS(acu_external_semaphore_import(0, &s, &semaphore), ACU_ERROR_ARGUMENT,
              "source.handle ");
        s.handle = &object;
        FAILS(acu_external_semaphore_import(0, &s, &semaphore), 801, "cudaImportExternal");
        assert_non_null(strstr(acu_last_error_details().hint, "Linux has file descriptors"));
    }
    m.type = (acu_external_memory_type)9;
    s.type = (acu_external_semaphore_type)11;
    FAILS(acu_external_memory_import(0, &m, &memory), ACU_ERROR_ARGUMENT, "source.type is 9");
    FAILS(acu_external_semaphore_import(0, &s, &semaphore), ACU_ERROR_ARGUMENT, "type is 11");
}

/* A global handle has no name. */
static void names_of_what_has_none(void **state) {
    (void)state;
    acu_external_memory *memory = NULL;
    acu_external_semaphore *semaphore = NULL;
    const acu_external_memory_source named = {
        ACU_EXTERNAL_MEMORY_OPAQUE_WIN32, 0, NULL, "name", bytes, false};
    const acu_external_memory_source global = {
        ACU_EXTERNAL_MEMORY_OPAQUE_WIN32_KMT, 0, NULL, "name", bytes, false};
    const acu_external_semaphore_source mutex = {ACU_EXTERNAL_SEMAPHORE_KEYED_MUTEX, 0, NULL,
                                                 "name"};
    const acu_external_semaphore_source global_mutex = {ACU_EXTERNAL_SEMAPHORE_KEYED_MUTEX_KMT, 0,
                                                        NULL, "name"};
    FAILS(acu_external_memory_import(0, &named, &memory), 801, "cudaImportExternalMemory");
    FAILS(acu_external_memory_import(0, &global, &memory), ACU_ERROR_ARGUMENT, "has no name");
    FAILS(acu_external_semaphore_import(0, &mutex, &semaphore), 801, "cudaImportExternal");
    FAILS(acu_external_semaphore_import(0, &global_mutex, &semaphore), ACU_ERROR_ARGUMENT,
          "has no name");
}

/* NvSci is a library of some systems of NVIDIA's; where that is missing, CUDA does not look at the
 * objects. */
static void nvsci(void **state) {
    (void)state;
    int object = 0;
    acu_external_memory *memory = NULL;
    acu_external_semaphore *semaphore = NULL;
    ONLY_SIMULATED("a GPU's system may have NvSci, which would look at the object");
    FAILS(acu_external_memory_import(0,
                                     &(acu_external_memory_source){ACU_EXTERNAL_MEMORY_NVSCI_BUF, 0,
                                                                   &object, NULL, bytes, false},
                                     &memory),
          801, "cudaImportExternalMemory");
    FAILS(acu_external_semaphore_import(
              0,
              &(acu_external_semaphore_source){ACU_EXTERNAL_SEMAPHORE_NVSCI_SYNC, 0, &object, NULL},
              &semaphore),
          801, "cudaImportExternalSemaphore");
    FAILS(acu_external_semaphore_get_nvsci_attributes(
              0, ACU_NVSCI_SYNC_SIGNAL | ACU_NVSCI_SYNC_WAIT, &object),
          801, "cudaDeviceGetNvSciSyncAttributes");
    assert_non_null(strstr(acu_last_error_details().hint, "NvSci is there on Jetson"));
}

/* CUDA looks at the size only when something is mapped. */
static void more_bytes_than_there_are(void **state) {
    (void)state;
    acu_external_memory *memory = NULL;
    acu_buffer *buffer = NULL;
    const acu_external_memory_source source = {
        .type = ACU_EXTERNAL_MEMORY_OPAQUE_FD, .descriptor = exported(), .bytes = 2 * bytes};
    OK(acu_external_memory_import(0, &source, &memory));
    FAILS(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, bytes + 1, &buffer), 1,
          "cudaExternalMemoryGetMappedBuffer");
    assert_non_null(strstr(acu_last_error_details().hint, "the size of the allocation"));
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, bytes, &buffer));
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
}

/* The address of a part is aligned as its offset is. */
static void parts_that_are_not_aligned(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_external_memory *memory = imported();
    FAILS(acu_external_memory_create_buffer(memory, 2, stream, ACU_F32, 4, &buffer),
          ACU_ERROR_DTYPE, "is not aligned for"); /* and the mapping is given up */
    assert_null(buffer);
    OK(acu_external_memory_create_buffer(memory, 12, stream, ACU_F32, 4, &buffer));
    assert_int_equal((uintptr_t)acu_buffer_raw(buffer) % 256, 12);
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
}

static void parts_of_dedicated_memory(void **state) {
    (void)state;
    acu_external_memory *memory = NULL;
    acu_buffer *buffer = NULL;
    ONLY_WITH_SEMAPHORES();
    const acu_external_memory_source source = {.type = ACU_EXTERNAL_MEMORY_OPAQUE_FD,
                                               .descriptor = exported(),
                                               .bytes = bytes,
                                               .dedicated = true};
    OK(acu_external_memory_import(0, &source, &memory));
    FAILS(acu_external_memory_create_buffer(memory, 256, stream, ACU_U8, 256, &buffer), 1,
          "cudaExternalMemoryGetMappedBuffer");
    assert_non_null(strstr(acu_last_error_details().hint, "from byte 0 on only"));
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, 256, &buffer));
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
}

/* ---- semaphores on streams ---- */

static acu_external_semaphore *semaphore_of(const acu_sim_semaphore *other, bool timeline) {
    acu_external_semaphore *semaphore = NULL;
    const acu_external_semaphore_source source = {
        .type = timeline ? ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD : ACU_EXTERNAL_SEMAPHORE_OPAQUE_FD,
        .descriptor = acu_sim_semaphore_export(other)};
    OK(acu_external_semaphore_import(0, &source, &semaphore));
    assert_false(is_open(source.descriptor));
    return semaphore;
}

static void a_timeline_goes_both_ways(void **state) {
    (void)state;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    OK(acu_external_semaphore_signal(semaphore, 3, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(other), 3);
    OK(acu_external_semaphore_wait(semaphore, 5, stream));
    OK(acu_external_semaphore_signal(semaphore, 6, stream));
    still_waits(stream);
    assert_int_equal(acu_sim_semaphore_value(other), 3);
    acu_sim_semaphore_signal(other, 5);
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(other), 6);
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

static void a_binary_signal_is_for_one_wait(void **state) {
    (void)state;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(0);
    acu_external_semaphore *semaphore = semaphore_of(other, false);
    OK(acu_external_semaphore_signal(semaphore, 0, stream));
    OK(acu_external_semaphore_wait(semaphore, 0, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(other), 0);
    OK(acu_external_semaphore_wait(semaphore, 0, stream));
    still_waits(stream);
    acu_sim_semaphore_signal(other, 0);
    OK(acu_stream_synchronize(stream));
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

enum { MANY = 6 };

static void several_at_once(void **state) {
    (void)state;
    acu_sim_semaphore *others[MANY];
    acu_semaphore_signal signals[MANY];
    acu_semaphore_wait waits[MANY];
    ONLY_WITH_SEMAPHORES();
    for (unsigned i = 0; i < MANY; i++) {
        others[i] = acu_sim_semaphore_create(1);
        signals[i] =
            (acu_semaphore_signal){.semaphore = semaphore_of(others[i], true), .value = 10 + i};
        waits[i] = (acu_semaphore_wait){.semaphore = signals[i].semaphore, .value = 20 + i};
    }
    OK(acu_external_signal(signals, MANY, stream));
    OK(acu_stream_synchronize(stream)); /* else a slow stream may not have signaled yet */
    OK(acu_external_wait(waits, MANY, stream));
    for (unsigned i = 0; i < MANY; i++) {
        still_waits(stream);
        assert_int_equal(acu_sim_semaphore_value(others[i]), 10 + i);
        acu_sim_semaphore_signal(others[i], 20 + i);
    }
    OK(acu_stream_synchronize(stream));
    for (unsigned i = 0; i < MANY; i++) {
        OK(acu_external_semaphore_release(signals[i].semaphore));
        acu_sim_semaphore_destroy(others[i]);
    }
}

static void wrapped_and_adopted_semaphores(void **state) {
    (void)state;
    acu_external_semaphore *semaphore = NULL;
    acu_external_semaphore_info info;
    cudaExternalSemaphore_t raw = NULL;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    const struct cudaExternalSemaphoreHandleDesc desc = {
        .type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd,
        .handle.fd = acu_sim_semaphore_export(other)};
    assert_int_equal(cudaImportExternalSemaphore(&raw, &desc), 0);
    OK(acu_external_semaphore_wrap(0, raw, &semaphore));
    OK(acu_external_semaphore_get_info(semaphore, &info));
    assert_true(info.device == 0 && info.type == ACU_EXTERNAL_SEMAPHORE_UNKNOWN);
    OK(acu_external_semaphore_signal(semaphore, 2, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_external_semaphore_release(semaphore)); /* the raw one is still there */
    OK(acu_external_semaphore_adopt(0, raw, &semaphore));
    assert_ptr_equal(acu_external_semaphore_raw(semaphore), raw);
    assert_int_equal(acu_external_semaphore_device(semaphore), 0);
    OK(acu_external_semaphore_wait(semaphore, 2, stream));
    OK(acu_stream_synchronize(stream));
    assert_ptr_equal(acu_external_semaphore_retain(semaphore), semaphore);
    OK(acu_external_semaphore_release(semaphore));
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

/* Signals by the raw handle; returns CUDA's answer. */
static int signal_raw(cudaExternalSemaphore_t raw, unsigned long long value) {
    const struct cudaExternalSemaphoreSignalParams params = {.params.fence.value = value};
    const int code = cudaSignalExternalSemaphoresAsync(&raw, &params, 1, acu_stream_raw(stream));
    OK(acu_stream_synchronize(stream));
    (void)cudaGetLastError();
    acu_clear_error();
    return code;
}

/* CUDA wants a semaphore to live until all work with it is done. */
static void a_released_semaphore_lives_until_its_work_is_done(void **state) {
    (void)state;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    const cudaExternalSemaphore_t raw = acu_external_semaphore_raw(semaphore);
    acu_stream *more[3] = {NULL};
    for (size_t i = 0; i < COUNT(more); i++) {
        OK(acu_stream_create(0, NULL, &more[i]));
        OK(acu_external_semaphore_wait(semaphore, 5 + i, more[i]));
    }
    OK(acu_external_semaphore_release(semaphore)); /* which does not wait */
    assert_int_equal(signal_raw(raw, 1), 0);
    acu_sim_semaphore_signal(other, 5);
    OK(acu_stream_synchronize(more[0]));
    assert_int_equal(signal_raw(raw, 5), 0);
    acu_sim_semaphore_signal(other, 7);
    for (size_t i = 0; i < COUNT(more); i++) {
        OK(acu_stream_synchronize(more[i]));
        OK(acu_stream_release(more[i]));
    }
    OK(acu_external_semaphore_release(NULL)); /* a call that releases something destroys it */
    assert_int_equal(signal_raw(raw, 8), cudaErrorInvalidResourceHandle);
    acu_sim_semaphore_destroy(other);
}

static void many_streams_come_and_go(void **state) {
    (void)state;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    for (unsigned i = 1; i <= 100; i++) {
        acu_stream *one = NULL;
        OK(acu_stream_create(0, NULL, &one));
        OK(acu_external_semaphore_wait(semaphore, i - 1, one));
        OK(acu_external_semaphore_signal(semaphore, i, one));
        OK(acu_external_semaphore_wait(semaphore, i, stream));
        OK(acu_stream_release(one));
    }
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(other), 100);
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

static void default_streams_and_other_devices(void **state) {
    (void)state;
    acu_stream *legacy = NULL, *other_device = NULL;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    OK(acu_stream_wrap(0, cudaStreamLegacy, &legacy));
    OK(acu_external_semaphore_signal(semaphore, 1, legacy));
    OK(acu_stream_synchronize(legacy));
    assert_int_equal(acu_sim_semaphore_value(other), 1);
    OK(acu_stream_release(legacy));
    if (another_device()) {
        OK(acu_stream_create(1, NULL, &other_device));
        FAILS(acu_external_semaphore_signal(semaphore, 2, other_device), ACU_ERROR_DEVICE,
              "imported on device 0, and the stream is on device 1");
        OK(acu_stream_release(other_device));
    }
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

static void wrong_lists(void **state) {
    (void)state;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    const acu_semaphore_signal signals[] = {{.semaphore = semaphore, .value = 1},
                                            {.semaphore = NULL}};
    FAILS(acu_external_signal(NULL, 0, stream), ACU_ERROR_ARGUMENT, "there is no semaphore");
    FAILS(acu_external_wait(NULL, 0, stream), ACU_ERROR_ARGUMENT, "there is no semaphore");
    FAILS(acu_external_signal(NULL, 1, stream), ACU_ERROR_ARGUMENT, "'signals' is NULL");
    FAILS(acu_external_wait(NULL, 1, stream), ACU_ERROR_ARGUMENT, "'waits' is NULL");
    FAILS(acu_external_signal(signals, 2, stream), ACU_ERROR_ARGUMENT, "NULL");
    assert_non_null(strstr(acu_last_error_details().hint, "the index 1"));
    FAILS(acu_external_signal(signals, (size_t)UINT32_MAX + 1, stream), ACU_ERROR_OVERFLOW,
          "semaphores");
    FAILS(acu_external_signal(signals, 1, NULL), ACU_ERROR_ARGUMENT, "NULL");
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(other), 0); /* none of it was done */
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

/* Uses of the buffer on other streams come after the wait, and the signal comes after them. */
static void a_use_around_orders_other_streams(void **state) {
    (void)state;
    int32_t got = 0;
    acu_buffer *buffer = NULL;
    acu_stream *second = NULL;
    blocker busy;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    acu_external_memory *memory = imported();
    OK(acu_stream_create(0, NULL, &second));
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_I32, 1, &buffer));
    OK(acu_buffer_begin_use(buffer, true, stream));
    OK(acu_external_semaphore_wait(semaphore, 1, stream));
    OK(acu_buffer_end_use(buffer, true, stream));
    ACU_AUTO(acu_buffer) *copy = NULL;
    OK(acu_buffer_create(second, ACU_I32, 1, &copy));
    OK(acu_buffer_copy(copy, buffer, second)); /* after the wait */
    block_stream(&busy, second);
    OK(acu_buffer_fill_typed(buffer, ACU_I32, &(int32_t){8}, second));
    OK(acu_buffer_begin_use(buffer, true, stream));
    OK(acu_external_semaphore_signal(semaphore, 2, stream)); /* after the fill */
    OK(acu_buffer_end_use(buffer, true, stream));
    set_theirs(0, 7);
    acu_sim_semaphore_signal(other, 1);
    still_waits(stream);
    assert_int_equal(acu_sim_semaphore_value(other), 1);
    unblock_stream(&busy);
    OK(acu_stream_synchronize(stream));
    assert_true(acu_sim_semaphore_value(other) == 2 && theirs_at(0) == 8);
    OK(acu_buffer_read(copy, &got, 1));
    assert_int_equal(got, 7);
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
    OK(acu_external_semaphore_release(semaphore));
    OK(acu_stream_release(second));
    acu_sim_semaphore_destroy(other);
}

/* ---- semaphores in graphs ---- */

static void nodes_keep_their_semaphores(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node wait, signal;
    acu_node_type type;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *go = acu_sim_semaphore_create(1), *done = acu_sim_semaphore_create(1);
    acu_external_semaphore *first = semaphore_of(go, true), *last = semaphore_of(done, true);
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_semaphore_wait(
        graph, NULL, 0, &(acu_semaphore_wait){.semaphore = first, .value = 4}, 1, &wait));
    OK(acu_graph_add_semaphore_signal(
        graph, &wait, 1, &(acu_semaphore_signal){.semaphore = last, .value = 9}, 1, &signal));
    OK(acu_node_get_type(wait, &type));
    assert_int_equal(type, ACU_NODE_SEMAPHORE_WAIT);
    OK(acu_node_get_type(signal, &type));
    assert_int_equal(type, ACU_NODE_SEMAPHORE_SIGNAL);
    OK(acu_external_semaphore_release(first));
    OK(acu_external_semaphore_release(last));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    OK(acu_exec_launch(exec, stream));
    still_waits(stream);
    OK(acu_exec_release(exec)); /* the launch goes on */
    acu_sim_semaphore_signal(go, 4);
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(done), 9);
    acu_sim_semaphore_destroy(go);
    acu_sim_semaphore_destroy(done);
}

static void captured_work_keeps_its_semaphores(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_external_semaphore_wait(semaphore, 2, stream));
    OK(acu_external_semaphore_signal(semaphore, 3, stream));
    OK(acu_external_semaphore_release(semaphore));
    OK(acu_stream_end_capture(stream, &graph));
    assert_int_equal(acu_sim_semaphore_value(other), 0);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    acu_sim_semaphore_signal(other, 2);
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(other), 3);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    acu_sim_semaphore_destroy(other);
}

static void nodes_and_execs_change(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node wait, signal;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *a = acu_sim_semaphore_create(1), *b = acu_sim_semaphore_create(1);
    acu_external_semaphore *one = semaphore_of(a, true), *two = semaphore_of(b, true);
    const acu_semaphore_signal at_one = {.semaphore = one, .value = 1};
    const acu_semaphore_signal at_two[] = {{.semaphore = two, .value = 2}};
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_semaphore_wait(graph, NULL, 0, NULL, 0, &wait)); /* for nothing yet */
    OK(acu_graph_add_semaphore_signal(graph, &wait, 1, &at_one, 1, &signal));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_node_set_semaphore_signal(signal, at_two, 1));
    OK(acu_exec_launch(exec, stream)); /* is as it was */
    OK(acu_stream_synchronize(stream));
    assert_true(acu_sim_semaphore_value(a) == 1 && acu_sim_semaphore_value(b) == 0);
    OK(acu_exec_set_semaphore_signal(exec, signal, at_two, 1));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_true(acu_sim_semaphore_value(a) == 1 && acu_sim_semaphore_value(b) == 2);
    OK(acu_exec_set_semaphore_signal(exec, signal,
                                     &(acu_semaphore_signal){.semaphore = one, .value = 5}, 1));
    OK(acu_external_semaphore_release(one)); /* the exec keeps it */
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(a), 5);
    FAILS(acu_exec_set_semaphore_wait(exec, signal,
                                      &(acu_semaphore_wait){.semaphore = two, .value = 5}, 1),
          1, "cudaGraphExecExternalSemaphoresWaitNode");
    FAILS(acu_node_set_semaphore_wait(signal, NULL, 1), ACU_ERROR_ARGUMENT, "'waits' is NULL");
    OK(acu_exec_release(exec));
    OK(acu_external_semaphore_release(two)); /* the node keeps it */
    OK(acu_graph_instantiate(graph, NULL, &exec));
    acu_sim_semaphore_signal(b, 1);
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(b), 2);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    acu_sim_semaphore_destroy(a);
    acu_sim_semaphore_destroy(b);
}

static void waits_of_nodes_change(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_node wait;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    acu_semaphore_wait first = {.semaphore = semaphore, .value = 1};
    acu_semaphore_wait later = {.semaphore = semaphore, .value = 2};
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_semaphore_wait(graph, NULL, 0, &later, 1, &wait));
    OK(acu_node_set_semaphore_wait(wait, &first, 1));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    acu_sim_semaphore_signal(other, 1);
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_set_semaphore_wait(exec, wait, &later, 1));
    OK(acu_exec_launch(exec, stream));
    still_waits(stream);
    acu_sim_semaphore_signal(other, 2);
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

/* Imports and releases break no capture, although CUDA regards them as unsafe in one. */
static void in_a_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_external_memory *memory = imported();
    acu_buffer *buffer = NULL;
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, 1, &buffer));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
    memory = imported();
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
    OK(acu_external_memory_release(memory));
}

static void semaphores_in_a_capture(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    ONLY_WITH_SEMAPHORES();
    acu_sim_semaphore *other = acu_sim_semaphore_create(1);
    acu_external_semaphore *semaphore = semaphore_of(other, true);
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_external_semaphore_release(semaphore));
    semaphore = semaphore_of(other, true);
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
    OK(acu_external_semaphore_release(semaphore));
    acu_sim_semaphore_destroy(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXTERNAL_TEST(data_goes_both_ways),
        EXTERNAL_TEST(a_buffer_keeps_the_memory),
        EXTERNAL_TEST(kernels_use_the_memory),
        EXTERNAL_TEST(what_memory_is),
        EXTERNAL_TEST(wrapped_and_adopted_memory),
        EXTERNAL_TEST(parts_outside_of_the_memory),
        EXTERNAL_TEST(memory_of_another_device),
        EXTERNAL_TEST(graphs_keep_the_memory),
        EXTERNAL_TEST(images_are_mapped),
        EXTERNAL_TEST(wrong_images),
        EXTERNAL_TEST(a_refused_descriptor_stays_the_callers),
        EXTERNAL_TEST(descriptors_that_are_none),
        EXTERNAL_TEST(types_of_other_systems),
        EXTERNAL_TEST(names_of_what_has_none),
        EXTERNAL_TEST(nvsci),
        EXTERNAL_TEST(more_bytes_than_there_are),
        EXTERNAL_TEST(parts_that_are_not_aligned),
        EXTERNAL_TEST(parts_of_dedicated_memory),
        EXTERNAL_TEST(a_timeline_goes_both_ways),
        EXTERNAL_TEST(a_binary_signal_is_for_one_wait),
        EXTERNAL_TEST(several_at_once),
        EXTERNAL_TEST(wrapped_and_adopted_semaphores),
        EXTERNAL_TEST(a_released_semaphore_lives_until_its_work_is_done),
        EXTERNAL_TEST(many_streams_come_and_go),
        EXTERNAL_TEST(default_streams_and_other_devices),
        EXTERNAL_TEST(wrong_lists),
        EXTERNAL_TEST(a_use_around_orders_other_streams),
        EXTERNAL_TEST(nodes_keep_their_semaphores),
        EXTERNAL_TEST(captured_work_keeps_its_semaphores),
        EXTERNAL_TEST(nodes_and_execs_change),
        EXTERNAL_TEST(waits_of_nodes_change),
        EXTERNAL_TEST(in_a_capture),
        EXTERNAL_TEST(semaphores_in_a_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
