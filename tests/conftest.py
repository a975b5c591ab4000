"""Sums up what single tests count, so that the figures stand at the end of the run."""

from __future__ import annotations

from collections import Counter
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A test says `record_property("count: layout assertions", 1234)`; properties reach us from workers too."""
    totals: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name.startswith("count: "):
                totals[name.removeprefix("count: ")] += value
    for name, total in sorted(totals.items()):
        terminalreporter.write_line(f"{total:,} {name}")
