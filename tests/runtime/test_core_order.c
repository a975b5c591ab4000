/* The core: the order of clients that use the same blocks, also on several threads. The made-up
 * back end does work as late as it can, so that a missing wait shows as wrong data. */
#include "core_test.h"

static acu_place place, waiting, unmarked, blind; /* blind: nothing optional */

static int setup(void **state) {
    (void)state;
    made_up_reset();
    acu_clear_error();
    return 0;
}

static void no_queue_wait(acu_backend *table) {
    table->queue_wait = NULL;
}

static void no_marks(acu_backend *table) {
    table->mark_create = NULL;
    table->mark_destroy = NULL;
    table->mark_query = NULL;
    table->mark_synchronize = NULL;
    table->queue_wait = NULL;
    table->read_after = NULL;
}

static void drop_all(acu_backend *table) {
    const size_t optional = offsetof(acu_backend, fill);
    memset((char *)table + optional, 0, sizeof *table - optional);
}

#define EVERYWHERE(test)                                                                           \
    static void test##_everywhere(void **state) {                                                  \
        (void)state;                                                                               \
        test(place);                                                                               \
        test(waiting);                                                                             \
        test(unmarked);                                                                            \
        test(blind);                                                                               \
    }

/* ---- two clients ---- */

static void writes_before_reads(acu_place where) {
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_block) *b = new_block(two, 100, 2);
    OK(acu_block_copy(two, b, 0, a, 0, 100));   /* after the owner's write */
    OK(acu_block_fill(one, a, 0, 100, "x", 1)); /* after the other's read */
    assert_int_equal(byte_at(two, b, 99), 1);
    assert_int_equal(byte_at(one, a, 99), 'x');
    OK(acu_block_fill(two, a, 0, 100, "y", 1)); /* a foreign write */
    OK(acu_block_fill(one, a, 50, 50, "z", 1));
    assert_int_equal(byte_at(two, a, 49), 'y');
    assert_int_equal(byte_at(two, a, 50), 'z');
}
EVERYWHERE(writes_before_reads)

/* A write comes after reads of the owner, and after those of a third client. */
static void reads_before_writes(acu_place where) {
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(where);
    ACU_AUTO(acu_client) *three = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_block) *b = new_block(one, 100, 2);
    ACU_AUTO(acu_block) *c = new_block(three, 100, 3);
    OK(acu_client_synchronize(one));
    OK(acu_block_copy(one, b, 0, a, 0, 100));
    OK(acu_block_copy(three, c, 0, a, 0, 100));
    OK(acu_block_fill(two, a, 0, 100, "x", 1));
    OK(acu_client_synchronize(two));
    assert_int_equal(byte_at(one, b, 99), 1);
    assert_int_equal(byte_at(three, c, 99), 1);
}
EVERYWHERE(reads_before_writes)

/* Three clients, none of which owns both blocks that it uses. */
static void three_clients(acu_place where) {
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(where);
    ACU_AUTO(acu_client) *three = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_block) *b = new_block(one, 100, 2);
    for (int i = 0; i < 20; i++) {
        unsigned char value = (unsigned char)i;
        OK(acu_block_fill(two, a, 0, 100, &value, 1));
        OK(acu_block_copy(three, b, 0, a, 0, 100));
        OK(acu_block_fill(two, a, 0, 100, "-", 1));
        assert_int_equal(byte_at(i % 3 == 0 ? one : i % 3 == 1 ? two : three, b, 99), i);
    }
}
EVERYWHERE(three_clients)

static void a_block_is_released_while_others_use_it(acu_place where) {
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(where);
    ACU_AUTO(acu_block) *to = new_block(two, 100, 0);
    acu_block *from = new_block(one, 100, 1);
    OK(acu_block_copy(two, to, 0, from, 0, 100));
    OK(acu_block_release(from));
    from = new_block(one, 100, 2); /* the same memory, written to on the first queue */
    OK(acu_client_synchronize(one));
    assert_int_equal(byte_at(two, to, 99), 1);
    OK(acu_block_release(from));
    OK(acu_client_trim_memory(one, 0));
}
EVERYWHERE(a_block_is_released_while_others_use_it)

