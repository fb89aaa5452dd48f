"""Trees, unions and a drafter in its own process: served, replayed, priced and judged like the chains of one draft."""

import json
from dataclasses import replace
from functools import partial

import pytest

from calibration.acceptance_scenario import propose
from calibration.check import acceptance
from calibration.check.ahead import drafting_ahead
from calibration.check.checking import GRIDS, deployment_of, measured_systems
from calibration.check.compare import compare, own_acceptance
from calibration.check.drive import CpuTime, drive
from calibration.check.figures import figures, records_of
from calibration.check.offered import offered
from calibration.check.predict import Predictor, predict, predict_timing
from calibration.check.replay import replay
from calibration.check.verdicts import verdicts
from calibration.check.workload import AHEAD, SMOLLM2, SYSTEMS, TREE, UNION
from calibration.drafts import Drafts
from engine.drafters.union import Union
from engine.trees import tree_of_widths
from simulator.errors import ScenarioError
from simulator.physics.draft import NO_DRAFT
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel
from simulator.spec.acceptance import Acceptance
from simulator.spec.speculation import DraftSpeculation
from tests.calibration.check.test_verdicts import compared
from tests.calibration.check.toys import LABELS, Tiny, Work, a_point, obedient, predictor
from tests.engine.test_asynchronous import here
from tests.engine.toys import make_drafter, make_engine
from tests.simulator.physics.surfaces import deployment, profile

SHAPE = tree_of_widths([2, 1])
NODES = 4


def union(weights):
    return Union([make_drafter("lookup", weights), make_drafter("ngram", weights)])


DRAFTERS = {
    "union": union,
    "tree": partial(make_drafter, "noisy_target", shape=SHAPE),
    "table's tree": partial(make_drafter, "ngram", shape=SHAPE),
    "ahead": partial(here, epsilon=0.05),
}


class TinyOf(Tiny):
    """The toy with another drafter."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def engine(self, point):
        draft = DRAFTERS[self.name](self.weights) if point.draft_tokens else None
        return make_engine(self.weights, draft=draft, draft_tokens=point.draft_tokens, blocks=self.blocks)


def a_run(name, **point):
    tiny, point = TinyOf(name), a_point(draft_tokens=NODES, **point)
    return drive(point, tiny.engine(point), tiny.requests(point), {})


def of_tree():
    """A predictor whose draft proposes the toy's tree."""
    it = {"measured": "lookup", "acceptance": {"all": {"survival": [0.5, 0.2], "of": "tree"}}}
    spec = {"kind": "drafts", "drafts": {"it": it}, "propose": propose(Drafts("ngram", tree="2,1"), 0)}
    classes = {label: Acceptance(survival=(0.5, 0.2), of="tree") for label in LABELS}
    return Predictor(profile(), deployment(spec), {NODES: classes})


@pytest.mark.parametrize("load", ["poisson", "clients"])
@pytest.mark.parametrize("name", DRAFTERS)
def test_every_step_is_planned_again_with_a_row_for_each_node_and_the_root(name, load):
    run = a_run(name, load=load, level=3.0)

    found = replay(run)

    assert found.first_difference == ""
    assert found.equal == len(run.steps) > 10


def test_a_tree_that_is_preempted_is_planned_again_too():
    tiny, point = TinyOf("tree"), a_point(draft_tokens=NODES, rate_per_s=2000.0)
    tiny.blocks = 24

    run = drive(point, tiny.engine(point), tiny.requests(point), {})

    assert sum(request.preemptions for request in run.requests) > 3
    assert replay(run).exact


def test_the_timing_of_an_obedient_engine_with_full_trees_is_predicted_to_the_last_digit():
    tiny, work, of, point = TinyOf("tree"), Work(), of_tree(), a_point(draft_tokens=NODES, rate_per_s=5.0)
    steps = of.steps(NODES)
    engine = obedient(tiny.engine(point), work, lambda shape: steps.seconds(StepShape._make(shape)))
    run = drive(point, engine, tiny.requests(point), {}, CpuTime(work))

    found, measured = predict_timing(of, run), figures(records_of(run), open_loop=True)

    assert found == pytest.approx(measured, rel=0.02, nan_ok=True)  # near the end of a sequence a tree is cut


@pytest.mark.parametrize(("name", "made"), [("tree", of_tree), ("table's tree", of_tree), ("union", predictor)])
def test_acceptance_of_the_same_texts_predicts_their_tokens_per_step(name, made):
    run = a_run(name, requests=60)
    accepted = sum(sum(r.accepted) for r in run.requests) / sum(len(r.accepted) for r in run.requests)
    own = replace(made(), acceptance={NODES: own_acceptance(run, 2 if made is of_tree else None)})

    found = predict(own, run.point, run.limits, offered(run))

    assert found["tokens_per_step"] == pytest.approx(1.0 + accepted, rel=0.03)


def test_a_tree_is_compared_by_its_own_depth():
    run = a_run("tree")

    found = compare(of_tree(), [run, run])

    assert 1.0 < found.same_texts <= 3.0
    assert found.steps.steps == 2 * len(run.steps)


