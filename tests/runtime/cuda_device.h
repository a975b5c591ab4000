/* What the tests of CUDA's back end share, which call it by its table. */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "../safe/safe.h"

#include <anycuda/backend.h>

#include "runtime/backend.h"

extern const acu_backend acu_cuda_backend;
static const acu_backend *const table = &acu_cuda_backend;

/* A device with a queue. */
typedef struct machine {
    acu_backend_device *device;
    acu_backend_queue *queue;
} machine;

/* Returns the first failure; what was made before it is closed by machine_cleanup(). */
acu_result open_machine(int device, machine *m);
void machine_cleanup(machine *m);
acu_result make_queue(const machine *m, acu_backend_queue **queue);

/* A function of the table succeeds, or the test fails with the words. */
#define DONE(call)                                                                                 \
    do {                                                                                           \
        acu_result done_result = (call);                                                           \
        char done_words[1024] = "";                                                                \
        if (done_result)                                                                           \
            (void)acu_backend_take_words(done_result, done_words, sizeof done_words);              \
        if (done_result)                                                                           \
            fail_msg("%s is %d: %s", #call, done_result, done_words);                              \
    } while (0)

/* A function of the table fails with the code, and has `text` in its words. */
#define REFUSED(call, expected, text)                                                              \
    do {                                                                                           \
        acu_result refused_result = (call);                                                        \
        char refused_words[1024] = "";                                                             \
        if (refused_result)                                                                        \
            (void)acu_backend_take_words(refused_result, refused_words, sizeof refused_words);     \
        if (refused_result != (expected) || !strstr(refused_words, (text)))                        \
            fail_msg("%s is %d: %s", #call, refused_result, refused_words);                        \
    } while (0)

/* The safe layer's stream beneath a queue. */
acu_stream *stream_of(acu_backend_queue *queue);

/* sum[i] = a[i] + b[i], of floats; the form for the CPU counts its calls. */
extern const acu_program_source add_source;
extern int add_calls;
acu_result make_program(const machine *m, const acu_program_source *source,
                        acu_backend_program **program);
acu_result run_add(acu_backend_queue *queue, acu_backend_program *add, acu_backend_memory *a,
                   acu_backend_memory *b, acu_backend_memory *sum, unsigned n);

#endif
