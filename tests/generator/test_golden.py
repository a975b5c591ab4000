"""A small made-up library through the whole pipeline, compared with golden/expected (golden/README.md)."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from generator import extract, facts, gates, render
from generator.bind import bind_all, load_libraries
from generator.extract import Source
from generator.spec import Spec
from generator.typesheet import since_macro
from generator.yamlfile import ROOT

GOLDEN = Path(__file__).parent / "golden"
EXPECTED = GOLDEN / "expected"
TOOLKITS = {"1.0": 10, "1.1": 11, "2.0": 20}

# These templates speak of CUDA's own types.
CUDA_ONLY = (
    "channel_descriptor.h.j2",
    "vector_functions.h.j2",
    "cu*.h.j2",
    "math_constants.h.j2",
    "sim*.j2",
    "error*.c.j2",
    "safe*.j2",
    "tests",
)
# Templates that make the same of any library, or that other tests read.
SHOWN = ("made.h", "made_inline.h", "made_types.h", "made.c", "made_info.c", "made_abi.c", "features.h")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the facts and everything generated from them."""
    folder = tmp_path_factory.mktemp("golden")
    shutil.copytree(GOLDEN / "spec", folder / "spec")
    spec = Spec(folder / "spec")
    sources = [
        Source("made", toolkit, ("made.h",), (GOLDEN,), (f"MADE_VERSION={number}",))
        for toolkit, number in TOOLKITS.items()
    ]
    found = dict(zip(TOOLKITS, map(extract.extract, sources), strict=True))
    facts.write_all(spec.facts / "made", found)
    shutil.copytree(render.TEMPLATES, folder / "templates", ignore=shutil.ignore_patterns(*CUDA_ONLY))
    features = gates.load(spec.features)
    bindings = bind_all(load_libraries(spec=spec), features, spec)
    render.write(render.sources(bindings, features, templates=folder / "templates"), folder / "generated")
    return folder


def outputs(made: Path) -> dict[str, str]:
    """What is compared: path below expected/ -> text."""
    files = [file for file in made.rglob("*") if file.name in SHOWN or file.parent.name == "made"]
    return {f"{file.relative_to(made)}.txt".removeprefix("spec/"): file.read_text() for file in files if file.is_file()}


def test_the_generated_files_are_the_expected_ones(made: Path) -> None:
    texts = outputs(made)
    if os.environ.get("ANYCUDA_RENEW"):
        shutil.rmtree(EXPECTED, ignore_errors=True)
        render.write(texts, EXPECTED)
        pytest.skip("renewed golden/expected")
    assert sorted(texts) == sorted(str(file.relative_to(EXPECTED)) for file in EXPECTED.rglob("*.txt"))
    for path, text in texts.items():
        assert text == (EXPECTED / path).read_text(), f"golden/expected/{path}; renew it if that is meant"


@cache
def compilers() -> list[str]:
    return [compiler for compiler in ("gcc", "clang") if shutil.which(compiler)]


def test_they_compile(made: Path) -> None:
    """Against the hand-written headers: golden text that nobody compiles would prove little."""
    if not compilers():
        pytest.skip("neither gcc nor clang is installed")
    folders = (ROOT / "include", ROOT / "src", ROOT / "generated/include", ROOT / "generated/src")
    includes = [f"-I{folder}" for folder in (*folders, made / "generated/include", made / "generated/src")]
    # The real since.h and features.h come first, and know nothing of these versions and features.
    marks = [
        f"-D{since_macro(number, prefix)}=" for number in (1010, 2000) for prefix in ("ACU_SINCE", "ACU_FIELD_SINCE")
    ]
    marks += [f"-D{feature['id']}=0" for feature in gates.load(Spec(made / "spec").features)]
    declared = "extern acu_library acu_made;\nextern const acu_library_info acu_made_info;\n"
    (made / "declared.h").write_text('#include "core/abi.h"\n' + declared)
    for compiler in compilers():
        for file in sorted((made / "generated/src").glob("made*.c")):
            command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, *marks]
            done = subprocess.run(
                [*command, "-include", str(made / "declared.h"), str(file)], check=False, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
