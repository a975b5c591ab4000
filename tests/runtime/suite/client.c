/* Clients: how they are made, what they share, and how one waits for another. */
#include "suite.h"

CASE(a_client_has_its_place) {
    IS(acu_place_is(acu_client_place(client), place));
}

CASE(no_client_has_no_place) {
    acu_place none = acu_client_place(NULL);
    EQUAL(none.runtime, 0);
    EQUAL(none.device, 0);
}

CASE(the_default_client_is_shared) {
    acu_client *first = NULL, *second = NULL;
    OK(acu_client_get_default(place, &first));
    OK(acu_client_get_default(place, &second));
    IS(first == second);
    IS(first != client);
    OK(acu_client_release(first));
    OK(acu_client_release(second));
}

CASE(the_default_client_works_after_its_last_release) {
    uint8_t *data = some_bytes(40);
    for (int i = 0; i < 3; i++) {
        acu_client *mine = NULL;
        acu_block *block = NULL;
        OK(acu_client_get_default(place, &mine));
        OK(acu_block_create(mine, 40, &block));
        OK(acu_block_write(mine, block, 0, data, 40));
        HOLDS_FOR(mine, block, data, 40);
        OK(acu_block_release(block));
        OK(acu_client_release(mine));
    }
}

CASE(a_client_is_described) {
    char text[200], where[100];
    size_t length = acu_client_describe(client, text, sizeof text);
    EQUAL(length, strlen(text));
    acu_place_describe(place, where, sizeof where);
    CONTAINS(text, "client");
    CONTAINS(text, where);
}

CASE(a_description_of_no_client) {
    char text[200] = "";
    IS(acu_client_describe(NULL, text, sizeof text) > 0);
    IS(text[0] != '\0');
}

CASE(options_of_another_size_are_refused) {
    acu_client *made = NULL;
    acu_client_options options = {.size = 3};
    FAILS(acu_client_create(place, &options, &made), ACU_ERROR_ARGUMENT, "size");
}

CASE_FOR(options_of_a_size, 0, sizeof(acu_client_options)) {
    acu_client *made = NULL;
    acu_client_options options = {.size = n};
    OK(acu_client_create(place, &options, &made));
    OK(acu_client_release(made));
}

static const struct {
    const char *name;
    int priority;
} priorities[] = {
    {"urgent", -1}, {"most_urgent", -1000}, {"default", 0}, {"later", 1}, {"last", 1000}};

CASE_OF(a_priority, priorities) {
    acu_client *made = NULL;
    uint8_t *data = some_bytes(1000);
    acu_client_options options = {.size = sizeof options, .priority = row->priority};
    OK(acu_client_create(place, &options, &made));
    acu_block *block = NULL;
    OK(acu_block_create(made, 1000, &block));
    OK(acu_block_write(made, block, 0, data, 1000));
    HOLDS_FOR(made, block, data, 1000);
    OK(acu_block_release(block));
    OK(acu_client_release(made));
}

CASE_FOR(threads, 1, 2, 3, 64, 100000) {
    acu_client *made = NULL;
    acu_client_options options = {.size = sizeof options, .threads = (unsigned)n};
    OK(acu_client_create(place, &options, &made));
    acu_block *block = NULL;
    OK(acu_block_create(made, 4000 * 4, &block));
    OK(acu_run(made, program("suite_count"), acu_items(4000), acu_out_block(block), 7u, 4000u));
    const uint32_t *words = (const uint32_t *)(void *)contents(made, block, 0, 4000 * 4);
    for (uint32_t i = 0; i < 4000; i++)
        EQUAL(words[i], i + 7);
    OK(acu_block_release(block));
    OK(acu_client_release(made));
}

CASE_FOR(many_clients, 2, 17, 60) {
    acu_client *clients[60];
    acu_block *blocks[60];
    for (size_t i = 0; i < n; i++) {
        uint32_t value = (uint32_t)i;
        clients[i] = new_client();
        blocks[i] = new_block_for(clients[i], 64);
        OK(acu_block_fill(clients[i], blocks[i], 0, 64, &value, 4));
    }
    for (size_t i = 0; i < n; i++)
        EQUAL(contents(clients[i], blocks[i], 60, 4)[0], i);
}

CASE(a_client_is_retained) {
    acu_client *made = NULL;
    OK(acu_client_create(place, NULL, &made));
    IS(acu_client_retain(made) == made);
    OK(acu_client_release(made));
    IS(acu_place_is(acu_client_place(made), place));
    OK(acu_client_synchronize(made));
    OK(acu_client_release(made));
}

CASE(cleaning_up_takes_the_handle_away) {
    acu_client *made = NULL;
    acu_client_cleanup(&made);
    OK(acu_client_create(place, NULL, &made));
    acu_client_cleanup(&made);
    IS(made == NULL || acu_client_retain(made) == NULL);
}

CASE(releasing_no_client_is_fine) {
    OK(acu_client_release(NULL));
}

