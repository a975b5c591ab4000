"""Compiles random programs with nvcc, for speed and for debugging, and runs each on the simulator in several ways.

    tests/ptx_corpus/run_random.py OUT --library PATH [--gpu DIR] [--seed N] [--programs N] [--kernels N] [--nvcc NVCC]

A program compares what its kernels compute with what the same functions compute on the host. It is run by the
interpreter and as machine code, of each level of the processor, with a seed, and with checks, which must find nothing;
and on a GPU, if a folder with NVIDIA's own library is given. What is wrong stays in OUT, with a line that says how to
run it again. No program begins after --seconds. Exits with 1 if something was wrong, and with 77 where there is no
nvcc.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.ptx_corpus import random_programs

HERE = Path(__file__).parent
OPTIONS = ["-cudart", "shared", "-std=c++17", "-arch=compute_80", "-code=compute_80", "-fmad=false", "-w", f"-I{HERE}"]
HOST = ["-Xcompiler", "-fwrapv,-fno-strict-aliasing,-ffp-contract=off"]
WAYS = [
    "jit=0",
    "jit=0,level=avx2",
    "level=baseline",
    "jit=always,threads=3",
    "jit=always,level=avx2",
    "seed=7",
    "check=memory,check=race,check=sync",
]
# Debug code is long enough to become machine code meanwhile.
COMPILATIONS = {"-O3": WAYS, "-G": ["jit=1", "jit=0", "jit=always,threads=3"]}
SECONDS = 300


def run(program: Path, library: Path, way: str) -> str:
    """Runs a program with the runtime of a folder. Returns what was wrong, or nothing."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "ANYCUDA_SIM": way}
    try:
        ran = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it did not end in {SECONDS} seconds\n"
    if ran.returncode == 0 and ran.stdout == "the same\n" and not ran.stderr:
        return ""
    return f"it ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"


def try_seed(options: argparse.Namespace, seed: int) -> bool | None:
    """Returns whether the program of a seed was right in all ways, or None if no time was left for it."""
    if time.monotonic() > options.end:
        return None
    source = options.out / f"random_{seed}.cu"
    source.write_text(random_programs.text(seed, options.kernels))
    right = True
    for how, ways in COMPILATIONS.items():
        program = source.with_name(f"random_{seed}{how}")
        command = [options.nvcc, *OPTIONS, *HOST, how, str(source), "-o", str(program)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            print(f"seed {seed} does not compile with nvcc {how}:\n{built.stderr}", flush=True)
            return False
        places = [(options.out / "sim", way) for way in ways] + ([(options.gpu, "")] if options.gpu else [])
        for library, way in places:
            wrong = run(program, library, way)
            if wrong:
                print(f"ANYCUDA_SIM={way} LD_LIBRARY_PATH={library} {program}\n{wrong}", flush=True)
                right = False
        if right:
            program.unlink()
    if right:
        source.unlink()
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--library", type=Path, required=True, help="libanycuda-sim.so")
    parser.add_argument("--gpu", type=Path, metavar="DIR", help="where NVIDIA's libcudart is, to run on a GPU, too")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no program begins")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--programs", type=int, default=10)
    parser.add_argument("--kernels", type=int, default=6, help="of each program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    options = parser.parse_args()
    if not shutil.which(options.nvcc):
        print(f"skipped: there is no nvcc ({options.nvcc}) that could compile random programs")
        return 77
    options.out = options.out.resolve()
    options.end = time.monotonic() + options.seconds
    (options.out / "sim").mkdir(parents=True, exist_ok=True)
    link = options.out / "sim" / "libcudart.so.13"
    link.unlink(missing_ok=True)
    link.symlink_to(options.library.resolve())
    seeds = range(options.seed, options.seed + options.programs)
    with ThreadPoolExecutor(options.jobs) as pool:
        right = [is_right for is_right in pool.map(lambda seed: try_seed(options, seed), seeds) if is_right is not None]
    print(f"{sum(right)} of {len(right)} random programs are right, from seed {options.seed} on")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
