"""docs/calibration.md from a check: `python -m calibration.check_doc runs/check-full > docs/calibration.md`."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from calibration.markdown import percent, table
from simulator.errors import ScenarioError, SimulatorError

NOTES = Path(__file__).with_name("check_notes.md")
SUMMARY = "summary.json"
COLUMNS = {
    "ttft_s.mean": "TTFT mean",
    "ttft_s.p90": "TTFT p90",
    "tpot_s.mean": "TPOT mean",
    "itl_s.mean": "ITL mean",
    "e2e_s.mean": "E2E mean",
    "output_tokens_per_s": "output tokens/s",
    "tokens_per_step": "tokens per step",
}
INTRODUCTION = """\
Written by `make calibration`, from one run of `specfleet calibrate check`. The engine of this project served requests
that no fit had seen; the simulator was given the same requests and the profile of `specfleet calibrate device`, and
nothing that was measured while they were served. Texts are those that `specfleet calibrate acceptance` did not fit on.
Lengths are drawn and stop tokens are off. Every point ran twice, the two runs far apart in time and in an order of its
own: *apart* is how far they differ. A goal is the larger of its figure and 1.5 × apart, for no prediction can be asked
to be nearer to a run than the machine is to itself; what holds by that alone is said to hold by scatter.

Just before and after every run some steps of the profile are taken again; their time ÷ the profile's is the machine's
*pace*. The last two columns of the goals say what would hold, had every step been predicted at the pace of its run:
what they mend is the machine's, what they leave is ours. No goal is judged by them."""


def document(found: Mapping[str, Any]) -> str:
    """The whole page."""
    return "\n\n".join(block.strip() for block in _blocks(found)) + "\n"


def _blocks(found: Mapping[str, Any]) -> Iterator[str]:
    yield "# Calibration: predicted against measured on one's own device"
    yield INTRODUCTION
    yield "![Predicted against measured: every point of the check](pictures/calibration.svg)"
    yield "The same with parity plots of every figure, as the command writes it: [calibration.html](calibration.html)."
    yield "## The machine"
    yield _machine(found)
    yield "## Goals"
    yield _goals(found["lines"])
    yield from _wider(found["about"].get("wider", {}))
    yield from _missed(found["lines"])
    yield "## Points"
    yield (
        "Measured (mean of both runs), error of the prediction, and in brackets that of timing alone: predicted again "
        "with the accepted counts as measured."
    )
    yield _points(found["points"])
    if found["gains"]:
        yield "## What drafts gain"
        yield _gains(found)
        yield _batches(found["pays_up_to_batch"])
    yield NOTES.read_text(encoding="utf-8")


def _machine(found: Mapping[str, Any]) -> str:
    about = found["about"]
    machine = about["machine"]
    rows = [
        ["device", str(machine["device"])],
        ["threads", f"{machine['threads']} of {machine['cpus']}"],
        ["torch, backend, weights", f"{machine['torch']}, {machine['backend']}, {machine['dtype']}"],
        ["clock", str(machine["clock"])],
        ["profile", about["profile"] + (" (**noisy**)" if about["profile_noisy"] else "")],
        ["the same steps since, before and after the runs", _since(about["since_profile"])],
        ["pace beside each run: least, median, most", _paces(found["points"])],
        ["check", f"{about['size']}, seed {about['seed']}, {about['date']}"],
    ]
    return table(["what", "value"], rows)


def _since(found: Mapping[str, Sequence[float]]) -> str:
    """How much longer the profile's steps take now.

    >>> _since({"tiny": [0.01, -0.02]})
    'tiny +1.0 %, −2.0 %'
    """
    return "; ".join(f"{name} {', '.join(map(signed, values))}" for name, values in found.items())


def _paces(points: Sequence[Mapping[str, Any]]) -> str:
    """How many times as long as the profile says steps took beside the runs of each system.

    >>> _paces([{"system": "tiny", "pace": [0.98, 1.1]}, {"system": "tiny", "pace": [1.0, 1.02]}])
    'tiny 0.98, 1.01, 1.10'
    """
    of: dict[str, list[float]] = {}
    for point in points:
        of.setdefault(point["system"], []).extend(point["pace"])
    return "; ".join(f"{name} {min(p):.2f}, {median(p):.2f}, {max(p):.2f}" for name, p in of.items())


