/* Marks: points in a client's work. */
#include "suite.h"

CASE(a_mark_without_work_is_reached) {
    acu_mark *mark = new_mark(client);
    OK(acu_mark_synchronize(mark));
    OK(acu_mark_query(mark));
    IS(acu_mark_client(mark) == client);
}

CASE(a_mark_is_reached_after_its_work) {
    acu_block *block = new_block(400000);
    OK(acu_run(client, program("suite_count"), acu_items(100000), acu_out_block(block), 1u,
               100000u));
    acu_mark *mark = new_mark(client);
    OK(acu_mark_synchronize(mark));
    OK(acu_mark_query(mark));
    EQUAL(((uint32_t *)(void *)contents(client, block, 399996, 4))[0], 100000);
}

CASE(a_query_says_not_yet) {
    needs_hold();
    hold(client);
    acu_mark *mark = new_mark(client);
    EQUAL(acu_mark_query(mark), ACU_NOT_READY);
    EQUAL(acu_mark_query(mark), ACU_NOT_READY);
    let_go();
    OK(acu_mark_synchronize(mark));
    OK(acu_mark_query(mark));
}

CASE(not_yet_is_no_failure) {
    needs_hold();
    hold(client);
    acu_mark *mark = new_mark(client);
    acu_clear_error();
    EQUAL(acu_mark_query(mark), ACU_NOT_READY);
    EQUAL(acu_last_error(), 0);
    let_go();
}

CASE(a_query_is_true_in_the_end) {
    if (is_late())
        skip_case("the place does nothing until something waits for it");
    acu_block *block = new_block(40000);
    OK(acu_run(client, program("suite_count"), acu_items(10000), acu_out_block(block), 1u, 10000u));
    acu_mark *mark = new_mark(client);
    acu_result result;
    while ((result = acu_mark_query(mark)) == ACU_NOT_READY)
        ;
    OK(result);
}

CASE(a_mark_does_not_wait_for_later_work) {
    needs_hold();
    acu_block *block = new_block(400);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    acu_mark *mark = new_mark(client);
    hold(client);
    OK(acu_mark_synchronize(mark));
    OK(acu_mark_query(mark));
    let_go();
}

CASE(a_mark_of_each_of_two_clients) {
    needs_hold();
    acu_client *second = new_client();
    hold(client);
    acu_mark *first_mark = new_mark(client), *second_mark = new_mark(second);
    OK(acu_mark_synchronize(second_mark));
    EQUAL(acu_mark_query(first_mark), ACU_NOT_READY);
    let_go();
    OK(acu_mark_synchronize(first_mark));
}

CASE(a_mark_is_released_before_it_is_reached) {
    acu_block *block = new_block(400);
    for (uint32_t i = 0; i < 20; i++) {
        acu_mark *mark = NULL;
        OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), i, 100u));
        OK(acu_mark_create(client, &mark));
        OK(acu_mark_release(mark));
    }
    EQUAL(((uint32_t *)(void *)contents(client, block, 0, 4))[0], 19);
}

CASE(a_mark_is_released_while_a_client_waits_for_it) {
    acu_client *second = new_client();
    acu_block *block = new_block(400);
    acu_mark *mark = NULL;
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 5u, 100u));
    OK(acu_mark_create(client, &mark));
    OK(acu_client_wait(second, mark));
    OK(acu_mark_release(mark));
    OK(acu_client_synchronize(second));
    EQUAL(((uint32_t *)(void *)contents(second, block, 0, 4))[0], 5);
}

CASE(a_mark_keeps_its_client) {
    acu_client *made = NULL;
    acu_mark *mark = NULL;
    OK(acu_client_create(place, NULL, &made));
    OK(acu_mark_create(made, &mark));
    OK(acu_client_release(made));
    IS(acu_mark_client(mark) == made);
    OK(acu_mark_synchronize(mark));
    OK(acu_mark_release(mark));
}

