"""PTX instructions that do the same for each lane (spec/ptx/*.yaml): every spelling, and the C of its loop."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import yamlfile
from .errors import GeneratorError
from .spec import SCHEMA
from .yamlfile import Mapping, where

# The C type of a lane, by the PTX type. Floats of 16 bits are kept as their bits.
LANES = {
    **{f"{kind}{bits}": f"lane_{'s' if kind == 's' else 'u'}{bits}" for kind in "bus" for bits in (16, 32, 64)},
    "b8": "lane_u16",
    "u8": "lane_u16",
    "s8": "lane_s16",
    **dict.fromkeys(("f16", "bf16"), "lane_u16"),
    **dict.fromkeys(("f16x2", "bf16x2", "tf32", "u8x4", "s8x4", "u16x2", "s16x2"), "lane_u32"),
    "f32": "lane_f32",
    "f64": "lane_f64",
    "f32x2": "lane_u64",
    "pred": "pred",
}
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
# What takes a few instructions for a vector of words.
SHORT = {"UINT32_C", "number", "fma_rn_float", *(f"{name}_rn_float" for name in ("add", "sub", "mul"))} | {
    f"{name}_{kind}32" for name in ("add", "sub", "mul") for kind in "us"
}
SOURCES = "abcf"  # the names of sources in the order in which they are written; `e` is a second result


def size_of(ptx_type: str) -> int:
    """The bytes of a lane's element; 0 for a predicate."""
    lane = LANES[ptx_type]
    return 0 if lane == "pred" else int(re.sub(r"\D", "", lane)) // 8


@dataclass(frozen=True)
class Variant:
    """One spelling of an instruction, such as add.sat.s32."""

    opcode: str
    results: tuple[str, ...]  # PTX types
    sources: tuple[str, ...]
    does: tuple[tuple[str, str], ...]  # results by their names d, e and cc, and the C of each
    flushes: bool  # .ftz
    saturates: bool  # .sat of a float
    ptx: float
    sm: int

    @property
    def name(self) -> str:
        return "op_" + re.sub(r"\W+", "_", self.opcode)

    @property
    def reads_carry(self) -> bool:
        return any(re.search(r"\bcc\b", text) for _, text in self.does)

    @property
    def writes_carry(self) -> bool:
        return any(name == "cc" for name, _ in self.does)

    @property
    def types(self) -> dict[str, str]:
        """The PTX type of each operand by its name in C."""
        return {**dict(zip("de", self.results, strict=False)), **dict(zip(SOURCES, self.sources, strict=False))}

    def _lane(self, text: str) -> str:
        """The C of a lane, where the names of operands are its elements."""

        def element(match: re.Match[str]) -> str:
            name = match[0]
            if name == "cc":
                return "(cc >> i & 1)"
            if self.types[name] == "pred":
                return f"({name} >> i & 1)"
            return f"flush({name}[i])" if self.flushes and self.types[name] == "f32" else f"{name}[i]"

        names = "|".join((*SOURCES[: len(self.sources)], "cc"))
        return re.sub(rf"\b({names})\b", element, text)

    def _value(self, name: str, text: str) -> str:
        value = self._lane(text)
        if self.types.get(name) == "f32":
            value = f"flush({value})" if self.flushes else value
            value = f"saturate({value})" if self.saturates else value
        return value

    @cached_property
    def body(self) -> str:
        """The function's body."""
        lines = []
        for name, ptx_type in self.types.items():
            if ptx_type == "pred":
                if name not in "de":
                    lines.append(f"const uint32_t {name} = *(const uint32_t *)ptx_at(w, op->{name});")
            else:
                const = "" if name in "de" else "const "
                lines.append(f"{const}{LANES[ptx_type]} *{name} = ptx_at(w, op->{name});")
        if self.reads_carry:
            lines.append("const uint32_t cc = *(const uint32_t *)ptx_at(w, op->f);")
        stores, packs, last = [], [], []
        for name, text in self.does:
            value = self._value(name, text)
            if name == "cc" or self.types[name] == "pred":
                lines.append(f"uint32_t bits_{name}[PTX_LANES];")
                stores.append(f"bits_{name}[i] = ({value}) ? ~UINT32_C(0) : 0;")
                slot = "e" if name == "cc" else name
                packs.append(f"*(uint32_t *)ptx_at(w, op->{slot}) = pack(bits_{name});")
            else:
                last.append(f"{name}[i] = {value};")  # a result may be where a source is
        stores += last
        loaded = [name for name in SOURCES[: len(self.sources)] if self._is_chosen(name)]
        if loaded:  # before anything is compared: a vector of which only some elements are loaded takes longer
            names = "|".join(loaded)
            stores = [f"const {LANES[self.types[name]]} {name}_i = {name}[i];" for name in loaded] + [
                re.sub(rf"\b({names})\[i\]", r"\1_i", store) for store in stores
            ]
        loop = stores[0] if len(stores) == 1 else "{\n    " + "\n    ".join(stores) + "\n}"
        each = "EACH_LANE_SHORT" if self._is_short(loop) else "EACH_LANE"
        return "\n".join([*lines, f"{each} {loop}", *packs])

    def _is_chosen(self, name: str) -> bool:
        """Whether some lanes may not need their element of the operand."""
        return self.types[name] != "pred" and any(re.search(r"[?]|&&|[|][|]", text) for _, text in self.does)

    def _is_short(self, loop: str) -> bool:
        """Whether the loop is a few instructions for a vector of lanes: of words, with common arithmetic."""
        words = all(size_of(ptx_type) in (0, 4) for ptx_type in self.types.values())
        return words and all(name in SHORT for name in re.findall(r"\b(\w+)\(", loop))


