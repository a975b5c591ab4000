
#define _GNU_SOURCE /* dl_iterate_phdr, dlinfo, secure_getenv */
#include "loader/platform.h"
#include "loader/ldcache.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

ACU_WARM static pthread_mutex_t locks[ACU_LOCK_COUNT] = {
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER,
};

void acu_platform_lock(acu_lock lock) {
    pthread_mutex_lock(&locks[lock]);
}

void acu_platform_unlock(acu_lock lock) {
    pthread_mutex_unlock(&locks[lock]);
}

void acu_platform_forget_locks(void) {
    for (int i = 0; i < ACU_LOCK_COUNT; i++)
        pthread_mutex_init(&locks[i], NULL);
}

const char *acu_platform_env(const char *name) {
    return secure_getenv(name);
}

bool acu_platform_is_setuid(void) {
    return getauxval(AT_SECURE) != 0;
}

uint64_t acu_platform_now_ns(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* rt_sigprocmask() reads its set of signals, 8 bytes, before it refuses an action that does not
 * exist, and then changes nothing. One aligned set in each page is enough. Where the system forbids
 * the call, memory counts as readable. */
bool acu_platform_is_readable(const void *at, size_t size) {
    enum { SET = 8, PAGE = 4096 }; /* other page sizes are multiples */
    const uintptr_t start = (uintptr_t)at, end = start + size;
    const int before = errno;
    bool readable = end >= start;
    for (uintptr_t page = start & ~(uintptr_t)(SET - 1); page < end && readable;
         page = (page & ~(uintptr_t)(PAGE - 1)) + PAGE)
        readable = syscall(SYS_rt_sigprocmask, -1, page, NULL, (size_t)SET) == 0 || errno != EFAULT;
    errno = before;
    return readable;
}

/* ---- opened libraries ---- */

void *acu_platform_open(const char *path, bool mapped, char *why, size_t size) {
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | (mapped ? RTLD_NOLOAD : 0));
    if (!handle && why) {
        const char *reason = dlerror();
        snprintf(why, size, "%s", reason ? reason : "it is not in the process any more");
    }
    return handle;
}

