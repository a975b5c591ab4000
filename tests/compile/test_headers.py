"""The public headers under every dialect, alone and beside NVIDIA's, and what they promise of addresses and gates."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from pathlib import Path

import pytest

from generator.errors import GeneratorError
from generator.fetch import Toolkits
from generator.model import number as cudas_number
from tests.compile.names import nvidias
from tests.compile.toolchain import (
    C_WARNINGS,
    COMPAT,
    COMPILERS,
    DIALECTS,
    INCLUDE,
    PROGRAMS,
    WARNINGS,
    Library,
    build_library,
    compiler,
    fails,
    language,
    run,
    works,
)

ALL_DIALECTS = [dialect for dialects in DIALECTS.values() for dialect in dialects]
OURS = sorted(str(file.relative_to(folder)) for folder in INCLUDE for file in folder.glob("anycuda/*.h"))
NVIDIAS = sorted(str(file.relative_to(COMPAT)) for file in COMPAT.rglob("*.h"))
every_compiler = pytest.mark.parametrize("name", COMPILERS)


def source(folder: Path, text: str, dialect: str = "c11", name: str = "unit") -> Path:
    file = folder / f"{name}.{'cpp' if language(dialect) == 'c++' else 'c'}"
    file.write_text(text)
    return file


def includes(*headers: str) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


# ---- each header by itself


@every_compiler
@pytest.mark.parametrize("dialect", [dialects[0] for dialects in DIALECTS.values()])
def test_each_header_alone(name: str, dialect: str, tmp_path: Path) -> None:
    """What a header needs it includes; in newer dialects a header needs the same."""
    command = [*compiler(name, dialect), *WARNINGS, *(C_WARNINGS if language(dialect) == "c" else ())]
    units = [
        source(tmp_path, includes(header) + "extern int some_declaration;\n", dialect, f"unit{number}")
        for number, header in enumerate((*OURS, *NVIDIAS))
    ]
    works([*command, f"-I{COMPAT}", "-fsyntax-only", *units])


@every_compiler
@pytest.mark.parametrize("dialect", ALL_DIALECTS)
def test_all_headers_together(name: str, dialect: str, tmp_path: Path) -> None:
    ends = dialect in (dialects[end] for dialects in DIALECTS.values() for end in (0, -1))
    command = [*compiler(name, dialect), *WARNINGS, *(C_WARNINGS if language(dialect) == "c" else ())]
    for headers in (OURS, NVIDIAS, *((OURS[::-1], NVIDIAS[::-1]) if ends else ())):
        unit = source(tmp_path, includes(*headers) + "extern int some_declaration;\n", dialect)
        works([*command, f"-I{COMPAT}", "-fsyntax-only", unit])


@every_compiler
@pytest.mark.parametrize("dialect", ALL_DIALECTS)
def test_beside_dlpacks_header(name: str, dialect: str, tmp_path: Path) -> None:
    """Before and after a header that declares DLPack's structs by their own names."""
    stand_in = Path(__file__).resolve().parents[1] / "dlpack_abi.h"
    ours, theirs = "#include <anycuda/dlpack.h>\n", f'#include "{stand_in}"\n'
    use = "acu_result use(acu_buffer *b, DLManagedTensorVersioned **t);\nacu_result use(acu_buffer *b, "
    use += "DLManagedTensorVersioned **t) { return acu_buffer_export_dlpack(b, 0, 0, t); }\n"
    command = [*compiler(name, dialect), *WARNINGS, "-fsyntax-only"]
    for number, text in enumerate((ours + theirs + use, theirs + ours + use)):
        works([*command, source(tmp_path, text, dialect, f"unit{number}")])


@every_compiler
@pytest.mark.parametrize("dialect", ["c11", "c++17"])
def test_this_machines_cuda_is_not_found(name: str, dialect: str, tmp_path: Path) -> None:
    for header in ("cuda.h", "cuda_runtime.h"):
        assert len(fails([*compiler(name, dialect), "-fsyntax-only", source(tmp_path, includes(header), dialect)])) <= 1


# ---- programs written for NVIDIA's headers


