/* Machine code and fat binaries: what is read of them, what of them a device takes, and that no
 * damage breaks the reader. */
#define _GNU_SOURCE /* mkstemp */

#include "kernels.h"

#include "binaries.h"
#include "../scratch.h"

#include <anycuda/cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What cannot be read is told to whom first needs it. */
static cudaError_t load_code(const void *code, cudaLibrary_t *library) {
    cudaKernel_t none;
    cudaError_t result = cudaLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0);
    if (!result &&
        (result = cudaLibraryGetKernel(&none, *library, "none")) != cudaErrorSymbolNotFound)
        OK(cudaLibraryUnload(*library));
    (void)cudaGetLastError();
    return result == cudaErrorSymbolNotFound ? cudaSuccess : result;
}

static cudaError_t load_bytes(const binary *b, cudaLibrary_t *library) {
    return load_code(b->at, library);
}

static struct cudaFuncAttributes attributes_of(cudaLibrary_t library, const char *name) {
    struct cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, kernel_of(library, name)));
    return attributes;
}

/* ---- machine code ---- */

TEST(a_kernel_of_machine_code) {
    static binary cubin;
    cudaLibrary_t library;
    size_t offset, size;
    make_cubin(&cubin, 90);
    OK(load_bytes(&cubin, &library));
    struct cudaFuncAttributes a = attributes_of(library, "add");
    assert_int_equal(a.numRegs, 40);
    assert_int_equal(a.maxThreadsPerBlock, 256);
    assert_int_equal(a.sharedSizeBytes, 512);
    assert_int_equal(a.localSizeBytes, 16);
    assert_int_equal(a.constSizeBytes, 12);
    assert_int_equal(a.binaryVersion, 90);
    OK(cudaFuncGetParamCount(kernel_of(library, "add"), &size));
    assert_int_equal(size, 4);
    OK(cudaFuncGetParamInfo(kernel_of(library, "add"), 3, &offset, &size));
    assert_true(offset == 24 && size == 4);
    OK(cudaLibraryUnload(library));
}

TEST(machine_code_is_launched) {
    static binary cubin;
    cudaLibrary_t library;
    float in[4] = {1, 2, 3, 4}, out[4], *at, *to;
    unsigned n = 4;
    register_kernels();
    make_cubin(&cubin, 90);
    OK(load_bytes(&cubin, &library));
    OK(cudaMalloc((void **)&at, 32));
    to = at + 4;
    void *args[] = {&at, &at, &to, &n};
    OK(cudaMemcpy(at, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(4, 1, 1), args, 0, NULL));
    OK(cudaMemcpy(out, to, sizeof out, cudaMemcpyDeviceToHost));
    assert_true(out[0] == 2 && out[3] == 8);
    FAILS(cudaErrorInvalidValue,
          cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(257, 1, 1), args, 0, NULL));
    OK(cudaFree(at));
    OK(cudaLibraryUnload(library));
}

