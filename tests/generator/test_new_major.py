"""A made-up toolkit 14.0 on top of the newest one: one run names all that a person must decide, and no more is
needed once that is done."""

from __future__ import annotations

import copy
import ctypes
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator import facts, render, yamlfile
from generator.bind import load_libraries
from generator.errors import GeneratorError
from generator.model import number
from generator.spec import Spec

ROOT = yamlfile.ROOT


@cache
def newest(library: str) -> tuple[str, facts.Facts]:
    return list(facts.read_all(yamlfile.SPEC / "facts" / library).items())[-1]


def next_major() -> str:
    return f"{int(newest('cudart')[0].partition('.')[0]) + 1}.0"


def function(library: str, name: str, like: str, *params: list[str]) -> dict[str, Any]:
    known = newest(library)[1]["functions"][like]
    return {name: {"params": list(params), "returns": known["returns"], "header": known["header"]}}


def runtime() -> facts.Facts:
    """What the made-up toolkit changes in the runtime: nothing that breaks an older program."""
    known = newest("cudart")[1]
    major = next_major().partition(".")[0]
    pool = copy.deepcopy(known["enums"]["cudaMemPoolAttr"]["values"])
    pool["cudaMemPoolAttrMadeUp"] = max(pool.values()) + 1
    return {
        "functions": {
            **function("cudart", "cudaMadeUpCreate", "cudaMalloc", ["made", "struct cudaMadeUp *"], ["flags", "int"]),
            **function("cudart", "cudaFreeMadeUp", "cudaFree", ["made", "int *"]),
            "cudaProfilerStop": None,
        },
        "records": {
            "cudaMadeUp": {
                "header": "driver_types.h",
                "kind": "struct",
                "size": 8,
                "align": 8,
                "fields": [{"name": "value", "offset": 0, "type": "long", "size": 8}],
            }
        },
        "symbols": {"cudaMadeUpCreate": "", "cudaFreeMadeUp": "", "cudaProfilerStop": None, "cudaMadeUpSecret": ""},
        "enums": {
            "cudaMemPoolAttr": {"values": pool},
            "cudaMemcpyKind": {"values": {"cudaMemcpyHostToDevice": 7}},
            "cudaMemoryType": {"values": {"cudaMemoryTypeMadeUp": 9}},
            "cudaChannelFormatKind": {"values": {"cudaChannelFormatKindMadeUp": 77}},
            "cudaError": {"values": {"cudaErrorMadeUp": 990}},
            "cudaDeviceAttr": {"values": {"cudaDevAttrMax": 999}},
        },
        "macros": {
            "CUDART_VERSION": {"value": str(number(next_major()))},
            "cudaHostAllocMadeUp": {"header": "driver_types.h", "value": "0x40"},
        },
        "soname": f"libcudart.so.{major}",
    }


def driver() -> facts.Facts:
    return {
        "functions": function("cuda", "cuMadeUp", "cuInit", ["flags", "unsigned int"]),
        "symbols": {"cuMadeUp": ""},
        "enums": {"CUlimit_enum": {"values": {"CU_LIMIT_MAX": 99}}},
        "macros": {"CUDA_VERSION": {"value": str(number(next_major()))}},
    }


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    root = tmp_path_factory.mktemp("major") / "spec"
    shutil.copytree(yamlfile.SPEC, root)
    for library, changes in (("cudart", runtime()), ("cuda", driver())):
        stored = facts.read_all(root / "facts" / library)
        stored[next_major()] = facts.merge(newest(library)[1], changes)
        changed = facts.write_all(root / "facts" / library, stored)
        assert [file.name for file in changed] == [f"{next_major()}.json"]
    return Spec(root)


