"""Predicted against measured on the screen: groups, the overall line, the worst rows, and what was not predicted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.format import ABSENT, count, cut, plural, significant, times

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

TITLES = {"ttft": "TTFT", "tpot": "TPOT", "output_tokens_per_s": "out tokens/s/GPU"}
LOADS = {"closed_loop": "closed loop", "queued_at_once": "queue"}
SHORT_LOADS = {"closed_loop": "closed", "queued_at_once": "queue"}
HALVES = ("fitted", "held_out")
MOST_REASONS = 8
LEGEND = """\
Errors in %: median (mean) bias; bias above 0: predicted more than measured. Fitted: constants of the engine were
fitted on rows that differ in concurrency only; held-out: they were not."""


def error_text(score: Mapping[str, Any]) -> str:
    """Median (mean) error and bias.

    >>> error_text({"count": 3, "median_ape": 0.034, "mean_ape": 0.051, "bias": -0.02})
    '3.4 (5.1) -2.0'
    """
    if not score["count"]:
        return ABSENT
    return f"{score['median_ape'] * 100:.1f} ({score['mean_ape'] * 100:.1f}) {score['bias'] * 100:+.1f}"


def validation_blocks(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """All that is shown of a validation."""
    from rich.text import Text

    yield groups_table(found)
    yield Text(LEGEND, style="dim")
    yield Text()
    if found["worst"]:
        yield worst_table(found["worst"])
    yield from _notes(found)


def groups_table(found: Mapping[str, Any]) -> "Table":
    """A line a group, then all rows, those with fitted constants and the others."""
    table = plain_table("Predicted against measured")
    for name in ("engine", "GPU", "model", "", "load"):
        table.add_column(name, overflow="fold")
    for name in ("rows", *TITLES.values()):
        table.add_column(name, justify="right", no_wrap=True)
    for group in found["groups"]:
        names = [group["engine"], group["gpu"], group["model"], group["precision"], SHORT_LOADS[group["load"]]]
        table.add_row(*names, *_figures(group), end_section=group is found["groups"][-1])
    table.add_row("all", "", "", "", "", *_figures(found["overall"]), style="bold")
    for half in HALVES:
        if found["halves"][half]["count"]:
            table.add_row(half.replace("_", "-"), "", "", "", "", *_figures(found["halves"][half]))
    return table


def _figures(group: Mapping[str, Any]) -> list[str]:
    rows, share = count(group["count"]), group["share_predicted"]
    told = rows if share == 1.0 else f"{count(share * group['count'])} of {rows}" if share is not None else rows
    return [told, *(error_text(group[name]) for name in TITLES)]


def worst_table(rows: Sequence[Mapping[str, Any]]) -> "Table":
    """The rows furthest off."""
    table = plain_table("Furthest off")
    for name in ("row", "configuration", "metric", "÷ measured", "half", "likely cause"):
        table.add_column(name, justify="right" if name == "÷ measured" else "left", overflow="fold")
    for row in rows:
        clients = f" C {count(row['concurrency'])}" if row["load"] == "closed_loop" else " queue"
        where = f"{row['engine']} {row['gpu']} {row['model']} TP {count(row['tp'])} {row['isl']}/{row['osl']}{clients}"
        table.add_row(
            cut(row["id"], 24), where, TITLES[row["metric"]], times(row["ratio"]), row["half"].replace("_", "-"),
            row["flag"] or row["cause"],
        )  # fmt: skip
    return table


def _notes(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    from rich.text import Text

    for title, key in (("Not predicted", "unpredicted"), ("Left out of these figures", "skipped")):
        reasons = Counter(row["reason"] for row in found[key])
        for reason, number in reasons.most_common(MOST_REASONS):
            yield Text(f"{title}: {plural(number, 'row')}: {reason}")
    if found["flagged"]:
        yield Text(f"Faster than their kernels by the measurement: {plural(len(found['flagged']), 'row')}", style="red")


def plain_table(title: str) -> "Table":
    """A table without a frame."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False,
        pad_edge=False, header_style="bold",
    )  # fmt: skip


def shown(metric: str, value: float) -> str:
    """A measured or predicted figure with its unit.

    >>> shown("tpot", 0.0123), shown("output_tokens_per_s", 512.0)
    ('12.3 ms', '512')
    """
    return significant(value) if metric == "output_tokens_per_s" else f"{significant(value * 1e3)} ms"
