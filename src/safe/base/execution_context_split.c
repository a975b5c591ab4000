/*
 * Dividing the multiprocessors of a device or of an execution context.
 *
 * Drivers of CUDA 13.1 and later divide into groups of any sizes. Older ones make groups of one
 * size, of which a context may have several: there the smallest groups are dealt out.
 */
#include "safe/base/device.h"
#include "safe/base/execution_context.h"

#include <stdlib.h>

/* What is divided, and how. */
typedef struct division {
    const char *call;
    acu_device device;
    const acu_object *object; /* of errors; NULL: the device */
    CUdevResource input;
    const acu_device_part *parts;
    size_t count;
    CUdevResource *groups; /* of all parts, one after another, with room for one more resource */
    size_t *ends;          /* for each part, the index after its last group */
    acu_execution_context **contexts;
} division;

static int outcome(const division *d, int code) {
    return d->object ? acu_outcome(d->call, d->object, code)
                     : acu_device_outcome(d->call, d->device, code);
}

/* Fails for a part; the sentence begins with its index. */
#define REFUSE_PART(d, i, code, format, ...)                                                       \
    acu_fail((d)->call, "", (code), "part %zu " format, (i), __VA_ARGS__)

/* ---- what is asked for ---- */

static int check_queues(const division *d, size_t i) {
    const acu_device_part *part = &d->parts[i];
    if (part->sharing != ACU_QUEUES_OF_DEVICE && part->sharing != ACU_QUEUES_BALANCED)
        return REFUSE_PART(d, i, ACU_ERROR_ARGUMENT, "has no such sharing of queues: %d",
                           (int)part->sharing);
    if (!part->queues_of)
        return 0;
    if (!acu_is(part->queues_of, &acu_execution_context_class))
        return acu_object_refuse(d->call, part->queues_of, &acu_execution_context_class);
    if (part->queues || part->sharing)
        return REFUSE_PART(d, i, ACU_ERROR_ARGUMENT,
                           "has '%s' and 'queues_of', which exclude "
                           "each other",
                           part->queues ? "queues" : "sharing");
    if (part->queues_of->object.device != d->device)
        return REFUSE_PART(d, i, ACU_ERROR_DEVICE, "wants queues of device %d, but is of device %d",
                           part->queues_of->object.device, d->device);
    return 0;
}

static int check_part(const division *d, size_t i) {
    const acu_device_part *part = &d->parts[i];
    const unsigned known = (unsigned)ACU_PART_BACKFILL | (unsigned)ACU_PART_IN_DOMAIN |
                           (unsigned)ACU_PART_IN_WHOLE_DOMAIN;
    if (part->flags & ~known)
        return REFUSE_PART(d, i, ACU_ERROR_ARGUMENT, "has flags 0x%x, which do not exist",
                           part->flags & ~known);
    if (!part->multiprocessors && i + 1 < d->count)
        return REFUSE_PART(d, i, ACU_ERROR_ARGUMENT,
                           "of %zu gets all multiprocessors that are left (0), which only the last "
                           "part can",
                           d->count);
    if (part->domain && !acu_has(part->flags, ACU_PART_IN_DOMAIN))
        return REFUSE_PART(d, i, ACU_ERROR_ARGUMENT,
                           "has the domain %u, but not the flag ACU_PART_IN_DOMAIN", part->domain);
    if (part->together % 2)
        return REFUSE_PART(d, i, ACU_ERROR_ARGUMENT,
                           "wants %u multiprocessors together, which is not an even number",
                           part->together);
    return check_queues(d, i);
}

/* Returns whether only newer drivers make such a part. */
static bool is_special(const acu_device_part *part) {
    return part->together || part->preferred_together || part->flags || part->domain;
}

static bool is_whole(const division *d) {
    return d->count == 1 && !d->parts[0].multiprocessors && !is_special(&d->parts[0]);
}

static unsigned rounded_up(unsigned number, unsigned multiple) {
    const unsigned rest = number % multiple;
    return rest && number <= UINT32_MAX - (multiple - rest) ? number + (multiple - rest) : number;
}

