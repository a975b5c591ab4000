/* DLPack: buffers exported as tensors, and tensors imported as buffers. */
#include "../dlpack_abi.h"
#include "kernels.h"

static acu_stream *stream;

static int begin_dlpack(void **state) {
    int code = begin_kernels(state);
    stream = stream_on(0);
    return code;
}

static int end_dlpack(void **state) {
    OK(acu_stream_release(stream));
    return nothing_left(state);
}

#define DLPACK_TEST(function) SAFE_TEST(function, begin_dlpack, end_dlpack)

static acu_buffer *made(acu_memory memory, acu_dtype dtype, size_t count) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create_with(stream, dtype, count, &(acu_buffer_options){.memory = memory},
                              &buffer));
    return buffer;
}

static DLManagedTensorVersioned *exported(acu_buffer *buffer, const acu_tensor_layout *layout) {
    DLManagedTensorVersioned *tensor = NULL;
    OK(acu_buffer_export_dlpack(buffer, layout, NULL, &tensor));
    return tensor;
}

/* ---- a framework's tensors, whose deleters count ---- */

static int deleted;

static void count_deleted(DLManagedTensorVersioned *tensor) {
    assert_ptr_equal(tensor->manager_ctx, &deleted);
    deleted++;
}

static void count_deleted_unversioned(DLManagedTensor *tensor) {
    assert_ptr_equal(tensor->manager_ctx, &deleted);
    deleted++;
}

static int64_t shape[20], strides[20];
static DLManagedTensorVersioned theirs;
static float cells[24];

/* Returns their tensor of 2 x 3 floats of the host. */
static DLManagedTensorVersioned *their_tensor(void) {
    deleted = 0;
    shape[0] = 2;
    shape[1] = 3;
    for (size_t i = 0; i < COUNT(cells); i++)
        cells[i] = (float)i;
    theirs = (DLManagedTensorVersioned){
        .version = {1, 0},
        .manager_ctx = &deleted,
        .deleter = count_deleted,
        .dl_tensor =
            {.data = cells, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape},
    };
    return &theirs;
}

static acu_buffer *imported(DLManagedTensorVersioned *tensor, acu_dlpack_info *info) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_import_dlpack(stream, tensor, info, &buffer));
    return buffer;
}

/* ---- exporting ---- */

static void a_tensor_is_the_buffer(void **state) {
    (void)state;
    acu_buffer *buffer = made(ACU_MEMORY_DEVICE, ACU_F32, 5);
    DLManagedTensorVersioned *tensor = exported(buffer, NULL);
    const DLTensor *t = &tensor->dl_tensor;
    assert_true(tensor->version.major == 1 && tensor->flags == 0);
    assert_ptr_equal(t->data, acu_buffer_raw(buffer));
    assert_true(t->device.device_type == kDLCUDA && t->device.device_id == 0);
    assert_true(t->ndim == 1 && t->shape[0] == 5 && t->strides[0] == 1 && t->byte_offset == 0);
    assert_true(t->dtype.code == 2 && t->dtype.bits == 32 && t->dtype.lanes == 1);
    tensor->deleter(tensor);
    OK(acu_buffer_release(buffer));
}

static void a_tensor_keeps_its_buffer(void **state) {
    (void)state;
    acu_buffer *buffer = made(ACU_MEMORY_MANAGED, ACU_I32, 4), *slice = NULL;
    OK(acu_buffer_slice(buffer, 2, 2, &slice));
    DLManagedTensorVersioned *tensor = exported(slice, NULL);
    OK(acu_buffer_release(slice));
    OK(acu_buffer_release(buffer));
    ((int32_t *)tensor->dl_tensor.data)[1] = 7; /* still there */
    if (is_simulated())
        assert_true(acu_sim_leaks(0) > 0);
    tensor->deleter(tensor);
}

