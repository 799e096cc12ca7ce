"""Chapters that share runs ask for the same ones, so that none is trained twice."""

import pytest

from bn_memorization import chapter, experiments, fingerprint


@pytest.mark.parametrize("profile", fingerprint.profiles())
def test_chapter_2_adds_one_network_to_runs_of_chapter_1(profile):
    first = chapter.plan("01_forced_memorization", profile).configs
    *second, network = chapter.plan("02_gradient_norms", profile).configs
    assert second
    assert set(second) <= set(first)
    assert network == experiments.midway(second, "batch")


@pytest.mark.parametrize("profile", fingerprint.profiles())
def test_the_page_on_sensitivity_reads_chapter_3s_models(profile):
    third, page = (
        chapter.plan(name, profile).configs
        for name in ("03_membership_inference", "03b_sensitivity")
    )
    assert page
    assert page == third
