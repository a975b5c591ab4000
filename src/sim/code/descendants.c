#include "sim/code/descendants.h"

#include "sim/code/heap.h"
#include "sim/device/context.h"
#include "sim/memory/range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct acu_sim_thread_error {
    uint64_t thread;
    cudaError_t error;
} acu_sim_thread_error;

/* ---- the queue ---- */

static void append(acu_sim_descendant_list *list, acu_sim_descendant *child) {
    child->next = NULL;
    if (list->last)
        list->last->next = child;
    else
        list->first = child;
    list->last = child;
}

/* Puts the list before what is to be done, and empties it. */
static void put_before(acu_sim_descendants *c, acu_sim_descendant_list *list) {
    if (list->last) {
        list->last->next = c->first;
        c->first = list->first;
    }
    *list = (acu_sim_descendant_list){NULL, NULL};
}

uint64_t acu_sim_descendants_fill(acu_sim_descendants *c, acu_sim_kernel_launch *launch,
                                  size_t bytes) {
    acu_sim_descendant *made = calloc(1, sizeof *made);
    if (made)
        made->arguments = launch ? launch->arguments : calloc(1, bytes + 1);
    if (!made || !made->arguments) {
        free(made);
        acu_sim_kernel_launch_free(launch);
        return 0;
    }
    made->launch = launch;
    made->bytes = bytes;
    made->next = c->filled;
    c->filled = made;
    return (uintptr_t)made->arguments;
}

acu_sim_descendant *acu_sim_descendants_filled(const acu_sim_descendants *c, uint64_t arguments) {
    acu_sim_descendant *found = c->filled;
    while (found && (uintptr_t)found->arguments != arguments)
        found = found->next;
    return found;
}

void acu_sim_descendants_launch(acu_sim_descendants *c, acu_sim_descendant *filled, bool in_tail) {
    acu_sim_descendant **at = &c->filled;
    while (*at != filled)
        at = &(*at)->next;
    *at = filled->next;
    append(in_tail ? &c->tail : &c->launched, filled);
}

bool acu_sim_descendants_copy(acu_sim_descendants *c, const acu_sim_descendant_copy *copy,
                              bool in_tail) {
    acu_sim_descendant *made = calloc(1, sizeof *made);
    if (!made)
        return false;
    made->copy = *copy;
    append(in_tail ? &c->tail : &c->launched, made);
    return true;
}

/* Frees one, under the lock. */
static void free_one(acu_sim_descendant *child) {
    if (!child->launch)
        free(child->arguments);
    acu_sim_kernel_launch_free(child->launch);
    free(child);
}

static void free_all(acu_sim_descendant *first) {
    for (acu_sim_descendant *next; first; first = next) {
        next = first->next;
        free_one(first);
    }
}

/* Launches that a thread began and did not finish are gone with the grid. */
acu_sim_descendant *acu_sim_descendants_take(acu_sim_descendants *c) {
    if (c->filled) {
        pthread_mutex_lock(&acu_sim_lock);
        free_all(c->filled);
        pthread_mutex_unlock(&acu_sim_lock);
    }
    c->filled = NULL;
    c->error_count = 0;
    c->events = c->tails = 0;
    put_before(c, &c->tail);
    put_before(c, &c->launched);
    acu_sim_descendant *next = c->first;
    if (next)
        c->first = next->next;
    return next;
}

void acu_sim_descendant_free(acu_sim_descendant *child) {
    pthread_mutex_lock(&acu_sim_lock);
    free_one(child);
    pthread_mutex_unlock(&acu_sim_lock);
}

void acu_sim_descendants_clear(acu_sim_descendants *c) {
    if (c->first || c->filled || c->tail.first || c->launched.first) {
        pthread_mutex_lock(&acu_sim_lock);
        free_all(c->first);
        free_all(c->filled);
        free_all(c->tail.first);
        free_all(c->launched.first);
        pthread_mutex_unlock(&acu_sim_lock);
    }
    free(c->errors);
    free(c->texts);
    *c = (acu_sim_descendants){.first = NULL};
}

/* ---- copies ---- */

static bool is_writable(const acu_sim_range *range, const acu_sim_device *device) {
    return acu_sim_range_allows_writing(range, device) && !acu_sim_range_is_read_only(range);
}

