"""The JSON schema of a scenario file: committed, valid, and as strict as an editor needs."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from scenarios.files import builtin_names, builtin_plans
from scenarios.schema import scenario_json_schema
from scenarios.starter import starter_text
from scenarios.yaml_nodes import parse_yaml, plain
from tests.scenarios.examples import CHAT, SEVERAL, edited

ROOT = Path(__file__).parents[2]
ALL = [*builtin_names(), *builtin_plans()]
VALIDATOR = Draft202012Validator(scenario_json_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER)


def complaints(text: str) -> list[str]:
    data = json.loads(json.dumps(plain(parse_yaml(text, "chat.yaml")[0]), default=str))
    return [error.message for error in VALIDATOR.iter_errors(data)]


def test_the_committed_schema_is_the_one_of_the_code():
    committed = json.loads((ROOT / "scenario.schema.json").read_text(encoding="utf-8"))

    assert committed == scenario_json_schema(), "run `make schema`"


def test_the_schema_is_a_valid_one():
    Draft202012Validator.check_schema(scenario_json_schema())


@pytest.mark.parametrize("name", ALL)
def test_every_built_in_scenario_obeys_the_schema(name):
    assert complaints((ROOT / "scenarios" / f"{name}.yaml").read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        CHAT,
        SEVERAL,
        starter_text(),
        CHAT + "sweep: {seed: [1, 2]}\nassert: [plain.req_per_s < 3]\n",
        CHAT + "  more: {extends: spec, speculation: {propose: {draft_tokens: 1}}}\n",
        CHAT + "  more: {extends: spec, price: 3.5, engine: {max_num_seqs: 4}}\n",
        CHAT + "  more: {extends: spec, price: {usd_per_gpu_hour: 2, source: a quote, as_of: 2026-01-01}}\n",
        CHAT + "plan: {vary: {target.tensor_parallel: [1, 2]}, headroom: 0.1, users: {count: 9, think_s: 3}}\n",
        edited(("replicas: 1\n", "\n")) + "plan: {budget: {gpus: 8}}\n",
    ],
)
def test_what_a_file_may_say_obeys_the_schema(text):
    assert complaints(text) == []


@pytest.mark.parametrize(
    "text",
    [
        edited(("gpu: h200-sxm", "gpuu: h200-sxm")),
        edited(("seed: 7", "sead: 7")),
        edited(("replicas: 1", "replicas: 0")),
        edited(("replicas: 1\n", "\n")),
        edited(("p95", "p96")),
        edited(("  plain:\n", "  my plain:\n")),
        edited(("{code: 0.5", "{my code: 0.5")),
        edited(("{kind: poisson, rate_per_s: 4}", "{kind: poisson, rate: 4}")),
        CHAT + "  more: {extends: spec, engin: {max_num_seqs: 4}}\n",
        CHAT + "  more: {extends: spec, engine: {max_seqs: 4}}\n",
        CHAT + "  more: {extends: spec, speculation: {propose: {draft_tokens: -1}}}\n",
        CHAT + "  more: {extends: spec, engine: {extends: x}}\n",
        CHAT + "sweep: {seed: []}\n",
        CHAT + "sweep: {seed: 3}\n",
        CHAT + "assert: [3]\n",
        CHAT + "plan: {headrom: 0.1}\n",
        CHAT + "plan: {vary: {gpu: h200-sxm}}\n",
        edited(("gpu: h200-sxm", "gpuu: h200-sxm")) + "plan: {}\n",
        edited(("  plain:\n", "  my plain:\n")) + "plan: {}\n",
    ],
)
def test_a_wrong_file_fails_the_schema(text):
    assert complaints(text)


def test_every_key_is_explained_to_the_editor():
    properties = scenario_json_schema()["$defs"]["Engine"]["properties"]

    assert all("description" in body for body in properties.values())


def test_the_schema_line_of_each_built_in_leads_to_the_schema():
    for name in ALL:
        first = (ROOT / "scenarios" / f"{name}.yaml").read_text().splitlines()[0]
        assert (ROOT / "scenarios" / first.partition("$schema=")[2]).resolve() == ROOT / "scenario.schema.json"


def test_plain_yaml_readers_read_the_same():
    for name in ALL:
        text = (ROOT / "scenarios" / f"{name}.yaml").read_text()
        assert plain(parse_yaml(text, name)[0]) == yaml.safe_load(text)
