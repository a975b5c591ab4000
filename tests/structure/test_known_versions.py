"""The oldest and the newest known CUDA, where people wrote them: a new toolkit makes each such text fail by name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from generator.fetch import Toolkits
from generator.model import number

ROOT = Path(__file__).parents[2]
KNOWN = [toolkit.version for toolkit in Toolkits.load()]
OLDEST, NEWEST = KNOWN[0], KNOWN[-1]

# What a page claims of all known versions; {count} is how many there are.
CLAIMS = {
    "README.md": [
        "Run on CUDA {oldest}, ",
        "anycuda simulator, CUDA {newest}",
        "with {newest}'s signatures",
        "{count} toolkits' ABIs",
        "reads the headers of {count} toolkits",
        "the {count} real",
        "CUDA's own names for {count} toolkits",
    ],
    "CHANGELOG.md": [
        "as CUDA {newest} declares them",
        "{count} toolkits, {oldest} to {newest} (",
        "the ABI of all {count} toolkits",
        "all {count} real runtimes",
    ],
    "docs/internals/adapters.md": ["Presented is {newest}.", "facts/cudart/{oldest}.json", "{count} toolkits"],
    "docs/internals/adding.md": ["each of {count} versions"],
    "docs/users/versions.md": ["the same {count} runtimes"],
}

# Lines that speak of a version for what it did, whatever came later.
HISTORY = re.compile(
    r"([Ss]ince|[Ff]rom|came with|needs) (CUDA )?{v}|{v}'s names|what {v} calls".replace("{v}", r"\d+\.\d")
)

# Files that speak of versions all the time.
ALLOWED = {
    "docs/internals/abi-notes.md": "each note is about the versions that it names",
    "docs/internals/adding.md": "an example of a message",
    "docs/internals/generator.md": "examples of what the generator prints; test_explain.py holds them",
    "docs/users/gpu.md": "what was measured, and when",
    "docs/users/divergences.md": "what was measured, and when",
    "bench/README.md": "what was measured, and when",
    "src/sim/behaviour.h": "each behaviour is about the versions that it names",
}


@pytest.mark.parametrize(("page", "claim"), [(page, claim) for page, claims in CLAIMS.items() for claim in claims])
def test_a_claim_is_about_the_known_versions(page: str, claim: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").replace("\n> ", " ").split())
    wanted = claim.format(oldest=OLDEST, newest=NEWEST, count=len(KNOWN))
    assert wanted.strip() in text, f"{page} does not say {wanted!r}: is it about an older set of toolkits?"


def lines() -> list[tuple[str, int, str]]:
    """Every line that people wrote, but for the tests and what the generator reads."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, text=True, capture_output=True).stdout
    found = []
    for path in tracked.split("\0"):
        if path.startswith(("generated/", "spec/", "tests/", "generator/")) or not (ROOT / path).is_file():
            continue
        if Path(path).suffix in (".c", ".h", ".md", ".py", ".sh", ".txt", ".cmake", ".in", ".j2", ""):
            text = (ROOT / path).read_text(encoding="utf-8")
            found += [(path, at, line) for at, line in enumerate(text.splitlines(), 1)]
    return found


def test_the_newest_version_is_typed_where_a_test_knows() -> None:
    """A text that names today's newest version is a claim above, or is about that version for ever."""
    typed = re.compile(rf"\b({re.escape(NEWEST)}|{number(NEWEST)})\b")
    unknown = []
    for path, at, line in lines():
        if typed.search(line) and path not in ALLOWED and not HISTORY.search(line):
            claims = (claim.format(oldest=OLDEST, newest=NEWEST, count=len(KNOWN)) for claim in CLAIMS.get(path, ()))
            if not any(claim.strip() in line for claim in claims):
                unknown.append(f"{path}:{at}: {line.strip()}")
    assert unknown == []


def test_what_is_allowed_is_in_use() -> None:
    named = {path for path, _, line in lines() if NEWEST in line or OLDEST in line}
    assert sorted(ALLOWED.keys() - named) == []


def test_the_simulator_is_tried_as_each_known_runtime() -> None:
    text = (ROOT / "tests" / "sim" / "test_process.c").read_text(encoding="utf-8")
    body = text[text.index("runtimes[] = {") :].partition("};")[0]
    assert re.findall(r'"(\d+\.\d+)"', body) == KNOWN
