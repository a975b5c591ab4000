"""What the templates see: a `Slot` for each function, and the `Bindings` of a library that hold its slots."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .abi import Router
from .codes import Code
from .ctype import CType
from .describe import Describer, ParamRow
from .gates import Feature
from .groups import Group
from .model import Api, Field, Function, Library, Param, Record
from .typesheet import since_macro

if TYPE_CHECKING:
    from .simulator import Entry


@dataclass(frozen=True)
class Era:
    """From this version on: which symbol, through which adapter."""

    since: int
    symbol: str | None
    adapter: str | None


@dataclass(frozen=True)
class StructArg:
    """A parameter whose struct must be checked, filled or copied."""

    name: str
    index: int
    mode: str  # prefix or copy
    direction: str  # in, out, inout
    by_value: bool
    count: str  # C expression
    tag: str  # C expression
    size: int  # of a temporary

    @property
    def goes_in(self) -> bool:
        return self.direction in ("in", "inout")

    @property
    def comes_out(self) -> bool:
        return self.direction in ("out", "inout")


@dataclass(frozen=True)
class Refusal:
    condition: str
    what: str
    since: int  # 0: an invalid value
    why: str
    code: str = ""


@dataclass(frozen=True)
class Adapter:
    """One generated function between the presented call and a loaded symbol."""

    name: str
    comment: str
    target: str  # the type of a pointer to the symbol that is called
    args: tuple[str, ...]
    structs: tuple[StructArg, ...] = ()
    locals: tuple[str, ...] = ()  # declarations before the call
    after: tuple[str, ...] = ()  # statements after a successful call
    always: bool = False  # `after` runs after a failed call, too
    refusals: tuple[Refusal, ...] = ()
    hook: bool = False
    attributes: str = ""

    @property
    def keeps_layouts(self) -> bool:
        """Returns whether it only answers where the library cannot: the call itself is passed on as it is."""
        return self.hook and not (self.structs or self.refusals or self.locals or self.after)


@dataclass
class Slot:
    """A function as users call it, and all that stands behind it."""

    function: Function
    home: Api
    gone: bool
    since: int
    until: int
    eras: list[Era]
    eras_ptds: list[Era]
    params: list[ParamRow]
    adapters: list[Adapter]
    hook: bool
    quirks: list[str]
    results: list[str]
    feature: Feature | None
    group: Group
    interop: bool = False  # declared in the library's interop header
    one_byte: bool = False  # the library sets one byte of its result only
    refused: str = ""  # what a refused call returns; "": its code, since the function returns one

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def ptds(self) -> bool:
        return bool(self.eras_ptds)

    @property
    def status(self) -> bool:
        """Returns whether the result is a code, of which 0 is success."""
        return not self.refused and self.function.returns.base not in ("char", "void") and not self.function.returns.tag

    @property
    def void(self) -> bool:
        return self.function.returns.spelling == "void"

    @property
    def local(self) -> str:
        """The variable that holds the result; no parameter has its name."""
        return self._free("result", "outcome")

    @property
    def args(self) -> str:
        """The struct that holds the arguments; no parameter has its name."""
        return self._free("args", "given")

    def _free(self, *names: str) -> str:
        taken = {p.name for p in self.function.params}
        return next(name for name in names if name not in taken)

    @property
    def declaration(self) -> str:
        """The parameters as C declares them."""
        return ", ".join(p.type.declare(p.name) for p in self.function.params) or "void"

    def prototype(self, name: str) -> str:
        """A function of that name with the slot's result and parameters."""
        return f"{self.function.returns.declare(name)}({self.declaration})"

    def pointer(self, name: str) -> str:
        """A pointer of that name to such a function."""
        return self.prototype(f"(*{name})")

    @property
    def failed(self) -> str:
        """The function that explains why a call failed."""
        returns = self.function.returns
        return f"{returns.declare(f'acu_failed_{self.name}')}({returns.spelling} {self.local}{self.comma_declaration})"

    @property
    def defaulted(self) -> str:
        """The function's own prototype, with the default arguments that C++ sees."""
        parts = (
            p.type.declare(p.name) + (f" ACU_DEFAULT({self._default(p)})" if p.default else "")
            for p in self.function.params
        )
        return f"{self.function.returns.declare(self.name)}({', '.join(parts) or 'void'})"

    def _default(self, parameter: Param) -> str | None:
        is_null = parameter.default == "0" and self.home.strip(parameter.type).pointers
        return "ACU_NULL" if is_null else parameter.default

    @property
    def arguments(self) -> str:
        return ", ".join(p.name for p in self.function.params)

    @property
    def comma(self) -> str:
        """The arguments after another one."""
        return f", {self.arguments}" if self.function.params else ""

    @property
    def comma_declaration(self) -> str:
        return f", {self.declaration}" if self.function.params else ""

    @property
    def plain_eras(self) -> list[Era]:
        """What needs no table: the symbol of its own name, whatever is loaded."""
        return [Era(0, self.name, None)]

    @property
    def symbols(self) -> list[str]:
        """The symbols of the eras that are not the function's own name."""
        found = {era.symbol for era in (*self.eras, *self.eras_ptds) if era.symbol}
        return sorted(found - {self.name})

    def symbol_ref(self, symbol: str | None) -> str:
        """The array that holds a symbol's text."""
        if symbol is None:
            return "NULL"
        if symbol == self.name:
            return f"name_{symbol}"
        suffix = symbol.removeprefix(self.name)
        return f"symbol_{self.name}_{symbol}" if suffix == symbol else f"symbol_{self.name}_to{suffix}"

    @property
    def kept_arguments(self) -> str:
        return ", ".join(f"{self.args}.{p.name}" for p in self.function.params)

    @property
    def args_address(self) -> str:
        return f"&{self.args}" if self.function.params else "NULL"

    @property
    def in_feature(self) -> str:
        """The feature, in brackets, for the line above the declaration."""
        return f" ({self.feature.title})" if self.feature else ""

    @property
    def returns(self) -> str:
        return "ACU_RETURNS_STATUS" if self.status else "ACU_RETURNS_VOID" if self.void else "ACU_RETURNS_OTHER"

    @property
    def mark(self) -> str:
        return f" {since_macro(self.since)}" if self.since else ""


