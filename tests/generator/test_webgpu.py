"""WebGPU: facts of a library with versions of its own, and calls that return no code."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from generator import ctype, elf, extract, facts, verify
from generator.bind import bind_all, load_libraries
from generator.errors import GeneratorError
from generator.extract import Source
from generator.fetch import Toolkits, Unit
from generator.model import Constant, Library
from generator.render import render
from generator.slots import Bindings
from generator.spec import Spec

FLAGS = "WGPUBufferUsage"


@cache
def bindings() -> Bindings:
    return next(one for one in bind_all(load_libraries()) if one.name == "webgpu")


def fetched() -> Unit:
    """The wheel as it was unpacked."""
    unit = Toolkits.load().others["webgpu"]
    try:
        unit.folder("include")
    except GeneratorError as missing:
        pytest.skip(str(missing))
    return unit


# ---- the version


def test_the_facts_have_the_librarys_version_not_the_wheels() -> None:
    unit = fetched()
    (version,) = facts.read_all(Spec().facts / "webgpu")
    assert unit.wheels[0].version != version
    library = ctypes.CDLL(str(unit.library("libwgpu_native-release.so")))
    number = library.wgpuGetVersion()
    assert f"{number >> 24}.{number >> 16 & 0xFF}" == version


def test_a_wheel_that_does_not_say_its_version(tmp_path: Path) -> None:
    unit = Unit("webgpu", fetched().wheels, tmp_path)
    (tmp_path / "webgpu").mkdir()
    (tmp_path / "webgpu/version.py").write_text("__version__ = None\n")
    (tmp_path / "webgpu/.pins").write_text(unit.stamp({}))
    with pytest.raises(GeneratorError, match=r"version\.py (was added|does not say which library)"):
        extract._own_version(unit)


def test_its_versions_are_not_cudas() -> None:
    """No gate, no soname and no availability of CUDA speaks of 29.0."""
    since = render()["include/anycuda/since.h"]
    assert "ACU_SINCE_13_5" in since and "ACU_SINCE_29" not in since
    verify.sonames(Spec(), load_libraries())


def test_a_new_toolkit_leaves_the_pin_alone() -> None:
    toolkits = Toolkits.load()
    assert "webgpu" in toolkits.others and "webgpu" not in toolkits.shared
    assert toolkits.others["webgpu"] in toolkits.units


# ---- facts


def test_constants_are_facts_and_typed() -> None:
    api = bindings().presented
    usage = api.constants[f"{FLAGS}_Storage"]
    assert (usage.type.spelling, int(usage.value, 0)) == (FLAGS, 0x80)
    assert len({one.type.spelling for one in api.constants.values()}) >= 5
    header = render()["include/anycuda/webgpu_types.h"]
    assert f"#define {FLAGS}_Storage ACU_CAST({FLAGS}, 0x80)" in header


def test_the_values_of_constants() -> None:
    numbers = {
        "0x0000000000000080": 0x80,
        "0": 0,
        "1 << 24": 1 << 24,
        "( 1 << 1 )": 2,
        "( 1 << 0 ) | ( 1 << 2 )": 5,
    }
    for text, number in numbers.items():
        assert Constant("some", ctype.parse("some"), text, "made.h").number == number
    with pytest.raises(GeneratorError, match="is no set of bits"):
        _ = Constant("some", ctype.parse("some"), "other | 1", "made.h").number


def test_macros_that_need_the_headers_own_are_no_facts() -> None:
    """WGPU_LIMITS_INIT and its kind are text of the header."""
    macros = bindings().presented.macros
    assert "WGPU_WHOLE_SIZE" in macros
    assert not [name for name in macros if name.endswith("_INIT")]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_constants_against_the_real_header(compiler: str, tmp_path: Path) -> None:
    """In C they are variables, which no assertion may name; in C++ they are constants."""
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} here")
    lines = ['#include "webgpu.h"', '#include "wgpu.h"', "#include <type_traits>"]
    for one in bindings().presented.constants.values():
        lines += [f'static_assert({one.name} == {one.value}, "");']
        lines += [f'static_assert(std::is_same<decltype({one.name}), const {one.type.spelling}>::value, "");']
    file = tmp_path / "constants.cpp"
    file.write_text("\n".join(lines) + "\n")
    command = [compiler, "-std=c++17", "-fsyntax-only", f"-I{fetched().folder('include')}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_constants_of_a_made_up_header(tmp_path: Path) -> None:
    (tmp_path / "made.h").write_text(
        "typedef unsigned long long madeBits;\n"
        "static const madeBits madeBits_Wide = 0x100000000;\n"
        "extern const madeBits madeOther;\n"
        "static madeBits madeVariable = 1;\n"
    )
    found = extract.extract(Source("made", "1.0", ("made.h",), (tmp_path,)))
    assert found["constants"] == {"madeBits_Wide": {"header": "made.h", "type": "madeBits", "value": "0x100000000"}}
    (tmp_path / "made.h").write_text("int madeUse(void);\n")
    assert "constants" not in extract.extract(Source("made", "1.0", ("made.h",), (tmp_path,)))


def test_every_function_of_the_header_is_exported() -> None:
    library = elf.read(fetched().library("libwgpu_native-release.so"))
    declared = {function.symbol for function in bindings().presented.functions.values()}
    assert declared == set(library.functions)


# ---- calls


def test_no_function_returns_a_code_of_which_0_is_success() -> None:
    slots = {slot.name: slot for slot in bindings().slots}
    assert not [slot.name for slot in slots.values() if slot.status]
    refused = {name: slot.refused for name, slot in slots.items()}
    assert refused["wgpuAdapterGetLimits"] == "WGPUStatus_Error"
    assert refused["wgpuInstanceWaitAny"] == "WGPUWaitStatus_Error"
    assert refused["wgpuCreateInstance"] == "{0}"
    assert slots["wgpuInstanceRelease"].void and slots["wgpuInstanceRelease"].returns == "ACU_RETURNS_VOID"


def test_a_result_of_one_byte_is_cut() -> None:
    header = render()["include/anycuda/webgpu_inline.h"]
    assert re.findall(r"return ACU_LOAD\((\w+)\)\([^;]*\) & 0xffu;", header) == ["acu_slot_wgpuDevicePoll"]


def test_what_is_refused_is_an_enumerator_of_its_type() -> None:
    info = Spec().libraries["webgpu"]
    api = bindings().presented
    for kind, name in info["refused"].items():
        assert name in api.enums[kind].values and api.enums[kind].values[name] != 0


# ---- what the loader judges by


def test_no_older_revision_has_the_sentinels() -> None:
    """What 27.0 exports of them: the names of its exports are known, and stand here."""
    of_27 = {"wgpuCreateInstance", "wgpuDeviceCreateComputePipeline", "wgpuQueueSubmit", "wgpuBufferMapAsync"}
    info = Spec().libraries["webgpu"]
    assert set(info["sentinels"]) - of_27
    assert set(info["sentinels"]) <= bindings().presented.symbols.keys()
    assert not set(info["foreign"]) & bindings().presented.symbols.keys()


def test_a_foreign_symbol_that_the_library_has_stops_generation() -> None:
    spec = Spec()
    library = Library("webgpu", facts.read_all(spec.facts / "webgpu"))
    info = spec.libraries["webgpu"]
    verify.open_questions(info, library)
    library.newest.symbols["wgpuDeviceTick"] = ""
    with pytest.raises(GeneratorError, match=r"exports wgpuDeviceTick itself"):
        verify.open_questions(info, library)


# ---- every wrapper without a library


def caller() -> str:
    """A program that calls each function with zeros, and prints its name where the refusal is wrong."""
    lines = ["#include <anycuda/webgpu.h>", "#include <stdio.h>", "#include <string.h>"]
    lines += ["static int wrong;", "static void check(const char *name, const void *result, size_t size, int code) {"]
    lines += [
        "    static const char zeros[64];",
        '    char start[96]; snprintf(start, sizeof start, "%s: no usable ", name);',
    ]
    lines += ["    int zero = !size || !memcmp(result, code ? (const void *)&code : zeros, size);"]
    lines += ["    if (!zero || strncmp(acu_last_error_message(), start, strlen(start)) != 0) {"]
    lines += [
        '        printf("%s: %s\\n", name, acu_last_error_message()); wrong = 1; }',
        "    acu_clear_error();",
        "}",
    ]
    lines += ["int main(void) {"]
    for slot in bindings().slots:
        function = slot.function
        code = {"WGPUStatus": 2, "WGPUWaitStatus": 3}.get(function.returns.spelling, 0)
        lines.append("    {")
        lines += [
            f"        {p.type.declare(f'a{i}')}; memset((void *)&a{i}, 0, sizeof a{i});"
            for i, p in enumerate(function.params)
        ]
        call = f"{slot.name}({', '.join(f'a{i}' for i in range(len(function.params)))})"
        if slot.void:
            lines.append(f'        {call}; check("{slot.name}", NULL, 0, 0);')
        else:
            lines.append(f"        {function.returns.declare('r')} = {call};")
            lines.append(f'        check("{slot.name}", (const void *)&r, sizeof r, {code});')
        lines.append("    }")
    return "\n".join([*lines, "    return wrong;", "}", ""])


def test_every_wrapper_refuses_without_a_library(library: object, tmp_path: Path) -> None:
    link = library.link  # type: ignore[attr-defined]
    source, program = tmp_path / "calls.c", tmp_path / "calls"
    source.write_text(caller())
    includes = [f"-I{folder}" for folder in ("include", "generated/include")]
    command = ["cc", "-std=gnu11", "-O1", *includes, str(source), "-o", str(program), *map(str, link)]
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parents[2])
    environment = {"ANYCUDA_WEBGPU": "/nonexistent/libwgpu_native.so"}
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, "")
    assert len(bindings().slots) == len(re.findall(r"\bcheck\(\"", source.read_text())) > 200


def prober() -> str:
    """A program that calls the function of a number with zeros, past what anycuda refuses."""
    lines = ["#include <anycuda/webgpu.h>", "#include <dlfcn.h>", "#include <stdlib.h>", "#include <string.h>"]
    lines += ["int main(int count, char **arguments) {", "    void *library = dlopen(arguments[1], RTLD_NOW);"]
    lines += ["    const int number = count > 2 && library ? atoi(arguments[2]) : -1;"]
    for number, slot in enumerate(bindings().slots):
        params = slot.function.params
        lines.append(f"    if (number == {number}) {{")
        lines += [
            f"        {p.type.declare(f'a{i}')}; memset((void *)&a{i}, 0, sizeof a{i});" for i, p in enumerate(params)
        ]
        call = ", ".join(f"a{i}" for i in range(len(params)))
        pointer = f'*(void **)&f = dlsym(library, "{slot.name}")'
        lines += [f"        {slot.pointer('f')}; {pointer}; (void)f({call});", "    }"]
    return "\n".join([*lines, "    return number < 0;", "}", ""])


def test_what_the_library_only_exports_is_listed(tmp_path: Path) -> None:
    """Asked in a process for each function, because the answer ends it."""
    real = fetched().library("libwgpu_native-release.so")
    source, program = tmp_path / "probe.c", tmp_path / "probe"
    source.write_text(prober())
    root = Path(__file__).resolve().parents[2]
    includes = [f"-I{root / folder}" for folder in ("include", "generated/include")]
    # Nothing is linked: without optimisation the wrappers that inline functions hold would be missing.
    command = ["cc", "-std=gnu11", "-O1", "-w", *includes, str(source), "-o", str(program), "-ldl"]
    subprocess.run(command, check=True)

    def says(number: int) -> str:
        command = ["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", str(program), str(real), str(number)]
        environment = {"RUST_BACKTRACE": "0", "VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stderr

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(says, range(len(bindings().slots))))
    found = [s.name for s, a in zip(bindings().slots, answers, strict=True) if "not implemented" in a]
    assert found == sorted(Spec().libraries["webgpu"]["unimplemented"])
    refused = {slot.name for slot in bindings().slots if "ACU_QUIRK_UNIMPLEMENTED" in slot.quirks}
    assert refused == set(found)
