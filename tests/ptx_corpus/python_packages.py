"""Small programs of Python's packages for CUDA, on the simulator without a GPU (docs/users/python.md).

    python tests/ptx_corpus/python_packages.py LIBRARY FOLDER [--python PYTHON]

LIBRARY is libanycuda-sim.so; FOLDER gets links to it and what the packages keep. PYTHON is the interpreter of an
environment that has the packages: numba-cuda[cu13], cuda-core, triton, torch (each is left out where it is missing),
and a C compiler for Triton. Each program compares with NumPy or the CPU. Ends with 77 where no package is there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

LIBRARIES = ("libcuda.so.1", "libcudart.so.13", "libnvJitLink.so.13")

PTXAS = """\
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    --version) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit ;;
    -o) out=$2; shift ;;
    *.ptx) in=$1 ;;
    esac
    shift
done
cp "$in" "$out"
"""

NUMBA = """
import numpy
from numba import cuda

@cuda.jit
def add(a, b, sums, total):
    i = cuda.grid(1)
    if i < a.size:
        sums[i] = a[i] + b[i]
        cuda.atomic.add(total, 0, sums[i])

a = numpy.arange(1000.0)
sums, total = numpy.zeros_like(a), numpy.zeros(1)
add[4, 256](a, 2 * a, sums, total)
assert (sums == 3 * a).all() and total[0] == sums.sum()
"""

CUDA_CORE = """
import numpy
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

device = Device()
device.set_current()
stream = device.create_stream()
source = 'extern "C" __global__ void triple(int *p) { p[threadIdx.x] = 3 * threadIdx.x; }'
program = Program(source, code_type="c++", options=ProgramOptions(arch="sm_90"))
buffer = LegacyPinnedMemoryResource().allocate(128)
launch(stream, LaunchConfig(grid=1, block=32), program.compile("ptx").get_kernel("triple"), buffer)
stream.sync()
assert (numpy.from_dlpack(buffer).view(numpy.int32) == 3 * numpy.arange(32)).all()
"""

TRITON = """
import ctypes
import numpy
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0

class Array:
    dtype = "float32"

    def __init__(self, host):
        self.at, self.bytes = ctypes.c_void_p(), ctypes.c_size_t(host.nbytes)
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.at), self.bytes) == 0
        assert cuda.cuMemcpyHtoD_v2(self.at, ctypes.c_void_p(host.ctypes.data), self.bytes) == 0

    def data_ptr(self):
        return self.at.value

@triton.jit
def softmax(x, n: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, n)
    row = tl.exp(tl.load(x + at) - tl.max(tl.load(x + at), 0))
    tl.store(x + at, row / tl.sum(row, 0))

assert triton.runtime.driver.active.get_current_target().backend == "cuda"
rows = numpy.random.default_rng(1).standard_normal((8, 256)).astype(numpy.float32)
right = numpy.exp(rows) / numpy.exp(rows).sum(1, keepdims=True)
array = Array(rows)
softmax[(8,)](array, 256)
assert cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(rows.ctypes.data), array.at, array.bytes) == 0
assert numpy.allclose(rows, right, rtol=1e-5)
"""

TORCH = """
import torch

def f(x, w):
    return torch.softmax(torch.nn.functional.gelu(x) * w, -1).sum(0)

x, w = torch.randn(16, 256), torch.randn(256)
assert torch.allclose(torch.compile(f)(x.to("cuda"), w.to("cuda")).cpu(), f(x, w), rtol=1e-4, atol=1e-5)
"""

PROGRAMS = {"numba_cuda": NUMBA, "cuda.core": CUDA_CORE, "triton": TRITON, "torch": TORCH}


def environment(library: Path, folder: Path) -> dict[str, str]:
    """What makes packages find the simulator, and Triton keep PTX; makes the files that it names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LIBRARIES:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(library.resolve())
    (folder / "ptxas").write_text(PTXAS, encoding="utf-8")
    (folder / "ptxas").chmod(0o755)
    preloaded = ":".join(str(folder / name) for name in LIBRARIES[1:])
    ours = {"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": preloaded, "TRITON_LIBCUDA_PATH": str(folder)}
    tools = {name: str(folder / "ptxas") for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")}
    kept = {"TRITON_CACHE_DIR": str(folder / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    return os.environ | ours | tools | kept


def run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, env=variables, capture_output=True, text=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python_packages")
    parser.add_argument("library", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args(arguments)
    variables = environment(asked.library, asked.folder.resolve())
    failed, ran = 0, 0
    for package, program in PROGRAMS.items():
        script = asked.folder / f"program_{package.replace('.', '_')}.py"  # Triton reads the source of its kernels
        script.write_text(program, encoding="utf-8")
        if run([asked.python, "-c", f"import {package}"], variables).returncode:
            print(f"{package:12} is not installed")
            continue
        done = run([asked.python, str(script)], variables)
        ran += 1
        failed += done.returncode != 0
        print(f"{package:12} {'failed' if done.returncode else 'passed'}", flush=True)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
    print(f"{ran - failed} passed, {failed} failed")
    return 1 if failed else 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
