"""The library as its users meet it: installed, by pkg-config, and as a part of their own tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compile import names
from tests.compile.toolchain import CC, ROOT, Library, without_cuda

PROJECT = Path(__file__).resolve().parent / "project"
SIMULATED = "simulated 1 2 3\n"


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    # `make test` shall not hand its own flags to a stranger's make.
    base = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    base["CFLAGS"] = " ".join(without_cuda(CC))  # as on a machine without CUDA
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**base, **(env or {})},
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def test_find_package(prefix: Path, tmp_path: Path) -> None:
    run("cmake", "-S", PROJECT, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "consumer") == "linked\n"
    assert run(tmp_path / "consumer_sim") == SIMULATED


def test_pkg_config(prefix: Path, tmp_path: Path) -> None:
    pkg_config = shutil.which("pkg-config") or shutil.which("pkgconf")
    if pkg_config is None:
        pytest.skip("there is no pkg-config here")
    (folder,) = [path.parent for path in prefix.rglob("anycuda.pc")]
    env = {"PKG_CONFIG_PATH": str(folder)}
    flags = run(pkg_config, "--cflags", "--libs", "anycuda", env=env).split()
    run(CC, *without_cuda(CC), "-std=c11", PROJECT / "main.c", "-o", tmp_path / "consumer", *flags)
    assert run(tmp_path / "consumer") == "linked\n"
    version = (ROOT / "VERSION").read_text().strip()
    for package in ("anycuda", "anycuda-sim"):
        assert run(pkg_config, "--modversion", package, env=env).strip() == version
    flags = run(pkg_config, "--cflags", "--libs", "anycuda-sim", env=env).split()
    run(CC, *without_cuda(CC), "-std=c11", PROJECT / "simulated.c", "-o", tmp_path / "simulated", *flags)
    assert run(tmp_path / "simulated") == SIMULATED


REPLACING = """
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#ifndef ACU_CUDART_TYPES_H
#error "these are NVIDIA's headers"
#endif
#include <stdio.h>
int main(void) {
    void *memory = 0;
    puts(cudaMalloc(&memory, 4) ? "refused" : "allocated");
    return 0;
}
"""
REPLACING_PROJECT = """
cmake_minimum_required(VERSION 3.21)
project(replacing LANGUAGES C)
find_package(anycuda 0.1 REQUIRED)
add_executable(replacing replacing.c)
target_include_directories(replacing PRIVATE ${NVIDIAS}) # as a toolkit beside it
target_link_libraries(replacing PRIVATE anycuda::replace)
"""


def test_in_front_of_a_toolkit(prefix: Path, tmp_path: Path) -> None:
    """By CMake's target and by pkg-config."""
    folders = names.nvidias()
    missing = {"ANYCUDA_CUDART": str(tmp_path / "missing")}
    (tmp_path / "replacing.c").write_text(REPLACING)
    (tmp_path / "CMakeLists.txt").write_text(REPLACING_PROJECT)
    nvidias = f"-DNVIDIAS={';'.join(map(str, folders))}"
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", nvidias)
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build/replacing", env=missing) == "refused\n"
    pkg_config = shutil.which("pkg-config") or shutil.which("pkgconf")
    if pkg_config is None:
        pytest.skip("there is no pkg-config here")
    (folder,) = [path.parent for path in prefix.rglob("anycuda-replace.pc")]
    flags = run(pkg_config, "--cflags", "--libs", "anycuda-replace", env={"PKG_CONFIG_PATH": str(folder)}).split()
    includes = [f"-I{one}" for one in folders]
    run(CC, *without_cuda(CC), *includes, tmp_path / "replacing.c", "-o", tmp_path / "replacing", *flags)
    assert run(tmp_path / "replacing", env=missing) == "refused\n"


