/* What exchange.py calls: buffers and blocks for NumPy, and NumPy's arrays as buffers and blocks.
 */
#include <anycuda/anycuda.h>
#include <anycuda/runtime.h>
#include <anycuda/sim.h>

static acu_stream *stream;
static acu_client *cpu;

const char *message(void);
int leaks(void);
acu_result begin(void);
acu_result end(void);
acu_result make_tensor(acu_memory memory, unsigned flags, void **tensor);
acu_result make_old_tensor(void **tensor);
acu_result sum(void *tensor, bool is_versioned, double *answer, acu_dlpack_info *info);
acu_result make_address(acu_buffer **buffer, uintptr_t *address);
acu_result release(acu_buffer *buffer);
acu_result make_block_tensor(unsigned flags, void **tensor);
acu_result add_to_block(void *tensor, bool is_versioned, double amount, acu_dlpack_info *info);

const char *message(void) {
    return acu_last_error_message();
}

int leaks(void) {
    return acu_sim_leaks(1);
}

acu_result begin(void) {
    ACU_TRY(acu_client_create(acu_place_cpu(), NULL, &cpu));
    return acu_stream_create(0, NULL, &stream);
}

acu_result end(void) {
    ACU_TRY(acu_client_release(cpu));
    return acu_stream_release(stream);
}

static acu_result count_up(acu_memory memory, acu_buffer **buffer) {
    const float numbers[] = {0, 1, 2, 3, 4, 5};
    ACU_TRY(acu_buffer_create_with(stream, ACU_F32, 6, &(acu_buffer_options){.memory = memory},
                                   buffer));
    return acu_buffer_write(*buffer, numbers, 6);
}

/* The tensor has 2 x 3 floats, of the host: 0, 1 … 5; it is the buffer's last owner. */
acu_result make_tensor(acu_memory memory, unsigned flags, void **tensor) {
    const acu_tensor_layout layout = {.rank = 2, .shape = {2, 3}};
    const acu_dlpack_options options = {.device = ACU_DLPACK_CPU, .flags = flags};
    struct DLManagedTensorVersioned *made = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_TRY(count_up(memory, &buffer));
    ACU_TRY(acu_buffer_export_dlpack(buffer, &layout, &options, &made));
    *tensor = made;
    return 0;
}

/* As the above, but pinned; the first column comes first, from the last row on. */
acu_result make_old_tensor(void **tensor) {
    const acu_tensor_layout layout = {
        .rank = 2, .strided = true, .shape = {3, 2}, .strides = {1, -3}, .at = 3};
    struct DLManagedTensor *made = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_TRY(count_up(ACU_MEMORY_PINNED, &buffer));
    ACU_TRY(acu_buffer_export_dlpack_unversioned(buffer, &layout, NULL, &made));
    *tensor = made;
    return 0;
}

/* Imports an array of doubles, which is taken over, and adds its elements up, by way of a device.
 */
acu_result sum(void *tensor, bool is_versioned, double *answer, acu_dlpack_info *info) {
    double numbers[64] = {0};
    size_t count = 1;
    ACU_AUTO(acu_buffer) *array = NULL;
    ACU_AUTO(acu_buffer) *there = NULL;
    if (is_versioned)
        ACU_TRY(acu_buffer_import_dlpack(stream, tensor, info, &array));
    else
        ACU_TRY(acu_buffer_import_dlpack_unversioned(stream, tensor, info, &array));
    const acu_tensor_layout *l = &info->layout;
    for (unsigned i = 0; i < l->rank; i++)
        count *= l->shape[i];
    ACU_TRY(acu_buffer_create(stream, ACU_F64, count, &there));
    const acu_strides strides = {
        .rank = l->rank, .shape = l->shape, .from = l->strides, .from_at = l->at};
    ACU_TRY(acu_buffer_copy_strided(there, array, &strides, NULL));
    ACU_TRY(acu_buffer_read(there, numbers, count));
    *answer = 0;
    for (size_t i = 0; i < count; i++)
        *answer = 10 * *answer + numbers[i];
    return 0;
}

/* Managed memory, for __array_interface__. */
acu_result make_address(acu_buffer **buffer, uintptr_t *address) {
    ACU_TRY(count_up(ACU_MEMORY_MANAGED, buffer));
    ACU_TRY(acu_buffer_synchronize(*buffer));
    *address = (uintptr_t)acu_buffer_raw(*buffer);
    return 0;
}

acu_result release(acu_buffer *buffer) {
    return acu_buffer_release(buffer);
}

/* ---- blocks of the CPU ---- */

static void add(const acu_part *part, void *const *args) {
    double *numbers = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        numbers[i] += *(const double *)args[1];
}

static acu_result add_amount(acu_block *block, double amount) {
    ACU_AUTO(acu_program) *program = NULL;
    ACU_TRY(acu_program_create(&(acu_program_source){.name = "add", .cpu = add}, &program));
    return acu_run(cpu, program, acu_items(acu_block_size(block) / sizeof amount), block, amount);
}

/* The tensor has 3 x 2 doubles of a block with the numbers 0, 1 … 5, which a program is writing; it
 * begins at the 3, and is the block's last owner. */
acu_result make_block_tensor(unsigned flags, void **tensor) {
    const double numbers[] = {-1, 0, 1, 2, 3, 4};
    const acu_tensor_layout layout = {
        .rank = 2, .strided = true, .shape = {3, 2}, .strides = {1, -2}, .at = 3};
    struct DLManagedTensorVersioned *made = NULL;
    ACU_AUTO(acu_block) *block = NULL;
    ACU_TRY(acu_block_create(cpu, sizeof numbers, &block));
    ACU_TRY(acu_block_write(cpu, block, 0, numbers, sizeof numbers));
    ACU_TRY(add_amount(block, 1));
    ACU_TRY(acu_block_export_dlpack(block, ACU_F64, &layout, flags, &made));
    *tensor = made;
    return 0;
}

/* Imports an array of doubles, which is taken over, and lets a program add to all its memory. */
acu_result add_to_block(void *tensor, bool is_versioned, double amount, acu_dlpack_info *info) {
    ACU_AUTO(acu_block) *block = NULL;
    if (is_versioned)
        ACU_TRY(acu_block_import_dlpack(cpu, tensor, info, &block));
    else
        ACU_TRY(acu_block_import_dlpack_unversioned(cpu, tensor, info, &block));
    ACU_TRY(add_amount(block, amount));
    return acu_client_synchronize(cpu);
}
