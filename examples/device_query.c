/* Prints the properties of each device of this machine. */
#include "example.h"

static double gib(size_t bytes) {
    return (double)bytes / (1024.0 * 1024.0 * 1024.0);
}

static const char *yes(bool is) {
    return is ? "yes" : "no";
}

static void print_info(const acu_device_info *d) {
    printf("  compute capability   %d.%d\n", d->compute_major, d->compute_minor);
    printf("  multiprocessors      %d\n", d->multiprocessors);
    printf("  memory               %.1f GiB, %d bits wide\n", gib(d->memory), d->memory_bus_bits);
    printf("  L2 cache             %.1f MiB\n", gib(d->l2_bytes) * 1024);
    printf("  threads              %d per block, %d per multiprocessor\n", d->max_threads_per_block,
           d->max_threads_per_multiprocessor);
    printf("  largest block        %d x %d x %d\n", d->max_block[0], d->max_block[1],
           d->max_block[2]);
    printf("  largest grid         %d x %d x %d\n", d->max_grid[0], d->max_grid[1], d->max_grid[2]);
    printf("  shared memory        %zu bytes per block, %zu if asked for\n",
           d->shared_memory_per_block, d->shared_memory_per_block_optin);
    printf("  registers            %d per block\n", d->registers_per_block);
    printf("  copy engines         %d\n", d->async_engines);
    printf("  memory pools         %s\n", yes(d->memory_pools));
    printf("  managed memory       %s\n", yes(d->managed_memory));
    printf("  cooperative launch   %s\n", yes(d->cooperative_launch));
    printf("  clusters             %s\n", yes(d->cluster_launch));
    printf("  ECC                  %s\n", yes(d->ecc));
}

/* Prints which other devices' memory the device can access. */
static acu_result print_peers(acu_device device, int count) {
    for (int peer = 0; peer < count; peer++) {
        bool can = false;
        if (peer == device)
            continue;
        ACU_TRY(acu_device_can_access_peer(device, peer, &can));
        printf("  memory of device %-3d %s\n", peer, can ? "in reach" : "out of reach");
    }
    return ACU_SUCCESS;
}

static acu_result print_device(acu_device device, int count) {
    acu_device_info info;
    char uuid[ACU_UUID_SIZE];
    size_t free_bytes, total_bytes;
    ACU_TRY(acu_device_get_info(device, &info));
    ACU_TRY(acu_device_get_uuid(device, uuid));
    ACU_TRY(acu_device_get_memory(device, &free_bytes, &total_bytes));
    printf("\ndevice %d: %s\n", device, info.name);
    printf("  PCI, UUID            %s, %s\n", info.pci_bus_id, uuid);
    print_info(&info);
    printf("  free now             %.1f of %.1f GiB\n", gib(free_bytes), gib(total_bytes));
    return print_peers(device, count);
}

static acu_result run(void) {
    int count;
    ACU_TRY(example_begin());
    ACU_TRY(acu_device_get_count(&count));
    for (int device = 0; device < count; device++)
        ACU_TRY(print_device(device, count));
    return ACU_SUCCESS;
}

int main(void) {
    return example_end(run());
}
