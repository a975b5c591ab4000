"""The comments of all public headers say the same thing in the same words: those of <anycuda/stream.h>."""

from __future__ import annotations

import re

import pytest

from tools import structure

HEADERS = structure.ROOT / "include" / "anycuda"
INSTEAD = {
    r"reference up\b": 'a release begins with "Takes an owner away"',
    r"\b(?:handle|module|node) is invalid\b": 'a result for no handle is given "where the handle is not a …"',
    r"(?:^|[.:] |; )ACU_(?:ERROR_\w+|NOT_SUPPORTED) (?:if|while|beyond|for|as|unless)\b": (
        'errors stand after "Errors:", each with "where", "while" or "beyond"'
    ),
}


def comments(text: str) -> list[str]:
    """Returns the text of each documentation comment, in one line."""
    return [re.sub(r"\s*\n\s*\*? ?", " ", found).strip() for found in re.findall(r"/\*\*(.*?)\*/", text, re.DOTALL)]


def wrong_words(comment: str) -> list[str]:
    """Returns what to write instead of each pattern in the comment; what follows "Errors:" is a list."""
    before = re.split(r"\bErrors\b", comment)[0]
    return [
        instead for pattern, instead in INSTEAD.items() if re.search(pattern, before if "ACU_" in pattern else comment)
    ]


def test_comments_have_the_same_words() -> None:
    wrong = [
        f"{header.name}: {comment[:60]}…: {instead}"
        for header in sorted(HEADERS.glob("*.h"))
        for comment in comments(header.read_text())
        for instead in wrong_words(comment)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "comment",
    [
        "Gives one reference up. See acu_stream_release().",
        "Returns the name; NULL if the handle is invalid.",
        "Uploads the exec. ACU_ERROR_CAPTURE if the stream is captured.",
        "Adds a fill; ACU_ERROR_RANGE if the elements do not fit.",
        "Adds an argument. ACU_ERROR_RANGE beyond the last one.",
    ],
)
def test_each_pattern_is_found(comment: str) -> None:
    assert len(wrong_words(comment)) == 1


def test_a_list_of_errors_is_fine() -> None:
    assert not wrong_words("Waits. Errors: CUDA's own; ACU_ERROR_CAPTURE while a stream is captured.")
    assert comments("/** One\n * text. */\n/* no documentation */") == ["One text."]
