/*
 * Reads the declarations of a GPU's machine code (a cubin), an ELF file. Its symbols are kernels
 * and variables. A kernel's section ".nv.info.NAME" is a list of attributes: each has a byte for
 * the form of its value, a byte for its number, and the value.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "sim/code/bytes.h"
#include "sim/code/image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190,
    OLD_SYSTEM = 0x33, /* the operating system's number in older files */
    NEW_SYSTEM = 0x41, /* in newer files, whose flags have the architecture in other bits */
    IS_KERNEL = 0x10,  /* a bit in a symbol's `other` byte */
    IS_MANAGED = 0x04, /* a bit in a symbol's `other` byte */
    MOST_SHARED = 1 << 20,
    MOST_PARAMS = 4096,
    MOST_PARAM_BYTES = 32764,
};

/* The numbers of attributes, and the one form that matters: the two bytes after the number are the
 * length of a value that follows. In other forms they are the value itself. */
enum {
    MAX_THREADS = 0x05,
    EXACT_THREADS = 0x10,
    FRAME_BYTES = 0x11,
    PARAM = 0x17,
    PARAM_BYTES = 0x19,
    EXITS = 0x1c,
    REGISTERS = 0x2f,
    CLUSTER = 0x3d,
    EXPLICIT_CLUSTER = 0x3e,
    LARGE_PARAM = 0x45,
    BLOCKS_ARE_CLUSTERS = 0x5b,
    FORM_LONG = 4,
};

typedef struct cubin {
    acu_sim_bytes file, sections, section_names, symbols, symbol_names;
    acu_sim_code_image *image;
} cubin;

typedef struct section {
    const char *name;
    uint64_t type, size, link, info;
    acu_sim_bytes bytes; /* empty if the section is zeros, which the file does not have */
} section;

/* Returns the name at the offset; "" if it is not all within the names. */
static const char *name_in(acu_sim_bytes names, uint64_t offset) {
    bool ends = offset < names.size && memchr(names.at + offset, '\0', names.size - offset);
    return ends ? (const char *)names.at + offset : "";
}

static bool read_section(const cubin *c, uint64_t index, section *s) {
    acu_sim_bytes head;
    if (!acu_sim_bytes_part(c->sections, index * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr), &head))
        return false;
    *s = (section){.name = name_in(c->section_names, acu_sim_bytes_number(head, 0, 4)),
                   .type = acu_sim_bytes_number(head, 4, 4),
                   .size = acu_sim_bytes_number(head, 32, 8),
                   .link = acu_sim_bytes_number(head, 40, 4),
                   .info = acu_sim_bytes_number(head, 44, 4)};
    return s->type == SHT_NOBITS ||
           acu_sim_bytes_part(c->file, acu_sim_bytes_number(head, 24, 8), s->size, &s->bytes);
}

static size_t section_count(const cubin *c) {
    return c->sections.size / sizeof(Elf64_Shdr);
}

/* Returns the file with its size. Code in memory ends where the later of its two tables ends, of
 * sections and of program headers; it is empty where that is too far. */
static acu_sim_bytes with_size(acu_sim_bytes file) {
    uint64_t sections = acu_sim_bytes_number(file, 40, 8),
             programs = acu_sim_bytes_number(file, 32, 8);
    uint64_t end = sections + acu_sim_bytes_number(file, 60, 2) * sizeof(Elf64_Shdr);
    uint64_t other = programs + acu_sim_bytes_number(file, 56, 2) * sizeof(Elf64_Phdr);
    if (file.size != SIZE_MAX)
        return file;
    const bool damaged = sections > ACU_SIM_MOST_CODE || programs > ACU_SIM_MOST_CODE;
    file.size = damaged ? 0 : (size_t)(end > other ? end : other);
    return file;
}

