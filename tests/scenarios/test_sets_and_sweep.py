"""`--set` and `sweep`: which places exist, what replacing means, and the grid."""

import pytest
import yaml

from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, edited, load_text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("seed", 9),
        ("workload.arrivals.rate_per_s", 2.5),
        ("workload.horizon.requests", 50),
        ("deployments.plain.replicas", 3),
        ("deployments.plain.target.model", "qwen3-0.6b"),
        ("deployments.plain.engine.max_num_seqs", 64),
        ("deployments.plain.router.kind", "round_robin"),
        ("deployments.spec.engine.max_model_len", 4096),
        ("deployments.spec.speculation.propose.draft_tokens", 1),
        ("deployments.spec.speculation.drafts.small.acceptance.code.survival", [0.9, 0.5]),
        ("deployments.spec.speculation.drafts.small.acceptance.code.survival.1", 0.25),
        ("deployments.spec.speculation.drafts.small.acceptance.prose.histogram.2", 8),
        ("deployments.spec.speculation.drafts.small.acceptance.code.spread", 0.5),
        ("slo.tpot_s", {"p95": 0.05}),
        ("slo.e2e_s.p99", 20),
        ("slo", None),
    ],
)
def test_a_set_gives_an_existing_place_a_value(path, value):
    text = "null" if value is None else str(value).replace("'", "")
    base = load_text(CHAT, f"{path}={text}").base

    at = base
    for key in path.split("."):
        at = at[int(key) if key.isdigit() else key]
    assert at == value


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("workload.arrivals.rate", "workload.arrivals.rate_per_s"),
        ("deployments.plain.engine.max_seqs", "deployments.plain.engine.max_num_seqs"),
        ("deployments.spce.replicas", "deployments.spec.replicas"),
        ("deployments.plain.price.usd", "deployments.plain.price"),
        ("workload.classes.math", "workload.classes"),
        ("deployments.spec.speculation.drafts.small.acceptance.code.survival.2", "survival"),
        ("slo.ttft_s.p96", "slo.ttft_s.p9"),
        ("seed.x", "seed"),
        ("..", ""),
    ],
)
def test_a_place_that_does_not_exist_is_refused_with_the_nearest(path, nearest):
    with pytest.raises(ScenarioError) as error:
        load_text(CHAT, f"{path}=1")

    assert f"--set {path}: no such place in the scenario" in str(error.value)
    assert nearest in str(error.value)


@pytest.mark.parametrize("text", ["seed", "=3", "", " = 3"])
def test_a_set_without_path_or_value_is_taught(text):
    with pytest.raises(ScenarioError, match="write --set path=YAML"):
        load_text(CHAT, text)


def test_a_wrong_value_is_told_at_its_set():
    with pytest.raises(ScenarioError) as error:
        load_text(CHAT, "deployments.plain.replicas=-1", "seed=[1", "deployments.plain.gpu=h2000")

    assert "--set seed: not YAML" in str(error.value)

    with pytest.raises(ScenarioError) as error:
        load_text(CHAT, "deployments.plain.replicas=-1", "deployments.plain.gpu=h2000")

    assert "--set deployments.plain.replicas: deployments.plain.replicas: -1: Input" in str(error.value)
    assert "--set deployments.plain.gpu: deployments.plain.gpu: no GPU 'h2000'" in str(error.value)


def test_a_set_replaces_and_does_not_merge():
    loaded = load_text(CHAT, "deployments.spec.speculation={kind: none}", "deployments.spec.engine={policy: sglang}")

    assert loaded.base["deployments"]["spec"]["speculation"] == {"kind": "none"}
    assert loaded.base["deployments"]["spec"]["engine"] == {"policy": "sglang"}
    assert loaded.base["deployments"]["plain"]["engine"] == {"policy": "vllm", "max_model_len": 8192}


def test_what_inherits_a_value_inherits_the_set_one():
    base = load_text(CHAT, "deployments.plain.replicas=4").base

    assert base["deployments"]["spec"]["replicas"] == 4


def test_a_set_of_an_inherited_value_leaves_the_base_alone():
    base = load_text(CHAT, "deployments.spec.replicas=4").base

    assert base["deployments"]["plain"]["replicas"] == 1


def test_sets_apply_left_to_right_and_the_file_is_checked_once_after_all():
    loaded = load_text(CHAT, "seed=-1", "workload.horizon.requests=5", "workload.horizon.warmup_requests=1", "seed=3")

    assert loaded.points[0].scenario.seed == 3
    assert loaded.points[0].scenario.workload.horizon.requests == 5


