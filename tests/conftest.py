"""What tests of several modules share: a checkout of their own, and the book built in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
CHECKED_OUT = ("_config.yml", "_toc.yml", "pyproject.toml", "requirements.lock", "notebooks", "src")


def check_out(root: Path) -> dict[str, str]:
    """Copy what a build needs into `root`; return the environment that makes it the project."""
    for name in CHECKED_OUT:
        source = REPOSITORY / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, root / name)
    shutil.copytree(REPOSITORY / "book", root / "book", ignore=shutil.ignore_patterns("chapters"))
    (root / "data").mkdir()
    (root / "data" / "embedded").symlink_to(REPOSITORY / "data" / "embedded")
    own = {"BN_MEMORIZATION_ROOT": str(root), "BN_MEMORIZATION_RUNS": str(root / "runs")}
    return os.environ | own


@pytest.fixture(scope="session")
def built_site(tmp_path_factory) -> Path:
    """Build the whole book at the smoke profile, as a reader would; return the folder of pages."""
    root = tmp_path_factory.mktemp("checkout")
    command = [Path(sys.executable).with_name("bn-memorization"), "book", "--profile", "smoke"]
    done = subprocess.run(command, env=check_out(root), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"
