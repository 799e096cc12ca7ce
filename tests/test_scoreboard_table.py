import json
import math
import re
from dataclasses import replace

import pytest
from test_scoreboard import RESULTS, found
from verdicts import NOT, evidence, verdict

from bn_memorization import scoreboard_table
from bn_memorization.claims import CLAIMS


def rows_of(html: str) -> list[list[str]]:
    """Return the cells of each row of the body as markup."""
    body = html.partition("<tbody>")[2]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("</tr>")[:-1]]


def words(markup: str) -> str:
    return re.sub("<[^>]*>", "", markup).replace("\N{NO-BREAK SPACE}", " ")


def table(*verdicts: dict) -> str:
    return scoreboard_table.table(verdicts).data


def test_a_row_for_each_setting_of_each_claim():
    rows = rows_of(table(*RESULTS.values()))
    titles = [f"{CLAIMS[key].number}. {CLAIMS[key].title}" for key in RESULTS]
    mnist = "MNIST, LeNet, 5 % flipped"
    assert [[words(cell) for cell in (*row[:4], *row[5:])] for row in rows] == [
        [titles[0], mnist, "+20.0 points", "+10.0 to +30.0 points", "reproduced", "4", "smoke"],
        [titles[0], "CIFAR-10, LeNet, 5 % flipped", "−20.0 points", "−30.0 to −10.0 points",
         "not reproduced", "4", "smoke"],
        [titles[1], mnist, "+2.0 epochs", "+1.0 to +3.0 epochs", "reproduced", "4", "quick"],
    ]  # fmt: skip
    assert rows[0][0].startswith(f'<a href="{CLAIMS["forced_final"].chapter}.html">')


def test_each_column_has_a_head_and_each_filter_a_value_in_each_row():
    html = table(*RESULTS.values())
    assert re.findall(r"<th [^>]*>(.*?)</th>", html) == list(scoreboard_table.HEAD)
    assert html.count('scope="col"') == len(scoreboard_table.HEAD)
    kept = [text.split("|") for text in re.findall(r'data-kept="([^"]*)"', html)]
    assert kept[2] == ["claim 1", "MNIST", "LeNet", "quick", "reproduced"]
    assert {len(row) for row in kept} == {len(scoreboard_table.FILTERS)}


def x_of(name: str, picture: str) -> float:
    return float(re.search(rf'class="{name}" d="M([\d.]+) ', picture)[1])


def test_effects_of_one_unit_are_drawn_on_one_scale():
    first, second, other = (row[4] for row in rows_of(table(*RESULTS.values())))
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
    assert "circle" in row[4]
    assert "interval" not in row[4]
    assert words(row[3]) == "none"


def test_a_control_on_no_claim_has_no_number(monkeypatch):
    alone = {"c": replace(CLAIMS["forced_final"], key="c", number=0, title="A < B")}
    monkeypatch.setattr(scoreboard_table, "DECLARED", alone)
    html = table(found("c", verdict(NOT)))
    assert words(rows_of(html)[0][0]) == "A &lt; B"
    assert 'data-kept="no claim|' in html


def test_the_same_results_are_the_same_table():
    again = json.loads(json.dumps(RESULTS))
    assert table(*again.values()) == table(*RESULTS.values())
