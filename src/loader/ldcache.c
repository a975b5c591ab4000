/* /etc/ld.so.cache as glibc 2.2 and later write it. */
#define _POSIX_C_SOURCE 200809L
#include "loader/ldcache.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CACHE_MOST = 64 * 1024 * 1024 }; /* bytes; a usual cache has 100 KB */

typedef struct cache_header {
    char magic[20]; /* "glibc-ld.so.cache1.1" */
    uint32_t count, strings_length, unused[5];
} cache_header;

typedef struct cache_entry {
    int32_t flags;
    uint32_t name, path; /* offsets from the header */
    uint32_t os_version;
    uint64_t hwcap; /* 0: for every machine */
} cache_entry;

/* Maps a file; NULL if there is none. Mapping is safe because ldconfig replaces the file as a
 * whole. */
static char *map_whole(const char *path, size_t limit, size_t *size) {
    void *bytes = MAP_FAILED;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (uint64_t)st.st_size < limit) {
        *size = (size_t)st.st_size;
        bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* Returns the offset of the cache: until glibc 2.31 a cache for older loaders stands before it. */
static size_t skip_old_cache(const char *file, size_t size) {
    static const char magic[] = "ld.so-1.7.0";
    enum { HEADER = 16, ENTRY = 12 };
    uint32_t count = 0;
    if (size < HEADER || strncmp(file, magic, sizeof magic - 1) != 0)
        return 0;
    memcpy(&count, file + HEADER - sizeof count, sizeof count);
    uint64_t end = (HEADER + (uint64_t)count * ENTRY + 7) & ~(uint64_t)7;
    return end < size ? (size_t)end : size;
}

acu_ldcache acu_ldcache_open(const char *path) {
    static const char magic[] = "glibc-ld.so.cache1.1";
    acu_ldcache c = {NULL, NULL, 0, 0, 0};
    cache_header header;
    c.file = map_whole(path, CACHE_MOST, &c.file_size);
    if (!c.file)
        return c;
    size_t skip = skip_old_cache(c.file, c.file_size), size = c.file_size - skip;
    c.start = c.file + skip;
    if (size < sizeof header || strncmp(c.start, magic, sizeof magic - 1) != 0)
        return c;
    memcpy(&header, c.start, sizeof header);
    size_t end = sizeof header + (size_t)header.count * sizeof(cache_entry) + header.strings_length;
    /* With a zero at their end, every string ends inside the file. */
    if (end <= size && header.strings_length && c.start[end - 1] == '\0') {
        c.count = header.count;
        c.end = end;
    }
    return c;
}

void acu_ldcache_close(const acu_ldcache *c) {
    if (c->file)
        munmap(c->file, c->file_size);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static uint32_t take_number(const char **at) {
    uint32_t number = 0;
    while (is_digit(**at))
        number = number * 10 + (uint32_t)(*(*at)++ - '0');
    return number;
}

/* Compares in the order in which the cache is sorted, descending: numbers by value, and above text.
 * Differences wrap around, as they do in glibc. */
static int compare_names(const char *a, const char *b) {
    for (;;) {
        if (is_digit(*a) && is_digit(*b)) {
            uint32_t difference = take_number(&a);
            difference -= take_number(&b);
            if (difference)
                return (int32_t)difference;
        } else if (is_digit(*a) != is_digit(*b)) {
            return is_digit(*a) ? 1 : -1;
        } else if (*a != *b || *a == '\0') {
            return *a - *b;
        } else {
            a++;
            b++;
        }
    }
}

/* Returns an entry; name and path are offsets from the start, and lead to "" if the entry is
 * damaged. */
static cache_entry entry_of(const acu_ldcache *c, size_t i) {
    cache_entry entry;
    memcpy(&entry, c->start + sizeof(cache_header) + i * sizeof entry, sizeof entry);
    if (entry.name >= c->end || entry.path >= c->end)
        entry.name = entry.path = (uint32_t)(c->end - 1);
    return entry;
}

bool acu_ldcache_visit(const acu_ldcache *c, const char *name, const acu_visitor *v) {
    size_t first = 0, end = c->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (compare_names(c->start + entry_of(c, middle).name, name) > 0)
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < c->count; first++) {
        cache_entry entry = entry_of(c, first);
        if (compare_names(c->start + entry.name, name) != 0)
            break;
        if (entry.hwcap != 0)
            continue;
        v->visit(v->data, c->start + entry.path);
        if (v->enough && v->enough(v->data))
            return true;
    }
    return false;
}
