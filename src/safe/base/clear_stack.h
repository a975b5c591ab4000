/*
 * A way around what CUDA compares when it updates an exec (docs/users/divergences.md has the
 * versions that were asked).
 *
 * The runtime makes the parameters of a copy of rows on its stack, and leaves the padding bytes of
 * the struct as they are. The node keeps them, and where a graph works on several devices,
 * cudaGraphExecUpdate() refuses (910) nodes that differ in those bytes alone. Bytes that are always
 * the same make two captures of the same work the same.
 */
#ifndef ACU_SRC_CLEAR_STACK_H
#define ACU_SRC_CLEAR_STACK_H

/* Sets the stack's bytes below the caller's frame to 0, where what the caller calls next will have
 * its variables. */
void acu_clear_stack(void);

#endif
