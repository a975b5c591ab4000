/* Sharing, between two processes: what goes over, and who may release first. */
#include "processes.h"
#include "safe.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 1000, FIRST = 100, SOME = 50 };

static acu_stream *new_stream(void) {
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    return stream;
}

/* A buffer of numbers that counts up, in memory that goes by IPC. */
static acu_buffer *counted(acu_stream *stream, acu_memory memory, acu_pool *pool) {
    acu_buffer *buffer = NULL;
    int32_t numbers[MANY];
    for (int i = 0; i < MANY; i++)
        numbers[i] = i;
    const acu_buffer_options options = {.memory = memory, .pool = pool};
    OK(acu_buffer_create_with(stream, ACU_I32, MANY, &options, &buffer));
    OK(acu_buffer_write(buffer, numbers, MANY));
    return buffer;
}

static size_t bytes_in_use(void) {
    size_t free_bytes = 0, total = 0;
    assert_int_equal(cudaMemGetInfo(&free_bytes, &total), 0);
    return total - free_bytes;
}

static acu_share *exported(acu_buffer *buffer) {
    acu_share *share = NULL;
    OK(acu_share_export_buffer(buffer, &share));
    return share;
}

/* Returns how many descriptors belong to the share's token. */
static size_t descriptors_of(acu_share *share) {
    size_t count = 0;
    return acu_share_get_descriptors(share, NULL, &count) == 0 ? count : SIZE_MAX;
}

/* ---- a buffer ---- */

/* Receives a slice of the numbers, looks at it, changes it, and releases all. */
static void use_slice(int socket, acu_share_way way) {
    acu_stream *stream = NULL;
    acu_share *share = NULL;
    acu_buffer *buffer = NULL;
    acu_share_info info;
    int32_t numbers[SOME];
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(acu_share_get_info(share, &info) == 0);
    MUST(info.kind == ACU_SHARE_BUFFER && info.way == way && info.dtype == ACU_I32);
    MUST(info.count == SOME && info.bytes == SOME * sizeof(int32_t) && !info.exported);
    MUST(info.device == 0 && info.process == (int)getppid() && info.reason[0]);
    MUST(info.offset == FIRST * sizeof(int32_t));
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(share, stream, &buffer) == 0);
    MUST(acu_share_release(share) == 0);
    MUST(acu_buffer_count(buffer) == SOME && acu_buffer_dtype(buffer) == ACU_I32);
    MUST(acu_buffer_read(buffer, numbers, SOME) == 0);
    for (int i = 0; i < SOME; i++)
        MUST(numbers[i] == FIRST + i);
    numbers[7] = -7;
    MUST(acu_buffer_write(buffer, numbers, SOME) == 0);
    MUST(let_go_on(socket) && wait_for_other(socket));
    MUST(acu_buffer_release(buffer) == 0);
    MUST(acu_stream_release(stream) == 0);
    MUST(let_go_on(socket) && wait_for_other(socket));
}

PARTNER(uses_by_ipc) {
    use_slice(socket, ACU_SHARE_BY_IPC);
}

PARTNER(uses_by_pool) {
    use_slice(socket, ACU_SHARE_BY_POOL);
}

PARTNER(uses_by_descriptor) {
    use_slice(socket, ACU_SHARE_BY_DESCRIPTOR);
}

/* Sends a slice of the numbers, and checks who uses it. */
static void send_slice(acu_buffer *buffer, const char *user) {
    acu_buffer *slice = NULL;
    int32_t number = 0;
    bool used = true;
    process other = start_partner(user);
    OK(acu_buffer_slice(buffer, FIRST, SOME, &slice));
    acu_share *share = exported(slice);
    OK(acu_buffer_release(slice));
    OK(acu_share_is_used(share, &used));
    assert_false(used);
    OK(acu_share_send(share, other.socket));
    OK(acu_share_is_used(share, &used));
    assert_true(used);
    assert_true(wait_for_other(other.socket)); /* written there */
    OK(acu_buffer_read_typed(buffer, FIRST + 7, ACU_I32, &number, 1, NULL));
    assert_int_equal(number, -7);
    OK(acu_share_is_used(share, &used));
    assert_true(used);
    assert_true(let_go_on(other.socket) && wait_for_other(other.socket)); /* released there */
    OK(acu_share_is_used(share, &used));
    assert_false(used);
    OK(acu_share_wait(share));
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
    OK(acu_share_release(share));
}

