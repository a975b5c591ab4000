/* Stands in for <stdbool.h>: the parser is given no system headers. */
#ifndef ANYCUDA_STUB_STDBOOL_H
#define ANYCUDA_STUB_STDBOOL_H
#ifndef __cplusplus
#define bool _Bool
#define true 1
#define false 0
#endif
#endif
