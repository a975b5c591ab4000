"""Writes docs/users/ptx-coverage.md and tests/ptx/cells.txt: what the simulator executes of the PTX manual.

Both are of spec/ptx_opcodes.yaml: each form of an instruction with each of its types is a cell, which tests/ptx/cells.c
reads, and ptxas where it is installed (tests/tools/test_ptx_coverage.py, which fails where a file is old).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "spec/ptx_opcodes.yaml"
PAGE = ROOT / "docs/users/ptx-coverage.md"
CELLS = ROOT / "tests/ptx/cells.txt"

TARGET = "sm_90a"
# What an element of these types has, where the name does not say it.
BITS = {"pred": 1, "tf32": 32, "i8": 8, "e4m3": 8, "e5m2": 8, "e2m3": 8, "e3m2": 8, "e2m1": 8, "ue8m0": 8}
REGISTERS = {1: "%p", 8: "%h", 16: "%h", 32: "%r", 64: "%d", 128: "%q"}


@dataclass(frozen=True)
class Cell:
    section: str
    opcode: str
    type: str  # "" if the instruction has none
    text: str
    target: str
    refused: str  # why; "" if the simulator executes it


def bits_of(type_name: str) -> int:
    """The bits of a register for the type."""
    element, _, count = type_name.partition("x")
    bits = BITS[element] if element in BITS else int(re.sub(r"\D", "", element))
    bits *= int(count or 1)
    return bits if bits == 1 else max(bits, 8)


def written(form: str, type_name: str) -> str:
    """The instruction of one type."""
    if not type_name:
        return form.format()
    bits = bits_of(type_name)
    return form.format(t=type_name, r=REGISTERS.get(bits, "%r"), w=REGISTERS.get(2 * max(bits, 16), "%r"))


def cells() -> Iterator[Cell]:
    for section in yaml.safe_load(SPEC.read_text())["sections"]:
        for instruction in section["instructions"]:
            for form in instruction["forms"]:
                for type_name in form.get("types", [""]):
                    yield Cell(
                        section["title"],
                        instruction["opcode"],
                        type_name,
                        written(form["write"], type_name),
                        form.get("target", TARGET),
                        form.get("refused", ""),
                    )


HEAD = """.version {version}
.target {target}
.address_size 64
.shared .align 128 .b8 s[1024];
.global .align 128 .b8 m[1024];
.func function() {{ ret; }}
"""
KERNEL = """.visible .entry k{number}(.param .b64 param) {{
.reg .pred %p<9>; .reg .b8 %b<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %d<9>; .reg .b128 %q<5>;
{text}
LABEL:
ret;
}}
"""


def module(target: str, texts: list[str]) -> str:
    """A PTX text with a kernel for each instruction."""
    version = "6.0" if target == "sm_60" else "9.0"
    parts = [HEAD.format(version=version, target=target)]
    for number, text in enumerate(texts):
        kernel = KERNEL.format(number=number, text=text)
        # 128-bit registers came with PTX 8.3 and sm_70
        parts.append(kernel.replace(" .reg .b128 %q<5>;", "") if target == "sm_60" else kernel)
    return "".join(parts)


def cells_text() -> str:
    """A line for each cell: executed or refused, the opcode, the type, the target, the instruction."""
    lines = [
        "\t".join(("refused" if cell.refused else "executed", cell.opcode, cell.type or "-", cell.target, cell.text))
        for cell in cells()
    ]
    return "\n".join(("# Written by `python tools/ptx_coverage.py`; do not edit.", *lines, ""))


def listed(types: list[str]) -> str:
    return " ".join(f"`{name}`" for name in dict.fromkeys(types) if name) or "yes"


def row(opcode: str, mine: list[Cell]) -> str:
    """The opcode with the types of the forms that are executed, and those that are refused, with the reason."""
    executed = [cell.type for cell in mine if not cell.refused]
    reasons = dict.fromkeys(cell.refused for cell in mine if cell.refused)
    refused = [
        ": ".join(filter(None, (listed(types) if any(types) else "", why)))
        for why in reasons
        for types in [[cell.type for cell in mine if cell.refused == why]]
    ]
    return f"| `{opcode}` | {listed(executed) if executed else 'no'} | {'; '.join(refused)} |"


def render() -> str:
    every = list(cells())
    executed = sum(not cell.refused for cell in every)
    lines = [
        "# What the simulator executes of PTX",
        "",
        "Written by `python tools/ptx_coverage.py` of `spec/ptx_opcodes.yaml`; do not edit.",
        "",
        *textwrap.wrap(
            f"{executed} of {len(every)} forms of the PTX manual's instructions (PTX ISA 9.0), with their types, are "
            "executed. The others are refused with 801, at load where a text is loaded, and the message names the "
            "instruction. Most modifiers are not in the table: roundings, cache hints, scopes. `tests/ptx/cells.c` "
            "reads a text of each form with each type, and ptxas agrees that it is PTX.",
            116,
        ),
    ]
    for title in dict.fromkeys(cell.section for cell in every):
        lines += ["", f"## {title}", "| instruction | executed | refused (801) |", "|---|---|---|"]
        mine = [cell for cell in every if cell.section == title]
        for opcode in dict.fromkeys(cell.opcode for cell in mine):
            lines.append(row(opcode, [cell for cell in mine if cell.opcode == opcode]))
    return "\n".join((*lines, ""))


def main() -> None:
    PAGE.write_text(render())
    CELLS.write_text(cells_text())


if __name__ == "__main__":
    main()
