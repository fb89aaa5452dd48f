import base64
import json
import zlib
from pathlib import Path

import pytest

from app.dashboard.document import from_mapping, mapping_of
from app.dashboard.share import MOST_BYTES, MOST_CHARACTERS, decode, encode
from scenarios.files import builtin_names
from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, load_text

OLD_LINKS = json.loads((Path(__file__).parents[2] / "data/links/first_half.json").read_text(encoding="utf-8"))
"""Built-in scenario → its link, as the dashboard made it before it had the pages Plan, Runs and Article."""


def values(held, place=()):
    if isinstance(held, dict | list):
        for key, inner in held.items() if isinstance(held, dict) else enumerate(held):
            yield from values(inner, (*place, key))
    else:
        yield place, held


def packed(data: bytes, version: str = "1") -> str:
    return f"{version}." + base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


@pytest.mark.parametrize("name", builtin_names())
def test_a_link_holds_the_whole_scenario(name):
    loaded = load_scenario(name)

    again = from_mapping(decode(encode(mapping_of(loaded))))

    assert again.points == loaded.points
    assert again.asserts == loaded.asserts


@pytest.mark.parametrize("name", OLD_LINKS)
def test_a_link_of_the_first_dashboard_still_opens_to_every_value_in_it(name):
    held = decode(OLD_LINKS[name])

    now = dict(values(mapping_of(from_mapping(held))))

    assert {place: now.get(place) for place, _ in values(held)} == dict(values(held))


def test_what_is_given_by_number_comes_back_by_number():
    accepted = "histogram: {0: 3, 1: 4, 2: 5}, drafted: {1: 2, 2: 10}"
    factors = "by_temperature: {0: 1, '0.5': 0.9}, by_context: {100: 1, 8000: 0.9}"
    place = "deployments.spec.speculation.drafts.small.acceptance"
    loaded = load_text(CHAT, f"{place}.prose={{{accepted}}}", f"{place}.code={{survival: [0.8, 0.6], {factors}}}",
                       "workload.temperature=0.25")  # fmt: skip
    again = decode(encode(mapping_of(loaded)))

    assert again == mapping_of(loaded)
    assert from_mapping(again).points == loaded.points


def test_a_link_of_a_built_in_scenario_fits_into_a_message():
    assert len(encode(mapping_of(load_scenario("h200_vs_b200_chat")))) < 1_500


def test_a_scenario_too_large_for_a_link_is_told_to_go_as_a_file():
    numbers = [str(zlib.crc32(str(n).encode())) for n in range(3000)]

    with pytest.raises(ScenarioError, match=r"too large for a link.*as a file"):
        encode({"description": numbers})


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ("1." + "A" * MOST_CHARACTERS, "a link has at most 8,000"),
        (packed(b"0" * (MOST_BYTES * 4)), "more than 200,000 bytes"),
        (packed(b"{}", version="2"), "version '2', this specfleet reads '1'"),
        ("", "version ''"),
        ("{}", "version"),
        ("1.", "not whole"),
        ("1.!!!", "not whole"),
        ("1.äöü", "not whole"),
        (packed(b"{}")[:-3], "not whole"),
        (packed(b"not json"), "not whole"),
        (packed(b"\xff\xfe"), "not whole"),
        (packed(b"[" * 100_000), "not whole"),
        (packed(b"[1]"), "no scenario"),
    ],
)
def test_a_hostile_link_is_refused_in_one_message(payload, told):
    with pytest.raises(ScenarioError, match=told) as error:
        decode(payload)

    assert len(str(error.value)) < 200


def test_a_bomb_is_never_unpacked_whole():
    bomb = packed(b"0" * 5_000_000)
    assert len(bomb) < MOST_CHARACTERS

    with pytest.raises(ScenarioError, match="unpacks to more"):
        decode(bomb)


def with_arrivals(**arrivals):
    mapping = mapping_of(load_scenario("h200_vs_b200_chat"))
    return mapping | {"workload": mapping["workload"] | {"arrivals": arrivals}}


@pytest.mark.parametrize("file", ["/etc/passwd", "../../secret.csv", "chat.yaml", "C:\\x"])
def test_a_file_of_the_server_is_never_looked_for(file):
    mapping = json.loads(json.dumps(with_arrivals(kind="trace", file=file)))

    with pytest.raises(ScenarioError, match="traces are files of the server") as error:
        from_mapping(decode(encode(mapping)))

    assert "no such trace" not in str(error.value)


@pytest.mark.parametrize("place", ["target", "sweep"])
def test_a_config_of_the_server_is_never_looked_for(place):
    mapping = json.loads(json.dumps(mapping_of(load_scenario("h200_vs_b200_chat"))))
    if place == "target":
        mapping["deployments"]["h200-plain"]["target"]["model"] = "/etc/secret.json"
    else:
        mapping["sweep"] = {"deployments.h200-plain.target.model": ["llama-3.3-70b", "../secret.json"]}

    with pytest.raises(ScenarioError, match=r"a config\.json is a file of the server") as error:
        from_mapping(decode(encode(mapping)))

    assert "cannot be read" not in str(error.value)


@pytest.mark.parametrize(
    "sweep",
    [
        {"workload.arrivals": [{"kind": "trace", "file": "/etc/passwd"}]},
        {"workload.arrivals.file": ["/etc/passwd"]},
        {"workload.arrivals.kind": ["trace"]},
    ],
)
def test_a_sweep_opens_no_file_either(sweep):
    mapping = mapping_of(load_scenario("h200_vs_b200_chat")) | {"sweep": sweep}

    with pytest.raises(ScenarioError, match=r"traces are files|missing: Path of the trace"):
        from_mapping(mapping)


def test_a_name_that_is_a_path_is_no_name():
    mapping = mapping_of(load_scenario("h200_vs_b200_chat"))
    mapping["deployments"]["h200-plain"]["target"]["model"] = "../../../etc/passwd"

    with pytest.raises(ScenarioError, match="model"):
        from_mapping(mapping)
