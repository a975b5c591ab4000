/* Memory that is freed together. */
#ifndef ACU_SIM_PTX_ARENA_H
#define ACU_SIM_PTX_ARENA_H

#include <stddef.h>

typedef struct ptx_arena ptx_arena;

/* Returns an empty arena; NULL without memory. The caller frees it. */
ptx_arena *acu_ptx_arena_new(void);
/* Frees the arena with everything in it; NULL is fine. */
void acu_ptx_arena_free(ptx_arena *arena);
/* Returns zeroed memory of the arena, aligned for any type; NULL without memory. */
void *acu_ptx_arena_alloc(ptx_arena *arena, size_t size);
/* Returns a copy of the bytes in the arena; NULL without memory. */
void *acu_ptx_arena_copy(ptx_arena *arena, const void *bytes, size_t size);

#endif
