"""The first minute that README promises, one command and a result that a person believes; and the other examples."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.compile.toolchain import ROOT, Library

# What each prints on a simulated 12.1 with two devices.
SAYS = {
    "any_runtime": "a handle for conditional nodes: cudaGraphConditionalHandleCreate needs CUDA 12.3",
    "conditional_loop": "not here:\ngraph conditional nodes: needs CUDA 12.3; loaded libcudart is 12.1",
    "device_query": "\ndevice 1: anycuda simulator\n",
    "graph_replay": "256 numbers were incremented 10200 times, 0 of them wrongly",
    "streams_overlap": "every number came back as it went",
}


def make_demo(folder: Path, release: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: os.environ[name] for name in os.environ if not name.startswith(("MAKE", "MFLAGS", "ANYCUDA"))}
    return subprocess.run(
        ["make", "--silent", "demo", f"BUILD={folder}", f"RELEASE={release}", *arguments],
        cwd=ROOT,
        env={**env, "ANYCUDA_CUDART": "sim", **variables},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def release(library: Library) -> Path:
    """A build that has the library, so that only the examples are built."""
    return library.archive.parent


def test_demo_says_where_it_ran_and_what_came_out(release: Path, tmp_path: Path) -> None:
    done = make_demo(tmp_path, release)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"Building anycuda … (a minute or two; {tmp_path}/demo.log)" and lines[1].startswith(
        "on the simulator: "
    )
    assert lines[-1] == "… and all 1000000 sums are right" and len(lines) < 10
    shown = (ROOT / "README.md").read_text()
    assert "\n".join(lines[1:]) in shown


@pytest.mark.parametrize("name", SAYS)
def test_example(release: Path, tmp_path: Path, name: str) -> None:
    done = make_demo(tmp_path, release, f"DEMO={name}", ANYCUDA_SIM="devices=2,runtime=12.1")
    assert done.returncode == 0, done.stderr
    assert "on the simulator: anycuda simulator, CUDA 12.1\n" in done.stdout
    said = done.stdout.replace("\n      ", " ")  # where a sentence goes on
    assert SAYS[name] in said, done.stdout
    assert [line for line in done.stdout.splitlines()[1:] if len(line) > 80] == []  # the first has the folder's path


def test_the_places_train_alike(release: Path, tmp_path: Path) -> None:
    done = make_demo(tmp_path, release, "DEMO=tensor_train", ANYCUDA_WEBGPU="/nonexistent/libwgpu_native.so")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cuda:0, anycuda simulator: the loss differs by 0 at most from the CPU's" in done.stdout
    assert "webgpu:0 cannot be used: " in done.stdout and "/nonexistent/libwgpu_native.so" in done.stdout
    recognised = [float(text) for text in re.findall(r"recognised: (\S+) %", done.stdout)]
    assert len(recognised) == 2 and min(recognised) > 90


def test_an_example_says_why_it_cannot_run(release: Path, tmp_path: Path) -> None:
    done = make_demo(tmp_path, release, ANYCUDA_CUDART="/nonexistent/libcudart.so.12")
    assert done.returncode != 0
    assert "error: acu_load: no usable libcudart: ANYCUDA_CUDART=/nonexistent/libcudart.so.12" in done.stderr
    assert "to do: " in done.stderr


def test_what_fails_to_build_is_shown(tmp_path: Path) -> None:
    done = make_demo(tmp_path, tmp_path / "release", "CMAKE_FLAGS=-DCMAKE_C_COMPILER=/nonexistent/cc")
    assert done.returncode != 0 and "/nonexistent/cc" in done.stderr


def test_an_unknown_example_is_answered_with_the_list(tmp_path: Path) -> None:
    done = make_demo(tmp_path, tmp_path / "release", "DEMO=nonsense")
    assert done.returncode != 0 and done.stdout == ""
    files = [*(ROOT / "examples").glob("*.c"), ROOT / "examples/tensor/tensor_train.c"]
    names = " ".join(sorted(path.stem for path in files))
    assert f"error: there is no example 'nonsense'; there are {names}\n" in done.stderr
