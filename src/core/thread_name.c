/* Names of threads, and how much is kept of a name. */
#include "core/thread_name.h"

#include <string.h>

/* Returns how many bytes of the name are kept: no part of a character of UTF-8. */
static size_t kept_length(const char *name) {
    size_t length = 0;
    while (length < ACU_NAME_SIZE - 1 && name[length])
        length++;
    while (length > 0 && ((unsigned char)name[length] & 0xc0u) == 0x80)
        length--;
    return length;
}

void acu_name_copy(char kept[ACU_NAME_SIZE], const char *name) {
    const size_t length = kept_length(name);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)name[i];
        kept[i] = c < ' ' || c == 127 ? '?' : name[i];
    }
    memset(kept + length, 0, ACU_NAME_SIZE - length);
}

_Thread_local char acu_thread_name[ACU_NAME_SIZE];

void acu_thread_keep_name(const char *name) {
    acu_name_copy(acu_thread_name, name);
}