CASE(an_idle_client_is_synchronized) {
    OK(acu_client_synchronize(client));
    OK(acu_client_synchronize(client));
}

CASE(synchronizing_waits) {
    needs_hold();
    acu_block *block = new_block(400);
    hold(client);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    acu_mark *mark = new_mark(client);
    EQUAL(acu_mark_query(mark), ACU_NOT_READY);
    let_go();
    OK(acu_client_synchronize(client));
    OK(acu_mark_query(mark));
}

CASE(what_is_beneath_a_client) {
    acu_raw raw = {ACU_RAW_OTHER, &raw, &raw};
    OK(acu_client_get_raw(client, &raw));
    if (is_cpu())
        EQUAL(raw.kind, ACU_RAW_NONE);
    if (is_cuda()) {
        EQUAL(raw.kind, ACU_RAW_CUDA);
        IS(raw.other != NULL);
    }
    if (is_webgpu()) {
        EQUAL(raw.kind, ACU_RAW_WEBGPU);
        IS(raw.handle != NULL && raw.other != NULL);
    }
}

CASE(asking_for_what_is_beneath_needs_its_argument) {
    FAILS(acu_client_get_raw(client, NULL), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(a_client_waits_for_its_own_mark) {
    acu_block *block = new_block(400);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    OK(acu_client_wait(client, new_mark(client)));
    OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(block), 100u));
    EQUAL(((uint32_t *)(void *)contents(client, block, 0, 400))[99], 301);
}

CASE(a_client_waits_for_a_mark_of_another) {
    acu_client *second = new_client();
    acu_block *block = new_block(400);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    OK(acu_client_wait(second, new_mark(client)));
    OK(acu_run(second, program("suite_step"), acu_items(100), acu_inout_block(block), 100u));
    OK(acu_client_synchronize(second));
    EQUAL(((uint32_t *)(void *)contents(second, block, 0, 400))[0], 4);
}

CASE(a_client_waits_for_a_mark_of_another_place) {
    acu_client *there = new_client_on(other_place());
    acu_block *block = new_block_for(there, 1000);
    uint8_t byte = 7;
    OK(acu_block_fill(there, block, 0, 1000, &byte, 1));
    OK(acu_client_wait(client, new_mark(there)));
    OK(acu_client_wait(there, new_mark(client)));
    OK(acu_client_synchronize(client));
    OK(acu_client_synchronize(there));
}

