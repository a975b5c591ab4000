"""Makes data that HeCBench does not have, for the programs of programs.yaml that read it: OUT/hec_NAME/FILE.

    tests/ptx_corpus/data.py OUT

It is the same each time, so that what a GPU printed stays comparable.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

Files = dict[str, dict[str, str | bytes]]


def lines(values: Iterable[object]) -> str:
    return "".join(f"{value}\n" for value in values)


def grids(r: random.Random, count: int) -> tuple[str, str]:
    """Temperatures and powers."""
    temperature = lines(f"{320 + r.random() * 10:.6f}" for _ in range(count))
    return temperature, lines(f"{r.random() * 0.01:.6f}" for _ in range(count))


def graph(r: random.Random, nodes: int) -> str:
    """First edge and count of each node, the source, and the edges with their costs."""
    edges = [[r.randrange(nodes) for _ in range(r.randrange(2, 9))] for _ in range(nodes)]
    text, at = f"{nodes}\n", 0
    for node in edges:
        text += f"{at} {len(node)}\n"
        at += len(node)
    return text + f"\n0\n\n{at}\n" + lines(f"{edge} 1" for node in edges for edge in node)


def first() -> Files:
    r = random.Random(1)
    hot, power = grids(r, 64 * 64)
    hot3, power3 = grids(r, 64 * 64 * 8)
    tree = graph(r, 4096)
    points = lines(f"{i} " + " ".join(f"{r.random() * 10:.3f}" for _ in range(34)) for i in range(1024))
    words = " ".join(r.choice([f"w{i}" for i in range(50)]) for _ in range(3000))
    return {
        "hotspot": {"temp_64": hot, "power_64": power},
        "hotspot3D": {"temp_64x8": hot3, "power_64x8": power3},
        "bfs": {"graph4096.txt": tree},
        "kmeans": {"kdd": points},
        "word2vec": {"text8": words},
    }


def joined(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def egr(r: random.Random, nodes: int, degree: int) -> bytes:
    """A graph without directions in the binary form of ECL: first edges, edges and weights."""
    near: list[set[int]] = [set() for _ in range(nodes)]
    for node in range(nodes):
        for _ in range(r.randrange(1, degree)):
            other = r.randrange(nodes)
            if other != node:
                near[node].add(other)
                near[other].add(node)
    first, edges = [0], []
    for of in near:
        edges += sorted(of)
        first.append(len(edges))
    weights = [1 + (i * 7919) % 50 for i in range(len(edges))]
    words = [nodes, len(edges), *first, *edges, *weights]
    return struct.pack(f"<{len(words)}i", *words)


def bmp(r: random.Random, width: int, height: int) -> bytes:
    """A picture of 24 bits, at random."""
    pixels = bytes(r.randrange(256) for _ in range(width * height * 3))
    header = struct.pack("<HIHHI", 0x4D42, 54 + len(pixels), 0, 0, 54)
    return header + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(pixels), 2835, 2835, 0, 0) + pixels


def ppm() -> bytes:
    """A picture with slopes and patterns."""
    return b"P6\n64 64\n255\n" + bytes(
        (x * 3 + y * 5 + (x * y) % 17 + c * 40) % 256 for y in range(64) for x in range(64) for c in range(3)
    )


def fasta(r: random.Random, letter: str, low: int, high: int) -> str:
    """Proteins."""
    return "".join(
        f">{letter}{i}\n" + "".join(r.choice("ARNDCQEGHILKMFPSTWYV") for _ in range(r.randrange(low, high))) + "\n"
        for i in range(64)
    )


def reads(r: random.Random) -> str:
    """Copies of 20 sequences, each with errors of its own."""
    base = ["".join(r.choice("ACGT") for _ in range(300)) for _ in range(20)]
    return "".join(
        f">s{i}\n" + "".join(c if r.random() > 0.03 else r.choice("ACGT") for c in base[i % 20]) + "\n"
        for i in range(100)
    )


def mesh(r: random.Random, cells: int) -> str:
    """Each cell's area, and its four neighbours with their normals."""
    text = f"{cells}\n"
    for cell in range(cells):
        text += f"{r.uniform(0.5, 1):.5f} " + joined(
            f"{(cell + step) % cells + 1} " + joined(f"{r.uniform(-0.1, 0.1):.5f}" for _ in range(3))
            for step in (1, -1, 7, -7)
        )
        text += "\n"
    return text


