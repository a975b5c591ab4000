/* An nvJitLink whose result is the tests' PTX, so that linking is tested where there is none. */
#ifndef FAKE_NVJITLINK_H
#define FAKE_NVJITLINK_H

#include "kernels.h"

#include <anycuda/nvjitlink.h>

/* What it was given since it was cleared, and what it returns. */
extern struct fake_linker {
    int alive, completed;
    nvJitLinkResult adds, completes; /* what these return */
    const char *errors, *info;
    char options[200], parts[300];
} fake_linker;

/* Chooses it, once in a process. */
void load_fake_nvjitlink(void);
void clear_fake_nvjitlink(void);

#endif
