import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import tiny_book
import yaml
from checkouts import check_out, files_in
from filelock import FileLock

from bn_memorization import book, chapter, cli, executors, fingerprint, paths, plans, runs, site
from bn_memorization.errors import BadInput, Failure

PATIENCE = 300  # seconds; only a broken test waits that long
ALL = ["01_first", "02_second", "scoreboard"]


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    for name in ("JUPYTER_PATH", "IPYTHONDIR"):  # execution sets these; put them back afterwards
        monkeypatch.setenv(name, "")
    return tiny_book.write(tmp_path, monkeypatch)


@pytest.fixture
def ran(root, monkeypatch) -> list[str]:
    """Let chapters and pages take no time; return the list of what runs."""
    names = []

    def execute(planned, target, mark):
        names.append(planned.name)
        target.unlink(missing_ok=True)
        if (root / f"fail-{planned.name}").exists():
            raise Failure(f"{planned.name} broke")
        target.parent.mkdir(parents=True, exist_ok=True)
        content = {"metadata": {"bn_memorization": {"made_from": mark}}, "of": planned.profile}
        target.write_text(json.dumps(content))

    def build(source, target, mark, strict=True):
        names.append("pages")
        if (root / "fail-pages").exists():
            raise Failure("the pages broke")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (target / "index.html").touch()
        (target / site.STAMP).write_text(mark)

    monkeypatch.setattr(chapter, "execute", execute)
    monkeypatch.setattr(site, "build", build)
    monkeypatch.setattr(executors, "available_cores", lambda: 1)  # one chapter at a time
    return names


def build(ran: list[str], profile: str = "smoke") -> list[str]:
    """Build the book; return what ran, in order."""
    ran.clear()
    book.build(profile)
    return list(ran)


def file_at(address: str) -> Path:
    """Return the file that a browser opens at an address."""
    parts = urlsplit(address)
    assert parts.scheme == "file"
    return Path(unquote(parts.path))


def test_an_address_leads_to_its_file_whatever_the_name(tmp_path):
    page = tmp_path / "a folder #1 100%" / "lr=0.1,0.2-only=*+*" / "page é.html"
    assert file_at(book.address(page)) == page.resolve()
    assert " " not in book.address(page)


def append(path: Path, text: str = "\n# changed\n") -> None:
    path.write_text(path.read_text() + text)


def test_the_first_build_runs_all_in_order_and_the_second_nothing(root, ran, capsys):
    assert build(ran) == [*ALL, "pages"]
    out = capsys.readouterr().out
    assert "Where the time went" in out
    for name in [*ALL, "pages"]:
        assert f" s  {name}\n" in out
    assert " s  in all, done in " in out
    before = files_in(root)
    assert build(ran) == []
    out = capsys.readouterr().out
    assert out == f"Nothing to do: the book (smoke) is up to date. {book.first_page()}\n"
    assert file_at(book.first_page()).is_file()
    assert files_in(root) == before


@pytest.mark.parametrize(
    ("file", "runs"),
    [
        ("src/bn_memorization/alpha.py", ["01_first", "scoreboard", "pages"]),
        ("src/bn_memorization/delta.py", ["01_first", "scoreboard", "pages"]),
        ("src/bn_memorization/omega.py", ["02_second", "scoreboard", "pages"]),
        ("src/bn_memorization/chapter.py", [*ALL, "pages"]),
        ("src/bn_memorization/rerun_cells.py", [*ALL, "pages"]),
        ("notebooks/presets.yml", ["02_second", "scoreboard", "pages"]),
        ("src/bn_memorization/site.py", ["pages"]),
        ("notebooks/02_second.py", ["02_second", "scoreboard", "pages"]),
        ("notebooks/scoreboard.py", ["scoreboard", "pages"]),
        ("requirements.lock", [*ALL, "pages"]),
        ("book/intro.md", ["pages"]),
        ("_config.yml", ["pages"]),
        ("pyproject.toml", []),
    ],
)
def test_a_change_reruns_only_what_depends_on_it(root, ran, file, runs):
    build(ran)
    append(root / file, "  - {ask: Why, params: lr=1}\n" if "presets" in file else "\n# changed\n")
    assert build(ran) == runs
    assert build(ran) == []


def test_a_profile_reruns_the_chapters_of_another(root, ran):
    build(ran, "smoke")
    assert build(ran, "quick") == [*ALL, "pages"]
    assert build(ran, "quick") == []
    append(root / "notebooks/profiles/smoke.yml", "  epochs: 7\n")
    assert build(ran, "quick") == []