TEST(variables_of_machine_code) {
    static binary cubin;
    cudaLibrary_t library;
    void *at;
    size_t size;
    int counter = 0;
    float factors[3], table[25];
    make_cubin(&cubin, 90);
    OK(load_bytes(&cubin, &library));
    OK(cudaLibraryGetGlobal(&at, &size, library, "counter"));
    assert_int_equal(size, 4);
    OK(cudaMemcpy(&counter, at, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(counter, 7);
    OK(cudaLibraryGetGlobal(&at, &size, library, "factors"));
    OK(cudaMemcpy(factors, at, 12, cudaMemcpyDeviceToHost));
    assert_true(factors[1] == 2 && factors[2] == -4);
    OK(cudaLibraryGetGlobal(&at, &size, library, "table"));
    assert_int_equal(size, 100);
    OK(cudaMemcpy(table, at, 100, cudaMemcpyDeviceToHost));
    assert_true(table[0] == 0 && table[24] == 0);
    OK(cudaLibraryGetManaged(&at, &size, library, "shared_by_all"));
    assert_int_equal(*(int *)at, 3);
    OK(cudaLibraryUnload(library));
}

TEST(machine_code_of_another_device) {
    static const struct {
        unsigned arch;
        const char *machine;
        cudaError_t result;
    } cases[] = {
        {80, "cc=8.0", cudaSuccess},
        {80, "cc=8.6", cudaSuccess},
        {86, "cc=8.0", cudaErrorNoKernelImageForDevice},
        {80, "cc=9.0", cudaErrorNoKernelImageForDevice},
        {90, "cc=8.9", cudaErrorNoKernelImageForDevice},
        {100, "cc=10.3", cudaSuccess},
        {100, "cc=12.0", cudaErrorNoKernelImageForDevice},
    };
    static binary cubin;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cudaLibrary_t library;
        acu_sim_reset(cases[i].machine);
        make_cubin(&cubin, cases[i].arch);
        SAYS(cases[i].result, load_bytes(&cubin, &library));
        if (!cases[i].result)
            OK(cudaLibraryUnload(library));
    }
}

/* A library is loaded lazily; a module is not. */
TEST(who_needs_code_for_another_device_is_told) {
    static binary eighty, fat;
    make_cubin(&eighty, 80);
    const piece only = {KIND_CUBIN, 80, 0, eighty.at, eighty.size, 0};
    make_fat_binary(&fat, &only, 1);
    const struct {
        const void *code;
        int result;
    } cases[] = {{eighty.at, 209},
                 {fat.at, 209},
                 {".version 8.6\n.target sm_100\n.address_size 64\n.entry f() { ret; }", 218}};
    OK(cudaFree(NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const CUresult why = (CUresult)cases[i].result;
        cudaLibrary_t library;
        cudaKernel_t kernel;
        CUlibrary same;
        CUkernel none;
        CUmodule module;
        unsigned count = 9;
        OK(cudaLibraryLoadData(&library, cases[i].code, NULL, NULL, 0, NULL, NULL, 0));
        OK(cudaLibraryGetKernelCount(&count, library));
        assert_int_equal(count, 0);
        FAILS((cudaError_t)cases[i].result, cudaLibraryGetKernel(&kernel, library, "f"));
        OK(cudaLibraryUnload(library));
        SAYS(why, cuModuleLoadData(&module, cases[i].code));
        SAYS(CUDA_SUCCESS, cuLibraryLoadData(&same, cases[i].code, NULL, NULL, 0, NULL, NULL, 0));
        SAYS(CUDA_SUCCESS, cuLibraryGetKernelCount(&count, same));
        assert_int_equal(count, 0);
        SAYS(why, cuLibraryGetKernel(&none, same, "f"));
        SAYS(why, cuLibraryGetModule(&module, same));
        SAYS(CUDA_SUCCESS, cuLibraryUnload(same));
    }
}

/* As toolkits below 13 wrote it: another system, and the architecture elsewhere in the flags. */
TEST(older_machine_code) {
    static binary cubin;
    cudaLibrary_t library;
    const uint32_t flags = 0x5a055a, only_9_0 = flags | 0x800;
    make_cubin(&cubin, 0);
    cubin.at[7] = 0x33;
    memcpy(cubin.at + 48, &flags, 4);
    OK(load_bytes(&cubin, &library));
    assert_int_equal(attributes_of(library, "add").binaryVersion, 90);
    OK(cudaLibraryUnload(library));
    memcpy(cubin.at + 48, &only_9_0, 4);
    OK(load_bytes(&cubin, &library));
    OK(cudaLibraryUnload(library));
}

TEST(what_is_no_machine_code) {
    static binary cubin;
    cudaLibrary_t library;
    static const struct {
        size_t at;
        unsigned char value;
        cudaError_t result;
    } cases[] = {{4, 1, cudaErrorInvalidKernelImage},      /* 32 bits */
                 {7, 0, cudaErrorInvalidKernelImage},      /* no system */
                 {18, 62, cudaErrorInvalidKernelImage},    /* the host's */
                 {16, 1, cudaErrorNoKernelImageForDevice}, /* to be linked yet */
                 {62, 99, cudaErrorInvalidKernelImage}};   /* no names of sections */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_cubin(&cubin, 90);
        cubin.at[cases[i].at] = cases[i].value;
        SAYS(cases[i].result, load_bytes(&cubin, &library));
    }
}

/* ---- fat binaries ---- */

#define PTX_FOR(arch) ".version 7.0\n.target sm_" #arch "\n.address_size 64\n" PTX_ADD

TEST(a_device_takes_the_best_of_a_fat_binary) {
    static binary eighty, ninety, fat;
    static const char of_50[] = PTX_FOR(50), of_80[] = PTX_FOR(80);
    make_cubin(&eighty, 80);
    make_cubin(&ninety, 90);
    const piece pieces[] = {{KIND_PTX, 80, 0, of_80, sizeof of_80, 0},
                            {KIND_OTHER, 90, 0, "?", 1, 0},
                            {KIND_CUBIN, 80, 0, eighty.at, eighty.size, 0},
                            {KIND_CUBIN, 90, 0, ninety.at, ninety.size, 0},
                            {KIND_PTX, 50, 0, of_50, sizeof of_50, 0}};
    static const struct {
        const char *machine;
        int binary, ptx;
    } cases[] = {{"cc=9.0", 90, 80}, /* the PTX is what is executed */
                 {"cc=8.0", 80, 80},
                 {"cc=8.9", 80, 80},
                 {"cc=12.0", 120, 80},
                 {"cc=7.5", 75, 50}};
    make_fat_binary(&fat, pieces, 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cudaLibrary_t library;
        acu_sim_reset(cases[i].machine);
        OK(load_bytes(&fat, &library));
        assert_int_equal(attributes_of(library, "add").binaryVersion, cases[i].binary);
        assert_int_equal(attributes_of(library, "add").ptxVersion, cases[i].ptx);
        OK(cudaLibraryUnload(library));
    }
    acu_sim_reset("cc=5.0");
    make_fat_binary(&fat, pieces, 4);
    cudaLibrary_t library;
    SAYS(cudaErrorNoKernelImageForDevice, load_bytes(&fat, &library));
}

/* nvcc -arch=sm_90 puts both into a program: what machine code says of the kernel counts, and the
 * PTX is executed, with a variable that the machine code has no more. */
TEST(ptx_beside_machine_code_is_executed) {
    static binary ninety, fat;
    static const char ptx[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 beside = 41;\n"
        ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 to, .param .u32 n) {\n"
        ".reg .b32 %r<3>; .reg .b64 %d<2>;\nld.param.u64 %d1, [to];\n"
        "ld.global.u32 %r1, [beside];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
    cudaLibrary_t library;
    uint32_t *at, word = 0, n = 1;
    make_cubin(&ninety, 90);
    const piece pieces[] = {{KIND_PTX, 90, 0, ptx, sizeof ptx, 0},
                            {KIND_CUBIN, 90, 0, ninety.at, ninety.size, 0}};
    make_fat_binary(&fat, pieces, 2);
    acu_sim_register("add", NULL);
    OK(load_bytes(&fat, &library));
    assert_int_equal(attributes_of(library, "add").numRegs, 40);
    OK(cudaMalloc((void **)&at, sizeof word));
    void *args[] = {&at, &at, &at, &n};
    OK(cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL));
    OK(cudaMemcpy(&word, at, sizeof word, cudaMemcpyDeviceToHost));
    assert_int_equal(word, 42);
    OK(cudaFree(at));
    OK(cudaLibraryUnload(library));
}

/* Of a cooperative launch an H200 says that it is too large where no block has its registers. */
TEST(registers_that_no_block_has) {
    static binary cubin;
    const uint32_t usual[] = {KERNEL_SYMBOL, 40}, many = 400;
    cudaLibrary_t library;
    int blocks = -1;
    void *args[] = {&blocks, &blocks, &blocks, &blocks};
    acu_sim_register("add", NULL);
    make_cubin(&cubin, 90);
    char *at = NULL;
    for (size_t n = 0; !at && n + sizeof usual <= cubin.size; n++)
        if (memcmp(cubin.at + n, usual, sizeof usual) == 0)
            at = (char *)cubin.at + n;
    assert_non_null(at);
    memcpy(at + sizeof *usual, &many, sizeof many);
    OK(load_bytes(&cubin, &library));
    const void *add = kernel_of(library, "add");
    assert_int_equal(attributes_of(library, "add").maxThreadsPerBlock, 128);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    assert_int_equal(blocks, 0);
    FAILS(cudaErrorLaunchOutOfResources,
          cudaLaunchKernel(add, dim(1, 1, 1), dim(256, 1, 1), args, 0, NULL));
    FAILS(cudaErrorCooperativeLaunchTooLarge,
          cudaLaunchCooperativeKernel(add, dim(1, 1, 1), dim(256, 1, 1), args, 0, NULL));
    OK(cudaLibraryUnload(library));
}

/* ptxas aligns parameters within the constant bank, so that their offsets are not the PTX's. */
TEST(parameters_lie_where_the_ptx_has_them) {
    static binary ninety, fat;
    static const char ptx[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry add(.param .u64 a, .param .align 128 .b8 b[8], .param .u64 to,"
        " .param .u32 n) {\n.reg .b32 %r<3>; .reg .b64 %d<3>;\n"
        "ld.param.u64 %d1, [to];\nld.param.u32 %r1, [b];\nld.param.u32 %r2, [n];\n"
        "mad.lo.u32 %r1, %r1, 100, %r2;\nst.global.u32 [%d1], %r1;\n"
        "mov.u64 %d2, b;\ncvta.param.u64 %d2, %d2;\ncvt.u32.u64 %r1, %d2;\n"
        "and.b32 %r1, %r1, 127;\nst.global.u32 [%d1+4], %r1;\nret;\n}\n";
    cudaLibrary_t library;
    uint32_t *at, words[2] = {0, 1};
    uint64_t b = 7, n = 5;
    make_cubin(&ninety, 90);
    const piece pieces[] = {{KIND_PTX, 90, 0, ptx, sizeof ptx, 0},
                            {KIND_CUBIN, 90, 0, ninety.at, ninety.size, 0}};
    make_fat_binary(&fat, pieces, 2);
    acu_sim_register("add", NULL);
    OK(load_bytes(&fat, &library));
    OK(cudaMalloc((void **)&at, sizeof words));
    void *args[] = {&at, &b, &at, &n};
    OK(cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL));
    OK(cudaMemcpy(words, at, sizeof words, cudaMemcpyDeviceToHost));
    assert_int_equal(words[0], 705);
    assert_int_equal(words[1], 0); /* a generic address is aligned, too */
    OK(cudaFree(at));
    OK(cudaLibraryUnload(library));
}

static void note_extents(const acu_sim_launch *launch, void *const *args) {
    uint32_t *to = acu_sim_at(launch, *(void **)args[2], 8);
    to[0] = launch->grid[0];
    to[1] = launch->block[0];
}

TEST(a_grid_that_counts_clusters) {
    static binary ninety;
    cudaLibrary_t library;
    uint32_t *at, words[2] = {0};
    cubin_counts_clusters = 1;
    make_cubin(&ninety, 90);
    cubin_counts_clusters = 0;
    acu_sim_register("add", note_extents);
    OK(load_bytes(&ninety, &library));
    OK(cudaMalloc((void **)&at, sizeof words));
    void *args[] = {&at, &at, &at, &at};
    OK(cudaLaunchKernel(kernel_of(library, "add"), dim(3, 1, 1), dim(1, 1, 1), args, 0, NULL));
    OK(cudaMemcpy(words, at, sizeof words, cudaMemcpyDeviceToHost));
    assert_int_equal(words[0], 6);
    assert_int_equal(words[1], 32);
    OK(cudaFree(at));
    acu_sim_register("add", NULL);
    OK(cudaLibraryUnload(library));
}

TEST(code_for_one_device_only) {
    static binary fat;
    static const char only[] = ".version 8.0\n.target sm_90a\n.address_size 64\n" PTX_ADD;
    static const char of_80[] = PTX_FOR(80);
    const piece pieces[] = {{KIND_PTX, 90, FOR_ONE, only, sizeof only, 0},
                            {KIND_PTX, 80, 0, of_80, sizeof of_80, 0}};
    cudaLibrary_t library;
    make_fat_binary(&fat, pieces, 2);
    OK(load_bytes(&fat, &library));
    assert_int_equal(attributes_of(library, "add").ptxVersion, 90);
    OK(cudaLibraryUnload(library));
    acu_sim_reset("cc=10.0");
    OK(load_bytes(&fat, &library));
    assert_int_equal(attributes_of(library, "add").ptxVersion, 80);
    OK(cudaLibraryUnload(library));
}

TEST(modules_take_them_too) {
    static binary fat;
    CUmodule module;
    CUfunction function;
    const piece ptx = {KIND_PTX, 52, 0, PTX, sizeof PTX, 0};
    const struct {
        uint32_t magic, version;
        const void *binary;
        void *unused;
    } wrapper = {0x466243b1, 1, fat.at, NULL};
    const void *const codes[] = {fat.at, &wrapper};
    make_fat_binary(&fat, &ptx, 1);
    OK(cudaFree(NULL));
    for (int i = 0; i < 2; i++) {
        SAYS(CUDA_SUCCESS, cuModuleLoadData(&module, codes[i]));
        SAYS(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "add"));
        SAYS(CUDA_SUCCESS, cuModuleUnload(module));
        SAYS(CUDA_SUCCESS, cuModuleLoadFatBinary(&module, codes[i]));
        SAYS(CUDA_SUCCESS, cuModuleUnload(module));
    }
}

/* ---- packed ---- */

/* LZ4 by hand: the text as literals, but for what is repeated at its end. */
static size_t pack_lz4(const char *text, size_t size, unsigned char *to) {
    size_t used = 0, left = size;
    to[used++] = left < 15 ? (unsigned char)(left << 4) : 0xf0;
    if (left >= 15) {
        for (left -= 15; left >= 255; left -= 255)
            to[used++] = 255;
        to[used++] = (unsigned char)left;
    }
    memcpy(to + used, text, size);
    used += size;
    to[used++] = 1; /* 20 bytes more, each what is one before it */
    to[used++] = 0;
    to[used - 3 - size - (size >= 15 ? (size - 15) / 255 + 1 : 0)] |= 15;
    to[used++] = 1;
    to[used++] = 0x50;
    memcpy(to + used, "     ", 5);
    return used + 5;
}

TEST(packed_with_lz4) {
    static binary fat;
    static unsigned char packed[sizeof PTX + 1000];
    cudaLibrary_t library;
    const char text[] = PTX "\n";
    size_t size = pack_lz4(text, sizeof text - 1, packed);
    const piece piece_ = {KIND_PTX, 52, PACKED_LZ4, packed, size, sizeof text - 1 + 20 + 5};
    make_fat_binary(&fat, &piece_, 1);
    OK(load_bytes(&fat, &library));
    (void)kernel_of(library, "add");
    OK(cudaLibraryUnload(library));
    for (size_t less = 1; less <= 2; less++) {
        const piece wrong = {KIND_PTX, 52, PACKED_LZ4, packed, size, piece_.unpacked - less};
        make_fat_binary(&fat, &wrong, 1);
        SAYS(cudaErrorInvalidKernelImage, load_bytes(&fat, &library));
    }
}

/* A frame with one block that is as it was. */
TEST(packed_with_zstd) {
    static binary fat, frame;
    cudaLibrary_t library;
    frame.size = 0;
    put_number(&frame, 0xfd2fb528, 4);
    put_number(&frame, 0, 2);
    put_number(&frame, (sizeof PTX - 1) << 3 | 1, 3);
    put(&frame, PTX, sizeof PTX - 1);
    const piece good = {KIND_PTX, 52, PACKED_ZSTD, frame.at, frame.size, sizeof PTX - 1};
    make_fat_binary(&fat, &good, 1);
    OK(load_bytes(&fat, &library));
    (void)kernel_of(library, "add");
    OK(cudaLibraryUnload(library));
    for (size_t unpacked = sizeof PTX; unpacked; unpacked <<= 8) {
        const piece wrong = {KIND_PTX, 52, PACKED_ZSTD, frame.at, frame.size, unpacked};
        make_fat_binary(&fat, &wrong, 1);
        SAYS(cudaErrorInvalidKernelImage, load_bytes(&fat, &library));
    }
}

/* ---- of several files, which nvcc linked for one architecture and kept for others ---- */

TEST(a_program_is_linked_again) {
    static binary linked, one, other;
    static const char first[] = PTX_HEAD ".global .u32 counter = 7;\n" PTX_ADD;
    static const char second[] = PTX_HEAD PTX_EMPTY("nothing", "");
    const void *files[] = {one.at, other.at, NULL};
    const struct {
        uint32_t magic, version;
        const void *binary;
        const void *const *files;
    } wrapper = {0x466243b1, 2, linked.at, files}, alone = {0x466243b1, 2, linked.at, NULL};
    const piece pieces[] = {{KIND_CUBIN, 80, 0, "", 0, 0},
                            {KIND_PTX, 52, 0, first, sizeof first, 0},
                            {KIND_PTX, 52, 0, second, sizeof second, 0}};
    cudaLibrary_t library;
    unsigned count;
    size_t size;
    make_fat_binary(&linked, &pieces[0], 1);
    make_fat_binary(&one, &pieces[1], 1);
    make_fat_binary(&other, &pieces[2], 1);
    OK(cudaLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 2);
    (void)kernel_of(library, "add");
    (void)kernel_of(library, "nothing");
    OK(cudaLibraryGetGlobal(NULL, &size, library, "counter"));
    OK(cudaLibraryUnload(library));
    SAYS(cudaErrorNoKernelImageForDevice, load_code(&alone, &library));
    make_fat_binary(&other, &pieces[0], 1);
    SAYS(cudaErrorNoKernelImageForDevice, load_code(&wrapper, &library));
}

/* The files' texts are executed, also where machine code was linked for the device. */
TEST(a_program_of_several_files_is_executed) {
    static binary linked, one, other, object, cubin;
    static const char first[] = PTX_HEAD
        ".extern .global .u32 counter;\n.extern .func (.reg .b32 r) twice(.reg .b32 a);\n"
        ".visible .entry add(.param .u64 p, .param .u64 q, .param .u64 s, .param .u32 n)\n{\n"
        ".reg .b32 %r<3>;\n.reg .b64 %d;\nld.param.u64 %d, [p];\nld.global.u32 %r1, [counter];\n"
        "call (%r1), twice, (%r1);\nst.global.u32 [%d], %r1;\nret;\n}\n";
    static const char second[] = PTX_HEAD ".visible .global .u32 counter = 7;\n"
                                          ".visible .func (.reg .b32 r) twice(.reg .b32 a)\n{\n"
                                          "add.u32 r, a, a;\nret;\n}\n";
    const void *files[] = {one.at, other.at, object.at, NULL};
    const struct {
        uint32_t magic, version;
        const void *binary;
        const void *const *files;
    } wrapper = {0x466243b1, 2, linked.at, files};
    make_cubin(&cubin, 90);
    const piece pieces[] = {{KIND_CUBIN, 90, 0, cubin.at, cubin.size, 0},
                            {KIND_PTX, 52, 0, first, sizeof first, 0},
                            {KIND_PTX, 52, 0, second, sizeof second, 0},
                            {KIND_CUBIN, 80, 0, "", 0, 0}};
    make_fat_binary(&one, &pieces[1], 1);
    make_fat_binary(&other, &pieces[2], 1);
    make_fat_binary(&object, &pieces[0], 1); /* an object without PTX */
    for (int n = 0; n < 2; n++) {
        cudaLibrary_t library;
        uint32_t *at, found = 0;
        unsigned count = 1;
        void *args[] = {&at, &at, &at, &count};
        make_fat_binary(&linked, &pieces[n ? 0 : 3], 1);
        OK(cudaLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
        OK(cudaMalloc((void **)&at, 4));
        OK(cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL));
        OK(cudaMemcpy(&found, at, 4, cudaMemcpyDeviceToHost));
        assert_int_equal(found, 14);
        OK(cudaFree(at));
        OK(cudaLibraryUnload(library));
    }
}

/* nvlink finds in libcudadevrt what kernels call of graphs, and lists none of its files. */
TEST(a_program_that_was_linked_with_libcudadevrt) {
    static binary linked, one, cubin;
    static const char first[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".extern .func (.param .b32 r) cudaGraphKernelNodeSetEnabled(.param .b64 n, .param .b8 "
        "e);\n"
        ".visible .entry add(.param .u64 p, .param .u64 q, .param .u64 s, .param .u32 n)\n{\n"
        ".reg .b32 %r<3>;\n.reg .b64 %d;\n.reg .pred %p;\nld.param.u64 %d, [p];\n"
        "ld.param.u32 %r1, [n];\nst.global.u32 [%d], %r1;\nsetp.ne.u32 %p, %r1, 99;\n"
        "@%p ret;\n{\n.param .b64 a;\n.param .b8 b;\n.param .b32 c;\nst.param.b64 [a], 0;\n"
        "st.param.b8 [b], 0;\ncall (c), cudaGraphKernelNodeSetEnabled, (a, b);\n}\nret;\n}\n";
    const void *files[] = {one.at, NULL};
    const struct {
        uint32_t magic, version;
        const void *binary;
        const void *const *files;
    } wrapper = {0x466243b1, 2, linked.at, files};
    make_cubin(&cubin, 90);
    const piece pieces[] = {{KIND_CUBIN, 90, 0, cubin.at, cubin.size, 0},
                            {KIND_PTX, 90, 0, first, sizeof first, 0}};
    make_fat_binary(&linked, &pieces[0], 1);
    make_fat_binary(&one, &pieces[1], 1);
    acu_sim_register("add", NULL);
    cudaLibrary_t library;
    uint32_t *at, found = 0, n = 7;
    void *args[] = {&at, &at, &at, &n};
    OK(cudaLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaMalloc((void **)&at, 4));
    OK(cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL));
    OK(cudaMemcpy(&found, at, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(found, 7);
    OK(cudaFree(at));
    OK(cudaLibraryUnload(library));
}

#define PTX_ENTRY(version, target, body)                                                           \
    ".version " version "\n.target sm_" target "\n.address_size 64\n"                              \
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n" body    \
    "\n}\n"

/* nvcc -arch=all-major has PTX of the newest architecture only, which older devices do not run, and
 * machine code of their own. */
TEST(ptx_that_is_newer_than_the_device) {
    static binary fat, linked, one, cubin;
    static const char newest[] = ".version 9.0\n.target sm_120\n.address_size 64\n" PTX_ADD;
    const void *files[] = {one.at, NULL};
    const struct {
        uint32_t magic, version;
        const void *binary;
        const void *const *files;
    } wrapper = {0x466243b1, 2, linked.at, files};
    make_cubin(&cubin, 90);
    const piece pieces[] = {{KIND_CUBIN, 90, 0, cubin.at, cubin.size, 0},
                            {KIND_PTX, 120, 0, newest, sizeof newest, 0}};
    make_fat_binary(&fat, pieces, 2);
    make_fat_binary(&linked, pieces, 1);
    make_fat_binary(&one, pieces, 2);
    acu_sim_register("add", NULL);
    for (int n = 0; n < 2; n++) {
        cudaLibrary_t library;
        uint64_t at = 0;
        uint32_t count = 0;
        void *args[] = {&at, &at, &at, &count};
        if (n)
            OK(load_code(&wrapper, &library));
        else
            OK(load_bytes(&fat, &library));
        SAID(cudaErrorNotSupported,
             cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL),
             "PTX of compute_120, which a device of 9.0 cannot run: simulate one that can, "
             "with ANYCUDA_SIM=cc=12.0");
        OK(cudaLibraryUnload(library));
    }
}

/* What is said of machine code alone is for whoever made it: nvcc a fat binary, or the program. */
TEST(machine_code_without_ptx) {
    static binary fat, cubin;
    make_cubin(&cubin, 90);
    const piece only = {KIND_CUBIN, 90, 0, cubin.at, cubin.size, 0};
    make_fat_binary(&fat, &only, 1);
    acu_sim_register("add", NULL);
    for (int n = 0; n < 2; n++) {
        cudaLibrary_t library;
        uint64_t at = 0;
        uint32_t count = 0;
        void *args[] = {&at, &at, &at, &count};
        OK(load_bytes(n ? &cubin : &fat, &library));
        SAID(cudaErrorNotSupported,
             cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL),
             n ? "it is machine code, which is not simulated: load PTX in its place, of nvcc -ptx "
                 "instead of -cubin, of nvrtcGetPTX() instead of nvrtcGetCUBIN(), "
               : "it has machine code only, which is not simulated: compile it to PTX too, with "
                 "nvcc -arch=compute_80 -code=compute_80;");
        OK(cudaLibraryUnload(library));
    }
}