static void clients_may_be_released_first(acu_place where) {
    acu_client *one = new_client(where), *two = new_client(where);
    acu_block *a = new_block(one, 100, 1), *b = new_block(two, 100, 2);
    OK(acu_block_copy(two, b, 0, a, 0, 100));
    OK(acu_block_fill(two, a, 0, 100, "x", 1));
    OK(acu_client_release(one));
    OK(acu_client_release(two));
    assert_int_equal(byte_at(acu_block_client(a), b, 99), 1);
    assert_int_equal(byte_at(acu_block_client(b), a, 99), 'x');
    OK(acu_block_release(b));
    OK(acu_block_release(a));
    assert_int_equal(made_up.queues, 0);
    assert_int_equal(made_up.memories, 0);
    assert_int_equal(made_up.marks, 0);
}
EVERYWHERE(clients_may_be_released_first)

static void one_wait_is_enough(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *one = new_client(place);
    ACU_AUTO(acu_client) *two = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_block) *b = new_block(two, 100, 1);
    for (int i = 0; i < 10; i++)
        OK(acu_block_copy(two, b, 0, a, 0, 100));
    assert_int_equal(made_up.calls[MADE_UP_QUEUE_WAIT], 1);
    OK(acu_block_fill(one, a, 0, 1, "x", 1));
    assert_int_equal(made_up.calls[MADE_UP_QUEUE_WAIT], 2);
    OK(acu_client_synchronize(one));
    OK(acu_block_copy(two, b, 0, a, 0, 100)); /* is over */
    assert_int_equal(made_up.calls[MADE_UP_QUEUE_WAIT], 2);
    ACU_AUTO(acu_client) *alone = new_client(place);
    ACU_AUTO(acu_block) *c = new_block(alone, 100, 1);
    OK(acu_block_copy(alone, c, 0, c, 50, 50));
    assert_int_equal(made_up.calls[MADE_UP_QUEUE_WAIT], 2);
    assert_int_equal(made_up.calls[MADE_UP_MARK_CREATE], 4); /* and one behind each one's last */
}

/* A client waits for the other one's use of the block, and not for what that was given later. */
static void a_wait_ends_with_the_use(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *one = new_client(place);
    ACU_AUTO(acu_client) *two = new_client(place);
    acu_block *in[3], *out[3];
    for (int i = 0; i < 3; i++) {
        in[i] = new_block(one, 100, 0);
        out[i] = new_block(two, 100, 0);
    }
    acu_mark *last = NULL; /* behind the copy that was given last */
    for (unsigned char i = 0; i < 30; i++) {
        OK(acu_block_write(one, in[i % 3], 0, (unsigned char[100]){[99] = i}, 100));
        OK(acu_client_synchronize(one)); /* the write waited for the third last copy */
        if (i > 6)
            assert_int_equal(acu_mark_query(last), ACU_NOT_READY);
        OK(acu_block_copy(two, out[i % 3], 0, in[i % 3], 0, 100));
        if (last)
            OK(acu_mark_release(last));
        OK(acu_mark_create(two, &last));
    }
    OK(acu_mark_release(last));
    for (int i = 0; i < 3; i++)
        assert_int_equal(byte_at(two, out[i], 99), 27 + i);
    for (int i = 0; i < 3; i++) {
        OK(acu_block_release(in[i]));
        OK(acu_block_release(out[i]));
    }
}

/* More uses than marks are kept: a client waits for more than it needs to, and never for less. */
static void old_uses_are_waited_for(acu_place where) {
    enum { MANY = 40 };
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(where);
    acu_block *in[MANY], *out[MANY];
    for (int i = 0; i < MANY; i++) {
        in[i] = new_block(one, 100, i);
        out[i] = new_block(two, 100, 255);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            OK(acu_block_copy(two, out[i], 0, in[i], 0, 100));
        for (int i = 0; i < MANY; i++)
            OK(acu_block_fill(one, in[i], 0, 100, &(char){(char)(i + round + 1)}, 1));
        OK(acu_client_synchronize(one));
        for (int i = 0; i < MANY; i++)
            assert_int_equal(byte_at(one, out[i], 99), i + round);
    }
    for (int i = 0; i < MANY; i++) {
        OK(acu_block_release(in[i]));
        OK(acu_block_release(out[i]));
    }
}
EVERYWHERE(old_uses_are_waited_for)

