"""The book's style sheet: where a rule is not closed, a browser drops the next and says nothing."""

import re

from checkouts import REPOSITORY

STYLE = (REPOSITORY / "book" / "_static" / "custom.css").read_text()


def depths(text: str) -> list[tuple[int, str]]:
    """Return each line that begins at the margin, with how many rules are open before it."""
    found, depth = [], 0
    for line in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines():
        if line and line[0] not in " }":
            found.append((depth, line))
        depth += line.count("{") - line.count("}")
    return [*found, (depth, "the end")]


def test_every_rule_is_closed_before_the_next():
    assert [line for depth, line in depths(STYLE) if depth] == []
    assert depths("a {\n\nb {\n}\n") == [(0, "a {"), (1, "b {"), (1, "the end")]
