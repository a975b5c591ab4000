"""A program carries what it names: no other function's name, and few bytes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from generator.bind import bind_all, load_libraries
from generator.slots import Bindings
from tests.compile.toolchain import COMPILERS, ROOT, WARNINGS, Library, compiler, works

BAR = 64 * 1024

FIVE = ("cudaMalloc", "cudaFree", "cudaMemcpyAsync", "cudaStreamCreate", "cudaStreamSynchronize")
PROGRAM = """
#include <anycuda/cudart.h>

int main(void)
{
    void *memory = 0;
    char host[64] = {0};
    cudaStream_t stream;
    if (cudaMalloc(&memory, sizeof host) || cudaStreamCreate(&stream) ||
        cudaMemcpyAsync(memory, host, sizeof host, cudaMemcpyHostToDevice, stream) || cudaStreamSynchronize(stream))
        return 1;
    return (int)cudaFree(memory);
}
"""


@pytest.fixture(scope="module")
def bindings() -> list[Bindings]:
    return bind_all(load_libraries())


def link(name: str, folder: Path, text: str, library: Library, drop: str = "-Wl,--gc-sections") -> Path:
    source = folder / "program.c"
    source.write_text(text)
    program = folder / "program"
    command = [*compiler(name, "c11"), *WARNINGS, "-O2", source, "-o", program, *library.link]
    works([*command, drop, f"-Wl,-Map={folder / 'map'}"])
    return program


@pytest.mark.parametrize("name", COMPILERS)
def test_no_other_function_is_named(name: str, library: Library, bindings: list[Bindings], tmp_path: Path) -> None:
    program = link(name, tmp_path, PROGRAM, library)
    found = set(re.findall(rb"[A-Za-z_]\w+", program.read_bytes()))
    symbols = works(["nm", program])
    found |= {word.encode() for word in re.findall(r"\w+", symbols)}
    # acu_slot_cudaMalloc, name_cudaMalloc …
    found |= {piece for word in found for piece in re.findall(rb"(?:cu|nvrtc)[A-Za-z]\w*", word)}

    allowed = set(FIVE)
    names = set()
    for one in bindings:
        # What the loader judges a library by: a few symbols, which every program has that loads one.
        allowed |= {*one.sentinels, *(symbol for _, symbol in one.markers), one.info["version_symbol"]}
        for slot in one.slots:
            symbols_of_slot = {era.symbol for era in (*slot.eras, *slot.eras_ptds) if era.symbol}
            names |= {slot.name, *symbols_of_slot}
            if slot.name in FIVE:
                allowed |= symbols_of_slot
    others = {word.decode() for word in found} & names - allowed
    assert others == set()
    assert len(names) > 1000 and {word.decode() for word in found} >= set(FIVE)  # the search finds what is there


BUFFERS = """
#include <anycuda/anycuda.h>

int main(void)
{
    acu_stream *stream = 0;
    acu_buffer *buffer = 0;
    if (acu_stream_create(0, 0, &stream) || acu_buffer_create(stream, ACU_F32, 4, &buffer))
        return 1;
    return acu_buffer_release(buffer) || acu_stream_release(stream);
}
"""
CACHING = "acu_caching_way"  # what the caching allocator is reached through


def test_a_program_without_allocators_carries_none(library: Library, tmp_path: Path) -> None:
    """Buffers know allocators by tables; virtual memory, and the driver's calls for it, come with the caching one."""
    without = works(["nm", link("gcc", tmp_path, BUFFERS, library)])
    assert CACHING not in without and "acu_slot_cuMemMap" not in without
    named = BUFFERS.replace("int main(void)\n{", "int main(void)\n{\n    (void)!acu_allocator_create(0, 0, 0);")
    with_it = works(["nm", link("gcc", tmp_path, named, library)])
    assert CACHING in with_it and "acu_slot_cuMemMap" in with_it


def sizes(program: Path) -> int:
    """Code, constants and data: what `size` calls text and data and bss."""
    return int(works(["size", program]).splitlines()[1].split()[3])


# In a linker's map: section, address (0 if it was dropped), size, member of the library.
PIECE = re.compile(r"^ \.([a-z_]+)\S*\s+(0x\w+)\s+(0x\w+) \S*libanycuda\.a\((\S+?)\.c\.o\)$", re.MULTILINE)


def contributions(file: Path) -> Counter[str]:
    """Bytes of each object of ours, by kind of section."""
    found: Counter[str] = Counter()
    for section, address, size, member in PIECE.findall(file.read_text()):
        if int(address, 16) != 0 and section != "comment":
            found[f"{member} {section}"] += int(size, 16)
    return found


@pytest.mark.parametrize("name", COMPILERS)
def test_five_calls_are_cheap(name: str, library: Library, tmp_path: Path) -> None:
    for folder in ("empty", "five"):
        (tmp_path / folder).mkdir()
    empty = link(name, tmp_path / "empty", "int main(void)\n{\n    return 0;\n}\n", library)
    five = link(name, tmp_path / "five", PROGRAM, library)
    growth = sizes(five) - sizes(empty)
    print(f"{name}: five calls add {growth} bytes")
    for where, size in contributions(tmp_path / "five" / "map").most_common(20):
        print(f"{size:8} {where}")
    assert growth <= BAR


