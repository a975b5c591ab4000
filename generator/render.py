"""Facts and spec in, text out: every generated file, as a pure function of what is committed.

`python -m generator render` writes the files, `check` compares them with what is committed.
"""

from __future__ import annotations

import argparse
import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from . import facts, gates, report, simulator, verify
from .abi import COPY, PREFIX, Route, Router
from .ctype import CType
from .describe import Describer, ParamRow, TypeRow
from .errors import GeneratorError
from .model import Api, Field, Function, Library, Record
from .spec import Decision, Parameters, Spec
from .typesheet import record_lines, since_macro, type_sheet
from .yamlfile import ROOT, Sequence

TEMPLATES = ROOT / "templates"
GENERATED = ROOT / "generated"
SPEC = Spec()


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
    target: str  # "cudaError_t (*)(…)"
    args: tuple[str, ...]
    structs: tuple[StructArg, ...] = ()
    decision: Decision | None = None
    refusals: tuple[Refusal, ...] = ()
    hook: bool = False
    attributes: str = ""


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
    feature: str | None
    header: str = ""

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def ptds(self) -> bool:
        return bool(self.eras_ptds)

    @property
    def status(self) -> bool:
        return self.function.returns.base not in ("char", "void") and not self.function.returns.tag

    @property
    def local(self) -> str:
        """A name for the result that is no parameter's."""
        return self._free("result", "outcome")

    @property
    def args(self) -> str:
        """A name for the struct of the arguments."""
        return self._free("args", "given")

    def _free(self, *names: str) -> str:
        taken = {p.name for p in self.function.params}
        return next(name for name in names if name not in taken)

    @property
    def declaration(self) -> str:
        return ", ".join(p.type.declare(p.name) for p in self.function.params) or "void"

    @property
    def defaulted(self) -> str:
        parts = (
            p.type.declare(p.name) + (f" ACU_DEFAULT({p.default})" if p.default else "") for p in self.function.params
        )
        return ", ".join(parts) or "void"

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
        """Library symbols whose text differs from the function's name, each once in the whole file."""
        found = {era.symbol for era in (*self.eras, *self.eras_ptds) if era.symbol}
        return sorted(found - {self.name})

    def symbol_ref(self, symbol: str | None) -> str:
        if symbol is None:
            return "NULL"
        return f"name_{self.name}" if symbol == self.name else f"symbol_{self.name}_{symbol}"

    @property
    def kept_arguments(self) -> str:
        return ", ".join(f"{self.args}.{p.name}" for p in self.function.params)

    @property
    def args_address(self) -> str:
        return f"&{self.args}" if self.function.params else "NULL"

    @property
    def pointer_type(self) -> str:
        return _pointer_type(self.function)

    @property
    def returns(self) -> str:
        return "ACU_RETURNS_STATUS" if self.status else "ACU_RETURNS_OTHER"

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
    slots: list[Slot] = field(default_factory=list)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    simulated: list[simulator.Entry] = field(default_factory=list)

    shared_records: set[str] = field(default_factory=set)
    result_type: str = ""

    @property
    def presented(self) -> Api:
        return self.library.presented

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
        """Newest first: what the toolkits' libraries call themselves, then what spec/libraries.yaml adds."""
        found = [api.soname for api in reversed(self.library.apis) if api.soname]
        return list(dict.fromkeys([*found, *self.info.get("sonames", ())]))

    @property
    def sentinels(self) -> list[str]:
        """A few symbols that every known version exports and that say it is the real thing."""
        common = set.intersection(*(set(api.symbols) for api in self.library.apis))
        return [name for name in self.info.get("sentinels", ()) if name in common]

    @property
    def markers(self) -> list[tuple[int, str]]:
        """Per version, the first symbol (by name) that no older one exports."""
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


def load_libraries(presented: str | None = None, spec: Spec = SPEC) -> list[Library]:
    """All libraries of spec/libraries.yaml that there are facts of."""
    found = []
    for name, info in spec.libraries.items():
        folder = spec.facts / name
        if any(folder.glob("*.json")):
            found.append(Library(name, facts.read_all(folder), None if info.get("newest_only") else presented))
    return found


