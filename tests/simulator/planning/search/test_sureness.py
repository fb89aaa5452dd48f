from dataclasses import replace

from simulator.outcome.slo import Verdict
from simulator.planning.search.appraisal import Appraisal, Estimated
from simulator.planning.search.points import Point
from simulator.planning.search.sureness import confidence, replicas_if_slower
from simulator.planning.search.trials import Outcome, Tried
from tests.simulator.planning.search import small

FIELD = small.field(small.scenario())


def choice(slower: bool | None = True, replicas: int = 2, held: int = 4, name: str = "plain") -> Point:
    outcomes = tuple(Outcome(Verdict(n < held, 0.9, False, 60.0, "ttft_s.p95"), {}) for n in range(4))
    return Point(
        name, "h200-sxm", "simulated", 0, replicas=replicas, num_gpus=replicas, usd_per_hour=3.0 * replicas,
        row={"holds_if_slower": slower}, tried=Tried(FIELD.scenario, 60.0, 60.0, outcomes),
    )  # fmt: skip


def said(**of) -> str:
    return confidence(FIELD, choice(**of), {}, {})["sentence"]


def test_the_share_of_replications_comes_with_its_interval():
    assert said(slower=None) == "holds in 4 of 4 replications, so in 51% to 100% of all (95 %)"


def test_whether_slower_steps_would_still_hold_is_told():
    assert said().endswith("it still holds")


def test_what_slower_steps_would_take_is_told():
    found = confidence(FIELD, choice(slower=False, replicas=2), {}, {})

    assert found["replicas_if_slower"] >= 2
    assert f"it takes {found['replicas_if_slower']} replicas" in found["sentence"]


def test_slower_steps_never_take_fewer_replicas():
    light, heavy = (small.field(small.scenario(rate_per_s=rate)) for rate in (30.0, 300.0))

    assert replicas_if_slower(light, choice()) < replicas_if_slower(heavy, choice())


def test_headroom_that_is_to_stay_free_takes_no_replicas_where_steps_are_slower():
    roomy = small.field(small.scenario(rate_per_s=100.0), headroom=0.5)

    assert replicas_if_slower(roomy, choice()) == replicas_if_slower(
        small.field(small.scenario(rate_per_s=100.0)), choice()
    )


def test_a_limit_that_slower_steps_never_meet_takes_no_number_of_replicas():
    tight = small.field(small.scenario(slo={"tpot_s": {"p95": 0.0001}}))

    found = confidence(tight, choice(slower=False), {}, {})

    assert found["replicas_if_slower"] is None
    assert "no number of replicas does" in found["sentence"]


def test_candidates_that_may_cost_less_are_counted():
    two = small.field(small.scenario({"plain": {}, "other": small.B200}), confirm=1)
    hoped = Appraisal(estimated=Estimated(2, 1, 60.0, {"utilisation": 0.9}), asked=True)

    found = confidence(two, choice(slower=None, replicas=3), {"other": hoped}, {})

    assert found["not_simulated"] == ["other"]
    assert found["sentence"].endswith("not simulated: 1 that may cost less (plan.confirm)")


def test_nothing_is_said_of_what_was_not_simulated():
    assert confidence(FIELD, replace(choice(), tried=None), {}, {}) is None
