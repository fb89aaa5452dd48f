import pytest

from app.dashboard.document import mapping_of
from app.dashboard.share import encode
from app.dashboard.speculation_inputs import Choice, Ratios, adopted, own_choice, tried
from scenarios.load import load_scenario
from simulator.planning.speculation_gain import speculation_grid, speedup, tokens_by_draft
from simulator.spec.speculation import DraftSpeculation
from tests.app.dashboard.looking import changed, figure, figures, labelled, metrics, table


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.fixture
def page(dashboard):
    return dashboard.open("speculation")


@pytest.mark.parametrize(
    ("label", "value", "metric"),
    [
        ("Acceptance of the first", 0.9, "Speed-up"),
        ("Change per position", 0.8, "Tokens per step"),
        ("Sequences in flight", 64, "Speed-up"),
        ("Deployment", "h200-spec", "$/M output"),
    ],
)
def test_every_slider_moves_the_answer(page, label, value, metric):
    before = metrics(page)
    labelled(page, label).set_value(value).run()

    assert metrics(page)[metric] != before[metric]


def test_more_draft_tokens_move_the_star(page):
    before = figures(page)
    page.move(next(s.key for s in page.at.slider if s.key.endswith("_k") and s.key.startswith("speculation")), 7)

    assert all(a != b for a, b in zip(before, figures(page), strict=True))
    assert "K = 7" in figures(page)[4]


def test_a_falling_acceptance_moves_every_map(page):
    before = figures(page)
    labelled(page, "Change per position").set_value(0.8).run()

    assert all(a != b for a, b in zip(before, figures(page), strict=True))


def test_the_numbers_are_marked_as_estimated(page):
    assert "always holds so many sequences" in page.html


def test_ratios_replace_the_model_and_both_count(page):
    labelled(page, "Draft costs by").set_value("two ratios").run()
    modelled = metrics(page)
    labelled(page, "Latency ratio").set_value(0.5).run()
    dearer = metrics(page)
    labelled(page, "FLOP ratio").set_value(0.5).run()

    assert dearer["Draft pass ÷ plain step"] == "0.500" != modelled["Draft pass ÷ plain step"]
    assert dearer["Speed-up"] < modelled["Speed-up"]
    assert metrics(page)["Operations per token"] > dearer["Operations per token"]


def test_cost_can_be_read_at_this_batch_instead_of_the_target(page):
    before = figures(page)
    labelled(page, "Cost by acceptance at").set_value("this batch").run()

    assert figures(page)[1] != before[1]
    assert figures(page)[0] == before[0]


def test_headings_of_maps_side_by_side_are_short_enough_for_a_line(page):
    said = [text.value for text in page.at.markdown if "by acceptance" in text.value or "by batch**" in text.value]

    assert said[:4] == [
        "**Speed-up by acceptance** :small[:gray[12 sequences in flight]]",
        "**$/M output by acceptance** :small[:gray[cheapest batch, mean TPOT ≤ 30 ms]]",
        "**Speed-up by batch**",
        "**$/M output by batch**",
    ]


def test_the_schedule_tells_the_fastest_draft_tokens_from_one_sequence_on(page):
    rows = table(page, "fastest K")

    assert rows[0]["sequences in flight"].startswith("1 to")
    assert rows[0]["fastest K"] > rows[-1]["fastest K"]


def test_taking_the_point_edits_the_scenario_and_keeps_what_was_not_moved(page):
    page.move(next(s.key for s in page.at.slider if s.key.endswith("_k") and s.key.startswith("speculation")), 2)
    page.press("speculation_adopt")

    taken = page.scenario().deployments["b200-spec"].speculation
    assert taken.propose.draft_tokens == 2
    assert set(taken.draft.acceptance) == {"code", "prose", "math"}
    assert page.scenario().deployments["h200-spec"].speculation.propose.draft_tokens == 4


def test_a_draft_that_leaves_no_room_is_told_not_thrown(dashboard):
    page = dashboard.open("speculation")
    page.at.session_state["specfleet_loaded"] = changed(page, "deployments.b200-spec.engine.hbm_budget_gb", 44.0)
    page.at.run()

    assert "does not fit" in page.said


def test_more_sequences_than_a_draft_leaves_room_for_have_no_place(dashboard):
    page = dashboard.open("speculation")
    page.at.session_state["specfleet_loaded"] = changed(page, "deployments.b200-spec.engine.hbm_budget_gb", 46.0)
    page.at.run()
    slider = labelled(page, "Sequences in flight")

    slider.set_value(int(slider.options[-1])).run()

    assert metrics(page)["Speed-up"] == "no place"
    assert not page.at.exception


