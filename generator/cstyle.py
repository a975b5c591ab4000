"""How generated C is laid out: the style of .clang-format, as far as templates cannot say it themselves.

A template writes each declaration, call and comment on one line. `lay_out` breaks the lines that are too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

WIDTH = 100  # as in .clang-format
STEP = 4

# A place where a line may be broken, and its price: the cheapest break is taken, the last of equals.
PLACES = re.compile(
    r"""
    (?=[", (\[{)\]}])(?:  # asking for the first character is what makes rendering quick
    (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<comma>,\ )
  | (?P<mark>(?<=\))\ (?=ACU_|__attribute__))  # an attribute behind a declaration
  | (?P<operator>\ (?:\|\||&&)\ )
  | (?P<open>\((?![*)]))
  | (?P<assign>\ =\ )
  | (?P<typedef>\ (?=\w+;$))
  | (?P<bracket>[(\[{])
  | (?P<closing>[)\]}])
    )
    """,
    re.VERBOSE,
)
IN_STRINGS = re.compile(r" |\\0")  # behind a blank, or a NUL that ends one text of several
PRICES = {"mark": 0, "comma": 10, "operator": 10, "assign": 100, "typedef": 150, "string": 200}
STEPPED = {"open": 5, "assign": 6}  # where aligned lines would be too long


class Place(NamedTuple):
    """Where the next line may begin."""

    at: int
    price: int
    bracket: int  # the innermost open bracket: its index in the line; -1 for none
    quote: int = -1  # the string that is broken: the index of its first quote


def lay_out(text: str) -> str:
    """The text of a C file with no line longer than WIDTH, no blanks at line ends, no runs of empty lines."""
    text = "\n".join(piece for line in text.split("\n") for piece in _laid_out(line.rstrip()))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def tokens(text: str) -> str:
    """Spells a macro's tokens as a person would write them: "( ( int ) - 1 )" becomes "((int)-1)"."""
    text = re.sub(r"(?<=[(~]) | (?=\))", "", text)
    text = re.sub(r"\) (?=[\w-])", ")", text)
    return re.sub(r"- (?=\d)", "-", text)


def _laid_out(line: str) -> Iterator[str]:
    if len(line) <= WIDTH:
        yield line
    elif line.startswith("#"):
        yield from _directive(line)
    elif re.match(r" *(/\*| \* )", line):
        yield from _comment(line)
    else:
        yield from _code(line)


def _directive(line: str) -> Iterator[str]:
    """Lays a directive out: a condition is broken behind `||`, a definition before its value and behind `|`."""
    rest, sign = line, "||"
    if line.startswith("#define "):
        name, _, value = line.removeprefix("#define ").partition(" ")
        yield f"#define {name} \\"
        rest, sign = f"{' ' * STEP}{value}", "|"
    while len(rest) > WIDTH:
        cut = rest.rfind(f" {sign} ", 0, WIDTH - 4)
        if cut < 0:
            break
        yield f"{rest[:cut]} {sign} \\"
        rest = " " * STEP + rest[cut + len(sign) + 2 :]
    yield rest


def _comment(line: str) -> Iterator[str]:
    start = re.match(r" *(/\*\*? ?| \* )", line)
    assert start is not None
    indent = " " * (len(line) - len(line.lstrip()))
    first = start[0].rstrip()
    prefix = first if first.endswith(("/**", "/*")) else indent + "*"
    current = prefix
    for word in re.findall(r"\S+(?: \*/)?", line[start.end() :]):
        if len(current) + 1 + len(word) > WIDTH:
            yield current
            current = indent + (" *" if prefix.lstrip().startswith("/") else "*")
        current += f" {word}"
    yield current


def _code(line: str) -> list[str]:
    """Aligns code behind the open bracket; where that does not fit, what is in brackets begins on a line of its own."""
    aligned = _broken(line, _places(line, PRICES))
    if max(map(len, aligned)) <= WIDTH:
        return aligned
    stepped = _broken(line, _places(line, PRICES | STEPPED))
    return min(aligned, stepped, key=lambda lines: max(map(len, lines)))


def _places(line: str, prices: dict[str, int]) -> list[Place]:
    found: list[Place] = []
    brackets: list[int] = []
    for match in PLACES.finditer(line):
        kind, start = match.lastgroup, match.start()
        inner = brackets[-1] if brackets else -1
        if kind == "string":
            ends = (cut.end() for cut in IN_STRINGS.finditer(line, start + 1, match.end()))
            found += (Place(end, prices["string"], inner, start) for end in ends)
        elif kind == "closing":
            del brackets[-1:]
        else:
            is_default = kind == "assign" and line[inner] == "("  # of a parameter, with which it stays
            if kind in prices and not is_default:
                price = 10 * len(brackets) + prices[kind]
                found.append(Place(match.end(), price, start if kind == "open" else inner))
            if kind in ("open", "bracket"):
                brackets.append(start)
    return found


def _broken(line: str, places: list[Place]) -> list[str]:
    base = len(line) - len(line.lstrip())
    lines: list[str] = []
    columns: dict[int, int] = {-1: base + STEP}  # bracket -> where its content begins
    start, indent, quote = base, base, ""
    while True:
        shift = indent + len(quote) - start
        if len(line) + shift <= WIDTH:
            break
        here = [
            p for p in places if start + STEP < p.at and len(line[: p.at].rstrip()) + shift <= WIDTH - (p.quote >= 0)
        ]
        if not here:
            break
        place = min(here, key=lambda p: (p.price, -p.at))
        closing = '"' if place.quote >= 0 else ""
        for index in range(start, place.at):
            if line[index] in '([{"':
                columns[index] = index + shift + (line[index] != '"')
        if line[place.at - 1] == "(":
            columns[place.bracket] = base + STEP
        lines.append(" " * indent + quote + line[start : place.at].rstrip(" " if not closing else "") + closing)
        indent = columns[place.quote if closing else place.bracket]
        start, quote = place.at, closing
    return [*lines, " " * indent + quote + line[start:]]
