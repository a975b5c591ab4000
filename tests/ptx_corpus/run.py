"""Runs CUDA programs on the simulator, which executes their PTX, or on a GPU, and says which are right.

    tests/ptx_corpus/run.py PROGRAMS [--library PATH] [--record DIR] [--compare DIR] [--seconds N]
                            [--processor N] [--jobs N] [--only REGEX] [--table FILE] [--results FILE]

PROGRAMS has a folder for each program of programs.yaml, or some of them: `program` in it is started there with the
arguments of the list. --library is libanycuda-sim.so, which is then there as libcudart.so.13, or a folder with that
file: the toolkit's own for a GPU. --record keeps what each program printed, as on a GPU; --compare says which lines
differ from what was kept. Of each program a line says

    pass     it ended as it should, and printed what the list says; and the same as was kept
    refused  the simulator refused something, with its reason, or what the list says that it `refuses`
    wrong    all else: another exit status, a failed verification, a crash, another output
    slow     it took longer than --seconds, or more than --processor seconds of all processors together, which other
             work of the machine does not change

and the end is a table in Markdown, also in the file of --table. --results updates what page.py makes a page of: the
programs that were not started now keep what they had. Exits with 1 if any program is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LIST = Path(__file__).with_name("programs.yaml")
KEYS = {"arguments", "says", "never", "status", "varies", "refuses", "note"}
NEVER = r"(?i)\b(fail(ed|ure|s)?|mismatch(es)?|incorrect|wrong result)\b"  # in what a program prints that is right
REFUSED = re.compile(
    r"cannot be launched: .*?error *: (?P<why>[^;\n]*)|(?P<no>the simulator does not[^;\n]*)"
    r"|anycuda: .*(?:not supported|refuse).*|.*(?:cudaErrorNotSupported|operation not supported).*"
)
# Lines with times and rates, or with names of a device: they differ from run to run.
VARYING = re.compile(
    r"(?i)time|second|\bms\b|\(m?s\)|\(us\)|\bus\b|usec|msec|[KMG]\w*/s|TOPS|flop|throughput|bandwidth|speed|rate\b"
    r"|perform|elapsed|clock|cycle"
    r"|device|\bgpu\b|driver|compute capability|multiprocessor|processor|0x[0-9a-f]{6,}|version|\bpid\b"
)
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+")
# Whoever is forked while a program is copied has it open for writing, and then nobody can start it.
STARTING = threading.Lock()
CLOSE = 1e-4  # how far two decimal numbers may be apart, relative to the larger


@dataclass
class Program:
    """What is started, and what its output must have and must not."""

    origin: str
    name: str
    arguments: str = ""
    says: str = ""
    never: str = NEVER
    status: int = 0
    varies: str = ""
    refuses: str = ""
    note: str = ""


@dataclass
class Run:
    """What a program did; `status` is None if it was too slow. `processor` is the time of all processors together."""

    status: int | None
    output: str
    errors: str
    seconds: float
    processor: float


@dataclass
class Answer:
    """What became of a program: pass, refused, wrong or slow, and why."""

    program: Program
    kind: str
    reason: str
    seconds: float
    processor: float
    compared: bool = False  # with what a GPU printed


def read(listed: dict[str, dict[str, dict[str, Any] | None]]) -> list[Program]:
    """The programs of the list; a misspelt key is an error."""
    found = []
    for origin, programs in listed.items():
        for name, given in programs.items():
            fields = given or {}
            unknown = ", ".join(sorted(set(fields) - KEYS))
            if unknown:
                raise ValueError(f"{name}: unknown key {unknown}; there are {', '.join(sorted(KEYS))}")
            found.append(Program(origin, name, **fields))
    return found


@contextmanager
def folder_of(library: Path | None) -> Iterator[Path | None]:
    """A folder with the library by the name that programs of CUDA 13 look for."""
    if library is None or library.is_dir():
        yield library
        return
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "libcudart.so.13").symlink_to(library.resolve())
        yield Path(scratch)


def wait(process: subprocess.Popen[bytes], seconds: float) -> tuple[int | None, float]:
    """The exit status, or None if it took longer or its limit of processors ended it; and the processors' time."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, stop)
    timer.start()
    _, status, used = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    ended = late.is_set() or process.returncode in (-signal.SIGXCPU, 128 + signal.SIGXCPU)
    return (None if ended else process.returncode), used.ru_utime + used.ru_stime