static void buffer_goes_by_ipc(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = counted(stream, ACU_MEMORY_DEVICE, NULL);
    send_slice(buffer, "uses_by_ipc");
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* Returns a range to which one piece of memory is mapped that can be shared. */
static acu_virtual *mapped(void) {
    acu_physical *memory = NULL;
    acu_virtual *range = NULL;
    size_t step = 0;
    const acu_physical_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    OK(acu_physical_get_granularity(0, &options, &step, NULL));
    OK(acu_physical_create(0, step, &options, &memory));
    OK(acu_virtual_reserve(0, step, NULL, &range));
    OK(acu_virtual_map(range, 0, memory));
    OK(acu_physical_release(memory));
    return range;
}

static void mapped_buffer_goes_by_descriptor(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_virtual *range = mapped();
    acu_buffer *buffer = NULL;
    int32_t numbers[MANY];
    for (int i = 0; i < MANY; i++)
        numbers[i] = i;
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_I32, MANY, &buffer));
    OK(acu_buffer_write(buffer, numbers, MANY));
    send_slice(buffer, "uses_by_descriptor");
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_release(range));
    OK(acu_stream_release(stream));
}

/* ---- pools ---- */

static acu_pool *new_pool(unsigned handles) {
    acu_pool *pool = NULL;
    const acu_pool_options options = {.handles = handles};
    OK(acu_pool_create(0, &options, &pool));
    return pool;
}

static void pool_buffer_goes_by_its_pool(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_pool *pool = new_pool(ACU_SHARE_FILE_DESCRIPTOR);
    acu_buffer *buffer = counted(stream, ACU_MEMORY_POOL, pool);
    send_slice(buffer, "uses_by_pool");
    OK(acu_buffer_release(buffer));
    OK(acu_pool_release(pool));
    OK(acu_stream_release(stream));
}

/* The memory of a current pool, too, which the buffer does not name. */
static void current_pool_is_found(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_pool *pool = new_pool(ACU_SHARE_FILE_DESCRIPTOR), *before = NULL;
    acu_buffer *buffer = NULL;
    acu_share_info info;
    OK(acu_pool_get_current(0, &before));
    OK(acu_pool_set_current(pool));
    OK(acu_buffer_create(stream, ACU_I32, MANY, &buffer));
    acu_share *share = exported(buffer);
    OK(acu_share_get_info(share, &info));
    assert_int_equal(info.way, ACU_SHARE_BY_POOL);
    assert_non_null(strstr(info.reason, "pool"));
    assert_true(info.exported && info.offset == 0 && info.pieces == 0);
    assert_int_equal(descriptors_of(share), 1);
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    OK(acu_pool_set_current(before));
    OK(acu_pool_release(before));
    OK(acu_stream_release(stream));
    OK(acu_pool_release(pool));
}

