"""What the safe layer has of CUDA's enums: spec/safe.yaml, held against the facts, and the assertions made from it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import GeneratorError, Stops
from .model import Library
from .spec import Parameters, Spec
from .yamlfile import Mapping, where


@dataclass(frozen=True)
class Entry:
    """An enum of the safe layer whose numbers are CUDA's, or a struct whose fields stand for CUDA's values."""

    name: str
    numbers: tuple[tuple[str, str], ...]  # names that must have one number: ours, CUDA's
    fields: tuple[str, ...]


def entries(spec: Spec, runtime: Library, driver: Library | None) -> list[Entry]:
    """The entries in the file's order; raises every value of CUDA's that nobody has decided about."""
    stops = Stops()
    found: list[Entry] = []
    parameters = spec.parameters(runtime.name)
    for entry in spec.safe:
        stops.found += _Checker(entry, parameters, runtime, driver).problems()
        here = {ours: cudas for ours, cudas in entry["has"].items() if _is_there(cudas, runtime, driver)}
        same = () if "struct" in entry or entry.get("numbers") == "own" else tuple(here.items())
        found.append(Entry(entry.get("enum") or entry["struct"], same, tuple(here) if "struct" in entry else ()))
    stops.end()
    return found


def _is_there(name: str, *libraries: Library | None) -> bool:
    """Returns whether the presented headers have the name; an older one may lack it."""
    return any(library is not None and library.presented.constant(name) is not None for library in libraries)


class _Checker:
    """One entry against the newest toolkit, whatever is presented: that is what the safe layer is written for."""

    def __init__(self, entry: Mapping, parameters: Parameters, runtime: Library, driver: Library | None) -> None:
        self.entry = entry
        self.name = entry.get("enum") or entry["struct"]
        self.parameters = parameters
        self.libraries = [library for library in (runtime, driver) if library is not None]
        self.known = {
            name for library in self.libraries for api in library.apis for name in (*api.enumerators, *api.macros)
        }

    def problems(self) -> Iterator[GeneratorError]:
        left_out = self.entry.get("left_out", Mapping(self.entry.at))
        for ours, cudas in self.entry["has"].items():
            if cudas not in self.known:
                yield GeneratorError(self.unknown(cudas, self.known), where(self.entry["has"], ours))
        values = self.values()
        if not values:
            key = "of" if "of" in self.entry else "flags"
            yield GeneratorError(f"there is no enum or set `{self.entry[key]}`", where(self.entry, key))
            return
        for reason, names in left_out.items():
            for index, name in enumerate(names):
                if name not in values:
                    yield GeneratorError(self.unknown(name, values), where(left_out[reason], index))
        if "some" not in self.entry:
            yield from self.undecided(values, {name for names in left_out.values() for name in names})

    def undecided(self, values: dict[str, int], left_out: set[str]) -> Iterator[GeneratorError]:
        numbers = {self.number(cudas) for cudas in self.entry["has"].values()}
        counters = set().union(*self.parameters.section("renumbered").values())
        for name, value in values.items():
            if value not in numbers and name not in left_out | counters:
                message = (
                    f"{self.name} neither has {name} ({value}) nor leaves it out: add it to the safe layer and here,"
                    " or name it under `left_out` with the reason"
                )
                yield GeneratorError(message, self.entry.at)

    def values(self) -> dict[str, int]:
        """All that CUDA has of this."""
        bits = self.parameters.section("flags").get(self.entry.get("flags", ""), self.entry.get("of", ""))
        if isinstance(bits, str):
            enums = (library.newest.enums.get(bits) for library in self.libraries)
            return next((dict(enum.values) for enum in enums if enum is not None), {})
        return {name: number for name in bits if (number := self.number(name)) is not None}

    def number(self, name: str) -> int | None:
        found = (library.newest.constant(name) for library in self.libraries)
        return next((one for one in found if isinstance(one, int)), None)

    def unknown(self, name: str, known: dict[str, int] | set[str]) -> str:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        return f"CUDA has no `{name}` for {self.name}{hint}"
