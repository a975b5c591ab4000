"""What is newer than the oldest toolkit and makes no feature: the list `ungated` of spec/features.yaml, and two rules.

A program gates on features. Whatever is newer must therefore be in one, or a person said why it need not be; what a
new toolkit brings stops generation until someone has decided.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import gates, yamlfile
from .errors import GeneratorError, Location, Stops
from .model import Library, dotted
from .yamlfile import Mapping, where

KINDS = ("functions", "enumerators", "enums")
RESERVED = re.compile(r"Reserved\d*$|_RESERVED_?\d*$")


def check(file: Path, libraries: Iterable[Library]) -> None:
    """Raises each newer function and enumerator that nobody has decided about, and each mistake of the list."""
    document = yamlfile.load(file, gates.SCHEMA)
    libraries = list(libraries)
    decided = _decided(document)
    stops = Stops(list(_mistakes(document, libraries)))
    at = where(document, "ungated")
    for library in libraries:
        for name, since in _newer_functions(library):
            if name not in decided and not _is_second_version(library, name):
                stops.found.append(_open(name, library, since, at))
        for name, enum, since in _newer_enumerators(library):
            if (
                not {name, enum} & decided
                and not _came_with_its_enum(library, enum, since)
                and not RESERVED.search(name)
            ):
                stops.found.append(_open(f"{name} of {enum}", library, since, at))
    stops.end()


def _decided(document: Mapping) -> set[str]:
    """Every function, enumerator and enum that a feature or the list names."""
    listed = {name for entry in document.get("ungated", ()) for kind in KINDS for name in entry.get(kind, ())}
    return _gated(document) | listed


def _gated(document: Mapping) -> set[str]:
    keys = ("functions", "enumerators", "driver_functions", "driver_enumerators")
    named = {name for feature in document["features"] for key in keys for name in feature.get(key, ())}
    return named | {feature["attribute"] for feature in document["features"] if "attribute" in feature}


def _open(name: str, library: Library, since: int, at: Location) -> GeneratorError:
    return GeneratorError(
        f"{name} came with {library.name} {dotted(since)}: name it in the feature that it makes,"
        " or under `ungated` with the reason",
        at,
    )


def _newer_functions(library: Library) -> Iterator[tuple[str, int]]:
    for name in sorted({name for api in library.apis for name in api.functions}):
        since = library.function_span(name)[0]
        if since:
            yield name, since


def _newer_enumerators(library: Library) -> Iterator[tuple[str, str, int]]:
    """Each with its enum, as the newest toolkit that has it calls that."""
    homes = {name: enum.name for api in library.apis for enum in api.enums.values() for name in enum.values}
    for name, enum in sorted(homes.items()):
        since = library.enumerator_since(name)
        if since:
            yield name, enum, since


def _is_second_version(library: Library, name: str) -> bool:
    """Returns whether it is a `name_vN` that the newest toolkit has given up: `name` means and gates that now."""
    base = re.sub(r"_v\d+$", "", name)
    return base != name and base in library.newest.functions and name not in library.newest.functions


def _came_with_its_enum(library: Library, enum: str, since: int) -> bool:
    """Returns whether the enum is as new as its value: then what takes the enum is newer, too, and has the gate."""
    return since == next(api.version for api in library.apis if enum in api.enums)


def _mistakes(document: Mapping, libraries: list[Library]) -> Iterator[GeneratorError]:
    known = {
        "functions": {name for one in libraries for name, _ in _newer_functions(one)},
        "enumerators": {name for one in libraries for name, _, _ in _newer_enumerators(one)},
        "enums": {name for one in libraries for api in one.apis for name in api.enums},
    }
    gated = _gated(document)
    for entry in document.get("ungated", ()):
        for kind in KINDS:
            for index, name in enumerate(entry.get(kind, ())):
                at = where(entry[kind], index)
                if name not in known[kind]:
                    near = difflib.get_close_matches(name, known[kind], 1)
                    hint = f"; did you mean `{near[0]}`?" if near else ""
                    yield GeneratorError(f"none of the newer {kind} is `{name}`{hint}", at)
                elif name in gated:
                    yield GeneratorError(f"`{name}` stands in a feature; remove it here", at)
