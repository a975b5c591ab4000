/* Fat binaries and machine code, put together by hand as nvcc lays them out. */
#ifndef SIM_BINARIES_H
#define SIM_BINARIES_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

typedef struct binary {
    unsigned char at[16384];
    size_t size;
} binary;

static inline void put(binary *b, const void *data, size_t size) {
    assert_true(size <= sizeof b->at - b->size);
    if (size)
        memcpy(b->at + b->size, data, size);
    b->size += size;
}

static inline void put_number(binary *b, uint64_t number, size_t width) {
    put(b, &number, width);
}

static inline void put_align(binary *b, size_t align) {
    while (b->size % align)
        put_number(b, 0, 1);
}

/* ---- fat binaries ---- */

enum {
    KIND_PTX = 1,
    KIND_CUBIN = 2,
    KIND_OTHER = 8,
    PACKED_LZ4 = 0x2000,
    PACKED_ZSTD = 0x8000,
    FOR_ONE = 0x100000,
    FOR_LINKING = 1 << 30, /* not in the file: the piece has the option of nvcc -rdc=true */
};

typedef struct piece {
    unsigned kind, arch, flags;
    const void *code;
    size_t size, unpacked; /* unpacked: 0 if it is not packed */
} piece;

static inline void put_piece(binary *b, const piece *p) {
    static const char linking[16] = "--compile-only";
    const int links = (p->flags & FOR_LINKING) != 0;
    size_t padded = (p->size + 7) & ~(size_t)7;
    put_number(b, p->kind, 2);
    put_number(b, 0x101, 2);
    put_number(b, links ? 72 + sizeof linking : 64, 4);
    put_number(b, padded, 8);
    put_number(b, p->unpacked ? p->size : 0, 4);
    put_number(b, 0, 8);
    put_number(b, p->arch, 4);
    put_number(b, 0, 8);
    put_number(b, 0x11 | (p->flags & ~(unsigned)FOR_LINKING), 8);
    put_number(b, 0, 8);
    put_number(b, p->unpacked, 8);
    if (links) {
        put_number(b, 72, 4);
        put_number(b, sizeof linking, 4);
        put(b, linking, sizeof linking);
    }
    put(b, p->code, p->size);
    put_align(b, 8);
}

static inline void make_fat_binary(binary *b, const piece *pieces, size_t count) {
    b->size = 0;
    put_number(b, 0xba55ed50, 4);
    put_number(b, 1, 2);
    put_number(b, 16, 2);
    put_number(b, 0, 8);
    for (size_t i = 0; i < count; i++)
        put_piece(b, &pieces[i]);
    uint64_t size = b->size - 16;
    memcpy(b->at + 8, &size, sizeof size);
}

/* ---- machine code: "add" and a few variables ---- */

static inline void put_attribute(binary *b, unsigned id, const uint32_t *words, unsigned count) {
    put_number(b, 4, 1);
    put_number(b, id, 1);
    put_number(b, (uint64_t)4 * count, 2);
    put(b, words, (size_t)4 * count);
}

static inline void put_short_attribute(binary *b, unsigned id, unsigned value) {
    put_number(b, 3, 1);
    put_number(b, id, 1);
    put_number(b, value, 2);
}

static inline void put_param(binary *b, unsigned index, unsigned offset, unsigned size) {
    const uint32_t words[] = {0, index | offset << 16, size << 18 | 0x1f000};
    put_attribute(b, 0x17, words, 3);
}

static int cubin_counts_clusters; /* of two blocks of 32 threads */

/* (float *a, float *b, float *out, unsigned n), at most 256 threads, 40 registers, 16 bytes local.
 */
static inline void put_info_of_add(binary *b) {
    const uint32_t threads[] = {256, 1, 1};
    put_param(b, 3, 24, 4);
    put_param(b, 2, 16, 8);
    put_param(b, 1, 8, 8);
    put_param(b, 0, 0, 8);
    put_short_attribute(b, 0x1b, 255);
    put_attribute(b, 0x1c, (const uint32_t[]){16, 80}, 2);
    put_attribute(b, 0x05, threads, 3);
    put_short_attribute(b, 0x19, 28);
    if (cubin_counts_clusters) {
        put_number(b, 0x5b01, 4);
        put_attribute(b, 0x3d, (const uint32_t[]){2, 1, 1}, 3);
        put_attribute(b, 0x10, (const uint32_t[]){32, 1, 1}, 3);
    }
}

enum { KERNEL_SYMBOL = 1, SECTIONS = 11, SYMBOLS = 6 };

static inline void put_info(binary *b) {
    const uint32_t registers[] = {KERNEL_SYMBOL, 40}, frame[] = {KERNEL_SYMBOL, 16};
    put_attribute(b, 0x2f, registers, 2);
    put_attribute(b, 0x11, frame, 2);
}