@every_compiler
@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.c*")), ids=lambda file: file.name)
def test_programs_for_cuda_compile_unchanged(name: str, program: Path, library: Library, tmp_path: Path) -> None:
    dialects = DIALECTS["c" if program.suffix == ".c" else "c++"]
    for dialect, extra in ((dialects[0], []), (dialects[-1], ["-O2", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"])):
        command = [*compiler(name, dialect), *WARNINGS, *extra, f"-I{COMPAT}", program]
        works([*command, "-o", tmp_path / "program", *library.link])
        # Where there is no CUDA, each says so and is content.
        works([tmp_path / "program"], env={"ANYCUDA_CUDART": str(tmp_path / "missing")})


CONSUMER = """
cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES C)
find_package(anycuda REQUIRED)
add_executable(consumer PROGRAM)
target_link_libraries(consumer PRIVATE anycuda::compat)
"""


def test_cmake_finds_the_headers_that_answer_to_nvidias_names(library: Library, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER.replace("PROGRAM", str(PROGRAMS / "streams.c")))
    works(["cmake", "--install", library.archive.parent, "--prefix", tmp_path / "prefix"])
    works(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"])
    works(["cmake", "--build", tmp_path / "build"])


# ---- macros of the safe layer

CLEANED = """
#include <anycuda/anycuda.h>
acu_result use(acu_buffer *buffer, acu_stream **kept);
acu_result use(acu_buffer *buffer, acu_stream **kept) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *SECOND = {NULL};
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    *kept = stream;
    stream = NULL;
    (void)second;
    return acu_buffer_write(buffer, ((const float[]){1, 2, 3}), 3);
}
"""


@every_compiler
def test_variables_that_release_themselves_are_no_arrays(name: str, tmp_path: Path) -> None:
    command = [*compiler(name, "c11"), *WARNINGS, "-fsyntax-only"]
    works([*command, source(tmp_path, CLEANED.replace("SECOND", "second"))])
    lenient = [*compiler(name, "c11"), "-fsyntax-only"]  # nothing but the macro makes this an error
    errors = fails([*lenient, source(tmp_path, CLEANED.replace("SECOND", "second[2]"))])
    assert any("acu_buffer_cleanup" in error for error in errors)


# ---- one wrapper, one address


@every_compiler
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_wrapper_has_one_address(name: str, level: str, library: Library, tmp_path: Path) -> None:
    first = """
        #include <anycuda/cudart.h>
        typedef cudaError_t function(void **, size_t);
        ACU_BEGIN_C function *address_here(void); function *address_there(void); ACU_END_C
    """
    here = first + "function *address_here(void) { return cudaMalloc; }\n"
    there = first + "function *address_there(void) { return cudaMalloc; }\n"
    main = first + "int main(void) { return address_here() != address_there() || address_here() != cudaMalloc; }\n"
    for dialects in (("c11", "c11", "c11"), ("c++17", "c++17", "c++17"), ("c11", "c++17", "c11")):
        objects = []
        for number, (dialect, text) in enumerate(zip(dialects, (here, there, main), strict=True)):
            unit = source(tmp_path, text, dialect, f"unit{number}")
            works([*compiler(name, dialect), *WARNINGS, level, "-c", unit, "-o", unit.with_suffix(".o")])
            objects.append(unit.with_suffix(".o"))
        works([compiler(name, "c11")[0], *objects, "-o", tmp_path / "program", *library.link])
        works([tmp_path / "program"])


RESOLVER = """
#include <anycuda/cudart.h>
#include <stdio.h>
#include <string.h>

static char called[64];
static int plain(void) { strcpy(called, "cudaMemcpy"); return 0; }
static int per_thread(void) { strcpy(called, "cudaMemcpy_ptds"); return 0; }
static int version(int *answer) { *answer = 12040; return 0; }
static int nothing(void) { return 0; }

static void *resolve(const char *symbol, void *data)
{
    (void)data;
    if (strcmp(symbol, "cudaMemcpy") == 0)
        return (void *)plain;
    if (strcmp(symbol, "cudaMemcpy_ptds") == 0)
        return (void *)per_thread;
    if (strcmp(symbol, "cudaRuntimeGetVersion") == 0)
        return (void *)version;
    return (void *)nothing;
}
"""


@every_compiler
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_files_may_differ_in_their_default_stream(name: str, level: str, library: Library, tmp_path: Path) -> None:
    there = """
        #define CUDA_API_PER_THREAD_DEFAULT_STREAM
        #include <anycuda/cudart.h>
        void copy_there(void);
        void *copy_address(void);
        void *allocate_address(void);
        void copy_there(void) { (void)cudaMemcpy(0, 0, 0, cudaMemcpyDefault); }
        void *copy_address(void) { return (void *)cudaMemcpy; }
        void *allocate_address(void) { return (void *)cudaMalloc; }
    """
    main = (
        RESOLVER
        + """
        void copy_there(void);
        void *copy_address(void);
        void *allocate_address(void);
        int main(void)
        {
            acu_load_options options = {.resolve = resolve, .version = 12040};
            if (acu_load(&options) != 0)
                return puts(acu_last_error_message());
            (void)cudaMemcpy(0, 0, 0, cudaMemcpyDefault);
            puts(called);
            copy_there();
            puts(called);
            return (void *)cudaMemcpy == copy_address() || (void *)cudaMalloc != allocate_address();
        }
    """
    )
    units = [source(tmp_path, there, name="there"), source(tmp_path, main, name="main")]
    works([*compiler(name, "gnu11"), level, *units, "-o", tmp_path / "program", *library.link])
    assert works([tmp_path / "program"]).split() == ["cudaMemcpy", "cudaMemcpy_ptds"]


# ---- beside NVIDIA's own headers


@pytest.fixture(scope="module")
def toolkits() -> Toolkits:
    found = Toolkits.load()
    if not found.newest.unit.folder("include").exists():
        pytest.skip("the toolkits were not fetched: make toolkits")
    return found


def nvidia(toolkits: Toolkits, version: str) -> list[str]:
    try:
        return [f"-I{folder}" for folder in toolkits[version].include_dirs()]
    except GeneratorError as problem:
        pytest.skip(str(problem))


VERSIONS = [toolkit.version for toolkit in Toolkits.load()]
RUNTIME = ["cuda_runtime_api.h", "cuda_runtime.h", "driver_types.h", "vector_types.h", "vector_functions.h",
           "texture_types.h", "surface_types.h", "device_types.h", "library_types.h", "channel_descriptor.h",
           "driver_functions.h", "builtin_types.h", "cuda_profiler_api.h", "cuda_device_runtime_api.h"]  # fmt: skip
INTEROP = ["cuda_gl_interop.h", "cuda_vdpau_interop.h"]
# What each of 17 toolkits is tried with: both languages and both compilers, but not all four pairs of them.
EITHER = {"gcc": "c++17", "clang": "c11"}


@pytest.mark.parametrize("version", VERSIONS)
def test_nvidias_headers_after_ours_are_empty(version: str, toolkits: Toolkits, tmp_path: Path) -> None:
    theirs = nvidia(toolkits, version)
    cases = [
        ("anycuda/cudart.h", RUNTIME),
        ("anycuda/cudart_interop.h", [*RUNTIME, *INTEROP]),
        ("anycuda/cuda.h", ["cuda.h"]),
    ]
    for dialect, (ours, later) in itertools.product(("c11", "c++17"), cases):
        command = [*compiler("gcc", dialect), *theirs, "-E", "-P"]
        alone = works([*command, source(tmp_path, includes(ours), dialect, "alone")])
        assert works([*command, source(tmp_path, includes(ours, *later), dialect, "both")]) == alone


REFUSALS = [
    *((header, "cuda_runtime_api.h") for header in OURS if header.startswith(("anycuda/cudart", "anycuda/vector"))),
    *((f"anycuda/{header}", "cuda_runtime.h") for header in ("cudart.h", "cuda_runtime.h", "driver_functions.h")),
    ("anycuda/channel_descriptor.h", "vector_types.h"),
    ("anycuda/cuda.h", "cuda.h"),
    ("anycuda/cuda_table.h", "cuda.h"),
]


@every_compiler
@pytest.mark.parametrize("version", VERSIONS)
def test_nvidias_headers_before_ours_are_one_error(name: str, version: str, toolkits: Toolkits, tmp_path: Path) -> None:
    dialect = EITHER[name]
    command = [*compiler(name, dialect), *nvidia(toolkits, version), "-fsyntax-only", "-w"]
    for ours, theirs in REFUSALS:
        if ours == "anycuda/cudart_types.h":
            continue  # the types alone, for those who bring the rest
        errors = fails([*command, source(tmp_path, includes(theirs, ours), dialect)])
        assert len(errors) == 1, "\n".join(errors)
        assert "must be included before NVIDIA's own headers" in errors[0]


@every_compiler
@pytest.mark.parametrize("version", VERSIONS)
def test_one_of_each(name: str, version: str, toolkits: Toolkits, tmp_path: Path) -> None:
    """Our runtime beside NVIDIA's driver API, and the other way round."""
    dialect = EITHER[name]
    command = [*compiler(name, dialect), *nvidia(toolkits, version), "-fsyntax-only", "-Wall", "-Werror"]
    for pair in (
        ("anycuda/cudart.h", "cuda.h"),
        ("cuda.h", "anycuda/cudart.h"),
        ("cuda_runtime.h", "anycuda/cuda.h"),
    ):
        works([*command, source(tmp_path, includes(*pair), dialect)])


BESIDE = """
int raw(acu_stream *stream, acu_event *event, acu_pool *pool);
int raw(acu_stream *stream, acu_event *event, acu_pool *pool)
{
    cudaStream_t s = acu_stream_raw(stream);
    cudaEvent_t e = acu_event_raw(event);
    cudaMemPool_t p = acu_pool_raw(pool);
    if (acu_stream_wrap(0, s, &stream) || acu_event_wrap(0, e, &event) || acu_pool_wrap(0, p, &pool))
        return (int)cudaErrorInvalidValue;
    return (int)cudaSuccess;
}
"""


@every_compiler
@pytest.mark.parametrize("version", VERSIONS)
def test_the_safe_layer_beside_nvidias_headers(name: str, version: str, toolkits: Toolkits, tmp_path: Path) -> None:
    """In any order; its raw handles are NVIDIA's types without a cast."""
    dialect = EITHER[name]
    command = [*compiler(name, dialect), *nvidia(toolkits, version), "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    for headers in (("anycuda/anycuda.h", "cuda_runtime_api.h"), ("cuda_runtime_api.h", "anycuda/anycuda.h")):
        works([*command, source(tmp_path, includes(*headers) + BESIDE, dialect)])


def test_the_safe_layer_in_a_cu_file(tmp_path: Path) -> None:
    """The kernel is nvcc's, the rest is the safe layer's."""
    nvcc = shutil.which("nvcc", path=f"{os.environ.get('PATH', '')}:/usr/local/cuda/bin")
    if nvcc is None:
        pytest.skip("there is no nvcc here")
    program = tmp_path / "kernel.cu"
    program.write_text("""#include <anycuda/anycuda.h>

__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}

acu_result twice(acu_stream *stream, acu_buffer *x) {
    ACU_AUTO(acu_kernel) *kernel = nullptr;
    ACU_TRY(acu_kernel_wrap(0, (const void *)scale, &kernel));
    return acu_launch(stream, kernel, acu_grid_1d(4, 32), acu_inout(x), 2.0f, 4);
}
""")
    for dialect in ("c++11", "c++17"):
        folders = [f"-I{folder}" for folder in INCLUDE]
        works(
            [
                nvcc,
                f"-std={dialect}",
                *folders,
                "-Xcompiler",
                "-Wall,-Wextra",
                "-c",
                program,
                "-o",
                tmp_path / "kernel.o",
            ]
        )


# ---- compile-time gates

SINCE = re.compile(r"ACU_(?:FIELD_)?SINCE_(\d+)_(\d+)")


def gated(name: str) -> dict[str, int]:
    """Functions or enumerators with a gate, one of each version."""
    text = (INCLUDE[1] / "anycuda" / name).read_text()
    pattern = (
        r"^    (cuda\w+) (ACU_SINCE_\d+_\d+) ="
        if name == "cudart_types.h"
        else r"\b(cuda\w+)\([^;]*\)\s+(ACU_SINCE_\d+_\d+);"
    )
    found: dict[int, str] = {}
    for match in re.finditer(pattern, text, re.M):
        major, minor = map(int, SINCE.match(match[2]).groups())  # type: ignore[union-attr]
        found.setdefault(major * 1000 + minor * 10, match[1])
    return {value: version for version, value in sorted(found.items())}


FIELDS = {
    "cudaFuncAttributes": {"maxThreadsPerBlock": 0, "clusterDimMustBeSet": 12000, "deviceNodeUpdateStatus": 13030},
    "cudaDeviceProp": {"multiProcessorCount": 0, "accessPolicyMaxWindowSize": 0},
}
MAXIMA = [cudas_number(VERSIONS[0]), 12020, 12080, 13000, cudas_number(VERSIONS[-1])]


def uses(limit: int, newer: bool) -> tuple[str, list[int]]:
    """A program with one use of each function, enumerator and field that is newer than the limit, or is not."""
    lines, versions = [], []
    for function, since in {"cudaMalloc": 0, **gated("cudart.h")}.items():
        if (since > limit) == newer:
            # By address: a call would need arguments; and what is inlined is called below.
            lines.append(f"extern void *use_{function}; void *use_{function} = (void *)&{function};")
            versions.append(since)
    for enumerator, since in {"cudaSuccess": 0, **gated("cudart_types.h")}.items():
        if (since > limit) == newer:
            lines.append(f"extern int use_{enumerator}; int use_{enumerator} = (int){enumerator};")
            versions.append(since)
    for record, fields in FIELDS.items():
        for member, since in fields.items():
            if (since > limit) == newer:
                head = f"const void *use_{record}_{member}(const struct {record} *it)"
                lines.append(f"{head}; {head} {{ return &it->{member}; }}")
                versions.append(since)
    return "#include <anycuda/cudart.h>\n" + "\n".join(lines) + "\n", versions


@every_compiler
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("limit", MAXIMA)
def test_what_is_newer_than_the_gate_fails(name: str, level: str, limit: int, tmp_path: Path) -> None:
    for dialect in ("c11", "c++17"):
        if name == "gcc" and int(works(["gcc", "-dumpversion"]).split(".")[0]) < 12:
            pytest.skip("gcc knows no unavailable attribute before 12")
        # clang only warns of a field in C++; see anycuda/since.h.
        gate = ["-Werror=deprecated-declarations", f"-DACU_CUDA_MAX={limit}"]
        gate += ["-ferror-limit=0"] if name == "clang" else []
        command = [*compiler(name, dialect), *gate, level, "-c", "-o", tmp_path / "unit.o"]
        older, _ = uses(limit, newer=False)
        works([*command, source(tmp_path, older, dialect)])
        newer, versions = uses(limit, newer=True)
        if not versions:
            continue
        # One line per use; g++ says some of them twice.
        errors = {int(line.split(":")[1]): line for line in fails([*command, source(tmp_path, newer, dialect)])}
        assert len(errors) == len(versions)
        for line, version in enumerate(versions, 2):
            expected = f"needs CUDA {version // 1000}.{version % 1000 // 10}, which is newer than ACU_CUDA_MAX"
            assert expected in errors[line]


@every_compiler
@pytest.mark.parametrize("dialect", ["c11", "c++11"])
def test_handles_are_no_arguments_of_kernels(name: str, dialect: str, tmp_path: Path) -> None:
    def unit(type: str) -> Path:
        text = (
            f"acu_result f(acu_stream *s, acu_kernel *k, {type} x) {{ return acu_launch(s, k, acu_grid_1d(1, 1), x); }}"
        )
        return source(tmp_path, f"#include <anycuda/anycuda.h>\n{text}\n", dialect)

    command = [*compiler(name, dialect), "-fsyntax-only"]
    for good in ("acu_buffer *", "const acu_buffer *", "float *", "const volatile void *", "acu_arg", "long", "bool"):
        works([*command, unit(good)])
    handles = [f"acu_{noun} *" for noun in ("stream", "event", "pool", "module", "kernel", "args", "graph", "exec")]
    for bad in (*handles, *(f"const {handle}" for handle in handles), "acu_buffer **"):
        errors = fails([*command, unit(bad)])
        assert any(re.search("acu_arg_refused|acu_no_handle|deleted", error) for error in errors), (bad, errors)


@every_compiler
@pytest.mark.parametrize("dialect", ["c11", "c++11"])
def test_of_all_handles_those_that_fit_are_arguments(name: str, dialect: str, tmp_path: Path) -> None:
    """Any other one would pass as a raw pointer, an address of the host."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((INCLUDE[0] / "anycuda").glob("*.h"))]
    nouns = {noun for text in texts for noun in re.findall(r"^typedef struct (acu_\w+) \1;", text, re.M)}
    fitting = {f"acu_{noun}" for noun in ("buffer", "texture", "surface", "tensor_map", "block")}
    others = sorted(noun for noun in nouns - fitting if not noun.startswith("acu_backend_"))
    assert fitting < nouns and len(others) > 25
    lines = [f"acu_arg f{i}(struct {noun} *x) {{ return acu_arg_of(x); }}" for i, noun in enumerate(others)]
    command = [*compiler(name, dialect), "-fsyntax-only", *(["-ferror-limit=0"] if name == "clang" else [])]
    unit = source(tmp_path, "\n".join(["#include <anycuda/anycuda.h>", *lines]), dialect)
    refused = {int(error.split(":")[1]) for error in fails([*command, unit]) if error.startswith(str(unit))}
    assert [noun for i, noun in enumerate(others) if i + 2 not in refused] == []


@every_compiler
def test_a_launch_has_at_most_32_arguments(name: str, tmp_path: Path) -> None:
    def unit(count: int) -> Path:
        call = f"acu_launch(s, k, acu_grid_1d(1, 1), {', '.join(map(str, range(1, count + 1)))})"
        text = f"acu_result f(acu_stream *s, acu_kernel *k) {{ return {call}; }}"
        return source(tmp_path, f"#include <anycuda/anycuda.h>\n{text}\n", "c11")

    command = [*compiler(name, "c11"), "-fsyntax-only"]
    works([*command, unit(32)])
    for count in (33, 34, 64, 94):
        assert any("MORE_THAN_32" in error for error in fails([*command, unit(count)])), count


@every_compiler
def test_a_call_that_is_inlined_fails_too(name: str, tmp_path: Path) -> None:
    text = (
        "#include <anycuda/cudart.h>\nint main(void) { return (int)cudaGetDriverEntryPointByVersion(0, 0, 0, 0, 0); }\n"
    )
    for dialect, level in itertools.product(("c11", "c++17"), ("-O0", "-O2")):
        command = [*compiler(name, dialect), level, "-c", source(tmp_path, text, dialect), "-o", tmp_path / "unit.o"]
        works([*command, "-DACU_CUDA_MAX=12050"])
        assert any("needs CUDA 12.5" in error for error in fails([*command, "-DACU_CUDA_MAX=12040"]))


CASTS = ("-Wold-style-cast", "-Wuseless-cast", "-Wzero-as-null-pointer-constant")
OF_LATER_CLANGS = ("-Wno-unknown-warning-option", "-Wno-unsafe-buffer-usage")
MORE_WARNINGS = {
    ("gcc", "c11"): ("-Wcast-qual", "-Wsign-conversion", "-Wredundant-decls"),
    ("gcc", "c++17"): (*CASTS, "-Wcast-qual", "-Wsign-conversion", "-Wredundant-decls", "-Wextra-semi"),
    # What is allowed here would be: not to be C89, not to be C++98.
    ("clang", "c11"): ("-Weverything", *OF_LATER_CLANGS, "-Wno-declaration-after-statement"),
    ("clang", "c++17"): ("-Weverything", *OF_LATER_CLANGS, "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic"),
}


@pytest.mark.parametrize(("name", "dialect"), MORE_WARNINGS)
def test_headers_without_a_warning_of_any_kind(name: str, dialect: str, tmp_path: Path) -> None:
    """As a user's -I leads to them; and what macros become in the user's own code."""
    text = "".join(f"#include <{header}>\n" for header in OURS)
    text += "acu_dtype row(void);\nacu_dtype row(void) { return ACU_BYTES(sizeof(long)); }\n"
    works(
        [
            *compiler(name, dialect),
            *WARNINGS,
            *MORE_WARNINGS[name, dialect],
            "-fsyntax-only",
            source(tmp_path, text, dialect),
        ]
    )


@every_compiler
def test_a_gate_behind_the_first_include_is_an_error(name: str, tmp_path: Path) -> None:
    late = "#include <anycuda/cudart.h>\n#define ACU_CUDA_MAX 12020\n#include <anycuda/cuda.h>\n"
    early = "#define ACU_CUDA_MAX 12020\n#include <anycuda/nvrtc.h>\n#ifndef ACU_CUDA_MAX\n#error\n#endif\n"
    for dialect in ("c11", "c++17"):
        command = [*compiler(name, dialect), "-fsyntax-only"]
        works([*command, source(tmp_path, early, dialect)])
        errors = fails([*command, source(tmp_path, late, dialect)])
        assert any("poisoned" in error and ":2:" in error for error in errors), errors


@every_compiler
@pytest.mark.parametrize("dialect", DIALECTS["c++"])
def test_a_gate_lets_whole_records_be_cleared_and_copied(name: str, dialect: str, tmp_path: Path) -> None:
    text = """
        #include <cuda_runtime.h>
        struct holder { cudaFuncAttributes attributes; holder() : attributes() {} };
        holder copy(const holder &it);
        holder copy(const holder &it) { return it; }
        cudaDeviceProp clear();
        cudaDeviceProp clear() { cudaDeviceProp it = {}; cudaDeviceProp other = it; return other; }
    """
    command = [*compiler(name, dialect), *WARNINGS, f"-I{COMPAT}", "-DACU_CUDA_MAX=11070", "-fsyntax-only"]
    works([*command, source(tmp_path, text, dialect)])


@every_compiler
def test_an_overload_fails_where_it_is_used(name: str, tmp_path: Path) -> None:
    text = """
        #include <cuda_runtime.h>
        void kernel(int);
        cudaError_t launch(const cudaLaunchConfig_t *config);
        cudaError_t launch(const cudaLaunchConfig_t *config) { return cudaLaunchKernelEx(config, kernel, 1); }
    """
    command = [*compiler(name, "c++17"), f"-I{COMPAT}", "-fsyntax-only", source(tmp_path, text, "c++17")]
    works([*command, "-DACU_CUDA_MAX=11080"])
    assert any("needs CUDA 11.8" in error for error in fails([*command, "-DACU_CUDA_MAX=11070"]))


# ---- what programs made for NVIDIA's headers rely on


@every_compiler
def test_the_version_can_be_chosen(name: str, tmp_path: Path) -> None:
    text = """
        #include <cuda.h>
        #include <cuda_runtime.h>
        #if CUDA_VERSION != WANTED || CUDART_VERSION != WANTED || __CUDART_API_VERSION != WANTED
        #error "another version"
        #endif
    """
    command = [*compiler(name, "c11"), f"-I{COMPAT}", "-fsyntax-only", source(tmp_path, text)]
    presented = re.search(r"#define CUDART_VERSION (\d+)", (INCLUDE[1] / "anycuda" / "cudart_types.h").read_text())
    assert presented
    works([*command, f"-DWANTED={presented[1]}"])
    works([*command, "-DWANTED=12080", "-DACU_CUDA_API=12080"])
    assert any("version of a known CUDA" in error for error in fails([*command, "-DWANTED=1", "-DACU_CUDA_API=12070"]))


@every_compiler
def test_names_in_text_are_those_in_the_library(name: str, tmp_path: Path) -> None:
    text = """
        #include <cuda.h>
        #include <string.h>
        #define TEXT_OF(name) #name
        #define TEXT(name) TEXT_OF(name)
        _Static_assert(sizeof(TEXT(cuMemAlloc)) == sizeof("cuMemAlloc_v2"), "");
        _Static_assert(sizeof(TEXT(cuInit)) == sizeof("cuInit"), "");
        #ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
        _Static_assert(sizeof(TEXT(cuMemcpyDtoH)) == sizeof("cuMemcpyDtoH_v2_ptds"), "");
        #else
        _Static_assert(sizeof(TEXT(cuMemcpyDtoH)) == sizeof("cuMemcpyDtoH_v2"), "");
        #endif
        CUresult both(CUdeviceptr *out);
        CUresult both(CUdeviceptr *out) { return cuMemAlloc(out, 1) ? CUDA_SUCCESS : cuMemAlloc_v2(out, 1); }
    """
    command = [*compiler(name, "c11"), f"-I{COMPAT}", "-fsyntax-only", source(tmp_path, text)]
    works(command)
    works([*command, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"])


OWN_NAMES = """
#define CUDA_NO_HALF
#define CUDA_NO_BFLOAT16
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned short half;
struct nv_bfloat16 { unsigned short bits; };
half twice(half value);
half twice(half value) { return static_cast<half>(value + value); }
"""


@every_compiler
@pytest.mark.parametrize("dialect", DIALECTS["c++"])
def test_a_program_may_have_a_half_of_its_own(name: str, dialect: str, tmp_path: Path) -> None:
    works([*compiler(name, dialect), *WARNINGS, f"-I{COMPAT}", "-fsyntax-only", source(tmp_path, OWN_NAMES, dialect)])


TYPE_NAMES = """
#define NVRTC_GET_TYPE_NAME 1
#include <nvrtc.h>
#include <cstdio>
template <class T> struct pair { T one, two; };
template <class T> static void print() {
    std::string name;
    if (nvrtcGetTypeName<T>(&name) == NVRTC_SUCCESS)
        std::puts(name.c_str());
}
int main() {
    print<float>();
    print<const int &>();
    print<pair<pair<char> > >();
}
"""


@every_compiler
@pytest.mark.parametrize("dialect", ["c++11", "c++20"])
def test_names_of_types_for_the_compiler(name: str, dialect: str, library: Library, tmp_path: Path) -> None:
    unit, program = source(tmp_path, TYPE_NAMES, dialect), tmp_path / "program"
    works([*compiler(name, dialect), *WARNINGS, f"-I{COMPAT}", unit, "-o", program, *library.link])
    ours = works([program])
    theirs = [f"-I{folder}" for folder in nvidias()]
    works([compiler(name, dialect)[0], f"-std={dialect}", *theirs, "-w", unit, "-o", program])
    assert ours == works([program]) and "pair<pair<char> >" in ours


# ---- the library in a program


@pytest.mark.long
@every_compiler
def test_link_time_optimisation(name: str, shared_folder: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    flags = ["-flto", "-fuse-ld=lld"] if name == "clang" else ["-flto"]
    link = [*compiler(name, "c11"), "-O2", *flags, source(tmp_path, "int main(void) { return 0; }\n"), "-o", program]
    if run(link).returncode != 0:
        pytest.skip(f"{name} here does not optimise at link time")
    options = [f"-DCMAKE_C_COMPILER={COMPILERS[name][0]}", "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON"]
    built = build_library(shared_folder / f"lto-{name}", *options, target="anycuda")
    works(
        [
            *compiler(name, "c11"),
            "-O2",
            *flags,
            *WARNINGS,
            f"-I{COMPAT}",
            PROGRAMS / "streams.c",
            "-o",
            program,
            *built.link,
        ]
    )
    works([program], env={"ANYCUDA_CUDART": str(tmp_path / "missing")})


PLUGIN = """
#include <cuda_runtime.h>

static int answer;

static int allocate(void **, size_t)
{
    return answer;
}

static int version(int *found)
{
    *found = 12040;
    return 0;
}

static void *resolve(const char *symbol, void *)
{
    for (const char *v = "cudaRuntimeGetVersion", *s = symbol; *v == *s; v++, s++)
        if (!*v)
            return reinterpret_cast<void *>(version);
    return reinterpret_cast<void *>(allocate);
}

extern "C" __attribute__((visibility("default"))) int START(int code)
{
    acu_load_options options = {};
    options.resolve = resolve;
    options.version = 12040;
    answer = code;
    return acu_load(&options);
}

// A template's instance of the same name is in both plugins.
extern "C" __attribute__((visibility("default"))) int CALL()
{
    float *data = nullptr;
    return cudaMalloc(&data, 64);
}
"""

HOST = """
int start_first(int), start_second(int), call_first(void), call_second(void);

int main(void)
{
    if (start_first(11) || start_second(22))
        return 1;
    return call_first() != 11 || call_second() != 22 || call_first() != 11;
}
"""


@every_compiler
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_two_copies_in_one_process(name: str, level: str, library: Library, tmp_path: Path) -> None:
    plugins = []
    for which in ("first", "second"):
        unit = source(
            tmp_path, PLUGIN.replace("START", f"start_{which}").replace("CALL", f"call_{which}"), "c++17", which
        )
        plugin = tmp_path / f"lib{which}.so"
        command = [*compiler(name, "c++17"), *WARNINGS, level, f"-I{COMPAT}", "-fPIC", "-shared", unit]
        works([*command, "-o", plugin, *library.link, "-Wl,-z,defs"])
        exported = works(["nm", "-D", "--defined-only", plugin])
        assert not re.search(r" (acu_|cuda|cu[A-Z]|nvrtc)", exported), exported
        plugins.append(plugin)
    host = source(tmp_path, HOST, name="host")
    works([*compiler(name, "c11"), host, *plugins, f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "host"])
    works([tmp_path / "host"])


def test_the_library_defines_no_name_of_nvidias(library: Library) -> None:
    defined = {
        line.split()[-1]
        for line in works(["nm", "-A", "--defined-only", "--extern-only", library.archive]).splitlines()
    }
    assert {name for name in defined if not name.startswith("acu_")} == set()


@every_compiler
def test_the_table_of_all_functions(name: str, library: Library, tmp_path: Path) -> None:
    folder = PROGRAMS.parent
    units = [folder / "table.c", folder / "table_per_thread.c"]
    works([*compiler(name, "gnu11"), *WARNINGS, *units, "-o", tmp_path / "table", *library.link])
    works([tmp_path / "table"], env={"ANYCUDA_CUDART": str(tmp_path / "missing")})
