"""What people wrote, held against the facts: every name that spec/ mentions is in some toolkit, and is needed.

The schemas say what a file may look like; this says that what it speaks of exists. A name is right if any
toolkit has it, since the spec serves whichever toolkit is presented.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from .abi import Router
from .errors import GeneratorError, Location, Stops
from .model import Function, Library, Record
from .spec import Decision, Parameters
from .yamlfile import Mapping, Sequence, where

Problem = tuple[Location, str]


def parameters(given: Parameters, library: Library, driver: Library | None = None) -> None:
    """Raises the first mistake of spec/parameters/<library>.yaml, in the file's order."""
    _raise(_Checker(given.document, library, driver).problems())


def renumbered(given: Parameters, library: Library, version_macro: str) -> None:
    """Raises every enumerator and macro whose number another toolkit has otherwise, unless that is known to do no harm.

    A program is compiled with the presented number, so a library of the other toolkit would take it for another one.
    """
    known = {version_macro}.union(*given.section("renumbered").values())
    stops = Stops()
    for name in sorted({*library.presented.enumerators, *library.presented.macros} - known):
        ours = library.presented.constant(name)
        theirs: dict[int | str, str] = {}
        for api in library.apis:
            found = library.constant_there(api, name)
            if found is not None and found != ours:
                theirs[found] = api.toolkit
        if theirs:
            listed = " and ".join(f"{value} in {toolkit}" for value, toolkit in theirs.items())
            message = (
                f"{name} is {ours} in {library.presented.toolkit}, but {listed}, and nothing translates it;"
                " if no call is wrong for that, name it under `renumbered` with the reason"
            )
            stops.found.append(GeneratorError(message, given.at("renumbered")))
    stops.end()


def decisions(made: Iterable[Decision], library: Library) -> None:
    """Raises the first decision that speaks of something that is not there."""
    declared = _declared(library)
    _raise(problem for decision in made for problem in _decision(decision, declared))


def used(router: Router) -> None:
    """Raises the first decision that nothing needs. Only the newest API needs all but those for older ones."""
    if router.library.presented is router.library.newest:
        idle = (one for one in router.decisions if not one.presents and one.key not in router.used)
        _raise((one.where, f"nothing needs the decision on {one.key} any more; remove it") for one in idle)


def _raise(problems: Iterable[Problem]) -> None:
    found = sorted(problems, key=lambda problem: problem[0].line)
    if found:
        more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
        raise GeneratorError(found[0][1] + more, found[0][0])


def _unknown(what: str, name: str, at: Location, known: Collection[str]) -> Iterator[Problem]:
    """Returns a problem unless the name is known."""
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        yield at, f"no toolkit has {what} `{name}`{hint}"


def _declared(library: Library) -> dict[str, list[Function]]:
    """Returns each name that users or the library have for a function -> what the toolkits declare under it."""
    found: dict[str, list[Function]] = {}
    for api in library.apis:
        for function in api.functions.values():
            for name in {function.name, function.symbol}:
                found.setdefault(name, []).append(function)
    return found


def _decision(decision: Decision, declared: dict[str, list[Function]]) -> Iterator[Problem]:
    if decision.function not in declared:
        yield from _unknown("a function", decision.function, decision.where, declared)
        return
    # What answers may stand under the name with a version suffix.
    names = [name for name in declared if re.sub(r"_v\d+$", "", name) == decision.function or name == decision.function]
    family = [function for name in names for function in declared[name]]
    for what, signature in (("answers", decision.answers_to), ("presents", decision.presents)):
        if (signature or what == "answers") and signature not in {function.signature for function in family}:
            yield decision.where, f"{what}: no toolkit declares {decision.function}({', '.join(signature)})"
    if decision.call:
        yield from _unknown("a function", decision.call, decision.where, declared)
    params = {param.name for function in family for param in function.params}
    for refusal in decision.refuse:
        if refusal.what.split(".")[0] not in params:
            yield decision.where, f"{decision.function} has no parameter `{refusal.what}` to refuse"


