/*
 * The names and parameters of the kernels that PTX declares. The reader accepts any text:
 * parameters that it does not understand are unknown, and the driver's compiler finds the errors.
 */
#ifndef ACU_PTX_H
#define ACU_PTX_H

#include <anycuda/kernel.h>

typedef struct acu_ptx_entry {
    char *name;
    acu_parameter *parameters;
    size_t count;
    bool known; /* the parameters were understood */
} acu_ptx_entry;

typedef struct acu_ptx {
    acu_ptx_entry *entries;
    size_t count;
} acu_ptx;

/* Reads the text; the caller clears `ptx`. False without memory, and then there is nothing to
 * clear. */
bool acu_ptx_read(acu_ptx *ptx, const char *text, size_t size);
void acu_ptx_clear(acu_ptx *ptx);

/* Returns the kernel of that name; NULL if there is none. */
const acu_ptx_entry *acu_ptx_find(const acu_ptx *ptx, const char *name);

#endif
