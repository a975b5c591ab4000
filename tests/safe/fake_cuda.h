/* A fake CUDA: its functions do nothing. For what the simulator cannot show. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>

/* Loads the fake functions instead of a libcudart; a test program calls this first. */
void load_fake_cuda(void);

/* The raw stream that is being captured, or NULL. */
extern void *captured;

/* What cudaGetDeviceCount() answers: 1, until a test sets another number. */
extern int devices_there;

/* The granularity of physical memory. */
enum { FAKE_STEP = 4096 };

/* How often a call was made whose name begins so. */
size_t calls_of(const char *beginning);

#endif
