/*
 * A folder of compiled code. A file is written under another name and then renamed, so that no
 * process sees half of one, and no locks are needed: where two compile the same, the last one's
 * file stays. The time of a file is that of its last use.
 */
#define _GNU_SOURCE /* secure_getenv */
#include "safe/kernel/code_cache.h"
#include "safe/kernel/code_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME_LENGTH = 2 * ACU_DIGEST_BYTES, /* without the ending */
    MOST_TRIES = 100,                   /* names for a file that is being written */
    ABANDONED = 3600                    /* seconds after which nobody writes such a file any more */
};
static const uint64_t DEFAULT_BYTES = (uint64_t)256 << 20u;
static const char ending[] = ".acu", unfinished[] = ".acu-"; /* what unfinished files begin with */

struct acu_code_cache {
    acu_object object;
    char *folder;
    int descriptor; /* of the folder */
    uint64_t max_bytes;
    size_t hits, misses, damaged, skipped, unwritten; /* atomic */
};

/* A counter of a cache goes up. */
#define COUNT_UP(counter) ((void)__atomic_add_fetch(&(counter), 1, __ATOMIC_RELAXED))

/* ---- life ---- */

static int destroy_cache(acu_object *object) {
    acu_code_cache *cache = (acu_code_cache *)object;
    if (cache->descriptor >= 0)
        close(cache->descriptor);
    free(cache->folder);
    return 0;
}

static void describe_cache(const acu_object *object, acu_description *d) {
    const acu_code_cache *cache = (const acu_code_cache *)object;
    if (cache->folder)
        acu_describe(d, "in %s", cache->folder);
}

const acu_class acu_code_cache_class = {"code cache", destroy_cache, describe_cache,
                                        acu_breaks_no_capture};

/* Makes a folder and those that it lies in, for the user alone. Returns an error of the system. */
static int make_folders(const char *path) {
    char part[PATH_MAX];
    const size_t length = strlen(path);
    if (length >= sizeof part)
        return ENAMETOOLONG;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return errno;
    }
    return 0;
}

static int open_folder(const char *call, acu_code_cache *cache) {
    struct stat folder;
    int why = make_folders(cache->folder);
    if (!why) {
        cache->descriptor = open(cache->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        why = cache->descriptor < 0 || fstat(cache->descriptor, &folder) != 0 ||
                      faccessat(cache->descriptor, ".", W_OK | X_OK, AT_EACCESS) != 0
                  ? errno
                  : 0;
    }
    if (why)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "code cannot be kept in %s: %s",
                        cache->folder, strerror(why));
    if ((folder.st_mode & S_IWOTH) == 0)
        return 0;
    acu_fail_hint("take a folder of your own, or chmod o-w it");
    return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                    "everybody can write to %s, and so decide what code runs", cache->folder);
}

static int open_cache(const char *call, const char *folder, uint64_t max_bytes,
                      acu_code_cache **out) {
    acu_code_cache *cache = acu_object_new(call, &acu_code_cache_class, sizeof *cache, -1);
    if (!cache)
        return ACU_ERROR_HOST_MEMORY;
    cache->descriptor = -1;
    cache->max_bytes = max_bytes ? max_bytes : DEFAULT_BYTES;
    cache->folder = acu_code_copy(folder, strlen(folder));
    int code = cache->folder ? open_folder(call, cache)
                             : acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for a path");
    if (code)
        (void)acu_object_release(call, cache, &acu_code_cache_class);
    else
        *out = cache;
    return code;
}

acu_result acu_code_cache_create(const char *folder, const acu_code_cache_options *options,
                                 acu_code_cache **cache) {
    ACU_SCOPE();
    ACU_NEED_POINTER(cache);
    *cache = NULL;
    ACU_NEED_POINTER(folder);
    acu_destroy_deferred();
    ACU_REQUIRE(*folder, ACU_ERROR_ARGUMENT, "'folder' is \"\"");
    return open_cache(__func__, folder, options ? options->max_bytes : 0, cache);
}

/* Opens the cache of the process, or another one where the variable has changed. The caller holds
 * the lock. */
static int open_of_process(const char *call, const char *folder, acu_code_cache **cache) {
    if (*cache && strcmp((*cache)->folder, folder) == 0)
        return 0;
    (void)acu_object_release(NULL, *cache, &acu_code_cache_class);
    *cache = NULL;
    return open_cache(call, folder, 0, cache);
}

