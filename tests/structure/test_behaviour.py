"""What differs between versions of CUDA has a name and its evidence in src/sim/behaviour.h, and only there."""

from __future__ import annotations

import re

from tools.structure import ROOT

HEADER = ROOT / "src" / "sim" / "behaviour.h"
VERSION = re.compile(r"(?:runtime|driver|[vV]ersion)\w*\b(?: / \d+)? *(?:[<>]=?|[!=]=) *\d{4,5}\b")


def test_no_other_file_compares_versions() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "src" / "sim").rglob("*.[ch]"))
        if path != HEADER
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if VERSION.search(line)
    ]
    assert found == []


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
        assert words & cases or "cannot_link() of link.c" in comment, f"{name}: {comment}"