static void layouts_are_exported(void **state) {
    (void)state;
    acu_buffer *buffer = made(ACU_MEMORY_PINNED, ACU_I16, 24);
    const char *at = acu_buffer_raw(buffer);
    DLManagedTensorVersioned *t =
        exported(buffer, &(acu_tensor_layout){.rank = 3, .shape = {2, 3, 4}});
    assert_true(t->dl_tensor.strides[0] == 12 && t->dl_tensor.strides[1] == 4 &&
                t->dl_tensor.strides[2] == 1 && t->dl_tensor.shape[1] == 3);
    t->deleter(t);
    t = exported(buffer,
                 &(acu_tensor_layout){
                     .rank = 2, .strided = true, .shape = {4, 3}, .strides = {-6, 2}, .at = 18});
    assert_ptr_equal(t->dl_tensor.data, at + 36);
    assert_true(t->dl_tensor.strides[0] == -6 && t->dl_tensor.strides[1] == 2);
    t->deleter(t);
    t = exported(buffer, &(acu_tensor_layout){.at = 23}); /* one element */
    assert_true(t->dl_tensor.ndim == 0 && t->dl_tensor.data == at + 46);
    t->deleter(t);
    t = exported(buffer, &(acu_tensor_layout){.rank = 2, .shape = {0, 5}, .at = 24});
    assert_true(t->dl_tensor.shape[0] == 0 && t->dl_tensor.shape[1] == 5);
    t->deleter(t);
    t = exported(buffer, &(acu_tensor_layout){.rank = 1, .strided = true, .shape = {1000}});
    assert_int_equal(t->dl_tensor.strides[0], 0); /* one element is repeated */
    t->deleter(t);
    OK(acu_buffer_release(buffer));
}

static void layouts_that_do_not_fit(void **state) {
    (void)state;
    acu_buffer *buffer = made(ACU_MEMORY_PINNED, ACU_I16, 24);
    DLManagedTensorVersioned *t = NULL;
    const struct {
        acu_tensor_layout layout;
        int code;
        const char *text;
    } wrong[] = {
        {{.rank = 17}, ACU_ERROR_ARGUMENT, "layout.rank is 17"},
        {{.at = 24}, ACU_ERROR_RANGE, "outside of the buffer"},
        {{.at = SIZE_MAX}, ACU_ERROR_RANGE, "outside of the buffer"},
        {{.rank = 1, .shape = {0}, .at = 25}, ACU_ERROR_RANGE, "outside of the buffer"},
        {{.rank = 2, .shape = {5, 5}}, ACU_ERROR_RANGE, "outside of the buffer"},
        {{.rank = 1, .strided = true, .shape = {2}, .strides = {-1}},
         ACU_ERROR_RANGE,
         "outside of the buffer"},
        {{.rank = 1, .strided = true, .shape = {3}, .strides = {INT64_MAX}},
         ACU_ERROR_OVERFLOW,
         "addressed"},
        {{.rank = 2, .shape = {SIZE_MAX, 2}}, ACU_ERROR_OVERFLOW, "addressed"},
        {{.rank = 2, .shape = {(size_t)1 << 40, (size_t)1 << 40}}, ACU_ERROR_OVERFLOW, "addressed"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++)
        FAILS(acu_buffer_export_dlpack(buffer, &wrong[i].layout, NULL, &t), wrong[i].code,
              wrong[i].text);
    assert_null(t);
    OK(acu_buffer_release(buffer));
}

/* What each kind of memory can be exported as: bits are DLPack's numbers of devices. */
static void each_memory_has_its_devices(void **state) {
    (void)state;
    static const struct {
        acu_memory memory;
        acu_dlpack_device usual;
        unsigned any;
    } all[] = {
        {ACU_MEMORY_POOL, ACU_DLPACK_CUDA, 1u << 2},
        {ACU_MEMORY_DEVICE, ACU_DLPACK_CUDA, 1u << 2},
        {ACU_MEMORY_PINNED, ACU_DLPACK_CUDA_HOST, 1u << 1 | 1u << 3},
        {ACU_MEMORY_MAPPED, ACU_DLPACK_CUDA_HOST, 1u << 1 | 1u << 2 | 1u << 3},
        {ACU_MEMORY_MANAGED, ACU_DLPACK_CUDA_MANAGED, 1u << 1 | 1u << 2 | 1u << 13},
    };
    static const acu_dlpack_device devices[] = {ACU_DLPACK_CPU, ACU_DLPACK_CUDA,
                                                ACU_DLPACK_CUDA_HOST, ACU_DLPACK_CUDA_MANAGED};
    for (size_t i = 0; i < COUNT(all); i++) {
        acu_buffer *buffer = made(all[i].memory, ACU_F64, 3);
        acu_dlpack_device device = ACU_DLPACK_DEFAULT;
        int id = 9;
        OK(acu_buffer_get_dlpack_device(buffer, &device, &id));
        assert_true(device == all[i].usual && id == 0);
        for (size_t d = 0; d < COUNT(devices); d++) {
            DLManagedTensorVersioned *t = NULL;
            const acu_dlpack_options options = {.device = devices[d]};
            if (all[i].any >> (unsigned)devices[d] & 1u) {
                OK(acu_buffer_export_dlpack(buffer, NULL, &options, &t));
                assert_int_equal(t->dl_tensor.device.device_type, devices[d]);
                t->deleter(t);
            } else
                FAILS(acu_buffer_export_dlpack(buffer, NULL, &options, &t), ACU_ERROR_MEMORY_KIND,
                      "cannot be exported as device");
        }
        OK(acu_buffer_release(buffer));
    }
}

static void what_cannot_be_exported(void **state) {
    (void)state;
    acu_buffer *buffer = made(ACU_MEMORY_POOL, ACU_BYTES(70000), 3), *view = NULL;
    DLManagedTensorVersioned *t = NULL;
    DLManagedTensor *old = NULL;
    FAILS(acu_buffer_export_dlpack(buffer, NULL, NULL, &t), ACU_ERROR_DTYPE, "bytes(70000)");
    OK(acu_buffer_reinterpret(buffer, ACU_U8, &view));
    FAILS(acu_buffer_export_dlpack(view, NULL, &(acu_dlpack_options){.flags = 8}, &t),
          ACU_ERROR_ARGUMENT, "no flags 0x8");
    FAILS(acu_buffer_export_dlpack(view, NULL, &(acu_dlpack_options){.device = 10}, &t),
          ACU_ERROR_ARGUMENT, "options.device is 10");
    FAILS(acu_buffer_export_dlpack_unversioned(
              view, NULL, &(acu_dlpack_options){.flags = ACU_DLPACK_READ_ONLY}, &old),
          ACU_ERROR_ARGUMENT, "has no flags");
    OK(acu_buffer_export_dlpack(
        view, NULL, &(acu_dlpack_options){.flags = ACU_DLPACK_READ_ONLY + ACU_DLPACK_COPIED}, &t));
    assert_int_equal(t->flags, 3);
    t->deleter(t);
    OK(acu_buffer_release(view));
    OK(acu_buffer_release(buffer));
}

static void memory_of_a_graph_is_not_exported(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_node node;
    acu_buffer *buffer = NULL;
    DLManagedTensorVersioned *t = NULL;
    acu_dlpack_device device;
    int id;
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_F32, 4, &buffer, &node));
    FAILS(acu_buffer_export_dlpack(buffer, NULL, NULL, &t), ACU_ERROR_MEMORY_KIND,
          "memory of a graph cannot be exported");
    FAILS(acu_buffer_get_dlpack_device(buffer, &device, &id), ACU_ERROR_MEMORY_KIND,
          "memory of a graph cannot be exported");
    OK(acu_buffer_release(buffer));
    OK(acu_graph_release(graph));
}

