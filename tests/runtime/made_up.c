/* A back end of the host's memory, which does work late. */
#include "made_up.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 2, EVERYTHING = 127, MOST_ARGS = ACU_MAX_ARGUMENTS };

made_up_behaviour made_up = {.can = EVERYTHING, .max_rank = ACU_MAX_RANK};

#if defined(MADE_UP_SHARED)
static const acu_backend_host *host;
#define FAIL(...) host->fail(__VA_ARGS__)
#else
#define FAIL(...) acu_backend_fail(__VA_ARGS__)
#endif

#define ADD(counter, n) ((void)__atomic_add_fetch(&made_up.counter, (n), __ATOMIC_RELAXED))

void made_up_reset(void) {
    memset(made_up.fail, 0, sizeof made_up.fail);
    memset(made_up.times, 0, sizeof made_up.times);
    memset(made_up.calls, 0, sizeof made_up.calls);
    made_up.silent = made_up.records = false;
    made_up.can = EVERYTHING;
    made_up.max_rank = ACU_MAX_RANK;
    made_up.largest_block = made_up.memory = 0;
    made_up.late = 0;
    made_up.slow_reads = made_up.slow_writes = 0;
    made_up.reads_ended = made_up.writes_ended = 0;
    made_up.writes_held = false;
    made_up.trims = made_up.cancels = made_up.shared_queue_uses = 0;
}

void made_up_lose(acu_result code) {
    for (int i = 0; i < MADE_UP_ENTRIES; i++)
        made_up.fail[i] = code;
}

/* Counts a call, and returns what it was told to return; 0 mostly. */
static acu_result told(made_up_entry entry) {
    ADD(calls[entry], 1);
    const acu_result code = __atomic_load_n(&made_up.fail[entry], __ATOMIC_RELAXED);
    if (!code)
        return ACU_SUCCESS;
#if !defined(MADE_UP_SHARED)
    uint64_t bytes;
    if (made_up.records && !acu_dtype_storage(ACU_ANY, 1, &bytes))
        abort();
#endif
    const unsigned times = made_up.times[entry];
    if (times == 1)
        made_up.fail[entry] = 0;
    made_up.times[entry] = times ? times - 1 : 0;
    return made_up.silent ? code : FAIL(code, "entry %d was told to fail", (int)entry);
}

#define TELL(entry) ACU_TRY(told(MADE_UP_##entry))

/* ---- devices ---- */

struct acu_backend_device {
    int number;
    uint64_t used; /* atomic */
};

static acu_result count_devices(int *count) {
    TELL(COUNT_DEVICES);
    *count = DEVICES;
    return ACU_SUCCESS;
}

static acu_result device_open(int device, acu_backend_device **out) {
    TELL(DEVICE_OPEN);
    *out = calloc(1, sizeof **out);
    (*out)->number = device;
    ADD(devices, 1);
    return ACU_SUCCESS;
}

static void device_close(acu_backend_device *device) {
    ADD(devices, -1u);
    free(device);
}

static acu_result device_get_info(acu_backend_device *device, acu_place_info *info) {
    TELL(DEVICE_GET_INFO);
    memset(info->name, 'x', sizeof info->name); /* a lie: it does not end */
    info->name[0] = (char)(48 + device->number);
    info->can = made_up.can;
    info->max_rank = made_up.max_rank;
    info->largest_block = made_up.largest_block;
    return ACU_SUCCESS;
}

/* ---- queues: work waits in a list until it must be done ---- */

typedef struct job {
    struct job *next;
    uint64_t number;
    acu_backend_queue *other; /* waits for another queue's work up to `other_number` */
    uint64_t other_number;
    char *to, *from;
    uint64_t bytes;
    acu_part_function *function; /* of a program, with the addresses after it */
    size_t items[3];
    unsigned count;
    void *args[MOST_ARGS];
    unsigned char values[MOST_ARGS][16];
    char data[]; /* of a write */
} job;

struct acu_backend_queue {
    acu_backend_device *device;
    unsigned owners; /* the client, and work of other queues that waits for this one's */
    job *first, **end;
    uint64_t given, done;
    acu_result error; /* of work that was done; returned once */
    acu_backend_replay *capture;
    int users; /* atomic: threads that call functions for one at a time */
};

