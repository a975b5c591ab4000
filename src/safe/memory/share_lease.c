/*
 * Shares: who still uses what was exported.
 *
 * The locks are those of Linux on descriptions of open files (F_OFD_SETLK). The file has no bytes:
 * a lock needs none, so that a share's place is its random number.
 */
#define _GNU_SOURCE /* F_OFD_SETLK, memfd_create */

#include "safe/memory/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char name[] = "anycuda-leases";

/* Makes or asks about a lock on one byte; returns 0, or -1 with errno. */
static int change_lock(int file, int command, short type, off_t at, short *found) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    int failed;
    do
        failed = fcntl(file, command, &lock);
    while (failed && errno == EINTR);
    if (found)
        *found = lock.l_type;
    return failed;
}

/* Places are positive numbers of 63 bits. */
static off_t offer_of(uint64_t id) {
    return (off_t)(id >> 2u << 1u);
}
static off_t use_of(uint64_t id) {
    return offer_of(id) + 1;
}

/* Returns whether another description has a lock there that keeps this one from writing. */
static bool is_locked(int file, off_t at, bool otherwise) {
    short found = F_UNLCK;
    return change_lock(file, F_OFD_GETLK, F_WRLCK, at, &found) ? otherwise : found != F_UNLCK;
}

/* ---- the exporting process ---- */

/* Returns the process's file, which is made at the first call, and in a child of fork() again; -1
 * where the system has none. */
static int own_file(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pid_t process;
    static int file = -1;
    pthread_mutex_lock(&lock);
    if (process != getpid()) {
        file = memfd_create(name, MFD_CLOEXEC);
        process = getpid();
    }
    const int made = file;
    pthread_mutex_unlock(&lock);
    return made;
}

int acu_lease_offer(uint64_t id) {
    const int file = own_file();
    if (file < 0 || change_lock(file, F_OFD_SETLK, F_WRLCK, offer_of(id), NULL))
        return -1;
    return file;
}

/* A process that comes after the first look either has a lock at the second one, or finds that
 * nothing is offered. */
bool acu_lease_withdraw(uint64_t id) {
    const int file = own_file();
    if (file < 0)
        return true;
    if (is_locked(file, use_of(id), false))
        return false;
    (void)change_lock(file, F_OFD_SETLK, F_UNLCK, offer_of(id), NULL);
    if (!is_locked(file, use_of(id), false))
        return true;
    (void)change_lock(file, F_OFD_SETLK, F_WRLCK, offer_of(id), NULL);
    return false;
}

bool acu_lease_is_used(uint64_t id, bool wait) {
    const int file = own_file();
    if (file < 0)
        return false;
    if (wait && !change_lock(file, F_OFD_SETLKW, F_WRLCK, use_of(id), NULL))
        (void)change_lock(file, F_OFD_SETLK, F_UNLCK, use_of(id), NULL);
    return is_locked(file, use_of(id), false);
}

/* ---- who uses it ---- */

typedef struct acu_lease {
    acu_object object;
    int descriptor;
} acu_lease;

static int destroy_lease(acu_object *object) {
    acu_share_close(((acu_lease *)object)->descriptor);
    return 0;
}

static const acu_class lease_class = {"lease", destroy_lease, NULL, acu_breaks_no_capture};

acu_object *acu_lease_copy(const char *call, int lease) {
    acu_lease *made = acu_object_new(call, &lease_class, sizeof *made, ACU_DEVICE_CURRENT);
    if (!made)
        return NULL;
    made->descriptor = lease < 0 ? -1 : fcntl(lease, F_DUPFD_CLOEXEC, 0);
    return &made->object;
}

/* Opens the file once more, so that the lock is the new descriptor's, and its copies'. */
static int take_at(const char *path, uint64_t id) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || !change_lock(file, F_OFD_SETLK, F_RDLCK, use_of(id), NULL))
        return file;
    close(file);
    return -1;
}

int acu_lease_lend(uint64_t id) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", own_file());
    return take_at(path, id);
}

/* The file is found by the number of its process, which another one may have by now: only a file
 * with the right name is opened, and only the right one has the lock of the offer. */
int acu_lease_take(const acu_share_body *body) {
    char path[64], real[64];
    if (body->lease < 0 || body->numbering != acu_share_numbering())
        return -1;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)body->process, (int)body->lease);
    const ssize_t size = readlink(path, real, sizeof real - 1);
    real[size > 0 ? size : 0] = '\0';
    return strstr(real, name) ? take_at(path, body->id) : -1;
}

bool acu_lease_is_offered(int lease, uint64_t id) {
    return is_locked(lease, offer_of(id), true);
}
