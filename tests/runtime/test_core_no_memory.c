/*
 * Each allocation of the core on the host fails once. The call that met it says so or does without,
 * nothing crashes, is lost or is wrong, and the same works afterwards. The made-up back end has all
 * the memory that it wants.
 */
#include "core_test.h"

static size_t until_failure; /* 0: none fails */
static bool failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails(void) {
    if (until_failure == 0)
        return false;
    failed = failed || until_failure == 1;
    return --until_failure == 0;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

/* ---- what is tried ---- */

static acu_place place, blind;

/* Returns from a scenario unless a byte is what it should be. */
#define IS(client, block, at, value)                                                               \
    do {                                                                                           \
        unsigned char is_byte = 0;                                                                 \
        ACU_TRY(acu_block_read((client), (block), (at), &is_byte, 1));                             \
        assert_int_equal(is_byte, (value));                                                        \
    } while (0)

static acu_result one_client(acu_place where) {
    const size_t shape[] = {5};
    const int64_t steps[] = {2};
    const acu_strides s = {.rank = 1, .shape = shape, .to = steps};
    ACU_AUTO(acu_client) *client = NULL;
    ACU_AUTO(acu_block) *a = NULL;
    ACU_AUTO(acu_block) *b = NULL;
    ACU_AUTO(acu_mark) *mark = NULL;
    ACU_TRY(acu_client_get_default(where, &client));
    ACU_TRY(acu_block_create(client, 100, &a));
    ACU_TRY(acu_block_create(client, 100, &b));
    ACU_TRY(acu_block_fill(client, a, 0, 100, "\1", 1));
    ACU_TRY(acu_block_fill(client, b, 0, 100, "\2", 1));
    ACU_TRY(acu_block_copy_strided(client, a, b, 1, &s));
    ACU_TRY(acu_mark_create(client, &mark));
    IS(client, a, 7, 1);
    IS(client, a, 8, 2);
    IS(client, a, 9, 1);
    return acu_mark_synchronize(mark);
}

static acu_result simple(void) {
    return one_client(place);
}

static acu_result by_the_host(void) {
    return one_client(blind);
}

static acu_result between_places(void) {
    ACU_AUTO(acu_client) *one = NULL;
    ACU_AUTO(acu_client) *two = NULL;
    ACU_AUTO(acu_block) *a = NULL;
    ACU_AUTO(acu_block) *b = NULL;
    ACU_TRY(acu_client_create(blind, NULL, &one));
    ACU_TRY(acu_client_create((acu_place){blind.runtime, 1}, NULL, &two));
    ACU_TRY(acu_block_create(one, 100, &a));
    ACU_TRY(acu_block_create(two, 100, &b));
    ACU_TRY(acu_block_fill(one, a, 0, 100, "\1", 1));
    ACU_TRY(acu_block_copy(two, b, 0, a, 0, 100));
    IS(two, b, 99, 1);
    return ACU_SUCCESS;
}

/* More clients than fit into memory that is there anyway, all of which use one block. */
static acu_result many_clients_use(acu_client *owner, acu_block *block, acu_client **clients,
                                   int count) {
    char last = 0;
    for (int i = 0; i < count; i++)
        ACU_TRY(acu_client_create(place, NULL, &clients[i]));
    for (int i = 0; i < count; i++)
        ACU_TRY(acu_block_read(clients[i], block, 99, &last, 1));
    ACU_TRY(acu_block_fill(clients[3], block, 0, 100, "\5", 1));
    for (int i = 0; i < count; i++)
        ACU_TRY(acu_block_copy(clients[i], block, 0, block, 50, 50));
    IS(owner, block, 99, 5);
    for (int i = 0; i < count; i++)
        ACU_TRY(acu_block_read(clients[i], block, 99, &last, 1));
    return ACU_SUCCESS;
}

static acu_result many_clients(void) {
    enum { MANY = 20 };
    acu_client *clients[MANY] = {NULL};
    acu_block *block = NULL;
    ACU_AUTO(acu_client) *owner = NULL;
    ACU_TRY(acu_client_create(place, NULL, &owner));
    ACU_TRY(acu_block_create(owner, 100, &block));
    acu_result code = many_clients_use(owner, block, clients, MANY);
    assert_int_equal(acu_block_release(block), 0); /* works without memory, too */
    for (int i = 0; i < MANY; i++)
        assert_int_equal(acu_client_release(clients[i]), 0);
    return code;
}

typedef struct recorded {
    acu_block *a, *b;
} recorded;

static acu_result give_work(acu_client *client, void *data) {
    const recorded *r = data;
    const size_t shape[] = {5};
    const int64_t steps[] = {2};
    const acu_strides s = {.rank = 1, .shape = shape, .to = steps};
    ACU_AUTO(acu_block) *temporary = NULL;
    ACU_TRY(acu_block_create(client, 100, &temporary));
    ACU_TRY(acu_block_write(client, temporary, 0, "abcdef", 6));
    ACU_TRY(acu_block_fill(client, r->a, 0, 100, "-", 1));
    ACU_TRY(acu_block_copy_strided(client, r->a, temporary, 1, &s));
    return acu_block_copy(client, r->b, 0, r->a, 0, 100);
}

static acu_result replays(void) {
    ACU_AUTO(acu_client) *client = NULL;
    ACU_AUTO(acu_block) *a = NULL;
    ACU_AUTO(acu_block) *b = NULL;
    ACU_AUTO(acu_replay) *replay = NULL;
    ACU_TRY(acu_client_create(place, NULL, &client));
    ACU_TRY(acu_block_create(client, 100, &a));
    ACU_TRY(acu_block_create(client, 100, &b));
    recorded r = {a, b};
    const acu_named_block named[] = {{"a", a}, {"b", b}};
    ACU_TRY(acu_replay_record(client, give_work, &r, named, 2, &replay));
    ACU_TRY(acu_replay_run(replay));
    IS(client, b, 8, 'e');
    IS(client, b, 9, '-');
    return ACU_SUCCESS;
}

static acu_result registering(void) {
    static char names[16][16];
    static int count;
    acu_backend table = made_up_backend;
    int runtime = 0;
    assert_in_range(count, 0, 15);
    snprintf(names[count], sizeof names[count], "scarce-%d", count);
    table.name = names[count++];
    ACU_TRY(acu_runtime_register(&table, &runtime));
    ACU_AUTO(acu_client) *client = NULL;
    return acu_client_create((acu_place){runtime, 0}, NULL, &client);
}

/* ---- trying ---- */

static void each_allocation_fails_once(acu_result (*scenario)(void)) {
    size_t n = 0, refused = 0;
    made_up_reset();
    acu_quarantine(0);
    do {
        failed = false;
        until_failure = ++n;
        acu_result code = scenario();
        until_failure = 0;
        if (code) {
            assert_int_equal(code, ACU_ERROR_HOST_MEMORY);
            assert_true(failed);
            assert_non_null(strstr(acu_last_error_message(), "the host has no memory"));
            refused++;
        }
        assert_int_equal(made_up.queues, 0);
        assert_int_equal(made_up.memories, 0);
        assert_int_equal(made_up.marks, 0);
        assert_int_equal(made_up.replays, 0);
        assert_int_equal(acu_release_error(NULL), 0);
    } while (failed);
    assert_true(refused > 0);
}

#define TRY(scenario)                                                                              \
    static void scenario##_without_memory(void **state) {                                          \
        (void)state;                                                                               \
        each_allocation_fails_once(scenario);                                                      \
    }
TRY(simple)
TRY(by_the_host)
TRY(between_places)
TRY(many_clients)
TRY(replays)
TRY(registering)

static void drop_all(acu_backend *table) {
    const size_t optional = offsetof(acu_backend, fill);
    memset((char *)table + optional, 0, sizeof *table - optional);
}

int main(void) {
    place = made_up_register(NULL);
    blind = made_up_register(drop_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_without_memory),
        cmocka_unit_test(by_the_host_without_memory),
        cmocka_unit_test(between_places_without_memory),
        cmocka_unit_test(many_clients_without_memory),
        cmocka_unit_test(replays_without_memory),
        cmocka_unit_test(registering_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
