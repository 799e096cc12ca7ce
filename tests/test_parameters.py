import ast
import math
from pathlib import Path

import jupytext
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bn_memorization import fingerprint, parameters, paths
from bn_memorization.errors import BadInput
from bn_memorization.kinds import LONGEST, Choice, ListOf, Number, Pattern, Text
from bn_memorization.parameters import VOCABULARY

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOTEBOOKS = sorted(paths.notebooks().glob("*.py"))
PROFILES = sorted(paths.profiles().glob("*.yml"))


def parameters_cell(path: Path) -> str:
    (cell,) = (
        cell
        for cell in jupytext.read(path, fmt="py:percent").cells
        if "parameters" in cell.metadata.get("tags", [])
    )
    return cell.source


def defaults_of(name: str) -> dict:
    return parameters.declared(parameters_cell(paths.notebooks() / f"{name}.py"))


def parse(name: str, value: object) -> object:
    return VOCABULARY[name].parse(name, value)


GOOD = [
    ("epochs", "7", 7),
    ("epochs", 7, 7),
    ("epochs", 7.0, 7),  # YAML may write a whole number so
    ("epochs", "1", 1),
    ("epochs", "10000", 10_000),
    ("epochs", "\u0665", 5),  # a digit of any script; the cell gets a plain 5
    ("seeds", 2, 2),
    ("seed", "0", 0),
    ("seed", "2147483647", 2**31 - 1),
    ("noise_rate", "0.1", [0.1]),
    ("noise_rate", "0.01,0.5", [0.01, 0.5]),
    ("noise_rate", 0.05, [0.05]),
    ("noise_rate", (0.05, 0.1), [0.05, 0.1]),
    ("lr", "1e-3", 0.001),  # what YAML reads as text
    ("lr", 1, 1.0),
    ("momentum", "0", 0.0),
    ("dataset", "mnist", ["mnist"]),
    ("dataset", "fashion_mnist,mnist", ["fashion_mnist", "mnist"]),  # the order given is kept
    ("dataset", ["cifar10"], ["cifar10"]),
    ("arch", "resnet8", ["resnet8"]),
    ("corruption", "ood,flip", ["ood", "flip"]),
    ("only", "mnist/lenet/flip/0.05", ["mnist/lenet/flip/0.05"]),
    ("only", "*/*/*/*", ["*/*/*/*"]),
    ("only", ["*mnist/l*/noise/5e-2", "*/*/*/0.1"], ["*mnist/l*/noise/5e-2", "*/*/*/0.1"]),
    ("outlier_rate", "0,0.05", [0.0, 0.05]),  # none is a share too
    ("n_models", "6", 6),
    ("queries", 6, 6),
    ("norm", "group", "group"),
    ("source", "auto", "auto"),
]


@pytest.mark.parametrize(("name", "value", "parsed"), GOOD)
def test_good_values(name, value, parsed):
    found = parse(name, value)
    assert found == parsed
    assert type(found) is type(parsed)


@pytest.mark.parametrize(
    ("name", "value"), [("weight_decay", "-0"), ("momentum", -0.0), ("weight_decay", "-0e5")]
)
def test_minus_zero_is_zero(name, value):
    assert math.copysign(1, parse(name, value)) == 1


NOT_A_NUMBER = [
    ("noise_rate", "abc"),
    ("noise_rate", "0.1 %"),
    ("noise_rate", "0.1,,0.2"),
    ("noise_rate", "0.1;0.2"),
    ("noise_rate", [[0.1]]),
    ("noise_rate", {"rate": 0.1}),
    ("noise_rate", None),
    ("noise_rate", True),
    ("noise_rate", math.nan),
    ("epochs", "five"),
    ("epochs", "5.5"),
    ("epochs", "5.0"),
    ("epochs", 5.5),
    ("epochs", math.nan),
    ("epochs", math.inf),
    ("epochs", "1e3"),
    ("epochs", "0x10"),
    ("epochs", ""),
    ("epochs", "\u0665\u066b\u0665"),  # 5.5 in Arabic digits
    ("epochs", "\u00bd"),
    ("epochs", True),
    ("epochs", False),
    ("epochs", "True"),
    ("epochs", None),
    ("epochs", [5]),
    ("epochs", "1,2"),
    ("epochs", "9" * 5000),  # more digits than Python converts
    ("epochs", 1j),
    ("lr", "0,1"),
    ("lr", b"0.1"),
    ("lr", 10**400),  # more than a float holds
]


