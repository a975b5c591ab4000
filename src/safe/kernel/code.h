/* Code that is not loaded, as modules, the compiler, the linker and caches see it. */
#ifndef ACU_SRC_CODE_H
#define ACU_SRC_CODE_H

#include <anycuda/code.h>

#include "safe/base/object.h"
#include "safe/kernel/code_bytes.h"

/* A C++ name of a kernel or variable, and its name in the code. */
typedef struct acu_code_name {
    char *expression, *name;
} acu_code_name;

typedef struct acu_code_bytes {
    char *bytes; /* with a zero behind them; NULL: there are none */
    size_t size;
} acu_code_bytes;

struct acu_code {
    acu_object object;
    acu_code_bytes images[ACU_CODE_FORMS];
    acu_code_name *names;
    size_t name_count;
    char *log;  /* NULL: empty */
    char *name; /* in messages; NULL: none */
};

extern ACU_OURS const acu_class acu_code_class;

/* Makes code without images. Returns NULL without memory, which is recorded. */
acu_code *acu_code_new(void);

/* Returns a copy of the code's names, to be given to acu_code_free_names(); NULL without memory. */
acu_code_name *acu_code_copy_names(const acu_code *code);
void acu_code_free_names(acu_code_name *names, size_t count);

/* Compiles a program, or finds its code in a cache. Returns 0, or a failure recorded for `call`.
 * The device is valid, or not needed. */
int acu_code_build(const char *call, acu_device device, const acu_module_program *program,
                   acu_code **code);
/* Returns whether the options say what to compile for. */
bool acu_code_names_architecture(const acu_module_program *program);

/* Replaces the thread's log of its last compilation by a copy; NULL: it is empty. A log for which
 * there is no memory is dropped. */
void acu_code_keep_log(const char *text);
/* Returns the thread's log; never NULL. */
const char *acu_code_kept_log(void);

#endif
