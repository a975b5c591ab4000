"""The groups in which the generated headers show their functions: spec/groups.yaml, held against the facts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .errors import GeneratorError, Location
from .model import Library
from .yamlfile import Mapping, Sequence, where


@dataclass(frozen=True)
class Group:
    """A title, and the patterns of the names below it."""

    title: str
    patterns: Sequence

    @cached_property
    def _names(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_expression, self.patterns)))

    def has(self, name: str) -> bool:
        return self._names.fullmatch(name) is not None


def read(given: Mapping, library: Library) -> list[Group]:
    """The groups of one library in their order; each pattern fits a function of some toolkit."""
    if library.name not in given:
        raise GeneratorError(f"there are no groups for the functions of `{library.name}`", given.at)
    found = [Group(one["title"], one["functions"]) for one in given[library.name]]
    names = "\n".join({name for api in library.apis for f in api.functions.values() for name in (f.name, f.symbol)})
    for group in found:
        for index, pattern in enumerate(group.patterns):
            if not re.search(f"^{_expression(pattern)}$", names, re.MULTILINE):
                message = f"no function fits the pattern `{pattern}` of `{group.title}`; remove it"
                raise GeneratorError(message, where(group.patterns, index))
    return found


def sort(groups: list[Group], names: Iterable[str], at: Location) -> dict[str, Group]:
    """The first group that has each name; `at` is where the library's groups stand."""
    found = {name: next((group for group in groups if group.has(name)), None) for name in names}
    lost = sorted(name for name, group in found.items() if group is None)
    if lost:
        raise GeneratorError(f"no group has {', '.join(lost)}: add each name to the group of its subject", at)
    return {name: group for name, group in found.items() if group is not None}


def _expression(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", r"\w*")
