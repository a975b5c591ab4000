"""What docs/, the READMEs and CONTRIBUTING name exists: files, functions and where they are, tables, commands.

A page that names something that was renamed or removed is a page nobody kept: this test is then red.
"""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from generator.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = "c|h|cpp|hpp|py|md|inc|yaml|json|sh|j2|txt|cmake|in"
NAME = r"[\w.*<>…-]+"
# A file with a suffix, or a folder that ends with a slash. Nothing that is absolute, a URL, or a build's output.
FILE = re.compile(rf"(?<![\w/~$.>=-])((?:{NAME}/)*{NAME}\.(?:{SUFFIXES})|(?:{NAME}/)+)(?![\w/*])")
IDENTIFIER = re.compile(r"(?<![\w-])(?:acu|ACU|ANYCUDA|SIM)_\w+(?:_?…)?(?![\w…])")
# What a reader is to replace by a name, what a reader makes, and what is not the tree's.
PLACEHOLDERS = re.compile(
    r"(?:.*/)?(?:(?:test_)?noun|FOLDER|file|program|LIBRARY|COMPAT)(?![a-z]).*|.*_part[.]c|anycuda(?:_\w+)?[.]c"
    r"|(?:build|…)/.*|.*<.*"
)
# "`f()` of `file`", "`f()` in `file`", "`f` (`file`)", and more than one file with commas between.
PAIR = re.compile(r"`([a-zA-Z_]\w*)(\(\))?`\s+(?:of\s+|in\s+|\()((?:`[\w./-]+\.\w+`(?:,\s+(?=`))?)+)")
# A table is named by the heading above it: `table "X" of page`, `page's table "X"`.
TABLE = re.compile(
    r"""\btable\s+"(?P<table>[^"\n]+)"\s+of\s+`?(?P<page>[\w./-]+\.md)|(?P<its>[\w./-]+\.md)`?'s\s+table\s+"(?P<name>[^"\n]+)\""""
)
NO_IDENTIFIERS = re.compile(r"(?:acu_x|acu_noun|acu_sim_noun|ACU_NOUN)(?:_.*)?|acu_sim_cudaName")


@cache
def tree() -> set[str]:
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return {file for file in done.stdout.splitlines() if (ROOT / file).exists()}


@cache
def places() -> set[str]:
    """Each file and folder by each way to end its path: a/b/c.h, b/c.h, c.h; folders with a slash behind."""
    found = set()
    for file in tree():
        parts = file.split("/")
        for end in range(1, len(parts) + 1):
            for start in range(end):
                found.add("/".join(parts[start:end]) + ("/" if end < len(parts) else ""))
    return found


PAGES = sorted(
    file
    for file in tree()
    if file.endswith(".md") and not file.startswith(("generated/", "tests/generator/golden/expected"))
)


@cache
def identifiers() -> set[str]:
    """All of ours in code. One in a comment counts: what it names is found by that."""
    found: set[str] = set()
    for file in tree():
        if not file.endswith(".md") and not file.startswith("spec/facts/") and file != "tests/tools/test_pages.py":
            text = (ROOT / file).read_text(errors="replace")
            found.update(re.findall(r"(?<!\w)(?:acu|ACU|ANYCUDA|SIM)_\w+", text))
    return found


def prose(text: str) -> str:
    """A page without its programs, which test_readme.py compiles, and without where its links lead."""
    text = re.sub(r"^```(?:c|cpp|sh)\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", text)


