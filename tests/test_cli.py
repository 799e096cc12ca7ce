import hashlib
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import papermill
import pytest
from checkouts import REPOSITORY, check_out, files_in

from bn_memorization import (
    __version__,
    book,
    cli,
    data,
    fingerprint,
    hosting,
    pdf,
    run_kinds,
    runs,
)
from bn_memorization.errors import BadInput, Failure

CHAPTER = "01_forced_memorization"
Outcome = namedtuple("Outcome", "status out err")


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A checkout of its own, in which nothing that takes time may start."""
    root = tmp_path / "checkout"
    root.mkdir()
    own = check_out(root)
    for name in ("BN_MEMORIZATION_ROOT", "BN_MEMORIZATION_RUNS"):
        monkeypatch.setenv(name, own[name])
    monkeypatch.setenv("BN_MEMORIZATION_DATA", str(tmp_path / "no-full-data"))
    # The process keeps data sets it has read, whatever checkout they came from.
    monkeypatch.setattr(run_kinds, "_dataset", data.load)

    def never(*args, **kwargs):
        raise AssertionError("something ran")

    monkeypatch.setattr(papermill, "execute_notebook", never)
    monkeypatch.setattr(runs, "executor", never)
    monkeypatch.setattr(subprocess, "run", never)
    return root


@pytest.fixture
def call(capsys):
    def run(*arguments: str) -> Outcome:
        try:
            status = cli.main(list(arguments))
        except SystemExit as stop:
            status = stop.code
        return Outcome(status, *capsys.readouterr())

    return run


def assert_refused(outcome: Outcome, *parts: str, status: int = 2) -> None:
    """One message on stderr, with `parts` in it; nothing else, and no traceback."""
    assert outcome.status == status
    assert outcome.out == ""
    assert outcome.err.startswith("bn-memorization: ")
    assert outcome.err.count("bn-memorization: ") == 1
    assert outcome.err.endswith("\n")
    assert "Traceback" not in outcome.err
    for part in parts:
        assert part in outcome.err, outcome.err


CHAPTERS = [f"Choose from: {', '.join([*fingerprint.chapters(), fingerprint.SCOREBOARD])}."]
PROFILES = [f"Choose from: {', '.join(fingerprint.profiles())}."]
BAD = [
    (["chapter", "01_forced_mem"], ["Unknown chapter '01_fo", f"mean {CHAPTER!r}", *CHAPTERS]),
    (["chapter", "zzz"], ["Unknown chapter 'zzz'. ", *CHAPTERS]),
    (["chapter", ""], ["Unknown chapter ''. ", *CHAPTERS]),
    (["chapter", f"../notebooks/{CHAPTER}"], ["Unknown chapter", *CHAPTERS]),
    (["chapter", f"{CHAPTER}.py"], ["Unknown chapter", *CHAPTERS]),
    (["chapter", "zzz", "epochs=0"], ["Unknown chapter"]),
    (["book", "--profile", "smok"], ["Unknown profile 'smok'", "Did you mean 'smoke'", *PROFILES]),
    (["book", "--profile", ""], ["Unknown profile ''. ", *PROFILES]),
    (["book", "--profile", "../profiles/smoke"], ["Unknown profile", *PROFILES]),
    (["chapter", CHAPTER, "--profile", "Smoke"], ["Unknown profile 'Smoke'", *PROFILES]),
    (["chapter", CHAPTER, "profile=smoke"], ["use PROFILE or --profile"]),
    (["chapter", CHAPTER, "epoch=5"], ["Unknown parameter of", "'epoch'", "mean 'epochs'", "lr,"]),
    (["chapter", CHAPTER, "zzz=5"], ["Unknown parameter of", "'zzz'. Choose from: arch, batch_s"]),
    (["chapter", CHAPTER, "cases=5"], ["Unknown parameter", "'cases'"]),  # another chapter's
    (["chapter", "04_margin_growth", "penalty_form=log"], ["Choose from: ", "cases, "]),
    (["chapter", "scoreboard", "epochs=5"], ["Choose from: profile"]),
    (["chapter", CHAPTER, "noise_rate=abc"], ["noise_rate=abc is not a number", "0 up to 0.5"]),
    (["chapter", CHAPTER, "noise_rate=1.5"], ["noise_rate=1.5 is out of range", "0 up to 0.5"]),
    (["chapter", CHAPTER, "noise_rate=nan"], ["noise_rate=nan is out of range"]),
    (["chapter", CHAPTER, "noise_rate=0.1,0.1"], ["noise_rate=", "twice"]),
    (["chapter", CHAPTER, "epochs=0"], ["epochs=0 is out of range", "from 1 up to 10000"]),
    (["chapter", CHAPTER, "epochs=2.5"], ["epochs=2.5 is not a whole number"]),
    (["chapter", CHAPTER, "epochs=true"], ["epochs=true is not a whole number"]),
    (["chapter", CHAPTER, "lr=1", "epochs=0"], ["epochs=0 is out of range"]),
    (["chapter", CHAPTER, "epochs"], ["'epochs' is not of the form name=value"]),
    (["chapter", CHAPTER, "epochs="], ["'epochs=' is not of the form name=value"]),
    (["chapter", CHAPTER, "epochs", "=", "5"], ["'epochs' is not of the form"]),
    (["chapter", CHAPTER, "epochs=5", "epochs=6"], ["epochs is given twice"]),
    (["chapter", CHAPTER, "dataset=mnits"], ["Unknown data set 'mnits'", "mean 'mnist'", "cifar"]),
    (["chapter", CHAPTER, "dataset=mnist,"], ["Unknown data set ''. Choose from: cifar10, cifar"]),
    (["chapter", CHAPTER, "arch=resnet"], ["Unknown architecture 'resnet'", "lenet"]),
    (["chapter", CHAPTER, "norm=bach"], ["Unknown norm 'bach'", "mean 'batch'", "group, layer"]),
    (["chapter", CHAPTER, "norm=none"], ["Unknown norm 'none'"]),
    (["chapter", CHAPTER, "optimizer=rmsprop"], ["Unknown optimizer 'rmsprop'", "adam, sgd"]),
    (["chapter", CHAPTER, "source=web"], ["Unknown source 'web'", "embedded"]),
    (["chapter", CHAPTER, "train_size=9000"], ["train_size=9000", "has 8000", "at most 8000"]),
    (
        ["chapter", CHAPTER, "dataset=cifar10", "deep_train_size=4000"],
        ["train_size=4000, but cifar10", "at most 3000"],
    ),
    (["chapter", CHAPTER, "dataset=mnist", "arch=resnet8"], ["No combination", "only=*/*/*/*"]),
    (["chapter", CHAPTER, "only=mnist"], ["only=mnist is not of the form data set/architecture/"]),
    (["chapter", CHAPTER, "corruption=flop"], ["Unknown corruption 'flop'", "'flip'"]),
    (["chapter", CHAPTER, "dataset=cifar100"], ["no embedded subset", "mnist, fashion_mnist"]),
    (["chapter", CHAPTER, "source=local"], ["could not be had", "What to do: "]),
    (["chapter", "--profile", "smoke", CHAPTER, "epochs=0"], ["epochs=0 is out of range"]),
    (["chapter", CHAPTER, "lr=1", "--profile", "smoke", "epochs=0"], ["epochs=0 is out of range"]),
    (["chapter", CHAPTER, "--profile=smoke", "lr=0"], ["lr=0 is out of range"]),
    (["pdf", "--profile", "smok"], ["Unknown profile 'smok'", *PROFILES]),
    (["site", "--profile", "smok"], ["Unknown profile 'smok'", *PROFILES]),
    (["site", "--address", "name.example"], ["SITE_URL='name.example' is not the address"]),
    (["data", "mnits"], ["Unknown data set 'mnits'", "mean 'mnist'", "cifar10, cifar100, fashion"]),
    (["data", "mnist", "nope"], ["Unknown data set 'nope'"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "parts"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_stops_before_anything_runs(root, call, arguments, parts):
    before = files_in(root)
    assert_refused(call(*arguments), *parts)
    assert files_in(root) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["bok"],
        ["chapter"],
        ["book", "smoke"],
        ["book", "--profil"],
        ["book", "--profile"],
        ["chapter", CHAPTER, "--epochs", "5"],
        ["chapter", CHAPTER, "--profile", "smoke", "epochs=5", "--wrong"],
        ["clean", "all"],
        ["data", "--all"],
    ],
    ids=" ".join,
)
def test_usage_errors_are_bad_input_too(root, call, arguments):
    before = files_in(root)
    outcome = call(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.startswith("usage: bn-memorization")
    assert len([line for line in outcome.err.splitlines() if " error: " in line]) == 1
    assert files_in(root) == before


@pytest.mark.parametrize("text", ["01_forced_memorization: {epochs: abc}", "- a", "a: ["])
def test_a_bad_profile_file_stops_the_book_before_anything_runs(root, call, text):
    (root / "notebooks/profiles/smoke.yml").write_text(text)
    before = files_in(root)
    outcome = call("book", "--profile", "smoke")
    assert outcome.status == 2
    assert "Traceback" not in outcome.err
    assert files_in(root).items() - before.items() <= {("_build/.lock", b"")}


def test_a_bad_setting_of_the_last_chapter_stops_the_first(root, call):
    (root / "notebooks/profiles/smoke.yml").write_text("04_margin_growth: {cases: 1}\n")
    assert_refused(call("book", "--profile", "smoke"), "cases=1 is out of range")


def test_a_damaged_data_file_shows_both_sums(root, call):
    folder = root / "data" / "embedded"
    folder.unlink()
    folder.mkdir()
    real = REPOSITORY / "data" / "embedded"
    for path in real.iterdir():
        (folder / path.name).symlink_to(path)
    damaged = folder / "mnist-test.png"
    content = bytearray(damaged.read_bytes())
    content[-100] ^= 1
    damaged.unlink()
    damaged.write_bytes(content)
    before = files_in(root)
    outcome = call("chapter", CHAPTER, "--profile", "smoke")
    both = [bytes(content), (real / "mnist-test.png").read_bytes()]
    sums = [hashlib.sha256(one).hexdigest() for one in both]
    assert_refused(outcome, *sums, "mnist-test.png", "git checkout")
    assert files_in(root) == before


@pytest.mark.parametrize("arguments", [["book", "--profile", "smoke"], ["chapter", CHAPTER]])
@pytest.mark.parametrize("blocked", ["runs", "book/chapters", "_build"])
def test_a_folder_that_cannot_be_written_to(root, call, arguments, blocked):
    (root / blocked).write_text("in the way")
    outcome = call(*arguments)
    assert_refused(outcome, f"Cannot write to {root / blocked}", "Make it writable")
    assert ("BN_MEMORIZATION_RUNS" in outcome.err) == (blocked == "runs")  # it moves no other


def test_run_records_below_a_file(root, call, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(root / "_toc.yml" / "runs"))
    assert_refused(call("chapter", CHAPTER), "Cannot write to", "_toc.yml/runs")


@pytest.mark.parametrize("arguments", [["book", "--profile", "smoke"], ["chapter", CHAPTER]])
def test_a_full_disk(root, call, monkeypatch, arguments):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(2**40, 2**40, 3 * 2**20))
    assert_refused(call(*arguments), "has 3 MB left", "500 MB are needed")


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (BadInput("that is wrong."), 2, "bn-memorization: that is wrong.\n"),
        (Failure("it broke."), 1, "bn-memorization: it broke.\n"),
        (OSError(28, "No space left"), 1, "bn-memorization: [Errno 28] No space left\n"),
        (KeyboardInterrupt(), 1, "\nbn-memorization: stopped. Finished models are kept.\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exit_status_and_message(call, monkeypatch, error, status, message):
    def fail(profile):
        raise error

    monkeypatch.setattr(book, "build", fail)
    assert call("book") == (status, "", message)


def test_an_error_of_our_own_making_is_not_hidden(call, monkeypatch):
    monkeypatch.setattr(book, "build", lambda profile: {}["key"])
    with pytest.raises(KeyError):
        call("book")


def test_what_the_verbs_call(call, monkeypatch):
    calls = []
    monkeypatch.setattr(book, "build", lambda profile: calls.append(("build", profile)))
    monkeypatch.setattr(book, "rerun", lambda *words: calls.append(("rerun", *words)))
    monkeypatch.setattr(book, "clean", lambda: calls.append(("clean",)))
    monkeypatch.setattr(pdf, "make", lambda profile: calls.append(("pdf", profile)))
    monkeypatch.setattr(hosting, "make", lambda *words: calls.append(("site", *words)))
    monkeypatch.setattr(data, "fetch", lambda names: calls.append(("fetch", names)))
    for words in (
        ["book"],
        ["book", "--profile", "smoke"],
        ["chapter", "x"],
        ["chapter", "x", "a=1", "b=2,3", "--profile", "smoke"],
        ["chapter", "--profile", "smoke", "x", "a=1"],
        ["chapter", "x", "--profile", "smoke", "a=1"],
        ["clean"],
        ["data"],
        ["data", "mnist"],
        ["pdf"],
        ["site", "--profile", "smoke"],
        ["site", "--address", "https://name.example/x"],
    ):
        assert call(*words) == (0, "", "")
    assert calls == [
        ("build", "quick"),
        ("build", "smoke"),
        ("rerun", "x", "quick", {}),
        ("rerun", "x", "smoke", {"a": "1", "b": "2,3"}),
        ("rerun", "x", "smoke", {"a": "1"}),
        ("rerun", "x", "smoke", {"a": "1"}),
        ("clean",),
        ("fetch", list(data.DATASETS)),
        ("fetch", ["mnist"]),
        ("pdf", "quick"),
        ("site", "smoke", ""),
        ("site", "quick", "https://name.example/x"),
    ]


@pytest.mark.parametrize(
    ("verb", "status", "commands"),
    [
        ("test", 0, [["pytest"]]),
        ("lint", 0, [["ruff", "check", "."], ["ruff", "format", "--check", "."]]),
        ("test", 1, [["pytest"]]),
        ("lint", 1, [["ruff", "check", "."]]),
    ],
)
def test_tools_run_in_the_checkout_and_their_status_counts(
    root, call, monkeypatch, verb, status, commands
):
    ran = []

    def run(command, cwd):
        assert cwd == root
        ran.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(subprocess, "run", run)
    outcome = call(verb)
    assert ran == [[sys.executable, "-m", *words] for words in commands]
    assert outcome.status == status
    assert (f"{commands[0][0]} found something to mend" in outcome.err) == bool(status)


def test_version_and_help(call):
    assert call("--version") == (0, f"{__version__}\n", "")
    outcome = call("--help")
    assert outcome.status == 0
    for verb in ("book", "chapter", "pdf", "site", "data", "test", "lint", "clean"):
        assert f"  {verb} " in outcome.out


def test_clean_leaves_the_run_records(root, call):
    before = files_in(root)
    for name in ("runs/train/x", "book/chapters/a.ipynb", "_build/html/index.html"):
        (root / name).parent.mkdir(parents=True)
        (root / name).touch()
    outcome = call("clean")
    assert outcome.status == 0
    assert f"stay in {root / 'runs'}" in outcome.out
    assert files_in(root) == before | {"runs/train/x": b""}
    assert call("clean").status == 0


def test_the_installed_command_returns_the_status(root):
    script = Path(sys.executable).with_name("bn-memorization")
    with subprocess.Popen(
        [script, "book", "--profile", "none"], stderr=subprocess.PIPE, text=True
    ) as done:
        _, err = done.communicate()
    assert done.returncode == 2
    assert err.startswith("bn-memorization: Unknown profile 'none'.")
