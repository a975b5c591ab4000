/* CUDA C++, as far as it declares kernels that C could call. */
#ifndef ACU_SIM_SOURCE_H
#define ACU_SIM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* Text that grows. */
typedef struct acu_sim_text {
    char *bytes;
    size_t length, room;
    bool full; /* without memory something is missing */
} acu_sim_text;

void acu_sim_print(acu_sim_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Writes PTX with the kernels that the source declares extern "C", and its variables, whose bodies
 * are empty. False: there is something that it cannot know the PTX of; the log says what and where.
 */
bool acu_sim_compile(const char *source, const char *name, acu_sim_text *ptx, acu_sim_text *log);

#endif
