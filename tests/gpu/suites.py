"""Runs the other programs on each real libcudart: conformance cases, tests of the safe layer, examples, memcheck.

They print themselves what failed. The conformance cases also run on the simulator, as the same version on the same
machine, and what each call answered is compared.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = 77
TIMEOUT = 120  # seconds for one program on one runtime
SIDE_BY_SIDE = 8  # processes that use the GPU at a time

Runtime = tuple[str, Path]  # "12.4", its libcudart


@dataclass
class Outcome:
    version: str
    program: str
    passed: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    said: str = ""


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["timeout", str(TIMEOUT), *command]
    return subprocess.run(
        command, env={**os.environ, **environment}, check=False, capture_output=True, text=True, errors="replace"
    )


def at_once(jobs: list) -> list:
    """Calls the functions side by side; in the order of the list is what they return."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda job: job(), jobs))


# ---- conformance cases ----------------------------------------------------------------------------------------------


@dataclass
class Record:
    cases: dict[str, tuple[str, str]] = field(default_factory=dict)  # "copy.no_bytes": ("pass", reason)
    answers: dict[tuple[str, int, str], str] = field(default_factory=dict)  # (case, number, call): what it answered
    about: str = ""

    def count(self, *outcomes: str) -> int:
        return sum(outcome in outcomes for outcome, _ in self.cases.values())


def read_record(path: Path) -> Record:
    record = Record()
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        kind, *rest = line.split("\t")
        if kind == "check":
            area, case, number, _, _, got, what = rest
            record.answers[f"{area}.{case}", int(number), what] = got
        elif kind == "case":
            record.cases[f"{rest[0]}.{rest[1]}"] = (rest[2], rest[3] if len(rest) > 3 else "")
        else:
            record.about = f"{int(rest[1]) // 1000}.{int(rest[1]) % 1000 // 10}, driver {int(rest[2]) // 1000}.0"
    return record


def conformance(program: Path, runtimes: list[Runtime], machine: str, folder: Path) -> list[str]:
    """`machine` configures a simulator like this machine: "devices=1,memory=80GiB,driver=13.0"."""
    folder.mkdir(parents=True, exist_ok=True)

    def on_gpu(version: str, library: Path) -> None:
        done = run([str(program), "-r", str(folder / f"{version}.gpu")], ANYCUDA_CUDART=str(library))
        (folder / f"{version}.txt").write_text(done.stdout + done.stderr)

    def on_simulator(version: str) -> None:
        configuration = f"{machine},runtime={version}"
        run([str(program), "-r", str(folder / f"{version}.sim")], ANYCUDA_CUDART="sim", ANYCUDA_SIM=configuration)

    at_once([lambda v=version, l=library: on_gpu(v, l) for version, library in runtimes])
    at_once([lambda v=version: on_simulator(v) for version, _ in runtimes])
    records = {v: (read_record(folder / f"{v}.gpu"), read_record(folder / f"{v}.sim")) for v, _ in runtimes}
    return tell_conformance(records)


def tell_conformance(records: dict[str, tuple[Record, Record]]) -> list[str]:
    lines = ["", "## Conformance cases, and the simulator as the same runtime", ""]
    lines += ["| toolkit | pass | fail | skip | answers compared | differ |", "|---|---|---|---|---|---|"]
    differences: dict[str, list[str]] = defaultdict(list)
    failures: dict[str, list[str]] = defaultdict(list)
    for version, (gpu, sim) in records.items():
        shared = gpu.answers.keys() & sim.answers.keys()
        differ = sorted(key for key in shared if gpu.answers[key] != sim.answers[key])
        for case, number, what in differ:
            answers = f"{gpu.answers[case, number, what]}, simulator {sim.answers[case, number, what]}"
            differences[f"`{case}`: `{what}`: {answers}"].append(version)
        for case, (outcome, reason) in gpu.cases.items():
            other, why = sim.cases.get(case, ("nothing", ""))
            if (outcome == "skip") != (other == "skip"):
                reason = re.sub(r"; loaded.*", "", reason + why)
                differences[f"`{case}`: {outcome}, simulator {other}: {reason}"].append(version)
            if outcome not in ("pass", "skip"):
                failures[f"`{case}`: {outcome}"].append(version)
        bad = gpu.count("fail", "crash", "hang")
        counts = f"{gpu.count('pass')} | {bad} | {gpu.count('skip')} | {len(shared)} | {len(differ)}"
        lines.append(f"| {version} | {counts} |")
    lines += ["", "What failed:" if failures else "No case failed."]
    lines += [f"- {what}, on {versions_of(on, records)}" for what, on in failures.items()]
    lines += ["", "What the simulator answered differently:" if differences else "No answer differed."]
    lines += [f"- {what}, on {versions_of(on, records)}" for what, on in differences.items()]
    return lines


