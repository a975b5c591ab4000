/* The report for programs: acu-info.schema.json says what is in it. */
#include "report.h"

#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

/* Bytes of the UTF-8 character there; 0 if there is none. */
static size_t utf8(const unsigned char *at) {
    size_t length = *at < 0x80                  ? 1
                    : *at >= 0xc2 && *at < 0xe0 ? 2
                    : *at >= 0xe0 && *at < 0xf0 ? 3
                    : *at >= 0xf0 && *at < 0xf5 ? 4
                                                : 0;
    for (size_t i = 1; i < length; i++)
        if (at[i] < 0x80 || at[i] >= 0xc0)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool beyond = (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf4 && at[1] >= 0x90);
    return overlong || beyond ? 0 : length;
}

/* A path is bytes; what is no text in it becomes U+FFFD. */
static void string(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    putchar('"');
    while (*at) {
        size_t length = utf8(at);
        if (length == 0)
            fputs("\\ufffd", stdout);
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (*at < ' ' || *at == 127)
            printf("\\u%04x", *at);
        else
            fwrite(at, 1, length, stdout);
        at += length ? length : 1;
    }
    putchar('"');
}

static int depth;
static bool first;

/* Begins a member on a line of its own; `key` NULL: an element. */
static void member(const char *key) {
    printf("%s\n%*s", first ? "" : ",", 2 * depth, "");
    first = false;
    if (key) {
        string(key);
        fputs(": ", stdout);
    }
}

static void begin(char bracket) {
    putchar(bracket);
    depth++;
    first = true;
}

static void end(char bracket) {
    depth--;
    if (!first)
        printf("\n%*s", 2 * depth, "");
    putchar(bracket);
    first = false;
}

static void text(const char *key, const char *value) {
    member(key);
    string(value);
}

/* Null where there is nothing to say. */
static void text_or_null(const char *key, const char *value) {
    member(key);
    if (value && *value)
        string(value);
    else
        fputs("null", stdout);
}

static void number(const char *key, unsigned long long value) {
    member(key);
    printf("%llu", value);
}

static void truth(const char *key, bool value) {
    member(key);
    fputs(value ? "true" : "false", stdout);
}

static void number_or_null(const char *key, long long value) {
    member(key);
    if (value == UNKNOWN)
        fputs("null", stdout);
    else
        printf("%lld", value);
}

/* 13000 is "13.0"; 0 is null. */
static void version(const char *key, int value) {
    char name[24];
    snprintf(name, sizeof name, "%d.%d", MAJOR(value), MINOR(value));
    text_or_null(key, value ? name : NULL);
}

/* ---- the report ---- */

static void print_environment(void) {
    member("environment");
    begin('{');
    for (const char *const *name = report_variables; *name; name++) {
        const char *value = getenv(*name);
        if (value)
            text(*name, value);
    }
    end('}');
}

static void print_search(const char *search) {
    member("search");
    begin('[');
    while (*search) {
        char line[8192];
        size_t length = strcspn(search, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, search);
        text(NULL, line);
        search += length + (search[length] == '\n');
    }
    end(']');
}

static void print_library(const library_report *l) {
    const acu_load_info *loaded = l->loaded;
    member(l->key);
    begin('{');
    version("version", loaded ? loaded->version : 0);
    text_or_null("path", loaded ? loaded->path : NULL);
    text_or_null("soname", loaded ? loaded->soname : NULL);
    text_or_null("found", loaded ? loaded->found : NULL);
    truth("simulator", loaded && loaded->is_sim);
    text_or_null("error", l->load.message);
    print_search(l->search);
    end('}');
}

