/*
 * Resources of devices: the processors, which can be split, and work queues.
 *
 * A resource is a struct that the program keeps and copies, so all that is known of it is in it:
 * which processors it has, in the bytes that have no name.
 */
#include "sim/device/device_resource.h"

#include "loader/platform.h"
#include "sim/behaviour.h"
#include "sim/device/device.h"
#include "sim/set.h"

#include <stdlib.h>
#include <string.h>

/* A number by which a struct that CUDA did not fill is recognised. */
enum { MAGIC = 0x51a7ed, MOST_TOGETHER = 32 };

/* What the simulator writes to the bytes of a resource that have no name. */
typedef struct hidden {
    uint32_t magic;
    int32_t device;
    uint32_t split; /* the call that made the part; 0: a whole device or context */
    uint32_t is_group;
    acu_sim_processors processors;
} hidden;

typedef struct descriptor {
    acu_sim_resources has;
    struct descriptor *next;
} descriptor;

static descriptor *descriptors; /* nothing frees one but a reset */
static acu_sim_set handles;
static uint32_t last_split;

/* ---- processors ---- */

/*
 * Processors are in groups; one cluster runs on processors of one group. Chips differ in their
 * groups; the ones here have 132 processors, and agree with all that an H200 returned: each block
 * of a cluster needs a processor of its own, but in a group of two they may share one.
 */
static const unsigned char chip[] = {18, 18, 16, 16, 16, 16, 18, 10, 2, 2};
enum { GROUPS = sizeof chip, PAIR = 2 };

static bool has(const acu_sim_processors *p, unsigned i) {
    return p->bits[i / 64] >> i % 64 & 1;
}

static void flip(acu_sim_processors *p, unsigned i) {
    p->bits[i / 64] ^= (uint64_t)1 << i % 64;
}

acu_sim_processors acu_sim_processors_all(const acu_sim_device *device) {
    acu_sim_processors all = {{0}};
    for (int i = 0; i < acu_sim_device_attribute(device, cudaDevAttrMultiProcessorCount); i++)
        flip(&all, (unsigned)i);
    return all;
}

unsigned acu_sim_processors_count(const acu_sim_processors *processors) {
    unsigned count = 0;
    for (size_t i = 0; i < 3; i++)
        count += (unsigned)__builtin_popcountll(processors->bits[i]);
    return count;
}

unsigned acu_sim_processors_clusters(const acu_sim_processors *processors, unsigned size,
                                     unsigned blocks) {
    unsigned clusters = 0;
    for (unsigned g = 0, first = 0; g < GROUPS; first += chip[g++]) {
        unsigned here = 0;
        for (unsigned i = first; i < first + chip[g]; i++)
            here += has(processors, i);
        clusters += chip[g] == PAIR ? here * blocks / size : here / size * blocks;
    }
    return clusters;
}

/* Moves up to `count` processors from one set to another, in sets of `size` within a group; returns
 * how many. */
static unsigned take(acu_sim_processors *from, acu_sim_processors *to, unsigned size,
                     unsigned count) {
    unsigned taken = 0;
    for (unsigned g = 0, first = 0; g < GROUPS; first += chip[g++]) {
        unsigned here = 0, wanted;
        for (unsigned i = first; i < first + chip[g]; i++)
            here += has(from, i);
        wanted = (here < count - taken ? here : count - taken) / size * size;
        for (unsigned i = first; wanted; i++)
            if (has(from, i)) {
                flip(from, i);
                flip(to, i);
                taken++, wanted--;
            }
    }
    return taken;
}

/* ---- contents of a resource ---- */

/* Writes how many processors a part has at least, and of what their number is a multiple. */
static void granularity(unsigned *least, unsigned *multiple) {
    int cc = acu_sim_configuration()->cc;
    *multiple = cc >= 90 ? 8 : cc >= 70 ? 2 : 1;
    *least = cc >= 80 && cc < 90 ? 4 : *multiple;
}

static cudaDevResource describe(hidden h, unsigned least, unsigned together, unsigned flags) {
    cudaDevResource resource = {.type = cudaDevResourceTypeSm};
    resource.sm = (struct cudaDevSmResource){.smCount = acu_sim_processors_count(&h.processors),
                                             .minSmPartitionSize = least,
                                             .smCoscheduledAlignment = together,
                                             .flags = flags};
    if (!resource.sm.smCount)
        return (cudaDevResource){.type = cudaDevResourceTypeInvalid};
    h.magic = MAGIC;
    memcpy(resource._internal_padding, &h, sizeof h);
    return resource;
}

