"""Bursts found in arrival times: two hidden states, or steps of the rate."""

from math import exp, lgamma, log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_BINS = 6000
"""Intervals of a trace in which bursts are looked for."""

EM_ROUNDS = 40
"""Rounds in which burst and lull are told apart; they settle in about ten."""

MOST_CELLS = 10_000
"""Groups of consecutive requests between which the rate may change."""

FALSE_STEPS = 0.05
"""Chance that a step is found where the rate is even."""

SHORTEST_S = 1e-3
"""Time below which requests count as simultaneous [s]."""


def bursty_by_dispersion(times_s: Floats, rate: float, wanted: dict[float, float]) -> dict[str, float] | None:
    r"""Bursts whose dispersion rises with the window as the trace's does.

    .. math:: I(t) = 1 + G (1 - (1 - e^{-t/τ}) τ/t), \quad G = 2 λ τ (b - 1)² p / (1 - p)

    with p = on / (on + off), τ = on·off / (on + off), b the burst factor. (Fischer and Meier-Hellstern, Performance
    Evaluation 18, 1993.) The curve gives G and τ; the share p that bursts take is where a burst is most likely told
    from a lull, as far as the curve allows it.
    """
    if times_s.size < 100 or not wanted or max(wanted.values()) <= 1.05:
        return None
    gain, tau_s = _dispersion_curve(wanted)
    steep = gain / (2.0 * rate * tau_s)
    share = min(_burst_share(times_s, max(1.0 / rate, tau_s / 8.0)), 1.0 / (1.0 + steep))
    factor = min(1.0 + float(np.sqrt(steep * (1.0 - share) / share)), 1.0 / share * (1 - 1e-3))
    if not 1.01 < factor < 1e4:
        return None
    on_s, off_s = tau_s / (1.0 - share), tau_s / share
    return {"burst_factor": factor, "on_s": on_s, "off_s": off_s}


def _dispersion_curve(wanted: dict[float, float]) -> tuple[float, float]:
    """Gain G and relaxation time τ [s] of the curve nearest to a trace's dispersion, in logarithms."""
    windows, target = np.array(list(wanted)), np.log(np.maximum(list(wanted.values()), 1e-3))
    tau = np.geomspace(0.2, 5.0 * windows[-1], 120)[:, None]
    rise = 1.0 - (1.0 - np.exp(-windows / tau)) * tau / windows
    gain = np.geomspace(0.02, 5000.0, 160)[:, None, None]
    off = ((np.log1p(gain * rise) - target) ** 2).sum(axis=2)
    best = np.unravel_index(int(off.argmin()), off.shape)
    return float(gain[best[0], 0, 0]), float(tau[best[1], 0])


def _burst_share(times_s: Floats, width_s: float) -> float:
    """Share of the time that bursts take, by maximum likelihood of counts in intervals that two hidden states rule."""
    since = times_s[times_s < times_s[0] + width_s * MOST_BINS] - times_s[0]
    stay_on, stay_off = _two_states(np.bincount((since / width_s).astype(np.int64)))
    leave_on, leave_off = max(1.0 - stay_on, 1e-6), max(1.0 - stay_off, 1e-6)
    return min(max(leave_off / (leave_on + leave_off), 1e-3), 0.999)


def _two_states(counts: NDArray[np.int64]) -> tuple[float, float]:
    """Chance that the busy and the quiet state each goes on in the next interval.

    Baum-Welch for a hidden Markov chain of two Poisson states (Rabiner, Proc. IEEE 77, 1989).
    """
    mean = float(counts.mean())
    high, low, stay = max(2.0 * mean, 1e-3), max(0.2 * mean, 1e-3), [0.9, 0.9]
    for _ in range(EM_ROUNDS):
        emit = np.stack([_poisson_chance(counts, high), _poisson_chance(counts, low)], axis=1)
        busy, pairs = _smoothed(emit, stay)
        quiet = 1.0 - busy
        high = max(float(busy @ counts / max(busy.sum(), 1e-9)), 1e-3)
        low = max(float(quiet @ counts / max(quiet.sum(), 1e-9)), 1e-3)
        stay = [float(pairs[i, i] / max(pairs[i].sum(), 1e-12)) for i in (0, 1)]
    return stay[0], stay[1]


