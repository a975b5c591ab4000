/* The simulator's compiler: CUDA C++ source is turned into PTX whose kernels have empty bodies. */
#ifndef ACU_SIM_SOURCE_H
#define ACU_SIM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* Text that grows. The owner frees `bytes`. */
typedef struct acu_sim_text {
    char *bytes;         /* NULL: empty */
    size_t length, room; /* bytes, the zero at the end not counted; bytes allocated */
    bool full;           /* memory ran out, and something is missing */
} acu_sim_text;

/* Appends to the text. Without memory `full` is set instead. */
void acu_sim_text_print(acu_sim_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Appends the PTX of the kernels that the source declares extern "C", with empty bodies, and of its
 * variables. False if the source has a kernel or a variable whose PTX the simulator cannot know,
 * or without memory; the log then has the line and the reason. `name` is the file's name there.
 */
bool acu_sim_source_compile(const char *source, const char *name, acu_sim_text *ptx,
                            acu_sim_text *log);

#endif
