#define _GNU_SOURCE /* lstat, pread, readlink */
#include "loader/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "anycuda supports little-endian machines only"
#elif defined(__x86_64__) && defined(__LP64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__) && defined(__LP64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
#error "anycuda supports Linux on x86-64 and aarch64 only"
#endif

/* Returns the text of an error. strerror() may share a buffer between threads, and its text depends
 * on the locale. */
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

static bool is_inside(const acu_elf *elf, uint64_t at, uint64_t length) {
    return at <= elf->size && length <= elf->size - at;
}

static bool holds(const acu_window *w, uint64_t at, size_t length) {
    return at >= w->at && length <= w->length && at - w->at <= w->length - length;
}

/* Reads from an offset on; returns whether the window then holds at least `length` bytes. */
static bool fill(acu_window *w, int fd, uint64_t at, size_t length) {
    w->at = at;
    w->length = 0;
    while (w->length < w->room) {
        ssize_t got = pread(fd, w->bytes + w->length, w->room - w->length, (off_t)(at + w->length));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* the end, which may come early if the file shrank */
            break;
        w->length += (size_t)got;
    }
    return length <= w->length;
}

/* Returns `length` bytes at an offset of the file, valid until the next call; NULL outside the
 * file. */
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

/* Returns the file offset of an address; 0 if no segment of the file holds it. */
static uint64_t elf_offset(const acu_elf *elf, uint64_t address) {
    for (unsigned i = 0; i < elf->segment_count; i++) {
        uint64_t into = address - elf->segments[i].address;
        if (address >= elf->segments[i].address && into < elf->segments[i].size)
            return elf->segments[i].offset + into;
    }
    return 0;
}

/* Returns the target of the link at `path`, which the caller frees; NULL if it cannot be read. */
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

/* Follows links from file to file; returns NULL, or why there is no file to read. */
static const char *follow(acu_elf *elf, const char *path, struct stat *st) {
    enum { LINKS = 40 };
    int failed = lstat(path, st);
    for (int links = 0; !failed && S_ISLNK(st->st_mode) && links < LINKS; links++) {
        char *next = read_link(elf->real ? elf->real : path);
        failed = !next || lstat(next, st) != 0;
        free(elf->real);
        elf->real = next;
    }
    /* stat() is tried, too, because only the kernel can follow its own links in /proc, and because
     * it gives the reason where a link leads nowhere. */
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
        /* The system loader would map such a segment, and reading behind the file's end is a
         * SIGBUS. */
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
    /* Links are followed first, because opening a device or a pipe may have effects, or wait for
     * its other end. */
    const char *wrong = follow(elf, path, &st);
    if (wrong)
        return wrong;
    elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (elf->fd < 0)
        return reason(errno);
    elf->size = (uint64_t)st.st_size;
    elf->start = (acu_window){.bytes = elf->bytes, .room = ACU_ELF_START};
    elf->last = (acu_window){.bytes = elf->bytes + ACU_ELF_START, .room = ACU_ELF_GLANCE};
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
    free(elf->real);
    elf->fd = -1;
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
    /* The loop ends at the latest with the file. The name itself is not compared, because that
     * would take two more reads. */
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
