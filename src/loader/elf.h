/* Reads a shared library without executing it: what is loaded is judged before it is opened. */
#ifndef ACU_LOADER_ELF_H
#define ACU_LOADER_ELF_H

#include "loader/platform.h"

enum { ACU_ELF_SEGMENTS = 16 };

/* A part of a file, as it was read. */
typedef struct acu_window {
    uint8_t *bytes;
    size_t room, length;
    uint64_t at;
} acu_window;

/* A shared object of this machine. What its tables say is believed only inside the file's bounds.
 */
typedef struct acu_elf {
    int fd;
    uint64_t size;
    acu_window start, last; /* a part that stays, and one that moves */
    acu_file_id id;         /* zero if nothing is there */
    char *real;             /* the file behind links from file to file; NULL: the path is no link */
    struct {
        uint64_t address, offset, size;
    } segments[ACU_ELF_SEGMENTS];
    unsigned segment_count;
    uint64_t symbols, strings, strings_size, gnu_hash, hash; /* file offsets; 0: none */
    char soname[128];                                        /* "" if it has none */
} acu_elf;

/* Close it in either case. Never blocks; `why` says what is wrong with the file. */
bool acu_elf_open(acu_elf *elf, const char *path, char *why, size_t size);
/* By the hash of its name, where there is one of 31 bits: the last word has dlsym(). */
bool acu_elf_exports(acu_elf *elf, const char *symbol);
void acu_elf_close(acu_elf *elf);

#endif
