/* Objects that are released in every order, and threads that share them. */
#include "suite.h"

static acu_result step(acu_client *on, void *data) {
    return acu_run(on, program("suite_step"), acu_items(100), acu_inout_block((acu_block *)data),
                   100u);
}

enum { CLIENT, BLOCK, MARK, REPLAY, PROGRAM, KINDS };

/* The n-th order of five things. */
static void order_of(size_t n, int order[KINDS]) {
    int left[KINDS] = {CLIENT, BLOCK, MARK, REPLAY, PROGRAM};
    for (int i = 0; i < KINDS; i++) {
        size_t choice = n % (size_t)(KINDS - i);
        n /= (size_t)(KINDS - i);
        order[i] = left[choice];
        memmove(&left[choice], &left[choice + 1],
                (size_t)(KINDS - i - 1) * sizeof *left - choice * sizeof *left);
    }
}

/* A client with a block, a mark, a replay and a program, all in use; the first number says which
 * are released first, and one case has 24 orders. */
CASE_FOR(orders_that_begin_with, 0, 1, 2, 3, 4) {
    for (size_t rest = 0; rest < 24; rest++) {
        int order[KINDS];
        acu_client *mine = NULL;
        acu_block *block = NULL;
        acu_mark *mark = NULL;
        acu_replay *replay = NULL;
        acu_program *made = NULL;
        acu_program_source source = source_of("suite_count");
        OK(acu_client_create(place, NULL, &mine));
        OK(acu_block_create(mine, 400, &block));
        OK(acu_program_create(&source, &made));
        OK(acu_run(mine, made, acu_items(100), acu_out_block(block), 1u, 100u));
        OK(acu_replay_record(mine, step, block, NULL, 0, &replay));
        OK(acu_replay_run(replay));
        OK(acu_mark_create(mine, &mark));
        order_of(n + 5 * rest, order);
        for (int i = 0; i < KINDS; i++)
            switch (order[i]) {
            case CLIENT:
                OK(acu_client_release(mine));
                break;
            case BLOCK:
                OK(acu_block_release(block));
                break;
            case MARK:
                OK(acu_mark_release(mark));
                break;
            case REPLAY:
                OK(acu_replay_release(replay));
                break;
            default:
                OK(acu_program_release(made));
            }
    }
}

CASE(the_last_release_of_a_client_waits_for_its_work) {
    acu_client *mine = NULL;
    acu_block *block = NULL, *to = new_block(400000);
    OK(acu_client_create(place, NULL, &mine));
    OK(acu_block_create(mine, 400000, &block));
    OK(acu_run(mine, program("suite_count"), acu_items(100000), acu_out_block(block), 3u, 100000u));
    OK(acu_block_copy(mine, to, 0, block, 0, 400000));
    OK(acu_block_release(block));
    OK(acu_client_release(mine));
    EQUAL(((uint32_t *)(void *)contents(client, to, 399996, 4))[0], 100002);
}

CASE(a_block_outlives_its_client_and_its_work) {
    acu_client *mine = NULL;
    acu_block *block = NULL;
    OK(acu_client_create(place, NULL, &mine));
    OK(acu_block_create(mine, 400, &block));
    OK(acu_run(mine, program("suite_count"), acu_items(100), acu_out_block(block), 3u, 100u));
    OK(acu_client_release(mine));
    EQUAL(((uint32_t *)(void *)contents(client, block, 0, 4))[0], 3);
    OK(acu_block_release(block));
}

CASE(clients_come_and_go) {
    uint8_t *data = some_bytes(1000);
    for (int i = 0; i < 50; i++) {
        acu_client *mine = NULL;
        acu_block *block = NULL;
        OK(acu_client_create(place, NULL, &mine));
        OK(acu_block_create(mine, 1000, &block));
        OK(acu_block_write(mine, block, 0, data, 1000));
        if (i % 10 == 0)
            HOLDS_FOR(mine, block, data, 1000);
        OK(acu_block_release(block));
        OK(acu_client_release(mine));
    }
}