/* ---- importing ---- */

static void a_buffer_is_the_tensor(void **state) {
    (void)state;
    acu_dlpack_info info;
    acu_buffer *buffer = imported(their_tensor(), &info), *slice = NULL, *there = NULL;
    float back[6] = {0};
    assert_ptr_equal(acu_buffer_raw(buffer), cells);
    assert_true(acu_buffer_count(buffer) == 6 && acu_buffer_dtype(buffer) == ACU_F32 &&
                acu_buffer_memory(buffer) == ACU_MEMORY_HOST);
    assert_true(info.device == ACU_DLPACK_CPU && info.flags == 0 && !info.layout.strided &&
                info.layout.rank == 2 && info.layout.strides[0] == 3 && info.layout.at == 0);
    OK(acu_buffer_create(stream, ACU_F32, 6, &there));
    OK(acu_buffer_copy(there, buffer, NULL));
    OK(acu_buffer_read(there, back, 6));
    assert_memory_equal(back, cells, sizeof back);
    OK(acu_buffer_slice(buffer, 1, 2, &slice));
    OK(acu_buffer_release(buffer));
    assert_int_equal(deleted, 0);
    OK(acu_buffer_release(slice));
    assert_int_equal(deleted, 1);
    OK(acu_buffer_release(there));
}

static void buffers_make_the_round(void **state) {
    (void)state;
    static const acu_memory memories[] = {ACU_MEMORY_POOL, ACU_MEMORY_PINNED, ACU_MEMORY_MANAGED};
    static const acu_memory back[] = {ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED, ACU_MEMORY_MANAGED};
    const float numbers[] = {1, 2, 3, 4};
    for (size_t i = 0; i < COUNT(memories); i++) {
        acu_dlpack_info info;
        float read[4] = {0};
        acu_buffer *buffer = made(memories[i], ACU_F32, 4);
        OK(acu_buffer_write(buffer, numbers, 4));
        acu_buffer *again =
            imported(exported(buffer, &(acu_tensor_layout){.rank = 2, .shape = {2, 2}}), &info);
        OK(acu_buffer_release(buffer));
        assert_true(acu_buffer_memory(again) == back[i] && info.layout.shape[1] == 2);
        OK(acu_buffer_read(again, read, 4));
        assert_memory_equal(read, numbers, sizeof read);
        OK(acu_buffer_release(again));
    }
}

