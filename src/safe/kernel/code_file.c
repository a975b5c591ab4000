/*
 * Code as the bytes of a file: a magic number, a digest of the key and of all that follows, and
 * the parts of the code, each with its kind and its size.
 */
#include "safe/kernel/code_file.h"

#include <stdlib.h>
#include <string.h>

/* The last digit changes with the format. */
static const char magic[8] = {'a', 'c', 'u', 'c', 'o', 'd', 'e', '1'};
enum { HEADER = sizeof magic + ACU_DIGEST_BYTES };

/* Kinds of parts; smaller numbers are forms of images. */
enum { EXPRESSION = 64, NAME, LOG, TITLE };

/* ---- writing ---- */

/* The bytes, or, while `bytes` is NULL, only how many there will be. */
typedef struct writer {
    char *bytes;
    size_t size;
} writer;

static void write_bytes(writer *w, const void *bytes, size_t size) {
    if (w->bytes)
        memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void write_part(writer *w, uint64_t kind, const void *bytes, uint64_t size) {
    if (!bytes)
        return;
    write_bytes(w, &kind, sizeof kind);
    write_bytes(w, &size, sizeof size);
    write_bytes(w, bytes, (size_t)size);
}

static void write_text(writer *w, uint64_t kind, const char *text) {
    write_part(w, kind, text, text ? strlen(text) : 0);
}

static void write_code(writer *w, const acu_code *code) {
    for (size_t i = 0; i < ACU_CODE_FORMS; i++)
        write_part(w, i, code->images[i].bytes, code->images[i].size);
    for (size_t i = 0; i < code->name_count; i++) {
        write_text(w, EXPRESSION, code->names[i].expression);
        write_text(w, NAME, code->names[i].name);
    }
    write_text(w, LOG, code->log);
    write_text(w, TITLE, code->name);
}

static void make_digest(const acu_code_key *key, const char *bytes, size_t size,
                        uint8_t out[ACU_DIGEST_BYTES]) {
    acu_digest digest;
    acu_digest_begin(&digest);
    acu_digest_add(&digest, key->bytes, sizeof key->bytes);
    acu_digest_add(&digest, bytes + HEADER, size - HEADER);
    acu_digest_end(&digest, out);
}

char *acu_code_to_file(const acu_code_key *key, const acu_code *code, size_t *size) {
    uint8_t digest[ACU_DIGEST_BYTES] = {0};
    writer counter = {.size = HEADER};
    write_code(&counter, code);
    writer w = {.bytes = malloc(counter.size)};
    if (!w.bytes)
        return NULL;
    write_bytes(&w, magic, sizeof magic);
    write_bytes(&w, digest, sizeof digest);
    write_code(&w, code);
    make_digest(key, w.bytes, w.size, digest);
    memcpy(w.bytes + sizeof magic, digest, sizeof digest);
    *size = w.size;
    return w.bytes;
}

/* ---- reading ---- */

static bool add_expression(acu_code *code, char **expression) {
    acu_code_name *grown = realloc(code->names, (code->name_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    code->names = grown;
    grown[code->name_count++] = (acu_code_name){.expression = *expression};
    return true;
}

/* Stores a part, whose copy the code takes over; false where it is none, or is there already. */
static bool store_part(acu_code *code, uint64_t kind, char *copy, size_t size) {
    char **text = kind == LOG ? &code->log : kind == TITLE ? &code->name : NULL;
    if (kind == EXPRESSION)
        return add_expression(code, &copy);
    if (kind == NAME && code->name_count > 0)
        text = &code->names[code->name_count - 1].name;
    if (kind < ACU_CODE_FORMS) {
        code->images[kind].size = size;
        text = &code->images[kind].bytes;
    }
    if (!text || *text)
        return false;
    *text = copy;
    return true;
}

/* Reads one part. Returns its bytes; 0 where they are none. */
static size_t read_part(acu_code *code, const char *bytes, size_t left) {
    uint64_t head[2];
    if (left < sizeof head)
        return 0;
    memcpy(head, bytes, sizeof head);
    if (head[1] > left - sizeof head)
        return 0;
    char *copy = acu_code_copy(bytes + sizeof head, (size_t)head[1]);
    if (!copy || !store_part(code, head[0], copy, (size_t)head[1])) {
        free(copy);
        return 0;
    }
    return sizeof head + (size_t)head[1];
}

static bool read_code(acu_code *code, const char *bytes, size_t size) {
    for (size_t at = HEADER; at < size;) {
        const size_t part = read_part(code, bytes + at, size - at);
        if (part == 0)
            return false;
        at += part;
    }
    for (size_t i = 0; i < code->name_count; i++)
        if (!code->names[i].name)
            return false;
    return true;
}

acu_code *acu_code_from_file(const acu_code_key *key, const char *bytes, size_t size) {
    uint8_t digest[ACU_DIGEST_BYTES];
    if (size < HEADER || memcmp(bytes, magic, sizeof magic) != 0)
        return NULL;
    make_digest(key, bytes, size, digest);
    if (memcmp(bytes + sizeof magic, digest, sizeof digest) != 0)
        return NULL;
    acu_code *code = acu_object_alloc(sizeof *code);
    if (!code)
        return NULL;
    memset(code, 0, sizeof *code);
    acu_object_init(&code->object, &acu_code_class, -1);
    if (read_code(code, bytes, size))
        return code;
    (void)acu_object_release(NULL, code, &acu_code_class);
    return NULL;
}
