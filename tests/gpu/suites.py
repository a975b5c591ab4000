"""Runs the other programs on each real libcudart: conformance cases, tests of the safe layer, examples.

They print themselves what failed. The conformance cases also run on the simulator, as the same version on the same
machine, and what each call answered is compared.

A machine with a GPU may be lent for a limited time: with ANYCUDA_TESTS_SECONDS no program begins later than that, the
report names those that did not run, and a program that hangs is ended by then.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

SKIPPED = 77
TIMEOUT = 300  # seconds for one program on one runtime
DEADLINE = time.monotonic() + float(os.environ.get("ANYCUDA_TESTS_SECONDS") or 1e6)
SLOW = 60  # seconds after which a program's end is told at once
SIDE_BY_SIDE = max(2, (os.cpu_count() or 2) * 3 // 4)  # processes that use the GPU at a time
CASES_SIDE_BY_SIDE = min(8, SIDE_BY_SIDE)  # where cases lose their device, which the others then wait for
NEVER_AT_ONCE = {"inject"}  # among tests/: runs once for each scenario, in a part of its own

PARTS = ("conformance", "tests", "examples", "runtime", "inject", "memcheck")

Runtime = tuple[str, Path]  # "12.4", its libcudart


@dataclass
class Outcome:
    version: str
    program: str
    passed: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    said: str = ""

    def reason(self) -> str:
        """The first complaint, less what differs from runtime to runtime."""
        complaints = re.findall(r"^(?:ERROR: |\[  ERROR   \] --- |    )(.+)$", self.said, re.M)
        return f": {re.sub(r'; libcudart .*|0x[0-9a-f]+', '', complaints[0])}" if complaints else ""


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """The exit status is 124 if the program was ended, or did not begin, because there was no time left."""
    began = time.monotonic()
    limit = min(TIMEOUT, DEADLINE - began)
    if limit < 1:
        return subprocess.CompletedProcess(command, 124, "", "ERROR: not run, no time was left\n")
    limited = ["timeout", str(limit), *command]
    done = subprocess.run(
        limited, env={**os.environ, **environment}, check=False, capture_output=True, text=True, errors="replace"
    )
    if (took := time.monotonic() - began) > SLOW:
        print(f"{took:.0f} s, exit status {done.returncode}: {Path(command[0]).name} {environment}", file=sys.stderr)
    return done


def at_once(jobs: list[partial[Any]], many: int = SIDE_BY_SIDE) -> list[Any]:
    """Calls the functions side by side; in the order of the list is what they return."""
    with ThreadPoolExecutor(many) as pool:
        return list(pool.map(lambda job: job(), jobs))


# ---- conformance cases ----


@dataclass
class Record:
    cases: dict[str, tuple[str, str]] = field(default_factory=dict)  # "copy.no_bytes": ("pass", reason)
    answers: dict[tuple[str, int, str], str] = field(default_factory=dict)  # (case, number, call): what it answered
    machine: str = ""  # configures a simulator like it

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
            driver, devices, memory = int(rest[2]), rest[3], rest[4]
            record.machine = f"devices={devices},memory={memory},driver={driver // 1000}.{driver % 1000 // 10}"
    return record


def conformance(program: Path, runtimes: list[Runtime], folder: Path) -> tuple[list[str], bool]:
    """Leaves the records in the folder."""

    def on_gpu(version: str, library: Path) -> None:
        record = folder / f"{version}.gpu"
        record.unlink(missing_ok=True)
        done = run([str(program), "-r", str(record)], ANYCUDA_CUDART=str(library))
        (folder / f"{version}.txt").write_text(done.stdout + done.stderr)

    def on_simulator(version: str) -> None:
        record = folder / f"{version}.sim"
        record.unlink(missing_ok=True)
        machine = f"{read_record(folder / f'{version}.gpu').machine},runtime={version}"
        run([str(program), "-r", str(record)], ANYCUDA_CUDART="sim", ANYCUDA_SIM=machine)

    folder.mkdir(parents=True, exist_ok=True)
    at_once([partial(on_gpu, version, library) for version, library in runtimes], CASES_SIDE_BY_SIDE)
    at_once([partial(on_simulator, version) for version, _ in runtimes])
    records = {v: (read_record(folder / f"{v}.gpu"), read_record(folder / f"{v}.sim")) for v, _ in runtimes}
    good = all(gpu.cases and not gpu.count("fail", "crash", "hang") for gpu, _ in records.values())
    return tell_conformance(records), good


def tell_conformance(records: dict[str, tuple[Record, Record]]) -> list[str]:
    lines = ["", "## Conformance cases, and the simulator as the same runtime", ""]
    lines += ["| toolkit | pass | fail | skip | answers compared | differ |", "|---|---|---|---|---|---|"]
    differences: dict[str, list[str]] = defaultdict(list)
    failures: dict[str, list[str]] = defaultdict(list)
    skips: dict[str, set[tuple[str, str]]] = defaultdict(set)  # which cases, on which versions
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
                area = case.partition(".")[0]
                skips[f"of `{area}`: {outcome}, simulator {other}: {reason}"].add((case, version))
            if outcome not in ("pass", "skip"):
                failures[f"`{case}`: {outcome}"].append(version)
        bad = gpu.count("fail", "crash", "hang")
        counts = f"{gpu.count('pass')} | {bad} | {gpu.count('skip')} | {len(shared)} | {len(differ)}"
        lines.append(f"| {version} | {counts} |")
    lines += ["", "What failed:" if failures else "No case failed."]
    lines += [f"- {what}, on {versions_of(on, records)}" for what, on in failures.items()]
    lines += ["", "What the simulator answered differently:" if differences else "No answer differed."]
    lines += [f"- {what}, on {versions_of(on, records)}" for what, on in differences.items()]
    lines += ["", "What was skipped on one of them only:"] if skips else []
    for what, of in skips.items():
        cases, on = {case for case, _ in of}, [version for version in records if version in {v for _, v in of}]
        lines.append(f"- {len(cases)} {what}, on {versions_of(on, records)}")
    return lines


def versions_of(some: list[str], of: Collection[str]) -> str:
    if len(some) == len(of):
        return "all"
    return some[0] if len(some) == 1 else f"{some[0]} to {some[-1]} ({len(some)})"


# ---- programs of cmocka, and those that only say whether they failed ----


def read_cmocka(version: str, program: str, done: subprocess.CompletedProcess[str]) -> Outcome:
    outcome = Outcome(version, program, said=done.stdout + done.stderr)
    outcome.passed = len(re.findall(r"^\[       OK \]", outcome.said, re.M))
    outcome.skipped = sorted(set(re.findall(r"^\[  SKIPPED \] (\w+)$", outcome.said, re.M)))
    outcome.failed = sorted(set(re.findall(r"^\[  (?:FAILED| ERROR )  ?\] (\w+)$", outcome.said, re.M)))
    if done.returncode not in (0, SKIPPED) and not outcome.failed:
        outcome.failed = [f"exit status {done.returncode}"]
    return outcome


def one_test(program: Path, version: str, library: Path, *words: str) -> Outcome:
    environment = {"ANYCUDA_CUDART": str(library), "LD_LIBRARY_PATH": str(program.parent)}
    return read_cmocka(version, program.name, run([str(program), *words], **environment))


def each(programs: list[Path], runtimes: list[Runtime]) -> list[Outcome]:
    """Every program on every runtime; one runtime after the other, so that the newest were asked if the time ends."""
    jobs = [partial(one_test, program, *runtime) for runtime in reversed(runtimes) for program in programs]
    return at_once(jobs)


def newest(runtimes: list[Runtime]) -> list[Runtime]:
    """One of each major version."""
    return list({version.partition(".")[0]: (version, library) for version, library in runtimes}.values())


def inject(program: Path, runtimes: list[Runtime]) -> tuple[list[str], bool]:
    """Every CUDA call of every scenario fails once; a scenario is a process, or a few."""
    scenarios = run([str(program), "--list"], LD_LIBRARY_PATH=str(program.parent)).stdout.split()
    some = newest(runtimes)
    outcomes = at_once([partial(one_test, program, *runtime, scenario) for runtime in some for scenario in scenarios])
    good = bool(scenarios) and not any(outcome.failed for outcome in outcomes)
    return tell("Injected errors", outcomes, [version for version, _ in some]), good


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
                failures[f"`{outcome.program}`: {name}{outcome.reason()}"].append(version)
            for name in outcome.skipped:
                skips[f"`{outcome.program}`: {name}"].append(version)
    lines += ["", "What failed:" if failures else "Nothing failed."]
    lines += [f"- {what}, on {versions_of(on, versions)}" for what, on in failures.items()]
    if skips:
        lines += ["", "Skipped, since it needs the simulator or a second device:"]
        lines += [f"- {what}, on {versions_of(on, versions)}" for what, on in skips.items()]
    return lines


# ---- the interface over several machines ----

RANDOM = ("200", "1", "cuda"), ("-2", "50", "1000", "cuda"), ("-t", "4", "50", "2000", "cuda")  # seeds of three kinds


def read_cases(version: str, program: str, done: subprocess.CompletedProcess[str]) -> Outcome:
    """Of runtime_suite, and of runtime_random, which says at its end how many programs differ."""
    outcome = Outcome(version, program, said=done.stdout + done.stderr)
    outcome.passed = len(re.findall(r"^ok ", outcome.said, re.M))
    outcome.skipped = re.findall(r"^skip (\S+):", outcome.said, re.M)
    outcome.failed = re.findall(r"^FAIL (.+)$", outcome.said, re.M)
    if same := re.search(r"^(\d+) seeds from \d+ on \S+: 0 differ$", outcome.said, re.M):
        outcome.passed += int(same[1])
    if done.returncode not in (0, SKIPPED) and not outcome.failed:
        last = outcome.said.strip().splitlines()[-1:] or ["nothing"]
        outcome.failed = [f"exit status {done.returncode}, after: {last[0]}"]
    return outcome


def runtime(folder: Path, runtimes: list[Runtime]) -> list[Outcome]:
    def one(program: str, version: str, library: Path, words: tuple[str, ...]) -> Outcome:
        done = run([str(folder / program), *words], ANYCUDA_CUDART=str(library))
        return read_cases(version, " ".join((program, *words)), done)

    commands = (("suite", ("cuda",)), *(("random", words) for words in RANDOM))
    return at_once(
        [partial(one, program, *each, words) for each in reversed(runtimes) for program, words in commands],
        CASES_SIDE_BY_SIDE,
    )


# ---- memcheck ----


def memcheck(programs: list[Path], runtime: Runtime) -> list[str]:
    """What it says is for the reader; the tests themselves were judged before."""
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    lines = ["", "## The safe layer's tests under compute-sanitizer", ""]
    if not tool:
        return [*lines, "Not run: there is no compute-sanitizer here."]
    options = ["--tool", "memcheck", "--leak-check", "full", "--report-api-errors", "no", "--error-exitcode", "9"]

    def one(program: Path) -> str:
        library, folder = str(runtime[1]), str(program.parent)
        # It runs kernels one by one, and more (tests/safe/safe.h): some tests skip themselves.
        environment = {"ANYCUDA_CUDART": library, "LD_LIBRARY_PATH": folder, "ANYCUDA_TESTS_SERIAL": "1"}
        done = run([tool, *options, str(program)], **environment)
        summary = re.findall(r"^=+ ((?:ERROR|LEAK) SUMMARY.*)$", done.stdout + done.stderr, re.M)
        return f"| {program.name} | {'; '.join(summary) or f'exit status {done.returncode}'} |"

    lines += [f"memcheck with its leak check, on CUDA {runtime[0]}.", "", "| program | it says |", "|---|---|"]
    return lines + at_once([partial(one, program) for program in programs])


# ---- all of it ----


def programs_of(folder: Path) -> list[Path]:
    files = (path for path in folder.glob("*") if os.access(path, os.X_OK) and ".so" not in path.name)
    return sorted(path for path in files if path.name not in NEVER_AT_ONCE)


def everything(folder: Path, runtimes: list[Runtime], parts: Collection[str] = PARTS) -> tuple[list[str], bool]:
    """Runs these parts of what is in the folder. Returns lines of Markdown, and whether all is well."""
    lines: list[str] = []
    good = True
    if "conformance" in parts:
        lines, good = conformance(folder / "conformance", runtimes, folder / "records")
    versions = [version for version, _ in runtimes]
    for name, title in (("tests", "The safe layer's tests"), ("examples", "The examples")):
        programs = programs_of(folder / name)
        if name not in parts:
            continue
        if not programs:
            lines += ["", f"## {title}", "", "Not run: there are none; they need cmocka where they are compiled."]
            continue
        outcomes = each(programs, runtimes)
        lines += tell(title, outcomes, versions)
        good = good and not any(outcome.failed for outcome in outcomes)
    if "runtime" in parts and (folder / "runtime/suite").exists():
        outcomes = runtime(folder / "runtime", runtimes)
        lines += tell("One interface over several machines", outcomes, versions)
        good = good and not any(outcome.failed for outcome in outcomes)
    if "inject" in parts and (folder / "tests/inject").exists():
        more, well = inject(folder / "tests/inject", runtimes)
        lines, good = lines + more, good and well
    if "memcheck" in parts:
        lines += memcheck(programs_of(folder / "tests"), runtimes[-1])
    return lines, good
