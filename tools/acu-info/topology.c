/* The matrix of acu-info --topology: which device reaches which, and how fast. */
#include "report.h"

#include <anycuda/nvml_types.h>

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, LABEL = 7, CELL = 9, IN_A_ROW = (WIDTH - LABEL) / CELL };

static const struct {
    int level;
    const char *name, *meaning;
} levels[] = {
    {NVML_TOPOLOGY_INTERNAL, "SAME", "on one board"},
    {NVML_TOPOLOGY_SINGLE, "PIX", "over one PCIe switch"},
    {NVML_TOPOLOGY_MULTIPLE, "PXB", "over several PCIe switches, not the host's bridge"},
    {NVML_TOPOLOGY_HOSTBRIDGE, "PHB", "over a host bridge of PCIe"},
    {NVML_TOPOLOGY_NODE, "NODE", "over the bridges of one NUMA node"},
    {NVML_TOPOLOGY_SYSTEM, "SYS", "from one NUMA node to another"},
};

enum { LEVELS = sizeof levels / sizeof *levels };

/* Returns the row of `levels`; -1 where NVML has not answered. */
static int level_of(const pair_report *pair) {
    for (int i = 0; i < LEVELS; i++)
        if (pair->ancestor == levels[i].level)
            return i;
    return -1;
}

/* Writes "NV18 0a": the way, the rank, and atomics; "-" for a device itself. */
static void write_cell(const pair_report *pair, char text[32]) {
    char way[16] = "";
    const int level = level_of(pair);
    if (!pair->known) {
        snprintf(text, 32, "?");
        return;
    }
    if (pair->nvlinks)
        snprintf(way, sizeof way, "NV%d ", pair->nvlinks);
    else if (level >= 0)
        snprintf(way, sizeof way, "%s ", levels[level].name);
    if (pair->peer.access)
        snprintf(text, 32, "%s%d%s", way, pair->peer.performance_rank,
                 pair->peer.native_atomics        ? "a"
                 : pair->peer.some_native_atomics ? "s"
                                                  : "");
    else
        snprintf(text, 32, "%shost", way);
}

static void print_columns(const report *r, int first, int last) {
    char text[32];
    printf("%-*s", LABEL, "from");
    for (int to = first; to < last; to++) {
        snprintf(text, sizeof text, "to %d", to);
        printf(to + 1 < last ? "%-*s" : "%.*s", CELL, text);
    }
    putchar('\n');
    for (int from = 0; from < r->device_count; from++) {
        snprintf(text, sizeof text, "%d", from);
        printf("%-*s", LABEL, text);
        for (int to = first; to < last; to++) {
            if (from == to)
                snprintf(text, sizeof text, "-");
            else
                write_cell(report_pair(r, from, to), text);
            printf(to + 1 < last ? "%-*s" : "%.*s", CELL, text);
        }
        putchar('\n');
    }
    putchar('\n');
}

static bool has_level(const report *r, int level) {
    for (int i = 0; i < r->device_count * r->device_count; i++)
        if (r->pairs[i].known && !r->pairs[i].nvlinks && level_of(&r->pairs[i]) == level)
            return true;
    return false;
}

/* Returns the speed of one NVLink, if all devices that have some report the same; else UNKNOWN. */
static long long common_speed(const report *r) {
    long long common = UNKNOWN;
    for (int i = 0; i < r->device_count; i++) {
        const monitor_report *m = &r->devices[i].monitor;
        if (!m->known || !m->link_count)
            continue;
        if (m->link_speed == UNKNOWN || (common != UNKNOWN && common != m->link_speed))
            return UNKNOWN;
        common = m->link_speed;
    }
    return common;
}

static void print_legend(const report *r) {
    bool nvlinks = false;
    for (int i = 0; i < r->device_count * r->device_count; i++)
        nvlinks = nvlinks || r->pairs[i].nvlinks;
    puts("0, 1 …  direct access; 0 is the fastest kind of link of this machine");
    puts("a, s    the link does all atomic operations, or some of them");
    puts("host    no direct access: copies go through the host's memory");
    if (nvlinks && common_speed(r) != UNKNOWN)
        printf("NV18    18 NVLinks, also by a switch; each has %.1f GB/s in each direction\n",
               (double)common_speed(r) / 1000);
    else if (nvlinks)
        puts("NV18    18 NVLinks, also by a switch");
    for (int i = 0; i < LEVELS; i++)
        if (has_level(r, i))
            printf("%-7s %s\n", levels[i].name, levels[i].meaning);
    if (!r->libraries[MONITOR].loaded)
        puts("NVLinks and PCIe switches are not known without NVML.");
}

void report_print_topology(const report *r) {
    if (r->device_count <= 0) {
        report_print_verdict(r);
        return;
    }
    for (int i = 0; i < r->device_count; i++) {
        const device_report *d = &r->devices[i];
        printf("%-*d%s\n", LABEL, i, d->asked.code ? d->asked.message : d->info.name);
        if (!d->asked.code)
            printf("%-*sPCI %s\n", LABEL, "", d->info.pci_bus_id);
    }
    putchar('\n');
    if (r->device_count == 1) {
        puts("There is one device, so there is no link between devices.");
        return;
    }
    for (int first = 0; first < r->device_count; first += IN_A_ROW)
        print_columns(r, first,
                      first + IN_A_ROW < r->device_count ? first + IN_A_ROW : r->device_count);
    print_legend(r);
}
