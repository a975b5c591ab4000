"""The reports: what changed between two toolkits, and what each of them has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from generator import __main__, report, yamlfile
from generator.availability import AS_IS, availability
from generator.changes import Changes, compare
from generator.facts import read_all
from generator.model import Library

from .madeup import facts_of, library, router

OLDER = """
#define MADE_VERSION 1
#define madeGet madeGet_v2
enum made_kind { madeKindA, madeKindMax = 1 };
struct made_prop { int clock; int count; int reserved[2]; };
struct made_desc { int a; char pad[4]; };
union made_attr { int x; };
made_error_t madeGet(struct made_prop *prop);
made_error_t madeSet(const struct made_desc *desc);
made_error_t madeCopy(void *to, int flags);
made_error_t madeSwap(int to, int from);
made_error_t madeOld(void);
"""
NEWER = """
#define MADE_VERSION 2
#define MADE_EXTRA ((int)-1)
#define made_attr made_value
enum made_kind { madeKindA, madeKindB, madeKindMax = 2 };
struct made_prop { int count; int clockRate; int reserved[2]; };
struct made_desc { int a; char pad[60]; };
union made_value { int x; long y; };
typedef struct made_prop made_prop_t;
made_error_t madeGet(struct made_prop *prop);
made_error_t madeSet(const struct made_desc *desc);
made_error_t madeCopy(void *to, made_stream_t stream);
made_error_t madeSwap(int from, int to);
made_error_t madeNew(union made_value *value);
"""

GOLDEN = """\
# From CUDA 1.0 to 2.0

## CUDA runtime

### New functions (1)

- `made_error_t madeNew(union made_value *value)`

### Functions that are gone (1)

- `made_error_t madeOld(void)`

### Changed signatures (1)

#### `madeCopy` — same symbol

```diff
- made_error_t madeCopy(void *to, int flags)
+ made_error_t madeCopy(void *to, made_stream_t stream)
```

### Parameters with other names (1)

```diff
- made_error_t madeSwap(int to, int from)
+ made_error_t madeSwap(int from, int to)
```

### Other symbols behind the same name (1)

| function | 1.0 | 2.0 |
|---|---|---|
| `madeGet` | `madeGet_v2` | `madeGet` |

### Symbols that 1.0 exports but does not declare (1)

They may have another signature or layout there.

- `madeGet`

### Changed structs and unions (2)

#### `made_desc`: 8 → 64 bytes

- only reserved space changed
- reached through an unchanged signature: `madeSet`

#### `made_prop`: 16 bytes as before

- new: `clockRate`
- gone: `clock`
- moved: `count` 4 → 0
- reached through an unchanged signature: `madeGet`

### New structs and unions (1)

- `union made_value`, 8 bytes

### Structs and unions that are gone (1)

- `union made_attr`, 4 bytes; now a name for `made_value`

### New enumerators (1)

| enum | enumerator | value |
|---|---|---:|
| `made_kind` | `madeKindB` | 1 |

### Enumerators with other values (1)

| name | 1.0 | 2.0 |
|---|---|---|
| `madeKindMax` | `1` | `2` |

### Macros with other values (1)

| name | 1.0 | 2.0 |
|---|---|---|
| `MADE_VERSION` | `1` | `2` |

### New macros (2)

- `MADE_EXTRA` = `((int)-1)`
- `made_attr` = `made_value`

### New typedefs (1)