def matrix(r: random.Random, rows: int, entries: set[tuple[int, int]], low: float, high: float, lower: bool) -> str:
    """A sparse matrix in the form of Matrix Market; of a lower triangle the diagonal is 2."""
    text = f"%%MatrixMarket matrix coordinate real general\n{rows} {rows} {len(entries)}\n"
    for i, j in sorted(entries, key=lambda at: (at[1], at[0])):
        text += f"{i} {j} {2.0 if lower and i == j else r.uniform(low, high):.4f}\n"
    return text


def storms(r: random.Random) -> str:
    """Records of 48 letters: date, name, latitude and longitude."""
    records = []
    for i in range(500):
        date = f"{r.randrange(1950, 2000)} {r.randrange(1, 13):2d} {r.randrange(1, 29):2d} {r.randrange(0, 24):2d}"
        start = f"{date} {i:4d} STORM{i % 26:03d}  "[:28].ljust(28)
        records.append(f"{start}{r.uniform(5, 60):5.1f}{r.uniform(10, 99):5.1f} 100 1000"[:48].ljust(48))
    return lines(records)


def second() -> Files:
    """The order of these is that of the random numbers."""
    r = random.Random(7)
    files: Files = {}

    def put(name: str, file: str, content: str | bytes) -> None:
        files.setdefault(name, {})[file] = content

    put(
        "svd3x3", "data.txt", "1024\n" + lines(joined(f"{r.uniform(-1, 1):.6f}" for _ in range(9)) for _ in range(1024))
    )
    words = ["the", "kernel", "clEnqueueNDRangeKernel", "and", "queue", "clEnqueue"]
    put("ss", "text.txt", joined(r.choice(words) for _ in range(2000)))
    put("d2q9-bgk", "small.params", "64\n64\n20\n10\n0.1\n0.005\n1.85\n")
    put("d2q9-bgk", "obst.dat", lines(f"{x} {y} 1" for x in range(64) for y in (0, 63)))
    put("floydwarshall2", "graph.egr", egr(r, 200, 5))
    put("b+tree", "mil.txt", "10000\n" + lines(r.sample(range(1, 20000), 10000)))
    put("b+tree", "command.txt", "j 1000 100\nk 1000\n")
    for name in ("aes", "urng", "sobel"):
        put(name, "image.bmp", bmp(r, 64, 64))
    for name in ("medianfilter", "recursiveGaussian"):
        put(name, "image.ppm", ppm())
    put("bsw", "ref.fasta", fasta(r, "r", 60, 120))
    put("bsw", "query.fasta", fasta(r, "q", 40, 60))
    put("deredundancy", "reads.fasta", reads(r))
    put("cfd", "mesh", mesh(r, 960))
    put("gibbs", "data.csv", lines(f"{r.randrange(0, 40)} {r.uniform(1, 100):.3f}" for _ in range(500)))
    put(
        "ge-spmm",
        "m.mtx",
        matrix(r, 512, {(i, r.randrange(1, 513)) for i in range(1, 513) for _ in range(6)}, 0.1, 1, False),
    )
    under = {(i, j) for i in range(1, 401) for j in [i] + [r.randrange(1, i + 1) for _ in range(4)]}
    put("sptrsv", "l.mtx", matrix(r, 400, under, 0.1, 0.5, True))
    events = (",".join(f"{r.gauss(r.choice([0, 10]), 1):.4f}" for _ in range(4)) for _ in range(512))
    put("gmm", "events.csv", "a,b,c,d\n" + lines(events))
    put("nn", "a.db", storms(r))
    put("nn", "list.txt", "a.db\n")
    rows = (
        f"{r.choice([1, -1])} " + joined(f"{j}:{r.uniform(-1, 1):.4f}" for j in sorted(r.sample(range(1, 51), 12)))
        for _ in range(200)
    )
    put("gd", "data.svm", lines(rows))
    return files


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for name, files in [*first().items(), *second().items()]:
        for file, content in files.items():
            place = Path(sys.argv[1]) / f"hec_{name}" / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
