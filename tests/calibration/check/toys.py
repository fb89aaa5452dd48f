"""A tiny engine to be checked, and a profile whose law its steps can be made to obey."""

import numpy as np

from calibration.check.campaign import Grid, in_order, points_of
from calibration.check.drive import drive
from calibration.check.predict import Predictor
from calibration.check.run import Composition, EngineLimits, Point, RequestRow, Run, StepTaken
from engine.sequence import Request
from engine.trace import StepShape
from simulator.spec.acceptance import Acceptance
from tests.engine.toys import make_engine, random_prompts, tiny_weights
from tests.simulator.physics.surfaces import deployment, lookup, profile

GRID = Grid({0.3: 5, 3.0: 6}, {2: 4}, (0, 2))
LABELS = ("code", "prose")


def predictor(survival=(0.4, 0.2)):
    classes = {label: Acceptance(survival=survival) for label in LABELS}
    return Predictor(profile(), deployment(lookup(2)), dict.fromkeys((1, 2, 3), classes))


class Tiny:
    """What can be driven."""

    def __init__(self, draft="lookup", blocks=64):
        self.weights, self.draft, self.blocks = tiny_weights(), draft, blocks

    def engine(self, point):
        draft = self.draft if point.draft_tokens else None
        return make_engine(self.weights, draft=draft, draft_tokens=point.draft_tokens, blocks=self.blocks)

    def time(self):
        return None

    def requests(self, point):
        rng = np.random.default_rng(point.seed)
        times = np.cumsum(rng.exponential(1.0 / (point.rate_per_s or 1.0), point.requests)).tolist()
        outputs = rng.integers(2, 20, point.requests).tolist()
        prompts = random_prompts(point.requests, seed=point.seed)
        return [
            Request(prompt, output, arrival_s=time, label=LABELS[nth % 2])
            for nth, (prompt, output, time) in enumerate(zip(prompts, outputs, times, strict=True))
        ]


def a_point(load="poisson", level=0.5, draft_tokens=0, requests=30, rate_per_s=300.0, **other):
    rate = rate_per_s if load == "poisson" else None
    return Point("tiny", load, level, draft_tokens, requests, other.pop("seed", 1), rate_per_s=rate, **other)


def a_run(point, draft="lookup", blocks=64):
    tiny = Tiny(draft, blocks)
    return drive(point, tiny.engine(point), tiny.requests(point), {})


def tiny_points(saturation_per_s=300.0, seed=1):
    return in_order(points_of("tiny", GRID, saturation_per_s, seed), seed)


class Work:
    """Seconds that are said to have been computed."""

    spent_s = 0.0

    def __call__(self):
        return self.spent_s


def obedient(engine, work, seconds):
    """An engine whose steps take what a law says of their shapes."""
    lay_out = engine._batch

    def batch(plan, drafts):
        verify = sum(len(draft.tokens) + 1 for draft in drafts)
        context = sum(len(s.tokens) for s in plan.decoding)
        attended = sum(c.num_tokens * (c.start + (c.num_tokens + 1) * 0.5) for c in plan.chunks)
        tokens = sum(c.num_tokens for c in plan.chunks)
        k = max((len(draft.tokens) for draft in drafts), default=0)
        work.spent_s += seconds(StepShape(len(plan.decoding), verify, context, len(plan.chunks), tokens, attended, k))
        return lay_out(plan, drafts)

    engine._batch = batch
    return engine


def by_hand():
    """A run of two requests that a hand can compute: a step of 1 s for both prompts, then three of 0.5 s."""
    first = RequestRow("code", 0.0, 0.0, 1.0, 2.5, 4, 4, 0, (2, 2, 2), (0, 0, 0))
    second = RequestRow("code", 0.0, 0.0, 1.0, 1.5, 4, 3, 0, (2,), (1,))
    steps = (
        a_step(0.0, 1.0, StepShape(0, 0, 0.0, 2, 8, 20.0, 0), 2, ((), ((0, 0, 4, 4), (1, 0, 4, 4)))),
        a_step(1.0, 0.4, StepShape(2, 6, 10.0, 0, 0, 0.0, 2), 3, ((0, 1), ())),
        a_step(1.5, 0.4, StepShape(1, 3, 6.0, 0, 0, 0.0, 2), 1, ((0,), ())),
        a_step(2.0, 0.5, StepShape(1, 3, 7.0, 0, 0, 0.0, 2), 1, ((0,), ())),
    )
    point = Point("hand", "poisson", 0.5, 2, 2, seed=1, rate_per_s=1.0)
    return Run(point, EngineLimits(32, 4, 64, 4, 32), (first, second), steps, {})


def a_step(start_s, seconds, shape, emitted, composition):
    return StepTaken(start_s, tuple(shape), (seconds,), emitted, 2, 0, "nothing", Composition(*composition))
