/*
 * Links PTX: texts that refer to each other become one text, in which each symbol is there once.
 * The driver's linker does so, and so does a program of several files.
 */
#ifndef ACU_SIM_CODE_LINK_H
#define ACU_SIM_CODE_LINK_H

#include "sim/code/image.h"

/* The texts that are linked. */
typedef struct acu_sim_link acu_sim_link;

/* Returns a linker without texts; NULL without memory. `say` gets each line of the linker's log. */
acu_sim_link *acu_sim_link_new(void (*say)(void *data, const char *line), void *data);

/* Lets kernels that do not declare what they leave room for have so many registers at most; 0: any
 * number. */
void acu_sim_link_limit_registers(acu_sim_link *link, unsigned most);

/* Frees the linker, and the text that it returned; NULL is fine. */
void acu_sim_link_free(acu_sim_link *link);

/*
 * Adds the PTX of the image, which it takes a reference on; `name` is for the log. Refuses what
 * does not fit to the texts before, with cudaErrorInvalidSource: then there is no output any more.
 */
cudaError_t acu_sim_link_add(acu_sim_link *link, acu_sim_code_image *image, const char *name);

/*
 * Returns the linked text, which belongs to the linker; NULL if nothing was added. Refuses symbols
 * that are used and undefined, with cudaErrorInvalidSource. `with_libraries`: machine code of
 * NVIDIA's belongs to the program, too, which defines functions of CUDA.
 */
cudaError_t acu_sim_link_complete(acu_sim_link *link, bool with_libraries, char **text,
                                  size_t *size);

/* Returns whether the data is the archive libcudadevrt.a, whose functions the simulator has: a text
 * that needs them is linked `with_libraries`. */
bool acu_sim_link_is_device_runtime(const void *data, size_t size);

#endif
