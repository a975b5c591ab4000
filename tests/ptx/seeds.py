"""Writes what libFuzzer begins with: the PTX of the tests, and a kernel for every few instructions of cells.txt.

python -m tests.ptx.seeds FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.ptx.targets import CELLS, HEAD

AT_A_TIME = 4


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for text in (CELLS.parents[1] / "sim").glob("*.ptx"):
        shutil.copy(text, folder)
    rows = [line.split("\t") for line in CELLS.read_text().splitlines() if not line.startswith("#")]
    instructions = list(dict.fromkeys(row[4] for row in rows if "%q" not in row[4]))
    for first in range(0, len(instructions), AT_A_TIME):
        body = "\n".join(instructions[first : first + AT_A_TIME])
        (folder / f"cells_{first}.ptx").write_text(HEAD.format("9.0", "sm_90a") + body + "\nLABEL: ret;\n}\n")


if __name__ == "__main__":
    main()
