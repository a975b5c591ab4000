/*
 * Reads the code that a program loads: PTX, machine code, or a fat binary with several of both, of
 * which the one for the device is read. The size is known of files only; code in memory has its
 * size in its headers.
 */
#define _POSIX_C_SOURCE 200809L /* strdup, strnlen */
#include "sim/code/image.h"

#include "sim/code/bytes.h"
#include "sim/code/execute.h"
#include "sim/code/link.h"
#include "sim/ptx/ptx_module.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void acu_sim_image_clear(acu_sim_code_image *image) {
    acu_sim_execute_forget(image);
    free(image->why);
    for (size_t i = 0; i < image->entry_count; i++) {
        free(image->entries[i].name);
        free(image->entries[i].params);
    }
    for (size_t i = 0; i < image->variable_count; i++) {
        free(image->variables[i].name);
        free(image->variables[i].bytes);
    }
    for (size_t i = 0; i < image->reference_count; i++)
        free(image->references[i].name);
    free(image->entries);
    free(image->variables);
    free(image->references);
    *image = (acu_sim_code_image){.refs = image->refs};
}

void acu_sim_image_release(acu_sim_code_image *image) {
    if (!image || --image->refs)
        return;
    acu_sim_image_clear(image);
    free(image);
}

int acu_sim_image_entry(const acu_sim_code_image *image, const char *name) {
    for (size_t i = 0; i < image->entry_count; i++)
        if (strcmp(image->entries[i].name, name) == 0)
            return (int)i;
    return -1;
}

int acu_sim_image_variable(const acu_sim_code_image *image, const char *name) {
    for (size_t i = 0; i < image->variable_count; i++)
        if (strcmp(image->variables[i].name, name) == 0)
            return (int)i;
    return -1;
}

cudaError_t acu_sim_image_lacks(const acu_sim_code_image *image, const char *name) {
    return image->unlinked
               ? SIM_REFUSE(
                     cudaErrorSymbolNotFound,
                     "the code was compiled with nvcc -rdc=true and has no %s until it is "
                     "linked: give it to cuLinkAddData() or nvJitLink, or compile without it",
                     name)
               : cudaErrorSymbolNotFound;
}

typedef struct reader {
    acu_sim_code_image *image;
    bool links;  /* the code is linked with other code: symbols may be undefined */
    bool beside; /* the PTX is beside machine code, and the driver would not read it */
    char *why;   /* a line for the compiler's log */
    size_t room; /* bytes of `why` */
} reader;

/* ---- PTX and machine code ---- */

/* Returns whether the device can run code of the architecture: its own or an older one. Code of
 * sm_90a runs on 9.0 only, and code of sm_100f on the later devices of its family. */
static bool can_run(int target, char variant) {
    int cc = acu_sim_configuration()->cc;
    return variant == 'a'   ? target == cc
           : variant == 'f' ? target / 10 == cc / 10 && target <= cc
                            : target <= cc;
}

static cudaError_t read_ptx(reader *r, const char *text, size_t size) {
    cudaError_t result = acu_sim_ptx_read(
        text, size, acu_sim_ptx_newest(acu_sim_configuration()->driver), r->image, r->why, r->room);
    if (result)
        return result;
    if (can_run(r->image->target, r->image->variant))
        return r->beside ? cudaSuccess : acu_sim_ptx_validate(r->image, !r->links, r->why, r->room);
    snprintf(r->why, r->room,
             "ptxas fatal   : SM version specified by .target is higher than default SM "
             "version assumed");
    return cudaErrorInvalidPtx;
}

/* Machine code runs on devices of its own major version only. */
static cudaError_t read_machine_code(reader *r, acu_sim_bytes code) {
    cudaError_t result = acu_sim_cubin_read(code, r->image);
    if (result)
        return result;
    return r->image->binary / 10 == acu_sim_configuration()->cc / 10 &&
                   can_run(r->image->binary, r->image->variant)
               ? cudaSuccess
               : cudaErrorNoKernelImageForDevice;
}

/* ---- fat binaries ---- */

enum {
    /* the kinds of code */
    PTX = 1,
    MACHINE_CODE = 2,
    /* the flags */
    PACKED_LZ4 = 0x2000,
    PACKED_ZSTD = 0x8000,
    FOR_ONE = 0x100000,    /* code for one architecture, as sm_90a */
    FOR_FAMILY = 0x200000, /* code for a family, as sm_100f */

