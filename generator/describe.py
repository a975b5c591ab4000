"""Types and parameters as the C tables of src/core/abi.h: what checks, adapters, the trace and messages read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from . import ctype
from .abi import COPY, PREFIX, Router
from .ctype import CType
from .errors import GeneratorError, Stops
from .model import FOREIGN, Api, Field, Function, Library, Record
from .spec import Parameters

BUILTIN = "acu_type_"
DIRECTIONS = {"in": "ACU_IN", "out": "ACU_OUT", "inout": "ACU_INOUT"}


@dataclass(frozen=True)
class Value:
    name: str
    value: int
    since: int

    def __post_init__(self) -> None:
        if self.value >= 2**31:  # a bit of an unsigned enum: the table has the same 32 bits
            object.__setattr__(self, "value", self.value - 2**32)
        _fits(self.name, self.value, 32)


@dataclass(frozen=True)
class FieldRow:
    name: str
    type: str  # the C name of its acu_type
    offset: int
    count: int
    since: int
    tag_offset: int = 0
    tags: tuple[int, ...] | None = None
    reserved: bool = False
    absent: int = 0
    harmless: int = 0
    target_count: int | None = None  # where its type has a target

    def __post_init__(self) -> None:
        for number, bits in ((self.offset, 17), (self.count, 17), (self.absent, 8), (self.harmless, 8)):
            _fits(self.name, number, bits)


@dataclass(frozen=True)
class LayoutRow:
    since: int
    until: int
    size: int
    offsets: tuple[int, ...] | None
    sizes: tuple[int, ...] | None = None


@dataclass
class TypeRow:
    symbol: str  # acu_type_…
    name: str
    kind: str
    size: int
    values: list[Value] = field(default_factory=list)
    fields: list[FieldRow] = field(default_factory=list)
    layouts: list[LayoutRow] = field(default_factory=list)
    target: str | None = None  # what a pointer leads to, where that is worth looking into

    @property
    def names(self) -> list[str]:
        return [self.name, *(value.name for value in self.values), *(part.name for part in self.fields)]


@dataclass(frozen=True)
class AttributeRow:
    """A field of the device properties, and the device attribute that says the same."""

    offset: int
    size: int
    attribute: int
    attribute_since: int
    since: int
    until: int


@dataclass(frozen=True)
class ParamRow:
    name: str
    type: str
    depth: int
    direction: str
    length: int
    tag: int
    drops: bool = False


def _fits(name: str, number: int, bits: int) -> None:
    """The tables are as narrow as what they hold; the day that this stops the generator, widen src/core/abi.h."""
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise GeneratorError(f"{name}: {number} does not fit the tables of src/core/abi.h")


class Describer:
    """Builds the rows of one library; types are described once, on first use."""

    def __init__(self, library: Library, parameters: Parameters, router: Router, driver: Library | None = None) -> None:
        self.library = library
        self.driver = driver
        self.parameters = parameters
        self.router = router
        self.types: dict[str, TypeRow] = {}

    def own_rows(self) -> list[TypeRow]:
        """What this library adds to the builtin types."""
        rows = (row for row in self.types.values() if not row.symbol.startswith(BUILTIN))
        return sorted(rows, key=lambda row: row.symbol)

    def builtin_rows(self) -> list[TypeRow]:
        return [row for row in self.types.values() if row.symbol.startswith(BUILTIN)]

    # ---- parameters

    def params(self, function: Function, home: Api) -> list[ParamRow]:
        names = [param.name for param in function.params]
        rows: list[ParamRow] = []
        stops = Stops()
        for index in range(len(names)):
            with stops.gathered():
                rows.append(self._param(function, home, index, names))
        stops.end()
        return rows

    def _param(self, function: Function, home: Api, index: int, names: list[str]) -> ParamRow:
        param = function.params[index]
        extra = self.parameters.param(function.name, param.name)
        symbol, depth = self._value(home, param.type, extra)
        direction = self.direction(function, home, param.name)

        def sibling(key: str) -> int:
            if key not in extra:
                return -1
            if extra[key] not in names:
                raise GeneratorError(
                    f"{function.name}.{param.name}: {key} names no parameter: {extra[key]}",
                    self.parameters.at("functions", function.name, param.name, key),
                )
            return names.index(extra[key])

        return ParamRow(
            param.name,
            symbol,
            depth,
            DIRECTIONS[direction],
            sibling("length"),
            sibling("tag"),
            extra.get("newer") == "ignored",
        )

    def direction(self, function: Function, home: Api, name: str) -> str:
        """Returns in, out or inout: by the spec, else by `const`; a struct that may be written has no default."""
        param = next(p for p in function.params if p.name == name)
        given = self.parameters.param(function.name, name).get("direction")
        if given:
            return str(given)
        seen = home.strip(param.type)
        if seen.function or not param.type.pointers or (seen.base == "void" and len(seen.pointers) == 1):
            return "in"
        if (param.type.const and len(param.type.pointers) == 1) or any(param.type.pointers[:-1]):
            return "in"
        if home.record_of(param.type) is not None and len(seen.pointers) == 1:
            raise GeneratorError(
                f"{function.name}.{name} is a `{param.type.spelling}` and may be in, out or inout: "
                f"say which ({home.toolkit}'s {function.header} declares it)",
                self.parameters.at("functions", function.name),
            )
        return "out"

    def _value(self, home: Api, kind: CType, extra: dict[str, object]) -> tuple[str, int]:
        """The type a parameter leads to, and through how many pointers."""
        if "flags" in extra:
            return self._flags(str(extra["flags"]), self._width(home, kind)), kind.depth
        if "enum" in extra:
            return self._named(home, str(extra["enum"]), self._width(home, kind)), kind.depth
        seen = home.strip(kind)
        if seen.function:
            return self._builtin("function"), 0
        if seen.base == "void":
            return self._builtin("pointer"), max(seen.depth - 1, 0)
        if seen.base == "char" and seen.depth >= 1 and seen.const:
            return self._builtin("text"), seen.depth - 1
        if (
            seen.depth
            and seen.base not in home.records
            and seen.base not in home.enums
            and home.scalar(CType(seen.spelling, seen.base, seen.tag))[0] == "opaque"
        ):
            return self._handle(home, kind), seen.depth - 1
        return self._type(home, CType(kind.spelling, seen.base, seen.tag)), seen.depth

    # ---- types

    def _type(self, home: Api, kind: CType) -> str:
        """The acu_type of a type without its pointers."""
        seen = home.strip(kind)
        if seen.base in home.enums:
            return self._enum(home, seen.base)
        if seen.base in home.records:
            return self.record(home, home.records[seen.base])
        if seen.base in ctype.BUILTINS or seen.base in FOREIGN:
            return self._builtin(seen.base)
        return self._builtin("pointer")

    def _builtin(self, name: str) -> str:
        symbol = BUILTIN + name.replace(" ", "_")
        if name in ("pointer", "text", "function", "handle"):
            kind, size = name.upper(), 8
        else:
            what, size = ctype.BUILTINS.get(name) or FOREIGN[name]
            kind = what.upper()
        self.types.setdefault(symbol, TypeRow(symbol, name, f"ACU_KIND_{kind}", size))
        return symbol

    def _handle(self, home: Api, kind: CType) -> str:
        special = self.parameters.section("handles").get(kind.base)
        if not special:
            return self._builtin("handle")
        symbol = self._symbol(kind.base)
        if symbol not in self.types:
            row = TypeRow(symbol, kind.base, "ACU_KIND_HANDLE", 8)
            row.values = [Value(name, value, self.library.enumerator_since(name)) for name, value in special.items()]
            self.types[symbol] = row
        return symbol

    def _width(self, home: Api, kind: CType) -> int:
        """The size of the integer at the core of a type."""
        seen = home.strip(kind)
        return home.scalar(CType(seen.spelling, seen.base, seen.tag))[1]

    def _flags(self, name: str, width: int) -> str:
        symbol = self._symbol(f"flags_{name}") + _sized(width)
        if symbol not in self.types:
            bits = self.parameters.section("flags")[name]
            if isinstance(bits, str):
                bits = self._enumerators(bits)
            row = TypeRow(symbol, name, "ACU_KIND_FLAGS", width)
            row.values = [self._enumerator(one) for one in bits]
            self.types[symbol] = row
        return symbol

    def _named(self, home: Api, name: str, width: int) -> str:
        """What an integer stands for: an enum of the headers, or a list of macros under `constants`."""
        constants = self.parameters.section("constants").get(name)
        if constants is None:
            return self._enum(home, name, width)
        symbol = self._symbol(name) + _sized(width)
        row = TypeRow(symbol, name, "ACU_KIND_ENUM", width, [self._enumerator(one) for one in constants])
        return self.types.setdefault(symbol, row).symbol

    def _enumerators(self, enum: str) -> list[str]:
        for api in (self.library.presented, *reversed(self.library.apis)):
            name = api.typedefs[enum].type.base if enum in api.typedefs else enum
            if name in api.enums:
                return [one for one, value in api.enums[name].values.items() if value]
        raise GeneratorError(f"{enum} is no enum of any toolkit", self.parameters.at("flags"))

    def _enumerator(self, name: str) -> Value:
        return Value(name, self._number(name), self.library.enumerator_since(name))

    def _symbol(self, name: str) -> str:
        return f"acu_{self.library.name}_type_{name}"

    def _number(self, name: str) -> int:
        for api in (self.library.presented, *reversed(self.library.apis)):
            known = api.constant(name)
            if isinstance(known, int):
                return known
        raise GeneratorError(f"{name} is no macro and no enumerator of any toolkit", self.parameters.document.at)

    def _enum(self, home: Api, name: str, width: int = 4) -> str:
        name = home.typedefs[name].type.base if name not in home.enums else name
        symbol = self._symbol(name) + _sized(width)
        if symbol not in self.types:
            values = sorted(home.enums[name].values, key=lambda one: home.enums[name].values[one])
            self.types[symbol] = TypeRow(
                symbol, name, "ACU_KIND_ENUM", width, [self._enumerator(one) for one in values]
            )
        return symbol

    def result_type(self, typedef: str) -> str:
        """The table of a library's result codes."""
        return self._enum(self.library.presented, typedef)

    # ---- records

    def record(self, home: Api, record: Record) -> str:
        symbol = self._symbol(record.name)
        if symbol not in self.types:
            self.types[symbol] = row = TypeRow(symbol, record.name, "ACU_KIND_RECORD", record.size)
            padding = self.parameters.record(record.name).get("padding", ())  # only gives a union its size
            members = [member for member in opened(record) if not _names(member.name, padding)]
            row.fields = [self._field(home, record, member) for member in members]
            row.layouts = self._layouts(home, record, members)
        return symbol

    def _field(self, home: Api, record: Record, member: Field) -> FieldRow:
        extra = self.parameters.record(record.name)
        given = extra.get("fields", {}).get(member.name, {})
        assert member.type is not None
        target, target_count = self._target(home, record, member, given)
        symbol, size = (target, 8) if target else self._member(home, member.type, given)
        tag_offset, tags = self._tags(home, record, member.name)
        if "tag" in given:  # handed down to the record in this field, whose union asks for it
            tag_offset = self._offset(home, record, str(given["tag"]))
        if size and member.size % size and home.record_of(member.type) is None:
            raise GeneratorError(f"{record.name}.{member.name}: {member.size} bytes cannot hold elements of {size}")
        ageless = _names(member.name, extra.get("opaque", ())) or given.get("opaque")  # CUDA's own, never too new
        return FieldRow(
            name=member.name,
            type=symbol,
            offset=member.offset,
            count=max(1, member.size // size) if size else 1,
            since=0 if ageless else self.library.field_since(record.name, member.name),
            tag_offset=tag_offset,
            tags=tags,
            reserved=member.name in extra.get("reserved", ()),
            absent=self._constant(extra.get("absent", {}).get(member.name, 0)),
            harmless=self._constant(extra.get("harmless", {}).get(member.name, 0)),
            target_count=target_count,
        )

    def _member(self, home: Api, kind: CType, given: dict[str, object]) -> tuple[str, int]:
        width = self._width(home, kind)
        if "flags" in given:
            return self._flags(str(given["flags"]), width), width
        if "enum" in given:
            return self._named(home, str(given["enum"]), width), width
        seen = home.strip(kind)
        if seen.function:
            return self._builtin("function"), 8
        if seen.pointers:
            if seen.base == "char" and seen.const and seen.depth == 1:
                return self._builtin("text"), 8
            opaque = seen.depth == 1 and home.scalar(CType(seen.spelling, seen.base, seen.tag))[0] == "opaque"
            return (self._handle(home, kind) if opaque else self._builtin("pointer")), 8
        element = CType(seen.spelling, seen.base, seen.tag)
        return self._type(home, element), home.scalar(element)[1]

    def _target(
        self, home: Api, record: Record, member: Field, given: dict[str, object]
    ) -> tuple[str | None, int | None]:
        """The type of an input pointer to records, whose newer enumerators can be named, and where they are counted."""
        assert member.type is not None
        inner = home.record_of(member.type)
        if (
            inner is None
            or home.strip(member.type).depth != 1
            or given.get("opaque")
            or given.get("direction", "in") == "out"
        ):
            return None, None
        symbol = self._symbol(f"pointer_{inner.name}")
        self.types.setdefault(
            symbol, TypeRow(symbol, "pointer", "ACU_KIND_POINTER", 8, target=self.record(home, inner))
        )
        return symbol, self._offset(home, record, str(given["length"])) if "length" in given else -1

    def _constant(self, value: object) -> int:
        return value if isinstance(value, int) else self._number(str(value))

    def _tags(self, home: Api, record: Record, path: str) -> tuple[int, tuple[int, ...] | None]:
        """Where the discriminator of a union member is, and the values that make it active."""
        paths = {leaf.path for leaf in home.leaves(record)}
        for union in self.parameters.record(record.name).get("unions", ()):
            if union["by"] not in ("argument", *paths):
                continue  # the presented toolkit is older than the discriminator
            at = f"{union['at']}." if "at" in union else ""
            for name, values in self._members_of(home, record, union):
                if path == at + name or path.startswith(f"{at}{name}."):
                    offset = -1 if union["by"] == "argument" else self._offset(home, record, union["by"])
                    return offset, values
        return 0, None

    def _members_of(self, home: Api, record: Record, union: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
        taken: set[int] = set()
        for name, values in union.get("members", {}).items():
            numbers = tuple(self._number(value) for value in values)
            taken.update(numbers)
            yield name, numbers
        if "otherwise" in union:
            tag = next(member for member in opened(record) if member.name == union["by"])
            assert tag.type is not None
            enum = home.enum_of(tag.type)
            assert enum is not None
            yield union["otherwise"], tuple(sorted(set(enum.values.values()) - taken))

    def _offset(self, home: Api, record: Record, path: str) -> int:
        for leaf in home.leaves(record):
            if leaf.path == path:
                return leaf.offset
        raise GeneratorError(f"{record.name} has no field {path}", self.parameters.at("records", record.name))

    def _layouts(self, home: Api, record: Record, members: list[Field]) -> list[LayoutRow]:
        """How each toolkit that lays the record out otherwise does it; runs of equal ones joined."""
        rows: list[LayoutRow] = []
        apis = self.library.apis
        for index, api in enumerate(apis):
            named = self.library.records_named(api, record.name)
            state = self.router.layout_state(home, record, api, named[0]) if named else ""
            if state not in (PREFIX, COPY):
                continue
            theirs = {member.name: member for member in opened(named[0])}
            offsets = sizes = None
            if state == COPY:
                offsets = tuple(theirs[m.name].offset if m.name in theirs else -1 for m in members)
                sizes = tuple(theirs[m.name].size if m.name in theirs else 0 for m in members)
            until = apis[index + 1].version if index + 1 < len(apis) else 2**31 - 1
            row = LayoutRow(api.version, until, named[0].size, offsets, sizes)
            if rows and rows[-1].until == row.since and (rows[-1].size, rows[-1].offsets) == (row.size, row.offsets):
                row = LayoutRow(rows.pop().since, until, row.size, offsets, sizes)
            rows.append(row)
        return rows

    def attributes(self, record: Record) -> list[AttributeRow]:
        """The fields of a record that some layouts lack, with the device attributes that say the same."""
        rows = []
        members = {member.name: member for member in opened(record)}
        apis = self.library.apis
        for name, given in self.parameters.record(record.name).get("attributes", {}).items():
            have = [
                api
                for api in apis
                for r in self.library.records_named(api, record.name)
                if name in {m.name for m in r.members()}
            ]
            if name not in members or len(have) == len(apis):
                continue
            since = 0 if have[0] is apis[0] else have[0].version
            until = 0 if have[-1] is apis[-1] else have[-1].version
            attributes = given if isinstance(given, list) else [given]
            size = members[name].size // len(attributes)
            for index, attribute in enumerate(attributes):
                value, known = self._attribute(attribute)
                rows.append(AttributeRow(members[name].offset + index * size, size, value, known, since, until))
        return rows

    def _attribute(self, name: str) -> tuple[int, int]:
        """An attribute's number, and the first runtime that may be asked for it; the driver answers for older ones."""
        if self.driver is not None and name in self.driver.presented.enumerators:
            return self.driver.presented.enumerators[name], 2**31 - 1
        value = self._enumerator(name)
        lasting = name in self.library.newest.enumerators  # a runtime that dropped it may take it for an error
        return value.value, value.since if lasting else 2**31 - 1

    def loaded_size(self, record: Record) -> int:
        """The largest size any toolkit gives the record: what a temporary needs."""
        return max(r.size for api in self.library.apis for r in self.library.records_named(api, record.name))


def _sized(width: int) -> str:
    """What the name of an integer's table ends with, where it is not as wide as an int."""
    return "" if width == 4 else f"_{8 * width}bit"


def _names(path: str, listed: Iterable[str]) -> bool:
    """Returns whether the path, or a record that it lies in, is listed."""
    return any(path == one or path.startswith(f"{one}.") for one in listed)


def opened(record: Record) -> Iterator[Field]:
    """The members, with those of unnamed inner records as the record's own: `handle.fd`, `sensor[1].target`."""
    for member in record.members():
        if member.record is None:
            yield member
            continue
        step = member.size // member.count
        for index in range(member.count):
            name = f"{member.name}[{index}]" if member.count > 1 else member.name
            for inner in opened(member.record):
                yield replace(inner, name=f"{name}.{inner.name}", offset=member.offset + index * step + inner.offset)
