"""Whatever is done to a file, it loads or it is refused: never a traceback."""

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios.load import load_scenario
from scenarios.sets import all_places
from scenarios.starter import starter_text
from scenarios.yaml_nodes import parse_yaml
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, SEVERAL
from tests.scenarios.plan_examples import PLAN, plan_of

TAIL = "sweep: {seed: [1, 2]}\nassert: [plain.req_per_s < 3]\n"
PLACES = all_places(parse_yaml(CHAT + TAIL, "chat.yaml")[0])
DEEP_PLACES = [place for place in all_places(parse_yaml(SEVERAL, "chat.yaml")[0]) if ".speculation" in place]
PLAN_PLACES = all_places(parse_yaml(CHAT + PLAN, "chat.yaml")[0])
ODD = [
    "",
    "~",
    "on",
    "-1",
    "0",
    "1e9",
    "1e-300",
    "[]",
    "{}",
    "[{}]",
    "{kind: none}",
    "{kind: [1]}",
    "{kind: {}}",
    "{shape: tree}",
    "{shape: []}",
    "x" * 90,
]
odd_values = st.sampled_from(ODD) | st.integers().map(str) | st.floats().map(str) | st.text(max_size=12)
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def loads_or_is_refused(text: str, *sets: str) -> None:
    try:
        loaded = load_scenario("chat.yaml", sets, text=text)
    except ScenarioError:
        return

    assert loaded.points


@quick
@given(st.integers(0, len(CHAT + TAIL) - 1), st.integers(0, 12), st.text("{}[]:,-#'\"&*!|>%@` \n\tab01.é", max_size=4))
def test_a_cut_or_a_slip_of_the_keyboard(start, length, typed):
    text = CHAT + TAIL

    loads_or_is_refused(text[:start] + typed + text[start + length :])


@quick
@given(st.lists(st.tuples(st.sampled_from(PLACES), odd_values), max_size=3))
def test_any_value_set_at_any_place(sets):
    loads_or_is_refused(CHAT + TAIL, *(f"{path}={value}" for path, value in sets))


@quick
@given(st.lists(st.tuples(st.sampled_from(DEEP_PLACES), odd_values), max_size=3))
def test_any_value_set_at_any_place_of_a_speculation(sets):
    loads_or_is_refused(SEVERAL, *(f"{path}={value}" for path, value in sets))


@quick
@given(st.lists(st.tuples(st.sampled_from(PLAN_PLACES), odd_values), max_size=3))
def test_any_value_set_at_any_place_of_a_plan(sets):
    try:
        planned = plan_of(CHAT + PLAN, *(f"{path}={value}" for path, value in sets))
    except ScenarioError:
        return

    assert planned.scenario.deployments


@quick
@given(st.text(max_size=30), odd_values)
def test_any_path(path, value):
    loads_or_is_refused(CHAT + TAIL, f"{path}={value}")


@quick
@given(st.lists(st.integers(0, 70), min_size=1, max_size=4), st.integers(-3, 3))
def test_lines_lost_and_shifted(lines, shift):
    text = starter_text().splitlines()
    for number in lines:
        line = text[number % len(text)]
        text[number % len(text)] = " " * max(shift, 0) + line[max(-shift, 0) :] if shift else ""

    loads_or_is_refused("\n".join(text))


@quick
@given(st.sampled_from(PLACES), odd_values)
def test_any_sweep(path, value):
    loads_or_is_refused(CHAT + yaml.safe_dump({"sweep": {path: [value, 3]}}, allow_unicode=True))


@quick
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c", "plain"]),
        st.fixed_dictionaries(
            {}, optional={"extends": st.sampled_from(["a", "b", "c", 3, None, [], "zz"]), "x": st.none()}
        ),
        max_size=4,
    )
)
def test_any_net_of_extends(deployments):
    head = CHAT.split("deployments:", maxsplit=1)[0]

    loads_or_is_refused(head + yaml.safe_dump({"deployments": deployments}))
