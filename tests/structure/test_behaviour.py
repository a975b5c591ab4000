"""What differs between versions of CUDA has a name and its evidence in src/sim/behaviour.h, and only there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.structure import ROOT

HEADER = ROOT / "src" / "sim" / "behaviour.h"
TABLES = ROOT / "src" / "sim" / "ptx" / "approximation.c"  # has numbers only, some of which look like versions
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# A version as CUDA writes it, such as 12040, or a question that only behaviour.h may ask.
VERSION = re.compile(r"(?<![\w.])1[1-4]\d{3}[uUlL]*(?![\w.])|\w*_since\(")


def versions(text: str) -> list[tuple[int, str]]:
    """The lines of code that depend on a version, with their numbers; comments may name versions."""
    code = COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    lines = zip(text.splitlines(), code.splitlines(), strict=True)
    return [(number, line.strip()) for number, (line, bare) in enumerate(lines, 1) if VERSION.search(bare)]


def complaint(path: Path, number: int, line: str) -> str:
    return (
        f"{path.relative_to(ROOT)}:{number}: `{line}` depends on a version: "
        "ask a function acu_sim_behaviour_…() of src/sim/behaviour.h, where its evidence stands"
    )


def test_no_other_file_depends_on_versions() -> None:
    wrong = [
        complaint(path, *one)
        for path in sorted((ROOT / "src" / "sim").rglob("*.[ch]"))
        if path not in (HEADER, TABLES)
        for one in versions(path.read_text())
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.mark.parametrize(
    "line",
    [
        "if (acu_sim_runtime_since(12040))",
        "return 12040 <= acu_sim_configuration()->runtime;",
        "return newest() >= 12040;",
        "enum { OLD = 11080 };",
        "return version < 13000U;",
    ],
)
def test_a_version_in_code_is_found(line: str) -> None:
    assert versions(f"/* since 12.4:\n 12040 */\n{line}\n") == [(3, line)]


def test_other_numbers_are_allowed() -> None:
    assert versions("int a = 120400, b = 0x12040, c = 15000;\nfloat d = 12040.5f; // 12040\n") == []


def test_evidence_exists() -> None:
    """A case that a comment names is one of tests/conformance/; what no case shows says where it is from."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "conformance").glob("*.c")))
    cases = set(re.findall(r"CASE\((\w+)\)", text))
    comments = re.findall(
        r"/\*((?:(?!\*/).)*?)\*/\nstatic inline bool (acu_sim_behaviour_\w+)", HEADER.read_text(), re.DOTALL
    )
    assert len(comments) > 15
    for comment, name in comments:
        words = set(re.findall(r"\w+", comment))
        assert words & cases or "cannot_link() of link.c" in comment, (
            f"src/sim/behaviour.h: the comment of {name}() names no case of tests/conformance/: name its evidence"
        )
