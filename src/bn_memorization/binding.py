"""Printed pages joined to one PDF: links between them, an outline, page numbers.

Bytes in, bytes out; nothing is read or written, and no date is kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from urllib.parse import unquote

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    Fit,
    IndirectObject,
    NameObject,
)

from bn_memorization.printing import SIDE, Printed

POINTS = 72 / 25.4  # in a millimeter
DIGIT = 0.556  # width of a digit of Helvetica, in its own size
SIZE = 7  # of the page numbers, in points
FOOT = 16.5  # from the edge of the sheet to the line on which Chromium writes its footer, in points

Place = tuple[int, Fit]  # the page, from 0, and the spot on it


@dataclass
class Bound:
    """A document under way: what is in it, where each anchor lies, and links to be set."""

    writer: PdfWriter = field(default_factory=PdfWriter)
    places: dict[str, dict[str, Place]] = field(default_factory=dict)
    links: list[tuple[int, DictionaryObject, str]] = field(default_factory=list)

    def place(self, name: str, anchor: str = "") -> Place:
        """Return where an anchor of a page lies; of one that is not known, where the page begins.

        Raises KeyError for a page that is not in the document.
        """
        known = self.places[name]
        return known.get(anchor, known[""])


def bind(
    leaves: Sequence[Printed],
    contents: Sequence[tuple[int, str]],
    base: str,
    about: Mapping[str, str],
) -> bytes:
    """Return one PDF of all leaves, in their order.

    `contents` is the outline: (level from 0, name of a leaf, or the title of what comes below it).
    A link to `base`NAME.html leads to that leaf; one to another file below `base` becomes plain
    text. `about` goes into the document's information, as it stands.
    """
    bound = Bound()
    for leaf in leaves:
        _add(bound, leaf)
    _set_links(bound, base)
    _number(bound.writer, first=1)
    _outline(bound, contents, {leaf.name: leaf for leaf in leaves})
    return _written(bound.writer, about)


def page_numbers(leaves: Sequence[Printed]) -> dict[str, int]:
    """Return on which page each leaf begins, the first page being 1."""
    numbers, used = {}, 0
    for leaf in leaves:
        numbers[leaf.name] = used + 1
        used += page_count(leaf)
    return numbers


def page_count(leaf: Printed) -> int:
    """Return how many sheets a printed page of the book takes."""
    return len(PdfReader(BytesIO(leaf.pdf)).pages)


def _add(bound: Bound, leaf: Printed) -> None:
    reader = PdfReader(BytesIO(leaf.pdf))
    start = len(bound.writer.pages)
    within = {page.indirect_reference.idnum: n for n, page in enumerate(reader.pages)}
    spots = {
        unquote(name.removeprefix("/")): (
            start + within[spot.raw_get("/Page").idnum],
            _at(spot.top),
        )
        for name, spot in reader.named_destinations.items()
    }
    bound.places[leaf.name] = {**spots, "": (start, _at(None))}
    for number, page in enumerate(reader.pages, start):
        # Links point at pages of their own document, and would bring them in once more.
        for link in page.pop("/Annots", []):
            bound.links.append((number, link.get_object(), leaf.name))
        bound.writer.add_page(page)


def _at(top: float | None) -> Fit:
    return Fit.xyz(left=0, top=top)


def _set_links(bound: Bound, base: str) -> None:
    for number, link, own in bound.links:
        address = link.get("/A", {}).get("/URI", "")
        if "/Dest" in link:
            place = bound.place(own, unquote(str(link["/Dest"]).removeprefix("/")))
        elif address.startswith(base):
            path, _, anchor = address.removeprefix(base).partition("#")
            name = unquote(path).removesuffix(".html")
            if name not in bound.places:
                continue
            place = bound.place(name, unquote(anchor))
        elif address.startswith(("https:", "http:", "mailto:")):
            bound.writer.add_annotation(number, Link(rect=link["/Rect"], url=address))
            continue
        else:
            continue
        page, fit = place
        inside = Link(rect=link["/Rect"], target_page_index=page, fit=fit)
        bound.writer.add_annotation(number, inside)


def _number(writer: PdfWriter, first: int) -> None:
    """Put its number at the foot of every page from index `first` on."""
    font = writer._add_object(_helvetica())
    before = writer._add_object(_stream("q"))
    for index, page in enumerate(writer.pages):
        if index >= first:
            _add_number(writer, page, index + 1, font, before)


def _add_number(
    writer: PdfWriter, page: PageObject, number: int, font: IndirectObject, before: IndirectObject
) -> None:
    text = str(number)
    left = float(page.mediabox.width) - SIDE * POINTS - DIGIT * SIZE * len(text)
    after = _stream(f"Q q 0.35 g BT /Folio {SIZE} Tf {left:.1f} {FOOT} Td ({text}) Tj ET Q")
    drawn = page.raw_get("/Contents")
    # Beside what Chromium drew, not woven into it: that would have every figure parsed.
    page[NameObject("/Contents")] = ArrayObject([before, drawn, writer._add_object(after)])
    resources = DictionaryObject(page["/Resources"].get_object())
    fonts = DictionaryObject(resources.get("/Font", DictionaryObject()).get_object())
    fonts[NameObject("/Folio")] = font
    resources[NameObject("/Font")] = fonts
    page[NameObject("/Resources")] = resources


def _stream(text: str) -> DecodedStreamObject:
    stream = DecodedStreamObject()
    stream.set_data(text.encode())
    return stream


def _helvetica() -> DictionaryObject:
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    return DictionaryObject({NameObject(k): NameObject(v) for k, v in names.items()})


def _outline(
    bound: Bound, contents: Sequence[tuple[int, str]], leaves: Mapping[str, Printed]
) -> None:
    above: list[IndirectObject] = []  # the last entry of each level
    for (level, text), name in zip(contents, _leads(contents, leaves), strict=True):
        del above[level:]
        page, fit = bound.place(name)
        title = leaves[text].title if text in leaves else text
        parent = above[-1] if above else None
        item = bound.writer.add_outline_item(
            title=title, page_number=page, fit=fit, parent=parent, is_open=level == 0
        )
        above.append(item)
        for heading, anchor in leaves[text].headings if text in leaves else ():
            page, fit = bound.place(name, anchor)
            bound.writer.add_outline_item(title=heading, page_number=page, fit=fit, parent=item)


def _leads(contents: Sequence[tuple[int, str]], leaves: Mapping[str, Printed]) -> Iterator[str]:
    """Yield the leaf to which each entry leads; that of a part is the first one below it."""
    for place, (_, text) in enumerate(contents):
        yield text if text in leaves else next(t for _, t in contents[place:] if t in leaves)


def _written(writer: PdfWriter, about: Mapping[str, str]) -> bytes:
    writer.add_metadata(about)
    writer.page_mode = "/UseOutlines"
    writer.compress_identical_objects()  # every leaf brings its own copy of a font
    out = BytesIO()
    writer.write(out)
    return out.getvalue()
