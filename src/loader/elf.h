/* Reads a shared library without executing it, because it is validated before it is opened. */
#ifndef ACU_LOADER_ELF_H
#define ACU_LOADER_ELF_H

#include "loader/platform.h"

/* ACU_ELF_START and ACU_ELF_GLANCE are the bytes to read at once: a libcudart has its headers and
 * hash table at its start, and little else is read. */
enum { ACU_ELF_SEGMENTS = 16, ACU_ELF_START = 4096, ACU_ELF_GLANCE = 1024 };

/* A part of a file in memory. */
typedef struct acu_window {
    uint8_t *bytes;      /* of the acu_elf: its stack is in memory already, a new block is not */
    size_t room, length; /* bytes */
    uint64_t at;         /* offset in the file */
} acu_window;

/* A shared object for this machine. Every offset in its tables is checked against the file's size,
 * because the file may be damaged. */
typedef struct acu_elf {
    int fd;
    uint64_t size;
    acu_window start, last; /* the beginning, which stays, and the part that was read last */
    acu_file_id id;         /* zero if there is no such file */
    char *real;             /* owned; the file to which the links lead; NULL: the path is no link */
    struct {
        uint64_t address, offset, size;
    } segments[ACU_ELF_SEGMENTS];
    unsigned segment_count;
    uint64_t symbols, strings, strings_size, gnu_hash, hash; /* file offsets; 0: none */
    char soname[128];                                        /* "" if it has none */
    uint8_t bytes[ACU_ELF_START + ACU_ELF_GLANCE];           /* of the two windows */
} acu_elf;

/* Opens a file without ever blocking. Returns false, with the reason in `why`, if it is no such
 * library. acu_elf_close() must be called in either case. */
bool acu_elf_open(acu_elf *elf, const char *path, char *why, size_t size);
/* Returns whether the library exports a symbol. Where the library has a GNU hash table only the
 * name's hash of 31 bits is compared; dlsym() decides in the end. */
bool acu_elf_exports(acu_elf *elf, const char *symbol);
void acu_elf_close(acu_elf *elf);

#endif
