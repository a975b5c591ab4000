#define _GNU_SOURCE
#include "field.h"

#include <dlfcn.h>

const struct fake_seen *seen(void) {
    assert_non_null(acu_loaded(ACU_CUDART));
    return dlsym(dlopen(acu_loaded(ACU_CUDART)->path, RTLD_NOW | RTLD_NOLOAD), "fake_seen");
}

int version_of(const char *version) {
    char *end;
    long major = strtol(version, &end, 10);
    return (int)(major * 1000 + strtol(end + 1, NULL, 10) * 10);
}

const char *soname_of(const char *version) {
    switch (version_of(version) / 1000) {
    case 11:
        return "libcudart.so.11.0";
    case 12:
        return "libcudart.so.12";
    default:
        return "libcudart.so.13";
    }
}

void install(const char *version) {
    char fake[64];
    snprintf(fake, sizeof fake, "%s/%s", version, soname_of(version));
    install_as(fake, soname_of(version));
    install_driver(version_of(version));
}

void open_before(const char *version) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", FAKES, version, soname_of(version));
    assert_non_null(dlopen(path, RTLD_NOW | RTLD_LOCAL));
}

void expect_loaded(int version, const char *found) {
    const acu_load_info *info = acu_loaded(ACU_CUDART);
    if (!info) {
        fail_msg("%s\n%s", acu_last_error_message(), acu_load_trace(ACU_CUDART));
        return;
    }
    assert_int_equal(info->version, version);
    assert_string_equal(info->found, found);
}
