"""What a batch costs beside the simulations in it: a sweep on a pool of two against two processes with half of it each.

Both do the same work, in pairs, the order of a pair changing; so do a Dask cluster of two workers and the pool, where
Dask is installed. Also: the memory of the process that puts a long sweep together.

Prints a card for people; the very last line is one JSON object. Wall time, because sharing out is what is measured.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

GOAL = 0.9
"""Throughput of the batch ÷ that of two processes without one."""
DASK_GOAL = 1.15
"""Time on Dask ÷ time on the pool."""
MEMORY_GOAL_BYTES = 1_000_000_000

SCENARIO = """\
schema_version: 1
name: {name}
seed: 1
replications: 1
workload:
  arrivals: {{kind: poisson, rate_per_s: 4}}
  lengths: {{kind: empirical, table: azure-conv-2023}}
  horizon: {{requests: {requests}, warmup_requests: {warmup}}}
slo: {{ttft_s: {{p95: 1.0}}, tpot_s: {{p95: 0.05}}}}
deployments:
  plain:
    gpu: h200-sxm
    replicas: 2
    price: 3.5
    target: {{model: llama-3.1-8b, weights: bf16}}
    engine: {{policy: vllm, max_model_len: 8192}}
sweep: {{workload.arrivals.rate_per_s: {rates}}}
"""


def scenario(folder: Path, name: str, requests: int, rates: list[float]) -> Path:
    """A file that sweeps so many rates."""
    file = folder / f"{name}.yaml"
    file.write_text(SCENARIO.format(name=name, requests=requests, warmup=requests // 20, rates=rates))
    return file


def run(file: Path, out: Path, *options: str) -> "subprocess.Popen[bytes]":
    """Start `specfleet run`."""
    command = [sys.executable, "-m", "app", "run", str(file), "--out", str(out), "--quiet", "--force", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def timed(begin: Callable[[], list["subprocess.Popen[bytes]"]]) -> float:
    """Seconds until all processes have ended well."""
    start_s = time.perf_counter()
    codes = [process.wait() for process in begin()]
    if any(code not in (0, 3) for code in codes):
        raise SystemExit(f"a run ended with {codes}")
    return time.perf_counter() - start_s


def in_pairs(
    pairs: int, first: Callable[[], list[Any]], second: Callable[[], list[Any]]
) -> tuple[list[float], list[float]]:
    """Seconds of both, one after the other, now the one first, now the other."""
    found: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            found[which].append(timed((first, second)[which]))
    return found


def on_dask(pairs: int, file: Path, out: Path) -> list[float]:
    """Time on a cluster of two workers ÷ time on the pool, of each pair."""
    distributed: Any = import_module("distributed")
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        where = cluster.scheduler_address.replace("tcp://", "dask://")
        dask, pool = in_pairs(
            pairs,
            lambda: [run(file, out / "dask", "--executor", where)],
            lambda: [run(file, out / "pool", "--jobs", "2")],
        )
    return [one / other for one, other in zip(dask, pool, strict=True)]


def put_together_bytes(points: int) -> int:
    """Largest resident size of a process that writes the folder of a sweep whose points lie on disk [bytes]."""
    code = f"from tests.bench.bench_batch import write_long_sweep; write_long_sweep({points})"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    return int(done.stdout)


def write_long_sweep(points: int) -> None:
    """Write a sweep of equal points, and say how much memory that took."""
    from app.results import PointResult, put_together
    from scenarios.load import load_scenario
    from scenarios.run_files import write_run
    from scenarios.store import RunFolder
    from simulator.planning.study import study, to_json_ready

    with tempfile.TemporaryDirectory() as folder:
        file = scenario(Path(folder), "long", 200, [4.0])
        loaded = load_scenario(file)
        result = to_json_ready(study(loaded.points[0].scenario))
        run_folder = RunFolder(Path(folder), "long", "0123456789abcdef")
        found = []
        for number in range(points):
            run_folder.save_point(f"{number:016x}", result, 0.0)
            values = {"workload.arrivals.rate_per_s": number}
            stored = run_folder.result(f"{number:016x}")
            found.append(PointResult(f"rate={number}", values, f"{number:016x}", stored, 0.0))
        write_run(run_folder, loaded, put_together("long", found, ()), {}, "")
    sys.stdout.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def main() -> None:
    """Run all, and print the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=40, help="points of the sweep")
    parser.add_argument("--requests", type=int, default=5000, help="requests of a point")
    parser.add_argument("--pairs", type=int, default=3, help="times that both are measured")
    parser.add_argument("--stored", type=int, default=20_000, help="points of the sweep that is put together")
    asked = parser.parse_args()
    say = sys.stdout.write
    found: dict[str, Any] = {"points": asked.points, "requests": asked.requests}
    with tempfile.TemporaryDirectory() as place:
        folder, rates = Path(place), [round(2 + 6 * step / asked.points, 4) for step in range(asked.points)]
        whole = scenario(folder, "whole", asked.requests, rates)
        halves = [scenario(folder, f"half{part}", asked.requests, rates[part::2]) for part in range(2)]
        batch, apart = in_pairs(
            asked.pairs,
            lambda: [run(whole, folder / "batch", "--jobs", "2")],
            lambda: [run(half, folder / half.stem, "--jobs", "1") for half in halves],
        )
        ratios = [alone / together for alone, together in zip(apart, batch, strict=True)]
        found |= {"batch_s": batch, "apart_s": apart, "throughput_ratio": statistics.median(ratios)}
        say(f"{asked.points} points of {asked.requests:,} requests: {statistics.median(ratios):.3f} of the throughput "
            f"of two processes (goal {GOAL}), pairs {', '.join(f'{ratio:.3f}' for ratio in ratios)}\n")  # fmt: skip
        if find_spec("distributed"):
            dearer = on_dask(asked.pairs, whole, folder)
            found["dask_time_ratio"] = statistics.median(dearer)
            say(f"on Dask: {statistics.median(dearer):.3f}x the time of the pool (goal {DASK_GOAL}x)\n")
    found["put_together_rss_bytes"] = put_together_bytes(asked.stored)
    say(f"{asked.stored:,} points put together in {found['put_together_rss_bytes'] / 1e6:,.0f} MB "
        f"(goal {MEMORY_GOAL_BYTES / 1e6:,.0f} MB)\n")  # fmt: skip
    say(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
