#include "cuda_device.h"

acu_result make_queue(const machine *m, acu_backend_queue **queue) {
    const acu_backend_queue_options options = {.size = sizeof options};
    return table->queue_create(m->device, &options, queue);
}

acu_result open_machine(int device, machine *m) {
    ACU_TRY(table->device_open(device, &m->device));
    return make_queue(m, &m->queue);
}

void machine_cleanup(machine *m) {
    if (m->queue)
        table->queue_destroy(m->queue);
    if (m->device)
        table->device_close(m->device);
    *m = (machine){NULL, NULL};
}

acu_stream *stream_of(acu_backend_queue *queue) {
    acu_raw raw;
    DONE(table->queue_get_raw(queue, &raw));
    assert_int_equal(raw.kind, ACU_RAW_CUDA);
    assert_ptr_equal(raw.handle, acu_stream_raw(raw.other));
    return raw.other;
}

/* ---- a program ---- */

int add_calls;

static void add_on_cpu(const acu_part *part, void *const *args) {
    const float *a = args[0], *b = args[1];
    float *sum = args[2];
    assert_int_equal(part->items[0], *(const unsigned *)args[3]);
    __atomic_add_fetch(&add_calls, 1, __ATOMIC_RELAXED);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        sum[i] = a[i] + b[i];
}

static const char add_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 .ptr a, .param .u64 .ptr b, .param .u64 .ptr sum,\n"
    "                    .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<10>; .reg .f32 %f<4>;\n"
    "    ld.param.u64 %rd1, [a];\n"
    "    ld.param.u64 %rd2, [b];\n"
    "    ld.param.u64 %rd3, [sum];\n"
    "    ld.param.u32 %r5, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n"
    "    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r1, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p1, %r1, %r5;\n"
    "    @%p1 bra END;\n"
    "    mul.wide.u32 %rd9, %r1, 4;\n"
    "    add.s64 %rd1, %rd1, %rd9;\n"
    "    add.s64 %rd2, %rd2, %rd9;\n"
    "    add.s64 %rd3, %rd3, %rd9;\n"
    "    ld.f32 %f1, [%rd1];\n"
    "    ld.f32 %f2, [%rd2];\n"
    "    add.f32 %f3, %f1, %f2;\n"
    "    st.f32 [%rd3], %f3;\n"
    "END:\n    ret;\n}\n";

const acu_program_source add_source = {
    .size = sizeof add_source, .name = "add", .cpu = add_on_cpu, .ptx = add_ptx, .group = {64}};

acu_result make_program(const machine *m, const acu_program_source *source,
                        acu_backend_program **program) {
    const acu_backend_source given = {.size = sizeof given, .source = source};
    return table->program_create(m->device, &given, program);
}

acu_result run_add(acu_backend_queue *queue, acu_backend_program *add, acu_backend_memory *a,
                   acu_backend_memory *b, acu_backend_memory *sum, unsigned n) {
    const size_t items[3] = {n, 1, 1}, bytes = n * sizeof(float);
    const acu_backend_arg args[] = {{.memory = a, .memory_bytes = bytes},
                                    {.memory = b, .memory_bytes = bytes},
                                    {.memory = sum, .memory_bytes = bytes, .writes = true},
                                    {.value = &n, .size = sizeof n}};
    return table->run(queue, add, items, args, 4);
}