/* One lock of all queues, because work of one waits for work of others. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct acu_backend_replay {
    job *first, **end;
};

struct acu_backend_mark {
    acu_backend_queue *queue;
    uint64_t number;
};

static void enter(acu_backend_queue *queue) {
    if (__atomic_add_fetch(&queue->users, 1, __ATOMIC_RELAXED) != 1)
        ADD(shared_queue_uses, 1);
}

static void leave(acu_backend_queue *queue) {
    __atomic_sub_fetch(&queue->users, 1, __ATOMIC_RELAXED);
}

static acu_result queue_create(acu_backend_device *device, const acu_backend_queue_options *options,
                               acu_backend_queue **out) {
    (void)options;
    TELL(QUEUE_CREATE);
    acu_backend_queue *queue = calloc(1, sizeof *queue);
    queue->device = device;
    queue->end = &queue->first;
    queue->owners = 1;
    ADD(queues, 1);
    *out = queue;
    return ACU_SUCCESS;
}

static void disown(acu_backend_queue *queue) {
    if (--queue->owners == 0)
        free(queue);
}

static void work_off_locked(acu_backend_queue *queue, uint64_t number);

static void do_job(job *j) {
    if (j->other) {
        work_off_locked(j->other, j->other_number);
        disown(j->other);
    } else if (j->function) {
        acu_part part = {{0, 0, 0},
                         {j->items[0], j->items[1], j->items[2]},
                         {j->items[0], j->items[1], j->items[2]},
                         0};
        j->function(&part, j->args);
    } else {
        memmove(j->to, j->from ? j->from : j->data, j->bytes);
    }
}

static void work_off_locked(acu_backend_queue *queue, uint64_t number) {
    while (queue->first && queue->first->number <= number) {
        job *j = queue->first;
        queue->first = j->next;
        if (!queue->first)
            queue->end = &queue->first;
        do_job(j);
        queue->done = j->number;
        free(j);
        acu_result late = __atomic_exchange_n(&made_up.late, 0, __ATOMIC_RELAXED);
        if (late)
            queue->error = late;
    }
}

/* Does the queue's work up to a number. */
static void work_off(acu_backend_queue *queue, uint64_t number) {
    pthread_mutex_lock(&lock);
    work_off_locked(queue, number);
    pthread_mutex_unlock(&lock);
}

static acu_result take_error(acu_backend_queue *queue) {
    pthread_mutex_lock(&lock);
    const acu_result error = queue->error;
    queue->error = 0;
    pthread_mutex_unlock(&lock);
    return error ? FAIL(error, "work was told to fail") : ACU_SUCCESS;
}

static void put(acu_backend_queue *queue, job *j) {
    j->next = NULL;
    if (queue->capture) {
        *queue->capture->end = j;
        queue->capture->end = &j->next;
        return;
    }
    pthread_mutex_lock(&lock);
    j->number = ++queue->given;
    *queue->end = j;
    queue->end = &j->next;
    pthread_mutex_unlock(&lock);
}

static acu_result queue_synchronize(acu_backend_queue *queue) {
    work_off(queue, UINT64_MAX);
    TELL(QUEUE_SYNCHRONIZE);
    return take_error(queue);
}

static void queue_destroy(acu_backend_queue *queue) {
    pthread_mutex_lock(&lock);
    if (queue->first)
        abort(); /* its work is not done */
    pthread_mutex_unlock(&lock);
    ADD(queues, -1u);
    pthread_mutex_lock(&lock);
    disown(queue);
    pthread_mutex_unlock(&lock);
}

/* ---- memory: an address; what is freed is filled, so that later uses show ---- */

static acu_result memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                  acu_backend_memory **out) {
    acu_backend_device *device = queue->device;
    enter(queue);
    leave(queue);
    TELL(MEMORY_ALLOCATE);
    uint64_t used = __atomic_add_fetch(&device->used, bytes, __ATOMIC_RELAXED);
    /* AddressSanitizer ends a program that asks malloc() for much more. */
    const bool fits = bytes <= PTRDIFF_MAX >> 24 && (!made_up.memory || used <= made_up.memory);
    if (fits && (*out = malloc(bytes))) {
        memset(*out, 0xcd, bytes);
        ADD(memories, 1);
        ADD(used, bytes);
        return ACU_SUCCESS;
    }
    __atomic_sub_fetch(&device->used, bytes, __ATOMIC_RELAXED);
    return FAIL(ACU_OUT_OF_MEMORY, "device %d has no %llu bytes left", device->number,
                (unsigned long long)bytes);
}

