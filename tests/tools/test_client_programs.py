"""The programs of `make client-programs`: what tools/clients.yaml may say, and when one counts as failed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from tools import client_programs as programs
from tools.client_programs import Program

LISTED = Path(programs.__file__).parent / "clients.yaml"


def listed(**changed: object) -> dict[str, object]:
    return {"one": {"repository": "a/b", "programs": {"p": {"run": "./p", "says": ["PASS"], **changed}}}}


def test_real_list_has_programs_of_eight_projects() -> None:
    projects = programs.read(yaml.safe_load(LISTED.read_text()))
    assert len(projects) >= 8
    assert sum(len(project.programs) for project in projects) >= 12


def test_projects_without_programs_are_left_out() -> None:
    (project,) = programs.read({**listed(), "two": {"repository": "c/d"}})
    assert project.programs == [Program("p", "", "./p", ["PASS"])]


def test_misspelt_key_is_named() -> None:
    with pytest.raises(ValueError, match=r"one, p: unknown keys .'say'"):
        programs.read(listed(say=["PASS"]))


def test_program_must_say_something() -> None:
    with pytest.raises(ValueError, match="one, p: 'says'"):
        programs.read(listed(says=[]))


@pytest.mark.parametrize(
    ("build", "run", "why"),
    [
        ("", "echo 2 devices; echo PASS", ""),
        ("echo x.c: error: nothing >&2; false", "echo PASS", "does not build: x.c: error: nothing"),
        ("", "echo PASS; echo assertion; exit 3", "ended with 3: assertion"),
        ("", "echo PASSED", "does not say ^PASS$"),
    ],
)
def test_verdict(tmp_path: Path, build: str, run: str, why: str) -> None:
    program = Program("p", build, run, ["^PASS$"])
    assert programs.verdict(program, tmp_path, dict(os.environ), tmp_path / "log") == why
    assert "echo" in (tmp_path / "log").read_text()


def test_toolkit_has_our_headers_first(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "cuda.h").touch()
    (theirs / "cublas.h").touch()
    programs.make_toolkit(tmp_path / "toolkit", tmp_path, [theirs])
    include = tmp_path / "toolkit" / "include"
    assert (include / "cuda.h").resolve() == (programs.OURS[0] / "cuda.h").resolve()
    assert (include / "cublas.h").resolve() == theirs / "cublas.h"
    assert (tmp_path / "toolkit" / "lib64" / "libcuda.so").read_text().startswith("EXTERN(acu_sim_abi)")
