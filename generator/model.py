"""All toolkits of one library as one model: what each declares, and since and until when.

`Api` is one toolkit. `Library` is all of them, one of which is presented: its functions and types are
what users write. Nothing here knows which toolkit is the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

from . import ctype
from .ctype import CType
from .errors import GeneratorError
from .facts import Facts

RESERVED = re.compile(r"^(reserved\w*|__?cudaReserved\w*|pad\w*|unused\w*|_+\w*)$", re.IGNORECASE)


def number(version: str) -> int:
    """Returns "12.4" as CUDA counts: 12040."""
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor) * 10


def dotted(version: int) -> str:
    """Returns 12040 as people write it: "12.4"."""
    return f"{version // 1000}.{version % 1000 // 10}"


@dataclass(frozen=True)
class Param:
    name: str
    type: CType
    default: str | None = None


@dataclass(frozen=True)
class Function:
    name: str  # as users write it
    symbol: str  # what it stands for in the library
    ptds: str | None  # the same with the per-thread default stream, where that is another symbol
    returns: CType
    params: tuple[Param, ...]
    header: str
    deprecated: bool = False
    unmapped: bool = False  # its header does not map the name to `ptds`, though the library exports that

    @property
    def signature(self) -> tuple[str, ...]:
        return tuple(param.type.spelling for param in self.params)


@dataclass(frozen=True)
class Field:
    name: str  # "" for an anonymous member
    offset: int
    size: int
    type: CType | None  # None where the type is an unnamed record
    record: Record | None
    count: int = 1  # of an array of an unnamed record
    bits: tuple[int, int] | None = None


@dataclass(frozen=True)
class Record:
    name: str
    kind: str  # "struct" or "union"
    size: int
    align: int
    header: str
    fields: tuple[Field, ...]

    def members(self) -> Iterator[Field]:
        """The fields C can name, those of anonymous members included, at offsets in this record."""
        for entry in self.fields:
            if entry.name:
                yield entry
            elif entry.record is not None:
                for inner in entry.record.members():
                    yield Field(
                        inner.name,
                        entry.offset + inner.offset,
                        inner.size,
                        inner.type,
                        inner.record,
                        inner.count,
                        inner.bits,
                    )


@dataclass(frozen=True)
class Leaf:
    """A scalar, or an array of scalars, somewhere inside a record."""

    path: str
    offset: int
    size: int
    kind: str  # signed, unsigned, float, char, enum, pointer
    bits: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[object, ...]:
        return self.offset, self.size, self.bits

    @property
    def reserved(self) -> bool:
        return any(RESERVED.match(part) for part in re.split(r"\.|\[\d+\]\.?", self.path) if part)


@dataclass(frozen=True)
class Enum:
    name: str
    signed: bool
    header: str
    values: dict[str, int] = field(hash=False)


@dataclass(frozen=True)
class Typedef:
    name: str
    type: CType
    header: str


@dataclass(frozen=True)
class Macro:
    name: str
    value: str
    header: str


@dataclass(frozen=True)
class Constant:
    """A typed constant: a bit of a set of flags that is wider than an enum."""

    name: str
    type: CType
    value: str
    header: str

    @property
    def number(self) -> int:
        """The value of `( 1 << 0 ) | ( 1 << 2 )`."""
        bits = re.findall(r"[^|()\s](?:[^|()]*[^|()\s])?", self.value)
        if not all(re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)( << \d+)?", bit) for bit in bits):
            raise GeneratorError(f"{self.name}: `{self.value}` is no set of bits")
        return reduce(or_, map(_shifted, bits))


def _shifted(bit: str) -> int:
    number, _, places = bit.partition(" << ")
    return int(number, 0) << int(places or 0)


class Api:
    """What one toolkit declares."""

    def __init__(self, toolkit: str, facts: Facts) -> None:
        self.toolkit = toolkit
        self.version = number(toolkit)
        self._leaves: dict[int, tuple[Record, tuple[Leaf, ...]]] = {}  # by identity: hashing a record costs more
        self.soname: str = facts.get("soname", "")
        self.headers: list[str] = facts.get("headers", [])
        self.symbols: dict[str, str] = facts["symbols"]
        functions = (_function(name, entry) for name, entry in sorted(facts["functions"].items()))
        self.functions = {function.name: self._with_ptds(function) for function in functions}
        self.records = {name: _record(name, entry) for name, entry in sorted(facts["records"].items())}
        self.enums = {
            name: Enum(name, entry.get("signed", False), entry["header"], entry["values"])
            for name, entry in sorted(facts["enums"].items())
        }
        self.typedefs = {
            name: Typedef(name, ctype.parse(entry["type"]), entry["header"])
            for name, entry in sorted(facts["typedefs"].items())
        }
        self.macros = {
            name: Macro(name, entry["value"], entry["header"]) for name, entry in sorted(facts["macros"].items())
        }

        self.constants = {
            name: Constant(name, ctype.parse(entry["type"]), entry["value"], entry["header"])
            for name, entry in sorted(facts.get("constants", {}).items())
        }

    def _with_ptds(self, function: Function) -> Function:
        """Takes an exported per-thread variant that the header forgot to map: 11.7 to 12.2 did so with one function.

        With the plain symbol a stream of 0 would be the legacy stream, which is not what its caller compiled for.
        """
        if function.ptds is None:
            for suffix in ("_ptsz", "_ptds"):
                if function.symbol + suffix in self.symbols:
                    return replace(function, ptds=function.symbol + suffix, unmapped=True)
        return function

    @cached_property
    def enumerators(self) -> dict[str, int]:
        return {name: value for enum in self.enums.values() for name, value in enum.values.items()}

    @cached_property
    def _enumerators_by_stem(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.enumerators:
            found.setdefault(re.sub(r"_[vV]\d+$", "", name), []).append(name)
        return found

    def names_like(self, enumerator: str) -> list[str]:
        """The enumerators that have the same name but for a version suffix."""
        return self._enumerators_by_stem.get(re.sub(r"_[vV]\d+$", "", enumerator), [])

    def constant(self, name: str) -> int | str | None:
        """The number of an enumerator or macro, or a macro's text where that is none; None: the toolkit lacks it."""
        if name in self.enumerators:
            return self.enumerators[name]
        if name not in self.macros:
            return None
        text = self.macros[name].value
        bare = re.sub(r"[uU]?[lL]*$", "", text.strip("() "))
        known = self.constant(bare)
        if known is None and re.fullmatch(r"0[xX][0-9a-fA-F]+|-?\d+", bare):
            known = int(bare, 0)
        return text if known is None else known

    @cached_property
    def in_unions(self) -> set[str]:
        """The records that are members of unions, directly or in another member."""
        found: set[str] = set()

        def visit(record: Record, inside: bool) -> None:
            inside = inside or record.kind == "union"
            for entry in record.fields:
                inner = entry.record or (self.record_of(entry.type) if entry.type and not entry.type.pointers else None)
                if inner is None:
                    continue
                if inside and inner.name in self.records:
                    found.add(inner.name)
                visit(inner, inside)

        for record in self.records.values():
            visit(record, False)
        return found

    @cached_property
    def versioned(self) -> dict[str, list[Function]]:
        """Returns name -> the functions name_v2, name_v3 … that are declared beside it or instead of it."""
        found: dict[str, list[Function]] = {}
        for function in self.functions.values():
            stem = re.sub(r"_v\d+$", "", function.name)
            if stem != function.name:
                found.setdefault(stem, []).append(function)
        return found

    def strip(self, kind: CType) -> CType:
        """The type with typedefs of its base resolved; pointers and arrays of the typedef are added to its own."""
        seen = kind
        while not seen.function and seen.base in self.typedefs and not (seen.tag or self._is_own_tag(seen.base)):
            inner = self.typedefs[seen.base].type
            if inner.function:
                return CType(inner.spelling, "", pointers=seen.pointers, arrays=seen.arrays, function=not seen.pointers)
            seen = CType(
                kind.spelling,
                inner.base,
                inner.tag,
                inner.const or (seen.const and not inner.pointers),
                inner.pointers + seen.pointers,
                inner.arrays + seen.arrays,
            )
        return seen

    def _is_own_tag(self, name: str) -> bool:
        """`typedef struct x x;`: the typedef and the tag are the same thing."""
        return name in self.typedefs and self.typedefs[name].type.base == name

    def record_of(self, kind: CType) -> Record | None:
        """The record at the core of a type, if it is one whose members are known."""
        return None if kind.function else self.records.get(self.strip(kind).base)

    def enum_of(self, kind: CType) -> Enum | None:
        return None if kind.function else self.enums.get(self.strip(kind).base)

    def scalar(self, kind: CType) -> tuple[str, int]:
        """What the type is to the ABI: its class and size; ("record", size) for records."""
        seen = self.strip(kind)
        if seen.function or seen.pointers:
            return "pointer", 8
        if seen.base in self.records:
            return "record", self.records[seen.base].size
        if seen.base in self.enums or seen.tag == "enum":
            return "enum", 4
        if seen.base in ctype.BUILTINS:
            return ctype.BUILTINS[seen.base]
        if seen.base in FOREIGN:
            return FOREIGN[seen.base]
        return "opaque", 0

    def leaves(self, record: Record) -> tuple[Leaf, ...]:
        """All scalars of a record, nested records opened."""
        known = self._leaves.get(id(record))
        if known is None or known[0] is not record:
            self._leaves[id(record)] = known = (record, tuple(self._walk(record, "", 0)))
        return known[1]

    def _walk(self, record: Record, prefix: str, base: int) -> Iterator[Leaf]:
        for member in record.members():
            path, offset = prefix + member.name, base + member.offset
            inner = member.record or (
                None if member.type is None or self.strip(member.type).pointers else self.record_of(member.type)
            )
            if inner is None:
                assert member.type is not None
                element = CType(
                    member.type.spelling, member.type.base, member.type.tag, member.type.const, member.type.pointers
                )
                yield Leaf(path, offset, member.size, self.scalar(element)[0], member.bits)
                continue
            count = member.size // inner.size
            for index in range(count):
                stem = f"{path}[{index}]." if count > 1 else f"{path}."
                yield from self._walk(inner, stem, offset + index * inner.size)


