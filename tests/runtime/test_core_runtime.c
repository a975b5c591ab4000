/* The core: which runtimes there are, how they are registered, and what their places are. */
#include "core_test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static acu_place place;

static int setup(void **state) {
    (void)state;
    made_up_reset();
    return 0;
}

/* ---- names and numbers ---- */

static void the_known_runtimes_have_their_numbers(void **state) {
    (void)state;
    int runtime = -1;
    assert_true(acu_runtime_count() >= 4);
    assert_string_equal(acu_runtime_name(ACU_RUNTIME_CPU), "cpu");
    assert_string_equal(acu_runtime_name(ACU_RUNTIME_CUDA), "cuda");
    assert_string_equal(acu_runtime_name(ACU_RUNTIME_WEBGPU), "webgpu");
    assert_string_equal(acu_runtime_name(place.runtime), "madeup-0");
    assert_string_equal(acu_runtime_name(-1), "");
    assert_string_equal(acu_runtime_name(acu_runtime_count()), "");
    OK(acu_runtime_find("webgpu", &runtime));
    assert_int_equal(runtime, ACU_RUNTIME_WEBGPU);
    OK(acu_runtime_find("madeup-0", &runtime));
    assert_int_equal(runtime, place.runtime);
    FAILS(ACU_ERROR_ARGUMENT, "'madeup'", acu_runtime_find("madeup", &runtime));
    FAILS(ACU_ERROR_ARGUMENT, "'name' is NULL", acu_runtime_find(NULL, &runtime));
    FAILS(ACU_ERROR_ARGUMENT, "'runtime' is NULL", acu_runtime_find("cpu", NULL));
}

