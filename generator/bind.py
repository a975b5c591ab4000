"""Facts and spec in, bindings out: each function's slot, with the adapter that each range of toolkits needs."""

from __future__ import annotations

from collections.abc import Iterable

from . import codes, facts, gates, groups, simulator, unsaid, verify
from .abi import COPY, Route, Router
from .describe import Describer
from .errors import Stops
from .gates import Feature
from .groups import Group
from .model import Api, Function, Library
from .slots import Adapter, Bindings, Era, Refusal, Slot, StructArg, pointer_type
from .spec import Decision, Spec
from .yamlfile import Sequence, where

SPEC = Spec()


def load_libraries(presented: str | None = None, spec: Spec = SPEC) -> list[Library]:
    """The libraries of spec/libraries.yaml."""
    verify.names_of_libraries(spec)
    return [
        Library(name, facts.read_all(spec.facts / name), None if info.get("newest_only") else presented)
        for name, info in spec.libraries.items()
    ]


def bind(
    library: Library, driver: Library | None = None, features: dict[str, Feature] | None = None, spec: Spec = SPEC
) -> Bindings:
    """Everything the templates need to know of one library; `driver` is the one below it, if it has one."""
    info = spec.libraries[library.name]
    parameters = spec.parameters(library.name)
    verify.library_entry(info, library)
    verify.parameters(parameters, library, driver)
    router = Router(library, parameters, spec.decisions if info.get("adapt") else [])
    verify.decisions(router.decisions, library)
    describer = Describer(library, parameters, router, driver)
    bindings = Bindings(library.name, info, library, router, describer, groups.read(spec.groups, library))
    _add_slots(bindings, features or {}, spec)
    verify.used(router)
    bindings.error_strings = simulator.error_strings(spec, library)
    bindings.simulated = simulator.entries(spec, library, bindings.slots)
    bindings.result_type = bindings.describer.result_type(info["result"])
    return bindings


def _add_slots(bindings: Bindings, features: dict[str, Feature], spec: Spec) -> None:
    """Gives each function its slot, or raises everything that a person must decide first."""
    library, stops = bindings.library, Stops()
    with stops.gathered():
        verify.open_questions(bindings.info, library)
    with stops.gathered():
        verify.renumbered(bindings.describer.parameters, library, bindings.info.get("version_macro", ""))
    with stops.gathered():
        bindings.codes = codes.read(spec.errors, library, bindings.info["result"])
    with stops.gathered():
        if not bindings.info.get("newest_only"):  # such a library's calls are passed on as they are
            unsaid.check(bindings.describer.parameters, library)
    homes = _homes(bindings)
    grouped: dict[str, Group] = {}
    with stops.gathered():
        names = (function.name for function, _ in homes)
        grouped = groups.sort(bindings.groups, names, where(spec.groups, library.name))
    for function, home in homes:
        group = grouped.get(function.name, bindings.groups[0])
        with stops.gathered():
            bindings.slots.append(_slot(bindings, function, home, group, features))
    stops.end()


def _homes(bindings: Bindings) -> list[tuple[Function, Api]]:
    """Every function that users can call, and the toolkit that declares it for them."""
    library = bindings.library
    homes = [(function, library.presented) for function in library.presented.functions.values()]
    if bindings.info.get("adapt"):
        for gone, api in library.gone_functions().values():
            alias = library.alias_of(gone)
            if alias is not None:
                bindings.aliases.append((gone.name, alias.name))
            else:
                homes.append((gone, api))
    return homes


def bind_all(libraries: list[Library], features: Sequence | None = None, spec: Spec = SPEC) -> list[Bindings]:
    """The libraries' bindings, each knowing what it shares with the others."""
    by_name = {library.name: library for library in libraries}
    owners = gates.by_function(features, libraries) if features is not None else {}
    bindings: list[Bindings] = []
    stops = Stops()
    for library in libraries:
        with stops.gathered():
            bindings.append(bind(library, by_name.get("cuda") if library.name == "cudart" else None, owners, spec))
    stops.end()
    for one in bindings:
        others = (other.presented.records.keys() for other in bindings if other is not one)
        one.shared_records = one.presented.records.keys() & set().union(*others)
    return bindings


