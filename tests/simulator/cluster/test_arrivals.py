from itertools import islice
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from simulator.cluster.arrivals import ARRIVALS, pattern_of
from simulator.cluster.traffic import request_chunks
from simulator.planning.arrival_fit import dispersion, gap_cv
from simulator.spec.arrivals import Arrivals, BurstyArrivals
from simulator.spec.workload import Workload

OPEN: dict[str, dict[str, Any]] = {
    "poisson": {"kind": "poisson", "rate_per_s": 5.0},
    "constant": {"kind": "constant", "rate_per_s": 5.0},
    "gamma": {"kind": "gamma", "rate_per_s": 5.0, "cv": 3.0},
    "bursty": {"kind": "bursty", "rate_per_s": 5.0, "burst_factor": 3.0, "on_s": 10.0, "off_s": 30.0},
    "diurnal": {"kind": "diurnal", "rate_per_s": 5.0, "period_s": 400.0, "peak_to_mean": 1.8},
    "steps": {"kind": "diurnal", "rate_per_s": 5.0, "period_s": 400.0, "steps": [[1.0, 5.0], [4.0, 0.0]], "cv": 2.0},
}


def spec_of(arrivals: dict[str, Any]) -> Any:
    return TypeAdapter(Arrivals).validate_python(arrivals)


def times_of(arrivals: dict[str, Any], count: int, replication: int = 0, chunk: int = 512, rate: float | None = None):
    spec = spec_of(arrivals)
    chunks = islice(ARRIVALS[spec.kind](spec, 7, replication, rate, chunk), -(-count // chunk))
    return np.concatenate(list(chunks))[:count]


def workload(arrivals: dict[str, Any]) -> Workload:
    return Workload.model_validate(
        {
            "arrivals": arrivals,
            "lengths": {"kind": "uniform", "prompt_tokens": [1, 900], "output_tokens": [1, 90]},
            "classes": {"chat": 0.6, "code": 0.4},
            "horizon": {"requests": 5000},
        }
    )


def test_every_kind_but_the_trace_has_its_times():
    kinds = {option.model_fields["kind"].annotation.__args__[0] for option in Arrivals.__args__[0].__args__}  # type: ignore[attr-defined]

    assert set(ARRIVALS) == kinds - {"trace"}


@pytest.mark.parametrize("name", OPEN)
def test_the_mean_rate_is_the_stated_one(name):
    rates = [40_000 / times_of(OPEN[name], 40_000, replication)[-1] for replication in range(4)]

    assert np.mean(rates) == pytest.approx(5.0, rel=0.03)


@pytest.mark.parametrize("name", OPEN)
def test_times_never_fall(name):
    assert np.diff(times_of(OPEN[name], 20_000)).min() >= 0.0


@pytest.mark.parametrize("name", OPEN)
def test_times_do_not_depend_on_the_size_of_a_chunk(name):
    small = times_of(OPEN[name], 3000, chunk=7)

    assert small == pytest.approx(times_of(OPEN[name], 3000, chunk=1000), rel=1e-9)


@pytest.mark.parametrize("name", OPEN)
def test_requests_do_not_depend_on_the_size_of_a_chunk(name):
    parts = list(islice(request_chunks(workload(OPEN[name]), 3, 1, None, chunk=30), 10))
    whole = next(request_chunks(workload(OPEN[name]), 3, 1, None, chunk=300))

    for column in ("prompt_tokens", "output_tokens", "class_index"):
        assert np.concatenate([getattr(part, column) for part in parts]).tolist() == getattr(whole, column).tolist()


@pytest.mark.parametrize("name", [name for name in OPEN if name != "constant"])
def test_replications_differ_and_repeat(name):
    first = times_of(OPEN[name], 100, replication=0)

    assert first.tolist() == times_of(OPEN[name], 100, replication=0).tolist()
    assert first.tolist() != times_of(OPEN[name], 100, replication=1).tolist()


@pytest.mark.parametrize("name", ["poisson", "constant", "gamma"])
def test_a_rate_divides_one_sequence(name):
    assert times_of(OPEN[name], 1000, rate=20.0) * 4.0 == pytest.approx(times_of(OPEN[name], 1000), rel=1e-12)


@pytest.mark.parametrize("name", ["bursty", "diurnal"])
def test_another_rate_keeps_bursts_and_hours_where_they_are(name):
    slow, fast = (times_of(OPEN[name], int(rate * 1200), rate=rate) for rate in (50.0, 200.0))
    edges = np.arange(0.0, 1100.0, 20.0)

    shares = [np.histogram(times, edges)[0] / times.size for times in (slow, fast)]

    assert np.corrcoef(shares)[0, 1] > 0.97


def test_poisson_times_are_those_of_earlier_versions():
    chunk = next(request_chunks(workload(OPEN["poisson"]), 1, 0, None))

    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(1, spawn_key=(0, 0))))
    assert chunk.arrival_s.tolist() == (np.cumsum(rng.standard_exponential(512)) / 5.0).tolist()


