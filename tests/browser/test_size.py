"""A site that loads quickly, and can be kept anywhere."""

SITE, PAGE = 15_000_000, 3_000_000  # bytes


def sizes(site):
    return {path: path.stat().st_size for path in site.rglob("*") if path.is_file()}


def test_the_whole_site_is_small(site):
    assert sum(sizes(site).values()) <= SITE


def test_a_page_is_small_with_its_pictures(site):
    found = sizes(site)
    pictures = {path.name: size for path, size in found.items() if path.parent.name == "_images"}
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        total = found[path] + sum(size for name, size in pictures.items() if name in text)
        assert total <= PAGE, path.name
    assert pictures  # or the second half of the sum is empty
