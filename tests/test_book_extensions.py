"""The book's own Sphinx extensions, on a small book."""

import json
import os
import re
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


def test_scripts_come_to_pages_with_a_picture_alone(tmp_path):
    extensions = CONF.replace('"offline_mathjax"', '"live_pictures"')
    (tmp_path / "conf.py").write_text(extensions, encoding="utf-8")
    raw = '```{{raw}} html\n<div data-live="{}" data-figure="fig-x"></div>\n```\n'
    pages = {
        "index": "# Book\n\n```{toctree}\none\ntwo\n```\n",
        "one": "# One\n\n" + raw.format("playback"),
        "two": "# Two\n\n" + raw.format("explorer") + raw.format("playback"),
    }
    for name, text in pages.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), f"{tmp_path}/out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wanted = {"index": [], "one": ["live", "playback"], "two": ["live", "explorer", "playback"]}
    for name, scripts in wanted.items():
        page = (tmp_path / "out" / f"{name}.html").read_text(encoding="utf-8")
        found = re.findall(r'<script defer="defer" src="_static/(\w+)\.js[^"]*"></script>', page)
        assert found == scripts, name


def computed_page(tmp_path: Path, text: str, strict: str = "-qW") -> subprocess.CompletedProcess:
    """Build a page of this text, with a measurement for the functions that it names."""
    (tmp_path / "conf.py").write_text(CONF.replace("offline_mathjax", "computed"), encoding="utf-8")
    (tmp_path / "index.md").write_text(f"# Book\n\n{text}\n", encoding="utf-8")
    measured = tmp_path / "published" / "measured"
    measured.mkdir(parents=True)
    trial = dict.fromkeys(("tried", "finished", "lost", "retrained", "again", "half_written"), 7)
    trials = [trial | {"fault": "a <b>fault</b>", "means": "by hand", "same": True}]
    made = {"day": "2026-01-01", "system": "x", "cores": 1, "load": 0, "versions": {}}
    (measured / "faults.json").write_text(json.dumps({"made": made, "trials": trials}))
    command = [sys.executable, "-m", "sphinx", strict, "-b", "html", str(tmp_path)]
    command += [f"{tmp_path}/out"]
    own = os.environ | {"BN_MEMORIZATION_ROOT": str(tmp_path)}
    return subprocess.run(command, capture_output=True, text=True, env=own)


def test_a_page_says_what_a_function_returns(tmp_path):
    done = computed_page(tmp_path, "```{computed} bn_memorization.scale.faults\n```")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "</strong>: by hand</p></td>" in page
    assert "<p>half-written</p>" in page


def test_a_page_that_cannot_be_computed_is_an_error(tmp_path):
    names = ("os.getcwd", "bn_memorization.scale.nothing", "bn_memorization.scale.sizes")
    text = "\n\n".join(f"```{{computed}} {name}\n```" for name in names)
    done = computed_page(tmp_path, text, strict="-q")
    for told in (
        "ERROR: os.getcwd is not a function of bn_memorization",
        "has no attribute 'nothing'",
        "benchmarks/scheduler.py makes it",
    ):
        assert told in done.stderr
