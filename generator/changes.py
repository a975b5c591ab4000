"""What changed between two toolkits: two `Api` in, the differences out, nothing rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .model import RESERVED, Api, Field, Function, Macro, Record, Typedef


@dataclass(frozen=True)
class Pair:
    """Something that both toolkits have, and that differs."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Signature:
    """A function whose parameters or result have another type."""

    name: str
    before: Function
    after: Function

    @property
    def silent(self) -> bool:
        """The symbol stayed: dlsym finds it, and a caller that knows the older declaration corrupts memory."""
        return self.before.symbol == self.after.symbol


@dataclass(frozen=True)
class RecordChange:
    """A struct or union with another layout. Reserved space is in the sizes only."""

    name: str
    before: Record
    after: Record
    gone: tuple[str, ...]
    new: tuple[str, ...]
    moved: tuple[Pair, ...]  # offsets
    retyped: tuple[Pair, ...]
    reached_by: tuple[str, ...] = ()  # functions with one signature in both toolkits whose parameters lead to it

    @property
    def grew(self) -> bool:
        return self.after.size != self.before.size


@dataclass(frozen=True)
class Enumerator:
    name: str
    enum: str
    value: int


@dataclass
class Changes:
    """All that differs in one library between two toolkits; lists are sorted by name."""

    library: str
    before: Api
    after: Api
    new_functions: list[Function] = field(default_factory=list)
    gone_functions: list[Function] = field(default_factory=list)
    signatures: list[Signature] = field(default_factory=list)
    parameter_names: list[Signature] = field(default_factory=list)
    symbols: list[Pair] = field(default_factory=list)
    uncovered: list[str] = field(default_factory=list)  # newly declared, exported before and perhaps with another ABI
    deprecated: list[str] = field(default_factory=list)
    new_exports: list[str] = field(default_factory=list)
    gone_exports: list[str] = field(default_factory=list)
    new_records: list[Record] = field(default_factory=list)
    gone_records: list[Record] = field(default_factory=list)
    records: list[RecordChange] = field(default_factory=list)
    new_enumerators: list[Enumerator] = field(default_factory=list)
    gone_enumerators: list[Enumerator] = field(default_factory=list)
    enumerators: list[Pair] = field(default_factory=list)
    new_macros: list[Macro] = field(default_factory=list)
    gone_macros: list[Macro] = field(default_factory=list)
    macros: list[Pair] = field(default_factory=list)
    new_typedefs: list[Typedef] = field(default_factory=list)
    gone_typedefs: list[Typedef] = field(default_factory=list)
    typedefs: list[Pair] = field(default_factory=list)

    def is_exported(self, function: Function) -> bool:
        """Returns whether a declaration went while its symbol stayed."""
        return function.symbol in self.after.symbols

    def successor(self, record: str) -> str:
        """`#define cudaStreamAttrValue cudaLaunchAttributeValue`: what a gone type's name stands for now."""
        macro = self.after.macros.get(record)
        return macro.value if macro is not None and macro.value in self.after.records else ""

    @property
    def is_empty(self) -> bool:
        return not any(isinstance(value, list) and value for value in vars(self).values())


def compare(library: str, before: Api, after: Api) -> Changes:
    """Everything that differs between two toolkits of one library."""
    changes = Changes(library, before, after)
    _functions(changes)
    _exports(changes)
    _records(changes)
    _enumerators(changes)
    _macros(changes)
    _typedefs(changes)
    return changes


def prototype(function: Function) -> str:
    """The declaration as C, without default arguments."""
    params = ", ".join(param.type.declare(param.name) for param in function.params) or "void"
    return function.returns.declare(f"{function.name}({params})")


def _functions(changes: Changes) -> None:
    old, new = changes.before.functions, changes.after.functions
    changes.new_functions = [new[name] for name in sorted(new.keys() - old.keys())]
    changes.gone_functions = [old[name] for name in sorted(old.keys() - new.keys())]
    for name in sorted(old.keys() & new.keys()):
        pair = Signature(name, old[name], new[name])
        if (pair.before.signature, pair.before.returns) != (pair.after.signature, pair.after.returns):
            changes.signatures.append(pair)
        elif [p.name for p in pair.before.params] != [p.name for p in pair.after.params]:
            changes.parameter_names.append(pair)
        if _symbols(pair.before) != _symbols(pair.after):
            changes.symbols.append(Pair(name, _symbols(pair.before), _symbols(pair.after)))
        if pair.after.deprecated and not pair.before.deprecated:
            changes.deprecated.append(name)

    declared = {function.symbol for function in old.values()}
    uncovered = {function.symbol for function in new.values()} & changes.before.symbols.keys()
    changes.uncovered = sorted(uncovered - declared)


def _symbols(function: Function) -> str:
    return f"{function.symbol}, {function.ptds}" if function.ptds else function.symbol


def _exports(changes: Changes) -> None:
    """Exports that no header declares; the declared ones are among the functions."""
    declared = {name for api in (changes.before, changes.after) for f in api.functions.values() for name in _names(f)}
    old, new = changes.before.symbols.keys(), changes.after.symbols.keys()
    changes.new_exports = sorted(new - old - declared)
    changes.gone_exports = sorted(old - new - declared)


def _names(function: Function) -> set[str]:
    # The per-thread variant also under the plain name's suffixes: a header of another toolkit may map to it.
    return {function.symbol, function.ptds or "", f"{function.name}_ptsz", f"{function.name}_ptds"}


