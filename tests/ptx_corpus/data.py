"""Makes data that HeCBench does not have, for the programs of programs.yaml that read it: OUT/hec_NAME/FILE.

    tests/ptx_corpus/data.py OUT

It is the same each time, so that what a GPU printed stays comparable.
"""

from __future__ import annotations

import random
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


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for name, files in first().items():
        for file, content in files.items():
            place = Path(sys.argv[1]) / f"hec_{name}" / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
