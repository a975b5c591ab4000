"""The one error that a stage raises for what a person can put right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Location:
    """A line of a file, written as editors and compilers write it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class GeneratorError(Exception):
    """Says what failed, why, and what to do about it; `at` is the line at fault."""

    def __init__(self, message: str, at: Location | None = None) -> None:
        super().__init__(f"{at}: {message}" if at else message)
        self.at = at