/* A kernel whose body is for newer architectures only (#if __CUDA_ARCH__ >= 900) does nothing in
 * PTX of an older one, and something in the machine code. */
TEST(ptx_that_does_nothing_beside_machine_code) {
    static binary fat, cubin;
    static const char nothing[] = PTX_ENTRY("7.0", "80", "ret;"),
                      alike[] = PTX_ENTRY("8.0", "90", "ret;"),
                      some[] = PTX_ENTRY("7.0", "80", "bar.sync 0;\nret;"),
                      debug[] = PTX_ENTRY("7.0", "80, debug", "ret;");
    static const struct {
        const char *text;
        unsigned arch;
        cudaError_t result;
    } cases[] = {{nothing, 80, cudaErrorNotSupported},
                 {alike, 90, cudaSuccess},
                 {some, 80, cudaSuccess},
                 {debug, 80, cudaSuccess}};
    make_cubin(&cubin, 90);
    acu_sim_register("add", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const piece pieces[] = {
            {KIND_CUBIN, 90, 0, cubin.at, cubin.size, 0},
            {KIND_PTX, cases[i].arch, 0, cases[i].text, strlen(cases[i].text) + 1, 0}};
        cudaLibrary_t library;
        uint64_t at = 0;
        uint32_t count = 0;
        void *args[] = {&at, &at, &at, &count};
        make_fat_binary(&fat, pieces, 2);
        OK(load_bytes(&fat, &library));
        assert_int_equal(
            cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL),
            cases[i].result);
        if (cases[i].result)
            expect_reason("its PTX, of compute_80, does nothing, but its machine code of sm_90, "
                          "which is not simulated, does something");
        (void)cudaGetLastError();
        OK(cudaLibraryUnload(library));
    }
}

