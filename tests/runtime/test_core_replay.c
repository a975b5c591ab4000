/* The core: replays, captured and not. */
#include "core_test.h"

static acu_place place, eager; /* eager: the back end cannot capture */

static int setup(void **state) {
    (void)state;
    made_up_reset();
    acu_clear_error();
    return 0;
}

static void no_captures(acu_backend *table) {
    table->capture_begin = NULL;
    table->capture_end = NULL;
    table->capture_cancel = NULL;
    table->replay_run = NULL;
    table->replay_destroy = NULL;
}

#define EVERYWHERE(test)                                                                           \
    static void test##_everywhere(void **state) {                                                  \
        (void)state;                                                                               \
        test(place);                                                                               \
        test(eager);                                                                               \
    }

/* What a recorded function is given. */
typedef struct job {
    acu_block *a, *b, *c;
    acu_client *other;
    acu_replay *replay;
    acu_mark *mark;
    int called;
} job;

static int count(acu_client *client, acu_block *block) {
    return byte_at(client, block, 0);
}

/* ---- running again ---- */

static acu_result shift(acu_client *client, void *data) {
    job *j = data;
    char text[] = "ab";
    j->called++;
    ACU_TRY(acu_block_copy(client, j->b, 1, j->a, 0, 10));
    ACU_TRY(acu_block_write(client, j->b, 20, text, 2));
    memset(text, '-', 2); /* the replay has its own copy */
    ACU_TRY(acu_block_fill(client, j->b, 30, 5, "xyz", 3));
    memset(text, '-', 2);
    return acu_block_copy(client, j->a, 0, j->b, 0, 11);
}

static void work_is_done_again(acu_place where) {
    char bytes[40];
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 0);
    ACU_AUTO(acu_block) *b = new_block(client, 40, 5);
    ACU_AUTO(acu_replay) *replay = NULL;
    job j = {.a = a, .b = b};
    OK(acu_replay_record(client, shift, &j, NULL, 0, &replay));
    assert_int_equal(j.called, 1);
    assert_int_equal(byte_at(client, a, 0), 0); /* nothing is done yet */
    assert_int_equal(byte_at(client, b, 20), 5);
    assert_int_equal(acu_replay_is_real(replay), where.runtime == place.runtime);
    if (acu_replay_is_real(replay))
        assert_string_equal(acu_replay_why(replay), "");
    else
        assert_string_equal(acu_replay_why(replay), "the place cannot capture");
    OK(acu_block_fill(client, a, 0, 1, "\1", 1));
    for (int i = 0; i < 3; i++)
        OK(acu_replay_run(replay));
    OK(acu_block_read(client, a, 0, bytes, 11));
    assert_memory_equal(bytes, "\5\5\5\1\0\0\0\0\0\0\0", 11);
    OK(acu_block_read(client, b, 0, bytes, 40));
    assert_memory_equal(bytes + 20, "ab", 2);
    assert_memory_equal(bytes + 30, "xyzxy", 5);
    assert_int_equal(j.called, 1);
}
EVERYWHERE(work_is_done_again)

static acu_result temporary(acu_client *client, void *data) {
    job *j = data;
    acu_block *block = NULL;
    ACU_TRY(acu_block_create(client, 40, &block));
    ACU_TRY(acu_block_copy(client, block, 0, j->a, 0, 40));
    ACU_TRY(acu_block_copy(client, j->b, 0, block, 0, 40));
    return acu_block_release(block);
}

/* The replay keeps what it needs; its temporary memory is nobody else's. */
static void everything_may_be_released(acu_place where) {
    acu_client *client = new_client(where);
    ACU_AUTO(acu_block) *b = new_block(client, 40, 2);
    acu_replay *replay = NULL;
    job j = {.a = new_block(client, 40, 1), .b = b};
    OK(acu_replay_record(client, temporary, &j, NULL, 0, &replay));
    OK(acu_block_release(j.a));
    ACU_AUTO(acu_block) *unrelated = new_block(client, 40, 9);
    ACU_AUTO(acu_block) *another = new_block(client, 40, 9);
    OK(acu_client_release(client));
    client = acu_block_client(b);
    OK(acu_replay_run(replay));
    assert_int_equal(count(client, b), 1);
    assert_int_equal(count(client, unrelated), 9);
    assert_int_equal(count(client, another), 9);
    OK(acu_replay_run(replay));
    OK(acu_replay_release(replay)); /* the run goes on */
    assert_int_equal(count(client, b), 1);
    assert_int_equal(made_up.replays, 0);
    OK(acu_client_trim_memory(client, 0));
    assert_int_equal(made_up.memories, 3);
}
EVERYWHERE(everything_may_be_released)

