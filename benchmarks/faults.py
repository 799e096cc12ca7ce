"""Let each fault happen often, and keep what became of the runs: published/measured/faults.json.

`python benchmarks/faults.py 5` lets each happen five times as often as a test does.
"""

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "faults"), str(ROOT / "tests")]

from trials import FAULTS, Ground  # noqa: E402

from bn_memorization import measured  # noqa: E402


def main(times: int) -> None:
    """Run all trials and write what they found."""
    trials = []
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder))
        for name, fault in FAULTS.items():
            trials.append(fault.trial(name, ground, times * fault.tries))
            print(trials[-1], flush=True)
        ground.forks.close()
    print(measured.write("faults", {"trials": [asdict(trial) for trial in trials]}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