static void every_type_makes_the_round(void **state) {
    (void)state;
    static const acu_dtype types[] = {
        ACU_F64,  ACU_F32, ACU_F16,  ACU_BF16,      ACU_F8_E4M3,      ACU_F8_E5M2, ACU_I8,
        ACU_I16,  ACU_I32, ACU_I64,  ACU_U8,        ACU_U16,          ACU_U32,     ACU_U64,
        ACU_BOOL, ACU_C64, ACU_C128, ACU_BYTES(12), ACU_BYTES(65535),
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        acu_buffer *buffer = made(ACU_MEMORY_PINNED, types[i], 2);
        acu_buffer *again = imported(exported(buffer, NULL), NULL);
        assert_int_equal(acu_buffer_dtype(again), types[i]);
        OK(acu_buffer_release(again));
        OK(acu_buffer_release(buffer));
    }
}

static void types_have_dlpacks_numbers(void **state) {
    (void)state;
    static const struct {
        acu_dtype dtype;
        DLDataType theirs;
    } types[] = {
        {ACU_BF16, {4, 16, 1}},    {ACU_F8_E4M3, {10, 8, 1}}, {ACU_F8_E5M2, {12, 8, 1}},
        {ACU_I64, {0, 64, 1}},     {ACU_BOOL, {6, 8, 1}},     {ACU_C64, {5, 64, 1}},
        {ACU_BYTES(3), {1, 8, 3}}, {ACU_U16, {1, 16, 1}},     {ACU_F16, {2, 16, 1}},
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        acu_buffer *buffer = made(ACU_MEMORY_PINNED, types[i].dtype, 2);
        DLManagedTensorVersioned *t = exported(buffer, NULL);
        assert_memory_equal(&t->dl_tensor.dtype, &types[i].theirs, sizeof types[i].theirs);
        t->deleter(t);
        OK(acu_buffer_release(buffer));
    }
    their_tensor()->dl_tensor.dtype.lanes = 2;
    acu_buffer *vectors = imported(&theirs, NULL);
    assert_int_equal(acu_buffer_dtype(vectors), ACU_BYTES(8));
    OK(acu_buffer_release(vectors));
}

/* The import fails, and has called the deleter. */
#define REFUSES(info, code, text)                                                                  \
    do {                                                                                           \
        acu_buffer *refused = NULL;                                                                \
        FAILS(acu_buffer_import_dlpack(stream, &theirs, info, &refused), code, text);              \
        assert_null(refused);                                                                      \
        assert_int_equal(deleted, 1);                                                              \
    } while (0)

