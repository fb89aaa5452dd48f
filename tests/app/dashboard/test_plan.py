"""The page Plan, with a planner that answers at once."""

import pytest

from app.dashboard.share import decode
from simulator.errors import ScenarioError
from tests.app.dashboard.looking import labelled, lacking, link_to, table, waited
from tests.app.dashboard.toy_plans import answer, point

PLAN = 'aria-label="The plan"'


class Planner:
    """Takes what it is asked and answers with every candidate, each a dollar dearer than the one before."""

    def __init__(self):
        self.asked = []
        self.why_not = None
        self.problem = None

    def searched(self, loaded, executor, progress):
        self.asked.append((loaded.scenario, loaded.plan))
        progress(1, 2)
        if self.problem:
            raise ScenarioError(self.problem)
        own = {
            "method": "simulated" if loaded.plan.confirm else "estimated",
            "replications": 5,
            "why_not": self.why_not,
        }
        points = [
            point(name, gpu=spec.gpu, usd_per_hour=20.0 + i, choices=loaded.choices[name], **own)
            for i, (name, spec) in enumerate(loaded.scenario.deployments.items())
        ]
        return answer(points, relax=["TPOT p95 to 31 ms"] if self.why_not else None)


@pytest.fixture
def planner(monkeypatch, dashboard):
    from app.dashboard import answers, planned

    made = Planner()
    monkeypatch.setattr(planned, "searched", made.searched)
    answers.all_jobs.clear()
    yield made
    answers.all_jobs.clear()


@pytest.fixture
def page(dashboard, planner):
    dashboard.open("plan")
    return waited(dashboard, PLAN)


def test_the_open_scenario_is_planned_at_once_by_estimate(page, planner):
    scenario, question = planner.asked[0]

    assert "<strong>h200-plain.tp1</strong>" in page.html
    assert set(scenario.deployments) >= {"h200-plain.tp8", "b200-spec.tp2.k6"}
    assert question.confirm == 0
    assert ">estimated<" in page.html


def test_without_a_point_to_draw_the_page_says_where_the_reason_is(page, planner, monkeypatch):
    unknown = {"ttft_s": None, "tpot_s": None, "e2e_s": None, "usd_per_hour": None, "why_not": "does not fit"}
    found = answer([point("h200-plain", **unknown)], choice=None, runner_up=None, pareto=[])
    monkeypatch.setattr("app.dashboard.planned.searched", lambda loaded, executor, progress: found)
    page.move("rate", 33.0)
    waited(page, PLAN)

    assert "No candidate has a cost and a latency" in page.at.info[0].value
    assert page.at.get("plotly_chart") == []


def test_what_is_not_beaten_stands_in_the_table_the_choice_marked(page):
    rows = table(page, "cluster")

    assert [row["$/h"] for row in rows] == ["$20.00", "$21.00"]
    assert rows[0]["cluster"] == "h200-plain.tp1 ★"


def test_a_press_confirms_it_by_simulation(page, planner):
    page.press("plan_search")
    waited(page, ">confirmed by simulation<")

    assert planner.asked[-1][1].confirm == 6


def test_another_load_is_planned_anew(page, planner):
    page.move("rate", 33.0)
    waited(page, PLAN)

    assert planner.asked[-1][0].workload.arrivals.rate_per_s == 33


def test_the_same_question_is_not_searched_twice(page, planner):
    page.move("rate", 33.0)
    waited(page, PLAN)
    page.move("rate", 30.0)
    waited(page, PLAN)
    page.move("rate", 33.0)

    assert PLAN in page.html
    assert len(planner.asked) == 3


CONTROLS = (
    ("Offers", ["h200-plain", "b200-spec"], lambda scenario, _: "b200-plain.kv-fp8" not in scenario.deployments),
    ("Also on", ["b300-sxm"], lambda scenario, _: "b300-plain.kv-bf16" in scenario.deployments),
    ("Also with", ["EAGLE-3 head"], lambda scenario, _: "h200-eagle-3-head.k2.kv-fp8" in scenario.deployments),
    ("Tensor parallel", [4], lambda _, question: question.vary["target.tensor_parallel"] == (4,)),
    ("KV format", ["fp8", "bf16"], lambda _, question: question.vary["target.kv"] == ("fp8", "bf16")),
    ("Draft tokens K", (2, 3), lambda _, question: question.vary["speculation.propose.draft_tokens"] == (2, 3)),
    ("Headroom", 20, lambda _, question: question.headroom == 0.2),
    ("Spare replicas", 2, lambda _, question: question.spare_replicas == 2),
    ("Most GPUs", 160, lambda _, question: question.budget.gpus == 160),
    ("Most $/h", 990.0, lambda _, question: question.budget.usd_per_hour == 990.0),
)
"""Label of a control, a value for it, and whether a search was asked with it."""


