"""docs/validation.md from published measurements.

`python -m calibration.validation_doc serving.csv speculation.csv > docs/validation.md`
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from calibration.coverage import GROUP as COVERAGE_GROUP
from calibration.coverage import coverage
from calibration.fitted_on import FITTED, HELD_OUT
from calibration.goals import SHARE_PREDICTED, SPEED_RATIO, Goal, goals, speedups
from calibration.markdown import errors, percent, table
from calibration.scores import GROUP, by_group, counted, score, scores, summary
from calibration.speculation_doc import speculation_blocks
from calibration.speculation_validation import SpeculationValidation, validate_speculation
from calibration.validate import Outcome, Validation, validate

NOTES = Path(__file__).with_name("validation_notes.md")
NAMES = {"ttft": "TTFT", "tpot": "TPOT", "output_tokens_per_s": "output tokens/s"}
HALVES = {FITTED: "Groups that constants were fitted on", HELD_OUT: "Groups that no constant was fitted on"}
PEERS = (
    ("AIConfigurator, Llama-70B FP8, TRT-LLM, H200", "138", "4.2 %", "35 %"),
    ("AIConfigurator, Llama-70B FP8, vLLM, H200", "118", "6.6 %", "37 %"),
    ("AISimulate replay, Llama-70B FP8, H200", "202", "6.9 %", "118 %"),
    ("AIConfigurator, all rows it can predict", "2,116 of 5,221", "31 %", "59 %"),
    ("pure roofline", "2,851", "57 %", "67 %"),
)
"""Row counts hold both GPUs (H200 and B200) where a source counts them together."""


def document(validation: Validation, speculation: SpeculationValidation) -> str:
    """The whole page."""
    blocks = [*_blocks(validation), *speculation_blocks(speculation)]
    return "\n\n".join(block.strip() for block in blocks) + "\n"


def _blocks(validation: Validation) -> Iterator[str]:
    kept = counted(validation)
    yield "# Predicted against measured"
    yield INTRODUCTION
    yield PICTURE
    yield "## All rows"
    yield _halves_table(kept)
    yield "## Goals"
    yield _goals_table(kept)
    yield "## By engine, GPU and model"
    yield "Each cell: median (mean) absolute error, bias = mean of predicted ÷ measured − 1."
    for half, title in HALVES.items():
        yield f"### {title}"
        yield _groups_table([one for one in kept if one.half == half])
    yield "## How often the stated error holds"
    yield f"{STATED}\n\n{_coverage_table(kept)}"
    yield "## Beside other tools"
    yield _peers_table(kept)
    yield "## Furthest off"
    yield _worst_table(summary(validation)["worst"])
    yield "## Rows that stand in no figure"
    yield _reasons(validation)
    yield NOTES.read_text(encoding="utf-8")


INTRODUCTION = """\
Written by `make validate`, from published measurements (`shared/measured/serving.csv`; every row names its source).
Every row is replayed as it was measured: the client with its opening burst, its lengths and its requests in flight,
the engine with its token budget, waits and KV limit, on the simulator's own cluster (`calibration/benchmark.py`);
steps are priced by the committed profile of GPU and engine. Constants of an engine were fitted on every other group of
closed-loop rows (a group: rows that differ in concurrency only) and judged on the others, which are told apart below;
rows queued at once were never fitted on. `specfleet validate serving.csv --out parity.html` draws the parity plots."""
PICTURE = """\
![Predicted against measured, every row on whose group no constant was fitted](pictures/validation.svg)

