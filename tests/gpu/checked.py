"""Compares the simulator's checks of kernels with those of compute-sanitizer on a GPU, over kernels with one mistake.

    nvcc -std=c++20 -cudart shared -lineinfo -arch=sm_90 tests/gpu/checked.cu -o checked
    python3 tests/gpu/checked.py ./checked --record FOLDER  # on a GPU: what the tools print, a file for each run
    python3 tests/gpu/checked.py --read FOLDER              # makes checked.txt of that
    python3 tests/gpu/checked.py ./checked libanycuda-sim.so

The last one runs each case of checked.cu on the simulator, with all checks, and prints a row for each: what the tool
said that looks for such mistakes, what the simulator said, and why where only one of them has a report. Ends with 0 if
each mistake is reported, no correct kernel is, and the two differ only where DIFFERENCES says why; else with 1; with 77
where there is no compute-sanitizer. Needs Python alone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ANSWERS = Path(__file__).with_name("checked.txt")
# The checks, and the tool that looks for the same.
TOOLS = {"memory": "memcheck", "race": "racecheck", "init": "initcheck", "sync": "synccheck"}
ALONE = "alone"  # without a tool: the error of CUDA
NOTHING, NOT_RUN, STOPPED = "-", "?", "stopped by the time limit"
LIMIT = 25.0  # seconds that a run may take
NO_TOOL = 77
ALL = f"check={','.join(TOOLS)}"

# ---- on a GPU ----


def cases(program: str, environment: dict[str, str] | None = None) -> dict[str, str]:
    """The names of the mistakes, each with its check."""
    command = [program, "--list"]
    return read_cases(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def read_cases(listed: str) -> dict[str, str]:
    return {name: check for check, name in (line.split() for line in listed.splitlines())}


def plan(planted: dict[str, str]) -> list[tuple[str, str]]:
    """What to run, by case and tool: first what is compared, then whether other tools see a mistake, too."""
    own = [(name + twin, TOOLS[check]) for name, check in planted.items() for twin in ("", "_ok")]
    others = [(name, tool) for tool in (ALONE, *TOOLS.values()) for name in planted]
    return list(dict.fromkeys(own + others))


def printed(command: list[str], limit: float) -> str:
    """What a command prints. Behind the time limit it is killed, with what it has started."""
    with tempfile.TemporaryFile("w+") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(limit)
            ending = f"exit status {process.returncode}\n"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            ending = f"{STOPPED}\n"
        file.seek(0)
        return file.read() + ending


def record(program: str, sanitizer: str, folder: Path, seconds: float, jobs: int) -> int:
    """Runs each case under each tool, as many as there is time for. Returns how many there was none for."""
    end = time.monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    planted = cases(program)
    (folder / "version").write_text(printed([sanitizer, "--version"], 60))
    (folder / "cases").write_text("".join(f"{check} {name}\n" for name, check in planted.items()))

    def run(case: str, tool: str) -> bool:
        left = end - time.monotonic()
        if left < 1:
            return False
        under = [] if tool == ALONE else [sanitizer, "--tool", tool, "--print-limit", "5"]
        text = printed([*under, program, case], min(LIMIT, left))
        if STOPPED in text and left < LIMIT:
            return False
        (folder / f"{case}.{tool}").write_text(text)
        return True

    with ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda both: run(*both), plan(planted)))
    return done.count(False)


# ---- what a tool prints ----

HEADING = re.compile(r"^={9} (?!COMPUTE-SANITIZER|Program hit|Target application|ERROR SUM|RACECHECK SUM)(\S.*)")
RACE = re.compile(r"(Error|Warning|Info): (?:Potential )?(\S+ )?[Rr]ace reported between (\w+) access")
SUMMARY = re.compile(r"SUMMARY: (\d+) (?:errors?|hazards?)")


def kind_of(text: str) -> str:
    """The kind of the first message that a tool prints, in few words; nothing if it has none."""
    count = SUMMARY.search(text)
    if not count or count.group(1) == "0":
        return STOPPED if STOPPED in text else ""
    for heading in (match.group(1) for match in map(HEADING.match, text.splitlines()) if match):
        race = RACE.match(heading)
        if race:
            return f"race with a {race.group(3).lower()} ({race.group(1).lower()})"
        return re.split(r" of size | at |\+0x| on address ", heading)[0].rstrip(".")[:60]
    return ""


def error_of(text: str) -> str:
    """The error of CUDA that the program ends with."""
    if STOPPED in text:
        return STOPPED
    found = re.search(r"^end (\w+)", text, re.M)
    error = found.group(1) if found else "ended"
    return "" if error == "cudaSuccess" else error


def read_folder(folder: Path) -> str:
    """What was recorded, a line for each case: the error without a tool, what the tool says that looks for such
    mistakes, and what others say."""

    def kind(case: str, tool: str) -> str:
        file = folder / f"{case}.{tool}"
        if not file.exists():
            return NOT_RUN
        return (error_of if tool == ALONE else kind_of)(file.read_text(errors="replace")) or NOTHING

    rows = [["case", ALONE, "tool", "others"]]
    for name, check in read_cases((folder / "cases").read_text()).items():
        own = TOOLS[check]
        others = {tool: kind(name, tool) for tool in TOOLS.values() if tool != own}
        said = ", ".join(f"{tool}: {text}" for tool, text in others.items() if text not in (NOTHING, NOT_RUN, STOPPED))
        rows.append([name, kind(name, ALONE), kind(name, own), said or NOTHING])
        rows.append([f"{name}_ok", NOT_RUN, kind(f"{name}_ok", own), NOT_RUN])
    return "".join(" | ".join(row) + "\n" for row in rows)


# ---- on the simulator ----


@dataclass
class Simulated:
    """What the checks found in a case, by check, and the error that CUDA had; "" if none."""

    findings: Counter[str] = field(default_factory=Counter)
    error: str = ""

    def text(self) -> str:
        found = [f"{check} {count}" for check, count in self.findings.items()]
        return ", ".join(found + [self.error] * bool(self.error)) or NOTHING


FINDING = re.compile(r"^anycuda: simulator: kernel .*: check=(\w+): (?:(\d+) more)?")


def read_reports(lines: Iterable[str]) -> dict[str, Simulated]:
    """What the program and the simulator print on stderr, by case. A case without an end has the error "ended"."""
    found: dict[str, Simulated] = {}
    now = Simulated()
    for line in lines:
        finding = FINDING.match(line)
        if line.startswith("case "):
            found[line.split()[1]] = now = Simulated(error="ended")
        elif line.startswith("end "):
            now.error = "" if line.split()[1] == "cudaSuccess" else line.split()[1]
        elif finding:
            now.findings[finding.group(1)] += int(finding.group(2) or 1)
    return found


def with_simulator(library: Path, folder: Path, machine: str = "cc=9.0") -> dict[str, str]:
    """The environment in which a program finds the simulator as libcudart, by a link in the folder."""
    link = folder / "libcudart.so.13"
    if not link.exists():
        link.symlink_to(library.resolve())
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "ANYCUDA_SIM": f"{machine},timeout=20,{ALL}"}


def simulate(program: str, names: Iterable[str], environment: dict[str, str]) -> dict[str, Simulated]:
    """Runs the cases, and their twins. Behind an error the program ends, and is started again for what is left."""
    left = [name + twin for name in names for twin in ("", "_ok")]
    found: dict[str, Simulated] = {}
    while left:
        done = subprocess.run([program, *left], env=environment, check=False, capture_output=True, text=True)
        reports = read_reports(done.stderr.splitlines())
        if not reports:
            raise RuntimeError(f"{program} ended with {done.returncode}:\n{done.stderr}")
        found |= reports
        left = left[len(reports) :]
    return found


# ---- side by side ----

# Why only one of them has a report, or neither has one of a mistake: the cases of each reason.
DIFFERENCES: dict[str, list[str]] = {
    "on the GPU another allocation, or another variable, is there": [
        "read_before",
        "variable_behind",
        "constant_behind",
        "shared_next",
    ],
    "racecheck looks at shared memory alone": [
        "global_exchange",
        "blocks",
        "grid_exchange",
        "flag",
        "last_block",
        "block_scope",
    ],
    "racecheck has no report for atomic operations beside reads": ["atomic_and_read"],
    "racecheck does not know that the async proxy needs a fence": ["bulk_unfenced"],
    "to the simulator volatile accesses are flags": ["volatile_tail"],
    "initcheck looks at global memory alone": ["shared_part", "shared_of_another", "local_part"],
    "to the simulator a part that was written is enough, since padding is copied": ["vector_part", "byte_part"],
    "synccheck does not see all barriers in branches": ["lanes_leave", "count_branch"],
    "synccheck does not look who comes to a .sync operation": [
        "syncwarp_branch",
        "shuffle_branch",
        "shuffle_source",
        "ballot_branch",
        "ballot_without",
        "masks_differ",
        "reduce_branch",
        "match_branch",
        "tile_branch",
    ],
    "no barrier waits for warps that have ended": ["warps_unequal"],
}


def read_answers(text: str) -> dict[str, dict[str, str]]:
    """What read_folder() wrote: for each case what each tool said."""
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def verdict(theirs: str, ours: Simulated, check: str, planted: bool) -> str:
    """Who has a report: "both", "neither", "ours only" or "tool only"; and of correct kernels any report counts."""
    reported = bool(ours.error or (ours.findings[check] if planted else ours.findings))
    names = {(True, True): "both", (True, False): "tool only", (False, True): "ours only"}
    return names.get((theirs not in (NOTHING, NOT_RUN, STOPPED), reported), "neither")


def compare(
    planted: dict[str, str], answers: dict[str, dict[str, str]], simulated: dict[str, Simulated]
) -> tuple[list[str], int]:
    """The rows of the report, and how many of them are not as they should be without a reason."""
    reasons = {case: reason for reason, names in DIFFERENCES.items() for case in names}
    rows, wrong = [f"{'case':22} {'check':7} {'tool':45} {'simulator':40} verdict"], 0
    for case, ours in simulated.items():
        name = case.removesuffix("_ok")
        check = planted[name]
        theirs = answers[case]["tool"]
        who = verdict(theirs, ours, check, case == name)
        expected = who == ("both" if case == name else "neither")
        wrong += expected == (case in reasons)
        reason = reasons.get(case, "" if expected else "WITHOUT A REASON")
        rows.append(f"{case:22} {check:7} {theirs:45} {ours.text():40} {who} {reason}".rstrip())
    return rows, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("library", nargs="?", type=Path, help="libanycuda-sim.so")
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    parser.add_argument("--read", type=Path, metavar="FOLDER")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--sanitizer", default=shutil.which("compute-sanitizer"))
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--jobs", type=int, default=8)
    options = parser.parse_args()
    if options.read:
        options.answers.write_text(read_folder(options.read))
        return 0
    if options.record:
        if not options.sanitizer:
            print("there is no compute-sanitizer: it comes with CUDA's toolkit")
            return NO_TOOL
        left = record(options.program, options.sanitizer, options.record, options.seconds, options.jobs)
        print(f"there was no time for {left} runs")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment = with_simulator(options.library, Path(folder))
        planted = cases(options.program, environment)
        simulated = simulate(options.program, planted, environment)
    rows, wrong = compare(planted, read_answers(options.answers.read_text()), simulated)
    print("\n".join(rows))
    print(f"{wrong} cases are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