# Types of GL, EGL and VDPAU that the interop headers mention.
FOREIGN = {
    "GLenum": ("unsigned", 4),
    "GLuint": ("unsigned", 4),
    "EGLint": ("signed", 4),
    "EGLImageKHR": ("pointer", 8),
    "EGLStreamKHR": ("pointer", 8),
    "EGLSyncKHR": ("pointer", 8),
    "VdpDevice": ("unsigned", 4),
    "VdpVideoSurface": ("unsigned", 4),
    "VdpOutputSurface": ("unsigned", 4),
    "VdpGetProcAddress": ("function", 8),
}


class Library:
    """One library through all toolkits, with one of them presented."""

    def __init__(self, name: str, facts: dict[str, Facts], presented: str | None = None) -> None:
        self.name = name
        self.apis = [Api(toolkit, entry) for toolkit, entry in facts.items()]
        wanted = [api for api in self.apis if api.toolkit == presented] if presented else self.apis[-1:]
        if not wanted:
            raise GeneratorError(f"{name}: there are no facts of toolkit {presented}; known: {', '.join(facts)}")
        self.presented = wanted[0]
        for api in self.apis:
            self._lend(api)
        self._enumerators_since: dict[str, int] = {}

    def _lend(self, api: Api) -> None:
        """Gives a toolkit the functions that its library exports but whose header its packages lack.

        A header can be left out of a package (cuda_profiler_api.h is one of its own; interop headers may go with
        the interface they serve) while the library goes on exporting what it declares. The nearest toolkit that has
        the header is the likeliest to agree with the library; the older one at a tie, since calls outlive headers.
        """
        missing = {header for other in self.apis for header in other.headers} - set(api.headers)
        for lender in sorted(self.apis, key=lambda other: abs(self.apis.index(other) - self.apis.index(api))):
            lent = missing & set(lender.headers)
            for name, function in lender.functions.items():
                if function.header in lent and function.symbol in api.symbols:
                    api.functions.setdefault(name, function)

    @property
    def oldest(self) -> Api:
        return self.apis[0]

    @property
    def newest(self) -> Api:
        return self.apis[-1]

    def api(self, toolkit: str) -> Api:
        return next(api for api in self.apis if api.toolkit == toolkit)

    # Since is 0 for what the oldest toolkit has already, until is 0 for what the newest still has.

    def function_span(self, name: str) -> tuple[int, int]:
        return self._span(api.version for api in self.apis if name in api.functions)

    def symbol_span(self, symbol: str) -> tuple[int, int]:
        return self._span(api.version for api in self.apis if symbol in api.symbols)

    def enumerator_since(self, name: str) -> int:
        if name not in self._enumerators_since:
            have = (api.version for api in self.apis if self.constant_there(api, name) is not None)
            self._enumerators_since[name] = self._span(have)[0]
        return self._enumerators_since[name]

    def constant_there(self, api: Api, name: str) -> int | str | None:
        """What a toolkit has for the presented enumerator or macro (see Api.constant).

        As with functions, `NAME_V2` means what `NAME` means later, and `NAME_V1` what it meant before: a toolkit that
        has the presented number under such a name agrees. So does one that has it under a name that the presented
        header keeps as a macro (`#define cudaStreamAttributePriority cudaLaunchAttributePriority`).
        """
        ours = self.presented.enumerators.get(name)
        theirs = api.constant(name)
        if theirs == ours or ours is None:
            return theirs
        names = [*api.names_like(name), *self._older_enumerators.get(name, [])]
        return ours if any(api.enumerators.get(one) == ours for one in names) else theirs

    @cached_property
    def _older_enumerators(self) -> dict[str, list[str]]:
        older: dict[str, list[str]] = {}
        for macro in self.presented.macros.values():
            if macro.value in self.presented.enumerators:
                older.setdefault(macro.value, []).append(macro.name)
        return older

    def record_span(self, name: str) -> tuple[int, int]:
        return self._span(api.version for api in self.apis if self.records_named(api, name))

    def field_since(self, record: str, path: str) -> int:
        """Returns the version that brought the field; 0 also where no layout of the record lacks the field."""
        have = [api for api in self.apis if self.records_named(api, record)]
        first = next(
            (api for api in have if any(_has_path(api, entry, path) for entry in self.records_named(api, record))),
            None,
        )
        return 0 if first is None or first is have[0] else first.version

    def records_named(self, api: Api, name: str) -> list[Record]:
        """The record in a toolkit, under its name or under the ones that it had before (see older_names)."""
        names = [name, *self.older_names(name)]
        found = [api.records[one] for one in names[:1] if one in api.records]
        return found or [api.records[one] for one in names[1:] if one in api.records]

    def older_names(self, record: str) -> list[str]:
        """`#define cudaStreamAttrValue cudaLaunchAttributeValue`: the presented header says what a type was called."""
        return self._older_names.get(record, [])

    @cached_property
    def _older_names(self) -> dict[str, list[str]]:
        older: dict[str, list[str]] = {}
        for macro in self.presented.macros.values():
            if macro.value in self.presented.records:
                older.setdefault(macro.value, []).append(macro.name)
        for api in self.apis:  # cudaTextureDesc_v2 of 11.8: a version suffix under which the type lived for a while
            for name in api.records:
                base = re.sub(r"_v\d+$", "", name)
                if base != name and base in self.presented.records and name not in self.presented.records:
                    names = older.setdefault(base, [])
                    if name not in names:
                        names.append(name)
        return older

    def gone_functions(self) -> dict[str, tuple[Function, Api]]:
        """Names of toolkits older than the presented one that it no longer has, as last declared.

        A name is what users wrote, or what a header renamed that to (cudaGetDeviceProperties_v2).
        """
        gone: dict[str, tuple[Function, Api]] = {}
        for api in self.apis:
            if api.version < self.presented.version:
                for function in api.functions.values():
                    for name in {function.name, function.symbol} - self.presented.functions.keys():
                        gone[name] = (replace(function, name=name, symbol=name), api)
        return dict(sorted(gone.items()))

    def alias_of(self, gone: Function) -> Function | None:
        """The presented function that a gone name with a version suffix stands for, if their signatures are one."""
        base = self.presented.functions.get(re.sub(r"_v\d+$", "", gone.name))
        if base is None or base.name == gone.name or len(base.params) != len(gone.params):
            return None
        ours, theirs = ([self._plain(p.type) for p in f.params] for f in (base, gone))
        return base if ours == theirs else None

    def _plain(self, kind: CType) -> str:
        name = next((new for new, old in self._older_names.items() if kind.base in old), kind.base)
        return f"{name} {'*' * kind.depth}"

    def _span(self, versions: Iterator[int] | Any) -> tuple[int, int]:
        known = sorted(versions)
        if not known:
            return 0, 0
        since = 0 if known[0] == self.oldest.version else known[0]
        until = 0 if known[-1] == self.newest.version else known[-1]
        return since, until


