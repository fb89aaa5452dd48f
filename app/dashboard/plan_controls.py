"""The controls of the page Plan: they edit the question, which every move puts anew."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st

from app.dashboard import state
from app.dashboard.draft_presets import PRESETS
from app.dashboard.plan_question import (
    GPU,
    KV,
    MAX_SEQUENCES,
    TENSOR_PARALLEL,
    WEIGHTS,
    WIDTHS,
    K,
    Question,
    draft_tokens,
    offers,
    priced_gpus,
)
from app.dashboard.terms import tip
from app.dashboard.widgets import show_value
from app.figures.names import short
from app.format import limit, significant
from app.tables.figures import limits_of, targets
from simulator.planning.speculation_gain import MOST_DRAFT_TOKENS
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

Change = Callable[[Question, Any], Question]
"""A question with another value in it."""

COLUMN_PX = 230
"""Width below which fewer controls stand side by side."""

LOADS = ("requests/s", "users")
SEQUENCES = (32, 64, 128, 256, 512)


OWN = "None chosen: each offer's own."


class Varied(NamedTuple):
    """A place of which several values may be tried."""

    label: str
    path: str
    values: Sequence[Any]
    word: str
    """Of the glossary."""
    says: str = ""


VARIED = (
    Varied("Tensor parallel", TENSOR_PARALLEL, WIDTHS, "tensor-parallel-tp"),
    Varied("Weight format", WEIGHTS, ("bf16", "fp8", "nvfp4"), "weight-format", OWN),
    Varied("KV format", KV, ("fp8", "bf16"), "kv-format", OWN),
    Varied("Most sequences at once", MAX_SEQUENCES, SEQUENCES, "sequences-in-flight", OWN),
)


def controls(scenario: Scenario) -> None:
    """All controls of the question."""
    question = state.question()
    with st.container(border=True):
        st.caption(_asked(scenario, question))
        _load(scenario, question)
        _on_offer(scenario, question)
        grid = st.grid(len(VARIED) + 1, min_column_width=COLUMN_PX, gap=("small", "medium"))
        for varied in VARIED:
            with grid.cell():
                _several(varied, question)
        with grid.cell():
            _draft_tokens(question)
        with st.expander("Room to spare, budget", icon=":material/tune:"):
            _limits(question)


def _asked(scenario: Scenario, question: Question) -> str:
    """Load and targets, which the controls beside the page set."""
    arrivals, users = scenario.workload.arrivals, question.plan.users
    rate = getattr(arrivals, "rate_per_s", None)
    load = f"{significant(rate)} requests/s" if rate else arrivals.kind.replace("_", " ")
    if users is not None:
        load = f"{users.count:,} users who think for {limit(users.think_s)}"
    target = ", ".join(targets(limits_of(scenario.slo)))
    return (
        f"The cheapest cluster for **{load}** with **{target or 'no latency target'}**. Load, lengths, "
        "targets and prices are those beside the page; the deployments of the scenario are the offers."
    )


def _on_offer(scenario: Scenario, question: Question) -> None:
    own = list(scenario.deployments)
    _pills(
        "Offers", "plan_offers", own, [name for name in own if name not in question.without],
        lambda asked, chosen: asked.model_copy(update={"without": tuple(n for n in own if n not in chosen)}),
        tip("offer", "The deployments of the scenario."),
    )  # fmt: skip
    if GPU in question.plan.vary:
        _several(Varied("GPUs", GPU, priced_gpus(), "offer", "Each offer on each of them."), question)
    else:
        _also_on(scenario, question)
    _pills(
        "Also with", "plan_drafts", list(PRESETS), [name for name in PRESETS if name in question.drafts],
        lambda asked, chosen: asked.model_copy(update={"drafts": tuple(n for n in PRESETS if n in chosen)}),
        "Further drafts on each GPU. Their acceptance is a measured preset of the catalog, of other models.",
    )  # fmt: skip


def _also_on(scenario: Scenario, question: Question) -> None:
    """Further GPUs."""
    standing = {spec.gpu for spec in scenario.deployments.values()}
    others = [gpu for gpu in priced_gpus() if gpu not in standing]
    _pills(
        "Also on", "plan_gpus", others, [gpu for gpu in others if gpu in question.gpus],
        lambda asked, chosen: asked.model_copy(update={"gpus": tuple(gpu for gpu in others if gpu in chosen)}),
        "The offers of the first GPU, on further GPUs, at the price of the same list or the first that has one.",
    )  # fmt: skip


def _several(varied: Varied, question: Question) -> None:
    """Values of one place; one that a plan file brings is on offer, too."""
    chosen = list(question.plan.vary.get(varied.path, ()))
    known = [*varied.values, *(value for value in chosen if value not in varied.values)]
    _pills(
        varied.label, f"plan_{varied.path}", known, chosen,
        lambda asked, values: _varied(asked, varied.path, [value for value in known if value in values]),
        tip(varied.word, varied.says),
    )  # fmt: skip


def _draft_tokens(question: Question) -> None:
    """The range of K, where an offer proposes tokens."""
    offered = offers(state.mapping()["deployments"], question)
    own = [k for spec in offered.values() if (k := draft_tokens(spec))]
    if not own:
        return
    stated = [int(k) for k in question.plan.vary.get(K, ()) if isinstance(k, int)] or own
    low, high = min(stated), max(stated)
    key = "plan_k"
    show_value(key, (low, high))
    st.slider(
        "Draft tokens K", min(1, low), max(MOST_DRAFT_TOKENS, high), (low, high), key=key, on_change=_write,
        args=(key, lambda asked, ends: _varied(asked, K, range(ends[0], ends[1] + 1))),
        help=tip("draft-tokens-k", "Of the offers that draft. K = 0 is an offer without a draft."),
    )  # fmt: skip


def _load(scenario: Scenario, question: Question) -> None:
    users = question.plan.users
    if getattr(scenario.workload.arrivals, "rate_per_s", None) is None:
        return
    grid = st.grid(3, min_column_width=COLUMN_PX, gap=("small", "medium"))
    with grid.cell():
        chosen = LOADS[users is not None]
        show_value("plan_load", chosen)
        st.segmented_control(
            "Load by", LOADS, default=chosen, required=True, key="plan_load", on_change=_write,
            args=("plan_load", _load_by),
            help="Users think between an answer and their next request; how fast they are served gives the load.",
        )  # fmt: skip
    if users is not None:
        with grid.cell():
            _number("Users at once", "plan_users", users.count, lambda asked, n: _users(asked, count=n),
                    min_value=1, max_value=10_000_000, step=10)  # fmt: skip
        with grid.cell():
            _number("Think time [s]", "plan_think", float(users.think_s), lambda asked, s: _users(asked, think_s=s),
                    min_value=0.0, max_value=100_000.0, step=5.0, format="%g")  # fmt: skip


def _limits(question: Question) -> None:
    """What is kept free and what may be spent."""
    asks, budget = question.plan, question.plan.budget
    grid = st.grid(4, min_column_width=150, gap=("small", "medium"))
    with grid.cell():
        _number(
            "Headroom [%]", "plan_headroom", round(100 * asks.headroom),
            lambda asked, share: _plan(asked, headroom=(share or 0) / 100),
            min_value=0, max_value=90, step=5, help=tip("headroom"),
        )  # fmt: skip
    with grid.cell():
        _number(
            "Spare replicas", "plan_spares", asks.spare_replicas, lambda asked, n: _plan(asked, spare_replicas=n or 0),
            min_value=0, max_value=100, step=1, help=tip("spare-replicas"),
        )  # fmt: skip
    with grid.cell():
        _most(
            "Most GPUs", "plan_gpu_budget", budget.gpus if budget else None, lambda asked, n: _budget(asked, gpus=n),
            min_value=1, max_value=1_000_000, step=8, help="Spares and draft GPUs included. Empty: any number.",
        )  # fmt: skip
    with grid.cell():
        _most(
            "Most $/h", "plan_usd_budget", budget.usd_per_hour if budget else None,
            lambda asked, usd: _budget(asked, usd_per_hour=usd),
            min_value=0.01, max_value=1e9, step=10.0, format="%g", help="Spares included. Empty: any cost.",
        )  # fmt: skip


def _pills(label: str, key: str, known: Sequence[Any], chosen: list[Any], change: Change, says: str) -> None:
    """Any of several values."""
    show_value(key, chosen)
    told = dict(zip(known, short([str(value) for value in known]), strict=True))
    st.pills(
        label, known, selection_mode="multi", default=chosen, key=key, help=says, on_change=_write, args=(key, change),
        format_func=lambda value: told[value],
    )  # fmt: skip


def _number(label: str, key: str, value: float | None, change: Change, **options: Any) -> None:
    """A number."""
    show_value(key, value)
    st.number_input(label, value=value, key=key, on_change=_write, args=(key, change), **options)


def _most(label: str, key: str, value: float | None, change: Change, **options: Any) -> None:
    """A number, or none: a field with a default cannot be emptied."""
    show_value(key, value)
    st.number_input(label, value=None, key=key, on_change=_write, args=(key, change), **options)


def _write(key: str, change: Change) -> None:
    state.ask(change(state.question(), st.session_state[key]))


def _plan(asked: Question, **changes: Any) -> Question:
    plan = Plan.model_validate(asked.plan.model_dump() | changes)
    return asked.model_copy(update={"plan": plan})


def _varied(asked: Question, path: str, values: Sequence[Any]) -> Question:
    vary = {**asked.plan.vary, path: tuple(values)}
    return _plan(asked, vary={place: of for place, of in vary.items() if of})


def _load_by(asked: Question, chosen: str) -> Question:
    return _users(asked, count=100, think_s=30.0) if chosen == "users" else _plan(asked, users=None)


def _users(asked: Question, **changes: Any) -> Question:
    own = asked.plan.users.model_dump() if asked.plan.users else {}
    return _plan(asked, users=own | {key: value for key, value in changes.items() if value is not None})


def _budget(asked: Question, **changes: Any) -> Question:
    own = asked.plan.budget.model_dump() if asked.plan.budget else {}
    found = own | changes
    return _plan(asked, budget=found if any(value is not None for value in found.values()) else None)
