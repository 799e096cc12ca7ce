from io import BytesIO

import pytest
from matplotlib import pyplot
from PIL import Image

from bn_memorization import figures, figures_card

GAPS = [
    {
        "title": "Final accuracy",
        "where": "MNIST, LeNet, 5 % flipped",
        "unit": unit,
        "epochs": {"estimate": 0.6, "low": 0.5, "high": 0.7, "n": 3},
        "training": {"estimate": 0.1, "low": -0.1, "high": 0.3, "n": 3},
    }
    for unit in ("accuracy", "AUC")
]


@pytest.fixture
def drawn():
    figures.use_style()

    def draw() -> bytes:
        figure = figures_card.card("A book's title", GAPS, "smoke")
        out = BytesIO()
        figure.savefig(out, dpi=figures_card.DOTS, metadata={"Software": None})
        pyplot.close(figure)
        return out.getvalue()

    return draw


def test_a_card_has_the_size_that_previews_ask_for(drawn):
    assert Image.open(BytesIO(drawn())).size == figures_card.PIXELS


def test_a_card_is_the_same_every_time(drawn):
    assert drawn() == drawn()


def test_a_card_says_what_it_is_of_and_nothing_covers_it():
    figures.use_style()
    figure = figures_card.card("A book's title", GAPS, "smoke")
    figure.draw_without_rendering()
    boxes = [figure.legends[0].get_window_extent(), *(a.get_tightbbox() for a in figure.axes)]
    (title,) = (text for text in figure.texts if text.get_text() == "A book's title")
    assert len(boxes) == 1 + len(GAPS)
    for box in boxes:
        assert not title.get_window_extent().overlaps(box)
        assert not boxes[0].overlaps(box) or box is boxes[0]
    pyplot.close(figure)
