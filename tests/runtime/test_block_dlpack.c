/* DLPack: blocks exported as tensors, and tensors imported as blocks. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "../dlpack_abi.h"
#include "desk.h"

#include <anycuda/block_dlpack.h>
#include <anycuda/object.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static acu_client *client;

static int begin(void **state) {
    int code = desk_begin(state);
    OK(acu_client_create(acu_place_cpu(), NULL, &client));
    return code;
}

static int end(void **state) {
    (void)state;
    OK(acu_client_release(client));
    assert_int_equal(acu_release_error(NULL), 0);
    return 0;
}

static acu_block *block_of(acu_client *on, uint64_t bytes) {
    acu_block *block = NULL;
    OK(acu_block_create(on, bytes, &block));
    return block;
}

static DLManagedTensorVersioned *exported(acu_block *block, acu_dtype dtype,
                                          const acu_tensor_layout *layout) {
    DLManagedTensorVersioned *tensor = NULL;
    OK(acu_block_export_dlpack(block, dtype, layout, 0, &tensor));
    return tensor;
}

static char *address_of(acu_block *block) {
    void *address = NULL;
    OK(acu_block_get_address(block, &address));
    return address;
}

/* ---- a framework's tensors, whose deleters count ---- */

static int deleted; /* atomic */

static void count_deleted(DLManagedTensorVersioned *tensor) {
    assert_ptr_equal(tensor->manager_ctx, &deleted);
    __atomic_add_fetch(&deleted, 1, __ATOMIC_RELAXED);
}

