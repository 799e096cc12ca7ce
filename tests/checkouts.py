"""A checkout of the whole project in a folder of its own."""

import os
import shutil
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
CHECKED_OUT = (
    *("_config.yml", "_toc.yml", "CITATION.cff", "pyproject.toml", "requirements.lock"),
    *("notebooks", "src"),
)


def check_out(root: Path) -> dict[str, str]:
    """Copy what a build needs into `root`; return the environment that makes it the project."""
    for name in CHECKED_OUT:
        source = REPOSITORY / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, root / name)
    shutil.copytree(REPOSITORY / "book", root / "book", ignore=shutil.ignore_patterns("chapters"))
    shutil.copytree(REPOSITORY / "published" / "measured", root / "published" / "measured")
    (root / "data").mkdir()
    (root / "data" / "embedded").symlink_to(REPOSITORY / "data" / "embedded")
    own = {"BN_MEMORIZATION_ROOT": str(root), "BN_MEMORIZATION_RUNS": str(root / "runs")}
    return os.environ | own


def files_in(root: Path) -> dict[str, bytes]:
    """Return {path: content} of every file below `root`, not through links."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }
