"""Printed pages made without a browser: sheets with links and anchors as Chromium leaves them."""

from io import BytesIO

from pypdf import PdfWriter
from pypdf.annotations import Link
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
)

from bn_memorization.printing import Printed

WIDE, HIGH = 596, 843
BASE = "file:///built/html/"


def leaf(name: str, sheets: int = 1, *, links=(), anchors=None, headings=()) -> Printed:
    """Return a page of some sheets.

    `links` are addresses, or "#anchor", on its first sheet; `anchors` maps names to (sheet, top).
    """
    writer = PdfWriter()
    for number in range(sheets):
        page = writer.add_blank_page(WIDE, HIGH)
        drawn = DecodedStreamObject()
        drawn.set_data(f"% {name} {number}".encode())
        page[NameObject("/Contents")] = writer._add_object(drawn)
    for number, address in enumerate(links):
        link = Link(rect=(10, 10 * number, 90, 10 * number + 9), url=address)
        if address.startswith("#"):
            del link["/A"]
            link[NameObject("/Dest")] = NameObject(f"/{address[1:]}")
        writer.add_annotation(0, link)
    if anchors:
        places = {
            NameObject(f"/{anchor}"): ArrayObject(
                [writer.pages[sheet].indirect_reference, NameObject("/XYZ")]
                + [FloatObject(value) for value in (0, top, 0)]
            )
            for anchor, (sheet, top) in anchors.items()
        }
        writer.root_object[NameObject("/Dests")] = DictionaryObject(places)
    out = BytesIO()
    writer.write(out)
    return Printed(name, out.getvalue(), f"Title of {name}", tuple(headings))
