"""A deployment as it stands, whatever it drafts with, when its replica always holds so many sequences.

The same closed loop as in `speculation_gain`, which tries acceptances and K on step times; here trees, several drafts,
drafts on GPUs of their own and policies count with the acceptance that the deployment states.
"""

from dataclasses import dataclass

import numpy as np

from simulator.outcome.cost import SECONDS_PER_HOUR, TOKENS_PER_UNIT, bill_of
from simulator.planning.demand import SEQUENCES, demand_of
from simulator.planning.speculation_gain import Floats
from simulator.planning.steady_state import prompt_work
from simulator.run import with_best_trees
from simulator.spec.scenario import Scenario


@dataclass(frozen=True, slots=True)
class InFlight:
    """What one replica does, by the sequences that it always holds."""

    sequences: Floats
    """Sequences in flight."""
    step_s: Floats
    """Seconds of a step without prompts; where a policy or a miss proposes less than K, longer by the steps that are
    needed more."""
    output_tokens_per_s: Floats
    """NaN where so many have no place."""
    tpot_s: Floats
    """Mean time per output token: its steps, and the prompts of its companions [s]."""
    usd_per_million_output_tokens: Floats
    tokens_per_step: float
    """Mean committed tokens per sequence and step, before the cut at the output length, over the steps counted."""
    places: int
    """Most sequences that run at once."""

    def at(self, sequences: float) -> int:
        """Place of the nearest number of sequences that was looked at."""
        return int(np.abs(self.sequences - sequences).argmin())


def in_flight(scenario: Scenario, deployment: str) -> InFlight:
    r"""Rates of a deployment by sequences in flight, prompts included.

    .. math:: X(n) = L n / (R\, T(n) + n \Delta(n))

    L output tokens and R steps a request, T a step, Δ what a prompt adds: the load of `saturation_rate` at n sequences.

    Raises ScenarioError when it does not fit into its GPUs, or its acceptance does not say what it proposes.
    """
    scenario = with_best_trees(scenario)
    demand = demand_of(scenario, deployment)
    n = np.array(
        [*(n for n in SEQUENCES if 0 < n < demand.limits.max_num_seqs), demand.limits.max_num_seqs], np.float64
    )
    step_s = demand.step_s(n)
    prompt_s = np.array([prompt_work(demand, int(held)).mean_s for held in n])
    output = float(demand.output_tokens.mean())
    rate = np.where(n <= demand.most_sequences, output * n / (demand.mean_steps * step_s + n * prompt_s), np.nan)
    usd_per_s = bill_of(scenario.deployments[deployment]).usd_per_replica_hour() / SECONDS_PER_HOUR
    return InFlight(
        sequences=n,
        step_s=step_s,
        output_tokens_per_s=rate,
        tpot_s=(demand.mean_steps * step_s + (n - 1.0) * prompt_s) / max(output - 1.0, 1.0),
        usd_per_million_output_tokens=usd_per_s / rate * TOKENS_PER_UNIT,
        tokens_per_step=float(demand.committed_tokens.sum() / demand.steps.sum()) if demand.steps.sum() > 0 else 1.0,
        places=demand.most_sequences,
    )
