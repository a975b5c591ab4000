#include "runtime/webgpu/webgpu_call.h"

#include "core/call.h"
#include "core/fail.h"
#include "webgpu_abi.h"

#include <stdio.h>
#include <string.h>

enum { UNKNOWN = 999 }; /* cudaErrorUnknown */

acu_result acu_webgpu_refused(const char *call, const char *object, const char *function) {
    const acu_failure *last = acu_record_last();
    if (!last->code || !last->call || strcmp(last->call, function) != 0)
        return acu_fail(call, object, UNKNOWN, "%s() returned nothing, and no reason", function);
    return acu_cuda_failed(call, object, acu_record_recode(last->code, last->runtime_code));
}

void acu_webgpu_one_line(char *to, size_t size, WGPUStringView from) {
    char log[2048];
    const size_t length =
        from.length == WGPU_STRLEN ? (from.data ? strlen(from.data) : 0) : from.length;
    snprintf(log, sizeof log, "%.*s", (int)(length < sizeof log ? length : sizeof log - 1),
             from.data ? from.data : "");
    (void)acu_record_one_line(log, to, size);
}

bool acu_webgpu_can_poll(void) {
    return acu_call_exists(&acu_function_wgpuDevicePoll) &&
           acu_call_bind(&acu_function_wgpuDevicePoll) != NULL;
}
