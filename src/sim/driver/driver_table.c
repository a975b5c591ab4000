/*
 * The tables of a driver that only NVIDIA's own libraries know. There are none here. The function
 * is found like every other of a driver, because a program may look all names up. A CUDA runtime,
 * of each version, cannot work without its table, and would say no more than a code. Others, such
 * as NVRTC, do without theirs.
 */
#define _GNU_SOURCE /* dladdr */

#include "sim/driver/driver.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

/* Returns whether the code is the program's own, and not a shared library's. */
static bool is_of_program(const Dl_info *code) {
    Dl_info program;
    const void *entry = (const void *)getauxval(AT_ENTRY); /* NOLINT(performance-no-int-to-ptr) */
    return dladdr(entry, &program) && program.dli_fbase == code->dli_fbase;
}

static bool is_of_runtime(const CUuuid *id) {
    static const unsigned char table[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                            0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
    return id && memcmp(id, table, sizeof table) == 0;
}

CUresult acu_sim_driver_refuse_table(const CUuuid *id, const void *caller) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    Dl_info code;
    if (!is_of_runtime(id) || !dladdr(caller, &code) || atomic_flag_test_and_set(&said))
        return CUDA_ERROR_NOT_SUPPORTED;
    const char *slash = strrchr(code.dli_fname, '/'), *name = slash ? slash + 1 : code.dli_fname,
               *why = "a library of NVIDIA's needs a GPU, since its kernels are machine code; one "
                      "that nvcc built can run here when it is built with -cudart shared";
    if (is_of_program(&code))
        why = "it has CUDA's runtime inside, which is nvcc's default: build it with nvcc -cudart "
              "shared";
    else if (strncmp(name, "libcudart.", 10) == 0)
        why = "let the program find a link of that name to libanycuda-sim.so before it";
    fprintf(stderr, "anycuda: simulator: %s works with NVIDIA's driver only: %s\n", name, why);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult refuse(const void **table, const CUuuid *id) {
    (void)table;
    return acu_sim_driver_refuse_table(id, __builtin_return_address(0));
}

CUdriverProcAddressQueryResult acu_sim_driver_find_table(int version, void **found) {
    enum { SINCE = 3000 };
    CUresult (*fn)(const void **, const CUuuid *) = version < SINCE ? NULL : refuse;
    memcpy(found, &fn, sizeof *found);
    return fn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
}