static acu_result nothing(acu_client *client, void *data) {
    (void)client;
    ((job *)data)->called++;
    return ACU_SUCCESS;
}

static void an_empty_replay(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    acu_replay *replay = NULL;
    job j = {0};
    OK(acu_replay_record(client, nothing, &j, NULL, 0, &replay));
    OK(acu_replay_run(replay));
    OK(acu_client_synchronize(client));
    assert_ptr_equal(acu_replay_retain(replay), replay);
    OK(acu_replay_release(replay));
    acu_replay_cleanup(&replay);
    assert_null(replay); /* so that the end of a scope does not release it again */
    acu_replay_cleanup(&replay);
}
EVERYWHERE(an_empty_replay)

/* ---- order ---- */

static acu_result copy_a_to_b(acu_client *client, void *data) {
    job *j = data;
    return acu_block_copy(client, j->b, 0, j->a, 0, 40);
}

static void runs_are_in_order_with_other_clients(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_client) *other = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(other, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 40, 2);
    ACU_AUTO(acu_replay) *replay = NULL;
    job j = {.a = a, .b = b};
    OK(acu_replay_record(client, copy_a_to_b, &j, NULL, 0, &replay));
    for (int i = 0; i < 5; i++) {
        unsigned char value = (unsigned char)(10 + i);
        OK(acu_block_fill(other, a, 0, 40, &value, 1));
        OK(acu_replay_run(replay));
        OK(acu_block_fill(other, a, 0, 40, "-", 1));
        assert_int_equal(count(other, b), 10 + i);
    }
}
EVERYWHERE(runs_are_in_order_with_other_clients)

/* Uses each block for reading first, and then writes to it. */
static acu_result exchange(acu_client *client, void *data) {
    job *j = data;
    ACU_TRY(acu_block_copy(client, j->c, 0, j->a, 0, 40));
    ACU_TRY(acu_block_copy(client, j->a, 0, j->b, 0, 40));
    return acu_block_copy(client, j->b, 0, j->c, 0, 40);
}

static void others_see_what_a_run_writes(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_client) *other = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 40, 2);
    ACU_AUTO(acu_block) *c = new_block(client, 40, 3);
    ACU_AUTO(acu_replay) *replay = NULL;
    job j = {.a = a, .b = b, .c = c};
    OK(acu_replay_record(client, exchange, &j, NULL, 0, &replay));
    for (int i = 0; i < 4; i++) {
        OK(acu_replay_run(replay));
        assert_int_equal(count(other, i < 2 ? a : b), i % 2 == (i < 2) ? 1 : 2);
        OK(acu_client_synchronize(client));
    }
}
EVERYWHERE(others_see_what_a_run_writes)

static acu_result run_another(acu_client *client, void *data) {
    job *j = data;
    ACU_TRY(acu_block_fill(client, j->a, 0, 40, "\7", 1));
    ACU_TRY(acu_replay_run(j->replay));
    return acu_block_copy(client, j->c, 0, j->b, 0, 40);
}

static void a_replay_in_a_replay(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 40, 2);
    ACU_AUTO(acu_block) *c = new_block(client, 40, 3);
    ACU_AUTO(acu_replay) *outer = NULL;
    job j = {.a = a, .b = b, .c = c};
    OK(acu_replay_record(client, copy_a_to_b, &j, NULL, 0, &j.replay));
    OK(acu_replay_record(client, run_another, &j, NULL, 0, &outer));
    OK(acu_replay_release(j.replay)); /* the outer one keeps it */
    assert_int_equal(count(client, c), 3);
    OK(acu_replay_run(outer));
    assert_int_equal(count(client, c), 7);
    assert_int_equal(acu_replay_is_real(outer), where.runtime == place.runtime);
}
EVERYWHERE(a_replay_in_a_replay)