CASE(waiting_does_not_keep_the_thread) {
    needs_hold();
    acu_client *second = new_client();
    acu_block *block = new_block_for(second, 400);
    hold(client);
    acu_mark *mark = new_mark(client);
    OK(acu_client_wait(second, mark));
    OK(acu_run(second, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    acu_mark *later = new_mark(second);
    EQUAL(acu_mark_query(later), ACU_NOT_READY);
    let_go();
    OK(acu_mark_synchronize(later));
    OK(acu_mark_query(mark));
}

CASE(clients_of_one_place_do_not_wait_for_each_other) {
    needs_hold();
    acu_client *second = new_client();
    acu_block *block = new_block_for(second, 400);
    hold(client);
    OK(acu_run(second, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    OK(acu_client_synchronize(second));
    EQUAL(((uint32_t *)(void *)contents(second, block, 0, 400))[99], 100);
    let_go();
}

/* Two clients take turns with one block, without any mark: the order of the calls decides. */
CASE_FOR(clients_take_turns, 2, 3, 5) {
    acu_client *clients[5] = {client};
    acu_block *block = new_block(400);
    uint32_t expected = 1;
    for (size_t i = 1; i < n; i++)
        clients[i] = new_client();
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    for (size_t i = 0; i < 20; i++) {
        OK(acu_run(clients[i % n], program("suite_step"), acu_items(100), acu_inout_block(block),
                   100u));
        expected = expected * 3 + 1;
    }
    EQUAL(((uint32_t *)(void *)contents(clients[n - 1], block, 0, 400))[0], expected);
}

CASE(a_write_by_another_client_comes_after_held_work) {
    needs_hold();
    acu_client *second = new_client();
    uint8_t zeros[400] = {0};
    acu_block *block = new_block_of(zeros, sizeof zeros), *to = new_block_for(second, 400);
    hold(client);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 5u, 100u));
    OK(acu_block_copy(second, to, 0, block, 0, 400)); /* comes after what is held */
    let_go();
    EQUAL(((uint32_t *)(void *)contents(second, to, 0, 400))[0], 5);
}

CASE(readers_on_two_clients_come_before_a_writer) {
    acu_client *second = new_client(), *third = new_client();
    uint32_t word = 3;
    acu_block *block = new_block(4096), *a = new_block_for(second, 4096),
              *b = new_block_for(third, 4096);
    for (uint32_t i = 0; i < 10; i++) {
        OK(acu_block_fill(client, block, 0, 4096, &i, 4));
        OK(acu_block_copy(second, a, 0, block, 0, 4096));
        OK(acu_block_copy(third, b, 0, block, 0, 4096));
        OK(acu_block_fill(client, block, 0, 4096, &word, 4));
        EQUAL(((uint32_t *)(void *)contents(second, a, 4092, 4))[0], i);
        EQUAL(((uint32_t *)(void *)contents(third, b, 4092, 4))[0], i);
    }
}

/* The owner, and then another client, writes and is done before the readers are asked. */
static void write_after_readers(acu_client *writer) {
    acu_client *second = new_client(), *third = new_client();
    acu_block *block = new_block(4096), *a = new_block_for(second, 4096),
              *b = new_block_for(third, 4096);
    uint32_t word = 3;
    for (uint32_t i = 10; i < 20; i++) {
        OK(acu_block_fill(client, block, 0, 4096, &i, 4));
        OK(acu_block_copy(second, a, 0, block, 0, 4096));
        OK(acu_block_copy(third, b, 0, block, 0, 4096));
        OK(acu_block_fill(writer, block, 0, 4096, &word, 4));
        OK(acu_client_synchronize(writer));
        EQUAL(((uint32_t *)(void *)contents(third, b, 4092, 4))[0], i);
        EQUAL(((uint32_t *)(void *)contents(second, a, 4092, 4))[0], i);
        EQUAL(((uint32_t *)(void *)contents(second, block, 4092, 4))[0], 3);
    }
}

CASE(the_owner_writes_after_readers) {
    write_after_readers(client);
}

CASE(another_client_writes_after_readers) {
    write_after_readers(new_client());
}

CASE(another_client_writes_after_the_owner_reads) {
    acu_client *second = new_client();
    acu_block *block = new_block(4096), *copy = new_block(4096);
    uint32_t word = 3;
    for (uint32_t i = 10; i < 20; i++) {
        OK(acu_block_fill(client, block, 0, 4096, &i, 4));
        OK(acu_block_copy(client, copy, 0, block, 0, 4096));
        OK(acu_block_fill(second, block, 0, 4096, &word, 4));
        OK(acu_client_synchronize(second));
        EQUAL(((uint32_t *)(void *)contents(client, copy, 4092, 4))[0], i);
    }
}

CASE(a_writer_waits_for_a_held_reader) {
    needs_hold();
    acu_client *second = new_client();
    uint8_t *data = some_bytes(4096);
    acu_block *block = new_block_of(data, 4096), *copy = new_block_for(second, 4096);
    OK(acu_client_synchronize(client));
    hold(second);
    OK(acu_block_copy(second, copy, 0, block, 0, 4096));
    OK(acu_run(client, program("suite_step"), acu_items(1024), acu_inout_block(block), 1024u));
    acu_mark *mark = new_mark(client);
    EQUAL(acu_mark_query(mark), ACU_NOT_READY);
    let_go();
    OK(acu_mark_synchronize(mark));
    HOLDS_FOR(second, copy, data, 4096);
}

CASE(two_writers_on_other_clients_keep_their_order) {
    acu_client *second = new_client(), *third = new_client();
    acu_block *block = new_block(4096);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t first = 2 * i, last = 2 * i + 1;
        OK(acu_block_fill(second, block, 0, 4096, &first, 4));
        OK(acu_block_fill(third, block, 2048, 2048, &last, 4));
        OK(acu_client_synchronize(i % 2 ? second : third));
        const uint32_t *got = (uint32_t *)(void *)contents(client, block, 0, 4096);
        EQUAL(got[0], first);
        EQUAL(got[1023], last);
    }
}

CASE(a_mark_of_one_client_is_enough_for_two_blocks) {
    acu_client *second = new_client();
    acu_block *a = new_block(400), *b = new_block(400), *to = new_block_for(second, 400);
    for (uint32_t i = 0; i < 5; i++) {
        OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(a), i, 100u));
        OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(b), i + 7, 100u));
        OK(acu_client_wait(second, new_mark(client)));
        OK(acu_block_copy(second, to, 0, b, 0, 200));
        OK(acu_block_copy(second, to, 200, a, 0, 200));
        const uint32_t *got = (uint32_t *)(void *)contents(second, to, 0, 400);
        EQUAL(got[0], i + 7);
        EQUAL(got[50], i);
    }
}

CASE(waiting_needs_handles) {
    acu_mark *mark = new_mark(client);
    FAILS(acu_client_wait(NULL, mark), ACU_ERROR_ARGUMENT, "acu_client_wait");
    FAILS(acu_client_wait(client, NULL), ACU_ERROR_ARGUMENT, "acu_client_wait");
    FAILS(acu_client_synchronize(NULL), ACU_ERROR_ARGUMENT, "acu_client_synchronize");
}

CASE(making_a_client_needs_a_place_for_it) {
    FAILS(acu_client_create(place, NULL, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_client_get_default(place, NULL), ACU_ERROR_ARGUMENT, "NULL");
}
