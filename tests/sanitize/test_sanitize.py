"""The C tests, a real libcudart and the spies under ASan and UBSan; test_threads.py has TSan."""

from __future__ import annotations

import os
import platform
import re
import shutil
from pathlib import Path

import pytest

from generator.errors import GeneratorError
from generator.fetch import Toolkits
from tests.abi import spy_build as build
from tests.compile.toolchain import CC, ROOT, Library, run, works
from tests.real.test_real import build_real, model, predictions

# Undefined behaviour is a trap, which ASan reports with the place. A message of its own for each check would be data of
# 15 MB in each of 150 programs: compiled, linked, relocated and searched for leaks in thousands of processes.
ADDRESS = (
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fsanitize-undefined-trap-on-error",
    "-fno-omit-frame-pointer",
)
# What the library keeps lives as long as the process; NVIDIA's own leaks are not looked for.
# Tests ask for more memory than there is, which is no mistake.
ASAN_OPTIONS = "abort_on_error=1:allocator_may_return_null=1:handle_sigill=1"
ENVIRONMENT = {"ASAN_OPTIONS": f"detect_leaks=0:{ASAN_OPTIONS}", "TSAN_OPTIONS": "halt_on_error=1"}
SPIED_ON = (build.VERSIONS[0], "12.9")  # the oldest, and the one with most adapters of its own


# The simulator's largest file is compiled for this processor only, and not for three kinds of them.
ONE_LEVEL = ("-march=native", "-DPTX_ONE_LEVEL") if platform.machine() == "x86_64" else ()


def configure(folder: Path, flags: tuple[str, ...], *targets: str) -> Path:
    compiling = (
        f"-DCMAKE_C_FLAGS=-g1 -O0 {' '.join((*ONE_LEVEL, *flags))}"  # -O0: an optimiser would take mistakes away
    )
    linker = next((f"-fuse-ld={name}" for name in ("lld", "gold") if shutil.which(f"ld.{name}")), "")  # the fast ones
    linking = f"-DCMAKE_EXE_LINKER_FLAGS={linker}"
    works(["cmake", "-S", ROOT, "-B", folder, "-DANYCUDA_TESTS=ON", "-DCMAKE_BUILD_TYPE=None", compiling, linking])
    works(["cmake", "--build", folder, "--parallel", "2", *(f"--target={target}" for target in targets)])
    return folder


# Programs as older runtimes, which also run without sanitizers.
OLDER = "fuzz_1[12]|threads_(1[12]|seed_[23])|runtime_cuda_inject_"
# The PTX of tests' kernels, which the newest runtime executes under the sanitizers.
OLDER_PTX = "ptx_(1[12]|13.[0-4])"
# The other ways to execute 8,128 random kernels: machine code calls the interpreter's functions for much of them, and
# the loops are compiled for one level of processors here.
OTHER_WAYS = "ptx_random_(forms_(jit_0|jit_avx2|jit_always_level_avx2|level_baseline)|kernels_jit_0)$"


def ctest(folder: Path, *options: str, **environment: str) -> None:
    said = works(
        ["ctest", "--test-dir", folder, "--output-on-failure", "--parallel", "2", *options], ENVIRONMENT | environment
    )
    assert re.search(r"100% tests passed, 0 tests failed out of [1-9]", said), said


@pytest.fixture(scope="session")
def addressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return configure(tmp_path_factory.mktemp("address"), ADDRESS)


@pytest.fixture(scope="session")
def toolkits() -> Toolkits:
    try:
        found = Toolkits.load()
        for version in SPIED_ON:
            found[version].libcudart()
    except GeneratorError as problem:
        pytest.skip(f"the toolkits are not at hand: {problem}")
    return found