def _poisson_chance(counts: NDArray[np.int64], mean: float) -> Floats:
    most = int(counts.max())
    table = np.array([exp(-mean + k * log(mean) - lgamma(k + 1)) for k in range(most + 1)])
    return np.asarray(np.maximum(table, 1e-200)[counts])


def _smoothed(emit: Floats, stay: list[float]) -> tuple[Floats, Floats]:
    """Chance of the busy state in each interval, and expected moves between the states [2, 2]: forward, backward."""
    a, b = stay
    rows = emit.tolist()
    forward, weights = [], []
    on = 0.5
    for e_on, e_off in rows:
        f_on, f_off = on * e_on, (1.0 - on) * e_off
        total = f_on + f_off
        forward.append(f_on / total)
        weights.append(total)
        on = forward[-1] * a + (1.0 - forward[-1]) * (1.0 - b)
    back = np.ones((len(rows), 2))
    b_on = b_off = 1.0
    for n in range(len(rows) - 1, 0, -1):
        w_on, w_off = rows[n][0] * b_on / weights[n], rows[n][1] * b_off / weights[n]
        b_on, b_off = a * w_on + (1.0 - a) * w_off, (1.0 - b) * w_on + b * w_off
        back[n - 1] = b_on, b_off
    chances = np.stack([np.array(forward), 1.0 - np.array(forward)], axis=1)
    move = np.array([[a, 1.0 - a], [1.0 - b, b]])
    ahead = emit[1:] * back[1:] / np.array(weights)[1:, None]
    pairs = np.einsum("ni,nj->ij", chances[:-1], ahead) * move
    smooth = chances * back
    return smooth[:, 0] / smooth.sum(axis=1), pairs


def rate_steps(times_s: Floats) -> tuple[Floats, Ints]:
    """Edges [s] between which the rate is taken for even, and the arrivals between them: Bayesian blocks.

    The most likely partition under a cost per step that finds one in even arrivals with chance FALSE_STEPS.
    (Scargle, Norris, Jackson, Chiang, Astrophysical Journal 764, 2013, eq. 19 and 21.)
    """
    size = times_s.size
    group = -(-size // MOST_CELLS)
    starts = np.arange(0, size, group)
    counts = np.diff(starts, append=size).astype(np.float64)
    edges = np.concatenate((times_s[:1], 0.5 * (times_s[starts[1:]] + times_s[starts[1:] - 1]), times_s[-1:]))
    last = _best_partition(counts, edges, 4.0 - log(73.53 * FALSE_STEPS * counts.size**-0.478))
    change = [starts.size]
    while change[-1] > 0:
        change.append(int(last[change[-1] - 1]))
    at = np.array(change[::-1])
    total = np.concatenate(([0.0], np.cumsum(counts)))[at]
    keep = np.concatenate(([True], np.diff(edges[at]) > 0))
    return edges[at][keep], np.diff(total[keep]).astype(np.int64)


def _best_partition(counts: Floats, edges: Floats, cost: float) -> Ints:
    """Start of the last block of the best partition of the cells up to each cell: dynamic programming."""
    cells = counts.size
    total = np.concatenate(([0.0], np.cumsum(counts)))
    best, last = np.zeros(cells + 1), np.zeros(cells, np.int64)
    for end in range(1, cells + 1):
        inside = total[end] - total[:end]
        width = np.maximum(edges[end] - edges[:end], SHORTEST_S)
        fitness = inside * np.log(inside / width) - cost + best[:end]
        last[end - 1] = int(fitness.argmax())
        best[end] = fitness[last[end - 1]]
    return last
