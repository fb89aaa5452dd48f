"""The figures that predictions are to reach, and which of them are reached, on rows that no constant was fitted on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, NamedTuple

from calibration.constants import fitted
from calibration.fitted_on import HELD_OUT
from calibration.scores import pair, ratio, score
from calibration.validate import Outcome

DENSE = "llama-3.1-70b"
QUEUE_MODELS = ("llama-3.1-8b", "llama-3.1-70b", "llama-3.3-70b")
QUEUE_GPUS = ("h200-sxm", "h100-sxm", "b200-sxm")
SHARE_PREDICTED = 0.98
SPEED_RATIO = 0.12


class Goal(NamedTuple):
    """One figure to reach; errors as fractions."""

    what: str
    metric: str
    median: float
    mean: float | None
    score: dict[str, Any]

    @property
    def met(self) -> bool | None:
        """Whether it is reached; None without rows."""
        if not self.score["count"]:
            return None
        return self.score["median_ape"] <= self.median and (self.mean is None or self.score["mean_ape"] <= self.mean)


def goals(outcomes: Sequence[Outcome]) -> list[Goal]:
    """All goals of the accuracy table but the share predicted; outcomes: those that count."""
    return [*_dense(outcomes), *_left_out(outcomes), *_queues(outcomes), *_experts(outcomes)]


def _dense(outcomes: Sequence[Outcome]) -> Iterator[Goal]:
    for engine in ("trtllm", "vllm"):

        def mine(one: Outcome, engine: str = engine) -> bool:
            row = one.row
            return (row.engine, row.gpu, row.model, one.half) == (engine, "h200-sxm", DENSE, HELD_OUT)

        for metric, median, mean in (("tpot", 0.03, 0.05), ("ttft", 0.06, 0.08)):
            what = f"Llama-70B FP8, H200, {engine}, held-out groups"
            yield Goal(what, metric, median, mean, _score(outcomes, metric, mine))


def _left_out(outcomes: Sequence[Outcome]) -> Iterator[Goal]:
    for engine, found in fitted().items():
        for name, row in found.get("left_out", {}).items():
            what = f"{engine}, {name}: constants fitted without it"
            yield Goal(what, "tpot", 0.09, 0.12, row["tpot"])

    def other_gpu(one: Outcome) -> bool:
        return one.row.load == "queued_at_once" and one.row.gpu == "h100-sxm"

    what = "queue, H100: no constant was fitted on a row of this GPU"
    yield Goal(what, "output_tokens_per_s", 0.09, 0.12, _score(outcomes, "output_tokens_per_s", other_gpu))


def _queues(outcomes: Sequence[Outcome]) -> Iterator[Goal]:
    for gpu in QUEUE_GPUS:
        for model in QUEUE_MODELS:

            def mine(one: Outcome, gpu: str = gpu, model: str = model) -> bool:
                row = one.row
                return (row.load, row.engine, row.gpu, row.model) == ("queued_at_once", "trtllm", gpu, model)

            found = _score(outcomes, "output_tokens_per_s", mine)
            if found["count"]:
                yield Goal(f"queue, {model}, {gpu}", "output_tokens_per_s", 0.07, 0.10, found)


def _experts(outcomes: Sequence[Outcome]) -> Iterator[Goal]:
    for model, gpu in (("deepseek-v3", "h200-sxm"), ("gpt-oss-120b", "b200-sxm")):
        for engine in ("trtllm", "vllm", "sglang"):

            def mine(one: Outcome, key: tuple[str, str, str] = (model, gpu, engine)) -> bool:
                row = one.row
                return one.half == HELD_OUT and (row.model, row.gpu, row.engine) == key

            limits: tuple[tuple[str, float, float | None], ...] = (("tpot", 0.08, 0.12), ("ttft", 0.20, None))
            for metric, median, mean in limits:
                found = _score(outcomes, metric, mine)
                if found["count"]:
                    yield Goal(f"{model}, {gpu}, {engine}, held-out groups", metric, median, mean, found)


def _score(outcomes: Iterable[Outcome], metric: str, mine: Callable[[Outcome], bool]) -> dict[str, Any]:
    return score(ratio(one, metric) for one in outcomes if mine(one))


class Speedup(NamedTuple):
    """B200 FP4 ÷ H200 FP8 in one cell: prompt and output length and GPUs, the best row of each."""

    cell: tuple[int, int, int]
    predicted: float
    measured: float


def speedups(outcomes: Iterable[Outcome], model: str = "llama-3.3-70b") -> list[Speedup]:
    """How much faster B200 is with FP4 than H200 with FP8, queued at once, in every cell that both have."""
    best: dict[tuple[str, tuple[int, int, int]], tuple[float, float]] = {}
    for one in outcomes:
        row = one.row
        both = pair(one, "output_tokens_per_s")
        if (row.load, row.model) != ("queued_at_once", model) or not all(isfinite(value) for value in both):
            continue
        key = (row.gpu, (row.isl, row.osl, int(row.tp)))
        held = best.get(key, (0.0, 0.0))
        best[key] = (max(held[0], both[0]), max(held[1], both[1]))
    cells = sorted(cell for gpu, cell in best if gpu == "b200-sxm" and ("h200-sxm", cell) in best)
    pairs = [(cell, best["b200-sxm", cell], best["h200-sxm", cell]) for cell in cells]
    return [Speedup(cell, b[0] / h[0], b[1] / h[1]) for cell, b, h in pairs]
