"""What `make clients` takes from a checkout."""

from __future__ import annotations

from pathlib import Path

from tools.clients import Project, Toolkit


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