/* What the source has for the PTX's architecture counts, not what it has for the machine code's. */
TEST(ptx_of_another_architecture_has_its_own_extents) {
    static binary fat, cubin;
    static const char text[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 to, .param .u32 n)\n"
        ".maxntid 384, 1, 1\n{\n.shared .align 4 .b8 s[4096];\n.reg .b32 %r<3>;\n"
        "mov.u32 %r1, s;\nst.shared.u32 [%r1+4092], %r1;\nret;\n}\n";
    cudaLibrary_t library;
    uint64_t at = 0;
    uint32_t count = 0;
    void *args[] = {&at, &at, &at, &count};
    make_cubin(&cubin, 90); /* at most 256 threads, 512 bytes of shared memory */
    const piece pieces[] = {{KIND_CUBIN, 90, 0, cubin.at, cubin.size, 0},
                            {KIND_PTX, 80, 0, text, sizeof text, 0}};
    make_fat_binary(&fat, pieces, 2);
    acu_sim_register("add", NULL);
    OK(load_bytes(&fat, &library));
    const struct cudaFuncAttributes found = attributes_of(library, "add");
    assert_int_equal(found.maxThreadsPerBlock, 384);
    assert_int_equal(found.sharedSizeBytes, 4096);
    assert_int_equal(found.ptxVersion, 80);
    assert_int_equal(found.binaryVersion, 90);
    OK(cudaLaunchKernel(kernel_of(library, "add"), dim(1, 1, 1), dim(384, 1, 1), args, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaLibraryUnload(library));
}

/* Files that do not fit together are an error when something of them is needed. */
TEST(a_program_whose_files_do_not_fit) {
    static binary linked, one, other;
    static const char missing[] =
        PTX_HEAD ".extern .func f();\n.visible .entry add()\n{\ncall f;\nret;\n}\n";
    static const char twice[] = PTX_HEAD ".visible .entry add()\n{\nret;\n}\n";
    const void *files[] = {one.at, other.at, NULL};
    const struct {
        uint32_t magic, version;
        const void *binary;
        const void *const *files;
    } wrapper = {0x466243b1, 2, linked.at, files};
    const piece pieces[] = {{KIND_CUBIN, 80, 0, "", 0, 0},
                            {KIND_PTX, 52, 0, missing, sizeof missing, 0},
                            {KIND_PTX, 52, 0, twice, sizeof twice, 0}};
    cudaLibrary_t library;
    make_fat_binary(&linked, &pieces[0], 1);
    make_fat_binary(&one, &pieces[2], 1);
    make_fat_binary(&other, &pieces[2], 1);
    SAYS(cudaErrorInvalidSource, load_code(&wrapper, &library));
    make_fat_binary(&one, &pieces[1], 1);
    files[1] = NULL;
    SAYS(cudaErrorInvalidSource, load_code(&wrapper, &library));
}

/* ---- damage: from files, whose size is known, so that a sanitizer sees who reads on ---- */

static void try_file(const unsigned char *at, size_t size) {
    char path[SCRATCH_SIZE];
    cudaLibrary_t library;
    int fd = mkstemp(scratch_path(path));
    assert_true(fd >= 0 && write(fd, at, size) == (ssize_t)size);
    close(fd);
    if (!cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0)) {
        void *found;
        unsigned count;
        (void)cudaLibraryGetKernelCount(&count, library);
        (void)cudaLibraryGetGlobal(&found, NULL, library, "counter");
        OK(cudaLibraryUnload(library));
    }
    (void)cudaGetLastError();
    unlink(path);
}

