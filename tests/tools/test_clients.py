"""What `make clients` takes from a checkout."""

from __future__ import annotations

from pathlib import Path

from tools.clients import Project, Toolkit, write_generated


def project(folder: Path) -> Project:
    return Project("one", folder, Toolkit([]), folder / "nvidia", folder / "scratch", [])


def test_file_with_most_names_of_cuda_comes_first(tmp_path: Path) -> None:
    (tmp_path / "few.c").write_text("#include <cuda.h>\nint a = cuInit(0);\n")
    (tmp_path / "most.cc").write_text('#include "mine.h"\nint a = cudaFree(0) + cudaDeviceReset();\n')
    (tmp_path / "none.c").write_text("#include <stdio.h>\nint a = cuInit(0);\n")
    (tmp_path / "mine.h").write_text("#include <cuda_runtime.h>\n")
    assert [path.name for path in project(tmp_path).candidates] == ["most.cc", "few.c"]


def test_link_into_what_was_not_checked_out_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "dlpack.h").symlink_to(tmp_path / "submodule" / "dlpack.h")
    assert project(tmp_path).candidates == []
    assert project(tmp_path).files == {}


def test_generated_header_is_a_text_or_a_file_of_the_checkout(tmp_path: Path) -> None:
    text = "#define ONE 1\n" * 1000
    (tmp_path / "version.h.in").write_text("#define VERSION 1\n")
    write_generated(tmp_path, tmp_path / "stubs", {"a/config.h": text, "version.h": "version.h.in", "empty.h": ""})
    assert (tmp_path / "stubs" / "a" / "config.h").read_text() == text
    assert (tmp_path / "stubs" / "version.h").read_text() == "#define VERSION 1\n"
    assert (tmp_path / "stubs" / "empty.h").read_text() == ""
