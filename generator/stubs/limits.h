/* Stands in for <limits.h>: the parser is given no system headers. */
#ifndef ANYCUDA_STUB_LIMITS_H
#define ANYCUDA_STUB_LIMITS_H
#define INT_MAX  __INT_MAX__
#define UINT_MAX (__INT_MAX__ * 2U + 1U)
#endif