static void damage(const binary *good) {
    static binary bad;
    unsigned random = 1;
    for (size_t size = 4; size < good->size; size += 1 + size / 16)
        try_file(good->at, size);
    for (int round = 0; round < 1500; round++) {
        bad = *good;
        for (int change = 0; change <= round % 4; change++) {
            random = random * 1103515245 + 12345;
            size_t at = (random >> 8) % bad.size;
            random = random * 1103515245 + 12345;
            bad.at[at] = random & 1 << 20   ? (unsigned char)(random >> 8)
                         : random & 1 << 21 ? 255
                                            : (unsigned char)(bad.at[at] + 1);
        }
        try_file(bad.at, bad.size);
    }
}

TEST(damaged_machine_code) {
    static binary cubin;
    make_cubin(&cubin, 90);
    damage(&cubin);
}

/* Code in memory has no size but what its head says, which may be one that no memory has. */
TEST(code_in_memory_that_says_it_is_huge) {
    static binary cubin, fat;
    static const char text[] = PTX_FOR(52);
    const piece ptx = {KIND_PTX, 52, 0, text, sizeof text, 0};
    cudaLibrary_t library;
    for (size_t byte = 4; byte < 8; byte++) { /* of 64 bits, the upper half */
        make_cubin(&cubin, 90);
        cubin.at[40 + byte] = 1; /* where the sections are */
        SAYS(cudaErrorInvalidKernelImage, load_bytes(&cubin, &library));
        make_cubin(&cubin, 90);
        cubin.at[32 + byte] = 1; /* where the program headers are */
        SAYS(cudaErrorInvalidKernelImage, load_bytes(&cubin, &library));
        make_fat_binary(&fat, &ptx, 1);
        fat.at[8 + byte] = 1;
        fat.at[16 + 8 + byte] = 1; /* the piece says so, too */
        SAYS(cudaErrorInvalidKernelImage, load_bytes(&fat, &library));
    }
}

