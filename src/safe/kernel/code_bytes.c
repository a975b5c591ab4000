/* Bytes of code: of which form they are, whether they are whole, and files of them. */
#include "safe/kernel/code_bytes.h"

#include "core/fail.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- forms ---- */

static const uint32_t FATBIN_MAGIC = 0xba55ed50, ELF_MAGIC = 0x464c457f, LTO_MAGIC = 0x7f4e43ed;
static const char ARCHIVE_MAGIC[] = "!<arch>\n";

/* Machines of ELF files that are the host's. */
enum { MACHINE_X86_64 = 62, MACHINE_AARCH64 = 183 };

static uint64_t read_number(const void *bytes, size_t at, size_t width) {
    uint64_t value = 0;
    memcpy(&value, (const char *)bytes + at,
           width); /* the formats and the machines are little-endian */
    return value;
}

acu_code_form acu_code_form_of(const void *bytes, size_t size) {
    const uint32_t magic = bytes && size >= sizeof magic ? (uint32_t)read_number(bytes, 0, 4) : 0;
    if (magic == FATBIN_MAGIC)
        return ACU_CODE_FATBIN;
    if (magic == LTO_MAGIC)
        return ACU_CODE_LTO;
    if (bytes && size >= strlen(ARCHIVE_MAGIC) &&
        memcmp(bytes, ARCHIVE_MAGIC, strlen(ARCHIVE_MAGIC)) == 0)
        return ACU_CODE_ARCHIVE;
    if (magic != ELF_MAGIC)
        return ACU_CODE_PTX;
    const uint64_t machine = size < 20 ? 0 : read_number(bytes, 18, 2);
    return machine == MACHINE_X86_64 || machine == MACHINE_AARCH64 ? ACU_CODE_OBJECT
                                                                   : ACU_CODE_CUBIN;
}

static bool fits(uint64_t at, uint64_t length, size_t size) {
    return at <= size && length <= size - at;
}

/* Returns whether all parts of the ELF file are within its size. CUDA does not get the size, and
 * would read beyond the end. */
static bool is_whole_elf(const void *bytes, size_t size) {
    if (size < 64 || read_number(bytes, 4, 1) != 2)
        return false;
    uint64_t sections = read_number(bytes, 40, 8), segments = read_number(bytes, 32, 8);
    uint64_t each = read_number(bytes, 58, 2), many = read_number(bytes, 60, 2);
    if (!fits(sections, each * many, size) || (many && each < 64) ||
        !fits(segments, read_number(bytes, 54, 2) * read_number(bytes, 56, 2), size))
        return false;
    for (uint64_t i = 0; i < many; i++) {
        size_t at = (size_t)(sections + i * each);
        bool has_bytes = read_number(bytes, at + 4, 4) != 8; /* SHT_NOBITS */
        if (has_bytes &&
            !fits(read_number(bytes, at + 24, 8), read_number(bytes, at + 32, 8), size))
            return false;
    }
    return true;
}

static bool is_whole_fatbin(const void *bytes, size_t size) {
    return size >= 16 && fits(read_number(bytes, 6, 2), read_number(bytes, 8, 8), size);
}

/* With lazy loading CUDA accepts any text, and fails only when a kernel is asked for. */
static int check_text(const char *call, const char *text) {
    if (!isprint((unsigned char)*text) || strstr(text, ".version"))
        return 0;
    acu_fail_hint("acu_module_compile() compiles CUDA C++");
    return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the text is not PTX: it has no .version");
}

int acu_code_check(const char *call, const void *bytes, size_t size) {
    const acu_code_form form = acu_code_form_of(bytes, size);
    if (!bytes || size == 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "there is no code: the size is 0");
    if ((form == ACU_CODE_CUBIN || form == ACU_CODE_OBJECT) && !is_whole_elf(bytes, size))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "the %s of %zu bytes is incomplete or broken",
                        form == ACU_CODE_CUBIN ? "cubin" : "object file", size);
    if (form == ACU_CODE_FATBIN && !is_whole_fatbin(bytes, size))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the fatbin of %zu bytes is incomplete or broken", size);
    return form == ACU_CODE_PTX ? check_text(call, bytes) : 0;
}

/* ---- copies ---- */

char *acu_code_copy(const void *bytes, size_t size) {
    char *copy = size < PTRDIFF_MAX ? malloc(size + 1) : NULL;
    if (copy) {
        memcpy(copy, bytes, size);
        copy[size] = '\0';
    }
    return copy;
}

/* Reads up to the file's end, or to an error. Returns the bytes with a zero at the end; NULL
 * without memory. */
static char *read_all(FILE *file, size_t *size) {
    size_t room = 65536, used = 0;
    char *bytes = malloc(room);
    while (bytes) {
        size_t wanted = room - used - 1, got = fread(bytes + used, 1, wanted, file);
        used += got;
        if (got < wanted)
            break;
        char *grown = realloc(bytes, room *= 2);
        if (!grown)
            free(bytes);
        bytes = grown;
    }
    if (bytes)
        bytes[used] = '\0';
    *size = used;
    return bytes;
}

char *acu_code_read(const char *path, size_t *size, int *why) {
    FILE *file = fopen(path, "rb");
    char *bytes = file ? read_all(file, size) : NULL;
    const int failed = !file || (bytes && ferror(file)) ? errno : 0;
    if (file)
        fclose(file);
    if (why)
        *why = failed;
    if (!failed)
        return bytes;
    free(bytes);
    return NULL;
}

int acu_code_read_file(const char *call, const char *path, char **bytes, size_t *size) {
    int why = 0;
    *bytes = acu_code_read(path, size, &why);
    if (why)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "cannot read %s: %s", path, strerror(why));
    if (!*bytes)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for what %s holds", path);
    return 0;
}
