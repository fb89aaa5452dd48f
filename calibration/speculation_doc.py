"""The part of docs/validation.md on speculation: tables from measured speed-ups, and notes written by hand."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibration.markdown import errors, percent, table
from calibration.speculation_directions import directions
from calibration.speculation_host import left_out, shipped
from calibration.speculation_scores import GROUP, summary
from calibration.speculation_shares import PARTS, time_shares
from calibration.speculation_validation import SpeculationValidation

NOTES = Path(__file__).with_name("speculation_notes.md")
SHOWN_BATCHES = (1, 128)
"""Of the published time shares."""
INTRODUCTION = """\
From published speed-ups (`shared/measured/speculation.csv`, lengths joined from `acceptance_derived.csv`). A row is
predicted from its measured accepted length: a batch of the data set's typical requests is served twice, prompts and
steps priced by the simulator's own step model, once with as many steps as tokens, once with the tokens of a step
divided out (`calibration/speculation_times.py`). Beside it stands the trivial prediction, a constant × the accepted
length, its constant the median of the other targets and GPUs. SGLang's host times were fitted on its rows
(`python -m calibration.fit_speculation speculation.csv`); each target is judged by those fitted on the other. Nothing
was fitted on rows of vLLM; what was read from a figure of their source is told below. Errors: median (mean), bias."""


def speculation_blocks(validation: SpeculationValidation) -> Iterator[str]:
    """Everything, block by block."""
    found = summary(validation)
    yield "## Speculation"
    yield INTRODUCTION
    yield _groups(found)
    yield _constants()
    yield "### What follows from the predictions"
    yield _choices(found)
    yield "### Directions that were reported"
    yield "Public threads (`field_cases.csv`); a model that is not in the catalog is told by one of its kind."
    yield _directions()
    yield "### Where the time of a step goes"
    yield SHARES
    yield _shares(validation)
    yield "### Rows of speculation that stand in no figure"
    yield _reasons(found)
    yield NOTES.read_text(encoding="utf-8")


SHARES = """\
SpecDecode-Bench, figure 4 (H100, vLLM 0.10.1, three draft tokens), measured / predicted share of a step. Not
independent: vLLM's sampler (45 µs), its host time of a step with drafts (0.2 ms) and the look-up (1.5 µs a sequence,
left out here) were read from the rows of Llama-3.1-8B. Nothing else was taken from it. What the source names overhead
is the host's; the target's layers, head and attention are its verify."""


def _groups(found: Mapping[str, Any]) -> str:
    rows = [[*(group[key] for key in GROUP), *_figures(group)] for group in found["groups"]]
    rows.append(["**all**", "", "", "", "", *_figures(found["overall"])])
    rows.append(["rows that borrow no length", "", "", "", "", *_figures(found["own_accepted_length"])])
    text = table([*GROUP, "rows", "specfleet", "trivial", "gain or loss told right"], rows)
    inside = ", ".join(
        f"{gpu} {line['constant']:.3f}, median error {percent(line['median_ape'])}"
        for gpu, line in found["in_sample_baseline"].items()
    )
    return f"{text}\n\nThe trivial constant fitted on the very rows that it predicts: {inside}."


def _figures(group: Mapping[str, Any]) -> list[str]:
    right = percent(group["speedup"]["sign_right"])
    return [str(group["count"]), errors(group["speedup"]), errors(group["baseline"]), right]


def _constants() -> str:
    """Fitted host times, and those of each fit with a target left out."""
    judges = left_out()
    fitted = {f"{engine}, all rows": shipped(engine) for engine in sorted({name.split()[0] for name in judges})}
    head = ["fitted on", "draft pass", "speculative step", "tree, each layer"]
    named = fitted | {f"without {name}": host for name, host in judges.items()}
    rows = [
        [name, f"{h.draft_pass_s * 1e3:.3f} ms", f"{h.speculative_step_s * 1e3:.2f} ms", f"{h.tree_layer_us:.0f} µs"]
        for name, h in named.items()
    ]
    return table(head, rows)


def _choices(found: Mapping[str, Any]) -> str:
    regret, trees = found["best_draft_tokens"], found["trees"]
    targets: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for line in regret["by_sweep"]:
        targets.setdefault((line["gpu"], line["target"], line["draft"]), []).append(line)
    rows = []
    for names, lines in targets.items():
        lost, fixed = [line["regret"] for line in lines], [line["always"] for line in lines]
        same = sum(line["predicted_best"] == line["measured_best"] for line in lines)
        rows.append([*names, str(len(lines)), str(same), _mean_worst(lost), _mean_worst(fixed)])
    rows.append(["**all**", "", "", str(regret["sweeps"]), "", _lost(regret, "mean", "worst"), _always(regret)])
    always = f"always {regret['always']}"
    text = table(["GPU", "target", "draft", "sweeps of K", "best K found", "speed lost: mean, worst", always], rows)
    return (
        f"{text}\n\nA tree against a chain of as many nodes: ranked as measured in {trees['ranked_right']} of "
        f"{trees['pairs']} pairs{_wrong(trees)}."
    )


def _mean_worst(lost: list[float]) -> str:
    return f"{percent(sum(lost) / len(lost))}, {percent(max(lost))}"


def _lost(regret: Mapping[str, Any], mean: str, worst: str) -> str:
    return f"{percent(regret[mean])}, {percent(regret[worst])}"


def _always(regret: Mapping[str, Any]) -> str:
    return _lost(regret, "always_mean", "always_worst")


def _wrong(trees: Mapping[str, Any]) -> str:
    told = (f"`{w['tree']}` measured {w['measured']:.2f}, predicted {w['predicted']:.2f}" for w in trees["wrong"])
    listed = "; ".join(told)
    return f" (the others, tree ÷ chain: {listed})" if listed else ""


def _directions() -> str:
    rows = []
    for one in directions():
        gains = ", ".join(f"{name} {gain:.2f}×" for name, gain in one.speedups)
        agree = ["yes" if same else "**no**" for same in (one.holds, one.signs)]
        rows.append([one.id, one.reported, f"{one.modelled}: {gains}", *agree])
    return table(["case", "reported", "predicted", "same direction", "gain and loss as reported"], rows)


def _shares(validation: SpeculationValidation) -> str:
    rows = [
        [one.model, one.method, str(one.sequences)]
        + [f"{100 * m:.1f} / {100 * p:.1f} %" for m, p in zip(one.measured, one.predicted, strict=True)]
        for one in time_shares(Path(validation.path).parent)
        if one.sequences in SHOWN_BATCHES
    ]
    return table(["model", "method", "batch", *PARTS], rows)


def _reasons(found: Mapping[str, Any]) -> str:
    why = [
        *(("assumed", text, str(number)) for text, number in found["assumed"].items()),
        *(("not predicted", *pair) for pair in _counted(found)),
    ]
    return table(["what", "why", "rows"], [list(line) for line in why])


def _counted(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    reasons = Counter(row["reason"] for row in found["unpredicted"])
    return [(reason, str(number)) for reason, number in reasons.most_common()]
