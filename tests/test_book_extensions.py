"""The book's own Sphinx extension, on a small book."""

import subprocess
import sys
from pathlib import Path

EXTENSIONS = Path(__file__).resolve().parents[1] / "book" / "_ext"
CONF = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
extensions = ["myst_nb", "offline_mathjax"]
myst_enable_extensions = ["dollarmath"]
"""


def test_mathjax_comes_along_and_no_page_asks_for_it(tmp_path):
    (tmp_path / "conf.py").write_text(CONF, encoding="utf-8")
    (tmp_path / "index.md").write_text("# Book\n\n$x$\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), f"{tmp_path}/out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'src="_static/tex-svg-full.js' in page
    assert "cdn" not in page
    assert (tmp_path / "out" / "_static" / "tex-svg-full.js").stat().st_size > 1_000_000