static int refuse_size(const division *d, unsigned long long needed, unsigned step,
                       unsigned available) {
    char text[ACU_OBJECT_TEXT];
    return acu_fail(d->call, acu_object_describe(d->object, text), ACU_ERROR_LIMIT,
                    "the parts need %llu multiprocessors in groups of %u, and there are %u", needed,
                    step, available);
}

/* Returns how many are together, where a part does not say. */
static unsigned usual_step(const division *d) {
    const unsigned given = d->input.sm.smCoscheduledAlignment;
    return given < 2 ? 2 : given;
}

/* Returns the sum of what the parts ask for, without rounding. */
static unsigned long long sum_of(const division *d) {
    unsigned long long sum = 0;
    for (size_t i = 0; i < d->count; i++)
        sum += d->parts[i].multiprocessors;
    return sum;
}

/* ---- drivers since 13.1 ---- */

static CU_DEV_SM_RESOURCE_GROUP_PARAMS params_of(const acu_device_part *part, unsigned step) {
    CU_DEV_SM_RESOURCE_GROUP_PARAMS p = {.coscheduledSmCount = part->together,
                                         .preferredCoscheduledSmCount = part->preferred_together,
                                         .flags = part->flags,
                                         .localityDomainId = part->domain};
    const bool fills = acu_has(part->flags, ACU_PART_BACKFILL);
    if (part->multiprocessors)
        p.smCount = rounded_up(part->multiprocessors, fills ? 2 : step);
    else if (!is_special(part)) { /* all that are left, wherever they are */
        p.coscheduledSmCount = 2;
        p.flags = CU_DEV_SM_RESOURCE_GROUP_BACKFILL;
    }
    return p;
}

static int split_freely(division *d) {
    unsigned long long needed = 0;
    const unsigned usual = usual_step(d);
    CU_DEV_SM_RESOURCE_GROUP_PARAMS *params = calloc(d->count, sizeof *params);
    d->groups = calloc(d->count + 1, sizeof *d->groups);
    if (!params || !d->groups) {
        free(params);
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu parts", d->count);
    }
    for (size_t i = 0; i < d->count; i++) {
        const unsigned step = d->parts[i].together ? d->parts[i].together : usual;
        params[i] = params_of(&d->parts[i], step);
        needed += params[i].smCount;
        d->ends[i] = i + 1;
    }
    int code = needed > d->input.sm.smCount
                   ? refuse_size(d, needed, usual, d->input.sm.smCount)
                   : acu_translate_driver(cuDevSmResourceSplit(d->groups, (unsigned)d->count,
                                                               &d->input, NULL, 0, params));
    free(params);
    return code;
}

/* ---- older drivers ---- */

/* Deals the groups out; the last part may get all that are left, with the rest of the split. */
static int deal(division *d, unsigned groups, unsigned size, bool has_rest) {
    unsigned long long dealt = 0;
    for (size_t i = 0; i < d->count; i++) {
        const unsigned wanted = d->parts[i].multiprocessors;
        const unsigned long long left = dealt < groups ? groups - dealt : 0;
        if (!wanted && (left || has_rest))
            dealt = groups + (unsigned)has_rest;
        else
            dealt += wanted ? (wanted - 1ull) / size + 1 : 1;
        d->ends[i] = (size_t)dealt;
    }
    const bool all = !d->parts[d->count - 1].multiprocessors && has_rest;
    return dealt > groups + (unsigned)all ? refuse_size(d, dealt * size, size, groups * size) : 0;
}

/* Returns the size that all parts have in common but a last one that gets what is left; 0 if their
 * sizes differ, or there is none. */
static unsigned common_size(const division *d, unsigned *sized) {
    const unsigned size = d->parts[0].multiprocessors;
    *sized = (unsigned)d->count - !d->parts[d->count - 1].multiprocessors;
    for (unsigned i = 0; i < *sized; i++)
        if (d->parts[i].multiprocessors != size)
            return 0;
    return size;
}

