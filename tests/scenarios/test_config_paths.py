"""A config.json that a scenario names by its path: found from the file, part of the hash by its content."""

import pytest

from scenarios.load import load_scenario
from scenarios.plan_file import load_plan
from scenarios.store import point_hash, resolved_document, to_yaml
from simulator.errors import ScenarioError
from simulator.planning.draft_words import speculation_words
from simulator.planning.estimate import estimate
from simulator.planning.provenance import provenance
from tests.scenarios.examples import CHAT, edited, load_text
from tests.simulator.catalog.hub.samples import CONFIGS, LLAMA, written

TARGET, DRAFT = "model: llama-3.1-8b", "model: llama-3.2-1b"
AT = "deployments.plain.target.model"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a scenario in `there/` that names a config.json beside itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    written(tmp_path / "there", LLAMA, "mine.json")
    (tmp_path / "there" / "chat.yaml").write_text(edited((TARGET, "model: ./mine.json")))
    return tmp_path


def model_of(loaded, name="plain"):
    return loaded.points[0].scenario.deployments[name].target.model


def test_a_path_starts_at_the_scenarios_file(place):
    loaded = load_scenario("there/chat.yaml")

    assert model_of(loaded) == model_of(loaded, "spec") == str(place / "there" / "mine.json")


def test_a_path_that_is_set_starts_where_it_is_run(place):
    written(place, LLAMA, "here.json")

    assert model_of(load_scenario("there/chat.yaml", [f"{AT}=here.json"])) == str(place / "here.json")


def test_paths_may_be_swept(place):
    text = edited((TARGET, "model: llama-3.1-70b")) + f"sweep: {{{AT}: [llama-3.1-8b, ./mine.json]}}\n"

    loaded = load_scenario("there/chat.yaml", text=text)

    models = [point.scenario.deployments["plain"].target.model for point in loaded.points]
    assert models == ["llama-3.1-8b", str(place / "there" / "mine.json")]


def test_a_plan_may_vary_the_model_over_paths(place):
    text = (place / "there" / "chat.yaml").read_text() + "plan:\n  vary: {target.model: [llama-3.1-8b, ./mine.json]}\n"

    found = load_plan("there/chat.yaml", text=text).scenario.deployments

    assert found["plain.model-mine"].target.model == str(place / "there" / "mine.json")


def test_the_estimate_is_that_of_the_same_model_of_the_catalog(place):
    by_path, by_name = (
        load_scenario("there/chat.yaml", sets).points[0].scenario for sets in ([], [f"{AT}=llama-3.1-8b"])
    )

    assert estimate(by_path, "plain") == estimate(by_name, "plain")


def test_a_draft_may_be_a_path_and_is_called_by_its_name(place):
    written(place / "there", CONFIGS["llama-3.2-1b"], "small.json")
    text = edited((DRAFT, "model: small.json"))

    deployment = load_scenario("there/chat.yaml", text=text).points[0].scenario.deployments["spec"]

    assert speculation_words(deployment.speculation) == "small, chain of 2"


def test_the_sources_name_the_file_and_its_content(place):
    sources = provenance(load_scenario("there/chat.yaml").points[0].scenario)["sources"]

    found = [source for source in sources if source["file"] == "models/mine"]
    assert [(source["kind"], source["date"]) for source in found] == [("config", "")]
    assert found[0]["ref"].startswith("mine.json, sha256 ")
    assert str(place) not in str(sources)


def test_the_hash_follows_the_content_wherever_the_file_lies(place):
    def hashed(folder, config):
        (place / folder).mkdir(exist_ok=True)
        written(place / folder, config, "mine.json")
        return point_hash(
            load_scenario(f"{folder}/chat.yaml", text=edited((TARGET, "model: mine.json"))).points[0].scenario
        )

    assert hashed("a", LLAMA) == hashed("b", LLAMA)
    assert hashed("a", LLAMA) != hashed("b", LLAMA | {"num_hidden_layers": 16})


def test_the_resolved_scenario_loads_from_anywhere(place, monkeypatch, tmp_path_factory):
    loaded = load_scenario("there/chat.yaml")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "chat.yaml").write_text(to_yaml(resolved_document(loaded)))
    monkeypatch.chdir(elsewhere)

    assert model_of(load_scenario("chat.yaml")) == model_of(loaded)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (None, "other.json: cannot be read: No such file or directory"),
        ("{", "other.json:1: not JSON"),
        (LLAMA | {"model_type": "mamba2"}, 'model_type: "mamba2": models of this type are not known here'),
    ],
)
def test_a_file_that_cannot_be_taken_is_a_problem_of_the_line_that_names_it(content, part, place):
    if content is not None:
        written(place, content, "other.json")

    with pytest.raises(ScenarioError) as error:
        load_text(edited((TARGET, "model: ./other.json")))

    line = next(n for n, line in enumerate(CHAT.splitlines(), 1) if TARGET in line)
    assert str(error.value).startswith(f"chat.yaml:{line}: {AT}: {place}")
    assert part in str(error.value)