static void memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes) {
    enter(queue);
    work_off(queue, UINT64_MAX);
    __atomic_sub_fetch(&queue->device->used, bytes, __ATOMIC_RELAXED);
    memset(memory, 0xdd, bytes);
    free(memory);
    ADD(memories, -1u);
    ADD(used, -bytes);
    leave(queue);
}

static job *new_job(size_t data) {
    return calloc(1, sizeof(job) + data);
}

static void take_time(unsigned milliseconds) {
    const struct timespec time = {0, milliseconds * 1000000L};
    if (milliseconds)
        nanosleep(&time, NULL);
}

static acu_result write_bytes(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                              const void *from, size_t bytes) {
    TELL(WRITE);
    enter(queue);
    job *j = new_job(bytes);
    j->to = (char *)to + at;
    j->bytes = bytes;
    take_time(made_up.slow_writes);
    while (__atomic_load_n(&made_up.writes_held, __ATOMIC_RELAXED))
        take_time(1);
    memcpy(j->data, from, bytes);
    ADD(writes_ended, 1);
    put(queue, j);
    leave(queue);
    return ACU_SUCCESS;
}

static acu_result read_bytes(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at,
                             void *to, size_t bytes) {
    TELL(READ);
    enter(queue);
    work_off(queue, UINT64_MAX);
    memcpy(to, (char *)from + at, bytes);
    if (bytes > made_up.largest_read)
        made_up.largest_read = bytes;
    leave(queue);
    return take_error(queue);
}

static acu_result copy_bytes(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                             acu_backend_memory *from, uint64_t from_at, uint64_t bytes) {
    TELL(COPY);
    enter(queue);
    job *j = new_job(0);
    j->to = (char *)to + to_at;
    j->from = (char *)from + from_at;
    j->bytes = bytes;
    put(queue, j);
    leave(queue);
    return ACU_SUCCESS;
}

static acu_result fill(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                       uint64_t bytes, const void *element, size_t element_bytes) {
    TELL(FILL);
    enter(queue);
    job *j = new_job(bytes);
    j->to = (char *)to + at;
    j->bytes = bytes;
    memset(j->data, *(const char *)element, bytes);
    for (uint64_t i = 0; element_bytes > 1 && i < bytes; i++)
        j->data[i] = ((const char *)element)[i % element_bytes];
    put(queue, j);
    leave(queue);
    return ACU_SUCCESS;
}

/* Copies each element by a job of its own. */
static void copy_elements(acu_backend_queue *queue, const acu_backend_strided *s, unsigned i,
                          char *to, char *from) {
    if (i == s->rank) {
        job *j = new_job(0);
        j->to = to;
        j->from = from;
        j->bytes = s->element_bytes;
        put(queue, j);
        return;
    }
    for (uint64_t n = 0; n < s->shape[i]; n++)
        copy_elements(queue, s, i + 1, to + (int64_t)n * s->to[i], from + (int64_t)n * s->from[i]);
}

static acu_result copy_strided(acu_backend_queue *queue, acu_backend_memory *to,
                               acu_backend_memory *from, const acu_backend_strided *s) {
    TELL(COPY_STRIDED);
    enter(queue);
    made_up.last_rank = s->rank;
    copy_elements(queue, s, 0, (char *)to + s->to_at, (char *)from + s->from_at);
    leave(queue);
    return ACU_SUCCESS;
}

static acu_result copy_peer(acu_backend_queue *queue, acu_backend_queue *to_queue,
                            acu_backend_memory *to, uint64_t to_at, acu_backend_memory *from,
                            uint64_t from_at, uint64_t bytes) {
    TELL(COPY_PEER);
    pthread_mutex_lock(&lock);
    const bool idle = !to_queue->first;
    pthread_mutex_unlock(&lock);
    if (!idle || to_queue->device == queue->device)
        abort(); /* its earlier work is not done */
    return copy_bytes(queue, to, to_at, from, from_at, bytes);
}