static void print_monitor(const monitor_report *m) {
    member("monitor");
    if (!m->known) {
        fputs("null", stdout);
        return;
    }
    begin('{');
    number_or_null("clock_mhz", m->clock);
    number_or_null("memory_clock_mhz", m->memory_clock);
    number_or_null("temperature", m->temperature);
    number_or_null("milliwatts", m->milliwatts);
    number_or_null("busy_percent", m->busy);
    number_or_null("memory_used", m->memory_used);
    number_or_null("pcie_generation", m->pcie_generation);
    number_or_null("pcie_width", m->pcie_width);
    number_or_null("nvlink_mb_per_s", m->link_speed);
    member("processes");
    begin('[');
    for (size_t i = 0; i < m->process_count; i++) {
        member(NULL);
        begin('{');
        number("id", m->processes[i].id);
        number_or_null("memory",
                       m->processes[i].bytes ? (long long)m->processes[i].bytes : UNKNOWN);
        end('}');
    }
    end(']');
    member("nvlinks");
    begin('[');
    for (size_t i = 0; i < m->link_count; i++) {
        member(NULL);
        begin('{');
        number("number", (unsigned long long)m->links[i].number);
        truth("active", m->links[i].active);
        truth("to_switch", m->links[i].to_switch);
        text_or_null("remote", m->links[i].remote);
        end('}');
    }
    end(']');
    end('}');
}

static void print_pair(const report *r, int from, int to) {
    const pair_report *pair = report_pair(r, from, to);
    member(NULL);
    begin('{');
    number("from", (unsigned long long)from);
    number("to", (unsigned long long)to);
    truth("access", pair->peer.access);
    truth("native_atomics", pair->peer.native_atomics);
    truth("array_access", pair->peer.array_access);
    number("performance_rank", (unsigned long long)pair->peer.performance_rank);
    number("nvlinks", (unsigned long long)pair->nvlinks);
    number_or_null("ancestor", pair->ancestor);
    end('}');
}

static void print_pairs(const report *r) {
    member("links");
    begin('[');
    for (int from = 0; from < r->device_count; from++)
        for (int to = 0; to < r->device_count; to++)
            if (report_pair(r, from, to)->known)
                print_pair(r, from, to);
    end(']');
}

static void print_device(const device_report *d, int ordinal) {
    char capability[24];
    member(NULL);
    begin('{');
    number("ordinal", (unsigned long long)ordinal);
    text_or_null("error", d->asked.message);
    if (!d->asked.code) {
        snprintf(capability, sizeof capability, "%d.%d", d->info.compute_major,
                 d->info.compute_minor);
        text("name", d->info.name);
        text("compute_capability", capability);
        number("memory", d->info.memory);
        number("multiprocessors", (unsigned long long)d->info.multiprocessors);
        text("pci_id", d->info.pci_bus_id);
        text("uuid", d->uuid);
        print_monitor(&d->monitor);
    }
    end('}');
}

static void print_answer(const answer *a) {
    truth("usable", a->code == 0);
    number("code", (unsigned long long)a->code);
    text_or_null("reason", a->message);
}

static void print_feature(const report *r, int feature) {
    member(NULL);
    begin('{');
    text("id", acu_feature_id((acu_feature)feature));
    text("name", acu_feature_name((acu_feature)feature));
    print_answer(&r->features[feature]);
    member("devices");
    begin('[');
    for (int i = 0; i < r->device_count; i++) {
        member(NULL);
        begin('{');
        print_answer(&r->devices[i].features[feature]);
        end('}');
    }
    end(']');
    end('}');
}

void report_print_json(const report *r) {
    first = true;
    begin('{');
    number("schema", 1);
    text("anycuda", ANYCUDA_VERSION);
    version("api", CUDART_VERSION);
    text("verdict", verdict_name(r->verdict));
    number("exit_status", (unsigned long long)r->verdict);
    text_or_null("reason", r->reason.message);
    text_or_null("hint", r->hint);
    version("driver", r->driver);
    member("libraries");
    begin('{');
    for (int i = 0; i < LIBRARIES; i++)
        print_library(&r->libraries[i]);
    end('}');
    member("devices");
    begin('[');
    for (int i = 0; i < r->device_count; i++)
        print_device(&r->devices[i], i);
    end(']');
    print_pairs(r);
    member("features");
    begin('[');
    for (int i = 0; i < ACU_FEATURE_COUNT; i++)
        print_feature(r, i);
    end(']');
    print_environment();
    end('}');
    putchar('\n');
}