/* ---- named blocks ---- */

static void named_blocks(void **state) {
    (void)state;
    acu_block *found = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *far = new_client((acu_place){place.runtime, 1});
    acu_block *a = new_block(client, 40, 1), *b = new_block(client, 40, 2);
    ACU_AUTO(acu_block) *elsewhere = new_block(far, 40, 2);
    ACU_AUTO(acu_replay) *replay = NULL;
    job j = {.a = a, .b = b};
    char name[] = "in";
    acu_named_block named[] = {{name, a}, {"out", b}};
    OK(acu_replay_record(client, nothing, &j, named, 2, &replay));
    name[0] = 'o';
    OK(acu_block_release(a));
    OK(acu_block_release(b));
    OK(acu_replay_get_block(replay, "out", &found));
    assert_ptr_equal(found, b);
    OK(acu_replay_get_block(replay, "in", &found));
    assert_ptr_equal(found, a);
    assert_int_equal(count(client, found), 1);
    FAILS(ACU_ERROR_ARGUMENT, "'on'; replay", acu_replay_get_block(replay, "on", &found));
    FAILS(ACU_ERROR_ARGUMENT, "'name' is NULL", acu_replay_get_block(replay, NULL, &found));
    FAILS(ACU_ERROR_ARGUMENT, "'block' is NULL", acu_replay_get_block(replay, "in", NULL));
    acu_replay *none = NULL;
    named[1].name = "on";
    FAILS(ACU_ERROR_ARGUMENT, "two blocks have the name 'on'",
          acu_replay_record(client, nothing, &j, named, 2, &none));
    named[1].name = NULL;
    FAILS(ACU_ERROR_ARGUMENT, "name of block 1 is NULL",
          acu_replay_record(client, nothing, &j, named, 2, &none));
    named[1] = (acu_named_block){"out", elsewhere};
    FAILS(ACU_ERROR_DEVICE, "is not", acu_replay_record(client, nothing, &j, named, 2, &none));
    named[1].block = NULL;
    FAILS(ACU_ERROR_ARGUMENT, "the block is NULL",
          acu_replay_record(client, nothing, &j, named, 2, &none));
    FAILS(ACU_ERROR_ARGUMENT, "'named' is NULL",
          acu_replay_record(client, nothing, &j, NULL, 2, &none));
    assert_int_equal(j.called, 1);
    assert_null(none);
}

/* ---- what cannot be recorded ---- */

#define REFUSED(call)                                                                              \
    do {                                                                                           \
        if ((call) != ACU_ERROR_CAPTURE)                                                           \
            return 77;                                                                             \
    } while (0)

static acu_result wait_and_read(acu_client *client, void *data) {
    job *j = data;
    char byte;
    void *host;
    acu_mark *mark = NULL;
    REFUSED(acu_client_synchronize(client));
    REFUSED(acu_block_read(client, j->a, 0, &byte, 1));
    REFUSED(acu_block_read_after(client, j->mark, j->a, 0, &byte, 1));
    REFUSED(acu_block_get_host(j->a, &host));
    REFUSED(acu_mark_create(client, &mark));
    REFUSED(acu_mark_synchronize(j->mark));
    REFUSED(acu_client_wait(client, j->mark));
    REFUSED(acu_block_copy(client, j->c, 0, j->a, 0, 1)); /* between places */
    REFUSED(acu_block_copy(client, j->a, 0, j->c, 0, 1));
    REFUSED(acu_block_copy(j->other, j->c, 0, j->a, 0, 1)); /* reads on the same queue */
    return ACU_SUCCESS;
}

