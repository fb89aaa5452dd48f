"""A point as the planner predicts it: the same requests, steps priced by the profile, acceptance modelled.

Predicted a second time with the accepted counts as they were measured, the error of timing stands apart from that of
acceptance. Measured waits, start times and step times are never given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calibration.check.ahead import drafting_ahead
from calibration.check.figures import Figures, figures, mean_figures
from calibration.check.offered import Offered, limits_of_engine, load_of, offered, shares_of
from calibration.check.replay import recorded_paths
from calibration.check.run import EngineLimits, Point, Run
from simulator.cluster.accepted import drafted_mix
from simulator.cluster.cluster import ClusterPlan, simulate_cluster
from simulator.cluster.limits import StepTimes
from simulator.cluster.paths import PathPlanner
from simulator.cluster.plan import planner_of
from simulator.physics.drafted import DraftedStepModel
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel, step_model_with
from simulator.spec.acceptance import Acceptance
from simulator.spec.arrivals import QueuedAtOnceArrivals
from simulator.spec.deployment import Deployment
from simulator.spec.profile import Profile
from simulator.spec.speculation import Chain, NoSpeculation
from simulator.spec.workload import Horizon, UniformLengths, Workload

SIMULATED_REQUESTS = 2000
"""Requests over which modelled acceptance is averaged: a small point is simulated several times with other luck."""

MOST_REPLICATIONS = 40


@dataclass(frozen=True, slots=True)
class Paced:
    """Steps that all take so many times as long."""

    times: StepTimes
    pace: float

    def seconds(self, shape: StepShape) -> float:
        """See StepTimes."""
        return self.pace * self.times.seconds(shape)

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        """See StepTimes."""
        constant, slope = self.times.decode_affine(sequences)
        return self.pace * constant, self.pace * slope


@dataclass(frozen=True, slots=True)
class Predictor:
    """A profile, and the deployment that the check drives."""

    profile: Profile | None
    deployment: Deployment
    """With the draft; K is that of each point."""
    acceptance: Mapping[int, Mapping[str, Acceptance]]
    """By draft tokens K: acceptance by class, fitted on other texts."""
    hits: Mapping[int, float] = field(default_factory=dict)
    """By K: share of drafts that a process of its own has ready; none: the draft runs between the target's passes."""
    pace: float = 1.0
    """How many times as long every step takes as the profile says."""

    def deployed(self, draft_tokens: int) -> Deployment:
        """The deployment with K draft tokens."""
        speculation = self.deployment.speculation
        if not draft_tokens:
            return self.deployment.model_copy(update={"speculation": NoSpeculation(kind="none")})
        assert speculation.kind == "drafts"
        name, draft = next(iter(speculation.drafts.items()))
        draft = draft.model_copy(update={"acceptance": dict(self.acceptance[draft_tokens])})
        propose = speculation.propose
        propose = Chain(draft_tokens=draft_tokens) if propose.shape == "chain" else propose
        now = speculation.model_copy(update={"drafts": {name: draft}, "propose": propose})
        return self.deployment.model_copy(update={"speculation": now})

    def steps(self, draft_tokens: int) -> CatalogStepModel:
        """Prices steps whose rows are known."""
        model = step_model_with(self.profile, self.deployed(draft_tokens))
        return drafting_ahead(model, self.hits[draft_tokens]) if draft_tokens in self.hits else model

    def times(self, draft_tokens: int, shares: Mapping[str, float]) -> StepTimes:
        """Prices steps whose drafts are random, for classes of these shares."""
        model = self.steps(draft_tokens)
        mix = drafted_mix(self.deployed(draft_tokens), _workload(shares))
        return Paced(model if mix is None else DraftedStepModel(model, mix), self.pace)

    def planner(
        self, limits: EngineLimits, draft_tokens: int, labels: Sequence[str], seed: int, replication: int
    ) -> PathPlanner:
        """Draws acceptance."""
        return planner_of(
            self.deployed(draft_tokens), limits_of_engine(limits, draft_tokens), labels, seed, replication
        )


def _workload(shares: Mapping[str, float]) -> Workload:
    """Classes and their shares; the rest is not asked for."""
    return Workload(
        arrivals=QueuedAtOnceArrivals(kind="queued_at_once"),
        lengths=UniformLengths(kind="uniform", prompt_tokens=(1, 1), output_tokens=(1, 1)),
        classes=dict(shares),
        horizon=Horizon(requests=1, warmup_requests=0),
    )


def predict(predictor: Predictor, point: Point, limits: EngineLimits, requests: Sequence[Offered]) -> Figures:
    """Figures of a point with modelled acceptance."""
    replications = 1 if not point.draft_tokens else min(SIMULATED_REQUESTS // len(requests) + 1, MOST_REPLICATIONS)
    times = predictor.times(point.draft_tokens, shares_of(requests))
    labels = sorted({request.label for request in requests})
    planners = [predictor.planner(limits, point.draft_tokens, labels, point.seed, nth) for nth in range(replications)]
    return mean_figures([_simulated(point, limits, requests, times, planner) for planner in planners])


def predict_timing(predictor: Predictor, run: Run) -> Figures:
    """Figures of a measured run, with its own accepted counts."""
    times = predictor.times(run.point.draft_tokens, shares_of(offered(run)))
    return _simulated(run.point, run.limits, offered(run), times, recorded_paths(run))


def _simulated(
    point: Point, limits: EngineLimits, requests: Sequence[Offered], times: StepTimes, planner: PathPlanner
) -> Figures:
    step_by_step = limits_of_engine(limits, point.draft_tokens)._replace(step_by_step=True)
    plan = ClusterPlan(1, "round_robin", step_by_step, times, planner)
    records = simulate_cluster(plan, load_of(point, requests))
    return figures(records, open_loop=point.clients is None)