def test_a_new_chapter_runs_and_a_removed_one_leaves_no_page(root, ran):
    build(ran)
    tiny_book.write_chapter(root, "03_third", "")
    assert build(ran) == ["03_third", "scoreboard", "pages"]
    (root / "notebooks" / "01_first.py").unlink()
    (root / "notebooks/profiles/smoke.yml").write_text("02_second:\n  lr: 0.1\n")
    assert build(ran) == ["scoreboard", "pages"]
    names = sorted(path.stem for path in (root / "book" / "chapters").iterdir())
    assert names == ["02_second", "03_third", "scoreboard"]


def test_missing_or_damaged_chapters_run_again(root, ran):
    build(ran)
    book.target_of("01_first").unlink()
    assert build(ran) == ["01_first", "pages"]
    book.target_of("02_second").write_text("{")
    assert build(ran) == ["02_second", "pages"]
    assert build(ran) == []


def test_missing_pages_are_built_without_running_a_chapter(root, ran):
    build(ran)
    shutil.rmtree(paths.site())
    assert build(ran) == ["pages"]


def test_a_failing_chapter_takes_the_book_away_and_no_other_chapter(root, ran, capsys):
    build(ran)
    append(root / "requirements.lock")
    (root / "fail-01_first").touch()
    capsys.readouterr()
    ran.clear()
    assert cli.main(["book", "--profile", "smoke"]) == 1
    assert ran == ["01_first", "02_second"]
    assert capsys.readouterr().err == "bn-memorization: 01_first broke\n"
    assert not paths.site().exists()
    assert not book.target_of("01_first").exists()

    (root / "fail-01_first").unlink()
    assert build(ran) == ["01_first", "scoreboard", "pages"]  # the second one is kept
    assert paths.site().exists()


