"""acu-graph: what it prints and draws of saved graphs, and that no file makes it crash."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compile.toolchain import without_cuda

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tools" / "acu-graph"
DONE, FAILED, USAGE = range(3)

SAVED = r"""digraph anycuda {
  graph [format="anycuda 1" fontname="Helvetica"];
  node [style="rounded,filled"];
  graph [replays=10 together=0 us_whole=60.000 us_measured=100.000 us_between=1.500];
  n0 [kind="memset" title="memset" detail="32 bytes" us=5.000 us_least=4.000 us_most=9.000 label="…" color="#5b8c1a"];
  n1 [kind="kernel" title="the \"best\" <one>" kernel="scale" detail="4 blocks of 256" us=50.000 label="…"];
  n2 [kind="host" title="count" detail="" us=10.000 label="count"];
  n3 [kind="child graph" title="child graph" detail="" us=15.000 label="child graph"];
  subgraph cluster_p1 {
    graph [within="n3" label="n3: child graph"];
    p1n0 [kind="empty" title="inside" detail="" label="inside"];
  }
  n4 [kind="memcpy" title="alone" detail="1.0 KiB" us=0.500 label="alone"];
  n0 -> n1;
  n0 -> n2 [from_port=1 to_port=0 type=1 style=dashed label="programmatic"];
  n1 -> n3;
  n2 -> n3;
}
"""

SUMMARY = """graph.dot: 6 nodes, 1 of them inside others
4 dependencies, 3 steps deep, at most 2 side by side
child graph 1   empty 1   host 1   kernel 1   memcpy 1   memset 1

medians of 10 replays, one node after the other
  a launch as it is          60.0 us
  the sum of all nodes       80.5 us
  the longest chain (*)      70.0 us: no order of the nodes is faster
  two events alone           1.50 us: shorter times mean nothing

     time    of all  node
  50.0 us   62% * the "best" <one>                   kernel       ##############
  15.0 us   19% * child graph                        child graph  ####
  10.0 us   12%   count                              host         ###
  5.00 us    6% * memset                             memset       #
  0.50 us    1%   alone                              memcpy