static int split_evenly(division *d) {
    unsigned groups = 0;
    CUdevResource rest = {0};
    const unsigned size = common_size(d, &groups);
    int code = size ? 0
                    : acu_translate_driver(
                          cuDevSmResourceSplitByCount(NULL, &groups, &d->input, NULL, 0, 0));
    if (code)
        return code;
    d->groups = calloc(groups + 2u, sizeof *d->groups);
    if (!d->groups)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %u groups", groups);
    code = acu_translate_driver(
        cuDevSmResourceSplitByCount(d->groups, &groups, &d->input, &rest, 0, size));
    if (code)
        return code;
    d->groups[groups] = rest;
    return deal(d, groups, d->groups[0].sm.smCount,
                rest.type == CU_DEV_RESOURCE_TYPE_SM && rest.sm.smCount > 0);
}

/* ---- making the contexts ---- */

static int split_whole(division *d) {
    d->groups = calloc(2, sizeof *d->groups);
    if (!d->groups)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for a part");
    d->groups[0] = d->input;
    d->ends[0] = 1;
    return 0;
}

/* Adds the queues of a part, if it is not to have the device's; returns 0 or a recorded code. */
static int add_queues(const division *d, const acu_device_part *part, CUdevResource *resource,
                      unsigned *count) {
    int code = 0;
    if (part->queues_of)
        code = acu_translate_driver(cuGreenCtxGetDevResource(part->queues_of->raw, resource,
                                                             CU_DEV_RESOURCE_TYPE_WORKQUEUE));
    else if (part->queues || part->sharing)
        code = acu_translate_driver(
            cuDeviceGetDevResource(d->device, resource, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
    else
        return 0;
    ++*count;
    if (part->queues)
        resource->wqConfig.wqConcurrencyLimit = part->queues;
    if (part->sharing)
        resource->wqConfig.sharingScope = (CUdevWorkqueueConfigScope)part->sharing;
    return code;
}

/* Makes a raw context of the part's groups. The resource after them is overwritten: the parts are
 * made from the last to the first, so that it is needed no more. */
static int create_raw(const division *d, size_t i, CUgreenCtx *raw, unsigned *multiprocessors) {
    CUdevResource *groups = d->groups + (i ? d->ends[i - 1] : 0);
    unsigned count = (unsigned)(d->ends[i] - (i ? d->ends[i - 1] : 0));
    CUdevResourceDesc descriptor = NULL;
    for (unsigned g = 0; g < count; g++)
        *multiprocessors += groups[g].sm.smCount;
    int code = add_queues(d, &d->parts[i], &groups[count], &count);
    if (!code)
        code = acu_translate_driver(cuDevResourceGenerateDesc(&descriptor, groups, count));
    if (!code) /* before 13.1 the flag had to be there */
        code = acu_translate_driver(
            cuGreenCtxCreate(raw, descriptor, d->device, CU_GREEN_CTX_DEFAULT_STREAM));
    return code;
}

static int create(const division *d, size_t i) {
    unsigned multiprocessors = 0;
    CUgreenCtx raw = NULL;
    int code = outcome(d, create_raw(d, i, &raw, &multiprocessors));
    if (code)
        return code;
    acu_execution_context *made =
        acu_execution_context_new(d->call, d->device, raw, multiprocessors, true);
    if (!made) {
        (void)cuGreenCtxDestroy(raw);
        return ACU_ERROR_HOST_MEMORY;
    }
    made->queues_of = d->parts[i].queues_of;
    acu_object_add_owner(made->queues_of);
    d->contexts[i] = made;
    return 0;
}

static void release_all(const division *d) {
    acu_saved_record failure;
    acu_record_save(&failure);
    for (size_t i = 0; i < d->count; i++) {
        (void)acu_object_release(d->call, d->contexts[i], &acu_execution_context_class);
        d->contexts[i] = NULL;
    }
    acu_record_restore(&failure);
}

static int split_and_create(division *d) {
    bool special = false, in_domain = false;
    for (size_t i = 0; i < d->count; i++) {
        special = special || is_special(&d->parts[i]);
        in_domain = in_domain || acu_has(d->parts[i].flags, ACU_PART_IN_DOMAIN);
    }
    if (sum_of(d) > d->input.sm.smCount)
        return refuse_size(d, sum_of(d), usual_step(d), d->input.sm.smCount);
    int code = is_whole(d)                             ? split_whole(d)
               : special || acu_driver_is_since(13010) ? split_freely(d)
                                                       : split_evenly(d);
    if (code == cudaErrorInvalidResourceConfiguration)
        acu_fail_hint("the multiprocessors that are together%s do not suffice for the parts; ask "
                      "for fewer, or allow others with ACU_PART_BACKFILL",
                      in_domain ? ", or in the domain, if there is one of that number," : "");
    if (code && code != ACU_ERROR_LIMIT)
        code = outcome(d, code);
    for (size_t i = d->count; i-- > 0 && !code;)
        code = create(d, i);
    if (code)
        release_all(d);
    return code;
}

/* Divides `d->input`; all but `groups` and `ends` is set. */
static int split(division *d) {
    for (size_t i = 0; i < d->count; i++)
        ACU_TRY(check_part(d, i));
    d->ends = calloc(d->count, sizeof *d->ends);
    int code =
        d->ends ? split_and_create(d)
                : acu_fail(d->call, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu parts", d->count);
    free(d->ends);
    free(d->groups);
    return code;
}

/* Checks the arrays, and clears what is returned. */
static int check_arrays(const division *d) {
    if (!d->parts || !d->contexts)
        return acu_fail(d->call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        d->parts ? "contexts" : "parts");
    if (d->count == 0 || d->count > UINT16_MAX)
        return acu_fail(d->call, "", ACU_ERROR_ARGUMENT,
                        "'count' is %zu, which is no number of parts", d->count);
    for (size_t i = 0; i < d->count; i++)
        d->contexts[i] = NULL;
    return 0;
}

acu_result acu_device_split(acu_device device, const acu_device_part *parts, size_t count,
                            acu_execution_context **contexts) {
    ACU_SCOPE();
    division d = {.call = __func__, .parts = parts, .count = count, .contexts = contexts};
    ACU_TRY(check_arrays(&d));
    ACU_TRY(acu_execution_context_begin(__func__, &device));
    d.device = device;
    ACU_TRY(outcome(&d, acu_translate_driver(
                            cuDeviceGetDevResource(device, &d.input, CU_DEV_RESOURCE_TYPE_SM))));
    return split(&d);
}

acu_result acu_execution_context_split(acu_execution_context *context, const acu_device_part *parts,
                                       size_t count, acu_execution_context **contexts) {
    ACU_SCOPE();
    division d = {.call = __func__, .parts = parts, .count = count, .contexts = contexts};
    ACU_NEED(context, acu_execution_context_class);
    ACU_TRY(check_arrays(&d));
    acu_destroy_deferred();
    d.device = context->object.device;
    d.object = &context->object;
    ACU_TRY(outcome(&d, acu_translate_driver(cuGreenCtxGetDevResource(context->raw, &d.input,
                                                                      CU_DEV_RESOURCE_TYPE_SM))));
    return split(&d);
}

/* ---- what there is ---- */

acu_result acu_device_get_multiprocessors(acu_device device, acu_multiprocessors *multiprocessors) {
    ACU_SCOPE();
    CUdevResource all = {0}, queues = {0};
    ACU_NEED_POINTER(multiprocessors);
    *multiprocessors = (acu_multiprocessors){0};
    ACU_TRY(acu_execution_context_begin(__func__, &device));
    int code = acu_translate_driver(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
    if (!code && acu_driver_is_since(13010))
        code = acu_translate_driver(
            cuDeviceGetDevResource(device, &queues, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
    ACU_TRY(acu_device_outcome(__func__, device, code));
    *multiprocessors = (acu_multiprocessors){.count = all.sm.smCount,
                                             .least = all.sm.minSmPartitionSize,
                                             .step = all.sm.smCoscheduledAlignment,
                                             .queues = queues.wqConfig.wqConcurrencyLimit};
    return 0;
}
