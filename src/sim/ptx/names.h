/* The names that a PTX text declares, by scope. */
#ifndef ACU_SIM_PTX_NAMES_H
#define ACU_SIM_PTX_NAMES_H

#include "sim/ptx/arena.h"
#include "sim/ptx/ptx_module.h"

typedef enum ptx_name_kind {
    PTX_NAME_VARIABLE,
    PTX_NAME_FUNCTION,
    PTX_NAME_REGISTER,  /* `number` */
    PTX_NAME_REGISTERS, /* %r<count>: those from `number` on */
    PTX_NAME_LABEL,     /* `number`: an instruction */
    PTX_NAME_TABLE,
} ptx_name_kind;

typedef struct ptx_name {
    const char *name;
    size_t length;
    unsigned scope;
    ptx_name_kind kind;
    unsigned number, count;
    void *is; /* the variable, function or table */
} ptx_name;

typedef struct ptx_names ptx_names;

/* Returns empty names; NULL without memory. The caller frees them. */
ptx_names *acu_ptx_names_new(void);
void acu_ptx_names_free(ptx_names *names);

/* Begin a scope in the current one, and end it. Scope 0 is the module. What ended stays known to
 * acu_ptx_names_find(). */
unsigned acu_ptx_names_enter(ptx_names *names);
void acu_ptx_names_leave(ptx_names *names);
unsigned acu_ptx_names_scope(const ptx_names *names);

/* Adds a name to a scope; false without memory. */
bool acu_ptx_names_add(ptx_names *names, const ptx_name *name);
/* Returns whether a name was added that looks like one of %r<count>: %r12. */
bool acu_ptx_names_are_numbered(const ptx_names *names);
/* Returns the name in just that scope, of registers %r<count> or of anything else, as `kind` says;
 * NULL if it is not there. */
const ptx_name *acu_ptx_names_here(const ptx_names *names, const char *name, size_t length,
                                   unsigned scope, ptx_name_kind kind);
/* Returns which of two names is declared twice in the scope of `name` if that is added: a1, where
 * there are registers a<3>; NULL: none is. */
const ptx_name *acu_ptx_names_clash(const ptx_names *names, const ptx_name *name);
/* Returns the name in the scope or one around it, but not that of registers %r<count>; NULL if
 * there is none. */
const ptx_name *acu_ptx_names_find(const ptx_names *names, const char *name, size_t length,
                                   unsigned scope);
/* Returns the registers %r<count> in the scope or one around it; NULL if there are none. */
const ptx_name *acu_ptx_names_find_registers(const ptx_names *names, const char *name,
                                             size_t length, unsigned scope);

#endif
