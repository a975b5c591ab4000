/* Events as JSON, in the trace-event format. */
#define _POSIX_C_SOURCE 200809L /* strnlen */
#include "layers/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Formats what is short, and for which there is room. */
__attribute__((format(printf, 2, 3))) static void print(acu_json *out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, list);
    va_end(list);
    out->used += length > 0 ? (size_t)length : 0;
}

/* Returns how many bytes the character of UTF-8 has that begins here; 0 if none does. */
static size_t character(const unsigned char *at, size_t size) {
    const size_t length = at[0] < 0x80                     ? 1
                          : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                          : (at[0] & 0xf0U) == 0xe0        ? 3
                          : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                           : 0;
    if (length > size)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0U) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || /* surrogates */
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

/* Puts a text in quotes, or its beginning, in at most `room` bytes. What is no UTF-8 becomes the
 * character that stands for that. */
static void put_text(acu_json *out, const char *text, size_t size, size_t room) {
    const size_t end = out->used + room - sizeof "\xe2\x80\xa6\"";
    print(out, "\"");
    while (size && *text) {
        const unsigned char *at = (const unsigned char *)text;
        const size_t length = character(at, size);
        if (out->used + sizeof "\\u0000" > end) {
            print(out, "\xe2\x80\xa6");
            break;
        }
        if (length == 0)
            print(out, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            print(out, "\\%c", *at);
        else if (*at < ' ' || *at == 0x7f)
            print(out, "\\u%04x", *at);
        else
            print(out, "%.*s", (int)length, text);
        text += length ? length : 1;
        size -= length ? length : 1;
    }
    print(out, "\"");
}

/* The most that a text takes: each argument has room, and a long name leaves some for the rest. */
enum { LONG = 512, KEY = 64 };

void acu_json_begin(acu_json *out, char phase, const char *category, const char *name, uint64_t ts,
                    long thread) {
    out->used = 0;
    out->has_args = false;
    print(out, "{");
    if (name) {
        print(out, "\"name\":");
        put_text(out, name, strlen(name), LONG);
        print(out, ",");
    }
    print(out, "\"cat\":\"%s\",\"ph\":\"%c\",\"ts\":%" PRIu64 ".%03u,\"pid\":%ld,\"tid\":%ld",
          category, phase, ts / 1000, (unsigned)(ts % 1000), (long)getpid(), thread);
}

void acu_json_put_number(acu_json *out, const char *key, uint64_t number) {
    print(out, ",\"%s\":%" PRIu64, key, number);
}

void acu_json_put_time(acu_json *out, const char *key, uint64_t ns) {
    print(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

void acu_json_put_text(acu_json *out, const char *key, const char *text) {
    print(out, ",\"%s\":", key);
    put_text(out, text, strlen(text), KEY);
}

void acu_json_put_arg(acu_json *out, const char *key, size_t key_size, const char *text,
                      size_t size) {
    if (out->used + LONG + KEY + ACU_JSON_TAIL > sizeof out->text)
        return;
    print(out, out->has_args ? "," : ",\"args\":{");
    out->has_args = true;
    put_text(out, key, key_size, KEY);
    print(out, ":");
    put_text(out, text, size, LONG);
}

void acu_json_end(acu_json *out) {
    print(out, out->has_args ? "}}" : "}");
}
