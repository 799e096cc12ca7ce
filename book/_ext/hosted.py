"""Sphinx extension: what pages say that depends on where they are put.

`bn_memorization.hosting` sets SITE_URL to the address of the site, or leaves it empty where that
is not known, and SITE_PDF to the name of a PDF that lies beside the pages. Pages of `make book`
know neither.
"""

from __future__ import annotations

import os
import re
from html import escape
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

SITE_URL, SITE_PDF = "BN_MEMORIZATION_SITE_URL", "BN_MEMORIZATION_SITE_PDF"
CARD = "_static/card.png"
# A preview must name whole addresses. Without one these say nothing, or something wrong.
NEED_ADDRESS = re.compile(r'<meta property="og:(url|image[^"]*)"[^>]*/>\n?')
NOT_FOUND = """\
<h1>Page not found</h1>
<p>There is no page at this address. <a href="{first}">The first page</a> leads to all chapters,
and <a href="{search}">the search</a> finds words in them.</p>
"""


def place(app: Sphinx, config: Config) -> None:
    """Tell the page for wrong addresses, and the previews, where the site is."""
    address = os.environ.get(SITE_URL, "")
    below = urlsplit(address).path or "/"
    config.notfound_urls_prefix = below
    links = {"first": f"{below}index.html", "search": f"{below}search.html"}
    config.notfound_context = {"title": "Page not found", "body": NOT_FOUND.format(**links)}
    config.ogp_social_cards = {"enable": False}  # one card for all pages: see figures_card
    config.ogp_site_url = address
    config.ogp_image = f"{address}{CARD}" if address else None
    config.ogp_image_alt = config.project


def finish(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Leave out what needs an address that there is not, and link the PDF that there is."""
    if doctree is not None and not app.config.ogp_site_url:  # the index and the like have none
        context["metatags"] = NEED_ADDRESS.sub("", context["metatags"])
    if name := os.environ.get(SITE_PDF):
        link = f'<a href="{escape(context["pathto"](name, 1))}">The whole book as a PDF</a>'
        context["theme_extra_footer"] = f"{context['theme_extra_footer']} {link}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; `finish` after sphinxext.opengraph, which has the priority 500."""
    app.connect("config-inited", place, priority=100)
    app.connect("html-page-context", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
