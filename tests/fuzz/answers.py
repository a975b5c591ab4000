"""Records what the fuzzer's programs answer, and compares it with what another CUDA answers.

A file has what the calls of each program returned, without the calls: the fuzzer makes the same calls again for as
long as the answers are the same. Environment variables (ANYCUDA_CUDART, ANYCUDA_SIM) choose the CUDA.
"""

from __future__ import annotations

import argparse
import lzma
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CALLS = 600


class Program(list[tuple[str, str]]):
    """The lines of one program, each a call and its answer; a line that is no call has an empty answer."""


def run(fuzz: str, seed: int, numbers: str = "all", cudart: str | None = None) -> Program:
    """Runs the program of one seed, or only the calls with the numbers, on the CUDA of the environment or on cudart."""
    environment = {**os.environ, "ANYCUDA_CUDART": cudart} if cudart else None
    command = [fuzz, str(seed), str(CALLS), "1", numbers]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{fuzz} {seed}: exit status {done.returncode}: {done.stdout[-200:]}{done.stderr}")
    lines = done.stdout.splitlines()[1:]
    return Program((call, answer) for call, _, answer in (line.partition(" = ") for line in lines))


def run_all(fuzz: str, seeds: Iterable[int], jobs: int) -> list[Program]:
    """Runs the programs of all seeds, some at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda seed: run(fuzz, seed), seeds))


def answers(program: Program) -> list[str]:
    """Returns what the program answered: the text of lines that are no calls, such as the end, too."""
    return [answer if answer else call for call, answer in program]


def record(fuzz: str, file: Path, seeds: range, jobs: int) -> None:
    """Writes the answers of the programs."""
    lines: list[str] = []
    file.touch()  # before the programs run: they may take minutes
    for seed, program in zip(seeds, run_all(fuzz, seeds, jobs), strict=True):
        lines += [f"program {seed}", *answers(program)]
    file.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def load(file: Path) -> dict[int, list[str]]:
    """Returns the answers of each seed."""
    found: dict[int, list[str]] = {}
    lines: list[str] | None = None
    try:
        text = lzma.decompress(file.read_bytes()).decode()
    except (lzma.LZMAError, UnicodeDecodeError) as why:
        raise SystemExit(f"{file}: not a file of answers, or only a part of one: {why}") from None
    for line in text.split("\n"):
        if line.startswith("program ") and line[8:].isdigit():
            lines = found.setdefault(int(line[8:]), [])
        elif lines is not None:
            lines.append(line)
    if not found:
        raise SystemExit(f"{file}: there are no programs in it")
    return found


def agreed(program: Program, recorded: list[str]) -> int:
    """Returns how many lines are the same before the first that differs."""
    for index, ((call, answer), wanted) in enumerate(zip(program, recorded, strict=False)):
        if (answer or call) != wanted:
            return index
    return min(len(program), len(recorded))


def compare(fuzz: str, file: Path, floor: int, jobs: int, limit: int | None = None) -> bool:
    """Prints the first difference of each program that differs; returns whether enough programs are the same."""
    recorded = load(file)
    seeds = sorted(recorded)[:limit]
    lines = same = 0
    for seed, program in zip(seeds, run_all(fuzz, seeds, jobs), strict=True):
        count = agreed(program, recorded[seed])
        lines += count
        if count == len(program) == len(recorded[seed]):
            same += 1
        elif count < len(program) and count < len(recorded[seed]):
            print(f"{seed}: {' = '.join(program[count])}; recorded: {recorded[seed][count]}")
        else:
            print(f"{seed}: {len(program)} lines; recorded: {len(recorded[seed])}")
    mean = lines / len(seeds)
    print(f"{file.name}: {same} of {len(seeds)} programs are the same to the end, the mean one for {mean:.1f} lines")
    return same >= floor


def outcome(program: Program, number: int) -> list[tuple[str, str]]:
    """Returns the calls with the number, what they returned and what they wrote; not the states beside them."""
    found = []
    for call, answer in program:
        if call.split()[0] == str(number):
            code, _, _, *written = answer.split(" ") if answer else ("died", "", "")
            found.append((call, " ".join([code, *written])))
    return found


def ranges(numbers: list[int]) -> str:
    """Returns ascending numbers as the fuzzer's command line takes them: 3,17-20."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(f"{first}-{last}" if first < last else str(first) for first, last in found)