/* Gets two parts of one buffer as tokens, for which it has the pool already. */
PARTNER(has_the_pool) {
    acu_share_token tokens[2];
    acu_share *whole = NULL, *parts[2] = {NULL, NULL};
    acu_pool *pool = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffers[2] = {NULL, NULL}, *none = NULL;
    int32_t number = 0;
    MUST(recv(socket, tokens, sizeof tokens, MSG_WAITALL) == (ssize_t)sizeof tokens);
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    for (int i = 0; i < 2; i++)
        MUST(acu_share_create(&tokens[i], sizeof tokens[i], NULL, 0, &parts[i]) == 0);
    MUST(acu_share_import_buffer(parts[0], stream, &none) == ACU_ERROR_STATE);
    MUST(strstr(acu_last_error_message(), "without the descriptor"));
    MUST(let_go_on(socket));
    MUST(acu_share_receive(socket, &whole) == 0);
    MUST(acu_share_import_pool(whole, &pool) == 0);
    for (int i = 0; i < 2; i++)
        MUST(acu_share_import_buffer(parts[i], stream, &buffers[i]) == 0);
    const acu_buffer_options options = {.pool = pool};
    MUST(acu_buffer_create_with(stream, ACU_U8, 1, &options, &none) != 0 && !none);
    acu_share *again = NULL;
    MUST(acu_share_export_pool(pool, &again) == ACU_ERROR_STATE);
    MUST(acu_pool_release(pool) == 0 && acu_share_release(whole) == 0);
    MUST(acu_share_release(parts[0]) == 0 && acu_share_release(parts[1]) == 0);
    MUST(acu_buffer_read_typed(buffers[0], 1, ACU_I32, &number, 1, NULL) == 0 && number == 1);
    MUST(acu_buffer_release(buffers[0]) == 0); /* the other one's memory stays */
    MUST(acu_buffer_read_typed(buffers[1], 1, ACU_I32, &number, 1, NULL) == 0);
    MUST(number == FIRST + 1);
    MUST(acu_buffer_release(buffers[1]) == 0);
    MUST(acu_stream_release(stream) == 0);
}

static void pool_goes_once(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_pool *pool = new_pool(ACU_SHARE_FILE_DESCRIPTOR);
    acu_buffer *buffer = counted(stream, ACU_MEMORY_POOL, pool), *slice = NULL;
    acu_share *whole = NULL, *parts[2] = {exported(buffer), NULL};
    acu_share_token tokens[2];
    acu_share_info info;
    OK(acu_buffer_slice(buffer, FIRST, SOME, &slice));
    parts[1] = exported(slice);
    OK(acu_share_export_pool(pool, &whole));
    OK(acu_share_get_info(whole, &info));
    assert_true(info.kind == ACU_SHARE_POOL && info.way == ACU_SHARE_BY_POOL && info.exported);
    process other = start_partner("has_the_pool");
    for (int i = 0; i < 2; i++)
        OK(acu_share_get_token(parts[i], &tokens[i]));
    assert_int_equal(write(other.socket, tokens, sizeof tokens), sizeof tokens);
    assert_true(wait_for_other(other.socket));
    OK(acu_share_send(whole, other.socket));
    finish_partner(&other);
    OK(acu_share_release(parts[0]));
    OK(acu_share_release(parts[1]));
    OK(acu_share_release(whole));
    OK(acu_buffer_release(slice));
    OK(acu_buffer_release(buffer));
    OK(acu_pool_release(pool));
    OK(acu_stream_release(stream));
}

/* ---- a token alone ---- */

PARTNER(uses_token) {
    acu_share_token token;
    acu_share *share = NULL, *same = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL, *again = NULL;
    int32_t numbers[2] = {0, 0};
    MUST(recv(socket, &token, sizeof token, MSG_WAITALL) == (ssize_t)sizeof token);
    MUST(acu_share_create(&token, sizeof token, NULL, 0, &share) == 0);
    MUST(descriptors_of(share) == 0);
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(share, stream, &buffer) == 0);
    MUST(acu_share_import_buffer(share, stream, &again) == 0); /* a slice of the first */
    MUST(acu_buffer_raw(again) == acu_buffer_raw(buffer));
    MUST(acu_share_create(&token, sizeof token, NULL, 0, &same) == 0); /* used twice */
    MUST(acu_share_release(same) == 0);
    MUST(acu_buffer_read(again, numbers, 2) == 0);
    MUST(numbers[0] == 0 && numbers[1] == 1);
    MUST(acu_share_export_buffer(buffer, &same) == ACU_ERROR_STATE);
    MUST(acu_share_send(share, socket) == ACU_ERROR_STATE);
    bool used;
    MUST(acu_share_is_used(share, &used) == ACU_ERROR_STATE);
    MUST(acu_share_wait(share) == ACU_ERROR_STATE);
    acu_event *event = NULL;
    acu_pool *pool = NULL;
    acu_physical *physical = NULL;
    MUST(acu_share_import_event(share, &event) == ACU_ERROR_ARGUMENT);
    MUST(acu_share_import_pool(share, &pool) == ACU_ERROR_ARGUMENT);
    MUST(acu_share_import_physical(share, &physical) == ACU_ERROR_ARGUMENT);
    MUST(acu_buffer_release(buffer) == 0 && acu_buffer_release(again) == 0);
    MUST(acu_share_release(share) == 0);
    MUST(acu_stream_release(stream) == 0);
    MUST(let_go_on(socket) && wait_for_other(socket)); /* released there */
    MUST(acu_share_create(&token, sizeof token, NULL, 0, &share) == ACU_ERROR_STATE);
    MUST(strstr(acu_last_error_message(), "has released its share, or has ended"));
}

