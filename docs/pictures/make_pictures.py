"""What the README shows, made from a run of its scenario: `make pictures`.

Writes demo.json (the run's summary, and the latencies at other loads), load.svg, and the README's block of output.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from app.results import PointResult, put_together
from app.show import show
from docs.pictures import svg
from scenarios.executors import workers
from scenarios.load import LoadedScenario, load_scenario
from scenarios.streamed import Each
from simulator.outcome.latency import summaries
from simulator.outcome.throughput import throughput
from simulator.outcome.window import measured_window
from simulator.planning.estimate import guess_capacity
from simulator.planning.study import study, to_json_ready
from simulator.run import simulate_once
from simulator.spec.scenario import Scenario

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DEMO = Path(__file__).with_name("demo.json")
PICTURE = Path(__file__).with_name("load.svg")
SCENARIO = "h200_vs_b200_chat"
COMMAND = "$ make demo"
"""First line of the README's block of output."""
CUT_BEFORE = "Price"
"""Lines of provenance from here on are left to the reader's own run."""
REST = "… (prices with their source and date, and every assumption)"

DIGITS = 6
LOADS = tuple(float(load) for load in range(4, 45, 2))
"""Offered loads of the curves [requests/s]."""
COLOURS = {"h200": "#0969da", "b200": "#1a7f37"}


def rounded(value: Any) -> Any:
    """All numbers of a value to DIGITS significant digits: those beyond differ between processors."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list | Each) else value


def demo() -> dict[str, Any]:
    """The summary of the demo's run as the command line prints it, the replications left out."""
    loaded = load_scenario(SCENARIO)
    with workers() as executor:
        result = to_json_ready(study(loaded.points[0].scenario, executor, guess=guess_capacity))
    summary = put_together(loaded.name, [PointResult("base", {}, "", result, 0.0)], loaded.asserts)
    found: dict[str, Any] = rounded({name: part for name, part in summary.items() if name != "replications"})
    return found


def output_block(summary: dict[str, Any], loaded: LoadedScenario) -> str:
    """What `make demo` prints of a summary, from the command to the first line of provenance."""
    from io import StringIO

    from rich.console import Console

    stream = StringIO()
    show(loaded, summary, console=Console(file=stream, width=113, color_system=None, highlight=False, emoji=False))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    end = next(index for index, line in enumerate(lines) if line.startswith(CUT_BEFORE))
    return "\n".join([COMMAND, *lines[:end], REST])


def curves(scenario: Scenario, capacities: dict[str, float]) -> dict[str, list[list[float]]]:
    """By deployment: load, p95 of TTFT and TPOT [s], $ per million output tokens; means over replications."""
    found: dict[str, list[list[float]]] = {}
    for name, capacity in capacities.items():
        loads = [load for load in LOADS if load < capacity] + [capacity]
        found[name] = [[load, *at_load(scenario, name, load)] for load in loads]
    return found


def at_load(scenario: Scenario, deployment: str, load: float) -> list[float]:
    """p95 of TTFT and TPOT [s], and $ per million output tokens, at one load."""
    spec = scenario.deployments[deployment]
    values = []
    for replication in range(scenario.replications):
        records = simulate_once(scenario, deployment, replication, rate_per_s=load)
        window = measured_window(records)
        latency = summaries(records, window, gaps=False)
        tokens = throughput(records, window).output_tokens_per_s
        values.append([latency["ttft_s"]["p95"], latency["tpot_s"]["p95"], tokens])
    ttft_s, tpot_s, tokens_per_s = np.mean(np.array(values, dtype=np.float64), axis=0)
    return [float(ttft_s), float(tpot_s), price_per_hour(spec) / 3600 / float(tokens_per_s) * 1e6]


def price_per_hour(spec: Any) -> float:
    """What a deployment costs [USD/h]."""
    from simulator.outcome.cost import resolve_price

    return float(resolve_price(spec).usd_per_gpu_hour * spec.num_gpus)


def picture(lines: dict[str, list[list[float]]]) -> str:
    """Latencies and cost against the offered load, side by side, each curve up to its capacity."""
    load = svg.Axis("offered requests/s", 0, 45, (0, 10, 20, 30, 40))
    ttft = svg.Axis("", 0.1, 2, (0.1, 0.2, 0.5, 1, 2), logarithmic=True)
    tpot = svg.Axis("", 0, 0.05, (0, 0.01, 0.02, 0.03, 0.04, 0.05))
    cost = svg.Axis("", 0, 6, (0, 1, 2, 3, 4, 5, 6))
    panels = [
        ("TTFT p95 [s]", ttft, 1, 1.0, "target 1 s"),
        ("TPOT p95 [s]", tpot, 2, 0.04, "target 40 ms"),
        ("$ per million output tokens", cost, 3, None, ""),
    ]
    parts: list[str] = []
    for index, (title, axis, column, limit, words) in enumerate(panels):
        drawn = tuple(curve(name, rows, column, axis.high) for name, rows in lines.items())
        panel = svg.Panel(title, 52 + index * 310, 44, 250, 220, load, axis, drawn, limit, words)
        parts += svg.draw_panel(panel)
    parts += svg.draw_legend([curve(name, rows, 1, ttft.high) for name, rows in lines.items()], 120, 332, 190)
    title = "Latency and cost against the offered load; each curve ends in a dot at its capacity"
    return svg.document(960, 352, title, parts)


def curve(name: str, rows: list[list[float]], column: int, highest: float) -> svg.Curve:
    """One deployment's curve of one figure, where it is not above the highest; its last point is the capacity."""
    points = tuple((row[0], row[column]) for row in rows if row[column] <= highest)
    return svg.Curve(name, COLOURS[name.partition("-")[0]], name.endswith("plain"), points, points[-1])


def put_into_readme(text: str, block: str) -> str:
    """The README with its block of output replaced."""
    before, _, rest = text.partition(f"```console\n{COMMAND}\n")
    _, _, after = rest.partition("\n```\n")
    return f"{before}```console\n{block}\n```\n{after}"


def main() -> None:
    """Run the demo and write everything that shows it."""
    loaded = load_scenario(SCENARIO)
    summary = demo()
    capacities = {row["deployment"]: row["capacity_req_per_s"] for row in summary["rows"]}
    lines = rounded(curves(loaded.points[0].scenario, capacities))
    DEMO.write_text(json.dumps({"summary": summary, "curves": lines}, indent=1, ensure_ascii=False) + "\n")
    PICTURE.write_text(picture(lines), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(put_into_readme(text, output_block(summary, loaded)), encoding="utf-8")


if __name__ == "__main__":
    main()
