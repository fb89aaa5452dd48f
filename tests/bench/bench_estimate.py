"""How fast estimates are: one deployment alone, and a sweep over rate, K, splits, batch caps and acceptance.

Prints a card for people; the very last line is one JSON object. A point has two deployments.
"""

import argparse
import json
import resource
import sys
import time
from typing import Any

from app.estimates import estimate_points, estimated
from scenarios.load import load_scenario
from simulator.planning.estimate import estimate_row, steady_cluster

GOAL_S = 60.0
"""For 10,000 points on two cores, loading included."""

POINTS = 10_000
KEEP = ("h200-plain", "h200-spec")
SPEC = "deployments.h200-spec"
GRID: dict[str, list[Any]] = {
    f"{SPEC}.speculation.propose.draft_tokens": [1, 2, 3, 4],
    "deployments.h200-plain.target.tensor_parallel": [1, 2, 4, 8],
    f"{SPEC}.engine.max_num_seqs": [64, 96, 128, 192, 256],
    f"{SPEC}.speculation.drafts.general.acceptance.code.survival": [
        [0.8 * 0.01 * s, 0.0065 * s, 0.0053 * s, 0.0043 * s] for s in (80, 85, 90, 95, 100)
    ],
}
"""400 combinations; each rate has all of them."""


def text_of(points: int) -> str:
    """The chat scenario with two of its deployments and a sweep of about so many points."""
    base = load_scenario("h200_vs_b200_chat").base
    rates = [round(2.0 + 0.7 * step, 2) for step in range(max(points // 400, 1))]
    sweep = {**GRID, "workload.arrivals.rate_per_s": rates}
    kept = {**base, "deployments": {name: base["deployments"][name] for name in KEEP}}
    return json.dumps(kept | {"sweep": sweep})


def alone() -> float:
    """CPU seconds of an estimate of one deployment whose step times are known already: its row and its capacity."""
    scenario = load_scenario("h200_vs_b200_chat").points[0].scenario
    estimate_row(scenario, "h200-spec", steady_cluster(scenario, "h200-spec"))
    start = time.process_time()
    for _ in range(20):
        estimate_row(scenario, "h200-spec", steady_cluster(scenario, "h200-spec"))
    return (time.process_time() - start) / 20


def sweep(points: int, jobs: int | None) -> dict[str, float]:
    """Wall seconds of a sweep: reading the file, and estimating it."""
    start = time.perf_counter()
    loaded = load_scenario("sweep.yaml", text=text_of(points))
    read = time.perf_counter()
    rows = sum(1 for _ in estimated(loaded, jobs)["rows"])
    end = time.perf_counter()
    first = [("", loaded.points[0].scenario)] * 20
    cpu = time.process_time()
    estimate_points(first)
    return {
        "points": len(loaded.points),
        "rows": rows,
        "load_s": read - start,
        "estimate_s": end - read,
        "cpu_s_of_a_point_again": (time.process_time() - cpu) / 20,
    }


def main() -> None:
    """Measure, print the card and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args()
    found = {"cpu_s_of_a_deployment": alone(), **sweep(options.points, options.jobs)}
    usage = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found["peak_rss_bytes"] = max(usage) * 1024
    whole = (found["load_s"] + found["estimate_s"]) * POINTS / found["points"]
    say = sys.stdout.write
    say(f"one deployment, known step times: {1e3 * found['cpu_s_of_a_deployment']:.1f} ms of CPU\n")
    say(f"{found['points']:,} points: {found['load_s']:.1f} s to read, {found['estimate_s']:.1f} s to estimate\n")
    say(f"{POINTS:,} points: {whole:.0f} s (goal {GOAL_S:.0f} s)\n")
    say(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