"""

# As CUDA writes it: one box, labels with numbers and types.
OF_CUDA = r"""digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="solid" shape="rectangle" label="0
MEMSET
"];
"graph_1_node_1"[style="bold" shape="octagon" label="1
KERNEL
_Z5scalePfi\<\<\<1, 8\>\>\>
"];
"graph_1_node_0" -> "graph_1_node_1" [headlabel=0];
}
}
"""


def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert found, "there is no C compiler here"
    return found


class AcuGraph:
    """The program, which is told by sanitizers what it does wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "acu-graph"
        command = [compiler(), "-std=c11", "-D_POSIX_C_SOURCE=200809L", '-DANYCUDA_VERSION="1"', "-g", "-O1"]
        command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([*command, *sorted(SOURCES.glob("*.c")), "-o", self.program], check=True)

    def run(self, *arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        # What it allocates lives as long as it does.
        return subprocess.run(
            [self.program, *arguments],
            input=text,
            cwd=self.folder,
            check=False,
            capture_output=True,
            env={"ASAN_OPTIONS": "detect_leaks=0"},
            timeout=60,
        )

    def __call__(self, *arguments: str, text: str = "", status: int = DONE) -> str:
        done = self.run(*arguments, text=text.encode())
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        assert (done.stderr != b"") == (status != DONE), done.stderr
        return done.stdout.decode() if status == DONE else done.stderr.decode()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> AcuGraph:
    try:
        made = AcuGraph(tmp_path_factory.mktemp("acu-graph"))
    except subprocess.CalledProcessError:
        pytest.skip("the compiler has no sanitizers here")
    (made.folder / "graph.dot").write_text(SAVED)
    return made


def stripped(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


# ---- the summary ----


def test_summary(graph: AcuGraph) -> None:
    assert stripped(graph("graph.dot")) == SUMMARY
    assert stripped(graph(text=SAVED)) == SUMMARY.replace("graph.dot", "standard input")
    assert graph("-", text=SAVED) == graph(text=SAVED)


def test_some_nodes(graph: AcuGraph) -> None:
    said = graph("--top", "2", "graph.dot")
    assert "child graph  ####" in said and "count" not in said
    assert said.endswith("  and 3 more: --top 5 prints them\n")
    assert graph("--top=2", "graph.dot") == said
    assert graph("--top=0", "graph.dot").endswith("  and 5 more: --top 5 prints them\n")


def test_without_times(graph: AcuGraph) -> None:
    said = graph(text=re.sub(r" us\w*=[0-9.]+", "", SAVED).replace("replays=10 together=0", ""))
    assert "replays" not in said and " us" not in said
    steps = re.findall(r"^ +(\d+)  (\S+)", said, re.MULTILINE)
    assert steps == [("1", "memset"), ("1", "alone"), ("2", "the"), ("2", "count"), ("3", "child")]


def test_of_cuda(graph: AcuGraph) -> None:
    said = graph(text=OF_CUDA)
    assert "2 nodes\n1 dependency, 2 steps deep" in said
    assert "kernel 1   memset 1\n" in said
    assert re.search(r"^    2  scale +kernel", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("_Z5scalePfi", "scale"),
        ("_ZN2at6native4copyILi4EEEvPT_", "at::native::copy"),
        ("_ZN12_GLOBAL__N_14copyEv", "copy"),
        ("_ZNK2at3Fun3runEv", "at::Fun::run"),
        ("_ZL5localv", "local"),
        ("void at::native::scale<float, 4>(float*, int)", "at::native::scale"),
        ("_Z", "_Z"),
        ("_Z99short", "_Z99short"),
        ("_ZN2at", "at"),
        ("a name (with marks)", "a name (with marks)"),
        ("x" * 20 + "y" * 20 + "z" * 20, "x" * 11 + ".." + "y" + "z" * 20),
        ("first::second::third::fourth_is_the_long_one", "..d::third::fourth_is_the_long_one"),
        ("ä" * 40, None),
    ],
)
def test_names(graph: AcuGraph, name: str, shown: str | None) -> None:
    said = graph(text=f'digraph g {{ a [kind="kernel" title="{name}"] }}')
    line = said.splitlines()[-1]
    assert "\ufffd" not in line
    if shown is not None:
        assert re.fullmatch(rf" +1  {re.escape(shown)} +kernel *", line)


def test_a_terminal_has_80_columns(graph: AcuGraph) -> None:
    kinds = "".join(
        f'n{i} [kind="a long kind of node {i}" title="{"long " * 30}" us={i * 12345.678}];' for i in range(30)
    )
    for text in (f"digraph g {{{kinds}}}", f"digraph g {{{kinds.replace('us=', 'detail=')}}}", SAVED, OF_CUDA):
        assert max(len(line) for line in graph("--top", "99", text=text).splitlines()) <= 80
    assert max(len(line) for line in graph("--help").splitlines()) <= 80


def test_nothing(graph: AcuGraph) -> None:
    assert (
        graph(text="digraph { }") == "standard input: 0 nodes\n0 dependencies, 0 steps deep, at most 0 side by side\n"
    )
    assert ElementTree.fromstring(graph("--svg", "-", text="digraph { }")) is not None


# ---- the picture ----

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Box:
    id: str
    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        apart = self.x + self.width <= other.x or other.x + other.width <= self.x
        return not (apart or self.y + self.height <= other.y or other.y + other.height <= self.y)

    def contains(self, other: Box) -> bool:
        across = self.x <= other.x and other.x + other.width <= self.x + self.width
        return across and self.y <= other.y and other.y + other.height <= self.y + self.height


def numbers(text: str | None) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text or "")]


def boxes_in(element: ElementTree.Element, x: float = 0, y: float = 0) -> list[Box]:
    """The boxes of all nodes, where they are in the whole picture."""
    found: list[Box] = []
    for one in element:
        if one.tag == f"{SVG}g" and one.get("transform"):
            dx, dy = numbers(one.get("transform"))
            found += boxes_in(one, x + dx, y + dy)
        elif one.tag == f"{SVG}g":
            title, rect = one.find(f"{SVG}title"), one.find(f"{SVG}rect")
            assert title is not None and rect is not None
            at = [float(rect.get(name, "")) for name in ("x", "y", "width", "height")]
            found.append(Box((title.text or "").split(":")[0], at[0] + x, at[1] + y, at[2], at[3]))
    return found


def drawn(graph: AcuGraph, text: str) -> tuple[ElementTree.Element, dict[str, Box]]:
    picture = ElementTree.fromstring(graph("--svg", "-", text=text))
    found = boxes_in(picture)
    assert len({box.id for box in found}) == len(found)
    left, top, width, height = numbers(picture.get("viewBox"))
    assert all(Box("", left, top, width, height).contains(box) for box in found)
    return picture, {box.id: box for box in found}


