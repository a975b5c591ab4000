"""Commands of gdb for warps of the simulator that have stopped at a line of a kernel.

    ANYCUDA_SIM=trap=KERNEL:LINE gdb -x tools/anycuda-gdb.py --args program …

The program stops with SIGTRAP where a warp comes to the line of the PTX, or of the source with KERNEL:FILE:LINE. Then:

    acu where       kernel, instruction, block, warp and threads
    acu warps       what each warp of the block does
    acu mask        which lanes of the warp are active, are elsewhere, have ended
    acu lanes REG   the values of a register, or of all that something may have written before; names are the PTX's
    acu memory [shared|local] ADDRESS [COUNT [LANE]]
                    words of memory at an address that a register has, as hexadecimal, integer and float

gdb's own `x` does not see device memory, which lies elsewhere in the process: it shows zeros.
`continue` goes on to the next stop. Nothing of this needs debug information: the simulator keeps texts for it in
memory, in the variable acu_sim_stopped. They are there while a warp is stopped in this way, and not at other times.
"""

from __future__ import annotations

import struct

import gdb

WORD = 8  # bytes of a pointer
VERSION, WHERE, MASK, WARPS, REGISTERS = range(5)  # the texts in their order
GLOBAL, SHARED, LOCAL = range(3)  # spaces as the simulator numbers them; of lane n: LOCAL + n
SPACES = {"shared": SHARED, "local": LOCAL}
WINDOWS = {SHARED: 0x0001000000000000, LOCAL: 0x0001010000000000}  # where generic addresses of them are
WINDOW_SIZE = 1 << 32


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


def memory_rows() -> list[tuple[int, ...]]:
    """Space, first address, bytes, and place in the process, of all memory that the kernel can access."""
    try:
        address = word_at(int(gdb.parse_and_eval("(unsigned long)&acu_sim_stopped_memory")))
    except gdb.error:
        raise gdb.GdbError("the simulator is older than this file: take the one that came with it") from None
    rows = []
    while address and (row := tuple(word_at(address + n * WORD) for n in range(4)))[2]:
        rows.append(row)
        address += 4 * WORD
    return rows


class Memory(gdb.Command):  # type: ignore[misc]
    """Prints words of memory: acu memory [shared|local] ADDRESS [COUNT [LANE]].

    Each word is shown as hexadecimal, integer and float. ADDRESS is generic, as that of global memory is; with
    "shared" or "local" it is one of that space. LANE is for local memory, 0 without it.
    """

    def __init__(self) -> None:
        super().__init__("acu memory", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        del from_tty
        texts()
        words = gdb.string_to_argv(argument)
        space = SPACES[words.pop(0)] if words and words[0] in SPACES else GLOBAL
        if not 1 <= len(words) <= 3:
            raise gdb.GdbError("acu memory [shared|local] ADDRESS [COUNT [LANE]]")
        address, count, lane = [int(gdb.parse_and_eval(word)) for word in words] + [8, 0][len(words) - 1 :]
        show_words(space, address, count, lane)


def show_words(space: int, address: int, count: int, lane: int) -> None:
    offset = address
    for window, begins in WINDOWS.items():
        if space == GLOBAL and begins <= address < begins + WINDOW_SIZE:
            space, offset = window, address - begins
            break
    space += lane if space == LOCAL else 0
    for row_space, first, size, where in memory_rows():
        if row_space == space and first <= offset and offset + 4 <= first + size:
            shown = min(count, (first + size - offset) // 4)
            data = bytes(gdb.selected_inferior().read_memory(where + offset - first, 4 * shown))
            break
    else:
        raise gdb.GdbError(f"the kernel can access no word at {address:#x}")
    for n in range(shown):
        bits, signed, number = (struct.unpack_from(kind, data, 4 * n)[0] for kind in ("<I", "<i", "<f"))
        gdb.write(f"{address + 4 * n:#x}  {bits:#010x}  {signed:11}  {number:.9g}\n")
    if shown < count:
        gdb.write("here the memory ends\n")


Acu()
Shown("where", WHERE, "Prints kernel, instruction, block, warp and threads.")
Shown("mask", MASK, "Prints which lanes of the warp are active, are elsewhere, have ended.")
Shown("warps", WARPS, "Prints what each warp of the block does; * is the one that has stopped.")
Lanes()
Memory()
