"""Attention: per batch a floor and a slope in the context; for prompts a base by tokens and a slope in the pairs."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibration.robust import Floats, digits, error, isotonic, rising
from simulator.spec.profile import DecodeTable, Error, PrefillTable

HEADS = ["kind", "kv", "heads", "kv_heads", "head_dim", "window"]
MIN_CONTEXT = 128
"""Shorter contexts are rarer than the launch floor that they would bend the fit to [tokens]."""
USUAL_CONTEXT = (512, 16384)
"""Contexts that count fully in the fit; others a quarter [tokens]."""
MIN_POINTS = 3
"""Contexts that a batch, and batches that a table needs."""
TOKENS = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
"""Prompt tokens of a step at which the base is kept."""
RATIOS = {64: (4, 8), 128: (2, 3, 4, 5, 6, 7, 8, 12, 16), 256: (2, 4, 8, 16)}
"""Head dimension → query heads per KV head that are kept: those of the models in the catalog."""
KV_HEADS = (1, 2, 4, 8)
MLA_HEADS = (4, 8, 16, 32, 64, 128)
WINDOWS = {64: (0, 128), 128: (0, 1024), 256: (0, 1024)}
"""Head dimension → sliding windows that are kept; 0: full attention."""

Fitted = tuple[Floats, Floats]
"""Predicted and measured latencies."""


def keep(rows: pd.DataFrame) -> pd.DataFrame:
    """The heads that models of the catalog have, split over 1 to 8 GPUs."""
    wanted = (rows["kind"] == "mla") & rows["heads"].isin(MLA_HEADS)
    for head_dim, ratios in RATIOS.items():
        of_dim = (rows["kind"] == "gqa") & (rows["head_dim"] == head_dim) & rows["window"].isin(WINDOWS[head_dim])
        grouped = rows["kv_heads"].isin(KV_HEADS) & (rows["heads"] / rows["kv_heads"]).isin(ratios)
        wanted |= of_dim & grouped
    return rows[wanted]


def robust_line(x: Floats, y: Floats, weights: Floats, rounds: int = 6) -> tuple[float, float]:
    """Floor and slope, neither negative, that fit y best in relative terms; outliers lose their weight.

    Least squares on (a + b x) / y, reweighted by Tukey's biweight of the relative residuals.

    >>> x, wrong = np.arange(1.0, 8.0), np.array([0, 0, 40, 0, 0, 0, 0])
    >>> a, b = robust_line(x, 3 + 2 * x + wrong, np.ones(7))
    >>> round(a, 6), round(b, 6)
    (3.0, 2.0)

    Beaton and Tukey, Technometrics 16 (1974).
    """
    heavy = weights.copy()
    a, b = _line(x, y, heavy, start=True)
    for _ in range(rounds):
        residual = np.abs((a + b * x) / y - 1.0)
        cut = max(0.3, 4.7 * 1.48 * float(np.median(residual)))
        heavy = weights * np.square(np.clip(1.0 - np.square(residual / cut), 0.0, None))
        a, b = _line(x, y, heavy)
    return a, b


def _line(x: Floats, y: Floats, weights: Floats, *, start: bool = False) -> tuple[float, float]:
    """One weighted fit; the start is the median of all pairs' slopes (Theil and Sen)."""
    if start and x.size > 2:
        i, j = np.triu_indices(x.size, 1)
        i, j = i[x[i] != x[j]], j[x[i] != x[j]]
        b = max(0.0, float(np.median((y[j] - y[i]) / (x[j] - x[i]))))
        return max(0.0, float(np.median(y - b * x))), b
    w = weights / np.square(y)
    total = float(w.sum())
    mx, my = float((w * x).sum()) / total, float((w * y).sum()) / total
    spread = float((w * np.square(x - mx)).sum())
    b = max(0.0, float((w * (x - mx) * (y - my)).sum()) / spread) if spread > 0 else 0.0
    a = my - b * mx
    return (a, b) if a >= 0.0 else (0.0, float((w * x * y).sum() / (w * x * x).sum()))


def fit_decode(rows: pd.DataFrame) -> tuple[tuple[DecodeTable, ...], Error, int]:
    """Decode tables of all heads, their error against the usual contexts, and the samples."""
    tables, fits = [], []
    for heads, group in keep(rows).groupby(HEADS, sort=True):
        best = group.groupby(["batch", "context"], as_index=False)["latency_us"].min()
        known = best[best["context"] >= max(MIN_CONTEXT, int(heads[-1]))].groupby("batch").size()
        if (known >= MIN_POINTS).sum() < MIN_POINTS:
            continue
        table = decode_table(_named(heads), best)
        tables.append(table)
        usual = best[best["context"].between(*USUAL_CONTEXT)]
        fits.append((predict_decode(table, usual), usual["latency_us"].to_numpy(float)))
    return tuple(tables), _error(fits), len(rows)


