"""The sections of the page Speculation without a browser: one at a time, their controls, their links."""

import pytest

from app.dashboard.document import mapping_of
from app.dashboard.share import decode, encode
from app.dashboard.speculation.compared import at_batch, compared
from app.dashboard.speculation.compared import table_of as ways_table
from app.dashboard.speculation.kept import HELD
from app.dashboard.speculation.ways import AT_FIRST, BEST_TREE, Asked, Knobs
from app.dashboard.speculation_inputs import View, own_choice
from scenarios.load import load_scenario
from simulator.planning.draft_schedule import draft_schedule
from tests.app.dashboard.looking import beside, changed, figure, lacking, metrics, table

pytest.importorskip("streamlit", reason="needs streamlit")

SECTIONS = {
    "Does a draft pay?": 5,
    "Ways to draft": 1,
    "Placement": 1,
    "K by batch": 2,
    "When to speculate": 1,
}
"""Title → figures."""


@pytest.fixture
def section(dashboard):
    """Open a section of the page, of a scenario: `section("Placement", name="eagle_heads", deployment="plain")`."""

    def opened(title, name="h200_vs_b200_chat", **held):
        scenario = mapping_of(load_scenario(name, ("sweep={}",)))
        dashboard.at.query_params["v"] = encode({"tab": title, **held})
        return dashboard.open("speculation", link=encode(scenario))

    return opened


@pytest.mark.parametrize(("title", "count"), SECTIONS.items())
def test_only_the_open_section_is_drawn_and_each_figure_has_what_belongs_to_it(section, title, count):
    page = section(title)

    assert not page.at.exception
    assert len(page.at.get("plotly_chart")) == count
    assert lacking(page) == []


def test_the_page_opens_with_whether_a_draft_pays(dashboard):
    page = dashboard.open("speculation")

    assert "Speed-up by acceptance" in beside(page, "csv")
    assert "Ways to draft" not in beside(page, "csv")


def test_ways_stand_in_the_table_as_the_library_finds_them(section):
    page = section("Ways to draft", deployment="b200-spec")
    scenario = page.scenario()
    sequences = page.control("speculation_" + _mark(page) + "_sequences").value
    asked = Asked(
        scenario, View("b200-spec", None, own_choice(scenario, "b200-spec"), float(sequences), None),
        Knobs(3, 0.95, 0.6, 1.15, 0.9, BEST_TREE),
    )  # fmt: skip

    rows = ways_table(at_batch(compared(asked, AT_FIRST), float(sequences)))

    assert [row["way"] for row in table(page, "way")] == [row["way"] for row in rows]
    assert [row["speed-up"] for row in table(page, "way")] == [row["speed-up"] for row in rows]


def _mark(page):
    """The mark of the reader's own point in the keys of its controls."""
    key = next(e.key for e in page.at.select_slider if str(e.key).endswith("_sequences"))
    return key.removeprefix("speculation_").removesuffix("_sequences")


def test_router_accuracy_moves_the_routed_drafts(section):
    page = section("Ways to draft")
    before = {row["way"]: row for row in table(page, "way")}
    page.move("speculation_accuracy", 0.3)
    after = {row["way"]: row for row in table(page, "way")}

    assert after["3 drafts, routed"]["speed-up"] < before["3 drafts, routed"]["speed-up"]
    assert after["EAGLE-3 head"] == before["EAGLE-3 head"]


def test_the_router_of_a_routed_deployment_begins_at_its_own_accuracy(section):
    page = section("Ways to draft", "multi_draft_code_math_prose", deployment="h200-routed")

    assert page.control("speculation_accuracy").value == 0.95
    assert table(page, "way")[1]["way"] == "h200-routed as it stands"


def test_a_way_that_is_taken_is_in_the_scenario(section):
    page = section("Ways to draft", deployment="b200-spec")
    routed = page.at.menu_button(key="speculation_take_way")
    routed.click_index(list(routed.options).index("3 drafts, routed")).run()

    assert page.scenario().deployments["b200-spec"].speculation.combine.kind == "routed"
    assert not page.at.exception


