"""An attention kernel in Triton, compiled to PTX without a GPU, on the simulator.

    python bench/large/attention.py LIBRARY [--arch 80]

LIBRARY is libanycuda-sim.so, whose driver API launches the kernel; the result is compared with NumPy's. It needs
Triton and NumPy, and ends with 77 without them. Prints a row as the programs of this folder do.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import time
from typing import Any

try:
    import numpy as np
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as error:
    print(f"attention: {error.name} is not installed", file=sys.stderr)
    sys.exit(77)

HEADS, TOKENS, WIDTH = 8, 1024, 64
ROWS, COLUMNS = 64, 64


@triton.jit  # type: ignore[untyped-decorator]
def attention(  # type: ignore[no-untyped-def]
    q, k, v, out, scale, TOKENS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """out = softmax(q kᵀ scale) v of each head, with the sums and the maximum of each row carried along."""
    head = tl.program_id(1).to(tl.int64) * TOKENS * WIDTH
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    width = tl.arange(0, WIDTH)
    columns = tl.arange(0, COLUMNS)
    query = tl.load(q + head + rows[:, None] * WIDTH + width[None, :])
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, TOKENS, COLUMNS):
        at = (start + columns) * WIDTH
        key = tl.load(k + head + at[None, :] + width[:, None])
        value = tl.load(v + head + at[:, None] + width[None, :])
        scores = tl.dot(query, key) * scale
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(largest - new)
        total = total * shrink + tl.sum(weights, 1)
        sums = tl.dot(weights.to(tl.float16), value, sums * shrink[:, None])
        largest = new
    tl.store(out + head + rows[:, None] * WIDTH + width[None, :], (sums / total[:, None]).to(tl.float16))


def compiled(arch: int) -> tuple[bytes, int, int, int]:
    """The PTX, and the threads, the shared memory and the number of parameters that a launch has."""
    constants = {"TOKENS": TOKENS, "WIDTH": WIDTH, "ROWS": ROWS, "COLUMNS": COLUMNS}
    signature = dict.fromkeys(("q", "k", "v", "out"), "*fp16") | {"scale": "fp32"}
    source = ASTSource(attention, signature | dict.fromkeys(constants, "constexpr"), constants)
    kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 4, "num_stages": 2})
    ptx = kernel.asm["ptx"]
    entry = ptx[ptx.index(".entry") :]
    return ptx.encode(), 32 * 4, kernel.metadata.shared, entry[: entry.index(")")].count(".param")


def call(result: int, what: str) -> None:
    if result:
        sys.exit(f"{what}: {result}")


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def launched(library: str, arch: int, inputs: list[np.ndarray], scale: float) -> tuple[np.ndarray, float]:
    """What the kernel computed, and the median of three times of the processor after a first one."""
    cuda = ctypes.CDLL(library)
    code, threads, shared, count = compiled(arch)
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call(cuda.cuInit(0), "cuInit")
    call(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    call(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    call(cuda.cuModuleLoadData(ctypes.byref(module), code), "cuModuleLoadData")
    call(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"attention"), "cuModuleGetFunction")
    call(cuda.cuFuncSetAttribute(kernel, 8, shared), "cuFuncSetAttribute")  # the largest dynamic shared memory
    out = np.zeros_like(inputs[0])
    memory = []
    for array in [*inputs, out]:
        pointer = ctypes.c_uint64()
        call(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)), "cuMemAlloc")
        call(cuda.cuMemcpyHtoD_v2(pointer, address(array), ctypes.c_size_t(array.nbytes)), "cuMemcpyHtoD")
        memory.append(pointer)
    # Triton adds pointers to scratch memory, which this kernel does not use.
    values: list[Any] = [*memory, ctypes.c_float(scale), *[ctypes.c_uint64(0) for _ in range(count - 5)]]
    pointers = (ctypes.c_void_p * count)(*[ctypes.addressof(value) for value in values])
    times = []
    for _ in range(4):
        begin = time.process_time()
        grid, block = (TOKENS // ROWS, HEADS, 1), (threads, 1, 1)
        call(cuda.cuLaunchKernel(kernel, *grid, *block, shared, None, pointers, None), "cuLaunchKernel")
        call(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
        times.append(time.process_time() - begin)
    call(cuda.cuMemcpyDtoH_v2(address(out), memory[3], ctypes.c_size_t(out.nbytes)), "cuMemcpyDtoH")
    return out, statistics.median(times[1:])


def expected(inputs: list[np.ndarray], scale: float) -> Any:
    q, k, v = (array.astype(np.float32) for array in inputs)
    scores = q @ k.transpose(0, 2, 1) * scale
    weights = np.exp2(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--arch", type=int, default=80)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    inputs = [random.standard_normal((HEADS, TOKENS, WIDTH)).astype(np.float16) for _ in range(3)]
    scale = 1.4426950408889634 / WIDTH**0.5
    right = expected(inputs, scale)
    begin = time.process_time()
    expected(inputs, scale)
    plain = time.process_time() - begin
    out, seconds = launched(options.library, options.arch, inputs, scale)
    good = bool(np.all(np.abs(out - right) < 2e-3))
    name = f"attention by Triton for sm_{options.arch}, {HEADS} heads of {TOKENS} x {WIDTH}"
    print(f"{name}\t{seconds:.4f}\t{plain:.4f}\t{'right' if good else 'wrong'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