    BEST_PTX = 1 << 20, /* all PTX ranks below */
};

/* One code of a fat binary. */
typedef struct piece {
    unsigned kind, flags;
    int arch;                    /* 90 is sm_90 */
    acu_sim_bytes code, options; /* the options are those of ptxas */
    size_t unpacked;             /* bytes of the code when it is unpacked */
} piece;

/* Reads the first of the pieces and removes it from them; false if none is left. */
static bool next_piece(acu_sim_bytes *pieces, piece *p) {
    uint64_t head = acu_sim_bytes_number(*pieces, 4, 4), size = acu_sim_bytes_number(*pieces, 8, 8);
    uint64_t packed = acu_sim_bytes_number(*pieces, 16, 4);
    *p = (piece){.kind = (unsigned)acu_sim_bytes_number(*pieces, 0, 2),
                 .flags = (unsigned)acu_sim_bytes_number(*pieces, 40, 4),
                 .arch = (int)acu_sim_bytes_number(*pieces, 28, 2),
                 .unpacked = (size_t)acu_sim_bytes_number(*pieces, 56, 8)};
    acu_sim_bytes code;
    if (head < 64 || !acu_sim_bytes_part(*pieces, head, size, &code))
        return false;
    if (head >= 72)
        (void)acu_sim_bytes_part(*pieces, acu_sim_bytes_number(*pieces, 64, 4),
                                 acu_sim_bytes_number(*pieces, 68, 4), &p->options);
    p->code = (acu_sim_bytes){code.at, packed && packed < size ? (size_t)packed : (size_t)size};
    return acu_sim_bytes_part(*pieces, head + size, pieces->size - head - size, pieces);
}

/* Returns how well the piece suits the device: machine code before PTX, and the newest first; 0:
 * the device cannot run it. */
static int rank_piece(const piece *p) {
    int cc = acu_sim_configuration()->cc;
    char variant = '\0';
    if (p->flags & (FOR_ONE | FOR_FAMILY))
        variant = p->flags & FOR_ONE ? 'a' : 'f';
    if ((p->kind != PTX && p->kind != MACHINE_CODE) || !can_run(p->arch, variant) ||
        (p->kind == MACHINE_CODE && p->arch / 10 != cc / 10))
        return 0;
    return (p->kind == MACHINE_CODE ? BEST_PTX : 0) + p->arch * 4 + (variant == 'a') * 2 +
           (variant == 'f') + 1;
}

/* Returns whether nvcc -rdc=true made the PTX, which is to be linked. */
static bool is_for_linking(const piece *p) {
    static const char option[] = "--compile-only";
    const size_t size = sizeof option - 1;
    for (size_t at = 0; p->kind == PTX && at + size <= p->options.size; at++)
        if (memcmp(p->options.at + at, option, size) == 0)
            return true;
    return false;
}

static cudaError_t read_plain(reader *r, const piece *p) {
    return p->kind == MACHINE_CODE ? read_machine_code(r, p->code)
                                   : read_ptx(r, (const char *)p->code.at,
                                              strnlen((const char *)p->code.at, p->code.size));
}

static cudaError_t read_packed(reader *r, const piece *p) {
    enum { MOST = 1 << 30 };
    if (!p->unpacked || p->unpacked > MOST)
        return cudaErrorInvalidKernelImage;
    unsigned char *bytes = malloc(p->unpacked);
    piece plain = *p;
    if (!bytes)
        return cudaErrorMemoryAllocation;
    plain.code = (acu_sim_bytes){bytes, p->unpacked};
    bool good = p->flags & PACKED_LZ4 ? acu_sim_lz4_unpack(p->code, bytes, p->unpacked)
                                      : acu_sim_zstd_unpack(p->code, bytes, p->unpacked);
    cudaError_t result = good ? read_plain(r, &plain) : cudaErrorInvalidKernelImage;
    free(bytes);
    return result;
}

static cudaError_t read_piece(reader *r, const piece *p) {
    return p->flags & (PACKED_LZ4 | PACKED_ZSTD) ? read_packed(r, p) : read_plain(r, p);
}

/* Returns the piece that suits the device best of those that rank below; one of rank 0 if there is
 * none. */
static piece find_piece(acu_sim_bytes pieces, int below) {
    piece p, best = {0};
    while (next_piece(&pieces, &p))
        if (rank_piece(&p) < below && rank_piece(&p) > rank_piece(&best))
            best = p;
    return best;
}

