"""What was measured once and comes with the code: the files that `benchmarks/` writes."""

import json
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bn_memorization import __version__, paths
from bn_memorization.errors import Failure

PACKAGES = ("torch", "numpy", "distributed")


def path_of(name: str) -> Path:
    """Return where the measurement of that name lies."""
    return paths.published() / "measured" / f"{name}.json"


def read(name: str) -> dict:
    """Return a measurement. Raises Failure, naming the script that makes it, without one."""
    path = path_of(name)
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Failure(f"{path} cannot be read ({error}). benchmarks/{name}.py makes it.") from error


def write(name: str, values: dict) -> Path:
    """Keep a measurement, with the day, the machine and the versions it was made with."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"made": _made(), **values}, indent=1) + "\n")
    return path


def _made() -> dict:
    return {
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "versions": {
            "bn_memorization": __version__,
            "python": platform.python_version(),
            **{name: found for name in PACKAGES if (found := _version(name))},
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