def start(program: Program, folder: Path, library: Path | None, seconds: float, processor: float) -> Run:
    """Runs the program in a copy of its folder, so that what it writes is gone afterwards."""
    environment = dict(os.environ)
    if library:
        environment["LD_LIBRARY_PATH"] = f"{library.resolve()}:{environment.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "here"
        with STARTING:
            shutil.copytree(folder, place)
        begin = time.monotonic()
        # Files, not pipes: a child that outlives the program would keep a pipe open.
        with (Path(scratch) / "output").open("w+b") as output, (Path(scratch) / "errors").open("w+b") as errors:
            with STARTING:
                process = subprocess.Popen(
                    ["bash", "-c", f"ulimit -St {processor:.0f}; ./program {program.arguments}"],
                    cwd=place,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    start_new_session=True,
                )
            status, used = wait(process, seconds)
            texts = []
            for file in (output, errors):
                file.seek(0)
                texts.append(file.read(1 << 20).decode(errors="replace"))
    return Run(status, texts[0], texts[1], time.monotonic() - begin, used)


def lines(text: str, varies: str) -> list[str]:
    """The lines that are the same in every run."""
    return [
        " ".join(line.split())
        for line in text.splitlines()
        if line.strip() and not VARYING.search(line) and not (varies and re.search(varies, line))
    ]


def same(a: str, b: str) -> bool:
    """Whether two lines differ at most in the last digits of decimal numbers."""
    if a == b:
        return True
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)), strict=True)
    return all(abs(x - y) <= CLOSE * max(abs(x), abs(y)) + 1e-12 for x, y in pairs)


def difference(got: str, kept: str, varies: str) -> str:
    """The first line that differs from what was kept, or nothing."""
    ours, theirs = lines(got, varies), lines(kept, varies)
    for mine, right in zip(ours, theirs, strict=False):
        if not same(mine, right):
            return f"prints '{mine[:70]}', not '{right[:70]}'"
    return "" if len(ours) == len(theirs) else f"prints {len(ours)} lines, not {len(theirs)}"


def judge(program: Program, run: Run, kept: str | None) -> Answer:
    """What the run is worth; a refusal explains any other failure."""

    def answer(kind: str, reason: str = "") -> Answer:
        return Answer(program, kind, reason, run.seconds, run.processor, kept is not None)

    if program.refuses and re.search(program.refuses, run.errors):
        return answer("refused", program.refuses)
    if run.status is None:
        return answer("slow", f"more than {run.seconds:.0f} s, {run.processor:.0f} s of processors")
    text = run.output + run.errors
    bad = re.search(program.never, text) if program.never else None
    why = ""
    if run.status != program.status:
        why = f"exit status {run.status}, not {program.status}"
    elif bad:
        why = (
            "prints '" + next(line for line in text.splitlines() if re.search(program.never, line)).strip()[:100] + "'"
        )
    elif program.says and not re.search(program.says, text, re.M):
        why = f"does not print '{program.says}'"
    elif kept is not None:
        why = difference(run.output, kept, program.varies)
    if not why:
        return answer("pass")
    refused = REFUSED.search(run.errors) or REFUSED.search(run.output)
    if refused:
        return answer("refused", (refused["why"] or refused["no"] or refused[0]).strip()[:160])
    last = (run.errors.strip() or run.output.strip()).splitlines()[-1:]
    return answer("wrong", why + (f" ({last[0].strip()[:100]})" if last and not bad else ""))


