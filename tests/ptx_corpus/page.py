"""Writes docs/users/ptx-programs.md: what became of each program of programs.yaml, of results.yaml.

    tests/ptx_corpus/page.py

The percentage counts what ended right within LIMIT seconds of processors; what is slower and right is counted apart.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/users/ptx-programs.md"
LIMIT = 80.0
HEAD = """# Programs of other people that the simulator executes

<!-- Made by tests/ptx_corpus/page.py of results.yaml beside it. -->

Each row of `tests/ptx_corpus/programs.yaml` is a CUDA program that a GPU runs right with its PTX alone (an H100, or an
H200), built with nvcc 13.0 for `compute_80` and the shared libcudart, and started on `libanycuda-sim.so`. *Right* is:
it ended as on the GPU, printed what says that it verified its results, and, where what the GPU printed was kept, the
same lines but for times, decimal numbers to 1e-4. *Slow* is what took more than {limit:.0f} seconds of processors, all
added, or was ended after the seconds that the second table says; other work of the machine does not count. The
programs ran {when}, on two processors that others used, too.

On 2026-11-29 all of the first six rows were built again; each ran on an H200 and, beside it, on the simulator with 4
of 32 processors. What ended printed the same, but for ssm, where each block reads what one 65,536 before it wrote: the
simulator had begun in the middle of the grid, too, which was mended. 17 programs of HeCBench are new, and their seconds
are that machine's; all others are those of the two processors. Seven that are slow ran to the end there, in 145 to 656
seconds of processors, and were right: aligned-types, atomicReduction, clenergy, contract, langford, log2 and matern.
On 2026-11-30, with approximations that have an H200's bits, the 499 that are not slow were built and run again so, 14
at a time: 490 printed the same as on the H200 (15 of them as on the day before: those took longer there than they
were given), 4 were refused, and 5 were ended after 70 seconds. Programs that are not compared check themselves.

On 2026-11-30 the rows of ggml, 29 of CCCL, 16 of CUTLASS and four of whisper.cpp were built and ran on an H200 and on
the simulator, which printed the same: no program that passes is left that was not compared. As most of them say little
more than that they passed, what they computed was compared, too, bit by bit: 5,122 outputs of ggml's operators with the
same random inputs, of which three differ (CUMSUM of more than 20,000 floats, by at most 8e-5: CUB's scan adds in the
order in which blocks end); the 8,300,529 copies to the host of ten of CUB's tests with the same seed, the 71,158 of
Thrust's and libcu++'s, and the 747 of CUTLASS's, of which none differs; and 549 allocations of twelve of CUTLASS's at
their end, of which 28 differ, in addresses and tensor maps alone.

whisper-cli transcribes eleven seconds with a small random model (`whisper_model.py`): of f16 and q8_0, each with and
without flash attention, all 1,296,625 logits of a run have the bits of the H200. ggml and whisper.cpp have
`plain_blas.cu` in place of cuBLAS. The seconds of all these rows are those of a machine with 16 processors, 4 for each
program.

The kernels of ten of Triton's eleven tutorials (3.6.0, as triton-lang/Triton-to-tile-IR has them at 50ec1da0; the other
is for Blackwell) ran on an H200 and on the simulator in 81 cases of small sizes, with one of their configurations each:
vector addition, softmax, matrix products (also persistent, grouped, of fp8, with tensor descriptors), dropout, layer
norm and attention with their backward passes, libdevice, dependent launch. 75 leave the same bits, 262 arrays of
10,291,807 numbers; the other six do not begin on either: four want more shared memory than there is, two Triton does
not compile.

Of 244 programs of HeCBench that compute with floats, built with `-use_fast_math`, all printed what an H200 printed
(2026-11-30, decimals to 1e-4), five of them that they failed; gamma-correction and a digit of kurtosis after sums and
constants of divisions were mended. Of 87 of cuda-samples and cuda-training-series that were built so, 79 did, 6 are
slow, 1 was not reached, and cdpSimplePrint has no order. adi of PolyBench-ACC counts as many errors as there, 94, after
the same. opticalFlow printed 0.044308 for 0.044307 on the machine with the H200, and 0.044307 on two others.

