"""Text files of the repository: UTF-8 in every locale, and replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    """A reader, or a run that is killed, finds the old text or the new one, never a part."""
    data = text.encode("utf-8")
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        if path.exists():
            new.chmod(path.stat().st_mode & 0o777)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
