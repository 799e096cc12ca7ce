from pathlib import Path

import chromium
import pytest

from bn_memorization import browser
from bn_memorization.errors import BadInput


def test_no_browser_fails_with_the_way_to_get_one(monkeypatch):
    monkeypatch.setattr(browser, "find_executable", lambda own: None)
    no_way = pytest.raises(pytest.fail.Exception, match="apt-get install chromium")
    with no_way, chromium.open_browser():
        pass


def chromium_starts():
    with browser.open_browser():
        return True


def test_a_browser_that_does_not_start_is_named(monkeypatch, tmp_path):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 7\n")
    broken.chmod(0o755)
    for executable in (tmp_path / "missing", broken):
        monkeypatch.setenv("CHROMIUM", str(executable))
        with pytest.raises(BadInput, match=f"{executable} does not start: .*apt-get"):
            chromium_starts()


def test_found_browser_is_a_file(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    found = browser.find_executable("")
    assert found is not None, browser.MISSING
    assert Path(found).is_file()
    assert chromium_starts()