@dataclass
class Bindings:
    """One library, ready for its templates."""

    name: str
    info: Any
    library: Library
    router: Router
    describer: Describer
    groups: list[Group]
    slots: list[Slot] = field(default_factory=list)
    simulated: list[Entry] = field(default_factory=list)
    error_strings: list[tuple[int, str]] = field(default_factory=list)  # what CUDA says of its errors
    aliases: list[tuple[str, str]] = field(default_factory=list)

    shared_records: set[str] = field(default_factory=set)
    result_type: str = ""
    codes: list[Code] = field(default_factory=list)

    @property
    def presented(self) -> Api:
        return self.library.presented

    @property
    def product(self) -> str:
        """Whose versions the library has: CUDA's, or its own."""
        return str(self.info.get("product", "CUDA"))

    @property
    def owner(self) -> str:
        """Whose headers the generated ones replace."""
        return str(self.info.get("product", "NVIDIA"))

    @property
    def is_cuda(self) -> bool:
        return "product" not in self.info

    def grouped(self, interop: bool = False) -> list[tuple[Group, list[Slot]]]:
        """The slots of one header, group by group; within a group by name, and at its end what is gone."""
        rows = ((group, [s for s in self.slots if s.group is group and s.interop == interop]) for group in self.groups)
        return [(group, slots) for group, slots in rows if slots]

    def mapped(self, view: str, interop: bool = False) -> list[tuple[str, str]]:
        """Returns the functions that a header maps to another name: all ("symbol"), or per thread ("ptds")."""
        slots = (slot for slot in self.slots if slot.interop == interop and not slot.gone)
        rows = ((slot.name, getattr(slot.function, view)) for slot in slots)
        return sorted((name, symbol) for name, symbol in rows if symbol and symbol != name)

    @property
    def ptds(self) -> bool:
        """Returns whether a function has another symbol with the per-thread default stream."""
        return any(slot.ptds for slot in self.slots)

    @property
    def has_interop(self) -> bool:
        return any(slot.interop for slot in self.slots)

    @property
    def gone(self) -> list[tuple[Function, Api]]:
        return [(slot.function, slot.home) for slot in self.slots if slot.gone]

    @property
    def success(self) -> str:
        """The result type's enumerator for 0."""
        enum = self.presented.enums[self.presented.typedefs[self.info["result"]].type.base]
        return next(name for name, value in enum.values.items() if value == 0)

    @property
    def sonames(self) -> list[str]:
        """Returns, newest first, what the toolkits' libraries call themselves, then what spec/libraries.yaml adds."""
        found = [api.soname for api in reversed(self.library.apis) if api.soname]
        return list(dict.fromkeys([*found, *self.info.get("sonames", ())]))

    @property
    def stands_in_for(self) -> list[Api]:
        """The newest toolkit of each older major version whose programs the presented library serves as they are.

        Its own soname promises that for the presented major version. An older one is served if no call of it would
        need an adapter; then it has that soname's version node, too.
        """
        newest = {api.version // 1000: api for api in self.library.apis if api.version <= self.presented.version}
        newest.pop(self.presented.version // 1000, None)
        return [api for api in newest.values() if api.soname and all(self._serves(slot, api) for slot in self.slots)]

    def _serves(self, slot: Slot, api: Api) -> bool:
        """Returns whether the toolkit's programs may call what the presented library has under the symbol."""
        symbols = {slot.function.symbol, slot.function.ptds}
        for eras in (slot.eras, slot.eras_ptds):
            era = next((era for era in reversed(eras) if era.since <= api.version), None)
            adapter = next((one for one in slot.adapters if era is not None and one.name == era.adapter), None)
            if era is not None and era.symbol is not None and not slot.gone and era.symbol not in symbols:
                return False
            if adapter is not None and not adapter.keeps_layouts:
                return False
        return True

    @property
    def stood_in_symbols(self) -> list[str]:
        """What the simulator's file exports: all of the presented library, and what older ones had beside it."""
        return sorted({name for api in (self.presented, *self.stands_in_for) for name in api.symbols})

    @property
    def declared_symbols(self) -> list[str]:
        """The symbols behind what any toolkit's headers declare: of a library that is in no toolkit, all we know."""
        now = (name for slot in self.slots if not slot.gone for name in (slot.function.symbol, slot.function.ptds))
        return sorted({name for slot in self.slots for name in (slot.name, *slot.symbols)} | {n for n in now if n})

    @property
    def sentinels(self) -> list[str]:
        """A few symbols that every known version exports and that say it is the real thing."""
        common = set.intersection(*(set(api.symbols) for api in self.library.apis))
        return [name for name in self.info.get("sentinels", ()) if name in common]

    @property
    def markers(self) -> list[tuple[int, str]]:
        """Returns, per version, the first symbol (by name) that no older one exports."""
        found = []
        for older, api in itertools.pairwise(self.library.apis):
            new = sorted(name for name in api.symbols if name not in older.symbols and not name.startswith("_"))
            later = [other for other in self.library.apis if other.version > api.version]
            lasting = [name for name in new if all(name in other.symbols for other in later)] or new
            if lasting:
                found.append((api.version, lasting[0]))
        return found

    @property
    def attribute_tables(self) -> list[Record]:
        names = self.describer.parameters.section("records")
        return [r for n, r in self.presented.records.items() if names.get(n, {}).get("attributes")]

    @property
    def type_aliases(self) -> list[tuple[str, str]]:
        """Names that types had in older toolkits and that the presented header does not define itself."""
        known = self.presented.macros.keys() | self.presented.typedefs.keys() | self.presented.records.keys()
        pairs = ((old, new) for new, names in self.library._older_names.items() for old in names if old not in known)
        return sorted(pairs)

    def is_interop(self, header: str) -> bool:
        return header in self.info.get("interop", ())

    def is_apart(self, header: str) -> bool:
        """Returns whether what a header declares is in a header of its own, not among the library's types."""
        return header in self.info.get("apart", ())

    def enumerator_mark(self, name: str) -> str:
        version = self.library.enumerator_since(name)
        return f" {since_macro(version)}" if version else ""

    @property
    def vectors(self) -> list[Record]:
        """float4 and its like, but not dim3, which has constructors."""
        records = self.presented.records.values()
        return [r for r in records if r.header == "vector_types.h" and r.name not in self.info.get("cxx", {})]

    @property
    def channel_bits(self) -> list[tuple[int, str, str]]:
        """The formats that the presented toolkit has: value, enumerator, bits per channel."""
        known = self.presented.enums["cudaChannelFormatKind"].values
        rows = (
            (f"cudaChannelFormatKind{name}", bits)
            for bits, names in self.info["channel_bits"].items()
            for name in names
        )
        return sorted((known[name], name, bits) for name, bits in rows if name in known)

    def alignment(self, record: Record) -> str:
        """An attribute where the record is aligned more than its members ask for."""
        natural = max((self._member_alignment(member) for member in record.members()), default=1)
        return "" if natural == record.align else f" __attribute__((aligned({record.align})))"

    def _member_alignment(self, member: Field) -> int:
        if member.record is not None:
            return member.record.align
        assert member.type is not None
        if self.presented.strip(member.type).pointers or member.type.function:
            return 8
        inner = self.presented.record_of(member.type)
        kind = CType(member.type.spelling, member.type.base, member.type.tag)
        return inner.align if inner else max(1, self.presented.scalar(kind)[1])


def pointer_type(function: Function) -> str:
    """The type of a pointer to the function."""
    return f"{function.returns.spelling} (*)({', '.join(function.signature) or 'void'})"