static void nothing_waits_in_a_recording(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_client) *other = new_client(acu_place_cpu());
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    ACU_AUTO(acu_block) *c = new_block(other, 40, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    acu_replay *none = NULL;
    job j = {.a = a, .c = c, .other = other, .mark = NULL};
    OK(acu_mark_create(client, &mark));
    j.mark = mark;
    assert_int_equal(acu_replay_record(client, wait_and_read, &j, NULL, 0, &none),
                     ACU_ERROR_CAPTURE);
    assert_null(none);
    assert_non_null(strstr(acu_last_error_message(), "recorded"));
    OK(acu_client_synchronize(client));
    assert_int_equal(count(client, a), 1);
}
EVERYWHERE(nothing_waits_in_a_recording)

static acu_result fail_softly(acu_client *client, void *data) {
    job *j = data;
    return acu_block_fill(client, j->a, 39, 2, "x", 1) ? ACU_SUCCESS : ACU_ERROR_STATE;
}

static acu_result fail_for_itself(acu_client *client, void *data) {
    job *j = data;
    ACU_TRY(acu_block_fill(client, j->a, 0, 2, "x", 1));
    return -5555;
}

static acu_result record_again(acu_client *client, void *data) {
    job *j = data;
    acu_replay *none = NULL;
    return acu_replay_record(client, nothing, j, NULL, 0, &none);
}

static void failing_functions(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    acu_replay *none = NULL;
    acu_memory_stats stats;
    job j = {.a = a};
    assert_int_equal(acu_replay_record(client, fail_softly, &j, NULL, 0, &none), ACU_ERROR_RANGE);
    FAILS(-5555, "returned -5555", acu_replay_record(client, fail_for_itself, &j, NULL, 0, &none));
    FAILS(ACU_ERROR_STATE, "already being recorded",
          acu_replay_record(client, record_again, &j, NULL, 0, &none));
    FAILS(ACU_ERROR_ARGUMENT, "'function' is NULL",
          acu_replay_record(client, NULL, &j, NULL, 0, &none));
    FAILS(ACU_ERROR_ARGUMENT, "'replay' is NULL",
          acu_replay_record(client, nothing, &j, NULL, 0, NULL));
    assert_null(none);
    assert_int_equal(count(client, a), 1);
    OK(acu_client_get_memory(client, &stats));
    assert_int_equal(stats.frozen, 0);
    assert_int_equal(j.called, 0);
}

static void failing_captures(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 40, 2);
    job j = {.a = a, .b = b};
    const made_up_entry entries[] = {MADE_UP_CAPTURE_BEGIN, MADE_UP_CAPTURE_END, MADE_UP_COPY};
    for (int i = 0; i < 3; i++) {
        ACU_AUTO(acu_replay) *replay = NULL;
        acu_replay *none = NULL;
        char words[32];
        snprintf(words, sizeof words, "entry %d was told to fail", (int)entries[i]);
        made_up.fail[entries[i]] = ACU_NOT_SUPPORTED;
        OK(acu_replay_record(client, copy_a_to_b, &j, NULL, 0, &replay));
        assert_int_equal(acu_last_error(), 0);
        assert_false(acu_replay_is_real(replay));
        assert_string_equal(acu_replay_why(replay), words);
        made_up.fail[entries[i]] = 0;
        OK(acu_block_fill(client, a, 0, 40, "x", 1));
        OK(acu_replay_run(replay));
        assert_int_equal(count(client, b), 'x');
        made_up.fail[entries[i]] = 719;
        FAILS(719, words, acu_replay_record(client, copy_a_to_b, &j, NULL, 0, &none));
        assert_null(none);
        acu_clear_error();
        made_up.fail[entries[i]] = 0;
    }
    assert_int_equal(made_up.cancels, 4);
    assert_int_equal(made_up.replays, 0);
    ACU_AUTO(acu_replay) *replay = NULL;
    OK(acu_replay_record(client, copy_a_to_b, &j, NULL, 0, &replay));
    made_up.fail[MADE_UP_REPLAY_RUN] = 719;
    FAILS(719, "told to fail", acu_replay_run(replay));
}

/* A strided copy that needs the host cannot be captured, but done again. */
static acu_result reverse(acu_client *client, void *data) {
    job *j = data;
    const size_t shape[] = {40};
    const int64_t steps[] = {-1};
    const acu_strides s = {.rank = 1, .shape = shape, .to = steps, .to_at = 39};
    return acu_block_copy_strided(client, j->b, j->a, 1, &s);
}

