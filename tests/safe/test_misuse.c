/* Misuse of devices, streams, captures, events, memory and code. */
#include "../dlpack_abi.h"
#include "misuse.h"

/* ---- devices and streams ---- */

static void devices(void **state) {
    (void)state;
    int number;
    size_t bytes;
    unsigned flags;
    bool can;
    acu_device_info info;
    acu_peer_info peer;
    acu_rdma_info rdma;
    acu_cache_config cache;
    acu_device_guard guard = {0};
    char text[ACU_UUID_SIZE];
    NO_DEVICE(acu_device_set_current(absent));
    NO_DEVICE(acu_device_enter(&guard, absent));
    NO_DEVICE(acu_device_get_attribute(absent, ACU_DEVICE_WARP_SIZE, &number));
    NO_DEVICE(acu_device_get_info(absent, &info));
    NO_DEVICE(acu_device_get_pci_bus_id(absent, text));
    NO_DEVICE(acu_device_get_uuid(absent, text));
    NO_DEVICE(acu_device_get_memory(absent, &bytes, &bytes));
    NO_DEVICE(acu_device_get_priority_range(absent, &number, &number));
    NO_DEVICE(acu_device_get_limit(absent, ACU_LIMIT_STACK_SIZE, &bytes));
    NO_DEVICE(acu_device_set_limit(absent, ACU_LIMIT_STACK_SIZE, 1024));
    NO_DEVICE(acu_device_get_flags(absent, &flags));
    NO_DEVICE(acu_device_set_flags(absent, 0));
    NO_DEVICE(acu_device_can_access_peer(absent, 0, &can));
    NO_DEVICE(acu_device_can_access_peer(0, absent, &can));
    NO_DEVICE(acu_device_enable_peer_access(absent, 0));
    NO_DEVICE(acu_device_enable_peer_access(0, absent));
    NO_DEVICE(acu_device_disable_peer_access(absent, 0));
    NO_DEVICE(acu_device_disable_peer_access(0, absent));
    NO_DEVICE(acu_device_get_peer_info(absent, 0, &peer));
    NO_DEVICE(acu_device_get_peer_info(0, absent, &peer));
    NO_DEVICE(acu_device_get_host_atomics(absent, ACU_ATOMIC_CAS, &flags));
    NO_DEVICE(acu_device_get_rdma_info(absent, &rdma));
    NO_DEVICE(acu_device_flush_rdma_writes(absent, ACU_RDMA_OWNER));
    NO_DEVICE(acu_device_get_peer_atomics(absent, 0, ACU_ATOMIC_CAS, &flags));
    NO_DEVICE(acu_device_get_peer_atomics(0, absent, ACU_ATOMIC_CAS, &flags));
    NO_DEVICE(acu_device_get_cache_config(absent, &cache));
    NO_DEVICE(acu_device_set_cache_config(absent, ACU_CACHE_PREFER_L1));
    NO_DEVICE(acu_device_reset_persisting_l2(absent));
    NO_DEVICE(acu_device_synchronize(absent));
    NO_DEVICE(acu_device_reset(absent));
    NOT_NULL(acu_device_get_count(NULL));
    NOT_NULL(acu_device_get_current(NULL));
    NOT_NULL(acu_device_enter(NULL, 0));
    NOT_NULL(acu_device_get_attribute(0, ACU_DEVICE_WARP_SIZE, NULL));
    NOT_NULL(acu_device_get_info(0, NULL));
    NOT_NULL(acu_device_get_pci_bus_id(0, NULL));
    NOT_NULL(acu_device_get_by_pci_bus_id(NULL, &number));
    NOT_NULL(acu_device_get_by_pci_bus_id("0000:00:00.0", NULL));
    NOT_NULL(acu_device_get_uuid(0, NULL));
    NOT_NULL(acu_device_get_priority_range(0, NULL, &number));
    NOT_NULL(acu_device_get_priority_range(0, &number, NULL));
    NOT_NULL(acu_device_get_limit(0, ACU_LIMIT_STACK_SIZE, NULL));
    NOT_NULL(acu_device_get_flags(0, NULL));
    NOT_NULL(acu_device_can_access_peer(0, 0, NULL));
    NOT_NULL(acu_device_get_peer_info(0, 1, NULL));
    NOT_NULL(acu_device_get_host_atomics(0, ACU_ATOMIC_CAS, NULL));
    NOT_NULL(acu_device_get_peer_atomics(0, 1, ACU_ATOMIC_CAS, NULL));
    NOT_NULL(acu_device_get_cache_config(0, NULL));
    NOT_NULL(acu_device_get_rdma_info(0, NULL));
    REFUSED(acu_device_get_peer_info(0, 0, &peer), ACU_ERROR_ARGUMENT, "no link to itself");
    OK(acu_device_leave(NULL));
    acu_device_guard_cleanup(NULL);
}

static void nothing_is_cleaned_up(void **state) {
    (void)state;
    acu_stream_cleanup(NULL);
    acu_event_cleanup(NULL);
    acu_buffer_cleanup(NULL);
    acu_pool_cleanup(NULL);
    acu_module_cleanup(NULL);
    acu_kernel_cleanup(NULL);
    acu_args_cleanup(NULL);
    acu_graph_cleanup(NULL);
    acu_exec_cleanup(NULL);
}

