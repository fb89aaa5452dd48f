"""Several drafts held against single ones: what they bring, what they take, and whether one of their size is there."""

from collections.abc import Iterator, Sequence

from app.format import percent, significant, times
from app.tables.figures import Row

SAME_BUDGET = 0.2
"""Share by which the weights of a single draft may differ from those of several to be called the same budget."""

Note = tuple[str, str]
"""Deployments, and what is to be known of them."""


def draft_notes(rows: Sequence[Row]) -> Iterator[Note]:
    """Of every deployment with several drafts: how it does beside single drafts, and whether one is as large."""
    if len({row.get("point") for row in rows}) <= 1:
        yield from several_notes(rows)
    yield from budget_notes(rows)


def budget_notes(rows: Sequence[Row]) -> Iterator[Note]:
    """Several drafts that no single draft of their size stands beside."""
    alone = [row for row in rows if _several(row) and not any(_as_large(row, one) for one in rows)]
    if alone:
        yield (
            ", ".join(dict.fromkeys(str(row["deployment"]) for row in alone)),
            f"no single draft of the same budget (±{percent(SAME_BUDGET)} of the bytes, same GPU) beside it: nothing "
            "says that several are better",
        )


def several_notes(rows: Sequence[Row]) -> Iterator[Note]:
    """Several drafts against the best single one of their GPU and one of their size, at one load."""
    for row in rows:
        singles = [one for one in rows if _single(one) and one["gpu"] == row["gpu"] and _per_gpu(one)]
        if _several(row) and _per_gpu(row) and singles:
            best = max(singles, key=_per_gpu)
            alike = [one for one in singles if one is not best and _as_large(row, one)]
            others = [(best, "the best single draft"), *((one, "a single draft of its bytes") for one in alike[:1])]
            yield str(row["deployment"]), _against(row, others)


def _against(row: Row, others: Sequence[tuple[Row, str]]) -> str:
    served = " and ".join(
        f"{times(_per_gpu(row) / _per_gpu(one))} the requests per GPU of {one['deployment']} ({what})"
        for one, what in others
    )
    tokens, shares = (" and ".join(show(one) for one, _ in others) for show in (_tokens, _drafting))
    return (
        f"holds {served}: {_tokens(row)} tokens per step against {tokens}, and at this load {_drafting(row)} of the "
        f"step time for drafting against {shares}"
    )


def _tokens(row: Row) -> str:
    return significant(row.get("tokens_per_step"))


def _drafting(row: Row) -> str:
    return percent((row.get("step_time_share") or {}).get("draft"))


def _per_gpu(row: Row) -> float:
    return float((row.get("capacity_req_per_s") or 0.0) / (row.get("num_gpus") or 1))


def _several(row: Row) -> bool:
    return len(row.get("drafts") or ()) > 1


def _single(row: Row) -> bool:
    return len(row.get("drafts") or ()) == 1


def _as_large(row: Row, other: Row) -> bool:
    """Whether another deployment has one draft of about the bytes that these drafts have."""
    held = row.get("draft_bytes") or 0
    near = abs((other.get("draft_bytes") or 0) - held) <= SAME_BUDGET * held
    return _single(other) and other["gpu"] == row["gpu"] and near