/* Describes a part; an older driver reports only the size of a part. */
static cudaDevResource describe_part(hidden h, unsigned least, unsigned together, unsigned flags) {
    bool all = acu_sim_behaviour_driver_knows_parts();
    return describe(h, all ? least : 0, all ? together : 0, all ? flags : 0);
}

/* Reads the bytes without a name; returns false if CUDA did not write them. */
static bool read_hidden(const cudaDevResource *resource, hidden *h) {
    memcpy(h, resource->_internal_padding, sizeof *h);
    return h->magic == MAGIC && acu_sim_device_at(h->device) &&
           acu_sim_processors_count(&h->processors) == resource->sm.smCount;
}

struct cudaDevWorkqueueConfigResource acu_sim_device_queues(const acu_sim_device *device) {
    enum { USUAL = 8, MOST = 32 };
    const char *text = acu_platform_env("CUDA_DEVICE_MAX_CONNECTIONS");
    unsigned long limit = text ? strtoul(text, NULL, 10) : USUAL;
    return (struct cudaDevWorkqueueConfigResource){
        .device = device->index,
        .wqConcurrencyLimit = limit && limit <= MOST ? (unsigned)limit : USUAL,
        .sharingScope = cudaDevWorkqueueConfigScopeDeviceCtx};
}

cudaError_t acu_sim_resource_get(const acu_sim_resources *all, enum cudaDevResourceType type,
                                 cudaDevResource *resource) {
    unsigned least, together;
    granularity(&least, &together);
    if (type != cudaDevResourceTypeSm && !acu_sim_behaviour_driver_knows_parts())
        return cudaErrorInvalidResourceType;
    if (type == cudaDevResourceTypeSm)
        *resource = describe((hidden){.device = all->device->index, .processors = all->processors},
                             least, all->together ? all->together : together, all->flags);
    else if (type == cudaDevResourceTypeWorkqueueConfig)
        *resource = (cudaDevResource){.type = type, .wqConfig = all->queues};
    else if (type == cudaDevResourceTypeWorkqueue)
        *resource = (cudaDevResource){.type = type};
    else
        return cudaErrorInvalidResourceType;
    if (type == cudaDevResourceTypeWorkqueue) {
        const hidden h = {.magic = MAGIC, .device = all->device->index};
        memcpy(resource->_internal_padding, &h, sizeof h);
    }
    return cudaSuccess;
}

/* A whole device has no work queue that exists already. */
cudaError_t acu_sim_cudaDeviceGetDevResource(int device, cudaDevResource *resource,
                                             enum cudaDevResourceType type) {
    acu_sim_device *d = acu_sim_device_at(device);
    SIM_TRY(acu_sim_driver_has(&acu_function_cuDeviceGetDevResource));
    if (!d)
        return cudaErrorInvalidDevice;
    if (!resource)
        return cudaErrorInvalidValue;
    if (type == cudaDevResourceTypeWorkqueue)
        return cudaErrorInvalidResourceType;
    return acu_sim_resource_get(&(acu_sim_resources){.device = d,
                                                     .processors = acu_sim_processors_all(d),
                                                     .queues = acu_sim_device_queues(d)},
                                type, resource);
}

/* ---- splitting ---- */

/* Returns an error unless a resource may be split; with `again` that may be the rest of a split. */
static cudaError_t validate_input(const cudaDevResource *input, bool again, hidden *h) {
    if (!input)
        return cudaErrorInvalidValue;
    if (input->type != cudaDevResourceTypeSm)
        return cudaErrorInvalidResourceType;
    if (!read_hidden(input, h))
        return cudaErrorInvalidValue;
    return h->split && (h->is_group || !again) ? cudaErrorInvalidResourceConfiguration
                                               : cudaSuccess;
}

/* Describes the rest of a split, whose size need not be a multiple. */
static cudaDevResource describe_rest(hidden rest, unsigned least, unsigned together) {
    unsigned odd = acu_sim_processors_count(&rest.processors) % together;
    rest.is_group = false;
    return describe_part(rest, least, together, odd ? cudaDevSmResourceGroupBackfill : 0);
}

