/* The report for people: 80 columns, colours on a terminal only. */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "report.h"

#include <anycuda/cudart.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 80, LABEL = 14, GIB = 1073741824 };

/* ---- words on lines ---- */

static bool colours;

static const char *style(const char *escape) {
    return colours ? escape : "";
}

#define BOLD  style("\033[1m")
#define GREEN style("\033[1;32m")
#define RED   style("\033[1;31m")
#define AMBER style("\033[1;33m")
#define PLAIN style("\033[0m")

static bool wants_colours(void) {
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

/* Names and paths may hold anything. */
static void put(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        putchar((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i]);
}

/* Breaks at spaces, with room for a comma; what is longer than a line, such as a path, stays whole
 * so that it can be copied. `column` is where the line stands. Returns where it ends. */
static size_t wrap(const char *text, size_t indent, size_t column) {
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > indent && column + 1 + length >= WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        put(text, length);
        column += length;
        text += length + strspn(text + length, " ");
    }
    return column;
}

static void heading(const char *text) {
    printf("\n%s%s%s\n", BOLD, text, PLAIN);
}

/* "Driver        13.0 …": a label, and what belongs to it beside it. */
static void line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *format, ...) {
    char text[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("%-*s", LABEL, label);
    wrap(text, LABEL, LABEL);
    putchar('\n');
}

/* What the messages say for those who did not ask here. */
static void without_advice(char *message) {
    char *advice = strstr(message, "; acu_load_trace()");
    if (advice)
        *advice = '\0';
}

/* ---- verdict ---- */

/* Leaves away what to do at the end of the reason, because it is printed by itself. */
static void without_hint(char *text, const char *hint) {
    char *at = *hint ? strstr(text, hint) : NULL;
    if (at && at - text > 2)
        at[-2] = '\0';
}

void report_print_verdict(const report *r) {
    const char *const texts[] = {
        [VERDICT_GPU] = "A GPU can be used.",
        [VERDICT_ERROR] = "CUDA does not work here.",
        [VERDICT_USAGE] = "",
        [VERDICT_NO_LIBRARY] = "No GPU can be used: there is no CUDA runtime library.",
        [VERDICT_NO_DRIVER] = r->driver ? "No GPU can be used: the driver is not for this runtime."
                                        : "No GPU can be used: there is no NVIDIA driver.",
        [VERDICT_NO_DEVICE] = "No GPU can be used: there is no device.",
        [VERDICT_SIMULATOR] = "No GPU is used: this is the simulator.",
    };
    colours = wants_colours();
    const char *colour = r->verdict == VERDICT_GPU         ? GREEN
                         : r->verdict == VERDICT_SIMULATOR ? AMBER
                                                           : RED;
    printf("%s%s%s\n", colour, texts[r->verdict], PLAIN);
    if (*r->reason.message) {
        char text[2048];
        snprintf(text, sizeof text, "%s", r->reason.message);
        without_hint(text, r->hint);
        without_advice(text);
        printf("  ");
        wrap(text, 2, 2);
        putchar('\n');
    }
    if (*r->hint) {
        printf("  to do: ");
        wrap(r->hint, 9, 9);
        putchar('\n');
    }
}

/* ---- libraries ---- */

static void print_library(const report *r, int which) {
    const library_report *l = &r->libraries[which];
    char version[16] = "not found";
    if (l->loaded)
        snprintf(version, sizeof version, "%d.%d", MAJOR(l->loaded->version),
                 MINOR(l->loaded->version));
    if (which == DRIVER_API && r->driver)
        line(l->title, "supports CUDA %d.%d%s%s", MAJOR(r->driver), MINOR(r->driver),
             l->loaded ? "  " : "", l->loaded ? l->loaded->path : "");
    else if (l->loaded)
        line(l->title, "%s  %s%s%s", version, l->loaded->path, *l->load.message ? ": " : "",
             l->load.message);
    else if (which == MONITOR)
        line(l->title, *l->load.message ? "not found: no clocks, temperatures, processes or links"
                                        : "not asked about simulated devices");
    else
        line(l->title, "%s", which == DRIVER_API ? "none" : version);
}

/* "system loader: /usr/lib/…: taken": each on its line, the place first. */
static void print_search(const library_report *l) {
    char title[32];
    snprintf(title, sizeof title, "Search for lib%s", l->key);
    heading(title);
    for (const char *at = l->search; *at;) {
        char text[8192];
        size_t length = strcspn(at, "\n");
        snprintf(text, sizeof text, "%.*s", (int)length, at);
        printf("  ");
        wrap(text, 4, 2);
        putchar('\n');
        at += length + (at[length] == '\n');
    }
}

static void print_environment(void) {
    bool any = false;
    for (const char *const *name = report_variables; *name; name++) {
        const char *value = getenv(*name);
        if (!value)
            continue;
        if (!any)
            heading("Environment");
        any = true;
        printf("  %s=", *name);
        put(value, strlen(value));
        putchar('\n');
    }
}

/* ---- devices and features ---- */

/* Adds a part to a line of parts; what is not known is left out. */
static void add(char text[512], long long known, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char text[512], long long known, const char *format, ...) {
    size_t length = strlen(text);
    va_list args;
    if (known == UNKNOWN)
        return;
    if (length)
        length += (size_t)snprintf(text + length, 512 - length, ", ");
    va_start(args, format);
    vsnprintf(text + length, 512 - length, format, args);
    va_end(args);
}

static void print_state(const monitor_report *m) {
    char text[512] = "";
    add(text, m->clock, "%lld MHz", m->clock);
    add(text, m->memory_clock, "memory %lld MHz", m->memory_clock);
    add(text, m->temperature, "%lld degrees C", m->temperature);
    add(text, m->milliwatts, "%.0f W", (double)m->milliwatts / 1000);
    add(text, m->busy, "%lld%% busy", m->busy);
    if (*text)
        line("", "%s", text);
}

static void print_processes(const monitor_report *m) {
    char text[512] = "";
    add(text, m->memory_used, "%.1f GiB used", (double)m->memory_used / GIB);
    for (size_t i = 0; i < m->process_count && i < 4; i++)
        add(text, 0, m->processes[i].bytes ? "process %u: %.1f GiB" : "process %u",
            m->processes[i].id, (double)m->processes[i].bytes / GIB);
    if (m->process_count > 4)
        add(text, 0, "%zu more processes", m->process_count - 4);
    if (*text)
        line("", "%s", text);
}

static void print_links(const monitor_report *m) {
    char text[512] = "";
    size_t active = 0;
    for (size_t i = 0; i < m->link_count; i++)
        active += m->links[i].active;
    add(text, m->pcie_generation, "PCIe %lld.0", m->pcie_generation);
    if (m->pcie_generation != UNKNOWN && m->pcie_width != UNKNOWN)
        snprintf(text + strlen(text), sizeof text - strlen(text), " x%lld", m->pcie_width);
    if (m->link_count)
        add(text, 0, "%zu of %zu NVLinks active", active, m->link_count);
    if (active && m->link_speed != UNKNOWN)
        snprintf(text + strlen(text), sizeof text - strlen(text), " with %.1f GB/s each",
                 (double)m->link_speed / 1000);
    if (*text)
        line("", "%s", text);
}

static void print_monitor(const monitor_report *m) {
    if (!m->known)
        return;
    print_state(m);
    print_processes(m);
    print_links(m);
}

static void print_device(const device_report *d, int ordinal) {
    char label[24];
    snprintf(label, sizeof label, "Device %d", ordinal);
    if (d->asked.code) {
        line(label, "%s", d->asked.message);
        return;
    }
    line(label, "%s", d->info.name);
    line("", "compute capability %d.%d, %d multiprocessors, %.1f GiB", d->info.compute_major,
         d->info.compute_minor, d->info.multiprocessors, (double)d->info.memory / GIB);
    line("", "PCI %s, %s", d->info.pci_bus_id, d->uuid);
    print_monitor(&d->monitor);
}

/*
 * What differs from feature to feature, for those that share a reason stand together: the message
 * without the feature's name and without what is loaded, which is printed above.
 */
static void shorten(const answer *a, acu_feature feature, char *text, size_t size) {
    const char *title = acu_feature_name(feature), *at = strstr(a->message, title);
    size_t length = strlen(title);
    if (at && strncmp(at + length, ": ", 2) == 0)
        snprintf(text, size, "%s%s", at == a->message ? "" : "the device's ", at + length + 2);
    else
        snprintf(text, size, "%s", a->message);
    char *loaded = strstr(text, "; loaded lib");
    if (loaded)
        *loaded = '\0';
    without_advice(text);
}

/* The features from `first` on that have its reason, and the reason beneath them. */
static void print_reason(const answer *answers, bool *printed, int first) {
    char reason[2048], other[2048];
    bool works = answers[first].code == 0;
    shorten(&answers[first], (acu_feature)first, reason, sizeof reason);
    printf("  %s%s%s%s", works ? GREEN : RED, works ? "yes" : "no", PLAIN, works ? "  " : "   ");
    size_t column = 7;
    for (int i = first, more = 0; i < ACU_FEATURE_COUNT; i++) {
        shorten(&answers[i], (acu_feature)i, other, sizeof other);
        if (printed[i] || strcmp(reason, other) != 0)
            continue;
        printed[i] = true;
        if (more++) {
            printf(",");
            column++;
        }
        column = wrap(acu_feature_name((acu_feature)i), 7, column);
    }
    if (!works) {
        printf("\n         ");
        (void)wrap(reason, 9, 9);
    }
    putchar('\n');
}

/* Those that can be used first. */
static void print_features(const answer *answers, const char *of) {
    bool printed[ACU_FEATURE_COUNT] = {false};
    int usable = 0;
    char title[96];
    for (int i = 0; i < ACU_FEATURE_COUNT; i++)
        usable += !answers[i].code;
    snprintf(title, sizeof title, "Features %s: %d of %d", of, usable, ACU_FEATURE_COUNT);
    heading(title);
    for (int good = 1; good >= 0; good--)
        for (int i = 0; i < ACU_FEATURE_COUNT; i++)
            if (!printed[i] && (answers[i].code == 0) == good)
                print_reason(answers, printed, i);
}

/* A device that answers as an earlier one does; -1: none does. */
static int same_as(const report *r, int device) {
    for (int i = 0; i < device; i++) {
        bool same = true;
        for (int f = 0; f < ACU_FEATURE_COUNT; f++)
            same = same && r->devices[i].features[f].code == r->devices[device].features[f].code;
        if (same)
            return i;
    }
    return -1;
}

static void print_all_features(const report *r) {
    if (!r->device_count)
        print_features(r->features, "without a device");
    for (int i = 0; i < r->device_count; i++) {
        char title[64];
        int same = same_as(r, i);
        if (same >= 0) {
            snprintf(title, sizeof title, "Features of device %d: as device %d", i, same);
            heading(title);
        } else {
            snprintf(title, sizeof title, "of device %d", i);
            print_features(r->devices[i].features, title);
        }
    }
}

void report_print_text(const report *r) {
    report_print_verdict(r);
    putchar('\n');
    line("anycuda", "%s, with the API of CUDA %d.%d", ANYCUDA_VERSION, MAJOR(CUDART_VERSION),
         MINOR(CUDART_VERSION));
    for (int i = 0; i < LIBRARIES; i++)
        print_library(r, i);
    for (int i = 0; i < r->device_count; i++)
        print_device(&r->devices[i], i);
    /* Of the others only what explains that they are missing; of NVML one line is enough. */
    for (int i = 0; i < LIBRARIES; i++)
        if (i == RUNTIME || (!r->libraries[i].loaded && i != MONITOR))
            print_search(&r->libraries[i]);
    print_environment();
    print_all_features(r);
}