/* Says of which architecture the PTX is that the device cannot run; nothing if there is none. */
static void name_newer_ptx(acu_sim_bytes pieces, char *why, size_t room) {
    const int cc = acu_sim_configuration()->cc;
    piece p, found = {0};
    while (next_piece(&pieces, &p))
        if (p.kind == PTX && p.arch > found.arch)
            found = p;
    const char *variant = found.flags & FOR_ONE ? "a" : found.flags & FOR_FAMILY ? "f" : "";
    if (found.arch)
        snprintf(why, room,
                 "it has machine code, which is not simulated, and PTX of compute_%d%s, which a "
                 "device of %d.%d cannot run: simulate one that can, with ANYCUDA_SIM=cc=%d.%d, or "
                 "compile it to PTX of an older one, too, as -gencode "
                 "arch=compute_80,code=compute_80",
                 found.arch, variant, cc / 10, cc % 10, found.arch / 10, found.arch % 10);
}

/* Moves the variables that the other image does not have to it; false without memory. */
static bool add_variables(acu_sim_code_image *to, acu_sim_code_image *from) {
    size_t count = to->variable_count + from->variable_count + 1;
    acu_sim_variable *more = realloc(to->variables, count * sizeof *more);
    if (!more)
        return false;
    to->variables = more;
    for (size_t i = 0; i < from->variable_count; i++)
        if (acu_sim_image_variable(to, from->variables[i].name) < 0) {
            to->variables[to->variable_count++] = from->variables[i];
            from->variables[i] = (acu_sim_variable){.size = 0};
        }
    return true;
}

/* Returns whether the kernels have the same parameters, wherever these lie. */
static bool have_same_params(const acu_sim_entry *a, const acu_sim_entry *b) {
    bool same = a->param_count == b->param_count;
    for (size_t i = 0; i < a->param_count && same; i++)
        same = a->params[i].size == b->params[i].size;
    return same;
}

/* Gives the parameters of kernels the places that they have in the PTX. */
static void place_params(acu_sim_code_image *image, const acu_sim_code_image *ptx) {
    for (size_t i = 0; i < ptx->entry_count; i++) {
        const acu_sim_entry *from = &ptx->entries[i];
        const int index = acu_sim_image_entry(image, from->name);
        acu_sim_entry *to = index < 0 ? NULL : &image->entries[index];
        if (to && to->param_room < from->param_room)
            to->param_room = from->param_room;
        for (size_t n = 0; to && n < from->param_count && have_same_params(to, from); n++)
            to->params[n].place = from->params[n].place;
    }
}

/* Gives kernels all that the PTX says of them. It is of another architecture than the machine code,
 * for which the source may have other sizes of blocks and of shared memory; programs ask for the
 * PTX's version to know which, as CUB does. */
static void take_entries(acu_sim_code_image *image, acu_sim_code_image *ptx) {
    image->target = ptx->target;
    for (size_t i = 0; i < ptx->entry_count; i++) {
        const int index = acu_sim_image_entry(image, ptx->entries[i].name);
        if (index < 0)
            continue;
        const acu_sim_entry machine = image->entries[index];
        image->entries[index] = ptx->entries[i];
        image->entries[index].last_exit = machine.last_exit;
        ptx->entries[i] = machine;
    }
}

/* Gives the image, which is machine code and is not executed, the PTX that was `beside` it, which
 * may have variables that the machine code needs no more. */
static cudaError_t take_text(acu_sim_code_image *image, acu_sim_code_image *beside) {
    if (!add_variables(image, beside))
        return cudaErrorMemoryAllocation;
    if (beside->target == image->binary && beside->variant == image->variant)
        place_params(image, beside);
    else
        take_entries(image, beside);
    image->references = beside->references;
    image->reference_count = beside->reference_count;
    beside->references = NULL;
    beside->reference_count = 0;
    image->text = beside->text;
    image->text_size = beside->text_size;
    image->ptx = beside->ptx;
    image->has_addresses = beside->has_addresses;
    beside->text = NULL;
    beside->ptx = NULL;
    return cudaSuccess;
}