static unsigned rounded_up(unsigned count, unsigned multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

/* Returns whether a part needs more processors than groups have together. */
static bool is_scattered(acu_sim_processors from, unsigned together, unsigned size) {
    acu_sim_processors part = {{0}};
    return take(&from, &part, together, size) < size;
}

static cudaError_t split_by_count(cudaDevResource *result, unsigned *count, hidden from,
                                  cudaDevResource *remaining, unsigned flags, unsigned wanted) {
    unsigned least, together, made = 0;
    granularity(&least, &together);
    if (flags & cudaDevSmResourceSplitIgnoreSmCoscheduling)
        least = together = together < 2 ? together : 2;
    const unsigned rounded = rounded_up(wanted > least ? wanted : least, together);
    const bool scattered = is_scattered(from.processors, together, rounded);
    const unsigned all = acu_sim_processors_count(&from.processors);
    const unsigned size = rounded < all ? rounded : all;
    hidden part = {.device = from.device, .split = ++last_split, .is_group = true};
    while (!result || made < *count) {
        acu_sim_processors before = from.processors;
        part.processors = (acu_sim_processors){{0}};
        if (take(&from.processors, &part.processors, scattered ? 1 : together, size) < size) {
            from.processors = before;
            break;
        }
        if (result)
            result[made] = describe_part(part, least, together, 0);
        made++;
    }
    if (!made)
        return cudaErrorInvalidResourceConfiguration;
    *count = made;
    from.split = part.split;
    if (remaining)
        *remaining = describe_rest(from, least, together);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDevSmResourceSplitByCount(cudaDevResource *result, unsigned int *nbGroups,
                                                  const cudaDevResource *input,
                                                  cudaDevResource *remaining, unsigned int flags,
                                                  unsigned int minCount) {
    const unsigned big = cudaDevSmResourceSplitMaxPotentialClusterSize;
    hidden from;
    SIM_TRY(acu_sim_driver_has(&acu_function_cuDevSmResourceSplitByCount));
    if (!nbGroups || !input || (result && !*nbGroups)) /* unknown flags are not refused */
        return cudaErrorInvalidValue;
    SIM_TRY(validate_input(input, false, &from));
    if (minCount > input->sm.smCount)
        return cudaErrorInvalidResourceConfiguration;
    if (flags & big && acu_sim_configuration()->cc < 90)
        return cudaErrorNotSupported;
    return split_by_count(result, nbGroups, from, remaining, flags, minCount);
}

/* Returns an error unless a group may be asked for. `together` is how many of its processors must
 * be together, by default what CUDA chooses. */
static cudaError_t validate_group(const cudaDevSmResourceGroupParams *group, unsigned all,
                                  unsigned *together) {
    const unsigned backfill = cudaDevSmResourceGroupBackfill;
    const unsigned local = cudaDevSmResourceGroupLocalityDomainId |
                           cudaDevSmResourceGroupLocalityDomainSupplementalSms;
    unsigned least, usual;
    granularity(&least, &usual);
    *together = group->coscheduledSmCount ? group->coscheduledSmCount : usual < 2 ? 2 : usual;
    if (group->flags & ~(backfill | local))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < sizeof group->reserved / sizeof *group->reserved; i++)
        if (group->reserved[i])
            return cudaErrorInvalidValue;
    if (group->flags & local) /* there are no such domains */
        return cudaErrorInvalidResourceConfiguration;
    if (*together % 2 || *together > (usual < 8 ? 2 : MOST_TOGETHER) ||
        group->preferredCoscheduledSmCount % *together)
        return cudaErrorInvalidResourceConfiguration;
    return group->smCount > all || group->smCount % 2 ||
                   (group->smCount % *together && !(group->flags & backfill))
               ? cudaErrorInvalidResourceConfiguration
               : cudaSuccess;
}

/* Assigns the processors of a group; zero asks for as many as there are. */
static cudaError_t assign(const cudaDevSmResourceGroupParams *group, unsigned together,
                          acu_sim_processors *from, acu_sim_processors *to, unsigned *count) {
    unsigned wanted = group->smCount ? group->smCount : acu_sim_processors_count(from);
    *count = take(from, to, together, wanted);
    if (group->flags & cudaDevSmResourceGroupBackfill && *count)
        *count += take(from, to, 1, wanted - *count);
    return group->smCount && *count < wanted ? cudaErrorInvalidResourceConfiguration : cudaSuccess;
}

/* Splits; called twice, because all groups are validated before the first one is written. */
static cudaError_t split(cudaDevResource *result, unsigned count, hidden from,
                         cudaDevResource *remainder, cudaDevSmResourceGroupParams *asked,
                         bool writes) {
    unsigned least, usual, together, made, all = acu_sim_processors_count(&from.processors);
    granularity(&least, &usual);
    for (unsigned i = 0; i < count; i++) {
        hidden part = {.device = from.device, .split = last_split, .is_group = true};
        cudaError_t why = validate_group(&asked[i], all, &together);
        if (!why)
            why = assign(&asked[i], together, &from.processors, &part.processors, &made);
        if (!why && result && made < together)
            why = cudaErrorInvalidResourceConfiguration;
        if (why)
            return why;
        if (writes && result)
            result[i] = describe(part, least, together, asked[i].flags);
        if (writes)
            asked[i].smCount = made;
    }
    from.split = last_split;
    if (writes && remainder)
        *remainder = describe_rest(from, least, usual);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDevSmResourceSplit(cudaDevResource *result, unsigned int nbGroups,
                                           const cudaDevResource *input, cudaDevResource *remainder,
                                           unsigned int flags,
                                           cudaDevSmResourceGroupParams *groupParams) {
    hidden from;
    SIM_TRY(acu_sim_driver_has(&acu_function_cuDevSmResourceSplit));
    if (!nbGroups || !groupParams || flags)
        return cudaErrorInvalidValue;
    SIM_TRY(validate_input(input, true, &from));
    SIM_TRY(split(result, nbGroups, from, remainder, groupParams, false));
    last_split++;
    (void)split(result, nbGroups, from, remainder, groupParams, true);
    return cudaSuccess;
}

/* ---- descriptors ---- */

/* Returns whether two resources may be combined. An older driver does not check which split made
 * them. */
static bool can_combine(const cudaDevResource *one, const cudaDevResource *other) {
    hidden h, g;
    const bool read = read_hidden(one, &h) && read_hidden(other, &g);
    if (!acu_sim_behaviour_driver_knows_parts())
        return read;
    return read && h.split && h.split == g.split &&
           one->sm.smCoscheduledAlignment == other->sm.smCoscheduledAlignment;
}

/* Combines resources of one device. All sets of processors must be of one split and alignment. */
static cudaError_t combine(acu_sim_resources *d, const cudaDevResource *resources, unsigned count) {
    const cudaDevResource *first = NULL;
    for (unsigned i = 0; i < count; i++) {
        const cudaDevResource *r = &resources[i];
        hidden h;
        const bool queues = r->type == cudaDevResourceTypeWorkqueueConfig;
        if (!queues && r->type != cudaDevResourceTypeSm && r->type != cudaDevResourceTypeWorkqueue)
            return cudaErrorInvalidResourceType;
        memcpy(&h, r->_internal_padding, sizeof h);
        if (r->type == cudaDevResourceTypeSm ? !read_hidden(r, &h) : !queues && h.magic != MAGIC)
            return cudaErrorInvalidValue;
        acu_sim_device *device = acu_sim_device_at(queues ? r->wqConfig.device : h.device);
        if (!device || (d->device && device != d->device))
            return cudaErrorInvalidResourceConfiguration;
        if (!d->device)
            d->queues = acu_sim_device_queues(device);
        d->device = device;
        if (queues)
            d->queues = r->wqConfig;
        if (r->type != cudaDevResourceTypeSm)
            continue;
        if (first && !can_combine(first, r))
            return cudaErrorInvalidResourceConfiguration;
        first = first ? first : r;
        for (size_t j = 0; j < 3; j++)
            d->processors.bits[j] |= h.processors.bits[j];
    }
    d->together = first ? first->sm.smCoscheduledAlignment : 0;
    d->flags = first ? first->sm.flags : 0;
    if (!first) /* no processors are named: all of them */
        d->processors = acu_sim_processors_all(d->device);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaDevResourceGenerateDesc(cudaDevResourceDesc_t *phDesc,
                                                cudaDevResource *resources,
                                                unsigned int nbResources) {
    descriptor made = {0};
    SIM_TRY(acu_sim_driver_has(&acu_function_cuDevResourceGenerateDesc));
    if (!phDesc || !resources || !nbResources)
        return cudaErrorInvalidValue;
    SIM_TRY(combine(&made.has, resources, nbResources));
    descriptor *kept = calloc(1, sizeof *kept);
    if (!kept || !acu_sim_set_add(&handles, kept)) {
        free(kept);
        return cudaErrorMemoryAllocation;
    }
    made.next = descriptors;
    *kept = made;
    descriptors = kept;
    *phDesc = (cudaDevResourceDesc_t)(void *)kept;
    return cudaSuccess;
}

const acu_sim_resources *acu_sim_descriptor_read(cudaDevResourceDesc_t handle) {
    const descriptor *d = (const descriptor *)(const void *)handle;
    return acu_sim_set_has(&handles, d) ? &d->has : NULL;
}

static void reset(void) {
    while (descriptors) {
        descriptor *next = descriptors->next;
        free(descriptors);
        descriptors = next;
    }
    acu_sim_set_clear(&handles);
}

const acu_sim_noun acu_sim_descriptor_noun = {.reset = reset};