@dataclass(frozen=True)
class Forms:
    """All variants, and the functions that they need: variants with the same body share one."""

    variants: list[Variant]

    @cached_property
    def functions(self) -> dict[str, str]:
        """The body of each function, by its name."""
        names: dict[str, str] = {}
        for variant in self.variants:
            names.setdefault(variant.body, variant.name)
        return {name: body for body, name in names.items()}

    @cached_property
    def _name_of(self) -> dict[str, str]:
        return {body: name for name, body in self.functions.items()}

    def function_of(self, variant: Variant) -> str:
        return self._name_of[variant.body]


def load(folder: Path) -> Forms:
    """Every variant of the folder's files, in the order of their spelling."""
    variants: dict[str, Variant] = {}
    for file in sorted(folder.glob("*.yaml")):
        document = yamlfile.load(file, SCHEMA / "ptx.json")["instructions"]
        for index, entry in enumerate(document):
            for variant in _expand(entry):
                if variant.opcode in variants:
                    raise GeneratorError(f"{variant.opcode} is there twice", where(document, index))
                variants[variant.opcode] = variant
    return Forms([variants[name] for name in sorted(variants)])


def _choices(entry: Mapping, name: str) -> list[tuple[str, str]]:
    """What a group of the form may be: its spelling, and the C that stands for it."""
    optional, name = name.endswith("?"), name.removesuffix("?")
    known = entry.get("with", {}).get(name, [name] if optional else None)
    if known is None:
        raise GeneratorError(f"the form {entry['form']} has no `{name}` in `with`", where(entry, "form"))
    pairs = (
        [(name, str(text)) for name, text in known.items()]
        if hasattr(known, "items")
        else [(one, one) for one in known]
    )
    return [("", ""), *pairs] if optional and "" not in dict(pairs) else pairs


def _expand(entry: Mapping) -> Iterator[Variant]:
    words = entry["form"].split(".")
    groups = [word[1:-1] for word in words if word.startswith("{")]
    for picked in itertools.product(*(_choices(entry, group) for group in groups)):
        names = {group.removesuffix("?"): pick[0] for group, pick in zip(groups, picked, strict=True)}
        texts = {group.removesuffix("?"): pick[1] for group, pick in zip(groups, picked, strict=True)}
        spelled = [names[word[1:-1].removesuffix("?")] if word.startswith("{") else word for word in words]
        yield _variant(entry, ".".join(word for word in spelled if word), names, texts)


def _variant(entry: Mapping, opcode: str, names: dict[str, str], texts: dict[str, str]) -> Variant:
    def substitute(text: str) -> str:
        text = re.sub(r"\{(\w+)\.name\}", lambda match: names[match[1]], text)
        return re.sub(r"\{(\w+)\}", lambda match: texts[match[1]], text)

    results, _, sources = entry["operands"].partition("<-")
    does = entry["does"]
    lanes = {"d": does} if isinstance(does, str) else dict(does)
    lanes = {result: substitute(text) for result, text in lanes.items()}
    for name, text in entry.get("let", {}).items():
        lanes = {result: re.sub(rf"\b{name}\b", substitute(text), one) for result, one in lanes.items()}
    return Variant(
        opcode=opcode,
        results=tuple(_type(entry, word, names) for word in results.split()),
        sources=tuple(_type(entry, word, names) for word in sources.split()),
        does=tuple(lanes.items()),
        flushes=names.get("ftz", "") == "ftz" or ".ftz" in opcode,
        saturates="sat" in opcode.split(".") and "f32" in opcode.split("."),
        ptx=entry.get("ptx", 1.0),
        sm=entry.get("sm", 0),
    )


def _type(entry: Mapping, word: str, names: dict[str, str]) -> str:
    """A type: its name, the name of a group, or wide(group)."""
    inner = re.fullmatch(r"wide\((\w+)\)", word)
    found = WIDE.get(names.get(inner[1], inner[1]), "") if inner else names.get(word, word)
    if found not in LANES:
        raise GeneratorError(f"`{word}` is neither a type of PTX nor a group of the form", where(entry, "operands"))
    return found
