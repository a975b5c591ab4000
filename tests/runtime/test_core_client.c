/* The core: clients and marks. How they live, are shared, waited for, and fail. */
#include "core_test.h"

#include <sys/wait.h>
#include <unistd.h>

static acu_place place;

static int setup(void **state) {
    (void)state;
    made_up_reset();
    acu_clear_error();
    return 0;
}

/* ---- life ---- */

static void clients_come_and_go(void **state) {
    (void)state;
    acu_client *client = new_client(place), *other = new_client(place);
    assert_ptr_not_equal(client, other);
    assert_int_equal(made_up.queues, 2);
    assert_true(acu_place_is(acu_client_place(client), place));
    assert_ptr_equal(acu_client_retain(client), client);
    OK(acu_client_release(client));
    assert_int_equal(made_up.queues, 2);
    OK(acu_client_release(client));
    assert_int_equal(made_up.queues, 1);
    acu_client_cleanup(&other);
    assert_int_equal(made_up.queues, 0);
    OK(acu_client_release(NULL));
}

static void the_default_client_is_shared(void **state) {
    (void)state;
    acu_client *one = NULL, *two = NULL, *far = NULL;
    OK(acu_client_get_default(place, &one));
    OK(acu_client_get_default(place, &two));
    OK(acu_client_get_default((acu_place){place.runtime, 1}, &far));
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, far);
    OK(acu_client_release(one));
    OK(acu_client_synchronize(two));
    OK(acu_client_release(two));
    OK(acu_client_release(far));
    assert_int_equal(made_up.queues, 0);
    OK(acu_client_get_default(place, &one)); /* a new one */
    OK(acu_client_release(one));
}

static void options_have_a_size(void **state) {
    (void)state;
    acu_client *client = NULL;
    acu_memory_stats stats;
    acu_client_options options = {.limit = 5000};
    OK(acu_client_create(place, &options, &client));
    OK(acu_client_get_memory(client, &stats));
    assert_int_equal(stats.limit, 5000);
    OK(acu_client_release(client));
    options.size = offsetof(acu_client_options, limit); /* an older header */
    OK(acu_client_create(place, &options, &client));
    OK(acu_client_get_memory(client, &stats));
    assert_int_equal(stats.limit, 0);
    OK(acu_client_release(client));
    options.size = 3;
    FAILS(ACU_ERROR_ARGUMENT, "the options is 3", acu_client_create(place, &options, &client));
    FAILS(ACU_ERROR_ARGUMENT, "'client' is NULL", acu_client_create(place, NULL, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "'client' is NULL", acu_client_get_default(place, NULL));
    made_up.fail[MADE_UP_QUEUE_CREATE] = 2;
    FAILS(2, "told to fail; madeup-0:0", acu_client_create(place, NULL, &client));
    FAILS(2, "told to fail; madeup-0:0", acu_client_get_default(place, &client));
}

static void describe_says_what_it_is(void **state) {
    (void)state;
    char text[160], short_text[5];
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 77, 0);
    ACU_AUTO(acu_mark) *mark = NULL;
    OK(acu_mark_create(client, &mark));
    size_t length = acu_client_describe(client, text, sizeof text);
    assert_non_null(strstr(text, "client 0x"));
    assert_non_null(strstr(text, " on madeup-0:0"));
    assert_int_equal(length, strlen(text));
    assert_int_equal(acu_client_describe(client, short_text, sizeof short_text), length);
    assert_string_equal(short_text, "clie");
    assert_int_equal(acu_client_describe(client, NULL, 0), length);
    (void)acu_block_describe(block, text, sizeof text);
    assert_non_null(strstr(text, " of 77 bytes on madeup-0:0"));
    (void)acu_mark_describe(mark, text, sizeof text);
    assert_non_null(strstr(text, "mark 0x"));
    (void)acu_client_describe(NULL, text, sizeof text);
    assert_string_equal(text, "no client");
    (void)acu_client_describe((acu_client *)(void *)block, text, sizeof text);
    assert_non_null(strstr(text, ", which is no client"));
}

