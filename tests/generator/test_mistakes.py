"""What a person can write wrongly in spec/: each mistake ends in one sentence with file and line.

(spec/features.yaml has its own tests in test_gates.py, plain YAML in test_yamlfile.py.)
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from generator import verify, yamlfile
from generator.bind import bind, load_libraries
from generator.errors import GeneratorError
from generator.model import Library
from generator.spec import Parameters, Spec, load_decisions


@cache
def libraries() -> dict[str, Library]:
    return {library.name: library for library in load_libraries()}


def mistake(act: Callable[[], object]) -> str:
    with pytest.raises(GeneratorError) as caught:
        act()
    assert caught.value.at is not None
    return str(caught.value)


def in_parameters(folder: Path, text: str) -> str:
    file = folder / "cudart.yaml"
    file.write_text(text)
    return mistake(lambda: verify.parameters(Parameters.load(file), libraries()["cudart"], libraries()["cuda"]))


def in_decisions(folder: Path, text: str) -> str:
    file = folder / "decisions.yaml"
    file.write_text("decisions:\n" + text)
    return mistake(lambda: verify.decisions(load_decisions(file), libraries()["cudart"]))


def cases(texts: str) -> list[ParameterSet]:
    """Documents with `#!` behind the line at fault, and the message that it must give."""
    found = []
    for text in texts.strip("\n").split("\n---\n"):
        before, _, rest = text.partition("#! ")
        message = rest.partition("\n")[0]
        found.append(pytest.param(text, before.count("\n") + 1, message, id=message[:60]))
    return found


@pytest.mark.parametrize(
    ("text", "line", "message"),
    cases("""
functions:
  cudaMaloc:  #! no toolkit has a function `cudaMaloc`; did you mean `cudaMalloc`?
    devPtr: {direction: out}
---
functions:
  cudaMalloc:
    ptr: {direction: out}  #! cudaMalloc has no parameter `ptr` in any toolkit; known: devPtr, size
---
functions:
  cudaMalloc:
    devPtr:
      length: n  #! cudaMalloc has no parameter `n` beside `devPtr` in any toolkit
---
functions:
  cudaMalloc:
    devPtr: {direction: outward}  #! 'outward' is not one of ['in', 'out', 'inout']
---
functions:
  cudaMalloc:
    devPtr: out  #! functions.cudaMalloc.devPtr: 'out' is not of type 'object'
---
functions:
  cudaMalloc:
    devPtr: {direction: out}
  cudaMalloc:  #! duplicate key `cudaMalloc`; the first stands in line 2
    size: {flags: a}
---
functions:
  cudaMalloc:
    devPtr: {since: '12.4'}  #! unknown key `since`
---
functions:
  cudaHostAlloc:
    flags: {flags: hostAlloc}  #! there is no `hostAlloc` under `flags`; known: host
flags:
  host: [cudaHostAllocMapped]
---
functions:
  cudaHostAlloc:
    flags: {enum: cudaHostKind}  #! no toolkit has an enum `cudaHostKind`
---
functions:
  cudaMemPoolGetAttribute:
    value: {value_of: poolAttr, tag: attr}  #! there is no `poolAttr` under `values`; known: none
---
flags:
  host:
    - cudaHostAllocMapped
    - cudaHostAllocMaped  #! no toolkit has an enumerator or macro `cudaHostAllocMaped`; did you mean
---
flags:
  host: cudaHostKind  #! no toolkit has an enum `cudaHostKind`
---
constants:
  host: [cudaHostAllocMaped]  #! no toolkit has an enumerator or macro `cudaHostAllocMaped`
---
values:
  pool:
    enum: cudaMemPoolAttr
    types:
      cudaMemPoolReuse: int  #! no toolkit has an enumerator or macro `cudaMemPoolReuse`
---
results:
  cudaStreamQuery: [cudaErrorNotReady]
  cudaEventQueri: [cudaErrorNotReady]  #! no toolkit has a function `cudaEventQueri`; did you mean `cudaEventQuery`?