# What is open, by the part of the message that says so.
OPEN = [
    r"spec/parameters/cudart\.yaml:\d+: cudaMemcpyHostToDevice is 7 in {newest}, but 1 in {before}, and nothing",
    r"spec/parameters/cudart\.yaml:\d+: cudaMadeUpCreate\.made is a `struct cudaMadeUp \*` and may be in, out or inout",
    r"spec/parameters/cudart\.yaml:\d+: cudaMadeUpCreate\.flags is a set of flags: say which bits it has",
    r"spec/parameters/cuda\.yaml:\d+: cuMadeUp\.flags is a set of flags: say which bits it has",
    r"spec/parameters/cudart\.yaml:\d+: cudaHostAllocMadeUp looks like one of the flags `hostAlloc`",
    r"spec/groups\.yaml:\d+: no group has cudaMadeUpCreate: ",
    r"spec/groups\.yaml:\d+: no group has cuMadeUp: ",
    r"spec/features\.yaml:\d+: cudaMadeUpCreate came with cudart {newest}: ",
    r"spec/features\.yaml:\d+: cudaFreeMadeUp came with cudart {newest}: ",
    r"spec/features\.yaml:\d+: cuMadeUp came with cuda {newest}: ",
    r"spec/features\.yaml:\d+: cudaMemoryTypeMadeUp of cudaMemoryType came with cudart {newest}: ",
    r"spec/safe\.yaml:\d+: acu_pool_attribute neither has cudaMemPoolAttrMadeUp \(\d+\) nor leaves it out",
    r"spec/errors\.yaml:\d+: nothing says what cudaErrorMadeUp is about",
    r"spec/libraries\.yaml:\d+: libcudart exports cudaMadeUpSecret since {newest}, which no header declares",
    r"spec/libraries\.yaml:\d+: cudaChannelFormatKindMadeUp has no bits",
    r"spec/libraries\.yaml:\d+: no soname of libnvrtc is of CUDA {major}: ",
    r"spec/libraries\.yaml:\d+: no soname of libnvJitLink is of CUDA {major}: ",
]


def test_one_run_names_everything_that_must_be_decided(spec: Spec) -> None:
    with pytest.raises(GeneratorError) as caught:
        render.decided(load_libraries(spec=spec), spec)
    said = str(caught.value).splitlines()
    left = list(said)
    for pattern in OPEN:
        wanted = pattern.format(
            newest=re.escape(next_major()), before=re.escape(newest("cudart")[0]), major=next_major().partition(".")[0]
        )
        fitting = [line for line in left if re.search(wanted, line)]
        assert len(fitting) == 1, (wanted, said)
        left.remove(fitting[0])
    assert left == []


# ---- and once a person has decided


DECISIONS = {
    "groups.yaml": [("cudaMalloc*", "cudaMadeUp*, cudaMalloc*"), ("[cuInit]", "[cuInit, cuMadeUp]")],
    "features.yaml": [
        (
            "\nungated:\n",
            "\nungated:\n  - reason: They are made up for a test.\n"
            "    functions: [cudaMadeUpCreate, cudaFreeMadeUp, cuMadeUp]\n"
            "  - reason: It is made up for a test.\n    enumerators: [cudaMemoryTypeMadeUp]\n",
        )
    ],
    "parameters/cudart.yaml": [
        (
            "  cudaMalloc3D:\n",
            "  cudaMadeUpCreate:\n    made: {direction: out}\n    flags: {flags: none}\n  cudaMalloc3D:\n",
        ),
        ("hostAlloc: [", "hostAlloc: [cudaHostAllocMadeUp, "),
    ],
    "parameters/cuda.yaml": [("functions:\n", "functions:\n  cuMadeUp:\n    flags: {flags: none}\n")],
    "safe.yaml": [
        (
            "      ACU_POOL_LOCALITY_DOMAIN: cudaMemPoolAttrLocalityDomainId\n",
            "      ACU_POOL_LOCALITY_DOMAIN: cudaMemPoolAttrLocalityDomainId\n"
            "    left_out: {It is made up for a test: [cudaMemPoolAttrMadeUp]}\n",
        )
    ],
    "errors.yaml": [("    cudaErrorInvalidValue:", "    cudaErrorMadeUp: made up\n    cudaErrorInvalidValue:")],
    "libraries.yaml": [
        ("  undeclared:\n    Code", "  undeclared:\n    It is made up for a test: [cudaMadeUpSecret]\n    Code"),
        ("[UnsignedNormalized1010102]", "[UnsignedNormalized1010102, MadeUp]"),
        ("sonames: [libnvrtc.so.13,", "sonames: [libnvrtc.so.{major}, libnvrtc.so.13,"),
        ("sonames: [libnvJitLink.so.13,", "sonames: [libnvJitLink.so.{major}, libnvJitLink.so.13,"),
    ],
}