def bind(
    library: Library, driver: Library | None = None, features: dict[str, str] | None = None, spec: Spec = SPEC
) -> Bindings:
    """Everything the templates need to know of one library; `driver` is the one below it, if it has one."""
    info = spec.libraries[library.name]
    parameters = spec.parameters(library.name)
    verify.parameters(parameters, library, driver)
    router = Router(library, parameters, spec.decisions if info.get("adapt") else [])
    verify.decisions(router.decisions, library)
    bindings = Bindings(library.name, info, library, router, Describer(library, parameters, router, driver))
    for function in library.presented.functions.values():
        bindings.slots.append(_slot(bindings, parameters, function, library.presented, False, features or {}))
    if info.get("adapt"):
        for gone, api in library.gone_functions().values():
            alias = library.alias_of(gone)
            if alias is not None:
                bindings.aliases.append((gone.name, alias.name))
            else:
                bindings.slots.append(_slot(bindings, parameters, gone, api, True, features or {}))
    verify.used(router)
    bindings.result_type = bindings.describer.result_type(info["result"])
    bindings.simulated = simulator.entries(spec, library, bindings.slots)
    return bindings


def served(bindings: list[Bindings]) -> dict[str, tuple[int, int]]:
    """Since and until of each function that users can call, adapters included."""
    return {slot.name: (slot.since, slot.until) for one in bindings for slot in one.slots}


def _slot(
    bindings: Bindings, parameters: Parameters, function: Function, home: Api, gone: bool, features: dict[str, str]
) -> Slot:
    quirk = parameters.section("quirks").get(function.name)
    hook = quirk is not None
    adapters: dict[object, Adapter] = {}
    routes: list[Route] = []
    if bindings.info.get("adapt"):
        routes = bindings.router.routes(function, home)
        eras, eras_ptds = _eras(bindings, function, home, routes, adapters, hook)
    else:
        eras = [Era(0, function.symbol, None)]
        eras_ptds = [Era(0, function.ptds, None)] if function.ptds else []
    span = _span(bindings, function, routes)
    return Slot(
        function=function,
        home=home,
        gone=gone,
        since=span[0],
        until=span[1],
        eras=eras,
        eras_ptds=eras_ptds,
        params=bindings.describer.params(function, home),
        adapters=list(adapters.values()),
        hook=hook,
        quirks=[f"ACU_QUIRK_{quirk.upper()}"] if quirk else [],
        results=list(parameters.section("results").get(function.name, ())),
        feature=features.get(function.name),
        header="interop" if function.header in bindings.info.get("interop", ()) else "",
    )


def _span(bindings: Bindings, function: Function, routes: list[Route]) -> tuple[int, int]:
    """First and last version that can serve the function; 0 where that is beyond what is known."""
    library = bindings.library
    if not routes:
        return library.symbol_span(function.symbol)
    served = [route.api.version for route in routes if route.target is not None]
    since = 0 if served[0] == library.oldest.version else served[0]
    until = 0 if served[-1] == library.newest.version else served[-1]
    return since, until


def _eras(
    bindings: Bindings, function: Function, home: Api, routes: list[Route], adapters: dict[object, Adapter], hook: bool
) -> tuple[list[Era], list[Era]]:
    """One era per run of toolkits that are served alike; the same for the per-thread default stream, if it differs."""
    each: list[Era] = []
    for index, route in enumerate(routes):
        adapter = None
        if route.target is not None and (route.adapter or hook):
            key = route.adapter or "hook"
            if key not in adapters:
                adapters[key] = _adapter(bindings, function, home, routes, index, len(adapters), hook)
            adapter = adapters[key].name
        each.append(Era(0 if index == 0 else route.api.version, route.target.symbol if route.target else None, adapter))
    plain = _with_ptds(each, [era.symbol for era in each])
    if not any(route.target and route.target.ptds for route in routes):
        return plain, []
    return plain, _with_ptds(
        each, [(target.ptds or target.symbol) if target else None for target in (route.target for route in routes)]
    )


def _with_ptds(eras: list[Era], symbols: list[str | None]) -> list[Era]:
    """The eras of the per-thread default stream: one symbol per toolkit, equal neighbours joined as before."""
    joined: list[Era] = []
    for era, symbol in zip(eras, symbols, strict=True):
        if not joined or (joined[-1].symbol, joined[-1].adapter) != (symbol, era.adapter):
            joined.append(Era(era.since, symbol, era.adapter))
    return joined


def _adapter(
    bindings: Bindings, function: Function, home: Api, routes: list[Route], index: int, number: int, hook: bool
) -> Adapter:
    route = routes[index]
    assert route.target is not None
    name = f"{'hook' if hook else 'adapt'}_{function.name}{number if number else ''}"
    structs = tuple(_struct_arg(bindings, function, home, param, mode) for param, mode in route.structs)
    decision = route.decision
    target = route.target if decision else function
    args = decision.args if decision else tuple(p.name for p in function.params)
    args = tuple(_through(arg, structs) for arg in args)
    return Adapter(
        name=name,
        comment=_comment(route, structs),
        target=_pointer_type(target),
        args=args,
        structs=structs,
        decision=decision,
        refusals=_refusals(decision, routes, index),
        hook=hook,
        attributes=_attributes(bindings, function, home, structs),
    )


