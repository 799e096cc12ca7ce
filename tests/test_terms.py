"""The glossary and the marks that lead to it: every entry is used, and marked once on a page."""

import re
from collections import Counter

from checkouts import REPOSITORY

BOOK = REPOSITORY / "book"
GLOSSARY = BOOK / "glossary.md"
MOST = 400  # characters of a definition that is shown beside its term


def entries() -> dict[str, tuple[list[str], str]]:
    """Return {first name: (all names, first paragraph)} of the glossary's entries."""
    body = GLOSSARY.read_text().split("```{glossary}\n")[1].split("```")[0]
    found = {}
    for block in re.split(r"\n\n(?=\S)", body.strip()):
        lines = block.splitlines()
        names = [line for line in lines if not line.startswith(" ")]
        text = "\n".join(lines[len(names) :]).split("\n\n")[0]
        found[names[0]] = names, " ".join(text.split())
    return found


def marks(text: str) -> list[str]:
    """Return the terms that a text marks, as the glossary names them."""
    found = re.findall(r"\{term\}`([^`]+)`", re.sub(r"\n#? *", " ", text))
    return [re.sub(r".*<(.+)>$", r"\1", mark).lower() for mark in found]


def pages() -> dict[str, list[str]]:
    """Return {page: the terms it marks}, without the glossary itself."""
    sources = [*BOOK.glob("*.md"), *(REPOSITORY / "notebooks").glob("*.py")]
    return {path.name: marks(path.read_text()) for path in sources if path != GLOSSARY}


def test_how_marks_are_read():
    text = "a {term}`margin`, {term}`Shadow\n# models <shadow model>` and `{term}`\n"
    assert marks(text) == ["margin", "shadow model"]


def test_every_entry_is_marked_in_the_book():
    marked = {term for found in pages().values() for term in found}
    known = {key: {name.lower() for name in names} for key, (names, _) in entries().items()}
    assert [key for key, names in known.items() if not names & marked] == []


def test_every_chapter_marks_terms_each_at_its_first_use_alone():
    found = pages()
    chapters = [name for name in found if re.match(r"\d", name)]
    assert [name for name in chapters if len(found[name]) < 5] == []
    same = {name.lower(): key for key, (names, _) in entries().items() for name in names}
    twice = {
        page: [term for term, times in Counter(same[term] for term in terms).items() if times > 1]
        for page, terms in found.items()
    }
    # Layers that stand under one entry have a mark each.
    assert {page: terms for page, terms in twice.items() if set(terms) - {"group norm"}} == {}


def test_entries_are_in_order_and_short_enough_to_stand_beside_a_term():
    found = entries()
    assert list(found) == sorted(found, key=str.lower)
    assert {key: text for key, (_, text) in found.items() if not 20 < len(text) <= MOST} == {}
    assert [key for key, (_, text) in found.items() if "$" in text] == []  # formulas do not show
