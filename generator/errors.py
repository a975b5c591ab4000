"""The error that a stage raises for what a person can put right, and several of them as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


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


class GeneratorErrors(GeneratorError):
    """Several of them: one run names all that a person must put right."""

    def __init__(self, parts: list[GeneratorError]) -> None:
        super().__init__("\n".join(map(str, parts)))
        self.at = parts[0].at
        self.parts = parts


@dataclass
class Stops:
    """The errors of stages that do not need one another."""

    found: list[GeneratorError] = field(default_factory=list)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keeps the error that ends the block, so that the stages behind it are asked, too."""
        try:
            yield
        except GeneratorErrors as errors:
            self.found += errors.parts
        except GeneratorError as error:
            self.found.append(error)

    def end(self) -> None:
        """Raises what was gathered, each sentence once."""
        parts = list({str(error): error for error in self.found}.values())
        if parts:
            raise parts[0] if len(parts) == 1 else GeneratorErrors(parts)
