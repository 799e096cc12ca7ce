"""Nothing that a reader brings or that lies on a disk is run, and no text of it becomes markup."""

import ast
import os
import shutil
import stat
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import made_audit
import pytest
from checkouts import REPOSITORY, check_out, files_in
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization import cli, parameters

SOURCES = sorted(
    path
    for place in ("src", "notebooks", "book/_ext", "benchmarks")
    for path in (REPOSITORY / place).rglob("*.py")
)
# What runs what it is given, or unpacks wherever an archive says.
NEVER = {
    *("eval", "exec", "compile", "__import__"),
    *("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"),
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads"),
    *("shelve.open", "joblib.load", "pandas.read_pickle", "pd.read_pickle", "dill.load"),
    *("torch.jit.load", "torch.hub.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load"),
    *("shutil.unpack_archive", "tarfile.extractall", "zipfile.extractall"),
}
METHODS = {"extractall"}
NEEDED = {"torch.load": ("weights_only", True), "np.load": ("allow_pickle", False)}


def unsafe(source: str) -> list[str]:
    """Return the calls in a source text that could run what they are given."""
    return [told for node in ast.walk(ast.parse(source)) if (told := _unsafe(node))]


def _unsafe(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func)
    given = {word.arg: ast.unparse(word.value) for word in node.keywords}
    if name in NEVER or name.rpartition(".")[2] in METHODS:
        return name
    if name in NEEDED and given.get(NEEDED[name][0]) != str(NEEDED[name][1]):
        return f"{name} without {NEEDED[name][0]}={NEEDED[name][1]}"
    if given.get("shell", "False") != "False":
        return f"{name} through a shell"
    return None


@pytest.mark.parametrize(
    "line",
    [
        "pickle.load(file)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "eval(text)",
        "subprocess.run(command, shell=True)",
        "subprocess.run(command, shell=where)",
        "archive.extractall(folder)",
        "yaml.load(text)",
    ],
)
def test_what_is_unsafe_is_seen(line):
    assert len(unsafe(f"def f():\n    return {line}\n")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "torch.load(path, weights_only=True)",
        "np.load(path, allow_pickle=False)",
        "ast.literal_eval(text)",
        "model.eval()",
        "subprocess.run([a, b])",
        "archive.extract(name)",
    ],
)
def test_what_is_safe_is_let_through(line):
    assert unsafe(line) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_in_the_code_runs_what_it_is_given(path):
    assert unsafe(path.read_text()) == []


def test_the_one_reader_of_pickles_knows_four_names_and_calls_no_other():
    """CIFAR comes as pickles; tests of local_files show that it refuses all else."""
    users = {path.name for path in SOURCES if "Unpickler" in path.read_text()}
    assert users == {"local_files.py"}


# What a shell, make or Python would take for more than text.
HOSTILE = [
    "$(touch {mark})",
    "`touch {mark}`",
    "; touch {mark}",
    "| touch {mark}",
    "&& touch {mark}",
    "\n touch {mark}",
    "> {mark}",
    "'; touch {mark} #",
    '"; touch {mark} #',
    "$(shell touch {mark})",
    "${{IFS}}$(shell touch {mark})",
    "__import__('os').system('touch {mark}')",
    "* ? ~ {{a,b}} !!",
]


@pytest.fixture
def makefile(tmp_path):
    """The project's Makefile in a folder, with a program that writes down what it is told."""
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    program = tmp_path / ".venv" / "bin" / "bn-memorization"
    program.parent.mkdir(parents=True)
    lines = f"#!{sys.executable} -IS\nimport sys\nprint(repr(sys.argv[1:]))\n"
    program.write_text(lines)
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / ".venv" / ".ready").touch()
    return tmp_path


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
@pytest.mark.parametrize(
    "variable", ["CHAPTER", "PARAMS", "PROFILE", "EXECUTOR", "DEVICE", "TORCH_INDEX", "SITE_URL"]
)
def test_make_hands_parameters_on_and_runs_none(makefile, variable):
    # Under `make test` a make of its own would take that one's flags, and say where it is.
    outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    environment = {name: text for name, text in os.environ.items() if name not in outer}
    for number, text in enumerate(HOSTILE):
        mark = makefile / f"sprung{number}"
        value = text.format(mark=mark)
        words = {"CHAPTER": "a", "PARAMS": "b=1", variable: value}
        command = ["make", "chapter", *(f"{name}={word}" for name, word in words.items())]
        done = subprocess.run(
            command, cwd=makefile, capture_output=True, text=True, env=environment
        )
        assert not mark.exists(), text
        assert done.returncode == 0, done.stderr
        told = ast.literal_eval(done.stdout.splitlines()[-1])
        if variable in ("CHAPTER", "PROFILE"):
            assert value.strip() in told  # make takes blanks from the front
        if variable == "PARAMS":
            assert told[-len(value.split()) :] == value.split()