static acu_result read_after(acu_backend_queue *queue, acu_backend_mark *mark,
                             acu_backend_memory *from, uint64_t at, void *to, size_t bytes) {
    (void)queue;
    TELL(READ_AFTER);
    work_off(mark->queue, mark->number);
    take_time(made_up.slow_reads);
    memcpy(to, (char *)from + at, bytes);
    ADD(reads_ended, 1);
    return ACU_SUCCESS;
}

/* ---- marks ---- */

static acu_result mark_create(acu_backend_queue *queue, acu_backend_mark **out) {
    TELL(MARK_CREATE);
    enter(queue);
    *out = calloc(1, sizeof **out);
    (*out)->queue = queue;
    (*out)->number = queue->given;
    ADD(marks, 1);
    leave(queue);
    return ACU_SUCCESS;
}

static void mark_destroy(acu_backend_mark *mark) {
    ADD(marks, -1u);
    free(mark);
}

static acu_result mark_query(acu_backend_mark *mark) {
    TELL(MARK_QUERY);
    pthread_mutex_lock(&lock);
    const bool done = mark->queue->done >= mark->number;
    pthread_mutex_unlock(&lock);
    return done ? ACU_SUCCESS : ACU_NOT_READY;
}

static acu_result mark_synchronize(acu_backend_mark *mark) {
    work_off(mark->queue, mark->number);
    TELL(MARK_SYNCHRONIZE);
    return take_error(mark->queue);
}

static acu_result queue_wait(acu_backend_queue *queue, acu_backend_mark *mark) {
    TELL(QUEUE_WAIT);
    enter(queue);
    job *j = new_job(0);
    j->other = mark->queue;
    j->other_number = mark->number;
    pthread_mutex_lock(&lock);
    mark->queue->owners++;
    pthread_mutex_unlock(&lock);
    put(queue, j);
    leave(queue);
    return ACU_SUCCESS;
}

/* ---- programs: the CPU's form ---- */

struct acu_backend_program {
    acu_part_function *function;
};

static acu_result program_create(acu_backend_device *device, const acu_backend_source *source,
                                 acu_backend_program **out) {
    (void)device;
    TELL(PROGRAM_CREATE);
    if (!source->source->cpu)
        return FAIL(ACU_NOT_SUPPORTED, "the program has no form for the CPU");
    *out = malloc(sizeof **out);
    (*out)->function = source->source->cpu;
    ADD(programs, 1);
    return ACU_SUCCESS;
}

static void program_destroy(acu_backend_program *program) {
    ADD(programs, -1u);
    free(program);
}

static acu_result run(acu_backend_queue *queue, acu_backend_program *program, const size_t items[3],
                      const acu_backend_arg *args, size_t count) {
    TELL(RUN);
    enter(queue);
    job *j = new_job(0);
    j->function = program->function;
    memcpy(j->items, items, sizeof j->items);
    for (size_t i = 0; i < count && i < MOST_ARGS; i++) {
        j->args[i] = args[i].memory ? (void *)args[i].memory : j->values[i];
        if (!args[i].memory)
            memcpy(j->values[i], args[i].value, args[i].size < 16 ? args[i].size : 16);
    }
    put(queue, j);
    leave(queue);
    return ACU_SUCCESS;
}

/* ---- captures ---- */

static acu_result capture_begin(acu_backend_queue *queue) {
    TELL(CAPTURE_BEGIN);
    queue->capture = calloc(1, sizeof *queue->capture);
    queue->capture->end = &queue->capture->first;
    ADD(replays, 1);
    return ACU_SUCCESS;
}

static acu_result capture_end(acu_backend_queue *queue, acu_backend_replay **out) {
    TELL(CAPTURE_END);
    *out = queue->capture;
    queue->capture = NULL;
    return ACU_SUCCESS;
}

static void replay_destroy(acu_backend_replay *replay) {
    while (replay->first) {
        job *j = replay->first;
        replay->first = j->next;
        free(j);
    }
    free(replay);
    ADD(replays, -1u);
}

static void capture_cancel(acu_backend_queue *queue) {
    ADD(cancels, 1);
    replay_destroy(queue->capture);
    queue->capture = NULL;
}