def test_whole_objects_are_those_of_one_api(library: Library, tmp_path: Path) -> None:
    """What a program pays that is linked without --gc-sections, as README.md says."""
    size = sizes(link("gcc", tmp_path, PROGRAM, library, "-Wl,--no-gc-sections"))
    print(f"without --gc-sections: {size} bytes")
    assert size <= 600 * 1024
    taken = set(re.findall(r"libanycuda\.a\((\w+)\.c\.o\)", (tmp_path / "map").read_text()))
    assert {"cudart", "cudart_abi", "cuda_result"} <= taken
    assert not taken & {"cuda", "cuda_abi", "nvrtc", "nvrtc_abi", "buffer", "stream"}


def test_the_whole_library_is_small(library: Library) -> None:
    """NVML, WebGPU, the runtime interface with its other back ends, profiling, and linking have their own bars."""
    found = {"cuda": 0, "nvml": 0, "webgpu": 0, "runtime": 0, "profiling": 0, "code": 0}
    profiling = {"audience", "json", "nvtx", "profile", "trace_device", "trace_file", "trace_to"}
    code = r"code(?!_api|_driver|_runtime)|digest|(library_)?nvjitlink|tensor_map"
    runtime = {path.stem for path in (ROOT / "src/runtime").rglob("*.c")} - {"cuda"}  # generated/src/ has a cuda.c, too
    for line in works(["size", library.archive]).splitlines()[1:]:
        text, data, *_, member = line.split()[:6]
        part = "webgpu" if re.match(r"(library_)?(web)?gpu", member) else "cuda"
        part = "nvml" if re.match(r"(library_)?nvml", member) else part
        part = "code" if re.match(code, member) else part
        if part == "cuda":
            name = member.split(".")[0]
            part = "runtime" if name in runtime else "profiling" if name in profiling else part
        found[part] += int(text) + int(data)
    print(f"bytes of code, constants and data: {found}")
    assert found["cuda"] <= 1344 * 1024
    assert 0 < found["code"] <= 96 * 1024
    assert 0 < found["nvml"] <= 320 * 1024
    assert 0 < found["webgpu"] <= 192 * 1024
    assert 0 < found["runtime"] <= 192 * 1024
    assert 0 < found["profiling"] <= 24 * 1024


def test_a_program_without_webgpu_has_nothing_of_it(library: Library, tmp_path: Path) -> None:
    """The loader knows it and NVML weakly: no name of a function or file of theirs is in the program."""
    program = link("gcc", tmp_path, PROGRAM, library)
    assert not re.findall(rb"wgpu\w*|nvml[A-Z]\w*|libnvidia-ml\.so", program.read_bytes())
    symbols = [line.split()[-2:] for line in works(["nm", program]).splitlines() if re.search("gpu|nvml", line)]
    assert [symbol for symbol in symbols if symbol not in (["w", "acu_webgpu"], ["w", "acu_nvml"])] == []
    named = PROGRAM.replace("int main(void)\n{", "int main(void)\n{\n    (void)wgpuGetVersion();")
    with_it = link("gcc", tmp_path, "#include <anycuda/webgpu.h>\n" + named, library)
    assert b"libwgpu_native.so" in with_it.read_bytes()
    assert b"wgpuDeviceCreateRenderPipeline" not in with_it.read_bytes()


ON_THE_CPU = """
#include <anycuda/runtime.h>

static void nothing(const acu_part *part, void *const *args)
{
    (void)part;
    (void)args;
}

int main(void)
{
    acu_client *client = 0;
    acu_block *block = 0;
    acu_program *program = 0;
    acu_place place = acu_place_cpu();
    const acu_program_source source = {.name = "nothing", .cpu = nothing};
    if (acu_client_get_default(place, &client) || acu_block_create(client, 1, &block) ||
        acu_program_create(&source, &program) || acu_run(client, program, acu_items(1), block))
        return 1;
    return acu_block_release(block) || acu_program_release(program) || acu_client_release(client);
}
"""
RUNTIME = re.compile(r"\bacu_(?:client|block|mark|program|replay|runtime|place|cpu|work|backend)_\w+")
SAFE = re.compile(r"\bacu_(?:stream|buffer|event|module|kernel|storage|capture)_\w+")
WEBGPU = re.compile(r"\b(?:acu_gpu_|acu_webgpu_|acu_slot_wgpu)\w+")


def test_a_program_without_the_runtime_interface_has_nothing_of_it(library: Library, tmp_path: Path) -> None:
    symbols = works(["nm", link("gcc", tmp_path, BUFFERS, library)])
    assert SAFE.search(symbols) and not RUNTIME.findall(symbols)


@pytest.mark.parametrize("place", ["cpu()", "cuda(0)", "webgpu(0)"])
def test_a_program_has_the_runtimes_that_it_names(place: str, library: Library, tmp_path: Path) -> None:
    text = ON_THE_CPU.replace("acu_place_cpu()", f"acu_place_{place}")
    symbols = works(["nm", link("gcc", tmp_path, text, library)])
    assert RUNTIME.search(symbols)
    assert ("acu_cuda_backend" in symbols) == ("cuda" in place) == (SAFE.search(symbols) is not None)
    assert ("acu_webgpu_backend" in symbols) == ("webgpu" in place) == (WEBGPU.search(symbols) is not None)


def test_nothing_is_missing_in_the_whole_library(library: Library, tmp_path: Path) -> None:
    """Each object of the library is linked, so that each name in it is defined somewhere, also those of the tables."""
    source = tmp_path / "program.c"
    source.write_text("int main(void)\n{\n    return 0;\n}\n")
    whole = ["-Wl,--whole-archive", library.archive, "-Wl,--no-whole-archive", "-pthread", "-ldl"]
    works([*compiler("gcc", "c11"), source, "-o", tmp_path / "program", *whole])