@pytest.fixture(scope="module")
def rendered(spec: Spec, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is generated when the decisions above are written down; a renumbered enumerator is nothing to decide."""
    root = tmp_path_factory.mktemp("decided") / "spec"
    shutil.copytree(spec.root, root)
    for name, changes in DECISIONS.items():
        text = (root / name).read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new.replace("{major}", next_major().partition(".")[0]))
        (root / name).write_text(text)
    stored = facts.read_all(root / "facts" / "cudart")
    stored[next_major()]["enums"]["cudaMemcpyKind"] = newest("cudart")[1]["enums"]["cudaMemcpyKind"]
    facts.write_all(root / "facts" / "cudart", stored)
    return render.all_outputs(spec=Spec(root))


def test_it_renders_once_all_is_decided(rendered: dict[str, str]) -> None:
    header = rendered["include/anycuda/cudart.h"]
    assert f"as CUDA {next_major()} declares it" in header
    assert f"/** Gone: CUDA {newest('cudart')[0]} is the last version that has it" in header
    assert "cudaMadeUpCreate(struct cudaMadeUp *made, int flags)" in header
    assert f'"libcudart.so.{next_major().partition(".")[0]}"' in rendered["src/cudart_info.c"]


def test_the_simulator_still_stands_in_for_the_older_major_version(rendered: dict[str, str], tmp_path: Path) -> None:
    """No call changed, so a program that was linked with libcudart.so.13 runs on the simulator of 14.0, too."""
    older = newest("cudart")[1]["soname"]
    newer = f"libcudart.so.{next_major().partition('.')[0]}"
    assert re.findall(r"^(\S+) \{", rendered["src/sim.map"], re.M) == [older, newer]
    for name in ("sim.map", "sim_symbols.h"):
        (tmp_path / name).write_text(rendered[f"src/{name}"])
    # The refusals alone: where there is no entry, they are what a program finds.
    calls = '#include "sim/sim.h"\nvoid acu_sim_call_begin(acu_sim_call *c) {(void)c;}\n'
    calls += "cudaError_t acu_sim_call_end(acu_sim_call *c, cudaError_t e) {(void)c; return e;}\n"
    (tmp_path / "calls.c").write_text(calls)
    sources = [ROOT / "src" / "sim" / "entry" / "shared" / "exports.c", tmp_path / "calls.c"]
    includes = [tmp_path, ROOT / "src", ROOT / "include", ROOT / "generated" / "include", ROOT / "generated" / "src"]
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-Wl,-Bsymbolic",
        f"-Wl,--version-script={tmp_path}/sim.map",
    ]
    command += [*(f"-I{folder}" for folder in includes), *map(str, sources), "-o", str(tmp_path / "sim.so")]
    subprocess.run(command, check=True, text=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "sim.so"))
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    refused = newest("cudart")[1]["enums"]["cudaError"]["values"]["cudaErrorNotSupported"]
    # cudaProfilerStop went with the made-up version, and cudaFreeMadeUp came with it.
    for name, versions in (("cudaMalloc", [older, newer]), ("cudaProfilerStop", [older]), ("cudaFreeMadeUp", [newer])):
        for version in versions:
            found = dlvsym(library._handle, name.encode(), version.encode())
            assert found, (name, version)
            assert ctypes.CFUNCTYPE(ctypes.c_int)(found)() == refused
    assert not dlvsym(library._handle, b"cudaFreeMadeUp", older.encode())