static void failing_waits_wait(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *one = new_client(place);
    ACU_AUTO(acu_client) *two = new_client(place);
    for (int entry = MADE_UP_MARK_CREATE; entry <= MADE_UP_QUEUE_WAIT; entry++) {
        made_up.fail[entry] = entry == MADE_UP_QUEUE_WAIT ? ACU_NOT_SUPPORTED : 700;
        ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
        ACU_AUTO(acu_block) *b = new_block(two, 100, 1);
        OK(acu_block_fill(one, a, 0, 100, "x", 1));
        OK(acu_block_copy(two, b, 0, a, 0, 100));
        assert_int_equal(byte_at(two, b, 99), 'x');
        assert_int_equal(acu_last_error(), 0);
        made_up.fail[entry] = 0;
    }
}

/* What comes after work that failed, or that cannot be waited for, would read what is wrong. */
static void work_after_failed_work_is_not_done(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *one = new_client(place);
    ACU_AUTO(acu_client) *two = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_block) *b = new_block(two, 100, 2);
    OK(acu_block_fill(one, a, 0, 100, "x", 1));
    made_up.fail[MADE_UP_MARK_CREATE] = 700; /* so that the thread has to wait */
    made_up.fail[MADE_UP_QUEUE_SYNCHRONIZE] = 719;
    FAILS(719, "another client's work, which comes first, failed: ",
          acu_block_copy(two, b, 0, a, 0, 100));
    made_up.fail[MADE_UP_MARK_CREATE] = made_up.fail[MADE_UP_QUEUE_SYNCHRONIZE] = 0;
    assert_int_equal(byte_at(two, b, 99), 2);
    assert_int_equal(acu_client_synchronize(one), 719); /* the failure is the first client's, too */
    OK(acu_client_synchronize(one));
    OK(acu_block_copy(two, b, 0, a, 0, 100));
    assert_int_equal(byte_at(two, b, 99), 'x');
}

/* ---- marks of other clients ---- */

static void a_client_waits_for_a_mark(acu_place where) {
    void *address;
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    acu_raw raw;
    OK(acu_block_fill(one, a, 0, 100, "x", 1));
    OK(acu_block_get_raw(a, &raw));
    address = raw.handle;
    OK(acu_mark_create(one, &mark));
    OK(acu_client_wait(two, mark));
    OK(acu_client_wait(one, mark)); /* nothing to do */
    OK(acu_client_synchronize(two));
    if (address)
        assert_int_equal(*(char *)address, 'x');
}
EVERYWHERE(a_client_waits_for_a_mark)

/* ---- reading after a mark ---- */

static void reading_beside_work(acu_place where) {
    char byte = 0;
    acu_place_info info;
    OK(acu_place_get_info(where, &info));
    ACU_AUTO(acu_client) *one = new_client(where);
    ACU_AUTO(acu_client) *two = new_client(where);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_block) *b = new_block(one, 100, 2);
    ACU_AUTO(acu_mark) *mark = NULL;
    ACU_AUTO(acu_mark) *late = NULL;
    OK(acu_mark_create(one, &mark));
    OK(acu_block_fill(one, b, 0, 100, "x", 1)); /* later work that is not waited for */
    OK(acu_block_read_after(one, mark, a, 99, &byte, 1));
    assert_int_equal(byte, 1);
    OK(acu_mark_create(one, &late));
    if (info.can & ACU_CAN_READ_BESIDE)
        assert_int_equal(acu_mark_query(late), ACU_NOT_READY);
    else
        OK(acu_mark_query(late));
    FAILS(ACU_ERROR_STATE, "is lost", acu_block_read_after(one, mark, b, 99, &byte, 1));
    OK(acu_block_read_after(one, late, b, 99, &byte, 1));
    assert_int_equal(byte, 'x');
    /* Another client's writes: before the mark, and after. */
    ACU_AUTO(acu_mark) *third = NULL;
    OK(acu_block_fill(two, a, 0, 100, "y", 1));
    FAILS(ACU_ERROR_STATE, "is lost", acu_block_read_after(one, late, a, 0, &byte, 1));
    OK(acu_mark_create(one, &third));
    OK(acu_block_read_after(one, third, a, 99, &byte, 1));
    assert_int_equal(byte, 'y');
    OK(acu_block_read_after(two, third, b, 99, &byte, 1));
    assert_int_equal(byte, 'x');
    ACU_AUTO(acu_block) *young = NULL; /* a block that was made after the mark has nothing there */
    OK(acu_block_create(one, 100, &young));
    FAILS(ACU_ERROR_STATE, "is lost", acu_block_read_after(one, third, young, 0, &byte, 1));
    /* Reads after the mark do no harm. */
    assert_int_equal(byte_at(two, a, 0), 'y');
    OK(acu_block_read_after(one, third, a, 99, &byte, 1));
}
EVERYWHERE(reading_beside_work)

