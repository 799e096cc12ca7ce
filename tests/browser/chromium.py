"""A headless Chromium for the tests: as `make pdf` has it, and a test fails where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser

from bn_memorization import browser
from bn_memorization.errors import BadInput


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a browser with an empty profile, and fail the test where there is none.

    Playwright keeps an event loop running in this thread while it is open, and code under other
    tests starts loops of its own: so no fixture holds a browser from one test to the next.
    """
    try:
        with browser.open_browser() as opened:
            yield opened
    except BadInput as error:
        pytest.fail(str(error), pytrace=False)
