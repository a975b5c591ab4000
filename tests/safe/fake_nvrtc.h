/*
 * An NVRTC whose every program becomes the tests' PTX, or LTO IR where an option asks for that, so
 * that compiling is tested where there is no NVRTC.
 */
#ifndef FAKE_NVRTC_H
#define FAKE_NVRTC_H

#include "kernels.h"

#include <anycuda/nvrtc.h>

/* What it was given since the test began, and what it returns. */
extern struct fake_nvrtc {
    int alive, compiled;           /* programs that exist; calls of nvrtcCompileProgram() */
    bool is_lto;                   /* the program was compiled to LTO IR */
    nvrtcResult compiles, creates; /* what these return */
    const char *log;
    int architectures[3];
    char options[200], source[100], name[40], headers[100], expressions[100];
} fake;

#define fake_lto_ir "\xed\x43\x4e\x7f intermediate"

/* Makes the fake NVRTC the one that is loaded, once in a process. */
void load_fake_nvrtc(void);

/* The two functions run before and after each test. */
int begin_compiling(void **state);
int end_compiling(void **state);

#define COMPILE_TEST(function) SAFE_TEST(function, begin_compiling, end_compiling)

#endif