static acu_result replay_run(acu_backend_queue *queue, acu_backend_replay *replay) {
    TELL(REPLAY_RUN);
    enter(queue);
    for (const job *j = replay->first; j; j = j->next) {
        const size_t data = j->from || j->other || j->function ? 0 : j->bytes;
        job *copy = new_job(data);
        memcpy(copy, j, sizeof *j + data);
        for (unsigned i = 0; i < MOST_ARGS; i++) /* values lie in the job itself */
            if ((const void *)copy->args[i] == j->values[i])
                copy->args[i] = copy->values[i];
        put(queue, copy);
    }
    leave(queue);
    return ACU_SUCCESS;
}

/* ---- what is beneath ---- */

static acu_result queue_get_raw(acu_backend_queue *queue, acu_raw *raw) {
    TELL(QUEUE_GET_RAW);
    *raw = (acu_raw){ACU_RAW_OTHER, queue, NULL};
    return ACU_SUCCESS;
}

static acu_result memory_get_raw(acu_backend_device *device, acu_backend_memory *memory,
                                 acu_raw *raw) {
    TELL(MEMORY_GET_RAW);
    *raw = (acu_raw){ACU_RAW_POINTER, memory, device};
    return ACU_SUCCESS;
}

static acu_result memory_get_address(acu_backend_device *device, acu_backend_memory *memory,
                                     void **address) {
    (void)device;
    TELL(MEMORY_GET_ADDRESS);
    *address = memory;
    return ACU_SUCCESS;
}

static acu_result memory_get_host(acu_backend_device *device, acu_backend_memory *memory,
                                  void **address) {
    (void)device;
    TELL(MEMORY_GET_HOST);
    *address = memory;
    return ACU_SUCCESS;
}

static acu_result memory_wrap(acu_backend_device *device, void *memory, uint64_t bytes,
                              acu_backend_memory **out) {
    (void)device;
    (void)bytes;
    TELL(MEMORY_WRAP);
    ADD(wrapped, 1);
    *out = memory;
    return ACU_SUCCESS;
}

static void memory_unwrap(acu_backend_device *device, acu_backend_memory *memory) {
    (void)device;
    (void)memory;
    ADD(wrapped, -1u);
}

static bool computes(acu_backend_device *device, acu_dtype dtype) {
    (void)device;
    return dtype == ACU_F16;
}

static void device_trim(acu_backend_device *device) {
    (void)device;
    ADD(trims, 1);
}

/* ---- tables ---- */

const acu_backend made_up_backend = {
    .size = sizeof(acu_backend),
    .version = ACU_BACKEND_VERSION,
    .name = "madeup",
    .count_devices = count_devices,
    .device_open = device_open,
    .device_close = device_close,
    .device_get_info = device_get_info,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_synchronize = queue_synchronize,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .write = write_bytes,
    .read = read_bytes,
    .copy = copy_bytes,
    .fill = fill,
    .copy_strided = copy_strided,
    .copy_peer = copy_peer,
    .read_after = read_after,
    .mark_create = mark_create,
    .mark_destroy = mark_destroy,
    .mark_query = mark_query,
    .mark_synchronize = mark_synchronize,
    .queue_wait = queue_wait,
    .program_create = program_create,
    .program_destroy = program_destroy,
    .run = run,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .capture_cancel = capture_cancel,
    .replay_run = replay_run,
    .replay_destroy = replay_destroy,
    .queue_get_raw = queue_get_raw,
    .memory_get_raw = memory_get_raw,
    .memory_get_address = memory_get_address,
    .memory_get_host = memory_get_host,
    .memory_wrap = memory_wrap,
    .memory_unwrap = memory_unwrap,
    .computes = computes,
    .device_trim = device_trim,
};

#if defined(MADE_UP_SHARED)
acu_backend_entry_function acu_backend_entry;
const acu_backend *acu_backend_entry(const acu_backend_host *program) {
    host = program;
    return getenv("MADE_UP_REFUSES") ? NULL : &made_up_backend;
}
#else
acu_place made_up_register(void (*change)(acu_backend *table)) {
    static char names[64][16];
    static int count;
    acu_place place = {0, 0};
    acu_backend table = made_up_backend; /* the core copies the table */
    snprintf(names[count], sizeof names[count], "madeup-%d", count);
    table.name = names[count++];
    if (change)
        change(&table);
    if (acu_runtime_register(&table, &place.runtime)) {
        puts(acu_last_error_message());
        abort();
    }
    return place;
}
#endif
