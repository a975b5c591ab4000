// A plain replacement for the functions of cuBLAS that ggml calls, for the rows ggml_ and whisper_
// of programs.yaml: a thread computes an element, with sums in float. It is linked in place of
// libcublas.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct cublasContext {
    cudaStream_t stream;
};

static __device__ float load(const void *p, long long i, int type) {
    switch (type) {
    case CUDA_R_16F:
        return __half2float(((const __half *)p)[i]);
    case CUDA_R_16BF:
        return __bfloat162float(((const __nv_bfloat16 *)p)[i]);
    default:
        return ((const float *)p)[i];
    }
}

static __device__ void store(void *p, long long i, int type, float v) {
    switch (type) {
    case CUDA_R_16F:
        ((__half *)p)[i] = __float2half(v);
        break;
    case CUDA_R_16BF:
        ((__nv_bfloat16 *)p)[i] = __float2bfloat16(v);
        break;
    default:
        ((float *)p)[i] = v;
    }
}

struct side {
    const void *one;         // the first matrix, or
    const void *const *many; // an array of them
    long long stride;        // elements between matrices of `one`
    int type, ld;
};

static __device__ const void *matrix(const side &s, int batch, long long *offset) {
    *offset = s.many ? 0 : batch * s.stride;
    return s.many ? s.many[batch] : s.one;
}

static __global__ void plain_gemm(bool ta, bool tb, int m, int n, int k, float alpha, side a,
                                  side b, float beta, side c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
        batch = blockIdx.z;
    if (i >= m || j >= n) {
        return;
    }
    long long oa, ob, oc;
    const void *pa = matrix(a, batch, &oa);
    const void *pb = matrix(b, batch, &ob);
    void *pc = const_cast<void *>(matrix(c, batch, &oc));
    float sum = 0;
    for (int l = 0; l < k; ++l) {
        float x = load(pa, oa + (ta ? l + (long long)i * a.ld : i + (long long)l * a.ld), a.type);
        float y = load(pb, ob + (tb ? j + (long long)l * b.ld : l + (long long)j * b.ld), b.type);
        sum = fmaf(x, y, sum);
    }
    long long at = oc + i + (long long)j * c.ld;
    store(pc, at, c.type, alpha * sum + (beta != 0 ? beta * load(pc, at, c.type) : 0));
}

static cublasStatus_t go(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                         int k, float alpha, side a, side b, float beta, side c, int count) {
    dim3 block(32, 8), grid((m + 31) / 32, (n + 7) / 8, count);
    plain_gemm<<<grid, block, 0, h->stream>>>(ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, alpha,
                                              a, b, beta, c);
    return cudaGetLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                             : CUBLAS_STATUS_EXECUTION_FAILED;
}

static float scalar(const void *p, cublasComputeType_t type) {
    return type == CUBLAS_COMPUTE_16F ? __half2float(*(const __half *)p) : *(const float *)p;
}

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t *h) {
    *h = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
    delete h;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) {
    h->stream = s;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void *, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLoggerConfigure(int, int, int, const char *) {
    return CUBLAS_STATUS_SUCCESS;
}
const char *cublasGetStatusString(cublasStatus_t) {
    return "plain gemm";
}
const char *cublasGetStatusName(cublasStatus_t) {
    return "plain gemm";
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                              int n, int k, const float *alpha, const float *a, int lda,
                              const float *b, int ldb, const float *beta, float *c, int ldc) {
    return go(h, ta, tb, m, n, k, *alpha, {a, nullptr, 0, CUDA_R_32F, lda},
              {b, nullptr, 0, CUDA_R_32F, ldb}, *beta, {c, nullptr, 0, CUDA_R_32F, ldc}, 1);
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const float *alpha, const float *a, int lda, long long sa,
                                         const float *b, int ldb, long long sb, const float *beta,
                                         float *c, int ldc, long long sc, int count) {
    return go(h, ta, tb, m, n, k, *alpha, {a, nullptr, sa, CUDA_R_32F, lda},
              {b, nullptr, sb, CUDA_R_32F, ldb}, *beta, {c, nullptr, sc, CUDA_R_32F, ldc}, count);
}
cublasStatus_t cublasSgemmBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,
                                  int m, int n, int k, const float *alpha, const float *const a[],
                                  int lda, const float *const b[], int ldb, const float *beta,
                                  float *const c[], int ldc, int count) {
    return go(h, ta, tb, m, n, k, *alpha, {nullptr, (const void *const *)a, 0, CUDA_R_32F, lda},
              {nullptr, (const void *const *)b, 0, CUDA_R_32F, ldb}, *beta,
              {nullptr, (const void *const *)c, 0, CUDA_R_32F, ldc}, count);
}
cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType at,
                            int lda, const void *b, cudaDataType bt, int ldb, const void *beta,
                            void *c, cudaDataType ct, int ldc, cublasComputeType_t type,
                            cublasGemmAlgo_t) {
    return go(h, ta, tb, m, n, k, scalar(alpha, type), {a, nullptr, 0, at, lda},
              {b, nullptr, 0, bt, ldb}, scalar(beta, type), {c, nullptr, 0, ct, ldc}, 1);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta,
                                          cublasOperation_t tb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType at,
                                          int lda, long long sa, const void *b, cudaDataType bt,
                                          int ldb, long long sb, const void *beta, void *c,
                                          cudaDataType ct, int ldc, long long sc, int count,
                                          cublasComputeType_t type, cublasGemmAlgo_t) {
    return go(h, ta, tb, m, n, k, scalar(alpha, type), {a, nullptr, sa, at, lda},
              {b, nullptr, sb, bt, ldb}, scalar(beta, type), {c, nullptr, sc, ct, ldc}, count);
}
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,
                                   int m, int n, int k, const void *alpha, const void *const a[],
                                   cudaDataType at, int lda, const void *const b[], cudaDataType bt,
                                   int ldb, const void *beta, void *const c[], cudaDataType ct,
                                   int ldc, int count, cublasComputeType_t type, cublasGemmAlgo_t) {
    return go(h, ta, tb, m, n, k, scalar(alpha, type), {nullptr, a, 0, at, lda},
              {nullptr, b, 0, bt, ldb}, scalar(beta, type),
              {nullptr, (const void *const *)c, 0, ct, ldc}, count);
}
cublasStatus_t cublasStrsmBatched(cublasHandle_t, cublasSideMode_t, cublasFillMode_t,
                                  cublasOperation_t, cublasDiagType_t, int, int, const float *,
                                  const float *const[], int, float *const[], int, int) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
}