static void wrong_handles_are_refused(void **state) {
    (void)state;
    acu_memory_stats stats;
    acu_raw raw;
    acu_block *out = NULL;
    acu_mark *made = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 0);
    acu_client *wrong = (acu_client *)(void *)block, *dead = new_client(place);
    ACU_AUTO(acu_mark) *mark = NULL;
    OK(acu_mark_create(client, &mark));
    OK(acu_client_release(dead));
    acu_client *const handles[] = {NULL, wrong, dead};
    const int codes[] = {ACU_ERROR_ARGUMENT, ACU_ERROR_HANDLE, ACU_ERROR_HANDLE};
    const char *const words[] = {"the client is NULL", "a block is given where a client is needed",
                                 "released already"};
    for (int i = 0; i < 3; i++) {
        acu_client *c = handles[i];
        FAILS(codes[i], words[i], acu_client_synchronize(c));
        FAILS(codes[i], words[i], acu_client_wait(c, mark));
        FAILS(codes[i], words[i], acu_client_get_raw(c, &raw));
        FAILS(codes[i], words[i], acu_client_get_memory(c, &stats));
        FAILS(codes[i], words[i], acu_client_set_memory_limit(c, 1));
        FAILS(codes[i], words[i], acu_client_trim_memory(c, 1));
        FAILS(codes[i], words[i], acu_client_freeze_memory(c));
        FAILS(codes[i], words[i], acu_client_thaw_memory(c));
        FAILS(codes[i], words[i], acu_client_reset_memory(c));
        FAILS(codes[i], words[i], acu_client_set_memory_hooks(c, NULL));
        FAILS(codes[i], words[i], acu_mark_create(c, &made));
        FAILS(codes[i], words[i], acu_block_create(c, 1, &out));
        FAILS(codes[i], words[i], acu_block_create_for(c, ACU_F32, 1, &out));
        FAILS(codes[i], words[i], acu_block_wrap(c, &raw, 1, NULL, NULL, &out));
        FAILS(codes[i], words[i], acu_block_write(c, block, 0, "x", 1));
        FAILS(codes[i], words[i], acu_block_read(c, block, 0, &raw, 1));
        FAILS(codes[i], words[i], acu_block_read_after(c, mark, block, 0, &raw, 1));
        FAILS(codes[i], words[i], acu_block_copy(c, block, 0, block, 1, 1));
        FAILS(codes[i], words[i], acu_block_fill(c, block, 0, 1, "x", 1));
        FAILS(codes[i], words[i], acu_block_copy_strided(c, block, block, 1, NULL));
        assert_null(acu_client_retain(c));
        assert_true(acu_place_is(acu_client_place(c), acu_place_cpu()));
        if (i > 0)
            FAILS(codes[i], words[i], acu_client_release(c));
    }
    assert_null(out);
}

static void wrong_marks_and_blocks_are_refused(void **state) {
    (void)state;
    acu_raw raw;
    void *address;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *good = new_block(client, 16, 0);
    acu_mark *dead_mark = NULL;
    acu_block *dead_block = new_block(client, 16, 0);
    OK(acu_mark_create(client, &dead_mark));
    OK(acu_mark_release(dead_mark));
    OK(acu_block_release(dead_block));
    acu_mark *const marks[] = {NULL, (acu_mark *)(void *)good, dead_mark};
    acu_block *const blocks[] = {NULL, (acu_block *)(void *)client, dead_block};
    const int codes[] = {ACU_ERROR_ARGUMENT, ACU_ERROR_HANDLE, ACU_ERROR_HANDLE};
    for (int i = 0; i < 3; i++) {
        FAILS(codes[i], "", acu_mark_query(marks[i]));
        FAILS(codes[i], "", acu_mark_synchronize(marks[i]));
        FAILS(codes[i], "", acu_client_wait(client, marks[i]));
        FAILS(codes[i], "", acu_block_read_after(client, marks[i], good, 0, &raw, 1));
        assert_null(acu_mark_retain(marks[i]));
        assert_null(acu_mark_client(marks[i]));
        FAILS(codes[i], "", acu_block_get_raw(blocks[i], &raw));
        FAILS(codes[i], "", acu_block_get_address(blocks[i], &address));
        FAILS(codes[i], "", acu_block_get_host(blocks[i], &address));
        FAILS(codes[i], "", acu_block_write(client, blocks[i], 0, "x", 1));
        FAILS(codes[i], "", acu_block_read(client, blocks[i], 0, &raw, 1));
        FAILS(codes[i], "", acu_block_copy(client, blocks[i], 0, good, 0, 1));
        FAILS(codes[i], "", acu_block_copy(client, good, 0, blocks[i], 0, 1));
        FAILS(codes[i], "", acu_block_fill(client, blocks[i], 0, 1, "x", 1));
        FAILS(codes[i], "", acu_block_copy_strided(client, blocks[i], good, 1, NULL));
        FAILS(codes[i], "", acu_block_copy_strided(client, good, blocks[i], 1, NULL));
        assert_null(acu_block_retain(blocks[i]));
        assert_null(acu_block_client(blocks[i]));
        assert_int_equal(acu_block_size(blocks[i]), 0);
        if (i > 0) {
            FAILS(codes[i], "", acu_mark_release(marks[i]));
            FAILS(codes[i], "", acu_block_release(blocks[i]));
        }
    }
    FAILS(ACU_ERROR_ARGUMENT, "'mark' is NULL", acu_mark_create(client, NULL));
}

