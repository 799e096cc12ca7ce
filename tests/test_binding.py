from io import BytesIO

import pytest
from made_leaves import BASE, leaf
from pypdf import PdfReader
from pypdf.generic import NullObject

from bn_memorization import binding

ABOUT = {"/Title": "A title", "/MadeFrom": "mark"}


def bound(*leaves, contents=None):
    contents = contents or [(0, one.name) for one in leaves]
    return PdfReader(BytesIO(binding.bind(leaves, contents, BASE, ABOUT)))


def links_of(reader, number=0):
    """Return what the links of a sheet lead to: an address, or (sheet, top)."""
    sheets = {page.indirect_reference.idnum: n for n, page in enumerate(reader.pages)}
    found = []
    for link in (entry.get_object() for entry in reader.pages[number].get("/Annots", [])):
        if "/A" in link:
            found.append(link["/A"]["/URI"])
        else:
            sheet, _, _, top, *_ = link["/Dest"]
            at = None if isinstance(top, NullObject) else float(top)
            found.append((sheets[sheet.idnum], at))
    return found


def outline_of(reader, entries=None):
    """Return the outline: (title, sheet, what is below it)."""
    found = []
    for entry in reader.outline if entries is None else entries:
        if isinstance(entry, list):
            found[-1] = (*found[-1][:2], outline_of(reader, entry))
        else:
            found.append((entry.title, reader.get_destination_page_number(entry), []))
    return found


def test_sheets_come_in_order_each_once():
    reader = bound(leaf("a", 2), leaf("b", 3, links=["#x"], anchors={"x": (2, 700)}))
    drawn = [page.get_contents().get_data().decode() for page in reader.pages]
    assert [text.split("% ")[1].split("\n")[0] for text in drawn] == [
        "a 0", "a 1", "b 0", "b 1", "b 2",
    ]  # fmt: skip


def test_a_link_leads_to_the_place_in_the_joined_document():
    first = leaf(
        "book/a",
        2,
        links=[
            "#here",
            f"{BASE}book/b.html#there",
            f"{BASE}book/b.html",
            f"{BASE}book/b.html#unknown",
            f"{BASE}book/with%20blank.html#a%20b",
            "https://example.org/x",
            "mailto:someone@example.org",
        ],
        anchors={"here": (1, 300)},
    )
    second = leaf("book/b", 3, anchors={"there": (2, 700), "here": (0, 111)})
    third = leaf("book/with blank", anchors={"a%20b": (0, 55)})
    assert links_of(bound(first, second, third)) == [
        (1, 300.0),  # its own, though another page has an anchor of that name
        (4, 700.0),
        (2, None),
        (2, None),
        (5, 55.0),
        "https://example.org/x",
        "mailto:someone@example.org",
    ]


@pytest.mark.parametrize(
    "address",
    [f"{BASE}genindex.html", f"{BASE}_sources/book/a.md", "file:///etc/hosts", "javascript:x()"],
)
def test_a_link_to_what_is_not_in_the_document_becomes_plain(address):
    assert links_of(bound(leaf("book/a", links=[address]))) == []


def test_outline_has_parts_pages_and_headings():
    leaves = [
        leaf("front", 2),
        leaf("a", 1),
        leaf("b", 2, headings=[("One", "one"), ("Two", "two")], anchors={"two": (1, 5)}),
        leaf("c", 1),
    ]
    contents = [(0, "front"), (0, "A part"), (1, "a"), (1, "b"), (2, "c"), (0, "Later"), (1, "a")]
    heads = [("One", 3, []), ("Two", 4, []), ("Title of c", 5, [])]
    assert outline_of(bound(*leaves, contents=contents)) == [
        ("Title of front", 0, []),
        ("A part", 2, [("Title of a", 2, []), ("Title of b", 3, heads)]),
        ("Later", 2, [("Title of a", 2, [])]),
    ]


def test_numbers_stand_on_all_sheets_but_the_first():
    reader = bound(leaf("a", 9), leaf("b", 2))
    assert [page.extract_text().strip() for page in reader.pages] == [
        "", *(str(number) for number in range(2, 12)),
    ]  # fmt: skip


def test_page_numbers_are_those_of_the_document():
    leaves = [leaf("a", 2), leaf("b", 3), leaf("c")]
    assert binding.page_numbers(leaves) == {"a": 1, "b": 3, "c": 6}
    assert [binding.page_count(one) for one in leaves] == [2, 3, 1]


def test_the_same_pages_make_the_same_bytes_without_a_date():
    def bytes_of():
        leaves = [leaf("a", 2, links=["#x"], anchors={"x": (1, 1)}), leaf("b")]
        return binding.bind(leaves, [(0, "a"), (0, "b")], BASE, ABOUT)

    assert bytes_of() == bytes_of()
    said = PdfReader(BytesIO(bytes_of())).metadata
    assert {name: said[name] for name in ABOUT} == ABOUT
    assert not [name for name in said if "Date" in name]
