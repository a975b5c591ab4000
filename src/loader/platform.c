/* The one file that depends on Linux: glibc's and musl's loader, ELF, files and the clock. */
#define _GNU_SOURCE /* dl_iterate_phdr, dlinfo, secure_getenv */
#include "platform.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "anycuda knows little-endian machines only"
#elif defined(__x86_64__) && defined(__LP64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__) && defined(__LP64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
#error "anycuda knows Linux on x86-64 and aarch64"
#endif

static pthread_mutex_t locks[ACU_LOCK_COUNT] = {
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

const char *acu_platform_env(const char *name) {
    return secure_getenv(name);
}

uint64_t acu_platform_now_ns(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* strerror() may share a buffer between threads, and its text depends on the locale. */
static const char *reason(int error) {
    switch (error) {
    case ENOENT:
        return "no such file";
    case EACCES:
    case EPERM:
        return "permission denied";
    case ELOOP:
        return "its symbolic links go in a circle";
    case ENOTDIR:
        return "a part of the path is not a folder";
    case ENAMETOOLONG:
        return "the path is too long";
    case EIO:
        return "it cannot be read";
    case ENOMEM:
        return "out of memory";
    default:
        return "it cannot be opened";
    }
}

/* ---- opened libraries ----------------------------------------------------------------------- */

void *acu_platform_open(const char *path, bool mapped, char *why, size_t size) {
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | (mapped ? RTLD_NOLOAD : 0));
    if (!handle && why) {
        const char *said = dlerror();
        snprintf(why, size, "%s", said ? said : "it is not in the process any more");
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

const char *acu_platform_path_of(void *handle) {
    struct link_map *map = NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name ? map->l_name : NULL;
}

/* ---- finding files -------------------------------------------------------------------------- */

typedef struct visitor {
    acu_visit *visit;
    acu_enough *enough; /* NULL: never */
    void *data;
} visitor;

/* Paths, each with its end. */
typedef struct mapped_paths {
    acu_wanted *wanted;
    void *data;
    size_t used;
    char text[2 * PATH_MAX];
} mapped_paths;

/* Nothing here may wait: another thread can hold a second lock of the system loader and want this
 * one. */
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
/* The folders of LD_LIBRARY_PATH and the run paths of the object that holds this code. */
static Dl_serinfo *search_path(void) {
    static const char here = 0;
    Dl_info self;
    Dl_serinfo sizes, *path = NULL;
    struct link_map *map = NULL; /* is a handle, too */
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

/* glibc does not mark its built-in folders, which come last, after its cache. */
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

/* /etc/ld.so.cache as glibc 2.2 and later write it; a file of another kind says nothing. */
enum { CACHE_MOST = 64 * 1024 * 1024 }; /* bytes; a usual one has 100 KB */

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

/* The system loader maps it too; ldconfig replaces it as a whole. NULL: no such file. */
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

/* Until 2.31 a cache for older loaders stands before the real one. */
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

typedef struct cache {
    char *file; /* to be unmapped */
    const char *start;
    size_t file_size, count, end; /* entries; end of the strings, from the start */
} cache;

static cache open_cache(const char *path) {
    static const char magic[] = "glibc-ld.so.cache1.1";
    cache c = {NULL, NULL, 0, 0, 0};
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
    /* A zero at the end of the strings keeps every one inside. */
    if (end <= size && header.strings_length && c.start[end - 1] == '\0') {
        c.count = header.count;
        c.end = end;
    }
    return c;
}

static void close_cache(const cache *c) {
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

/* The cache is sorted by this, descending: numbers as numbers, and above text. Wraps as glibc's. */
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

/* Its name and path as offsets from the start; of a damaged one "" twice. */
static cache_entry entry_of(const cache *c, size_t i) {
    cache_entry entry;
    memcpy(&entry, c->start + sizeof(cache_header) + i * sizeof entry, sizeof entry);
    if (entry.name >= c->end || entry.path >= c->end)
        entry.name = entry.path = (uint32_t)(c->end - 1);
    return entry;
}

/* Returns whether that was enough. */
static bool visit_cache(const visitor *v, const cache *c, const char *name) {
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

void acu_platform_cached(const char *cache_path, const char *name, acu_visit *visit, void *data) {
    visitor v = {visit, NULL, data};
    cache c = open_cache(cache_path);
    visit_cache(&v, &c, name);
    close_cache(&c);
}

#ifdef __GLIBC__
/* Returns whether that was enough. */
static bool visit_folders(const visitor *v, const Dl_serpath *folder, const Dl_serpath *end,
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
    visitor v = {visit, enough, data};
    Dl_serinfo *path = search_path();
    const Dl_serpath *first = path ? path->dls_serpath : NULL;
    const Dl_serpath *built_in = first + (path ? first_built_in(path) : 0);
    const Dl_serpath *end = first + (path ? path->dls_cnt : 0);
    cache c = open_cache("/etc/ld.so.cache");
    while (*names && !visit_folders(&v, first, built_in, *names) && !visit_cache(&v, &c, *names) &&
           !visit_folders(&v, built_in, end, *names))
        names++;
    close_cache(&c);
    free(path);
#else
    (void)names; /* musl has no cache, and does not tell its folders */
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

/* ---- reading a library without executing it ---------------------------------------------------
 */

/* A libcudart has its headers and its hash table at its start; little else is asked for. */
enum { START = 4096, GLANCE = 1024 };

static bool is_inside(const acu_elf *elf, uint64_t at, uint64_t length) {
    return at <= elf->size && length <= elf->size - at;
}

static bool holds(const acu_window *w, uint64_t at, size_t length) {
    return at >= w->at && length <= w->length && at - w->at <= w->length - length;
}

/* Returns whether the window has `length` bytes then. */
static bool fill(acu_window *w, int fd, uint64_t at, size_t length) {
    w->at = at;
    w->length = 0;
    while (w->length < w->room) {
        ssize_t got = pread(fd, w->bytes + w->length, w->room - w->length, (off_t)(at + w->length));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* its end, or it shrank while being read */
            break;
        w->length += (size_t)got;
    }
    return length <= w->length;
}

/* `length` bytes at an offset of the file, until the next call; NULL outside of it. */
static const uint8_t *elf_at(acu_elf *elf, uint64_t at, size_t length) {
    acu_window *w = holds(&elf->start, at, length) ? &elf->start : &elf->last;
    if (!is_inside(elf, at, length) || (!holds(w, at, length) && !fill(w, elf->fd, at, length)))
        return NULL;
    return w->bytes + (at - w->at);
}

static bool elf_read(acu_elf *elf, uint64_t at, void *out, size_t length) {
    const uint8_t *bytes = elf_at(elf, at, length);
    if (bytes)
        memcpy(out, bytes, length);
    return bytes != NULL;
}

/* The file offset of an address; 0 if no segment of the file holds it. */
static uint64_t elf_offset(const acu_elf *elf, uint64_t address) {
    for (unsigned i = 0; i < elf->segment_count; i++) {
        uint64_t into = address - elf->segments[i].address;
        if (address >= elf->segments[i].address && into < elf->segments[i].size)
            return elf->segments[i].offset + into;
    }
    return 0;
}

/* Where the link at `path` leads to, to be freed; NULL if it cannot be told. */
static char *read_link(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0, room = folder + PATH_MAX;
    char *next = malloc(room);
    ssize_t got = next ? readlink(path, next + folder, PATH_MAX) : 0;
    size_t end = got > 0 ? folder + (size_t)got : room;
    if (end >= room) {
        free(next);
        return NULL;
    }
    next[end] = '\0';
    if (next[folder] == '/')
        memmove(next, next + folder, end - folder + 1);
    else
        memcpy(next, path, folder);
    return next;
}

/* Follows links from file to file; NULL, or why there is nothing to read from. */
static const char *follow(acu_elf *elf, const char *path, struct stat *st) {
    enum { LINKS = 40 };
    int failed = lstat(path, st);
    for (int links = 0; !failed && S_ISLNK(st->st_mode) && links < LINKS; links++) {
        char *next = read_link(elf->real ? elf->real : path);
        failed = !next || lstat(next, st) != 0;
        free(elf->real);
        elf->real = next;
    }
    /* Only the kernel knows where its own links in /proc lead to, and why one leads nowhere. */
    if ((failed || S_ISLNK(st->st_mode)) && stat(path, st) != 0)
        return reason(errno);
    elf->id = (acu_file_id){st->st_dev, st->st_ino};
    if (S_ISDIR(st->st_mode))
        return "it is a folder";
    if (!S_ISREG(st->st_mode))
        return "it is not a regular file";
    return st->st_size > 0 ? NULL : "it is empty";
}

static const char *check_header(acu_elf *elf, Elf64_Ehdr *header) {
    const uint8_t *magic = elf_at(elf, 0, SELFMAG);
    if (!magic)
        return "it is not an ELF file";
    if (memcmp(magic, ELFMAG, SELFMAG) != 0)
        return memcmp(magic, "INPU", 4) == 0 || memcmp(magic, "/* G", 4) == 0
                   ? "it is a linker script"
                   : "it is not an ELF file";
    if (!elf_read(elf, 0, header, sizeof *header))
        return "it is truncated";
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != OWN_MACHINE)
        return "it is for another machine";
    if (header->e_type != ET_DYN || header->e_phentsize != sizeof(Elf64_Phdr))
        return "it is not a shared library";
    return NULL;
}

static const char *read_segments(acu_elf *elf, const Elf64_Ehdr *header, Elf64_Phdr *dynamic) {
    *dynamic = (Elf64_Phdr){0};
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t at = header->e_phoff + (uint64_t)i * sizeof segment;
        if (at < header->e_phoff || !elf_read(elf, at, &segment, sizeof segment))
            return "it is truncated";
        if (segment.p_type == PT_DYNAMIC)
            *dynamic = segment;
        if (segment.p_type != PT_LOAD)
            continue;
        /* The system loader maps it unasked, and the first touch behind the end is a SIGBUS. */
        if (!is_inside(elf, segment.p_offset, segment.p_filesz))
            return "it is truncated";
        if (elf->segment_count == ACU_ELF_SEGMENTS)
            return "it has too many segments";
        elf->segments[elf->segment_count].address = segment.p_vaddr;
        elf->segments[elf->segment_count].offset = segment.p_offset;
        elf->segments[elf->segment_count].size = segment.p_filesz;
        elf->segment_count++;
    }
    if (!is_inside(elf, dynamic->p_offset, dynamic->p_filesz))
        return "it is truncated";
    return dynamic->p_filesz ? NULL : "it is not a shared library";
}

static const char *read_dynamic(acu_elf *elf, const Elf64_Phdr *dynamic) {
    uint64_t soname = UINT64_MAX;
    for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        if (!elf_read(elf, dynamic->p_offset + i * sizeof entry, &entry, sizeof entry))
            return "it is truncated";
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            elf->symbols = elf_offset(elf, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRTAB)
            elf->strings = elf_offset(elf, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRSZ)
            elf->strings_size = entry.d_un.d_val;
        else if (entry.d_tag == DT_GNU_HASH)
            elf->gnu_hash = elf_offset(elf, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_HASH)
            elf->hash = elf_offset(elf, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_SONAME)
            soname = entry.d_un.d_val;
    }
    if (!elf->symbols || !elf->strings || !(elf->gnu_hash || elf->hash) ||
        !is_inside(elf, elf->strings, elf->strings_size))
        return "its tables are damaged";
    for (size_t i = 0; soname < elf->strings_size && i < elf->strings_size - soname; i++) {
        const uint8_t *c = elf_at(elf, elf->strings + soname + i, 1);
        if (!c || i + 1 == sizeof elf->soname)
            return "its soname is damaged";
        elf->soname[i] = (char)*c;
        if (*c == '\0')
            return NULL;
    }
    return soname == UINT64_MAX ? NULL : "its soname is damaged";
}

static const char *open_file(acu_elf *elf, const char *path) {
    struct stat st;
    /* First, because opening a device or a pipe may have effects, or wait for its other end. */
    const char *wrong = follow(elf, path, &st);
    if (wrong)
        return wrong;
    elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (elf->fd < 0)
        return reason(errno);
    uint8_t *bytes = malloc(START + GLANCE);
    if (!bytes)
        return "out of memory";
    elf->size = (uint64_t)st.st_size;
    elf->start = (acu_window){.bytes = bytes, .room = START};
    elf->last = (acu_window){.bytes = bytes + START, .room = GLANCE};
    return fill(&elf->start, elf->fd, 0, 1) ? NULL : reason(EIO);
}

bool acu_elf_open(acu_elf *elf, const char *path, char *why, size_t size) {
    Elf64_Ehdr header;
    Elf64_Phdr dynamic;
    *elf = (acu_elf){.fd = -1};
    const char *wrong = open_file(elf, path);
    if (!wrong)
        wrong = check_header(elf, &header);
    if (!wrong)
        wrong = read_segments(elf, &header, &dynamic);
    if (!wrong)
        wrong = read_dynamic(elf, &dynamic);
    if (wrong)
        snprintf(why, size, "%s", wrong);
    return !wrong;
}

void acu_elf_close(acu_elf *elf) {
    if (elf->fd >= 0)
        close(elf->fd);
    free(elf->start.bytes);
    free(elf->real);
    elf->fd = -1;
    elf->start.bytes = NULL;
    elf->real = NULL;
}

static bool is_symbol(acu_elf *elf, uint32_t index, const char *name) {
    Elf64_Sym symbol;
    size_t length = strlen(name) + 1;
    if (!elf_read(elf, elf->symbols + (uint64_t)index * sizeof symbol, &symbol, sizeof symbol) ||
        symbol.st_shndx == SHN_UNDEF || symbol.st_name > elf->strings_size ||
        length > elf->strings_size - symbol.st_name)
        return false;
    const uint8_t *found = elf_at(elf, elf->strings + symbol.st_name, length);
    return found && memcmp(found, name, length) == 0;
}

static bool find_by_gnu_hash(acu_elf *elf, const char *name) {
    uint32_t hash = 5381, head[4], index, link;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    if (!elf_read(elf, elf->gnu_hash, head, sizeof head) || head[0] == 0)
        return false;
    uint64_t buckets = elf->gnu_hash + sizeof head + (uint64_t)head[2] * 8;
    uint64_t chain = buckets + (uint64_t)head[0] * 4;
    if (!elf_read(elf, buckets + (uint64_t)(hash % head[0]) * 4, &index, 4) || index < head[1])
        return false;
    /* Ends at the latest with the file. The name itself, which is two reads away, is not compared.
     */
    for (; elf_read(elf, chain + (uint64_t)(index - head[1]) * 4, &link, 4); index++) {
        if ((link | 1U) == (hash | 1U))
            return true;
        if ((link & 1U) || index == UINT32_MAX)
            return false;
    }
    return false;
}

static bool find_by_hash(acu_elf *elf, const char *name) {
    uint32_t hash = 0, head[2], index;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4U) + (uint8_t)*c;
        hash = (hash ^ ((hash >> 24U) & 0xf0U)) & 0x0fffffffU;
    }
    if (!elf_read(elf, elf->hash, head, sizeof head) || head[0] == 0)
        return false;
    uint64_t buckets = elf->hash + sizeof head, chain = buckets + (uint64_t)head[0] * 4;
    if (!elf_read(elf, buckets + (uint64_t)(hash % head[0]) * 4, &index, 4))
        return false;
    /* A damaged chain may go in a circle: no more steps than the file can hold links. */
    for (uint64_t steps = elf->size / 4; index != STN_UNDEF && steps > 0; steps--) {
        if (is_symbol(elf, index, name))
            return true;
        if (!elf_read(elf, chain + (uint64_t)index * 4, &index, 4))
            return false;
    }
    return false;
}

bool acu_elf_exports(acu_elf *elf, const char *symbol) {
    return elf->gnu_hash ? find_by_gnu_hash(elf, symbol) : find_by_hash(elf, symbol);
}
