#include "core/record.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local acu_thread_record record;

/* ---- recording ---- */

static void mark_cut(int length) {
    if (length >= (int)sizeof record.last.message)
        memcpy(record.last.message + sizeof record.last.message - 4, "...", 4);
}

void acu_record_call(const char *call, int code, const char *format, va_list args) {
    mark_cut(vsnprintf(record.last.message, sizeof record.last.message, format, args));
    for (char *c = record.last.message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    record.last.code = record.last.runtime_code = code;
    record.last.facts = (acu_failure_facts){0};
    record.last.call = call;
    record.last.object[0] = '\0';
    if (!record.hinted)
        record.last.hint[0] = '\0';
    record.hinted = false;
    record.refused = NULL;
}

int acu_record(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    acu_record_call("", code, format, args);
    va_end(args);
    return code;
}

void acu_record_object(const char *call, const char *object) {
    char message[ACU_MESSAGE_SIZE], note[ACU_NOTE_SIZE];
    memcpy(message, record.last.message, sizeof message);
    acu_record_take_note(note);
    mark_cut(snprintf(record.last.message, sizeof record.last.message, "%s%s: %s%s%s", call, note,
                      message, *object ? "; " : "", object));
    record.last.call = call;
    snprintf(record.last.object, sizeof record.last.object, "%s", object);
    record.hinted = false;
    acu_record_complete();
}

void acu_record_facts(int runtime_code, const acu_failure_facts *facts) {
    record.last.runtime_code = runtime_code;
    record.last.facts = *facts;
}

static void (*observer)(void); /* atomic */
static _Thread_local unsigned held;

void acu_record_hold(void) {
    held++;
}

void acu_record_resume(void) {
    held--;
}

void acu_record_observe(void (*observe)(void)) {
    __atomic_store_n(&observer, observe, __ATOMIC_RELEASE);
}

void acu_record_complete(void) {
    void (*observe)(void) = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);
    if (observe && held == 0)
        observe();
}

void acu_record_hint(const char *format, va_list args) {
    vsnprintf(record.last.hint, sizeof record.last.hint, format, args);
    record.hinted = true;
}

int acu_record_recode(int from, int to) {
    if (record.last.code == from)
        record.last.code = record.last.runtime_code = to;
    return to;
}

void acu_record_note(const char *what, size_t index) {
    record.noted = what;
    record.noted_index = index;
}

void acu_record_take_note(char note[ACU_NOTE_SIZE]) {
    note[0] = '\0';
    if (record.noted)
        snprintf(note, ACU_NOTE_SIZE, " (%s %zu)", record.noted, record.noted_index);
    record.noted = NULL;
}

void acu_record_reason(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(record.reason, sizeof record.reason, format, args);
    va_end(args);
}

void acu_record_forget_reason(void) {
    record.reason[0] = '\0';
}

void acu_record_take_reason(char reason[ACU_REASON_SIZE]) {
    memcpy(reason, record.reason, sizeof record.reason);
    acu_record_forget_reason();
}

/* ---- reading ---- */

const acu_failure *acu_record_last(void) {
    return &record.last;
}

void acu_record_clear(void) {
    record.last.code = record.last.runtime_code = 0;
    record.last.facts = (acu_failure_facts){0};
    record.last.message[0] = record.last.object[0] = record.last.hint[0] = '\0';
    record.refused = record.last.call = NULL;
    record.hinted = false;
}

/* ---- refusals ---- */

void acu_record_refusal(const char *name, bool own) {
    record.refused = name;
    if (own)
        record.own = record.last.code;
}

bool acu_record_take_refusal(const char *name, int code) {
    if (record.refused != name || record.last.code != code)
        return false;
    record.refused = NULL;
    return true;
}

int acu_record_own_error(bool take) {
    int own = record.own;
    if (take)
        record.own = 0;
    return own;
}

/* ---- keeping a record through a cleanup ---- */

void acu_record_save(acu_saved_record *saved) {
    saved->any = record.last.code != 0;
    if (saved->any)
        saved->record = record;
}

void acu_record_restore(const acu_saved_record *saved) {
    int own = record.own; /* kept: cudaGetLastError returns the latest error, even of a cleanup */
    if (saved->any)
        record = saved->record;
    else if (record.last.code)
        acu_record_clear();
    record.own = own;
}

static pthread_mutex_t release_lock = PTHREAD_MUTEX_INITIALIZER;
static acu_failure first_release_error; /* under the lock */
static size_t release_error_count;      /* under the lock */

void acu_record_release_error(void) {
    pthread_mutex_lock(&release_lock);
    if (release_error_count++ == 0)
        first_release_error = record.last;
    pthread_mutex_unlock(&release_lock);
}

size_t acu_record_take_release_errors(acu_failure *first) {
    pthread_mutex_lock(&release_lock);
    size_t count = release_error_count;
    *first = first_release_error;
    release_error_count = 0;
    memset(&first_release_error, 0, sizeof first_release_error);
    pthread_mutex_unlock(&release_lock);
    return count;
}

const char *acu_record_one_line(const char *log, char *line, size_t size) {
    size_t used = 0;
    for (; *log && used + 4 < size; log++) {
        if (*log != '\n')
            line[used++] = *log;
        else if (used && log[1] && log[1] != '\n')
            used += (size_t)snprintf(line + used, size - used, " | ");
    }
    line[used] = '\0';
    return line;
}
