"""Runs the smoke test against each real libcudart and prints a report in Markdown.

    python3 tests/gpu/report.py SMOKE [FOLDER [PART…]]

PART is smoke, conformance, tests, examples, runtime, inject, memcheck or timing; all of them unless some are named.
FOLDER has the other programs (suites.py), and what is timed: safe (bench/safe.c), grow, arrays, memory,
sim (bench/sim.c), and calls-<version> (bench/calls.c linked with that runtime).

Needs Python's own library only. The runtimes are $ANYCUDA_TOOLKITS/<version>/lib/libcudart.so.*; the report
goes to the standard output and, if it is set, to $OUT/gpu.md. Exits with 1 if anything failed, with 77 if
there is no GPU.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import ratios
from tests.gpu import suites

SKIPPED = 77
PARTS = ("smoke", *suites.PARTS, "timing")
TIMEOUT = 120  # seconds for one runtime


@dataclass
class Run:
    version: str
    library: Path
    # (check, "pass" | "fail" | "skip" | "crash", what it said)
    outcomes: list[tuple[str, str, str]] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    about: str = ""
    no_gpu: str = ""

    @property
    def failed(self) -> bool:
        return not self.outcomes or any(outcome in ("fail", "crash") for _, outcome, _ in self.outcomes)


def main() -> int:
    smoke, *more = sys.argv[1:]
    folder = Path(more[0]) if more else None
    parts = more[1:] or (PARTS if folder else ["smoke"])
    if unknown := [part for part in parts if part not in PARTS]:
        print(f"error: no part is called {unknown[0]}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 1
    runtimes = find_runtimes()
    if not runtimes:
        print("error: no libcudart found; set ANYCUDA_TOOLKITS to the folder of the toolkits", file=sys.stderr)
        return 1
    runs = run_smoke(smoke, runtimes if "smoke" in parts else runtimes[:1])
    if runs[-1].no_gpu:
        print(f"skipped: {runs[-1].no_gpu}")
        return SKIPPED
    lines: list[str] = []
    good = True
    if "smoke" in parts:
        differences = compare(runs)
        lines = summary(runs, differences) + details(runs)
        good = not differences and not any(run.failed for run in runs)
    if folder:
        told, well = suites.everything(folder, runtimes, parts)
        lines, good = lines + told, good and well
        lines += timing(folder, runtimes) if "timing" in parts else []
    report = "\n".join(lines) + "\n"
    print(report)
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "gpu.md").write_text(report)
    return 0 if good else 1


def find_runtimes() -> list[tuple[str, Path]]:
    folder = Path(os.environ.get("ANYCUDA_TOOLKITS") or Path.home() / ".cache/anycuda/toolkits")
    found = [path for path in folder.glob("*/lib/libcudart.so.*") if re.fullmatch(r"\d+\.\d+", path.parts[-3])]
    return [(path.parts[-3], path) for path in sorted(found, key=lambda p: tuple(map(int, p.parts[-3].split("."))))]


def run_smoke(smoke: str, runtimes: list[tuple[str, Path]]) -> list[Run]:
    runs: list[Run] = []
    for version, library in runtimes:
        print(f"{version} …", file=sys.stderr)
        runs.append(run_all(smoke, version, library))
        if runs[-1].no_gpu:
            break
    return runs


def run_all(smoke: str, version: str, library: Path) -> Run:
    """Goes on after a check that took the process with it."""
    run = Run(version, library)
    after: list[str] = []
    while True:
        started = run_some(run, [smoke, *after])
        if not started:
            return run
        after = [started]


def run_some(run: Run, command: list[str]) -> str | None:
    """Returns the check that ended the process, if one did."""
    done = run_for_a_while(command, ANYCUDA_CUDART=str(run.library))
    if done.returncode == SKIPPED:
        run.no_gpu = done.stdout.strip()
        return None
    running = None
    for line in done.stdout.splitlines():
        kind, name, *said = line.split("\t")
        if kind == "start":
            running = name
        elif kind == "value":
            run.values[name] = said[0]
        elif kind == "about":
            run.about = f"{said[0]}, driver {said[1]}"
        else:
            run.outcomes.append((name, kind, said[0]))
            running = None
    if running:
        last = " ".join(done.stderr.split())[-300:]
        run.outcomes.append((running, "crash", f"exit status {done.returncode} {last}"))
    elif done.returncode != 0:
        run.outcomes.append(("at exit", "crash", f"exit status {done.returncode}"))
    return running


def run_for_a_while(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["timeout", str(TIMEOUT), *command]
    environment = {**os.environ, **environment}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, errors="replace")


def compare(runs: list[Run]) -> list[str]:
    """What must be the same on every runtime and is not."""
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for key, value in run.values.items():
            said[key][value].append(run.version)
    return [
        f"`{key}`: " + "; ".join(f"{value} on {', '.join(versions)}" for value, versions in answers.items())
        for key, answers in sorted(said.items())
        if len(answers) > 1
    ]


def summary(runs: list[Run], differences: list[str]) -> list[str]:
    lines = [
        "# The real libcudarts on a GPU",
        "",
        "| toolkit | version, driver | passed | failed | skipped |",
        "|---|---|---|---|---|",
    ]
    for run in runs:
        outcomes = [outcome for _, outcome, _ in run.outcomes]
        bad = outcomes.count("fail") + outcomes.count("crash")
        lines.append(f"| {run.version} | {run.about} | {outcomes.count('pass')} | {bad} | {outcomes.count('skip')} |")
    good = sum(not run.failed for run in runs)
    keys = len({key for run in runs for key in run.values})
    lines += ["", f"{good} of {len(runs)} runtimes pass; {keys} values compared among them, {len(differences)} differ."]
    return lines + [f"- {difference}" for difference in differences]


def details(runs: list[Run]) -> list[str]:
    lines = ["", "## Checks", "", "| check | toolkit | outcome | remarks |", "|---|---|---|---|"]
    names = list(dict.fromkeys(name for run in runs for name, _, _ in run.outcomes))
    for name in names:
        for run in runs:
            for check, outcome, said in run.outcomes:
                if check == name:
                    lines.append(f"| {name} | {run.version} | {outcome} | {said.replace('|', '/')} |")
    return lines


def timing(folder: Path, runtimes: list[tuple[str, Path]]) -> list[str]:
    lines = ["", "## Timing against NVIDIA's library, directly linked", ""]
    lines += [line for version, library in runtimes for line in time_one(folder, version, library)]
    lines += ["## The safe layer against the raw calls", ""]
    lines += [
        line
        for program in ("safe", "grow", "arrays", "memory", "runtime_cuda")
        for version, library in suites.newest(runtimes)
        for line in time_safe(folder, program, version, library)
    ]
    lines += ["## The simulator against the newest library", "", *time_sim(folder, runtimes[-1][1])]
    return [*lines, "## The safe layer's work through cuda-python and CuPy", "", *time_peers()]


def time_one(folder: Path, version: str, library: Path) -> list[str]:
    return table(version, run_for_a_while([str(folder / f"calls-{version}")], LD_LIBRARY_PATH=str(library.parent)))


def time_safe(folder: Path, program: str, version: str, library: Path) -> list[str]:
    return table(version, run_for_a_while([str(folder / program)], ANYCUDA_CUDART=str(library)))


def table(version: str, done: subprocess.CompletedProcess[str]) -> list[str]:
    if done.returncode != 0:
        return [f"{version}: exit status {done.returncode} {done.stdout.strip()} {done.stderr.strip()}", ""]
    return [f"### {version}", "", done.stdout.rstrip(), ""]


def time_sim(folder: Path, library: Path) -> list[str]:
    """Each of them twice, in turn."""
    said: dict[str, list[ratios.Rows]] = {str(library): [], "sim": []}
    complaints: list[str] = []
    for cudart in (str(library), "sim", "sim", str(library)):
        done = run_for_a_while([str(folder / "sim")], ANYCUDA_CUDART=cudart)
        complaints += [f"- {Path(cudart).name}: {line}" for line in done.stderr.splitlines()]
        if done.returncode != 0:
            return [f"{cudart}: exit status {done.returncode} {done.stdout.strip()[-300:]}", *complaints, ""]
        said[cudart].append(ratios.read(done.stdout))
    return [*ratios.table(ratios.middle(said["sim"]), ratios.middle(said[str(library)])), "", *complaints, ""]


def time_peers() -> list[str]:
    done = run_for_a_while([sys.executable, str(Path(__file__).parents[2] / "bench/peers.py")])
    return [done.stdout.rstrip() or f"exit status {done.returncode} {done.stderr.strip()[-300:]}", ""]


if __name__ == "__main__":
    sys.exit(main())
