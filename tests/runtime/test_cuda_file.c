/*
 * A program that is not linked with the simulator, but loads it as a file in place of libcudart:
 * its programs run there, too, by their forms for the CPU. CMakeLists.txt names the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/runtime.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call)                                                                                  \
            fail_msg("%s: %s", #call, acu_last_error_message());                                   \
    } while (0)

static void count_up(const acu_part *part, void *const *args) {
    unsigned *numbers = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        numbers[i] = *(const unsigned *)args[1] + (unsigned)i;
}

static void the_form_for_the_cpu_runs(void **state) {
    (void)state;
    const acu_program_source source = {
        .name = "count_up",
        .cpu = count_up,
        .ptx = ".version 7.0\n.target sm_52\n.address_size 64\n"
               ".visible .entry count_up(.param .u64 numbers, .param .u32 first) { ret; }\n"};
    unsigned numbers[10] = {0};
    ACU_AUTO(acu_client) *client = NULL;
    ACU_AUTO(acu_block) *block = NULL;
    ACU_AUTO(acu_program) *program = NULL;
    OK(acu_client_create(acu_place_cuda(0), NULL, &client));
    OK(acu_block_create(client, sizeof numbers, &block));
    OK(acu_program_create(&source, &program));
    OK(acu_run(client, program, acu_items(10), acu_out_block(block), 7U));
    OK(acu_block_read(client, block, 0, numbers, sizeof numbers));
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(numbers[i], 7 + i);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_form_for_the_cpu_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