/* Without PTX that can be read the image stays as it is. */
static cudaError_t add_text(acu_sim_code_image *image, acu_sim_bytes pieces) {
    char why[512] = "";
    acu_sim_code_image beside = {0};
    reader r = {.image = &beside, .beside = true, .why = why, .room = sizeof why};
    piece ptx = find_piece(pieces, BEST_PTX);
    cudaError_t result = ptx.code.at ? read_piece(&r, &ptx) : cudaErrorInvalidPtx;
    if (!ptx.code.at)
        name_newer_ptx(pieces, why, sizeof why);
    if (!result)
        result = take_text(image, &beside);
    else if (why[0])
        image->why = strdup(why);
    acu_sim_image_clear(&beside);
    return result == cudaErrorMemoryAllocation ? result : cudaSuccess;
}

/* Reads the best of the pieces; if that turns out to be for another device, the next best. */
static cudaError_t read_pieces(reader *r, acu_sim_bytes pieces) {
    cudaError_t result = cudaErrorNoKernelImageForDevice;
    for (int below = INT_MAX; result == cudaErrorNoKernelImageForDevice;) {
        const piece best = find_piece(pieces, below);
        below = rank_piece(&best);
        if (!below)
            return result;
        acu_sim_image_clear(r->image);
        result = read_piece(r, &best);
        if (!result && !r->links && is_for_linking(&best)) {
            acu_sim_image_clear(r->image);
            r->image->unlinked = true;
        }
    }
    return result || !r->image->binary ? result : add_text(r->image, pieces);
}

/* Finds the pieces of a fat binary. */
static cudaError_t find_pieces(acu_sim_bytes code, acu_sim_bytes *pieces) {
    uint64_t head = acu_sim_bytes_number(code, 6, 2), size = acu_sim_bytes_number(code, 8, 8);
    return acu_sim_bytes_number(code, 4, 2) == 1 && head >= 16 && size <= ACU_SIM_MOST_CODE &&
                   acu_sim_bytes_part(code, head, size, pieces)
               ? cudaSuccess
               : cudaErrorInvalidKernelImage;
}

static cudaError_t read_fat_binary(reader *r, acu_sim_bytes code) {
    acu_sim_bytes pieces;
    SIM_TRY(find_pieces(code, &pieces));
    return read_pieces(r, pieces);
}

/* ---- any code ---- */

/* Returns whether the code begins with the four bytes; text may be shorter. */
static bool begins(const char *code, size_t size, const char magic[4]) {
    return strnlen(code, size < 4 ? size : 4) == 4 && memcmp(code, magic, 4) == 0;
}

#define MACHINE_CODE_MAGIC "\177ELF"
#define FAT_BINARY_MAGIC   "\x50\xed\x55\xba"
#define WRAPPER_MAGIC      "\xb1\x43\x62\x46"

bool acu_sim_image_is_binary(const void *code, size_t size) {
    return begins(code, size, MACHINE_CODE_MAGIC) || begins(code, size, FAT_BINARY_MAGIC) ||
           begins(code, size, WRAPPER_MAGIC);
}

/* Reads PTX, machine code or a fat binary. */
static cudaError_t read_any(reader *r, const void *code, size_t size) {
    if (begins(code, size, MACHINE_CODE_MAGIC))
        return read_machine_code(r, (acu_sim_bytes){code, size});
    if (begins(code, size, FAT_BINARY_MAGIC))
        return read_fat_binary(r, (acu_sim_bytes){code, size});
    return acu_sim_ptx_is_text(code) ? read_ptx(r, code, strlen(code))
                                     : cudaErrorInvalidKernelImage;
}

/* ---- programs of several files ---- */

/* Keeps the first line of the linker's log. */
static void keep_line(void *data, const char *line) {
    const reader *r = data;
    if (!r->why[0])
        snprintf(r->why, r->room, "%.*s", (int)strcspn(line, "\n"), line);
}

cudaError_t acu_sim_image_read_ptx(const void *code, size_t size, acu_sim_code_image **image,
                                   char *why, size_t room) {
    acu_sim_bytes pieces;
    *image = NULL;
    if (!begins(code, size, FAT_BINARY_MAGIC))
        return cudaErrorInvalidKernelImage;
    SIM_TRY(find_pieces((acu_sim_bytes){code, size}, &pieces));
    const piece ptx = find_piece(pieces, BEST_PTX), any = find_piece(pieces, INT_MAX);
    if (!rank_piece(&ptx))
        return rank_piece(&any) ? cudaSuccess : cudaErrorNoKernelImageForDevice;
    reader r = {.image = calloc(1, sizeof *r.image), .links = true, .why = why, .room = room};
    if (!r.image)
        return cudaErrorMemoryAllocation;
    r.image->refs = 1;
    cudaError_t result = read_piece(&r, &ptx);
    if (result)
        acu_sim_image_release(r.image);
    else
        *image = r.image;
    return result;
}

