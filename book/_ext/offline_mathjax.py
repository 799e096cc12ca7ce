"""Sphinx extension: MathJax comes with the book, so that no page asks another host for it."""

from __future__ import annotations

from importlib.metadata import files

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

# The one bundle that needs no further file at run time: TeX input, every TeX package, SVG output.
BUNDLE = "tex-svg-full.js"


def _bundle_path() -> str:
    """Return the path of the bundle inside the installed sphinx-mathjax-offline.

    The package's folder has hyphens in its name and cannot be imported, so its list of installed
    files is asked. Raises ``ExtensionError`` where the bundle is missing.
    """
    for file in files("sphinx-mathjax-offline") or []:
        if file.name == BUNDLE:
            return str(file.locate())
    raise ExtensionError(
        f"sphinx-mathjax-offline has no {BUNDLE}: install the version in requirements.lock"
    )


def use_local_bundle(app: Sphinx, config: Config) -> None:
    """Copy the bundle among the static files and point ``mathjax_path`` at it."""
    config.html_static_path = [*config.html_static_path, _bundle_path()]
    config.mathjax_path = BUNDLE


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", use_local_bundle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