def table(answers: Iterable[Answer]) -> str:
    """A table in Markdown: a row for each origin, and the reasons below."""
    found = list(answers)
    kinds = ["pass", "refused", "wrong", "slow"]
    text = "| from | programs | " + " | ".join(kinds) + " |\n|---|---|" + "---|" * len(kinds) + "\n"
    for origin in [*sorted({answer.program.origin for answer in found}), "all"]:
        of = [answer for answer in found if origin in ("all", answer.program.origin)]
        count = Counter(answer.kind for answer in of)
        text += f"| {origin} | {len(of)} | " + " | ".join(str(count[kind]) for kind in kinds) + " |\n"
    others = [answer for answer in found if answer.kind != "pass"]
    if others:
        text += "\n| program | | reason |\n|---|---|---|\n"
    for answer in sorted(others, key=lambda answer: (kinds.index(answer.kind), answer.reason, answer.program.name)):
        reason = answer.reason.replace("|", "\\|")
        text += f"| {answer.program.name} | {answer.kind} | {reason} |\n"
    return text


def keep(answers: Iterable[Answer], place: Path, day: str) -> None:
    """Puts the answers into the file, a line each; programs that it does not have anew keep their lines."""
    header = "# What became of the programs of programs.yaml: run.py --results writes it, page.py reads it.\n"
    results = (yaml.safe_load(place.read_text()) if place.exists() else None) or {}
    for answer in answers:
        result = {"kind": answer.kind, "processor": round(answer.processor, 1), "compared": answer.compared, "day": day}
        results[answer.program.name] = result | ({"reason": answer.reason} if answer.reason else {})
    place.write_text(header + "".join(f"{name}: {json.dumps(results[name])}\n" for name in sorted(results)))


def one(program: Program, options: argparse.Namespace, library: Path | None) -> Answer:
    """Runs and judges a program, keeps what it printed, and prints the line about it."""
    run = start(program, options.programs / program.name, library, options.seconds, options.processor)
    kept = None
    if options.compare and (options.compare / program.name / "output").exists():
        kept = (options.compare / program.name / "output").read_text()
    if options.record:
        place = options.record / program.name
        place.mkdir(parents=True, exist_ok=True)
        (place / "output").write_text(run.output)
        (place / "errors").write_text(run.errors)
        (place / "status").write_text(f"{run.status} {run.seconds:.2f} {run.processor:.2f}\n")
    answer = judge(program, run, kept)
    print(
        f"{answer.kind:8}{answer.seconds:7.2f} s {answer.processor:7.2f} s  {program.name}  {answer.reason}", flush=True
    )
    return answer


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--library", type=Path, help="libanycuda-sim.so, or a folder with libcudart.so.13")
    parser.add_argument("--list", type=Path, default=LIST, help="another list than programs.yaml")
    parser.add_argument("--record", type=Path, help="keep here what each program printed")
    parser.add_argument("--compare", type=Path, help="what was kept of another run, as of a GPU's")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processor", type=float, default=1e6, help="seconds of all processors together")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--results", type=Path, help="results.yaml, where the programs' lines are replaced")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    programs = read(yaml.safe_load(options.list.read_text()))
    chosen = [
        program
        for program in programs
        if re.search(options.only, program.name) and (options.programs / program.name / "program").exists()
    ]
    if not chosen:
        print(f"error: {options.programs} has none of the {len(programs)} programs of {options.list}:", file=sys.stderr)
        print(
            "each is a folder there, with the file `program`; the README beside this script says more", file=sys.stderr
        )
        return 2

    with folder_of(options.library) as library, ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(lambda program: one(program, options, library), chosen))
    text = table(answers)
    print("\n" + text, end="")
    if options.table:
        options.table.write_text(text)
    if options.results:
        keep(answers, options.results, time.strftime("%Y-%m-%d", time.gmtime()))
    return 1 if any(answer.kind == "wrong" for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