def test_a_placement_and_a_policy_can_be_taken(section):
    page = section("Placement", deployment="b200-spec")
    page.at.menu_button(key="speculation_take_placement").click_index(1).run()
    placed = page.scenario().deployments["b200-spec"].speculation

    assert placed.placement.kind == "dedicated"

    page = section("K by batch", deployment="b200-spec")
    page.at.menu_button(key="speculation_take_policy").click_index(1).run()

    assert page.scenario().deployments["b200-spec"].speculation.policy.kind == "by_batch"


def test_placements_have_their_figures_side_by_side(section):
    rows = {row["placement"]: row for row in table(section("Placement"), "placement")}

    assert set(rows) == {"no-draft", "co-located", "dedicated", "drafted-ahead"}
    assert (rows["co-located"]["GPUs"], rows["dedicated"]["GPUs"]) == ("6", "9")


def test_a_head_has_no_choice_of_a_place_and_that_is_said(section):
    page = section("Placement", "eagle_heads", deployment="eagle3-chain-5")

    assert "a head reads the target's hidden states" in page.at.info[0].value
    assert not page.at.get("plotly_chart")


def test_the_schedule_is_said_as_the_library_says_it(section):
    page = section("K by batch", deployment="b200-spec")

    said = draft_schedule(page.scenario(), "b200-spec").says()

    assert any(said in text.value for text in page.at.markdown)
    assert [row["policy"] for row in table(page, "policy")] == ["no-draft", "fixed", "by-batch", "goodput"]


def test_the_star_of_the_surface_moves_with_the_point(section):
    page = section("When to speculate")
    before = figure(page)["data"][-1]
    page.move(f"speculation_{_mark(page)}_first", 0.9)
    after = figure(page)["data"][-1]

    assert after["y"][0] > before["y"][0]
    assert any("With " in text.value and "drafting is" in text.value for text in page.at.markdown)


def test_what_was_moved_is_in_the_address_and_opens_there(dashboard):
    page = dashboard.open("speculation").move(f"speculation_{_mark(dashboard)}_first", 0.9)
    moved, address = metrics(page), dict(page.at.query_params)

    assert decode(address["v"])["point"]["first"] == 0.9

    page.at.session_state[HELD] = {}
    page.at.session_state["specfleet_view_link"] = None
    page.at.run()

    assert metrics(page) == moved


def test_a_link_of_before_opens_where_the_deployment_stands(dashboard):
    page = dashboard.open("speculation")
    first = metrics(page)
    page.open("speculation", link=encode(mapping_of(load_scenario("h200_vs_b200_chat"))))

    assert metrics(page) == first
    assert "v" not in page.at.query_params


@pytest.mark.parametrize("point", [{"of": "?", "k": 99}, "none", 5])
def test_a_link_with_values_that_no_control_has_opens_at_those_of_the_deployment(section, point):
    held = {"accuracy": 7, "ways": "all", "drafts": "many", "deployment": "nobody", "tree": 3, "pool_gpus": None}

    page = section("nowhere", **held, point=point)

    assert not page.at.exception
    assert "Speed-up by acceptance" in beside(page, "csv")


def test_a_point_is_forgotten_when_the_deployments_own_changes(dashboard):
    page = dashboard.open("speculation").move(f"speculation_{_mark(dashboard)}_k", 7)
    page.at.session_state["specfleet_loaded"] = changed(
        page, "deployments.b200-spec.speculation.propose.draft_tokens", 2
    )
    page.at.run()

    assert page.control(f"speculation_{_mark(page)}_k").value == 2


def test_a_draft_for_other_requests_leaves_the_other_sections_open(section):
    page = section("Ways to draft", "moe_subset", deployment="own-copy")

    assert not page.at.exception
    assert any("there is nothing to specialise drafts in" in text.value for text in page.at.caption)


def test_what_is_taken_leaves_no_draft_of_the_deployment_that_was_extended(section):
    page = section("Does a draft pay?", "multi_draft_code_math_prose", deployment="h200-union")
    page.press("speculation_adopt")

    assert not page.said
    assert list(page.scenario().deployments["h200-union"].speculation.drafts) == ["coder"]
