"""Seconds of the two runs that a row of measured speculation compares, by the simulator's own step model.

A run serves a batch of typical requests: their prompts, then steps until each has its output. Speculation divides the
steps by the tokens that each commits; it does not touch the prompts.
"""

from dataclasses import replace
from typing import NamedTuple

from calibration.speculation_rows import SpeculationCase
from simulator.catalog.load import load_engine
from simulator.physics.drafted import DeploymentSteps
from simulator.physics.step import StepCost, StepShape
from simulator.run import step_times_of
from simulator.spec.deployment import Deployment
from simulator.spec.workload import Workload

CLASS = "all"


class Run(NamedTuple):
    """One of the two runs; for one batch of requests."""

    prompts_s: float
    """All prompts of the batch."""
    step: StepCost
    """A step at the middle of the outputs."""
    steps: float
    """Steps until every request has its output."""

    @property
    def total_s(self) -> float:
        """Seconds of the batch."""
        return self.prompts_s + self.steps * self.step.total_s


class Times(NamedTuple):
    """What is predicted of a row."""

    plain: Run
    speculative: Run

    @property
    def speedup(self) -> float:
        """Output tokens per second with speculation ÷ without."""
        return self.plain.total_s / self.speculative.total_s

    def longer(self, seconds: float) -> "Times":
        """The same with that much more host time in each speculative step."""
        step = self.speculative.step
        changed = replace(step, overhead_s=step.overhead_s + seconds)
        return self._replace(speculative=self.speculative._replace(step=changed))


def times_of(case: SpeculationCase) -> Times:
    """Both runs of a row."""
    return Times(_run(case, case.plain, 1.0), _run(case, case.speculative, case.tokens_per_step))


def _run(case: SpeculationCase, deployment: Deployment, tokens_per_step: float) -> Run:
    model = step_times_of(deployment, _workload(case))
    k = deployment.speculation.draft_tokens
    context = case.sequences * (case.lengths.prompt + case.lengths.output / 2)
    shape = StepShape(case.sequences, case.sequences * (k + 1), context, 0, 0, 0.0, k)
    return Run(_prompts_s(case, model, deployment), model.cost(shape), case.lengths.output / tokens_per_step)


def _prompts_s(case: SpeculationCase, model: DeploymentSteps, deployment: Deployment) -> float:
    """Seconds of a batch's prompts: each alone where prompts go before decoding, else together within the budget."""
    scheduler = load_engine(deployment.engine.policy).scheduler
    prompt = case.lengths.prompt
    together = 1 if scheduler.prefill_first else max(1, scheduler.max_num_batched_tokens // prompt)
    whole, rest = divmod(case.sequences, min(together, case.sequences))
    sizes = [min(together, case.sequences)] * whole + ([rest] if rest else [])
    seconds = {
        n: model.seconds(StepShape(0, 0, 0.0, n, n * prompt, n * prompt * (prompt + 1) / 2, 0)) for n in set(sizes)
    }
    return sum(seconds[n] for n in sizes)


def _workload(case: SpeculationCase) -> Workload:
    """Requests of one class, as many at a time as the batch holds."""
    lengths = {"kind": "fixed", "prompt_tokens": case.lengths.prompt, "output_tokens": case.lengths.output}
    arrivals = {"kind": "closed_loop", "concurrency": case.sequences}
    horizon = {"requests": case.sequences, "warmup_requests": 0}
    return Workload.model_validate(
        {"arrivals": arrivals, "lengths": lengths, "classes": {CLASS: 1.0}, "horizon": horizon}
    )
