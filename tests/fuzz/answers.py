"""Records what the fuzzer's programs answer, and compares it with what another CUDA answers.

    answers.py record FUZZ FILE FIRST COUNT [JOBS]   runs COUNT programs from seed FIRST on, and writes FILE (.xz)
    answers.py compare FUZZ FILE FLOOR [JOBS [COUNT]] runs the same programs, or the first COUNT of them, and prints the
                                                     first difference of each; fails if fewer than FLOOR programs are
                                                     the same to the end
    answers.py shrink FUZZ SEED NUMBER [JOBS [OTHER]] prints the shortest program in which call NUMBER of the program
                                                     still returns and writes the same; with OTHER (what
                                                     ANYCUDA_CUDART is for another CUDA), also on that one

FUZZ is fuzz, or threads (tests/threads/), whose command line is the same.
A file has what the calls of each program returned, without the calls: the fuzzer makes the same calls again for as
long as the answers are the same. Environment variables (ANYCUDA_CUDART, ANYCUDA_SIM) choose the CUDA.
"""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
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


def run_all(fuzz: str, seeds: range, jobs: int) -> list[Program]:
    """Runs the programs of all seeds, some at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda seed: run(fuzz, seed), seeds))


def answers(program: Program) -> list[str]:
    """Returns what the program answered: the text of lines that are no calls, such as the end, too."""
    return [answer if answer else call for call, answer in program]


def record(fuzz: str, file: Path, seeds: range, jobs: int) -> None:
    """Writes the answers of the programs."""
    lines: list[str] = []
    for seed, program in zip(seeds, run_all(fuzz, seeds, jobs), strict=True):
        lines += [f"program {seed}", *answers(program)]
    file.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def load(file: Path) -> dict[int, list[str]]:
    """Returns the answers of each seed."""
    found: dict[int, list[str]] = {}
    for line in lzma.decompress(file.read_bytes()).decode().split("\n"):
        if line.startswith("program "):
            lines = found.setdefault(int(line.split()[1]), [])
        else:
            lines.append(line)
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
    seeds = range(min(recorded), max(recorded) + 1)[:limit]
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


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    match arguments:
        case ["record", fuzz, file, first, count, *jobs]:
            record(fuzz, Path(file), range(int(first), int(first) + int(count)), int(jobs[0]) if jobs else 2)
            return 0
        case ["compare", fuzz, file, floor, *more]:
            return 0 if compare(fuzz, Path(file), int(floor), *([int(n) for n in more] or [2])) else 1
        case ["shrink", fuzz, seed, number, *more]:
            shrink(fuzz, int(seed), int(number), int(more[0]) if more else 2, *more[1:])
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
