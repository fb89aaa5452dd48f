"""The HBM ledger as bars, one for each GPU role, and the sequences that its KV holds by their length."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from app.figures.names import short
from app.figures.style import LIMIT, Look, figure, log_axis, safe, upright
from app.format import context, count, gib, gigabytes, percent, times
from app.ledgers import draft_parts
from app.report.scales import plain_number

Row = Mapping[str, Any]
"""A ledger row as plain values."""

DRAFTS = "draft weights"
PARTS = (
    ("target_weights_bytes", "target weights", "#4c5b6b", "", "parameters × bytes of their format ÷ their GPUs"),
    ("draft_weights_bytes", DRAFTS, "#9b5fb5", "x", "parameters × bytes of their format ÷ their GPUs"),
    ("activation_bytes", "activations", "#c9a227", "/", "logits of the sampler + buffers of the layers"),
    ("runtime_bytes", "runtime", "#a0522d", ".", "CUDA context, collective buffers, what the engine reserves"),
    ("kv_budget_bytes", "KV cache", "#3c9d6f", "-", "usable − all before, in whole blocks"),
)
"""Field, name, colour, pattern, formula: never told apart by colour alone."""

HOST = ("KV on the host", "#79b8c9", "|", "what the engine may keep of the target's KV beyond HBM")
UNUSED = ("unused", "rgba(128, 128, 128, 0.18)")
PATTERN = {"solidity": 0.2, "fillmode": "overlay", "fgcolor": "#fff", "fgopacity": 0.55}
TICKS_APART = 4
"""Context ÷ the one before it, of those that are labelled."""
BAR_PX, ROOM_PX = 44, 150
"""Height of a bar, and what axis and legend take."""

LABEL_LETTERS = 22
"""Letters of a deployment beside its bar, which leave the bar room on a phone."""


def ledger_figure(rows: Sequence[Row]) -> go.Figure:
    """What a GPU's memory goes to; a red upright ends the memory, a tick what the engine may use of it.

    What lies on the host stands beyond the red upright.
    """
    names = [role_name(row) for row in rows]
    shown = figure("GB (10⁹ bytes) per GPU", "", height=ROOM_PX + BAR_PX * max(len(rows), 1))
    for field, name, colour, pattern, says in PARTS:
        sizes = [float(row[field]) for row in rows]
        if any(sizes):
            _bars(
                shown,
                rows,
                sizes,
                name,
                {"color": colour, "pattern": PATTERN | {"shape": pattern}},
                says,
            )
    left = [max(float(row["hbm_bytes"]) - used_bytes(row), 0.0) for row in rows]
    _bars(shown, rows, left, UNUSED[0], {"color": UNUSED[1]}, "HBM − all before")
    host = [float(row["kv_host_bytes"]) for row in rows]
    if any(host):
        name, colour, pattern, says = HOST
        _bars(shown, rows, host, name, {"color": colour, "pattern": PATTERN | {"shape": pattern}}, says)
    _uprights(shown, names, [float(row["usable_bytes"]) for row in rows], "what the engine may use", "#808080")
    _uprights(shown, names, [float(row["hbm_bytes"]) for row in rows], "HBM, as CUDA shows it", LIMIT)
    shown.update_layout(barmode="stack", bargap=0.35, legend={"traceorder": "normal"})
    told = short([str(row["deployment"]) for row in rows], LABEL_LETTERS)
    labels = [role_name(row, name) for row, name in zip(rows, told, strict=True)]
    shown.update_yaxes(autorange="reversed", showgrid=False, tickvals=names, ticktext=labels)
    return shown


def role_name(row: Row, name: str | None = None) -> str:
    """Deployment and role of a bar; the role is left out where it is the target alone.

    name: what the deployment is called in its place.
    """
    role = "" if row["role"] == "target" else f"<br>{row['role']}"
    return f"{safe(name or str(row['deployment']))}{role}"


def used_bytes(row: Row) -> float:
    """All parts of a ledger row [bytes]."""
    return sum(float(row[field]) for field, *_ in PARTS)


def _bars(
    shown: go.Figure, rows: Sequence[Row], sizes: Sequence[float], name: str, marker: Mapping[str, Any], says: str
) -> None:
    text = [
        f"{row['deployment']}: {name} {gigabytes(size)} ({gib(size)}), "
        f"{percent(size / float(row['hbm_bytes']))} of the GPU · {drafts_in(row) if name == DRAFTS else ''}{says}"
        for row, size in zip(rows, sizes, strict=True)
    ]
    shown.add_bar(
        x=[size / 1e9 for size in sizes], y=[role_name(row) for row in rows], orientation="h", name=name, marker=marker,
        customdata=text, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def drafts_in(row: Row) -> str:
    """Draft weights by draft and the router's, where there is more than one draft."""
    parts = draft_parts(row)
    return (
        ", ".join(f"{safe(name)} {gigabytes(size)}" for name, size in parts.items()) + " · " if len(parts) > 1 else ""
    )