def _pointer_type(function: Function) -> str:
    return f"{function.returns.spelling} (*)({', '.join(function.signature) or 'void'})"


def _through(arg: str, structs: tuple[StructArg, ...]) -> str:
    copied = next((s for s in structs if s.name == arg and s.mode == COPY), None)
    return f"({arg} == NULL) ? NULL : (void *)&loaded_{arg}" if copied else arg


def _comment(route: Route, structs: tuple[StructArg, ...]) -> str:
    if route.decision is not None:
        return " ".join(route.decision.reason.split())
    if not structs:
        return "Answers also where the library cannot."
    parts = []
    for struct in structs:
        how = (
            "is checked or filled where the loaded layout ends"
            if struct.mode == PREFIX
            else "goes through the loaded layout"
        )
        parts.append(f"{struct.name} {how}")
    return "; ".join(parts) + "."


def _refusals(decision: Decision | None, routes: list[Route], index: int) -> tuple[Refusal, ...]:
    """What the decision refuses; too new is what the next era without the decision can do."""
    if decision is None:
        return ()
    later = (r.api.version for r in routes[index:] if r.target is not None and r.decision is not decision)
    since = next(later, 0)
    return tuple(Refusal(r.condition, r.what, since if r.newer else 0, r.why, r.code) for r in decision.refuse)


def _struct_arg(bindings: Bindings, function: Function, home: Api, name: str, mode: str) -> StructArg:
    param = next(p for p in function.params if p.name == name)
    extra = bindings.describer.parameters.param(function.name, name)
    record = home.record_of(param.type)
    assert record is not None
    length = extra.get("length")
    count = "1"
    if length:
        counter = next(p for p in function.params if p.name == length)
        count = f"({length} == NULL ? 0 : (size_t)*{length})" if counter.type.depth else f"(size_t){length}"
    return StructArg(
        name=name,
        index=[p.name for p in function.params].index(name),
        mode=mode,
        direction=bindings.describer.direction(function, home, name),
        by_value=not home.strip(param.type).pointers,
        count=count,
        tag=f"(int){extra['tag']}" if "tag" in extra else "0",
        size=bindings.describer.loaded_size(record),
    )


def _attributes(bindings: Bindings, function: Function, home: Api, structs: tuple[StructArg, ...]) -> str:
    """The record whose missing fields device attributes can fill, if the call says which device."""
    names = {p.name for p in function.params}
    for struct in structs:
        param = next(p for p in function.params if p.name == struct.name)
        record = home.record_of(param.type)
        if (
            record
            and struct.comes_out
            and "device" in names
            and bindings.describer.parameters.record(record.name).get("attributes")
        ):
            return record.name
    return ""


# ---- output


def render(presented: str | None = None, spec: Spec = SPEC) -> dict[str, str]:
    """Every generated source: its path below generated/, and its text."""
    features = gates.load(spec.features)
    return sources(bind_all(load_libraries(presented, spec), features, spec), features)


def bind_all(libraries: list[Library], features: Sequence | None = None, spec: Spec = SPEC) -> list[Bindings]:
    """The libraries' bindings, each knowing what it shares with the others."""
    by_name = {library.name: library for library in libraries}
    titles = gates.titles(features, libraries) if features is not None else {}
    bindings = [bind(one, by_name.get("cuda") if one.name == "cudart" else None, titles, spec) for one in libraries]
    for one in bindings:
        others = (other.presented.records.keys() for other in bindings if other is not one)
        one.shared_records = one.presented.records.keys() & set().union(*others)
    return bindings


def sources(bindings: list[Bindings], features: Sequence, templates: Path = TEMPLATES) -> dict[str, str]:
    """What the templates make of the bindings."""
    libraries = [one.library for one in bindings]
    all_gates = gates.derive(features, libraries, served(bindings))
    versions = sorted({api.version for library in libraries for api in library.apis})
    environment = _environment(templates)
    outputs: dict[str, str] = {}
    for file in sorted(templates.rglob("*.j2")):
        path = str(file.relative_to(templates)).removesuffix(".j2")
        if path.startswith("docs/"):
            continue
        template = environment.get_template(path + ".j2")
        if "COMPAT" in path:
            for one in bindings:
                for header in (*one.info.get("compat", ()), *one.info.get("compat_empty", ())):
                    outputs[path.replace("COMPAT", header)] = _tidy(template.render(b=one, header=header))
        elif "LIBRARY" in path:
            for one in bindings:
                text = template.render(b=one, versions=versions, all=bindings)
                if text.strip():
                    outputs[path.replace("LIBRARY", one.name)] = _tidy(text)
        else:
            bound = {one.name: one for one in bindings}
            outputs[path] = _tidy(template.render(all=bindings, versions=versions, gates=all_gates, **bound))
    return outputs


