"""What people wrote about the API: libraries, parameters and decisions, checked and ready to use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import yamlfile
from .errors import GeneratorError, Location
from .model import Function
from .yamlfile import SPEC, where

SCHEMA = SPEC / "schema"


@dataclass(frozen=True)
class Refusal:
    """A call that the loaded library could not carry out as meant."""

    condition: str
    what: str
    newer: bool  # too new for the library; otherwise an invalid value
    why: str
    code: str = ""  # where CUDA answers with another code than "invalid value"


@dataclass(frozen=True)
class Decision:
    """How a person decided that an older signature serves a call of the presented one."""

    function: str
    answers_to: tuple[str, ...]
    reason: str
    where: Location
    presents: tuple[str, ...] = ()  # () for whatever is presented
    call: str = ""
    args: tuple[str, ...] = ()
    locals: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    always: bool = False  # `after` runs also when the call failed
    absent: bool = False
    same: bool = False  # the symbol itself is right: only the names of parameters moved
    refuse: tuple[Refusal, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.function}({', '.join(self.answers_to)})"

    @property
    def passed(self) -> set[str]:
        """Parameters that are handed on as they are."""
        return {arg for arg in self.args if re.fullmatch(r"\w+", arg)}

    def answers(self, function: Function, candidate: Function) -> bool:
        """Returns whether it says how the candidate serves the presented function."""
        if self.function != function.name or self.answers_to != candidate.signature:
            return False
        return self.presents in ((), function.signature)


def load_decisions(file: Path) -> list[Decision]:
    document = yamlfile.load(file, SCHEMA / "decisions.json")
    decisions: list[Decision] = []
    for index, entry in enumerate(document["decisions"]):
        refusals = tuple(
            Refusal(r["if"], r.get("newer") or r["invalid"], "newer" in r, r.get("why", ""), r.get("code", ""))
            for r in entry.get("refuse", [])
        )
        decision = Decision(
            function=entry["function"],
            answers_to=tuple(entry["answers"]),
            reason=entry["reason"],
            where=where(document["decisions"], index),
            presents=tuple(entry.get("presents", ())),
            call=entry.get("call", ""),
            args=tuple(entry.get("args", ())),
            locals=tuple(entry.get("locals", ())),
            after=tuple(entry.get("after", ())),
            always=entry.get("always", False),
            absent=entry.get("absent", False),
            same=entry.get("same", False),
            refuse=refusals,
        )
        twin = next((other for other in decisions if other.key == decision.key), None)
        if twin is not None:
            raise GeneratorError(f"decides {decision.key} again; {twin.where} does already", decision.where)
        decisions.append(decision)
    return decisions


@dataclass
class Parameters:
    """What the headers do not say of one library (spec/parameters/<library>.yaml)."""

    document: yamlfile.Mapping

    @staticmethod
    def load(file: Path) -> Parameters:
        """Loads a library's file; one about which there is nothing to note has none."""
        if not file.exists():
            return Parameters(yamlfile.Mapping(Location(yamlfile.name_of(file), 1)))
        return Parameters(yamlfile.load(file, SCHEMA / "parameters.json"))

    def at(self, *path: str) -> Location:
        """Where something stands in the file, or, if it is missing, where it would have to stand."""
        node, at = self.document, self.document.at
        for key in path:
            if key not in node:
                break
            at = where(node, key)
            node = node[key]
        return at

    def param(self, function: str, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = self.document.get("functions", {}).get(function, {}).get(name, {})
        return entry

    def record(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = self.document.get("records", {}).get(name, {})
        return entry

    def section(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = self.document.get(name, {})
        return entry


@dataclass(frozen=True)
class Spec:
    """The folder that everything is generated from: spec/, or one like it."""

    root: Path = SPEC

    @property
    def facts(self) -> Path:
        return self.root / "facts"

    @property
    def features(self) -> Path:
        return self.root / "features.yaml"

    @cached_property
    def libraries(self) -> yamlfile.Mapping:
        return yamlfile.load(self.root / "libraries.yaml", SCHEMA / "libraries.json")

    @cached_property
    def groups(self) -> yamlfile.Mapping:
        return yamlfile.load(self.root / "groups.yaml", SCHEMA / "groups.json")

    @cached_property
    def errors(self) -> yamlfile.Mapping:
        """What the errors are about; a folder without the file says nothing of them."""
        file = self.root / "errors.yaml"
        return yamlfile.load(file, SCHEMA / "errors.json") if file.exists() else yamlfile.Mapping(Location("", 1))

    @cached_property
    def safe(self) -> list[yamlfile.Mapping]:
        """What the safe layer has of CUDA's enums; a folder without the file has no safe layer."""
        file = self.root / "safe.yaml"
        return list(yamlfile.load(file, SCHEMA / "safe.json")["safe"]) if file.exists() else []

    @cached_property
    def cxx(self) -> yamlfile.Mapping:
        """What the C++ headers are made of; a folder without the file has none."""
        file = self.root / "cxx.yaml"
        return yamlfile.load(file, SCHEMA / "cxx.json") if file.exists() else yamlfile.Mapping(Location("", 1))

    @cached_property
    def decisions(self) -> list[Decision]:
        return load_decisions(self.root / "decisions.yaml")

    @cached_property
    def error_strings(self) -> yamlfile.Mapping:
        """What CUDA says of its errors; a folder without the file says nothing."""
        file = self.root / "error_strings.yaml"
        return (
            yamlfile.load(file, SCHEMA / "error_strings.json") if file.exists() else yamlfile.Mapping(Location("", 1))
        )

    @cached_property
    def simulator(self) -> yamlfile.Mapping:
        """What the simulator has; a folder without the file has no simulator."""
        file = self.root / "simulator.yaml"
        return yamlfile.load(file, SCHEMA / "simulator.json") if file.exists() else yamlfile.Mapping(Location("", 1))

    @cached_property
    def left_out(self) -> yamlfile.Mapping:
        """What NVIDIA's headers bring and ours do not; without the file nothing is compared."""
        file = self.root / "left_out.yaml"
        return yamlfile.load(file, SCHEMA / "left_out.json") if file.exists() else yamlfile.Mapping(Location("", 1))

    @cached_property
    def _parameters(self) -> dict[str, Parameters]:
        return {}

    def parameters(self, library: str) -> Parameters:
        if library not in self._parameters:
            self._parameters[library] = Parameters.load(self.root / "parameters" / f"{library}.yaml")
        return self._parameters[library]
