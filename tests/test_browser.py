"""Which browser is taken; that it starts is for tests/browser."""

import sys

import pytest

from bn_memorization import browser
from bn_memorization.errors import BadInput


def test_environment_variable_comes_first(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "/somewhere/chrome")
    assert browser.find_executable("own") == "/somewhere/chrome"


def test_then_one_on_the_path(monkeypatch, tmp_path):
    monkeypatch.delenv("CHROMIUM", raising=False)
    found = tmp_path / "google-chrome"
    found.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browser.find_executable("own") == str(found)


def test_falls_back_to_the_browser_playwright_installed(monkeypatch, tmp_path):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(browser, "ON_MACOS", ())
    own = tmp_path / "chrome"
    assert browser.find_executable(str(own)) is None
    own.touch()
    assert browser.find_executable(str(own)) == str(own)


def test_without_playwright_it_is_said_how_to_have_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(BadInput, match=r"Playwright.*requirements\.lock"), browser.open_browser():
        pass
