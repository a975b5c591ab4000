"""Asks ptxas for the least .target of each instruction of cells.txt, and prints targets.txt.

    python tests/ptx/targets.py PTXAS > tests/ptx/targets.txt

Instructions that each target has are left out, and those on 128 bits: their registers need one, too.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CELLS = Path(__file__).with_name("cells.txt")
NUMBERS = (50, 52, 53, 60, 61, 70, 72, 75, 80, 86, 89, 90, "90a", 100, "100a")
TARGETS = [f"sm_{number}" for number in NUMBERS]
OLDEST = 75  # that ptxas 13 makes code for; it reads texts for older ones
HEAD = (
    ".version 9.0\n.target {}\n.address_size 64\n.shared .align 128 .b8 s[1024]; .global .align 128 .b8 m[1024];"
    ".func function() {{ ret; }}\n.visible .entry k(.param .b64 param) {{ .reg .pred %p<9>; .reg .b8 %b<9>;"
    ".reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %d<9>;\n"
)


def lines_refused(ptxas: str, target: str, instructions: list[str]) -> set[int]:
    """The numbers of the lines that ptxas refuses, of one kernel that has them all."""
    head = HEAD.format(target)
    number = int(re.sub(r"\D", "", target))
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as text:
        text.write(head + "\n".join(instructions) + "\nLABEL: ret;\n}\n")
        text.flush()
        arch = target if number >= OLDEST else f"sm_{OLDEST}"
        command = [ptxas, f"-arch={arch}", "-O0", text.name, "-o", "/dev/null"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    first = head.count("\n") + 1
    found = {int(line) - first for line in re.findall(r"line (\d+); (?:error|fatal)", said)}
    return {line for line in found if line < len(instructions)}


def refused(ptxas: str, target: str, instructions: list[str]) -> set[str]:
    """The instructions that ptxas refuses; an error may hide others, so that it is asked again."""
    left, bad = list(instructions), set()
    while lines := lines_refused(ptxas, target, left):
        bad |= {left[line] for line in lines}
        left = [one for one in left if one not in bad]
    return bad


def main() -> None:
    rows = [line.split("\t") for line in CELLS.read_text().splitlines() if not line.startswith("#")]
    instructions = list(dict.fromkeys(row[4] for row in rows if row[3] != "sm_60" and "%q" not in row[4]))
    missing = {target: refused(sys.argv[1], target, instructions) for target in TARGETS}
    print("# Written by tests/ptx/targets.py; do not edit.")
    for instruction in instructions:
        least = next((target for target in TARGETS if instruction not in missing[target]), None)
        if least and least != TARGETS[0]:
            before = TARGETS[TARGETS.index(least) - 1]
            print(f"{before}\t{least}\t{instruction}")


if __name__ == "__main__":
    main()
