"""Builds the programs of own/ with nvcc, each into a folder of its own: OUT/own_NAME/program.

    tests/ptx_corpus/build.py OUT [--nvcc NVCC]

They are linked with the shared libcudart, and carry PTX alone. A line `// options: …` in a program replaces the
architecture. What is newer than its sources is left as it is. Exits with 1 if one does not compile, and with 77 where
there is no nvcc.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

OWN = Path(__file__).with_name("own")
OPTIONS = re.compile(r"^// options: (.*)$", re.M)
ARCHITECTURE = "-arch=compute_80 -code=compute_80"


def command(nvcc: str, source: Path, program: Path) -> list[str]:
    found = OPTIONS.search(source.read_text())
    options = (found.group(1) if found else ARCHITECTURE).split()
    return [nvcc, "-cudart", "shared", "-std=c++17", "--extended-lambda", *options, str(source), "-o", str(program)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    options = parser.parse_args()
    if not shutil.which(options.nvcc):
        print(f"there is no nvcc ({options.nvcc}): the programs of {OWN} cannot be built", file=sys.stderr)
        return 77
    failed = 0
    shared = (OWN / "check.h").stat().st_mtime
    for source in sorted(OWN.glob("*.cu")):
        program = options.out / f"own_{source.stem}" / "program"
        if program.exists() and program.stat().st_mtime > max(source.stat().st_mtime, shared):
            continue
        program.parent.mkdir(parents=True, exist_ok=True)
        built = subprocess.run(command(options.nvcc, source, program), check=False, capture_output=True, text=True)
        print(f"{source.stem}: {'built' if built.returncode == 0 else 'does not compile'}", flush=True)
        if built.returncode:
            print(built.stderr, file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
