"""The simulator plans the engine's steps again, and says where it would not."""

from dataclasses import replace

import pytest

from calibration.check.replay import replay
from calibration.check.run import Composition
from tests.calibration.check.toys import a_point, a_run


@pytest.mark.parametrize("load", ["poisson", "clients"])
@pytest.mark.parametrize(("draft_tokens", "draft"), [(0, None), (3, "lookup"), (2, "noisy_target")])
def test_every_step_is_planned_again(load, draft_tokens, draft):
    run = a_run(a_point(load, level=3.0, draft_tokens=draft_tokens), draft)

    found = replay(run)

    assert found.first_difference == ""
    assert found.exact
    assert found.equal == found.steps == len(run.steps) > 20


def test_requests_that_are_preempted_are_planned_again_too():
    run = a_run(a_point(draft_tokens=3, rate_per_s=2000.0), "noisy_target", blocks=24)

    assert sum(request.preemptions for request in run.requests) > 3
    assert replay(run).exact


@pytest.mark.parametrize("clients", [1, 2, 7])
def test_clients_are_seen_when_the_planner_says(clients):
    assert replay(a_run(a_point("clients", level=clients))).exact


def test_the_engine_is_idle_between_requests_that_are_far_apart():
    run = a_run(a_point(rate_per_s=40.0, requests=10))

    assert replay(run).exact


def test_a_step_that_differs_is_told():
    run = a_run(a_point())
    other = run.steps[3]._replace(composition=Composition((99,), ()))
    run = replace(run, steps=(*run.steps[:3], other, *run.steps[4:]))

    found = replay(run)

    assert not found.exact
    assert found.equal == found.steps - 1
    assert found.first_difference.startswith("step 3: engine decodes [99], prompts none, simulation decodes [")


def test_a_step_that_is_missing_is_told():
    run = a_run(a_point())

    found = replay(replace(run, steps=run.steps[:-1]))

    assert found.first_difference == f"the engine took {len(run.steps) - 1} steps, the simulation {len(run.steps)}"


def test_a_request_that_came_later_is_noticed():
    run = a_run(a_point(rate_per_s=2000.0))
    late = [r._replace(arrival_s=r.arrival_s + 1000.0) if nth == 4 else r for nth, r in enumerate(run.requests)]

    assert not replay(replace(run, requests=tuple(late))).exact