typedef struct race {
    acu_client *client;
    acu_block *block;
    acu_mark *mark;
    int failed;
} race;

static void *read_after_mark(void *data) {
    race *r = data;
    unsigned char bytes[100];
    acu_result code = acu_block_read_after(r->client, r->mark, r->block, 0, bytes, 100);
    if (code == ACU_ERROR_STATE) /* the writer was faster */
        return NULL;
    r->failed = code;
    for (int i = 0; i < 100; i++)
        r->failed |= bytes[i] != 7;
    return NULL;
}

static void a_write_waits_for_a_slow_read(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *other = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 100, 7);
    made_up.slow_reads = 50;
    for (int i = 0; i < 2; i++) {
        acu_client *const writer = i ? other : client;
        pthread_t thread;
        ACU_AUTO(acu_mark) *mark = NULL;
        OK(acu_block_fill(client, block, 0, 100, "\7", 1));
        OK(acu_mark_create(client, &mark));
        race r = {client, block, mark, 0};
        const unsigned calls = made_up.calls[MADE_UP_READ_AFTER];
        pthread_create(&thread, NULL, read_after_mark, &r);
        while (__atomic_load_n(&made_up.calls[MADE_UP_READ_AFTER], __ATOMIC_RELAXED) == calls)
            ;
        OK(acu_block_fill(writer, block, 0, 100, "-", 1));
        OK(acu_client_synchronize(writer));
        pthread_join(thread, NULL);
        assert_int_equal(r.failed, 0);
    }
}

static void *read_in_order(void *data) {
    race *r = data;
    unsigned char bytes[100];
    r->failed = acu_block_read(r->client, r->block, 0, bytes, 100);
    for (int i = 0; i < 100; i++)
        r->failed |= bytes[i] != 7;
    return NULL;
}

/* While a third client reads, the owner is given other work; what writes to the block waits. */
static void work_goes_on_beside_a_read(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *owner = new_client(place);
    ACU_AUTO(acu_client) *reader = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(owner, 100, 7);
    ACU_AUTO(acu_block) *other = new_block(owner, 100, 1);
    pthread_t thread;
    race r = {reader, block, NULL, 0};
    made_up.slow_reads = 300;
    pthread_create(&thread, NULL, read_in_order, &r);
    while (__atomic_load_n(&made_up.calls[MADE_UP_READ_AFTER], __ATOMIC_RELAXED) == 0)
        ;
    OK(acu_block_fill(owner, other, 0, 100, "x", 1));
    OK(acu_block_copy(reader, other, 0, block, 0, 50)); /* reads do not wait for reads */
    assert_int_equal(__atomic_load_n(&made_up.reads_ended, __ATOMIC_RELAXED), 0);
    OK(acu_block_fill(owner, block, 0, 100, "-", 1));
    assert_int_equal(__atomic_load_n(&made_up.reads_ended, __ATOMIC_RELAXED), 1);
    OK(acu_client_synchronize(owner));
    pthread_join(thread, NULL);
    assert_int_equal(r.failed, 0);
}

static void *write_sevens(void *data) {
    race *r = data;
    unsigned char bytes[100];
    memset(bytes, 7, sizeof bytes);
    r->failed = acu_block_write(r->client, r->block, 0, bytes, sizeof bytes);
    return NULL;
}

