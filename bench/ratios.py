"""The simulator's times against the real library's, or against memcpy's: what bench_sim printed, divided.

    python3 bench/ratios.py SIMULATOR.tsv [REAL.tsv]

Prints a table in Markdown. Needs Python's own library only.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

Rows = dict[str, tuple[float, float]]  # what: nanoseconds, and those of memcpy() or 0


def read(text: str) -> Rows:
    rows: Rows = {}
    for line in text.splitlines():
        what, ns, base = line.split("\t")
        rows[what] = (float(ns), float(base or 0))
    return rows


def middle(runs: list[Rows]) -> Rows:
    """The medians of several runs, of the rows that all have."""
    shared = [what for what in runs[0] if all(what in run for run in runs)]

    def of(what: str, column: int) -> float:
        return statistics.median(run[what][column] for run in runs)

    return {what: (of(what, 0), of(what, 1)) for what in shared}


def time_of(ns: float) -> str:
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns:.0f} ns"


def table(simulator: Rows, real: Rows) -> list[str]:
    """`real` may be empty. Times per call, or for all of a graph; the last column: its bandwidth, of memcpy's."""
    lines = ["| what | real library | simulator | ratio | simulator, of memcpy's bandwidth |", "|---|---|---|---|---|"]
    for what, (ns, base) in simulator.items():
        theirs, ratio = "", ""
        if what in real:
            theirs, ratio = time_of(real[what][0]), f"{ns / real[what][0]:.2f}"
        lines.append(f"| {what} | {theirs} | {time_of(ns)} | {ratio} | {f'{base / ns:.0%}' if base else ''} |")
    return lines


def main() -> int:
    simulator, *real = (read(Path(name).read_text()) for name in sys.argv[1:])
    print("\n".join(table(simulator, real[0] if real else {})))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