static void a_release_keeps_the_last_error(void **state) {
    (void)state;
    acu_client *client = new_client(place);
    acu_block *block = new_block(client, 16, 0);
    char byte;
    FAILS(ACU_ERROR_RANGE, "not inside", acu_block_read(client, block, 16, &byte, 1));
    made_up.late = 700;
    OK(acu_block_release(block));
    assert_int_equal(acu_client_release(client), 700);
    assert_int_equal(acu_last_error(), ACU_ERROR_RANGE);
    acu_error error;
    assert_int_equal(acu_release_error(&error), 1);
    assert_int_equal(error.code, 700);
}

static void nothing_is_cleaned_up(void **state) {
    (void)state;
    acu_client *client = NULL;
    acu_client_cleanup(&client);
    acu_client_cleanup(NULL);
    acu_block_cleanup(NULL);
    acu_mark_cleanup(NULL);
    acu_program_cleanup(NULL);
    acu_replay_cleanup(NULL);
}

static void dead_handles_are_kept(void **state) {
    (void)state;
    acu_block *dead[100];
    ACU_AUTO(acu_client) *client = new_client(place);
    acu_quarantine(100);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            dead[i] = new_block(client, 16, 0);
            OK(acu_block_release(dead[i]));
        }
        for (int i = 0; i < 100; i++)
            FAILS(ACU_ERROR_HANDLE, "released already", acu_block_release(dead[i]));
    }
    acu_quarantine(0);
    OK(acu_block_release(new_block(client, 16, 0)));
    acu_quarantine(5);
    OK(acu_block_release(new_block(client, 16, 0)));
    acu_quarantine(1024);
}

/* ---- raw ---- */

static void without_raw(acu_backend *table) {
    table->queue_get_raw = NULL;
    table->memory_get_raw = NULL;
}

static void what_is_beneath(void **state) {
    (void)state;
    acu_raw raw;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 0);
    OK(acu_client_get_raw(client, &raw));
    assert_int_equal(raw.kind, ACU_RAW_OTHER);
    OK(acu_block_get_raw(block, &raw));
    assert_int_equal(raw.kind, ACU_RAW_POINTER);
    FAILS(ACU_ERROR_ARGUMENT, "'raw' is NULL", acu_client_get_raw(client, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "'raw' is NULL", acu_block_get_raw(block, NULL));
    made_up.fail[MADE_UP_QUEUE_GET_RAW] = made_up.fail[MADE_UP_MEMORY_GET_RAW] = 1;
    FAILS(1, "told to fail; client", acu_client_get_raw(client, &raw));
    FAILS(1, "told to fail; block", acu_block_get_raw(block, &raw));
    ACU_AUTO(acu_client) *plain = new_client(made_up_register(without_raw));
    ACU_AUTO(acu_block) *other = new_block(plain, 16, 0);
    OK(acu_client_get_raw(plain, &raw));
    assert_true(raw.kind == ACU_RAW_NONE && !raw.handle && !raw.other);
    OK(acu_block_get_raw(other, &raw));
    assert_true(raw.kind == ACU_RAW_NONE && !raw.handle && !raw.other);
}

/* ---- marks ---- */

static void marks_are_points_in_a_queue(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    acu_mark *mark = NULL;
    OK(acu_mark_create(client, &mark));
    assert_ptr_equal(acu_mark_client(mark), client);
    assert_int_equal(acu_mark_query(mark), ACU_NOT_READY);
    assert_int_equal(acu_last_error(), 0);
    OK(acu_mark_synchronize(mark));
    OK(acu_mark_query(mark));
    assert_ptr_equal(acu_mark_retain(mark), mark);
    OK(acu_mark_release(mark));
    acu_mark_cleanup(&mark);
    assert_int_equal(made_up.marks, 0);
}

static void a_mark_keeps_its_client(void **state) {
    (void)state;
    acu_client *client = new_client(place);
    acu_mark *mark = NULL;
    OK(acu_mark_create(client, &mark));
    OK(acu_client_release(client));
    assert_int_equal(made_up.queues, 1);
    OK(acu_client_synchronize(acu_mark_client(mark)));
    OK(acu_mark_release(mark));
    assert_int_equal(made_up.queues, 0);
}

