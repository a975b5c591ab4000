"""A table of kernels on the simulator, beside plain C and PoCL, of what bench_kernels prints.

python -m bench.kernels PROGRAM
"""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

WAYS = {"machine code": "jit=1", "AVX2": "jit=avx2", "interpreter": "jit=0"}


def table(program: Path) -> list[str]:
    library, why = find_pocl(program)
    runs = {way: measure(program, f"threads=1,{jit}", library) for way, jit in WAYS.items()}
    one, two = (measure(program, f"threads={n}", None, "--wall", "--behind", "20") for n in (1, 2))
    lines = ["PoCL: " + (why or str(library)), ""]
    lines.append(
        "| kernel | " + " | ".join(f"{way}: ms, G/s" for way in WAYS) + " | C / it | PoCL / it | two threads |"
    )
    lines.append("|---|" + "---|" * (len(WAYS) + 3))
    for name, (count, *_) in runs["machine code"].items():
        cells = [time_of(runs[way][name][1], count) for way in WAYS]
        _, _, _, c, _, pocl = runs["machine code"][name]
        cells += [ratio(c), ratio(pocl), ratio(one[name][1] / two[name][1]) if count else ""]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def time_of(ms: float, count: float) -> str:
    return f"{ms:.2f}, {count / ms / 1e6:.1f}" if count else f"{ms:.4f}"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value else ""


def measure(program: Path, options: str, library: Path | None, *how: str) -> dict[str, list[float]]:
    """For each row: thread-instructions, the simulator's ms, C's and its ratio to them, and PoCL's."""
    command = [str(program), *(how or ("--cpu",)), *([str(library)] if library else [])]
    environment = {**os.environ, "ANYCUDA_CUDART": "sim", "ANYCUDA_SIM": options, "POCL_MAX_PTHREAD_COUNT": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: [float(number) for number in numbers] for name, *numbers in rows}


def find_pocl(program: Path) -> tuple[Path | None, str]:
    """The library of PoCL's wheel, or else the system's; or why there is none."""
    found = sorted((Path(sysconfig.get_path("purelib")) / "pyopencl/.libs").glob("libpocl*.so"))
    system = ctypes.util.find_library("pocl")
    why = "not installed (requirements-bench.lock)"
    for library in [*found, *([Path(system)] if system else [])]:
        try:
            measure(program, "threads=1", library, "--cpu", "--only", "vector")
            return library, ""
        except subprocess.CalledProcessError:
            why = f"{library.name} cannot compile for this processor"
    return None, why


if __name__ == "__main__":
    print("\n".join(table(Path(sys.argv[1]))))