/* Returns where the bytes are; NULL: the kernels cannot read, or write, all of them. */
static char *bytes_at(const acu_sim_module *module, uint64_t address, uint64_t bytes, bool writes) {
    const void *at = (const void *)(uintptr_t)address;
    const acu_sim_range *range = acu_sim_kernel_launch_find(module->device, at, bytes);
    if (range && (range->multicast || (writes && !is_writable(range, module->device))))
        return NULL;
    if (range)
        return acu_sim_range_bytes(range, at);
    acu_sim_heap *heap = acu_sim_heap_of(module->context, false);
    size_t size = 0;
    char *base = heap ? acu_sim_heap_find(heap, at, &size) : NULL;
    const size_t offset = base ? (size_t)((const char *)at - base) : 0;
    return base && bytes <= size - offset ? base + offset : NULL;
}

/* Copies a row; false if kernels cannot access all of it. */
static bool copy_row(const acu_sim_descendant_copy *copy, const acu_sim_module *module,
                     uint64_t row, uint64_t slice) {
    const uint64_t at = copy->to.at + row * copy->to.row + slice * copy->to.slice,
                   source = copy->from.at + row * copy->from.row + slice * copy->from.slice;
    char *to = bytes_at(module, at, copy->bytes, true);
    const char *from = copy->sets ? to : bytes_at(module, source, copy->bytes, false);
    if (to && from && copy->sets)
        memset(to, copy->value, copy->bytes);
    else if (to && from)
        memmove(to, from, copy->bytes);
    return to && from;
}

cudaError_t acu_sim_descendant_copy_run(const acu_sim_descendant_copy *copy,
                                        const acu_sim_module *module) {
    bool good = true;
    pthread_mutex_lock(&acu_sim_lock);
    for (uint64_t slice = 0; good && slice < copy->slices; slice++)
        for (uint64_t row = 0; good && row < copy->rows; row++)
            good = copy_row(copy, module, row, slice);
    pthread_mutex_unlock(&acu_sim_lock);
    if (good)
        return cudaSuccess;
    fprintf(stderr,
            "anycuda: simulator: a kernel's %s of %llu bytes to 0x%llx is not in memory that "
            "kernels can access\n",
            copy->sets ? "cudaMemsetAsync()" : "cudaMemcpyAsync()",
            (unsigned long long)copy->bytes * copy->rows * copy->slices,
            (unsigned long long)copy->to.at);
    return cudaErrorIllegalAddress;
}

/* ---- what threads read and write ---- */

char *acu_sim_descendants_find(const acu_sim_descendants *c, const void *address, size_t *bytes,
                               bool *writable) {
    const uintptr_t at = (uintptr_t)address;
    for (const acu_sim_descendant *one = c->filled; one; one = one->next) {
        *bytes = one->bytes;
        *writable = true;
        if (at - (uintptr_t)one->arguments < *bytes)
            return one->arguments;
    }
    for (size_t n = 0; n < c->text_count; n++) {
        *bytes = strlen(c->texts[n]) + 1;
        *writable = false;
        if (at - (uintptr_t)c->texts[n] < *bytes)
            return (char *)(uintptr_t)c->texts[n];
    }
    return NULL;
}

uint64_t acu_sim_descendants_show(acu_sim_descendants *c, const char *text) {
    for (size_t n = 0; n < c->text_count; n++)
        if (c->texts[n] == text)
            return (uintptr_t)text;
    const char **grown = realloc(c->texts, (c->text_count + 1) * sizeof *grown);
    if (!grown)
        return 0;
    c->texts = grown;
    c->texts[c->text_count++] = text;
    return (uintptr_t)text;
}

/* ---- errors of threads ---- */

static acu_sim_thread_error *find_error(const acu_sim_descendants *c, uint64_t thread) {
    for (size_t n = 0; n < c->error_count; n++)
        if (c->errors[n].thread == thread)
            return &c->errors[n];
    return NULL;
}

cudaError_t acu_sim_descendants_error(acu_sim_descendants *c, uint64_t thread, bool forget) {
    acu_sim_thread_error *found = find_error(c, thread);
    const cudaError_t error = found ? found->error : cudaSuccess;
    if (found && forget)
        *found = c->errors[--c->error_count];
    return error;
}

void acu_sim_descendants_set_error(acu_sim_descendants *c, uint64_t thread, cudaError_t error) {
    acu_sim_thread_error *found = find_error(c, thread);
    if (!found && c->error_count == c->error_room) {
        const size_t room = c->error_room ? c->error_room * 2 : 16;
        acu_sim_thread_error *grown = realloc(c->errors, room * sizeof *grown);
        if (!grown)
            return;
        c->errors = grown;
        c->error_room = room;
    }
    if (!found)
        found = &c->errors[c->error_count++];
    *found = (acu_sim_thread_error){thread, error};
}
