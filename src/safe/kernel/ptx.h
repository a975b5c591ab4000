/*
 * What PTX declares of its kernels: names and parameters. Read from the text, leniently: what is
 * not understood is not known, and it is the driver's compiler that judges.
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

/* False where the host has no memory; then there is nothing to clear. */
bool acu_ptx_read(acu_ptx *ptx, const char *text, size_t size);
void acu_ptx_clear(acu_ptx *ptx);

/* NULL: there is none of that name. */
const acu_ptx_entry *acu_ptx_find(const acu_ptx *ptx, const char *name);

#endif