MISTAKES = {
    "undefined": ("int last = 2147483647;\nreturn last + count;", "ILL"),
    "address": ("int *some = malloc(4);\nreturn some[count];", "heap-buffer-overflow"),
    "leak": ("int *some = malloc(4);\nsome[0] = count - 1;\nreturn *some;", "detected memory leaks"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_with_its_place(mistake: str, tmp_path: Path) -> None:
    lines, what = MISTAKES[mistake]
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(f"#include <stdlib.h>\nint main(int count, char **words) {{\n(void)words;\n{lines}\n}}\n")
    works([CC, "-g1", "-O0", *ADDRESS, source, "-o", program])
    done = run([program], {"ASAN_OPTIONS": ASAN_OPTIONS})
    assert done.returncode != 0 and what in done.stderr, done.stderr
    assert re.search(r" in main .*program\.c:[456]", done.stderr), done.stderr


@pytest.mark.long
def test_c_tests_under_address_and_undefined(addressed: Path) -> None:
    assert "__asan_init" in works(["nm", addressed / "tests/unit/unit_adapt"])
    # sim_guard writes beside its memory on purpose. In plugin_example Python opens the library, and ASan wants to be
    # there before it; the program `plugin` does the same work. The conformance cases run on 18 simulated machines, of
    # which five are enough: 11.8, 12.4, 12.9, 13.5, and 13.5 with an older driver. Each behaviour of
    # src/sim/behaviour.h is on in one of them and off in another; one behaviour is only 11.8's. The kernels' PTX runs
    # on the newest alone.
    others = f"conformance_(11.7|12.[0-35-8]|13.[0-4]|{OLDER_PTX})"
    sweeps = "ptx_sweeps_(jit_avx2|level_baseline)"
    ctest(addressed, "-E", f"^(sim_guard$|plugin_example$|safe_|{others}|{OLDER}|{OTHER_WAYS}|{sweeps})")


@pytest.mark.long
def test_the_safe_layer_leaves_nothing_on_the_heap(addressed: Path) -> None:
    # safe_inject is thousands of processes. Other drivers change what is refused, not what is allocated.
    few = ("-E", f"^safe_(inject_|.*_driver$|.*_{OLDER_PTX})")
    ctest(addressed, "-R", "^safe_", *few, ASAN_OPTIONS=ASAN_OPTIONS)


@pytest.mark.long
def test_random_kernels_in_other_ways_under_address_and_undefined(addressed: Path) -> None:
    ctest(addressed, "-R", f"^({OTHER_WAYS})")


@pytest.mark.long
def test_older_runtimes_under_address_and_undefined(addressed: Path) -> None:
    ctest(addressed, "-R", f"^({OLDER})")
    ctest(addressed, "-R", "^safe_inject_11", ASAN_OPTIONS=ASAN_OPTIONS)  # without libraries of its own


@pytest.mark.long
@pytest.mark.parametrize("version", SPIED_ON)
def test_real_libcudart_under_address_and_undefined(
    version: str, addressed: Path, toolkits: Toolkits, tmp_path: Path
) -> None:
    program = build_real(tmp_path, Library(addressed / "libanycuda.a"), *ADDRESS)
    library, slots = model()
    (api,) = [api for api in library.apis if api.toolkit == version]
    predicted = tmp_path / "predictions"
    predicted.write_text("\n".join(predictions(api, library, slots)) + "\n")
    real = toolkits[version].libcudart()
    works(["sh", "-c", f'"{program}" "{real}" {api.version} < "{predicted}"'], ENVIRONMENT)


def test_spies_under_address_and_undefined(toolkits: Toolkits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\nexec {shutil.which(build.NATIVE.cc)} {" ".join(ADDRESS)} "$@"\n')
    compiler.chmod(0o755)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setitem(os.environ, name, value)
    bench = build.Bench(tmp_path, ROOT / "generated", machine=build.Machine(str(compiler)))
    bench.driver()
    for version, spy in bench.build_spies(toolkits, list(SPIED_ON)).items():
        done = bench.run(version, spy)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert ", 0 failed" in done.stdout
