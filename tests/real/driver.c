/* The driver API where there is no driver: prints each message and its code. */
#include <anycuda/cuda.h>
#include <anycuda/load.h>

#include <stdio.h>

int main(void) {
    int count = 0;
    CUresult result = cuInit(0);
    printf("%d %d %s\n", result, acu_last_error(), acu_last_error_message());
    result = cuDeviceGetCount(&count);
    printf("%d %d %s\n", result, acu_last_error(), acu_last_error_message());
    return 0;
}