def test_picture(graph: AcuGraph) -> None:
    picture, boxes = drawn(graph, SAVED)
    assert sorted(boxes) == ["n0", "n1", "n2", "n3", "n4", "p1n0"]
    assert boxes["n0"].y < boxes["n1"].y < boxes["n3"].y
    assert boxes["n3"].contains(boxes["p1n0"])
    outer = [box for name, box in boxes.items() if name != "p1n0"]
    assert not any(a.overlaps(b) for a in outer for b in outer if a is not b)
    text = "\n".join(picture.itertext())
    assert 'the "best" <one>' in text and "50.0 us" in text and "from 4.00 us to 9.00 us" in text
    assert "a launch 60.0 us; sum of nodes 80.5 us; longest chain (thick) 70.0 us; two events 1.50 us" in text
    paths = [(path.get("class"), numbers(path.get("d"))) for path in picture.iter(f"{SVG}path") if path.get("class")]
    assert sorted(kind or "" for kind, _ in paths) == ["chain", "chain", "edge", "edge early"]
    assert all(at[1] < at[-1] for _, at in paths), "dependencies go down"


TIMED = """digraph g {
  graph [replays=4 together=1 us_whole=90 us_measured=95 us_between=1];
  a [kind="kernel" title="first" us=40 us_begin=0];
  b [kind="kernel" title="second <&>" us=50 us_begin=20];
  c [kind="kernel" title="third" us=30 us_begin=40];
  d [kind="kernel" title="nothing" us=0 us_begin=90];
  e [kind="kernel" title="not timed"];
  a -> c;
}
"""


def test_timeline(graph: AcuGraph) -> None:
    picture = ElementTree.fromstring(graph("--timeline", "-", text=TIMED))
    boxes = {box.id: box for box in boxes_in(picture)}
    assert sorted(boxes) == ["a", "b", "c", "d"]
    every = list(boxes.values())
    assert not any(one.overlaps(other) for i, one in enumerate(every) for other in every[:i])
    assert boxes["a"].y == boxes["c"].y != boxes["b"].y, "what ran at the same time is in lanes of its own"
    assert boxes["a"].width / boxes["b"].width == pytest.approx(0.8, abs=0.01)
    assert boxes["c"].x == pytest.approx(boxes["a"].x + boxes["a"].width, abs=0.1)
    text = "\n".join(picture.itertext())
    assert "4 nodes, independent ones together, medians of 4" in text and "second <&>" in text and "80.0 us" in text
    assert graph("--timeline", "time.svg", "graph.dot", status=FAILED).startswith("acu-graph: graph.dot has no times")
    assert not (graph.folder / "time.svg").exists()


def test_picture_in_a_file(graph: AcuGraph) -> None:
    assert graph("--svg", "graph.svg", "graph.dot") == ""
    said = (graph.folder / "graph.svg").read_text()
    assert ">graph.dot<" in said and said.replace(">graph.dot<", ">standard input<") == graph("--svg=-", text=SAVED)


def test_colors_are_colors(graph: AcuGraph) -> None:
    """What a file says goes into the picture as text only."""
    text = 'digraph g { a [title="</text><script>" color="#12345\' onload=\'x" fillcolor="url(#x)" kind="&"] }'
    picture = graph("--svg", "-", text=text)
    assert "<script>" not in picture and "onload" not in picture and "url(#x)" not in picture
    assert ElementTree.fromstring(picture) is not None


def random_graph(chance: random.Random) -> tuple[str, list[tuple[int, int]]]:
    count = chance.randint(1, 60)
    nodes = "".join(f'n{i} [kind="kernel" title="{"k" * chance.randint(1, 40)}" us={i}];\n' for i in range(count))
    edges = [(a, b) for a in range(count) for b in range(a + 1, count) if chance.random() < 2 / count]
    chance.shuffle(edges)
    return "digraph g {\n" + nodes + "".join(f"n{a} -> n{b};\n" for a, b in edges) + "}\n", edges


@pytest.mark.parametrize("seed", range(12))
def test_any_graph(graph: AcuGraph, seed: int) -> None:
    text, edges = random_graph(random.Random(seed))
    _, boxes = drawn(graph, text)
    every = list(boxes.values())
    assert not any(a.overlaps(b) for i, a in enumerate(every) for b in every[:i])
    assert all(boxes[f"n{a}"].y + boxes[f"n{a}"].height < boxes[f"n{b}"].y for a, b in edges)


def test_cycles_and_odd_edges(graph: AcuGraph) -> None:
    """Graphs of CUDA have none of this, but files may."""
    text = "digraph g { a -> b -> c -> a; b -> b; a -> c:port:ne [label=x]; subgraph cluster_1 { d -> a } }"
    _, boxes = drawn(graph, text)
    assert sorted(boxes) == ["a", "b", "c", "d"]
    assert "5 nodes" not in graph(text=text)


