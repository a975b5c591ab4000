"""What the headers do not say of a library, and spec/parameters does not say either: each is raised by name.

The checks go by names and shapes that NVIDIA keeps to: `flags` has bits, `numX` counts something, a `char *` that may
be written has a length, a union has a discriminator, what is called reserved must be zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from . import ctype
from .errors import GeneratorError, Stops
from .model import Api, Function, Library, Param, Record
from .spec import Parameters

FLAGS = re.compile(r"p?flags|\w+Flags", re.IGNORECASE)
COUNT = re.compile(r"p?(num|nb)[A-Z]\w*")
RESERVED = re.compile(r"_*(reserved\d*|cudaReserved|pad|unused|\w*padding|oversize)")
INTEGERS = ("signed", "unsigned", "char")

# Counts of something other than the elements of an array.
NO_LENGTH = {"numBlocks", "numChannels", "numLevels", "numMipmapLevels"}

Question = tuple[tuple[str, ...], str]  # the place in the file, and what is asked


def check(given: Parameters, library: Library) -> None:
    """Raises all that a person must say, each once."""
    stops = Stops()
    for path, message in dict.fromkeys(_questions(given, library)):
        stops.found.append(GeneratorError(message, given.at(*path)))
    stops.end()


def _questions(given: Parameters, library: Library) -> Iterator[Question]:
    for api in library.apis:
        for function in api.functions.values():
            yield from _function(given, api, function)
        for record in api.records.values():
            yield from _unions(given, record)
            yield from _reserved(given, record)
    yield from _flags(given, library)


# ---- parameters


def _function(given: Parameters, api: Api, function: Function) -> Iterator[Question]:
    entries = given.section("functions").get(function.name, {})
    counted = {other for entry in entries.values() for other in _siblings(entry)}
    for param in function.params:
        entry, place = entries.get(param.name, {}), ("functions", function.name, param.name)
        what = f"{function.name}.{param.name}"
        if param.type.spelling == "char *" and not {"length", "bytes", "elements"} & set(entry):
            yield place, f"{what} is a buffer of text: say its length"
        if FLAGS.fullmatch(param.name) and _is_integer(api, param, 1) and not {"flags", "enum"} & set(entry):
            yield place, f"{what} is a set of flags: say which bits it has"
        if COUNT.fullmatch(param.name) and _is_integer(api, param, 0) and param.name not in counted | NO_LENGTH:
            yield place, f"{what} counts the elements of an array: say of which"


def _is_integer(api: Api, param: Param, pointers: int) -> bool:
    """Returns whether it is an integer, or leads to one through so many pointers at most."""
    seen = api.strip(param.type)
    bare = seen.base in api.enums or seen.base in api.records
    return not bare and len(seen.pointers) <= pointers and not seen.function and _class_of(api, seen.base) in INTEGERS


def _class_of(api: Api, base: str) -> str:
    return api.scalar(ctype.parse(base))[0] if base else ""


def _siblings(entry: dict[str, object]) -> Iterator[str]:
    yield from (str(entry[key]) for key in ("length", "target_length", "tag", "tags", "bytes") if key in entry)
    elements = entry.get("elements")
    if isinstance(elements, dict):
        yield from elements.get("divide", ())


# ---- records


def _unions(given: Parameters, record: Record) -> Iterator[Question]:
    """In every layout, members that are padding aside; a union of one needs nothing."""
    entry = given.record(record.name)
    if entry.get("undiscriminated"):
        return
    for at, union in _all_unions(record, ""):
        prefix = f"{at}." if at else ""
        padding = {path.removeprefix(prefix) for path in entry.get("padding", ()) if path.startswith(prefix)}
        left = {member.name for member in union.members()} - padding
        said = [said for said in entry.get("unions", ()) if said.get("at", "") == at]
        known = {name for one in said for name in (*one["members"], one.get("otherwise"))}
        if len(left) > 1 and left - known:
            members = ", ".join(sorted(left - known))
            yield ("records", record.name), f"{record.name}: nothing says when {prefix}{members} is meant"


def _all_unions(record: Record, path: str) -> Iterator[tuple[str, Record]]:
    if record.kind == "union":
        yield path, record
    for member in record.fields:
        if member.record is not None:
            yield from _all_unions(member.record, f"{path}.{member.name}".strip(".") if member.name else path)


def _reserved(given: Parameters, record: Record) -> Iterator[Question]:
    entry = given.record(record.name)
    said = {*entry.get("reserved", ()), *entry.get("padding", ()), *entry.get("opaque", ())}
    for path, is_record in _paths(record, ""):
        parts = path.split(".")
        inside = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if not is_record and RESERVED.fullmatch(parts[-1]) and not inside & said:
            yield ("records", record.name), f"{record.name}.{path} is reserved, or padding, or opaque: say which"


def _paths(record: Record, prefix: str) -> Iterator[tuple[str, bool]]:
    for member in record.members():
        yield prefix + member.name, member.record is not None
        if member.record is not None:
            yield from _paths(member.record, f"{prefix}{member.name}.")


# ---- flags that are macros


def _flags(given: Parameters, library: Library) -> Iterator[Question]:
    """A new cudaHostAllocX belongs to the set that has cudaHostAllocPortable."""
    sets = {name: bits for name, bits in given.section("flags").items() if not isinstance(bits, str)}
    listed = {bit for bits in sets.values() for bit in bits}.union(*given.section("not_flags").values())
    for name, bits in sets.items():
        prefix = _common_beginning(bits) if len(bits) > 1 else ""
        for api in library.apis if prefix else ():
            for macro in api.macros:
                if macro.startswith(prefix) and macro not in listed and _is_a_bit(api, macro):
                    yield (
                        ("flags", name),
                        f"{macro} looks like one of the flags `{name}`: add it, or name it in `not_flags`",
                    )


def _common_beginning(names: Iterable[str]) -> str:
    first, last = min(names), max(names)
    return first[: next(i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)]


def _is_a_bit(api: Api, macro: str) -> bool:
    value = api.constant(macro)
    return isinstance(value, int) and value != 0
