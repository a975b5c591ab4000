"""Compiles random programs with nvcc, for speed and for debugging, and runs each on the simulator in several ways.

    tests/ptx_corpus/run_random.py OUT --library PATH [--seed N] [--programs N] [--kernels N] [--nvcc NVCC]

A program compares what its kernels compute with what the same functions compute on the host. It is run by the
interpreter and as machine code, of each level of the processor, with a seed, and with checks, which must find nothing.
Those of odd seeds are also compiled with `-use_fast_math`, which no host does: then each way must compute what the
interpreter does. Where PATH is a folder, with NVIDIA's own library, each is run once, on a GPU; a kernel that differs
there is compiled again with `-Xptxas -O0`, which tells what ptxas changed. What is wrong stays in OUT, with a line that
says how to run it again. No program begins after --seconds. Exits with 1 if something was wrong, and with 77 where
there is no nvcc.
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
COMMON = ["-cudart", "shared", "-std=c++17", "-fmad=false", "-w", f"-I{HERE}"]
HOST = ["-Xcompiler", "-fwrapv,-fno-strict-aliasing,-ffp-contract=off"]
OPTIONS = [*COMMON, *HOST, "-arch=compute_80", "-code=compute_80"]
PLAIN = [*COMMON, *HOST, "-arch=native", "-Xptxas", "-O0"]  # for the GPU of this machine
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
# The first way says what the others must compute.
FAST = {"-O3 -use_fast_math -DNUMBERS": [*WAYS, "jit=avx2"]}
SECONDS = 300


def start(program: Path, library: Path, way: str) -> tuple[str, str]:
    """Runs a program with the runtime of a folder. Returns what it says, and what was wrong."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "ANYCUDA_SIM": way}
    try:
        ran = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "", f"it did not end in {SECONDS} seconds\n"
    is_right = ran.returncode == 0 and ran.stdout.endswith("the same\n") and not ran.stderr
    return ran.stdout, "" if is_right else f"it ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"


def run(program: Path, library: Path, way: str, said: str = "the same\n") -> str:
    """Returns what was wrong with a program that should say something, or nothing."""
    says, wrong = start(program, library, way)
    return wrong or ("" if says == said else f"it says\n{says}instead of\n{said}")


def try_seed(options: argparse.Namespace, seed: int) -> bool | None:
    """Returns whether the program of a seed was right in all ways, or None if no time was left for it."""
    if time.monotonic() > options.end:
        return None
    source = options.out / f"random_{seed}.cu"
    source.write_text(random_programs.text(seed, options.kernels))
    right = True
    fast = FAST if seed % 2 and options.is_sim else {}
    for how, ways in {**COMPILATIONS, **fast}.items():
        program = source.with_name(f"random_{seed}{how.replace(' ', '')}")
        if errors := build(options, program, *how.split(), *OPTIONS):
            print(f"seed {seed} does not compile with nvcc {how}:\n{errors}", flush=True)
            return False
        said = start(program, options.folder, ways[0])[0] if how in FAST else "the same\n"
        for way in ways if options.is_sim else [""]:
            wrong = run(program, options.folder, way, said)
            if wrong:
                print(f"ANYCUDA_SIM={way} LD_LIBRARY_PATH={options.folder} {program}\n{wrong}", flush=True)
                right = False
        if right:
            program.unlink(missing_ok=True)
        elif not options.is_sim:
            wrong = build(options, program, *PLAIN) or run(program, options.folder, "")
            print(f"{program} by {' '.join(PLAIN[-3:])}: {wrong or 'right'}", flush=True)
    if right:
        source.unlink()
    return right


def build(options: argparse.Namespace, program: Path, *how: str) -> str:
    """Compiles a program. Returns what nvcc says if it fails, or nothing."""
    source = program.with_name(program.name.split("-")[0] + ".cu")
    command = [options.nvcc, *how, str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"nvcc ended with {done.returncode}\n{done.stderr}" if done.returncode else ""


def folder_of(library: Path, out: Path) -> Path:
    """A folder in which the simulator has the name of CUDA's runtime."""
    folder = out / "sim"
    folder.mkdir(exist_ok=True)
    link = folder / "libcudart.so.13"
    link.unlink(missing_ok=True)
    link.symlink_to(library)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--library", type=Path, required=True, help="libanycuda-sim.so, or where libcudart is")
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
    options.out.mkdir(parents=True, exist_ok=True)
    options.is_sim = not options.library.is_dir()
    options.folder = folder_of(options.library.resolve(), options.out) if options.is_sim else options.library
    seeds = range(options.seed, options.seed + options.programs)
    with ThreadPoolExecutor(options.jobs) as pool:
        right = [is_right for is_right in pool.map(lambda seed: try_seed(options, seed), seeds) if is_right is not None]
    print(f"{sum(right)} of {len(right)} random programs are right, from seed {options.seed} on")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