CASE(a_mark_is_retained) {
    acu_mark *mark = NULL;
    OK(acu_mark_create(client, &mark));
    IS(acu_mark_retain(mark) == mark);
    OK(acu_mark_release(mark));
    OK(acu_mark_synchronize(mark));
    acu_mark_cleanup(&mark);
}

CASE(a_mark_is_described) {
    char text[200];
    acu_mark *mark = new_mark(client);
    EQUAL(acu_mark_describe(mark, text, sizeof text), strlen(text));
    CONTAINS(text, "mark");
    IS(acu_mark_describe(NULL, text, sizeof text) > 0);
}

CASE_FOR(marks, 10, 300) {
    acu_mark *marks[300];
    acu_block *block = new_block(64);
    for (size_t i = 0; i < n; i++) {
        OK(acu_block_fill(client, block, 0, 64, &i, 4));
        marks[i] = new_mark(client);
    }
    for (size_t i = n; i-- > 0;)
        OK(acu_mark_synchronize(marks[i]));
}

CASE(a_reached_mark_means_that_earlier_ones_are) {
    acu_block *block = new_block(400000);
    acu_mark *marks[10];
    for (uint32_t i = 0; i < 10; i++) {
        OK(acu_run(client, program("suite_count"), acu_items(100000), acu_out_block(block), i,
                   100000u));
        marks[i] = new_mark(client);
    }
    OK(acu_mark_synchronize(marks[6]));
    for (int i = 0; i <= 6; i++)
        OK(acu_mark_query(marks[i]));
    OK(acu_mark_synchronize(marks[9]));
}

CASE(a_mark_needs_its_arguments) {
    acu_mark *mark = NULL;
    FAILS(acu_mark_create(NULL, &mark), ACU_ERROR_ARGUMENT, "acu_mark_create");
    FAILS(acu_mark_create(client, NULL), ACU_ERROR_ARGUMENT, "acu_mark_create");
    FAILS(acu_mark_query(NULL), ACU_ERROR_ARGUMENT, "acu_mark_query");
    FAILS(acu_mark_synchronize(NULL), ACU_ERROR_ARGUMENT, "acu_mark_synchronize");
    IS(acu_mark_client(NULL) == NULL);
    OK(acu_mark_release(NULL));
}

CASE(a_chain_of_waits) {
    enum { CLIENTS = 6 };
    acu_client *clients[CLIENTS];
    acu_block *blocks[CLIENTS];
    uint8_t *data = some_bytes(1000);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = new_client();
        blocks[i] = new_block_for(clients[i], 1000);
    }
    OK(acu_block_write(clients[0], blocks[0], 0, data, 1000));
    for (int i = 1; i < CLIENTS; i++) {
        OK(acu_client_wait(clients[i], new_mark(clients[i - 1])));
        OK(acu_block_copy(clients[i], blocks[i], 0, blocks[i - 1], 0, 1000));
    }
    HOLDS_FOR(clients[CLIENTS - 1], blocks[CLIENTS - 1], data, 1000);
}

CASE(waiting_for_a_mark_of_a_held_client_of_another_place) {
    needs_hold();
    acu_client *there = new_client_on(other_place());
    hold(client);
    acu_mark *mark = new_mark(client);
    let_go(); /* the thread may wait in the next call */
    OK(acu_client_wait(there, mark));
    OK(acu_client_synchronize(there));
    OK(acu_mark_query(mark));
}

/* ---- reading at a mark ---- */

CASE(read_after_a_mark) {
    uint8_t *data = some_bytes(100), got[100];
    acu_block *block = new_block_of(data, 100);
    acu_mark *mark = new_mark(client);
    OK(acu_block_read_after(client, mark, block, 0, got, 100));
    SAME_BYTES(got, data, 100);
}

CASE_FOR(read_after_at, 0, 1, 2, 3, 5) {
    uint8_t *data = some_bytes(64), got[32];
    acu_block *block = new_block_of(data, 64);
    acu_mark *mark = new_mark(client);
    for (size_t size = 0; size <= 20; size++) {
        memset(got, 0xa5, 32);
        OK(acu_block_read_after(client, mark, block, n, got, size));
        SAME_BYTES(got, data + n, size);
        EQUAL(got[size], 0xa5);
    }
}

