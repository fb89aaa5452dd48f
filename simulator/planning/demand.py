"""What requests ask of a replica, in numbers that do not depend on the load: a sample of lengths, steps and blocks."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.limits import Limits, StepTimes
from simulator.cluster.paths import PathPlanner
from simulator.cluster.plan import limits_of, planner_of
from simulator.physics.drafted import DeploymentSteps
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel
from simulator.planning.chosen_drafts import ChosenSteps
from simulator.planning.kept import KEPT, Asked, asked
from simulator.planning.missed_rounds import with_missed_rounds
from simulator.planning.sampled_requests import sample_requests
from simulator.planning.sampled_steps import sampled_steps
from simulator.planning.strata import SAMPLE
from simulator.run import delivery_of, step_times_of, uneven_steps
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROMPT_QUANTILES = (0.0, 0.15, 0.35, 0.55, 0.75, 0.9, 0.98, 1.0)
"""Quantiles of the prompt lengths at which step times are looked up; between them they are interpolated."""

SAMPLED_PROMPTS = 256
"""Prompt lengths, evenly spaced in rank, over which means are taken."""

SEQUENCES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)
"""Batches at which step times are looked up; between them they are interpolated."""


@dataclass(frozen=True, slots=True)
class PromptWork:
    """What prompts add to steps, at one batch."""

    sample_s: Floats
    """Seconds that one prompt adds to its step or steps, for each prompt of the demand's sample."""
    further_s: float
    """Seconds that a further prompt in the same step adds, mean."""
    steps: float
    """Steps that one prompt takes, mean: more than 1 where it exceeds the token budget."""
    mean_s: float
    """Seconds that a prompt adds when it comes alone, mean."""
    square_s2: float
    """Mean square of the same."""

    def per_prompt_s(self, others: float) -> float:
        """Seconds per prompt when a Poisson number of others shares its step (mean `others`)."""
        alone = (1.0 - exp(-others)) / others if others > 1e-9 else 1.0
        return self.further_s + (self.mean_s - self.further_s) * alone

    def slowed(self, factor: float) -> "PromptWork":
        """The same where every step takes longer by a factor."""
        sample_s, square_s2 = factor * self.sample_s, factor * factor * self.square_s2
        return PromptWork(sample_s, factor * self.further_s, self.steps, factor * self.mean_s, square_s2)

    def tilted(self, weight: Floats) -> "PromptWork":
        """The same where prompts of the sample are not equally likely, but by these weights."""
        reached = np.cumsum(weight) - 0.5 * weight
        evenly = (np.arange(weight.size) + 0.5) / weight.size * (reached[-1] + 0.5 * weight[-1])
        sample_s = np.interp(evenly, reached, self.sample_s)
        mean_s = float(sample_s.mean())
        further_s = self.further_s * mean_s / self.mean_s if self.mean_s > 0 else self.further_s
        return PromptWork(sample_s, further_s, self.steps, mean_s, float((sample_s**2).mean()))


