import re

import pytest

from bn_memorization import chapter, fingerprint, parameters, presets

MOST = 6


def suggested() -> list:
    return [
        pytest.param(name, preset, id=f"{name}-{preset['params']}")
        for name in fingerprint.chapters()
        for preset in presets.read(name)
    ]


@pytest.mark.parametrize("name", fingerprint.chapters())
def test_every_chapter_suggests_some(name):
    found = presets.read(name)
    assert 2 <= len(found) <= MOST
    assert len({preset["params"] for preset in found}) == len(found)
    for preset in found:
        assert preset.keys() <= {"ask", "params", "profile"}
        assert preset["ask"].endswith(("?", "."))


def test_a_chapter_that_is_not_named_suggests_nothing():
    assert presets.read("scoreboard") == []


@pytest.mark.parametrize("profile", fingerprint.profiles())
@pytest.mark.parametrize(("name", "preset"), suggested())
def test_no_suggestion_is_dead(name, preset, profile):
    """Each is accepted in every profile, and is not what the page has anyway."""
    given = parameters.of_command_line(preset["params"].split())
    planned = chapter.plan(name, preset.get("profile", profile), given)
    if profile == "quick":  # in a larger one the page may have it already
        assert planned.parameters != chapter.plan(name, profile).parameters


def test_no_notebook_types_what_is_suggested():
    """Commands stand in one place; chapter 10's own names files that only its reader has."""
    for name in fingerprint.chapters():
        text = (chapter.paths.notebooks() / f"{name}.py").read_text()
        typed = re.findall(r"CHAPTER=(\w+)", text)
        assert typed == (["10_audit"] if name == "10_audit" else [])