/* Adds the PTX of one file. Files that have machine code only are of a library of NVIDIA's. */
static cudaError_t add_file(reader *r, acu_sim_link *link, const void *code, bool *is_library) {
    acu_sim_code_image *image;
    acu_sim_bytes pieces;
    SIM_TRY(acu_sim_image_read_ptx(code, SIZE_MAX, &image, r->why, r->room));
    *is_library |= !image;
    if (!image && !find_pieces((acu_sim_bytes){code, SIZE_MAX}, &pieces))
        name_newer_ptx(pieces, r->why, r->room);
    cudaError_t result =
        image ? acu_sim_link_add(link, image, "a file of the program") : cudaSuccess;
    acu_sim_image_release(image);
    return result;
}

static cudaError_t link_files(reader *r, acu_sim_link *link, const void *const *files) {
    cudaError_t result = cudaSuccess;
    /* nvcc has found what the machine code needs, also in libcudadevrt, which it does not list. */
    bool with_libraries = r->beside;
    char *text;
    size_t size;
    for (; !result && *files; files++)
        result = add_file(r, link, *files, &with_libraries);
    if (!result)
        result = acu_sim_link_complete(link, with_libraries, &text, &size);
    if (!result)
        result = text ? read_ptx(r, text, size) : cudaErrorNoKernelImageForDevice;
    return result;
}

/* Links the PTX of the files that a program consists of. The list ends with NULL. */
static cudaError_t read_linked(reader *r, const void *const *files) {
    acu_sim_link *link = acu_sim_link_new(keep_line, r);
    cudaError_t result = link ? link_files(r, link, files) : cudaErrorMemoryAllocation;
    acu_sim_link_free(link);
    return result;
}

/* What nvcc compiles into a program. The pointers are valid in memory, but not in a file. */
typedef struct wrapper {
    uint32_t magic, version;
    const void *binary;
    const void *const *linked; /* version 2: the codes that `binary` was linked from, then NULL */
} wrapper;

/* Adds the files' PTX to machine code that nvcc linked. Without such PTX the image stays as it is.
 */
static cudaError_t add_linked(acu_sim_code_image *image, const void *const *files) {
    char why[512] = "";
    acu_sim_code_image beside = {0};
    reader r = {.image = &beside, .beside = true, .why = why, .room = sizeof why};
    cudaError_t result = read_linked(&r, files);
    if (!result)
        result = take_text(image, &beside);
    else if (why[0])
        image->why = strdup(why);
    acu_sim_image_clear(&beside);
    return result == cudaErrorMemoryAllocation ? result : cudaSuccess;
}

/* Code that nvcc linked for other devices is linked again. */
static cudaError_t read_wrapped(reader *r, const wrapper *w) {
    const void *const *files = w->version == 2 && w->linked && *w->linked ? w->linked : NULL;
    cudaError_t result = read_any(r, w->binary, SIZE_MAX);
    if (!result && files && r->image->binary && !r->image->text)
        return add_linked(r->image, files);
    if (result != cudaErrorNoKernelImageForDevice || !files)
        return result;
    acu_sim_image_clear(r->image);
    return read_linked(r, files);
}

/* Refuses a text with a kernel that is not executed. Of a fat binary a program may need others. */
static cudaError_t refuse_left_out(const reader *r, const void *code) {
    return acu_sim_image_is_binary(code, SIZE_MAX)
               ? cudaSuccess
               : acu_sim_ptx_executes(r->image, r->why, r->room);
}

/* Says why nothing of an image runs that is machine code without a fat binary around it: a program
 * made it itself, or loads a file. */
static void explain_machine_code(acu_sim_code_image *image) {
    image->why = strdup(
        "it is machine code, which is not simulated: load PTX in its place, of nvcc -ptx instead "
        "of -cubin, of nvrtcGetPTX() instead of nvrtcGetCUBIN(), linked by cuLinkAddData() or by "
        "nvJitLink with -lto -ptx; where anycuda links it, by ANYCUDA_NVJITLINK=sim");
}