static void types_that_are_refused(void **state) {
    (void)state;
    static const struct {
        DLDataType theirs;
        const char *text;
    } wrong[] = {
        {{0, 4, 1}, "have 4 bits (int, 0)"},
        {{17, 4, 2}, "have 4 bits (float4_e2m1fn, 17)"},
        {{15, 6, 1}, "have 6 bits (float6_e2m3fn, 15)"},
        {{9, 8, 1}, "float8_e4m3b11fnuz (9) of 8 bits"},
        {{3, 64, 1}, "handle (3) of 64 bits"},
        {{2, 128, 1}, "float (2) of 128 bits"},
        {{2, 32, 0}, "0 lanes"},
        {{200, 8, 1}, "an unknown code (200)"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        their_tensor()->dl_tensor.dtype = wrong[i].theirs;
        REFUSES(NULL, ACU_ERROR_DTYPE, wrong[i].text);
    }
}

static void devices_that_are_refused(void **state) {
    (void)state;
    static const struct {
        int type;
        const char *text;
    } wrong[] = {{10, "ROCm (device type 10)"},
                 {8, "Metal"},
                 {12, "an unknown one (device type 12)"},
                 {0, "device type 0"},
                 {-1, "device type -1"},
                 {99, "device type 99"}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        their_tensor()->dl_tensor.device.device_type = (DLDeviceType)wrong[i].type;
        REFUSES(NULL, ACU_ERROR_MEMORY_KIND, wrong[i].text);
    }
    their_tensor()->dl_tensor.device = (DLDevice){kDLCUDA, 1};
    REFUSES(NULL, ACU_ERROR_DEVICE, "the tensor is on device 1");
}

static void other_versions_are_refused(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    for (uint32_t major = 0; major < 3; major += 2) {
        their_tensor()->version = (DLPackVersion){major, 7};
        memset(&theirs.dl_tensor, 0xff, sizeof theirs.dl_tensor); /* nothing of it is read */
        REFUSES(NULL, ACU_NOT_SUPPORTED, major ? "DLPack 2.7" : "DLPack 0.7");
    }
    their_tensor()->version.minor = 999; /* which adds nothing but numbers */
    OK(acu_buffer_import_dlpack(stream, &theirs, NULL, &buffer));
    OK(acu_buffer_release(buffer));
}

static void tensors_that_are_none(void **state) {
    (void)state;
    acu_dlpack_info info;
    their_tensor()->dl_tensor.data = NULL;
    REFUSES(&info, ACU_ERROR_ARGUMENT, "its data is NULL");
    their_tensor()->dl_tensor.ndim = -1;
    REFUSES(&info, ACU_ERROR_ARGUMENT, "the tensor has -1 dimensions");
    their_tensor()->dl_tensor.ndim = 17;
    REFUSES(&info, ACU_ERROR_ARGUMENT, "the tensor has 17 dimensions");
    their_tensor()->dl_tensor.shape = NULL;
    REFUSES(&info, ACU_ERROR_ARGUMENT, "no shape");
    (void)their_tensor();
    shape[1] = -3;
    REFUSES(&info, ACU_ERROR_ARGUMENT, "shape[1] is -3");
    (void)their_tensor();
    shape[0] = shape[1] = INT64_MAX / 2;
    REFUSES(&info, ACU_ERROR_OVERFLOW, "addressed");
    their_tensor()->dl_tensor.strides = strides;
    strides[0] = INT64_MIN;
    strides[1] = INT64_MIN;
    REFUSES(&info, ACU_ERROR_OVERFLOW, "addressed");
    their_tensor()->dl_tensor.strides = strides;
    strides[0] = INT64_MIN; /* the lowest element is as far below as can be told */
    shape[0] = 2;
    REFUSES(&info, ACU_ERROR_OVERFLOW, "addressed");
    (void)their_tensor();
    shape[0] = INT64_MAX / 8;
    REFUSES(&info, ACU_ERROR_OVERFLOW, "addressed");
    their_tensor()->dl_tensor.byte_offset = UINT64_MAX;
    REFUSES(&info, ACU_ERROR_OVERFLOW, "addressed");
    their_tensor()->dl_tensor.byte_offset = 2;
    REFUSES(&info, ACU_ERROR_DTYPE, "not aligned");
    assert_int_equal(info.layout.rank, 0); /* what fails says nothing */
}

static void a_call_without_its_handles_deletes_the_tensor(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    FAILS(acu_buffer_import_dlpack(stream, NULL, NULL, &buffer), ACU_ERROR_ARGUMENT,
          "'tensor' is NULL");
    FAILS(acu_buffer_import_dlpack(stream, their_tensor(), NULL, NULL), ACU_ERROR_ARGUMENT,
          "'buffer' is NULL");
    assert_int_equal(deleted, 1);
    FAILS(acu_buffer_import_dlpack(NULL, their_tensor(), NULL, &buffer), ACU_ERROR_ARGUMENT,
          "the stream is NULL");
    assert_int_equal(deleted, 1);
    their_tensor()->deleter = NULL; /* a tensor that lives for ever */
    OK(acu_buffer_import_dlpack(stream, &theirs, NULL, &buffer));
    OK(acu_buffer_release(buffer));
    assert_int_equal(deleted, 0);
}

/* Rows from the last to the first, of every other element, which no other layout joins. */
static void strided_tensors_have_a_layout(void **state) {
    (void)state;
    acu_dlpack_info info;
    float back[6] = {0};
    static const float expected[] = {12, 14, 16, 6, 8, 10};
    their_tensor()->dl_tensor.strides = strides;
    theirs.dl_tensor.byte_offset = 12 * sizeof *cells;
    strides[0] = -6;
    strides[1] = 2;
    REFUSES(NULL, ACU_ERROR_ARGUMENT, "'info' is NULL, but the tensor is not densely packed");
    deleted = 0;
    acu_buffer *buffer = imported(&theirs, &info), *dense = made(ACU_MEMORY_POOL, ACU_F32, 6);
    assert_true(info.layout.strided && info.layout.at == 6 && info.layout.strides[0] == -6);
    assert_true(acu_buffer_count(buffer) == 11 && acu_buffer_raw(buffer) == cells + 6);
    OK(acu_buffer_copy_strided(dense, buffer,
                               &(acu_strides){.rank = info.layout.rank,
                                              .shape = info.layout.shape,
                                              .from = info.layout.strides,
                                              .from_at = info.layout.at},
                               NULL));
    OK(acu_buffer_read(dense, back, 6));
    assert_memory_equal(back, expected, sizeof back);
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(dense));
    assert_int_equal(deleted, 1);
}