def test_graphs_in_graphs(graph: AcuGraph) -> None:
    text = "digraph g { a; " + "".join(
        f'subgraph cluster_{i} {{ graph [within="n{i - 1}" label="{i}"]; n{i}; ' for i in range(1, 50)
    )
    _, boxes = drawn(graph, text + "}" * 50)
    assert len(boxes) == 50
    assert "60 deep" in graph(text="digraph g " + "{" * 70, status=FAILED)
    itself = 'digraph g { subgraph cluster_1 { graph [within="b"]; b; } subgraph cluster_2 { graph [within="c"] d } c }'
    assert sorted(drawn(graph, itself)[1]) == ["b", "c", "d"]


def test_large_graphs(graph: AcuGraph) -> None:
    count = 1000
    nodes = "".join(f'n{i} [kind="kernel" title="k{i}" us={i % 7}];\n' for i in range(count))
    row = "".join(f"n{i} -> n{i + 1};\n" for i in range(count - 1))
    far = "".join(f"n{i} -> n{count - 1 - i};\n" for i in range(0, count // 2, 10))
    _, boxes = drawn(graph, "digraph g {\n" + nodes + row + far + "}\n")
    assert len(boxes) == count


# ---- what is wrong ----


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: this is no graph"),
        ("\n\nhello", "line 3: this is no graph"),
        ("digraph g {", "'}' is missing"),
        ('digraph g {\n a [label="x]; }', "line 2: a text has no end"),
        ("digraph g { a [label=<b<c>] }", "a text has no end"),
        ("digraph g { a [=] }", "a name is missing"),
        ("digraph g { a -> { b c } }", "leads to a subgraph"),
        ("digraph g { { b c } -> a }", "begins at a subgraph"),
        ("digraph g { } x", "more behind the graph"),
    ],
)
def test_no_graph(graph: AcuGraph, text: str, why: str) -> None:
    said = graph(text=text, status=FAILED)
    assert said.startswith("acu-graph: standard input, line ") and why in said


def test_files(graph: AcuGraph) -> None:
    assert graph("none.dot", status=FAILED) == "acu-graph: cannot read none.dot: No such file or directory\n"
    assert "cannot read" in graph(".", status=FAILED)
    assert "cannot write /none/x.svg: No such" in graph("--svg", "/none/x.svg", "graph.dot", status=FAILED)
    if Path("/dev/full").exists():
        assert "cannot write /dev/full: No space" in graph("--svg", "/dev/full", "graph.dot", status=FAILED)
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [graph.program, graph.folder / "graph.dot"],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                env={"ASAN_OPTIONS": "detect_leaks=0"},
            )
        assert done.returncode == FAILED and b"cannot write standard output" in done.stderr


def test_arguments(graph: AcuGraph) -> None:
    assert "unknown argument: --what" in graph("--what", status=USAGE)
    assert "unknown argument: --svgs" in graph("--svgs", status=USAGE)
    assert "--svg needs a file" in graph("--svg", status=USAGE)
    assert "--timeline needs a file" in graph("--timeline=", status=USAGE)
    assert "exclude each other" in graph("--svg", "a", "--timeline", "b", status=USAGE)
    assert "--top needs a number, not x" in graph("--top", "x", status=USAGE)
    assert "--top needs a number, not -1" in graph("--top=-1", status=USAGE)
    assert "only one file can be shown, not also b" in graph("a", "b", status=USAGE)