@pytest.mark.parametrize(("name", "value"), NOT_A_NUMBER)
def test_wrong_type(name, value):
    with pytest.raises(BadInput, match=rf"^{name}=.* is not a (whole )?number\. {name} must be"):
        parse(name, value)


OUT_OF_RANGE = [
    ("noise_rate", "1.5"),
    ("noise_rate", "0"),
    ("noise_rate", "-0.1"),
    ("noise_rate", "0.50001"),
    ("noise_rate", "nan"),
    ("noise_rate", "inf"),
    ("noise_rate", "-inf"),
    ("noise_rate", "0.1,1.5"),
    ("noise_rate", 2),
    ("epochs", "0"),
    ("epochs", "-1"),
    ("epochs", 10_001),
    ("epochs", 10**300),
    ("seeds", 1),
    ("seed", 2**31),
    ("lr", 0),
    ("lr", "1e400"),
    ("momentum", 1),
    ("batch_size", 1),
    ("train_size", 0),
    ("outlier_rate", "0.6"),
    ("outlier_rate", [0.0, -0.1]),
    ("n_models", 4),
    ("queries", 7),
    ("moments", 0),
    ("pool_size", 1),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_out_of_range(name, value):
    with pytest.raises(BadInput, match=rf"^{name}=.* is out of range\. {name} must be"):
        parse(name, value)


def test_messages_say_the_bounds_exactly():
    with pytest.raises(BadInput, match=r"a number above 0 up to 0\.5\.$"):
        parse("noise_rate", "1.5")
    with pytest.raises(BadInput, match=r"a whole number from 1 up to 10000\.$"):
        parse("epochs", "0")
    with pytest.raises(BadInput, match=r"from 0 up to 2147483647\.$"):
        parse("seed", "-1")


@pytest.mark.parametrize(
    ("name", "value", "near", "others"),
    [
        ("dataset", "minst", "mnist", ["cifar10", "fashion_mnist"]),
        ("dataset", "mnist,cifar11", "cifar10", ["mnist"]),
        ("dataset", "mnist,", None, ["mnist", "cifar100"]),
        ("arch", "lenet5", "lenet", []),
        ("arch", "lenet,resnet", "resnet8", ["densenet40"]),
        ("corruption", "flop", "flip", ["ood", "noise"]),
        ("only", "mnits/lenet/flip/0.1", "mnist", ["cifar10"]),
        ("only", "mnist/resnet/flip/0.1", "resnet8", ["lenet"]),
        ("only", "mnist/x*/flip/0.1", None, ["lenet"]),  # a pattern that matches nothing
        ("only", "mnist/lenet/flips/0.1", "flip", ["ood"]),
        ("norm", "bach", "batch", ["affine", "group", "layer"]),
        ("optimizer", "sdg", "sgd", ["adam"]),
        ("source", "embeded", "embedded", ["auto", "local"]),
        ("profile", "smok", "smoke", ["quick", "standard"]),
        ("norm", None, None, ["batch"]),
        ("norm", ["batch"], "batch", ["group"]),
        ("norm", True, None, ["batch"]),
    ],
)
def test_unknown_choices(name, value, near, others):
    with pytest.raises(BadInput, match=r"^Unknown ") as raised:
        parse(name, value)
    message = str(raised.value)
    listed = message.partition("Choose from: ")[2].rstrip(".").split(", ")
    assert set(listed) >= {*others, *([near] if near else [])}
    assert (f"Did you mean {near!r}?" in message) == (near is not None)


@pytest.mark.parametrize(
    "value", ["*", "mnist", "mnist/lenet/flip", "mnist/lenet/flip/0.1/0", "", None, 0.1, "///"]
)
def test_a_pattern_has_four_parts(value):
    with pytest.raises(BadInput, match=r"data set/architecture/corruption/share|Unknown data set"):
        parse("only", value)


@pytest.mark.parametrize("share", ["0.6", "-0.1", "nan", "five", "0.*", ""])
def test_the_share_of_a_pattern_is_one_that_may_be_asked_for(share):
    with pytest.raises(BadInput, match=r"^only=.*must be a number from 0 up to 0\.5"):
        parse("only", f"mnist/lenet/flip/{share}")


def test_plain_is_no_norm_to_compare_with_itself():
    with pytest.raises(BadInput, match=r"norm 'none'"):
        parse("norm", "none")


TEXTS = [
    ("model", "torchvision.models.resnet18"),
    ("model", "a._b.c9"),
    ("images", "embedded:mnist"),
    ("images", "/a folder/with blanks"),
    ("images", 'it\'s "quoted"  # and more'),
    ("weights", "none"),
    ("weights", "x" * LONGEST),
]


@pytest.mark.parametrize(("name", "value"), TEXTS)
def test_good_texts_stay_as_they_are_and_can_stand_in_a_cell(name, value):
    assert parse(name, value) == value
    cell = parameters.assign(f"{name} = 'before'  # what it is", {name: value})
    assert parameters.declared(cell) == {name: value}
    assert cell.endswith("  # what it is")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", "resnet18"),  # no module
        ("model", "a..b"),
        ("model", ".a.b"),
        ("model", "a.b()"),
        ("model", "a.b; import os"),
        ("model", "a/b.c"),
        ("model", "a.9b"),
        ("model", "a.b\n"),
        ("images", ""),
        ("images", " "),
        ("images", " a"),
        ("images", "a\nb"),
        ("images", "a\0b"),
        ("images", "x" * (LONGEST + 1)),
        ("images", None),
        ("images", True),
        ("images", 5),
        ("images", ["a"]),
        ("weights", b"a"),
    ],
)
def test_bad_texts_are_refused(name, value):
    with pytest.raises(BadInput, match=rf"^{name}=.* is not .*, on one line, of at most 300"):
        parse(name, value)


