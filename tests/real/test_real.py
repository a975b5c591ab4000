"""The real libraries without a GPU: each libcudart binds as its own header says; NVRTC; no libcuda."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
import venv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from generator import gates
from generator.bind import bind_all, load_libraries
from generator.errors import GeneratorError
from generator.facts import version_key
from generator.fetch import Toolkits
from generator.model import Api
from generator.model import Library as Model
from generator.slots import Slot
from tests.compile.toolchain import C_WARNINGS, ROOT, WARNINGS, Library, compiler, run, works

HERE = Path(__file__).resolve().parent
VERSIONS = sorted((file.stem for file in (ROOT / "spec/facts/cudart").glob("*.json")), key=version_key)

# Not the symbol of the same name: what NVIDIA's own headers rename the call to, or what a decision calls instead.
# First version, first version that is like the name again, symbol.
OTHER_SYMBOL = {
    "cudaCreateTextureObject": [(11080, 12000, "cudaCreateTextureObject_v2")],
    "cudaEventElapsedTime": [(12080, 13000, "cudaEventElapsedTime_v2")],
    "cudaGetDeviceProperties": [(12000, 13000, "cudaGetDeviceProperties_v2")],
    "cudaGetTextureObjectTextureDesc": [(11080, 12000, "cudaGetTextureObjectTextureDesc_v2")],
    "cudaGraphAddDependencies": [(12030, 13000, "cudaGraphAddDependencies_v2")],
    "cudaGraphAddNode": [(12030, 13000, "cudaGraphAddNode_v2")],
    "cudaGraphGetEdges": [(12030, 13000, "cudaGraphGetEdges_v2")],
    "cudaGraphInstantiate": [(11070, 12000, "cudaGraphInstantiateWithFlags")],
    "cudaGraphNodeGetDependencies": [(12030, 13000, "cudaGraphNodeGetDependencies_v2")],
    "cudaGraphNodeGetDependentNodes": [(12030, 13000, "cudaGraphNodeGetDependentNodes_v2")],
    "cudaGraphRemoveDependencies": [(12030, 13000, "cudaGraphRemoveDependencies_v2")],
    "cudaMemAdvise": [(12020, 13000, "cudaMemAdvise_v2")],
    "cudaMemPrefetchAsync": [(12020, 13000, "cudaMemPrefetchAsync_v2")],
    "cudaSignalExternalSemaphoresAsync": [(11070, 13000, "cudaSignalExternalSemaphoresAsync_v2")],
    "cudaStreamGetCaptureInfo": [
        (11070, 12030, "cudaStreamGetCaptureInfo_v2"),
        (12030, 13000, "cudaStreamGetCaptureInfo_v3"),
    ],
    # 12.x's headers call it by the plain name.
    "cudaStreamGetCaptureInfo_v2": [(11070, 13000, "cudaStreamGetCaptureInfo_v2")],
    "cudaStreamUpdateCaptureDependencies": [(12030, 13000, "cudaStreamUpdateCaptureDependencies_v2")],
    "cudaWaitExternalSemaphoresAsync": [(11070, 13000, "cudaWaitExternalSemaphoresAsync_v2")],
}


@cache
def model() -> tuple[Model, list[Slot]]:
    (bindings,) = [one for one in bind_all(load_libraries(), gates.load(gates.FEATURES)) if one.name == "cudart"]
    return bindings.library, bindings.slots


@pytest.fixture(scope="session")
def toolkits() -> Toolkits:
    try:
        found = Toolkits.load()
        for toolkit in found:
            toolkit.libcudart()
    except GeneratorError as problem:
        pytest.skip(f"the toolkits are not at hand: {problem}")
    return found


def build(source: Path, folder: Path, library: Library, *more: object) -> Path:
    program = folder / source.stem
    works([*compiler("gcc", "c11"), *WARNINGS, *C_WARNINGS, "-O1", source, *more, "-o", program, *library.link])
    return program


def write_slots(folder: Path) -> Path:
    rows = [name for slot in model()[1] for name in (slot.name, *([slot.name + "_ptds"] if slot.ptds else []))]
    table = "".join(f'    {{"{name}", &acu_function_{name}}},\n' for name in rows)
    slots = folder / "slots.c"
    includes = '#include "slots.h"\n\n#include "cudart_abi.h"\n\n'
    slots.write_text(f"{includes}const struct slot slots[] = {{\n{table}    {{NULL, NULL}},\n}};\n")
    return slots


def build_real(folder: Path, library: Library, *flags: str) -> Path:
    slots = write_slots(folder)
    own = [f"-I{HERE}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'generated/src'}"]
    return build(HERE / "real.c", folder, library, slots, *own, *flags)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory, library: Library) -> Path:
    return build_real(tmp_path_factory.mktemp("real"), library)


# ---- predictions


def symbol_of(name: str, api: Api) -> str | None:
    for since, until, symbol in OTHER_SYMBOL.get(name, ()):
        if since <= api.version < until:
            return symbol
    return name if name in api.functions else None


def per_thread(symbol: str | None, api: Api) -> str | None:
    return next((f"{symbol}{end}" for end in ("_ptsz", "_ptds") if f"{symbol}{end}" in api.symbols), symbol)


def reason(name: str, api: Api, library: Model) -> str:
    """What a refusal must say: the first version that has the function, or else the last."""
    served = [other for other in library.apis if symbol_of(name, other)]
    if served[0].version > api.version:
        return f"{name} needs CUDA {served[0].toolkit}"
    return f"in {served[-1].toolkit})"


def predictions(api: Api, library: Model, slots: list[Slot]) -> list[str]:
    lines = []
    for slot in slots:
        symbol = symbol_of(slot.name, api)
        why = "" if symbol else reason(slot.name, api, library)
        lines.append(f"{slot.name}\t{symbol or '-'}\t{why}")
        if slot.ptds:
            lines.append(f"{slot.name}_ptds\t{per_thread(symbol, api) or '-'}\t{why}")
    return lines


@pytest.mark.parametrize("version", VERSIONS)
def test_libcudart(
    version: str, program: Path, toolkits: Toolkits, record_property: Callable[[str, object], None], tmp_path: Path
) -> None:
    library, slots = model()
    (api,) = [api for api in library.apis if api.toolkit == version]
    lines = predictions(api, library, slots)
    predicted = tmp_path / "predictions"
    predicted.write_text("\n".join(lines) + "\n")
    output = works(["sh", "-c", f'"{program}" "{toolkits[version].libcudart()}" {api.version} < "{predicted}"'])
    checks = int(output.split()[0])
    assert checks >= len(lines)
    record_property("count: checks on real libcudarts", checks)


# ---- in Python

PLUGIN = """
#include <anycuda/load.h>

