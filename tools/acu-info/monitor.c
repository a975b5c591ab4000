/*
 * Asks NVML what CUDA does not report: clocks, temperature, who has memory, and the state of links.
 * What NVML cannot answer is left at UNKNOWN: boards, drivers and containers differ.
 */
#include "report.h"

#include <anycuda/nvml.h>

#include <stdlib.h>
#include <string.h>

/* Returns what the call has stored, or UNKNOWN where it failed. */
static long long value(nvmlReturn_t result, const unsigned *stored) {
    return result == NVML_SUCCESS ? (long long)*stored : UNKNOWN;
}

static void ask_state(monitor_report *m, nvmlDevice_t device) {
    unsigned stored = 0;
    nvmlUtilization_t use = {0};
    m->clock = value(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &stored), &stored);
    m->memory_clock = value(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &stored), &stored);
    m->temperature =
        value(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &stored), &stored);
    m->milliwatts = value(nvmlDeviceGetPowerUsage(device, &stored), &stored);
    m->busy = value(nvmlDeviceGetUtilizationRates(device, &use), &use.gpu);
    m->pcie_generation = value(nvmlDeviceGetCurrPcieLinkGeneration(device, &stored), &stored);
    m->pcie_width = value(nvmlDeviceGetCurrPcieLinkWidth(device, &stored), &stored);
}

/* A process with graphics and kernels is in both lists. */
static void add_process(monitor_report *m, const nvmlProcessInfo_t *found) {
    const unsigned long long bytes =
        found->usedGpuMemory == (unsigned long long)NVML_VALUE_NOT_AVAILABLE ? 0
                                                                             : found->usedGpuMemory;
    for (size_t i = 0; i < m->process_count; i++)
        if (m->processes[i].id == found->pid)
            return;
    if (m->process_count < MOST_PROCESSES)
        m->processes[m->process_count++] = (process_report){found->pid, bytes};
}

static void ask_memory(monitor_report *m, nvmlDevice_t device) {
    nvmlMemory_t memory;
    nvmlProcessInfo_t found[MOST_PROCESSES];
    unsigned count = MOST_PROCESSES;
    m->memory_used =
        nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS ? (long long)memory.used : UNKNOWN;
    if (nvmlDeviceGetComputeRunningProcesses(device, &count, found) == NVML_SUCCESS)
        for (unsigned i = 0; i < count; i++)
            add_process(m, &found[i]);
    count = MOST_PROCESSES;
    if (nvmlDeviceGetGraphicsRunningProcesses(device, &count, found) == NVML_SUCCESS)
        for (unsigned i = 0; i < count; i++)
            add_process(m, &found[i]);
}

/* Asks for the speed that all active links have, in MB/s. */
static long long ask_speed(nvmlDevice_t device) {
    nvmlFieldValue_t field = {.fieldId = NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON};
    const bool known = nvmlDeviceGetFieldValues(device, 1, &field) == NVML_SUCCESS &&
                       field.nvmlReturn == NVML_SUCCESS &&
                       field.valueType == NVML_VALUE_TYPE_UNSIGNED_INT && field.value.uiVal > 0;
    return known ? (long long)field.value.uiVal : UNKNOWN;
}

static void ask_links(monitor_report *m, nvmlDevice_t device) {
    for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; link++) {
        nvmlEnableState_t state = NVML_FEATURE_DISABLED;
        nvmlIntNvLinkDeviceType_t type = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
        nvmlPciInfo_t pci;
        if (nvmlDeviceGetNvLinkState(device, link, &state) != NVML_SUCCESS)
            continue;
        link_report *l = &m->links[m->link_count++];
        *l = (link_report){.number = (int)link, .active = state == NVML_FEATURE_ENABLED};
        if (l->active && nvmlDeviceGetNvLinkRemotePciInfo(device, link, &pci) == NVML_SUCCESS)
            memcpy(l->remote, pci.busId, sizeof l->remote);
        if (l->active && nvmlDeviceGetNvLinkRemoteDeviceType(device, link, &type) == NVML_SUCCESS)
            l->to_switch = type == NVML_NVLINK_DEVICE_TYPE_SWITCH;
    }
    m->link_speed = m->link_count ? ask_speed(device) : UNKNOWN;
}

static void ask_device(device_report *d) {
    nvmlDevice_t device = NULL;
    monitor_report *m = &d->monitor;
    if (d->asked.code || nvmlDeviceGetHandleByPciBusId(d->info.pci_bus_id, &device) != NVML_SUCCESS)
        return;
    m->known = true;
    ask_state(m, device);
    ask_memory(m, device);
    ask_links(m, device);
}

/* ---- between two devices ---- */

/* Compares "00000000:3B:00.0" with "0000:3b:00.0": a domain, a bus and a device. */
static bool is_same_place(const char *nvmls, const char *cudas) {
    char *a, *b;
    for (int part = 0; part < 3; part++) {
        if (strtoul(nvmls, &a, 16) != strtoul(cudas, &b, 16) || a == nvmls || b == cudas)
            return false;
        nvmls = a + (*a == ':');
        cudas = b + (*b == ':');
    }
    return true;
}

/* Counts the active links that lead to the place. */
static int count_links(const monitor_report *m, const char *pci_bus_id) {
    int count = 0;
    for (size_t i = 0; i < m->link_count; i++)
        count += m->links[i].active && is_same_place(m->links[i].remote, pci_bus_id);
    return count;
}

/* Counts the active links that lead to a switch, which connects all devices that have some. */
static int count_switched(const monitor_report *m) {
    int count = 0;
    for (size_t i = 0; i < m->link_count; i++)
        count += m->links[i].active && m->links[i].to_switch;
    return count;
}

static int ask_ancestor(const device_report *a, const device_report *b) {
    nvmlDevice_t first = NULL, second = NULL;
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_INTERNAL;
    if (nvmlDeviceGetHandleByPciBusId(a->info.pci_bus_id, &first) != NVML_SUCCESS ||
        nvmlDeviceGetHandleByPciBusId(b->info.pci_bus_id, &second) != NVML_SUCCESS ||
        nvmlDeviceGetTopologyCommonAncestor(first, second, &level) != NVML_SUCCESS)
        return UNKNOWN;
    return (int)level;
}

static void ask_pair(const report *r, int from, int to) {
    const device_report *a = &r->devices[from], *b = &r->devices[to];
    pair_report *pair = report_pair(r, from, to);
    if (from == to || !a->monitor.known || !b->monitor.known)
        return;
    pair->ancestor = ask_ancestor(a, b);
    pair->nvlinks = count_links(&a->monitor, b->info.pci_bus_id);
    if (!pair->nvlinks) {
        const int there = count_switched(&a->monitor), back = count_switched(&b->monitor);
        pair->nvlinks = there < back ? there : back;
    }
}

void monitor_gather(report *r) {
    library_report *l = &r->libraries[MONITOR];
    if (!l->loaded)
        return;
    if (nvmlInit() != NVML_SUCCESS) {
        free(l->load.message);
        l->load = report_keep(acu_last_error());
        return;
    }
    for (int i = 0; i < r->device_count; i++)
        ask_device(&r->devices[i]);
    for (int from = 0; from < r->device_count; from++)
        for (int to = 0; to < r->device_count; to++)
            ask_pair(r, from, to);
    (void)nvmlShutdown();
}
