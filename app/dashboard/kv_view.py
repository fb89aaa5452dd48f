"""KV of one deployment, on the page Memory: where it may lie, and what each step of that buys."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.dashboard import answers, tables
from app.dashboard.computed import ESTIMATED, computed_by
from app.dashboard.explained import explained
from app.dashboard.kv_controls import kv_controls
from app.dashboard.kv_steps import Bought, bought
from app.dashboard.terms import tip
from app.figures import memory as figures
from app.figures.memory import Held
from app.format import ABSENT, context, count, duration, gib, percent, significant, usd
from app.tables.figures import limits_of
from simulator.spec.scenario import Scenario

TITLE = "What each step buys"
NONE_HELD = "No step makes room for a sequence of this context: the table says what each still lacks."
"""In place of the figure."""
AT_CAPACITY = "usd_per_million_output_tokens_at_capacity"

FORMULA = (
    "sequences = KV blocks of a replica ÷ blocks of such a sequence; TPOT at the offered load; requests/s within every "
    "target; $/M output = cluster $/h ÷ 3,600 ÷ output tokens/s at that capacity × 10⁶; each step alone"
)


def kv_of_one(scenario: Scenario, tried: Scenario, length: int) -> None:
    """Choose a deployment, say where its KV lies, and see what that buys.

    tried: the scenario with the budget that is tried. length: context of the sequences that are counted [tokens].
    """
    st.subheader("Formats, tiers and windows of the KV cache", anchor=False)
    names = list(scenario.deployments)
    first = next((name for name, spec in scenario.deployments.items() if spec.speculation.kind != "none"), names[0])
    name = st.selectbox(
        "Deployment", names, names.index(first), key="memory_deployment", width=360, help=tip("deployment")
    )
    kv_controls(scenario, name)
    found = bought(tried, name, length)
    statistic = max(limits_of(scenario.slo).get("tpot_s", {}), default="p95")
    held = [Held(one.step.name, one.sequences, one.shortfall_bytes, _possible(one)) for one in found]
    explained(
        TITLE, figures.steps_figure(held, length), figures.steps_alt(held, length),
        computed_by(FORMULA, answers.estimate(), method=ESTIMATED), says=f"{name}, each step alone",
        rows=[csv_row(one, length) for one in found], empty=NONE_HELD,
    )  # fmt: skip
    lacking = any(one.shortfall_bytes for one in found)
    tables.show([line(one, length, statistic, lacking=lacking) for one in found])
    for sentence in reasons(found):
        st.caption(sentence)
    st.caption(
        "Estimated. What formats and windows cost in quality or acceptance is not in it; more sequences make a replica "
        "cheaper only where memory, and not time, ends its batch."
    )


def _possible(one: Bought) -> bool:
    return one.fits or one.shortfall_bytes > 0


def line(one: Bought, length: int, statistic: str, *, lacking: bool) -> dict[str, str]:
    """A step as a line of the table.

    lacking: whether any step lacks memory, which is then said of all.
    """
    row = one.row or {}
    tpot = duration((row.get("tpot_s") or {}).get(statistic)) if row else ABSENT
    return {
        "step": one.step.name,
        f"sequences of {context(length)}": count(one.sequences),
        "KV tokens": count(one.kv_tokens),
        **({"lacks": gib(one.shortfall_bytes) if one.shortfall_bytes else ABSENT} if lacking else {}),
        "KV on the host": percent(one.kv_host_share) if one.kv_host_bytes else ABSENT,
        f"TPOT {statistic}": f"{tpot}, overloaded" if row.get("saturated") else tpot,
        "requests/s in target": significant(row.get("capacity_req_per_s")),
        "$/M at capacity": usd(row.get(AT_CAPACITY)),
    }


def csv_row(one: Bought, length: int) -> dict[str, Any]:
    """A step, unrounded."""
    row = one.row or {}
    return {
        "step": one.step.name,
        "changes": "; ".join(f"{path}={value}" for path, value in one.step.changes.items()),
        "context_tokens": length,
        "sequences": one.sequences,
        "kv_tokens": one.kv_tokens,
        "kv_host_bytes": one.kv_host_bytes,
        "kv_host_share": one.kv_host_share,
        **{f"tpot_s.{name}": value for name, value in (row.get("tpot_s") or {}).items()},
        "saturated": row.get("saturated"),
        "capacity_req_per_s": row.get("capacity_req_per_s"),
        AT_CAPACITY: row.get(AT_CAPACITY),
        "shortfall_bytes": one.shortfall_bytes,
        "reason": one.reason,
    }


def reasons(found: Sequence[Bought]) -> list[str]:
    """Why steps cannot be taken, or have no estimate, each reason once; what lacks memory stands in the table."""
    said: dict[str, list[str]] = {}
    for one in found:
        if one.reason and not one.shortfall_bytes:
            said.setdefault(one.reason, []).append(one.step.name)
    return [f"{', '.join(names)}: {reason}." for reason, names in said.items()]
