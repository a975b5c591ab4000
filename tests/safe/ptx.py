"""Executes PTX, as far as the kernels of strided copies and of examples/tensor use it: blocks of threads, shared
memory, barriers, and floats.

Each load and store must be aligned and lie within its memory.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field

ALL_32, ALL_64 = (1 << 32) - 1, (1 << 64) - 1
SIZES = {"u8": 1, "u16": 2, "u32": 4, "f32": 4, "u64": 8}
UNKNOWN = 0xDEADBEEFDEADBEEF  # what a register holds that nothing was written to


@dataclass(frozen=True)
class Instruction:
    predicate: str | None
    words: list[str]  # of the operation: ["ld", "global", "u32"]
    operands: list[tuple[str, ...]]  # more than one register: a vector


@dataclass
class Kernel:
    """An entry: the offsets of its parameters and of its shared arrays, its instructions, and where its labels are."""

    parameters: dict[str, int]
    shared: dict[str, int]
    code: list[Instruction]
    labels: dict[str, int]
    threads: tuple[int, int]  # of a block, in x and y; 256 where the entry does not say


@dataclass
class Thread:
    registers: dict[str, int]
    at: int = 0
    predicates: dict[str, bool] = field(default_factory=dict)


def parse(text: str) -> Kernel:
    parameters, shared = {}, {}
    offset = 0
    for kind, name, count in re.findall(r"\.param (?:\.align 8 )?\.(\w+)(?: \.ptr)? (\w+)(?:\[(\d+)\])?", text):
        size = SIZES.get(kind, 8)
        parameters[name] = offset = -(-offset // size) * size
        offset += int(count or size)
    offset = 0
    for name, count in re.findall(r"\.shared \.align \d+ \.b8 (\w+)\[(\d+)\]", text):
        shared[name], offset = offset, offset + int(count)
    said = re.search(r"\.(?:max|req)ntid (\d+), (\d+)", text)
    kernel = Kernel(parameters, shared, [], {}, (int(said[1]), int(said[2])) if said else (256, 1))
    for line in text[text.index("{\n") + 2 : text.rindex("}")].splitlines():
        statement = line.strip().rstrip(";")
        if statement.endswith(":"):
            kernel.labels[statement[:-1]] = len(kernel.code)
        elif statement and not statement.startswith("."):
            found = re.fullmatch(r"(?:@(\S+) )?(\S+) ?(.*)", statement)
            assert found, line
            operands = [
                tuple(part.strip() for part in operand.strip("{}").split(","))
                for operand in re.findall(r"\{[^}]*\}|[^,\s][^,]*", found[3])
            ]
            kernel.code.append(Instruction(found[1], found[2].split("."), operands))
    return kernel


class Block:
    """One block of a launch, over global memory that begins at address 0."""

    def __init__(self, kernel: Kernel, arguments: bytes, memory: bytearray, index: int, row: int = 0) -> None:
        self.kernel, self.arguments, self.memory = kernel, bytearray(arguments), memory
        self.shared = bytearray(48 << 10)
        width, height = kernel.threads
        block = {"%ctaid.x": index, "%ctaid.y": row, "%ntid.x": width, "%ntid.y": height}
        self.threads = [Thread({"%tid.x": x, "%tid.y": y, **block}) for y in range(height) for x in range(width)]

    def run(self) -> None:
        """Runs each thread to its next barrier, until all have ended."""
        while any(thread.at < len(self.kernel.code) for thread in self.threads):
            for thread in self.threads:
                self.run_to_barrier(thread)

    def run_to_barrier(self, thread: Thread) -> None:
        code = self.kernel.code
        while thread.at < len(code):
            it = code[thread.at]
            thread.at += 1
            if it.predicate and thread.predicates[it.predicate.lstrip("!")] == it.predicate.startswith("!"):
                continue
            if it.words[0] == "bar":
                return
            if it.words[0] == "ret":
                thread.at = len(code)
            elif it.words[0] == "bra":
                thread.at = self.kernel.labels[it.operands[0][0]]
            elif it.words[0] in ("ld", "st"):
                self.move(thread, it)
            else:
                self.compute(thread, it)

    def value(self, thread: Thread, operand: str) -> int:
        if operand in thread.predicates:
            return int(thread.predicates[operand])
        if operand.startswith("%"):
            return thread.registers.get(operand, UNKNOWN)
        if operand.startswith("0f"):
            return int(operand[2:], 16)
        for names in (self.kernel.shared, self.kernel.parameters):
            if operand in names:
                return names[operand]
        return int(operand, 0) & ALL_64

    def move(self, thread: Thread, it: Instruction) -> None:
        loads = it.words[0] == "ld"
        registers, address = it.operands if loads else it.operands[::-1]
        base, _, offset = address[0].strip("[]").partition("+")
        at = (self.value(thread, base) + int(offset or 0)) & ALL_64
        memory = {"param": self.arguments, "shared": self.shared, "global": self.memory}[it.words[1]]
        size = SIZES[it.words[-1]]
        assert at % (size * len(registers)) == 0, f"{it} is not aligned: {at}"
        assert at + size * len(registers) <= len(memory), f"{it} is beyond the memory: {at}"
        for register in registers:
            if loads:
                thread.registers[register] = int.from_bytes(memory[at : at + size], "little")
            else:
                value = self.value(thread, register) & ((1 << 8 * size) - 1)
                memory[at : at + size] = value.to_bytes(size, "little")
            at += size

    def compute(self, thread: Thread, it: Instruction) -> None:
        target = it.operands[0][0]
        values = [self.value(thread, operand[0]) for operand in it.operands[1:]]
        if it.words[0] == "setp":
            floats = it.words[-1] == "f32"
            first, second = [number(value) for value in values[:2]] if floats else values[:2]
            holds = {
                "lt": first < second,
                "ge": first >= second,
                "gt": first > second,
                "ne": first != second,
                "eq": first == second,
            }[it.words[1]]
            thread.predicates[target] = holds and ("and" not in it.words or bool(values[2]))
            return
        if it.words[-1] == "f32" and it.words[0] not in ("mov", "selp"):
            thread.registers[target] = bits(float_result(it.words, [number(value) for value in values]))
            return
        wide = it.words[-1].endswith("64") or "wide" in it.words
        thread.registers[target] = result(it.words, values) & (ALL_64 if wide else ALL_32)


def number(value: int) -> float:
    """The float whose bits a register has."""
    return float(struct.unpack("<f", struct.pack("<I", value & ALL_32))[0])


def bits(value: float) -> int:
    """The bits of the float next to a number, which is a double: being rounded twice changes none of these sums."""
    return int.from_bytes(struct.pack("<f", value), "little")


def float_result(words: list[str], values: list[float]) -> float:
    match words[0]:
        case "add":
            return values[0] + values[1]
        case "sub":
            return values[0] - values[1]
        case "mul":
            return values[0] * values[1]
        case "div":
            return values[0] / values[1]
        case "max":
            return max(values[0], values[1])
        case "ex2":
            return float(2.0 ** values[0])
        case "lg2":
            return math.log2(values[0])
    raise NotImplementedError(".".join(words))


def result(words: list[str], values: list[int]) -> int:
    """What an instruction computes, before it is cut to the register's width."""
    narrow = [value & ALL_32 for value in values]
    match words[0]:
        case "mov" | "cvta":
            return values[0]
        case "cvt":
            return narrow[0]
        case "add":
            return values[0] + values[1]
        case "sub":
            return values[0] - values[1]
        case "mul" if "hi" in words:
            return narrow[0] * narrow[1] >> 32
        case "mul" if "wide" in words:
            return narrow[0] * narrow[1]
        case "mul":
            return values[0] * values[1]
        case "mad" if "wide" in words:
            return narrow[0] * narrow[1] + values[2]
        case "mad":
            return values[0] * values[1] + values[2]
        case "rem":
            return narrow[0] % narrow[1]
        case "selp":
            return values[0] if values[2] else values[1]
        case "shr":
            return narrow[0] >> values[1]
        case "shl":
            return values[0] << values[1]
        case "and":
            return values[0] & values[1]
        case "prmt":
            both = narrow[0].to_bytes(4, "little") + narrow[1].to_bytes(4, "little")
            return int.from_bytes(bytes(both[values[2] >> 4 * i & 7] for i in range(4)), "little")
    raise NotImplementedError(".".join(words))
