"""Every public function that takes a handle, a pointer or a device is tested with what is none of these."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOUNS = [
    "array",
    "batch",
    "buffer",
    "capture",
    "code",
    "code_cache",
    "coredump",
    "device",
    "dlpack",
    "event",
    "exec",
    "execution_context",
    "external",
    "graph",
    "graphics",
    "kernel",
    "launch",
    "listener",
    "log",
    "memory",
    "module",
    "multicast",
    "node",
    "physical",
    "pool",
    "process",
    "profile",
    "region",
    "stream",
    "tensor_map",
    "texture",
    "transfer",
    "value",
    "virtual",
]


def bodies(source: Path) -> str:
    """What follows the declarations, as macros make it."""
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler here")
    includes = [f"-I{ROOT / folder}" for folder in ("include", "generated/include", "src")]
    done = subprocess.run(
        [compiler, "-E", "-P", "-std=c11", *includes, source], check=False, capture_output=True, text=True
    )
    if "cmocka.h" in done.stderr:
        pytest.skip("there is no cmocka here")
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("expect_refusal")[2]


def test_each_function_is_misused() -> None:
    headers = "".join((ROOT / f"include/anycuda/{noun}.h").read_text() for noun in NOUNS)
    declared = set(re.findall(r"^[A-Za-z][\w ]* \**(acu_\w+)\([^;{]*\);", headers, re.MULTILINE))
    declared -= {"acu_quarantine"}  # takes a number
    assert {"acu_stream_create", "acu_buffer_raw", "acu_exec_set_host"} <= declared
    tests = "".join(bodies(source) for source in (ROOT / "tests/safe").glob("test_misuse*.c"))
    forgotten = {name for name in declared if not re.search(rf"\b{name}\(", tests)}
    assert not forgotten, "tests/safe/test_misuse*.c does not call these with what is no handle"
