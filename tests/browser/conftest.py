"""The built book, served on the loopback interface and visited once in each manner."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml
from chromium import open_browser
from serving import QuietHandler, serve
from visits import Visit, visit_all

TOC = Path(__file__).resolve().parents[2] / "_toc.yml"


def toc_entries(node: object) -> list[str]:
    """Return every document that the table of contents names, in its order."""
    if isinstance(node, list):
        return [entry for child in node for entry in toc_entries(child)]
    if not isinstance(node, dict):
        return []
    own = [node[key] for key in ("root", "file") if key in node]
    below = [node.get(key) for key in ("parts", "chapters", "sections")]
    return own + toc_entries(below)


@pytest.fixture(scope="session")
def names() -> list[str]:
    """Return the documents of the table of contents, as paths without suffix."""
    return toc_entries(yaml.safe_load(TOC.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def site(built_site: Path) -> Path:
    """Return the folder of the built HTML."""
    assert built_site.is_dir(), f"no built book at {built_site}"
    return built_site


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the site on a free port of the loopback interface for as long as tests need it."""
    with serve(partial(QuietHandler, directory=str(site))) as base:
        yield base


@pytest.fixture(scope="session")
def tour(address: str, names: list[str]) -> dict[str, list[Visit]]:
    """Visit every page in a wide light, a wide dark and a narrow window."""
    with open_browser() as browser:
        return {
            "light": visit_all(browser, address, names),
            "dark": visit_all(browser, address, names, scheme="dark"),
            "narrow": visit_all(browser, address, names, width=390),
        }
