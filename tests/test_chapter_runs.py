"""Chapters that share runs ask for the same ones, so that none is trained twice."""

import jupytext
import pytest

from bn_memorization import experiments, fingerprint, parameters, paths

ONE, TWO = "01_forced_memorization", "02_gradient_norms"


def settings(chapter, profile):
    """Return a chapter's parameters under a profile, as its runner has them."""
    notebook = jupytext.reads((paths.notebooks() / f"{chapter}.py").read_text(), fmt="py:percent")
    (cell,) = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    given = fingerprint.of_profile(profile, chapter)
    return parameters.check(chapter, parameters.declared(cell.source), given)


@pytest.mark.parametrize("profile", fingerprint.profiles())
def test_chapter_2_trains_nothing_that_chapter_1_does_not(profile):
    first, second = (experiments.CHAPTERS[name](settings(name, profile)) for name in (ONE, TWO))
    assert second
    assert set(second) <= set(first)
