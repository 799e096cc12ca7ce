"""The book as a static host takes it: pages that know their address, one for wrong ones, a card."""

import os
import re
import shutil
import tempfile
from pathlib import Path

import yaml

from bn_memorization import book, fingerprint, paths, pdf, site
from bn_memorization.errors import BadInput

ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?(/[A-Za-z0-9._~-]+)*/?")
# What the building leaves that no page asks for.
LEFT_OUT = (site.STAMP, ".buildinfo", ".doctrees")
# The names that book/_ext/hosted.py reads.
SITE_URL, SITE_PDF, CARD = "BN_MEMORIZATION_SITE_URL", "BN_MEMORIZATION_SITE_PDF", "card.png"


def make(profile: str, address: str) -> None:
    """Bring the book up to date and lay it out for a static host that shows it at `address`.

    An empty address: the top of a host that is not known yet. Raises BadInput for another that is
    no address, before anything runs, and as `book.build` and `site.build` do.
    """
    address = checked(address)
    book.build(profile)
    printed = current_pdf()
    with tempfile.TemporaryDirectory(prefix=".site-", dir=paths.build()) as work:
        pages = Path(work) / "site"
        told = {SITE_URL: address, SITE_PDF: printed.name if printed else ""}
        site.build(paths.root(), pages, mark="site", told=told)
        lay_out(pages, printed)
        if address:
            draw_card(pages / "_static" / CARD, profile)
        shutil.rmtree(paths.hosted(), ignore_errors=True)
        os.replace(pages, paths.hosted())
    _report(address, printed)


def checked(address: str) -> str:
    """Return an address as pages need it, with a slash at its end; an empty one as it is.

    Raises BadInput for what is no address of a folder on a web server.
    """
    if address and not ADDRESS.fullmatch(address):
        raise BadInput(
            f"SITE_URL={address!r} is not the address of a site. Give it whole, without a query: "
            "SITE_URL=https://name.example/bn_memorization/"
        )
    return f"{address.rstrip('/')}/" if address else ""


def current_pdf() -> Path | None:
    """Return the PDF of the book if it was printed from the pages as they are now."""
    made_from = pdf.made_from(paths.pdf())
    return paths.pdf() if made_from == fingerprint.of_site() else None


def lay_out(pages: Path, printed: Path | None) -> None:
    """Take from built pages what only the building needs, and add what a host does."""
    for name in LEFT_OUT:
        path = pages / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    (pages / ".nojekyll").touch()  # or GitHub Pages leaves out folders such as _static
    if printed:
        shutil.copy(printed, pages)


def draw_card(target: Path, profile: str) -> None:
    """Draw the picture for previews, of the gaps that the executed chapters found."""
    from matplotlib import pyplot

    from bn_memorization import figures, figures_card, first_page, scoreboard

    title = yaml.safe_load((paths.root() / "_config.yml").read_text())["title"]
    gaps = first_page.asked_again(scoreboard.collect())
    figures.use_style()
    drawn = figures_card.card(title, gaps, profile)
    drawn.savefig(target, dpi=figures_card.DOTS, metadata={"Software": None})
    pyplot.close(drawn)


def _report(address: str, printed: Path | None) -> None:
    if not address:
        print(
            "The page for wrong addresses and the previews of links need the site's own address: "
            "make site SITE_URL=https://..."
        )
    if printed is None and paths.pdf().is_file():
        print(f"{paths.pdf()} is of other pages and was left out. `make pdf` makes it anew.")
    print(f"The site is ready. {paths.hosted()}")