/* Finds the tables; false if the file is damaged, or not a GPU's machine code. */
static bool open_cubin(cubin *c) {
    section s;
    const unsigned char *head = c->file.at;
    bool good = c->file.size >= sizeof(Elf64_Ehdr) && head[EI_CLASS] == ELFCLASS64 &&
                head[EI_DATA] == ELFDATA2LSB && head[EI_VERSION] == EV_CURRENT &&
                (head[EI_OSABI] == OLD_SYSTEM || head[EI_OSABI] == NEW_SYSTEM) &&
                acu_sim_bytes_number(c->file, 18, 2) == MACHINE_CUDA;
    if (!good)
        return false;
    c->file = with_size(c->file);
    uint64_t count = acu_sim_bytes_number(c->file, 60, 2),
             names = acu_sim_bytes_number(c->file, 62, 2);
    if (!acu_sim_bytes_part(c->file, acu_sim_bytes_number(c->file, 40, 8),
                            count * sizeof(Elf64_Shdr), &c->sections) ||
        !read_section(c, names, &s))
        return false;
    c->section_names = s.bytes;
    for (uint64_t i = 0; i < count; i++) {
        section strings;
        if (!read_section(c, i, &s))
            return false;
        if (s.type != SHT_SYMTAB)
            continue;
        if (!read_section(c, s.link, &strings))
            return false;
        c->symbols = s.bytes;
        c->symbol_names = strings.bytes;
    }
    return true;
}

/* Reads the architecture, which is in the flags. */
static void read_architecture(cubin *c) {
    unsigned flags = (unsigned)acu_sim_bytes_number(c->file, 48, 4);
    bool old = c->file.at[EI_OSABI] == OLD_SYSTEM;
    acu_sim_code_image *image = c->image;
    image->binary = (int)(old ? flags & 0xff : flags >> 8 & 0xffff);
    image->variant = flags & (old ? 0x800U : 8U) ? 'a' : '\0';
    image->target = image->binary;
    for (size_t i = 0; i < section_count(c); i++) {
        section s;
        if (read_section(c, i, &s) && strcmp(s.name, ".note.nv.cuinfo") == 0 && s.size >= 28)
            image->target = (int)acu_sim_bytes_number(s.bytes, 26, 2);
    }
}

/* ---- symbols ---- */

typedef struct symbol {
    const char *name;
    unsigned type, other;
    uint64_t value, size;
    section in;
} symbol;

static size_t symbol_count(const cubin *c) {
    return c->symbols.size / sizeof(Elf64_Sym);
}

static bool read_symbol(const cubin *c, uint64_t index, symbol *s) {
    acu_sim_bytes at;
    if (!acu_sim_bytes_part(c->symbols, index * sizeof(Elf64_Sym), sizeof(Elf64_Sym), &at))
        return false;
    *s = (symbol){.name = name_in(c->symbol_names, acu_sim_bytes_number(at, 0, 4)),
                  .type = (unsigned)acu_sim_bytes_number(at, 4, 1) & 15,
                  .other = (unsigned)acu_sim_bytes_number(at, 5, 1),
                  .value = acu_sim_bytes_number(at, 8, 8),
                  .size = acu_sim_bytes_number(at, 16, 8)};
    return read_section(c, acu_sim_bytes_number(at, 6, 2), &s->in) && *s->name;
}

static bool is_kernel(const symbol *s) {
    return s->type == STT_FUNC && s->other & IS_KERNEL;
}

static bool is_constant(const symbol *s) {
    return strcmp(s->in.name, ".nv.constant3") == 0;
}

static bool is_variable(const symbol *s) {
    return s->type == STT_OBJECT && (is_constant(s) || strncmp(s->in.name, ".nv.global", 10) == 0);
}

static cudaError_t add_variable(acu_sim_code_image *image, const symbol *s) {
    acu_sim_variable *v = &image->variables[image->variable_count++];
    acu_sim_bytes bytes;
    *v = (acu_sim_variable){.name = strdup(s->name),
                            .size = (size_t)s->size,
                            .constant = is_constant(s),
                            .managed = (s->other & IS_MANAGED) != 0};
    if (!v->name)
        return cudaErrorMemoryAllocation;
    if (s->value > s->in.size || s->in.size - s->value < s->size)
        return cudaErrorInvalidKernelImage;
    image->constant_bytes += v->constant ? v->size : 0;
    if (s->in.type == SHT_NOBITS || !s->size)
        return cudaSuccess;
    if (!acu_sim_bytes_part(s->in.bytes, s->value, s->size, &bytes))
        return cudaErrorInvalidKernelImage;
    if (!(v->bytes = malloc(bytes.size)))
        return cudaErrorMemoryAllocation;
    memcpy(v->bytes, bytes.at, bytes.size);
    return cudaSuccess;
}