---
results:
  cudaStreamQuery: [cudaErrorNotRead]  #! no toolkit has an enumerator or macro `cudaErrorNotRead`
---
quirks:
  cudaLastError: get_last_error  #! no toolkit has a function `cudaLastError`
---
handles:
  cudaStrem_t: {cudaStreamLegacy: 1}  #! no toolkit has a handle `cudaStrem_t`; did you mean `cudaStream_t`?
---
records:
  cudaDeviceProps:  #! no toolkit has a struct or union `cudaDeviceProps`; did you mean `cudaDeviceProp`?
    reserved: [x]
---
records:
  cudaDeviceProp:
    fields:
      nam: {direction: in}  #! cudaDeviceProp has no field `nam` in any toolkit; did you mean `name`?
---
records:
  cudaDeviceProp:
    reserved:
      - name
      - nane  #! cudaDeviceProp has no field `nane` in any toolkit
---
records:
  cudaDeviceProp:
    attributes:
      clockRate: cudaDevAttrClokRate  #! no toolkit has an enumerator or macro `cudaDevAttrClokRate`; did you mean
---
records:
  cudaResourceDesc:
    unions:
      - by: restype
        members: {}  #! records.cudaResourceDesc.unions.0.members:
---
records:
  cudaResourceDesc:
    unions:
      - by: restype  #! cudaResourceDesc has no field `restype` in any toolkit; did you mean `resType`?
        at: res
        members:
          array: [cudaResourceTypeArray]
---
records:
  cudaResourceDesc:
    unions:
      - by: resType
        at: res
        members:
          aray: [cudaResourceTypeArray]  #! cudaResourceDesc has no field `res.aray` in any toolkit
"""),
)
def test_a_mistake_in_parameters(tmp_path: Path, text: str, line: int, message: str) -> None:
    said = in_parameters(tmp_path, text)
    assert f"cudart.yaml:{line}: " in said
    assert message in said
    assert "\n" not in said


def test_the_first_of_several_mistakes_is_told_and_the_others_counted(tmp_path: Path) -> None:
    said = in_parameters(tmp_path, "quirks:\n  cudaA: no_library\n  cudaB: no_library\nhandles:\n  cudaC: {cudaD: 1}\n")
    assert "cudart.yaml:2: no toolkit has a function `cudaA`" in said
    assert said.endswith("(and 3 more like it)")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    cases("""
  - function: cudaMemPrefetchAsinc  #! no toolkit has a function `cudaMemPrefetchAsinc`; did you mean
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
---
  - function: cudaMalloc  #! answers: no toolkit declares cudaMalloc(size_t)
    answers: [size_t]
    reason: made up for a test
---
  - function: cudaMemPrefetchAsync  #! presents: no toolkit declares cudaMemPrefetchAsync(int)
    presents: [int]
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
---
  - function: cudaMemPrefetchAsync  #! no toolkit has a function `cudaPrefetch`
    call: cudaPrefetch
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
---
  - function: cudaMemPrefetchAsync  #! cudaMemPrefetchAsync has no parameter `place.type` to refuse
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    refuse: [{if: '1', newer: place.type}]
---
  - function: cudaMemPrefetchAsync
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
  - function: cudaMemPrefetchAsync  #! decides cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) again;
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
---
  - function: cudaMemPrefetchAsync
    since: '12.0'  #! unknown key `since`
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
---
  - function: cudaMalloc  #! 'reason' is a required property
    answers: []
---
  - function: cudaMalloc
    answers: []
    reason: short  #! reason: 'short' is too short
---
  - function: cudaMemPrefetchAsync  #! `acu_location_devise(&location)` speaks of `acu_location_devise`
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    args: [devPtr, count, acu_location_devise(&location), stream]
---
  - function: cudaMemPrefetchAsync  #! `dstDevice` speaks of `dstDevice`, which is not known there
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    args: [devPtr, count, dstDevice, stream]
---
  - function: cudaMemPrefetchAsync  #! cudaMemPrefetchAsync is called with 3 arguments, not 4
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    args: [devPtr, count, stream]
---
  - function: cudaMemPrefetchAsync  #! cudaMemPrefetchAsync is called with 4 arguments, not 0
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    same: true
    args: [devPtr, count, flags, stream]
