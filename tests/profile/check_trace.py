"""Runs the cases of traced.c, and tests, and checks their traces: `check_trace.py PROGRAM [TEST…]`.

The form is the one that "Trace Event Format", the document of Chrome's viewer, gives for an array of events: what each
phase must have, how ranges nest on a thread, which events belong together by their numbers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

Event = dict[str, Any]

PHASES = {
    "X": {"name", "dur"},
    "B": {"name"},
    "E": set(),
    "b": {"name", "id"},
    "e": {"name", "id"},
    "i": {"name", "s"},
    "M": {"name", "args"},
    "s": {"name", "id"},
    "f": {"name", "id", "bp"},
}
ALWAYS = {"cat", "ph", "ts", "pid", "tid"}
ROWS = 10_000_000  # from this number on a row is a stream
SLACK = 0.002  # of rounded times, in us


def run(program: str, case: str, file: Path, **environment: str) -> tuple[list[Event], str, str]:
    """Returns the events, and what the program printed and complained of."""
    done = subprocess.run(
        [program, case],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ANYCUDA_TRACE": str(file), "ANYCUDA_CUDART": "sim", **environment},
    )
    assert done.returncode == 0, done.stderr
    events = read(file) if file.exists() else []
    check_form(events)
    return events, done.stdout, done.stderr


def read(file: Path) -> list[Event]:
    """An array, or one without its end: a process was killed at the moment between two pages of the file."""
    text = file.read_text(encoding="utf-8")
    if not text.endswith("\n]\n"):
        assert file.stem.startswith("dies")
        text = text.rstrip().removesuffix(",") + "]"
    events: list[Event] = json.loads(text)
    return events


def check_form(events: list[Event]) -> None:
    for event in events:
        phase = event["ph"]
        expected = ALWAYS | PHASES[phase]
        assert expected <= event.keys() <= expected | {"args"}, event
        assert all(isinstance(event[key], (int, float)) for key in ("ts", "pid", "tid")), event
        assert event.get("dur", 0) >= 0 and event["ts"] >= 0
        assert all(isinstance(value, str) for value in event.get("args", {}).values()), event
        assert phase != "i" or event["s"] in ("g", "p", "t")
        assert phase != "f" or event["bp"] == "e"


def named(events: list[Event], name: str, phase: str = "X", category: str = "") -> list[Event]:
    return [e for e in events if e.get("name") == name and e["ph"] == phase and category in ("", e["cat"])]


def check_nesting(events: list[Event]) -> None:
    """Slices of a row are side by side or within each other; what is pushed is popped."""
    rows = defaultdict(list)
    for event in events:
        rows[event["pid"], event["tid"]].append(event)
    for row in rows.values():
        open_ends: list[float] = []
        for event in sorted((e for e in row if e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"])):
            end = event["ts"] + event["dur"]
            while open_ends and open_ends[-1] <= event["ts"] + SLACK:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + SLACK, event
            open_ends.append(end)
        depth = 0
        for event in row:
            depth += (event["ph"] == "B") - (event["ph"] == "E")
            assert depth >= 0
        assert depth == 0


def check_arrows(events: list[Event]) -> int:
    """An arrow leads from a call to its work, forward in time; returns how many there are."""
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(starts) == sum(e["ph"] == "s" for e in events)
    assert ends.keys() <= starts.keys()
    for number, end in ends.items():
        assert starts[number]["ts"] <= end["ts"] and starts[number]["tid"] < ROWS <= end["tid"]
    return len(ends)


def check_work(program: str, folder: Path) -> None:
    events, _, _ = run(program, "work", folder / "work.json")
    check_nesting(events)
    names = {e["tid"]: e["args"]["name"] for e in named(events, "thread_name", "M")}
    assert all(e["tid"] in names for e in events)
    (process,) = named(events, "process_name", "M")
    assert process["args"]["name"] == Path(program).name
    streams = {tid for tid in names if tid >= ROWS}
    assert len(streams) == 2 and {names[tid][:18] for tid in streams} == {"device 0, uploads", "device 0, stream 0"}
    rows = [e["args"]["name"] for e in named(events, "thread_name", "M")]
    assert "device 0, early" in rows and names[process["tid"]] == 'the "main" thread'

    (copy,) = named(events, "cudaMemcpyAsync", category="cuda")
    assert copy["args"]["result"] == "cudaSuccess" and copy["args"]["count"] == "1024"
    assert copy["args"]["kind"] == "cudaMemcpyHostToDevice"
    (failed,) = named(events, "cudaMalloc", category="cuda")
    assert failed["args"]["result"] == "cudaErrorInvalidValue"
    # The host function takes 20 ms on its stream, and nothing of that is in the call.
    (call,) = named(events, "cudaLaunchHostFunc", category="cuda")
    (on_stream,) = named(events, "cudaLaunchHostFunc", category="device")
    assert 19_900 < on_stream["dur"] < 10_000_000 and on_stream["ts"] >= call["ts"] - 1_000
    assert len(named(events, "cudaMemsetAsync", category="device")) == 1
    assert not named(events, "cudaMallocAsync", category="device")  # is no work
    assert check_arrows(events) >= 1

    without, _, _ = run(program, "work", folder / "without.json", ANYCUDA_TRACE_DEVICE="0")
    assert {e["cat"] for e in without} == {"cuda", "trace"}
    assert Counter(e["name"] for e in without if e["cat"] == "cuda") == Counter(
        e["name"] for e in events if e["cat"] == "cuda" and e["ph"] == "X"
    )


def check_capture(program: str, folder: Path) -> None:
    events, printed, _ = run(program, "capture", folder / "capture.json")
    assert printed == "2\n"  # nodes: nothing but the program's own
    assert not named(events, "cudaMemsetAsync", category="device")
    assert len(named(events, "cudaLaunchHostFunc", category="device")) == 1
    assert len(named(events, "cudaGraphLaunch", category="device")) == 1


def check_ranges(program: str, folder: Path) -> None:
    events, _, _ = run(program, "ranges", folder / "ranges.json")
    check_nesting(events)
    outer, strange = [e for e in events if e["ph"] == "B"]
    assert outer["name"] == "outer" and outer["args"] == {"domain": "solver", "category": "3"}
    assert strange["name"] == '\ufffdä "\\\n\x01 \ufffd\ufffd\ufffd \ufffd\ufffd'
    (start,), (end,) = named(events, "apart", "b"), named(events, "apart", "e")
    assert start["id"] == end["id"] and start["cat"] == end["cat"]
    (mark,) = [e for e in events if e["ph"] == "i"]
    assert mark["name"].startswith('"' * 100) and mark["name"].endswith("…") and mark["args"]["payload"] == "-2"

    lines = folder / "ranges.txt"
    subprocess.run([program, "ranges"], check=True, env={**os.environ, "ANYCUDA_TRACE": str(lines)})
    told = [line.split("] ", 1)[1] for line in lines.read_text(errors="replace").splitlines()]
    assert told[0] == 'push "outer" of "solver"' and told[-1] == 'pop of "solver"'
    assert told[2] == 'start "apart" 1' and told[5] == "end 1"


def slices(events: list[Event]) -> dict[str, list[tuple[int, int]]]:
    """From which event to which the ranges of a thread last, as viewers see them: an end is that of the last begin."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    begun: list[int] = []
    for at, event in enumerate(events):
        if event["ph"] == "B":
            begun.append(at)
        elif event["ph"] == "E":
            begin = begun.pop()
            found[events[begin]["name"]].append((begin, at))
    return found