def served(bindings: list[Bindings]) -> dict[str, tuple[int, int]]:
    """Returns since and until of each function that users can call, adapters included."""
    return {slot.name: (slot.since, slot.until) for one in bindings for slot in one.slots}


def _slot(bindings: Bindings, function: Function, home: Api, group: Group, features: dict[str, Feature]) -> Slot:
    parameters = bindings.describer.parameters
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
        gone=home is not bindings.presented,
        since=span[0],
        until=span[1],
        eras=eras,
        eras_ptds=eras_ptds,
        params=bindings.describer.params(function, home),
        adapters=list(adapters.values()),
        hook=hook,
        quirks=[f"ACU_QUIRK_{quirk.upper()}"] if quirk else _judging(bindings, function, eras, adapters.values()),
        results=list(parameters.section("results").get(function.name, ())),
        feature=features.get(function.name),
        group=group,
        interop=bindings.is_interop(function.header),
        one_byte=function.name in bindings.info.get("one_byte", ()),
        refused=_refused(bindings, function),
    )


def _refused(bindings: Bindings, function: Function) -> str:
    """What a refused call returns where the library has no result that is a code for all of its functions."""
    given = bindings.info.get("refused")
    return "" if given is None else str(given.get(function.returns.spelling, "{0}"))


def _judging(bindings: Bindings, function: Function, eras: list[Era], adapters: Iterable[Adapter]) -> list[str]:
    """Returns the quirk of a function whose oldest adapter refuses what is too new, so that the rest is not.

    Or that of a function which the library only exports.
    """
    if function.name in bindings.info.get("unimplemented", ()):
        return ["ACU_QUIRK_UNIMPLEMENTED"]
    refuses = any(a.name == eras[0].adapter and any(r.since for r in a.refusals) for a in adapters)
    return ["ACU_QUIRK_OLDEST_JUDGES"] if refuses else []


def _span(bindings: Bindings, function: Function, routes: list[Route]) -> tuple[int, int]:
    """Returns the first and the last version that can serve the function; 0 where that is beyond what is known."""
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
    target = pointer_type(route.target) if decision else f"__typeof__(acu_slot_{function.name})"
    args = decision.args if decision else tuple(p.name for p in function.params)
    args = tuple(_through(arg, structs) for arg in args)
    return Adapter(
        name=name,
        comment=_comment(route, structs),
        target=target,
        args=args,
        structs=structs,
        locals=decision.locals if decision else (),
        after=decision.after if decision else (),
        always=decision.always if decision else False,
        refusals=_refusals(decision, routes, index),
        hook=hook,
        attributes=_attributes(bindings, function, home, structs),
    )


def _through(arg: str, structs: tuple[StructArg, ...]) -> str:
    copied = next((s for s in structs if s.name == arg and s.mode == COPY), None)
    return f"{arg} ? (void *)&loaded_{arg} : NULL" if copied else arg


def _comment(route: Route, structs: tuple[StructArg, ...]) -> str:
    if route.decision is not None:
        return " ".join(route.decision.reason.split())
    if not structs:
        return "The hook returns an answer also where the loaded library cannot."
    return " ".join(map(_converted, structs))


def _converted(struct: StructArg) -> str:
    """What an adapter does with a struct."""
    if struct.mode == COPY:
        return f"`{struct.name}` is copied through the loaded library's layout."
    refused = f"What the loaded library lacks of `{struct.name}` is refused before the call"
    filled = f"What the loaded library lacks of `{struct.name}` is filled in after the call"
    if struct.goes_in and struct.comes_out:
        return f"{refused} and filled in after it."
    return f"{refused if struct.goes_in else filled}."


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
        count = f"({length} ? (size_t)*{length} : 0)" if counter.type.depth else f"(size_t){length}"
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