/* While a client's write copies the host's bytes, another client that uses the block is given other
 * work; what uses the block waits. */
static void work_goes_on_beside_a_write(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *owner = new_client(place);
    ACU_AUTO(acu_client) *user = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(owner, 100, 1);
    ACU_AUTO(acu_block) *other = new_block(user, 100, 2);
    pthread_t thread;
    race r = {owner, block, NULL, 0};
    OK(acu_block_copy(user, other, 0, block, 0, 100));
    made_up.slow_writes = 300;
    pthread_create(&thread, NULL, write_sevens, &r);
    while (__atomic_load_n(&made_up.calls[MADE_UP_WRITE], __ATOMIC_RELAXED) == 0)
        ;
    OK(acu_block_fill(user, other, 0, 100, "x", 1));
    assert_int_equal(__atomic_load_n(&made_up.writes_ended, __ATOMIC_RELAXED), 0);
    OK(acu_block_copy(user, other, 0, block, 0, 100));
    assert_int_equal(__atomic_load_n(&made_up.writes_ended, __ATOMIC_RELAXED), 1);
    pthread_join(thread, NULL);
    assert_int_equal(r.failed, 0);
    assert_int_equal(byte_at(user, other, 99), 7);
}

static void *fill_with_eights(void *data) {
    race *r = data;
    r->failed = acu_block_fill(r->client, r->block, 0, 100, "\10", 1);
    return NULL;
}

/* While a client's write copies the host's bytes, another client is given work on another block of
 * the writer's, as in a pipeline; what is given to the writer's own queue comes after the write. */
static void a_blocks_owner_may_be_busy(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *owner = new_client(place);
    ACU_AUTO(acu_client) *user = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(owner, 100, 1);
    ACU_AUTO(acu_block) *next = new_block(owner, 100, 1);
    ACU_AUTO(acu_block) *result = new_block(user, 100, 2);
    pthread_t writer, filler;
    race r = {owner, next, NULL, 0}, s = {owner, block, NULL, 0};
    OK(acu_block_copy(user, result, 0, block, 0, 100)); /* both blocks are used by two clients, */
    OK(acu_block_copy(user, result, 0, next, 0, 100));
    OK(acu_block_write(owner, block, 0, "abc", 3)); /* and marks are behind the owner's work */
    const unsigned calls = made_up.calls[MADE_UP_WRITE];
    __atomic_store_n(&made_up.writes_held, true, __ATOMIC_RELAXED);
    pthread_create(&writer, NULL, write_sevens, &r);
    while (__atomic_load_n(&made_up.calls[MADE_UP_WRITE], __ATOMIC_RELAXED) == calls)
        ;
    pthread_create(&filler, NULL, fill_with_eights, &s);
    OK(acu_block_copy(user, result, 0, block, 0, 3));
    assert_int_equal(byte_at(user, result, 0), 'a');
    __atomic_store_n(&made_up.writes_held, false, __ATOMIC_RELAXED);
    OK(acu_block_copy(user, result, 0, next, 0, 100));
    pthread_join(writer, NULL);
    pthread_join(filler, NULL);
    assert_int_equal(r.failed | s.failed, 0);
    assert_int_equal(byte_at(user, result, 99), 7);
    assert_int_equal(byte_at(user, block, 99), 8);
    assert_int_equal(made_up.shared_queue_uses, 0);
}

/* What was read after a mark tells that the work before the mark is done, as in a pipeline, whose
 * next upload then waits for nothing. */
static void a_read_after_a_mark_saves_a_wait(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *uploads = new_client(place);
    ACU_AUTO(acu_client) *programs = new_client(place);
    ACU_AUTO(acu_client) *downloads = new_client(place);
    ACU_AUTO(acu_block) *in = new_block(uploads, 100, 1);
    ACU_AUTO(acu_block) *out = new_block(programs, 100, 2);
    unsigned char bytes[100];
    for (int i = 0; i < 2; i++) {
        ACU_AUTO(acu_mark) *mark = NULL;
        OK(acu_block_fill(uploads, in, 0, 100, "a", 1));
        OK(acu_block_copy(programs, out, 0, in, 0, 100));
        OK(acu_mark_create(programs, &mark));
        OK(acu_block_read_after(downloads, mark, out, 0, bytes, 100));
        assert_int_equal(bytes[99], 'a');
        const unsigned waits = made_up.calls[MADE_UP_QUEUE_WAIT];
        OK(acu_block_write(uploads, in, 0, "b", 1));
        assert_int_equal(made_up.calls[MADE_UP_QUEUE_WAIT], waits);
    }
    assert_int_equal(made_up.calls[MADE_UP_QUEUE_SYNCHRONIZE], 0);
}

