"""Builds the programs of own/ with nvcc, each into a folder of its own: OUT/own_NAME/program.

    tests/ptx_corpus/build.py OUT [--nvcc NVCC] [--options OPTIONS]

They are linked with the shared libcudart, and carry PTX alone, or what OPTIONS say (`--options='-arch=sm_90 -G'`). A
line `// options: …` in a program replaces the architecture, and OPTIONS. A folder of own/ is a program of several
files, the first of which is main.cu. What is newer than its sources is left as it is. Exits with 1 if one does not
compile, and with 77 where there is no nvcc.
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


def command(nvcc: str, sources: list[Path], program: Path, otherwise: str = ARCHITECTURE) -> list[str]:
    found = OPTIONS.search(sources[0].read_text())
    options = (found.group(1) if found else otherwise).split()
    files = [str(source) for source in sources]
    return [nvcc, "-cudart", "shared", "-std=c++17", "--extended-lambda", *options, *files, "-o", str(program)]


def programs() -> dict[str, list[Path]]:
    """The sources of each program."""
    found = {source.stem: [source] for source in OWN.glob("*.cu")}
    found |= {
        main.parent.name: [main, *sorted(set(main.parent.glob("*.cu")) - {main})] for main in OWN.glob("*/main.cu")
    }
    return dict(sorted(found.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--options", default=ARCHITECTURE, help="nvcc's options, as the architecture")
    options = parser.parse_args()
    if not shutil.which(options.nvcc):
        print(f"there is no nvcc ({options.nvcc}): the programs of {OWN} cannot be built", file=sys.stderr)
        return 77
    failed = 0
    headers = list(OWN.rglob("*.h"))
    for name, sources in programs().items():
        program = options.out / f"own_{name}" / "program"
        newest = max(file.stat().st_mtime for file in sources + headers)
        if program.exists() and program.stat().st_mtime > newest:
            continue
        program.parent.mkdir(parents=True, exist_ok=True)
        built = subprocess.run(
            command(options.nvcc, sources, program, options.options), check=False, capture_output=True, text=True
        )
        print(f"{name}: {'built' if built.returncode == 0 else 'does not compile'}", flush=True)
        if built.returncode:
            print(built.stderr, file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
