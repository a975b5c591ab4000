"""acu-info: what it says and exits with where there is no GPU, on the real libraries, and on the simulator."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from generator.errors import GeneratorError
from generator.facts import version_key
from generator.fetch import Toolkits

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tools" / "acu-info"
TOOLKITS = sorted((file.stem for file in (ROOT / "spec/facts/cudart").glob("*.json")), key=version_key)

GPU, ERROR, USAGE, NO_LIBRARY, NO_DRIVER, NO_DEVICE, SIMULATOR = range(7)


class AcuInfo:
    def __init__(self, program: Path) -> None:
        self.program = program

    def __call__(self, *arguments: str, status: int, **variables: str) -> str:
        """What it prints, with nothing of this machine's settings but `variables`."""
        done = subprocess.run(
            [self.program, *arguments], check=False, capture_output=True, text=True, env={"PATH": "/bin", **variables}
        )
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        assert (done.stderr != "") == (status == USAGE), done.stderr
        return done.stdout

    def json(self, *arguments: str, status: int, **variables: str) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self("--json", *arguments, status=status, **variables))
        schema = json.loads((SOURCES / "acu-info.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(report)
        assert report["exit_status"] == status
        return report


@pytest.fixture(scope="module")
def info(prefix: Path) -> AcuInfo:
    return AcuInfo(prefix / "bin" / "acu-info")


def has_driver() -> bool:
    return any(shutil.which(name) for name in ("nvidia-smi",)) or Path("/dev/nvidiactl").exists()


def test_without_any_cuda(info: AcuInfo) -> None:
    said = info("--library", "/nonexistent/libcudart.so.12", status=NO_LIBRARY)
    assert said.startswith("No GPU can be used: there is no CUDA runtime library.\n")
    assert "/nonexistent/libcudart.so.12: no such file" in " ".join(said.split())
    report = info.json("--library", "/nonexistent/libcudart.so.12", status=NO_LIBRARY)
    assert report["verdict"] == "no-library" and report["devices"] == []
    assert report["hint"].startswith("install a CUDA runtime")
    assert report["libraries"]["cudart"]["version"] is None
    assert not any(one["usable"] for one in report["features"] if "CONDITIONAL" in one["id"])


@pytest.mark.parametrize("version", TOOLKITS)
def test_real_runtimes_without_a_driver(info: AcuInfo, version: str) -> None:
    if has_driver():
        pytest.skip("this machine has a driver")
    try:
        library = Toolkits.load()[version].libcudart()
    except GeneratorError as problem:
        pytest.skip(f"the toolkits are not at hand: {problem}")
    report = info.json("--library", str(library), status=NO_DRIVER)
    runtime = report["libraries"]["cudart"]
    assert (runtime["version"], runtime["path"], runtime["found"]) == (version, str(library), "path")
    assert runtime["search"][-1] == f"path: {library}: taken: CUDA {version}"
    assert report["driver"] is None and report["hint"].startswith("install an NVIDIA driver, or set ANYCUDA_CUDART=sim")
    assert "no NVIDIA driver is installed" in report["reason"]
    assert report["hint"].endswith("ANYCUDA_CUDART=sim: this program has the simulator")
    assert report["reason"].endswith(report["hint"])
    features = {one["id"]: one for one in report["features"]}
    conditional = features["ACU_FEATURE_GRAPH_CONDITIONAL_NODES"]
    old = tuple(map(int, version.split("."))) < (12, 3)
    assert conditional["code"] == (801 if old else 35)
    assert ("needs CUDA 12.3" in conditional["reason"]) == old
    text = info("--library", str(library), status=NO_DRIVER)
    assert "No GPU can be used: there is no NVIDIA driver." in text
    assert re.search(rf"^CUDA runtime  {re.escape(version)} .*libcudart", text, re.MULTILINE)


def test_simulator(info: AcuInfo) -> None:
    report = info.json("--sim", status=SIMULATOR, ANYCUDA_SIM="devices=2,memory=3GiB,cc=8.6")
    assert report["verdict"] == "simulator" and report["libraries"]["cudart"]["simulator"] is True
    assert [one["compute_capability"] for one in report["devices"]] == ["8.6", "8.6"]
    assert [one["memory"] for one in report["devices"]] == [3 << 30, 3 << 30]
    assert len({one["uuid"] for one in report["devices"]}) == 2
    assert all(len(one["devices"]) == 2 for one in report["features"])
    assert report["environment"] == {"ANYCUDA_SIM": "devices=2,memory=3GiB,cc=8.6"}
    said = info(status=SIMULATOR, ANYCUDA_CUDART="sim", ANYCUDA_SIM="devices=2")
    assert said.startswith("No GPU is used: this is the simulator.\n")
    assert "Features of device 1: as device 0" in said
    assert re.search(r"^  yes  stream-ordered allocation, memory pools,", said, re.MULTILINE)
    words = " ".join(said.split())
    absent = "no flushing of GPUDirect RDMA writes the device's cudaDevAttrGPUDirectRDMAFlushWritesOptions is 0"
    assert absent in words
    assert "no texture and surface references removed in CUDA 12.0 (last in 11.8)" in words


def test_webgpu(info: AcuInfo) -> None:
    (version,) = (file.stem for file in (ROOT / "spec/facts/webgpu").glob("*.json"))
    try:
        library = str(Toolkits.load().others["webgpu"].library("libwgpu_native-release.so"))
    except GeneratorError as problem:
        pytest.skip(f"wgpu-native is not at hand: {problem}")
    found = info.json("--sim", status=SIMULATOR, ANYCUDA_WEBGPU=library)["libraries"]["webgpu"]
    assert (found["version"], found["path"], found["found"]) == (version, library, "ANYCUDA_WEBGPU")
    assert found["search"] == [f"ANYCUDA_WEBGPU: {library}: taken: wgpu-native {version}"]
    assert re.search(
        rf"^WebGPU +{re.escape(version)}\n? .*libwgpu", info("--sim", status=SIMULATOR, ANYCUDA_WEBGPU=library), re.M
    )


def test_webgpu_that_is_missing(info: AcuInfo) -> None:
    """It decides nothing: the exit status is CUDA's."""
    missing = "/nonexistent/libwgpu_native.so"
    report = info.json("--sim", status=SIMULATOR, ANYCUDA_WEBGPU=missing)
    found = report["libraries"]["webgpu"]
    assert found["version"] is None and f"ANYCUDA_WEBGPU={missing}: no such file" in found["error"]
    assert report["environment"] == {"ANYCUDA_WEBGPU": missing}
    said = info("--sim", status=SIMULATOR, ANYCUDA_WEBGPU=missing)
    assert re.search("^WebGPU +not found$", said, re.MULTILINE)
    assert f"{missing}: refused: no such file" in " ".join(said.split())


@pytest.fixture(scope="module")
def fake_nvml(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up NVMLs for the simulator's devices: connected in pairs, and by a switch; and a stub."""
    folder = tmp_path_factory.mktemp("nvml")
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler here")
    for name, source, defines in (
        ("pairs", str(ROOT / "tests/tools/fake_nvml.c"), []),
        ("switch", str(ROOT / "tests/tools/fake_nvml.c"), ["-DSWITCHED"]),
        ("broken", str(ROOT / "tests/tools/fake_nvml.c"), ["-DBROKEN"]),
        ("stub", "/dev/null", list[str]()),
    ):
        (folder / name).mkdir()
        output = ["-Wl,-soname,libnvidia-ml.so.1", "-o", str(folder / name / "libnvidia-ml.so.1")]
        command = [compiler, "-shared", "-fPIC", f"-I{prefix / 'include'}", *defines, "-x", "c", source, *output]
        subprocess.run(command, check=True)
    return folder


def test_nvml(info: AcuInfo, fake_nvml: Path) -> None:
    library = str(fake_nvml / "pairs/libnvidia-ml.so.1")
    report = info.json("--sim", status=SIMULATOR, ANYCUDA_NVML=library, ANYCUDA_SIM="devices=5")
    found = report["libraries"]["nvml"]
    assert (found["version"], found["path"], found["found"]) == ("13.5", library, "ANYCUDA_NVML")
    first, second, *_, unknown = [one["monitor"] for one in report["devices"]]
    assert (first["clock_mhz"], second["clock_mhz"], first["memory_clock_mhz"]) == (1980, 1981, 2619)
    assert (first["temperature"], first["milliwatts"], second["milliwatts"]) == (34, 70500, None)
    assert first["busy_percent"] is None  # the library lacks the function
    assert (first["memory_used"], first["pcie_generation"], first["pcie_width"]) == (3 << 30, 5, 16)
    assert first["processes"] == [{"id": 4711, "memory": 2 << 30}, {"id": 4712, "memory": None}]
    assert first["nvlink_mb_per_s"] == 26562
    assert first["nvlinks"] == [
        {"number": 0, "active": True, "to_switch": False, "remote": "00000000:18:00.0"},
        {"number": 1, "active": False, "to_switch": False, "remote": None},
    ]
    assert unknown is None
    said = info("--sim", status=SIMULATOR, ANYCUDA_NVML=library)
    assert "1980 MHz, memory 2619 MHz, 34 degrees C, 70 W\n" in said
    assert "3.0 GiB used, process 4711: 2.0 GiB, process 4712\n" in said
    assert "PCIe 5.0 x16, 1 of 2 NVLinks active with 26.6 GB/s each\n" in said


def test_nvml_that_is_missing(info: AcuInfo, fake_nvml: Path) -> None:
    """It decides nothing, and one line is all that is said."""
    said = info("--sim", status=SIMULATOR)
    assert re.search("^NVML +not asked about simulated devices$", said, re.MULTILINE)
    said = info("--library=/nonexistent", status=NO_LIBRARY, ANYCUDA_NVML="/nonexistent/libnvidia-ml.so.1")
    assert re.search("^NVML +not found: no clocks, temperatures, processes or links$", said, re.MULTILINE)
    assert "Search for libnvml" not in said
    for path, why in (
        ("/nonexistent/libnvidia-ml.so.1", "no such file"),
        (str(fake_nvml / "stub/libnvidia-ml.so.1"), "it is a stub, or too old"),
        ("sim", "the simulator has no NVML"),
    ):
        found = info.json("--sim", status=SIMULATOR, ANYCUDA_NVML=path)["libraries"]["nvml"]
        assert found["version"] is None and why in found["error"]


def test_nvml_that_does_not_work(info: AcuInfo, fake_nvml: Path) -> None:
    library = str(fake_nvml / "broken/libnvidia-ml.so.1")
    report = info.json("--sim", status=SIMULATOR, ANYCUDA_NVML=library)
    assert report["libraries"]["nvml"]["path"] == library
    assert "NVML_ERROR_DRIVER_NOT_LOADED" in report["libraries"]["nvml"]["error"]
    assert [one["monitor"] for one in report["devices"]] == [None]
    said = " ".join(info("--sim", status=SIMULATOR, ANYCUDA_NVML=library).split())
    assert f"{library}: nvmlInit_v2 failed with NVML_ERROR_DRIVER_NOT_LOADED" in said


def test_nvml_by_the_library_path(info: AcuInfo, fake_nvml: Path) -> None:
    path = f"{fake_nvml / 'stub'}:{fake_nvml / 'switch'}"
    report = info.json("--library=/nonexistent", status=NO_LIBRARY, LD_LIBRARY_PATH=path)
    found = report["libraries"]["nvml"]
    assert (found["path"], found["found"]) == (str(fake_nvml / "switch/libnvidia-ml.so.1"), "LD_LIBRARY_PATH")


def test_topology(info: AcuInfo, fake_nvml: Path) -> None:
    def rows(**variables: str) -> list[list[str]]:
        said = info("--sim", "--topology", status=SIMULATOR, **variables)
        assert [line for line in said.splitlines() if len(line) > 80] == []
        blocks = re.findall(r"^from .*\n(?:\d.*\n)+", said, re.MULTILINE)
        return [re.split(r"  +", line.strip()) for block in blocks for line in block.splitlines()]

    assert rows(ANYCUDA_SIM="devices=2") == [["from", "to 0", "to 1"], ["0", "-", "0a"], ["1", "0a", "-"]]
    pairs = str(fake_nvml / "pairs/libnvidia-ml.so.1")
    table = rows(ANYCUDA_SIM="devices=5", ANYCUDA_NVML=pairs)
    assert table[1] == ["0", "-", "NV1 0a", "SYS 0a", "SYS 0a", "0a"]
    assert table[3] == ["2", "SYS 0a", "SYS 0a", "-", "NV1 0a", "0a"]
    switch = str(fake_nvml / "switch/libnvidia-ml.so.1")
    assert rows(ANYCUDA_SIM="devices=3", ANYCUDA_NVML=switch)[1] == ["0", "-", "NV2 0a", "NV2 0a"]
    said = info("--sim", "--topology", status=SIMULATOR, ANYCUDA_NVML=switch, ANYCUDA_SIM="devices=3")
    assert "each has 26.6 GB/s in each direction" in said
    assert len(rows(ANYCUDA_SIM="devices=16")) == 2 * 17
    assert "There is one device" in info("--sim", "--topology", status=SIMULATOR, ANYCUDA_SIM="devices=1")
    assert info("--sim", "--topology", status=NO_DEVICE, ANYCUDA_SIM="devices=0").startswith("No GPU can be used")
    links = info.json("--sim", status=SIMULATOR, ANYCUDA_SIM="devices=3", ANYCUDA_NVML=pairs)["links"]
    assert [(one["from"], one["to"]) for one in links] == [(a, b) for a in range(3) for b in range(3) if a != b]
    assert (links[0]["access"], links[0]["nvlinks"], links[0]["ancestor"]) == (True, 1, 10)


def test_simulated_trouble(info: AcuInfo) -> None:
    assert info.json("--sim", status=NO_DEVICE, ANYCUDA_SIM="devices=0")["verdict"] == "no-device"
    assert info.json("--sim", status=NO_DRIVER, ANYCUDA_SIM="driver=none")["verdict"] == "no-driver"
    old = info.json("--sim", status=NO_DRIVER, ANYCUDA_SIM="driver=11.8,runtime=12.4")
    assert old["driver"] == "11.8"
    failing = info.json("--sim", status=ERROR, ANYCUDA_FAIL="cudaGetDeviceProperties*@*:999")
    assert failing["verdict"] == "error" and "error injected" in failing["devices"][0]["error"]
    assert "CUDA does not work here." in info("--sim", status=ERROR, ANYCUDA_FAIL="cudaGetDeviceCount@*:999")


def test_quiet_says_it_with_the_exit_status_only(info: AcuInfo) -> None:
    assert info("--quiet", "--sim", status=SIMULATOR) == ""
    assert info("--quiet", "--library=/nonexistent", status=NO_LIBRARY) == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--what"],
        ["--library"],
        ["--json", "--quiet"],
        ["--json", "--topology"],
        ["--sim", "--library", "/x"],
        ["extra"],
    ],
)
def test_usage(info: AcuInfo, arguments: list[str]) -> None:
    assert info(*arguments, status=USAGE) == ""


def test_80_columns(info: AcuInfo) -> None:
    for said in (info("--help", status=GPU), info("--sim", status=SIMULATOR), info("--library=/x", status=NO_LIBRARY)):
        assert [line for line in said.splitlines() if len(line) > 80] == []


def test_a_long_path_is_broken_nowhere(info: AcuInfo, tmp_path: Path) -> None:
    path = tmp_path / ("long" * 30) / "libcudart.so.12"
    assert str(path) in info("--library", str(path), status=NO_LIBRARY)


def test_what_is_no_text_is_still_json(info: AcuInfo) -> None:
    path = b'/\xff\xc3\xa9"\\\x1b'
    done = subprocess.run([info.program, "--json"], env={b"ANYCUDA_CUDART": path}, check=False, capture_output=True)
    report = json.loads(done.stdout.decode("utf-8"))
    assert report["environment"]["ANYCUDA_CUDART"] == '/\ufffd\u00e9"\\\x1b'
    done = subprocess.run([info.program], env={b"ANYCUDA_CUDART": path}, check=False, capture_output=True)
    assert b"\x1b" not in done.stdout


def test_colours_are_for_terminals(info: AcuInfo) -> None:
    def on_terminal(**variables: str) -> bytes:
        ours, theirs = pty.openpty()
        with subprocess.Popen([info.program, "--library=/x"], stdout=theirs, env=variables) as process:
            os.close(theirs)
            said = b""
            while True:
                try:
                    part = os.read(ours, 4096)
                except OSError:  # how Linux says that the other end is closed
                    break
                said += part
        os.close(ours)
        assert process.returncode == NO_LIBRARY
        return said

    assert b"\x1b[1;31m" in on_terminal(TERM="xterm")
    assert b"\x1b" not in on_terminal(TERM="xterm", NO_COLOR="1")
    assert b"\x1b" not in on_terminal(TERM="dumb")
    assert "\x1b" not in info("--library=/x", status=NO_LIBRARY, TERM="xterm")


def test_output_that_cannot_be_written_is_an_error(info: AcuInfo) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([info.program, "--sim"], stdout=full, stderr=subprocess.PIPE, check=False, env={})
    assert done.returncode == ERROR and b"cannot write" in done.stderr


def test_version(info: AcuInfo) -> None:
    version = (ROOT / "VERSION").read_text().strip()
    assert info("--version", status=GPU) == f"acu-info {version}, CUDA {TOOLKITS[-1]}\n"


def test_manual_and_help_say_the_same(info: AcuInfo, prefix: Path) -> None:
    manual = (prefix / "share/man/man1/acu-info.1").read_text()
    said = info("--help", status=GPU)
    assert info("-h", status=GPU) == said
    options = re.findall(r"^  (--\w+)", said, re.MULTILINE)
    assert [f"--{name}" for name in re.findall(r"^\.It Fl -(\w+)", manual, re.MULTILINE)] == options
    statuses = re.findall(r"^  (\d)  (.*)$", said, re.MULTILINE)
    assert re.findall(r"^\.It (\d)\n(.*)$", manual, re.MULTILINE) == statuses
    assert [int(number) for number, _ in statuses] == list(range(7))


def test_manual_is_well_formed() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("there is no groff here")
    done = subprocess.run(
        [groff, "-mdoc", "-Tascii", "-ww", SOURCES / "acu-info.1"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    if "can't open" in done.stderr or "cannot load" in done.stderr:
        pytest.skip("groff has no -mdoc here")
    assert done.stderr == ""
