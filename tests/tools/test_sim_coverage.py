"""The page about what the simulator has is today's."""

from __future__ import annotations

from tools import sim_coverage


def test_page_is_up_to_date() -> None:
    assert sim_coverage.PAGE.read_text() == sim_coverage.render(), "run python tools/sim_coverage.py"


def test_what_is_simulated_is_presented() -> None:
    names = set(sim_coverage.presented())
    assert len(names) > 300
    # Symbols of other meanings of a name (cudaLaunchHostFunc_v2) stand in no header.
    assert {name for name in sim_coverage.simulated("cudart") - names if "_v" not in name} == set()


def test_enough_is_simulated() -> None:
    names = sim_coverage.newest().intersection(sim_coverage.presented())
    assert len(names) >= 340
    assert len(sim_coverage.simulated("cudart") & names) >= 290


def test_every_function_has_one_subject() -> None:
    assert sim_coverage.subject("cudaGraphLaunch") == "graphs"
    assert sim_coverage.subject("cudaStreamBeginCapture") == "graphs"
    assert sim_coverage.subject("cudaMalloc3DArray") == "arrays, textures, surfaces"
    assert sim_coverage.subject("cudaGetLastError") == "the rest"
