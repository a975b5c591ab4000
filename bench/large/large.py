"""Times large kernels on the simulator, each compared with plain C or NumPy, and prints a table in Markdown.

    python bench/large/large.py LIBRARY [--nvcc NVCC]

LIBRARY is libanycuda-sim.so. What cannot be built or started here is skipped by name: the programs in CUDA C++ without
nvcc, the one of Triton without Triton and NumPy. Times are the processor's, of all threads together. Exits with 1 if a
result is wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = [
    "-O3",
    "-Xcompiler",
    "-march=native",
    "-cudart",
    "shared",
    "-std=c++17",
    "-arch=compute_80",
    "-code=compute_80",
]


def build(nvcc: str, name: str, out: Path) -> list[str] | None:
    """What starts the program; None without nvcc."""
    if not shutil.which(nvcc):
        print(f"{name}: skipped, there is no nvcc ({nvcc})", file=sys.stderr)
        return None
    program = out / name
    subprocess.run([nvcc, *FLAGS, "-code=compute_80", str(HERE / f"{name}.cu"), "-o", str(program)], check=True)
    return [str(program)]


def rows(command: list[str], environment: dict[str, str]) -> tuple[list[list[str]], bool]:
    """The fields of each line that the program prints, and whether all was right; 77 skips it."""
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, env=environment)
    return [line.split("\t") for line in done.stdout.splitlines()], done.returncode in (0, 77)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    options = parser.parse_args()
    library = options.library.resolve()
    print("| what | simulator | plain C, NumPy | ratio | |\n|---|---|---|---|---|")
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "libcudart.so.13").symlink_to(library)
        environment = dict(os.environ, LD_LIBRARY_PATH=scratch, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        commands = [build(options.nvcc, name, Path(scratch)) for name in ("gemm", "radix_sort")]
        script = [sys.executable, str(HERE / "attention.py"), str(library)]
        commands += [script, [*script, "--arch", "90"]]
        for command in filter(None, commands):
            found, right = rows(command, environment)
            failed |= not right
            for name, time, plain, what in found:
                ratio = float(time) / float(plain)
                print(f"| {name} | {float(time):.3f} s | {float(plain):.3f} s | {ratio:.1f} | {what} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