/* The step of a dimension that has one element, or of no elements, does not matter. */
static void what_is_densely_packed(void **state) {
    (void)state;
    their_tensor()->dl_tensor.strides = strides;
    shape[0] = 1;
    strides[0] = -77;
    strides[1] = 1;
    acu_buffer *buffer = imported(&theirs, NULL);
    assert_int_equal(acu_buffer_count(buffer), 3);
    OK(acu_buffer_release(buffer));
    their_tensor()->dl_tensor.ndim = 0;
    theirs.dl_tensor.shape = NULL;
    buffer = imported(&theirs, NULL);
    assert_int_equal(acu_buffer_count(buffer), 1);
    OK(acu_buffer_release(buffer));
    their_tensor()->dl_tensor.data = NULL;
    theirs.dl_tensor.strides = strides;
    shape[0] = 0;
    buffer = imported(&theirs, NULL);
    assert_int_equal(acu_buffer_count(buffer), 0);
    assert_int_equal(deleted, 0);
    OK(acu_buffer_release(buffer));
    assert_int_equal(deleted, 1);
}

static void flags_are_told(void **state) {
    (void)state;
    acu_dlpack_info info;
    their_tensor()->flags = 3;
    REFUSES(NULL, ACU_ERROR_ARGUMENT, "'info' is NULL, but the tensor must not be written to");
    their_tensor()->flags = 0xff03; /* those that are unknown are not told */
    acu_buffer *buffer = imported(&theirs, &info);
    assert_int_equal(info.flags, ACU_DLPACK_READ_ONLY + ACU_DLPACK_COPIED);
    OK(acu_buffer_release(buffer));
}

static void tensors_without_a_version(void **state) {
    (void)state;
    acu_dlpack_info info;
    acu_buffer *buffer = made(ACU_MEMORY_PINNED, ACU_F32, 6), *again = NULL;
    DLManagedTensor *tensor = NULL;
    OK(acu_buffer_export_dlpack_unversioned(
        buffer, &(acu_tensor_layout){.rank = 2, .shape = {3, 2}}, NULL, &tensor));
    assert_true(tensor->dl_tensor.shape[0] == 3 && tensor->dl_tensor.strides[0] == 2);
    OK(acu_buffer_import_dlpack_unversioned(stream, tensor, &info, &again));
    assert_ptr_equal(acu_buffer_raw(again), acu_buffer_raw(buffer));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(again));
    their_tensor()->dl_tensor.ndim = -1;
    DLManagedTensor old = {theirs.dl_tensor, &deleted, count_deleted_unversioned};
    FAILS(acu_buffer_import_dlpack_unversioned(stream, &old, NULL, &again), ACU_ERROR_ARGUMENT,
          "-1 dimensions");
    assert_int_equal(deleted, 1);
    OK(acu_buffer_export_dlpack_unversioned(buffer = made(ACU_MEMORY_POOL, ACU_U8, 1), NULL, NULL,
                                            &tensor));
    OK(acu_buffer_release(buffer));
    tensor->deleter(tensor);
}

/* ---- order ---- */

static void an_export_to_the_host_waits(void **state) {
    (void)state;
    acu_buffer *buffer = made(ACU_MEMORY_PINNED, ACU_I32, 1), *zero = numbers_on(stream, 1);
    const int32_t one = 1;
    acu_buffer *from = made(ACU_MEMORY_POOL, ACU_I32, 1);
    OK(acu_buffer_fill(from, &one));
    OK(acu_stream_call_function(stream, work_50_ms, NULL));
    OK(acu_buffer_copy(buffer, from, NULL));
    DLManagedTensorVersioned *tensor = exported(buffer, NULL);
    assert_int_equal(*(int32_t *)tensor->dl_tensor.data, 1);
    tensor->deleter(tensor);
    OK(acu_buffer_release(from));
    OK(acu_buffer_release(zero));
    OK(acu_buffer_release(buffer));
}

static void importers_wait_for_the_buffer(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("work is blocked");
    blocker work;
    const int32_t one = 1;
    acu_stream *other = NULL;
    acu_buffer *buffer = made(ACU_MEMORY_POOL, ACU_I32, 1);
    OK(acu_stream_create(0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING}, &other));
    block_stream(&work, stream);
    OK(acu_buffer_fill(buffer, &one));
    OK(acu_buffer_join_dlpack(buffer, -1)); /* nobody waits */
    OK(acu_stream_query(other));
    OK(acu_buffer_join_dlpack(buffer, acu_stream_dlpack(other)));
    still_waits(other);
    unblock_stream(&work);
    OK(acu_stream_synchronize(other));
    OK(acu_buffer_join_dlpack(buffer, 1));
    OK(acu_buffer_join_dlpack(buffer, 2));
    OK(acu_stream_release(other));
    OK(acu_buffer_release(buffer));
}

