"""The extract stage: which headers and libraries it reads, and what it says when it cannot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from generator import __main__, elf, extract, yamlfile
from generator.errors import GeneratorError
from generator.fetch import Toolkits


def shared_library(folder: Path, nodes: str, soname: str = "libmade.so.2") -> Path:
    """A library that exports two functions, a variable and nothing else, under these version nodes."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (folder / "made.c").write_text(
        "int puts(const char *); int madeData; static int hidden(void) { return puts(0); }\n"
        "int madeA(void) { return hidden(); } int madeB(void) { return 0; } int madeLocal(void) { return 0; }\n"
    )
    (folder / "made.map").write_text(nodes)
    library = folder / soname
    flags = ["-shared", "-fPIC", f"-Wl,-soname,{soname}", f"-Wl,--version-script={folder / 'made.map'}"]
    subprocess.run(["gcc", *flags, str(folder / "made.c"), "-o", str(library)], check=True)
    return library


def test_exports_soname_and_version_node(tmp_path: Path) -> None:
    library = shared_library(tmp_path, "MADE_2 { global: madeA; madeB; madeData; local: *; };")
    assert elf.read(library) == elf.SharedLibrary("libmade.so.2", "MADE_2", ("madeA", "madeB"))


def test_a_library_without_version_nodes(tmp_path: Path) -> None:
    library = shared_library(tmp_path, "{ global: madeA; local: *; };")
    assert elf.read(library) == elf.SharedLibrary("libmade.so.2", "", ("madeA",))


def test_several_version_nodes_are_refused(tmp_path: Path) -> None:
    library = shared_library(tmp_path, "MADE_1 { global: madeA; local: *; }; MADE_2 { global: madeB; } MADE_1;")
    with pytest.raises(GeneratorError, match=r"libmade\.so\.2: exports with several version nodes: MADE_1, MADE_2"):
        elf.read(library)


@pytest.mark.parametrize("content", [b"", b"no library at all", b"\x7fELF\x02\x01\x01" + bytes(20)])
def test_what_is_no_library_is_said(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "libmade.so"
    file.write_bytes(content)
    with pytest.raises(GeneratorError, match=r"libmade\.so: not a shared library that can be read"):
        elf.read(file)


def test_missing_toolkits_say_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANYCUDA_TOOLKITS", str(tmp_path))
    assert __main__.main(["extract"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "run `make toolkits`" in error


def test_headers_that_a_toolkit_does_not_ship_are_left_out(tmp_path: Path) -> None:
    include = tmp_path / "include"
    include.mkdir()
    (include / "made.h").write_text("#include <GL/gl.h>\nint madeUse(GLuint x);\n")
    facts = extract.extract(extract.Source("made", "1.0", ("GL/gl.h", "made.h"), (include,)))
    assert facts["headers"] == ["made.h"], "stubs are no facts of a toolkit"
    assert facts["functions"].keys() == {"madeUse"}


def test_another_layout_on_aarch64_is_refused(tmp_path: Path) -> None:
    (tmp_path / "made.h").write_text("struct made { int a;\n#ifdef __aarch64__\nint b;\n#endif\n};\n")
    with pytest.raises(GeneratorError, match=r"toolkit 1\.0: made has another layout on aarch64"):
        extract.extract(extract.Source("made", "1.0", ("made.h",), (tmp_path,)))


def test_committed_facts_are_what_the_toolkits_say(capsys: pytest.CaptureFixture[str]) -> None:
    toolkits = Toolkits.load()
    if not all(unit.is_here() for unit in toolkits.units):
        pytest.skip(f"not all toolkits are in {toolkits.cache}; run `make toolkits`")
    libraries = yamlfile.load(yamlfile.SPEC / "libraries.yaml")
    read = list(extract.sources(libraries, toolkits))
    assert {source.library for source in read} == set(libraries)
    assert __main__.main(["extract", "--check"]) == 0, capsys.readouterr().err
