"""Predicted against measured speed-ups on the screen: groups beside a trivial prediction, choices, worst rows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.format import count, cut, percent, plural, significant, times
from app.tables.validation import MOST_REASONS, error_text, plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

LEGEND = """\
Errors of the speed-up in %: median (mean) bias; bias above 0: predicted more than measured. Trivial: a constant × the
accepted length, the constant from other targets and GPUs. Sign: share of rows where gain and loss are told apart. Own
length: rows that do not borrow an accepted length. Host times that were fitted on rows of an engine, GPU and target
never predict those rows: there they are fitted without them."""


def speculation_blocks(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """All that is shown of a validation of speed-ups."""
    from rich.text import Text

    yield groups_table(found)
    yield Text(LEGEND, style="dim")
    yield Text()
    for line in choices(found):
        yield Text(line)
    if found["worst"]:
        yield Text()
        yield worst_table(found["worst"])
    for text, number in found["assumed"].items():
        yield Text(f"Assumed for {plural(number, 'row')}: {text}")
    reasons = Counter(row["reason"] for row in found["unpredicted"])
    for reason, number in reasons.most_common(MOST_REASONS):
        yield Text(f"Not predicted: {plural(number, 'row')}: {reason}")


def groups_table(found: Mapping[str, Any]) -> "Table":
    """A line a group, then all rows."""
    table = plain_table("Speed-up by speculation, predicted against measured")
    for name in ("engine", "GPU", "target", "draft", "method"):
        table.add_column(name, overflow="fold", min_width=13 if name == "target" else None)
    for name in ("rows", "specfleet", "trivial", "sign"):
        table.add_column(name, justify="right", no_wrap=True)
    for group in found["groups"]:
        names = [group["engine"], group["gpu"], group["target"], cut(group["draft"], 22), group["method"]]
        table.add_row(*names, *_figures(group), end_section=group is found["groups"][-1])
    table.add_row("all", "", "", "", "", *_figures(found["overall"]), style="bold")
    own = found["own_accepted_length"]
    if own["count"] != found["overall"]["count"]:
        table.add_row("own length", "", "", "", "", *_figures(own))
    return table


def _figures(group: Mapping[str, Any]) -> list[str]:
    right = percent(group["speedup"]["sign_right"])
    return [count(group["count"]), error_text(group["speedup"]), error_text(group["baseline"]), right]


def choices(found: Mapping[str, Any]) -> Iterator[str]:
    """What follows from the predictions, in a line each."""
    for gpu, line in found["in_sample_baseline"].items():
        constant, error = significant(line["constant"]), percent(line["median_ape"])
        yield f"A constant fitted on the very rows of {gpu} ({constant} × the accepted length): median error {error}"
    regret = found["best_draft_tokens"]
    if regret["sweeps"]:
        fixed = f"always {regret['always']}: {percent(regret['always_mean'])}, {percent(regret['always_worst'])}"
        yield (
            f"Best draft tokens of {plural(regret['sweeps'], 'sweep')}: lost by the predicted choice "
            f"{percent(regret['mean'])} on average, {percent(regret['worst'])} at worst ({fixed})"
        )
    trees = found["trees"]
    if trees["pairs"]:
        yield f"Tree against chain of as many nodes: ranked as measured in {trees['ranked_right']} of {trees['pairs']}"


def worst_table(rows: Sequence[Mapping[str, Any]]) -> "Table":
    """The rows furthest off."""
    table = plain_table("Furthest off")
    for name in ("row", "configuration", "predicted", "measured", "÷ measured"):
        table.add_column(name, justify="left" if name in ("row", "configuration") else "right", overflow="fold")
    for row in rows:
        predicted, measured = row["speedup"]["predicted"], row["speedup"]["measured"]
        where = (
            f"{row['engine']} {row['gpu']} {row['target']} {row['method']} {row['dataset']} "
            f"batch {row['sequences']} nodes {row['draft_tokens']}"
        )
        table.add_row(row["id"], where, times(predicted), times(measured), times(predicted / measured))
    return table