int acu_code_cache_choose(const char *call, acu_code_cache *given, acu_code_cache **cache) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static acu_code_cache *of_process; /* the last one is never released */
    const char *folder = secure_getenv("ANYCUDA_CODE_CACHE");
    *cache = NULL;
    if (given) {
        *cache = acu_object_retain(call, given, &acu_code_cache_class);
        return *cache ? 0 : ACU_ERROR_HANDLE;
    }
    if (!folder || !*folder)
        return 0;
    pthread_mutex_lock(&lock);
    int code = open_of_process(call, folder, &of_process);
    acu_object_add_owner(of_process);
    *cache = of_process;
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- files ---- */

static void make_name(const acu_code_key *key, char name[NAME_LENGTH + sizeof ending]) {
    for (size_t i = 0; i < ACU_DIGEST_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", key->bytes[i]);
    memcpy(name + NAME_LENGTH, ending, sizeof ending);
}

/* Reads a file to its end. Returns its bytes, which the caller frees; NULL where there are none, or
 * without memory. */
static char *read_bytes(int descriptor, size_t *size) {
    struct stat file;
    size_t used = 0;
    if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0)
        return NULL;
    *size = (size_t)file.st_size;
    char *bytes = malloc(*size);
    while (bytes && used < *size) {
        const ssize_t got = read(descriptor, bytes + used, *size - used);
        if (got > 0)
            used += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    if (used == *size)
        return bytes;
    free(bytes);
    return NULL;
}

static bool write_bytes(int descriptor, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t put = write(descriptor, bytes, size);
        if (put < 0 && errno != EINTR)
            return false;
        bytes += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

acu_code *acu_code_cache_find(acu_code_cache *cache, const acu_code_key *key) {
    char name[NAME_LENGTH + sizeof ending];
    size_t size = 0;
    make_name(key, name);
    const int file =
        openat(cache->descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *bytes = file < 0 ? NULL : read_bytes(file, &size);
    acu_code *code = bytes ? acu_code_from_file(key, bytes, size) : NULL;
    free(bytes);
    if (code)
        (void)futimens(file, NULL); /* it was used now */
    else if (file >= 0 && unlinkat(cache->descriptor, name, 0) == 0)
        COUNT_UP(cache->damaged);
    if (file >= 0)
        close(file);
    if (code)
        COUNT_UP(cache->hits);
    else
        COUNT_UP(cache->misses);
    return code;
}

void acu_code_cache_skip(acu_code_cache *cache) {
    COUNT_UP(cache->skipped);
}

/* ---- what is in the folder ---- */

typedef struct entry {
    char name[NAME_LENGTH + sizeof ending];
    uint64_t bytes;
    struct timespec used;
} entry;

typedef struct listing {
    entry *entries;
    size_t count, room;
    uint64_t bytes;
} listing;

static bool is_code(const char *name) {
    return strspn(name, "0123456789abcdef") == NAME_LENGTH &&
           strcmp(name + NAME_LENGTH, ending) == 0;
}

static bool is_unfinished(const char *name) {
    return strncmp(name, unfinished, strlen(unfinished)) == 0;
}

static bool add_entry(listing *list, const char *name, const struct stat *file) {
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        entry *grown = realloc(list->entries, room * sizeof *grown);
        if (!grown)
            return false;
        list->entries = grown;
        list->room = room;
    }
    entry *added = &list->entries[list->count++];
    memcpy(added->name, name, sizeof added->name); /* is_code() has seen its length */
    added->bytes = (uint64_t)file->st_size;
    added->used = file->st_mtim;
    list->bytes += added->bytes;
    return true;
}

/* Looks at one file. What a process that ended has left unfinished is removed; with `all`, all that
 * is unfinished. */
static bool look_at(const acu_code_cache *cache, const char *name, bool all, listing *list) {
    struct stat file;
    if (!is_code(name) && !is_unfinished(name))
        return true;
    if (fstatat(cache->descriptor, name, &file, AT_SYMLINK_NOFOLLOW) != 0)
        return true; /* another process was faster */
    if (is_code(name))
        return add_entry(list, name, &file);
    if (all || time(NULL) - file.st_mtim.tv_sec > ABANDONED)
        (void)unlinkat(cache->descriptor, name, 0);
    return true;
}

/* Lists the files of code; the caller frees the entries. Returns an error of the system. */
static int list_files(const acu_code_cache *cache, bool all, listing *list) {
    const int again = openat(cache->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    const struct dirent *next;
    bool whole = true;
    *list = (listing){.count = 0};
    if (!folder) {
        const int why = errno;
        if (again >= 0)
            close(again);
        return why;
    }
    while (whole && (next = readdir(folder)) != NULL)
        whole = look_at(cache, next->d_name, all, list);
    closedir(folder);
    return whole ? 0 : ENOMEM;
}

static int older_first(const void *one, const void *other) {
    const struct timespec *a = &((const entry *)one)->used, *b = &((const entry *)other)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Removes what was not used for longest, until the rest fits; `kept` stays. */
static void trim(const acu_code_cache *cache, const char *kept) {
    listing list;
    if (list_files(cache, false, &list) == 0 && list.bytes > cache->max_bytes) {
        qsort(list.entries, list.count, sizeof *list.entries, older_first);
        for (size_t i = 0; i < list.count && list.bytes > cache->max_bytes; i++) {
            if (strcmp(list.entries[i].name, kept) == 0)
                continue;
            (void)unlinkat(cache->descriptor, list.entries[i].name, 0);
            list.bytes -= list.entries[i].bytes;
        }
    }
    free(list.entries);
}

/* ---- writing ---- */

/* Makes a file of a name that nobody has. Returns its descriptor; -1 where that is impossible. */
static int make_part(const acu_code_cache *cache, char name[64]) {
    static unsigned last;
    int file = -1;
    for (int i = 0; i < MOST_TRIES && file < 0; i++) {
        const unsigned number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
        snprintf(name, 64, "%s%ld-%u", unfinished, (long)getpid(), number);
        file = openat(cache->descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

static bool write_file(const acu_code_cache *cache, const char *name, const char *bytes,
                       size_t size) {
    char part[64];
    const int file = make_part(cache, part);
    if (file < 0)
        return false;
    bool written = write_bytes(file, bytes, size);
    written = close(file) == 0 && written;
    written = written && renameat(cache->descriptor, part, cache->descriptor, name) == 0;
    if (!written)
        (void)unlinkat(cache->descriptor, part, 0);
    return written;
}

void acu_code_cache_store(acu_code_cache *cache, const acu_code_key *key, const acu_code *code) {
    char name[NAME_LENGTH + sizeof ending];
    size_t size = 0;
    char *bytes = acu_code_to_file(key, code, &size);
    make_name(key, name);
    if (bytes && size <= cache->max_bytes && write_file(cache, name, bytes, size))
        trim(cache, name);
    else
        COUNT_UP(cache->unwritten);
    free(bytes);
}

/* ---- properties ---- */

static int code_of(int why) {
    return why == ENOMEM ? ACU_ERROR_HOST_MEMORY : ACU_ERROR_STATE;
}

static size_t counted(const size_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

acu_result acu_code_cache_get_info(acu_code_cache *cache, acu_code_cache_info *info) {
    ACU_SCOPE();
    listing list;
    ACU_NEED_POINTER(info);
    *info = (acu_code_cache_info){.files = 0};
    ACU_NEED(cache, acu_code_cache_class);
    int why = list_files(cache, false, &list);
    free(list.entries);
    ACU_REQUIRE_OF(cache, !why, code_of(why), "cannot list the files: %s", strerror(why));
    *info = (acu_code_cache_info){.files = list.count,
                                  .bytes = list.bytes,
                                  .hits = counted(&cache->hits),
                                  .misses = counted(&cache->misses),
                                  .damaged = counted(&cache->damaged),
                                  .skipped = counted(&cache->skipped),
                                  .unwritten = counted(&cache->unwritten)};
    return 0;
}

acu_result acu_code_cache_clear(acu_code_cache *cache) {
    ACU_SCOPE();
    listing list;
    ACU_NEED(cache, acu_code_cache_class);
    int why = list_files(cache, true, &list);
    for (size_t i = 0; i < list.count; i++)
        if (unlinkat(cache->descriptor, list.entries[i].name, 0) != 0 && errno != ENOENT && !why)
            why = errno;
    free(list.entries);
    ACU_REQUIRE_OF(cache, !why, code_of(why), "cannot remove all files: %s", strerror(why));
    return 0;
}

const char *acu_code_cache_folder(const acu_code_cache *cache) {
    return acu_is(cache, &acu_code_cache_class) ? cache->folder : "";
}

acu_code_cache *acu_code_cache_retain(acu_code_cache *cache) {
    return acu_object_retain(__func__, cache, &acu_code_cache_class);
}

acu_result acu_code_cache_release(acu_code_cache *cache) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, cache, &acu_code_cache_class);
}

void acu_code_cache_cleanup(acu_code_cache **cache) {
    (void)acu_code_cache_release(acu_take(cache));
}

size_t acu_code_cache_describe(const acu_code_cache *cache, char *text, size_t size) {
    return acu_object_describe_as(cache, &acu_code_cache_class, text, size);
}
