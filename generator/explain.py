"""How one function is adapted on every toolkit, for people: `python -m generator explain cudaGetDeviceProperties`."""

from __future__ import annotations

import argparse
import difflib
import itertools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import gates
from .abi import PREFIX, Route
from .bind import SPEC, bind_all, load_libraries
from .describe import opened
from .errors import GeneratorError
from .model import Api, Record, dotted
from .slots import Adapter, Bindings, Slot, StructArg
from .spec import Spec

WIDTH = 80
MANY = 8  # moved fields, which are no longer listed


@dataclass(frozen=True)
class Found:
    """A function, and why it is explained if another name was asked for."""

    bindings: Bindings
    slot: Slot
    note: str = ""


def explain(name: str, spec: Spec = SPEC) -> str:
    """The whole text about a function, or about the one that a symbol or an older name stands for."""
    return describe(find(name, bind_all(load_libraries(spec=spec), gates.load(spec.features), spec)))


def describe(found: Found) -> str:
    """What holds for all toolkits, then a paragraph for each run of toolkits that are served alike."""
    return "\n".join([*_head(found), *_toolkits(found.bindings, found.slot)]) + "\n"


def find(name: str, libraries: list[Bindings]) -> Found:
    """Finds a function by its own name, an older name or a symbol of it."""
    for one in libraries:
        slots = {slot.name: slot for slot in one.slots}
        aliases = dict(one.aliases)
        if name in slots:
            return Found(one, slots[name])
        if name in aliases:
            return Found(one, slots[aliases[name]], f"{name} is an older name of {aliases[name]}.")
        for slot in one.slots:
            if name in {era.symbol for era in (*slot.eras, *slot.eras_ptds)}:
                return Found(one, slot, f"{name} is a symbol that stands behind {slot.name}.")
    known = [name for one in libraries for name in (*(slot.name for slot in one.slots), *dict(one.aliases))]
    near = difflib.get_close_matches(name, known, 3)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else "a name is written as in CUDA's headers, such as cudaMalloc"
    )
    raise GeneratorError(f"no library has a function `{name}`; {hint}")


# ---- what holds for all toolkits


def _head(found: Found) -> Iterator[str]:
    slot, library = found.slot, found.bindings.library
    if found.note:
        yield found.note
        yield ""
    yield slot.name
    yield from _prototype(slot)
    yield ""
    yield from _item("library", f"{found.bindings.info['title']}, {slot.group.title}")
    yield from _item("presented", f"as CUDA {slot.home.toolkit} declares it in {slot.function.header}")
    since = dotted(slot.since) if slot.since else f"{library.oldest.toolkit} or before"
    until = f", gone after {dotted(slot.until)}" if slot.until else ""
    if len(library.apis) > 1:
        yield from _item("since", since + until)
    if slot.feature:
        yield from _item("feature", slot.feature.title)
    if slot.ptds:
        yield from _item("variant", "another symbol where the default stream is the thread's own (ptds)")
    for quirk in slot.quirks:
        yield from _item("quirk", f"{quirk}: src/core/abi.h says what it means")


# ---- what differs between toolkits


def _toolkits(bindings: Bindings, slot: Slot) -> Iterator[str]:
    """A paragraph for each run of neighbouring toolkits with the same text."""
    if bindings.info.get("adapt"):
        routes = bindings.router.routes(slot.function, slot.home)
        texts = [(route.api, list(_route(bindings, slot, route))) for route in routes]
    else:
        texts = [(api, list(_direct(bindings, slot, api))) for api in bindings.library.apis]
    for text, run in itertools.groupby(texts, key=lambda pair: pair[1]):
        apis = [api for api, _ in run]
        first, last = apis[0].toolkit, apis[-1].toolkit
        yield ""
        yield from _wrap(f"{first if first == last else f'{first} to {last}'}: {text[0]}", 0, 4)
        yield from text[1:]


def _direct(bindings: Bindings, slot: Slot, api: Api) -> Iterator[str]:
    """A library of which each incompatible change has a symbol of its own."""
    if slot.function.symbol in api.symbols:
        yield f"{slot.function.symbol}, called directly"
        if slot.function.ptds:
            yield from _item("ptds", slot.function.ptds)
    else:
        yield _absent(bindings)