/* The mark behind work that other clients may wait for is the program's, too, unless the queue was
 * given something since: a wait, or what the program gives to it without the runtime. */
static void a_mark_behind_work_is_shared(void **state) {
    (void)state;
    const acu_place other = made_up_register(NULL); /* of which nobody has a queue */
    ACU_AUTO(acu_client) *one = new_client(other);
    ACU_AUTO(acu_client) *two = new_client(other);
    ACU_AUTO(acu_block) *a = new_block(one, 100, 1);
    ACU_AUTO(acu_block) *b = new_block(two, 100, 1);
    acu_mark *first = NULL, *second = NULL, *third = NULL, *fourth = NULL;
    acu_raw raw;
    OK(acu_block_copy(two, b, 0, a, 0, 100));
    OK(acu_block_fill(one, a, 0, 100, "x", 1)); /* both wait for each other */
    OK(acu_block_fill(two, b, 0, 100, "y", 1));
    OK(acu_block_copy(two, b, 0, a, 0, 50));
    unsigned calls = made_up.calls[MADE_UP_MARK_CREATE];
    OK(acu_mark_create(two, &first));
    OK(acu_mark_create(two, &second));
    assert_int_equal(made_up.calls[MADE_UP_MARK_CREATE], calls);
    OK(acu_block_fill(one, a, 0, 100, "z", 1));
    OK(acu_mark_create(one, &third));
    calls = made_up.calls[MADE_UP_MARK_CREATE];
    OK(acu_client_wait(two, third));
    OK(acu_mark_create(two, &fourth)); /* is behind the wait */
    assert_int_equal(made_up.calls[MADE_UP_MARK_CREATE], calls + 1);
    OK(acu_mark_release(first));
    OK(acu_mark_synchronize(second));
    assert_int_equal(acu_mark_query(second), ACU_SUCCESS);
    OK(acu_mark_synchronize(fourth));
    assert_int_equal(acu_mark_query(third), ACU_SUCCESS);
    OK(acu_mark_release(second));
    OK(acu_mark_release(fourth));
    OK(acu_client_get_raw(two, &raw));
    OK(acu_block_copy(two, b, 0, a, 0, 100));
    calls = made_up.calls[MADE_UP_MARK_CREATE];
    OK(acu_mark_create(two, &first));
    assert_int_equal(made_up.calls[MADE_UP_MARK_CREATE], calls + 1);
    assert_int_equal(byte_at(two, b, 0), 'z');
    OK(acu_mark_release(first));
    OK(acu_mark_release(third));
}

static void writers_wait_for_readers(acu_place where) {
    ACU_AUTO(acu_client) *client = new_client(where);
    ACU_AUTO(acu_client) *other = new_client(where);
    ACU_AUTO(acu_block) *block = new_block(client, 100, 7);
    for (int i = 0; i < 50; i++) {
        pthread_t threads[3];
        ACU_AUTO(acu_mark) *mark = NULL;
        OK(acu_block_fill(client, block, 0, 100, "\7", 1));
        OK(acu_mark_create(client, &mark));
        race r = {client, block, mark, 0}, s = r, t = r;
        pthread_create(&threads[0], NULL, read_after_mark, &r);
        pthread_create(&threads[1], NULL, read_after_mark, &s);
        pthread_create(&threads[2], NULL, read_after_mark, &t);
        OK(acu_block_fill(i % 2 ? client : other, block, 0, 100, "-", 1));
        OK(acu_client_synchronize(i % 2 ? client : other));
        for (int j = 0; j < 3; j++)
            pthread_join(threads[j], NULL);
        assert_int_equal(r.failed | s.failed | t.failed, 0);
    }
}
EVERYWHERE(writers_wait_for_readers)

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 150, BLOCKS = 6, SIZE = 64 };