/* The call fails, and the variable, which seems to hold an object, does not any more. */
#define CLEARS(type, call)                                                                         \
    do {                                                                                           \
        type out = (type)(uintptr_t)64;                                                            \
        if ((call) == 0 || out)                                                                    \
            fail_msg("%s leaves %p", #call, (void *)out);                                          \
    } while (0)

static void what_fails_stores_null(void **state) {
    (void)state;
    acu_stream *stream = good.stream;
    CLEARS(acu_stream *, acu_stream_create(99, NULL, &out));
    CLEARS(acu_stream *, acu_stream_wrap(99, NULL, &out));
    CLEARS(acu_event *, acu_event_create(99, NULL, &out));
    CLEARS(acu_event *, acu_event_wrap(0, NULL, &out));
    CLEARS(acu_pool *, acu_pool_create(99, NULL, &out));
    CLEARS(acu_pool *, acu_pool_wrap(0, NULL, &out));
    CLEARS(acu_buffer *, acu_buffer_create(stream, ACU_F32, SIZE_MAX, &out));
    CLEARS(acu_buffer *, acu_buffer_create(NULL, ACU_F32, 1, &out));
    CLEARS(acu_buffer *, acu_buffer_create_growable(NULL, ACU_F32, 1, 2, &out));
    CLEARS(acu_buffer *, acu_buffer_wrap(stream, ACU_F32, &stream, 1, ACU_MEMORY_VIRTUAL, &out));
    CLEARS(acu_buffer *, acu_buffer_adopt(stream, ACU_F32, &stream, 1, ACU_MEMORY_HOST, &out));
    CLEARS(acu_buffer *, acu_buffer_register(stream, ACU_F32, NULL, 1, 0, &out));
    CLEARS(acu_buffer *, acu_buffer_slice(good.buffer, 0, SIZE_MAX, &out));
    CLEARS(acu_buffer *, acu_buffer_reinterpret(good.buffer, ACU_ANY, &out));
    CLEARS(acu_module *, acu_module_load(99, &(acu_module_source){.ptx = kernels_ptx}, &out));
    CLEARS(acu_module *, acu_module_wrap(0, NULL, &out));
    CLEARS(acu_kernel *, acu_module_get_kernel(good.module, "none", &out));
    CLEARS(acu_kernel *, acu_kernel_wrap(0, NULL, &out));
    CLEARS(acu_graph *, acu_graph_wrap(NULL, &out));
    CLEARS(acu_graph *, acu_stream_end_capture(stream, &out));
    CLEARS(acu_exec *, acu_exec_wrap(NULL, &out));
    CLEARS(acu_exec *, acu_graph_instantiate(NULL, NULL, &out));
    CLEARS(acu_external_memory *, acu_external_memory_wrap(0, NULL, 1, &out));
    CLEARS(acu_external_semaphore *, acu_external_semaphore_wrap(0, NULL, &out));
    CLEARS(acu_graphics *, acu_graphics_wrap(0, NULL, ACU_GRAPHICS_GL_BUFFER, &out));
    CLEARS(acu_virtual *, acu_virtual_wrap(0, NULL, 1, &out));
    CLEARS(acu_multicast *, acu_multicast_wrap(0, 1, 1, &out));
    CLEARS(acu_physical *, acu_physical_wrap(0, 1, &out));
    CLEARS(acu_share *, acu_share_receive(-1, &out));
    CLEARS(acu_share *, acu_share_create("", 1, NULL, 0, &out));
    CLEARS(acu_array *, acu_array_wrap(stream, NULL, &out));
    CLEARS(acu_mipmap *, acu_mipmap_wrap(stream, NULL, 1, &out));
    CLEARS(acu_texture *, acu_texture_wrap(0, NULL, &out));
    CLEARS(acu_surface *, acu_surface_wrap(0, NULL, &out));
    CLEARS(acu_allocator *, acu_allocator_create(99, NULL, &out));
}

static void streams_are_made(void **state) {
    (void)state;
    acu_stream *made = NULL;
    struct CUstream_st *raw = acu_stream_raw(good.stream);
    NO_DEVICE(acu_stream_create(absent, NULL, &made));
    NO_DEVICE(acu_stream_get_legacy(absent, &made));
    NO_DEVICE(acu_stream_get_per_thread(absent, &made));
    NO_DEVICE(acu_stream_wrap(absent, raw, &made));
    NO_DEVICE(acu_stream_adopt(absent, raw, &made));
    NOT_NULL(acu_stream_create(0, NULL, NULL));
    NOT_NULL(acu_stream_get_legacy(0, NULL));
    NOT_NULL(acu_stream_get_per_thread(0, NULL));
    NOT_NULL(acu_stream_wrap(0, raw, NULL));
    NOT_NULL(acu_stream_adopt(0, raw, NULL));
    REFUSED(acu_stream_adopt(0, NULL, &made), ACU_ERROR_ARGUMENT, "cannot be adopted");
    assert_null(made);
    SAYS(NULL, acu_stream_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_stream_device(bad));
    OWNERS(stream);
}

static void streams(void **state) {
    (void)state;
    bool yes;
    int number;
    unsigned flags;
    uint64_t id;
    acu_sync_policy policy;
    acu_stream *const nobody[] = {NULL};
    HANDLE(acu_stream_get_flags(bad, &flags));
    HANDLE(acu_stream_get_priority(bad, &number));
    HANDLE(acu_stream_get_id(bad, &id));
    HANDLE(acu_stream_get_sync_policy(bad, &policy));
    HANDLE(acu_stream_set_sync_policy(bad, ACU_SYNC_SPIN));
    HANDLE(acu_stream_get_info(bad, &(acu_stream_info){.sync_policy = ACU_SYNC_AUTO}));
    NOT_NULL(acu_stream_get_info(good.stream, NULL));
    HANDLE(acu_stream_set_priority(bad, 0));
    HANDLE(acu_stream_set_memory_domain(bad, 0));
    HANDLE(acu_stream_set_memory_domains(bad, (acu_memory_domains){0, 1}));
    HANDLE(acu_stream_set_nvlink_centric(bad, true));
    HANDLE(acu_stream_set_access_window(bad, NULL));
    HANDLE(acu_stream_copy_attributes(bad, good.stream));
    HANDLE(acu_stream_copy_attributes(good.stream, bad));
    HANDLE(acu_stream_query(bad));
    HANDLE(acu_stream_synchronize(bad));
    HANDLE(acu_stream_is_capturing(bad, &yes));
    HANDLE(acu_stream_wait_event(bad, good.event));
    HANDLE(acu_stream_wait_event(good.stream, bad));
    HANDLE(acu_stream_wait_event_external(bad, good.event));
    HANDLE(acu_stream_wait_event_external(good.stream, bad));
    HANDLE(acu_stream_wait_stream(bad, good.stream));
    HANDLE(acu_stream_wait_stream(good.stream, bad));
    HANDLE(acu_stream_fork(bad, &good.stream, 1));
    HANDLE(acu_stream_fork(good.stream, (acu_stream *const[]){bad}, 1));
    HANDLE(acu_stream_join(bad, &good.stream, 1));
    HANDLE(acu_stream_join(good.stream, (acu_stream *const[]){bad}, 1));
    HANDLE(acu_stream_call_function(bad, good_closure.call, NULL));
    NOT_NULL(acu_stream_get_flags(good.stream, NULL));
    NOT_NULL(acu_stream_get_priority(good.stream, NULL));
    NOT_NULL(acu_stream_get_id(good.stream, NULL));
    NOT_NULL(acu_stream_get_sync_policy(good.stream, NULL));
    NOT_NULL(acu_stream_is_capturing(good.stream, NULL));
    NOT_NULL(acu_stream_fork(good.stream, NULL, 1));
    NOT_NULL(acu_stream_join(good.stream, NULL, 1));
    NOT_NULL(acu_stream_join(good.stream, nobody, 1));
    NOT_NULL(acu_stream_call_function(good.stream, NULL, NULL));
    destroyed = 0;
    HANDLE(acu_stream_call(bad, good_closure));
    NOT_NULL(acu_stream_call(good.stream, empty_closure));
    HANDLE(acu_stream_call_with(bad, good_closure, ACU_HOST_SPIN));
    NOT_NULL(acu_stream_call_with(good.stream, empty_closure, ACU_HOST_SPIN));
    assert_int_equal(destroyed, 8); /* in any case, once */
}

static acu_result captures_nothing(acu_stream *stream, void *data) {
    (void)stream;
    (void)data;
    return ACU_SUCCESS;
}

static void captures(void **state) {
    (void)state;
    size_t count = 0;
    acu_graph *graph = NULL;
    acu_buffer *made = NULL;
    acu_capture_status status;
    acu_capture_info info;
    acu_node node;
    HANDLE(acu_stream_begin_capture(bad, NULL));
    OPTIONAL_HANDLE(
        acu_stream_begin_capture(good.stream, &(acu_capture_options){.into = (acu_graph *)bad}));
    HANDLE(acu_stream_end_capture(bad, &graph));
    HANDLE(acu_stream_capture(bad, NULL, captures_nothing, NULL, &graph));
    HANDLE(acu_stream_capture_alloc(bad, ACU_F32, 1, &made));
    NOT_NULL(acu_stream_capture_alloc(good.stream, ACU_F32, 1, NULL));
    HANDLE(acu_stream_get_capture_status(bad, &status));
    HANDLE(acu_stream_get_capture_info(bad, &info));
    HANDLE(acu_stream_get_capture_dependencies(bad, NULL, NULL, &count));
    HANDLE(acu_stream_get_captured_node(bad, &node));
    HANDLE(acu_stream_set_capture_dependencies(bad, NULL, NULL, 0, false));
    NOT_NULL(acu_stream_end_capture(good.stream, NULL));
    NOT_NULL(acu_stream_capture(good.stream, NULL, NULL, NULL, &graph));
    NOT_NULL(acu_stream_capture(good.stream, NULL, captures_nothing, NULL, NULL));
    NOT_NULL(acu_stream_get_capture_status(good.stream, NULL));
    NOT_NULL(acu_stream_get_capture_info(good.stream, NULL));
    NOT_NULL(acu_stream_get_capture_dependencies(good.stream, NULL, NULL, NULL));
    NOT_NULL(acu_stream_get_captured_node(good.stream, NULL));
    NOT_NULL(acu_stream_set_capture_dependencies(good.stream, NULL, NULL, 1, false));
    assert_null(graph);
    OK(acu_stream_synchronize(good.stream)); /* which is not captured */
}

static void events(void **state) {
    (void)state;
    float ms;
    acu_event *made = NULL;
    struct CUevent_st *raw = acu_event_raw(good.event);
    NO_DEVICE(acu_event_create(absent, NULL, &made));
    NO_DEVICE(acu_event_wrap(absent, raw, &made));
    NO_DEVICE(acu_event_adopt(absent, raw, &made));
    NOT_NULL(acu_event_create(0, NULL, NULL));
    NOT_NULL(acu_event_wrap(0, raw, NULL));
    NOT_NULL(acu_event_wrap(0, NULL, &made));
    NOT_NULL(acu_event_adopt(0, raw, NULL));
    NOT_NULL(acu_event_adopt(0, NULL, &made));
    assert_null(made);
    HANDLE(acu_event_record(bad, good.stream));
    HANDLE(acu_event_record(good.event, bad));
    HANDLE(acu_event_record_external(bad, good.stream));
    HANDLE(acu_event_record_external(good.event, bad));
    HANDLE(acu_event_query(bad));
    HANDLE(acu_event_synchronize(bad));
    HANDLE(acu_event_get_elapsed_time(bad, good.event, &ms));
    HANDLE(acu_event_get_elapsed_time(good.event, bad, &ms));
    NOT_NULL(acu_event_get_elapsed_time(good.event, good.event, NULL));
    SAYS(NULL, acu_event_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_event_device(bad));
    OWNERS(event);
}

/* ---- memory ---- */

static void pools(void **state) {
    (void)state;
    uint64_t value;
    acu_access access;
    acu_pool *made = NULL;
    struct CUmemPoolHandle_st *raw = acu_pool_raw(good.pool);
    NO_DEVICE(acu_pool_create(absent, NULL, &made));
    NO_DEVICE(acu_pool_get_default(absent, &made));
    NO_DEVICE(acu_pool_get_current(absent, &made));
    NO_DEVICE(acu_pool_wrap(absent, raw, &made));
    NO_DEVICE(acu_pool_adopt(absent, raw, &made));
    NO_DEVICE(acu_pool_get_access(good.pool, absent, &access));
    NO_DEVICE(acu_pool_set_access(good.pool, absent, ACU_ACCESS_READ));
    NOT_NULL(acu_pool_create(0, NULL, NULL));
    NOT_NULL(acu_pool_get_default(0, NULL));
    NOT_NULL(acu_pool_get_current(0, NULL));
    NOT_NULL(acu_pool_wrap(0, raw, NULL));
    NOT_NULL(acu_pool_wrap(0, NULL, &made));
    NOT_NULL(acu_pool_adopt(0, raw, NULL));
    NOT_NULL(acu_pool_adopt(0, NULL, &made));
    assert_null(made);
    HANDLE(acu_pool_set_current(bad));
    HANDLE(acu_pool_get_attribute(bad, ACU_POOL_USED, &value));
    HANDLE(acu_pool_set_attribute(bad, ACU_POOL_THRESHOLD, 0));
    HANDLE(acu_pool_trim(bad, 0));
    HANDLE(acu_pool_get_access(bad, 0, &access));
    HANDLE(acu_pool_set_access(bad, 0, ACU_ACCESS_READ_WRITE));
    NOT_NULL(acu_pool_get_attribute(good.pool, ACU_POOL_USED, NULL));
    NOT_NULL(acu_pool_get_access(good.pool, 0, NULL));
    SAYS(NULL, acu_pool_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_pool_device(bad));
    OWNERS(pool);
}

static void buffers_are_made(void **state) {
    (void)state;
    static float numbers[8];
    acu_buffer *made = NULL;
    void *raw = acu_buffer_raw(good.buffer);
    HANDLE(acu_buffer_create(bad, ACU_F32, 8, &made));
    HANDLE(acu_buffer_create_from_typed(bad, ACU_F32, "eight", 1, &made));
    HANDLE(acu_buffer_create_with(bad, ACU_F32, 8, NULL, &made));
    OPTIONAL_HANDLE(
        acu_buffer_create_with(good.stream, ACU_F32, 8, &(acu_buffer_options){.pool = bad}, &made));
    HANDLE(acu_buffer_register(bad, ACU_F32, numbers, 8, 0, &made));
    HANDLE(acu_buffer_wrap(bad, ACU_F32, raw, 8, ACU_MEMORY_POOL, &made));
    HANDLE(acu_buffer_adopt(bad, ACU_F32, raw, 8, ACU_MEMORY_POOL, &made));
    HANDLE(acu_buffer_clone(bad, NULL, &made));
    OPTIONAL_HANDLE(acu_buffer_clone(good.buffer, bad, &made));
    NOT_NULL(acu_buffer_clone(good.buffer, NULL, NULL));
    HANDLE(acu_buffer_set_stream(bad, good.stream));
    HANDLE(acu_buffer_forget_uses(bad, NULL));
    HANDLE(acu_buffer_set_stream(good.buffer, bad));
    HANDLE(acu_buffer_slice(bad, 0, 1, &made));
    HANDLE(acu_buffer_reinterpret(bad, ACU_U8, &made));
    NOT_NULL(acu_buffer_create(good.stream, ACU_F32, 8, NULL));
    NOT_NULL(acu_buffer_create_from_typed(good.stream, ACU_U8, "eight", 1, NULL));
    NOT_NULL(acu_buffer_create_from_typed(good.stream, ACU_U8, NULL, 1, &made));
    NOT_NULL(acu_buffer_create_with(good.stream, ACU_F32, 8, NULL, NULL));
    NOT_NULL(acu_buffer_register(good.stream, ACU_F32, NULL, 8, 0, &made));
    NOT_NULL(acu_buffer_register(good.stream, ACU_F32, numbers, 8, 0, NULL));
    NOT_NULL(acu_buffer_wrap(good.stream, ACU_F32, NULL, 8, ACU_MEMORY_POOL, &made));
    NOT_NULL(acu_buffer_wrap(good.stream, ACU_F32, raw, 8, ACU_MEMORY_POOL, NULL));
    NOT_NULL(acu_buffer_adopt(good.stream, ACU_F32, NULL, 8, ACU_MEMORY_POOL, &made));
    NOT_NULL(acu_buffer_adopt(good.stream, ACU_F32, raw, 8, ACU_MEMORY_POOL, NULL));
    NOT_NULL(acu_buffer_slice(good.buffer, 0, 1, NULL));
    NOT_NULL(acu_buffer_reinterpret(good.buffer, ACU_U8, NULL));
    assert_null(made);
    SAYS(NULL, acu_buffer_raw(bad));
    SAYS(ACU_ANY, acu_buffer_dtype(bad));
    SAYS(0, acu_buffer_count(bad));
    SAYS(0, acu_buffer_bytes(bad));
    SAYS(ACU_MEMORY_POOL, acu_buffer_memory(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_buffer_device(bad));
    SAYS(NULL, acu_buffer_stream(bad));
    OWNERS(buffer);
}

static int tensors_deleted;

static void delete_tensor(DLManagedTensor *tensor) {
    (void)tensor;
    tensors_deleted++;
}

static float a_number;
static DLManagedTensor tensor_of_old;
static DLManagedTensorVersioned tensor_of_now;

/* A tensor that is good, for a call that is not. */
static DLManagedTensor *good_tensor(void) {
    tensor_of_old = (DLManagedTensor){
        .dl_tensor = {.data = &a_number, .device = {kDLCPU, 0}, .dtype = {2, 32, 1}},
        .deleter = delete_tensor};
    return &tensor_of_old;
}

static DLManagedTensorVersioned *good_versioned(void) {
    tensor_of_now =
        (DLManagedTensorVersioned){.version = {1, 0}, .dl_tensor = good_tensor()->dl_tensor};
    return &tensor_of_now;
}

static void tensors(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = NULL;
    DLManagedTensor *old = NULL;
    acu_buffer *made = NULL;
    acu_dlpack_device device;
    int id;
    tensors_deleted = 0;
    HANDLE(acu_buffer_get_dlpack_device(bad, &device, &id));
    HANDLE(acu_buffer_export_dlpack(bad, NULL, NULL, &tensor));
    HANDLE(acu_buffer_export_dlpack_unversioned(bad, NULL, NULL, &old));
    HANDLE(acu_buffer_join_dlpack(bad, 1));
    HANDLE(acu_stream_wait_dlpack(bad, 1));
    HANDLE(acu_buffer_import_dlpack(bad, good_versioned(), NULL, &made));
    HANDLE(acu_buffer_import_dlpack_unversioned(bad, good_tensor(), NULL, &made));
    assert_int_equal(tensors_deleted, 3);
    NOT_NULL(acu_buffer_get_dlpack_device(good.buffer, NULL, &id));
    NOT_NULL(acu_buffer_get_dlpack_device(good.buffer, &device, NULL));
    NOT_NULL(acu_buffer_export_dlpack(good.buffer, NULL, NULL, NULL));
    NOT_NULL(acu_buffer_export_dlpack_unversioned(good.buffer, NULL, NULL, NULL));
    NOT_NULL(acu_buffer_import_dlpack(good.stream, NULL, NULL, &made));
    NOT_NULL(acu_buffer_import_dlpack(good.stream, good_versioned(), NULL, NULL));
    NOT_NULL(acu_buffer_import_dlpack_unversioned(good.stream, NULL, NULL, &made));
    NOT_NULL(acu_buffer_import_dlpack_unversioned(good.stream, good_tensor(), NULL, NULL));
    assert_int_equal(tensors_deleted, 4);
    assert_true(!tensor && !old && !made);
    SAYS(0, acu_stream_dlpack(bad));
}

/* Every address can be asked about. */
static void addresses(void **state) {
    (void)state;
    acu_memory_info info = {.bytes = 0};
    bool can;
    NOT_NULL(acu_memory_get_info(&info, NULL));
    NOT_NULL(acu_memory_can_access(&info, 0, NULL));
    NOT_NULL(acu_memory_get_range(&info, 1, NULL));
    NOT_NULL(acu_memory_set_synchronous(NULL, true));
    NO_DEVICE(acu_memory_can_access(&info, absent, &can));
    OK(acu_memory_get_info(NULL, &info));
    assert_int_equal(info.kind, ACU_MEMORY_KIND_UNKNOWN);
}

static void buffers(void **state) {
    (void)state;
    float numbers[8] = {0};
    void *host;
    const acu_strides one = {0};
    acu_buffer *other = numbers_on(good.stream, 8);
    HANDLE(acu_buffer_get_host(bad, &host));
    HANDLE(acu_buffer_synchronize(bad));
    HANDLE(acu_buffer_begin_use(bad, true, good.stream));
    OPTIONAL_HANDLE(acu_buffer_begin_use(good.buffer, true, bad));
    HANDLE(acu_buffer_end_use(bad, true, good.stream));
    OPTIONAL_HANDLE(acu_buffer_end_use(good.buffer, true, bad));
    HANDLE(acu_buffer_write_typed(bad, 0, ACU_F32, numbers, 8, NULL));
    OPTIONAL_HANDLE(acu_buffer_write_typed(good.buffer, 0, ACU_F32, numbers, 8, bad));
    HANDLE(acu_buffer_read_typed(bad, 0, ACU_F32, numbers, 8, NULL));
    OPTIONAL_HANDLE(acu_buffer_read_typed(good.buffer, 0, ACU_F32, numbers, 8, bad));
    HANDLE(acu_buffer_read_after(bad, good.event, 0, ACU_F32, numbers, 8, good.stream));
    HANDLE(acu_buffer_read_after(good.buffer, bad, 0, ACU_F32, numbers, 8, good.stream));
    OPTIONAL_HANDLE(acu_buffer_read_after(good.buffer, good.event, 0, ACU_F32, numbers, 8, bad));
    HANDLE(acu_buffer_copy(bad, good.buffer, NULL));
    HANDLE(acu_buffer_copy(good.buffer, bad, NULL));
    OPTIONAL_HANDLE(acu_buffer_copy(good.buffer, other, bad));
    OK(acu_buffer_release(other));
    HANDLE(acu_buffer_copy_range(bad, 0, good.buffer, 0, 1, NULL));
    HANDLE(acu_buffer_copy_range(good.buffer, 0, bad, 0, 1, NULL));
    OPTIONAL_HANDLE(acu_buffer_copy_range(good.buffer, 0, good.buffer, 4, 1, bad));
    HANDLE(acu_buffer_copy_strided(bad, good.buffer, &one, NULL));
    HANDLE(acu_buffer_copy_strided(good.buffer, bad, &one, NULL));
    OPTIONAL_HANDLE(acu_buffer_copy_strided(good.buffer, good.buffer, &one, bad));
    HANDLE(acu_buffer_fill_typed(bad, ACU_F32, numbers, NULL));
    OPTIONAL_HANDLE(acu_buffer_fill_typed(good.buffer, ACU_F32, numbers, bad));
    HANDLE(acu_buffer_zero(bad, NULL));
    OPTIONAL_HANDLE(acu_buffer_zero(good.buffer, bad));
    HANDLE(acu_buffer_fill_bytes(bad, 0, 4, numbers, 4, NULL));
    OPTIONAL_HANDLE(acu_buffer_fill_bytes(good.buffer, 0, 4, numbers, 4, bad));
    HANDLE(acu_buffer_prefetch(bad, 0, NULL));
    HANDLE(acu_buffer_advise(bad, ACU_ADVISE_SET_READ_MOSTLY, 0));
    HANDLE(acu_buffer_attach(bad, ACU_ATTACH_GLOBAL, NULL));
    HANDLE(acu_graph_memory_free(bad, good.stream));
    NOT_NULL(acu_buffer_get_host(good.buffer, NULL));
    NOT_NULL(acu_buffer_write_typed(good.buffer, 0, ACU_F32, NULL, 8, NULL));
    NOT_NULL(acu_buffer_read_typed(good.buffer, 0, ACU_F32, NULL, 8, NULL));
    NOT_NULL(acu_buffer_read_after(good.buffer, good.event, 0, ACU_F32, NULL, 8, good.stream));
    NOT_NULL(acu_buffer_copy_strided(good.buffer, good.buffer, NULL, NULL));
    NOT_NULL(acu_buffer_copy_strided(good.buffer, good.buffer, &(acu_strides){.rank = 1}, NULL));
    NOT_NULL(acu_buffer_fill_typed(good.buffer, ACU_F32, NULL, NULL));
}

/* ---- sizes that no machine has ---- */

static void huge_sizes(void **state) {
    (void)state;
    static float numbers[8];
    acu_buffer *made = NULL;
    void *raw = acu_buffer_raw(good.buffer);
    const size_t most = SIZE_MAX, wraps = SIZE_MAX / sizeof(float) + 2; /* times 4 it is 4 */
    REFUSED(acu_buffer_create(good.stream, ACU_F32, most, &made), ACU_ERROR_OVERFLOW, "");
    REFUSED(acu_buffer_create(good.stream, ACU_F32, wraps, &made), ACU_ERROR_OVERFLOW, "");
    REFUSED(acu_buffer_register(good.stream, ACU_F32, numbers, wraps, 0, &made), ACU_ERROR_OVERFLOW,
            "");
    REFUSED(acu_buffer_wrap(good.stream, ACU_F32, raw, wraps, ACU_MEMORY_POOL, &made),
            ACU_ERROR_OVERFLOW, "");
    REFUSED(acu_buffer_adopt(good.stream, ACU_F32, raw, wraps, ACU_MEMORY_POOL, &made),
            ACU_ERROR_OVERFLOW, "");
    REFUSED(acu_buffer_slice(good.buffer, 7, most, &made), ACU_ERROR_RANGE, "which has 8");
    REFUSED(acu_buffer_slice(good.buffer, most, 2, &made), ACU_ERROR_RANGE, "which has 8");
    assert_null(made);
    REFUSED(acu_buffer_write_typed(good.buffer, 7, ACU_F32, numbers, wraps, NULL), ACU_ERROR_RANGE,
            "which has 8");
    REFUSED(acu_buffer_read_typed(good.buffer, most, ACU_F32, numbers, 2, NULL), ACU_ERROR_RANGE,
            "which has 8");
    REFUSED(acu_buffer_copy_range(good.buffer, wraps, good.buffer, 0, 1, NULL), ACU_ERROR_RANGE,
            "which has 8");
    REFUSED(acu_buffer_copy_range(good.buffer, 0, good.buffer, 4, wraps, NULL), ACU_ERROR_RANGE,
            "which has 8");
}

static void huge_launches(void **state) {
    (void)state;
    int number;
    size_t threads, blocks;
    acu_module *module = NULL;
    const size_t most = SIZE_MAX, wraps = (size_t)UINT32_MAX + 2; /* as 32 bits it is 1 */
    acu_grid grid = good.grid;
    grid.blocks.x = wraps;
    REFUSED(acu_launch(good.stream, good.kernel, grid), ACU_ERROR_LIMIT, "4294967297 blocks");
    grid = good.grid;
    grid.threads.y = wraps;
    REFUSED(acu_launch(good.stream, good.kernel, grid), ACU_ERROR_LIMIT, "4294967297 threads");
    grid = good.grid;
    grid.shared_bytes = wraps;
    REFUSED(acu_launch(good.stream, good.kernel, grid), ACU_ERROR_LIMIT, "4294967297 bytes");
    grid = good.grid;
    grid.threads = (acu_size3){(size_t)1 << 32u, (size_t)1 << 32u, 1};
    REFUSED(acu_launch(good.stream, good.kernel, grid), ACU_ERROR_LIMIT, "threads");
    grid = good.grid;
    grid.cluster.x = wraps;
    REFUSED(acu_launch(good.stream, good.kernel, grid), ACU_ERROR_ARGUMENT,
            "cannot be divided into clusters");
    REFUSED(acu_kernel_get_blocks_per_multiprocessor(good.kernel, wraps, 0, 0, &number),
            ACU_ERROR_ARGUMENT, "");
    REFUSED(acu_kernel_get_blocks_per_multiprocessor(good.kernel, most, 0, 0, &number),
            ACU_ERROR_ARGUMENT, "");
    OK(acu_kernel_get_blocks_per_multiprocessor(good.kernel, 32, wraps, 0, &number));
    assert_int_equal(number, 0);
    threads = blocks = 99;
    OK(acu_kernel_get_best_block(good.kernel, &(acu_block_need){.shared_bytes = most}, &threads,
                                 &blocks));
    assert_int_equal(threads + blocks, 0); /* none fits */
    OK(acu_kernel_get_best_block(good.kernel, &(acu_block_need){.max_threads = most}, &threads,
                                 &blocks));
    assert_int_equal(threads, 1024);
    REFUSED(acu_module_load(0, &(acu_module_source){.ptx = kernels_ptx, .jit.log_bytes = most},
                            &module),
            ACU_ERROR_ARGUMENT, "smaller than 4 GiB");
    assert_null(module);
}

/* ---- what is said ---- */

/* The failure is about this object, and its message says so. */
static void expect_object(const char *object) {
    const acu_error error = acu_last_error_details();
    if (!strstr(error.object, object) || !strstr(error.message, error.object))
        fail_msg("\"%s\" should be about a %s: %s", error.message, object, error.object);
}
#define ABOUT(object, expected, call)                                                              \
    do {                                                                                           \
        REFUSED(call, expected, "");                                                               \
        expect_object(object);                                                                     \
    } while (0)

static void failures_name_what_they_are_about(void **state) {
    (void)state;
    void *host;
    float ms;
    int value;
    uint64_t bytes;
    acu_buffer *made = NULL, *b = good.buffer;
    acu_graph *graph = NULL;
    const acu_strides beyond = {.rank = 1, .shape = &(size_t){9}};
    ABOUT("buffer ", ACU_ERROR_MEMORY_KIND, acu_buffer_get_host(b, &host));
    ABOUT("buffer ", ACU_ERROR_MEMORY_KIND, acu_buffer_prefetch(b, 0, NULL));
    ABOUT("buffer ", ACU_ERROR_MEMORY_KIND, acu_buffer_advise(b, ACU_ADVISE_SET_READ_MOSTLY, 0));
    ABOUT("buffer ", ACU_ERROR_MEMORY_KIND, acu_buffer_attach(b, ACU_ATTACH_GLOBAL, NULL));
    ABOUT("buffer ", ACU_ERROR_DTYPE, acu_buffer_reinterpret(b, ACU_BYTES(3), &made));
    assert_string_equal(acu_last_error_details().hint, ""); /* it is no advice to do just that */
    ABOUT("buffer ", ACU_ERROR_RANGE, acu_buffer_copy_range(b, 0, b, 1, 4, NULL));
    ABOUT("buffer ", ACU_ERROR_RANGE, acu_buffer_copy_strided(b, b, &beyond, NULL));
    ABOUT("buffer ", ACU_ERROR_DTYPE, acu_buffer_fill(b, &(double){1}));
    assert_non_null(strstr(acu_last_error_details().hint, "acu_buffer_reinterpret()"));
    ABOUT("event ", ACU_ERROR_STATE, acu_event_get_elapsed_time(good.event, good.event, &ms));
    ABOUT("pool ", ACU_ERROR_ARGUMENT,
          acu_pool_get_attribute(good.pool, (acu_pool_attribute)99, &bytes));
    ABOUT("kernel ", ACU_ERROR_RANGE,
          acu_kernel_get_parameter(good.kernel, 99, &(acu_parameter){.size = 0}));
    ABOUT("stream ", ACU_ERROR_CAPTURE, acu_stream_end_capture(good.stream, &graph));
    assert_non_null(strstr(acu_last_error_details().hint, "acu_stream_begin_capture()"));
    ABOUT("kernel ", ACU_ERROR_ARGUMENT, acu_launch(good.stream, good.kernel, acu_grid_1d(0, 32)));
    assert_non_null(strstr(acu_last_error_details().hint, "nothing to launch"));
    ABOUT("attribute 9999 of device 0", 1, acu_device_get_attribute(0, 9999, &value));
    assert_int_not_equal(acu_graph_print_dot(good.graph, "/nonexistent/g.dot", 0), 0);
    expect_object("/nonexistent/g.dot");
}

/* ---- code ---- */

static void modules(void **state) {
    (void)state;
    size_t count;
    void *unified = NULL;
    struct CUfunc_st *function = NULL;
    bool loaded = true;
    acu_module *made = NULL;
    acu_kernel *kernel = NULL;
    acu_buffer *buffer = NULL;
    const acu_module_source source = {.ptx = kernels_ptx};
    const acu_module_program program = {.text = ""};
    struct CUlib_st *library = (struct CUlib_st *)good.kernel; /* is not looked at */
    struct CUmod_st *module = (struct CUmod_st *)good.kernel;
    NOT_NULL(acu_module_get_loading_mode(NULL));
    NO_DEVICE(acu_module_load(absent, &source, &made));
    NO_DEVICE(acu_module_compile(absent, &program, &made));
    NO_DEVICE(acu_module_wrap(absent, library, &made));
    NO_DEVICE(acu_module_adopt(absent, library, &made));
    NO_DEVICE(acu_module_wrap_driver(absent, module, &made));
    NO_DEVICE(acu_module_adopt_driver(absent, module, &made));
    NOT_NULL(acu_module_load(0, NULL, &made));
    NOT_NULL(acu_module_load(0, &source, NULL));
    NOT_NULL(acu_module_compile(0, NULL, &made));
    NOT_NULL(acu_module_compile(0, &(acu_module_program){0}, &made));
    NOT_NULL(acu_module_compile(0, &program, NULL));
    NOT_NULL(acu_module_wrap(0, NULL, &made));
    NOT_NULL(acu_module_wrap(0, library, NULL));
    NOT_NULL(acu_module_adopt(0, NULL, &made));
    NOT_NULL(acu_module_adopt(0, library, NULL));
    NOT_NULL(acu_module_wrap_driver(0, NULL, &made));
    NOT_NULL(acu_module_wrap_driver(0, module, NULL));
    NOT_NULL(acu_module_adopt_driver(0, NULL, &made));
    NOT_NULL(acu_module_adopt_driver(0, module, NULL));
    assert_null(made);
    HANDLE(acu_module_get_kernel(bad, "nothing", &kernel));
    HANDLE(acu_module_get_kernel_names(bad, NULL, &count));
    HANDLE(acu_module_get_unified_function(bad, "nothing", &unified));
    NOT_NULL(acu_module_get_unified_function(good.module, NULL, &unified));
    NOT_NULL(acu_module_get_unified_function(good.module, "nothing", NULL));
    HANDLE(acu_kernel_get_function(bad, &function));
    NOT_NULL(acu_kernel_get_function(good.kernel, NULL));
    HANDLE(acu_kernel_load(bad));
    HANDLE(acu_kernel_is_loaded(bad, &loaded));
    assert_false(loaded);
    NOT_NULL(acu_kernel_is_loaded(good.kernel, NULL));
    HANDLE(acu_module_get_global(bad, "table", good.stream, ACU_U8, &buffer));
    HANDLE(acu_module_get_global(good.module, "table", bad, ACU_U8, &buffer));
    NOT_NULL(acu_module_get_kernel(good.module, NULL, &kernel));
    NOT_NULL(acu_module_get_kernel(good.module, "nothing", NULL));
    NOT_NULL(acu_module_get_kernel_names(good.module, NULL, NULL));
    NOT_NULL(acu_module_get_global(good.module, NULL, good.stream, ACU_U8, &buffer));
    NOT_NULL(acu_module_get_global(good.module, "table", good.stream, ACU_U8, NULL));
    SAYS(NULL, acu_module_raw(bad));
    SAYS(NULL, acu_module_raw_driver(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_module_device(bad));
    SAYS('\0', *acu_module_log(bad));
    OWNERS(module);
    assert_non_null(acu_module_compile_log());
}

static void kernels(void **state) {
    (void)state;
    int number;
    size_t count;
    acu_kernel *made = NULL;
    acu_kernel_info info;
    acu_parameter parameter;
    struct CUfunc_st *function = (struct CUfunc_st *)good.kernel; /* is not looked at */
    NO_DEVICE(acu_kernel_wrap(absent, function, &made));
    NO_DEVICE(acu_kernel_wrap_driver(absent, function, &made));
    NOT_NULL(acu_kernel_wrap(0, NULL, &made));
    NOT_NULL(acu_kernel_wrap(0, function, NULL));
    NOT_NULL(acu_kernel_wrap_driver(0, NULL, &made));
    NOT_NULL(acu_kernel_wrap_driver(0, function, NULL));
    assert_null(made);
    HANDLE(acu_kernel_get_info(bad, &info));
    HANDLE(acu_kernel_set_attribute(bad, ACU_KERNEL_MAX_SHARED, 0));
    HANDLE(acu_kernel_get_parameter_count(bad, &count));
    HANDLE(acu_kernel_get_parameter(bad, 0, &parameter));
    HANDLE(acu_kernel_get_blocks_per_multiprocessor(bad, 32, 0, 0, &number));
    HANDLE(acu_kernel_get_best_block(bad, NULL, &count, &count));
    HANDLE(acu_kernel_get_available_shared(bad, 1, 32, &count));
    HANDLE(acu_kernel_get_max_clusters(bad, &good.grid, &number));
    HANDLE(acu_kernel_get_max_cluster_size(bad, &good.grid, &number));
    NOT_NULL(acu_kernel_get_info(good.kernel, NULL));
    NOT_NULL(acu_kernel_get_parameter_count(good.kernel, NULL));
    NOT_NULL(acu_kernel_get_parameter(good.kernel, 0, NULL));
    NOT_NULL(acu_kernel_get_blocks_per_multiprocessor(good.kernel, 32, 0, 0, NULL));
    NOT_NULL(acu_kernel_get_available_shared(good.kernel, 1, 32, NULL));
    NOT_NULL(acu_kernel_get_max_clusters(good.kernel, NULL, &number));
    NOT_NULL(acu_kernel_get_max_clusters(good.kernel, &good.grid, NULL));
    NOT_NULL(acu_kernel_get_max_cluster_size(good.kernel, NULL, &number));
    NOT_NULL(acu_kernel_get_max_cluster_size(good.kernel, &good.grid, NULL));
    OK(acu_kernel_get_best_block(good.kernel, NULL, NULL, NULL));
    SAYS(NULL, acu_kernel_raw(bad));
    SAYS(NULL, acu_kernel_raw_driver(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_kernel_device(bad));
    SAYS('\0', *acu_kernel_name(bad));
    SAYS(NULL, acu_kernel_module(bad));
    SAYS(ACU_CHECK_NOTHING, acu_kernel_parameter_check(bad));
    OWNERS(kernel);
}

static void launches(void **state) {
    (void)state;
    const acu_launch_size one = {{1, 0, 0}, {1, 0, 0}, 0};
    acu_grid recording = good.grid;
    acu_arg given;
    HANDLE(acu_launch_sized(bad, good.kernel, &one, NULL, 0));
    HANDLE(acu_launch_sized(good.stream, bad, &one, NULL, 0));
    NOT_NULL(acu_launch_sized(good.stream, good.kernel, NULL, NULL, 0));
    REFUSED(acu_launch_sized(good.stream, good.kernel, &one, NULL, 1), ACU_ERROR_ARGUMENT, "");
    HANDLE(acu_launch_args(bad, good.kernel, &good.grid, NULL, 0));
    HANDLE(acu_launch_args(good.stream, bad, &good.grid, NULL, 0));
    HANDLE(acu_launch_list(bad, good.kernel, &good.grid, good.args));
    HANDLE(acu_launch_list(good.stream, bad, &good.grid, good.args));
    OPTIONAL_HANDLE((recording.programmatic_event = bad,
                     acu_launch_args(good.stream, good.kernel, &recording, NULL, 0)));
    recording.programmatic_event = NULL;
    OPTIONAL_HANDLE((recording.begun_event = bad,
                     acu_launch_args(good.stream, good.kernel, &recording, NULL, 0)));
    NOT_NULL(acu_launch_args(good.stream, good.kernel, NULL, NULL, 0));
    REFUSED(acu_launch_args(good.stream, good.kernel, &good.grid, NULL, 1), ACU_ERROR_ARGUMENT, "");
    NOT_NULL(acu_launch_list(good.stream, good.kernel, NULL, good.args));
    HANDLE((given = acu_in(bad), acu_args_add(good.args, given)));
    none[OF_ANOTHER_KIND] = good.event; /* as the list is of this kind */
    HANDLE(acu_args_add(bad, acu_arg_of(1)));
    HANDLE(acu_args_set(bad, 0, acu_arg_of(1)));
    HANDLE(acu_args_clear(bad));
    HANDLE(acu_launch_list(good.stream, good.kernel, &good.grid, bad));
    NOT_NULL(acu_args_create(NULL));
    SAYS(0, acu_args_count(bad));
    OWNERS(args);
}

int main(void) {
    const struct CMUnitTest tests[] = {MISUSE(devices),
                                       MISUSE(nothing_is_cleaned_up),
                                       MISUSE(what_fails_stores_null),
                                       MISUSE(streams_are_made),
                                       MISUSE(streams),
                                       MISUSE(captures),
                                       MISUSE(events),
                                       MISUSE(pools),
                                       MISUSE(buffers_are_made),
                                       MISUSE(tensors),
                                       MISUSE(addresses),
                                       MISUSE(buffers),
                                       MISUSE(modules),
                                       MISUSE(kernels),
                                       MISUSE(launches),
                                       MISUSE(huge_sizes),
                                       MISUSE(huge_launches),
                                       MISUSE(failures_name_what_they_are_about)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
