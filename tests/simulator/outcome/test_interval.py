import numpy as np
import pytest

from simulator.outcome.interval import t_interval, t_quantile


@pytest.mark.parametrize(
    ("confidence", "degrees", "expected"),
    [
        (0.95, 1, 12.706204736432095),
        (0.95, 2, 4.302652729911275),
        (0.95, 3, 3.182446305284263),
        (0.95, 4, 2.7764451051977987),
        (0.95, 9, 2.2621571627409915),
        (0.95, 10, 2.2281388519649385),
        (0.95, 30, 2.042272456301238),
        (0.95, 99, 1.9842169515086827),
        (0.95, 999, 1.9623414611334487),
        (0.99, 4, 4.604094871349993),
        (0.90, 5, 2.015048372669157),
    ],
)
def test_quantiles_are_those_of_scipy(confidence, degrees, expected):
    assert t_quantile(confidence, degrees) == pytest.approx(expected, rel=1e-9)


def test_an_interval_holds_the_true_mean_nineteen_times_out_of_twenty():
    rng = np.random.default_rng(11)
    intervals = [t_interval(rng.normal(5.0, 2.0, size=5).tolist()) for _ in range(2000)]

    assert np.mean([low < 5.0 < high for low, high in intervals]) == pytest.approx(0.95, abs=0.015)


def test_one_replication_has_no_interval():
    assert t_interval([1.0]) is None


def test_equal_replications_have_an_interval_without_width():
    assert t_interval([2.0, 2.0, 2.0]) == (2.0, 2.0)
