"""spec/safe.yaml: what CUDA has of an enum is in the safe layer or left out, and the headers have what it says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator import facts, safe, yamlfile
from generator.bind import load_libraries
from generator.errors import GeneratorError
from generator.model import Library
from generator.spec import Spec

HEADERS = yamlfile.ROOT / "include" / "anycuda"

# Enums that are anycuda's own: CUDA has nothing of the kind, or it is no matter of values.
OWN = {
    "acu_allocator_source",
    "acu_arg_kind",
    "acu_dlpack_device",  # DLPack's numbers
    "acu_code_form",
    "acu_code_linker",
    "acu_dlpack_flag",
    "acu_encoding",  # of several enums of CUDA's
    "acu_error_kind",
    "acu_graphics_type",
    "acu_jit_level",
    "acu_library_id",
    "acu_listener_subject",
    "acu_load_flag",
    "acu_memory",
    "acu_memory_answer",
    "acu_memory_kind",
    "acu_memory_place",
    "acu_parameter_check",
    "acu_parameter_type",
    "acu_payload",  # NVTX's numbers
    "acu_place_can",
    "acu_program_flag",
    "acu_raw_kind",
    "acu_result_code",
    "acu_runtime_number",
    "acu_share_kind",
    "acu_share_way",
    "acu_sim_boundary",
    "acu_sim_geometry",
    "acu_sim_graphics_kind",
    "acu_sim_graph_place",
    "acu_tensor_elements",
    "acu_tensor_mode",
}
# Enumerators that CUDA does not have, of enums that it has: the type of what was wrapped; and kinds of what is one kind
# for CUDA, which reduces by a second value.
OWN_VALUES = {
    "ACU_EXTERNAL_MEMORY_UNKNOWN",
    "ACU_EXTERNAL_SEMAPHORE_UNKNOWN",
    "ACU_VALUE_AND",
    "ACU_VALUE_OR",
}


@cache
def declared() -> dict[str, list[str]]:
    """Each named enum of the public headers, with its enumerators."""
    found = {}
    for header in sorted(HEADERS.glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        for name, body in re.findall(r"\benum (acu_\w+) \{(.*?)\}", text, flags=re.DOTALL):
            found[name] = re.findall(r"(ACU_\w+)", re.sub(r"=[^,]*", "", body))
    return found


@cache
def libraries() -> dict[str, Library]:
    return {library.name: library for library in load_libraries()}


def test_every_enum_of_the_safe_layer_is_listed_with_all_that_it_has() -> None:
    listed: dict[str, list[str]] = {}
    for entry in Spec().safe:  # an enum of ours may serve two of CUDA's
        if "enum" in entry:
            listed[entry["enum"]] = sorted({*listed.get(entry["enum"], []), *entry["has"]})
    # What acu_buffer_flag has beside the flags of registered memory is of other calls, or anycuda's own.
    listed["acu_buffer_flag"] = sorted(declared()["acu_buffer_flag"])
    assert listed == {name: sorted(set(values) - OWN_VALUES) for name, values in declared().items() if name not in OWN}


def test_what_is_anycudas_own_exists() -> None:
    assert sorted(OWN - declared().keys()) == []


def test_the_assertions_are_made() -> None:
    text = (yamlfile.ROOT / "generated" / "src" / "safe_values.c").read_text()
    assert "SAME(ACU_NODE_COPY_BATCH, cudaGraphNodeTypeMemcpyBatch);" in text
    assert "HAS(acu_grid, window);" in text
    assert "ACU_CAPTURE_THREAD" not in text  # which has another number
    assert text.count("SAME(") > 100


def newer(**enums: dict[str, int]) -> Library:
    """The runtime with one toolkit more, in which enums have these values, too."""
    stored = dict(facts.read_all(yamlfile.SPEC / "facts" / "cudart"))
    change: dict[str, Any] = {"enums": {name: {"values": values} for name, values in enums.items()}}
    return Library("cudart", {**stored, "99.0": facts.merge(list(stored.values())[-1], change)})


def stop(spec: Spec, runtime: Library) -> list[str]:
    with pytest.raises(GeneratorError) as caught:
        safe.entries(spec, runtime, libraries()["cuda"])
    return str(caught.value).splitlines()


def test_each_new_value_stops_by_name() -> None:
    said = stop(
        Spec(),
        newer(
            cudaGraphNodeType={"cudaGraphNodeTypeMadeUp": 40, "cudaGraphNodeTypeCount": 41},
            cudaLimit={"cudaLimitMadeUp": 11},
            cudaLaunchAttributeID={"cudaLaunchAttributeMadeUp": 19},
            cudaDeviceAttr={"cudaDevAttrMadeUp": 170},
        ),
    )
    assert [line.partition(": ")[2].partition(" nor ")[0] for line in said] == [
        "acu_device_limit neither has cudaLimitMadeUp (11)",
        "acu_stream_info neither has cudaLaunchAttributeMadeUp (19)",
        "acu_grid neither has cudaLaunchAttributeMadeUp (19)",
        "acu_node_type neither has cudaGraphNodeTypeMadeUp (40)",
    ]
    assert all(re.match(r"spec/safe\.yaml:\d+: ", line) for line in said)


def test_a_new_flag_stops_when_its_set_has_it(tmp_path: Path) -> None:
    (tmp_path / "parameters").mkdir()
    text = (yamlfile.SPEC / "parameters" / "cudart.yaml").read_text()
    with_it = text.replace(
        "streamCreate: [cudaStreamNonBlocking]", "streamCreate: [cudaStreamNonBlocking, cudaHostAllocMapped]"
    )
    assert with_it != text
    (tmp_path / "parameters" / "cudart.yaml").write_text(with_it)
    (tmp_path / "safe.yaml").symlink_to(yamlfile.SPEC / "safe.yaml")
    (said,) = stop(Spec(tmp_path), libraries()["cudart"])
    assert "acu_stream_flag neither has cudaHostAllocMapped (2) nor leaves it out" in said


def test_an_older_toolkit_presented_asserts_what_it_has() -> None:
    older = load_libraries("12.4")
    by_name = {library.name: library for library in older}
    entries = {entry.name: entry for entry in safe.entries(Spec(), by_name["cudart"], by_name["cuda"])}
    assert ("ACU_NODE_CONDITIONAL", "cudaGraphNodeTypeConditional") in entries["acu_node_type"].numbers
    assert "ACU_NODE_COPY_BATCH" not in dict(entries["acu_node_type"].numbers)