class _Checker:
    """One file of spec/parameters, section by section."""

    def __init__(self, document: Mapping, library: Library, driver: Library | None) -> None:
        self.document = document
        self.apis = library.apis
        self.declared = _declared(library)
        self.constants = _constants(library)
        self.attributes = self.constants | (_constants(driver) if driver else set())
        self.enums = {name for api in self.apis for name in api.enums}
        self.typedefs = {name for api in self.apis for name in api.typedefs}
        self.records: dict[str, set[str]] = {}
        for api in self.apis:
            for record in api.records.values():
                self.records.setdefault(record.name, set()).update(_paths(record))

    def problems(self) -> Iterator[Problem]:
        for name, entries in self.section("functions").items():
            yield from self.function(name, entries)
        for name, entry in self.section("records").items():
            yield from self.record(name, entry)
        for section in ("flags", "constants"):
            yield from self.sets(self.section(section))
        for entry in self.section("values").values():
            yield from self.enum(entry, "enum")
            yield from self.listed(entry["types"])
        for names in self.section("renumbered").values():
            yield from self.listed(names)
        for section in ("results", "quirks"):
            for name in self.section(section):
                yield from _unknown("a function", name, where(self.section(section), name), self.declared)
        for values in self.section("results").values():
            yield from self.listed(values)
        for name, special in self.section("handles").items():
            yield from _unknown("a handle", name, where(self.section("handles"), name), self.typedefs)
            yield from self.listed(special)

    def section(self, name: str) -> Mapping:
        found: Mapping = self.document.get(name) or Mapping(self.document.at)
        return found

    def listed(self, names: Sequence | Mapping) -> Iterator[Problem]:
        """Enumerators or macros, in a list or as keys."""
        for index, name in enumerate(names):
            at = where(names, name if isinstance(names, Mapping) else index)
            yield from _unknown("an enumerator or macro", name, at, self.constants)

    def enum(self, entry: Mapping, key: str) -> Iterator[Problem]:
        if key in entry:
            yield from _unknown("an enum", entry[key], where(entry, key), self.enums | self.typedefs)

    def sets(self, section: Mapping) -> Iterator[Problem]:
        for name, bits in section.items():
            if isinstance(bits, str):
                yield from _unknown("an enum", bits, where(section, name), self.enums | self.typedefs)
            else:
                yield from self.listed(bits)

    def named_sets(self, entry: Mapping) -> Iterator[Problem]:
        """What a parameter or field says of the values that it takes."""
        for key, section in (("flags", "flags"), ("value_of", "values")):
            if key in entry and entry[key] not in self.section(section):
                known = ", ".join(self.section(section)) or "none"
                yield where(entry, key), f"there is no `{entry[key]}` under `{section}`; known: {known}"
        if entry.get("enum") not in self.section("constants"):
            yield from self.enum(entry, "enum")

    def function(self, name: str, entries: Mapping) -> Iterator[Problem]:
        if name not in self.declared:
            yield from _unknown("a function", name, where(self.section("functions"), name), self.declared)
            return
        declarations = [{param.name for param in function.params} for function in self.declared[name]]
        for param, entry in entries.items():
            having = [names for names in declarations if param in names]
            if not having:
                known = ", ".join(sorted(set().union(*declarations))) or "none"
                yield where(entries, param), f"{name} has no parameter `{param}` in any toolkit; known: {known}"
                continue
            for key, other in _siblings(entry):
                if not any(other in names for names in having):
                    yield where(entry, key), f"{name} has no parameter `{other}` beside `{param}` in any toolkit"
            yield from self.named_sets(entry)

    def record(self, name: str, entry: Mapping) -> Iterator[Problem]:
        if name not in self.records:
            yield from _unknown("a struct or union", name, where(self.section("records"), name), self.records)
            return
        paths = self.records[name]
        for key in ("fields", "reserved", "padding", "opaque", "absent", "harmless", "attributes"):
            for index, path in enumerate(entry.get(key, ())):
                at = where(entry[key], path if isinstance(entry[key], Mapping) else index)
                yield from _field(name, path, at, paths)
        for path, given in entry.get("fields", {}).items():
            inside = path.rpartition(".")[0]
            for key, other in _siblings(given):
                if not {other, f"{inside}.{other}"} & paths:
                    yield from _field(name, other, where(given, key), paths)
            yield from self.named_sets(given)
        for key, known in (("absent", self.constants), ("harmless", self.constants), ("attributes", self.attributes)):
            for path, value in entry.get(key, {}).items():
                for one in [value] if isinstance(value, str) else value if isinstance(value, list) else ():
                    yield from _unknown("an enumerator or macro", one, where(entry[key], path), known)
        for union in entry.get("unions", ()):
            yield from self.union(name, union, paths)

    def union(self, record: str, union: Mapping, paths: set[str]) -> Iterator[Problem]:
        prefix = f"{union['at']}." if "at" in union else ""
        if union["by"] != "argument":
            yield from _field(record, union["by"], where(union, "by"), paths)
        for member, values in union["members"].items():
            yield from _field(record, prefix + member, where(union["members"], member), paths)
            yield from self.listed(values)
        if "otherwise" in union:
            yield from _field(record, prefix + union["otherwise"], where(union, "otherwise"), paths)


def _field(record: str, path: str, at: Location, known: set[str]) -> Iterator[Problem]:
    if path not in known:
        near = difflib.get_close_matches(path, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        yield at, f"{record} has no field `{path}` in any toolkit{hint}"


def _siblings(entry: Any) -> Iterator[tuple[str, str]]:
    """The parameters or fields that one refers to, each with the key that does."""
    for key in ("length", "target_length", "tag", "tags", "bytes"):
        if key in entry:
            yield key, entry[key]
    for name in entry.get("elements", {}).get("divide", ()):
        yield "elements", name


def _constants(library: Library) -> set[str]:
    return {name for api in library.apis for name in (*api.enumerators, *api.macros)}


def _paths(record: Record, prefix: str = "") -> Iterator[str]:
    """Every member, those of unnamed records inside included."""
    for member in record.members():
        yield prefix + member.name
        if member.record is not None:
            yield from _paths(member.record, f"{prefix}{member.name}.")
