"""Measures, and prints a table per subject. Called by `make bench`."""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import kernels, ratios
from generator import render
from generator.extract import extract_all, sources
from generator.fetch import Toolkits
from generator.yamlfile import ROOT, SPEC, load

PROCESSES = 101
FIVE = """
#include <anycuda/cudart.h>
int main(void)
{
    void *memory = 0;
    char host[64] = {0};
    cudaStream_t stream;
    return cudaMalloc(&memory, sizeof host) || cudaStreamCreate(&stream) ||
           cudaMemcpyAsync(memory, host, sizeof host, cudaMemcpyHostToDevice, stream) ||
           cudaStreamSynchronize(stream) || cudaFree(memory);
}
"""
NOTHING = "int main(void) { return 0; }\n"


@dataclass
class Spread:
    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        return f"{min(self.values):.1f} / {self.median:.1f} / {max(self.values):.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("calls", "first", "safe", "arrays", "sim", "kernels", "fake", "cold", "library"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()
    toolkits = Toolkits.load()

    print("\n## A call, against one that is linked directly (empty functions; bar: 1 ns added)\n")
    print(run(options.calls), end="", flush=True)

    print("\n## The safe layer, against raw calls that are empty functions: what it adds\n")
    print(run(options.safe, **both_of(options.fake)), end="", flush=True)
    print("\n## The same where each raw call leaves nothing of it in the first caches\n")
    print(run(options.safe, **both_of(options.cold)), end="", flush=True)
    print("\n## The same on the simulator\n")
    print(run(options.safe, ANYCUDA_CUDART="sim"), end="", flush=True)

    print("\n## Arrays and textures, on the simulator\n")
    print(run(options.arrays, ANYCUDA_CUDART="sim"), end="", flush=True)

    print("\n## The simulator: calls, copies, graphs\n")
    print("\n".join(ratios.table(ratios.read(run(options.sim, ANYCUDA_CUDART="sim")), {})), flush=True)

    print("\n## The simulator: kernels, on one thread\n")
    print("\n".join(kernels.table(options.kernels)), flush=True)

    print("\n## Once per process\n")
    print("| what | µs: min / median / max | bar |\n|---|---|---|")
    libraries = [("empty functions", options.fake)]
    libraries += [(f"libcudart {v}", toolkits[v].libcudart()) for v in ("12.4", [*toolkits][-1].version)]
    for name, library in libraries:
        bare, added = first_call(options.first, library)
        bound = Spread([float(ns) / 1000 for _ in range(21) for ns in run(options.first, "bind", library).split()])
        print(f"| {name}: bare dlopen, dlsym, call | {bare} | |")
        print(f"| {name}: anycuda on top | {added} | 50 |")
        print(f"| {name}: one more slot | {bound} | 1 |", flush=True)

    print("\n## The generator\n")
    print("| what | s: min / median / max | bar |\n|---|---|---|")
    wanted = list(sources(load(SPEC / "libraries.yaml"), toolkits))
    gc.disable()  # as `python -m generator` does
    print(f"| extract all toolkits | {timed(lambda: extract_all(wanted))} | 5 |")
    print(f"| render everything | {timed(render.all_outputs)} | 2 |")

    print("\n## Size\n")
    print("| what | KiB, text and data | bar |\n|---|---|---|")
    print(f"| five calls, with --gc-sections | {growth(options.cc, options.library) / 1024:.1f} | 64 |")
    print(f"| the whole library | {text_and_data(options.library) / 1024:.1f} | 1024 |")
    print(f"| all of it in one program, with its relocations | {whole(options.cc, options.library) / 1024:.1f} | |")
    return 0


def both_of(cudart: Path) -> dict[str, str]:
    """The environment that chooses a made-up libcudart, and the libcuda beside it."""
    return {"ANYCUDA_CUDART": str(cudart), "ANYCUDA_CUDA": str(cudart.parent / "libcuda.so.1")}


def run(*command: object, **environment: str) -> str:
    parts = [str(part) for part in command]
    done = subprocess.run(parts, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return done.stdout


def first_call(program: Path, library: Path) -> tuple[Spread, Spread]:
    """Microseconds of the bare way, and of what anycuda adds, each in a fresh process."""
    pairs = [run(program, "load", library).split() for _ in range(PROCESSES)]
    return Spread([float(bare) / 1000 for bare, _ in pairs]), Spread([float(added) / 1000 for _, added in pairs])


def timed(work: object, times: int = 3) -> Spread:
    assert callable(work)
    spent = []
    for _ in range(times):
        begin = time.monotonic()
        work()
        spent.append(time.monotonic() - begin)
    return Spread(spent)


def text_and_data(file: Path) -> int:
    rows = [line.split() for line in run("size", file).splitlines()[1:]]
    return sum(int(row[0]) + int(row[1]) for row in rows)


def link(cc: str, text: str, *more: object) -> int:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(text)
        program = Path(folder) / "program"
        includes = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'generated/include'}"]
        run(cc, "-O2", *includes, source, "-o", program, *more, "-pthread", "-ldl")
        return text_and_data(program)


def growth(cc: str, library: Path) -> int:
    flags = ["-Wl,--gc-sections"]
    return link(cc, FIVE, library, *flags) - link(cc, NOTHING, *flags)


def whole(cc: str, library: Path) -> int:
    """All of it in one program, whether used or not."""
    return link(cc, NOTHING, "-Wl,--whole-archive", library, "-Wl,--no-whole-archive") - link(cc, NOTHING)


if __name__ == "__main__":
    raise SystemExit(main())