CASE(a_foreign_client_goes_before_the_block) {
    uint8_t *data = some_bytes(1000);
    acu_block *block = new_block(1000);
    for (int i = 0; i < 10; i++) {
        acu_client *mine = NULL;
        data[7] = (uint8_t)i;
        OK(acu_client_create(place, NULL, &mine));
        OK(acu_block_write(mine, block, 0, data, 1000));
        OK(acu_client_release(mine));
        HOLDS(block, data, 1000);
    }
}

CASE(cleanup_by_scope) {
    for (int i = 0; i < 3; i++) {
        ACU_AUTO(acu_client) *mine = NULL;
        ACU_AUTO(acu_block) *block = NULL;
        ACU_AUTO(acu_mark) *mark = NULL;
        OK(acu_client_create(place, NULL, &mine));
        OK(acu_block_create(mine, 10, &block));
        OK(acu_block_fill(mine, block, 0, 10, "x", 1));
        OK(acu_mark_create(mine, &mark));
    }
}

CASE(owners_are_counted_by_many) {
    acu_block *block = NULL;
    OK(acu_block_create(client, 10, &block));
    for (int i = 0; i < 1000; i++)
        IS(acu_block_retain(block) == block);
    for (int i = 0; i < 1000; i++)
        OK(acu_block_release(block));
    EQUAL(acu_block_size(block), 10);
    OK(acu_block_release(block));
}

/* ---- threads ---- */

enum { THREADS = 4 };
static acu_block *shared_block;

static void retain_and_release(unsigned number) {
    (void)number;
    for (int i = 0; i < 500; i++) {
        IS(acu_block_retain(shared_block) == shared_block);
        IS(acu_client_retain(client) == client);
        OK(acu_block_release(shared_block));
        OK(acu_client_release(client));
    }
}

CASE(threads_retain_and_release) {
    shared_block = new_block(10);
    run_threads(THREADS, retain_and_release);
}

static void work_alone(unsigned number) {
    acu_client *mine = NULL;
    OK(acu_client_create(place, NULL, &mine));
    for (uint32_t i = 0; i < 20; i++) {
        acu_block *block = NULL;
        uint32_t got = 0;
        OK(acu_block_create(mine, 4000 + 4 * i, &block));
        OK(acu_run(mine, program("suite_count"), acu_items(1000), acu_out_block(block),
                   number * 1000 + i, 1000u));
        OK(acu_block_read(mine, block, 3996, &got, 4));
        EQUAL(got, 999 + number * 1000 + i);
        OK(acu_block_release(block));
    }
    OK(acu_client_release(mine));
}

CASE(threads_have_clients_of_their_own) {
    (void)program("suite_count");
    run_threads(THREADS, work_alone);
}

static void work_together(unsigned number) {
    for (uint32_t i = 0; i < 30; i++) {
        acu_block *block = NULL;
        uint32_t value = number * 1000 + i, got[2] = {0, 0};
        OK(acu_block_create(client, 64 + number, &block));
        OK(acu_block_fill(client, block, 0, 64, &value, 4));
        OK(acu_block_read(client, block, 56, got, 8));
        EQUAL(got[0], value);
        EQUAL(got[1], value);
        OK(acu_block_release(block));
    }
}

CASE(threads_share_a_client) {
    run_threads(THREADS, work_together);
}

static void add_to_shared(unsigned number) {
    (void)number;
    for (int i = 0; i < 25; i++)
        OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(shared_block),
                   100u));
}

CASE(threads_share_a_block) {
    uint32_t expected = 0;
    shared_block = new_block(400);
    OK(acu_block_fill(client, shared_block, 0, 400, "\0", 1));
    (void)program("suite_step");
    run_threads(THREADS, add_to_shared);
    for (int i = 0; i < 25 * THREADS; i++)
        expected = expected * 3 + 1;
    EQUAL(((uint32_t *)(void *)contents(client, shared_block, 396, 4))[0], expected);
}

