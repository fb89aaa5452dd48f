"""What a scenario's answer rests on, and within which interval each input is known: measured, listed, or assumed."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from simulator.catalog.presets import stated
from simulator.errors import ScenarioError
from simulator.outcome.interval import steps_interval
from simulator.physics.acceptance import tokens_per_step
from simulator.physics.bisection import bisected
from simulator.physics.curves import survival_of_histogram
from simulator.physics.odds import survival_with_odds
from simulator.planning.inputs import Input, assumed
from simulator.planning.model_error import error_kind, error_known
from simulator.planning.moved import TOGETHER
from simulator.planning.price_spread import price_inputs
from simulator.spec.acceptance import Acceptance
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

MOST_DOUBLINGS = 10.0
"""Doublings of the odds at which an interval is cut: nearly all, or nearly none, was accepted."""

Within = Mapping[str, tuple[float, float]]
"""Input → the interval of its factor that the reader states."""


def inputs_of(scenario: Scenario, deployments: Sequence[str], within: Within | None = None) -> list[Input]:
    """The inputs of these deployments, in the order in which they are told.

    within: in place of the intervals that are known or assumed.

    Raises ScenarioError for an interval of an input that is not there, or that does not hold 1.
    """
    specs = {name: scenario.deployments[name] for name in deployments}
    found = [
        *_workload(scenario),
        *_acceptance(specs),
        *_step_times(scenario, specs),
        *_bandwidths(specs),
        *price_inputs(specs),
    ]
    check_within(within or {}, [one.name for one in found])
    return [_stated(one, within or {}) for one in found]


def check_within(within: Within, known: Sequence[str]) -> None:
    """ScenarioError for what is no interval of these inputs."""
    for name, (low, high) in within.items():
        if name not in known:
            raise ScenarioError(f"no input {name!r} to vary; there are: {', '.join(known)}")
        if not 0.0 < low <= 1.0 <= high:
            raise ScenarioError(
                f"{name}: {low:g}..{high:g} is no interval of a factor on what the scenario says: it holds 1, such as "
                "0.8..1.25"
            )


def _stated(one: Input, within: Within) -> Input:
    if one.name not in within:
        return one
    low, high = within[one.name]
    return one._replace(low=low, high=high, basis="stated", source="stated by the reader", lists=())


def _workload(scenario: Scenario) -> Iterator[Input]:
    """The load, where there is one to be held, and the lengths, where they are not a trace's own."""
    kind = scenario.workload.arrivals.kind
    if kind != "queued_at_once":
        says = "clients of the closed loop" if kind == "closed_loop" else "requests per second"
        yield assumed("rate", says, "rate", "rate")
    if scenario.workload.lengths.kind != "trace":
        yield assumed("output_tokens", "output tokens of a request", "lengths", "output_tokens")
        yield assumed("prompt_tokens", "prompt tokens of a request", "lengths", "prompt_tokens")


def _acceptance(specs: Mapping[str, Deployment]) -> Iterator[Input]:
    """One for each draft: all deployments that have it are right or wrong together, whatever they say of it.

    Its odds are what is multiplied, at every position and in every class.
    """
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for deployment, spec in specs.items():
        for draft, what in _drafts(spec).items():
            groups.setdefault((draft, what), []).append((deployment, draft))
    drafts = [draft for draft, _ in groups]
    for (draft, _), keys in groups.items():
        what = draft or "union"
        name = f"acceptance.{what}" if drafts.count(draft) == 1 else f"acceptance.{what}.{keys[0][0]}"
        one = assumed(name, f"odds that a draft token of {what} is accepted", "acceptance", "acceptance", tuple(keys))
        yield _counted(one, [specs[deployment] for deployment, _ in keys], draft)


def _drafts(spec: Deployment) -> dict[str, str]:
    """Draft → what it is, acceptance apart; a union that was measured as a whole has only that."""
    speculation = spec.speculation
    if speculation.kind == "none" or not speculation.draft_tokens:
        return {}
    if speculation.combine.kind == "union" and speculation.combine.survival is not None:
        return {TOGETHER: ", ".join(speculation.drafts)}
    return {name: draft.model_dump_json(exclude={"acceptance"}) for name, draft in speculation.drafts.items()}


def _counted(one: Input, specs: Sequence[Deployment], draft: str) -> Input:
    """With the interval of what was counted, where all that is said of a draft holds a histogram of steps."""
    if draft == TOGETHER:
        return one
    said = {repr(a): stated(a) for spec in specs for a in spec.speculation.drafts[draft].acceptance.values()}
    counts = [acceptance.histogram for acceptance in said.values() if acceptance.histogram is not None]
    if len(counts) < len(said):
        return one
    lows, highs = zip(*map(odds_within, said.values()), strict=True)
    steps = sum(sum(histogram.values()) for histogram in counts)
    source = f"{steps:,} steps in its histograms, each taken for itself; other traffic is not in it"
    return one._replace(low=min(lows), high=max(highs), basis="measured", source=source)


def odds_within(acceptance: Acceptance) -> tuple[float, float]:
    """Factors on the odds at which a histogram's tokens per step are those of the ends of its interval [ratio].

    >>> low, high = odds_within(Acceptance(histogram={0: 500, 1: 500}))
    >>> round(low, 2), round(high, 2)
    (0.88, 1.13)
    """
    assert acceptance.histogram is not None
    survival = survival_of_histogram(acceptance.histogram)
    reach = [acceptance.reach(position) for position in range(1, len(survival) + 1)]

    def factor(tokens: float) -> float:
        def too_low(doublings: float) -> bool:
            return tokens_per_step(survival_with_odds(survival, 2.0**doublings, reach)) < tokens

        return float(2.0 ** bisected(-MOST_DOUBLINGS, MOST_DOUBLINGS, too_low)[1])

    low, high = steps_interval(acceptance.histogram)
    return min(factor(low), 1.0), max(factor(high), 1.0)


def _step_times(scenario: Scenario, specs: Mapping[str, Deployment]) -> Iterator[Input]:
    """One for each GPU, engine and target: its step times are too short or too long for all such deployments."""
    groups = _alike(specs, error_kind)
    gpus = [specs[alike[0]].gpu for alike in groups]
    for alike, gpu in zip(groups, gpus, strict=True):
        name = f"step_time.{gpu}" if gpus.count(gpu) == 1 else f"step_time.{gpu}.{alike[0]}"
        one = assumed(name, f"seconds of a step on {gpu}", "step_time", "step_time", tuple(alike))
        known = error_known(scenario, alike[0])
        yield (
            one
            if known is None
            else one._replace(low=1.0 / known.step, high=known.step, basis="measured", source=f"error of {known.basis}")
        )


def _bandwidths(specs: Mapping[str, Deployment]) -> Iterator[Input]:
    """Of each GPU. An error of step times holds this too, so it is told but never drawn."""
    for alike in _alike(specs, lambda spec: spec.gpu):
        gpu = specs[alike[0]].gpu
        says = f"memory bandwidth of {gpu}"
        yield assumed(f"bandwidth.{gpu}", says, "bandwidth", "bandwidth", tuple(alike))._replace(drawn=False)


def _alike(specs: Mapping[str, Deployment], kind: Callable[[Deployment], str]) -> list[list[str]]:
    """Deployments of each kind."""
    groups: dict[str, list[str]] = {}
    for name, spec in specs.items():
        groups.setdefault(kind(spec), []).append(name)
    return list(groups.values())
