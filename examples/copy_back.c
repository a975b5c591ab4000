/*
 * The smallest complete program: memory on the device, written, copied there, read back and
 * checked.
 *
 * It runs on a GPU, or where there is none on the simulator, and says on which.
 */
#include "example.h"

enum { COUNT = 1000000 };

static float numbers[COUNT], back[COUNT];

static acu_result copy_back(void) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *first = NULL;
    ACU_AUTO(acu_buffer) *second = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &first));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &second));
    ACU_TRY(acu_buffer_write(first, numbers, COUNT));
    ACU_TRY(acu_buffer_copy(second, first, NULL));
    return acu_buffer_read(second, back, COUNT);
}

int main(void) {
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    acu_result result = example_begin();
    if (!result)
        result = copy_back();
    if (result)
        return example_end(result);
    for (int i = 0; i < COUNT; i++)
        if (back[i] != numbers[i]) {
            printf("number %d came back as %g\n", i, (double)back[i]);
            return 1;
        }
    printf("%d numbers came back as they went\n", COUNT);
    return 0;
}
