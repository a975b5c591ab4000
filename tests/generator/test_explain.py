"""`python -m generator explain`: what it shows of functions that are called directly, adapted, decided, renamed."""

from __future__ import annotations

from functools import cache

import pytest

from generator import __main__, gates
from generator.bind import SPEC, bind_all, load_libraries
from generator.errors import GeneratorError
from generator.explain import WIDTH, describe, find
from generator.slots import Bindings


@cache
def libraries() -> list[Bindings]:
    return bind_all(load_libraries(), gates.load(SPEC.features))


@cache
def explained(name: str) -> str:
    return describe(find(name, libraries()))


def paragraph(name: str, toolkits: str) -> str:
    """What is shown of some toolkits, as one line."""
    start = f"\n{toolkits}: "
    assert start in explained(name), explained(name)
    return " ".join(explained(name).partition(start)[2].partition("\n\n")[0].split())


def test_a_struct_with_another_layout() -> None:
    old = paragraph("cudaGetDeviceProperties", "11.7 to 11.8")
    assert old.startswith("cudaGetDeviceProperties, through adapt_cudaGetDeviceProperties()")
    assert "prop (out) struct cudaDeviceProp has 728 bytes there, 1008 in 13.5" in old
    assert "filled from device attributes: hostRegisterSupported," in old
    assert paragraph("cudaGetDeviceProperties", "12.0 to 12.9").startswith("cudaGetDeviceProperties_v2, through")
    assert paragraph("cudaGetDeviceProperties", "13.0 to 13.5") == "cudaGetDeviceProperties, called directly"


def test_a_decision_with_its_reason_line_and_refusals() -> None:
    text = paragraph("cudaMemAdvise", "11.7 to 12.1")
    assert "decision A device or the host as a whole is a device number there" in text
    assert "(spec/decisions.yaml:" in text
    assert "there cudaMemAdvise(const void *, size_t, enum cudaMemoryAdvise, int)" in text
    assert "refuses location.type if" in text
    assert "with cudaErrorNotSupported: it needs CUDA 12.2" in text
    assert "passes devPtr, count, advice, acu_location_device(&location)" in text


def test_a_function_that_some_toolkits_lack() -> None:
    assert "since      12.4\n" in explained("cudaDeviceRegisterAsyncNotification")
    assert "feature    asynchronous notifications" in explained("cudaDeviceRegisterAsyncNotification")
    absent = paragraph("cudaDeviceRegisterAsyncNotification", "11.7 to 12.3")
    assert absent == "absent, a call returns cudaErrorNotSupported"
    assert "gone after 12.9" in explained("cudaThreadExit")


def test_the_symbol_of_the_threads_own_default_stream() -> None:
    assert "ptds cudaMemcpyAsync_ptsz" in paragraph("cudaMemcpyAsync", "11.7 to 13.5")


def test_a_function_of_the_driver_by_its_symbol() -> None:
    assert explained("cuMemAlloc_v2").startswith(
        "cuMemAlloc_v2 is a symbol that stands behind cuMemAlloc.\n\ncuMemAlloc\n"
    )
    assert paragraph("cuMemAlloc", "11.7 to 13.5") == "cuMemAlloc_v2, called directly"


def test_a_function_of_nvrtc() -> None:
    assert paragraph("nvrtcGetPTX", "13.5") == "nvrtcGetPTX, called directly"


def test_an_older_name() -> None:
    old, new = libraries()[0].aliases[0]
    assert explained(old).startswith(f"{old} is an older name of {new}.\n")


def test_every_function_fits_a_terminal() -> None:
    for one in libraries():
        for slot in one.slots:
            text = describe(find(slot.name, libraries()))
            # What cannot be broken: a condition's names, a line of C.
            assert [line for line in text.splitlines() if len(line) > WIDTH and " " in line.strip()] == []


def test_an_unknown_name_has_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["explain", "cudaGetDeviceProps"]) == 2
    said = capsys.readouterr().err
    assert "error: no library has a function `cudaGetDeviceProps`; did you mean cudaGetDeviceProperties" in said
    with pytest.raises(GeneratorError, match="a name is written as in CUDA's headers"):
        find("_", libraries())
