"""What the error codes of a library are about: spec/errors.yaml, held against the facts."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import GeneratorError
from .model import Enum, Library
from .yamlfile import Mapping, where


@dataclass(frozen=True)
class Code:
    name: str
    number: int
    kind: str
    text: str
    hint: str


def read(given: Mapping, library: Library, result: str) -> list[Code]:
    """The codes of the type `result`, by number: each code of each toolkit is in the file, and no other name."""
    if library.name not in given:
        return []
    numbers = {name: number for api in library.apis for name, number in _enum(library, api.toolkit, result)}
    about: Mapping = given[library.name]
    found: dict[int, Code] = {}
    for kind, codes in about.items():
        for name, words in codes.items():
            if name not in numbers:
                raise GeneratorError(f"no toolkit has the error `{name}`", where(codes, name))
            if numbers[name] in found:
                message = f"`{name}` is {found[numbers[name]].name}, which is here already"
                raise GeneratorError(message, where(codes, name))
            words = {"text": words, "hint": ""} if isinstance(words, str) else words
            found[numbers[name]] = Code(name, numbers[name], kind, words["text"], words["hint"])
    lost = sorted(name for name, number in numbers.items() if number and number not in found)
    if lost:
        raise GeneratorError(f"nothing says what {', '.join(lost)} is about: add it to its kind", about.at)
    return [found[number] for number in sorted(found)]


def _enum(library: Library, toolkit: str, result: str) -> list[tuple[str, int]]:
    api = library.api(toolkit)
    enum: Enum | None = api.enum_of(api.typedefs[result].type)
    return list(enum.values.items()) if enum else []
