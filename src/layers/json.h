/*
 * One event of a trace for viewers, as JSON. The text is on the stack and its size is bounded;
 * whatever is left out, the text stays JSON.
 */
#ifndef ACU_LAYERS_JSON_H
#define ACU_LAYERS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ACU_JSON = 4000,
    ACU_JSON_TAIL = 512
}; /* bytes; a page of the file has room for one event */

typedef struct acu_json {
    char text[ACU_JSON];
    size_t used;
    bool has_args;
} acu_json;

/* Begins an event: {"name":"…","cat":"…","ph":"X","ts":…,"pid":…,"tid":…; `ts` is in ns. `name` is
 * NULL where a range ends, whose name viewers know. */
void acu_json_begin(acu_json *out, char phase, const char *category, const char *name, uint64_t ts,
                    long thread);
/* Adds a member of the event: "key":number. */
void acu_json_put_number(acu_json *out, const char *key, uint64_t number);
/* Adds a time in ns as us, which viewers expect. */
void acu_json_put_time(acu_json *out, const char *key, uint64_t ns);
/* Adds a member of the event that is a text. */
void acu_json_put_text(acu_json *out, const char *key, const char *text);
/* Adds a member of "args", which are the event's last members, if there is room. */
void acu_json_put_arg(acu_json *out, const char *key, size_t key_size, const char *text,
                      size_t size);
/* Ends the event. */
void acu_json_end(acu_json *out);

#endif
