/* Copies within the host's memory. */
#ifndef ACU_SRC_HOST_COPY_H
#define ACU_SRC_HOST_COPY_H

#include <stddef.h>

/* Copies bytes as memcpy() does. Many bytes go past the cache, which does not read then what is
 * overwritten: nobody on the host looks at the destination soon. */
void acu_host_copy(void *to, const void *from, size_t bytes);

#endif
