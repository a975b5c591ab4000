/*
 * File descriptors that are given to CUDA. Where an import succeeds, CUDA owns the descriptor;
 * where one fails, some of CUDA's functions have closed it all the same, and others have not. So
 * CUDA gets a duplicate, and the caller's descriptor is closed on success only.
 */
#ifndef ACU_SRC_DESCRIPTOR_H
#define ACU_SRC_DESCRIPTOR_H

/* Gives a duplicate of the descriptor to `import`, which returns CUDA's code. If that is 0, both
 * are CUDA's, and the caller's descriptor is closed. Otherwise the duplicate is closed, unless CUDA
 * did that, and the caller's descriptor is as before. Returns the code, or a recorded one. */
int acu_descriptor_give(int descriptor, int (*import)(int duplicate, void *data), void *data);

#endif
