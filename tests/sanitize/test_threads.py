"""Programs with many threads under TSan; a module of its own, so that it runs beside test_sanitize.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compile.toolchain import EVERYTHING, works
from tests.sanitize.test_sanitize import configure, ctest

THREAD = ("-fsanitize=thread",)
THREADED = (
    "loader_threads",
    "loader_bind",
    "runtime_cpu",
    "runtime_random",
    "runtime_suite",
    "sanitize_first_use",
    "safe_graphics",
    "safe_threads",
    "safe_allocator_model",
    "safe_order",
    "safe_capture_meanwhile",
    "sim_context",
    "sim_deferred",
    "sim_guard",
    "sim_ptx_room",
    "sim_stress",
    "sim_stress_kernels",
    "threads",
    "webgpu_block",
)


@pytest.mark.skipif(
    not EVERYTHING, reason="programs with many threads under TSan take minutes: `make test-all` runs them"
)
def test_many_threads(tmp_path: Path) -> None:
    folder = configure(tmp_path, THREAD, *THREADED)
    assert "__tsan_init" in works(["nm", folder / "tests/loader/loader_threads"])
    once = ("-E", "^(safe_capture_meanwhile_|threads_1[23])")  # 13 s, or more, for each runtime that is simulated
    ctest(folder, "-R", f"^({'|'.join(THREADED)})(_[0-9].*)?$", *once)