A dot is a row on whose group no constant was fitted; on the line the prediction is right."""
STATED = """\
Reports widen their intervals by a factor within which 95 % of measurements are to lie: from the mean error of left-out
rows of the same GPU, engine and model where there are some, else of models and GPUs that were left out of the fit whole
(`simulator/planning/model_error.py`). The table counts how many rows that no constant was fitted on do lie within."""
OTHERS = (
    "Others' figures are as published, or as measured on their tools in November 2026; their rows are not all ours."
)


def _halves_table(kept: Sequence[Outcome]) -> str:
    sets = {"all": list(kept)} | {title: [one for one in kept if one.half == half] for half, title in HALVES.items()}
    head = ["rows", "count", "predicted", *NAMES.values()]
    return table(head, [[name, *_figures(scores(of))] for name, of in sets.items()])


def _figures(found: Mapping[str, Any]) -> list[str]:
    return [f"{found['count']:,}", percent(found["share_predicted"]), *(errors(found[metric]) for metric in NAMES)]


def _groups_table(kept: Sequence[Outcome]) -> str:
    head = [*GROUP, "count", "predicted", *NAMES.values()]
    return table(head, [[*(group[key] for key in GROUP), *_figures(group)] for group in by_group(kept)])


def _goals_table(kept: Sequence[Outcome]) -> str:
    head = ["what", "metric", "rows", "goal: median (mean)", "found", "met"]
    rows = [_goal_line(goal) for goal in goals(kept)]
    cells = speedups(kept)
    if cells:
        found = score(cell.predicted / cell.measured for cell in cells)
        middle = (
            f"{median(c.measured for c in cells):.2f}x measured, {median(c.predicted for c in cells):.2f}x predicted"
        )
        met = "yes" if (found["median_ape"] or 0.0) <= SPEED_RATIO else "**no**"
        what = f"B200 FP4 ÷ H200 FP8, Llama-3.3-70B queued at once, best of each cell (median {middle})"
        rows.append([what, "speed ratio", str(len(cells)), percent(SPEED_RATIO), errors(found, 2), met])
    share = scores(kept)["share_predicted"]
    met = "yes" if share >= SHARE_PREDICTED else "**no**"
    rows.append(
        ["comparable rows predicted", "share", f"{len(kept)}", f"≥ {percent(SHARE_PREDICTED)}", percent(share), met]
    )
    return table(head, rows)


def _goal_line(goal: Goal) -> list[str]:
    wanted = percent(goal.median) + (f" ({percent(goal.mean)})" if goal.mean is not None else "")
    met = {True: "yes", False: "**no**", None: "no rows"}[goal.met]
    return [goal.what, NAMES[goal.metric], str(goal.score["count"]), wanted, errors(goal.score, 2), met]


def _coverage_table(kept: Sequence[Outcome]) -> str:
    head = [*COVERAGE_GROUP, "known from", "factor of TPOT", "of TTFT", *(f"{name} within" for name in NAMES.values())]
    lines = []
    for found in coverage(kept):
        known = found.known
        shares = (f"{part} of {whole}" if whole else "–" for part, whole in found.inside.values())
        basis = "the same model" if known.exact else "others, left out"
        lines.append([*found.group, basis, f"{known.step:.2f}", f"{known.ttft:.2f}", *shares])
    return table(head, lines)


def _peers_table(kept: Sequence[Outcome]) -> str:
    rows = [list(line) for line in PEERS]
    for engine in ("trtllm", "vllm"):
        mine = [
            one for one in kept if (one.row.engine, one.row.gpu, one.row.model) == (engine, "h200-sxm", "llama-3.1-70b")
        ]
        held_out = [one for one in mine if one.half == HELD_OUT and one.row.load == "closed_loop"]
        found = scores(held_out)
        name = f"**specfleet**, Llama-70B FP8, {engine}, H200, held-out groups"
        rows.append([name, str(found["count"]), percent(found["tpot"]["mean_ape"]), percent(found["ttft"]["mean_ape"])])
    every = scores([one for one in kept if one.row.load == "closed_loop"])
    name = "**specfleet**, all comparable closed-loop rows"
    rows.append([name, str(every["count"]), percent(every["tpot"]["mean_ape"]), percent(every["ttft"]["mean_ape"])])
    text = table(["predictor", "rows", "TPOT mean error", "TTFT mean error"], rows)
    return f"{text}\n\n{OTHERS}"


def _worst_table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = ["row", "configuration", "metric", "÷ measured", "half", "likely cause"]
    lines = []
    for row in rows:
        clients = f"C {row['concurrency']:.0f}" if row["load"] == "closed_loop" else "queue"
        where = f"{row['engine']} {row['gpu']} {row['model']} TP {row['tp']:.0f} {row['isl']}/{row['osl']} {clients}"
        told = row["flag"] or row["cause"]
        lines.append([f"`{row['id'][-40:]}`", where, NAMES[row["metric"]], f"{row['ratio']:.2f}", row["half"], told])
    return table(head, lines)


def _reasons(validation: Validation) -> str:
    counts: dict[tuple[str, str], int] = {}
    for one in validation.outcomes:
        if one.skipped or one.reason:
            key = ("left out of goals", one.skipped) if one.skipped else ("not predicted", one.reason)
            counts[key] = counts.get(key, 0) + 1
    flagged = sum(bool(one.flag) for one in validation.outcomes)
    rows = [[what, reason, str(number)] for (what, reason), number in sorted(counts.items())]
    return table(["what", "why", "rows"], [*rows, ["flagged", "measured faster than its kernels", str(flagged)]])


def main(arguments: list[str]) -> int:
    """Print the page."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m calibration.validation_doc serving.csv speculation.csv\n")
        return 2
    serving, speculation = map(Path, arguments)
    sys.stdout.write(document(validate(serving, None), validate_speculation(speculation)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
