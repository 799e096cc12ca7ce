import os
import shlex
import subprocess

import pytest
from checkouts import REPOSITORY
from hypothesis import given
from hypothesis import strategies as st

from bn_memorization import cli, commands, parameters

LINES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


def test_the_book():
    assert commands.book("standard") == "make book PROFILE=standard"


@pytest.mark.parametrize(
    ("values", "command"),
    [
        ({}, "make chapter CHAPTER=01_a PROFILE=quick"),
        ({"epochs": 5}, "make chapter CHAPTER=01_a PROFILE=quick PARAMS='epochs=5'"),
        (
            {"dataset": ["mnist", "cifar10"], "lr": 1e-05},
            "make chapter CHAPTER=01_a PROFILE=quick PARAMS='dataset=mnist,cifar10 lr=1e-05'",
        ),
        (
            {"only": ["*/*/*/*"]},
            "make chapter CHAPTER=01_a PROFILE=quick PARAMS='only=*/*/*/*'",
        ),
        (
            {"images": "my photos/x.npz", "epochs": 5},
            ".venv/bin/bn-memorization chapter 01_a 'images=my photos/x.npz' epochs=5 "
            "--profile quick",
        ),
    ],
)
def test_a_chapter(values, command):
    assert commands.chapter("01_a", "quick", values) == command


def words_that_reach_the_script(command: str) -> list[str]:
    """Return what the Makefile's recipe passes on: PARAMS split at spaces and nothing else."""
    make, target, *words = shlex.split(command)
    assert (make, target) == ("make", "chapter")
    given = dict(word.split("=", 1) for word in words)
    return ["chapter", "--profile", given["PROFILE"], given["CHAPTER"], *given["PARAMS"].split()]


@given(st.lists(st.sampled_from(["mnist", "cifar10"]), min_size=1, unique=True), LINES)
def test_a_copied_command_gives_the_same_parameters(names, text):
    values = {"dataset": names, "images": text, "lr": 0.1}
    command = commands.chapter("01_a", "quick", values)
    asked = cli._parse(words_that_reach_the_script(command))
    assert (asked.name, asked.profile) == ("01_a", "quick")
    read = parameters.of_command_line(asked.parameters)
    assert read == {"dataset": ",".join(names), "images": text, "lr": "0.1"}


@given(LINES, LINES)
def test_a_value_with_a_space_goes_past_make(one, other):
    command = commands.chapter("01_a", "quick", {"images": f"{one} {other}"})
    script, *words = shlex.split(command)
    assert script == ".venv/bin/bn-memorization"
    assert cli._parse(words).parameters == [f"images={one} {other}"]


@pytest.mark.parametrize("text", ["a$b", "$(id)", "`id`", "it's", 'a"b', "a\\b", "*", "a#b"])
def test_make_itself_passes_a_value_on_as_it_is(tmp_path, text):
    """With a Makefile that has the recipe of the real one, and prints what it would run."""
    real = (REPOSITORY / "Makefile").read_text()
    lines = [
        line for line in real.splitlines() if line.startswith(("override PARAMS", "export PR"))
    ]
    recipe = "chapter:\n\t@set -f; printf '%s\\n' $$PARAMS\n"
    (tmp_path / "Makefile").write_text("\n".join([*lines, recipe]))
    command = commands.chapter("01_a", "quick", {"images": text, "epochs": 5})
    # Of the make that runs the tests it would take over options, and tell of folders.
    own = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=own, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [f"images={text}", "epochs=5"], done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]
