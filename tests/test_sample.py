from dataclasses import replace

import numpy as np
import planted
import pytest
import torch

from bn_memorization import sample
from bn_memorization.catalog import Dataset, Split
from bn_memorization.data import normalize
from bn_memorization.errors import BadInput
from bn_memorization.foreign import with_foreign

DATA = planted.planted_set()


def draw(**changes):
    return sample.draw(planted.config(**changes), DATA, torch.device("cpu"))


def test_the_seed_alone_draws_and_flips():
    first, again, other = draw(), draw(norm="none", lr=1, optimizer="adam"), draw(seed=1)
    assert torch.equal(first.x, again.x)
    assert torch.equal(first.y, again.y)
    assert np.array_equal(first.corrupted_row, again.corrupted_row)
    assert np.array_equal(first.given_label, again.given_label)
    assert not torch.equal(first.x, other.x)
    assert not np.array_equal(first.corrupted_row, other.corrupted_row)


def test_the_seed_decides_which_of_the_drawn_are_flipped():
    """Their places in the draw are compared: the rows differ anyway."""
    first, other = (sample.corrupt(planted.config(seed=seed), DATA).index for seed in (0, 1))
    assert len(first) == len(other) == 12
    assert set(first) != set(other)


@pytest.mark.parametrize(("size", "rate", "flips"), [(48, 0.25, 12), (50, 0.01, 1), (60, 0.9, 54)])
def test_flips_are_exact_in_number_and_never_true(size, rate, flips):
    drawn = draw(train_size=size, noise_rate=rate)
    assert len(drawn.corrupted_row) == flips
    assert (drawn.given_label != drawn.true_label).all()
    assert np.array_equal(drawn.true_label, DATA.train.labels[drawn.corrupted_row])
    assert len(set(drawn.corrupted_row)) == flips
    assert set(drawn.given_label) <= {0, 1, 2}


def test_the_sample_is_what_it_says():
    """Every image drawn is a normalized training image, with its own label or its flipped one."""
    images = normalize(DATA.train.images, DATA)
    drawn = draw(noise_rate=0.25)
    flipped = dict(zip(drawn.corrupted_row.tolist(), drawn.given_label.tolist(), strict=True))
    rows = []
    for x, y in zip(drawn.x.numpy(), drawn.y.tolist(), strict=True):
        (row,) = np.flatnonzero((images == x).all((1, 2, 3)))
        assert y == flipped.get(row, DATA.train.labels[row])
        rows.append(row)
    assert len(set(rows)) == 48
    assert rows != sorted(rows)


def test_subsets_are_what_they_say():
    drawn = draw(noise_rate=0.25, eval_size=20)
    images, test_images = (normalize(part.images, DATA) for part in (DATA.train, DATA.test))
    x, y = drawn.subsets["corrupted"]
    assert np.array_equal(x.numpy(), images[drawn.corrupted_row])
    assert np.array_equal(y.numpy(), drawn.given_label)
    x, y = drawn.subsets["clean"]
    of_clean = [np.flatnonzero((images == image).all((1, 2, 3)))[0] for image in x.numpy()]
    assert len(set(of_clean)) == 20
    assert not set(of_clean) & set(drawn.corrupted_row)
    assert np.array_equal(y.numpy(), DATA.train.labels[of_clean])
    x, y = drawn.subsets["test"]
    assert np.array_equal(x.numpy(), test_images[:20])
    assert np.array_equal(y.numpy(), DATA.test.labels[:20])


def test_eval_size_is_a_limit_and_no_demand():
    drawn = draw(noise_rate=0.25, eval_size=1000)
    assert {name: len(y) for name, (_, y) in drawn.subsets.items()} == {
        "corrupted": 12,
        "clean": 36,
        "test": 30,
    }


def test_lower_noise_rates_flip_some_of_the_same_samples():
    few, many = draw(noise_rate=0.1), draw(noise_rate=0.25)
    assert torch.equal(few.x, many.x)
    assert set(few.corrupted_row) < set(many.corrupted_row)


def test_more_images_than_there_are():
    with pytest.raises(
        BadInput, match=r"train_size=61, but planted \(embedded\) has 60 .* at most 60"
    ):
        draw(train_size=61)
    with pytest.raises(BadInput, match="train_size=61"):
        sample.check_size(planted.config(train_size=61), DATA)
    sample.check_size(planted.config(train_size=60), DATA)


def strangers(n=40):
    """Return a data set whose images are brighter than any planted one, each of one shade."""
    shades = np.arange(215, 215 + n, dtype=np.uint8)
    images = np.broadcast_to(shades[:, None, None], (n, 12, 12))
    split = Split(images, np.zeros(n, np.int64), np.arange(n))
    return Dataset("strangers", "embedded", split, split, ("a", "b"), "7" * 64)


def draw_kind(kind, **changes):
    config = planted.config(corruption=kind, **changes)
    return sample.draw(config, with_foreign(DATA, strangers()), torch.device("cpu"))


@pytest.mark.parametrize("kind", ["ood", "noise"])
def test_every_kind_corrupts_the_same_places_and_leaves_the_others(kind):
    flipped, drawn = draw(), draw_kind(kind)
    assert np.array_equal(drawn.corrupted_row, flipped.corrupted_row)
    changed = (drawn.x != flipped.x).flatten(1).any(1).numpy()
    assert changed.sum() == 12
    for name in ("clean", "test"):
        for one, other in zip(drawn.subsets[name], flipped.subsets[name], strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("kind", ["ood", "noise"])
def test_corrupted_samples_have_no_true_label_and_are_trained_on_as_given(kind):
    drawn = draw_kind(kind)
    assert drawn.true_label.tolist() == [sample.NO_LABEL] * 12
    x, y = drawn.subsets["corrupted"]
    assert np.array_equal(y.numpy(), drawn.given_label)
    for image, label in zip(x, y, strict=True):
        (place,) = np.flatnonzero((drawn.x == image).flatten(1).all(1))
        assert drawn.y[place] == label


def test_foreign_images_are_normalized_as_those_of_the_data_set():
    x, _ = draw_kind("ood").subsets["corrupted"]
    shades = normalize(strangers().train.images, DATA)
    found = {image.unique().item() for image in x}
    assert len(found) == 12
    assert found <= {np.unique(shade).item() for shade in shades}


def test_the_bytes_are_those_of_the_tensors():
    config = planted.config(corruption="noise")
    corrupted, drawn = sample.corrupt(config, DATA), draw_kind("noise")
    assert np.array_equal(normalize(corrupted.images, DATA), drawn.x.numpy())
    assert np.array_equal(corrupted.labels, drawn.y.numpy())
    assert np.array_equal(corrupted.rows[corrupted.index], drawn.corrupted_row)


def test_without_a_foreign_data_set_there_are_no_foreign_images():
    with pytest.raises(ValueError, match="planted needs a foreign data set"):
        draw(corruption="ood")


def test_more_foreign_images_than_there_are():
    with pytest.raises(BadInput, match=r"45 of 50 images .* there are 40 of these"):
        draw_kind("ood", train_size=50, noise_rate=0.9)


def test_a_class_without_an_image_is_an_error_that_names_the_run_and_the_class():
    labels = np.where(DATA.train.labels == 1, 0, DATA.train.labels)
    lacking = replace(DATA, train=replace(DATA.train, labels=labels))
    with pytest.raises(BadInput, match=r"seed 0.*no image of class .*Raise train_size") as found:
        sample.check_size(planted.config(), lacking)
    assert DATA.classes[1] in str(found.value)
