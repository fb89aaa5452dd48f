"""A plan on the screen: the clusters that nothing beats, the choice and what it rests on, how it was searched."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from app.format import ABSENT, count, duration, percent, plural, significant, usd
from app.tables.economics import Line
from app.tables.figures import Figure, Limits, bound_words, latency_figure, targets

if TYPE_CHECKING:
    from simulator.spec.plan import Plan

Found = Mapping[str, Any]
Point = Mapping[str, Any]

STAR = "★"
LONGEST_NAME = 40
"""Width up to which the name of a cluster is not wrapped."""
MOST_REASONS = 5
"""Reasons that are told of candidates which are none, or no answer."""

WENT = (
    ("refused", "impossible"),
    ("bounded", "ruled out by a bound"),
    ("estimated", "estimated"),
    ("simulated", "simulated"),
)
"""Count of candidates → what became of them."""


def plan_title(name: str, offered: str, limits: Limits, plan: "Plan") -> str:
    """What is asked, in a line."""
    asked = [offered, *targets(limits)]
    if plan.headroom:
        asked.append(f"{percent(plan.headroom)} headroom")
    if plan.spare_replicas:
        asked.append(plural(plan.spare_replicas, "spare replica"))
    if plan.budget is not None and plan.budget.gpus is not None:
        asked.append(f"at most {plural(plan.budget.gpus, 'GPU')}")
    if plan.budget is not None and plan.budget.usd_per_hour is not None:
        asked.append(f"at most {usd(plan.budget.usd_per_hour)}/h")
    return f"{name} — a plan for {', '.join(asked)}"


def plan_table(found: Found, limits: Limits, title: str) -> Table:
    """The Pareto set and the runner-up, the cheapest first, a line a cluster."""
    from rich import box

    table = Table(
        title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False,
        pad_edge=False, header_style="bold", padding=(0, 1, 0, 0),
    )  # fmt: skip
    latencies = shown_latencies(limits)
    points = shown_points(found)
    longest = max((len(point["name"]) + 2 for point in points), default=0)
    table.add_column("cluster", overflow="fold", no_wrap=longest <= LONGEST_NAME)
    headings = ("GPUs", "re-\nplicas", "$/h", "$/M out", *(_heading(figure.label) for figure in latencies))
    for heading in (*headings, "load ÷\ncapacity", "held in\nsim."):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("bound by", overflow="fold")
    for point in points:
        won = point["name"] == found["choice"]
        cells = [
            f"{count(point['num_gpus'])}×{point['gpu']}",
            replicas(point),
            usd(point["usd_per_hour"]),
            usd(point["usd_per_million_output_tokens"]),
            *(figure.show(point).text for figure in latencies),
            percent(point["utilisation"]),
            held(point),
            bound_words(point),
        ]
        name = Text(f"{point['name']} {STAR}" if won else point["name"], style="bold" if won else "")
        table.add_row(name, *map(Text, cells))
    return table


def shown_latencies(limits: Limits) -> list[Figure]:
    """Percentiles of the target; without one, that of a whole answer."""
    shown = [(metric, name) for metric, of in limits.items() for name in of] or [("e2e_s", "p95")]
    return [latency_figure(metric, name, limits, short=True) for metric, name in shown]


def _heading(label: str) -> str:
    """A latency's label on two lines, its limit below.

    >>> _heading("TTFT p95 ≤ 1 s")
    'TTFT p95\\n≤ 1 s'
    """
    return label.replace(" ≤", "\n≤")


def shown_points(found: Found) -> list[Point]:
    """The Pareto set, the choice and the runner-up, each once, by cost."""
    by_name = {point["name"]: point for point in found["points"]}
    names = dict.fromkeys([*found["pareto"], *(name for name in (found["choice"], found["runner_up"]) if name)])
    return sorted(
        (by_name[name] for name in names),
        key=lambda point: (float(point["usd_per_hour"]), point["name"] != found["choice"]),
    )


def replicas(point: Point) -> str:
    """Replicas that carry the load, and spares."""
    return count(point["replicas"]) + (f" + {point['spare_replicas']}" if point["spare_replicas"] else "")


def held(point: Point) -> str:
    """Replications in which it held in simulation; nothing where it was not simulated."""
    if point["method"] != "simulated":
        return ABSENT
    return f"{round(point['holds_share'] * point['replications'])} of {point['replications']}"


def plan_lines(found: Found) -> Iterator[Line]:
    """Label, sentence and style of each line below the table."""
    by_name = {point["name"]: point for point in found["points"]}
    choice = by_name.get(found["choice"])
    if choice is None:
        yield "Choice", "none: no candidate holds this load within the targets and the budget", "bold red"
        yield from sentences("Nearest", found["nearest"])
        yield from sentences("Relax", found["relax"])
        yield from _why_not(found["points"])
    else:
        yield "Choice", f"{choice['name']}: {bought(choice)}", "bold green"
        yield from _of_choice(found, choice, by_name.get(found["runner_up"]))
    yield "Searched", searched(found), "dim"
    yield from _left_out(found["refused"])


def _of_choice(found: Found, choice: Point, runner_up: Point | None) -> Iterator[Line]:
    if choice["users_served"] is not None:
        yield (
            "Users",
            f"up to {count(choice['users_served'])} at its capacity, headroom left free, if answers stay as fast",
            "",
        )
    yield from sentences("Confidence", found["confidence"])
    yield from sentences("Bound by", found["binds"])
    if runner_up is not None:
        dearer = runner_up["usd_per_hour"] / choice["usd_per_hour"]
        yield "Runner-up", f"{runner_up['name']}: {bought(runner_up)}, {significant(dearer)} times the cost", ""
    yield from sentences("Flips", found["flip"])
    schedule = found["draft_schedule"]
    if schedule is not None and schedule["why_not"] is None:
        yield "K to run", schedule["says"], ""


def bought(point: Point) -> str:
    """What a cluster consists of and costs."""
    spares = f" and {plural(point['spare_replicas'], 'spare')}" if point["spare_replicas"] else ""
    consists = f"{plural(point['replicas'], 'replica')}{spares} on {count(point['num_gpus'])} × {point['gpu']}"
    return f"{consists}, {usd(point['usd_per_hour'])}/h, {usd(point['usd_per_month'])} a month"


def sentences(label: str, said: Any) -> Iterator[Line]:
    """A part of the answer: a sentence, several, or sentences beside their numbers; nothing where there is none."""
    for one in said if isinstance(said, list | tuple) else [said]:
        text = one.get("sentence") if isinstance(one, Mapping) else one
        if text:
            yield label, str(text), ""
            label = ""


def searched(found: Found) -> str:
    """How many candidates went which way, and how long it took."""
    counts = found["counts"]
    went = [f"{counts[name]:,} {word}" for name, word in WENT if counts.get(name)]
    return f"{plural(counts['candidates'], 'candidate')}: {', '.join(went)}; {duration(found['seconds'])}"


def source_of(found: Found) -> dict[str, Any]:
    """Where the numbers of the choice and the runner-up come from; the others of the Pareto set are theirs alike."""
    told = [name for name in (found["choice"], found["runner_up"]) if name is not None]
    others = {point["name"] for point in found["points"]} - set(told)
    source = dict(found["provenance"])
    for part in ("calibration", "prices"):
        source[part] = {name: of for name, of in (source.get(part) or {}).items() if name not in others or not told}
    assumed = source.get("assumptions") or ()
    return source | {"assumptions": [text for text in assumed if text.partition(": ")[0] not in others]}


def _why_not(points: Sequence[Point]) -> Iterator[Line]:
    """Why candidates are no answer, the most frequent reason first."""
    reasons = Counter(point["why_not"] for point in points if point["why_not"])
    label = "Why not"
    for reason, number in reasons.most_common(MOST_REASONS):
        yield label, f"{plural(number, 'candidate')}: {reason}", "red"
        label = ""
    if len(reasons) > MOST_REASONS:
        yield "", f"… and {len(reasons) - MOST_REASONS:,} more reasons: --json has all of them", "dim"


def _left_out(refused: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Choices that are impossible together, and why."""
    ordered = sorted(refused, key=lambda one: -one["count"])
    label = "Left out"
    for one in ordered[:MOST_REASONS]:
        yield label, f"{plural(one['count'], 'candidate')}, such as {one['example']}: {one['reason']}", "yellow"
        label = ""
    if len(ordered) > MOST_REASONS:
        yield "", f"… and {len(ordered) - MOST_REASONS:,} more reasons: --json has all of them", "dim"
