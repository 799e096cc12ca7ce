"""What built pages can do without: more than half of a site's bytes."""

import json
import re
import shutil
from pathlib import Path

# Maps for those who debug the theme, translations of its search, and fonts in a second format.
UNUSED = ("_static/**/*.map", "_static/locales", "_static/vendor/**/*.ttf")
# The theme loads the search and its index on every page, though only the page of results searches
# here. Where they are loaded, the words that were searched for are not marked in the page either.
SEARCH = re.compile(
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)
RESULTS = "search.html"


def slim(html: Path) -> None:
    """Take from a built site what no page of it needs.

    Of a notebook that the pages offer, the sources stay and the outputs go: they stand in the page.
    """
    for pattern in UNUSED:
        for path in html.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    for path in html.rglob("*.html"):
        if path.name != RESULTS:
            path.write_text(SEARCH.sub("", path.read_text()))
    for path in (html / "_sources").rglob("*.ipynb"):
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        path.write_text(json.dumps(notebook, indent=1) + "\n")