const char *search(void);

const char *search(void) {
    acu_load(NULL);
    return acu_load_trace(ACU_CUDART);
}
"""


def test_python_finds_the_packages_of_its_environment(library: Library, toolkits: Toolkits, tmp_path: Path) -> None:
    """Of one that is not activated, so that no variable leads to it."""
    venv.create(tmp_path / "venv", symlinks=True)
    (packages,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    folder = packages / "nvidia/cuda_runtime/lib"
    folder.mkdir(parents=True)
    wheel = shutil.copy(toolkits["12.4"].libcudart(), folder)
    plugin = tmp_path / "plugin.c"
    plugin.write_text(PLUGIN)
    shared = tmp_path / "plugin.so"
    works([*compiler("gcc", "c11"), "-fPIC", "-shared", plugin, "-o", shared, *library.link])
    script = (
        f"import ctypes; p = ctypes.CDLL('{shared}'); p.search.restype = ctypes.c_char_p; print(p.search().decode())"
    )
    # Not run(), whose environment has the variables of this one.
    command = [str(tmp_path / "venv/bin/python"), "-c", script]
    trace = subprocess.run(command, check=True, capture_output=True, text=True, env={}).stdout
    assert f"\nPython interpreter: {wheel}: taken: CUDA 12.4" in trace, trace


# ---- the other libraries


def test_nvrtc_compiles_without_a_gpu(library: Library, toolkits: Toolkits, tmp_path: Path) -> None:
    found = sorted((toolkits.cache / "nvrtc" / "lib").glob("libnvrtc.so.*"))
    if not found:
        pytest.skip("no libnvrtc was fetched: run `make toolkits`")
    output = works([build(HERE / "nvrtc.c", tmp_path, library)], {"ANYCUDA_NVRTC": str(found[0])})
    assert f"NVRTC {toolkits.newest.version}, loaded {api_version(toolkits.newest.version)}\n" in output
    assert ".visible .entry twice(" in output
    assert (
        "bad program: 6, NVRTC_ERROR_COMPILATION, nvrtcCompileProgram failed with NVRTC_ERROR_COMPILATION (6)" in output
    )


def test_code_is_compiled_without_a_gpu(library: Library, toolkits: Toolkits, tmp_path: Path) -> None:
    nvrtc = toolkits.shared["nvrtc"].library("libnvrtc.so.*")
    nvjitlink = toolkits.shared["nvjitlink"].library("libnvJitLink.so.*")
    environment = {"ANYCUDA_NVRTC": str(nvrtc), "ANYCUDA_NVJITLINK": str(nvjitlink)}
    headers = toolkits.newest.unit.folder("include")
    program = build(HERE / "code.c", tmp_path, library)
    output = works([program, tmp_path / "cache", headers], environment)
    assert output.splitlines() == [
        "cache: 1 hits, 1 misses, 0 skipped, 1 files",
        "--gpu-architecture=compute_90: ptx",
        "--gpu-architecture=sm_90: ptx cubin",
        "-dlto: lto",
        "-rdc=true: alone ACU_ERROR_COMPILE",
        "-dlto: alone ACU_ERROR_COMPILE",
        "-dlto, -ptx",
    ]


def api_version(toolkit: str) -> int:
    major, minor = map(int, toolkit.split("."))
    return major * 1000 + minor * 10


def test_calls_of_an_absent_driver_are_refused(library: Library, tmp_path: Path) -> None:
    with contextlib.suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("this machine has a driver")
    for line in works([build(HERE / "driver.c", tmp_path, library)]).splitlines():
        assert line.startswith("303 303 cu"), line
        assert "no usable libcuda: found no libcuda.so.1 in the process, or by LD_LIBRARY_PATH, system loader; " in line


def test_a_driver_that_is_chosen_and_missing_is_named(library: Library, tmp_path: Path) -> None:
    program = build(HERE / "driver.c", tmp_path, library)
    done = run([program], {"ANYCUDA_CUDA": "/nowhere/libcuda.so.1"})
    assert done.stdout.startswith("303 303 cuInit: "), done.stdout
    assert "ANYCUDA_CUDA=/nowhere/libcuda.so.1: no such file" in done.stdout
