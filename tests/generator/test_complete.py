"""Lists that are written by hand, held against what there is: a new toolkit's additions are named, not forgotten."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from generator import extract, facts, verify, yamlfile
from generator.bind import load_libraries
from generator.errors import GeneratorError
from generator.fetch import Toolkits
from generator.model import Library
from generator.spec import Spec
from generator.yamlfile import ROOT


@cache
def libraries() -> dict[str, Library]:
    return {library.name: library for library in load_libraries()}


def newer(name: str, **changes: Any) -> Library:
    """A library with one toolkit more, which differs from the newest one by these changes."""
    stored = dict(facts.read_all(yamlfile.SPEC / "facts" / name))
    return Library(name, {**stored, "99.0": facts.merge(list(stored.values())[-1], changes)})


def stop(library: Library) -> list[str]:
    with pytest.raises(GeneratorError) as caught:
        verify.open_questions(Spec().libraries[library.name], library)
    return str(caught.value).splitlines()


def test_an_export_that_no_header_declares_is_named() -> None:
    (said,) = stop(newer("cudart", symbols={"cudaMadeUp": "", "cudaMalloc_ptsz": ""}))[:1]
    assert re.match(r"spec/libraries\.yaml:\d+: libcudart exports cudaMadeUp since 99\.0, which no header", said)


def test_a_format_without_bits_is_named() -> None:
    kind = "cudaChannelFormatKind"
    (said,) = stop(newer("cudart", enums={kind: {"values": {f"{kind}MadeUp": 99}}}))
    assert re.match(r"spec/libraries\.yaml:\d+: cudaChannelFormatKindMadeUp has no bits", said)


def test_a_major_version_without_a_soname_is_named() -> None:
    with pytest.raises(GeneratorError, match=r"no soname of libnvrtc is of CUDA 99: add it to `sonames`"):
        verify.sonames(Spec(), [newer("cudart"), libraries()["nvrtc"]])


def test_nothing_is_open_now() -> None:
    for name, library in libraries().items():
        verify.open_questions(Spec().libraries[name], library)
    verify.sonames(Spec(), list(libraries().values()))


# ---- what results mean: src/loader/library.c


def body(function: str) -> str:
    text = (ROOT / "src" / "loader" / "library.c").read_text()
    return text[text.index(f"static int {function}(") :].partition("\n}\n")[0]


def test_the_driver_codes_that_the_runtime_lacks_are_translated() -> None:
    """All others have the runtime's number, and pass as they are."""
    (driver, runtime) = (libraries()[name].newest.enums[enum] for name, enum in NUMBERS)
    lacking = {name for name, number in driver.values.items() if number not in runtime.values.values()}
    assert set(re.findall(r"case (CUDA_ERROR_\w+):", body("translate_driver"))) == lacking


NUMBERS = (("cuda", "cudaError_enum"), ("cudart", "cudaError"))

# What NVRTC's calls return only if anycuda itself is wrong, or nothing is known about; it becomes cudaErrorUnknown.
NVRTC_UNKNOWN = {
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    "NVRTC_ERROR_BUSY",
    "NVRTC_ERROR_CANCELLED",
    "NVRTC_ERROR_INTERNAL_ERROR",
    "NVRTC_ERROR_INVALID_PROGRAM",
    "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED",
    "NVRTC_ERROR_PCH_CREATE",
    "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED",
    "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
    "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED",
}


def test_every_code_of_nvrtc_is_translated_or_unknown_on_purpose() -> None:
    translated = set(re.findall(r"case (NVRTC_\w+):", body("translate_nvrtc")))
    assert translated | NVRTC_UNKNOWN == set(libraries()["nvrtc"].newest.enums["nvrtcResult"].values)
    assert not translated & NVRTC_UNKNOWN


# ---- the guards of NVIDIA's headers: no facts, since macros with an underscore are none


@cache
def folders() -> list[Path]:
    try:
        toolkits = Toolkits.load()
        shared = [unit.folder("include") for unit in toolkits.shared.values()]
        return [folder for entry in toolkits for folder in entry.include_dirs()] + shared
    except GeneratorError as missing:
        pytest.skip(str(missing))


def texts(header: str) -> list[str]:
    """The header in all toolkits."""
    files = (folder / header for folder in folders())
    return [file.read_text(encoding="latin-1") for file in files if file.is_file()]


def our_text(header: str) -> str:
    """One of our own headers; some set the guards of those that they stand in for by themselves."""
    files = (ROOT / folder / "anycuda" / header for folder in ("include", "generated/include"))
    return "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())


GUARD = re.compile(r"^#\s*(?:ifndef\s+|if\s+!\s*defined\s*\(\s*)(\w+)\s*\)?\s*\n#\s*define\s+\1\b", re.MULTILINE)


@pytest.mark.parametrize("library", ["cudart", "cuda", "nvrtc"])
def test_the_guards_are_those_of_the_headers(library: str) -> None:
    """Of each header that anycuda's own header of the library stands in for, and no other."""
    info = Spec().libraries[library]
    listed = {*info["guards"], *info.get("interop_guards", ())}
    unknown, defined = {}, set()
    for header, ours in {**info.get("compat", {}), **dict.fromkeys(info.get("compat_empty", ()), "")}.items():
        for text in texts(header):
            defined |= set(re.findall(r"^#\s*define\s+(\w+)", text, re.MULTILINE))
            guard = GUARD.search(text)
            if ours in ("", "keywords.h") or header.endswith(".hpp"):  # a part, which only its header includes
                continue
            if guard and guard[1] not in listed and f"#define {guard[1]} " not in our_text(ours):
                unknown[header] = guard[1]
    assert unknown == {}
    assert sorted(listed - defined) == []


# ---- headers


def test_a_header_that_is_neither_replaced_nor_left_out_is_named(tmp_path: Path) -> None:
    """As it stops `make new-toolkit`, before anything is extracted."""
    folder = tmp_path / "include"
    (folder / "crt").mkdir(parents=True)
    for header in ("cuda_runtime.h", "mma.h", "crt/host_config.h", "cuda_made_up.h", "made/up.hpp"):
        (folder / header).parent.mkdir(exist_ok=True)
        (folder / header).touch()

    class Brought:
        version = "99.0"

        def include_dirs(self) -> list[Path]:
            return [folder]

    with pytest.raises(GeneratorError) as caught:
        extract.require_known_headers(Spec(), cast(Toolkits, [Brought()]))
    assert str(caught.value).startswith(
        "toolkit 99.0 brings cuda_made_up.h: replace it (compat in spec/libraries.yaml)"
    )