def check_domains(program: str, folder: Path) -> None:
    """Ranges of several domains on one thread may overlap; what ends without a begin is nothing."""
    for calls in ("0", "1"):
        events, _, _ = run(program, "domains", folder / f"domains{calls}.json", ANYCUDA_NAME_CALLS=calls)
        last = max(at for at, event in enumerate(events) if event.get("name") == "is not ended")
        found = slices(events[:last])
        ((begin, end),) = found["first of a"]
        inside, behind = found["of b"]  # is in two parts
        assert begin < inside[0] < inside[1] < end < behind[0] < behind[1]
        assert len(found["deep"]) == 100
        in_call = found["from the call"]
        if calls == "1":
            ((begin, end),) = found["acu_stream_capture"]
            assert begin < in_call[0][0] < in_call[0][1] < end < in_call[1][0] < in_call[1][1]
        else:
            assert len(in_call) == 1
        assert sum(e["ph"] == "B" for e in events[:last]) == sum(e["ph"] == "E" for e in events[:last])


def check_named_calls(program: str, folder: Path) -> None:
    """With ANYCUDA_NAME_CALLS, a call of the safe layer encloses those that it makes of CUDA."""
    events, _, _ = run(program, "work", folder / "named.json", ANYCUDA_NAME_CALLS="1")
    check_nesting(events)
    calls = [e for e in events if e["cat"] == "anycuda"]
    assert Counter(e["ph"] for e in calls) == {"B": len(calls) // 2, "E": len(calls) // 2}
    (write,) = named(calls, "acu_buffer_write_typed", "B")
    end = next(e for e in calls if e["ph"] == "E" and e["ts"] > write["ts"])
    (copy,) = named(events, "cudaMemcpyAsync", category="cuda")
    assert write["ts"] <= copy["ts"] and copy["ts"] + copy["dur"] <= end["ts"]
    assert not [e for e in run(program, "work", folder / "plain.json")[0] if e["cat"] == "anycuda"]


def check_processes(program: str, folder: Path) -> None:
    events, _, _ = run(program, "threads", folder / "threads.json")
    marks = Counter(e["tid"] for e in events if e["ph"] == "i")
    assert len(marks) == 4 and set(marks.values()) == {50}
    assert {e["tid"] for e in named(events, "thread_name", "M")} == set(marks)

    file = folder / "forks.json"
    events, _, _ = run(program, "forks", file)
    assert len(named(events, "parent", "i")) == 51 and len(named(events, "child", "i")) == 200
    assert len({e["pid"] for e in named(events, "child", "i")}) == 4
    again, _, _ = run(program, "forks", file)  # is appended to
    assert again[: len(events)] == events and len(again) > len(events)

    for number in range(5):
        events, _, _ = run(program, "dies", folder / f"dies{number}.json")
        assert named(events, "a mark", "i")

    cut = folder / "cut.json"
    for text in ('[\n{"a":1},\n   ', '[\n{"a":1}', '[\n{"a":1}\n]\n'):
        cut.write_text(text)
        subprocess.run([program, "threads"], check=True, env={**os.environ, "ANYCUDA_TRACE": str(cut)})
        events = json.loads(cut.read_text())
        assert events[0] == {"a": 1} and len(events) > 200


def check_thread_names(program: str, folder: Path) -> None:
    """A thread has the name that it was given, cut to 47 bytes, also before the trace began; others have none."""
    cut = "0123456789" * 4 + "012345"
    lines = folder / "named.txt"
    environment = {**os.environ, "ANYCUDA_TRACE": str(lines), "ANYCUDA_CUDART": "sim"}
    subprocess.run([program, "named"], check=True, env=environment)
    for what in ('mark "mark"', "cudaPeekAtLastError() = cudaSuccess"):
        found = [line for line in lines.read_text().splitlines() if f"] {what}" in line]
        names = [line.split("]")[0].partition(" ")[2] for line in found]
        assert names == ['"reused"', '"a \\"name\\"?"', "", f'"{cut}"', '"reused"', ""], found
        assert all(line[1:].split("]")[0].split(" ")[0].isdigit() for line in found)

    events, _, _ = run(program, "named", folder / "named.json")
    rows: dict[tuple[int, int], list[str]] = defaultdict(list)
    for event in named(events, "thread_name", "M"):
        rows[event["pid"], event["tid"]].append(event["args"]["name"])
    main, *others, child = [rows[e["pid"], e["tid"]] for e in named(events, "mark", "i")][:5]
    system = Path(program).name[:15]
    assert main == ["reused", system] and child == ["reused"]
    assert [names[-1] for names in others] == ['a "name"?', system, cut]


def check_driver(program: str, folder: Path) -> None:
    events, _, _ = run(program, "driver", folder / "driver.json")
    names = {e["tid"]: e["args"]["name"] for e in named(events, "thread_name", "M") if e["tid"] >= ROWS}
    assert any("the legacy default stream" in name for name in names.values())
    assert any("the default stream of thread" in name for name in names.values())
    assert len(named(events, "cuMemsetD8Async", category="device")) == 1
    assert len(named(events, "cudaMemsetAsync", category="device")) == 2


def check_checkpoint(program: str, folder: Path) -> None:
    """A checkpoint is traced as any call is, and what is done before and after it is measured."""
    events, printed, _ = run(program, "checkpoint", folder / "checkpoint.json")
    check_nesting(events)
    assert printed == "5\n"
    calls = [e["name"] for e in events if e["ph"] == "X" and e["cat"] == "cuda" and "Checkpoint" in e["name"]]
    assert calls == [f"cuCheckpointProcess{what}" for what in ("Lock", "Checkpoint", "Restore", "Unlock")]
    assert len(named(events, "cudaLaunchHostFunc", category="device")) == 1
    assert len(named(events, "cudaMemsetAsync", category="device")) == 1
    assert len(named(events, "cudaMemcpyAsync", category="device")) == 3
    check_arrows(events)


def check_files(program: str, folder: Path) -> None:
    """What is no trace is left alone, and a file does not grow without end."""
    other = folder / "other.json"
    other.write_text("{}\n")
    done = subprocess.run(
        [program, "ranges"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ANYCUDA_TRACE": str(other)},
    )
    assert done.returncode == 0 and "ANYCUDA_TRACE cannot open" in done.stderr
    assert other.read_text() == "{}\n"

    full = folder / "full.json"
    with full.open("wb") as file:
        file.write(b"[\n")
        file.truncate((256 << 20) - 400)
        file.seek(-3, os.SEEK_END)
        file.write(b"\n]\n")
    done = subprocess.run(
        [program, "threads"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ANYCUDA_TRACE": str(full)},
    )
    assert done.returncode == 0 and done.stderr.count("the trace ends, because its file has 256 MiB") == 1
    assert full.stat().st_size < (256 << 20) + 400
    with full.open("rb") as file:
        file.seek(-300, os.SEEK_END)
        assert file.read().decode().endswith("}\n]\n")
    full.unlink()


def check_traced_test(test: str, folder: Path) -> None:
    """A test of the safe layer passes as well while all of it is traced and measured."""
    file = folder / "test.json"
    done = subprocess.run(
        [test],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ANYCUDA_TRACE": str(file), "ANYCUDA_NAME_CALLS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    events = json.loads(file.read_text(encoding="utf-8"))
    check_form(events)
    assert {"cuda", "anycuda", "device"} <= {e["cat"] for e in events}
    file.unlink()
    print(f"{Path(test).name}, traced: fine")


def main() -> int:
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        for check in (
            check_work,
            check_capture,
            check_ranges,
            check_domains,
            check_named_calls,
            check_processes,
            check_thread_names,
            check_driver,
            check_checkpoint,
            check_files,
        ):
            check(program, Path(name))
            print(f"{check.__name__}: fine")
        for test in sys.argv[2:]:
            check_traced_test(test, Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
