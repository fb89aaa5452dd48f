"""One line that says why the winner wins: what binds each, and what its GPUs get done for their price."""

from collections.abc import Iterator, Mapping
from typing import Any

from simulator.outcome.report import Row

BOUND_WORDS = {
    "weight_bandwidth": "reading weights",
    "compute": "computing the rows of a step",
    "kv_bandwidth": "reading the KV cache",
    "prefill_compute": "computing prompts",
    "collectives": "collectives between GPUs",
    "draft": "drafting",
    "host": "host time",
    "kv_capacity": "the size of the KV cache",
    "max_num_seqs": "max_num_seqs",
    "token_budget": "the token budget of a step",
    "memory": "memory",
}
"""What binds → how a sentence says it."""

LIMITS = ("kv_capacity", "max_num_seqs", "token_budget")
"""Bounds that are a limit on what runs at once, not a part of step time."""


def bound_phrase(row: Row) -> str:
    """What binds a deployment, with its share of the time where that is known.

    >>> bound_phrase({"bound_by": "draft", "bound_share": {"draft": 0.75}})
    'drafting (in steps that take 75 % of its step time)'
    """
    name = row["bound_by"] or "nothing"
    words = BOUND_WORDS.get(name, name)
    share = (row.get("bound_share") or {}).get(name)
    if share is None:
        return words
    if name in LIMITS:
        return f"{words} (requests waited for it {share * 100:.0f} % of the time)"
    return f"{words} (in steps that take {share * 100:.0f} % of its step time)"


def why_line(rows: Mapping[str, Row], ranking: Mapping[str, Any]) -> str:
    """Why the leader leads the runner-up."""
    if ranking["leader"] is None:
        return "no deployment holds the load at any size, or has a capacity"
    winner = rows[ranking["leader"]]
    if ranking["runner_up"] is None:
        return f"only {winner['deployment']} has a cost on this basis; it is bound by {bound_phrase(winner)}"
    other = rows[ranking["runner_up"]]
    binds = f"it is bound by {bound_phrase(winner)}, {other['deployment']} by {bound_phrase(other)}"
    done = _fleets(winner, other) if ranking["basis"] == "usd_per_hour_for_offered" else _work_for_price(winner, other)
    why = f"{winner['deployment']} {done}; {binds}" if done else f"{winner['deployment']}: {binds}"
    return why + "".join(f"; {phrase}" for phrase in _drafting(winner, other))


def _drafting(winner: Row, other: Row) -> Iterator[str]:
    """What drafts bring a winner and what they take, beside those of the other."""
    if not winner.get("drafts"):
        return
    for row in (winner, other):
        if row.get("drafts") and row["tokens_per_step"] is not None:
            share = (row["step_time_share"] or {}).get("draft", 0.0)
            yield (
                f"{row['deployment']} commits {row['tokens_per_step']:.2f} tokens per step ({row['speculation']}) and "
                f"drafts for {share * 100:.0f} % of its step time"
            )


def _fleets(winner: Row, other: Row) -> str:
    """GPUs that hold the offered load, and what they cost."""
    mine, yours = (
        f"{row['gpus_for_offered']} {row['gpu']} for ${row['usd_per_hour_for_offered']:.2f}/h"
        for row in (winner, other)
    )
    return f"holds the offered load on {mine}, {other['deployment']} on {yours}"


def _work_for_price(winner: Row, other: Row) -> str:
    """Capacity of a GPU against its price, both as ratios of winner to runner-up."""
    if not winner["capacity_req_per_s"] or not other["capacity_req_per_s"]:
        return ""
    work = (winner["capacity_req_per_s"] / winner["num_gpus"]) / (other["capacity_req_per_s"] / other["num_gpus"])
    price = winner["usd_per_gpu_hour"] / other["usd_per_gpu_hour"]
    return f"serves {work:.2f} times the requests per GPU at {price:.2f} times the price of {other['deployment']}'s GPU"