NAMES = ["dataset", "images", "weights", "model", "only", "epochs", "lr", "scaling"]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_runs_no_parameter(tmp_path, monkeypatch, capsys, name):
    root = tmp_path / "checkout"
    root.mkdir()
    for variable, value in check_out(root).items():
        monkeypatch.setenv(variable, value)
    chapter = "10_audit" if name in ("images", "weights", "model") else "01_forced_memorization"
    before = files_in(root)
    for number, text in enumerate(HOSTILE):
        mark = tmp_path / f"sprung{number}"
        given = f"{name}={text.format(mark=mark)}"
        assert cli.main(["chapter", chapter, "--profile", "smoke", given]) == 2
        assert "Traceback" not in capsys.readouterr().err
        assert not mark.exists()
    assert files_in(root) == before


CELL = 'weights = "none"  # a file\nimages = "embedded:mnist"  # or a folder\nepochs = 3'


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.text(st.sampled_from("'\"\\\n#;() \r\x85\u2028{}"), max_size=30))
def test_a_value_in_the_parameters_cell_is_that_value_and_no_code(weights, images):
    values = {"weights": weights, "images": images}
    assert parameters.declared(parameters.assign(CELL, values)) == values | {"epochs": 3}


class Markup(HTMLParser):
    """Collects what could run in a page."""

    def __init__(self):
        super().__init__()
        self.scripts, self.suspects, self.text, self._inside = [], [], [], False

    def handle_starttag(self, tag, attrs):
        self._inside = tag == "script"
        for name, value in attrs:
            handler = name.startswith("on") and "alert" in (value or "")
            if handler or (value or "").lower().lstrip().startswith("javascript:alert"):
                self.suspects.append((tag, name, value))

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        (self.scripts if self._inside else self.text).append(data)


def markup(page: str) -> Markup:
    found = Markup()
    found.feed(page)
    return found


@pytest.mark.parametrize(
    "page",
    [
        "<p><img src=x onerror=alert(1)></p>",
        "<a href='javascript:alert(1)'>x</a>",
        "<p><script>alert(1)</script></p>",
    ],
)
def test_what_would_run_in_a_page_is_seen(page):
    found = markup(page)
    assert found.suspects or "alert(1)" in found.scripts


EVIL = [
    "<img src=x onerror=alert(1)>",
    "[link](javascript:alert(1))",
    "<script>alert(1)<script>",
    "$\\frac{ {{7*7}} `code` *x* | :::{raw} html",
]


def test_names_on_a_readers_disk_stay_text_in_the_page_of_an_audit(tmp_path):
    """File, folder and class names, through the whole chapter and its page."""
    root = tmp_path / "checkout"
    root.mkdir()
    own = check_out(root) | {"BN_MEMORIZATION_EXECUTOR": "serial", "BN_MEMORIZATION_DEVICE": "cpu"}
    images = tmp_path / f"{EVIL[0]} {EVIL[1]}"
    made_audit.folder(images)
    for number, name in enumerate(EVIL[1:]):
        (images / f"kind {number}").rename(images / name)
    for path in list(images.rglob("*.png")):
        path.rename(path.with_name(f"{EVIL[0]}{path.name}"))
    given = {
        "images": str(images),
        "model": "made_audit.net",
        "pool_size": 100,
        "n_models": 6,
        "epochs": 2,
        "shown": 6,
        "num_classes": 3,
        "planted_rate": 0.1,
    }
    command = [Path(sys.executable).with_name("bn-memorization"), "chapter", "10_audit"]
    command += ["--profile", "smoke", *(f"{name}={value}" for name, value in given.items())]
    own["PYTHONPATH"] = os.path.dirname(made_audit.__file__)
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    address = done.stdout.splitlines()[-1].partition("is ready. ")[2]
    page = Path(unquote(urlsplit(address).path))
    found = markup(page.read_text())
    assert found.suspects == []
    assert not [script for script in found.scripts if "alert(1)" in script]
    text = "".join(found.text)
    for name in EVIL[:3]:
        assert name in text  # as it stands
