/* Reads PTX text. */
#ifndef ACU_SIM_PTX_PARSE_H
#define ACU_SIM_PTX_PARSE_H

#include "sim/ptx/ptx_module.h"

typedef enum ptx_result {
    PTX_OK,
    PTX_NO_MEMORY,
    PTX_INVALID,     /* the text is not PTX: 218 (cudaErrorInvalidPtx) */
    PTX_UNSUPPORTED, /* the version is newer than is accepted: 222 (cudaErrorUnsupportedPtxVersion)
                      */
    PTX_NO_DEVICE_CODE, /* the target is not one that the device runs: 209 */
    PTX_NOT_SIMULATED,  /* right, but the simulator does not execute it: 801 */
} ptx_result;

/* What is in the body of a kernel that the simulator's compiler has only declared (.pragma). */
#define PTX_DECLARED "\"anycuda: declared only\""

/* What is in a linked text that needs functions of CUDA's libraries, such as the device runtime
 * (.pragma). */
#define PTX_WITH_LIBRARIES "\"anycuda: with libraries\""

/* The newest version of PTX that is known: 9.3. */
enum { PTX_NEWEST = 93 };

/* A line for the compiler's log, as ptxas writes it. */
typedef struct ptx_error {
    char text[512];
    ptx_place place;
} ptx_error;

/*
 * Reads a PTX text of `size` bytes, which must outlive nothing: the module has copies. `newest` is
 * the newest version that is accepted, 90 for 9.0. The caller frees the module, which is NULL on
 * failure; then `error` has a line.
 */
ptx_result acu_ptx_parse(const char *text, size_t size, int newest, ptx_module **module,
                         ptx_error *error);

#endif
