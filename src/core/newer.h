/* What in a failed call's arguments is newer than the loaded library. */
#ifndef ACU_NEWER_H
#define ACU_NEWER_H

#include "core/abi.h"

/* Returns the first enumerator or flag bit that is newer than `version`, among the arguments and
 * what they point to: "cudaDevAttrFoo" or "attr->id = cudaLaunchAttributeBar"; `since` is the
 * version that has it. NULL if there is none. The text is valid until this thread's next call of
 * this function. */
const char *acu_newer_argument(const acu_function *function, const void *args, int version,
                               int *since);

#endif
