#include <anycuda/anycuda.h>
#include <anycuda/sim.h>

#include <stdio.h>

static acu_result run(void) {
    static const int numbers[] = {1, 2, 3};
    int back[3];
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_TRY(acu_load(&(acu_load_options){.path = "sim"}));
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_I32, 3, &buffer));
    ACU_TRY(acu_buffer_write(buffer, numbers, 3));
    ACU_TRY(acu_buffer_read(buffer, back, 3));
    printf("simulated %d %d %d\n", back[0], back[1], back[2]);
    return ACU_SUCCESS;
}

int main(void) {
    if (run()) {
        printf("%s\n", acu_last_error_message());
        return 1;
    }
    return acu_sim_leaks(1);
}