def test_a_name_with_dots_is_found():
    text = edited(("  plain:\n", "  h200-3.5:\n"), ("extends: plain", "extends: h200-3.5"))

    base = load_text(text, "deployments.h200-3.5.replicas=2").base

    assert base["deployments"]["h200-3.5"]["replicas"] == 2


def test_a_file_without_sweep_has_one_point_without_label():
    loaded = load_text(CHAT)

    assert [point.label for point in loaded.points] == [{}]
    assert loaded.name == "chat"


def test_a_sweep_is_a_grid_in_order_of_the_file():
    text = CHAT + "sweep: {workload.arrivals.rate_per_s: [4, 8.5], deployments.plain.replicas: [1, 2]}\n"

    points = load_text(text).points

    assert [tuple(point.label.values()) for point in points] == [(4, 1), (4, 2), (8.5, 1), (8.5, 2)]
    assert [point.scenario.workload.arrivals.rate_per_s for point in points] == [4, 4, 8.5, 8.5]
    assert [point.scenario.deployments["spec"].replicas for point in points] == [1, 2, 1, 2]


def test_a_sweep_may_vary_whole_mappings_and_left_out_places():
    text = CHAT + (
        "sweep:\n"
        "  workload.arrivals: [{kind: queued_at_once}, {kind: closed_loop, concurrency: 8}]\n"
        "  deployments.spec.engine.max_num_seqs: [16]\n"
    )

    points = load_text(text).points

    assert [point.scenario.workload.arrivals.kind for point in points] == ["queued_at_once", "closed_loop"]
    assert points[0].scenario.deployments["plain"].engine.max_num_seqs is None
    assert points[0].scenario.deployments["spec"].engine.max_num_seqs == 16


def test_a_wrong_value_in_a_sweep_is_told_at_its_own_line():
    text = CHAT + "sweep:\n  seed:\n    - 1\n    - x\n"

    with pytest.raises(ScenarioError) as error:
        load_text(text)

    assert str(error.value).startswith(f"chat.yaml:{len(text.splitlines())}: seed: 'x': ")


def test_a_set_cannot_hide_behind_a_sweep_of_the_same_place():
    text = CHAT + "sweep: {workload.arrivals.rate_per_s: [4, 8]}\n"

    with pytest.raises(ScenarioError, match=r"add --set 'sweep=\{\}'"):
        load_text(text, "workload.arrivals.rate_per_s=5")

    alone = load_text(text, "workload.arrivals.rate_per_s=5", "sweep={}")
    assert [point.scenario.workload.arrivals.rate_per_s for point in alone.points] == [5]


def test_a_sweep_can_itself_be_set():
    text = CHAT + "sweep: {workload.arrivals.rate_per_s: [4, 8]}\n"

    loaded = load_text(text, "sweep.workload.arrivals.rate_per_s=[1, 2, 3]")

    assert len(loaded.points) == 3
    assert len(load_text(CHAT, "sweep={seed: [1, 2]}").points) == 2


def test_points_share_the_deployments_that_do_not_differ():
    text = CHAT + "sweep: {seed: [1, 2], deployments.spec.replicas: [1, 3]}\n"

    points = load_text(text).points

    assert points[0].scenario.deployments["plain"] is points[3].scenario.deployments["plain"]
    assert [point.scenario.deployments["spec"].replicas for point in points] == [1, 3, 1, 3]


def test_more_than_a_hundred_thousand_points_are_refused_before_any_is_made():
    axis = list(range(1, 400))
    text = CHAT + f"sweep: {{seed: {axis}, workload.horizon.requests: {[n + 100 for n in axis]}}}\n"

    with pytest.raises(ScenarioError, match="159,201 points; at most 100,000"):
        load_text(text)


def test_the_document_with_sets_applied_loads_to_the_same_points(tmp_path):
    text = CHAT + "sweep: {deployments.plain.replicas: [1, 2]}\nassert: [plain.fits == true]\n"
    loaded = load_text(text, "seed=3", "deployments.spec.speculation.propose.draft_tokens=1")
    file = tmp_path / "again.yaml"
    file.write_text(yaml.safe_dump(loaded.document, sort_keys=False))

    again = load_scenario(file)

    assert again.points == loaded.points
    assert again.asserts == loaded.asserts
    assert "sweep" not in loaded.base
    assert "extends" not in loaded.base["deployments"]["spec"]


def test_a_trace_that_is_set_is_looked_for_where_the_command_runs(tmp_path, monkeypatch):
    (tmp_path / "own.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,100,10\n")
    monkeypatch.chdir(tmp_path)

    loaded = load_scenario("h200_vs_b200_chat", ["workload.arrivals={kind: trace, file: own.csv}"])

    assert loaded.points[0].scenario.workload.arrivals.file == str(tmp_path / "own.csv")
