"""How to cite the book and the paper: BibTeX entries from CITATION.cff."""

from collections.abc import Mapping, Sequence

import yaml

from bn_memorization import paths

PREPRINT = "arXiv:"


def citation() -> dict[str, object]:
    """Return what CITATION.cff says."""
    return yaml.safe_load((paths.root() / "CITATION.cff").read_text())


def authors(people: Sequence[Mapping[str, str]]) -> list[str]:
    """Return names as a bibliography has them: a group's as it is, a person's family name first."""
    named = []
    for person in people:
        parts = [person[key] for key in ("family-names", "given-names") if key in person]
        named.append(person.get("name") or ", ".join(parts))
    return named


def of_book() -> str:
    """Return the BibTeX entry of this book."""
    cited = citation()
    names = authors(cited["authors"])
    fields = {
        # The inner braces keep a group's name in one piece.
        "author": " and ".join(f"{{{name}}}" if "," not in name else name for name in names),
        "title": f"{{{cited['title']}}}",
        "version": cited["version"],
        "note": str(cited["type"]).capitalize(),
    }
    return _entry("misc", "bn_memorization", fields)


def of_paper() -> str:
    """Return the BibTeX entry of the paper."""
    (paper,) = citation()["references"]
    (number,) = (
        known["value"].removeprefix(PREPRINT)
        for known in paper["identifiers"]
        if known["value"].startswith(PREPRINT)
    )
    names = authors(paper["authors"])
    fields = {
        "author": " and ".join(names),
        "title": f"{{{paper['title']}}}",
        "year": paper["year"],
        "eprint": number,
        "archiveprefix": "arXiv",
    }
    first = names[0].partition(",")[0].lower()
    word = paper["title"].partition(" ")[0].lower()
    return _entry("misc", f"{first}{paper['year']}{word}", fields)


def _entry(kind: str, key: str, fields: Mapping[str, object]) -> str:
    # A bare underscore is an error in LaTeX.
    texts = {name: str(value).replace("_", r"\_") for name, value in fields.items()}
    lines = [f"  {name} = {{{text}}}," for name, text in texts.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def both() -> str:
    """Return both entries as Markdown, each in a box that can be copied."""
    told = ("This book:", of_book()), ("The paper:", of_paper())
    return "\n\n".join(f"{name}\n\n```bibtex\n{entry}\n```" for name, entry in told)