def versions_of(some: list[str], of: dict[str, object]) -> str:
    if len(some) == len(of):
        return "all"
    return some[0] if len(some) == 1 else f"{some[0]} to {some[-1]} ({len(some)})"


# ---- programs of cmocka, and those that only say whether they failed ----------------------------------------------------


def read_cmocka(version: str, program: str, done: subprocess.CompletedProcess[str]) -> Outcome:
    outcome = Outcome(version, program, said=done.stdout + done.stderr)
    outcome.passed = len(re.findall(r"^\[       OK \]", outcome.said, re.M))
    outcome.skipped = re.findall(r"^\[  SKIPPED \] (\w+)$", outcome.said, re.M)
    outcome.failed = sorted(set(re.findall(r"^\[  (?:FAILED| ERROR )  ?\] (\w+)$", outcome.said, re.M)))
    if done.returncode not in (0, SKIPPED) and not outcome.failed:
        outcome.failed = [f"exit status {done.returncode}"]
    return outcome


def each(programs: list[Path], runtimes: list[Runtime]) -> list[Outcome]:
    """Every program on every runtime."""

    def one(program: Path, version: str, library: Path) -> Outcome:
        environment = {"ANYCUDA_CUDART": str(library), "LD_LIBRARY_PATH": str(program.parent)}
        return read_cmocka(version, program.name, run([str(program)], **environment))

    return at_once([lambda p=p, v=v, l=l: one(p, v, l) for p in programs for v, l in runtimes])


def tell(title: str, outcomes: list[Outcome], versions: list[str]) -> list[str]:
    lines = ["", f"## {title}", "", "| toolkit | programs | tests pass | skipped | fail |", "|---|---|---|---|---|"]
    failures: dict[str, list[str]] = defaultdict(list)
    skips: dict[str, list[str]] = defaultdict(list)
    for version in versions:
        of = [outcome for outcome in outcomes if outcome.version == version]
        failed = sum(len(outcome.failed) for outcome in of)
        skipped = sum(len(outcome.skipped) for outcome in of)
        lines.append(f"| {version} | {len(of)} | {sum(o.passed for o in of)} | {skipped} | {failed} |")
        for outcome in of:
            for name in outcome.failed:
                failures[f"`{outcome.program}`: {name}"].append(version)
            for name in outcome.skipped:
                skips[f"`{outcome.program}`: {name}"].append(version)
    everywhere = dict.fromkeys(versions)
    lines += ["", "What failed:" if failures else "Nothing failed."]
    lines += [f"- {what}, on {versions_of(on, everywhere)}" for what, on in failures.items()]
    if skips:
        lines += ["", "Skipped, since it needs the simulator or a second device:"]
        lines += [f"- {what}, on {versions_of(on, everywhere)}" for what, on in skips.items()]
    return lines


# ---- memcheck --------------------------------------------------------------------------------------------------------


def memcheck(programs: list[Path], runtime: Runtime) -> list[str]:
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    lines = ["", "## The safe layer's tests under compute-sanitizer", ""]
    if not tool:
        return [*lines, "Not run: there is no compute-sanitizer here."]
    options = ["--tool", "memcheck", "--leak-check", "full", "--report-api-errors", "no", "--error-exitcode", "9"]

    def one(program: Path) -> str:
        environment = {"ANYCUDA_CUDART": str(runtime[1]), "LD_LIBRARY_PATH": str(program.parent)}
        done = run([tool, *options, str(program)], **environment)
        summary = re.findall(r"^=+ ((?:ERROR|LEAK) SUMMARY.*)$", done.stdout + done.stderr, re.M)
        return f"| {program.name} | {'; '.join(summary) or f'exit status {done.returncode}'} |"

    lines += [f"memcheck with its leak check, on CUDA {runtime[0]}.", "", "| program | it says |", "|---|---|"]
    return lines + at_once([lambda p=program: one(p) for program in programs])