def _uprights(shown: go.Figure, names: Sequence[str], at_bytes: Sequence[float], says: str, colour: str) -> None:
    shown.add_scatter(
        x=[size / 1e9 for size in at_bytes], y=names, mode="markers", name=says, showlegend=False,
        marker={"symbol": "line-ns", "size": 20, "line": {"width": 2.5, "color": colour}},
        customdata=[f"{says}: {gigabytes(size)} ({gib(size)})" for size in at_bytes],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def sequences_figure(rows: Sequence[Row], looks: Mapping[str, Look]) -> go.Figure:
    """Sequences that a replica's KV holds at once, by their context; a role that holds none has no point there."""
    shown = figure("context [tokens]", "sequences per replica")
    for row in rows:
        look = looks[row["deployment"]]
        held = {int(length): int(number) for length, number in row["max_sequences_at"].items() if number}
        text = [
            f"{count(n)} sequences of {context(length)} · KV blocks ÷ blocks of a sequence"
            for length, n in held.items()
        ]
        shown.add_scatter(
            x=list(held), y=list(held.values()), mode="lines+markers", line=look.line, marker=look.marker,
            name=safe(row["deployment"]), text=text, hovertemplate="%{fullData.name}: %{text}<extra></extra>",
        )  # fmt: skip
    lengths = [int(length) for row in rows for length in row["max_sequences_at"]]
    numbers = [float(value) for trace in shown.data for value in trace.y]
    ticks = _apart(sorted(lengths))
    shown.update_xaxes(type="log", tickvals=ticks, ticktext=[context(length) for length in ticks], tickangle=0)
    shown.update_yaxes(**log_axis(numbers, plain_number))
    return shown


def _apart(lengths: Sequence[int]) -> list[int]:
    """Contexts whose labels have room beside each other on a phone.

    >>> _apart([1024, 4096, 8192, 32768])
    [1024, 4096, 32768]
    """
    kept: list[int] = []
    for length in lengths:
        if not kept or length >= TICKS_APART * kept[-1]:
            kept.append(length)
    return kept


def ledger_alt(rows: Sequence[Row]) -> str:
    """The same as `ledger_figure` in words."""
    said = []
    for row in rows:
        parts = ", ".join(f"{name} {gigabytes(row[field])}" for field, name, *_ in PARTS if row[field])
        if row["kv_host_bytes"]:
            parts += f", and {HOST[0]} {gigabytes(row['kv_host_bytes'])} ({percent(row['kv_host_share'])} of it)"
        verdict = "fits" if row["fits"] else f"lacks {gigabytes(row['shortfall_bytes'])}"
        said.append(
            f"{row['deployment']} ({row['role']}) on {row['gpu']}, {gigabytes(row['hbm_bytes'])}: {parts}; {verdict}"
        )
    return f"HBM of each GPU. {'. '.join(said)}."


def sequences_alt(rows: Sequence[Row]) -> str:
    """The same as `sequences_figure` in words."""
    said = (
        f"{row['deployment']}: "
        + ", ".join(f"{count(n)} of {context(int(length))}" for length, n in row["max_sequences_at"].items())
        for row in rows
    )
    return f"Sequences that a replica holds, by context. {'; '.join(said)}."


class Held(NamedTuple):
    """What is held with a step taken."""

    name: str
    sequences: int
    shortfall_bytes: int = 0
    """What it lacks on a GPU where it does not fit."""
    possible: bool = True
    """Whether the step can be taken at all."""


STEP_LOOKS = ("#8d99a6", "#3c9d6f", "#c9a227")
"""As it is; more than that; not more."""
LABEL_ROOM = 1.7
"""Length of the axis ÷ the longest bar: its label stands beyond it and beyond the upright, on a phone too."""


def steps_figure(held: Sequence[Held], length: int) -> go.Figure:
    """Sequences of a length that a replica holds with each step alone; the first is how it is, and has an upright.

    Only axes where no step holds any.
    """
    first, names = held[0], [safe(one.name) for one in held]
    numbers, said = [one.sequences for one in held], [step_text(one, held[0]) for one in held]
    shown = figure(f"sequences of {context(length)} per replica", "", height=90 + 34 * len(held))
    if not any(numbers):
        return shown
    colours = [STEP_LOOKS[0], *(STEP_LOOKS[1 if one.sequences > first.sequences else 2] for one in held[1:])]
    shown.add_bar(
        x=numbers, y=names, orientation="h", showlegend=False, name="sequences", marker={"color": colours},
        customdata=said, hovertemplate="%{y}: %{customdata}<extra></extra>",
    )  # fmt: skip
    shown.add_scatter(
        x=[max(number, first.sequences) for number in numbers], y=names, mode="text",
        text=[f"\u2002{text}" for text in said], textposition="middle right",
        showlegend=False, hoverinfo="skip", cliponaxis=False,
    )  # fmt: skip
    if first.sequences:
        upright(shown, first.sequences)
    shown.update_xaxes(range=[0, LABEL_ROOM * max(*numbers, 1)])
    shown.update_yaxes(autorange="reversed", showgrid=False)
    return shown


def step_text(one: Held, first: Held) -> str:
    """What a step has, and how many times what there is.

    >>> step_text(Held("kv", 276), Held("as it is", 138))
    '276, 2.00×'
    """
    if one.shortfall_bytes or not one.possible:
        return f"lacks {gib(one.shortfall_bytes)}" if one.possible else "not possible"
    ratio = one.sequences / first.sequences if first.sequences else 1.0
    return count(one.sequences) + (f", {times(ratio)}" if ratio != 1.0 else "")


def steps_alt(held: Sequence[Held], length: int) -> str:
    """The same as `steps_figure` in words."""
    said = "; ".join(f"{one.name} {step_text(one, held[0])}" for one in held)
    return f"Sequences of {context(length)} that a replica holds, with each step alone: {said}."