def test_the_controls_stand_where_the_deployment_stands(chat):
    assert own_choice(chat, "h200-spec") == Choice(0.71, 1.02, 4, None)


def test_a_gpu_without_a_draft_is_drawn_with_that_of_the_chosen_deployment(page):
    page.at.session_state["specfleet_loaded"] = changed(page, "deployments.h200-spec.speculation", {"kind": "none"})
    page.at.run()

    line = next(trace for trace in figure(page, 4)["data"] if trace["name"] == "h200-plain")
    grid = speculation_grid(tried(page.scenario(), "h200-plain", None, "b200-spec"), "h200-plain")
    tokens = tokens_by_draft(own_choice(page.scenario(), "b200-spec").survival)

    assert line["y"] == pytest.approx(speedup(grid, tokens)[:, 4].tolist(), nan_ok=True)


ROUTED = {
    "kind": "drafts",
    "drafts": {
        "one": {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": [0.8, 0.6]}}},
        "three": {"model": "llama-3.2-3b", "acceptance": {"all": {"survival": [0.9, 0.8]}}},
    },
    "propose": {"shape": "chain", "draft_tokens": 2},
    "combine": {
        "kind": "routed", "routes": {"all": "three"}, "accuracy": {"all": 0.5}, "fallback": "one",
        "router": {"parameters": 1, "latency_s": 0},
    },
}  # fmt: skip


def test_of_several_drafts_one_is_looked_at_and_taken(page):
    page.at.session_state["specfleet_loaded"] = changed(page, "deployments.b200-spec.speculation", ROUTED)
    page.at.run()
    first = metrics(page)

    page.move("speculation_draft_b200-spec", "three")
    second = metrics(page)
    page.press("speculation_adopt")

    assert (first["Tokens per step"], second["Tokens per step"]) == ("2.40", "2.70")
    assert float(second["Draft pass ÷ plain step"]) > float(first["Draft pass ÷ plain step"])
    assert list(page.scenario().deployments["b200-spec"].speculation.drafts) == ["three"]


def test_a_tree_is_looked_at_as_a_chain_and_that_is_said(page):
    tree = {"kind": "heads", "propose": {"shape": "tree", "widths": [2, 1]}}
    accepted = {"all": {"survival": [0.8, 0.6], "branches": [0.8, 0.1]}}
    tree["drafts"] = {"head": {"head": {"method": "eagle3"}, "acceptance": accepted}}
    page.at.session_state["specfleet_loaded"] = changed(page, "deployments.b200-spec.speculation", tree)
    page.at.run()

    assert metrics(page)["Tokens per step"] == "2.40"
    assert "eagle3 head, tree of 4, depth 2; your point is one draft and a chain" in page.at.caption[0].value


def test_the_sidebar_and_the_page_say_the_same_acceptance(page):
    assert page.control("acceptance").value == labelled(page, "Acceptance of the first").value == 0.71


def test_a_deployment_without_a_draft_begins_with_an_assumed_one(chat):
    own = own_choice(chat, "h200-plain")

    assert own.ratios is not None
    assert speculation_grid(tried(chat, "h200-plain", own.ratios), "h200-plain").flops_ratio == own.ratios.flops


def test_a_deployment_borrows_the_draft_of_another(chat):
    grid = speculation_grid(tried(chat, "h200-plain", None, "h200-spec"), "h200-plain")

    assert grid.flops_ratio == speculation_grid(tried(chat, "h200-spec", None), "h200-spec").flops_ratio


@pytest.mark.parametrize("name", ["h200-plain", "h200-spec"])
@pytest.mark.parametrize("ratios", [None, Ratios(0.1, 0.2)])
def test_what_is_adopted_is_a_valid_speculation(chat, name, ratios):
    found = DraftSpeculation.model_validate(adopted(chat, name, Choice(0.9, 0.9, 3, ratios)))

    assert found.propose.draft_tokens == 3
    assert found.draft.acceptance["all"].survival == (0.9, 0.729, 0.5314)


def test_of_several_drafts_the_one_that_is_looked_at_is_named(dashboard):
    several = load_scenario("multi_draft_code_math_prose", ("sweep={}",))
    dashboard.open("speculation", link=encode(mapping_of(several)))

    assert any("b200-union with coder alone" in text.value for text in dashboard.at.markdown)