def test_debians_folder_of_libraries(library: Library, tmp_path: Path) -> None:
    """As `make install PREFIX=/usr` installs, and a package is made."""
    architecture = run(CC, "-print-multiarch").strip()
    if not Path("/etc/debian_version").exists() or not architecture:
        pytest.skip("only Debian and what is made of it have lib/<architecture>")
    build, staged = tmp_path / "build", tmp_path / "staged"
    options = run("make", "-C", ROOT, "--dry-run", "--no-print-directory", "install", "PREFIX=/usr", "VERBOSE=")
    assert "-DCMAKE_INSTALL_PREFIX=/usr\n" in options and "--prefix" not in options
    run("cmake", "-S", ROOT, "-B", build, "-DCMAKE_INSTALL_PREFIX=/usr")
    for pattern in ("*.a", "*.so", "tools/acu-info", "tools/acu-graph"):  # built already
        for file in library.archive.parent.glob(pattern):
            shutil.copy(file, build / file.relative_to(library.archive.parent))
    run("cmake", "--install", build, env={"DESTDIR": str(staged)})
    folder = staged / "usr/lib" / architecture
    assert {"libanycuda.a", "libanycuda_sim.a", "libanycuda-sim.so"} <= {path.name for path in folder.iterdir()}
    assert not list((staged / "usr/lib").glob("*anycuda*"))
    run("cmake", "-S", PROJECT, "-B", tmp_path / "found", f"-DCMAKE_PREFIX_PATH={staged / 'usr'}")
    run("cmake", "--build", tmp_path / "found", "--target", "consumer")
    assert run(tmp_path / "found/consumer") == "linked\n"
    text = (folder / "pkgconfig/anycuda.pc").read_text()
    assert "prefix=${pcfiledir}/../../../\n" in text and f"libdir=${{prefix}}/lib/{architecture}\n" in text


# Of each target, and of each list of files that have options of their own in CMakeLists.txt.
SOME_OBJECTS = (
    *("src/core/adapt", "src/core/path", "src/runtime/cpu/cpu_loops", "generated/src/nvrtc_abi"),
    *("src/sim/memory/pool", "src/sim/entry/sim_provider"),
)


def test_add_subdirectory(library: Library, tmp_path: Path) -> None:
    """The other project compiles some of the sources, and links the archives of a build that has compiled them all."""
    run("cmake", "-G", "Unix Makefiles", "-S", PROJECT, "-B", tmp_path, f"-DSOURCE={ROOT}")
    for name in SOME_OBJECTS:
        assert (ROOT / f"{name}.c").exists()
        assert run("cmake", "--build", tmp_path / "anycuda", "--target", f"{name}.o").count("Building C object") > 0
    for archive in library.archive.parent.glob("*.a"):
        shutil.copy(archive, tmp_path / "anycuda")
    run("cmake", "--build", tmp_path, "--target", "consumer/fast", "consumer_sim/fast")  # not what they are linked with
    assert run(tmp_path / "consumer") == "linked\n"
    assert run(tmp_path / "consumer_sim") == SIMULATED
    assert "acu-info" not in run("cmake", "--build", tmp_path, "--target", "help"), "another project builds no tools"
    assert run("ctest", "--test-dir", tmp_path).count("No tests were found") == 1


def test_what_is_installed_holds_no_path_of_this_tree(prefix: Path) -> None:
    for path in prefix.rglob("*"):
        if path.suffix in (".cmake", ".pc", ".h"):
            assert str(ROOT) not in path.read_text(), path


def test_every_public_header_is_installed(prefix: Path) -> None:
    public = {
        path.relative_to(folder)
        for folder in (ROOT / "include", ROOT / "generated" / "include")
        for path in folder.rglob("*.h*")
    }
    installed = {path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*.h*")}
    assert installed == public
    assert Path("anycuda/load.h") in installed


def test_tools_are_installed(prefix: Path) -> None:
    assert run(prefix / "bin/acu-info", "--version").startswith("acu-info ")
    assert run(prefix / "bin/acu-graph", "--version").startswith("acu-graph ")
    assert (prefix / "share/man/man1/acu-info.1").exists()
    assert (prefix / "share/anycuda/acu-info.schema.json").exists()
