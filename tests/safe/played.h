/* CUDA's calls, played by functions that do nothing: for what the simulator cannot show. */
#ifndef PLAYED_H
#define PLAYED_H

#include <stddef.h>

/* Loads them instead of a libcudart; the first thing that a program does. */
void play_cuda(void);

/* The raw stream that is being captured, or NULL. */
extern void *captured;

/* 1 until a test says something else. */
extern int devices_there;

/* How often a call was made whose name begins so. */
size_t calls_of(const char *beginning);

#endif
