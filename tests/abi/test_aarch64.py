"""The same for aarch64, cross-compiled and emulated: the library, the spies, and the real libcudarts that exist."""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from generator import elf
from generator.fetch import Toolkits
from tests.compile.toolchain import works
from tests.real import test_real as real

from . import spy_build as build

SYSTEM = Path("/usr/aarch64-linux-gnu")  # where distributions put what is cross-compiled against
AARCH64 = build.Machine("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", str(SYSTEM)))
PACKAGES = {
    AARCH64.cc: "gcc-aarch64-linux-gnu",
    AARCH64.runner[0]: "qemu-user",
    str(SYSTEM / "include/stdio.h"): "libc6-dev-arm64-cross",
}
BUILT_FOR = [toolkit.version for toolkit in Toolkits.load() if toolkit.aarch64]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a build by CMake, for aarch64."""
    for what, package in PACKAGES.items():
        if shutil.which(what) is None and not Path(what).is_file():
            pytest.skip(f"there is no {what}: install {package}")
    folder = tmp_path_factory.mktemp("aarch64")
    options = {"SYSTEM_NAME": "Linux", "SYSTEM_PROCESSOR": "aarch64", "C_COMPILER": AARCH64.cc, "BUILD_TYPE": "None"}
    define = [f"-DCMAKE_{name}={value}" for name, value in options.items()]
    works(["cmake", "-S", build.ROOT, "-B", folder, *define, "-DANYCUDA_DEV=ON"])
    works(["cmake", "--build", folder, "--parallel", "--target", "anycuda"])
    return folder


@pytest.fixture(scope="session")
def spied(
    library: Path,
    bench: build.Bench,
    toolkits: Toolkits,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[build.Bench, dict[str, Path]]:
    made = build.Bench(
        tmp_path_factory.mktemp("spies"), build.ROOT / "generated", machine=AARCH64, archive=library / "libanycuda.a"
    )
    made.driver(like=bench)
    return made, made.build_spies(toolkits, build.VERSIONS)


@pytest.mark.parametrize("version", build.VERSIONS)
def test_every_wrapper(
    version: str, spied: tuple[build.Bench, dict[str, Path]], record_property: Callable[[str, object], None]
) -> None:
    bench, spies = spied
    done = bench.run(version, spies[version])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    checks = re.search(r"(\d+) checks, 0 failed", done.stdout)
    assert checks and int(checks[1]) > 8000, done.stdout[-500:]
    record_property("count: spy checks on aarch64", int(checks[1]))


# ---- NVIDIA's own libraries


@pytest.mark.parametrize("version", BUILT_FOR)
def test_libcudart_has_the_headers_and_functions_of_x86_64(version: str, toolkits: Toolkits) -> None:
    """So that one set of facts is right for both."""
    toolkit = toolkits[version]
    assert toolkit.aarch64
    theirs, ours = toolkit.aarch64.folder("include"), toolkit.unit.folder("include")
    headers = [str(path.relative_to(theirs)) for path in theirs.rglob("*") if path.is_file()]
    assert len(headers) > 20 and filecmp.cmpfiles(theirs, ours, headers, shallow=False)[1:] == ([], [])
    assert elf.read(toolkit.aarch64.library("libcudart.so.*")) == elf.read(toolkit.libcudart())


@pytest.fixture(scope="session")
def program(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tests/real/real.c."""
    folder = tmp_path_factory.mktemp("real")
    includes = [
        f"-I{build.ROOT / path}" for path in ("include", "generated/include", "src", "generated/src", "tests/real")
    ]
    sources = [str(build.ROOT / "tests/real/real.c"), str(real.write_slots(folder))]
    AARCH64.compile_all([[*includes, *sources, str(library / "libanycuda.a"), "-o", str(folder / "real")]])
    return folder / "real"


@pytest.mark.parametrize("version", BUILT_FOR)
def test_libcudart(version: str, program: Path, toolkits: Toolkits, tmp_path: Path) -> None:
    model, slots = real.model()
    (api,) = [api for api in model.apis if api.toolkit == version]
    unit = toolkits[version].aarch64
    assert unit
    lines = real.predictions(api, model, slots)
    command = [*AARCH64.runner, str(program), str(unit.library("libcudart.so.*")), str(api.version)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, input="\n".join(lines) + "\n")
    assert done.returncode == 0 and int(done.stdout.split()[0]) >= len(lines), done.stdout + done.stderr


def test_acu_info_says_what_there_is(library: Path, toolkits: Toolkits, tmp_path: Path) -> None:
    """A program of the safe layer, on the newest libcudart for aarch64."""
    unit = toolkits[BUILT_FOR[-1]].aarch64
    assert unit
    includes = [f"-I{build.ROOT / path}" for path in ("include", "generated/include")]
    sources = [str(file) for file in sorted((build.ROOT / "tools/acu-info").glob("*.c"))]
    program = tmp_path / "acu-info"
    AARCH64.compile_all(
        [['-DANYCUDA_VERSION="0"', *includes, *sources, str(library / "libanycuda.a"), "-o", str(program)]]
    )
    done = AARCH64.run(program, "--library", unit.library("libcudart.so.*"))
    assert f"CUDA {BUILT_FOR[-1]}" in done.stdout and "no NVIDIA driver" in done.stdout, done.stdout + done.stderr