static void token_goes_alone(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = counted(stream, ACU_MEMORY_DEVICE, NULL);
    acu_share *share = exported(buffer);
    acu_share_token token;
    process other = start_partner("uses_token");
    OK(acu_share_get_token(share, &token));
    assert_int_equal(descriptors_of(share), 0);
    assert_int_equal(write(other.socket, &token, sizeof token), sizeof token);
    assert_true(wait_for_other(other.socket));
    OK(acu_share_release(share));
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* ---- who goes first ---- */

PARTNER(outlives_the_release) {
    acu_share *share = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    int32_t number = 0;
    MUST(wait_for_other(socket)); /* all is released there before it is received here */
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(share, stream, &buffer) == 0);
    MUST(acu_buffer_read_typed(buffer, MANY - 1, ACU_I32, &number, 1, NULL) == 0);
    MUST(number == MANY - 1);
    MUST(acu_share_release(share) == 0);
    MUST(acu_buffer_release(buffer) == 0);
    MUST(acu_stream_release(stream) == 0);
    MUST(let_go_on(socket) && wait_for_other(socket));
}

static void exporter_may_release_first(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    const size_t before = bytes_in_use();
    acu_buffer *buffer = counted(stream, ACU_MEMORY_DEVICE, NULL);
    process other = start_partner("outlives_the_release");
    acu_share *share = exported(buffer);
    assert_true(let_go_on(other.socket));
    OK(acu_share_send(share, other.socket));
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    if (is_simulated())
        assert_true(bytes_in_use() > before); /* the memory is kept for the other process */
    assert_true(wait_for_other(other.socket));
    OK(acu_stream_synchronize(stream)); /* destroys what is not used any more */
    if (is_simulated())
        assert_int_equal(bytes_in_use(), before);
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
    OK(acu_stream_release(stream));
}

PARTNER(uses_until_killed) {
    acu_share *share = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(share, stream, &buffer) == 0);
    MUST(let_go_on(socket));
    (void)wait_for_other(socket); /* which never comes */
}

static void importer_may_die(void **state) {
    (void)state;
    bool used = false;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = counted(stream, ACU_MEMORY_DEVICE, NULL);
    process other = start_partner("uses_until_killed");
    acu_share *share = exported(buffer);
    OK(acu_share_send(share, other.socket));
    assert_true(wait_for_other(other.socket));
    OK(acu_share_is_used(share, &used));
    assert_true(used);
    kill_partner(&other);
    OK(acu_share_wait(share)); /* a dead process uses nothing */
    OK(acu_share_is_used(share, &used));
    assert_false(used);
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

PARTNER(exports_until_killed) {
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    acu_share *share = NULL;
    acu_share_token token;
    const acu_buffer_options options = {.memory = ACU_MEMORY_DEVICE};
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_buffer_create_with(stream, ACU_I32, MANY, &options, &buffer) == 0);
    MUST(acu_share_export_buffer(buffer, &share) == 0);
    MUST(acu_share_get_token(share, &token) == 0);
    MUST(write(socket, &token, sizeof token) == (ssize_t)sizeof token);
    MUST(acu_share_send(share, socket) == 0);
    (void)wait_for_other(socket); /* which never comes */
}

