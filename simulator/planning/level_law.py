"""How many requests run on a replica: the stationary law of a birth-and-death process, alone or on level replicas."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POOLED = 16
"""Replicas beyond which a pool is no more level: an assumption; the estimate is held to simulations up to here."""

QUEUE_STATES = 512
"""Waiting requests of a replica that the law is followed to."""

FULLEST = 0.9995
"""Share of the places' rate of departure that arrivals reach at most."""


@dataclass(frozen=True, slots=True)
class LevelLaw:
    """Requests past their prompt, on one replica."""

    running: Floats
    """[places + 1] chance of so many running; the last is the chance that all places are taken."""
    found: Floats
    """[places + 1] the same as an arrival finds it, which is sent where fewest run."""
    mean_waiting: float
    """Requests that wait for a place, mean over time."""

    def mixed(self, other: "LevelLaw", share: float) -> "LevelLaw":
        """This law and a share of another [0 to 1]."""
        return LevelLaw(
            (1.0 - share) * self.running + share * other.running,
            (1.0 - share) * self.found + share * other.found,
            (1.0 - share) * self.mean_waiting + share * other.mean_waiting,
        )


def level_law(load: Floats, num_replicas: int, pooling: float) -> LevelLaw:
    """The law at a load.

    load: [places + 1] arrivals at a replica during a stay, by running sequences.
    pooling: how far requests are levelled out over the replicas: 1 as if they were one pool, 0 not at all.
    """
    replicas = min(num_replicas, POOLED)
    if replicas == 1 or pooling <= 0.0:
        return _law(load, 1)
    pooled = _law(load, replicas)
    return pooled if pooling >= 1.0 else _law(load, 1).mixed(pooled, pooling)


class _Counts(NamedTuple):
    """Requests of a pool, from 0 until all places are taken."""

    per_replica: Floats
    """From 1 on."""
    log_ways: Floats
    """Logarithm of the factorial of each count, from 1 on."""
    share_above: Floats
    """[replicas] share of the replicas that have one more than the fewest, by count modulo replicas."""


@lru_cache(maxsize=16)
def _counts(places: int, replicas: int) -> _Counts:
    counts = np.arange(1, places * replicas + 1)
    return _Counts(counts / replicas, np.cumsum(np.log(counts)), np.arange(replicas) / replicas)


def _law(load: Floats, replicas: int) -> LevelLaw:
    """Chance of so many requests on one of so many replicas that share them level.

    p(N) ∝ Π λ·(R·T(k) + behind) / min(k, places) over the pool, k counted per replica; beyond the last place it falls
    by the same factor with each request.
    """
    places = load.size - 1
    counts = _counts(places, replicas)
    stays = np.interp(counts.per_replica, np.arange(places + 1), load) * replicas
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(stays, 1e-300))) - counts.log_ways))
    chance = np.exp(logs - logs.max())
    beyond, waiting = _geometric(min(float(load[places]) / places, FULLEST), QUEUE_STATES * replicas - 1)
    by_level = chance[:-1].reshape(places, replicas)
    above = by_level @ counts.share_above
    found = np.append(by_level.sum(axis=1), chance[-1] * (1.0 + beyond))
    running = found.copy()
    running[:-1] -= above
    running[1:] += above
    whole = found.sum()
    return LevelLaw(running / whole, found / whole, float(chance[-1] * waiting / replicas / whole))


def _geometric(ratio: float, terms: int) -> tuple[float, float]:
    """Sums of ratio^i and of i · ratio^i, i from 1 to the number of terms.

    >>> _geometric(0.5, 2)
    (0.75, 1.0)
    """
    last, left = ratio**terms, 1.0 - ratio
    return ratio * (1.0 - last) / left, ratio * (1.0 - last * (1.0 + terms * left)) / left**2