static void the_stream_waits_for_exporters(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("work is blocked");
    blocker work;
    acu_stream *other = NULL;
    OK(acu_stream_create(0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING}, &other));
    block_stream(&work, other);
    OK(acu_stream_wait_dlpack(stream, -1));
    OK(acu_stream_query(stream));
    OK(acu_stream_wait_dlpack(stream, acu_stream_dlpack(other)));
    still_waits(stream);
    unblock_stream(&work);
    OK(acu_stream_synchronize(stream));
    OK(acu_stream_wait_dlpack(stream, 1));
    OK(acu_stream_wait_dlpack(stream, 2));
    OK(acu_stream_release(other));
}

static void numbers_of_streams(void **state) {
    (void)state;
    acu_stream *legacy = NULL, *own = NULL;
    acu_buffer *buffer = made(ACU_MEMORY_POOL, ACU_I32, 1);
    OK(acu_stream_get_legacy(0, &legacy));
    OK(acu_stream_get_per_thread(0, &own));
    assert_true(acu_stream_dlpack(legacy) == 1 && acu_stream_dlpack(own) == 2);
    assert_true(acu_stream_dlpack(stream) == (intptr_t)acu_stream_raw(stream));
    assert_true(acu_stream_dlpack(NULL) == 0);
    FAILS(acu_buffer_join_dlpack(buffer, 0), ACU_ERROR_ARGUMENT, "0 is no stream of DLPack");
    FAILS(acu_stream_wait_dlpack(stream, -2), ACU_ERROR_ARGUMENT, "-2 is no stream of DLPack");
    OK(acu_stream_release(legacy));
    OK(acu_stream_release(own));
    OK(acu_buffer_release(buffer));
}

static void a_captured_stream_is_not_joined(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_stream *other = stream_on(0);
    acu_buffer *buffer = made(ACU_MEMORY_POOL, ACU_I32, 1);
    const intptr_t number = acu_stream_dlpack(other);
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_stream_begin_capture(other, NULL));
    FAILS(acu_buffer_join_dlpack(buffer, number), ACU_ERROR_CAPTURE, "is being captured");
    OK(acu_stream_end_capture(other, &graph));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(other));
}

/* ---- when the deleter runs ---- */

/* The release waits for the work, and then calls the deleter. */
static void the_deleter_runs_after_all_uses(void **state) {
    (void)state;
    acu_stream *other = stream_on(0);
    acu_buffer *buffer = imported(their_tensor(), NULL), *there = made(ACU_MEMORY_POOL, ACU_F32, 6);
    const float number = 5;
    OK(acu_buffer_fill(there, &number));
    OK(acu_stream_call_function(other, work_50_ms, NULL));
    OK(acu_buffer_copy(buffer, there, other));
    assert_int_equal(deleted, 0);
    OK(acu_buffer_release(buffer));
    assert_true(deleted == 1 && cells[5] == 5);
    OK(acu_buffer_release(there));
    OK(acu_stream_release(other));
}

static void a_graph_keeps_a_tensor(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *buffer = imported(their_tensor(), NULL), *there = made(ACU_MEMORY_POOL, ACU_F32, 6);
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_buffer_copy(there, buffer, NULL));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_end_capture(stream, &graph));
    assert_int_equal(deleted, 0);
    OK(acu_graph_release(graph));
    assert_int_equal(deleted, 1);
    OK(acu_buffer_release(there));
}

/* While anything is captured, the deleter, which may do anything, waits. */
static void a_capture_delays_the_deleter(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_stream *other = stream_on(0);
    acu_buffer *buffer = imported(their_tensor(), NULL);
    OK(acu_stream_begin_capture(other, NULL));
    OK(acu_buffer_release(buffer));
    assert_int_equal(deleted, 0);
    OK(acu_stream_end_capture(other, &graph));
    OK(acu_graph_release(graph));
    OK(acu_stream_synchronize(stream));
    assert_int_equal(deleted, 1);
    OK(acu_stream_release(other));
}

static void delete_exported(void *data) {
    DLManagedTensorVersioned *tensor = data;
    tensor->deleter(tensor);
}

