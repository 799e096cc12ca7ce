"""A headless Chromium of this machine: found, started clean, closed after use."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bn_memorization.errors import BadInput

if TYPE_CHECKING:  # only for who prints or tests pages
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_MACOS = (
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)
# No sandbox: it needs privileges that containers lack. The rest keeps the browser itself from
# asking the network for anything, so that what a page asks for is all that is asked.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = (
    "No Chromium was found. Install one (Debian and Ubuntu: apt-get install chromium;"
    " macOS: Google Chrome; anywhere: python -m playwright install chromium) or set CHROMIUM to the"
    " path of its executable."
)


def find_executable(own: str) -> str | None:
    """Return the browser to start: $CHROMIUM, one on the PATH, an application, ``own``, or None.

    ``own`` is where Playwright would have installed its own copy.
    """
    if chosen := os.environ.get("CHROMIUM"):
        return chosen
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return found
    return next((str(path) for path in (*ON_MACOS, Path(own)) if path.is_file()), None)


@contextmanager
def open_browser() -> Iterator["Browser"]:
    """Start a browser with an empty profile.

    Raises BadInput where there is none, where it does not start, or where Playwright is not
    installed.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise BadInput(
            "Playwright, which drives the browser, is not installed. requirements.lock has it: "
            "pip install --require-hashes -r requirements.lock"
        ) from None
    with sync_playwright() as playwright:
        executable = find_executable(playwright.chromium.executable_path)
        if executable is None:
            raise BadInput(MISSING)
        try:
            browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        except Error as error:
            said = str(error).partition("\n")[0]
            raise BadInput(f"{executable} does not start: {said}. {MISSING}") from None
        try:
            yield browser
        finally:
            browser.close()