Kernels of Triton ran on an H200 with their memory recorded, and again on the simulator (2026-11-30): 547 launches of
PyTorch's Inductor and of tests of FlagGems, flash-linear-attention, Liger-Kernel and Mamba leave the same bits, six of
them after sums were mended that take in a quotient. 70 of more than 16 MB and 54 whose PTX was not kept, or not
certain, were not compared. A path tracer (raytracinginoneweekendincuda) gives the same images, three chapters plain and
with `-use_fast_math` (57,600 pixels, of which 236 differed before ptxas's constants and quotients were known).
smallptCUDA and the energies of miniBUDE are the same.

Five programs are not in the table, because warps race in them, and another order gives another result: mvt of
PolyBench-ACC, pns, lda, qtclustering and floydwarshall2 of HeCBench. `check=race` says where. lda lacks a barrier in a
sum of a block, so that here a warp takes a part of the next sum for it; qtclustering two, in global memory: where a
warp clears what another has set, and where one writes what another is about to read; and floydwarshall2 one in
FWrem_64, where a warp overwrites a row that others still read. With these barriers they print what an H200 prints
without them.

wsm5 of HeCBench prints a sum that is not compared, because its loops magnify what rounding does: an H200 gives 278.76,
the simulator 2.76, and the same source for a processor 2.76 with fused products and 372.4 without.

Tests of other projects ran once (2026-11-29), each file a program, on an H200 and on the simulator, and are not in the
table. Of those that the H200 ended within its time, as many gave the same:

| tests of | files | tests | the same | ended by the limit | refused | other |
|---|---|---|---|---|---|---|
| Kokkos (28848dfa, Cuda) | 176 | 509 | 487 | 20 | 0 | 2, which measure times |
| RAJA (dd5eb76a, Cuda) | 53 | 1,231 | 1,231 | 0 | 0 | 0 |
| stdgpu (22599cf) | 17 | 606 | 606 | 0 | 0 | 0 |
| CUTLASS (7107b055), others than below | 78 | 1,490 | 1,485 | 1 | 4 | 0 |
| cuCollections (dc0f9fc2), files | 55 | | 48 | 5 | 2 | 0 |
| ThunderKittens (0b55588d), units | 34 | 2,280 | 1,724 | 0 | 14 | 542, whose threads race |
| FlashInfer (fb28d724), kernels of attention, sampling and norms | 3 | 35 | 35 | 0 | 0 | 0 |

*Refused* is what reads or writes behind its memory, where a GPU has room. The outputs of ThunderKittens' tests were
compared bit by bit, and 10 of its matrix products, too. Where its tiles have 48 or 80 columns, threads that have no
row write zeros behind the tile while `cp.async` copies there (`check=race`); with a condition in that one place all 288
tests of two of the groups compute the bits of the H200. For CUDA 13 calls of Kokkos, RAJA, cuCollections and FlashInfer
were changed that have other parameters there, or names.
"""


def judged(results: dict[str, dict[str, Any]], name: str) -> str:
    """right, late (right, but beyond the limit), slow (not ended), refused, wrong or unknown."""
    result = results.get(name)
    if result is None:
        return "unknown"
    if result["kind"] == "pass":
        return "late" if result["processor"] > LIMIT else "right"
    return str(result["kind"])


def rows(listed: dict[str, dict[str, Any]], results: dict[str, dict[str, Any]]) -> str:
    """A row for each origin, and one for all."""
    kinds = ["right", "late", "slow", "refused", "wrong", "unknown"]
    text = "| from | programs | right | right, but slow | ended by the limit | refused | wrong | not run |"
    text += " right of all | compared with a GPU's output |\n|---|---|---|---|---|---|---|---|---|---|\n"
    everything = [name for programs in listed.values() for name in programs]
    foreign = [name for origin, programs in listed.items() for name in programs if origin != "own"]
    origins = [(origin, list(programs)) for origin, programs in listed.items()]
    for origin, names in [*origins, ("all but own", foreign), ("all", everything)]:
        found = [judged(results, name) for name in names]
        compared = sum(bool(results.get(name, {}).get("compared")) for name in names)
        counts = " | ".join(str(found.count(kind)) for kind in kinds)
        text += (
            f"| {origin} | {len(names)} | {counts} | {100 * found.count('right') / len(names):.1f} % | {compared} |\n"
        )
    return text


def others(listed: dict[str, dict[str, Any]], results: dict[str, dict[str, Any]]) -> str:
    """A row for each program that is not simply right."""
    order = ["wrong", "refused", "slow", "late", "unknown"]
    words = {"late": "right, but slow", "unknown": "not run"}
    text = "| program | | seconds of processors | why |\n|---|---|---|---|\n"
    programs = {name: given or {} for of in listed.values() for name, given in of.items()}
    for kind in order:
        for name in sorted(name for name in programs if judged(results, name) == kind):
            result = results.get(name, {})
            spent = f"{result['processor']:.0f}" if result else ""
            why = programs[name].get("note") or result.get("reason", "")
            text += f"| {name} | {words.get(kind, kind)} | {spent} | {str(why).replace('|', chr(92) + '|')} |\n"
    return text


def page(listed: dict[str, dict[str, Any]], results: dict[str, dict[str, Any]]) -> str:
    """The whole page."""
    days = sorted(result["day"] for result in results.values()) or [""]
    when = f"on {days[0]}" if days[0] == days[-1] else f"between {days[0]} and {days[-1]}"
    head = HEAD.format(limit=LIMIT, when=when)
    return f"{head}\n{rows(listed, results)}\n## What is not simply right\n\n{others(listed, results)}"


def main() -> int:
    listed = yaml.safe_load((HERE / "programs.yaml").read_text())
    PAGE.write_text(page(listed, yaml.safe_load((HERE / "results.yaml").read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