@pytest.mark.parametrize("empty", [[], (), ""])
def test_no_list_is_empty(empty):
    with pytest.raises(BadInput):
        parse("dataset", empty)
    with pytest.raises(BadInput):
        parse("noise_rate", empty)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "mnist,mnist"),
        ("dataset", ["mnist", "cifar10", "mnist"]),
        ("noise_rate", "0.1,0.10"),
        ("noise_rate", [0.1, "1e-1"]),
    ],
)
def test_no_list_holds_a_value_twice(name, value):
    with pytest.raises(BadInput, match=f"{name}=.* holds a value twice"):
        parse(name, value)


NUMERIC_TEXT = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.text("0123456789.,eE+-_ xnaif\u0663\u096b", max_size=12),
)
TEXT = st.one_of(st.text(), NUMERIC_TEXT, st.sampled_from(list(VOCABULARY)))
FROM_YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=5,
)


def assert_allowed(kind: Number | Choice | ListOf, value: object) -> None:
    if isinstance(kind, ListOf):
        assert type(value) is list
        assert len(value) >= 1
        assert len(set(value)) == len(value)
        for item in value:
            assert_allowed(kind.item, item)
    elif isinstance(kind, Pattern):
        words = value.split("/")
        assert len(words) == len(kind.parts)
    elif isinstance(kind, Text):
        assert type(value) is str
        assert value == value.strip()
        assert value.isprintable()
        assert 0 < len(value) <= LONGEST
    elif isinstance(kind, Choice):
        assert value in list(kind.choices())
    else:
        assert type(value) is kind.kind
        assert math.isfinite(value)
        assert kind.least <= value <= kind.most
        assert value != kind.least or not kind.open_least


@given(st.sampled_from(sorted(VOCABULARY)), TEXT | FROM_YAML)
@UNHURRIED
def test_any_value_is_refused_or_allowed(name, value):
    try:
        parsed = parse(name, value)
    except BadInput:
        return
    assert_allowed(VOCABULARY[name], parsed)
    assert parse(name, parsed) == parsed
    assert ast.literal_eval(repr(parsed)) == parsed  # it can stand in a notebook's cell


def allowed(kind: Number | Choice | ListOf) -> st.SearchStrategy:
    """Return all that a kind must take, of the type that it gives."""
    if isinstance(kind, ListOf):
        return st.lists(allowed(kind.item), min_size=1, max_size=4, unique=True)
    if isinstance(kind, Pattern):
        parts = (st.just("*") | allowed(part).map(str) for part in kind.parts)
        return st.tuples(*parts).map("/".join)
    if isinstance(kind, Text):
        # A text with the sign of a comment in it is taken too; the tests below look for that sign.
        signs = st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="#")
        text = st.from_regex(kind.pattern, fullmatch=True, alphabet=signs)
        return text.filter(lambda value: len(value) <= LONGEST)
    if isinstance(kind, Choice):
        return st.sampled_from(sorted(kind.choices()))
    if kind.kind is int:
        return st.integers(int(kind.least), int(kind.most))
    return st.floats(kind.least, kind.most, exclude_min=kind.open_least)


