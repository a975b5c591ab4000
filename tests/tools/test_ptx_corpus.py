"""The runner of `make ptx-corpus`: what it calls right, refused, wrong and slow, and what its list may have."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.ptx_corpus import build, page, run
from tests.ptx_corpus.run import Program, Run

REFUSAL = (
    "anycuda: simulator: kernel \"k\" cannot be launched: the simulator does not execute 'tex.1d'; a C function can\n"
)


def test_list_is_well_formed_and_long() -> None:
    programs = run.read(yaml.safe_load(run.LIST.read_text()))
    assert len({program.name for program in programs}) == len(programs) >= 60
    assert {program.name for program in programs} >= {f"own_{source.stem}" for source in build.OWN.glob("*.cu")}


def test_misspelt_key_is_named() -> None:
    with pytest.raises(ValueError, match="p: unknown key say; there are arguments, never, note, refuses, says"):
        run.read({"one": {"p": {"say": "PASS"}}})


@pytest.mark.parametrize(
    ("did", "kept", "kind", "reason"),
    [
        (Run(0, "PASSED\n", "", 1, 1), None, "pass", ""),
        (Run(0, "sum 1.00001\nPASSED\n", "", 1, 1), "sum 1.0\nPASSED\n", "pass", ""),
        (Run(0, "took 3 ms\nPASSED\n", "", 1, 1), "took 1 ms\nPASSED\n", "pass", ""),
        (Run(0, "sum 1.1\nPASSED\n", "", 1, 1), "sum 1.0\nPASSED\n", "wrong", "prints 'sum 1.1', not 'sum 1.0'"),
        (Run(0, "sum 7\nPASSED\n", "", 1, 1), "sum 8\nPASSED\n", "wrong", "prints 'sum 7', not 'sum 8'"),
        (Run(0, "PASSED\n", "", 1, 1), "1\nPASSED\n", "wrong", "prints 'PASSED', not '1'"),
        (Run(0, "PASSED\n", "", 1, 1), "PASSED\nend\n", "wrong", "prints 1 lines, not 2"),
        (Run(0, "PASSED\nTest FAILED\n", "", 1, 1), None, "wrong", "prints 'Test FAILED'"),
        (Run(0, "done\n", "", 1, 1), None, "wrong", "does not print 'PASSED'"),
        (Run(-11, "PASSED\n", "", 1, 1), None, "wrong", "exit status -11, not 0"),
        (Run(1, "FAILED\n", REFUSAL, 1, 1), None, "refused", "the simulator does not execute 'tex.1d'"),
        (Run(0, "PASSED\n", REFUSAL, 1, 1), None, "pass", ""),
        (Run(None, "PASSED\n", REFUSAL, 60, 7), None, "slow", "more than 60 s, 7 s of processors"),
    ],
)
def test_judge(did: Run, kept: str | None, kind: str, reason: str) -> None:
    answer = run.judge(Program("one", "p", says="PASSED"), did, kept)
    assert answer.kind == kind
    assert answer.reason.startswith(reason) and bool(answer.reason) == bool(reason)


def test_a_line_may_vary() -> None:
    assert run.difference("seed 5\nx\n", "seed 6\nx\n", "^seed") == ""
    assert run.difference("seed 5\nx\n", "seed 6\ny\n", "^seed") == "prints 'x', not 'y'"


def test_program_runs_in_a_copy_with_the_library(tmp_path: Path) -> None:
    library = tmp_path / "sim.so"
    library.touch()
    folder = tmp_path / "p"
    folder.mkdir()
    program = folder / "program"
    program.write_text('#!/bin/sh\necho "$1" >here; ls "${LD_LIBRARY_PATH%%:*}"; cat here data; exit 3\n')
    program.chmod(0o755)
    (folder / "data").write_text("data\n")
    with run.folder_of(library) as place:
        did = run.start(Program("one", "p", arguments="two && true"), folder, place, 60, 60)
    assert (did.status, did.output) == (3, "libcudart.so.13\ntwo\ndata\n")
    assert not (folder / "here").exists()


def test_slow_program_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    assert run.start(Program("one", "p"), tmp_path, None, 0.2, 60).status is None


def test_program_that_keeps_a_processor_busy_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nwhile :; do :; done\n")
    program.chmod(0o755)
    did = run.start(Program("one", "p"), tmp_path, None, 600, 1)
    assert did.status is None and did.processor > 0.5


def test_options_in_a_program_replace_the_architecture(tmp_path: Path) -> None:
    source = tmp_path / "p.cu"
    source.write_text("// What it does.\n// options: -arch=compute_90 -code=compute_90\n")
    assert "-arch=compute_90" in build.command("nvcc", [source], tmp_path / "p")
    source.write_text("// What it does.\n")
    assert "-arch=compute_80" in build.command("nvcc", [source], tmp_path / "p")
    assert "-arch=sm_90" in build.command("nvcc", [source], tmp_path / "p", "-arch=sm_90 -G")


def test_table_counts_by_origin() -> None:
    answers = [run.Answer(Program("a", "p"), "pass", "", 1, 1), run.Answer(Program("b", "q"), "slow", "more", 1, 1)]
    assert "| all | 2 | 1 | 0 | 0 | 1 |" in run.table(answers)
    assert "| q | slow | more |" in run.table(answers)


def test_what_the_list_says_that_is_refused_explains_a_wait() -> None:
    program = Program("one", "p", refuses="in no allocation")
    reading = "error 700: a read of 4 bytes, which are in no allocation\n"
    assert run.judge(program, Run(None, "", reading, 60, 60), None).kind == "refused"
    assert run.judge(program, Run(None, "", "", 60, 60), None).kind == "slow"


def test_results_keep_what_was_not_started_anew(tmp_path: Path) -> None:
    place = tmp_path / "results.yaml"
    run.keep(
        [run.Answer(Program("a", "p"), "slow", "more", 9, 8.04), run.Answer(Program("a", "q"), "pass", "", 1, 1)],
        place,
        "2026-01-01",
    )
    run.keep([run.Answer(Program("a", "p"), "pass", "", 2, 1.5, compared=True)], place, "2026-01-02")
    assert yaml.safe_load(place.read_text()) == {
        "p": {"kind": "pass", "processor": 1.5, "compared": True, "day": "2026-01-02"},
        "q": {"kind": "pass", "processor": 1, "compared": False, "day": "2026-01-01"},
    }


def test_page_counts_what_is_right_within_the_limit() -> None:
    done = {"compared": False, "day": "2026-01-01"}
    results = {
        "p": {"kind": "pass", "processor": 1.5, "compared": True, "day": "2026-01-01"},
        "q": {"kind": "pass", "processor": page.LIMIT + 1, **done},
        "r": {"kind": "wrong", "processor": 2, "reason": "prints 'a|b'", **done},
        "s": {"kind": "slow", "processor": page.LIMIT, "reason": "more", **done},
    }
    text = page.page({"one": {"p": None, "q": {}, "r": {}, "s": {"note": "copies 5 TB"}, "t": {}}}, results)
    assert "| all | 5 | 1 | 1 | 1 | 0 | 1 | 1 | 20.0 % | 1 |" in text
    assert "| r | wrong | 2 | prints 'a\\|b' |" in text
    assert f"| s | slow | {page.LIMIT:.0f} | copies 5 TB |" in text
    assert "| t | not run |  |  |" in text
    assert "ran on 2026-01-01, on" in text
    results["p"]["day"] = "2026-01-03"
    assert "ran between 2026-01-01 and 2026-01-03, on" in page.page({"one": {"p": None}}, results)


def test_page_is_what_the_results_say() -> None:
    listed = yaml.safe_load(run.LIST.read_text())
    results = yaml.safe_load((page.HERE / "results.yaml").read_text())
    assert page.PAGE.read_text() == page.page(listed, results), "run tests/ptx_corpus/page.py"
    assert set(results) <= {name for programs in listed.values() for name in programs}