def shrink(fuzz: str, seed: int, number: int, jobs: int, other: str | None = None) -> None:
    """Leaves calls out, in ever smaller pieces, for as long as the call has the same outcome, on the other CUDA too."""

    def outcomes(kept: list[int]) -> list[list[tuple[str, str]]]:
        numbers = ranges([*kept, number])
        return [outcome(run(fuzz, seed, numbers, cudart), number) for cudart in ([other, None] if other else [None])]

    kept = list(range(number))
    wanted = outcomes(kept)
    if not all(wanted):
        raise SystemExit(f"{fuzz} {seed}: there is no call {number} in this program")
    size = len(kept)
    with ThreadPoolExecutor(jobs) as pool:
        while size:
            pieces = [kept[i : i + size] for i in range(0, len(kept), size)]

            def without(some: list[list[int]], kept: list[int] = kept) -> list[int]:
                return sorted(set(kept) - {call for piece in some for call in piece})

            same = pool.map(lambda piece: outcomes(without([piece])) == wanted, pieces)
            free = [piece for piece, is_same in zip(pieces, same, strict=True) if is_same]
            if not free:
                size //= 2
                continue
            while len(free) > 1 and outcomes(without(free)) != wanted:
                free = free[: len(free) // 2]
            kept = without(free)
            size = min(size, len(kept))
            print(f"{len(kept) + 1} calls: {ranges([*kept, number])}", file=sys.stderr)
    for call, answer in run(fuzz, seed, ranges([*kept, number])):
        print(f"{call} = {answer}" if answer else call)


def natural(text: str) -> int:
    """Returns the number that an argument is."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def positive(text: str) -> int:
    """Returns the number that an argument is, which must not be 0."""
    if not natural(text):
        raise argparse.ArgumentTypeError("0 is too few")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Returns the command line."""
    made = argparse.ArgumentParser(
        prog="answers.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True)

    def command(name: str, what: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=what, description=what)
        one.add_argument("fuzz", metavar="FUZZ", help="the program: fuzz, or threads (tests/threads/)")
        return one

    one = command("record", "run programs and write what they answered")
    one.add_argument("file", metavar="FILE", type=Path, help="the file to write (.xz)")
    one.add_argument("first", metavar="FIRST", type=natural, help="the seed of the first program")
    one.add_argument("count", metavar="COUNT", type=positive, help="the number of programs")
    one.add_argument("jobs", metavar="JOBS", type=positive, nargs="?", default=2, help="how many run at once (2)")
    one = command("compare", "run the same programs and print where each differs first")
    one.add_argument("file", metavar="FILE", type=Path, help="what was recorded (.xz)")
    one.add_argument("floor", metavar="FLOOR", type=natural, help="fail if fewer programs are the same to the end")
    one.add_argument("jobs", metavar="JOBS", type=positive, nargs="?", default=2, help="how many run at once (2)")
    one.add_argument("count", metavar="COUNT", type=positive, nargs="?", help="only the first programs (all)")
    one = command("shrink", "print the shortest program in which a call still returns and writes the same")
    one.add_argument("seed", metavar="SEED", type=natural, help="the program")
    one.add_argument("number", metavar="NUMBER", type=natural, help="the call's number")
    one.add_argument("jobs", metavar="JOBS", type=positive, nargs="?", default=2, help="how many run at once (2)")
    one.add_argument("other", metavar="OTHER", nargs="?", help="ANYCUDA_CUDART of a second CUDA to ask")
    return made


def main() -> int:
    """Runs the command line."""
    given = parser().parse_args()
    try:
        match given.command:
            case "record":
                record(given.fuzz, given.file, range(given.first, given.first + given.count), given.jobs)
            case "compare":
                return 0 if compare(given.fuzz, given.file, given.floor, given.jobs, given.count) else 1
            case "shrink":
                shrink(given.fuzz, given.seed, given.number, given.jobs, given.other)
    except OSError as why:
        raise SystemExit(f"{why.filename}: {why.strerror}") from None
    return 0


if __name__ == "__main__":
    sys.exit(main())
