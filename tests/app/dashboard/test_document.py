"""A scenario that came from a browser."""

import pytest

from app.dashboard.document import checked, edited, mapping_of
from scenarios.load import load_scenario
from scenarios.store import to_yaml
from simulator.errors import ScenarioError


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat")


def test_edits_are_taken_together_or_not_at_all(chat):
    with pytest.raises(ScenarioError, match="replications"):
        edited(chat, {"seed": 3, "replications": -1})

    assert edited(chat, {"seed": 3, "replications": 2}).points[0].scenario.seed == 3
    assert chat.points[0].scenario.seed == 7


def test_a_message_about_an_edit_names_the_place_and_no_option(chat):
    with pytest.raises(ScenarioError) as error:
        edited(chat, {"workload.arrivals.rate_per_s": 1e9})

    assert str(error.value).startswith("workload.arrivals.rate_per_s: ")


@pytest.mark.parametrize("value", [1e-7, 0.1, 1e6, 3])
def test_any_number_survives_an_edit(chat, value):
    found = edited(chat, {"workload.arrivals.rate_per_s": value}).points[0].scenario

    assert found.workload.arrivals.rate_per_s == value


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"sweep": {"seed": list(range(65))}}, "sweep: 65; a browser gets at most 64"),
        ({"sweep": {"seed": list(range(64))}}, None),
    ],
)
def test_a_sweep_has_a_bound(chat, more, told):
    text = to_yaml(mapping_of(chat) | more)

    if told is None:
        assert len(checked(text).points) == 64
    else:
        with pytest.raises(ScenarioError, match=told):
            checked(text)


def test_deployments_have_a_bound(chat):
    mapping = mapping_of(chat)
    mapping["deployments"] = {f"d{n}": mapping["deployments"]["h200-plain"] for n in range(17)}

    with pytest.raises(ScenarioError, match="deployments: 17; a browser gets at most 16"):
        checked(to_yaml(mapping))
