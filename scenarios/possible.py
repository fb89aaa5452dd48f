"""What a well-formed scenario still cannot do: on its hardware, with its acceptance, within its engine's limits.

Each problem stands where the scenario says what is impossible; what is inherited is told once.
"""

import math
from collections.abc import Iterator

from scenarios.possible_drafts import impossible_drafts, unused_temperature
from scenarios.problems import Path, Problem
from scenarios.sets import find_place
from scenarios.yaml_nodes import Node, problem_at
from simulator.catalog.load import load_lengths, load_model
from simulator.physics.checks import check_deployment
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Lengths, LogNormal, Workload

_ONE_IN_THOUSAND, _P95 = 3.0902, 1.6449
"""Standard deviations of a normal law beyond which 1 in 1,000 and 5 % lie."""


def impossible(scenario: Scenario, seen: Node) -> Iterator[Problem]:
    """What is wrong with a scenario whose every value is valid on its own; seen: its file, resolved."""
    if told := unused_temperature(scenario):
        yield problem_at(seen, ("workload", "temperature"), told)
    for name, deployment in scenario.deployments.items():
        yield from impossible_deployment(name, deployment, scenario.workload, seen)


def impossible_deployment(name: str, deployment: Deployment, workload: Workload, seen: Node) -> Iterator[Problem]:
    """What a deployment cannot do, on its hardware and with its acceptance; seen: the file that has it, resolved."""
    for told in check_deployment(name, deployment):
        place, _, message = told.partition(": ")
        path = find_place(seen, f"deployments.{place}") or ("deployments", name)
        yield problem_at(seen, path, message)
    for path, message in _own(deployment, workload):
        yield problem_at(seen, ("deployments", name, *path), message)


def _own(deployment: Deployment, workload: Workload) -> Iterator[tuple[Path, str]]:
    yield from impossible_drafts(deployment, workload)
    yield from _too_long(deployment, workload)


def _too_long(deployment: Deployment, workload: Workload) -> Iterator[tuple[Path, str]]:
    """A longest sequence that all prompts exceed, so that every request would be rejected."""
    model = load_model(deployment.target.model)
    longest = min(deployment.engine.max_model_len or model.max_position, model.max_position)
    shortest = _shortest_prompt(workload)
    if shortest >= longest:
        raise_it = f"raise max_model_len above {shortest:,}, or " if shortest < model.max_position else ""
        yield (
            ("engine", "max_model_len"),
            f"{longest:,}: prompt and output of a request must fit, but the shortest prompts have {shortest:,} tokens: "
            f"all would be rejected; {raise_it}shorten the prompts",
        )


def _shortest_prompt(workload: Workload) -> int:
    """Prompt tokens that all but rare prompts reach."""
    own = _trace_prompt(workload) if workload.lengths.kind == "trace" else _shortest_length(workload.lengths)
    return int(own) + workload.prefix.shared_tokens


def _trace_prompt(workload: Workload) -> int:
    from simulator.cluster.traffic import trace_of

    assert workload.arrivals.kind == "trace"
    return int(trace_of(workload, workload.arrivals).prompt_tokens.min())


def _shortest_length(lengths: Lengths) -> float:
    if lengths.kind == "fixed":
        return lengths.prompt_tokens
    if lengths.kind == "uniform":
        return lengths.prompt_tokens[0]
    if lengths.kind == "quantiles":
        return lengths.prompt_tokens[0]
    if lengths.kind == "lognormal":
        return _rarely_below(lengths.prompt_tokens)
    assert lengths.kind == "empirical"
    return load_lengths(lengths.table).prompt_quantiles[0]


def _rarely_below(law: LogNormal) -> float:
    """Value that 1 in 1,000 of a log-normal law lies below."""
    sigma = _P95 - math.sqrt(max(_P95**2 - 2.0 * math.log(law.p95 / law.mean), 0.0))
    return law.mean * math.exp(-sigma * sigma / 2.0 - _ONE_IN_THOUSAND * sigma)
