/* What a call of WebGPU says, as an error of this thread. */
#ifndef ACU_WEBGPU_CALL_H
#define ACU_WEBGPU_CALL_H

#include <anycuda/status.h>
#include <anycuda/webgpu.h>

#include <stdbool.h>

/* Fails because `function` returned no object: anycuda refused the call, and has recorded why, or
 * the library gives no reason. Returns the code, in the runtime's numbers. */
acu_result acu_webgpu_refused(const char *call, const char *object, const char *function);
/* Copies a message of several lines as one. */
void acu_webgpu_one_line(char *to, size_t size, WGPUStringView from);
/* Returns whether the library can wait for work: wgpu-native can, Dawn cannot. */
bool acu_webgpu_can_poll(void);

#endif