static void the_host_is_not_captured(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 40, 2);
    ACU_AUTO(acu_replay) *real = NULL;
    ACU_AUTO(acu_replay) *replay = NULL;
    job j = {.a = a, .b = b};
    OK(acu_replay_record(client, reverse, &j, NULL, 0, &real));
    made_up.fail[MADE_UP_COPY_STRIDED] = ACU_NOT_SUPPORTED;
    OK(acu_replay_record(client, reverse, &j, NULL, 0, &replay));
    assert_true(acu_replay_is_real(real));
    assert_false(acu_replay_is_real(replay));
    assert_string_equal(acu_replay_why(replay),
                        "a strided copy of this shape goes through the host");
    acu_replay *const both[] = {real, replay};
    for (int i = 0; i < 2; i++) {
        OK(acu_block_fill(client, b, 0, 40, "-", 1));
        OK(acu_block_fill(client, a, 39, 1, "x", 1));
        OK(acu_replay_run(both[i]));
        assert_int_equal(byte_at(client, b, 0), 'x');
        assert_int_equal(byte_at(client, b, 39), 1);
    }
}

static void wrong_replays(void **state) {
    (void)state;
    acu_block *none = NULL;
    char text[100];
    ACU_AUTO(acu_client) *client = new_client(place);
    acu_replay *dead = NULL;
    job j = {0};
    OK(acu_replay_record(client, nothing, &j, NULL, 0, &dead));
    (void)acu_replay_describe(dead, text, sizeof text);
    assert_non_null(strstr(text, " on madeup-0:0"));
    OK(acu_replay_release(dead));
    acu_replay *const wrong[] = {NULL, (acu_replay *)(void *)client, dead};
    const int codes[] = {ACU_ERROR_ARGUMENT, ACU_ERROR_HANDLE, ACU_ERROR_HANDLE};
    for (int i = 0; i < 3; i++) {
        FAILS(codes[i], "replay", acu_replay_run(wrong[i]));
        FAILS(codes[i], "replay", acu_replay_get_block(wrong[i], "a", &none));
        assert_null(acu_replay_retain(wrong[i]));
        assert_false(acu_replay_is_real(wrong[i]));
        assert_string_equal(acu_replay_why(wrong[i]), "");
        if (i > 0)
            FAILS(codes[i], "", acu_replay_release(wrong[i]));
    }
}

/* ---- memory and other threads ---- */

static acu_result thaw_too_much(acu_client *client, void *data) {
    job *j = data;
    acu_memory_stats stats;
    ACU_TRY(acu_client_get_memory(client, &stats));
    j->called = (int)stats.frozen;
    return acu_client_thaw_memory(client);
}

static void recordings_freeze_memory(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    acu_replay *none = NULL;
    job j = {.called = 5};
    assert_int_equal(acu_replay_record(client, thaw_too_much, &j, NULL, 0, &none), ACU_ERROR_STATE);
    assert_int_equal(j.called, 0);
}

static void *use_client(void *data) {
    job *j = data;
    acu_client *client = acu_block_client(j->c);
    for (int i = 0; i < 100; i++) {
        acu_block *block = NULL;
        acu_mark *mark = NULL;
        if (acu_block_fill(client, j->c, 0, 40, "y", 1) || acu_block_create(client, 100, &block) ||
            acu_block_fill(client, block, 0, 100, "z", 1) || acu_mark_create(client, &mark) ||
            acu_mark_synchronize(mark) || acu_mark_release(mark) || acu_block_release(block) ||
            acu_client_synchronize(client))
            return data;
    }
    return NULL;
}

static void other_threads_wait(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_client) *second = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(second, 40, 2);
    ACU_AUTO(acu_block) *c = new_block(client, 40, 3);
    job j = {.a = a, .b = b, .c = c};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, use_client, &j);
    for (int i = 0; i < 30; i++) {
        ACU_AUTO(acu_replay) *replay = NULL;
        unsigned char value = (unsigned char)i;
        OK(acu_replay_record(client, i % 2 ? copy_a_to_b : temporary, &j, NULL, 0, &replay));
        OK(acu_block_fill(second, a, 0, 40, &value, 1));
        OK(acu_replay_run(replay));
        assert_int_equal(count(second, b), i);
    }
    for (int i = 0; i < 2; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(made_up.shared_queue_uses, 0);
}
EVERYWHERE(other_threads_wait)

