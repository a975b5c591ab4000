/* Modules as kernels and launches see them. */
#ifndef ACU_SRC_MODULE_H
#define ACU_SRC_MODULE_H

#include <anycuda/module.h>

#include "safe/kernel/code.h"
#include "safe/kernel/code_api.h"
#include "safe/kernel/ptx.h"
#include "safe/base/stream.h"

#include <pthread.h>

enum { ACU_MODULE_STREAMS = 16 };

struct acu_module {
    acu_object object;
    const acu_code_api *api;
    acu_code_place place;
    void *raw; /* cudaLibrary_t or CUmodule */
    bool owned;
    bool opened;  /* the place must be closed */
    bool has_ptx; /* `ptx` has all kernels */
    acu_ptx ptx;
    acu_code_name *lowered;
    size_t lowered_count;
    char *info_log, *error_log; /* CUDA may write to these until the module is unloaded */
    /* Streams on which its kernels may run, so that it is not unloaded before they have ended.
     * Atomic, filled from the first one on; `crowded`: there were more streams. */
    acu_timeline *streams[ACU_MODULE_STREAMS];
    bool crowded;
    pthread_mutex_t lock;
    const char **names; /* of kernels; under the lock; NULL: not asked for yet */
    size_t name_count;
};

extern ACU_OURS const acu_class acu_module_class;

/* Code in memory; text ends with a zero. */
typedef struct acu_module_image {
    const void *bytes;
    size_t size;     /* as the caller has given it; CUDA does not get it */
    const char *ptx; /* declares the parameters; NULL: `bytes` does, if that is text */
    const acu_jit_options *jit;
} acu_module_image;
/* Loads the code. Returns 0, or a failure recorded for `call`; where that is "", what CUDA refuses
 * is recorded, but not yet for a public function. */
int acu_module_new(const char *call, acu_device device, const acu_module_image *image,
                   acu_module **module);

/* Loads code. Returns 0, or a failure recorded for `call`. */
int acu_module_load_code(const char *call, acu_device device, const acu_code *code,
                         const acu_jit_options *jit, acu_module **module);

/* Records that a kernel of the module is about to be launched on the stream, which mostly is the
 * first stream again. Returns whether the module keeps the timeline. */
bool acu_module_record_use(acu_module *module, acu_timeline *timeline);

#endif
