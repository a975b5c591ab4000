"""C types, read from the spelling that libclang gives them and written back as C."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

BUILTINS = {
    "char": ("char", 1),
    "signed char": ("signed", 1),
    "unsigned char": ("unsigned", 1),
    "short": ("signed", 2),
    "unsigned short": ("unsigned", 2),
    "int": ("signed", 4),
    "unsigned int": ("unsigned", 4),
    "long": ("signed", 8),
    "unsigned long": ("unsigned", 8),
    "long long": ("signed", 8),
    "unsigned long long": ("unsigned", 8),
    "float": ("float", 4),
    "double": ("float", 8),
    "void": ("void", 0),
    "size_t": ("unsigned", 8),
    "int8_t": ("signed", 1),
    "uint8_t": ("unsigned", 1),
    "int16_t": ("signed", 2),
    "uint16_t": ("unsigned", 2),
    "int32_t": ("signed", 4),
    "uint32_t": ("unsigned", 4),
    "int64_t": ("signed", 8),
    "uint64_t": ("unsigned", 8),
    "uintptr_t": ("unsigned", 8),
    "intptr_t": ("signed", 8),
}


@dataclass(frozen=True)
class CType:
    """A type: its spelling, and the name at its core with what is around it."""

    spelling: str
    base: str  # without const, struct/union/enum, pointers and array bounds
    tag: str = ""  # "struct", "union" or "enum" where the spelling has it
    const: bool = False  # the base itself is const
    pointers: tuple[bool, ...] = ()  # one per `*`, outermost last; True where that pointer is const
    arrays: tuple[int, ...] = ()
    function: bool = False  # a pointer to a function

    @property
    def depth(self) -> int:
        return len(self.pointers)

    def declare(self, name: str) -> str:
        """`type name` as C wants it: `int a[3]`, `void (*f)(void *)`."""
        if self.function:
            return self.spelling.replace("(*)", f"(*{name})", 1)
        bounds = "".join(f"[{bound}]" for bound in self.arrays)
        stem = self.spelling[: self.spelling.index("[")] if self.arrays else self.spelling
        return f"{stem}{'' if stem.endswith('*') else ' '}{name}{bounds}"


@cache  # the toolkits' 75 000 spellings are a few hundred different ones
def parse(spelling: str) -> CType:
    """Reads `const struct x *const *`, `char[64]`, `void (*)(int)`."""
    if "(*" in spelling:
        return CType(spelling, base="", function=True)
    arrays = tuple(int(bound) for bound in re.findall(r"\[(\d+)\]", spelling))
    stem = re.sub(r"\[\d+\]", "", spelling)
    core, star, rest = stem.partition("*")
    pointers = tuple("const" in part for part in (star + rest).split("*")[1:]) if star else ()
    words = core.split()
    const = "const" in words
    words = [word for word in words if word not in ("const", "volatile")]
    tag = words.pop(0) if words and words[0] in ("struct", "union", "enum") else ""
    return CType(spelling, base=" ".join(words), tag=tag, const=const, pointers=pointers, arrays=arrays)
