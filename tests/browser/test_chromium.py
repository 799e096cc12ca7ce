from pathlib import Path

import chromium
import pytest


def test_environment_variable_comes_first(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "/somewhere/chrome")
    assert chromium.find_executable("own") == "/somewhere/chrome"


def test_falls_back_to_the_browser_playwright_installed(monkeypatch, tmp_path):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(chromium, "ON_MACOS", ())
    own = tmp_path / "chrome"
    own.touch()
    assert chromium.find_executable(str(own)) == str(own)


def test_no_browser_fails_with_the_way_to_get_one(monkeypatch):
    monkeypatch.setattr(chromium, "find_executable", lambda own: None)
    no_way = pytest.raises(pytest.fail.Exception, match="apt-get install chromium")
    with no_way, chromium.open_browser():
        pass


def test_found_browser_is_a_file(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    found = chromium.find_executable("")
    assert found is not None, chromium.MISSING
    assert Path(found).is_file()