def test_every_chapter_that_fails_is_told(root, ran):
    for name in ("01_first", "02_second"):
        (root / f"fail-{name}").touch()
    with pytest.raises(Failure, match=r"^01_first broke\n02_second broke$"):
        build(ran)
    assert ran == ["01_first", "02_second"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_book_whose_chapter_was_stopped_is_taken_away_too(root, ran, monkeypatch, error):
    build(ran)
    append(root / "notebooks/01_first.py")

    def stop(*args):
        raise error

    monkeypatch.setattr(chapter, "execute", stop)
    with pytest.raises(error):
        book.build("smoke")
    assert not paths.site().exists()


def test_failing_pages_are_tried_again_without_the_chapters(root, ran):
    (root / "fail-pages").touch()
    with pytest.raises(Failure, match="the pages broke"):
        build(ran)
    assert not paths.site().exists()
    (root / "fail-pages").unlink()
    assert build(ran) == ["pages"]


def test_all_parameters_are_checked_before_the_first_chapter_runs(root, ran):
    build(ran)
    append(root / "requirements.lock")
    append(root / "notebooks/profiles/smoke.yml", "  epochs: 0\n")  # of the second chapter
    before = files_in(root)
    with pytest.raises(BadInput, match="epochs=0 is out of range"):
        build(ran)
    assert ran == []
    assert files_in(root) == before


def test_all_runs_are_checked_before_the_first_chapter_runs(root, ran, monkeypatch):
    """Parameters that do not go together, then data that are too few, of the last chapter."""
    build(ran)
    append(root / "requirements.lock")
    before = files_in(root)

    def refuse(values):
        raise BadInput("these do not go together")

    monkeypatch.setitem(plans.CHAPTERS, "02_second", refuse)
    with pytest.raises(BadInput, match="these do not go together"):
        build(ran)
    monkeypatch.setitem(plans.CHAPTERS, "02_second", lambda values: ["a config"])
    monkeypatch.setattr(runs, "check", lambda configs: configs and refuse(configs))
    with pytest.raises(BadInput, match="these do not go together"):
        build(ran)
    assert ran == []
    assert files_in(root) == before


def test_what_a_killed_build_left_is_removed(root, ran):
    for name in ("book/chapters/.executing-x/ipython", "_build/.site-y/_build/html"):
        (root / name).mkdir(parents=True)
        (root / name / "file").touch()
    build(ran)
    assert not (root / "book/chapters/.executing-x").exists()
    assert not (root / "_build/.site-y").exists()
    assert build(ran) == []


@pytest.mark.parametrize(
    "fault", ["raise ValueError('broken on purpose')", "for for", "import no_such_module"]
)
def test_a_chapter_that_really_fails(root, capsys, fault):
    """No stand-in: the notebook is executed. The book that stood there before is gone."""
    paths.site().mkdir(parents=True)
    (paths.site() / "index.html").touch()
    tiny_book.write_chapter(root, "01_first", fault)
    assert cli.main(["book", "--profile", "smoke"]) == 1
    err = capsys.readouterr().err
    assert fault.split()[-1] in err
    assert "Chapter 01_first failed in cell" in err
    assert not paths.site().exists()
    assert list((root / "book" / "chapters").iterdir()) == []
    assert (root / "_build" / "failed" / "01_first.ipynb").is_file()


def test_a_build_waits_for_the_one_at_work(root, ran, capsys):
    build(ran)
    capsys.readouterr()
    append(root / "notebooks/scoreboard.py")
    ran.clear()
    lock = FileLock(root / "_build" / ".lock")
    with lock:
        second = threading.Thread(target=book.build, args=["smoke"], daemon=True)
        second.start()
        waiting = ""
        deadline = time.monotonic() + PATIENCE
        while "Another build is at work" not in waiting and time.monotonic() < deadline:
            waiting += capsys.readouterr().out
            time.sleep(0.01)
        assert waiting == "Another build is at work; waiting for it to end.\n"
        assert ran == []
        assert second.is_alive()
    second.join(PATIENCE)
    assert not second.is_alive()
    assert ran == ["scoreboard", "pages"]


def test_two_builds_at_once_do_the_work_once(root, ran):
    threads = [threading.Thread(target=book.build, args=["smoke"], daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert ran == [*ALL, "pages"]


def test_a_failed_build_frees_the_lock(root, ran):
    (root / "fail-01_first").touch()
    for _ in range(2):
        with pytest.raises(Failure, match="01_first broke"):
            build(ran)


def test_a_wrong_profile_does_not_wait_for_another_build(root, ran):
    (root / "_build").mkdir()
    with FileLock(root / "_build" / ".lock"), pytest.raises(BadInput, match="Unknown profile"):
        book.build("wrong")


@pytest.mark.parametrize("blocked", ["runs", "book/chapters", "_build"])
def test_a_file_in_place_of_a_folder(root, ran, blocked):
    (root / blocked).touch()
    with pytest.raises(
        BadInput, match=f"Cannot write to {root / blocked}.*Make it writable"
    ) as caught:
        book.check_folders()
    assert ("BN_MEMORIZATION_RUNS" in str(caught.value)) == (blocked == "runs")
    with pytest.raises(BadInput, match=f"Cannot write to {root / blocked}"):
        build(ran)
    assert ran == []


def test_a_folder_that_no_file_can_be_made_in(root, monkeypatch):
    def refuse(**where):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(book.tempfile, "TemporaryFile", refuse)
    with pytest.raises(BadInput, match=f"Cannot write to {root / 'runs'}: Permission denied"):
        book.check_folders()


@pytest.mark.parametrize(
    ("free", "enough"), [(book.LEAST_FREE, True), (book.LEAST_FREE - 1, False), (0, False)]
)
def test_a_full_disk(root, ran, monkeypatch, free, enough):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(2**40, 2**40 - free, free))
    if enough:
        assert build(ran) == [*ALL, "pages"]
    else:
        with pytest.raises(BadInput, match=rf"has {free >> 20} MB left; 500 MB are needed"):
            build(ran)
        assert ran == []


def test_folders_are_made_and_left_empty(root):
    book.check_folders()
    for folder in ("runs", "book/chapters", "_build"):
        assert list((root / folder).iterdir()) == []


def test_a_rerun_leaves_the_book_as_it_is(root, ran, monkeypatch, capsys):
    build(ran)
    before = files_in(root)
    monkeypatch.setattr(site, "stage", lambda executed, into: "book/chapters/01_first")
    ran.clear()
    given = {"lr": "1e-2", "dataset": "mnist,cifar10", "epochs": "2"}
    book.rerun("01_first", "quick", given)
    assert ran == ["01_first", "pages"]
    folder = root / "_build/reruns/01_first-quick-dataset=mnist,cifar10-epochs=2-lr=0.01"
    assert (folder / "01_first.ipynb").is_file()
    assert f"file://{folder}/html/book/chapters/01_first.html\n" in capsys.readouterr().out
    after = files_in(root)
    assert {name: after[name] for name in before} == before
    assert {name.split("/")[1] for name in after.keys() - before.keys()} == {"reruns"}
    assert build(ran) == []


@pytest.mark.parametrize("step", ["01_first", "pages"])
def test_a_failed_rerun_leaves_no_pages_of_the_one_before(root, ran, monkeypatch, step):
    monkeypatch.setattr(site, "stage", lambda executed, into: "page")
    for lr in ("1", "10"):
        book.rerun("01_first", "smoke", {"lr": lr})
    (root / f"fail-{step}").touch()
    with pytest.raises(Failure, match="broke"):
        book.rerun("01_first", "smoke", {"lr": "10"})
    reruns = root / "_build/reruns"
    pages = {path.parent.name for path in reruns.glob("*/html")}
    assert pages == {"01_first-smoke-lr=1.0"}


def test_reruns_with_other_values_have_other_folders(root, ran, monkeypatch):
    monkeypatch.setattr(site, "stage", lambda executed, into: "page")
    long = [f"0.{n:05}" for n in range(1, 200)]
    for given in (
        {},
        {"lr": "1e-3"},
        {"lr": "0.001"},  # the same once more
        {"lr": "10"},
        {"epochs": "2"},
        {"dataset": "mnist,cifar10"},
        {"dataset": "cifar10,mnist"},
    ):
        book.rerun("01_first", "smoke", given)
    book.rerun("01_first", "quick", {})
    folders = sorted(path.name for path in (root / "_build/reruns").iterdir())
    assert len(folders) == 7
    tiny_book.write_chapter(root, "01_first", "", 'profile = "quick"\nnoise_rate = [0.1]')
    (root / "notebooks/profiles/smoke.yml").write_text("{}")
    for values in (long, long[:-1]):  # a name that no file system takes
        book.rerun("01_first", "smoke", {"noise_rate": ",".join(values)})
    assert len(list((root / "_build/reruns").iterdir())) == 9


def test_a_rerun_with_a_pattern_has_one_folder(root, ran, monkeypatch):
    monkeypatch.setattr(site, "stage", lambda executed, into: "page")
    tiny_book.write_chapter(root, "01_first", "", 'profile = "quick"\nonly = ["*/*/*/*"]')
    (root / "notebooks/profiles/smoke.yml").write_text("{}")
    book.rerun("01_first", "smoke", {"only": "mnist/lenet/flip/0.05"})
    (folder,) = (root / "_build/reruns").iterdir()
    assert (folder / "01_first.ipynb").is_file()


def test_a_rerun_checks_its_parameters_first(root, ran):
    before = files_in(root)
    with pytest.raises(BadInput, match="out of range"):
        book.rerun("01_first", "smoke", {"epochs": "0"})
    assert ran == []
    assert files_in(root) == before


def test_nothing_heavy_is_imported_to_find_that_nothing_is_to_do():
    """Or saying so would take longer than a reader waits."""
    code = "import sys, bn_memorization.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "bn_memorization.book" in loaded
    assert not loaded & {"torch", "numpy", "pandas", "matplotlib", "papermill", "sympy"}


def test_the_real_book_is_up_to_date_and_says_so(built_site, monkeypatch, capsys):
    checkout = built_site.parents[1]
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(checkout))
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(checkout / "runs"))
    before = files_in(checkout)
    assert cli.main(["book", "--profile", "smoke"]) == 0
    assert capsys.readouterr().out.startswith("Nothing to do: the book (smoke) is up to date.")
    assert files_in(checkout) == before
    assert set(book.stale("quick")) == {*fingerprint.chapters(), fingerprint.SCOREBOARD}


