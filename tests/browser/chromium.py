"""A headless Chromium for the tests: found on this machine, started clean, closed after use."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_MACOS = (
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)
# No sandbox: it needs privileges that containers lack. The rest keeps the browser itself from
# asking the network for anything, so that what a test records comes from the page.
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
    "The browser tests found no Chromium. Install one (Debian and Ubuntu: apt-get install chromium;"
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
def open_browser() -> Iterator[Browser]:
    """Start a browser with an empty profile, and fail the test where there is none.

    Playwright keeps an event loop running in this thread while it is open, and code under other
    tests starts loops of its own: so no fixture holds a browser from one test to the next.
    """
    with sync_playwright() as playwright:
        executable = find_executable(playwright.chromium.executable_path)
        if executable is None:
            pytest.fail(MISSING, pytrace=False)
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
