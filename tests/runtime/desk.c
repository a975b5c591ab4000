#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

desk_counters desk_counted;
static int desk = -1, bare = -1;

#define COUNT(what) __atomic_add_fetch(&desk_counted.what, 1, __ATOMIC_RELAXED)

/* ---- devices and queues ---- */

static struct acu_backend_device {
    int index;
} devices[2] = {{0}, {1}};

static acu_result count_devices(int *found) {
    *found = 2;
    return ACU_SUCCESS;
}

static acu_result device_open(int device, acu_backend_device **out) {
    *out = &devices[device];
    return ACU_SUCCESS;
}

static void device_close(acu_backend_device *device) {
    (void)device;
}

static acu_result device_get_info(acu_backend_device *device, acu_place_info *info) {
    snprintf(info->name, sizeof info->name, "desk %d", device->index);
    info->max_blocks = DESK_MAX_BLOCKS;
    for (int i = 0; i < 3; i++)
        info->max_group[i] = DESK_MAX_GROUP;
    info->max_group_items = DESK_MAX_ITEMS;
    return ACU_SUCCESS;
}

static acu_result queue_create(acu_backend_device *device, const acu_backend_queue_options *options,
                               acu_backend_queue **out) {
    (void)options;
    *out = (acu_backend_queue *)device;
    return ACU_SUCCESS;
}

static void queue_destroy(acu_backend_queue *queue) {
    (void)queue;
}

static acu_result queue_synchronize(acu_backend_queue *queue) {
    (void)queue;
    return ACU_SUCCESS;
}

/* ---- memory ---- */

static acu_result memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                  acu_backend_memory **out) {
    (void)queue;
    *out = malloc(bytes);
    return *out ? ACU_SUCCESS : acu_backend_fail(ACU_OUT_OF_MEMORY, "the desk is full");
}

static void memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes) {
    (void)queue;
    (void)bytes;
    free(memory);
}

static acu_result write_bytes(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                              const void *from, size_t bytes) {
    (void)queue;
    memcpy((char *)to + at, from, bytes);
    COUNT(written);
    return ACU_SUCCESS;
}

static acu_result read_bytes(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at,
                             void *to, size_t bytes) {
    (void)queue;
    memcpy(to, (char *)from + at, bytes);
    COUNT(read);
    return ACU_SUCCESS;
}

static acu_result copy_bytes(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                             acu_backend_memory *from, uint64_t from_at, uint64_t bytes) {
    (void)queue;
    memmove((char *)to + to_at, (char *)from + from_at, bytes);
    return ACU_SUCCESS;
}

/* ---- programs ---- */

struct acu_backend_program {
    acu_part_function *function;
};

static acu_result program_create(acu_backend_device *device, const acu_backend_source *source,
                                 acu_backend_program **out) {
    (void)device;
    desk_form form;
    if (!source->form)
        return acu_backend_fail(ACU_NOT_SUPPORTED, "a desk needs a form of its own");
    assert_int_equal(source->form->bytes, sizeof form);
    memcpy(&form, source->form->code, sizeof form);
    *out = malloc(sizeof **out);
    if (!*out)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the desk is full");
    (*out)->function = form.function;
    COUNT(created);
    nanosleep(&(struct timespec){0, 20000000}, NULL); /* so that other threads come meanwhile */
    if (!form.code)
        return ACU_SUCCESS;
    free(*out);
    return acu_backend_fail(form.code, "line 3 of \"%s\" is wrong", source->source->name);
}

static void program_destroy(acu_backend_program *program) {
    COUNT(destroyed);
    free(program);
}

static acu_result run(acu_backend_queue *queue, acu_backend_program *program, const size_t items[3],
                      const acu_backend_arg *args, size_t number) {
    void *pointers[64];
    acu_part part = {.begin = {0}};
    (void)queue;
    memcpy(part.end, items, sizeof part.end);
    memcpy(part.items, items, sizeof part.items);
    for (size_t i = 0; i < number; i++)
        pointers[i] = args[i].memory ? (void *)args[i].memory : (void *)(uintptr_t)args[i].value;
    program->function(&part, pointers);
    COUNT(ran);
    return ACU_SUCCESS;
}

/* ---- the tables ---- */

#define WITHOUT_PROGRAMS                                                                           \
    .size = sizeof(acu_backend), .version = ACU_BACKEND_VERSION, .count_devices = count_devices,   \
    .device_open = device_open, .device_close = device_close, .device_get_info = device_get_info,  \
    .queue_create = queue_create, .queue_destroy = queue_destroy,                                  \
    .queue_synchronize = queue_synchronize, .memory_allocate = memory_allocate,                    \
    .memory_free = memory_free, .write = write_bytes, .read = read_bytes, .copy = copy_bytes

static const acu_backend with = {WITHOUT_PROGRAMS, .name = "desk", .program_create = program_create,
                                 .program_destroy = program_destroy, .run = run};
static const acu_backend without = {WITHOUT_PROGRAMS, .name = "bare"};

int desk_begin(void **state) {
    (void)state;
    if (desk < 0) {
        OK(acu_runtime_register(&with, &desk));
        OK(acu_runtime_register(&without, &bare));
    }
    desk_counted = (desk_counters){0};
    return 0;
}

acu_place desk_place(int device) {
    return (acu_place){desk, device};
}

acu_place bare_place(void) {
    return (acu_place){bare, 0};
}

/* ---- results ---- */

void desk_ok(acu_result code, const char *call, int line) {
    if (code)
        fail_msg("line %d: %s: %s", line, call, acu_last_error_message());
}

void desk_fails(acu_result wanted, const char *words, acu_result code, const char *call, int line) {
    if (code != wanted || acu_last_error() != wanted)
        fail_msg("line %d: %s: the result is %d, not %d (%s)", line, call, code, wanted,
                 acu_last_error_message());
    if (!strstr(acu_last_error_message(), words))
        fail_msg("line %d: %s: \"%s\" does not say \"%s\"", line, call, acu_last_error_message(),
                 words);
}
