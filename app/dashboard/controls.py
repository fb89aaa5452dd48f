"""The controls beside every page: which scenario, what traffic, which targets, prices, drafts and GPUs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from app.dashboard import state
from app.dashboard.deployment_controls import deployment_controls
from app.dashboard.speculation_inputs import chaining, own_survival
from app.dashboard.terms import tip, unmarked
from app.dashboard.traces import name_of
from app.dashboard.widgets import Changes, choice, number, slider
from simulator.catalog.load import load_price_list, names
from simulator.cluster.accepted import survival_over_steps
from simulator.outcome.cost import resolve_price
from simulator.planning.speculation_gain import MOST_DRAFT_TOKENS
from simulator.spec.price import CatalogPrice
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation


def sidebar() -> None:
    """All controls that pages share."""
    _opened()
    scenario = state.current()
    _traffic(scenario)
    _targets(scenario)
    _prices(scenario)
    if chaining(scenario):
        _drafts(scenario)
    with st.expander("One deployment", icon=":material/dns:"):
        deployment_controls(scenario)
    with st.expander("Simulation", icon=":material/casino:"):
        _simulation(scenario)


def _opened() -> None:
    """Which scenario is open, and which point of its sweep."""
    origin, built_ins = state.origin(), state.built_ins()
    known = built_ins if origin in built_ins else [origin, *built_ins]
    if st.session_state.get("open") != origin:
        st.session_state["open"] = origin
    st.selectbox(
        "Scenario",
        known,
        known.index(origin),
        key="open",
        on_change=_open,
        help=tip("scenario", "Built in; your own on the page Scenario."),
    )
    points = state.loaded().points
    if len(points) > 1:
        labels = [", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in p.label.items()) for p in points]
        st.selectbox(
            "Point of the sweep", range(len(points)), format_func=labels.__getitem__, key="point",
            index=state.point(), on_change=_choose_point,
        )  # fmt: skip


def _open() -> None:
    if st.session_state["open"] in state.built_ins():
        state.open_built_in(st.session_state["open"])


def _choose_point() -> None:
    state.choose_point(st.session_state["point"])


def _traffic(scenario: Scenario) -> None:
    arrivals = scenario.workload.arrivals
    if arrivals.kind == "closed_loop":
        number(
            "Clients at once", "clients", arrivals.concurrency, lambda value: {CONCURRENCY: value},
            min_value=1, max_value=100_000, step=8, help=tip("closed-loop"),
        )  # fmt: skip
    elif arrivals.kind == "queued_at_once":
        st.caption("All requests are queued at once: there is no rate.")
    elif arrivals.kind == "trace":
        st.caption(f"Requests are replayed from {unmarked(name_of(arrivals.file))}: page Load, *What arrives*.")
    else:
        number(
            "Requests per second", "rate", float(arrivals.rate_per_s), lambda value: {RATE: value},
            min_value=0.01, max_value=100_000.0, step=1.0, format="%g",
            help=tip("offered-load", f"Mean of the {arrivals.kind} arrivals."),
        )  # fmt: skip
    _lengths(scenario)


RATE, CONCURRENCY = "workload.arrivals.rate_per_s", "workload.arrivals.concurrency"
LENGTHS = "workload.lengths"
OWN = "fixed"


def _lengths(scenario: Scenario) -> None:
    lengths = scenario.workload.lengths
    shown = lengths.table if lengths.kind == "empirical" else lengths.kind
    choice(
        "Lengths of prompts and outputs", "lengths", shown, [*names("lengths"), OWN], _lengths_named,
        help="A table of the catalog, or the same for every request.",
    )  # fmt: skip
    if lengths.kind == "fixed":
        left, right = st.columns(2)
        with left:
            number(
                "Prompt tokens", "prompt", lengths.prompt_tokens, lambda value: {f"{LENGTHS}.prompt_tokens": value},
                min_value=1, max_value=1_000_000, step=256,
            )  # fmt: skip
        with right:
            number(
                "Output tokens", "output", lengths.output_tokens, lambda value: {f"{LENGTHS}.output_tokens": value},
                min_value=1, max_value=1_000_000, step=64,
            )  # fmt: skip


def _lengths_named(name: str) -> Changes:
    if name == OWN:
        return {LENGTHS: {"kind": "fixed", "prompt_tokens": 1024, "output_tokens": 256}}
    return {LENGTHS: {"kind": "empirical", "table": name}} if name in names("lengths") else {}


def _targets(scenario: Scenario) -> None:
    """Limits of the 95th percentile; others stand in the file."""
    slo = scenario.slo
    left, right = st.columns(2)
    with left:
        limit = slo.ttft_s.get("p95") if slo else None
        number(
            "TTFT p95 ≤ s", "ttft", limit, lambda value: _limit(scenario, "ttft_s", value),
            min_value=0.01, max_value=600.0, step=0.1, format="%g",
            help=tip("ttft", "95 % of the requests stay below it."),
        )  # fmt: skip
    with right:
        limit = slo.tpot_s.get("p95") if slo else None
        shown = None if limit is None else round(limit * 1e3, 6)
        number(
            "TPOT p95 ≤ ms", "tpot", shown, lambda value: _limit(scenario, "tpot_s", round(value / 1e3, 9)),
            min_value=0.1, max_value=10_000.0, step=1.0, format="%g",
            help=tip("tpot", "95 % of the requests stay below it."),
        )  # fmt: skip


def _limit(scenario: Scenario, metric: str, value: float) -> Changes:
    if scenario.slo is None:
        return {"slo": {metric: {"p95": value}}}
    own: dict[str, float] = dict(getattr(scenario.slo, metric))
    return {f"slo.{metric}": {**own, "p95": value}}


def _prices(scenario: Scenario) -> None:
    gpus = list(dict.fromkeys(spec.gpu for spec in scenario.deployments.values()))
    lists = {spec.price.catalog if isinstance(spec.price, CatalogPrice) else MIXED for spec in _specs(scenario)}
    choice(
        "Price list", "price_list", lists.pop() if len(lists) == 1 else MIXED, _lists_for(gpus),
        lambda name: _priced(scenario, {"catalog": name}) if name != MIXED else {},
        help=tip("price", "A dated list of the catalog; or set prices below."),
    )  # fmt: skip
    for gpu, column in zip(gpus, st.columns(max(len(gpus), 2)) * len(gpus), strict=False):
        with column:
            _price(scenario, gpu)


MIXED = "set by hand"


def _specs(scenario: Scenario) -> Any:
    return scenario.deployments.values()


def _lists_for(gpus: list[str]) -> list[str]:
    """Price lists that hold every GPU of the scenario."""
    return [n for n in names("prices") if set(gpus) <= {entry.gpu for entry in load_price_list(n).prices}]


def _price(scenario: Scenario, gpu: str) -> None:
    own = next(spec for spec in _specs(scenario) if spec.gpu == gpu)

    def write(value: float) -> Changes:
        price = {
            "usd_per_gpu_hour": value, "basis": "assumption", "source": "set in the dashboard",
            "as_of": datetime.now(UTC).date().isoformat(),
        }  # fmt: skip
        return _priced(scenario, price, gpu)

    number(
        f"$/h of {gpu}", f"price:{gpu}", float(resolve_price(own).usd_per_gpu_hour), write,
        min_value=0.01, max_value=1000.0, step=0.1, format="%.2f", help=unmarked(resolve_price(own).source),
    )  # fmt: skip


def _priced(scenario: Scenario, price: Mapping[str, Any], gpu: str | None = None) -> Changes:
    """A price for every deployment, or for those on one GPU."""
    return {
        f"deployments.{name}.price": price
        for name, spec in scenario.deployments.items()
        if gpu is None or spec.gpu == gpu
    }


def _drafts(scenario: Scenario) -> None:
    """K and acceptance of the deployments whose drafts propose chains."""
    chains = chaining(scenario)
    name, first = next(iter(chains.items()))
    slider(
        "Draft tokens K", "k", first.propose.draft_tokens,
        lambda value: {f"deployments.{name}.speculation.propose.draft_tokens": value for name in chains},
        min_value=0, max_value=MOST_DRAFT_TOKENS,
        help=tip("draft-tokens-k", "Of every deployment whose drafts propose chains."),
    )  # fmt: skip
    slider(
        "Acceptance of a draft token", "acceptance", _first_acceptance(scenario, name, first),
        lambda value: _constant_acceptance(chains, value), min_value=0.0, max_value=0.99, step=0.01,
        help=tip("acceptance", "Of the first draft token, over all classes. Moving it puts one constant acceptance at "
        "every position and class of every draft that proposes a chain, in place of what the file says."),
    )  # fmt: skip


def _first_acceptance(scenario: Scenario, name: str, speculation: DraftSpeculation) -> float:
    """Share of steps whose first draft token the target keeps."""
    found = survival_over_steps(scenario.deployments[name], scenario.workload)
    return round((found or own_survival(scenario, name, speculation.draft, 1))[0], 2)


def _constant_acceptance(chains: Mapping[str, DraftSpeculation], value: float) -> Changes:
    survival = [round(value**position, 6) for position in range(1, MOST_DRAFT_TOKENS + 1)]
    return {
        f"deployments.{name}.speculation.drafts.{draft}.acceptance": {"all": {"survival": survival}}
        for name, of in chains.items()
        for draft in of.drafts
    }


def _simulation(scenario: Scenario) -> None:
    number(
        "Requests", "requests", scenario.workload.horizon.requests,
        lambda value: {"workload.horizon.requests": value}, min_value=100, max_value=1_000_000, step=1000,
        help=tip("simulated", "Requests of a run, the warm-up included."),
    )  # fmt: skip
    number(
        "Seeds", "seeds", scenario.replications, lambda value: {"replications": value},
        min_value=1, max_value=100, step=1, help=tip("replication"),
    )  # fmt: skip
    number(
        "First seed", "seed", scenario.seed, lambda value: {"seed": value},
        min_value=0, max_value=10**9, step=1, help=tip("seed"),
    )  # fmt: skip