static inline unsigned name_at(const char *names, size_t size, const char *name) {
    for (size_t i = 0; i < size; i += strlen(names + i) + 1)
        if (strcmp(names + i, name) == 0)
            return (unsigned)i;
    fail_msg("no name %s", name);
    return 0;
}

static const char section_names[] =
    "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.nv.info.add\0.text.add"
    "\0.nv.global.init\0.nv.global\0.nv.constant3\0.nv.shared.add";
static const char symbol_names[] = "\0add\0counter\0shared_by_all\0table\0factors";

static inline void put_symbol(binary *b, const char *name, unsigned type, unsigned other,
                              unsigned section, uint64_t at, uint64_t size) {
    put_number(b, name_at(symbol_names, sizeof symbol_names, name), 4);
    put_number(b, type, 1);
    put_number(b, other, 1);
    put_number(b, section, 2);
    put_number(b, at, 8);
    put_number(b, size, 8);
}

static inline void put_symbols(binary *b) {
    for (int i = 0; i < 24; i++)
        put_number(b, 0, 1);
    put_symbol(b, "add", STT_FUNC | STB_GLOBAL << 4, 0x10, 6, 0, 32);
    put_symbol(b, "counter", STT_OBJECT, 0, 7, 0, 4);
    put_symbol(b, "shared_by_all", STT_OBJECT, 4, 7, 4, 4);
    put_symbol(b, "table", STT_OBJECT, 0, 8, 0, 100);
    put_symbol(b, "factors", STT_OBJECT, 0, 9, 0, 12);
}

static inline void put_content(binary *b, int section) {
    const uint32_t initial[] = {7, 3};
    const float factors[] = {1, 2, -4};
    if (section == 1)
        put(b, section_names, sizeof section_names);
    if (section == 2)
        put(b, symbol_names, sizeof symbol_names);
    if (section == 3)
        put_symbols(b);
    if (section == 4)
        put_info(b);
    if (section == 5)
        put_info_of_add(b);
    if (section == 6)
        for (int i = 0; i < 32; i++)
            put_number(b, 0, 1);
    if (section == 7)
        put(b, initial, sizeof initial);
    if (section == 9)
        put(b, factors, sizeof factors);
}

static inline void put_section(binary *b, int section, uint64_t at, uint64_t size) {
    static const char *const names[SECTIONS] = {
        "",           ".shstrtab",     ".strtab",       ".symtab",
        ".nv.info",   ".nv.info.add",  ".text.add",     ".nv.global.init",
        ".nv.global", ".nv.constant3", ".nv.shared.add"};
    static const uint32_t types[SECTIONS] = {SHT_NULL,   SHT_STRTAB,   SHT_STRTAB,   SHT_SYMTAB,
                                             0x70000000, 0x70000000,   SHT_PROGBITS, SHT_PROGBITS,
                                             SHT_NOBITS, SHT_PROGBITS, SHT_NOBITS};
    put_number(b, name_at(section_names, sizeof section_names, names[section]), 4);
    put_number(b, types[section], 4);
    put_number(b, 0, 16 - 8);
    put_number(b, 0, 8);
    put_number(b, at, 8);
    put_number(b, section == 8 ? 100 : section == 10 ? 1024 + 512 : size, 8);
    put_number(b, section == 3 ? 2 : 0, 4);
    put_number(b, 0, 4);
    put_number(b, 1, 8);
    put_number(b, section == 3 ? 24 : 0, 8);
}

static inline void make_cubin(binary *b, unsigned arch) {
    uint64_t at[SECTIONS] = {0}, size[SECTIONS] = {0}, tables;
    b->size = 0;
    put(b, "\177ELF\2\1\1\x41\x08\0\0\0\0\0\0\0", 16);
    put_number(b, ET_EXEC, 2);
    put_number(b, 190, 2);
    put_number(b, 1, 4);
    put_number(b, 0, 8);
    put_number(b, 0, 8);
    put_number(b, 0, 8); /* where the sections are: below */
    put_number(b, arch << 8 | 2, 4);
    put_number(b, 64, 2);
    put_number(b, 56, 2);
    put_number(b, 0, 2);
    put_number(b, 64, 2);
    put_number(b, SECTIONS, 2);
    put_number(b, 1, 2);
    for (int i = 1; i < SECTIONS; i++) {
        put_align(b, 8);
        at[i] = b->size;
        put_content(b, i);
        size[i] = b->size - at[i];
    }
    put_align(b, 8);
    tables = b->size;
    memcpy(b->at + 40, &tables, sizeof tables);
    for (int i = 0; i < SECTIONS; i++)
        put_section(b, i, at[i], size[i]);
}

#endif