static void exporter_may_die(void **state) {
    (void)state;
    acu_share_token token;
    acu_share *early = NULL, *share = NULL;
    process other = start_partner("exports_until_killed");
    acu_stream *stream = new_stream();
    acu_buffer *buffer = NULL;
    int32_t number = 5;
    assert_int_equal(recv(other.socket, &token, sizeof token, MSG_WAITALL), sizeof token);
    OK(acu_share_receive(other.socket, &early));
    OK(acu_share_import_buffer(early, stream, &buffer));
    kill_partner(&other);
    FAILS(acu_share_create(&token, sizeof token, NULL, 0, &share), ACU_ERROR_STATE,
          "has released its share, or has ended");
    assert_null(share);
    OK(acu_buffer_write_typed(buffer, 3, ACU_I32, &number, 1, NULL)); /* what is open stays open */
    number = 0;
    OK(acu_buffer_read_typed(buffer, 3, ACU_I32, &number, 1, NULL));
    assert_int_equal(number, 5);
    OK(acu_share_release(early));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* ---- events order the processes ---- */

PARTNER(waits_for_event) {
    acu_share *memory = NULL, *order = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    acu_event *event = NULL;
    acu_share_info info;
    int32_t number = 0;
    MUST(acu_share_receive(socket, &memory) == 0);
    MUST(acu_share_receive(socket, &order) == 0);
    MUST(acu_share_get_info(order, &info) == 0);
    MUST(info.kind == ACU_SHARE_EVENT && info.way == ACU_SHARE_BY_IPC && info.bytes == 0);
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(memory, stream, &buffer) == 0);
    MUST(acu_share_import_event(order, &event) == 0);
    MUST(acu_event_query(event) == ACU_NOT_READY); /* recorded there, behind work */
    MUST(acu_stream_wait_event(stream, event) == 0);
    MUST(let_go_on(socket));
    MUST(acu_buffer_read_typed(buffer, 9, ACU_I32, &number, 1, NULL) == 0);
    MUST(number == 77);
    MUST(acu_event_record(event, stream) == 0); /* and the other way round */
    MUST(let_go_on(socket) && wait_for_other(socket));
    MUST(acu_event_release(event) == 0 && acu_buffer_release(buffer) == 0);
    MUST(acu_share_release(memory) == 0 && acu_share_release(order) == 0);
    MUST(acu_stream_release(stream) == 0);
}

static acu_event *shared_event(void) {
    acu_event *event = NULL;
    const acu_event_options options = {.flags = ACU_EVENT_INTERPROCESS | ACU_EVENT_DISABLE_TIMING};
    OK(acu_event_create(0, &options, &event));
    return event;
}

