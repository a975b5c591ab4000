"""What people wrote, held against the facts: every name that spec/ mentions is in some toolkit, and is needed.

The schemas say what a file may look like; this says that what it speaks of exists. A name is right if any
toolkit has it, since the spec serves whichever toolkit is presented.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .abi import Router
from .ctype import BUILTINS
from .errors import GeneratorError, Location, Stops
from .model import Api, Function, Library, Record
from .spec import Decision, Parameters, Spec
from .yamlfile import ROOT, Mapping, Sequence, name_of, where

STUBS = Path(__file__).parent / "stubs"
HELPERS = ROOT / "src" / "core" / "decisions.h"
CHANNEL_KIND = "cudaChannelFormatKind"
# What has the bits that its caller gives it.
CHANNEL_PLAIN = {CHANNEL_KIND + name for name in ("Signed", "Unsigned", "Float", "None")}

Problem = tuple[Location, str]


def names_of_libraries(spec: Spec) -> None:
    """Raises the first part of spec/ that is about no library of spec/libraries.yaml."""
    parts = [
        (name, where(document, name))
        for document in (spec.errors, spec.error_strings, spec.groups, spec.simulator)
        for name in document
    ]
    parts += [(file.stem, Location(name_of(file), 1)) for file in sorted((spec.root / "parameters").glob("*.yaml"))]
    facts = (folder for folder in sorted(spec.facts.iterdir()) if any(folder.glob("*.json")))
    parts += [(folder.name, where(spec.libraries)) for folder in facts]
    _raise((at, f"spec/libraries.yaml has no library `{name}`") for name, at in parts if name not in spec.libraries)


def open_questions(info: Mapping, library: Library) -> None:
    """Raises what a library has and spec/libraries.yaml says nothing of: symbols without a declaration, formats."""
    stops = Stops()
    bound = {name for api in library.apis for f in api.functions.values() for name in (f.name, f.symbol, f.ptds)}
    exported = {name for api in library.apis for name in api.symbols}
    said = {
        name for names in info.get("undeclared", {}).values() for one in names for name in fnmatch.filter(exported, one)
    }
    for name in info.get("foreign", ()):
        if any(name in api.symbols for api in library.apis):
            message = f"{info['file']} exports {name} itself, so nothing foreign is known by it"
            stops.found.append(GeneratorError(message, where(info["foreign"], name)))
    for name in sorted(exported - bound - said):
        toolkit = next(api.toolkit for api in library.apis if name in api.symbols)
        message = f"{info['file']} exports {name} since {toolkit}, which no header declares: say why under `undeclared`"
        stops.found.append(GeneratorError(message, where(info, "undeclared")))
    bits = {CHANNEL_KIND + name for names in info.get("channel_bits", {}).values() for name in names}
    for name in _values_of(library.newest, CHANNEL_KIND) if bits else ():
        if name not in bits | CHANNEL_PLAIN:
            message = f"{name} has no bits: add it to its row of `channel_bits`"
            stops.found.append(GeneratorError(message, where(info, "channel_bits")))
    stops.end()


def sonames(spec: Spec, libraries: Collection[Library]) -> None:
    """Raises each major version of the runtime whose library of another kind would not be found by its soname.

    A library of which only the newest header is read has one soname in the facts; the older ones are typed. What comes
    with the driver has one soname for all.
    """
    stops = Stops()
    cudas = [library for library in libraries if "product" not in spec.libraries[library.name]]
    majors = sorted({api.version // 1000 for library in cudas for api in library.apis})
    for library in cudas:
        info = spec.libraries[library.name]
        if info.get("newest_only") and info["shared_object"]:
            known = [*info.get("sonames", ()), *(api.soname for api in library.apis)]
            for major in (major for major in majors if major >= info.get("oldest", 0) // 1000):
                if not any(re.search(rf"\.so\.{major}(\.|$)", soname) for soname in known):
                    message = f"no soname of {info['file']} is of CUDA {major}: add it to `sonames`"
                    stops.found.append(GeneratorError(message, where(info, "sonames")))
    stops.end()


def library_entry(info: Mapping, library: Library) -> None:
    """Raises the first mistake in what spec/libraries.yaml says of one library, in the file's order."""
    _raise(_library(info, library))


def parameters(given: Parameters, library: Library, driver: Library | None = None) -> None:
    """Raises the first mistake of spec/parameters/<library>.yaml, in the file's order."""
    _raise(_Checker(given.document, library, driver).problems())


def renumbered(given: Parameters, library: Library, version_macro: str) -> None:
    """Raises every enumerator and macro whose number another toolkit has otherwise, unless that is known to do no harm.

    A program is compiled with the presented number, so a library of the other toolkit would take it for another one.
    """
    known = {version_macro}.union(*given.section("renumbered").values())
    stops = Stops()
    # The macros of cudaTypedefs.h and the like name types of functions, which no library is given.
    macros = {name for name, macro in library.presented.macros.items() if not macro.header.endswith("Typedefs.h")}
    for name in sorted({*library.presented.enumerators, *macros} - known):
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
    _raise(problem for decision in made for problem in _decision(decision, library, declared))


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


