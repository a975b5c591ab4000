#include "core/fail.h"

#include <anycuda/status.h>

int acu_vfail(const char *call, const char *object, int code, const char *format, va_list args) {
    acu_record_call(call, code, format, args);
    acu_record_object(call, object);
    return code;
}

int acu_fail(const char *call, const char *object, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)acu_vfail(call, object, code, format, args);
    va_end(args);
    return code;
}

int acu_cuda_failed(const char *call, const char *object, int code) {
    const acu_failure *last = acu_record_last();
    if (last->code != code || !*last->message)
        acu_record(code, "%s (%d)", acu_result_name(code), code);
    acu_record_object(call, object);
    return code;
}

void acu_fail_hint(const char *format, ...) {
    va_list args;
    va_start(args, format);
    acu_record_hint(format, args);
    va_end(args);
}