static cudaError_t add_entry(acu_sim_code_image *image, const symbol *s) {
    acu_sim_entry *entry = &image->entries[image->entry_count++];
    *entry = (acu_sim_entry){.name = strdup(s->name)};
    return entry->name ? cudaSuccess : cudaErrorMemoryAllocation;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const acu_sim_entry *)a)->name, ((const acu_sim_entry *)b)->name);
}

static cudaError_t read_symbols(cubin *c) {
    acu_sim_code_image *image = c->image;
    cudaError_t result = cudaSuccess;
    size_t entries = 0, variables = 0;
    symbol s;
    for (size_t i = 0; i < symbol_count(c); i++)
        if (read_symbol(c, i, &s)) {
            entries += is_kernel(&s);
            variables += is_variable(&s);
        }
    image->entries = calloc(entries + 1, sizeof *image->entries);
    image->variables = calloc(variables + 1, sizeof *image->variables);
    if (!image->entries || !image->variables)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; !result && i < symbol_count(c); i++)
        if (read_symbol(c, i, &s))
            result = is_kernel(&s)     ? add_entry(image, &s)
                     : is_variable(&s) ? add_variable(image, &s)
                                       : cudaSuccess;
    if (!result)
        qsort(image->entries, image->entry_count, sizeof *image->entries, compare_names);
    return result;
}

static acu_sim_entry *find_entry(const cubin *c, const char *name) {
    const acu_sim_entry key = {.name = (char *)(uintptr_t)name};
    return bsearch(&key, c->image->entries, c->image->entry_count, sizeof key, compare_names);
}

/* ---- attributes of kernels ---- */

typedef struct attribute {
    unsigned id, number; /* number: the value of a short attribute */
    acu_sim_bytes value; /* the value of a long attribute; else empty */
} attribute;

/* Reads the first attribute of the list and removes it; false if none is left. */
static bool next_attribute(acu_sim_bytes *list, attribute *a) {
    unsigned form = (unsigned)acu_sim_bytes_number(*list, 0, 1);
    *a = (attribute){.id = (unsigned)acu_sim_bytes_number(*list, 1, 1),
                     .number = (unsigned)acu_sim_bytes_number(*list, 2, 2)};
    if (list->size < 4 || !form)
        return false;
    size_t behind = form == FORM_LONG ? a->number : 0;
    return acu_sim_bytes_part(*list, 4, behind, &a->value) &&
           acu_sim_bytes_part(*list, 4 + behind, list->size - 4 - behind, list);
}

static void read_extents(const attribute *a, unsigned extents[3]) {
    for (unsigned i = 0; i < 3; i++)
        extents[i] = (unsigned)acu_sim_bytes_number(a->value, (uint64_t)4 * i, 4);
}

/* Parameters come in any order, usually the last one first. */
static cudaError_t read_param(acu_sim_entry *entry, const attribute *a) {
    size_t index = (size_t)acu_sim_bytes_number(a->value, 4, 2);
    unsigned flags = (unsigned)acu_sim_bytes_number(a->value, 8, 4);
    if (a->value.size < 12 || index >= MOST_PARAMS)
        return cudaErrorInvalidKernelImage;
    if (index >= entry->param_count) {
        acu_sim_param *grown = realloc(entry->params, (index + 1) * sizeof *grown);
        if (!grown)
            return cudaErrorMemoryAllocation;
        memset(grown + entry->param_count, 0, (index + 1 - entry->param_count) * sizeof *grown);
        entry->params = grown;
        entry->param_count = index + 1;
    }
    acu_sim_param *param = &entry->params[index];
    param->offset = (size_t)acu_sim_bytes_number(a->value, 6, 2);
    param->size = a->id == LARGE_PARAM ? flags & 0xffff : flags >> 18;
    return cudaSuccess;
}