static struct {
    acu_client *clients[3];
    acu_block *blocks[BLOCKS];
} shared;

/* Each block has equal bytes at all times: a torn read is a missing wait. */
static void *mix(void *data) {
    unsigned seed = *(unsigned *)data;
    unsigned char bytes[SIZE];
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245u + 12345u;
        acu_client *client = shared.clients[seed / 65536 % 3];
        acu_block *a = shared.blocks[seed / 7 % BLOCKS], *b = shared.blocks[seed / 1024 % BLOCKS];
        unsigned char value = (unsigned char)seed;
        acu_result code = 0;
        switch (seed / 16 % 5) {
        case 4:
            memset(bytes, value, SIZE);
            code = acu_block_write(client, a, 0, bytes, SIZE);
            break;
        case 0:
            code = acu_block_fill(client, a, 0, SIZE, &value, 1);
            break;
        case 1:
            code = acu_block_copy(client, a, 0, b, 0, SIZE);
            break;
        case 2:
            code = acu_client_synchronize(client);
            break;
        default:
            code = acu_block_read(client, a, 0, bytes, SIZE);
            for (int j = 1; j < SIZE; j++)
                if (bytes[j] != bytes[0])
                    return data;
        }
        acu_block *own = NULL; /* memory that goes back and forth */
        if (code || acu_block_create(client, SIZE, &own) ||
            acu_block_copy(shared.clients[seed % 3], own, 0, a, 0, SIZE) || acu_block_release(own))
            return data;
    }
    return NULL;
}

static void threads_and_clients(acu_place where) {
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    for (int i = 0; i < 3; i++)
        shared.clients[i] = new_client(where);
    for (int i = 0; i < BLOCKS; i++)
        shared.blocks[i] = new_block(shared.clients[i % 3], SIZE, i);
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i * 99991u + 5;
        pthread_create(&threads[i], NULL, mix, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        if (failed)
            print_message("%s\n", acu_last_error_message());
        assert_null(failed);
    }
    for (int i = 0; i < BLOCKS; i++)
        OK(acu_block_release(shared.blocks[i]));
    for (int i = 0; i < 3; i++)
        OK(acu_client_release(shared.clients[i]));
    assert_int_equal(made_up.shared_queue_uses, 0);
    assert_int_equal(made_up.memories, 0);
}
EVERYWHERE(threads_and_clients)

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    place = made_up_register(NULL);
    waiting = made_up_register(no_queue_wait);
    unmarked = made_up_register(no_marks);
    blind = made_up_register(drop_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(writes_before_reads_everywhere, setup),
        cmocka_unit_test_setup(reads_before_writes_everywhere, setup),
        cmocka_unit_test_setup(three_clients_everywhere, setup),
        cmocka_unit_test_setup(a_block_is_released_while_others_use_it_everywhere, setup),
        cmocka_unit_test_setup(clients_may_be_released_first_everywhere, setup),
        cmocka_unit_test_setup(one_wait_is_enough, setup),
        cmocka_unit_test_setup(a_wait_ends_with_the_use, setup),
        cmocka_unit_test_setup(old_uses_are_waited_for_everywhere, setup),
        cmocka_unit_test_setup(failing_waits_wait, setup),
        cmocka_unit_test_setup(work_after_failed_work_is_not_done, setup),
        cmocka_unit_test_setup(a_client_waits_for_a_mark_everywhere, setup),
        cmocka_unit_test_setup(reading_beside_work_everywhere, setup),
        cmocka_unit_test_setup(a_write_waits_for_a_slow_read, setup),
        cmocka_unit_test_setup(work_goes_on_beside_a_read, setup),
        cmocka_unit_test_setup(work_goes_on_beside_a_write, setup),
        cmocka_unit_test_setup(a_blocks_owner_may_be_busy, setup),
        cmocka_unit_test_setup(a_read_after_a_mark_saves_a_wait, setup),
        cmocka_unit_test_setup(a_mark_behind_work_is_shared, setup),
        cmocka_unit_test_setup(writers_wait_for_readers_everywhere, setup),
        cmocka_unit_test_setup(threads_and_clients_everywhere, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