def _route(bindings: Bindings, slot: Slot, route: Route) -> Iterator[str]:
    if route.target is None:
        yield _absent(bindings)
        if route.decision:
            yield from _item("decision", f"{' '.join(route.decision.reason.split())} ({route.decision.where})")
        return
    adapter = _adapter(slot, route.api.version)
    yield f"{route.target.symbol}, " + (f"through {adapter.name}()" if adapter else "called directly")
    if route.target.ptds:
        yield from _item("ptds", route.target.ptds)
    if route.decision:
        yield from _item("decision", f"{' '.join(route.decision.reason.split())} ({route.decision.where})")
        yield from _item("there", route.target.name + f"({', '.join(route.target.signature) or 'void'})")
    elif adapter and not adapter.structs:
        yield from _item("hook", adapter.comment)
    elif adapter:
        yield from _item("rule", "the parameters mean the same, a struct has another layout")
    if adapter:
        yield from _refusals(bindings, adapter)
        for struct in adapter.structs:
            yield from _struct(bindings, slot, adapter, struct, route.api)
        if route.decision:
            yield from itertools.chain(*(_item("before", line) for line in adapter.locals))
            yield from _item("passes", ", ".join(adapter.args) or "nothing")
            yield from itertools.chain(*(_item("afterwards", line) for line in adapter.after))


def _absent(bindings: Bindings) -> str:
    return f"absent, a call returns {bindings.info['errors']['unavailable']}"


def _adapter(slot: Slot, version: int) -> Adapter | None:
    """The adapter that the era of a version calls."""
    era = [era for era in slot.eras if era.since <= version][-1]
    return next((adapter for adapter in slot.adapters if adapter.name == era.adapter), None)


def _refusals(bindings: Bindings, adapter: Adapter) -> Iterator[str]:
    for refusal in adapter.refusals:
        code = refusal.code or bindings.info["errors"]["unavailable" if refusal.since else "invalid"]
        needs = f"it needs CUDA {dotted(refusal.since)}" if refusal.since else refusal.why
        yield from _item("refuses", f"{refusal.what} if {refusal.condition}, with {code}: {needs}")


# ---- structs


def _struct(bindings: Bindings, slot: Slot, adapter: Adapter, struct: StructArg, api: Api) -> Iterator[str]:
    param = next(param for param in slot.function.params if param.name == struct.name)
    ours = slot.home.record_of(param.type)
    assert ours is not None
    theirs = bindings.library.records_named(api, ours.name)[0]
    how = (
        "passed as it is, what it has there lies in the same places"
        if struct.mode == PREFIX
        else "another layout, through a temporary"
    )
    sizes = f"{theirs.kind} {theirs.name} has {theirs.size} bytes there, {ours.size} in {slot.home.toolkit}"
    yield from _item(struct.name, f"({struct.direction}) {sizes}: {how}")
    missing, moved = _differences(bindings, ours, theirs)
    if moved:
        which = f"from {moved[0]} to {moved[-1]}" if len(moved) > MANY else ", ".join(moved)
        yield from _item("", f"fields that lie elsewhere: {len(moved)}, {which}")
    if missing and struct.goes_in:
        yield from _item("", f"refused where a call uses them: {', '.join(missing)}")
    if missing and struct.comes_out:
        known = bindings.describer.parameters.record(ours.name).get("attributes", {}) if adapter.attributes else {}
        asked = [name for name in missing if name in known]
        rest = [name for name in missing if name not in known]
        if asked:
            yield from _item("", f"filled from device attributes: {', '.join(asked)}")
        if rest:
            yield from _item("", f'filled with what stands for "absent", mostly 0: {", ".join(rest)}')


def _differences(bindings: Bindings, ours: Record, theirs: Record) -> tuple[list[str], list[str]]:
    """The fields that the other layout lacks, and those that lie elsewhere in it."""
    given = bindings.describer.parameters.record(ours.name)
    hidden = {*given.get("padding", ()), *given.get("reserved", ())}
    there = {field.name: field for field in opened(theirs)}
    fields = [field for field in opened(ours) if field.name not in hidden]
    missing = [field.name for field in fields if field.name not in there]
    moved = [f.name for f in fields if f.name in there and there[f.name].offset != f.offset]
    return missing, moved


# ---- output


def _item(label: str, text: str) -> list[str]:
    return _wrap(f"{label:<10} {text}", 2, 13) if len(label) <= 10 else _wrap(f"{label} {text}", 2, 13)


def _prototype(slot: Slot) -> list[str]:
    """On one line, or its parameters below it, broken after commas only."""
    whole = f"  {slot.prototype(slot.name)}"
    if len(whole) <= WIDTH:
        return [whole]
    glued = slot.declaration.replace(" ", "\N{NO-BREAK SPACE}").replace(",\N{NO-BREAK SPACE}", ", ")
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in _wrap(f"{glued})", 6, 6)]
    return [f"  {slot.function.returns.declare(slot.name)}(", *lines]


def _wrap(text: str, first: int, rest: int) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=" " * first, subsequent_indent=" " * rest, break_long_words=False)


def add_arguments(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser("explain", help="show how one function is adapted")
    parser.add_argument("function", help="a function, an older name or a symbol, such as cudaMemPrefetchAsync")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    print(explain(options.function), end="")
