"""Every call of the safe layer that may fail is a range for those who listen: ACU_SCOPE() of core/audience.h."""

from __future__ import annotations

import re

import pytest

from tests.structure.test_public_names import ALL
from tools import structure

# Functions whose first statement is another one, and why.
OTHERWISE = {
    "acu_exec_launch": "the fast way is not named, and the other one names it",
    "acu_launch_args": "as above",
    "acu_launch_sized": "as above",
}
NOT_NAMED = ("acu_range_", "acu_domain_")  # they tell of ranges themselves


def bodies() -> dict[str, str]:
    """The functions of src/safe/ that return acu_result, and their first statements."""
    text = "".join(path.read_text() for path in sorted((structure.ROOT / "src/safe").rglob("*.c")))
    return dict(re.findall(r"\bacu_result\s+(acu_\w+)\([^;{]*\) \{\n\s*([^\n]*)", text))


def test_calls_are_named() -> None:
    first = bodies()
    named = {one.name for one in ALL if one.result == "acu_result" and one.name in first}
    assert len(named) > 350
    wrong = [
        f"{name}() does not begin with ACU_SCOPE();"
        for name in sorted(named - OTHERWISE.keys())
        if not name.startswith(NOT_NAMED) and not first[name].startswith("ACU_SCOPE")
    ]
    wrong += [
        f"{name}() tells of ranges, and must not be one"
        for name in sorted(named)
        if name.startswith(NOT_NAMED) and first[name].startswith("ACU_SCOPE")
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