def _library(info: Mapping, library: Library) -> Iterator[Problem]:
    declared = _declared(library)
    lasting = set.intersection(*({*api.functions, *api.symbols} for api in library.apis))
    yield from _unknown("a function", info["version_symbol"], where(info, "version_symbol"), declared)
    for index, name in enumerate(info["sentinels"]):
        if name not in lasting:
            yield from _unknown("a function", name, where(info["sentinels"], index), declared)
            if name in declared:
                yield where(info["sentinels"], index), f"not every toolkit has `{name}`, so it tells no stub"
    if "version_macro" in info:
        yield from _unknown("a macro", info["version_macro"], where(info, "version_macro"), library.presented.macros)
    yield from _result(info, library)
    yield from _file(info, library)
    yield from _headers(info, library)
    records = {name for api in library.apis for name in api.records}
    exported = {name for api in library.apis for name in api.symbols}
    for names in info.get("undeclared", {}).values():
        for index, name in enumerate(names):
            if not fnmatch.filter(exported, name):
                yield from _unknown("an exported symbol", name, where(names, index), exported)
    for key in ("one_byte", "unimplemented"):
        for index, name in enumerate(info.get(key, ())):
            yield from _unknown("a function", name, where(info[key], index), declared)
    for key in ("shared_guards", "cxx"):
        for name in info.get(key, ()):
            yield from _unknown("a struct or union", name, where(info[key], name), records)
    kinds = {name.removeprefix(CHANNEL_KIND) for api in library.apis for name in _values_of(api, CHANNEL_KIND)}
    for names in info.get("channel_bits", {}).values():
        for index, name in enumerate(names):
            yield from _unknown(f"a {CHANNEL_KIND}", name, where(names, index), kinds)


def _result(info: Mapping, library: Library) -> Iterator[Problem]:
    """The result type, and the errors by which anycuda answers."""
    if info["result"] not in library.presented.typedefs:
        yield from _unknown("a type", info["result"], where(info, "result"), library.presented.typedefs)
        return
    errors = _values_of(library.presented, library.presented.typedefs[info["result"]].type.base)
    for key, name in info["errors"].items():
        yield from _unknown(f"an enumerator of {info['result']}", name, where(info["errors"], key), errors)
    for kind, name in info.get("refused", {}).items():
        known = _values_of(library.presented, kind)
        yield from _unknown(f"an enumerator of {kind}", name, where(info["refused"], kind), known)


def _file(info: Mapping, library: Library) -> Iterator[Problem]:
    """The name of the library's file, and of the variable by which users choose one."""
    if info["environment"] != f"ANYCUDA_{library.name.upper()}":
        yield where(info, "environment"), f"the variable of `{library.name}` is ANYCUDA_{library.name.upper()}"
    named = [(api.soname, where(info, "file")) for api in library.apis if api.soname]
    named += [(soname, where(info["sonames"], index)) for index, soname in enumerate(info.get("sonames", ()))]
    for soname, at in named if "product" not in info else ():
        if not soname.startswith(f"{info['file']}.so."):
            yield at, f"`{soname}` is no file of `{info['file']}`"


def _headers(info: Mapping, library: Library) -> Iterator[Problem]:
    """NVIDIA's headers, and those of anycuda that stand in for them."""
    shipped = {header for api in library.apis for header in api.headers}
    for key in ("headers", "interop", "apart"):
        for index, header in enumerate(info.get(key, ())):
            if not (STUBS / header).exists():
                yield from _unknown("a header", header, where(info[key], index), shipped)
    folders = (ROOT / "templates" / "include" / "anycuda", ROOT / "include" / "anycuda")
    files = (str(file.relative_to(folder)) for folder in folders for file in folder.rglob("*.h*"))
    ours = {file.removesuffix(".j2").replace("LIBRARY", library.name) for file in files}
    for header, name in info.get("compat", {}).items():
        if name not in ours:
            yield where(info["compat"], header), f"anycuda has no header `{name}`"
    for header in info.get("compat_with", {}):
        yield from _unknown("a header", header, where(info["compat_with"], header), info.get("compat", {}))


def _values_of(api: Api, enum: str) -> Collection[str]:
    return api.enums[enum].values if enum in api.enums else ()


def _declared(library: Library) -> dict[str, list[Function]]:
    """Returns each name that users or the library have for a function -> what the toolkits declare under it."""
    found: dict[str, list[Function]] = {}
    for api in library.apis:
        for function in api.functions.values():
            for name in {function.name, function.symbol}:
                found.setdefault(name, []).append(function)
    return found