@pytest.mark.parametrize("cv", [0.3, 1.0, 3.0])
def test_gamma_gaps_have_their_coefficient_of_variation(cv):
    times = times_of({"kind": "gamma", "rate_per_s": 5.0, "cv": cv}, 100_000)

    assert gap_cv(times) == pytest.approx(cv, rel=0.03)


def test_gamma_gaps_disperse_by_their_squared_variation_in_long_windows():
    arrivals = {"kind": "gamma", "rate_per_s": 5.0, "cv": 2.0}

    found = [dispersion(times_of(arrivals, 100_000, nth))[100.0] for nth in range(6)]

    assert np.mean(found) == pytest.approx(4.0, rel=0.15)


def test_bursts_disperse_as_theory_says():
    spec = OPEN["bursty"]
    share, tau = 0.25, 7.5
    gain = 2 * 5.0 * tau * (3.0 - 1) ** 2 * share / (1 - share)

    found = np.mean([list(dispersion(times_of(spec, 60_000, nth)).values())[:-1] for nth in range(6)], axis=0)

    windows = np.array([1.0, 3.0, 10.0, 30.0, 100.0])
    theory = 1 + gain * (1 - (1 - np.exp(-windows / tau)) * tau / windows)
    assert found == pytest.approx(theory, rel=0.12)


def test_nothing_comes_between_bursts_at_the_highest_factor():
    spec = BurstyArrivals(kind="bursty", rate_per_s=5.0, burst_factor=4.0, on_s=10.0, off_s=30.0)

    gaps = np.diff(times_of(spec.model_dump(), 50_000))

    assert spec.lull_factor == 0.0
    assert gaps[gaps > 2.0].mean() == pytest.approx(30.0, rel=0.15)


def test_bursts_take_their_share_of_the_requests():
    spec = BurstyArrivals.model_validate(OPEN["bursty"])

    assert 0.25 * spec.burst_factor + 0.75 * spec.lull_factor == pytest.approx(1.0)


def test_a_sine_wave_peaks_in_the_middle_of_its_period():
    times = times_of(OPEN["diurnal"], 100_000) % 400.0

    counts = np.histogram(times, 10, (0.0, 400.0))[0] / 10_000

    assert (counts.argmax(), counts.argmin()) in {(4, 0), (5, 0), (4, 9), (5, 9)}
    assert counts.max() == pytest.approx(1.78, rel=0.05)


def test_a_profile_gives_each_part_its_share():
    arrivals = {"kind": "diurnal", "rate_per_s": 5.0, "period_s": 240.0, "profile": [0, 1, 3]}

    times = times_of(arrivals, 60_000) % 240.0

    assert np.histogram(times, 3, (0.0, 240.0))[0] / 60_000 == pytest.approx([0.0, 0.25, 0.75], abs=0.01)


def test_steps_fill_the_period_whatever_their_unit():
    lengths, levels = pattern_of(spec_of(OPEN["steps"]))

    assert lengths.tolist() == [80.0, 320.0]
    assert levels.tolist() == [5.0, 0.0]


@pytest.mark.parametrize("name", ["closed_loop", "queued_at_once"])
def test_clients_and_batches_have_no_times_of_their_own(name):
    arrivals = {"kind": name} | ({"concurrency": 4} if name == "closed_loop" else {})

    assert np.isnan(next(request_chunks(workload(arrivals), 1, 0, None)).arrival_s).all()
