"""Results that come with the code: a profile's run records and what its chapters concluded.

The verdicts lie in `published/<profile>.json`, the records beside them. Whoever has the code can
make both again: `make book PROFILE=<profile>` and then `make publish PROFILE=<profile>`.
"""

import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from bn_memorization import __version__, chapter, fingerprint, paths, runs, store
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS
from bn_memorization.errors import Failure

DECLARED = CLAIMS | CONTROLS


@dataclass(frozen=True)
class Published:
    """What a profile's book concluded: verdicts as `report.plain` gives them, and its records.

    Each verdict holds under `declared` the claim as it was declared when it was judged.
    """

    profile: str
    package: str
    chapters: list[str]
    verdicts: list[dict]
    records: list[str]  # kind/key


def publish(profile: str) -> None:
    """Copy the records and verdicts of a profile's chapters to the published folder.

    Chapters that have not been executed with the profile, or have changed since, are left out and
    named. Records that no published profile names any more are removed. Raises BadInput for an
    unknown profile, and Failure when no chapter is left.
    """
    marks = {name: fingerprint.of_chapter(name, profile) for name in fingerprint.chapters()}
    executed = {name: paths.chapters() / f"{name}.ipynb" for name in marks}
    made = [name for name, path in executed.items() if fingerprint.mark_of(path) == marks[name]]
    if not made:
        raise Failure(
            f"No chapter is up to date with the profile {profile}. Run "
            f"`make book PROFILE={profile}` first."
        )
    verdicts, records = [], set()
    for name in made:
        verdicts += map(_with_claim, json.loads(chapter.glued(executed[name], "verdicts")))
        records |= {_copied(config) for config in chapter.plan(name, profile).configs}
    found = Published(profile, __version__, made, verdicts, sorted(records))
    paths.published().mkdir(exist_ok=True)
    path = paths.published() / f"{profile}.json"
    path.write_text(json.dumps(asdict(found), indent=1, sort_keys=True) + "\n")
    _remove_strays(published())
    print(f"Published {len(verdicts)} verdicts and {len(records)} records of {profile}: {path}")
    if left := [name for name in marks if name not in made]:
        print(f"Left out, since they are not up to date with {profile}: {', '.join(left)}")


def published() -> list[Published]:
    """Return what was published, a profile each, in the order of their names."""
    found = sorted(paths.published().glob("*.json"))
    return [Published(**json.loads(path.read_text())) for path in found]


def verdicts() -> list[dict]:
    """Return all published verdicts but those on claims that are declared otherwise by now."""
    found = [verdict for one in published() for verdict in one.verdicts]
    return [v for v in found if v["claim"] in DECLARED and v == _with_claim(v)]


def _with_claim(verdict: dict) -> dict:
    return verdict | {"declared": asdict(DECLARED[verdict["claim"]])}


def _copied(config: runs.Config) -> str:
    """Copy a record unless it is there; return where it lies among the records."""
    address = runs.address(config)
    store.read(address)  # a damaged record is not published
    name = f"{address.kind}/{address.key}"
    target = _records() / name
    if not target.is_dir():
        shutil.copytree(address.folder, target)
    return name


def _remove_strays(kept: Iterable[Published]) -> None:
    named = {name for one in kept for name in one.records}
    for folder in _records().glob("*/*"):
        if str(folder.relative_to(_records())) not in named:
            shutil.rmtree(folder)


def _records() -> Path:
    return paths.published() / store.RECORDS