CASE(read_after_waits_for_the_mark) {
    acu_block *block = new_block(400000);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t last = 0;
        OK(acu_run(client, program("suite_count"), acu_items(100000), acu_out_block(block), i,
                   100000u));
        acu_mark *mark = new_mark(client);
        OK(acu_block_read_after(client, mark, block, 399996, &last, 4));
        EQUAL(last, 99999 + i);
    }
}

CASE(read_after_beside_later_work) {
    needs(ACU_CAN_READ_BESIDE, "read beside its work");
    needs_hold();
    uint8_t *data = some_bytes(1000), got[1000];
    acu_block *block = new_block_of(data, 1000);
    acu_mark *mark = new_mark(client);
    OK(acu_mark_synchronize(mark));
    hold(client);
    OK(acu_block_read_after(client, mark, block, 0, got, 1000));
    SAME_BYTES(got, data, 1000);
    acu_mark *later = new_mark(client);
    EQUAL(acu_mark_query(later), ACU_NOT_READY);
    let_go();
}

CASE(read_after_a_later_read_of_the_block) {
    uint8_t *data = some_bytes(100), got[100];
    acu_block *block = new_block_of(data, 100), *to = new_block(100);
    acu_mark *mark = new_mark(client);
    OK(acu_block_copy(client, to, 0, block, 0, 100));
    OK(acu_block_read_after(client, mark, block, 0, got, 100));
    SAME_BYTES(got, data, 100);
}

static const struct {
    const char *name;
    int what;
} writers[] = {
    {"write", 0},       {"fill", 1}, {"copy", 2}, {"run", 3}, {"write_by_another_client", 4},
    {"strided_copy", 5}};

CASE_OF(read_after_a_later, writers) {
    const size_t shape[] = {2};
    uint8_t *data = some_bytes(400), got[400];
    acu_block *block = new_block_of(data, 400), *other = new_block_of(data, 400);
    acu_client *second = new_client();
    acu_mark *mark = new_mark(client);
    acu_strides s = {1, shape, NULL, NULL, 0, 0};
    if (row->what == 0)
        OK(acu_block_write(client, block, 0, "x", 1));
    else if (row->what == 1)
        OK(acu_block_fill(client, block, 0, 1, "x", 1));
    else if (row->what == 2)
        OK(acu_block_copy(client, block, 0, other, 0, 1));
    else if (row->what == 3)
        OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(block), 100u));
    else if (row->what == 4)
        OK(acu_block_write(second, block, 0, "x", 1));
    else
        OK(acu_block_copy_strided(client, block, other, 4, &s));
    FAILS(acu_block_read_after(client, mark, block, 0, got, 400), ACU_ERROR_STATE,
          "acu_block_read_after");
    acu_mark *now = new_mark(client);
    OK(acu_block_read_after(client, now, block, 0, got, 400));
}

CASE(read_after_a_later_write_to_another_block) {
    uint8_t *data = some_bytes(100), got[100];
    acu_block *block = new_block_of(data, 100), *other = new_block(100);
    acu_mark *mark = new_mark(client);
    OK(acu_block_write(client, other, 0, "x", 1));
    OK(acu_block_read_after(client, mark, block, 0, got, 100));
    SAME_BYTES(got, data, 100);
}

CASE(read_after_needs_its_arguments) {
    uint8_t got[10];
    acu_block *block = new_block_of(some_bytes(10), 10);
    acu_mark *mark = new_mark(client);
    FAILS(acu_block_read_after(NULL, mark, block, 0, got, 1), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_read_after(client, NULL, block, 0, got, 1), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_read_after(client, mark, NULL, 0, got, 1), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_read_after(client, mark, block, 0, NULL, 1), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_read_after(client, mark, block, 0, got, 11), ACU_ERROR_RANGE,
          "acu_block_read_after");
    FAILS(acu_block_read_after(client, mark, block, 11, got, 0), ACU_ERROR_RANGE,
          "acu_block_read_after");
}
