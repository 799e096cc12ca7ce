"""The run records behind the rows of the scoreboard, and files that list them.

A row of this build has the records that its chapter asks for, with the parameters it was executed
with. A row of a published profile has those among the published ones that the profile asks for.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache

from bn_memorization import chapter, fingerprint, paths, row_runs, run_kinds, store
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS
from bn_memorization.judging import Claim
from bn_memorization.report import setting
from bn_memorization.run_kinds import Config
from bn_memorization.site import LISTS

DECLARED = CLAIMS | CONTROLS
RUNS, PUBLISHED = "runs", f"published/{store.RECORDS}"


@dataclass(frozen=True)
class Row:
    """A row of the scoreboard: its claim and setting, and {record: config} of its runs."""

    claim: Claim
    profile: str
    where: Mapping[str, object]
    records: Mapping[str, Config]

    @property
    def file(self) -> str:
        """Return the name of the file that lists the records of all rows of chapter and profile."""
        return f"{self.claim.chapter}-{self.profile}.csv"

    @property
    def link(self) -> str:
        """Return where that file lies, seen from a chapter's page."""
        return f"{LISTS}/{self.file}"


def rows(verdicts: Iterable[dict], profile: str) -> list[Row]:
    """Return a row for each setting of each verdict, in their order.

    `profile` is that of this build. A run of a published profile that is not published is left out.
    Raises BadInput for a profile that is no longer there.
    """
    return [
        Row(claim, verdict["profile"], row["where"], _records(claim, row["where"], of))
        for verdict in verdicts
        for claim in [DECLARED[verdict["claim"]]]
        for of in [None if verdict["profile"] == profile else verdict["profile"]]
        for row in verdict["rows"]
    ]


def _records(claim: Claim, where: Mapping[str, object], published: str | None) -> dict[str, Config]:
    if published is None:
        path = paths.chapters() / f"{claim.chapter}.ipynb"
        parameters = fingerprint.parameters_of(path)
        return {_name(c): c for c in row_runs.behind(claim.key, where, parameters)}
    parameters, there = _planned(claim.chapter, published), _published()
    configs = row_runs.behind(claim.key, where, parameters)
    return {there[_identity(c)]: c for c in configs if _identity(c) in there}


@cache
def _name(config: Config) -> str:
    address = run_kinds.address(config)
    own = address.folder.is_relative_to(paths.runs())
    return f"{RUNS if own else PUBLISHED}/{address.kind}/{address.key}"


@cache
def _planned(name: str, profile: str) -> dict[str, object]:
    return chapter.plan(name, profile).parameters


@cache
def _published() -> dict[str, str]:
    """Return {identity of a config: record} of all published records.

    By config and not by address, which would ask for the full data sets.
    """
    found = {}
    for path in (paths.published() / store.RECORDS).glob(f"*/*/{store.META}"):
        meta = json.loads(path.read_text())
        found[_text(meta["kind"], meta["config"])] = (
            f"{PUBLISHED}/{meta['kind']}/{path.parent.name}"
        )
    return found


def _identity(config: Config) -> str:
    return _text(run_kinds.KINDS[type(config)].folder, asdict(config))


def _text(kind: str, config: Mapping[str, object]) -> str:
    return json.dumps([kind, config], sort_keys=True)


def lists(found: Iterable[Row]) -> dict[str, str]:
    """Return {file: CSV} with a line for each record of each row that has any.

    The columns are claim, setting, record, run in a few words, and every field of the configs of
    the file, blank where one has no such.
    """
    by_file: dict[str, list[Row]] = {}
    for row in found:
        if row.records:
            by_file.setdefault(row.file, []).append(row)
    return {file: _csv(of_file) for file, of_file in by_file.items()}


def _csv(found: Iterable[Row]) -> str:
    lines = [
        {
            "claim": row.claim.key,
            "setting": setting(row.where),
            "record": record,
            "run": config.describe(),
        }
        | {field.name: getattr(config, field.name) for field in fields(config)}
        for row in found
        for record, config in row.records.items()
    ]
    columns = dict.fromkeys(name for line in lines for name in line)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()
