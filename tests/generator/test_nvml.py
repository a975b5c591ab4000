"""NVML: what the facts say of its header, and that each wrapper refuses where there is no library."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from generator import verify
from generator.bind import bind_all, load_libraries
from generator.errors import GeneratorError
from generator.fetch import Toolkits
from generator.slots import Bindings
from generator.spec import Spec

ROOT = Path(__file__).resolve().parents[2]


@cache
def bindings() -> Bindings:
    return next(one for one in bind_all(load_libraries()) if one.name == "nvml")


def include() -> Path:
    try:
        return Toolkits.load().shared["nvml"].folder("include")
    except GeneratorError as problem:
        pytest.skip(f"nvml.h is not at hand: {problem}")


def test_its_library_comes_with_the_driver() -> None:
    """One soname serves every version, so no toolkit's major asks for another one."""
    info = Spec().libraries["nvml"]
    assert (info["sonames"], info["shared_object"]) == (["libnvidia-ml.so.1"], False)
    verify.sonames(Spec(), load_libraries())


def test_names_that_the_header_maps_to_symbols() -> None:
    api = bindings().presented
    assert api.macros["nvmlInit"].value == "nvmlInit_v2"
    assert "nvmlInit_v2" in api.functions and "nvmlInit" not in api.functions


def test_numbers_that_a_macro_computes(tmp_path: Path) -> None:
    """The versions of structs are sizeof(struct) | version << 24; the real header computes the same."""
    macros = bindings().presented.macros
    versions = {name: macro.value for name, macro in macros.items() if re.fullmatch(r"nvml\w+_v\d", name)}
    numbers = {name: int(value) for name, value in versions.items() if value.isdigit()}
    assert numbers["nvmlMemory_v2"] == 40 | 2 << 24
    assert len(numbers) > 60
    lines = ['#include "nvml.h"', *(f'_Static_assert({name} == {value}u, "");' for name, value in numbers.items())]
    lines += [f'_Static_assert(sizeof({name}_t) == ({value} & 0xffffff), "");' for name, value in numbers.items()]
    lines.append("extern int some_declaration;")
    file = tmp_path / "numbers.c"
    file.write_text("\n".join(lines) + "\n")
    for folder in (
        [include()],
        [ROOT / "generated/include/anycuda/compat", ROOT / "generated/include", ROOT / "include"],
    ):
        command = ["cc", "-std=c11", "-fsyntax-only", *(f"-I{one}" for one in folder), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_directions_of_structs() -> None:
    """A struct that begins with its version is filled by both sides; others are only returned."""
    described = {slot.name: [param.direction for param in slot.params] for slot in bindings().slots}
    assert described["nvmlDeviceGetMemoryInfo"] == ["ACU_IN", "ACU_OUT"]
    assert described["nvmlDeviceGetMemoryInfo_v2"] == ["ACU_IN", "ACU_INOUT"]
    assert described["nvmlDeviceSetClockOffsets"] == ["ACU_IN", "ACU_IN"]


def caller() -> str:
    """A program that calls each function with zeros, and prints its name where the refusal is wrong."""
    lines = ["#include <anycuda/nvml.h>", "#include <stdio.h>", "#include <string.h>", "static int wrong;"]
    lines += ["static void check(const char *name, nvmlReturn_t result) {", "    char start[128];"]
    lines += ['    snprintf(start, sizeof start, "%s: no usable libnvidia-ml: ", name);']
    lines += ["    if (result != NVML_ERROR_LIBRARY_NOT_FOUND || acu_last_error_details().code != 303 ||"]
    lines += ["        strncmp(acu_last_error_message(), start, strlen(start)) != 0) {"]
    lines += ['        printf("%s: %d, %s\\n", name, result, acu_last_error_message()); wrong = 1;', "    }"]
    lines += ["    acu_clear_error();", "}", "int main(void) {"]
    for slot in bindings().slots:
        if slot.name == "nvmlErrorString":  # answers without a library
            continue
        params = slot.function.params
        lines.append("    {")
        lines += [
            f"        {p.type.declare(f'a{i}')}; memset((void *)&a{i}, 0, sizeof a{i});" for i, p in enumerate(params)
        ]
        lines.append(f'        check("{slot.name}", {slot.name}({", ".join(f"a{i}" for i in range(len(params)))}));')
        lines.append("    }")
    lines += ['    wrong |= !strstr(nvmlErrorString(NVML_ERROR_TIMEOUT), "NVML_ERROR_TIMEOUT");']
    return "\n".join([*lines, "    return wrong;", "}", ""])


def test_every_wrapper_refuses_without_a_library(library: object, tmp_path: Path) -> None:
    link = library.link  # type: ignore[attr-defined]
    source, program = tmp_path / "calls.c", tmp_path / "calls"
    source.write_text(caller())
    includes = [f"-I{folder}" for folder in ("include", "generated/include")]
    command = ["cc", "-std=gnu11", "-O0", *includes, str(source), "-o", str(program), *map(str, link)]
    subprocess.run(command, check=True, cwd=ROOT)
    environment = {"ANYCUDA_NVML": "/nonexistent/libnvidia-ml.so.1"}
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, "")
    assert len(bindings().slots) == len(re.findall(r"\bcheck\(\"", source.read_text())) + 1 > 400
