import base64
import io
import json
import re

import numpy as np
import pytest
import sympy as sp
from PIL import Image

from bn_memorization import live, paths
from bn_memorization.errors import BadInput, Failure

ELEMENT = (
    '<div data-live="(.*?)" data-figure="(.*?)">'
    '<script type="application/json">(.*?)</script></div>'
)


def parsed(shown) -> tuple[str, str, object]:
    """Return kind, figure and data of an embedded picture, as a browser reads them."""
    kind, figure, text = re.fullmatch(ELEMENT, shown.data).groups()
    return kind, figure, json.loads(text)


def test_a_page_reads_back_what_was_embedded():
    data = {"a": [1, 2.5, None, True], "b": {"c": "text"}}
    assert parsed(live.embed("explorer", "fig-x", data)) == ("explorer", "fig-x", data)


def test_no_text_ends_the_element():
    data = {"a": "</script><b>"}
    shown = live.embed("playback", "fig-x", data)
    assert shown.data.count("</script>") == 1
    assert parsed(shown)[2] == data


def test_numbers_are_rounded_and_counts_are_not():
    found = live.rounded({"a": [1 / 3, 123456.7, (1e-7 / 3,)], "n": 1234567, "no": None})
    assert found == {"a": [0.33333, 123460.0, [3.3333e-08]], "n": 1234567, "no": None}


def test_an_unknown_kind_is_refused():
    with pytest.raises(BadInput, match=r"Unknown kind of picture 'film'.*explorer"):
        live.embed("film", "fig-x", {})


def test_every_kind_has_a_script():
    scripts = {path.name for path in (paths.book() / "_static").glob("*.js")}
    assert {f"{kind}.js" for kind in live.KINDS} | {"live.js"} <= scripts


def test_too_much_for_a_page_is_refused():
    with pytest.raises(Failure, match=f"playback would add 1[0-9]* bytes.*at most {live.MOST}"):
        live.embed("playback", "fig-x", {"a": "x" * live.MOST})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_number_that_json_lacks(value):
    with pytest.raises(ValueError, match="JSON"):
        live.embed("playback", "fig-x", {"a": value})


def test_expressions_become_javascript():
    x = sp.Symbol("x")
    assert live.script({"f": sp.sqrt(x) + x**3}) == {"f": "Math.sqrt(x) + Math.pow(x, 3)"}


@pytest.mark.parametrize(("shape", "mode"), [((4, 3), "L"), ((4, 3, 3), "RGB")])
def test_a_sprite_holds_the_images_side_by_side(shape, mode):
    images = np.random.default_rng(0).integers(0, 256, (5, *shape), np.uint8)
    kind, _, text = live.sprite(list(images)).partition(",")
    assert kind == "data:image/png;base64"
    found = Image.open(io.BytesIO(base64.b64decode(text)))
    assert (found.mode, found.size) == (mode, (15, 4))
    row = np.asarray(found)
    for k, image in enumerate(images):
        wanted = 255 - image if mode == "L" else image
        np.testing.assert_array_equal(row[:, 3 * k : 3 * k + 3], wanted)