@given(st.data(), st.sampled_from(sorted(VOCABULARY)))
@UNHURRIED
def test_every_allowed_value_is_taken_as_it_is_and_as_text(data, name):
    value = data.draw(allowed(VOCABULARY[name]))
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    assert parse(name, value) == parse(name, text) == value


@given(st.lists(TEXT | st.tuples(TEXT, TEXT).map("=".join)))
@UNHURRIED
def test_any_command_line_is_refused_or_read(words):
    try:
        found = parameters.of_command_line(words)
    except BadInput:
        return
    assert [f"{name}={value}" for name, value in found.items()] == words


@pytest.mark.parametrize(
    "word", ["epochs", "=5", "epochs=", "", "=", " epochs=5", "ep ochs=5", "5=5", "--epochs=5"]
)
def test_command_line_words_of_another_form(word):
    with pytest.raises(BadInput, match="is not of the form name=value"):
        parameters.of_command_line([word])


def test_command_line_takes_a_name_once():
    with pytest.raises(BadInput, match="epochs is given twice"):
        parameters.of_command_line(["epochs=5", "lr=1", "epochs=5"])


def test_command_line_keeps_what_stands_behind_the_first_sign():
    assert parameters.of_command_line(["a=b=c"]) == {"a": "b=c"}


def test_declared_reads_plain_literals():
    cell = 'epochs = 5  # passes\n\n# a line\nlr = -1e-3\ndataset = ["a", "b"]\nx = None\ny = True'
    assert parameters.declared(cell) == {
        "epochs": 5,
        "lr": -0.001,
        "dataset": ["a", "b"],
        "x": None,
        "y": True,
    }
    assert parameters.declared("") == {}


@pytest.mark.parametrize(
    "line",
    [
        "epochs = int(5)",
        "epochs = other",
        "epochs: int = 5",
        "epochs += 5",
        "epochs = lr = 5",
        "epochs, lr = 5, 5",
        "a.epochs = 5",
        "import os",
        "'a text'",
        "f()",
        "x = {[1]: 2}",  # a literal that cannot be
        "x = f'{epochs}'",
        "def f(): pass",
        "epochs = 5; lr = 1",  # assign would lose the second
        "dataset = [\n  'mnist',\n]",  # and leave the rest of this
        "x = '''\n'''",
    ],
)
def test_declared_refuses_all_else(line):
    with pytest.raises(BadInput, match=r"The parameters cell holds .* only plain\s+literals"):
        parameters.declared(f"seed = 1\n{line}\n")


@pytest.mark.parametrize("cell", ["epochs = ", "%matplotlib inline", "epochs = 5\n  lr = 1", "("])
def test_declared_refuses_what_is_not_python(cell):
    with pytest.raises(BadInput, match="is not Python"):
        parameters.declared(cell)


DEFAULTS = {"profile": "quick", "epochs": 5, "noise_rate": [0.1]}


def test_check_merges_later_over_earlier():
    found = parameters.check("c", DEFAULTS, {"epochs": 6, "profile": "smoke"}, {"epochs": "7"})
    assert found == {"profile": "smoke", "epochs": 7, "noise_rate": [0.1]}
    assert DEFAULTS["epochs"] == 5


@pytest.mark.parametrize(
    ("name", "near"),
    [("epoch", "epochs"), ("noise", "noise_rate"), ("Epochs", "epochs"), ("\uff45pochs", "epochs")],
)
def test_check_names_the_nearest_parameter(name, near):
    with pytest.raises(BadInput) as raised:
        parameters.check("01_x", DEFAULTS, {name: "5"})
    message = str(raised.value)
    assert message.startswith(f"Unknown parameter of 01_x {name!r}. Did you mean {near!r}? ")
    assert message.endswith("Choose from: epochs, noise_rate, profile.")


@pytest.mark.parametrize("name", ["seeds", "lr", 5, None, True])
def test_check_refuses_what_the_chapter_does_not_have(name):
    """`seeds` and `lr` are in the vocabulary; YAML gives names that are no text."""
    with pytest.raises(BadInput, match=r"Unknown parameter of c .*Choose from: epochs"):
        parameters.check("c", DEFAULTS, {name: 5})


