import re

import pytest
import tiny_book
import yaml
from checkouts import REPOSITORY, files_in

from bn_memorization import book, fingerprint, hosting, paths, pdf, site
from bn_memorization.errors import BadInput, Failure

ADDRESS = "https://name.example/bn_memorization/"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("", ""),
        (ADDRESS, ADDRESS),
        (ADDRESS.rstrip("/"), ADDRESS),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/"),
        ("https://name.example/a/b-c/~d/", "https://name.example/a/b-c/~d/"),
    ],
)
def test_an_address_ends_in_a_slash(given, used):
    assert hosting.checked(given) == used


@pytest.mark.parametrize(
    "given",
    [
        "name.example", "/bn_memorization/", "ftp://name.example/", "https://", "https:///x",
        "https://name.example/?x=1", "https://name.example/#x", "https://name.example//",
        'https://name.example/"><script>', "https://name.example/a b", "file:///tmp", "$(x)", " ",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(given):
    with pytest.raises(BadInput, match=r"SITE_URL=.*SITE_URL=https://name\.example"):
        hosting.checked(given)


@pytest.fixture
def built(tmp_path, monkeypatch) -> list[dict]:
    """A book whose pages are made by name alone; return what its extensions were told."""
    tiny_book.write(tmp_path, monkeypatch)
    told = []

    def build(source, target, mark, told):
        target.mkdir(parents=True)
        for name in ("index.html", site.STAMP, ".buildinfo", "_static/a.css", "_sources/x.md"):
            (target / name).parent.mkdir(exist_ok=True)
            (target / name).write_text(name)
        built_with.append(told)

    built_with = told
    paths.build().mkdir()
    monkeypatch.setattr(book, "build", lambda profile: None)
    monkeypatch.setattr(site, "build", build)
    monkeypatch.setattr(hosting, "draw_card", lambda target, profile: target.write_text("card"))
    return told


def test_a_site_has_what_a_host_needs_and_no_more(built, capsys):
    hosting.make("smoke", ADDRESS)
    kept = {"index.html", ".nojekyll", "_static/a.css", "_static/card.png", "_sources/x.md"}
    assert set(files_in(paths.hosted())) == kept
    assert built == [{hosting.SITE_URL: ADDRESS, hosting.SITE_PDF: ""}]
    assert capsys.readouterr().out == f"The site is ready. {paths.hosted()}\n"
    assert [path.name for path in paths.build().iterdir()] == ["site"]


def test_without_an_address_there_is_no_card_and_it_is_said_why(built, capsys):
    hosting.make("smoke", "")
    assert "_static/card.png" not in files_in(paths.hosted())
    assert "make site SITE_URL=https://..." in capsys.readouterr().out


def test_the_pdf_comes_along_if_it_is_of_these_pages(built, capsys, monkeypatch):
    paths.pdf().write_bytes(b"a PDF")
    for mark, comes in ((fingerprint.of_site(), True), ("another", False), (None, False)):
        monkeypatch.setattr(pdf, "made_from", lambda path, mark=mark: mark)
        hosting.make("smoke", "")
        assert (paths.pdf().name in files_in(paths.hosted())) == comes
        assert built[-1][hosting.SITE_PDF] == (paths.pdf().name if comes else "")
        assert ("was left out" in capsys.readouterr().out) == (not comes)


def test_a_site_is_there_whole_or_as_it_was(built, monkeypatch):
    hosting.make("smoke", ADDRESS)
    before = files_in(paths.build())

    def fail(target, profile):
        raise Failure("no scoreboard")

    monkeypatch.setattr(hosting, "draw_card", fail)
    with pytest.raises(Failure, match="no scoreboard"):
        hosting.make("smoke", ADDRESS)
    assert files_in(paths.build()) == before


def test_a_wrong_address_stops_it_before_anything_is_built(built, monkeypatch):
    def never(profile):
        raise AssertionError("something ran")

    monkeypatch.setattr(book, "build", never)
    with pytest.raises(BadInput):
        hosting.make("smoke", "name.example")
    assert built == []


def test_the_extension_reads_the_names_that_are_set():
    text = (REPOSITORY / "book" / "_ext" / "hosted.py").read_text()
    for name in (hosting.SITE_URL, hosting.SITE_PDF, f"_static/{hosting.CARD}"):
        assert f'"{name}"' in text


SAMPLE = REPOSITORY / ".github" / "workflows" / "pages.yml.sample"


def test_the_sample_workflow_calls_targets_that_there_are():
    steps = yaml.safe_load(SAMPLE.read_text())["jobs"]["build"]["steps"]
    makefile = (REPOSITORY / "Makefile").read_text()
    called = [re.match(r"make (\w+)", step["run"])[1] for step in steps if "run" in step]
    assert called == ["pdf", "site"]
    for target in called:
        assert re.search(rf"^{target}:", makefile, re.M)
    (upload,) = (step for step in steps if "upload-pages" in step.get("uses", ""))
    assert upload["with"]["path"] == str(paths.hosted().relative_to(paths.root()))


def test_the_sample_workflow_pins_every_action():
    jobs = yaml.safe_load(SAMPLE.read_text())["jobs"].values()
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert len(used) == 5
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+\.\d+\.\d+", action)
