/* Profiling: when profilers record; domains, ranges and marks. */
#define _GNU_SOURCE /* syscall */
#include "safe/base/profile.h"
#include "safe/base/active_capture.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/nvtx.h"
#include "core/thread_name.h"

/* ---- the profiler ---- */

static int control(const char *call, bool start) {
    ACU_TRY(acu_outcome(call, NULL, acu_capture_check()));
    const int mode = acu_thread_ignore_captures();
    const int code = (int)(start ? cudaProfilerStart() : cudaProfilerStop());
    acu_thread_restore(mode);
    return acu_outcome(call, NULL, code);
}

acu_result acu_profiler_start(void) {
    ACU_SCOPE();
    return control(__func__, true);
}

acu_result acu_profiler_stop(void) {
    ACU_SCOPE();
    return control(__func__, false);
}

/* ---- domains ---- */

static int destroy_domain(acu_object *object) {
    const acu_domain *domain = (const acu_domain *)object;
    if (domain->owned)
        acu_nvtx_destroy_domain(domain->raw);
    return 0;
}

static void describe_domain(const acu_object *object, acu_description *d) {
    const acu_domain *domain = (const acu_domain *)object;
    if (*domain->name)
        acu_describe(d, "\"%s\"", domain->name);
    else
        acu_describe(d, "%s %p", domain->owned ? "raw" : "wrapped", domain->raw);
}

const acu_class acu_domain_class = {"domain", destroy_domain, describe_domain, acu_calls_no_cuda};

static int new_domain(const char *call, const char *name, void *raw, bool owned,
                      acu_domain **domain) {
    if (domain)
        *domain = NULL;
    if (!domain || !name)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", domain ? "name" : "domain");
    const size_t size = strlen(name) + 1;
    acu_domain *made =
        acu_object_new(call, &acu_domain_class, sizeof *made + size, ACU_DEVICE_CURRENT);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    memcpy(made->name, name, size);
    *domain = made;
    return 0;
}

acu_result acu_domain_create(const char *name, acu_domain **domain) {
    ACU_TRY(new_domain(__func__, name, NULL, true, domain));
    if (acu_audience_listens())
        (*domain)->raw = acu_nvtx_create_domain(name);
    return 0;
}

acu_result acu_domain_wrap(struct nvtxDomainRegistration_st *raw, acu_domain **domain) {
    return new_domain(__func__, "", raw, false, domain);
}

acu_result acu_domain_adopt(struct nvtxDomainRegistration_st *raw, acu_domain **domain) {
    return new_domain(__func__, "", raw, true, domain);
}

struct nvtxDomainRegistration_st *acu_domain_raw(const acu_domain *domain) {
    return acu_is(domain, &acu_domain_class) ? domain->raw : NULL;
}

acu_domain *acu_domain_retain(acu_domain *domain) {
    return acu_object_retain(__func__, domain, &acu_domain_class);
}

acu_result acu_domain_release(acu_domain *domain) {
    return acu_object_release(__func__, domain, &acu_domain_class);
}

void acu_domain_cleanup(acu_domain **domain) {
    (void)acu_domain_release(acu_take(domain));
}

size_t acu_domain_describe(const acu_domain *domain, char *text, size_t size) {
    return acu_object_describe_as(domain, &acu_domain_class, text, size);
}

const char *acu_domain_name(const acu_domain *domain) {
    return acu_is(domain, &acu_domain_class) ? domain->name : NULL;
}

/* Returns from a public function if the handle is neither a domain nor NULL, the global one. */
#define NEED_DOMAIN(domain)                                                                        \
    do {                                                                                           \
        if (domain)                                                                                \
            ACU_NEED((domain), acu_domain_class);                                                  \
    } while (0)

acu_result acu_domain_set_category_name(acu_domain *domain, uint32_t category, const char *name) {
    if (!acu_audience_listens())
        return 0;
    NEED_DOMAIN(domain);
    ACU_NEED_POINTER(name);
    acu_nvtx_name_category(domain ? domain->raw : NULL, category, name);
    return 0;
}

/* ---- threads ---- */

acu_result acu_thread_set_name(const char *name) {
    ACU_SCOPE();
    ACU_NEED_POINTER(name);
    acu_thread_keep_name(name);
    if (acu_audience_listens())
        acu_audience_name(ACU_NAMED_THREAD, (uint64_t)syscall(SYS_gettid), name);
    return 0;
}

/* ---- ranges and marks ---- */

bool acu_range_heard(void) {
    return acu_audience_listens();
}

static acu_range_event event_of(acu_range_step step, const acu_domain *domain) {
    return (acu_range_event){.step = step,
                             .domain = domain ? domain->raw : NULL,
                             .domain_name = domain ? domain->name : ""};
}

/* Tells of the beginning of a range, or of a mark. */
static int tell(const char *call, acu_range_step step, const acu_domain *domain, const char *name,
                const acu_range_options *options, uint64_t *range) {
    static const acu_range_options plain;
    const acu_range_options *o = options ? options : &plain;
    if (domain && !acu_is(domain, &acu_domain_class))
        return acu_object_refuse(call, domain, &acu_domain_class);
    if (!name)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'name' is NULL");
    if ((unsigned)o->payload > ACU_PAYLOAD_F64)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "options.payload is %d, which is no payload",
                        (int)o->payload);
    acu_range_event event = event_of(step, domain);
    event.name = name;
    event.color = o->color;
    event.category = o->category;
    event.payload_kind = (int)o->payload;
    memcpy(&event.payload, &o->number, sizeof event.payload);
    *range = acu_audience_tell(&event);
    return 0;
}

acu_result acu_range_push(acu_domain *domain, const char *name, const acu_range_options *options) {
    uint64_t none;
    return acu_audience_listens() ? tell(__func__, ACU_RANGE_PUSH, domain, name, options, &none)
                                  : 0;
}

acu_result acu_range_pop(acu_domain *domain) {
    if (!acu_audience_listens())
        return 0;
    NEED_DOMAIN(domain);
    const acu_range_event event = event_of(ACU_RANGE_POP, domain);
    (void)acu_audience_tell(&event);
    return 0;
}

acu_result acu_range_start(acu_domain *domain, const char *name, const acu_range_options *options,
                           uint64_t *range) {
    if (range)
        *range = 0;
    if (!acu_audience_listens())
        return 0;
    ACU_NEED_POINTER(range);
    return tell(__func__, ACU_RANGE_START, domain, name, options, range);
}

acu_result acu_range_end(acu_domain *domain, uint64_t range) {
    if (!range || !acu_audience_listens())
        return 0;
    NEED_DOMAIN(domain);
    acu_range_event event = event_of(ACU_RANGE_END, domain);
    event.id = range;
    (void)acu_audience_tell(&event);
    return 0;
}

acu_result acu_range_mark(acu_domain *domain, const char *name, const acu_range_options *options) {
    uint64_t none;
    return acu_audience_listens() ? tell(__func__, ACU_RANGE_MARK, domain, name, options, &none)
                                  : 0;
}

acu_range_scope acu_range_enter(acu_domain *domain, const char *name) {
    (void)acu_range_push(domain, name, NULL);
    return domain;
}

void acu_range_cleanup(acu_range_scope *scope) {
    if (scope)
        (void)acu_range_pop(*scope);
}
