"""tools/anycuda-gdb.py: gdb in batch mode, on a program whose kernel stops at a line."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compile.toolchain import CC, Library, works

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "tools/anycuda-gdb.py"
ODD = "0xaaaaaaaa"


def has_python() -> bool:
    """Whether there is a gdb that reads such files."""
    command = ["gdb", "-q", "-batch", "-nx", "-ex", "python print('works')"]
    if not shutil.which("gdb"):
        return False
    return "works" in subprocess.run(command, check=False, capture_output=True, text=True).stdout


def may_trace() -> bool:
    """Whether gdb may start a program: some containers forbid it."""
    command = ["gdb", "-q", "-batch", "-nx", "-ex", "run", "/bin/true"]
    return "exited normally" in subprocess.run(command, check=False, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def program(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("stopped") / "stopped"
    folder = library.archive.parent
    include = [f"-I{ROOT / folder}" for folder in ("include", "generated/include")]
    works([CC, *include, Path(__file__).with_name("stopped.c"), "-o", built, "-Wl,-u,acu_sim_abi",
           folder / "libanycuda_sim.a", *library.link, "-lm"])  # fmt: skip
    return built


def environment(trap: str) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "ANYCUDA_CUDART": "sim", "ANYCUDA_SIM": f"trap={trap}"}


def gdb(program: Path | str, trap: str, *commands: str) -> str:
    """What gdb prints when it is told so; skips where there is none."""
    if not has_python():
        pytest.skip("no gdb with Python is installed")
    if not may_trace():
        pytest.skip("gdb may not start programs here")
    command: list[str | Path] = ["gdb", "-q", "-batch", "-nx", "-x", COMMANDS]
    for one in commands:
        command += ["-ex", one]
    done = subprocess.run(
        [*command, program], env=environment(trap), check=False, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


def after(text: str, mark: str) -> str:
    """What stands behind the last line that `echo MARK` has printed."""
    return text.rsplit(f"<{mark}>\n", 1)[1]


def test_without_a_debugger_it_goes_on(program: Path) -> None:
    done = subprocess.run([program], env=environment("scale:12x5"), check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout == "2 7.5\n"
    assert len(re.findall("stopped before and.b32 in line 12", done.stderr)) == 2  # there are two warps


def test_the_commands(program: Path) -> None:
    said = gdb(
        program,
        "scale:scale.cu:8",
        "run",
        *("echo <where>\\n", "acu where"),
        *("echo <mask>\\n", "acu mask"),
        *("echo <warps>\\n", "acu warps"),
        *("echo <%r1>\\n", "acu lanes %r1"),
        *("echo <p1>\\n", "acu lanes p1"),
        *("echo <all>\\n", "acu lanes"),
        *("echo <end>\\n", "continue"),
    )
    assert "received signal SIGTRAP" in said
    assert after(said, "where").startswith(
        'kernel "_Z5scalePf": stopped before ld.global.f32 in line 17 of the PTX (/src/scale.cu:8); block (0, 0, 0), '
        f"warp 0, threads (1, 0, 0) to (31, 0, 0), mask {ODD}\n<mask>\n"
    )
    assert after(said, "mask").startswith(
        f"active     {ODD}  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31\n"
        "elsewhere  0x55555555  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30\n"
        "ended      0x00000000  none\n<warps>\n"
    )
    assert after(said, "warps").startswith(
        f"* warp  0, lanes {ODD}: stopped: ld.global.f32 in line 17 of the PTX (/src/scale.cu:8)\n"
        "  warp  0, lanes 0x55555555: wait for the others of a branch: ret in line 22 of the PTX (/src/scale.cu:9)\n"
        "  warp  1, lanes 0-31: ready: "
    )
    assert after(said, "%r1").startswith(
        "%r1 .u32\n      lane  0: - 1 - 3 - 5 - 7\n      lane  8: - 9 - 11 - 13 - 15\n"
        "      lane 16: - 17 - 19 - 21 - 23\n      lane 24: - 25 - 27 - 29 - 31\n<p1>\n"
    )
    assert after(said, "p1").startswith("%p1 .pred false\n<all>\n")
    assert "%r1 .u32 lane 1: 1, +1 with each lane\n" in after(said, "all")
    assert re.findall("^(%.*?) ", after(said, "all").split("<end>")[0], re.MULTILINE) == [
        "%p1",
        "%r1",
        "%r2",
        "%rd1",
        "%rd2",
        "%rd3",
    ]
    assert "2 7.5\n" in said
    assert "exited normally" in after(said, "end")


def test_memory(program: Path) -> None:
    """The floats 0 to 63 in global memory, -7 in shared memory, and in local memory the number of the thread."""
    said = gdb(
        program,
        "scale:scale.cu:8",
        "run",
        "python rows = texts()[REGISTERS:]",
        "python base = rows[rows.index('%rd1') + 1].split()[1]",
        *("echo <global>\\n", "python gdb.execute(f'acu memory {base}+8 2')"),
        *("echo <end>\\n", "python gdb.execute(f'acu memory {base}+252')"),
        *("echo <behind>\\n", "python gdb.execute(f'acu memory {base}+256')"),
    )
    rows = after(said, "global").splitlines()
    assert [row.split()[1:] for row in rows[:2]] == [
        ["0x40000000", "1073741824", "2"],
        ["0x40400000", "1077936128", "3"],
    ]
    assert rows[2] == "<end>"
    assert re.match(r"0x[0-9a-f]+  0x427c0000   1115422720  63\nhere the memory ends\n<behind>\n", after(said, "end"))
    assert "the kernel can access no word at 0x" in after(said, "behind")
    said = gdb(
        program,
        "scale:scale.cu:8",
        "run",
        *("echo <shared>\\n", "acu memory shared 4 1"),
        *("echo <window>\\n", "acu memory 0x1000000000004 1"),
        *("echo <local>\\n", "acu memory local 0 1"),
        *("echo <lane>\\n", "acu memory local 0 1 5"),
    )
    assert after(said, "shared").startswith("0x4  0xfffffff9           -7  nan\n<window>\n")
    assert after(said, "window").startswith("0x1000000000004  0xfffffff9           -7  nan\n<local>\n")
    assert after(said, "local").startswith("0x0  0x00000000            0  0\n<lane>\n")
    assert "0x0  0x00000005            5  7.00649232e-45\n" in after(said, "lane")


def test_each_stop_is_a_signal(program: Path) -> None:
    said = gdb(program, "scale:12x9", "run", "echo <first>\\n", "continue", "acu where", "continue")
    assert "threads (32, 0, 0) to (63, 0, 0), mask 0xffffffff" in after(said, "first")
    assert "exited normally" in after(said, "first")


@pytest.mark.parametrize(
    "commands, expected",
    [
        (["run", "acu memory"], "acu memory [shared|local] ADDRESS [COUNT [LANE]]"),
        (["run", "acu memory shared 0x10000"], "the kernel can access no word at 0x10000"),
        (["acu memory 0"], "no warp is stopped: run the program with ANYCUDA_SIM=trap=KERNEL:LINE"),
        (["run", "acu lanes %f2"], "there is no register %f2 that something may have written before"),
        (["acu where"], "no warp is stopped: run the program with ANYCUDA_SIM=trap=KERNEL:LINE"),
        (["break main", "run", "acu mask"], "no warp is stopped: run the program with ANYCUDA_SIM=trap=KERNEL:LINE"),
    ],
)
def test_mistakes(program: Path, commands: list[str], expected: str) -> None:
    assert expected in gdb(program, "scale:scale.cu:8", *commands)


def test_a_program_without_the_simulator() -> None:
    assert "the program does not run yet, has no simulator of anycuda, or was stripped" in gdb(
        "/bin/true", "k:1", "run", "acu where"
    )


def test_what_looks_on_and_is_no_debugger(program: Path, tmp_path: Path) -> None:
    """strace hands signals on, and SIGTRAP would end the program."""
    if not shutil.which("strace"):
        pytest.skip("no strace is installed")
    command = ["strace", "-f", "-o", str(tmp_path / "calls"), str(program)]
    done = subprocess.run(command, env=environment("scale:12"), check=False, capture_output=True, text=True)
    if "ptrace" in done.stderr:
        pytest.skip("strace may not start programs here")
    assert (done.returncode, done.stdout) == (0, "2 7.5\n")
    assert "SIGTRAP" in (tmp_path / "calls").read_text()
