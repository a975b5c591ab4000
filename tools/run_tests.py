"""Runs ctest and pytest, both whatever the other does, and ends with one count for both.

A cmocka program counts with each of its cases, any other ctest test as one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: list[str] = field(default_factory=list)

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reasons += other.reasons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the build folder whose tests ctest runs")
    options = parser.parse_args()
    total = Count()
    with tempfile.TemporaryDirectory() as folder:
        jobs = str(len(os.sched_getaffinity(0)))
        report = Path(folder) / "ctest.xml"
        # Passed tests' output is kept whole, since cmocka's counts stand at its end.
        command = ["ctest", "--test-dir", str(options.build), "--output-on-failure", "--parallel", jobs]
        command += ["--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000"]
        if "ANYCUDA_TEST_ALL" not in os.environ:
            total.reasons += _left_out(options.build)
            command += ["--label-exclude", "^long$"]
        code = subprocess.run([*command, "--output-junit", str(report)], check=False).returncode
        total.add(_suite("ctest", code, report))
        report = Path(folder) / "pytest.xml"
        command = [sys.executable, "-m", "pytest", "-n", jobs, "--dist=loadscope", "--no-loadscope-reorder"]
        command += [f"--junit-xml={report}"]
        built = {**os.environ, "ANYCUDA_BUILT": str(options.build.resolve())}  # they need no build of their own
        code = subprocess.run(command, check=False, env=built).returncode
        total.add(_suite("pytest", code, report))
    if total.reasons:
        print("\nSkipped:")
        for reason in sorted(set(total.reasons)):
            print(f"  {reason}")
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


def _left_out(build: Path) -> list[str]:
    """Returns how many tests of ctest are left out because they take long, as a reason."""
    command = ["ctest", "--test-dir", str(build), "--show-only", "--label-regex", "^long$"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    count = len(re.findall(r"^ *Test +#", listed, re.MULTILINE))
    return [f"{count} C tests that take long: `make test-all` runs them"] if count else []


def _suite(name: str, code: int, report: Path) -> Count:
    count = Count()
    for case in _cases(report):
        count.add(_case(case))
    if code != 0 and not count.failed:
        # It failed without a failing test: it crashed, or it found no tests at all.
        print(f"{name} itself failed (exit status {code}); it counts as one failure", file=sys.stderr)
        count.failed += 1
    return count


def _cases(report: Path) -> Iterator[ElementTree.Element]:
    if report.exists():
        yield from ElementTree.parse(report).getroot().iter("testcase")


def _case(case: ElementTree.Element) -> Count:
    name = case.get("classname", "") + "::" + case.get("name", "")
    failed = case.find("failure") is not None or case.find("error") is not None
    skipped = case.find("skipped")
    output = case.findtext("system-out") or ""
    inner = _cmocka(output)
    if inner.passed + inner.failed + inner.skipped:
        # A program may also fail outside its cases: a sanitizer's report, a crash at exit.
        inner.failed += int(failed and not inner.failed)
        return inner
    message = "" if skipped is None else skipped.get("message", "")
    # ctest calls a test "notrun" also when its program is missing, which is a failure.
    if failed or (case.get("status") == "notrun" and not message.startswith("SKIP_")):
        return Count(failed=1)
    if skipped is not None:
        # ctest gives no reason; by custom the test printed it last.
        reason = _last_line(output) if message.startswith("SKIP_") else message
        return Count(skipped=1, reasons=[f"{name}: {reason}"])
    return Count(passed=1)


def _cmocka(output: str) -> Count:
    """Adds up the summaries that cmocka prints after each group of tests."""

    def cases(word: str) -> int:
        return sum(int(number) for number in re.findall(rf"\[ +{word} +\] (\d+) test\(s\)", output))

    # What a case printed before it skipped itself is its reason.
    skips = re.findall(r"\[ RUN +\] (\S+)\n((?:(?!\[ ).*\n)*)\[ +SKIPPED +\] \1", output)
    reasons = [f"{name}: {_last_line(output) or 'it gave no reason'}" for name, output in skips]
    return Count(cases("PASSED"), cases("FAILED"), cases("SKIPPED"), reasons)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


if __name__ == "__main__":
    sys.exit(main())