acu_fn acu_platform_symbol(void *handle, const char *name) {
    /* ISO C has no cast between these; POSIX promises that their bits are the same. */
    void *address = dlsym(handle, name);
    acu_fn fn = NULL;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

acu_fn acu_platform_program_symbol(const char *name) {
    return acu_platform_symbol(RTLD_DEFAULT, name);
}

const char *acu_platform_path_of(void *handle) {
    struct link_map *map = NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name ? map->l_name : NULL;
}

/* ---- finding files ---- */

/* Paths, each ended by a zero. */
typedef struct mapped_paths {
    acu_wanted *wanted;
    void *data;
    size_t used;
    char text[2 * PATH_MAX];
} mapped_paths;

/* Copies the paths that are mapped. The system loader calls this function under a lock of its own,
 * so this must not wait: another thread can hold a second lock of the system loader and need the
 * first. */
static int copy_mapped(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    mapped_paths *paths = data;
    if (!info->dlpi_name || !*info->dlpi_name || !paths->wanted(paths->data, info->dlpi_name))
        return 0;
    size_t length = strlen(info->dlpi_name) + 1;
    if (length <= sizeof paths->text - paths->used) {
        memcpy(paths->text + paths->used, info->dlpi_name, length);
        paths->used += length;
    }
    return 0;
}

void acu_platform_mapped(acu_wanted *wanted, acu_visit *visit, void *data) {
    mapped_paths paths;
    paths.wanted = wanted;
    paths.data = data;
    paths.used = 0;
    dl_iterate_phdr(copy_mapped, &paths);
    for (size_t at = 0; at < paths.used; at += strlen(paths.text + at) + 1)
        visit(data, paths.text + at);
}

#ifdef __GLIBC__
/* Returns the folders of LD_LIBRARY_PATH and the run paths of the object that holds this code. */
static Dl_serinfo *search_path(void) {
    static const char here = 0;
    Dl_info self;
    Dl_serinfo sizes, *path = NULL;
    struct link_map *map = NULL; /* glibc accepts it as a handle */
    if (dladdr1(&here, &self, (void **)&map, RTLD_DL_LINKMAP) && map &&
        dlinfo(map, RTLD_DI_SERINFOSIZE, &sizes) == 0 && (path = malloc(sizes.dls_size)) != NULL) {
        path->dls_size = sizes.dls_size;
        path->dls_cnt = sizes.dls_cnt;
        if (dlinfo(map, RTLD_DI_SERINFO, path) != 0) {
            free(path);
            path = NULL;
        }
    }
    return path;
}

/* Returns the index of the first built-in folder. glibc does not mark its built-in folders, which
 * come last, after its cache. */
static unsigned first_built_in(const Dl_serinfo *path) {
    unsigned first = path->dls_cnt;
    for (; first > 0; first--) {
        const char *name = path->dls_serpath[first - 1].dls_name;
        if (strncmp(name, "/usr", 4) == 0)
            name += 4;
        if (strcmp(name, "/lib") != 0 && strcmp(name, "/lib64") != 0 &&
            !(strncmp(name, "/lib/", 5) == 0 && strstr(name, "-linux-gnu")))
            break;
    }
    return first;
}
#endif

#ifdef __GLIBC__
/* Returns whether `enough` returned true. */
static bool visit_folders(const acu_visitor *v, const Dl_serpath *folder, const Dl_serpath *end,
                          const char *name) {
    char path[PATH_MAX];
    for (; folder < end; folder++) {
        int length =
            snprintf(path, sizeof path, "%s/%s", *folder->dls_name ? folder->dls_name : ".", name);
        if (length < 0 || (size_t)length >= sizeof path)
            continue;
        v->visit(v->data, path);
        if (v->enough && v->enough(v->data))
            return true;
    }
    return false;
}
#endif

void acu_platform_system(const char *const *names, acu_visit *visit, acu_enough *enough,
                         void *data) {
#ifdef __GLIBC__
    acu_visitor v = {visit, enough, data};
    Dl_serinfo *path = search_path();
    const Dl_serpath *first = path ? path->dls_serpath : NULL;
    const Dl_serpath *built_in = first + (path ? first_built_in(path) : 0);
    const Dl_serpath *end = first + (path ? path->dls_cnt : 0);
    acu_ldcache c = acu_ldcache_open("/etc/ld.so.cache");
    while (*names && !visit_folders(&v, first, built_in, *names) &&
           !acu_ldcache_visit(&c, *names, &v) && !visit_folders(&v, built_in, end, *names))
        names++;
    acu_ldcache_close(&c);
    free(path);
#else
    (void)names; /* musl has no cache, and does not report its folders */
    (void)visit;
    (void)enough;
    (void)data;
#endif
}

static bool escape(const char *text, char *out, size_t size) {
    size_t used = 0;
    for (; *text; text++) {
        if (used + 3 > size)
            return false;
        if (strchr("*?[]\\{}~", *text))
            out[used++] = '\\';
        out[used++] = *text;
    }
    out[used] = '\0';
    return true;
}

void acu_platform_match(const char *folder, const char *pattern, acu_visit *visit, void *data) {
    char escaped[PATH_MAX], whole[2 * PATH_MAX];
    glob_t found;
    if (!escape(folder, escaped, sizeof escaped))
        return;
    snprintf(whole, sizeof whole, "%s/%s", escaped, pattern);
    if (glob(whole, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i-- > 0;)
            visit(data, found.gl_pathv[i]);
    }
    globfree(&found);
}

bool acu_platform_file_id(const char *path, acu_file_id *id) {
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    *id = (acu_file_id){st.st_dev, st.st_ino};
    return true;
}