def _environment(templates: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        auto_reload=False,  # else the file system is asked for each slot whether slot.inc has changed
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        builtin_rows=_builtin_rows, record_lines=record_lines, type_sheet=type_sheet, since_macro=since_macro
    )
    environment.filters.update(
        tokens=_tokens, wrap=_wrap, dotted=_dotted, pointer=_function_pointer, comment=_wrap_comment
    )
    return environment


def _builtin_rows(bindings: list[Bindings]) -> list[TypeRow]:
    rows = {row.symbol: row for one in bindings for row in one.describer.builtin_rows()}
    return [rows[symbol] for symbol in sorted(rows)]


def _tokens(text: str) -> str:
    """A macro's tokens as a person would write them: "( ( int ) - 1 )" becomes "((int)-1)"."""
    text = re.sub(r"(?<=[(~]) | (?=\))", "", text)
    text = re.sub(r"\) (?=[\w-])", ")", text)
    return re.sub(r"- (?=\d)", "-", text)


def _dotted(version: int) -> str:
    """12030 -> 12.3"""
    return f"{version // 1000}.{version % 1000 // 10}"


def _function_pointer(slot: Slot, name: str) -> str:
    return f"{slot.function.returns.declare(f'(*{name})')}({slot.declaration})"


def _wrap(text: str, width: int = 110) -> str:
    """Breaks a long declaration or call at its commas, the rest indented by eight."""
    lines = []
    for line in text.split("\n"):
        indent = re.match(r" *", line).group() + "        "  # type: ignore[union-attr]
        while len(line) > width:
            cut = line.rfind(", ", 0, width)
            if cut <= len(indent):
                break
            lines.append(line[: cut + 1])
            line = indent + line[cut + 2 :]
        lines.append(line)
    return "\n".join(lines)


def _wrap_comment(text: str, width: int = 100) -> str:
    words, lines, line = text.split(), [], ""
    for word in words:
        if len(line) + len(word) > width:
            lines.append(line.rstrip())
            line = ""
        line += word + " "
    return "\n * ".join([*lines, line.rstrip()])


def _tidy(text: str) -> str:
    """No trailing blanks, no runs of empty lines, one newline at the end."""
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def write(outputs: dict[str, str], folder: Path = GENERATED) -> list[str]:
    """Writes what differs and removes what is no longer made; returns the paths that changed."""
    changed = []
    for path, text in outputs.items():
        file = folder / path
        if not file.exists() or file.read_text() != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            changed.append(path)
    for file in sorted(folder.rglob("*")):
        path = str(file.relative_to(folder))
        if file.is_file() and path not in outputs and file.name != "README.md":
            file.unlink()
            changed.append(path)
    return changed


def differences(outputs: dict[str, str], folder: Path = GENERATED) -> list[str]:
    """What is committed and is not what would be generated, in a line each."""
    found = []
    for path, text in outputs.items():
        file = folder / path
        if not file.exists():
            found.append(f"{path}: is missing")
        elif file.read_text() != text:
            found.append(f"{path}: differs")
    for file in sorted(folder.rglob("*")):
        path = str(file.relative_to(folder))
        if file.is_file() and path not in outputs and file.name != "README.md":
            found.append(f"{path}: is not generated")
    return found


def all_outputs(presented: str | None = None, spec: Spec = SPEC) -> dict[str, str]:
    """Sources and documents."""
    libraries = load_libraries(presented, spec)
    features = gates.load(spec.features)
    bindings = bind_all(libraries, features, spec)
    routers = {one.name: one.router for one in bindings}
    return {**sources(bindings, features), **report.outputs(libraries, spec, routers)}


def add_arguments(subparsers: Any) -> None:
    parser = subparsers.add_parser("render", help="write everything below generated/ from spec/")
    parser.add_argument("--presented", metavar="VERSION", help="the toolkit whose API users see (default: the newest)")
    parser.add_argument(
        "--output", type=Path, default=GENERATED, metavar="FOLDER", help="where to write (default: generated/)"
    )
    parser.set_defaults(run=_run_render)
    parser = subparsers.add_parser("check", help="fail if generated/ is not what spec/ gives")
    parser.set_defaults(run=_run_check)


def _run_render(options: argparse.Namespace) -> None:
    outputs = all_outputs(options.presented)
    changed = write(outputs, options.output)
    print(f"{len(outputs)} files, {len(changed)} changed")


def _run_check(_: argparse.Namespace) -> None:
    found = differences(all_outputs())
    if found:
        raise GeneratorError("generated/ is not what spec/ gives; run `make generate`:\n  " + "\n  ".join(found))
    print("generated/ is what spec/ gives")