static cudaError_t read_attribute(acu_sim_entry *entry, const attribute *a) {
    switch (a->id) {
    case PARAM:
    case LARGE_PARAM:
        return read_param(entry, a);
    case PARAM_BYTES:
        entry->param_bytes = a->number;
        break;
    case EXITS: /* where each exit is in the code; the last one comes last */
        if (a->value.size >= 4)
            entry->last_exit = (unsigned)acu_sim_bytes_number(a->value, a->value.size - 4, 4);
        break;
    case MAX_THREADS:
        read_extents(a, entry->max_threads);
        break;
    case EXACT_THREADS:
        read_extents(a, entry->threads);
        break;
    case CLUSTER:
        read_extents(a, entry->cluster);
        break;
    case EXPLICIT_CLUSTER:
        entry->explicit_cluster = true;
        break;
    case BLOCKS_ARE_CLUSTERS:
        entry->blocks_are_clusters = true;
        break;
    default:
        break;
    }
    return cudaSuccess;
}

static cudaError_t validate_params(acu_sim_entry *entry) {
    if (entry->param_bytes > MOST_PARAM_BYTES)
        return cudaErrorInvalidKernelImage;
    entry->param_room = entry->param_bytes;
    for (size_t i = 0; i < entry->param_count; i++) {
        if (entry->params[i].offset + entry->params[i].size > entry->param_bytes)
            return cudaErrorInvalidKernelImage;
        entry->params[i].place = entry->params[i].offset;
    }
    return cudaSuccess;
}

static cudaError_t read_kernel_info(acu_sim_entry *entry, acu_sim_bytes list) {
    attribute a;
    cudaError_t result = cudaSuccess;
    while (!result && next_attribute(&list, &a))
        result = read_attribute(entry, &a);
    return result ? result : validate_params(entry);
}

/* Reads the attributes that one section has for all kernels: each value begins with a symbol. */
static void read_common_info(const cubin *c, acu_sim_bytes list) {
    attribute a;
    symbol s;
    while (next_attribute(&list, &a)) {
        bool known = a.id == REGISTERS || a.id == FRAME_BYTES;
        acu_sim_entry *entry = known && read_symbol(c, acu_sim_bytes_number(a.value, 0, 4), &s)
                                   ? find_entry(c, s.name)
                                   : NULL;
        unsigned value = (unsigned)acu_sim_bytes_number(a.value, 4, 4);
        if (entry && a.id == REGISTERS)
            entry->registers = value;
        else if (entry)
            entry->local = value;
    }
}

/* CUDA uses the first KiB itself on devices since 9.0, and does not report it. */
static cudaError_t read_shared(const cubin *c, acu_sim_entry *entry, size_t size) {
    size_t own = c->image->binary >= 90 ? 1024 : 0;
    if (size > MOST_SHARED)
        return cudaErrorInvalidKernelImage;
    entry->shared = size > own ? size - own : 0;
    return cudaSuccess;
}

/* Returns the kernel whose name follows the prefix in the section's name; NULL if there is none. */
static acu_sim_entry *entry_of_section(const cubin *c, const section *s, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(s->name, prefix, length) == 0 ? find_entry(c, s->name + length) : NULL;
}

static cudaError_t read_sections(const cubin *c) {
    cudaError_t result = cudaSuccess;
    section s;
    for (size_t i = 0; !result && i < section_count(c); i++) {
        if (!read_section(c, i, &s))
            return cudaErrorInvalidKernelImage;
        acu_sim_entry *of_info = entry_of_section(c, &s, ".nv.info.");
        acu_sim_entry *of_shared = entry_of_section(c, &s, ".nv.shared.");
        if (of_info)
            result = read_kernel_info(of_info, s.bytes);
        else if (of_shared)
            result = read_shared(c, of_shared, (size_t)s.size);
        else if (strcmp(s.name, ".nv.info") == 0)
            read_common_info(c, s.bytes);
    }
    return result;
}

cudaError_t acu_sim_cubin_read(acu_sim_bytes code, acu_sim_code_image *image) {
    cubin c = {.file = code, .image = image};
    if (!open_cubin(&c))
        return cudaErrorInvalidKernelImage;
    read_architecture(&c);
    if (acu_sim_bytes_number(c.file, 16, 2) != ET_EXEC) /* an object file that is not linked yet */
        return cudaErrorNoKernelImageForDevice;
    cudaError_t result = read_symbols(&c);
    return result ? result : read_sections(&c);
}
