"""NVML: what the facts say of its header, and that each wrapper refuses where there is no library."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator import extract, verify
from generator.bind import bind_all, load_libraries
from generator.describe import Value, opened
from generator.errors import GeneratorError
from generator.extract import Source
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


# ---- what the generator learned for it, on made-up headers


def extracted(tmp_path: Path, text: str) -> dict[str, Any]:
    (tmp_path / "made.h").write_text(text)
    return extract.extract(Source("made", "1.0", ("made.h",), (tmp_path,)))


def test_a_macro_that_calls_another_is_its_number(tmp_path: Path) -> None:
    text = "typedef struct { int a, b; } made_v2_t;\n#define VERSION(n) (sizeof(made_v##n##_t) | n << 24)\n"
    text += "#define made_v2 VERSION(2)\n#define plain (1 << 3)\n#define long_one (1 | \\\n2)\n"
    macros = extracted(tmp_path, text)["macros"]
    assert (macros["made_v2"]["value"], macros["plain"]["value"]) == (str(8 | 2 << 24), "( 1 << 3 )")
    assert macros["long_one"]["value"] == "( 1 | 2 )"
    assert "VERSION" not in macros


def test_fields_of_an_array_of_unnamed_structs() -> None:
    record = bindings().presented.records["nvmlGpuThermalSettings_t"]
    found = {field.name: field.offset for field in opened(record)}
    assert (found["sensor[0].controller"], found["sensor[0].target"], found["sensor[1].controller"]) == (4, 20, 24)
    assert len(found) == 1 + 3 * 5


def test_enumerators_above_int_max() -> None:
    """Strict C has none, NVIDIA's header has; in the tables they are the same 32 bits."""
    header = (ROOT / "generated/include/anycuda/nvml_types.h").read_text()
    assert "__extension__ enum nvmlVgpuPgpuCompatibilityLimitCode_enum {" in header
    assert "NVML_VGPU_COMPATIBILITY_LIMIT_OTHER = 2147483648," in header
    assert Value("large", 2**31, 0).value == -(2**31)
    assert "\n__extension__ enum" not in (ROOT / "generated/include/anycuda/cudart_types.h").read_text()