@dataclass(frozen=True, slots=True)
class Demand:
    """A sample of requests, and the times of the steps that serve them."""

    limits: Limits
    num_requests: int
    """Requests of a run: as many prompts as are queued when all come at once."""
    prompt_tokens: Floats
    output_tokens: Floats
    steps: Floats
    """Verify steps of each sampled request."""
    committed_tokens: Floats
    drafted_tokens: Floats
    """Draft tokens proposed for each sampled request, expected."""
    context_tokens: float
    """Context of a running sequence, mean over its steps."""
    blocks: float
    """KV blocks that a running sequence holds, mean over its steps."""
    sequences: Floats
    """Grid of batches."""
    decode_s: Floats
    """Seconds of a step without prompts, at each batch of the grid."""
    prompt_sizes: Floats
    """Grid of prompt lengths, less what the prefix cache holds."""
    cached_tokens: float
    """Prompt tokens that an endless prefix cache holds, mean."""
    new_tokens: Floats
    """Prompt tokens of each sampled request that are computed."""
    ranked: Ints
    """[SAMPLE] sampled requests, evenly spaced in the rank of their computed prompt tokens."""
    prompt_sample: Floats
    """Equally likely numbers of prompt tokens that are computed, rising."""
    seconds: Callable[[StepShape], float]
    """Seconds of a step."""
    request_host_s: float
    """Time from a client's request to the scheduler."""
    overlap_steps: int
    """Steps by which a token reaches the client after the step that computed it."""
    chosen: ChosenSteps | None = None
    """What a policy chooses, where one does: `steps` are then counted as if all proposed K draft tokens."""
    prompt_work: dict[int, PromptWork] = field(default_factory=dict)
    """Batch → what prompts add to its steps, filled as it is asked for."""
    mean_steps: float = field(init=False)
    """Verify steps per request."""
    mean_new_tokens: float = field(init=False)
    """Prompt tokens per request that are computed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_steps", float(self.steps.mean()))
        object.__setattr__(self, "mean_new_tokens", float(self.new_tokens.mean()))

    @property
    def most_sequences(self) -> int:
        """Sequences that run at once at most, by places, by token budget and by the blocks they hold on average.

        Where steps compute prompts beside decoding, the budget is for both: of n sequences that take R steps each,
        n ÷ R end in a step, and as many prompts must find room in it.
        """
        limits = self.limits
        each = float(limits.draft_tokens + 1)
        if self.mean_steps > 0 and not limits.prefill_first:
            each += self.mean_new_tokens / self.mean_steps
        places = min(limits.max_num_seqs, int(limits.max_num_batched_tokens / each))
        return max(1, min(places, int(self.limits.kv_blocks / max(self.blocks, 1e-9))))

    def step_s(self, sequences: Floats) -> Floats:
        """Seconds of a step without prompts, at any batch."""
        return np.interp(sequences, self.sequences, self.decode_s)

    def one_step_s(self, sequences: float) -> float:
        """Seconds of a step without prompts, at one batch; 0 without sequences."""
        return float(np.interp(sequences, self.sequences, self.decode_s)) if sequences > 0 else 0.0

    def prompt_step_s(self, sequences: int, prompt_tokens: float, num_prompts: int = 1) -> tuple[float, int]:
        """Seconds of the steps that compute prompts of one length beside running sequences, and how many steps.

        The prompts are computed together; the budget of a step may split them.
        """
        limits = self.limits
        rows = sequences * (limits.draft_tokens + 1)
        budget = max(limits.max_num_batched_tokens - (0 if limits.prefill_first else rows), 1)
        left, done, steps, seconds = int(prompt_tokens) * num_prompts, 0, 0, 0.0
        while left > 0:
            now = min(left, budget) if limits.chunked_prefill else left
            attended = now * (self.cached_tokens + done / num_prompts + (now / num_prompts + 1) * 0.5)
            context = sequences * self.context_tokens
            shape = StepShape(sequences, rows, context, num_prompts, now, attended, limits.draft_tokens)
            seconds += self.seconds(shape)
            left, done, steps = left - now, done + now, steps + 1
        return seconds, steps


class SlowerWork(dict[int, PromptWork]):
    """Batch → what prompts add to steps that all take longer than those of another demand: no step is asked anew."""

    def __init__(self, of: Demand, factor: float) -> None:
        super().__init__()
        self.of, self.factor = of, factor


def slowed(demand: Demand, factor: float) -> Demand:
    """The same requests where every step takes longer by a factor."""
    return replace(
        demand,
        seconds=lambda shape: factor * demand.seconds(shape),
        decode_s=factor * demand.decode_s,
        prompt_work=SlowerWork(demand, factor),
    )


def demand_of(scenario: Scenario, deployment: str) -> Demand:
    """The requests of a scenario, sampled, as a deployment would serve them; kept by what they follow from.

    Raises ScenarioError when the deployment does not fit into its GPUs.
    """
    return _demand(asked(scenario, deployment))


@lru_cache(maxsize=KEPT)
def _demand(ask: Asked) -> Demand:
    scenario, deployment = ask.scenario, ask.name
    spec = scenario.deployments[deployment]
    limits = limits_of(deployment, spec, scenario.workload)
    workload = scenario.workload
    planner = planner_of(spec, limits, list(workload.classes), scenario.seed, 0, workload.temperature)
    sample = sample_requests(scenario)
    fits = sample.prompts <= limits.longest_prompt
    prompts, classes = sample.prompts[fits], sample.classes[fits]
    outputs = np.minimum(sample.outputs[fits], limits.max_model_len - prompts)
    if scenario.workload.max_output_tokens is not None:
        outputs = np.minimum(outputs, scenario.workload.max_output_tokens)
    kept = np.minimum(sample.kept[fits], prompts - 1) // limits.block_tokens * limits.block_tokens
    new = prompts - (kept if limits.prefix_cache else 0)
    steps, committed, drafted = sampled_steps(planner, prompts, outputs, classes)
    weight = steps / steps.sum() if steps.sum() > 0 else np.full(steps.size, 1.0 / steps.size)
    middle = prompts + 1 + (outputs - 1) / 2
    filled = np.minimum(-(-(middle + limits.draft_tokens) // limits.block_tokens), len(limits.block_counts) - 1).astype(
        np.int64
    )
    model = step_times_of(spec, scenario.workload)
    request_host_s, overlap_steps = delivery_of(model)
    context = float(middle @ weight)
    chosen = _chosen_steps(spec, planner, model, planner.rows(np.arange(prompts.size), classes, prompts), context)
    tokens_per_step = float(committed.sum() / steps.sum()) if steps.sum() > 0 else 1.0
    times = chosen or with_missed_rounds(model, tokens_per_step)
    grid = np.array(batches(spec, limits.max_num_seqs), np.float64)
    return Demand(
        limits=limits,
        num_requests=scenario.workload.horizon.requests,
        prompt_tokens=prompts.astype(np.float64),
        output_tokens=outputs.astype(np.float64),
        steps=steps,
        committed_tokens=committed,
        drafted_tokens=drafted,
        context_tokens=context,
        blocks=float(np.asarray(limits.block_counts)[filled] @ weight) + 0.5,
        sequences=grid,
        decode_s=np.array([_decode_s(times, int(n), context) for n in grid]),
        prompt_sizes=np.quantile(new, PROMPT_QUANTILES),
        cached_tokens=float((prompts - new).mean()),
        new_tokens=new.astype(np.float64),
        ranked=np.argsort(new, kind="stable")[((np.arange(SAMPLE) + 0.5) * new.size / SAMPLE).astype(np.int64)],
        prompt_sample=np.quantile(new, (np.arange(SAMPLED_PROMPTS) + 0.5) / SAMPLED_PROMPTS),
        seconds=times.seconds,
        request_host_s=request_host_s,
        overlap_steps=overlap_steps,
        chosen=chosen,
    )


def batches(spec: Deployment, most: int) -> list[int]:
    """Batches at which step times are looked up: those of the table, and both sides of every jump of a schedule.

    most: sequences that may run at once.
    """
    speculation = spec.speculation
    bands = speculation.policy.schedule if speculation.kind != "none" and speculation.policy.kind == "by_batch" else ()
    found = {*SEQUENCES, *(n for _, last, _ in bands for n in (last, last + 1))}
    return [*sorted(n for n in found if n < most), most]


def _chosen_steps(
    spec: Deployment, planner: PathPlanner, model: DeploymentSteps, rows: NDArray[np.int64], context_tokens: float
) -> ChosenSteps | None:
    """Step times where a policy chooses draft tokens; None elsewhere."""
    speculation = spec.speculation
    if speculation.kind == "none" or speculation.policy.kind == "fixed" or not planner.draft_tokens:
        return None
    assert isinstance(model, CatalogStepModel)
    return ChosenSteps(uneven_steps(model), speculation.policy, planner, rows, context_tokens)


def _decode_s(times: StepTimes, sequences: int, context_tokens: float) -> float:
    constant, slope = times.decode_affine(max(sequences, 1))
    return constant + slope * sequences * context_tokens
