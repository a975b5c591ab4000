/* Loops that copy the elements of a plane: the two inner dimensions of a strided copy. */
#ifndef ACU_CPU_LOOPS_H
#define ACU_CPU_LOOPS_H

#include <stddef.h>

/* All steps are bytes. Columns are what lies closest together in the destination. */
typedef struct acu_cpu_plane {
    char *to;
    const char *from;
    size_t element; /* bytes */
    size_t rows, columns;
    ptrdiff_t to_row, to_column;
    ptrdiff_t from_row, from_column;
} acu_cpu_plane;

typedef void acu_cpu_loop(const acu_cpu_plane *plane);

/* Returns the fastest loop for planes with these steps and this element, of any size. */
acu_cpu_loop *acu_cpu_loop_for(const acu_cpu_plane *plane);

#endif