static void exports_end_in_callbacks_and_captures(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *buffer = made(ACU_MEMORY_DEVICE, ACU_F32, 4);
    OK(acu_stream_call(stream, (acu_closure){delete_exported, exported(buffer, NULL), NULL}));
    OK(acu_stream_synchronize(stream));
    DLManagedTensorVersioned *tensor = exported(buffer, NULL);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_call(stream, (acu_closure){delete_exported, tensor, NULL})); /* the last owner */
    OK(acu_stream_synchronize(stream));
    buffer = made(ACU_MEMORY_DEVICE, ACU_F32, 4);
    tensor = exported(buffer, NULL);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_begin_capture(stream, NULL));
    tensor->deleter(tensor);
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
    OK(acu_stream_synchronize(stream));
}

/* A deleter has nobody to tell that it failed: the thread's last error stays, too. */
static void a_failing_deleter_is_silent(void **state) {
    (void)state;
    ONLY_SIMULATED("errors are injected");
    acu_error error;
    acu_buffer *buffer = made(ACU_MEMORY_DEVICE, ACU_F32, 4);
    void *memory = acu_buffer_raw(buffer);
    DLManagedTensorVersioned *tensor = exported(buffer, NULL);
    OK(acu_buffer_release(buffer));
    acu_clear_error();
    OK(acu_inject_errors("cudaFree@1:999"));
    tensor->deleter(tensor);
    acu_inject_errors(NULL);
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(acu_release_error(&error), 1);
    assert_int_equal(error.code, 999);
    OK(acu_buffer_adopt(stream, ACU_F32, memory, 4, ACU_MEMORY_DEVICE, &buffer));
    OK(acu_buffer_release(buffer));
}

/* ---- memory of the host that is not pinned ---- */

static void plain_memory_is_wrapped(void **state) {
    (void)state;
    float numbers[4] = {1, 2, 3, 4}, back[4] = {0};
    void *host = NULL;
    acu_buffer *buffer = NULL, *there = made(ACU_MEMORY_POOL, ACU_F32, 4);
    OK(acu_buffer_wrap(stream, ACU_F32, numbers, 4, ACU_MEMORY_HOST, &buffer));
    OK(acu_buffer_get_host(buffer, &host));
    assert_ptr_equal(host, numbers);
    OK(acu_buffer_copy(there, buffer, NULL));
    numbers[0] = 0;
    OK(acu_buffer_copy(buffer, there, NULL));
    OK(acu_buffer_read(buffer, back, 4));
    assert_true(back[0] == 1 && back[3] == 4);
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(there));
    FAILS(acu_buffer_adopt(stream, ACU_F32, numbers, 4, ACU_MEMORY_HOST, &buffer),
          ACU_ERROR_ARGUMENT, "ACU_MEMORY_HOST cannot be adopted");
    FAILS(acu_buffer_create_with(stream, ACU_F32, 4,
                                 &(acu_buffer_options){.memory = ACU_MEMORY_HOST}, &buffer),
          ACU_ERROR_ARGUMENT, "ACU_MEMORY_HOST (8), which cannot be allocated");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DLPACK_TEST(a_tensor_is_the_buffer),
        DLPACK_TEST(a_tensor_keeps_its_buffer),
        DLPACK_TEST(layouts_are_exported),
        DLPACK_TEST(layouts_that_do_not_fit),
        DLPACK_TEST(each_memory_has_its_devices),
        DLPACK_TEST(what_cannot_be_exported),
        DLPACK_TEST(memory_of_a_graph_is_not_exported),
        DLPACK_TEST(a_buffer_is_the_tensor),
        DLPACK_TEST(buffers_make_the_round),
        DLPACK_TEST(every_type_makes_the_round),
        DLPACK_TEST(types_have_dlpacks_numbers),
        DLPACK_TEST(types_that_are_refused),
        DLPACK_TEST(devices_that_are_refused),
        DLPACK_TEST(other_versions_are_refused),
        DLPACK_TEST(tensors_that_are_none),
        DLPACK_TEST(a_call_without_its_handles_deletes_the_tensor),
        DLPACK_TEST(strided_tensors_have_a_layout),
        DLPACK_TEST(what_is_densely_packed),
        DLPACK_TEST(flags_are_told),
        DLPACK_TEST(tensors_without_a_version),
        DLPACK_TEST(an_export_to_the_host_waits),
        DLPACK_TEST(importers_wait_for_the_buffer),
        DLPACK_TEST(the_stream_waits_for_exporters),
        DLPACK_TEST(numbers_of_streams),
        DLPACK_TEST(a_captured_stream_is_not_joined),
        DLPACK_TEST(the_deleter_runs_after_all_uses),
        DLPACK_TEST(a_graph_keeps_a_tensor),
        DLPACK_TEST(a_capture_delays_the_deleter),
        DLPACK_TEST(exports_end_in_callbacks_and_captures),
        DLPACK_TEST(a_failing_deleter_is_silent),
        DLPACK_TEST(plain_memory_is_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