def test_check_refuses_bad_values_wherever_they_stand():
    for settings_ in ({"epochs": 0}, {"epochs": "abc"}):
        with pytest.raises(BadInput, match="epochs="):
            parameters.check("c", DEFAULTS, settings_)
        with pytest.raises(BadInput, match="epochs="):
            parameters.check("c", DEFAULTS | settings_)
    # A later good value stands over an earlier bad one.
    assert parameters.check("c", DEFAULTS | {"epochs": 0}, {"epochs": 1})["epochs"] == 1


def test_check_refuses_a_chapter_with_a_name_of_its_own():
    with pytest.raises(BadInput, match="Unknown parameter 'epoch'"):
        parameters.check("c", {"epoch": 5})


def test_assign_keeps_comments_order_and_other_lines():
    cell = "# above\nepochs = 5  # passes = many\n\nlr=0.1\nname = 'x'  # kept"
    assert parameters.assign(cell, {"lr": 1e-05, "epochs": 7}) == (
        "# above\nepochs = 7  # passes = many\n\nlr = 1e-05\nname = 'x'  # kept"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@given(data=st.data())
@settings(UNHURRIED, max_examples=30)
def test_assign_round_trips_through_declared(path, data):
    cell = parameters_cell(path)
    before = parameters.declared(cell)
    values = {name: data.draw(allowed(VOCABULARY[name]), label=name) for name in before}
    after = parameters.assign(cell, values)
    assert parameters.declared(after) == values
    assert [line.partition("  #")[2] for line in after.splitlines()] == [
        line.partition("  #")[2] for line in cell.splitlines()
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_declare_only_known_names_and_good_values(path):
    declared = parameters.declared(parameters_cell(path))
    assert set(declared) <= set(VOCABULARY)
    assert parameters.check(path.stem, declared) == declared
    assert declared["profile"] == "quick"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_parameter_is_explained_where_a_reader_sees_it(path):
    if path.stem == fingerprint.SCOREBOARD:
        return
    for line in parameters_cell(path).splitlines():
        assert line.partition("  # ")[2].strip(), line


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_profiles_set_only_what_their_chapters_have(path):
    content = yaml.safe_load(path.read_text())
    assert set(content) <= set(fingerprint.chapters())
    for chapter in fingerprint.chapters():
        settings_ = fingerprint.of_profile(path.stem, chapter)
        checked = parameters.check(chapter, defaults_of(chapter), settings_)
        assert settings_.items() <= checked.items()
        assert checked["profile"] == path.stem


def test_quick_is_what_the_notebooks_say():
    for chapter in fingerprint.chapters():
        settings_ = fingerprint.of_profile("quick", chapter)
        assert settings_.items() <= defaults_of(chapter).items()


def test_assigned_takes_the_parameters_of_a_namespace_and_nothing_else():
    namespace = {"np": math, "epochs": 5, "dataset": ["mnist"], "_": 1, "config": "x", "seed": None}
    found = parameters.assigned(namespace)
    assert found == {"epochs": 5, "dataset": ["mnist"], "seed": None}
    assert list(found) == sorted(found, key=list(VOCABULARY).index)
    assert parameters.assigned({}) == {}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_assigned_is_what_a_notebook_declares(path):
    namespace = {}
    exec(parameters_cell(path), namespace)
    assert parameters.assigned(namespace) == parameters.declared(parameters_cell(path))


@pytest.mark.parametrize(
    ("name", "allowed", "cost"),
    [
        ("lr", "a number above 0 up to 100", ""),
        ("seeds", "a whole number from 2 up to 1000", "in proportion"),
        ("noise_rate", "one or more, each a number above 0 up to 0.5", "in proportion"),
        ("only", "one or more, each data set/architecture/corruption/share, any of them *", ""),
        ("weights", "the name of a file or folder", ""),
    ],
)
def test_a_parameter_tells_what_it_may_be_and_what_more_of_it_costs(name, allowed, cost):
    assert parameters.told(name) == (allowed, cost)


def test_what_costs_more_is_a_parameter():
    assert parameters.VOCABULARY.keys() >= parameters.MULTIPLIES


def test_comments_explain_the_parameters():
    cell = 'epochs = 3  # passes, all of them\nonly = ["a # b"]\n\nlr = 0.5  # x = y'
    assert parameters.explained(cell) == {
        "epochs": "passes, all of them",
        "only": "",
        "lr": "x = y",
    }
