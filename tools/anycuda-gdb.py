"""Commands of gdb for warps of the simulator that have stopped at a line of a kernel.

    ANYCUDA_SIM=trap=KERNEL:LINE gdb -x tools/anycuda-gdb.py --args program …

The program stops with SIGTRAP where a warp comes to the line of the PTX, or of the source with KERNEL:FILE:LINE. Then:

    acu where       kernel, instruction, block, warp and threads
    acu warps       what each warp of the block does
    acu mask        which lanes of the warp are active, are elsewhere, have ended
    acu lanes REG   the values of a register, or of all that something may have written before; names are the PTX's

`continue` goes on to the next stop. Nothing of this needs debug information: the simulator keeps texts for it in
memory, in the variable acu_sim_stopped. They are there while a warp is stopped in this way, and not at other times.
"""

from __future__ import annotations

import gdb

WORD = 8  # bytes of a pointer
VERSION, WHERE, MASK, WARPS, REGISTERS = range(5)  # the texts in their order


def word_at(address: int) -> int:
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, WORD)), "little")


def text_at(address: int) -> str:
    text = gdb.Value(address).cast(gdb.lookup_type("char").pointer()).string("utf-8", "replace")
    return str(text)


def texts() -> list[str]:
    """What the simulator says of the stopped warp; an error of gdb where none is stopped."""
    try:
        variable = int(gdb.parse_and_eval("(unsigned long)&acu_sim_stopped"))
    except gdb.error:
        raise gdb.GdbError("the program does not run yet, has no simulator of anycuda, or was stripped") from None
    try:
        address = word_at(variable)
    except gdb.MemoryError:
        raise gdb.GdbError("the program does not run") from None
    found = []
    while address and (text := word_at(address)):
        found.append(text_at(text))
        address += WORD
    if not found:
        raise gdb.GdbError("no warp is stopped: run the program with ANYCUDA_SIM=trap=KERNEL:LINE")
    if found[VERSION] != "1":
        raise gdb.GdbError("the simulator is newer than this file: take the one that came with it")
    return found


class Acu(gdb.Command):  # type: ignore[misc]
    """Shows the warp of a simulated kernel that has stopped."""

    def __init__(self) -> None:
        super().__init__("acu", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class Shown(gdb.Command):  # type: ignore[misc]
    """A command that prints one of the texts."""

    def __init__(self, name: str, number: int, says: str) -> None:
        self.__doc__ = says
        self.number = number
        super().__init__(f"acu {name}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        del argument, from_tty
        gdb.write(texts()[self.number].rstrip("\n") + "\n")


class Lanes(gdb.Command):  # type: ignore[misc]
    """Prints the values of a register: acu lanes %r4. Without a name, those of all registers."""

    def __init__(self) -> None:
        super().__init__("acu lanes", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        del from_tty
        rows = texts()[REGISTERS:]
        wanted = argument.strip().lstrip("%")
        shown = [
            (name, each if wanted else short)
            for name, short, each in zip(rows[::3], rows[1::3], rows[2::3], strict=True)
            if not wanted or name.lstrip("%") == wanted
        ]
        if not shown:
            raise gdb.GdbError(f"there is no register {argument.strip()} that something may have written before")
        for name, values in shown:
            gdb.write(f"{name} {values}\n")


Acu()
Shown("where", WHERE, "Prints kernel, instruction, block, warp and threads.")
Shown("mask", MASK, "Prints which lanes of the warp are active, are elsewhere, have ended.")
Shown("warps", WARPS, "Prints what each warp of the block does; * is the one that has stopped.")
Lanes()
