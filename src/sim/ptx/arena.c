#include "sim/ptx/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(64) char bytes[];
} chunk;

struct ptx_arena {
    chunk *newest;
};

enum { CHUNK = 1 << 16, ALIGN = 16 };

ptx_arena *acu_ptx_arena_new(void) {
    return calloc(1, sizeof(ptx_arena));
}

void acu_ptx_arena_free(ptx_arena *arena) {
    if (!arena)
        return;
    for (chunk *c = arena->newest, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(arena);
}

/* Adds a chunk with room for so many bytes. Larger pieces get a chunk of their own, behind the
 * newest one. */
static chunk *add_chunk(ptx_arena *arena, size_t size) {
    size_t room = size > CHUNK ? size : CHUNK;
    chunk *c = room > SIZE_MAX / 2 ? NULL : calloc(1, sizeof *c + room);
    if (!c)
        return NULL;
    c->size = room;
    if (room > CHUNK && arena->newest) {
        c->next = arena->newest->next;
        arena->newest->next = c;
    } else {
        c->next = arena->newest;
        arena->newest = c;
    }
    return c;
}

void *acu_ptx_arena_alloc(ptx_arena *arena, size_t size) {
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    chunk *c = arena->newest;
    if (!c || c->size - c->used < size)
        c = add_chunk(arena, size);
    if (!c)
        return NULL;
    void *at = c->bytes + c->used;
    c->used += size;
    return at;
}

void *acu_ptx_arena_copy(ptx_arena *arena, const void *bytes, size_t size) {
    void *at = acu_ptx_arena_alloc(arena, size);
    return at && size ? memcpy(at, bytes, size) : at;
}