static void add_by_own_client(unsigned number) {
    acu_client *mine = NULL;
    (void)number;
    OK(acu_client_create(place, NULL, &mine));
    for (int i = 0; i < 15; i++)
        OK(acu_run(mine, program("suite_step"), acu_items(100), acu_inout_block(shared_block),
                   100u));
    OK(acu_client_release(mine));
}

CASE(threads_share_a_block_between_clients) {
    uint32_t expected = 0;
    shared_block = new_block(400);
    OK(acu_block_fill(client, shared_block, 0, 400, "\0", 1));
    (void)program("suite_step");
    run_threads(THREADS, add_by_own_client);
    for (int i = 0; i < 15 * THREADS; i++)
        expected = expected * 3 + 1;
    EQUAL(((uint32_t *)(void *)contents(client, shared_block, 396, 4))[0], expected);
}

/* Every thread writes each fourth byte, by its own client: no word is one thread's alone. */
static void write_every_fourth_byte(unsigned number) {
    acu_client *mine = NULL;
    uint8_t byte = (uint8_t)(number + 1);
    OK(acu_client_create(place, NULL, &mine));
    for (uint64_t at = number; at < 64; at += THREADS)
        OK(at % 8 < 4 ? acu_block_write(mine, shared_block, at, &byte, 1)
                      : acu_block_fill(mine, shared_block, at, 1, &byte, 1));
    OK(acu_client_release(mine));
}

CASE(threads_write_bytes_of_the_same_words) {
    uint8_t expected[64];
    shared_block = new_block(64);
    OK(acu_block_fill(client, shared_block, 0, 64, "\0", 1));
    run_threads(THREADS, write_every_fourth_byte);
    for (size_t i = 0; i < 64; i++)
        expected[i] = (uint8_t)(i % THREADS + 1);
    HOLDS(shared_block, expected, 64);
}

static acu_block *crossing[2];
static acu_client *crossing_clients[2];

/* Two threads copy between two clients' blocks in opposite directions: no order of locks may hang.
 */
static void copy_across(unsigned number) {
    for (int i = 0; i < 50; i++)
        OK(acu_block_copy(crossing_clients[number % 2], crossing[number % 2], 0,
                          crossing[1 - number % 2], 0, 1000));
}

CASE(threads_copy_across) {
    uint8_t expected[1000];
    for (int i = 0; i < 2; i++) {
        crossing_clients[i] = new_client();
        crossing[i] = new_block_for(crossing_clients[i], 1000);
        OK(acu_block_fill(crossing_clients[i], crossing[i], 0, 1000, "c", 1));
    }
    memset(expected, 'c', 1000);
    run_threads(THREADS, copy_across);
    HOLDS(crossing[0], expected, 1000);
    HOLDS(crossing[1], expected, 1000);
}

CASE(threads_copy_across_places) {
    uint8_t expected[1000];
    for (int i = 0; i < 2; i++) {
        crossing_clients[i] = new_client_on(i ? other_place() : place);
        crossing[i] = new_block_for(crossing_clients[i], 1000);
        OK(acu_block_fill(crossing_clients[i], crossing[i], 0, 1000, "c", 1));
    }
    memset(expected, 'c', 1000);
    run_threads(THREADS, copy_across);
    HOLDS_FOR(crossing_clients[0], crossing[0], expected, 1000);
    HOLDS_FOR(crossing_clients[1], crossing[1], expected, 1000);
}

static void use_marks(unsigned number) {
    for (int i = 0; i < 20; i++) {
        acu_mark *mark = NULL;
        uint8_t byte = (uint8_t)number, got = 0;
        OK(acu_block_write(client, shared_block, number, &byte, 1));
        OK(acu_mark_create(client, &mark));
        acu_result result = acu_mark_query(mark);
        IS(result == 0 || result == ACU_NOT_READY);
        OK(acu_mark_synchronize(mark));
        OK(acu_block_read(client, shared_block, number, &got, 1));
        EQUAL(got, number);
        OK(acu_mark_release(mark));
    }
}