- `made_prop_t` = `struct made_prop`
"""


def made_changes(folder: Path) -> Changes:
    facts = {"1.0": facts_of(folder, "1.0", OLDER), "2.0": facts_of(folder, "2.0", NEWER)}
    facts["1.0"]["symbols"]["madeGet"] = ""  # as libcudart 12 has the bare name of the 11 headers
    made = Library("cudart", facts)
    return compare("cudart", *made.apis)


def test_diff_in_markdown(tmp_path: Path) -> None:
    assert report.diff([made_changes(tmp_path)]) == GOLDEN


def test_fields_of_unnamed_types_are_followed(tmp_path: Path) -> None:
    headers = {
        "1.0": "struct made { int type; struct { int a; int b; } in; };",
        "2.0": "struct made { int type; int more; struct { int a; long b; } in; struct { int c; } out; };",
    }
    (change,) = compare("cudart", *library(tmp_path, headers).apis).records
    assert change.new == ("more", "out"), "the members of what is new are not named again"
    assert [(pair.name, pair.before, pair.after) for pair in change.moved] == [
        ("in", "4", "8"),
        ("in.a", "4", "8"),
        ("in.b", "8", "16"),
    ]
    assert [(pair.name, pair.before, pair.after) for pair in change.retyped] == [("in.b", "int", "long")]


def test_nothing_changed_is_said(tmp_path: Path) -> None:
    api = library(tmp_path, {"1.0": OLDER}).presented
    assert "Nothing changed." in report.diff([compare("cudart", api, api)])
    assert "Nothing changed." in report.diff([compare("cudart", api, api)], html=True)


class Page(HTMLParser):
    """Collects what the checks need, and complains about tags that are closed without being open."""

    VOID = frozenset({"meta", "input", "br", "link", "img"})
    OPTIONAL = frozenset({"tr", "td", "th", "li", "dt", "dd", "option", "p", "thead", "tbody"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.problems: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"<{tag}> is never closed" for tag in self.open if tag not in self.OPTIONAL]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.update(value for name, value in attrs if name == "id" and value)
        self.links += [value for name, value in attrs if name == "href" and value]
        self.loads += [f"{tag} {name}" for name in values if name in ("src", "srcset", "action") or tag == "link"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] != tag and self.open[-1] in self.OPTIONAL:
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"line {self.getpos()[0]}: </{tag}> closes nothing")


@cache
def documents() -> dict[str, str]:
    folder = yamlfile.SPEC / "facts"
    return report.outputs([Library(name, read_all(folder / name)) for name in ("cudart", "cuda", "nvrtc")])


def availability_page() -> str:
    return documents()["docs/availability.html"]


def diff_page() -> str:
    return report.diff(report.compare_libraries("12.9", "13.0"), html=True)


@pytest.mark.parametrize("page", [availability_page, diff_page])
def test_html_stands_on_its_own(page: Callable[[], str]) -> None:
    text = page()
    found = Page(text)
    assert found.problems == []
    assert found.loads == [], "nothing is loaded"
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text), "and nothing points outside"
    assert [name for name, times in found.ids.items() if times > 1] == []
    assert [link for link in found.links if not link.startswith("#") or link[1:] not in found.ids] == []


def test_html_escapes_what_headers_say(tmp_path: Path) -> None:
    facts = {"1.0": facts_of(tmp_path, "1.0", ""), "2.0": facts_of(tmp_path, "2.0", "#define MADE_SHIFT (1<<3&7)\n")}
    text = report.diff([compare("cudart", *Library("cudart", facts).apis)], html=True)
    assert "1 &lt;&lt; 3 &amp; 7" in text


def test_documents_are_small_and_the_same_each_time() -> None:
    assert list(documents()) == ["docs/availability.md", "docs/availability.html"]
    assert all(len(text.encode()) < 600_000 for text in documents().values())
    documents.cache_clear()
    before = documents()
    documents.cache_clear()
    assert documents() == before


def test_every_function_and_every_record_is_in_both_documents() -> None:
    known = Library("cudart", read_all(yamlfile.SPEC / "facts" / "cudart"))
    for text in documents().values():
        for name in {*known.presented.functions, *known.gone_functions(), *known.presented.records}:
            assert f">{name}<" in text or f"`{name}`" in text, name


def test_how_a_function_is_reached(tmp_path: Path) -> None:
    headers = {
        "1.0": "struct made { int a; }; made_error_t madeGet(struct made *p); made_error_t madeUse(int a);",
        "1.1": "struct made { int a; }; made_error_t madeGet(struct made *p); made_error_t madeUse(int a);",
        "2.0": (
            "struct made { int b; int a; };\n#define madeGet madeGet_v2\nmade_error_t madeGet(struct made *p);"
            "made_error_t madeUse_v2(int a, int b); made_error_t madeUse(int a);"
        ),
        "3.0": (
            "struct made { int a; int b; }; made_error_t madeGet(struct made *p);"
            "made_error_t madeUse(int a, int b); made_error_t madeLate(void);"
        ),
    }
    decisions = "decisions: [{function: madeUse, answers: [int], reason: zero says the same, args: [a]}]"
    made = library(tmp_path, headers)
    tables = availability(made, "Made up", router(made, tmp_path, decisions))
    rows = {row.name: row for row in tables.functions}
    assert rows["madeGet"].letters == ["s", "s", "s", "="]
    assert [(run.toolkits, run.cell.label) for run in rows["madeGet"].runs] == [
        ("1.0 to 1.1", "struct"),
        ("2.0", "_v2 copied"),
        ("3.0", ""),
    ]
    assert rows["madeUse"].letters == ["d", "d", "v", "="]
    assert [run.cell.note for run in rows["madeUse"].notes] == ["Zero says the same.", "Calls madeUse_v2."]
    assert (rows["madeLate"].letters, rows["madeLate"].since) == (["", "", "", "="], "3.0")
    assert [(row.name, row.remark, row.letters) for row in tables.gone] == [
        ("madeGet_v2", "another name for madeGet", ["s", "s", "s", "="]),
        ("madeUse_v2", "another name for madeUse", ["d", "d", "v", "="]),
    ]
    assert [cell.label for cell in next(row for row in tables.records if row.name == "made").cells] == list("4488")
    assert {cell.state: numbers for cell, numbers in tables.counts}[AS_IS] == [0, 0, 0, 3]


def test_a_library_that_needs_no_adapting_is_its_symbols(tmp_path: Path) -> None:
    headers = {
        "1.0": "#define madeGet madeGet_v2\nmade_error_t madeGet(int a);",
        "2.0": "#define madeGet madeGet_v3\nmade_error_t madeGet(int a, int b);",
    }
    (row,) = availability(library(tmp_path, headers), "Made up", None).functions
    assert (row.letters, row.symbol, row.since) == (["", "="], "madeGet_v3", "2.0")


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    file = tmp_path / "diff.md"
    assert __main__.main(["diff", "12.9", "13.0", "-o", str(file)]) == 0
    assert file.read_text().startswith("# From CUDA 12.9 to 13.0\n")
    assert "#### `cudaMemAdvise` — same symbol" in file.read_text()


def test_an_unknown_toolkit_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["diff", "12.9", "12.7"]) == 2
    assert "no facts of toolkit 12.7; known: 11.7, 11.8, 12.0" in capsys.readouterr().err