static void failing_marks(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_mark) *mark = NULL;
    acu_mark *none = NULL;
    OK(acu_mark_create(client, &mark));
    made_up.fail[MADE_UP_MARK_CREATE] = 700;
    FAILS(700, "told to fail; client", acu_mark_create(client, &none));
    made_up.fail[MADE_UP_MARK_QUERY] = 701;
    FAILS(701, "told to fail; mark", acu_mark_query(mark));
    made_up.fail[MADE_UP_MARK_SYNCHRONIZE] = 702;
    FAILS(702, "told to fail; mark", acu_mark_synchronize(mark));
    assert_null(none);
    made_up_reset();
    OK(acu_client_synchronize(client));
}

static void without_marks(acu_backend *table) {
    table->mark_create = NULL;
    table->mark_destroy = NULL;
    table->mark_query = NULL;
    table->mark_synchronize = NULL;
    table->queue_wait = NULL;
}

static void places_without_marks_wait(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(made_up_register(without_marks));
    ACU_AUTO(acu_client) *other = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    const unsigned before = made_up.calls[MADE_UP_QUEUE_SYNCHRONIZE];
    OK(acu_mark_create(client, &mark));
    assert_int_equal(made_up.calls[MADE_UP_QUEUE_SYNCHRONIZE], before + 1);
    OK(acu_mark_query(mark));
    OK(acu_mark_synchronize(mark));
    OK(acu_client_wait(other, mark));
    assert_int_equal(made_up.calls[MADE_UP_QUEUE_SYNCHRONIZE], before + 1);
    /* An error of the work is the mark's, and no longer the client's. */
    ACU_AUTO(acu_mark) *failed = NULL;
    made_up.late = 700;
    OK(acu_block_write(client, block, 0, "x", 1));
    OK(acu_mark_create(client, &failed));
    FAILS(700, "work was told to fail", acu_mark_query(failed));
    FAILS(700, "work was told to fail", acu_mark_synchronize(failed));
    OK(acu_client_synchronize(client));
    /* The client returns it where nobody asks the mark. */
    acu_mark_cleanup(&failed);
    failed = NULL;
    made_up.late = 700;
    OK(acu_block_write(client, block, 0, "x", 1));
    OK(acu_mark_create(client, &failed));
    FAILS(700, "work was told to fail", acu_client_synchronize(client));
    OK(acu_client_synchronize(client));
}

/* ---- errors of work ---- */

static void errors_of_work_are_returned_once(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    made_up.late = 700;
    FAILS(700, "work was told to fail; client", acu_client_synchronize(client));
    OK(acu_client_synchronize(client));
    made_up.late = 701;
    OK(acu_block_write(client, block, 0, "x", 1));
    OK(acu_mark_create(client, &mark));
    FAILS(701, "work was told to fail; mark", acu_mark_synchronize(mark));
    OK(acu_client_synchronize(client));
    made_up.late = 702;
    OK(acu_block_write(client, block, 0, "x", 1));
    char byte;
    FAILS(702, "work was told to fail; block", acu_block_read(client, block, 0, &byte, 1));
    OK(acu_client_synchronize(client));
}

/* What waits inside of the core keeps an error for the client. */
static void errors_that_others_find_are_kept(void **state) {
    (void)state;
    void *host;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *other = new_client((acu_place){place.runtime, 1});
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    made_up.late = 700;
    OK(acu_block_get_host(block, &host));
    FAILS(700, "earlier work failed: work was told to fail", acu_client_synchronize(client));
    OK(acu_client_synchronize(client));
    made_up.fail[MADE_UP_QUEUE_WAIT] = ACU_NOT_SUPPORTED;
    OK(acu_block_write(client, block, 0, "x", 1));
    OK(acu_mark_create(client, &mark));
    made_up.late = 701;
    OK(acu_client_wait(other, mark));
    assert_int_equal(acu_last_error(), 700); /* no new one */
    FAILS(701, "earlier work failed: work was told to fail", acu_client_synchronize(client));
    OK(acu_client_synchronize(other));
}

