"""Compares what the simulator counts in kernels with the counters of a GPU, which Nsight Compute reads.

    cmake --build build --target gpu_profiled
    python3 tests/gpu/profile_ncu.py build/tests/gpu/gpu_profiled [path of ncu]

Prints a row for each kernel of tests/sim/profiled.h and each count. Ends with 0 where all that must be the same are; 1
where one differs, which its row says; 77 where there is no ncu, no GPU, or no permission to read counters. Rows that
say nothing are for information: ptxas makes other instructions and branches of the PTX, and how many blocks are
resident at a time is an estimate. Needs Python alone.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SAME, NO_COUNTERS = True, 77

# A count, by the name of its member in acu_sim_profile: the counters whose sum it is, and whether it must be the same.
COUNTERS: dict[str, tuple[list[str], bool]] = {
    "load_requests": (["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"], SAME),
    "load_sectors": (["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], SAME),
    "store_requests": (["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"], SAME),
    "store_sectors": (["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"], SAME),
    "atomic_requests": ([f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in ("atom", "red")], SAME),
    "atomic_sectors": ([f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("atom", "red")], SAME),
    "shared_load_requests": (["smsp__inst_executed_op_shared_ld.sum"], SAME),
    "shared_load_wavefronts": (["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"], SAME),
    "shared_load_conflicts": (["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"], SAME),
    "shared_store_requests": (["smsp__inst_executed_op_shared_st.sum"], SAME),
    "shared_store_wavefronts": (["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"], SAME),
    "shared_store_conflicts": (["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"], SAME),
    "divergent_branches": (["smsp__sass_branch_targets_threads_divergent.sum"], not SAME),
    "branches": (["smsp__sass_branch_targets.sum"], not SAME),
    "warp_instructions": (["smsp__inst_executed.sum"], not SAME),
    "thread_instructions": (["smsp__thread_inst_executed.sum"], not SAME),
    "occupancy": (["sm__warps_active.avg.pct_of_peak_sustained_active"], not SAME),
}
PERCENT = {"occupancy"}

Counts = dict[str, float]

# All lanes add to one address, which ptxas can see: it lets one lane add for all.
MERGED = {("atomics_on_one", "atomic_sectors")}


def simulated(program: str) -> dict[str, Counts]:
    """The counts of each kernel, on the simulator."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile.json"
        environment = {**os.environ, "ANYCUDA_CUDART": "sim", "ANYCUDA_SIM": f"profile={file}"}
        subprocess.run([program], env=environment, check=True)
        kernels: list[dict[str, Any]] = json.loads(file.read_text())["kernels"]
    return {kernel["kernel"]: {member: float(kernel[member]) for member in COUNTERS} for kernel in kernels}


def read_csv(lines: Iterable[str]) -> dict[str, Counts]:
    """The values of the counters of each kernel, from what `ncu --csv` prints; what it cannot measure is left out."""
    rows = list(lines)
    begin = next((n for n, line in enumerate(rows) if line.startswith('"ID"')), len(rows))
    found: dict[str, Counts] = {}
    for row in csv.DictReader(rows[begin:]):
        values = found.setdefault(row["Kernel Name"].split("(")[0], {})
        try:
            values[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
        except ValueError:  # "n/a"
            continue
    return found


def measured(program: str, ncu: str) -> dict[str, Counts]:
    """The counters of each kernel, on the GPU; exits where there are none."""
    metrics = ",".join(counter for counters, _ in COUNTERS.values() for counter in counters)
    command = [ncu, "--csv", "--print-units", "base", "--metrics", metrics, program]
    environment = {name: value for name, value in os.environ.items() if name != "ANYCUDA_CUDART"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    found = read_csv(done.stdout.splitlines())
    if done.returncode or not found:
        print(done.stdout + done.stderr)
        print("ncu could not read the counters (with ERR_NVGPUCTRPERM only root may)")
        raise SystemExit(NO_COUNTERS)
    return found


def compare(simulator: dict[str, Counts], gpu: dict[str, Counts]) -> tuple[list[str], int]:
    """The rows of the report, and how many counts differ that must not, or are missing."""
    rows = [f"{'kernel':20} {'count':24} {'simulator':>12} {'GPU':>12}"]
    differ = 0
    for kernel, counts in simulator.items():
        for member, (counters, must_be_same) in COUNTERS.items():
            values = [gpu[kernel][counter] for counter in counters if counter in gpu.get(kernel, {})]
            ours = counts[member] * (100 if member in PERCENT else 1)
            theirs = sum(values) if len(values) == len(counters) else None
            if theirs == 0 and ours == 0:
                continue
            exact = must_be_same and (kernel, member) not in MERGED
            verdict = ("same" if ours == theirs else "DIFFERS") if exact else ""
            differ += verdict == "DIFFERS"
            text = "n/a" if theirs is None else f"{theirs:g}"
            rows.append(f"{kernel:20} {member:24} {ours:>12g} {text:>12} {verdict}".rstrip())
    return rows, differ


def main() -> int:
    program = sys.argv[1]
    ncu = sys.argv[2] if len(sys.argv) > 2 else shutil.which("ncu")
    if not ncu:
        print("there is no ncu: it comes with CUDA's toolkit, as Nsight Compute")
        return NO_COUNTERS
    rows, differ = compare(simulated(program), measured(program, ncu))
    print("\n".join(rows))
    print(f"{differ} counts differ that should be the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