CASE(threads_use_marks) {
    shared_block = new_block(64);
    run_threads(THREADS, use_marks);
}

static acu_mark *shared_mark;

/* One thread reads what was there at the mark, again and again; the others write later. */
static void read_or_write(unsigned number) {
    uint8_t got[400], data[400];
    memset(data, (int)number, 400);
    for (int i = 0; i < 20; i++) {
        if (number) {
            OK(acu_block_write(client, shared_block, 0, data, 400));
            continue;
        }
        acu_result result = acu_block_read_after(client, shared_mark, shared_block, 0, got, 400);
        IS(result == 0 || result == ACU_ERROR_STATE);
        for (int k = 0; k < 400 && result == 0; k++)
            EQUAL(got[k], 0xaa);
    }
}

CASE(a_thread_reads_after_a_mark_while_others_write) {
    shared_block = new_block(400);
    OK(acu_block_fill(client, shared_block, 0, 400, "\xaa", 1));
    shared_mark = new_mark(client);
    run_threads(THREADS, read_or_write);
}

static void get_default(unsigned number) {
    for (int i = 0; i < 20; i++) {
        acu_client *mine = NULL;
        acu_block *block = NULL;
        uint8_t byte = (uint8_t)number, got = 0;
        OK(acu_client_get_default(place, &mine));
        OK(acu_block_create(mine, 5, &block));
        OK(acu_block_write(mine, block, 4, &byte, 1));
        OK(acu_block_read(mine, block, 4, &got, 1));
        EQUAL(got, number);
        OK(acu_block_release(block));
        OK(acu_client_release(mine));
    }
}

CASE(threads_get_the_default_client) {
    run_threads(THREADS, get_default);
}

static void manage_memory(unsigned number) {
    for (int i = 0; i < 40; i++) {
        acu_block *block = NULL;
        OK(acu_block_create(client, 1000 * (number + 1) + (unsigned)i, &block));
        if (i % 5 == (int)number)
            OK(acu_client_trim_memory(client, 0));
        if (i % 7 == (int)number) {
            OK(acu_client_freeze_memory(client));
            OK(acu_client_thaw_memory(client));
        }
        (void)memory_of(client);
        OK(acu_block_release(block));
    }
}

CASE(threads_manage_memory) {
    run_threads(THREADS, manage_memory);
}

static acu_program *shared_program;

static void prepare_and_run(unsigned number) {
    acu_block *block = NULL;
    uint32_t got = 0;
    OK(acu_program_prepare(shared_program, place));
    OK(acu_block_create(client, 400, &block));
    OK(acu_run(client, shared_program, acu_items(100), acu_out_block(block), number, 100u));
    OK(acu_block_read(client, block, 0, &got, 4));
    EQUAL(got, number);
    OK(acu_block_release(block));
}

CASE(threads_compile_one_program) {
    acu_program_source source = source_of("suite_count");
    OK(acu_program_create(&source, &shared_program));
    release_program_later(shared_program);
    run_threads(THREADS, prepare_and_run);
}

static void release_while_used(unsigned number) {
    for (int i = 0; i < 20; i++) {
        acu_block *from = NULL;
        uint32_t value = number * 100 + (uint32_t)i;
        OK(acu_block_create(client, 4000, &from));
        OK(acu_block_fill(client, from, 0, 4000, &value, 4));
        OK(acu_block_copy(client, shared_block, number * 4000, from, 0, 4000));
        OK(acu_block_release(from));
    }
}

CASE(threads_release_what_is_used) {
    shared_block = new_block(4000 * THREADS);
    run_threads(THREADS, release_while_used);
    const uint32_t *got = (uint32_t *)(void *)contents(client, shared_block, 0, 4000 * THREADS);
    for (uint32_t i = 0; i < 1000 * THREADS; i++)
        EQUAL(got[i], i / 1000 * 100 + 19);
}
