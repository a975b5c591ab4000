"""What each toolkit has, and how the presented API reaches it there: the tables behind docs/availability."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby

from .abi import COPY, PREFIX, Route, Router
from .changes import RecordChange, record_change
from .gates import Gate
from .model import Api, Function, Library, Record

# How a function is reached in one toolkit, from the simplest to the impossible.
AS_IS = "as is"
SYMBOL = "other symbol"
STRUCT = "struct"
DECISION = "decision"
ABSENT = "absent"
STATES = (AS_IS, SYMBOL, STRUCT, DECISION, ABSENT)
LETTERS = {AS_IS: "=", SYMBOL: "v", STRUCT: "s", DECISION: "d", ABSENT: ""}
STYLES = {AS_IS: "v", SYMBOL: "o", STRUCT: "s", DECISION: "d", ABSENT: ""}  # classes of templates/docs/_page.css


@dataclass(frozen=True)
class Cell:
    """One function in one toolkit."""

    state: str
    label: str = ""
    note: str = ""  # a sentence, where "as is" or "absent" does not say it all

    @property
    def style(self) -> str:
        return STYLES[self.state]


@dataclass(frozen=True)
class Run:
    """Neighbouring toolkits for which the same holds."""

    first: str
    last: str
    span: int
    cell: Cell

    @property
    def toolkits(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class Row:
    """One line of a table: a function or a record through all toolkits."""

    name: str
    since: str
    until: str
    cells: tuple[Cell, ...]
    runs: tuple[Run, ...]
    symbol: str = ""  # of the presented library, where it is not the name
    remark: str = ""
    library: str = ""

    @property
    def anchor(self) -> str:
        """Functions by their name; a record may be in two libraries."""
        return f"{self.library}.{self.name}" if self.library else self.name

    @property
    def letters(self) -> list[str]:
        return [LETTERS[cell.state] for cell in self.cells]

    @property
    def notes(self) -> list[Run]:
        return [run for run in self.runs if run.cell.note]

    @property
    def search(self) -> str:
        """What the page's filter finds besides the text that is shown."""
        return " ".join(
            word for word in (self.since and f"since {self.since}", self.until and f"until {self.until}") if word
        )

    @property
    def states(self) -> str:
        """The states that occur, for the page's filter."""
        return " ".join(state.replace(" ", "-") for state in STATES if any(cell.state == state for cell in self.cells))


@dataclass(frozen=True)
class EnumeratorRow:
    name: str
    enum: str
    value: int
    since: str
    until: str


@dataclass
class Availability:
    """All tables of one library."""

    library: str
    title: str
    presented: str
    toolkits: list[str]
    functions: list[Row] = field(default_factory=list)
    gone: list[Row] = field(default_factory=list)
    records: list[Row] = field(default_factory=list)
    enumerators: list[EnumeratorRow] = field(default_factory=list)

    @property
    def counts(self) -> list[tuple[Cell, list[int]]]:
        """For each state that occurs, how many presented functions are in it in each toolkit."""
        columns = list(zip(*(row.cells for row in self.functions), strict=True))
        rows = [(Cell(state), [sum(cell.state == state for cell in column) for column in columns]) for state in STATES]
        return [(cell, numbers) for cell, numbers in rows if any(numbers)]


def availability(library: Library, title: str, router: Router | None) -> Availability:
    """The tables of one library; without a router each name is the one symbol that the presented header maps it to."""
    tables = Availability(library.name, title, library.presented.toolkit, [api.toolkit for api in library.apis])
    for function in library.presented.functions.values():
        tables.functions.append(_function(library, router, function))
    if router is not None:
        rows = {row.name: row for row in tables.functions}
        for gone, home in library.gone_functions().values():
            alias = library.alias_of(gone)
            tables.gone.append(_alias(gone, rows[alias.name]) if alias else _gone(library, router, gone, home))
    tables.records = [_record(library, name) for name in sorted({n for api in library.apis for n in api.records})]
    tables.enumerators = _enumerators(library)
    return tables


def features(libraries: list[Library], tables: list[Availability], gates: list[Gate]) -> Availability:
    """The features of spec/features.yaml: there where each of their functions and enumerators is."""
    widest = max(libraries, key=lambda library: len(library.apis))
    found = Availability("features", "Features", widest.presented.toolkit, [api.toolkit for api in widest.apis])
    # A library of which one toolkit is known says nothing about the others.
    compared = [library for library in libraries if len(library.apis) == len(widest.apis)]
    rows = {row.name: row for table in tables for row in (*table.gone, *table.functions)}
    for gate in gates:
        functions = [rows[name] for name in gate.functions if name in rows]
        parts = [[cell.state for cell in row.cells] for row in functions if len(row.cells) == len(widest.apis)]
        parts += [_has_enumerator(compared, name) for name in gate.enumerators]
        if parts:
            cells = [Cell(ABSENT if ABSENT in states else AS_IS) for states in zip(*parts, strict=True)]
            found.functions.append(replace(_row(widest, gate.title, cells), symbol="", remark=_needs(gate)))
    return found