---
  - function: cudaMemPrefetchAsync  #! parameter `location` of cudaMemPrefetchAsync has no field `kind` to refuse
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    args: [devPtr, count, flags, stream]
    refuse: [{if: flags != 0, newer: location.kind}]
---
  - function: cudaMemPrefetchAsync  #! no toolkit has an enumerator `cudaErrorInvalidValu`; did you mean
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    args: [devPtr, count, flags, stream]
    refuse: [{if: flags, invalid: flags, why: must be 0, code: cudaErrorInvalidValu}]
---
  - function: cudaMemPrefetchAsync
    answers: [const void *, size_t, int, cudaStream_t]
    reasons: made up for a test  #! unknown key `reasons`
---
  - function: cudaMemPrefetchAsync
    answers: [const void *, size_t, int, cudaStream_t]
    reason: made up for a test
    args: ptr  #! args: 'ptr' is not of type 'array'
"""),
)
def test_a_mistake_in_decisions(tmp_path: Path, text: str, line: int, message: str) -> None:
    said = in_decisions(tmp_path, text)
    assert f"decisions.yaml:{line + 1}: " in said
    assert message in said
    assert "\n" not in said


# ---- the whole way, on a copy of spec/


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    shutil.copytree(yamlfile.SPEC, tmp_path / "spec", ignore=shutil.ignore_patterns("facts", "schema"))
    (tmp_path / "spec" / "facts").symlink_to(yamlfile.SPEC / "facts")
    return Spec(tmp_path / "spec")


def change(file: Path, old: str, new: str) -> int:
    """Changes a text that stands there once; returns the line of what was put in."""
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def generating(spec: Spec) -> str:
    return mistake(lambda: bind(libraries()["cudart"], libraries()["cuda"], spec=spec))


def test_a_struct_that_may_be_written_must_have_a_direction(spec: Spec) -> None:
    file = spec.root / "parameters" / "cudart.yaml"
    line = change(file, "    remaining: {direction: out}\n", "") - 3  # of cudaDevSmResourceSplitByCount
    said = generating(spec)
    assert f"cudart.yaml:{line}: cudaDevSmResourceSplitByCount.remaining is a `cudaDevResource *`" in said
    assert "may be in, out or inout: say which" in said
    assert "cuda_runtime_api.h" in said


def test_a_decision_that_nothing_needs_any_more(spec: Spec) -> None:
    file = spec.root / "decisions.yaml"
    line = file.read_text().count("\n") + 1
    with file.open("a") as stream:
        stream.write(
            "  - function: cudaFree\n    answers: ['void *']\n    reason: made up for a test\n    same: true\n"
        )
    said = generating(spec)
    assert f"decisions.yaml:{line}: nothing needs the decision on cudaFree(void *) any more; remove it" in said


def test_a_decision_that_is_missing(spec: Spec) -> None:
    file = spec.root / "decisions.yaml"
    start = file.read_text().index("  - function: cudaMemAdvise\n")
    end = file.read_text().index("  - function:", start + 1)
    file.write_text(file.read_text()[:start] + file.read_text()[end:])
    with pytest.raises(GeneratorError) as caught:
        bind(libraries()["cudart"], libraries()["cuda"], spec=spec)
    said = str(caught.value)
    assert "cudaMemAdvise on toolkit 11.7" in said
    assert "presented: cudaMemAdvise(const void *, size_t, enum cudaMemoryAdvise, struct cudaMemLocation)" in said
    assert "11.7: cudaMemAdvise(const void *, size_t, enum cudaMemoryAdvise, int)" in said


def test_a_call_that_a_toolkit_does_not_declare(spec: Spec) -> None:
    file = spec.root / "decisions.yaml"
    change(file, "call: cudaGraphInstantiateWithFlags", "call: cudaGraphInstantiateWithParams")
    line = file.read_text()[: file.read_text().index("- function: cudaGraphInstantiate\n")].count("\n") + 1
    said = generating(spec)
    # It came with 12.0, and the decision answers 11.x.
    expected = "calls cudaGraphInstantiateWithParams, which toolkit 11.7 does not declare"
    assert f"decisions.yaml:{line}: {expected}" in said


def test_an_error_that_nothing_is_said_about(spec: Spec) -> None:
    file = spec.root / "errors.yaml"
    change(file, "    cudaErrorContained: an error that concerns only a part of the device\n", "")
    line = file.read_text()[: file.read_text().index("cudart:\n")].count("\n") + 2
    said = generating(spec)
    assert f"errors.yaml:{line}: nothing says what cudaErrorContained is about: add it to its kind" in said


def test_an_error_that_no_toolkit_has(spec: Spec) -> None:
    line = change(spec.root / "errors.yaml", "cudaErrorContained: ", "cudaErrorContaine: ")
    assert f"errors.yaml:{line}: no toolkit has the error `cudaErrorContaine`" in generating(spec)


def test_an_error_of_two_kinds(spec: Spec) -> None:
    line = change(spec.root / "errors.yaml", "cudaErrorUnknown: ", "cudaErrorContained: twice\n    cudaErrorUnknown: ")
    assert f"errors.yaml:{line}: `cudaErrorContained` is cudaErrorContained, which is here already" in generating(spec)


def test_a_kind_that_does_not_exist(spec: Spec) -> None:
    change(spec.root / "errors.yaml", "  memory:  # room", "  memry:  # room")
    assert "cudart: 'memry' is not one of ['argument', " in mistake(lambda: spec.errors)


def test_a_mistake_in_libraries(spec: Spec) -> None:
    line = change(spec.root / "libraries.yaml", "  adapt: true\n", "  adapt: true\n  since: '11.7'\n") + 1
    assert f"libraries.yaml:{line}: unknown key `since`" in mistake(lambda: spec.libraries)
    assert "soname" in mistake(lambda: Spec(spec.root).libraries)


def test_a_sentinel_that_not_every_toolkit_has(spec: Spec) -> None:
    line = change(spec.root / "libraries.yaml", "cudaStreamBeginCapture, ", "cudaStreamGetId, ")
    assert f"libraries.yaml:{line}: not every toolkit has `cudaStreamGetId`, so it tells no stub" in generating(spec)


def test_an_error_that_is_none(spec: Spec) -> None:
    line = change(spec.root / "libraries.yaml", "no_device: cudaErrorNoDevice", "no_device: cudaMemcpyHostToHost")
    said = generating(spec)
    assert f"libraries.yaml:{line}: no toolkit has an enumerator of cudaError_t `cudaMemcpyHostToHost`" in said


def test_parameters_of_no_library(spec: Spec) -> None:
    (spec.root / "parameters" / "cudrt.yaml").write_text("quirks: {}\n")
    said = mistake(lambda: load_libraries(spec=spec))
    assert "cudrt.yaml:1: spec/libraries.yaml has no library `cudrt`" in said


def test_a_pattern_that_fits_no_function(spec: Spec) -> None:
    line = change(spec.root / "groups.yaml", "cudaProfiler*", "cudaProfile*, cudaProfiles*")
    said = generating(spec)
    assert f"groups.yaml:{line}: no function fits the pattern `cudaProfiles*` of `profiler control`; remove it" in said


def test_a_library_without_groups(spec: Spec) -> None:
    (spec.root / "groups.yaml").write_text("cuda: [{title: all, functions: ['cu*']}]\n")
    assert "groups.yaml:1: there are no groups for the functions of `cudart`" in generating(spec)


def test_the_committed_spec_has_none() -> None:
    for name in ("cudart", "cuda", "nvrtc"):
        driver = libraries()["cuda"] if name == "cudart" else None
        verify.parameters(Spec().parameters(name), libraries()[name], driver)
    verify.decisions(Spec().decisions, libraries()["cudart"])
