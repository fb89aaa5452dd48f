"""`extends`: what a deployment inherits, and what it replaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.resolve import merge
from scenarios.yaml_nodes import Node, parse_yaml, plain
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, edited, load_text


def merged(base: str, over: str) -> object:
    first, second = parse_yaml(base, "a.yaml")[0], parse_yaml(over, "a.yaml")[0]
    return plain(merge(first, second))


@pytest.mark.parametrize(
    ("base", "over", "result"),
    [
        ("{a: 1, b: 2}", "{b: 3}", {"a": 1, "b": 3}),
        ("{a: {x: 1, y: 2}}", "{a: {y: 3}}", {"a": {"x": 1, "y": 3}}),
        ("{a: [1, 2]}", "{a: [3]}", {"a": [3]}),
        ("{a: {x: 1}}", "{a: 3}", {"a": 3}),
        ("{a: 3}", "{a: {x: 1}}", {"a": {"x": 1}}),
        ("{a: {x: 1}}", "{a: null}", {"a": None}),
        ("{a: {kind: p, x: 1}}", "{a: {kind: q}}", {"a": {"kind": "q"}}),
        ("{a: {kind: p, x: 1}}", "{a: {kind: p, y: 2}}", {"a": {"kind": "p", "x": 1, "y": 2}}),
        ("{a: {kind: p, x: 1}}", "{a: {y: 2}}", {"a": {"kind": "p", "x": 1, "y": 2}}),
        ("{a: {shape: p, x: 1}}", "{a: {shape: q}}", {"a": {"shape": "q"}}),
        ("{price: {catalog: c}}", "{price: {usd_per_gpu_hour: 2}}", {"price": {"usd_per_gpu_hour": 2}}),
        ("{c: {survival: [1], spread: 1}}", "{c: {tokens_per_step: 2, at: 3}}", {"c": {"tokens_per_step": 2, "at": 3}}),
        ("{a: {draft_tokens: 4}}", "{a: {shape: tree, widths: [2]}}", {"a": {"shape": "tree", "widths": [2]}}),
        ("{a: {draft_tokens: 4}}", "{a: {shape: chain}}", {"a": {"shape": "chain", "draft_tokens": 4}}),
        ("{d: {model: m, acceptance: 1}}", "{d: {ngram: {}}}", {"d": {"ngram": {}}}),
        ("{u: {survival: {}, x: 1}}", "{u: {recursive_rejection: {}}}", {"u": {"recursive_rejection": {}}}),
        ("{c: {survival: [1]}}", "{c: {spread: 1}}", {"c": {"survival": [1], "spread": 1}}),
        ("{c: {survival: [1]}}", "{c: {survival: [0.5]}}", {"c": {"survival": [0.5]}}),
    ],
)
def test_mappings_merge_and_another_kind_replaces(base, over, result):
    assert merged(base, over) == result


trees = st.recursive(
    st.integers(0, 3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def as_node(value: object) -> Node:
    if isinstance(value, dict):
        return Node({key: as_node(inner) for key, inner in value.items()}, "a.yaml", 1)
    assert isinstance(value, int)
    return Node(value, "a.yaml", 1)


@given(trees, trees, trees)
def test_merging_is_associative_idempotent_and_the_last_word_wins(a, b, c):
    first, second, third = as_node(a), as_node(b), as_node(c)

    assert plain(merge(first, first)) == a
    assert plain(merge(second, merge(first, second))) == plain(merge(first, second)) or a != b
    if all(isinstance(tree, dict) for tree in (a, b, c)):
        together = plain(merge(first, second))
        assert {key: together[key] for key in b if not isinstance(b[key], dict)} == {
            key: value for key, value in b.items() if not isinstance(value, dict)
        }
        assert set(plain(merge(merge(first, second), third))) == set(a) | set(b) | set(c)


def test_a_deployment_takes_what_it_does_not_say():
    deployments = load_text(CHAT).points[0].scenario.deployments

    assert deployments["spec"].gpu == "h200-sxm"
    assert deployments["spec"].engine == deployments["plain"].engine
    assert deployments["spec"].speculation.kind == "drafts"


def test_chains_may_stand_in_any_order():
    text = CHAT + "  last: {extends: middle, replicas: 3}\n  middle: {extends: spec, gpu: b200-sxm}\n"

    deployments = load_text(text).points[0].scenario.deployments

    assert list(deployments) == ["plain", "spec", "last", "middle"]
    assert (deployments["last"].gpu, deployments["last"].replicas) == ("b200-sxm", 3)
    assert deployments["last"].speculation == deployments["spec"].speculation


def test_a_circle_of_three_is_told_by_name():
    text = CHAT + "  a: {extends: b}\n  b: {extends: c}\n  c: {extends: a}\n"

    with pytest.raises(ScenarioError, match=r"deployments\.a\.extends: a circle: a → b → c → a"):
        load_text(text)


def test_an_inherited_mistake_is_told_once_where_it_stands():
    with pytest.raises(ScenarioError) as error:
        load_text(edited(("replicas: 1", "replicas: 0")))

    assert len(str(error.value).splitlines()) == 1
    assert "deployments.plain.replicas" in str(error.value)


def test_ten_thousand_links_do_not_exhaust_the_stack():
    links = "".join(f"  d{i}: {{extends: d{i + 1}}}\n" for i in range(3000)) + "  d3000: {extends: d0}\n"

    with pytest.raises(ScenarioError, match="a circle"):
        load_text(CHAT + links)