def _has_path(api: Api, record: Record, path: str) -> bool:
    head, _, rest = path.partition(".")
    for member in record.members():
        if member.name == head:
            if not rest:
                return True
            inner = member.record or (api.record_of(member.type) if member.type else None)
            return inner is not None and _has_path(api, inner, rest)
    return False


def _function(name: str, entry: Facts) -> Function:
    params = tuple(Param(p[0], ctype.parse(p[1]), p[2] if len(p) > 2 else None) for p in entry["params"])
    return Function(
        name,
        entry.get("symbol", name),
        entry.get("ptds"),
        ctype.parse(entry["returns"]),
        params,
        entry["header"],
        entry.get("deprecated", False),
    )


def _record(name: str, entry: Facts) -> Record:
    return Record(
        name,
        entry["kind"],
        entry["size"],
        entry["align"],
        entry.get("header", ""),
        tuple(_field(name, f) for f in entry["fields"]),
    )


def _field(owner: str, entry: Facts) -> Field:
    inner = _record(f"{owner}.{entry.get('name', '')}", entry["record"]) if "record" in entry else None
    return Field(
        entry.get("name", ""),
        entry["offset"],
        entry.get("size", inner.size if inner else 0),
        ctype.parse(entry["type"]) if "type" in entry else None,
        inner,
        entry.get("count", 1),
        tuple(entry["bits"]) if "bits" in entry else None,
    )