def test_random_bytes(graph: AcuGraph) -> None:
    """No file makes the program crash, and what is drawn is well-formed."""
    chance = random.Random(17)
    signs = b'{}[]"\\<>;=-> \n#/*:,ansubgraph' + bytes(range(0, 256, 37))
    for text in [SAVED, OF_CUDA, TIMED, random_graph(chance)[0]] * 15:
        data = bytearray(text.encode())
        for _ in range(chance.randint(1, 12)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.choice(signs)
                case 1:
                    del data[at : at + chance.randint(1, 30)]
                case 2:
                    data[at:at] = bytes(chance.choice(signs) for _ in range(chance.randint(1, 4)))
                case _:
                    data[at:at] = data[at // 2 : at // 2 + chance.randint(1, 60)]
            data = data or bytearray(b"digraph")
        done = graph.run(chance.choice(("--svg", "--timeline")), "-", text=bytes(data))
        assert done.returncode in (DONE, FAILED), (done.returncode, done.stderr, bytes(data))
        if done.returncode == DONE:
            ElementTree.fromstring(done.stdout)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"a\xc3", "a\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),  # half of a pair of UTF-16
        (b"\xf4\x90\x80\x80", "\ufffd" * 4),  # beyond Unicode
        (b"\xc0\xaf\xe0\x80\xaf", "\ufffd" * 5),  # longer than need be
        (b"\xef\xbf\xbf", "\ufffd" * 3),  # no character of XML
        ("ä€😀".encode(), "ä€😀"),
        (b"\x01\x7f", " \x7f"),
    ],
)
def test_what_is_no_text_is_marked(graph: AcuGraph, name: bytes, shown: str) -> None:
    """A browser shows nothing at all of a picture that is no XML."""
    done = graph.run("--svg", "-", text=b'digraph g { a [kind="kernel" title="' + name + b'"] }')
    assert done.returncode == DONE
    assert f"{shown}" in "\n".join(ElementTree.fromstring(done.stdout).itertext())


# ---- what belongs to it ----


def test_help_and_manual_say_the_same(graph: AcuGraph) -> None:
    said = graph("--help")
    manual = (SOURCES / "acu-graph.1").read_text()
    assert graph("-h") == said and graph("--version") == "acu-graph 1\n"
    options = re.findall(r"^  (?:-h, )?(--\w+)", said, re.MULTILINE)
    assert [f"--{name}" for name in re.findall(r"^\.It Fl (?:h , )?-(\w+)", manual, re.MULTILINE)] == options
    assert re.findall(r"^\.It (\d)$", manual, re.MULTILINE) == re.findall(r"^  (\d)  ", said, re.MULTILINE)


def test_manual_is_well_formed() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("there is no groff here")
    done = subprocess.run(
        [groff, "-mdoc", "-Tascii", "-ww", SOURCES / "acu-graph.1"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    if "can't open" in done.stderr or "cannot load" in done.stderr:
        pytest.skip("groff has no -mdoc here")
    assert done.stderr == ""


PROGRAM = r"""
#include <anycuda/anycuda.h>
#include <stdio.h>

static void tick(void *data) {
    (void)data;
}

static acu_result draw(void) {
    const float one = 1;
    acu_node first, second;
    acu_graph *child = NULL;
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *inner = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, 8, &x));
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(acu_graph_create(&inner));
    ACU_TRY(acu_graph_add_empty(inner, NULL, 0, NULL));
    ACU_TRY(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_F32, &one, .width = ACU_REST}, &first));
    ACU_TRY(acu_node_set_name(first, "ones"));
    ACU_TRY(acu_graph_add_child(graph, &first, 1, inner, &second));
    ACU_TRY(acu_graph_add_host(graph, &second, 1, (acu_closure){tick, NULL, NULL}, NULL));
    ACU_TRY(acu_graph_profile(graph, stream, NULL));
    ACU_TRY(acu_node_get_child(second, &child));
    return acu_graph_draw(graph, "graph.dot");
}

int main(void) {
    acu_result result = draw();
    puts(result ? acu_last_error_message() : "drawn");
    return result != 0;
}
"""


def test_what_the_library_draws(prefix: Path, tmp_path: Path) -> None:
    """From a graph of a program to a picture, with what was installed."""
    (tmp_path / "program.c").write_text(PROGRAM)
    command = [compiler(), *without_cuda(compiler()), "program.c", f"-I{prefix / 'include'}", "-o", "program"]
    folder = next(prefix.rglob("libanycuda.a")).parent
    libraries = ["-Wl,-u,acu_sim_abi", f"-L{folder}", "-lanycuda_sim", "-lanycuda", "-ldl", "-lpthread", "-lm"]
    subprocess.run([*command, *libraries], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "program"], cwd=tmp_path, check=True, env={"ANYCUDA_CUDART": "sim"})
    run = [prefix / "bin" / "acu-graph"]
    said = subprocess.run([*run, "graph.dot"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert said.startswith("graph.dot: 4 nodes, 1 of them inside others\n2 dependencies, 3 steps deep")
    assert "medians of 10 replays, one node after the other" in said and re.search(r"% . ones +memset", said)
    picture = subprocess.run([*run, "--svg", "-", "graph.dot"], cwd=tmp_path, check=True, capture_output=True).stdout
    assert sorted(box.id for box in boxes_in(ElementTree.fromstring(picture))) == ["n0", "n1", "n2", "p1n0"]
    assert (prefix / "share/man/man1/acu-graph.1").exists()