def _records(changes: Changes) -> None:
    old, new = changes.before.records, changes.after.records
    changes.new_records = [new[name] for name in sorted(new.keys() - old.keys())]
    changes.gone_records = [old[name] for name in sorted(old.keys() - new.keys())]
    for name in sorted(old.keys() & new.keys()):
        change = record_change(old[name], new[name])
        if change is not None:
            reached_by = _reached_by(changes.before, changes.after, name)
            changes.records.append(replace(change, reached_by=reached_by))


def record_change(before: Record, after: Record) -> RecordChange | None:
    """Returns what differs between two layouts of one record; None where nothing but reserved space's names does."""
    if before == after:
        return None
    old, new = fields(before), fields(after)
    both = [name for name in old if name in new]
    moved = [Pair(n, _place(old[n]), _place(new[n])) for n in both if _place(old[n]) != _place(new[n])]
    retyped = [Pair(n, _type(old[n]), _type(new[n])) for n in both if _type(old[n]) != _type(new[n])]
    gone, added = _outermost(old, new), _outermost(new, old)
    same_size = (before.size, before.align, before.kind) == (after.size, after.align, after.kind)
    if same_size and not (gone or added or moved or retyped):
        return None
    return RecordChange(after.name, before, after, gone, added, tuple(moved), tuple(retyped))


def _outermost(mine: dict[str, Field], other: dict[str, Field]) -> tuple[str, ...]:
    """The fields that the other layout lacks, without the members of those."""
    lacking = [path for path in mine if path not in other]
    return tuple(path for path in lacking if path.rpartition(".")[0] not in lacking)


def fields(record: Record) -> dict[str, Field]:
    """The named fields by the path that C reaches them with; reserved space is left out."""
    return {path: entry for path, entry in _paths(record, "", 0) if not _reserved(path)}


def _reserved(path: str) -> bool:
    return any(RESERVED.match(part) for part in path.split("."))


def _paths(record: Record, prefix: str, base: int) -> Iterator[tuple[str, Field]]:
    for member in record.members():
        path, offset = prefix + member.name, base + member.offset
        yield path, Field(member.name, offset, member.size, member.type, member.record, member.count, member.bits)
        if member.record is not None and member.count == 1:
            yield from _paths(member.record, f"{path}.", offset)


def _place(entry: Field) -> str:
    return f"{entry.offset}.{entry.bits[0]}:{entry.bits[1]}" if entry.bits else str(entry.offset)


def _type(entry: Field) -> str:
    if entry.type is not None:
        return entry.type.spelling
    assert entry.record is not None
    return entry.record.kind + (f" [{entry.count}]" if entry.count > 1 else "")


def _reached_by(before: Api, after: Api, record: str) -> tuple[str, ...]:
    """Functions that look the same in both toolkits and yet lead to a record that is not."""
    found = []
    for name, function in after.functions.items():
        known = before.functions.get(name)
        if known is not None and known.signature == function.signature:
            bases = (after.record_of(param.type) for param in function.params)
            if any(base is not None and _holds(after, base, record, set()) for base in bases):
                found.append(name)
    return tuple(found)


def _holds(api: Api, holder: Record, name: str, seen: set[str]) -> bool:
    if holder.name == name:
        return True
    if holder.name in seen:
        return False
    seen.add(holder.name)
    inner = (api.record_of(entry.type) for _, entry in _paths(holder, "", 0) if entry.type is not None)
    return any(record is not None and _holds(api, record, name, seen) for record in inner)


def _enumerators(changes: Changes) -> None:
    old, new = _listed(changes.before), _listed(changes.after)
    changes.new_enumerators = [new[name] for name in sorted(new.keys() - old.keys(), key=lambda n: _order(new[n]))]
    changes.gone_enumerators = [old[name] for name in sorted(old.keys() - new.keys(), key=lambda n: _order(old[n]))]
    for name in sorted(old.keys() & new.keys()):
        if old[name].value != new[name].value:
            changes.enumerators.append(Pair(name, str(old[name].value), str(new[name].value)))


def _listed(api: Api) -> dict[str, Enumerator]:
    return {
        name: Enumerator(name, enum.name, value) for enum in api.enums.values() for name, value in enum.values.items()
    }


def _order(entry: Enumerator) -> tuple[str, int, str]:
    return entry.enum, entry.value, entry.name


def _macros(changes: Changes) -> None:
    old, new = changes.before.macros, changes.after.macros
    changes.new_macros = [new[name] for name in sorted(new.keys() - old.keys())]
    changes.gone_macros = [old[name] for name in sorted(old.keys() - new.keys())]
    changes.macros = [
        Pair(name, old[name].value, new[name].value)
        for name in sorted(old.keys() & new.keys())
        if _tokens(old[name].value) != _tokens(new[name].value)
    ]


def _tokens(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _typedefs(changes: Changes) -> None:
    old, new = changes.before.typedefs, changes.after.typedefs
    changes.new_typedefs = [new[name] for name in sorted(new.keys() - old.keys())]
    changes.gone_typedefs = [old[name] for name in sorted(old.keys() - new.keys())]
    changes.typedefs = [
        Pair(name, old[name].type.spelling, new[name].type.spelling)
        for name in sorted(old.keys() & new.keys())
        if old[name].type.spelling != new[name].type.spelling
    ]
