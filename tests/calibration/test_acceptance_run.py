"""Acceptance by running the engine: tiny random models here; figures, halves, files and what is found again."""

import json

import pytest
import yaml

from simulator.errors import ScenarioError
from simulator.physics.survival import survival_for
from simulator.spec.acceptance import Acceptance
from simulator.spec.policy import AcceptancePreset
from simulator.spec.speculation import DraftSpeculation

torch = pytest.importorskip("torch", reason="the engine needs torch")

from calibration import acceptance_run  # noqa: E402
from calibration.acceptance_files import write_results  # noqa: E402
from calibration.acceptance_plan import AcceptancePlan  # noqa: E402
from calibration.acceptance_run import findings, measure, measured  # noqa: E402
from calibration.importers.finding import held_out_error  # noqa: E402
from calibration.importers.read import read_acceptance  # noqa: E402
from engine.commands.setup import Workbench  # noqa: E402
from engine.loop import EngineOptions  # noqa: E402
from engine.model import Model  # noqa: E402
from engine.scheduler import Limits  # noqa: E402
from tests.engine.toys import make_drafter, tiny_weights  # noqa: E402

K = 3
PLAN = AcceptancePlan(model="random:tiny", draft_tokens=K, domains=("code", "math"), requests=6, tokens=24)


class Letters:
    """A tokenizer of twelve letters."""

    stop_tokens: frozenset[int] = frozenset()

    def encode(self, text):
        return [1 + ord(letter) % 11 for letter in text[:200]]

    def chat(self, text):
        return text


@pytest.fixture
def runs(monkeypatch):
    """Runs on a tiny model; which domains were run."""
    weights, ran = tiny_weights(), []
    options = EngineOptions(64, Limits(128, 8, 64, chunked_prefill=True), 4, K)
    bench = Workbench(
        "tiny", Model(weights), Letters(), options, lambda: make_drafter("lookup", weights), 0, lambda: 0.0, 0.0
    )
    monkeypatch.setattr(acceptance_run, "bench_of", lambda plan: bench)
    inner = acceptance_run.run_domain

    def counted(*arguments):
        ran.append(arguments[2])
        return inner(*arguments)

    monkeypatch.setattr(acceptance_run, "run_domain", counted)
    return ran


def test_records_add_up_and_are_read_by_the_importer(runs, tmp_path):
    records = measure(PLAN, tmp_path)["code"]

    found = read_acceptance(tmp_path / "code.jsonl")
    rounds = [r["spec_decode_acceptance"] for r in records]
    assert found.steps == sum(len(one["per_step_accepted"]) for one in rounds) > 0
    assert found.tokens_per_step == 1 + sum(sum(one["per_step_accepted"]) for one in rounds) / found.steps
    assert found.drafted_tokens == sum(sum(one["per_step_drafted"]) for one in rounds)
    assert (found.engine, found.draft_tokens, found.requests) == ("specfleet", K, 6)


def test_a_lookups_idle_steps_are_in_the_histogram_of_drafts(runs, tmp_path):
    found = findings(measure(PLAN, tmp_path), PLAN)["code"]["all"]

    assert found.drafted is not None
    assert found.drafted[0] > 0
    assert sum(found.drafted.values()) == found.steps


def test_even_prompts_are_for_the_fit_and_odd_ones_held_out(runs, tmp_path):
    parts = findings(measure(PLAN, tmp_path), PLAN)["code"]

    assert (parts["fit"].requests, parts["held_out"].requests) == (3, 3)
    assert parts["fit"].steps + parts["held_out"].steps == parts["all"].steps
    assert held_out_error(parts) == parts["fit"].tokens_per_step / parts["held_out"].tokens_per_step - 1


def test_a_finished_domain_is_found_again(runs, tmp_path):
    first = measure(PLAN, tmp_path)
    (tmp_path / "math.about.json").unlink()

    again = measure(PLAN, tmp_path)

    assert runs == ["code", "math", "math"]
    assert json.dumps(again) == json.dumps(first)


def test_other_settings_in_the_same_folder_are_refused_unless_forced(runs, tmp_path):
    measure(PLAN, tmp_path)
    other = AcceptancePlan(model="random:tiny", draft_tokens=K, domains=("code",), requests=4, tokens=24)

    with pytest.raises(ScenarioError, match=r"code\.about\.json: measured with other settings"):
        measure(other, tmp_path)
    assert len(measure(other, tmp_path, force=True)["code"]) == 4


def test_texts_of_the_users_own_are_cut_into_prompts(runs, tmp_path):
    (tmp_path / "mine.txt").write_text("a sentence of some length, again and again. " * 200, encoding="utf-8")
    plan = AcceptancePlan(draft_tokens=K, text=str(tmp_path / "mine.txt"), requests=4, tokens=24)

    records = measure(plan, tmp_path / "out")

    assert list(records) == ["mine"]
    assert [r["prompt_tokens"] for r in records["mine"]] == [96] * 4


def test_block_and_preset_are_what_the_simulator_takes(runs, tmp_path):
    of = measured(PLAN, tmp_path)
    found = of.found

    paths = write_results(of, tmp_path / "measured", tmp_path)

    written = yaml.safe_load(paths["block"].read_text())["speculation"]
    assert DraftSpeculation.model_validate(written).draft_tokens == K
    block = written["drafts"]["lookup"]["acceptance"]
    preset = AcceptancePreset.model_validate(yaml.safe_load(paths["code"].read_text()))
    assert preset.name == "random-tiny-lookup-k3-code"
    for stated in (Acceptance.model_validate(block["code"]), preset.as_acceptance()):
        assert survival_for(stated, K) == pytest.approx(found["code"]["all"].survival)
    assert json.loads(paths["figures"].read_text())["classes"]["math"]["fit"]["requests"] == 3


def test_progress_ends_at_all(runs, tmp_path):
    told = []

    measure(PLAN, tmp_path, lambda name, done, total: told.append((name, done, total)))

    assert told[-1][1] == told[-1][2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"domains": ("poetry",)}, "--domain poetry: known: code"), ({"text": "nowhere.txt"}, "nowhere.txt: No such")],
)
def test_what_cannot_be_measured_is_told(changes, message, tmp_path):
    with pytest.raises(ScenarioError, match=message):
        measure(AcceptancePlan(**changes), tmp_path)