static void events_order_processes(void **state) {
    (void)state;
    blocker block;
    int32_t number = 77;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = counted(stream, ACU_MEMORY_DEVICE, NULL);
    acu_event *event = shared_event();
    acu_share *memory = exported(buffer), *order = NULL;
    process other = start_partner("waits_for_event");
    OK(acu_share_export_event(event, &order));
    block_stream(&block, stream);
    OK(acu_buffer_fill(buffer, &number));
    OK(acu_event_record(event, stream));
    OK(acu_share_send(memory, other.socket));
    OK(acu_share_send(order, other.socket));
    assert_true(wait_for_other(other.socket)); /* a stream waits there */
    unblock_stream(&block);
    assert_true(wait_for_other(other.socket)); /* recorded there */
    OK(acu_event_synchronize(event));
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
    OK(acu_share_release(memory));
    OK(acu_share_release(order));
    OK(acu_event_release(event));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* ---- physical memory ---- */

PARTNER(maps_physical) {
    acu_share *share = NULL, *without = NULL;
    acu_physical *physical = NULL;
    acu_virtual *range = NULL;
    acu_share_info info;
    acu_share_token token;
    int descriptor = -1;
    size_t count = 1;
    char byte = 0;
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(acu_share_get_info(share, &info) == 0);
    MUST(info.kind == ACU_SHARE_PHYSICAL && info.way == ACU_SHARE_BY_DESCRIPTOR);
    MUST(acu_share_get_token(share, &token) == 0 && info.pieces == 1);
    MUST(acu_share_get_descriptors(share, &descriptor, &count) == 0 && count == 1);
    MUST(acu_share_create(&token, sizeof token, NULL, 0, &without) == 0);
    MUST(acu_share_import_physical(without, &physical) == ACU_ERROR_STATE);
    MUST(strstr(acu_last_error_message(), "without the descriptor"));
    MUST(acu_share_release(without) == 0);
    MUST(acu_share_create(&token, sizeof token, &descriptor, 1, &without) == 0);
    MUST(acu_share_import_physical(without, &physical) == 0);
    MUST(acu_share_release(without) == 0);
    MUST(acu_physical_bytes(physical) == info.bytes);
    MUST(acu_virtual_reserve(0, info.bytes, NULL, &range) == 0);
    MUST(acu_virtual_map(range, 0, physical) == 0);
    MUST(cudaMemcpy(&byte, acu_virtual_raw(range), 1, cudaMemcpyDeviceToHost) == 0);
    MUST(byte == 0x3c);
    MUST(acu_virtual_release(range) == 0 && acu_physical_release(physical) == 0);
    MUST(acu_share_release(share) == 0);
}

static void physical_memory_goes_by_descriptor(void **state) {
    (void)state;
    acu_virtual *range = mapped();
    acu_physical *memory = NULL;
    acu_share *share = NULL;
    process other = start_partner("maps_physical");
    OK(acu_physical_find(acu_virtual_raw(range), acu_virtual_bytes(range), &memory));
    assert_int_equal(cudaMemset(acu_virtual_raw(range), 0x3c, 100), 0);
    assert_int_equal(cudaDeviceSynchronize(), 0);
    OK(acu_share_export_physical(memory, &share));
    OK(acu_share_send(share, other.socket));
    finish_partner(&other);
    OK(acu_share_release(share));
    OK(acu_physical_release(memory));
    OK(acu_virtual_release(range));
}

/* ---- calls that fail ---- */

/* Exports one thing of each way, and keeps it until the other process is done. */
PARTNER(exports_all) {
    enum { WAYS = 4 };
    acu_stream *stream = NULL;
    acu_pool *pool = NULL;
    acu_event *event = NULL;
    acu_buffer *buffers[3] = {NULL};
    acu_physical *memory = NULL;
    acu_virtual *range = NULL;
    acu_share *shares[WAYS] = {NULL};
    size_t step = 0;
    const acu_buffer_options device = {.memory = ACU_MEMORY_DEVICE};
    const acu_pool_options handles = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    const acu_physical_options physical = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    const acu_event_options shared = {.flags = ACU_EVENT_INTERPROCESS | ACU_EVENT_DISABLE_TIMING};
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_pool_create(0, &handles, &pool) == 0);
    MUST(acu_event_create(0, &shared, &event) == 0);
    MUST(acu_physical_get_granularity(0, &physical, &step, NULL) == 0);
    MUST(acu_physical_create(0, step, &physical, &memory) == 0);
    MUST(acu_virtual_reserve(0, step, NULL, &range) == 0);
    MUST(acu_virtual_map(range, 0, memory) == 0);
    MUST(acu_buffer_create_with(stream, ACU_U8, 100, &device, &buffers[0]) == 0);
    const acu_buffer_options pooled = {.pool = pool};
    MUST(acu_buffer_create_with(stream, ACU_U8, 100, &pooled, &buffers[1]) == 0);
    MUST(acu_virtual_create_buffer(range, 0, stream, ACU_U8, 100, &buffers[2]) == 0);
    MUST(acu_share_export_event(event, &shares[3]) == 0);
    for (int i = 0; i < WAYS; i++) {
        MUST(i == 3 || acu_share_export_buffer(buffers[i], &shares[i]) == 0);
        MUST(acu_share_send(shares[i], socket) == 0);
    }
    MUST(wait_for_other(socket)); /* all is released there */
    for (int i = 0; i < WAYS; i++) {
        bool used = true;
        MUST(acu_share_is_used(shares[i], &used) == 0 && !used);
        MUST(acu_share_release(shares[i]) == 0);
        MUST(i == 3 || acu_buffer_release(buffers[i]) == 0);
    }
    MUST(acu_virtual_release(range) == 0 && acu_physical_release(memory) == 0);
    MUST(acu_event_release(event) == 0 && acu_pool_release(pool) == 0);
    MUST(acu_stream_release(stream) == 0);
}

