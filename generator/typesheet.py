"""The types that users see: what the presented toolkit declares, and what older names need, in C's order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from .ctype import CType
from .model import Api, Constant, Enum, Field, Function, Library, Macro, Record, Typedef

WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class TypeSheet:
    """Types in an order in which each is declared before its use."""

    enums: list[Enum]
    tags: list[tuple[str, str]]  # (struct or union, name), to declare first
    typedefs: list[Typedef]
    records: list[Record]
    macros: list[Macro]
    constants: list[Constant]


def type_sheet(library: Library, gone: Iterable[tuple[Function, Api]], cxx: dict[str, list[str]]) -> TypeSheet:
    """Everything the presented toolkit declares, and what the gone functions mention besides.

    `cxx` holds members that records have in C++ only; they may mention other records.
    """
    own = library.presented
    enums, typedefs, records = dict(own.enums), dict(own.typedefs), dict(own.records)
    for function, api in gone:
        for kind in (function.returns, *(param.type for param in function.params)):
            _collect(api, kind, enums, typedefs, records)
    sorted_records = list(_in_order(records, typedefs, cxx))
    opaque = {t.type.base for t in typedefs.values() if t.type.tag in ("struct", "union")}
    tags = sorted(
        {(record.kind, name) for name, record in records.items()} | {("struct", n) for n in opaque - records.keys()}
    )
    return TypeSheet(
        enums=sorted(enums.values(), key=lambda e: e.name),
        tags=[(kind, name) for kind, name in tags],
        typedefs=list(_typedefs_in_order(typedefs)),
        records=sorted_records,
        macros=list(own.macros.values()),
        constants=list(own.constants.values()),
    )


def _collect(
    api: Api, kind: CType, enums: dict[str, Enum], typedefs: dict[str, Typedef], records: dict[str, Record]
) -> None:
    """Adds what a type of an older toolkit needs and the presented one lacks."""
    words = WORD.findall(kind.spelling) if kind.function else [kind.base]
    for word in words:
        if word in api.typedefs and word not in typedefs:
            typedefs[word] = api.typedefs[word]
            _collect(api, api.typedefs[word].type, enums, typedefs, records)
        if word in api.enums and word not in enums:
            enums[word] = api.enums[word]
        if word in api.records and word not in records:
            records[word] = api.records[word]
            for inner in _field_types(api.records[word]):
                _collect(api, inner, enums, typedefs, records)


def _field_types(record: Record) -> Iterator[CType]:
    for field in record.fields:
        if field.type is not None:
            yield field.type
        elif field.record is not None:
            yield from _field_types(field.record)


def _typedefs_in_order(typedefs: dict[str, Typedef]) -> Iterator[Typedef]:
    done: set[str] = set()

    def visit(name: str) -> Iterator[Typedef]:
        if name in done:
            return
        done.add(name)
        entry = typedefs[name]
        for word in WORD.findall(entry.type.spelling):
            if word in typedefs and word != name:
                yield from visit(word)
        yield entry

    for name in sorted(typedefs):
        yield from visit(name)


def _in_order(records: dict[str, Record], typedefs: dict[str, Typedef], cxx: dict[str, list[str]]) -> Iterator[Record]:
    """Records after those that they hold by value."""
    done: set[str] = set()

    def resolve(kind: CType) -> str:
        base = kind.base
        while not kind.tag and base in typedefs and base not in records and not typedefs[base].type.pointers:
            if typedefs[base].type.base == base:
                break
            kind = typedefs[base].type
            base = kind.base
        return "" if kind.pointers or kind.function else base

    def visit(name: str) -> Iterator[Record]:
        if name in done:
            return
        done.add(name)
        for kind in _field_types(records[name]):
            base = "" if kind.pointers or kind.function else resolve(kind)
            if base in records:
                yield from visit(base)
        for word in WORD.findall(" ".join(cxx.get(name, ()))):
            if word in records:
                yield from visit(word)
        yield records[name]

    for name in sorted(records):
        yield from visit(name)


@dataclass(frozen=True)
class Line:
    """A line of a record's body: text at a depth."""

    depth: int
    text: str


def record_lines(library: Library, record: Record, since: bool = True, constructed: Collection[str] = ()) -> list[Line]:
    """The body of a record as C, newer fields marked with the version that brought them.

    `constructed` are the records with constructors in C++, which C++98 allows in no union.
    """
    body = _Body(library, record.name, since, constructed)
    return list(body.lines(record, "", 1, record.name in library.presented.in_unions))


@dataclass(frozen=True)
class _Body:
    library: Library
    root: str
    since: bool
    constructed: Collection[str]

    def lines(self, record: Record, prefix: str, depth: int, in_union: bool) -> Iterator[Line]:
        in_union = in_union or record.kind == "union"
        for field in record.fields:
            mark = _mark(self.library, self.root, prefix + field.name) if self.since and field.name else ""
            if field.record is not None:
                # `__extension__`: ISO C++ knows no anonymous structs, all compilers do.
                yield Line(depth, f"{'' if field.name else '__extension__ '}{field.record.kind} {{")
                inner = prefix + field.name + "." if field.name else prefix
                yield from self.lines(field.record, inner, depth + 1, in_union)
                bound = f"[{field.count}]" if field.count > 1 else ""
                yield Line(depth, f"}}{' ' if field.name else ''}{field.name}{bound}{mark};")
            else:
                yield Line(depth, f"{self.declare(field, in_union)}{mark};")

    def declare(self, field: Field, in_union: bool) -> str:
        assert field.type is not None
        text = field.type.declare(field.name)
        if in_union and field.type.base in self.constructed and not field.type.pointers:
            text = re.sub(rf"\b(struct )?{field.type.base}\b", f"ACU_IN_UNION_{field.type.base}", text, count=1)
        return f"{text} : {field.bits[1]}" if field.bits else text


def _mark(library: Library, record: str, path: str) -> str:
    version = library.field_since(record, path)
    return f" {since_macro(version, 'ACU_FIELD_SINCE')}" if version else ""


def since_macro(version: int, prefix: str = "ACU_SINCE") -> str:
    """Returns ACU_SINCE_12_3 for 12030."""
    return f"{prefix}_{version // 1000}_{version % 1000 // 10}"
