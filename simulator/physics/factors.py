"""What acceptance depends on beside the class: sampling temperature, length of the prompt, training of the draft.

Each is a factor on the conditional acceptance of every position, which never rises above 1.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.errors import ScenarioError
from simulator.spec.acceptance import Acceptance

Floats = NDArray[np.float64]


class Conditions(NamedTuple):
    """Under what requests are served, as far as acceptance depends on it."""

    temperature: float | None = None
    """Sampling temperature; None: not stated."""
    prompt_tokens: tuple[float, ...] = (0.0,)
    """Lengths of prompts that are asked for, each on its own."""


AS_MEASURED = Conditions()
"""Nothing stated."""


def factors_of(acceptance: Acceptance, conditions: Conditions) -> Floats:
    """Factor on the conditional acceptance by length of prompt, whatever brings it [ratio]."""
    uplift = 1.0 if acceptance.uplift is None else acceptance.uplift.factor
    factor = uplift * temperature_factor(acceptance.by_temperature, conditions.temperature)
    prompts = np.array(conditions.prompt_tokens)
    if acceptance.by_context is None:
        return np.full(prompts.shape, factor)
    return np.asarray(factor * np.interp(prompts, *_knots(acceptance.by_context)))


def temperature_factor(by_temperature: Mapping[float, float] | None, temperature: float | None) -> float:
    """Factor on the conditional acceptance at a sampling temperature, linear between those measured [ratio].

    Raises ScenarioError where the temperature is not stated, or lies beyond those measured.

    >>> temperature_factor({0.0: 1.0, 1.0: 0.8}, 0.5)
    0.9
    """
    if by_temperature is None:
        return 1.0
    if temperature is None:
        raise ScenarioError("by_temperature has no effect without workload.temperature: state it, or leave this out")
    low, high = min(by_temperature), max(by_temperature)
    if not low <= temperature <= high:
        raise ScenarioError(
            f"by_temperature was measured from {low:g} to {high:g}, workload.temperature is {temperature:g}: measure "
            "acceptance there, or serve at a temperature in between"
        )
    return float(np.interp(temperature, *_knots(by_temperature)))


def _knots(factors: Mapping[float, float] | Mapping[int, float]) -> tuple[list[float], list[float]]:
    known = sorted(factors.items())
    return [at for at, _ in known], [factor for _, factor in known]


def scaled(survival: Floats, factors: Floats, reach: Sequence[float]) -> Floats:
    """Survival by group and position with each conditional acceptance × a factor, [factors, groups, K].

    survival: [groups, K]. [0 to 1]
    factors: one table each; 1 leaves it as it is, to the last bit. [ratio]
    reach: share of steps that draft position 1, 2, …: survival stays below it. [0 to 1]
    """
    before = np.concatenate((np.ones((survival.shape[0], 1)), survival[:, :-1]), axis=1)[:, : survival.shape[1]]
    conditional = np.divide(survival, before, out=np.zeros_like(survival), where=before > 0)
    changed = np.cumprod(np.minimum(conditional * factors[:, None, None], 1.0), axis=2)
    return np.where(factors[:, None, None] == 1.0, survival, np.minimum(changed, np.asarray(reach)))
