import json
import math
import re
from dataclasses import replace

import pytest
from test_scoreboard import RESULTS, found
from verdicts import NOT, REPRODUCED, evidence, verdict

from bn_memorization import scoreboard_table
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import MATCHED
from bn_memorization.row_records import Row
from bn_memorization.scoreboard_table import DECLARED, HEAD

PLACE = {key: number for number, key in enumerate(HEAD.values())}


def rows_of(html: str) -> list[list[str]]:
    """Return the cells of each row of the body as markup."""
    body = html.partition("<tbody")[2]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("</tr>")[:-1]]


def words(markup: str) -> str:
    return re.sub("<[^>]*>", "", markup).replace("\N{NO-BREAK SPACE}", " ").strip()


def table(*verdicts: dict, records: tuple[str, ...] = ("runs/train/abc",)) -> str:
    behind = [
        Row(
            scoreboard_table.DECLARED[one["claim"]],
            one["profile"],
            row["where"],
            dict.fromkeys(records),
        )
        for one in verdicts
        for row in one["rows"]
    ]
    return scoreboard_table.table(verdicts, behind).data


def test_a_row_for_each_setting_of_each_claim():
    rows = rows_of(table(*RESULTS.values()))
    titles = [f"{CLAIMS[key].number}. {CLAIMS[key].title}" for key in RESULTS]
    mnist, no = "MNIST, LeNet, 5 % flipped", "not asked"
    assert [[words(cell) for cell in row] for row in rows] == [
        [titles[0], mnist, "+20.0 points (+10.0 to +30.0 points)", "reproduced", no, "figure",
         "1 record", "4", "smoke"],
        [titles[0], "CIFAR-10, LeNet, 5 % flipped", "−20.0 points (−30.0 to −10.0 points)",
         "not reproduced", "nothing to survive", "figure", "1 record", "4", "smoke"],
        [titles[1], mnist, "+2.0 epochs (+1.0 to +3.0 epochs)", "reproduced", no, "figure",
         "1 record", "4", "quick"],
    ]  # fmt: skip


def test_a_row_leads_to_its_chapter_its_figure_and_its_records():
    (row, *_) = rows_of(table(*RESULTS.values()))
    chapter = CLAIMS["forced_final"].chapter
    links = re.findall('href="([^"]*)"', "".join(row))
    assert links == [
        f"{chapter}.html",
        f"{chapter}.html#fig-forced-gaps",
        f"records/{chapter}-smoke.csv",
    ]


def test_a_row_without_records_leads_to_how_its_page_was_made():
    (row, *_) = rows_of(table(*RESULTS.values(), records=()))
    cell = row[PLACE["runs"]]
    assert words(cell) == "none"
    assert f'href="{CLAIMS["forced_final"].chapter}.html#how-this-page-was-made"' in cell


def test_each_column_has_a_head_and_each_filter_a_value_in_each_row():
    html = table(*RESULTS.values())
    assert re.findall(r"<th [^>]*>(.*?)</th>", html) == list(HEAD)
    assert html.count('scope="col"') == len(HEAD)
    kept = [text.split("|") for text in re.findall(r'data-kept="([^"]*)"', html)]
    assert kept[2] == ["1", "MNIST", "LeNet", "reproduced", "not asked", "quick"]
    assert {len(row) for row in kept} == {len(scoreboard_table.FILTERS)}
    labels = re.findall(r'data-label="([^"]*)"', html)
    assert labels[: len(HEAD)] == [text.rstrip("?") for text in HEAD]


def test_a_claim_says_what_survives_in_the_results_of_its_own_profile():
    key = MATCHED["forced_final"]
    claim = found("forced_final", verdict(REPRODUCED))
    of_others = found(key, verdict(NOT), "standard")
    asked = PLACE["survives"]
    assert words(rows_of(table(claim, of_others))[0][asked]) == "not asked"
    rows = rows_of(table(claim, found(key, verdict(REPRODUCED))))
    assert [words(row[asked]) for row in rows] == ["yes", "control"]


def test_a_setting_without_a_data_set_is_filtered_as_having_none():
    made = verdict(REPRODUCED)
    made = found("growth_factor", made)
    made["rows"][0]["where"] = {"network": "one channel"}
    assert 'data-kept="4|none|none|' in table(made)


def test_a_size_has_no_sign():
    (row,) = rows_of(table(found("sensitivity_precision", verdict(evidence(0.01, 0.02, 0.03)))))
    assert words(row[PLACE["effect"]]) == "2.0 points (1.0 to 3.0 points)"


def x_of(name: str, picture: str) -> float:
    return float(re.search(rf'class="{name}" d="M([\d.]+) ', picture)[1])


def test_effects_of_one_unit_are_drawn_on_one_scale():
    first, second, other = (row[PLACE["effect"]] for row in rows_of(table(*RESULTS.values())))
    assert x_of("zero", first) == x_of("zero", second) != x_of("zero", other)
    middle = x_of("zero", first)  # the two effects lie on either side of it, as far away
    dots = [float(re.search(r'cx="([\d.]+)"', picture)[1]) for picture in (first, second)]
    assert dots[0] - middle == pytest.approx(middle - dots[1], abs=0.11)
    assert x_of("interval", first) < dots[0]
    ends = [scoreboard_table.MARGIN, scoreboard_table.WIDTH - scoreboard_table.MARGIN]
    assert x_of("interval", second) == ends[0]  # the lowest of all


def test_an_effect_without_an_interval_is_a_dot():
    made = verdict(evidence(math.nan, 0.2, math.nan))
    (row,) = rows_of(table(found("forced_final", made)))
    picture = row[PLACE["effect"]]
    assert "circle" in picture
    assert 'class="interval"' not in picture
    assert words(picture) == "+20.0 points (no interval)"


def test_a_control_on_no_claim_has_no_number(monkeypatch):
    alone = {"audit_attack": replace(DECLARED["audit_attack"], number=0, title="A < B")}
    monkeypatch.setattr(scoreboard_table, "DECLARED", alone)
    html = table(found("audit_attack", verdict(NOT)))
    assert words(rows_of(html)[0][0]) == "A &lt; B"
    assert 'data-kept="none|' in html


def test_the_same_results_are_the_same_table():
    again = json.loads(json.dumps(RESULTS))
    assert table(*again.values()) == table(*RESULTS.values())