/* Two threads record at once, each with blocks of the other's client. */
typedef struct pair {
    acu_client *client;
    acu_block *to, *from;
    pthread_barrier_t *barrier;
    acu_result code;
} pair;

static acu_result copy_at_once(acu_client *client, void *data) {
    pair *p = data;
    pthread_barrier_wait(p->barrier);
    acu_result code = acu_block_copy(client, p->to, 0, p->from, 0, 40);
    pthread_barrier_wait(p->barrier);
    return code;
}

static void *record_and_run(void *data) {
    pair *p = data;
    acu_replay *replay = NULL;
    p->code = acu_replay_record(p->client, copy_at_once, p, NULL, 0, &replay);
    for (int i = 0; i < 20 && !p->code; i++)
        p->code = acu_replay_run(replay);
    if (!p->code)
        p->code = acu_replay_release(replay);
    return NULL;
}

static void two_threads_record(acu_place where) {
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(one, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(two, 40, 2);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t thread;
    pair p = {one, b, a, &barrier, -1}, q = {two, a, b, &barrier, -1};
    pthread_create(&thread, NULL, record_and_run, &p);
    (void)record_and_run(&q);
    pthread_join(thread, NULL);
    OK(p.code);
    OK(q.code);
    assert_int_equal(count(one, a), count(two, b)); /* the first copy made them equal */
    pthread_barrier_destroy(&barrier);
}
EVERYWHERE(two_threads_record)

static acu_result record_other(acu_client *client, void *data) {
    job *j = data;
    ACU_TRY(acu_block_fill(client, j->a, 0, 40, "\4", 1));
    ACU_TRY(acu_block_fill(j->other, j->b, 0, 40, "\5", 1)); /* done at once */
    return acu_replay_record(j->other, copy_a_to_b, j, NULL, 0, &j->replay);
}

static void two_recordings_of_one_thread(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_client) *other = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(client, 40, 1);
    ACU_AUTO(acu_block) *b = new_block(other, 40, 2);
    ACU_AUTO(acu_replay) *replay = NULL;
    job j = {.a = a, .b = b, .other = other};
    OK(acu_replay_record(client, record_other, &j, NULL, 0, &replay));
    assert_int_equal(count(other, b), 5);
    assert_int_equal(count(client, a), 1);
    OK(acu_replay_run(replay));
    OK(acu_replay_run(j.replay));
    assert_int_equal(count(other, b), 4);
    OK(acu_replay_release(j.replay));
}
EVERYWHERE(two_recordings_of_one_thread)

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    place = made_up_register(NULL);
    eager = made_up_register(no_captures);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(work_is_done_again_everywhere, setup),
        cmocka_unit_test_setup(everything_may_be_released_everywhere, setup),
        cmocka_unit_test_setup(an_empty_replay_everywhere, setup),
        cmocka_unit_test_setup(runs_are_in_order_with_other_clients_everywhere, setup),
        cmocka_unit_test_setup(others_see_what_a_run_writes_everywhere, setup),
        cmocka_unit_test_setup(a_replay_in_a_replay_everywhere, setup),
        cmocka_unit_test_setup(named_blocks, setup),
        cmocka_unit_test_setup(nothing_waits_in_a_recording_everywhere, setup),
        cmocka_unit_test_setup(failing_functions, setup),
        cmocka_unit_test_setup(failing_captures, setup),
        cmocka_unit_test_setup(the_host_is_not_captured, setup),
        cmocka_unit_test_setup(wrong_replays, setup),
        cmocka_unit_test_setup(recordings_freeze_memory, setup),
        cmocka_unit_test_setup(other_threads_wait_everywhere, setup),
        cmocka_unit_test_setup(two_threads_record_everywhere, setup),
        cmocka_unit_test_setup(two_recordings_of_one_thread_everywhere, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