def test_every_control_is_part_of_the_question(page, planner):
    for label, value, _ in CONTROLS:
        labelled(page, label).set_value(value).run()
    waited(page, PLAN)

    assert [label for label, _, asked in CONTROLS if not asked(*planner.asked[-1])] == []
    assert decode(page.at.query_params["p"])["without"] == ["h200-spec", "b200-plain"]


def test_a_budget_can_be_taken_back(page, planner):
    page.move("plan_gpu_budget", 16).move("plan_gpu_budget", None)
    waited(page, PLAN)

    assert page.at.session_state["specfleet_question"].plan.budget is None


def test_users_take_the_place_of_the_rate(page, planner):
    page.move("plan_load", "users").move("plan_users", 500)
    waited(page, PLAN)

    assert (planner.asked[-1][1].users.count, planner.asked[-1][1].users.think_s) == (500, 30.0)
    assert "500 users who think for 30 s" in "".join(caption.value for caption in page.at.caption)


def test_a_link_asks_the_same_question(page, dashboard, planner):
    page.move("plan_spares", 2)
    s, p = page.at.query_params["s"], page.at.query_params["p"]
    other = type(dashboard)(pytest.importorskip("streamlit.testing.v1"))
    other.at.query_params["s"], other.at.query_params["p"] = s, p

    other.open("plan")

    assert other.control("plan_spares").value == 2


def test_going_back_to_an_address_without_a_question_asks_what_is_asked_at_first(page):
    page.move("plan_spares", 2)
    del page.at.query_params["p"]

    page.at.run()

    assert page.control("plan_spares").value == 0


def test_another_candidate_is_looked_at_and_opens_in_compare_beside_the_choice(page):
    page.move("plan_point", "b200-spec.tp2.k3")

    linked = decode(link_to(page, "Open in Compare").partition("?s=")[2])

    assert "draft_tokens 3" in page.html
    assert list(linked["deployments"]) == ["b200-spec.tp2.k3", "h200-plain.tp1"]
    assert linked["deployments"]["b200-spec.tp2.k3"]["replicas"] == 4
    assert linked["deployments"]["b200-spec.tp2.k3"]["speculation"]["propose"]["draft_tokens"] == 3


def test_a_candidate_that_drafts_has_its_schedule_and_its_flags(page):
    page.move("plan_point", "b200-spec.tp2.k3")

    assert "sequences" in table(page, "sequences")[0]
    assert any("--tensor-parallel-size" in code.value for code in page.at.code)


def test_where_nothing_holds_the_page_says_what_comes_nearest(page, planner):
    planner.why_not = "misses TPOT p95"
    page.move("rate", 500.0)

    waited(page, "no candidate holds this load")

    assert "TPOT p95 to 31 ms" in page.html
    assert not page.at.exception


def test_a_search_that_fails_says_why_and_can_be_tried_again(page, planner):
    planner.problem = "plan.vary: nothing is left"
    page.move("rate", 7.0)
    waited(page, "nothing is left")
    planner.problem = None

    page.press("plan_search")

    waited(page, PLAN)


def test_nothing_on_offer_is_told_in_words(page):
    labelled(page, "Offers").set_value([]).run()

    assert "choose at least one deployment" in page.said


def test_a_plan_that_is_built_in_opens_with_its_question(dashboard, planner):
    dashboard.open("plan")
    dashboard.move("open", "plan_70b_chat")
    waited(dashboard, PLAN)

    scenario, question = planner.asked[-1]
    assert len(scenario.deployments) >= 500
    assert question.headroom == 0.1
    assert labelled(dashboard, "GPUs").value == ["h200-sxm", "b200-sxm"]


def test_the_figure_says_how_it_was_computed_and_gives_its_numbers(page):
    assert lacking(page) == []
