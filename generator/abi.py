"""How a call written for the presented API reaches a loaded library: which symbol, and what must be adapted.

For every function and every toolkit there is one `Route`. A route is found by rule where the headers
prove that the call is right; where they do not, spec/decisions.yaml must answer, and where that does
not either, generation stops.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .ctype import CType
from .errors import GeneratorError, Stops
from .model import Api, Function, Leaf, Library, Record
from .spec import Decision, Parameters

# How the struct behind a parameter gets through.
SAME = "same"
# PREFIX: the loaded layout is the first part of the presented one: pass the caller's struct, check or fill the rest.
# COPY: another layout: through a temporary, field by field.
PREFIX = "prefix"
COPY = "copy"


@dataclass(frozen=True)
class Route:
    """How one function is called in one toolkit."""

    api: Api
    target: Function | None  # what is called there; None: the toolkit lacks the function
    structs: tuple[tuple[str, str], ...] = ()  # parameter name -> PREFIX or COPY, where not SAME
    decision: Decision | None = None

    @property
    def adapter(self) -> tuple[object, ...]:
        """Routes with equal adapters are served by the same code; () where the symbol itself is right."""
        if self.target is None:
            return ()
        if self.decision is not None:
            return ("decision", self.decision.key, *self.structs)
        return self.structs and ("structs", *self.structs)


@dataclass
class Undecided:
    """A change that no rule proves and no decision answers."""

    function: str
    toolkit: str
    presented: Function
    candidates: list[tuple[Function, str]] = field(default_factory=list)

    @property
    def signatures(self) -> list[tuple[str, ...]]:
        return [candidate.signature for candidate, _ in self.candidates]

    def __str__(self) -> str:
        lines = [
            f"{self.function} on toolkit {self.toolkit}: no rule adapts it and spec/decisions.yaml does not answer"
        ]
        lines.append(f"  presented: {self.function}({', '.join(self.presented.signature)})")
        for candidate, why in self.candidates:
            lines.append(f"  {self.toolkit}: {candidate.symbol}({', '.join(candidate.signature)})\n    {why}")
        return "\n".join(lines)


class Router:
    """Finds the routes of one library's functions."""

    def __init__(self, library: Library, parameters: Parameters, decisions: list[Decision]) -> None:
        self.library = library
        self.parameters = parameters
        self.decisions = decisions
        self.used: set[str] = set()
        self._layouts: dict[tuple[str, str, str, str], str] = {}
        self._routes: dict[tuple[Function, str], list[Route]] = {}

    def routes(self, function: Function, home: Api) -> list[Route]:
        """One route per toolkit, oldest first. `home` is the toolkit whose declaration users see."""
        key = (function, home.toolkit)
        if key not in self._routes:
            found = [self._route(function, home, api) for api in self.library.apis]
            self._decide({str(one.signatures): one for one in reversed(found) if isinstance(one, Undecided)})
            self._routes[key] = [route for route in found if isinstance(route, Route)]
        return self._routes[key]

    def _decide(self, undecided: dict[str, Undecided]) -> None:
        """Raises each other set of signatures that needs a decision, with the oldest toolkit that has it."""
        stops = Stops([GeneratorError(str(one)) for one in reversed(undecided.values())])
        stops.end()

    def _route(self, function: Function, home: Api, api: Api) -> Route | Undecided:
        rejected: list[tuple[Function, str]] = []
        fitting: list[tuple[int, int, Route]] = []
        candidates = self._candidates(function, api)
        for candidate in candidates:
            structs = self._compare(function, home, candidate, api)
            if isinstance(structs, str):
                rejected.append((candidate, structs))
            else:
                fitting.append((-self._folded(function, candidate), len(structs), Route(api, candidate, structs)))
        if fitting:
            return min(fitting, key=lambda item: item[:2])[2]  # min is stable: the bare name wins a tie
        for candidate in candidates:
            decision = next((d for d in self.decisions if d.answers(function, candidate)), None)
            if decision is not None:
                return self._decided(function, home, api, candidate, decision)
        if not candidates:
            return Route(api, None)
        return Undecided(function.name, api.toolkit, function, rejected)

    def _decided(self, function: Function, home: Api, api: Api, candidate: Function, decision: Decision) -> Route:
        self.used.add(decision.key)
        if decision.absent:
            return Route(api, None, decision=decision)
        if decision.same:
            return Route(api, candidate)
        target = api.functions.get(decision.call) if decision.call else candidate
        if target is None:
            raise GeneratorError(f"calls {decision.call}, which toolkit {api.toolkit} does not declare", decision.where)
        structs = []
        for param in function.params:
            state = self._struct_state(home, param.type, api, param.type)
            if state in (PREFIX, COPY) and param.name in decision.passed:
                structs.append((param.name, state))
        return Route(api, target, tuple(structs), decision)

    def _candidates(self, function: Function, api: Api) -> list[Function]:
        """Returns what the toolkit declares under the name, then under the name with a version suffix."""
        found = [api.functions[function.name]] if function.name in api.functions else []
        if self.library.presented.functions.get(function.name) is not function:
            # A gone name keeps exactly its own meaning: what is declared under it, or renamed to it.
            return found or [f for f in api.functions.values() if f.symbol == function.name]
        return found + api.versioned.get(function.name, []) + self._heir(function, api)

    def _heir(self, function: Function, api: Api) -> list[Function]:
        """Returns the bare name that took over a presented name_vN, in toolkits newer than the last that has both."""
        base = api.functions.get(re.sub(r"_v\d+$", "", function.name))
        last = max(other.version for other in self.library.apis if function.name in other.functions)
        if base is None or base.name == function.name or api.version < last or function.name in api.functions:
            return []
        home = self.library.presented
        return [base] if not isinstance(self._compare(function, home, base, api), str) else []

    def _folded(self, function: Function, candidate: Function) -> int:
        """Returns the N of a name_vN that the presented API has no more: its bare name has taken that meaning over.

        12.8 has cudaEventElapsedTime and cudaEventElapsedTime_v2 with one signature and two meanings; from 13.0 on
        the bare name means what _v2 meant. A _vN that the presented API still has is a function of its own.
        """
        suffix = candidate.name.removeprefix(f"{function.name}_v")
        return int(suffix) if suffix.isdigit() and candidate.name not in self.library.presented.functions else 0

    def _compare(
        self, function: Function, home: Api, candidate: Function, api: Api
    ) -> tuple[tuple[str, str], ...] | str:
        """Returns the structs to adapt, or why the two signatures cannot be proved to mean the same."""
        if len(function.params) != len(candidate.params):
            return f"it takes {len(candidate.params)} parameters, not {len(function.params)}"
        ours, theirs = [p.name for p in function.params], [p.name for p in candidate.params]
        if ours != theirs and sorted(ours) == sorted(theirs):
            return "its parameters have another order"
        if home.scalar(function.returns) != api.scalar(candidate.returns):
            return "it returns another type"
        structs = []
        for ours_, theirs_ in zip(function.params, candidate.params, strict=True):
            state = self._type_state(home, ours_.type, api, theirs_.type)
            if state not in (SAME, PREFIX, COPY):
                return f"parameter {ours_.name}: {state}"
            if state != SAME:
                structs.append((ours_.name, state))
        return tuple(structs)

    def _type_state(self, home: Api, ours: CType, api: Api, theirs: CType) -> str:
        a, b = home.strip(ours), api.strip(theirs)
        if len(a.pointers) != len(b.pointers):
            return f"{theirs.spelling} became {ours.spelling}"
        if "" in (a.base, b.base):  # a callback, or a pointer to one: the library calls it as its own header says
            same = (a.base, a.spelling) == (b.base, b.spelling)
            return SAME if same else f"{b.spelling} became {a.spelling}"
        if a.base in home.records or b.base in api.records:
            return self._struct_state(home, ours, api, theirs)
        if a.pointers and (a.base == "void" or b.base == "void"):
            return SAME if a.base == b.base else f"{theirs.spelling} became {ours.spelling}"
        bare_a, bare_b = CType(ours.spelling, a.base, a.tag), CType(theirs.spelling, b.base, b.tag)
        kind_a, kind_b = home.scalar(bare_a), api.scalar(bare_b)
        if kind_a[0] == "opaque" or kind_b[0] == "opaque":
            return SAME if a.base == b.base else f"{theirs.spelling} became {ours.spelling}"
        integers = ("signed", "unsigned", "enum", "char")
        same = kind_a[1] == kind_b[1] and (kind_a[0] == kind_b[0] or (kind_a[0] in integers and kind_b[0] in integers))
        return SAME if same else f"{theirs.spelling} became {ours.spelling}"

    def _struct_state(self, home: Api, ours: CType, api: Api, theirs: CType) -> str:
        a, b = home.record_of(ours), api.record_of(theirs)
        if a is None and b is None:
            return SAME
        if a is None or b is None:
            return f"{theirs.spelling} became {ours.spelling}"
        if a.name != b.name and b.name not in self.library.older_names(a.name):
            return f"{theirs.spelling} became {ours.spelling}"
        state = self.layout_state(home, a, api, b)
        if not home.strip(ours).pointers and (state == COPY or a.size != b.size):
            return f"{a.name}, which is passed by value, changed its layout"
        return state

    def layout_state(self, home: Api, ours: Record, api: Api, theirs: Record) -> str:
        """Returns SAME, PREFIX or COPY."""
        key = (home.toolkit, ours.name, api.toolkit, theirs.name)
        if key not in self._layouts:
            self._layouts[key] = self._layout_state(home, ours, api, theirs)
        return self._layouts[key]

    def _layout_state(self, home: Api, ours: Record, api: Api, theirs: Record) -> str:
        mine = {leaf.path: leaf for leaf in home.leaves(ours)}
        other = {leaf.path: leaf for leaf in api.leaves(theirs)}
        for path, leaf in other.items():
            if leaf.reserved:
                continue
            match = mine.get(path)
            if match is None and _clashes(leaf, mine, other):
                return COPY
            if match is not None and match.place != leaf.place:
                return COPY
        if theirs.size > ours.size:
            return COPY
        new = any(path not in other and not leaf.reserved for path, leaf in mine.items())
        return PREFIX if new or theirs.size < ours.size else SAME


def _clashes(leaf: Leaf, mine: dict[str, Leaf], other: dict[str, Leaf]) -> bool:
    """A field that is not ours lies where ours has a meaning which the other layout lacks: not a union, a change."""
    return any(
        not one.reserved
        and path not in other
        and one.offset < leaf.offset + leaf.size
        and leaf.offset < one.offset + one.size
        for path, one in mine.items()
    )
