/* File descriptors that are given to CUDA. */
#define _XOPEN_SOURCE 700 /* F_DUPFD_CLOEXEC */

#include "safe/base/descriptor.h"
#include "core/record.h"

#include <anycuda/cudart.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* One import at a time: a number that CUDA has closed must not be another import's duplicate. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same_file(int one, int other) {
    struct stat a, b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int give(int descriptor, int (*import)(int duplicate, void *data), void *data) {
    const int duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0)
        return acu_record(cudaErrorOperatingSystem,
                          "descriptor %d cannot be duplicated: it is no "
                          "open one, or the process has too many",
                          descriptor);
    const int code = import(duplicate, data);
    if (!code)
        (void)close(descriptor);
    else if (is_same_file(duplicate, descriptor)) /* else CUDA has closed it */
        (void)close(duplicate);
    return code;
}

int acu_descriptor_give(int descriptor, int (*import)(int duplicate, void *data), void *data) {
    pthread_mutex_lock(&lock);
    const int code = give(descriptor, import, data);
    pthread_mutex_unlock(&lock);
    return code;
}
