"""The YAML reader: what it takes, and what it refuses with line and way out."""

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.yaml_nodes import MAX_DEPTH, child, parse_yaml, place_of, plain
from simulator.errors import ScenarioError


def read(text: str) -> object:
    node, problems = parse_yaml(text, "chat.yaml")
    assert problems == []
    return plain(node)


def complaints(text: str) -> str:
    try:
        return "\n".join(str(problem) for problem in parse_yaml(text, "chat.yaml")[1])
    except ScenarioError as error:
        return str(error)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-3", -3),
        ("+3", 3),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e-3", 0.001),
        ("141e9", 141e9),
        ("1.41e11", 1.41e11),
        (".5", 0.5),
        ("5.", 5.0),
        ("true", True),
        ("False", False),
        ("on", "on"),
        ("Off", "Off"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("~", None),
        ("null", None),
        ("", None),
        ("2026-09-01", date(2026, 9, 1)),
        ("2026-9-1", "2026-9-1"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("=", "="),
    ],
)
def test_a_scalar_means_what_yaml_1_2_says(text, value):
    found = read(f"key: {text}")["key"]

    assert found == value
    assert type(found) is type(value)


def test_norway_is_a_key_like_any_other():
    assert read("{no: 1, on: 2, yes: 3, 4: 5}") == {"no": 1, "on": 2, "yes": 3, 4: 5}


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a: duplicate key; it stands in line 1 already"),
        ("a: {b: 1, b: 2}", 1, "a.b: duplicate key"),
        ("a: &x 1", 1, "anchors and aliases are refused"),
        ("a: 1\nb: *x", 2, "with `extends`"),
        ("a: {x: 1}\nb:\n  <<: {y: 1}", 3, "merge keys (<<) are refused: let the deployment say `extends: NAME`"),
        ("a: !!python/object:os.system x", 1, "tags are refused"),
        ("a: !local x", 1, "tags are refused"),
        ("a: ! x", 1, "tags are refused"),
        ("a: .nan", 1, "a: .nan: a scenario takes finite numbers only"),
        ("a: -.inf", 1, "finite numbers only"),
        ("a: 1e999", 1, "the number is too large"),
        ("a: " + "9" * 5000, 1, "a number of 5000 characters"),
        ("a: 2026-13-01", 1, "no such day"),
        ("true: 1", 1, "key true: a key is a text; put it in quotes"),
        ("1.5: 1", 1, "key 1.5: a key is a text"),
        ("2026-01-01: 1", 1, "a key is a text"),
        ("~: 1", 1, "key ~: a key is a text"),
        ("? [a]\n: 1", 1, "a key is a name, not a mapping, a list or an alias"),
        ("a: 1\n---\nb: 2", 2, "a second document; one file holds one scenario"),
        ("a: [1, 2", 1, "not YAML"),
        ("a: 1\n\tb: 2", 2, "indent with spaces"),
        ("a: b: c", 1, "not YAML"),
    ],
)
def test_what_a_reader_could_misread_is_refused_with_its_line(text, line, part):
    found = complaints(text)

    assert part in found
    assert f"chat.yaml:{line}: " in found


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: " + "x" * 1_000_001, "larger than 1 MB"),
        ("a: '" + "é" * 600_000 + "'", "larger than 1 MB"),
        ("a: " + "[" * 40 + "]" * 40, f"nested deeper than {MAX_DEPTH} levels"),
        ("[" * 500_000, "nesting depth"),
        ("? " * 5_000, "a key is a name"),
        ("a: [" + "1," * 100_001 + "]", "more than 100,000 values"),
        ("a: \x00", "not YAML"),
        ("a: \ud800", "not YAML"),
    ],
)
def test_a_file_that_would_exhaust_the_reader_is_refused(text, part):
    assert part in complaints(text)


def test_all_problems_of_a_text_are_told_at_once():
    found = complaints("a: &x 1\na: 2\nb: .inf").splitlines()

    assert len(found) == 3


def test_every_node_knows_its_line():
    node, _ = parse_yaml("a:\n  b: 1\n  c:\n    - 2\n    - 3\n", "chat.yaml")

    assert place_of(node, ("a",)).line == 1
    assert place_of(node, ("a", "c")).line == 3
    assert place_of(node, ("a", "c", 1)).line == 5
    assert place_of(node, ("a", "c", 7)).line == 3


def test_a_value_set_on_the_command_line_has_no_line():
    node, problems = parse_yaml("{a: 1, a: 2}", "--set x", numbered=False)

    assert child(node, "a").line == 0
    assert str(problems[0]).startswith("--set x: a: duplicate key")


@given(st.text(max_size=200))
def test_any_text_is_a_tree_or_a_scenario_error(text):
    try:
        node, _ = parse_yaml(text, "chat.yaml")
    except ScenarioError:
        return

    plain(node)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc 1:-#", max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
        max_leaves=10,
    )
)
def test_what_json_says_is_read_back(value):
    assert read(json.dumps({"key": value})) == {"key": value}