static void places_are_texts(void **state) {
    (void)state;
    acu_place found = {7, 7};
    char text[32];
    OK(acu_place_parse("cpu", &found));
    assert_true(acu_place_is(found, acu_place_cpu()));
    OK(acu_place_parse("cuda", &found));
    assert_true(found.runtime == ACU_RUNTIME_CUDA && found.device == 0);
    OK(acu_place_parse("webgpu:12", &found));
    assert_true(found.runtime == ACU_RUNTIME_WEBGPU && found.device == 12);
    assert_int_equal(acu_place_describe(found, text, sizeof text), 9);
    assert_string_equal(text, "webgpu:12");
    assert_int_equal(acu_place_describe(found, text, 4), 9);
    assert_string_equal(text, "web");
    assert_int_equal(acu_place_describe(found, NULL, 0), 9);
    (void)acu_place_describe(acu_place_cpu(), text, sizeof text);
    assert_string_equal(text, "cpu");
    (void)acu_place_describe((acu_place){99, 1}, text, sizeof text);
    assert_string_equal(text, "runtime 99:1");
    const char *const wrong[] = {"",        ":",        ":1",      "cuda:",
                                 "cuda:x",  "cuda:-1",  "cuda: 1", "cuda:1 ",
                                 "cuda:+1", "cuda:1:2", "cud",     "CUDA",
                                 "cuda2",   " cuda",    "cuda:",   "cuda:99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(ACU_ERROR_ARGUMENT, "", acu_place_parse(wrong[i], &found));
    FAILS(ACU_ERROR_ARGUMENT, "'text' is NULL", acu_place_parse(NULL, &found));
    FAILS(ACU_ERROR_ARGUMENT, "'place' is NULL", acu_place_parse("cpu", NULL));
}

/* ---- registering ---- */

static acu_backend changed; /* what is registered next */

#define REFUSED(code, words)                                                                       \
    do {                                                                                           \
        int refused = -1;                                                                          \
        FAILS(code, words, acu_runtime_register(&changed, &refused));                              \
        assert_int_equal(refused, -1);                                                             \
    } while (0)

static void tables_are_checked(void **state) {
    (void)state;
    int runtime;
    const int count = acu_runtime_count();
    changed = made_up_backend;
    FAILS(ACU_ERROR_ARGUMENT, "'backend' is NULL", acu_runtime_register(NULL, &runtime));
    FAILS(ACU_ERROR_ARGUMENT, "'runtime' is NULL", acu_runtime_register(&changed, NULL));
    changed.version = ACU_BACKEND_VERSION + 1;
    REFUSED(ACU_NOT_SUPPORTED, "version 2");
    changed.version = ACU_BACKEND_VERSION;
    changed.size = 8;
    REFUSED(ACU_ERROR_ARGUMENT, "size is 8");
    changed.size = 0;
    REFUSED(ACU_ERROR_ARGUMENT, "size is 0");
    changed.size = offsetof(acu_backend, copy); /* an impossibly old header */
    REFUSED(ACU_ERROR_ARGUMENT, "has no copy");
    changed.size = offsetof(acu_backend, mark_query); /* half of the marks */
    REFUSED(ACU_ERROR_ARGUMENT, "all or none");
    changed.size = sizeof changed;
    const char *const names[] = {NULL,  "",    "CPU", "a b",
                                 "a:1", "a.b", "äh",  "a-name-of-more-than-31-characters"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        changed.name = names[i];
        REFUSED(ACU_ERROR_ARGUMENT, "lower case");
    }
    const char *const taken[] = {"cpu", "cuda", "webgpu", "madeup-0"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        changed.name = taken[i];
        REFUSED(ACU_ERROR_ARGUMENT, taken[i]);
    }
    assert_int_equal(acu_runtime_count(), count);
}

#define WITHOUT(entry, words)                                                                      \
    do {                                                                                           \
        changed = made_up_backend;                                                                 \
        changed.entry = NULL;                                                                      \
        REFUSED(ACU_ERROR_ARGUMENT, words);                                                        \
    } while (0)

static void needed_functions_are_needed(void **state) {
    (void)state;
    WITHOUT(count_devices, "no count_devices");
    WITHOUT(device_open, "no device_open");
    WITHOUT(device_close, "no device_close");
    WITHOUT(device_get_info, "no device_get_info");
    WITHOUT(queue_create, "no queue_create");
    WITHOUT(queue_destroy, "no queue_destroy");
    WITHOUT(queue_synchronize, "no queue_synchronize");
    WITHOUT(memory_allocate, "no memory_allocate");
    WITHOUT(memory_free, "no memory_free");
    WITHOUT(write, "no write");
    WITHOUT(read, "no read");
    WITHOUT(copy, "no copy");
    WITHOUT(mark_create, "not mark_create");
    WITHOUT(mark_destroy, "not mark_destroy");
    WITHOUT(mark_query, "not mark_query");
    WITHOUT(mark_synchronize, "not mark_synchronize");
    WITHOUT(program_create, "not program_create");
    WITHOUT(program_destroy, "not program_destroy");
    WITHOUT(run, "not run");
    WITHOUT(capture_begin, "not capture_begin");
    WITHOUT(capture_end, "not capture_end");
    WITHOUT(capture_cancel, "not capture_cancel");
    WITHOUT(replay_run, "not replay_run");
    WITHOUT(replay_destroy, "not replay_destroy");
    WITHOUT(memory_wrap, "not memory_wrap");
    WITHOUT(memory_unwrap, "not memory_unwrap");
}

static void a_shared_object_is_a_runtime(void **state) {
    (void)state;
    int runtime = -1;
    FAILS(ACU_ERROR_ARGUMENT, "cannot be opened", acu_runtime_open("/no/such/file.so", &runtime));
    FAILS(ACU_ERROR_ARGUMENT, "'path' is NULL", acu_runtime_open(NULL, &runtime));
    FAILS(ACU_ERROR_ARGUMENT, "'runtime' is NULL", acu_runtime_open(MADE_UP_LIBRARY, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "no function acu_backend_entry()",
          acu_runtime_open(EMPTY_LIBRARY, &runtime));
    setenv("MADE_UP_REFUSES", "1", 1);
    FAILS(ACU_NOT_SUPPORTED, "no table for version 1", acu_runtime_open(MADE_UP_LIBRARY, &runtime));
    unsetenv("MADE_UP_REFUSES");
    assert_int_equal(runtime, -1);
    OK(acu_runtime_open(MADE_UP_LIBRARY, &runtime));
    assert_string_equal(acu_runtime_name(runtime), "madeup");
    FAILS(ACU_ERROR_ARGUMENT, "has the name 'madeup'", acu_runtime_open(MADE_UP_LIBRARY, &runtime));
    ACU_AUTO(acu_client) *client = new_client((acu_place){runtime, 1});
    ACU_AUTO(acu_block) *block = new_block(client, 100, 7);
    assert_int_equal(byte_at(client, block, 99), 7);
}

/* ---- devices ---- */

static void devices_are_counted(void **state) {
    (void)state;
    int count = -1;
    OK(acu_runtime_get_device_count(place.runtime, &count));
    assert_int_equal(count, 2);
    FAILS(ACU_NOT_SUPPORTED, "acu_place_cuda()",
          acu_runtime_get_device_count(ACU_RUNTIME_CUDA, &count));
    assert_int_equal(count, 0);
    FAILS(ACU_ERROR_ARGUMENT, "no runtime 99", acu_runtime_get_device_count(99, &count));
    FAILS(ACU_ERROR_ARGUMENT, "'count' is NULL", acu_runtime_get_device_count(0, NULL));
    made_up.fail[MADE_UP_COUNT_DEVICES] = 35;
    FAILS(35, "entry 0 was told to fail", acu_runtime_get_device_count(place.runtime, &count));
    assert_int_equal(count, 0);
}

static void a_device_that_is_not_there(void **state) {
    (void)state;
    acu_client *client = NULL;
    acu_place_info info;
    FAILS(101, "has 2", acu_client_create((acu_place){place.runtime, 2}, NULL, &client));
    FAILS(101, "no such device", acu_client_get_default((acu_place){place.runtime, -1}, &client));
    FAILS(101, "no such device", acu_place_get_info((acu_place){place.runtime, 2}, &info));
    FAILS(ACU_NOT_SUPPORTED, "acu_place_webgpu()",
          acu_client_get_default((acu_place){ACU_RUNTIME_WEBGPU, 0}, &client));
    FAILS(ACU_ERROR_ARGUMENT, "no runtime 99", acu_client_get_default((acu_place){99, 0}, &client));
    FAILS(ACU_ERROR_ARGUMENT, "'info' is NULL", acu_place_get_info(place, NULL));
    assert_null(client);
}

static void a_device_that_does_not_open(void **state) {
    (void)state;
    const acu_place other = made_up_register(NULL);
    acu_client *client = NULL;
    const unsigned devices = made_up.devices;
    made_up.fail[MADE_UP_DEVICE_OPEN] = 46;
    FAILS(46, "entry 1 was told to fail", acu_client_create(other, NULL, &client));
    made_up_reset();
    made_up.fail[MADE_UP_DEVICE_GET_INFO] = -77; /* no acu_result */
    FAILS(ACU_ERROR_STATE, "entry 2 was told to fail", acu_client_create(other, NULL, &client));
    made_up.silent = true;
    FAILS(ACU_ERROR_STATE, "no reason", acu_client_create(other, NULL, &client));
    assert_int_equal(made_up.devices, devices);
    made_up_reset();
    made_up.fail[MADE_UP_COUNT_DEVICES] = 35;
    FAILS(35, "entry 0", acu_client_create(other, NULL, &client));
    assert_null(client);
    made_up_reset();
    client = new_client(other);
    OK(acu_client_release(client));
    client = new_client(other);
    OK(acu_client_release(client));
    assert_int_equal(made_up.calls[MADE_UP_DEVICE_OPEN], 1);
}

static void lies_are_corrected(void **state) {
    (void)state;
    acu_place_info info;
    const acu_place other = made_up_register(NULL);
    made_up.can = ~0u;
    made_up.max_rank = 1000;
    OK(acu_place_get_info(other, &info));
    assert_int_equal(strlen(info.name), sizeof info.name - 1);
    assert_int_equal(info.alignment, 1);
    assert_int_equal(info.max_rank, ACU_MAX_RANK);
    assert_true(info.largest_block > (uint64_t)1 << 60);
}

static void drop_all(acu_backend *table) {
    const size_t optional = offsetof(acu_backend, fill);
    memset((char *)table + optional, 0, sizeof *table - optional);
}

static void drop_by_size(acu_backend *table) {
    table->size = offsetof(acu_backend, fill);
}

static void a_table_says_what_a_place_can(void **state) {
    (void)state;
    acu_place_info info;
    OK(acu_place_get_info(made_up_register(drop_all), &info));
    assert_int_equal(info.can, ACU_CAN_RUN_AHEAD);
    OK(acu_place_get_info(made_up_register(drop_by_size), &info));
    assert_int_equal(info.can, ACU_CAN_RUN_AHEAD);
    OK(acu_place_get_info(place, &info));
    assert_int_equal(info.can, 127);
}

/* ---- functions that report success, and give NULL ---- */

static acu_result no_device(int device, acu_backend_device **out) {
    (void)device;
    *out = NULL;
    return ACU_SUCCESS;
}

static acu_result no_queue(acu_backend_device *device, const acu_backend_queue_options *options,
                           acu_backend_queue **out) {
    (void)device;
    (void)options;
    *out = NULL;
    return ACU_SUCCESS;
}

static acu_result no_memory(acu_backend_queue *queue, uint64_t bytes, acu_backend_memory **out) {
    (void)queue;
    (void)bytes;
    *out = NULL;
    return ACU_SUCCESS;
}

static acu_result no_mark(acu_backend_queue *queue, acu_backend_mark **out) {
    (void)queue;
    *out = NULL;
    return ACU_SUCCESS;
}

static acu_result no_program(acu_backend_device *device, const acu_backend_source *source,
                             acu_backend_program **out) {
    (void)device;
    (void)source;
    *out = NULL;
    return ACU_SUCCESS;
}

static acu_result no_replay(acu_backend_queue *queue, acu_backend_replay **out) {
    made_up_backend.capture_cancel(queue);
    *out = NULL;
    return ACU_SUCCESS;
}

static void give_no_device(acu_backend *table) {
    table->device_open = no_device;
}

static void give_no_queue(acu_backend *table) {
    table->queue_create = no_queue;
}

static void give_nothing(acu_backend *table) {
    table->memory_allocate = no_memory;
    table->mark_create = no_mark;
    table->program_create = no_program;
    table->capture_end = no_replay;
}

static acu_result record_nothing(acu_client *client, void *data) {
    (void)client;
    (void)data;
    return ACU_SUCCESS;
}

static void handles_that_are_null_are_refused(void **state) {
    (void)state;
    acu_client *client;
    acu_block *block;
    acu_mark *mark;
    acu_replay *replay;
    acu_program *program;
    const acu_form form = {"madeup", "x", 1};
    const acu_program_source source = {.name = "none", .forms = &form, .form_count = 1};
    FAILS(ACU_ERROR_STATE, "but its device is NULL",
          acu_client_create(made_up_register(give_no_device), NULL, &client));
    FAILS(ACU_ERROR_STATE, "but its queue is NULL",
          acu_client_create(made_up_register(give_no_queue), NULL, &client));
    const acu_place bare = made_up_register(give_nothing);
    OK(acu_client_create(bare, NULL, &client));
    FAILS(ACU_ERROR_STATE, "but its memory is NULL", acu_block_create(client, 16, &block));
    FAILS(ACU_ERROR_STATE, "but its mark is NULL", acu_mark_create(client, &mark));
    FAILS(ACU_ERROR_STATE, "but its replay is NULL",
          acu_replay_record(client, record_nothing, NULL, NULL, 0, &replay));
    OK(acu_program_create(&source, &program));
    FAILS(ACU_ERROR_STATE, "but its program is NULL", acu_program_prepare(program, bare));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

static void types_that_places_compute_with(void **state) {
    (void)state;
    assert_true(acu_place_computes(place, ACU_F16));
    assert_false(acu_place_computes(place, ACU_F32));
    const acu_place plain = made_up_register(drop_all);
    const acu_dtype host[] = {ACU_F64, ACU_F32, ACU_I8,  ACU_I16,  ACU_I32, ACU_I64, ACU_U8,
                              ACU_U16, ACU_U32, ACU_U64, ACU_BOOL, ACU_C64, ACU_C128};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        assert_true(acu_place_computes(plain, host[i]));
    const acu_dtype not[] = {ACU_F16, ACU_BF16, ACU_F8_E4M3, ACU_F8_E5M2, ACU_BYTES(8), ACU_ANY, 5};
    for (size_t i = 0; i < sizeof not / sizeof *not; i++)
        assert_false(acu_place_computes(plain, not[i]));
    acu_clear_error();
    assert_false(acu_place_computes((acu_place){place.runtime, 5}, ACU_F32));
    assert_int_equal(acu_last_error(), 0);
}

static void the_best_place(void **state) {
    (void)state;
    acu_clear_error();
    assert_int_equal(acu_runtime_best().runtime, place.runtime);
    made_up.fail[MADE_UP_COUNT_DEVICES] = 35;
    assert_true(acu_place_is(acu_runtime_best(), acu_place_cpu()));
    assert_int_equal(acu_last_error(), 0);
}

static void a_runtime_too_many(void **state) {
    (void)state;
    static char names[64][16];
    int runtime, code = 0;
    changed = made_up_backend;
    for (int i = 0; i < 64 && !code; i++) {
        snprintf(names[i], sizeof names[i], "many-%d", i);
        changed.name = names[i];
        code = acu_runtime_register(&changed, &runtime);
    }
    assert_int_equal(code, ACU_ERROR_LIMIT);
    assert_int_equal(acu_runtime_count(), 64);
}

/* ---- the end of a process ---- */

static int said; /* the pipe for what closing says */

static void say_closed(acu_backend_device *device) {
    if (write(said, "closed", 6) != 6)
        _exit(2);
    made_up_backend.device_close(device);
}

static void close_at_exit(acu_backend *table) {
    table->device_close = say_closed;
    table->closes_at_exit = true;
}

static void keep_at_exit(acu_backend *table) {
    table->device_close = say_closed;
}

/* Uses a place in a process of its own; returns how many bytes that said at its end. */
static size_t said_at_exit(void (*change)(acu_backend *table)) {
    char text[16];
    int ends[2], status = -1;
    acu_client *client = NULL;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        said = ends[1];
        if (acu_client_get_default(made_up_register(change), &client) || acu_client_release(client))
            _exit(1);
        exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    const ssize_t size = read(ends[0], text, sizeof text);
    close(ends[0]);
    return (size_t)size;
}

static void devices_are_closed_at_exit_if_they_can_be(void **state) {
    (void)state;
    assert_int_equal(said_at_exit(close_at_exit), 6);
    assert_int_equal(said_at_exit(keep_at_exit), 0);
}

int main(void) {
    place = made_up_register(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_known_runtimes_have_their_numbers, setup),
        cmocka_unit_test_setup(places_are_texts, setup),
        cmocka_unit_test_setup(tables_are_checked, setup),
        cmocka_unit_test_setup(needed_functions_are_needed, setup),
        cmocka_unit_test_setup(the_best_place, setup),
        cmocka_unit_test_setup(a_shared_object_is_a_runtime, setup),
        cmocka_unit_test_setup(devices_are_counted, setup),
        cmocka_unit_test_setup(a_device_that_is_not_there, setup),
        cmocka_unit_test_setup(a_device_that_does_not_open, setup),
        cmocka_unit_test_setup(lies_are_corrected, setup),
        cmocka_unit_test_setup(a_table_says_what_a_place_can, setup),
        cmocka_unit_test_setup(handles_that_are_null_are_refused, setup),
        cmocka_unit_test_setup(types_that_places_compute_with, setup),
        cmocka_unit_test_setup(devices_are_closed_at_exit_if_they_can_be, setup),
        cmocka_unit_test_setup(a_runtime_too_many, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
