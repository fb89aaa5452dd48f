from dataclasses import replace

import pytest

from simulator.outcome.slo import Verdict
from simulator.planning.search.trials import Outcome, Runner, Tried, answer, batches, figures, in_full, tried
from tests.simulator.outcome import specs, toys

SLO = {"ttft_s": {"p95": 0.3}}

RUNNER = Runner(toys.simulate)


def cluster(replicas: int, replications: int = 5):
    return specs.scenario({"plain": {"replicas": replicas}}, slo=SLO, replications=replications)


def outcomes(*held: bool) -> tuple[Outcome, ...]:
    verdicts = (Verdict(holds, 0.9 if holds else 1.2, False, 1.0, "ttft_s.p95") for holds in held)
    return tuple(Outcome(verdict, {}) for verdict in verdicts)


def size(*held: bool, stay_s: float = 0.1) -> Tried:
    stays = tuple(outcome._replace(row={"e2e_s": {"mean": stay_s}}) for outcome in outcomes(*held))
    return Tried(cluster(1), 6.0, 6.0, stays)


def test_four_replications_alike_are_clear():
    assert len(tried(RUNNER, cluster(3), 6.0, 6.0).outcomes) == 4
    assert len(tried(RUNNER, cluster(1), 20.0, 20.0).outcomes) == 4


def test_enough_replicas_hold_and_too_few_do_not():
    assert tried(RUNNER, cluster(3), 6.0, 6.0).holds
    assert not tried(RUNNER, cluster(1), 12.0, 12.0).holds


def test_what_is_not_clear_takes_more_replications_up_to_twice_those_of_the_scenario():
    def by_turns(scenario, deployment, replication, **load):
        return toys.simulate(scenario, deployment, replication, rate_per_s=20.0 if replication % 2 else 2.0)

    found = tried(Runner(by_turns), cluster(1), 6.0, 6.0)

    assert (len(found.outcomes), found.held) == (10, 5)


def test_what_stays_unclear_does_not_hold():
    assert not size(True, True, True, True, True, True, False, False, False, True).holds


def test_too_few_replications_to_be_clear_hold_if_all_of_them_do():
    assert size(True, True).holds
    assert not size(True, False).holds


def test_the_interval_is_that_of_the_share_of_replications():
    low, high = size(True, True, True, True).interval

    assert low == pytest.approx(0.51, abs=0.01)
    assert high == pytest.approx(1.0)


def test_one_that_fails_is_outweighed_by_seven_that_hold():
    assert (answer(7, 8), answer(6, 7), answer(1, 8)) == (True, None, False)


def test_no_replication_is_left_out_or_run_twice():
    for replications in (1, 2, 3, 5, 8):
        runs = [number for batch in batches(replications) for number in batch]

        assert runs == list(range(2 * replications))


def test_every_replication_has_luck_of_its_own_and_every_cluster_the_same():
    few, many = (tried(RUNNER, cluster(replicas), 6.0, 6.0) for replicas in (2, 3))
    rates = [[outcome.row["req_per_s"] for outcome in found.outcomes] for found in (few, many)]

    assert rates[0] == rates[1]
    assert len(set(rates[0])) == len(rates[0])


def test_in_full_a_size_has_all_replications_and_those_that_it_had_are_kept():
    found = tried(RUNNER, cluster(3), 6.0, 6.0)

    whole = in_full(RUNNER, found)

    assert (found.replications_left, whole.replications_left, len(whole.outcomes)) == (6, 0, 10)
    assert whole.outcomes[:4] == found.outcomes


def test_figures_are_of_the_load_that_is_offered():
    found = tried(RUNNER, cluster(3), 6.0, 9.0)

    row = figures(RUNNER, found)

    assert row["offered_req_per_s"] == 6.0
    assert row["req_per_s"] == pytest.approx(6.0, rel=0.15)


def test_figures_at_the_load_that_was_tried_are_not_simulated_anew():
    found = tried(RUNNER, cluster(3), 6.0, 6.0)

    row = figures(Runner(lambda *_, **__: pytest.fail("simulated anew")), found)

    assert row["replication"] == "all"


def test_the_worst_limit_is_the_one_that_most_replications_name():
    found = size(False, False, False, False)
    other = found.outcomes[0]._replace(verdict=Verdict(False, 2.0, True, 1.0, "backlog"))

    assert replace(found, outcomes=(other, *found.outcomes[1:])).worst == "ttft_s.p95"
    assert found.pressure == pytest.approx(1.2)


def test_the_worst_limit_is_one_that_is_missed_where_any_is():
    found = size(True, True, True, False)
    missed = found.outcomes[3]._replace(verdict=Verdict(False, 2.0, True, 1.0, "backlog"))

    assert replace(found, outcomes=(*found.outcomes[:3], missed)).worst == "backlog"


def test_a_replication_that_ends_within_three_stays_of_a_request_says_how_long_it_should_be():
    horizon = cluster(1).workload.horizon
    measured = horizon.requests - horizon.warmup_requests
    lasts_s = measured / 6.0

    assert size(True, True, stay_s=lasts_s / 3.1).too_short == []
    (told,) = size(True, True, stay_s=lasts_s).too_short
    assert f"workload.horizon.requests of {3 * measured + horizon.warmup_requests:,} or more" in told