def quoted(text: str) -> list[str]:
    """What stands in backticks and in pictures."""
    picture = re.compile(r"^```(?:text)?\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
    return [*picture.findall(prose(text)), *re.findall(r"`([^`\n]+)`", picture.sub("", prose(text)))]


def is_there(name: str) -> bool:
    if "*" in name or "…" in name:
        return any(fnmatch(place, name.replace("…", "*")) for place in places())
    return name in places()


def lost_files(text: str) -> set[str]:
    named = {name for piece in quoted(text) for name in FILE.findall(piece)}
    return {name for name in named if not PLACEHOLDERS.fullmatch(name) and not is_there(name)}


def is_known(identifier: str) -> bool:
    if identifier.endswith("…"):
        known = any(one.startswith(identifier.rstrip("…")) for one in identifiers())
    else:
        known = identifier in identifiers()
    return known or NO_IDENTIFIERS.fullmatch(identifier) is not None


def lost_identifiers(text: str) -> set[str]:
    return {name for name in IDENTIFIER.findall(prose(text)) if not is_known(name)}


def lost_commands(text: str) -> set[str]:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    commands = {f"make {name}" for name in targets} | {f"python -m generator {name}" for name in COMMANDS}
    named = re.findall(r"(?:`|^)(make [a-z][a-z-]*|python -m generator [a-z]+)", text, flags=re.MULTILINE)
    return set(named) - commands


def has(file: str, function: str) -> bool:
    """Whether the file has the function's body, or as a header its declaration."""
    text = (ROOT / file).read_text()
    if file.endswith(".py"):
        return re.search(rf"^(?:    )?def {function}\(", text, re.MULTILINE) is not None
    end = "[;{]" if file.endswith(".h") else "{"
    return re.search(rf"^[a-zA-Z][\w *()]*\b{function}\([^;{{]*{end}$", text, re.MULTILINE) is not None


def files_named(name: str) -> list[str]:
    return [file for file in tree() if f"/{file}".endswith(f"/{name}")]


def is_in(name: str, is_function: bool, file: str) -> bool:
    """What is no function only has to be named there."""
    if is_function:
        return has(file, name)
    return re.search(rf"\b{name}\b", (ROOT / file).read_text()) is not None


def misplaced(text: str) -> set[str]:
    """What is said to be in a file that does not have it. lost_files() finds a file that does not exist."""
    found = set()
    for name, brackets, files in PAIR.findall(text):
        for file in re.findall(r"`([^`]+)`", files):
            candidates = files_named(file)
            if candidates and not any(is_in(name, bool(brackets), one) for one in candidates):
                found.add(f"{name}{brackets} in {file}")
    return found


def has_table(page: str, table: str) -> bool:
    """Whether the page has a section of that name with a table."""
    section = re.search(rf"^#+ {re.escape(table)}\n((?:(?!#).*\n)*)", (ROOT / page).read_text() + "\n", re.MULTILINE)
    return section is not None and "\n|---" in section[1]


def lost_tables(text: str) -> set[str]:
    named = [(one["page"] or one["its"], one["table"] or one["name"]) for one in TABLE.finditer(text)]
    return {
        f'the table "{table}" of {page}'
        for page, table in named
        if not any(has_table(one, table) for one in files_named(page))
    }


def complaints(page: str, text: str) -> list[str]:
    lost = lost_files(text) | lost_identifiers(text) | lost_commands(text) | lost_tables(text)
    return [
        *(f"{page} names {name}, which does not exist: correct the page, or restore it" for name in sorted(lost)),
        *(f"{page} names {pair}, which is not there: name the right file" for pair in sorted(misplaced(text))),
    ]


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page: str) -> None:
    if wrong := complaints(page, (ROOT / page).read_text()):
        pytest.fail("\n".join(wrong), pytrace=False)


def test_tables_that_sources_name_exist() -> None:
    mine = Path(__file__).relative_to(ROOT).as_posix()
    wrong = [
        f"{file} names {table}, which does not exist: correct the comment, or restore the table"
        for file in sorted(tree())
        if file.endswith((".py", ".c", ".h", ".sh", ".txt", ".yaml")) and not file.startswith("spec/facts/")
        if file != mine
        for table in sorted(lost_tables((ROOT / file).read_text(errors="replace")))
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_what_does_not_exist_is_found() -> None:
    text = (
        "`src/core/nowhere.c`, `acu_nowhere()`, `old/`\n```\n acu_gone…  core/gone.h\n```\n`make nothing`, `acu_load()`"
    )
    assert lost_files(text) == {"src/core/nowhere.c", "old/", "core/gone.h"}
    assert lost_identifiers(text) == {"acu_nowhere", "acu_gone…"}
    assert lost_commands(text) == {"make nothing"}


def test_what_is_elsewhere_is_found() -> None:
    text = (
        "`version_of()` of `src/sim/sim.c`, `version_of()` in\n`sim_provider.c`, `acu_sim_provider` (`src/sim/sim.c`, "
        "`core/simulator.h`), `acu_sim_leaks()` (`sim.h`), `has()` of `tests/tools/test_pages.py`"
    )
    assert misplaced(text) == {"version_of() in src/sim/sim.c", "acu_sim_provider in src/sim/sim.c"}


def test_a_lost_table_is_found() -> None:
    text = """The table "Failures" of `docs/internals/words.md`, CONTRIBUTING.md's table "Private names", the table
        "Nothing" of `docs/internals/words.md`, words.md's table "Versions and bindings"."""
    assert lost_tables(text) == {
        'the table "Private names" of CONTRIBUTING.md',
        'the table "Nothing" of docs/internals/words.md',
    }


WHERE_PAGE = "docs/internals/where.md"
WHERE = re.findall(r"^\| (.*\?) \| `(.*)` \| `(.*)` \|$", (ROOT / WHERE_PAGE).read_text(), re.MULTILINE)


@pytest.mark.parametrize(("question", "file", "function"), WHERE, ids=[question for question, _, _ in WHERE])
def test_where_it_is_decided(question: str, file: str, function: str) -> None:
    row = f'{WHERE_PAGE}, row "{question}"'
    if not (ROOT / file).is_file():
        pytest.fail(f"{row}: there is no file {file}: name the one that has {function}()", pytrace=False)
    if not has(file, function):
        pytest.fail(f"{row}: {file} has no body of {function}(): name the file that has it", pytrace=False)


def test_there_are_enough_questions() -> None:
    assert len(WHERE) >= 20


@pytest.mark.parametrize("page", sorted((ROOT / "docs/internals").glob("*.md")), ids=lambda page: page.stem)
def test_inner_pages_are_short_and_their_pictures_narrow(page: Path) -> None:
    text = page.read_text()
    pictures = re.findall(r"^```\n(.*?)^```$", prose(text), flags=re.DOTALL | re.MULTILINE)
    assert len(text.splitlines()) <= 120
    assert [line for picture in pictures for line in picture.splitlines() if len(line) > 100] == []
