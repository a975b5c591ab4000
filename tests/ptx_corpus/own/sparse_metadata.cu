// options: -arch=compute_90 -code=compute_90
// What mma.sp does with metadata that the manual of PTX leaves open: a unit twice, or in another
// order. Prints a hash over the products of each type: with each value of the four bits, repeated,
// and with random ones.
#include <cstdint>
#include <cstdio>
#include <cstring>

#define FACTORS "{%4, %5, %6, %7}, {%8, %9, %10, %11}, {%13, %13, %13, %13}, %12, 0x0;"
#define KERNEL(name, instruction, type, letter, zero)                                              \
    __global__ void name(const uint32_t *a, const uint32_t *b, uint32_t metadata, uint32_t *d) {   \
        const unsigned t = threadIdx.x * 4;                                                        \
        type x[4];                                                                                 \
        asm volatile("mma." instruction " {%0, %1, %2, %3}, " FACTORS                              \
                     : "=" letter(x[0]), "=" letter(x[1]), "=" letter(x[2]), "=" letter(x[3])      \
                     : "r"(a[t]), "r"(a[t + 1]), "r"(a[t + 2]), "r"(a[t + 3]), "r"(b[t]),          \
                       "r"(b[t + 1]), "r"(b[t + 2]), "r"(b[t + 3]), "r"(metadata), letter(zero));  \
        for (int n = 0; n < 4; n++)                                                                \
            memcpy(&d[t + n], &x[n], sizeof x[n]);                                                 \
    }
#define F16  ".sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
#define TF32 ".sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
#define S8   ".sync.aligned.m16n8k64.row.col.s32.s8.s8.s32"
KERNEL(f16, "sp" F16, float, "f", 0.0f)
KERNEL(f16_ordered, "sp::ordered_metadata" F16, float, "f", 0.0f)
KERNEL(tf32, "sp" TF32, float, "f", 0.0f)
KERNEL(tf32_ordered, "sp::ordered_metadata" TF32, float, "f", 0.0f)
KERNEL(s8, "sp" S8, int, "r", 0)
KERNEL(s8_ordered, "sp::ordered_metadata" S8, int, "r", 0)

enum { WORDS = 128 };
static uint32_t a[WORDS], b[WORDS], d[WORDS], *da, *db, *dd, state;

static uint32_t below(uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static uint32_t two_halves() {
    const uint32_t low = below(1 << 16);
    return low | below(1 << 16) << 16;
}

static uint32_t factor(int bits) {
    static const uint32_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0xbc00, 0xc000, 0xc500};
    static const float floats[] = {1, 2, 3, -1, -2, 5, 7, 0.5f};
    uint32_t word = 0;
    if (bits == 32)
        memcpy(&word, &floats[below(8)], sizeof word);
    else if (bits == 16) {
        word = halves[below(8)];
        word |= halves[below(8)] << 16;
    } else
        word = two_halves();
    return word;
}

static uint64_t mixed(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 0x100000001b3u;
}

static const uint64_t FIRST = 0xcbf29ce484222325u;
typedef void product(const uint32_t *, const uint32_t *, uint32_t, uint32_t *);

/* Returns a hash over the result; 0 after an error. */
static uint64_t hash_of(product *kernel, uint32_t metadata) {
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    kernel<<<1, 32>>>(da, db, metadata, dd);
    if (cudaMemcpy(d, dd, sizeof d, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 0;
    uint64_t hash = FIRST;
    for (uint32_t word : d)
        hash = mixed(hash, word);
    return hash;
}

static void print_hash(const char *name, product *kernel, int bits) {
    uint64_t hash = FIRST;
    state = 1;
    for (int n = 0; n < WORDS; n++) {
        a[n] = factor(bits);
        b[n] = factor(bits);
    }
    for (uint32_t value = 0; value < 16; value++)
        hash = mixed(hash, hash_of(kernel, value * 0x11111111u));
    for (int n = 0; n < 8; n++)
        hash = mixed(hash, hash_of(kernel, two_halves()));
    printf("%s: %016llx\n", name, (unsigned long long)hash);
}

int main() {
    static const struct {
        const char *name;
        product *kernel;
        int bits;
    } all[] = {{"f16", f16, 16},   {"f16 ordered", f16_ordered, 16},
               {"tf32", tf32, 32}, {"tf32 ordered", tf32_ordered, 32},
               {"s8", s8, 8},      {"s8 ordered", s8_ordered, 8}};
    cudaMalloc(&da, sizeof a);
    cudaMalloc(&db, sizeof b);
    cudaMalloc(&dd, sizeof d);
    for (const auto &one : all)
        print_hash(one.name, one.kernel, one.bits);
    printf("%s\n", cudaGetLastError() == cudaSuccess ? "PASSED" : "FAILED");
}
