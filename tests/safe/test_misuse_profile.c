/* Misuse of domains, ranges and marks, while a tool listens. */
#include "misuse.h"
#include "../nvtx_tool.h"

int (*InitializeInjectionNvtx2_fnptr)(const void *(*)(uint32_t)) = tool_attaches;

static acu_domain *domain;

static int begin_profile(void **state) {
    OK(acu_domain_create("misused", &domain));
    return begin_misuse(state);
}

static int end_profile(void **state) {
    OK(acu_domain_release(domain));
    return end_misuse(state);
}

static void domains(void **state) {
    (void)state;
    acu_domain *made = NULL;
    NOT_NULL(acu_domain_create(NULL, &made));
    NOT_NULL(acu_domain_create("x", NULL));
    NOT_NULL(acu_domain_wrap(NULL, NULL));
    NOT_NULL(acu_domain_adopt(NULL, NULL));
    OPTIONAL_HANDLE(acu_domain_set_category_name(bad, 1, "x"));
    NOT_NULL(acu_domain_set_category_name(domain, 1, NULL));
    SAYS(NULL, acu_domain_raw(bad));
    SAYS(NULL, acu_domain_name(bad));
    OWNERS(domain);
    acu_domain_cleanup(NULL);
}

static void ranges(void **state) {
    (void)state;
    uint64_t range = 5;
    const acu_range_options unknown = {.payload = (acu_payload)9};
    const int before = tool.count;
    assert_true(acu_range_heard());
    OPTIONAL_HANDLE(acu_range_push(bad, "x", NULL));
    OPTIONAL_HANDLE(acu_range_pop(bad));
    OPTIONAL_HANDLE(acu_range_start(bad, "x", NULL, &range));
    assert_int_equal(range, 0);
    OPTIONAL_HANDLE(acu_range_end(bad, 7));
    OPTIONAL_HANDLE(acu_range_mark(bad, "x", NULL));
    NOT_NULL(acu_range_push(domain, NULL, NULL));
    NOT_NULL(acu_range_start(domain, NULL, NULL, &range));
    NOT_NULL(acu_range_start(domain, "x", NULL, NULL));
    NOT_NULL(acu_range_mark(domain, NULL, NULL));
    REFUSED(acu_range_push(domain, "x", &unknown), ACU_ERROR_ARGUMENT, "no payload");
    REFUSED(acu_range_mark(domain, "x", &unknown), ACU_ERROR_ARGUMENT, "no payload");
    assert_ptr_equal(acu_range_enter(domain, NULL), domain);
    acu_range_cleanup(NULL);
    assert_int_equal(tool.count, before); /* a tool is told of nothing that is refused */
}

static void names(void **state) {
    (void)state;
    const int before = tool.count;
    NOT_NULL(acu_thread_set_name(NULL));
    NOT_NULL(acu_device_set_name(0, NULL));
    NO_DEVICE(acu_device_set_name(absent, "x"));
    HANDLE(acu_stream_set_name(bad, "x"));
    NOT_NULL(acu_stream_set_name(good.stream, NULL));
    HANDLE(acu_event_set_name(bad, "x"));
    NOT_NULL(acu_event_set_name(good.event, NULL));
    assert_int_equal(tool.count, before); /* a tool is told of nothing that is refused */
}

/* What has no argument to be wrong. */
static void the_profiler(void **state) {
    (void)state;
    OK(acu_profiler_start());
    OK(acu_profiler_stop());
}

#define PROFILE_TEST(function) SAFE_TEST(function, begin_profile, end_profile)

int main(void) {
    const struct CMUnitTest tests[] = {PROFILE_TEST(domains), PROFILE_TEST(ranges),
                                       PROFILE_TEST(names), PROFILE_TEST(the_profiler)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