static void count_deleted_unversioned(DLManagedTensor *tensor) {
    assert_ptr_equal(tensor->manager_ctx, &deleted);
    __atomic_add_fetch(&deleted, 1, __ATOMIC_RELAXED);
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

static acu_block *imported(DLManagedTensorVersioned *tensor, acu_dlpack_info *info) {
    acu_block *block = NULL;
    OK(acu_block_import_dlpack(client, tensor, info, &block));
    return block;
}

/* The import fails, and has called the deleter. */
#define REFUSES(code, words, info)                                                                 \
    do {                                                                                           \
        acu_block *refused = (acu_block *)&deleted;                                                \
        FAILS((code), (words), acu_block_import_dlpack(client, &theirs, (info), &refused));        \
        assert_null(refused);                                                                      \
        assert_int_equal(deleted, 1);                                                              \
        (void)their_tensor();                                                                      \
    } while (0)

/* ---- exporting ---- */

static void a_tensor_is_the_block(void **state) {
    (void)state;
    acu_block *block = block_of(client, 20);
    DLManagedTensorVersioned *tensor = exported(block, ACU_F32, NULL);
    const DLTensor *t = &tensor->dl_tensor;
    assert_true(tensor->version.major == 1 && tensor->flags == 0);
    assert_ptr_equal(t->data, address_of(block));
    assert_true(t->device.device_type == kDLCPU && t->device.device_id == 0);
    assert_true(t->ndim == 1 && t->shape[0] == 5 && t->strides[0] == 1 && t->byte_offset == 0);
    assert_true(t->dtype.code == 2 && t->dtype.bits == 32 && t->dtype.lanes == 1);
    tensor->deleter(tensor);
    OK(acu_block_release(block));
}

static void *delete_tensor(void *tensor) {
    ((DLManagedTensorVersioned *)tensor)->deleter(tensor);
    return NULL;
}

static void a_tensor_keeps_its_block(void **state) {
    (void)state;
    pthread_t thread;
    acu_memory_stats stats;
    acu_block *block = block_of(client, 16);
    DLManagedTensorVersioned *tensor = exported(block, ACU_I32, NULL);
    OK(acu_block_release(block));
    ((int32_t *)tensor->dl_tensor.data)[3] = 7; /* still there */
    OK(acu_client_get_memory(client, &stats));
    assert_int_equal(stats.blocks, 1);
    assert_int_equal(pthread_create(&thread, NULL, delete_tensor, tensor), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(acu_client_get_memory(client, &stats));
    assert_int_equal(stats.blocks, 0);
}

static void layouts_are_exported(void **state) {
    (void)state;
    acu_block *block = block_of(client, 49); /* one byte more than 24 elements */
    const char *at = address_of(block);
    DLManagedTensorVersioned *t =
        exported(block, ACU_I16, &(acu_tensor_layout){.rank = 3, .shape = {2, 3, 4}});
    assert_true(t->dl_tensor.strides[0] == 12 && t->dl_tensor.strides[1] == 4 &&
                t->dl_tensor.strides[2] == 1 && t->dl_tensor.shape[1] == 3);
    t->deleter(t);
    t = exported(block, ACU_I16,
                 &(acu_tensor_layout){
                     .rank = 2, .strided = true, .shape = {4, 3}, .strides = {-6, 2}, .at = 18});
    assert_ptr_equal(t->dl_tensor.data, at + 36);
    assert_true(t->dl_tensor.strides[0] == -6 && t->dl_tensor.strides[1] == 2);
    t->deleter(t);
    t = exported(block, ACU_I16, &(acu_tensor_layout){.at = 23}); /* one element */
    assert_true(t->dl_tensor.ndim == 0 && t->dl_tensor.data == (void *)(at + 46));
    t->deleter(t);
    OK(acu_block_release(block));
}

static void empty_blocks_are_exported(void **state) {
    (void)state;
    acu_block *block = block_of(client, 0);
    DLManagedTensorVersioned *t = exported(block, ACU_F64, NULL);
    assert_true(t->dl_tensor.ndim == 1 && t->dl_tensor.shape[0] == 0 && !t->dl_tensor.data);
    t->deleter(t);
    OK(acu_block_release(block));
}

static void flags_are_exported(void **state) {
    (void)state;
    acu_block *block = block_of(client, 8);
    DLManagedTensorVersioned *t = NULL;
    OK(acu_block_export_dlpack(block, ACU_U8, NULL, ACU_DLPACK_READ_ONLY | ACU_DLPACK_COPIED, &t));
    assert_int_equal(t->flags, 3);
    t->deleter(t);
    FAILS(ACU_ERROR_ARGUMENT, "no flags 0x8", acu_block_export_dlpack(block, ACU_U8, NULL, 8, &t));
    assert_null(t);
    OK(acu_block_release(block));
}

static void unversioned_tensors_are_exported(void **state) {
    (void)state;
    acu_block *block = block_of(client, 12);
    DLManagedTensor *t = NULL;
    OK(acu_block_export_dlpack_unversioned(block, ACU_F32, NULL, &t));
    assert_ptr_equal(t->dl_tensor.data, address_of(block));
    assert_true(t->dl_tensor.shape[0] == 3 && t->dl_tensor.device.device_type == kDLCPU);
    OK(acu_block_release(block));
    t->deleter(t);
}

static void write_late(const acu_part *part, void *const *args) {
    (void)part;
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    *(int32_t *)args[0] = 42;
}

/* The host may read the tensor at once, whichever client wrote to the block. */
static void an_export_waits_for_all_uses(void **state) {
    (void)state;
    acu_client *other = NULL;
    acu_program *program = NULL;
    OK(acu_client_create(acu_place_cpu(), NULL, &other));
    OK(acu_program_create(&(acu_program_source){.name = "late", .cpu = write_late}, &program));
    for (int i = 0; i < 2; i++) {
        acu_block *block = block_of(client, 4);
        OK(acu_run(i == 0 ? client : other, program, acu_items(1), acu_out_block(block)));
        DLManagedTensorVersioned *t = exported(block, ACU_I32, NULL);
        assert_int_equal(*(int32_t *)t->dl_tensor.data, 42);
        t->deleter(t);
        OK(acu_block_release(block));
    }
    OK(acu_program_release(program));
    OK(acu_client_release(other));
}

static void wrong_types_are_not_exported(void **state) {
    (void)state;
    static char bytes[16];
    acu_block *block = block_of(client, 18), *odd = NULL;
    DLManagedTensorVersioned *t = NULL;
    acu_dtype grouped;
    OK(acu_dtype_register(&(acu_dtype_options){"q4_0", 32, 18}, &grouped));
    FAILS(ACU_ERROR_DTYPE, "q4_0, which this program registered",
          acu_block_export_dlpack(block, grouped, NULL, 0, &t));
    FAILS(ACU_ERROR_DTYPE, "bytes(70000)",
          acu_block_export_dlpack(block, ACU_BYTES(70000), NULL, 0, &t));
    FAILS(ACU_ERROR_DTYPE, "0x0 is no type", acu_block_export_dlpack(block, ACU_ANY, NULL, 0, &t));
    FAILS(ACU_ERROR_DTYPE, "no type", acu_block_export_dlpack(block, 0x12345678, NULL, 0, &t));
    FAILS(ACU_ERROR_DTYPE, "18 bytes are no whole number of f32",
          acu_block_export_dlpack(block, ACU_F32, NULL, 0, &t));
    OK(acu_block_wrap(client, bytes + 1, 8, NULL, NULL, &odd));
    FAILS(ACU_ERROR_DTYPE, "not aligned for f32",
          acu_block_export_dlpack(odd, ACU_F32, NULL, 0, &t));
    assert_null(t);
    t = exported(odd, ACU_BYTES(4), NULL);
    t->deleter(t);
    OK(acu_block_release(odd));
    OK(acu_block_release(block));
}

static void layouts_must_lie_in_the_block(void **state) {
    (void)state;
    acu_block *block = block_of(client, 96);
    DLManagedTensorVersioned *t = NULL;
    const struct {
        acu_tensor_layout layout;
        acu_result code;
        const char *words;
    } cases[] = {
        {{.rank = 1, .shape = {25}}, ACU_ERROR_RANGE, "lie outside of the block"},
        {{.rank = 1, .shape = {24}, .at = 1}, ACU_ERROR_RANGE, "room for 24 of f32"},
        {{.at = 24}, ACU_ERROR_RANGE, "lie outside"},
        {{.at = SIZE_MAX}, ACU_ERROR_RANGE, "lie outside"},
        {{.rank = 1, .strided = true, .shape = {3}, .strides = {-1}, .at = 1},
         ACU_ERROR_RANGE,
         "lie outside"},
        {{.rank = 1, .shape = {0}, .at = 25}, ACU_ERROR_RANGE, "lie outside"},
        {{.rank = 2, .shape = {SIZE_MAX / 2, 4}}, ACU_ERROR_OVERFLOW, "nothing can be addressed"},
        {{.rank = 1, .strided = true, .shape = {3}, .strides = {INT64_MAX}},
         ACU_ERROR_OVERFLOW,
         "nothing can be addressed"},
        {{.rank = ACU_MAX_RANK + 1}, ACU_ERROR_ARGUMENT, "layout.rank is"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        FAILS(cases[i].code, cases[i].words,
              acu_block_export_dlpack(block, ACU_F32, &cases[i].layout, 0, &t));
        assert_null(t);
    }
    t = exported(block, ACU_F32, &(acu_tensor_layout){.rank = 1, .shape = {0}, .at = 24});
    t->deleter(t);
    OK(acu_block_release(block));
}

static acu_result export_it(acu_client *on, void *block) {
    DLManagedTensorVersioned *t = NULL;
    (void)on;
    return acu_block_export_dlpack(block, ACU_U8, NULL, 0, &t);
}

static void what_cannot_be_exported(void **state) {
    (void)state;
    acu_client *bare = NULL;
    acu_replay *replay = NULL;
    DLManagedTensorVersioned *t = NULL;
    DLManagedTensor *old = NULL;
    OK(acu_client_create(bare_place(), NULL, &bare));
    acu_block *there = block_of(bare, 4), *block = block_of(client, 4);
    FAILS(ACU_ERROR_MEMORY_KIND, "no device for memory of bare",
          acu_block_export_dlpack(there, ACU_U8, NULL, 0, &t));
    FAILS(ACU_ERROR_CAPTURE, "recorded",
          acu_replay_record(client, export_it, block, NULL, 0, &replay));
    FAILS(ACU_ERROR_ARGUMENT, "'tensor' is NULL",
          acu_block_export_dlpack(block, ACU_U8, NULL, 0, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "'tensor' is NULL",
          acu_block_export_dlpack_unversioned(block, ACU_U8, NULL, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "the block is NULL",
          acu_block_export_dlpack(NULL, ACU_U8, NULL, 0, &t));
    OK(acu_block_release(block));
    FAILS(ACU_ERROR_HANDLE, "released already",
          acu_block_export_dlpack(block, ACU_U8, NULL, 0, &t));
    FAILS(ACU_ERROR_HANDLE, "released already",
          acu_block_export_dlpack_unversioned(block, ACU_U8, NULL, &old));
    assert_true(!t && !old);
    OK(acu_block_release(there));
    OK(acu_client_release(bare));
}

/* ---- importing ---- */

static void add_one(const acu_part *part, void *const *args) {
    float *numbers = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        numbers[i] += 1;
}

static void a_block_is_the_tensor(void **state) {
    (void)state;
    acu_dlpack_info info;
    acu_program *program = NULL;
    acu_block *block = imported(their_tensor(), &info);
    assert_ptr_equal(address_of(block), cells);
    assert_int_equal(acu_block_size(block), 24);
    assert_true(info.device == ACU_DLPACK_CPU && info.flags == 0 && info.dtype == ACU_F32 &&
                !info.layout.strided && info.layout.rank == 2 && info.layout.shape[1] == 3 &&
                info.layout.strides[0] == 3 && info.layout.at == 0);
    OK(acu_program_create(&(acu_program_source){.name = "add_one", .cpu = add_one}, &program));
    OK(acu_run(client, program, acu_items(6), block));
    OK(acu_client_synchronize(client));
    for (int i = 0; i < 7; i++)
        assert_true(cells[i] == (float)(i < 6 ? i + 1 : i));
    OK(acu_program_release(program));
    assert_int_equal(deleted, 0);
    OK(acu_block_release(block));
    assert_int_equal(deleted, 1);
}

static void layouts_are_imported(void **state) {
    (void)state;
    acu_dlpack_info info;
    (void)their_tensor();
    strides[0] = -8;
    strides[1] = 2;
    theirs.dl_tensor.strides = strides;
    theirs.dl_tensor.data = cells + 2;
    theirs.dl_tensor.byte_offset = 32; /* of the first element, cells[10] */
    acu_block *block = imported(&theirs, &info);
    assert_ptr_equal(address_of(block), cells + 2);
    assert_int_equal(acu_block_size(block), (8 + 4 + 1) * sizeof(float));
    assert_true(info.layout.strided && info.layout.at == 8 && info.layout.strides[0] == -8 &&
                info.layout.strides[1] == 2 && info.layout.shape[0] == 2);
    OK(acu_block_release(block));
    assert_int_equal(deleted, 1);
}

static void every_type_makes_the_round(void **state) {
    (void)state;
    static const acu_dtype types[] = {
        ACU_F64,  ACU_F32, ACU_F16,  ACU_BF16,      ACU_F8_E4M3,      ACU_F8_E5M2, ACU_I8,
        ACU_I16,  ACU_I32, ACU_I64,  ACU_U8,        ACU_U16,          ACU_U32,     ACU_U64,
        ACU_BOOL, ACU_C64, ACU_C128, ACU_BYTES(12), ACU_BYTES(65535),
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        acu_dlpack_info info;
        acu_block *block = block_of(client, 2 * acu_dtype_size(types[i]));
        acu_block *again = imported(exported(block, types[i], NULL), &info);
        assert_int_equal(info.dtype, types[i]);
        assert_int_equal(acu_block_size(again), acu_block_size(block));
        assert_ptr_equal(address_of(again), address_of(block));
        OK(acu_block_release(block)); /* the tensor is its owner, too */
        OK(acu_block_release(again));
    }
}

static void tensors_without_elements_need_no_memory(void **state) {
    (void)state;
    acu_dlpack_info info;
    (void)their_tensor();
    shape[1] = 0;
    theirs.dl_tensor.data = NULL;
    acu_block *block = imported(&theirs, &info);
    assert_int_equal(deleted, 1); /* nobody needs it any more */
    assert_int_equal(acu_block_size(block), 0);
    assert_true(info.dtype == ACU_F32 && info.layout.shape[1] == 0);
    OK(acu_block_release(block));
    assert_int_equal(deleted, 1);
}

static void unversioned_tensors_are_imported(void **state) {
    (void)state;
    acu_dlpack_info info;
    acu_block *block = NULL;
    DLManagedTensor old = {their_tensor()->dl_tensor, &deleted, count_deleted_unversioned};
    OK(acu_block_import_dlpack_unversioned(client, &old, &info, &block));
    assert_ptr_equal(address_of(block), cells);
    assert_true(info.dtype == ACU_F32 && info.flags == 0);
    OK(acu_block_release(block));
    assert_int_equal(deleted, 1);
    FAILS(ACU_ERROR_ARGUMENT, "the client is NULL",
          acu_block_import_dlpack_unversioned(NULL, &old, NULL, &block));
    assert_int_equal(deleted, 2);
    theirs.deleter = NULL; /* of memory that nobody frees */
    OK(acu_block_release(imported(&theirs, NULL)));
}

static void other_memory_of_the_host_is_imported(void **state) {
    (void)state;
    acu_dlpack_info info;
    their_tensor()->dl_tensor.device = (DLDevice){kDLCUDAHost, 0};
    OK(acu_block_release(imported(&theirs, &info)));
    assert_int_equal(info.device, ACU_DLPACK_CUDA_HOST);
    (void)their_tensor();
    theirs.dl_tensor.dtype.lanes = 2; /* float2 */
    shape[1] = 1;
    OK(acu_block_release(imported(&theirs, &info)));
    assert_int_equal(info.dtype, ACU_BYTES(8));
}

static void what_the_caller_must_know(void **state) {
    (void)state;
    acu_dlpack_info info;
    their_tensor()->flags = ACU_DLPACK_READ_ONLY | 4; /* and one that is not known */
    REFUSES(ACU_ERROR_ARGUMENT, "must not be written to", NULL);
    strides[0] = 1;
    strides[1] = 2;
    theirs.dl_tensor.strides = strides;
    REFUSES(ACU_ERROR_ARGUMENT, "is not densely packed", NULL);
    theirs.flags = ACU_DLPACK_READ_ONLY | 4;
    OK(acu_block_release(imported(&theirs, &info)));
    assert_int_equal(info.flags, ACU_DLPACK_READ_ONLY);
}

static void devices_must_be_the_clients(void **state) {
    (void)state;
    acu_dlpack_info info;
    acu_client *bare = NULL;
    acu_block *block = NULL;
    their_tensor()->dl_tensor.device = (DLDevice){kDLCUDA, 0};
    REFUSES(ACU_ERROR_MEMORY_KIND, "of another kind: CUDA (device type 2)", &info);
    theirs.dl_tensor.device = (DLDevice){kDLCUDAManaged, 0};
    REFUSES(ACU_ERROR_MEMORY_KIND, "managed memory", &info);
    theirs.dl_tensor.device = (DLDevice){kDLWebGPU, 0};
    REFUSES(ACU_ERROR_MEMORY_KIND, "WebGPU", &info);
    theirs.dl_tensor.device.device_type = (DLDeviceType)-5;
    REFUSES(ACU_ERROR_MEMORY_KIND, "an unknown one (device type -5)", &info);
    theirs.dl_tensor.device.device_type = (DLDeviceType)1000;
    REFUSES(ACU_ERROR_MEMORY_KIND, "an unknown one", &info);
    OK(acu_client_create(bare_place(), NULL, &bare));
    FAILS(ACU_ERROR_MEMORY_KIND, "the CPU", acu_block_import_dlpack(bare, &theirs, &info, &block));
    assert_int_equal(deleted, 1);
    OK(acu_client_release(bare));
}

static void wrong_tensors_are_refused(void **state) {
    (void)state;
    acu_dlpack_info info;
    their_tensor()->version = (DLPackVersion){2, 3};
    theirs.dl_tensor.shape = (int64_t *)1; /* is not looked at */
    REFUSES(ACU_NOT_SUPPORTED, "DLPack 2.3", &info);
    theirs.dl_tensor.dtype = (DLDataType){2, 4, 1};
    REFUSES(ACU_ERROR_DTYPE, "4 bits", &info);
    theirs.dl_tensor.dtype = (DLDataType){77, 32, 1};
    REFUSES(ACU_ERROR_DTYPE, "an unknown code (77)", &info);
    theirs.dl_tensor.dtype.lanes = 0;
    REFUSES(ACU_ERROR_DTYPE, "0 lanes", &info);
    theirs.dl_tensor.ndim = ACU_MAX_RANK + 1;
    REFUSES(ACU_ERROR_ARGUMENT, "dimensions", &info);
    theirs.dl_tensor.ndim = -1;
    REFUSES(ACU_ERROR_ARGUMENT, "-1 dimensions", &info);
    theirs.dl_tensor.shape = NULL;
    REFUSES(ACU_ERROR_ARGUMENT, "no shape", &info);
    shape[0] = -2;
    REFUSES(ACU_ERROR_ARGUMENT, "shape[0] is -2", &info);
    theirs.dl_tensor.data = NULL;
    REFUSES(ACU_ERROR_ARGUMENT, "data is NULL", &info);
    theirs.dl_tensor.byte_offset = 2;
    REFUSES(ACU_ERROR_DTYPE, "not aligned for f32", &info);
    theirs.dl_tensor.byte_offset = UINT64_MAX - 3;
    REFUSES(ACU_ERROR_OVERFLOW, "nothing can be addressed", &info);
    shape[0] = INT64_MAX;
    REFUSES(ACU_ERROR_OVERFLOW, "nothing can be addressed", &info);
    strides[0] = strides[1] = INT64_MAX / 2;
    theirs.dl_tensor.strides = strides;
    REFUSES(ACU_ERROR_OVERFLOW, "nothing can be addressed", &info);
}

static void wrong_arguments_delete_the_tensor(void **state) {
    (void)state;
    acu_block *block = NULL;
    acu_client *dead = NULL;
    (void)their_tensor();
    FAILS(ACU_ERROR_ARGUMENT, "'tensor' is NULL",
          acu_block_import_dlpack(client, NULL, NULL, &block));
    FAILS(ACU_ERROR_ARGUMENT, "'tensor' is NULL",
          acu_block_import_dlpack_unversioned(client, NULL, NULL, &block));
    assert_int_equal(deleted, 0);
    FAILS(ACU_ERROR_ARGUMENT, "'block' is NULL",
          acu_block_import_dlpack(client, &theirs, NULL, NULL));
    assert_int_equal(deleted, 1);
    FAILS(ACU_ERROR_ARGUMENT, "the client is NULL",
          acu_block_import_dlpack(NULL, &theirs, NULL, &block));
    assert_int_equal(deleted, 2);
    OK(acu_client_create(acu_place_cpu(), NULL, &dead));
    OK(acu_client_release(dead));
    FAILS(ACU_ERROR_HANDLE, "released already",
          acu_block_import_dlpack(dead, &theirs, NULL, &block));
    assert_int_equal(deleted, 3);
    assert_null(block);
}

static void write_cell_late(const acu_part *part, void *const *args) {
    (void)part;
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    assert_int_equal(__atomic_load_n(&deleted, __ATOMIC_RELAXED), 0);
    *(float *)args[0] = 42;
}

static void the_deleter_waits_for_the_work(void **state) {
    (void)state;
    acu_program *program = NULL;
    acu_block *block = imported(their_tensor(), NULL);
    OK(acu_program_create(&(acu_program_source){.name = "late", .cpu = write_cell_late}, &program));
    OK(acu_run(client, program, acu_items(1), block));
    OK(acu_block_release(block));
    assert_int_equal(deleted, 1);
    assert_true(cells[0] == 42);
    OK(acu_program_release(program));
}

/* A deleter that uses anycuda, and fails there. */
static void fail_inside(DLManagedTensorVersioned *tensor) {
    (void)tensor;
    deleted++;
    assert_int_not_equal(acu_block_release((acu_block *)client), 0);
}

static void a_failing_deleter_is_silent(void **state) {
    (void)state;
    acu_block *block = NULL;
    their_tensor()->deleter = fail_inside;
    FAILS(ACU_ERROR_ARGUMENT, "'block' is NULL",
          acu_block_import_dlpack(client, &theirs, NULL, NULL));
    assert_int_equal(deleted, 1);
    acu_clear_error();
    OK(acu_block_import_dlpack(client, &theirs, NULL, &block));
    OK(acu_block_release(block));
    assert_int_equal(deleted, 2);
    assert_int_equal(acu_last_error(), 0);
}

/* ---- threads ---- */

static void *exchange(void *data) {
    for (int i = 0; i < 200; i++) {
        DLManagedTensorVersioned *t = NULL;
        acu_block *again = NULL;
        if (acu_block_export_dlpack(data, ACU_F32, NULL, 0, &t) ||
            acu_block_import_dlpack(client, t, NULL, &again) || acu_block_release(again))
            return NULL;
    }
    return data;
}

static void threads_exchange_a_block(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    acu_block *block = block_of(client, 64);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, exchange, block), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
    OK(acu_block_release(block));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    const struct CMUnitTest tests[] = {
        TEST(a_tensor_is_the_block),
        TEST(a_tensor_keeps_its_block),
        TEST(layouts_are_exported),
        TEST(empty_blocks_are_exported),
        TEST(flags_are_exported),
        TEST(unversioned_tensors_are_exported),
        TEST(an_export_waits_for_all_uses),
        TEST(wrong_types_are_not_exported),
        TEST(layouts_must_lie_in_the_block),
        TEST(what_cannot_be_exported),
        TEST(a_block_is_the_tensor),
        TEST(layouts_are_imported),
        TEST(every_type_makes_the_round),
        TEST(tensors_without_elements_need_no_memory),
        TEST(unversioned_tensors_are_imported),
        TEST(other_memory_of_the_host_is_imported),
        TEST(what_the_caller_must_know),
        TEST(devices_must_be_the_clients),
        TEST(wrong_tensors_are_refused),
        TEST(wrong_arguments_delete_the_tensor),
        TEST(the_deleter_waits_for_the_work),
        TEST(a_failing_deleter_is_silent),
        TEST(threads_exchange_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
