"""What the same work costs through cuda-python and CuPy, where they are installed: the peers of `bench_safe`.

    python3 bench/peers.py

Prints microseconds per call, a row per kind of work. Says what it skips, and why. Needs a GPU.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from typing import Any

ROUNDS, CALLS = 31, 200
PTX = """.version 7.0
.target sm_52
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b, .param .u32 n)
{
    ret;
}
"""


def measure(work: Callable[[], object], synchronize: Callable[[], object]) -> float:
    """The median, in microseconds, of what one call takes the host."""
    spent = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            work()
        spent.append((time.perf_counter() - begin) / CALLS * 1e6)
        synchronize()
    return statistics.median(spent)


def cuda_python() -> dict[str, float]:
    from cuda.bindings import driver, runtime

    def ok(answer: tuple[Any, ...]) -> Any:
        if int(answer[0]):
            raise RuntimeError(str(answer[0]))
        return answer[1] if len(answer) == 2 else answer[1:]

    stream = ok(runtime.cudaStreamCreate())
    memory = ok(runtime.cudaMallocAsync(1024, stream))
    host = ctypes.c_float(0)
    kernel = ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(PTX.encode())), b"nothing"))
    arguments = ((int(memory), int(memory), 7), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint))

    def create_and_release() -> None:
        ok(runtime.cudaFreeAsync(ok(runtime.cudaMallocAsync(1024, stream)), stream))

    def write() -> None:
        kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
        ok(runtime.cudaMemcpyAsync(memory, ctypes.addressof(host), 4, kind, stream))
        ok(runtime.cudaStreamSynchronize(stream))

    def launch() -> None:
        ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, int(stream), arguments, 0))

    def synchronize() -> None:
        ok(runtime.cudaStreamSynchronize(stream))

    work = {"create and release": create_and_release, "write of 4 bytes": write, "launch": launch}
    return {name: measure(one, synchronize) for name, one in work.items()}


def cupy() -> dict[str, float]:
    import cupy
    import numpy

    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    kernel = cupy.RawKernel('extern "C" __global__ void nothing(const float *a, float *b, unsigned n) {}', "nothing")
    host = numpy.zeros(1, numpy.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        memory = cupy.empty(256, cupy.float32)

        def write() -> None:
            memory[:1].set(host, stream)
            stream.synchronize()

        def launch() -> None:
            kernel((1,), (1,), (memory, memory, numpy.uint32(7)))

        work = {
            "create and release": lambda: cupy.empty(256, cupy.float32),
            "write of 4 bytes": write,
            "launch": launch,
        }
        return {name: measure(one, stream.synchronize) for name, one in work.items()}


def main() -> int:
    columns: dict[str, dict[str, float]] = {}
    for name, peer in (("cuda-python", cuda_python), ("CuPy", cupy)):
        try:
            columns[name] = peer()
        except ImportError as missing:
            print(f"skipped {name}: {missing}")
        except Exception as problem:  # a peer that cannot run here says why in a class of its own
            print(f"skipped {name}: {type(problem).__name__}: {problem}")
    if columns:
        print(f"| µs per call | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
        for row in next(iter(columns.values())):
            print(f"| {row} | {' | '.join(f'{column[row]:.2f}' for column in columns.values())} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