def records(root: Path) -> dict[str, Path]:
    return {path.parent.name: path for path in root.glob("runs/*/*/arrays.npz")}


def check_out_one_chapter(root: Path) -> dict[str, str]:
    """Check out a book of the first chapter and two pages, and return the environment for it."""
    own = check_out(root) | {"BN_MEMORIZATION_EXECUTOR": "local:2"}
    first, *others = fingerprint.chapters()
    for name in others:
        (root / "notebooks" / f"{name}.py").unlink()
    profile = root / "notebooks" / "profiles" / "smoke.yml"
    settings = yaml.safe_load(profile.read_text())
    profile.write_text(yaml.safe_dump({first: settings[first]}))
    (root / "book" / "intro.md").write_text("# Intro\n\nProse.\n")
    (root / "book" / "other.md").write_text("# Other\n\nProse.\n")
    contents = "format: jb-book\nroot: book/intro\nchapters:\n  - file: book/other\n"
    (root / "_toc.yml").write_text(contents)
    return own


def test_kill_9_while_models_train(built_site, tmp_path):
    """The next build trains only what is missing, and its results are those of a quiet build."""
    own = check_out_one_chapter(tmp_path)
    command = [Path(sys.executable).with_name("bn-memorization"), "book", "--profile", "smoke"]
    with subprocess.Popen(
        command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as first:
        deadline = time.monotonic() + PATIENCE
        while len(records(tmp_path)) < 2 and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        first.send_signal(signal.SIGKILL)
    assert first.returncode == -signal.SIGKILL
    finished = {path: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
                for path in records(tmp_path).values()}  # fmt: skip
    assert len(finished) >= 2
    assert not (tmp_path / "_build" / "html").exists()

    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for path, before in finished.items():
        assert (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) == before
    now, undisturbed = records(tmp_path), records(built_site.parents[1])
    assert len(finished) < len(now)
    for key, path in now.items():
        with np.load(path) as arrays, np.load(undisturbed[key]) as wanted:
            assert arrays.files == wanted.files
            for name in wanted.files:
                np.testing.assert_array_equal(arrays[name], wanted[name])
    assert (tmp_path / "_build" / "html" / "index.html").is_file()
    names = {path.stem for path in (tmp_path / "book" / "chapters").iterdir()}
    assert names == {fingerprint.chapters()[0], fingerprint.SCOREBOARD}