def _decision(decision: Decision, library: Library, declared: dict[str, list[Function]]) -> Iterator[Problem]:
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
    yield from _Fragments(decision, library, family).problems(declared)


# What C and src/core/decisions.h have; a decision's fragments may speak of it.
C_WORDS = {
    *("NULL", "SIZE_MAX", "char", "const", "else", "enum", "if", "int", "long", "result", "return", "size_t"),
    *("sizeof", "struct", "uintptr_t", "unsigned", "void"),
}


class _Fragments:
    """The C of one decision: which names it uses, and whether they are there."""

    def __init__(self, decision: Decision, library: Library, family: list[Function]) -> None:
        self.decision = decision
        self.library = library
        presented = [function for function in family if function.signature == decision.presents]
        newest = library.newest.functions.get(decision.function)
        self.presented = presented[0] if presented else newest or family[-1]
        self.answers = [function for function in family if function.signature == decision.answers_to]

    def problems(self, declared: dict[str, list[Function]]) -> Iterator[Problem]:
        made = self.decision
        known = self.names()
        for fragment in (*made.locals, *made.args, *made.after, *(refusal.condition for refusal in made.refuse)):
            for name in _used_names(fragment) - known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                yield made.where, f"`{fragment}` speaks of `{name}`, which is not known there{hint}"
        for refusal in made.refuse:
            yield from self.refused(refusal.what)
            if refusal.code:
                yield from _unknown("an enumerator", refusal.code, made.where, self.library.presented.enumerators)
        targets = declared.get(made.call, []) if made.call else self.answers
        counts = sorted({len(function.params) for function in targets})
        wanted = [0] if made.same or made.absent else counts
        if wanted and len(made.args) not in wanted:
            takes = " or ".join(map(str, wanted))
            yield made.where, f"{made.call or made.function} is called with {len(made.args)} arguments, not {takes}"

    def names(self) -> set[str]:
        """What a fragment may speak of: parameters, its own variables, CUDA's constants and types, helpers."""
        apis = self.library.apis
        cuda = {name for api in apis for kind in (api.enumerators, api.macros, api.typedefs) for name in kind}
        cuda |= {name for api in apis for kind in (api.records, api.enums) for name in kind}
        variables = {match[1] for one in self.decision.locals if (match := re.search(r"(\w+)\s*[=;\[]", one))}
        functions = {f"acu_function_{self.presented.name}"}
        return {param.name for param in self.presented.params} | variables | cuda | functions | C_WORDS | _helpers()

    def refused(self, path: str) -> Iterator[Problem]:
        name, _, field = path.partition(".")
        param = next((one for one in self.presented.params if one.name == name), None)
        if param is None:
            yield self.decision.where, f"{self.decision.function} has no parameter `{path}` to refuse"
            return
        records = [record for api in self.library.apis if (record := api.record_of(param.type))]
        if field and not any(field in _paths(record) for record in records):
            yield (
                self.decision.where,
                f"parameter `{name}` of {self.decision.function} has no field `{field}` to refuse",
            )


def _used_names(fragment: str) -> set[str]:
    """The names in a piece of C, but for fields and what stands in quotes."""
    bare = re.sub(r'"[^"]*"', "", fragment)
    return set(re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", bare))


@cache
def _helpers() -> frozenset[str]:
    return frozenset(re.findall(r"\bacu_\w+(?=\()", HELPERS.read_text(encoding="utf-8")))


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
        self.types = self.enums | self.typedefs | {name for api in self.apis for name in api.records}
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
            for name in entry["types"]:
                yield from self.type(entry["types"], name)
        for section in ("renumbered", "not_flags"):
            for names in self.section(section).values():
                yield from self.listed(names)
        for section in ("results", "quirks"):
            for name in self.section(section):
                yield from _unknown("a function", name, where(self.section(section), name), self.declared)
        for values in self.section("results").values():
            yield from self.listed(values)
        for name, special in self.section("handles").items():
            yield from _unknown("a handle", name, where(self.section("handles"), name), self.typedefs)
            yield from self.listed(special)
            for macro, value in special.items():
                texts = {api.macros[macro].value for api in self.apis if macro in api.macros}
                if not all(re.search(rf"\b(0x)?{value:x}\b", text) for text in texts):
                    yield where(special, macro), f"{macro} is not {value}"

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

    def type(self, entry: Mapping, key: str) -> Iterator[Problem]:
        """The C type behind a void *."""
        base = re.sub(r"\b(const|enum|struct|union)\b|\*", "", entry[key]).strip()
        yield from _unknown("a type", base, where(entry, key), {*self.types, *BUILTINS})

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
            if "type" in entry:
                yield from self.type(entry, "type")

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
        if "at" in union and union["at"] not in paths:
            yield from _field(record, union["at"], where(union, "at"), paths)
            return
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
