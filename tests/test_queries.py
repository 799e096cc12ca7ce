import pytest
import torch

from bn_memorization.queries import VIEWS, views

IMAGE = torch.tensor([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]])
WANTED = {
    "as it is": [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    "one pixel left": [[2, 3, 3], [5, 6, 6], [8, 9, 9]],
    "one pixel right": [[1, 1, 2], [4, 4, 5], [7, 7, 8]],
    "one pixel up": [[4, 5, 6], [7, 8, 9], [7, 8, 9]],
    "one pixel down": [[1, 2, 3], [1, 2, 3], [4, 5, 6]],
    "mirrored": [[3, 2, 1], [6, 5, 4], [9, 8, 7]],
}


def test_views_by_hand_in_their_order():
    assert list(VIEWS) == list(WANTED)
    for found, wanted in zip(views(IMAGE, len(WANTED)), WANTED.values(), strict=True):
        assert found[0, 0].tolist() == wanted


@pytest.mark.parametrize("count", [1, 3, 6])
def test_the_first_views_are_taken(count):
    found = views(IMAGE, count)
    assert len(found) == count
    assert all(torch.equal(*both) for both in zip(found, views(IMAGE, 6), strict=False))


def test_batches_and_channels_keep_their_places():
    images = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
    for name, view in VIEWS.items():
        found = view(images)
        assert found.shape == images.shape, name
        for n in range(2):
            for c in range(3):
                assert torch.equal(found[n, c], view(images[n : n + 1, c : c + 1])[0, 0]), name