static cudaError_t read_code(const void *code, size_t size, bool links, acu_sim_code_image **image,
                             char *why, size_t room) {
    reader r = {.image = calloc(1, sizeof *r.image), .links = links, .why = why, .room = room};
    why[0] = '\0';
    if (!r.image)
        return cudaErrorMemoryAllocation;
    r.image->refs = 1;
    bool wrapped = size == SIZE_MAX && begins(code, size, WRAPPER_MAGIC);
    cudaError_t result = wrapped ? read_wrapped(&r, code) : read_any(&r, code, size);
    if (!result)
        result = refuse_left_out(&r, code);
    if (!result && begins(code, size, MACHINE_CODE_MAGIC))
        explain_machine_code(r.image);
    if (result)
        acu_sim_image_release(r.image);
    else
        *image = r.image;
    return result;
}

cudaError_t acu_sim_image_read_file(const char *path, char **text, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *read = NULL;
    size_t used = 0, room = 0;
    if (!file)
        return cudaErrorFileNotFound;
    while (!feof(file) && !ferror(file)) {
        if (room - used < 2) {
            char *grown = realloc(read, room = room * 2 + 4096);
            if (!grown)
                break;
            read = grown;
        }
        used += fread(read + used, 1, room - used - 1, file);
    }
    const bool complete = feof(file) || ferror(file);
    (void)fclose(file);
    if (!complete) {
        free(read);
        return cudaErrorMemoryAllocation;
    }
    read[used] = '\0';
    *text = read;
    *size = used;
    return cudaSuccess;
}

/* ---- options of a load ---- */

bool acu_sim_options_are_known(const acu_sim_options *options) {
    if ((options->jit_count && (!options->jit || !options->jit_values)) ||
        (options->library_count && (!options->library || !options->library_values)))
        return false;
    for (unsigned i = 0; i < options->jit_count; i++)
        if (options->jit[i] < 0 || options->jit[i] >= 36)
            return false;
    for (unsigned i = 0; i < options->library_count; i++)
        if (options->library[i] != cudaLibraryHostUniversalFunctionAndDataTable &&
            options->library[i] != cudaLibraryBinaryIsPreserved)
            return false;
    return true;
}

void **acu_sim_options_value(const acu_sim_options *options, int option) {
    for (unsigned i = 0; i < options->jit_count; i++)
        if (options->jit[i] == option)
            return &options->jit_values[i];
    return NULL;
}

/* Writes the text to the buffer of one option, and its length in place of the size that the other
 * option has. Does nothing if one of them was not given. */
static void write_log(const acu_sim_options *options, int buffer, int size, const char *text) {
    void **at = acu_sim_options_value(options, buffer),
         **room = acu_sim_options_value(options, size);
    if (!at || !*at || !room || !*room)
        return;
    int written = snprintf(*at, (size_t)(uintptr_t)*room, "%s", text);
    if ((uintptr_t)written >= (uintptr_t)*room)
        written = (int)((uintptr_t)*room - 1);
    *room = (void *)(uintptr_t)written;
}

unsigned acu_sim_options_registers(const acu_sim_options *options) {
    void **most = acu_sim_options_value(options, cudaJitMaxRegisters);
    return most ? (unsigned)(uintptr_t)*most : 0;
}

/* Limits the registers of the kernels that do not declare themselves what they leave room for. */
static void limit_registers(const acu_sim_code_image *image, unsigned most) {
    for (ptx_function *f = image->ptx ? image->ptx->functions : NULL; f; f = f->next)
        if (!f->max_registers && !f->min_blocks && !f->threads[0] && !f->max_threads[0])
            f->max_registers = most;
}

cudaError_t acu_sim_image_load(const void *code, size_t size, const acu_sim_options *options,
                               acu_sim_code_image **image) {
    char why[512], log[600] = "";
    if (!code || !acu_sim_options_are_known(options))
        return cudaErrorInvalidValue;
    cudaError_t result = read_code(code, size, options->links, image, why, sizeof why);
    if (result && result != cudaErrorNotSupported && why[0])
        acu_record_reason("the PTX is refused: %.*s", (int)strcspn(why, "\n"), why);
    const bool is_last =
        strncmp(why, "ptxas ", 6) == 0 && strncmp(why, "ptxas application", 17) != 0;
    if (result && why[0])
        snprintf(log, sizeof log, "%s%s", why,
                 is_last ? "" : "\nptxas fatal   : Ptx assembly aborted due to errors");
    write_log(options, cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes, log);
    write_log(options, cudaJitInfoLogBuffer, cudaJitInfoLogBufferSizeBytes, "");
    if (!result)
        limit_registers(*image, acu_sim_options_registers(options));
    return result;
}
