"""Features that programs gate on: spec/features.yaml and the facts, put together.

A person names functions, enumerators and a device attribute; since when, until when and from which driver on
comes out of the headers. What no header says may be typed, with its source, and nothing else may be.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import yamlfile
from .errors import GeneratorError, Location
from .facts import version_key
from .model import Api, Library, dotted, number
from .yamlfile import SPEC, where

FEATURES = SPEC / "features.yaml"
SCHEMA = SPEC / "schema" / "features.json"
ATTRIBUTES = {"cudart": "cudaDeviceAttr", "cuda": "CUdevice_attribute"}

Span = tuple[int, int]  # since and until; 0 where that is beyond what is known


@dataclass(frozen=True)
class Feature:
    """What code and what messages call a feature."""

    id: str
    title: str


@dataclass(frozen=True)
class Gate:
    """One feature and all that it needs; versions are 12030, and 0 where nothing is asked."""

    id: str
    title: str
    library: str  # the one whose functions and enumerators make it
    functions: tuple[str, ...]
    enumerators: tuple[str, ...]
    since: int  # of the library; the driver API's own features have their floor in `driver`
    until: int
    gone: int  # the first known version that lacks it again
    driver: int
    attribute: str
    attribute_number: int
    compute_capability: int  # 90 for 9.0

    @property
    def needs(self) -> str:
        """For the documentation: "CUDA 12.3, driver 12.3"."""
        parts = [f"CUDA {dotted(self.since)}"] if self.since else []
        parts += [f"until CUDA {dotted(self.until)}"] if self.until else []
        return ", ".join([*parts, *self.needs_below]) or "every CUDA"

    @property
    def needs_below(self) -> list[str]:
        """What it needs of the driver and the device."""
        parts = [f"driver {dotted(self.driver)}"] if self.driver else []
        parts += [self.attribute] if self.attribute else []
        major, minor = divmod(self.compute_capability, 10)
        return [*parts, f"compute capability {major}.{minor}"] if major else parts


def load(file: Path = FEATURES) -> yamlfile.Sequence:
    """The features as they are written, each id, title and function once."""
    features = yamlfile.load(file, SCHEMA)["features"]
    assert isinstance(features, yamlfile.Sequence)
    seen: dict[str, tuple[str, Location]] = {}
    for feature in features:
        for name, at in _names_that_are_unique(feature):
            if name in seen:
                owner, first = seen[name]
                raise GeneratorError(f"`{name}` stands in {owner} already ({first})", at)
            seen[name] = (feature["id"], at)
    return features


def _names_that_are_unique(feature: Any) -> Iterator[tuple[str, Location]]:
    for key in ("id", "title"):
        yield feature[key], where(feature, key)
    for key in ("functions", "driver_functions"):
        yield from _items(feature, key)


def _items(feature: Any, key: str) -> Iterator[tuple[str, Location]]:
    for index, name in enumerate(feature.get(key, ())):
        yield name, where(feature[key], index)


def by_function(features: yamlfile.Sequence, libraries: Iterable[Library]) -> dict[str, Feature]:
    """Returns the feature of each function that belongs to one."""
    found = {
        name: Feature(feature["id"], feature["title"])
        for feature in features
        for key in ("functions", "driver_functions")
        for name in feature.get(key, ())
    }
    # cuMemAdvise_v2, which a newer cuda.h calls cuMemAdvise.
    for library in libraries:
        if library.name == "cuda":
            presented = library.presented.functions.values()
            found.update({f.name: found[f.symbol] for f in presented if f.symbol in found and f.name not in found})
    return found


def derive(features: yamlfile.Sequence, libraries: Iterable[Library], served: Mapping[str, Span]) -> list[Gate]:
    """The gates; `served` says in which versions each presented function can be called, adapters included."""
    deriver = _Deriver({library.name: library for library in libraries}, served)
    return [deriver.gate(feature) for feature in features]


class _Deriver:
    def __init__(self, libraries: dict[str, Library], served: Mapping[str, Span]) -> None:
        self.libraries = libraries
        self.served = served

    def gate(self, feature: Any) -> Gate:
        name = self._library(feature)
        library = self.libraries[name]
        spans = [self._function(function, at) for function, at in _items(feature, "functions")]
        spans += [self._enumerator(one, at) for one, at in _items(feature, "enumerators")]
        since, until = _common(spans)
        if until and since > until:
            raise GeneratorError(
                f"{feature['id']} is in no version: part came in {dotted(since)}, part went after {dotted(until)}",
                feature.at,
            )
        attribute, attribute_number = self._attribute(feature)
        return Gate(
            id=feature["id"],
            title=feature["title"],
            library=name,
            functions=tuple(feature.get("functions", ())),
            enumerators=tuple(feature.get("enumerators", ())),
            since=since if name != "cuda" else 0,
            until=until if name != "cuda" else 0,  # a driver keeps what it once exported
            gone=_next(library, until) if name != "cuda" else 0,
            driver=self._driver(feature, since if name == "cuda" else 0),
            attribute=attribute,
            attribute_number=attribute_number,
            compute_capability=_compute_capability(feature),
        )

    def _library(self, feature: Any) -> str:
        """The one library whose functions and enumerators make the feature."""
        owners = {self._owner(name, at, "functions"): name for name, at in _items(feature, "functions")}
        owners |= {self._owner(name, at, "enumerators"): name for name, at in _items(feature, "enumerators")}
        if len(owners) > 1:
            listed = ", ".join(f"{name} of {owner}" for owner, name in sorted(owners.items()))
            raise GeneratorError(f"{feature['id']} is made by more than one library: {listed}", feature.at)
        if not owners:
            raise GeneratorError(f"{feature['id']} names no function and no enumerator", feature.at)
        return next(iter(owners))

    def _owner(self, name: str, at: Location, kind: str, within: str = "") -> str:
        """The library that has it in any toolkit."""
        for library in self.libraries.values():
            if name in self._known[kind, library.name] and within in ("", library.name):
                return library.name
        listed = (self._known[kind, library] for library in self.libraries if within in ("", library))
        similar = difflib.get_close_matches(name, set().union(*listed), 1)
        hint = f"; did you mean {similar[0]}?" if similar else ""
        what = f"{within} has no" if within else "no toolkit has the"
        raise GeneratorError(f"{what} {kind.removesuffix('s')} `{name}`{hint}", at)

    @cached_property
    def _known(self) -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for library in self.libraries.values():
            found["functions", library.name] = {name for api in library.apis for name in api.functions}
            found["enumerators", library.name] = {
                name for api in library.apis for name in (*api.enumerators, *api.macros)
            }
        return found

    def _function(self, name: str, at: Location, within: str = "") -> Span:
        library = self.libraries[self._owner(name, at, "functions", within)]
        return self.served.get(name) or library.function_span(name)

    def _enumerator(self, name: str, at: Location, within: str = "") -> Span:
        library = self.libraries[self._owner(name, at, "enumerators", within)]
        have = [api.version for api in library.apis if name in api.enumerators or name in api.macros]
        return (
            0 if have[0] == library.oldest.version else have[0],
            0 if have[-1] == library.newest.version else have[-1],
        )

    # ---- the driver

    def _driver(self, feature: Any, own: int) -> int:
        """The oldest driver that will do: what the headers say, else what a person typed, else any."""
        firsts = [own]
        for name, at in _items(feature, "driver_functions"):
            self._owner(name, at, "functions", "cuda")
            firsts.append(self.libraries["cuda"].function_span(name)[0])
        firsts += [self._enumerator(name, at, "cuda")[0] for name, at in _items(feature, "driver_enumerators")]
        derived = max(firsts)
        if "driver_floor" not in feature:
            return derived
        floor, at = feature["driver_floor"]["version"], where(feature["driver_floor"], "version")
        if derived:
            raise GeneratorError(
                f"the headers say that the driver must be {dotted(derived)}; {floor} must not be typed here", at
            )
        oldest = self.libraries["cuda"].oldest.toolkit if "cuda" in self.libraries else floor
        if version_key(floor) > version_key(oldest):
            raise GeneratorError(f"cuda.h of {oldest} has all of it, and no driver of {floor} can be needed", at)
        return number(floor)

    # ---- the device

    def _attribute(self, feature: Any) -> tuple[str, int]:
        """The attribute and its number, which the runtime and the driver share."""
        if "attribute" not in feature:
            return "", 0
        name, at = feature["attribute"], where(feature, "attribute")
        if name not in self._attributes:
            similar = difflib.get_close_matches(name, self._attributes, 1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            raise GeneratorError(f"there is no device attribute `{name}`{hint}", at)
        value = self._attributes[name]
        # Devices are asked through the driver, so that the runtime's last error stays as it is.
        if value not in (known for one, known in self._attributes.items() if one.startswith("CU_")):
            raise GeneratorError(f"the driver API has no device attribute {value}, which is {name}", at)
        return name, value

    @cached_property
    def _attributes(self) -> dict[str, int]:
        """Returns name -> number by the newest header: CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS moved once."""
        found: dict[str, int] = {}
        for name in (name for name in ATTRIBUTES if name in self.libraries):
            for api in self.libraries[name].apis:
                found.update(_values(api, ATTRIBUTES[name]))
        return found


def _values(api: Api, enum: str) -> dict[str, int]:
    name = api.typedefs[enum].type.base if enum in api.typedefs else enum
    return api.enums[name].values if name in api.enums else {}


def _common(spans: list[Span]) -> Span:
    """Returns the range from the newest since to the oldest until."""
    return max(since for since, _ in spans), min((until for _, until in spans if until), default=0)


def _next(library: Library, until: int) -> int:
    return next((api.version for api in library.apis if until and api.version > until), 0)


def _compute_capability(feature: Any) -> int:
    if "compute_capability" not in feature:
        return 0
    major, minor = feature["compute_capability"]["at_least"].split(".")
    return int(major) * 10 + int(minor)
