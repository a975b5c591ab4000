"""Asks ptxas for the least .target and .version of each instruction of cells.txt, and prints targets.txt.

    python tests/ptx/targets.py PTXAS > tests/ptx/targets.txt

A row has the newest head of a text for which the instruction is refused, the oldest for which it is not, and the
instruction. There are rows for targets, with the newest version, and for versions, with the least target: those that
the target itself needs are left out, and instructions on 128 bits, whose registers need a target and version, too.
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
VERSIONS = ("4.0", "4.1", "4.2", "4.3", "5.0", *(f"6.{n}" for n in range(6)), *(f"7.{n}" for n in range(9)))
VERSIONS += (*(f"8.{n}" for n in range(9)), "9.0")
OLDEST = 75  # that ptxas 13 makes code for; it reads texts for older ones
HEAD = (
    ".version {}\n.target {}\n.address_size 64\n.shared .align 128 .b8 s[1024]; .global .align 128 .b8 m[1024];"
    ".func function() {{ ret; }}\n.visible .entry k(.param .b64 param) {{ .reg .pred %p<9>; .reg .b8 %b<9>;"
    ".reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %d<9>;\n"
)


class Asked:
    """The ptxas that is asked, and how."""

    def __init__(self, ptxas: str) -> None:
        self.ptxas = ptxas

    def says(self, version: str, target: str, instructions: list[str]) -> tuple[set[int], str]:
        """The numbers of the instructions that ptxas refuses, of one kernel that has them all, and all that it says."""
        head = HEAD.format(version, target)
        number = int(re.sub(r"\D", "", target))
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as text:
            text.write(head + "\n".join(instructions) + "\nLABEL: ret;\n}\n")
            text.flush()
            arch = target if number >= OLDEST else f"sm_{OLDEST}"
            command = [self.ptxas, f"-arch={arch}", "-O0", text.name, "-o", "/dev/null"]
            said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        first = head.count("\n") + 1
        found = {int(line) - first for line in re.findall(r"line (\d+); (?:error|fatal)", said)}
        return {line for line in found if 0 <= line < len(instructions)}, said

    def refused(self, version: str, target: str, instructions: list[str]) -> set[str]:
        """The instructions that ptxas refuses; an error may hide others, so that it is asked again."""
        left, bad = list(instructions), set()
        while lines := self.says(version, target, left)[0]:
            bad |= {left[line] for line in lines}
            left = [one for one in left if one not in bad]
        return bad

    def versions(self, target: str) -> list[str]:
        """The versions that have the target."""
        return [one for one in VERSIONS if "does not support .target" not in self.says(one, target, [])[1]]


def print_rows(heads: list[tuple[str, str]], instructions: list[str], refused: list[set[str]]) -> None:
    """Prints, of each instruction, the last of the heads that refuses it, and the next one."""
    for instruction in instructions:
        least = next((n for n, bad in enumerate(refused) if instruction not in bad), 0)
        if least:
            before, after = (" ".join(head) for head in heads[least - 1 : least + 1])
            print(f"{before}\t{after}\t{instruction}")


def main() -> None:
    asked = Asked(sys.argv[1])
    rows = [line.split("\t") for line in CELLS.read_text().splitlines() if not line.startswith("#")]
    instructions = list(dict.fromkeys(row[4] for row in rows if row[3] != "sm_60" and "%q" not in row[4]))
    print("# Written by tests/ptx/targets.py; do not edit.")
    missing = [asked.refused(VERSIONS[-1], target, instructions) for target in TARGETS]
    print_rows([(VERSIONS[-1], target) for target in TARGETS], instructions, missing)
    for target, bad in zip(TARGETS, missing, strict=True):
        new = [one for one in instructions if one not in bad]
        instructions = [one for one in instructions if one in bad]
        heads = [(version, target) for version in asked.versions(target)]
        print_rows(heads, new, [asked.refused(*head, new) for head in heads])


if __name__ == "__main__":
    main()
