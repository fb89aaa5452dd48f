"""Address, file and controls hold the same scenario."""

import pytest

from app.dashboard.document import from_mapping, mapping_of
from app.dashboard.share import decode, encode
from scenarios.files import builtin_names
from scenarios.load import load_scenario
from scenarios.store import to_yaml


def link(*sets, name="h200_vs_b200_chat"):
    return encode(mapping_of(load_scenario(name, sets)))


def test_a_link_opens_its_scenario(dashboard):
    dashboard.open(link=link("workload.arrivals.rate_per_s=13", "seed=5"))

    assert dashboard.control("rate").value == 13
    assert dashboard.control("seed").value == 5


def test_the_address_follows_the_controls(dashboard):
    dashboard.open().move("rate", 14.0)

    found = decode(dashboard.at.query_params["s"])

    assert found["workload"]["arrivals"]["rate_per_s"] == 14.0
    assert from_mapping(found).points == dashboard.at.session_state["specfleet_loaded"].points


@pytest.mark.parametrize("payload", ["1.broken", "9.abc", "1." + "A" * 9000])
def test_a_link_that_cannot_be_read_says_so_and_opens_what_is_built_in(dashboard, payload):
    dashboard.open(link=payload)

    assert "This link opens no scenario" in dashboard.said
    assert dashboard.scenario().name == "h200-vs-b200-chat"
    assert not dashboard.at.exception


@pytest.mark.parametrize("parameter", ["p", "v"])
def test_a_link_of_which_a_part_cannot_be_read_opens_nothing_of_it(dashboard, parameter):
    dashboard.at.query_params[parameter] = "1.broken"

    dashboard.open(link=link("workload.arrivals.rate_per_s=13"))

    assert "so the one before it stands" in dashboard.said
    assert dashboard.control("rate").value != 13


def test_a_link_to_a_file_of_the_server_is_refused(dashboard):
    mapping = mapping_of(load_scenario("h200_vs_b200_chat"))
    mapping["workload"] |= {"arrivals": {"kind": "trace", "file": "/etc/passwd"}, "lengths": {"kind": "trace"}}

    dashboard.open(link=encode(mapping))

    assert "traces are files of the server" in dashboard.said
    assert dashboard.scenario().workload.arrivals.kind == "poisson"


@pytest.mark.parametrize("name", builtin_names())
def test_file_link_and_controls_lose_nothing(name):
    mapping = mapping_of(load_scenario(name))

    by_link = mapping_of(from_mapping(decode(encode(mapping))))
    by_file = mapping_of(load_scenario("any", text=to_yaml(mapping)))

    assert by_link == by_file == mapping
