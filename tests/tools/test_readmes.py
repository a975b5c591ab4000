"""The READMEs of the top folders and of src/'s are short and name what lies there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.parent.name for path in ROOT.glob("[a-z]*/README.md"))
SOURCES = sorted(
    {str(path.parent.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.c") if path.parent.name != "shared"}
)
HAS_FIGURES = "bench"  # a table of them
# Where a newcomer looks a file up. Elsewhere the noun is the file, and a rule says so.
LISTS = {"docs": "docs", "examples": "examples", "include": "include/anycuda", "tests": "tests", "tools": "tools"}


def tracked(folder: str) -> set[str]:
    done = subprocess.run(["git", "ls-files", folder], cwd=ROOT, check=True, capture_output=True, text=True)
    return {line.removeprefix(f"{folder}/").split("/")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("folder", [*FOLDERS, *SOURCES, "src/safe"])
def test_short(folder: str) -> None:
    lines = (ROOT / folder / "README.md").read_text().splitlines()
    assert folder == HAS_FIGURES or (len(lines) <= 15 and max(map(len, lines)) <= 125)


def test_every_top_folder_has_one() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    folders = {line.split("/")[0] for line in done.stdout.splitlines() if "/" in line and not line.startswith(".")}
    assert sorted(folders) == FOLDERS


@pytest.mark.parametrize("folder", LISTS)
def test_names_what_lies_there(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text()
    names = {Path(name).stem for name in tracked(LISTS[folder]) if not name.startswith(".")}
    names -= {"README", "CMakeLists", "conftest", "anycuda" if folder == "tools" else ""}
    assert {name for name in names if name not in text} == set()


@pytest.mark.parametrize("folder", SOURCES)
def test_lists_the_sources(folder: str) -> None:
    """`noun`, or `noun.h`, in a list: each is a file of the folder, and each file is in the list."""
    text = (ROOT / folder / "README.md").read_text()
    items = "".join(re.findall(r"^(?:- |  |`).*\n", text, re.MULTILINE))
    named = set(re.findall(r"`([a-z]\w*)(?:\.[ch])?`", items))
    assert named == {path.stem for path in (ROOT / folder).glob("*.[ch]")}