static void lost_devices(void **state) {
    (void)state;
    acu_client *client = new_client(place);
    acu_block *block = new_block(client, 16, 1), *none = NULL;
    acu_mark *mark = NULL;
    char byte;
    made_up_lose(46);
    FAILS(46, "told to fail", acu_block_write(client, block, 0, "x", 1));
    FAILS(46, "told to fail", acu_block_read(client, block, 0, &byte, 1));
    FAILS(46, "told to fail", acu_block_fill(client, block, 0, 16, "x", 1));
    FAILS(46, "told to fail", acu_block_copy(client, block, 0, block, 8, 8));
    FAILS(46, "told to fail", acu_block_create(client, 5000, &none));
    FAILS(46, "told to fail", acu_mark_create(client, &mark));
    FAILS(46, "told to fail", acu_client_synchronize(client));
    OK(acu_block_release(block));
    assert_int_equal(acu_client_release(client), 46);
    assert_int_equal(made_up.queues, 0);
    assert_int_equal(made_up.memories, 0);
    acu_error error;
    (void)acu_release_error(&error);
}

/* ---- threads ---- */

static void *use_default(void *data) {
    for (int i = 0; i < 200; i++) {
        acu_client *client = NULL;
        if (acu_client_get_default(place, &client) || acu_client_synchronize(client) ||
            acu_client_release(client))
            *(int *)data = 1;
    }
    return NULL;
}

static void threads_share_the_default_client(void **state) {
    (void)state;
    pthread_t threads[4];
    int failed[4] = {0};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, use_default, &failed[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failed[i], 0);
    }
    assert_int_equal(made_up.queues, 0);
}

/* ---- forks ---- */

/* Uses in a forked process what was made before; returns 0 where all is as it should be. */
static int use_in_child(acu_client *client, acu_block *block, acu_mark *mark) {
    char byte = 0;
    acu_client *mine = NULL;
    if (acu_client_synchronize(client) != ACU_ERROR_STATE ||
        !strstr(acu_last_error_message(), "forked"))
        return 1;
    if (acu_block_write(client, block, 0, "x", 1) != ACU_ERROR_STATE ||
        acu_mark_synchronize(mark) != ACU_ERROR_STATE || acu_mark_query(mark) != ACU_ERROR_STATE)
        return 2;
    acu_block *own = NULL, *none = NULL;
    if (acu_client_create(place, NULL, &mine) || acu_block_create(mine, 1, &own) ||
        acu_block_read(mine, block, 0, &byte, 1) != ACU_ERROR_DEVICE ||
        acu_client_wait(mine, mark) != ACU_ERROR_STATE ||
        acu_block_read_after(mine, mark, own, 0, &byte, 1) != ACU_ERROR_STATE ||
        acu_block_wrap(client, &byte, 1, NULL, NULL, &none) != ACU_ERROR_STATE ||
        acu_block_write(mine, own, 0, "x", 1) || acu_block_read(mine, own, 0, &byte, 1) ||
        byte != 'x' || acu_block_release(own))
        return 3;
    const unsigned queues = made_up.queues;
    if (acu_mark_release(mark) || acu_block_release(block) || acu_client_release(client) ||
        made_up.queues != queues)
        return 4;
    return acu_client_release(mine) ? 5 : 0;
}

static void a_forked_process_begins_anew(void **state) {
    (void)state;
    int status = -1;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    OK(acu_mark_create(client, &mark));
    const pid_t child = fork();
    if (child == 0)
        _exit(use_in_child(client, block, mark));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(byte_at(client, block, 3), 1);
}

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    place = made_up_register(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(clients_come_and_go, setup),
        cmocka_unit_test_setup(the_default_client_is_shared, setup),
        cmocka_unit_test_setup(options_have_a_size, setup),
        cmocka_unit_test_setup(describe_says_what_it_is, setup),
        cmocka_unit_test_setup(wrong_handles_are_refused, setup),
        cmocka_unit_test_setup(wrong_marks_and_blocks_are_refused, setup),
        cmocka_unit_test_setup(a_release_keeps_the_last_error, setup),
        cmocka_unit_test_setup(nothing_is_cleaned_up, setup),
        cmocka_unit_test_setup(dead_handles_are_kept, setup),
        cmocka_unit_test_setup(what_is_beneath, setup),
        cmocka_unit_test_setup(marks_are_points_in_a_queue, setup),
        cmocka_unit_test_setup(a_mark_keeps_its_client, setup),
        cmocka_unit_test_setup(failing_marks, setup),
        cmocka_unit_test_setup(places_without_marks_wait, setup),
        cmocka_unit_test_setup(errors_of_work_are_returned_once, setup),
        cmocka_unit_test_setup(errors_that_others_find_are_kept, setup),
        cmocka_unit_test_setup(lost_devices, setup),
        cmocka_unit_test_setup(threads_share_the_default_client, setup),
        cmocka_unit_test_setup(a_forked_process_begins_anew, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