def decode_table(heads: dict[str, object], best: pd.DataFrame) -> DecodeTable:
    """A line in the context for each batch, floor and slope never falling with the batch."""
    batches, lines = [], []
    for batch, group in best.groupby("batch"):
        long = group[group["context"] >= max(MIN_CONTEXT, int(str(heads["window"])))]
        x, y = (long[name].to_numpy(float) for name in ("context", "latency_us"))
        if x.size < MIN_POINTS:
            continue
        batches.append(int(batch))
        if heads["window"]:
            lines.append((float(np.median(y)), 0.0))
        else:
            weights = np.where((x >= USUAL_CONTEXT[0]) & (x <= USUAL_CONTEXT[1]), 1.0, 0.25)
            lines.append(robust_line(x, y, weights))
    floors, slopes = np.array(lines).T
    floors = isotonic(np.maximum(floors, 0.05))
    slopes = isotonic(np.maximum(slopes, 1e-9)) if not heads["window"] else slopes
    return DecodeTable.model_validate(
        heads
        | {
            "batch": tuple(batches),
            "floor_us": rising(floors),
            "per_token_us": rising(slopes),
            "max_context": int(best["context"].max()),
        }
    )


def predict_decode(table: DecodeTable, rows: pd.DataFrame) -> Floats:
    """Latency by the table, as the simulator computes it [µs]."""
    batch, context = (rows[name].to_numpy(float) for name in ("batch", "context"))
    floor, slope = (line(table.batch, values)(batch) for values in (table.floor_us, table.per_token_us))
    total: Floats = floor + slope * context
    return total


def line(knots: Iterable[int], values: Iterable[float]) -> Callable[[Floats], Floats]:
    """Piecewise-linear interpolation, the last slope continued."""
    xs, ys = np.array(list(knots), float), np.array(list(values), float)

    def at(x: Floats) -> Floats:
        if xs.size == 1:
            return np.full_like(x, ys[0])
        i: NDArray[np.int64] = np.clip(np.searchsorted(xs, x, side="right") - 1, 0, xs.size - 2)
        y: Floats = ys[i] + (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]) * (x - xs[i])
        return y

    return at


def fit_prefill(rows: pd.DataFrame) -> tuple[tuple[PrefillTable, ...], Error, int]:
    """Prefill tables of all heads, their error for prompts of 128 tokens and more, and the samples."""
    tables, fits = [], []
    for heads, group in keep(rows).groupby(HEADS, sort=True):
        best = group.groupby(["batch", "prompt"], as_index=False)["latency_us"].min()
        table = prefill_table(_named(heads), best)
        tables.append(table)
        usual = best[(best["prompt"] >= MIN_CONTEXT) & (best["batch"] * best["prompt"] <= TOKENS[-1])]
        fits.append((predict_prefill(table, usual), usual["latency_us"].to_numpy(float)))
    return tuple(tables), _error(fits), len(rows)


def prefill_table(heads: dict[str, object], best: pd.DataFrame) -> PrefillTable:
    """The slope in pairs from prompts of 2,048 tokens and more, then what is left by tokens."""
    tokens = (best["batch"] * best["prompt"]).to_numpy(float)
    pairs = attended(best, int(str(heads["window"])))
    y = best["latency_us"].to_numpy(float)
    long = ((best["prompt"] >= 2048) & (tokens <= 2 * TOKENS[-1])).to_numpy()
    slope = 0.0 if heads["window"] else _pairs_slope(pairs[long], tokens[long], y[long])
    left = np.maximum(y - slope * pairs, 0.02 * y)
    base = []
    for knot in TOKENS:
        near = np.abs(np.log(tokens / knot)) < 0.35
        base.append(float(np.exp(np.median(np.log(left[near] * knot / tokens[near])))) if near.any() else np.nan)
    known = np.isfinite(base)
    return PrefillTable.model_validate(
        heads
        | {
            "tokens": tuple(t for t, k in zip(TOKENS, known, strict=True) if k),
            "base_us": rising(isotonic(np.array(base)[known])),
            "per_million_pairs_us": digits(slope * 1e6, 4),
            "max_prompt": int(best["prompt"].max()),
        }
    )


def attended(rows: pd.DataFrame, window: int) -> Floats:
    """Pairs of a prompt token and a position that it attends to, itself included."""
    prompt, batch = (rows[name].to_numpy(float) for name in ("prompt", "batch"))
    full = prompt * (prompt + 1) / 2
    if window:
        over = np.maximum(prompt - window, 0.0)
        full = full - over * (over + 1) / 2
    pairs: Floats = batch * full
    return pairs


def _pairs_slope(pairs: Floats, tokens: Floats, y: Floats) -> float:
    """Seconds per pair: of the same number of tokens, longer prompts take more time; robust over all such."""
    _a, b = robust_line(pairs / tokens, y / tokens, np.ones_like(y))
    return b if b > 0 else float(np.median(y / pairs))


def predict_prefill(table: PrefillTable, rows: pd.DataFrame) -> Floats:
    """Latency by the table, as the simulator computes it [µs]."""
    tokens = (rows["batch"] * rows["prompt"]).to_numpy(float)
    base = line(table.tokens, table.base_us)(tokens)
    pairs = np.zeros_like(base) if table.window else attended(rows, table.window)
    total: Floats = base + table.per_million_pairs_us * 1e-6 * pairs
    return total


def _named(heads: Iterable[object]) -> dict[str, object]:
    """Names and plain values of the columns that were grouped by."""
    return {
        name: value if isinstance(value, str) else int(str(value)) for name, value in zip(HEADS, heads, strict=True)
    }


def _error(fits: list[Fitted]) -> Error:
    return error(np.concatenate([p for p, _ in fits]), np.concatenate([m for _, m in fits]))
