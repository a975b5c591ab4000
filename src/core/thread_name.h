/*
 * The name that a program gives to a thread, for the lines that the thread writes. A name is kept
 * with its thread, from where only the thread reads it, and ends with the thread.
 */
#ifndef ACU_THREAD_NAME_H
#define ACU_THREAD_NAME_H

#include "core/abi.h"

enum { ACU_NAME_SIZE = 48 }; /* bytes that are kept of a name of any kind, with a zero at the end */

/* Copies a name, up to the length that is kept and no part of a character, with zeros behind it;
 * what cannot be printed becomes a question mark. */
void acu_name_copy(char kept[ACU_NAME_SIZE], const char *name);
/* Keeps a copy of the name of the calling thread; "" takes the name away. */
void acu_thread_keep_name(const char *name);
/* The name of the calling thread; "": none. */
extern ACU_OURS _Thread_local char acu_thread_name[ACU_NAME_SIZE];

#endif
