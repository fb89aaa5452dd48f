"""Random streams: one generator per purpose, and one uniform per (seed, replication, request, round)."""

import numpy as np
from numpy.typing import NDArray

STREAMS = ("arrivals", "lengths", "classes", "thinning", "acceptance", "bursts", "inputs")
"""Purposes that have random numbers of their own, in the order of their spawn keys: new ones come last."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ROUND = np.uint64(0xD1B54A32D192ED03)


def generator(seed: int, replication: int, stream: str) -> np.random.Generator:
    """The generator of one purpose; it never depends on the deployment.

    >>> bool(generator(7, 0, "arrivals").random() == generator(7, 0, "arrivals").random())
    True
    """
    key = (replication, STREAMS.index(stream))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def acceptance_key(seed: int, replication: int) -> np.uint64:
    """Key of the acceptance uniforms of one replication."""
    state = np.random.SeedSequence(seed, spawn_key=(replication, STREAMS.index("acceptance")))
    return np.uint64(state.generate_state(1, np.uint64)[0])


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), in place."""
    bits ^= bits >> np.uint64(30)
    bits *= _MIX_1
    bits ^= bits >> np.uint64(27)
    bits *= _MIX_2
    bits ^= bits >> np.uint64(31)
    return bits


def request_bits(key: np.uint64, requests: NDArray[np.int64]) -> NDArray[np.uint64]:
    """64 mixed bits of each request: the origin of its own uniforms."""
    with np.errstate(over="ignore"):
        return _mix(requests.astype(np.uint64) * _GOLDEN + key)


def round_uniforms(bits: NDArray[np.uint64], rounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Uniforms in [0, 1), one per pair of request bits and round; the same pair always gives the same value."""
    with np.errstate(over="ignore"):
        mixed = _mix(bits + rounds.astype(np.uint64) * _ROUND)
    return np.asarray((mixed >> np.uint64(11)) * (1.0 / (1 << 53)), np.float64)
