"""Prompt and output lengths: one sampler per kind, as functions in a dict."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.catalog.load import load_lengths
from simulator.spec.workload import (
    EmpiricalLengths,
    FixedLengths,
    LogNormal,
    LogNormalLengths,
    QuantileLengths,
    UniformLengths,
)

Ints = NDArray[np.int64]
Sampler = Callable[[np.random.Generator, int], tuple[Ints, Ints]]
"""(generator, count) -> prompt tokens, output tokens. Two uniforms a request, in order: chunks do not matter."""


def lognormal_parameters(mean: float, p95: float) -> tuple[float, float]:
    r"""Location μ and scale σ of the log-normal law with a given mean and 95th percentile.

    .. math:: \ln(p_{95}/mean) = 1.6449 σ - σ²/2, \quad μ = \ln(mean) - σ²/2

    The smaller root is taken.

    >>> mu, sigma = lognormal_parameters(1000.0, 3000.0)
    >>> round(float(np.exp(mu + sigma**2 / 2))), round(float(np.exp(mu + 1.6448536269514722 * sigma)))
    (1000, 3000)
    """
    z = 1.6448536269514722
    sigma = z - np.sqrt(max(z * z - 2.0 * np.log(p95 / mean), 0.0))
    return float(np.log(mean) - sigma * sigma / 2.0), float(sigma)


def _whole(values: NDArray[np.float64]) -> Ints:
    return np.maximum(np.rint(values), 1).astype(np.int64)


def _fixed(spec: FixedLengths) -> Sampler:
    def sample(rng: np.random.Generator, count: int) -> tuple[Ints, Ints]:
        return np.full(count, spec.prompt_tokens), np.full(count, spec.output_tokens)

    return sample


def _uniform(spec: UniformLengths) -> Sampler:
    low = np.array([spec.prompt_tokens[0], spec.output_tokens[0]])
    span = np.array([spec.prompt_tokens[1], spec.output_tokens[1]]) - low + 1

    def sample(rng: np.random.Generator, count: int) -> tuple[Ints, Ints]:
        drawn = low + np.floor(rng.random((count, 2)) * span).astype(np.int64)
        return drawn[:, 0], drawn[:, 1]

    return sample


def _lognormal(spec: LogNormalLengths) -> Sampler:
    def law(of: LogNormal) -> tuple[float, float]:
        return lognormal_parameters(of.mean, of.p95)

    (mu_p, sigma_p), (mu_o, sigma_o) = law(spec.prompt_tokens), law(spec.output_tokens)

    def sample(rng: np.random.Generator, count: int) -> tuple[Ints, Ints]:
        normal = rng.standard_normal((count, 2))
        return _whole(np.exp(mu_p + sigma_p * normal[:, 0])), _whole(np.exp(mu_o + sigma_o * normal[:, 1]))

    return sample


def _empirical(spec: EmpiricalLengths) -> Sampler:
    table = load_lengths(spec.table)
    return _joint(table.prompt_quantiles, table.output_quantiles)


def _quantiles(spec: QuantileLengths) -> Sampler:
    return _joint(spec.prompt_tokens, spec.output_tokens)


def _joint(prompt_quantiles: tuple[float, ...], output_quantiles: tuple[tuple[float, ...], ...]) -> Sampler:
    prompts, outputs = np.asarray(prompt_quantiles), np.asarray(output_quantiles)

    def sample(rng: np.random.Generator, count: int) -> tuple[Ints, Ints]:
        return sample_joint(prompts, outputs, rng.random((count, 2)))

    return sample


def sample_joint(
    prompt_quantiles: NDArray[np.float64], output_quantiles: NDArray[np.float64], uniforms: NDArray[np.float64]
) -> tuple[Ints, Ints]:
    """Lengths by inverse distribution from a joint quantile table.

    prompt_quantiles: [Q] prompt tokens at evenly spaced quantiles.
    output_quantiles: [bins, R] output tokens at evenly spaced quantiles, given the prompt's equally likely bin.
    uniforms: [n, 2] in [0, 1): the first picks the prompt, the second the output.
    """
    first, second = uniforms[:, 0], uniforms[:, 1]
    prompt = np.interp(first, np.linspace(0.0, 1.0, prompt_quantiles.size), prompt_quantiles)
    rows = (first * output_quantiles.shape[0]).astype(np.int64)
    place = second * (output_quantiles.shape[1] - 1)
    left = place.astype(np.int64)
    share = place - left
    output = output_quantiles[rows, left] * (1 - share) + output_quantiles[rows, left + 1] * share
    return _whole(prompt), _whole(output)


LENGTHS: dict[str, Callable[[Any], Sampler]] = {
    "fixed": _fixed,
    "uniform": _uniform,
    "lognormal": _lognormal,
    "empirical": _empirical,
    "quantiles": _quantiles,
}
"""Kind of lengths -> its sampler."""


RARE = 3.0902
"""Standard normal quantile that one request in a thousand exceeds."""


def _longest_lognormal(spec: LogNormalLengths) -> float:
    location, scale = lognormal_parameters(spec.output_tokens.mean, spec.output_tokens.p95)
    return float(np.exp(location + RARE * scale))


LONGEST_PROMPT: dict[str, Callable[[Any], float]] = {
    "fixed": lambda spec: spec.prompt_tokens,
    "uniform": lambda spec: spec.prompt_tokens[1],
    "lognormal": lambda spec: float("inf"),
    "empirical": lambda spec: load_lengths(spec.table).prompt_quantiles[-1],
    "quantiles": lambda spec: spec.prompt_tokens[-1],
}
"""Kind of lengths -> a length that no prompt exceeds [tokens]."""

LONGEST_OUTPUT: dict[str, Callable[[Any], float]] = {
    "fixed": lambda spec: spec.output_tokens,
    "uniform": lambda spec: spec.output_tokens[1],
    "lognormal": _longest_lognormal,
    "empirical": lambda spec: max(row[-1] for row in load_lengths(spec.table).output_quantiles),
    "quantiles": lambda spec: max(row[-1] for row in spec.output_tokens),
}
"""Kind of lengths -> the longest output, or one that a request in a thousand exceeds [tokens]: what clients are assumed
to ask for where they do not say."""