def _has_enumerator(libraries: list[Library], name: str) -> list[str]:
    """Its state in each toolkit; value macros count as enumerators."""
    columns = zip(*(library.apis for library in libraries), strict=True)
    return [AS_IS if any(name in api.enumerators or name in api.macros for api in apis) else ABSENT for apis in columns]


def _needs(gate: Gate) -> str:
    return "; ".join([", ".join((*gate.functions, *gate.enumerators)), *gate.needs_below])


def _function(library: Library, router: Router | None, function: Function) -> Row:
    if router is None:
        cells = [Cell(AS_IS if function.symbol in api.symbols else ABSENT) for api in library.apis]
    else:
        cells = [_cell(route, function) for route in router.routes(function, library.presented)]
    symbol = function.symbol if function.symbol != function.name else ""
    return _row(library, function.name, cells, symbol, "deprecated" if function.deprecated else "")


def _alias(gone: Function, successor: Row) -> Row:
    """The row of an older name: the row of the presented name that has its meaning."""
    return replace(successor, name=gone.name, symbol="", remark=f"another name for {successor.name}")


def _gone(library: Library, router: Router, function: Function, home: Api) -> Row:
    cells = [_cell(route, function) for route in router.routes(function, home)]
    return _row(library, function.name, cells, remark=f"declared until {home.toolkit}")


def _cell(route: Route, function: Function) -> Cell:
    if route.target is None:
        return Cell(ABSENT, note=_sentence(route.decision.reason) if route.decision else "")
    sentences = []
    other = route.target.symbol if route.target.symbol != function.symbol else ""
    label = other.removeprefix(function.name) if other else ""
    if other:
        sentences.append(f"Calls {other}.")
    sentences += [f"{name}: {HOW[how]}." for name, how in route.structs]
    if route.decision is not None:
        sentences.append(_sentence(route.decision.reason))
        return Cell(DECISION, "decided", " ".join(sentences))
    if route.structs:
        kind = "copied" if any(how == COPY for _, how in route.structs) else "struct"
        return Cell(STRUCT, f"{label} {kind}".strip(), " ".join(sentences))
    return Cell(SYMBOL, label, " ".join(sentences)) if other else Cell(AS_IS)


HOW = {
    PREFIX: "passed as it is, since this layout is its first part; the rest is checked or filled in",
    COPY: "copied field by field to and from this toolkit's layout",
}


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _row(library: Library, name: str, cells: list[Cell], symbol: str = "", remark: str = "") -> Row:
    here = [api.toolkit for api, cell in zip(library.apis, cells, strict=True) if cell.state != ABSENT]
    since, until = _span(library, here)
    return Row(name, since, until, tuple(cells), _runs(library, cells), symbol, remark)


def _span(library: Library, here: list[str]) -> tuple[str, str]:
    """Returns since and until; "" where no toolkit is older or newer."""
    if not here:
        return "", ""
    since = "" if here[0] == library.oldest.toolkit else here[0]
    return since, "" if here[-1] == library.newest.toolkit else here[-1]


def _runs(library: Library, cells: list[Cell]) -> tuple[Run, ...]:
    runs = []
    for cell, same in groupby(zip(cells, library.apis, strict=True), key=lambda pair: pair[0]):
        toolkits = [api.toolkit for _, api in same]
        runs.append(Run(toolkits[0], toolkits[-1], len(toolkits), cell))
    return tuple(runs)


def _record(library: Library, name: str) -> Row:
    """Its size in each toolkit; a new run begins where the layout changes, even if the size does not."""
    cells: list[Cell] = []
    before: Record | None = None
    note = ""
    for api in library.apis:
        record = api.records.get(name)
        if record is None:
            cells.append(Cell(ABSENT))
            continue
        change = record_change(before, record) if before else None
        note = _what_changed(change) if change else note
        cells.append(Cell(AS_IS, str(record.size), note))
        before = record
    assert before is not None
    return replace(_row(library, name, cells, remark=before.kind), library=library.name)


def _what_changed(change: RecordChange) -> str:
    parts = [f"{word} {', '.join(names)}" for word, names in (("new:", change.new), ("gone:", change.gone)) if names]
    parts += [f"{len(change.moved)} fields moved"] if change.moved else []
    parts += [f"another type: {', '.join(pair.name for pair in change.retyped)}"] if change.retyped else []
    if change.grew:
        parts.append(f"{change.before.size} → {change.after.size} bytes")
    return _sentence("; ".join(parts))


def _enumerators(library: Library) -> list[EnumeratorRow]:
    """Returns the enumerators that came or went; the others are in every toolkit."""
    rows = []
    known: dict[str, tuple[str, int]] = {}
    for api in library.apis:
        for enum in api.enums.values():
            known.update({name: (enum.name, value) for name, value in enum.values.items()})
    for name, (owner, value) in known.items():
        since, until = _span(library, [api.toolkit for api in library.apis if name in api.enumerators])
        if since or until:
            rows.append(EnumeratorRow(name, owner, value, since, until))
    return sorted(rows, key=lambda row: (row.enum, row.value, row.name))