TEST(damaged_fat_binaries) {
    static binary cubin, fat;
    static unsigned char packed[sizeof PTX + 1000];
    static const char text[] = PTX_FOR(52);
    size_t size = pack_lz4(text, sizeof text - 1, packed);
    make_cubin(&cubin, 80);
    const piece pieces[] = {
        {KIND_CUBIN, 80, 0, cubin.at, cubin.size, 0},
        {KIND_PTX, 52, PACKED_LZ4, packed, size, sizeof text - 1 + 20 + 5},
    };
    make_fat_binary(&fat, pieces, 2);
    damage(&fat);
}

/* A file is no place for pointers. */
TEST(a_wrapper_in_a_file) {
    cudaKernel_t kernel;
    cudaLibrary_t library;
    char path[SCRATCH_SIZE];
    const uint64_t wrapper[] = {0x1466243b1, 16, 0};
    int fd = mkstemp(scratch_path(path));
    assert_true(fd >= 0 && write(fd, wrapper, sizeof wrapper) == (ssize_t)sizeof wrapper);
    close(fd);
    OK(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidKernelImage, cudaLibraryGetKernel(&kernel, library, "add"));
    OK(cudaLibraryUnload(library));
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_kernel_of_machine_code),
        T(machine_code_is_launched),
        T(variables_of_machine_code),
        T(machine_code_of_another_device),
        T(who_needs_code_for_another_device_is_told),
        T(older_machine_code),
        T(what_is_no_machine_code),
        T(a_device_takes_the_best_of_a_fat_binary),
        T(ptx_beside_machine_code_is_executed),
        T(registers_that_no_block_has),
        T(parameters_lie_where_the_ptx_has_them),
        T(a_grid_that_counts_clusters),
        T(code_for_one_device_only),
        T(modules_take_them_too),
        T(packed_with_lz4),
        T(packed_with_zstd),
        T(a_program_is_linked_again),
        T(a_program_of_several_files_is_executed),
        T(a_program_that_was_linked_with_libcudadevrt),
        T(ptx_that_is_newer_than_the_device),
        T(machine_code_without_ptx),
        T(ptx_that_does_nothing_beside_machine_code),
        T(ptx_of_another_architecture_has_its_own_extents),
        T(a_program_whose_files_do_not_fit),
        T(damaged_machine_code),
        T(code_in_memory_that_says_it_is_huge),
        T(damaged_fat_binaries),
        T(a_wrapper_in_a_file),
    };
    return RUN(tests);
}
