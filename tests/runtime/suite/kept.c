/* What cases begin with, and what is released after them. */
#include "kept.h"
#include "suite.h"

#include <pthread.h>

acu_client *client;

typedef struct kept_thing {
    void *thing;
    void (*drop)(void *thing);
} kept_thing;

/* In the order in which the case made them. */
static kept_thing kept[4000];
static size_t kept_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(void *thing, void (*drop)(void *thing)) {
    pthread_mutex_lock(&kept_lock);
    if (kept_count == COUNT(kept))
        abort();
    kept[kept_count++] = (kept_thing){thing, drop};
    pthread_mutex_unlock(&kept_lock);
}

#define DEFINE_DROP(noun)                                                                          \
    static void drop_##noun(void *thing) {                                                         \
        OK(acu_##noun##_release(thing));                                                           \
    }
DEFINE_DROP(client)
DEFINE_DROP(block)
DEFINE_DROP(mark)
DEFINE_DROP(replay)
DEFINE_DROP(program)

/* ---- around a case ---- */

void begin_case(void) {
    acu_clear_error();
    (void)acu_release_error(NULL);
    kept_count = 0;
    client = NULL;
    OK(acu_client_create(place, NULL, &client));
}

/* Each is taken from the list first, so that a failing one is not released twice. */
void drop_kept(void) {
    size_t count = kept_count;
    kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        kept_thing it = kept[i];
        kept[i].thing = NULL;
        if (it.thing)
            it.drop(it.thing);
    }
    acu_client *it = client;
    client = NULL;
    if (it)
        OK(acu_client_release(it));
}

void end_of_case(void) {
    acu_error error;
    acu_client *mine = acu_client_retain(client);
    OK(acu_client_synchronize(mine));
    drop_kept();
    acu_memory_stats stats = memory_of(mine);
    EQUAL(stats.blocks, 0);
    EQUAL(stats.used, 0);
    OK(acu_client_release(mine));
    if (acu_release_error(&error))
        fail_case(__FILE__, __LINE__, "a release failed: %s", error.message);
}

/* ---- handles ---- */

acu_client *new_client_on(acu_place on) {
    acu_client *made = NULL;
    OK(acu_client_create(on, NULL, &made));
    keep(made, drop_client);
    return made;
}

acu_client *new_client(void) {
    return new_client_on(place);
}

acu_block *new_block_for(acu_client *owner, uint64_t size) {
    acu_block *block = NULL;
    OK(acu_block_create(owner, size, &block));
    IS(block != NULL);
    keep(block, drop_block);
    return block;
}

acu_block *new_block(uint64_t size) {
    return new_block_for(client, size);
}

acu_block *new_block_with(acu_client *owner, const void *data, size_t size) {
    acu_block *block = new_block_for(owner, size);
    OK(acu_block_write(owner, block, 0, data, size));
    return block;
}

acu_block *new_block_of(const void *data, size_t size) {
    return new_block_with(client, data, size);
}

acu_mark *new_mark(acu_client *of) {
    acu_mark *mark = NULL;
    OK(acu_mark_create(of, &mark));
    keep(mark, drop_mark);
    return mark;
}

void release_block_later(acu_block *block) {
    keep(block, drop_block);
}

void release_replay_later(acu_replay *replay) {
    keep(replay, drop_replay);
}

void release_program_later(acu_program *made) {
    keep(made, drop_program);
}

acu_memory_stats memory_of(acu_client *of) {
    acu_memory_stats stats;
    OK(acu_client_get_memory(of, &stats));
    return stats;
}

/* ---- memory of the host ---- */

void *host_bytes(size_t size) {
    void *data = calloc(1, size ? size : 1);
    if (!data)
        abort();
    keep(data, free);
    return data;
}

uint8_t *some_bytes(size_t size) {
    uint8_t *data = host_bytes(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)any_number();
    return data;
}

void *copy_bytes(const void *data, size_t size) {
    return memcpy(host_bytes(size), data, size);
}

uint8_t *contents(acu_client *reader, acu_block *block, uint64_t at, size_t size) {
    uint8_t *data = host_bytes(size);
    OK(acu_block_read(reader, block, at, data, size));
    return data;
}

acu_block *block_of_floats(size_t count, float factor) {
    float *data = host_bytes(count * 4);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)i * factor;
    return new_block_of(data, count * 4);
}

uint32_t *words_of(acu_block *block, size_t count) {
    return (uint32_t *)(void *)contents(client, block, 0, count * 4);
}

float *floats_of(acu_block *block, size_t count) {
    return (float *)(void *)contents(client, block, 0, count * 4);
}

static _Thread_local uint64_t random_state = 88172645463325252u;

uint32_t any_number(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

uint32_t below(uint32_t limit) {
    return any_number() % limit;
}

/* ---- comparing ---- */

void same_bytes(const char *file, int line, const char *what, const void *got, const void *expected,
                size_t size) {
    const uint8_t *a = got, *b = expected;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i])
            fail_case(file, line, "%s: byte %zu of %zu is %u and not %u", what, i, size, a[i],
                      b[i]);
}

void holds(const char *file, int line, const char *what, acu_client *reader, acu_block *block,
           const void *expected, size_t size) {
    uint8_t *got = malloc(size + 1);
    if (!got)
        abort();
    memset(got, 0xa5, size + 1);
    acu_result result = acu_block_read(reader, block, 0, got, size);
    size_t at = 0;
    while (at < size && got[at] == ((const uint8_t *)expected)[at])
        at++;
    unsigned was = got[at], behind = got[size];
    free(got);
    if (result)
        fail_case(file, line, "reading %s fails: %s", what, acu_last_error_message());
    if (at < size)
        fail_case(file, line, "%s: byte %zu of %zu is %u and not %u", what, at, size, was,
                  ((const uint8_t *)expected)[at]);
    if (behind != 0xa5)
        fail_case(file, line, "reading %s writes behind the host's memory", what);
}

/* ---- threads ---- */

typedef struct thread_job {
    unsigned number;
    void (*body)(unsigned number);
} thread_job;

static void *run_job(void *data) {
    const thread_job *job = data;
    random_state ^= (job->number + 1) * 0x9e3779b97f4a7c15u;
    job->body(job->number);
    return NULL;
}

void run_threads(unsigned count, void (*body)(unsigned number)) {
    pthread_t threads[16];
    thread_job jobs[16];
    for (unsigned i = 0; i < count; i++) {
        jobs[i] = (thread_job){i, body};
        if (pthread_create(&threads[i], NULL, run_job, &jobs[i]))
            abort();
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (case_has_failed())
        fail_case(__FILE__, __LINE__, "a thread failed");
}