def test_a_drafter_that_always_guesses_right_costs_what_the_targets_pass_does_not_hide():
    model = predictor().steps(2)
    shape = StepShape(4, 12, 400.0, 0, 0, 0.0, 2)

    never, half, always = (drafting_ahead(model, hit).cost(shape).draft_s for hit in (0.0, 0.5, 1.0))

    assert never == pytest.approx(model.cost(shape).draft_s)
    assert always == 0.0
    assert half == pytest.approx((1.0 - 0.5**4) * never)


def test_a_draft_that_is_slower_than_its_target_is_waited_for_where_every_guess_was_right():
    """Drafting ahead takes K + 1 passes: the guess of the bonus token is one of them."""
    model = predictor().steps(2)
    slow = replace(model.draft, passes=lambda sequences, draft_tokens: (2.0, 0.0))
    pass_s, _ = CatalogStepModel(model.target, NO_DRAFT, 2).decode_affine(4, 2)

    always = drafting_ahead(CatalogStepModel(model.target, slow, 2), 1.0)

    assert always.cost(StepShape(4, 12, 400.0, 0, 0, 0.0, 2)).draft_s == pytest.approx(3.0 - pass_s)


# Acceptance that `calibrate acceptance` measured.


def written(folder, name, nodes, drafted, accepted, **more):
    path = folder / f"acceptance-{name}-k{nodes}" / "code.jsonl"
    path.parent.mkdir(parents=True)
    counts = {str(n): accepted.count(n) for n in range(nodes + 1)}
    told = {"engine": "specfleet", "acceptance_histogram": counts, "num_spec_tokens": nodes,
            "num_spec_steps": len(accepted), "per_step_accepted": accepted, "per_step_drafted": drafted}  # fmt: skip
    path.write_text(json.dumps({"half": "fit", "spec_decode_acceptance": told} | more) + "\n")


def test_a_trees_acceptance_is_by_depth_and_says_how_many_nodes_there_were(tmp_path):
    written(tmp_path, TREE.name, 6, [6, 6, 2, 0], [2, 1, 1, 0])

    found = acceptance.fitted(tmp_path, TREE.name, TREE.drafts, (0, 6))[6]["code"]

    assert (found.of, found.histogram) == ("tree", {0: 1, 1: 2, 2: 1})
    assert found.drafted == {0: 1, 2: 1, 6: 2}


def test_a_union_is_not_cut_down_to_fewer_nodes(tmp_path):
    written(tmp_path, UNION.name, 9, [9, 3], [3, 0])

    with pytest.raises(ScenarioError, match=r"up to K = 6 is needed.*--draft union --of lookup .*--draft-tokens 2"):
        acceptance.fitted(tmp_path, UNION.name, UNION.drafts, (0, 6))


def test_how_often_a_guess_held_is_read_from_the_same_records(tmp_path):
    written(tmp_path, AHEAD.name, 3, [3, 3], [3, 0], ahead={"asked": 8, "hits": 6})

    assert acceptance.hits(tmp_path, AHEAD.name, (0, 3)) == {3: 0.75}
    with pytest.raises(ScenarioError, match="nothing was drafted ahead"):
        acceptance.hits(tmp_path, AHEAD.name, (5,))


# Systems and goals.


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_every_system_stands_for_a_deployment(system):
    spec = deployment_of("h200-sxm", system).speculation

    assert isinstance(spec, DraftSpeculation)
    assert (spec.draft.measured or spec.draft.model) == system.draft
    assert spec.propose.shape == ("tree" if system is TREE else "chain")


def test_a_drafter_that_the_profile_lacks_says_how_to_measure_it():
    said = []

    with pytest.raises(ScenarioError, match=r"calibrate device --model smollm2 --draft union --of lookup"):
        measured_systems("drafters", profile(), said.append)
    assert [text.split(" ")[0] for text in said] == list(GRIDS["drafters"])
    assert measured_systems("default", profile(), said.append) == [SMOLLM2]


def test_waits_for_another_process_are_not_in_the_seconds_of_this_one():
    draft = profile().steps[0].drafts[0].model_copy(update={"draft": AHEAD.draft})
    measured = profile(drafts=[draft.model_dump()])

    assert measured_systems("drafters", measured, lambda text: None) == [AHEAD]
    said = []
    with pytest.raises(ScenarioError):
        measured_systems("drafters", measured, said.append, "cpu")
    assert said[-1].endswith("do not hold what a step waits for another process")


def test_the_goals_of_unions_are_wider_with_drafts_only():
    points = [
        compared(replace(a_point(draft_tokens=k), system=system), predicted={"tpot_s.mean": 1.06})
        for system in ("some-union", "lookup")
        for k in (0, 2)
    ]

    (line,) = (one for one in verdicts(points, {"some-union": 0.03}) if one.what == "TPOT mean")

    assert [item.where for item in line.missed] == [p.point.key for p in points if p.point.key != points[1].point.key]