static acu_result import_once(acu_share *share, acu_stream *stream) {
    acu_share_info info;
    acu_share_token token;
    int descriptor = -1;
    size_t count = 1;
    ACU_AUTO(acu_share) *fresh = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_TRY(acu_share_get_info(share, &info));
    ACU_TRY(acu_share_get_token(share, &token));
    ACU_TRY(acu_share_get_descriptors(share, &descriptor, &count));
    ACU_TRY(acu_share_create(&token, sizeof token, &descriptor, count, &fresh));
    return info.kind == ACU_SHARE_EVENT ? acu_share_import_event(fresh, &event)
                                        : acu_share_import_buffer(fresh, stream, &buffer);
}

static void imports_fail_cleanly(void **state) {
    (void)state;
    static const struct {
        const char *call;
        int share; /* in the order in which they come */
    } fails[] = {
        {"cuDeviceGetUuid", 0},
        {"cudaIpcOpenMemHandle", 0},
        {"cudaMemPoolImportFromShareableHandle", 1},
        {"cudaMemPoolImportPointer", 1},
        {"cuMemImportFromShareableHandle", 2},
        {"cuMemGetAllocationPropertiesFromHandle", 2},
        {"cuMemAddressReserve", 2},
        {"cuMemMap", 2},
        {"cuMemSetAccess", 2},
        {"cudaIpcOpenEventHandle", 3},
    };
    acu_share *shares[4] = {NULL};
    process other = start_partner("exports_all");
    acu_stream *stream = new_stream();
    for (size_t i = 0; i < COUNT(shares); i++)
        OK(acu_share_receive(other.socket, &shares[i]));
    for (size_t i = 0; i < COUNT(fails); i++) {
        char injected[100];
        snprintf(injected, sizeof injected, "%s@1:2", fails[i].call);
        OK(acu_inject_errors(injected));
        FAILS(import_once(shares[fails[i].share], stream), ACU_OUT_OF_MEMORY, fails[i].call);
        OK(acu_inject_errors(NULL));
        assert_int_equal(acu_release_error(NULL), 0);
        OK(import_once(shares[fails[i].share], stream));
    }
    for (size_t i = 0; i < COUNT(shares); i++)
        OK(acu_share_release(shares[i]));
    OK(acu_stream_release(stream));
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
}

/* ---- two devices ---- */

/* Memory of the first device, used by the second one, which can reach it. */
static void imported_on_another_device(void **state) {
    (void)state;
    acu_share *share = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    int32_t number = 9;
    NEEDS_TWO_DEVICES();
    process other = start_partner("exports_until_killed");
    acu_share_token token;
    assert_int_equal(recv(other.socket, &token, sizeof token, MSG_WAITALL), sizeof token);
    OK(acu_share_receive(other.socket, &share));
    OK(acu_stream_create(1, NULL, &stream));
    OK(acu_share_import_buffer(share, stream, &buffer));
    OK(acu_buffer_write_typed(buffer, 0, ACU_I32, &number, 1, NULL));
    number = 0;
    OK(acu_buffer_read_typed(buffer, 0, ACU_I32, &number, 1, NULL));
    assert_int_equal(number, 9);
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
    kill_partner(&other);
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        TEST(buffer_goes_by_ipc),
        TEST(mapped_buffer_goes_by_descriptor),
        TEST(pool_buffer_goes_by_its_pool),
        TEST(current_pool_is_found),
        TEST(pool_goes_once),
        TEST(token_goes_alone),
        TEST(exporter_may_release_first),
        TEST(importer_may_die),
        TEST(exporter_may_die),
        TEST(events_order_processes),
        TEST(physical_memory_goes_by_descriptor),
        TEST(imports_fail_cleanly),
        TEST(imported_on_another_device),
    };
    run_partner(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