def _goals(lines: Sequence[Mapping[str, Any]]) -> str:
    head = [
        "what", "goal", "points held", "mean error", "worst", "at", "apart", "met", "at its pace: held",
        "mean",
    ]  # fmt: skip
    rows = []
    for line in lines:
        what = f"{line['what']} ({line['note']})" if line["note"] else line["what"]
        goal = f"≤ {line['goal'] * 100:g} %" if line["goal"] else "exact"
        rows.append(
            [what, goal, f"{line['held']} of {line['count']}", percent(line["mean_error"]),
             signed(line["worst_error"]), line["worst_at"] or "–", percent(line["apart"]), _met(line),
             f"{line['at_pace']['held']} of {line['at_pace']['count']}", percent(line["at_pace"]["mean_error"])]
        )  # fmt: skip
    return table(head, rows)


def _wider(systems: Mapping[str, float]) -> Iterator[str]:
    """Systems that may be further off than the goals say."""
    if systems:
        by = ", ".join(f"{name} {points * 100:g}" for name, points in systems.items())
        yield f"With drafts, points by which a goal is wider, for what is not one draft's chains: {by}."


def _met(line: Mapping[str, Any]) -> str:
    if line["passed"] is None:
        return "no points"
    scatter = f", {line['by_scatter']} by scatter" if line["by_scatter"] else ""
    return ("yes" if line["passed"] else "**no**") + scatter


def _missed(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = [
        [line["what"], one["where"], signed(one["error"]), percent(one["allowed"])]
        for line in lines
        for one in line["missed"]
    ]
    if rows:
        yield "### What missed"
        yield table(["what", "where", "error", "allowed"], rows)


def _points(points: Sequence[Mapping[str, Any]]) -> str:
    head = ["point", "requests", "requests/s", *COLUMNS.values(), "step MAPE (apart)", "steps replayed"]
    return table(head, [_point(point) for point in points])


def _point(point: Mapping[str, Any]) -> list[str]:
    replayed = ", ".join(f"{r['equal']} of {r['steps']}" for r in point["replay"])
    rate = "–" if point["rate_per_s"] is None else f"{point['rate_per_s']:.3g}"
    steps = f"{percent(point['steps']['mape'])} ({percent(point['steps']['apart'])})"
    return [
        point["key"], str(point["requests"]), rate,
        *(figure(point["figures"][name], name) for name in COLUMNS), steps, replayed,
    ]  # fmt: skip


def figure(found: Mapping[str, Any], name: str) -> str:
    """A figure as measured, its error, and the error of timing.

    >>> figure({"measured": [0.02, 0.02], "error": 0.031, "error_of_timing": -0.01}, "tpot_s.mean")
    '20 ms, +3.1 % (−1.0 %)'
    """
    known = [value for value in found["measured"] if value is not None]
    if not known:
        return "–"
    mean = sum(known) / len(known)
    shown = (
        f"{mean * 1e3:{'.3g' if mean < 1.0 else ',.0f'}} ms"
        if name.partition(".")[0].endswith("_s") and "per" not in name
        else f"{mean:.4g}"
    )
    return f"{shown}, {signed(found['error'])} ({signed(found['error_of_timing'])})"


def signed(value: float | None) -> str:
    """An error with its sign.

    >>> signed(0.0123), signed(-0.2), signed(None)
    ('+1.2 %', '−20.0 %', '–')
    """
    return "–" if value is None else f"{value * 100:+.1f} %".replace("-", "−")


def _gains(found: Mapping[str, Any]) -> str:
    best = {one["load"]: one for one in found["best"]}
    head = ["load", "K", "speed predicted", "speed measured", "error", "best K predicted", "best K measured"]
    rows = [
        [
            gain["load"], str(gain["draft_tokens"]), f"{gain['predicted']:.2f}×", f"{gain['measured']:.2f}×",
            signed(gain["predicted"] / gain["measured"] - 1.0), str(best[gain["load"]]["predicted"]),
            str(best[gain["load"]]["measured"]),
        ]
        for gain in found["gains"]
    ]  # fmt: skip
    return table(head, rows)


def _batches(found: Sequence[Mapping[str, Any]]) -> str:
    def told(value: float | None, most: int) -> str:
        return f"beyond {most}" if value is None else f"{value:.1f}"

    rows = [
        [one["where"], told(one["predicted"], one["largest"]), told(one["measured"], one["largest"])] for one in found
    ]
    return table(["K", "drafts pay up to a batch of: predicted", "measured"], rows)


def read_summary(folder: Path) -> dict[str, Any]:
    """What a check has written.

    Raises ScenarioError where there is none.
    """
    path = folder / SUMMARY
    if not path.is_file():
        raise ScenarioError(f"{folder}: no {SUMMARY}; it is the folder of a finished `specfleet calibrate check`")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main(arguments: list[str]) -> int:
    """Print the page."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m calibration.check_doc FOLDER\n")
        return 2
    try:
        sys.stdout.write(document(read_summary(Path(arguments[0]))))
    except SimulatorError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
