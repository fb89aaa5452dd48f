"""Numbers that stand for chance."""

import numpy as np
import pytest
from scipy import stats

from simulator.planning.strata import MOST_TOGETHER, SAMPLE, order, poisson, rises_at, strata


def test_every_column_is_evenly_spread():
    assert np.sort(strata(), axis=1) == pytest.approx(np.tile((np.arange(SAMPLE) + 0.5) / SAMPLE, (len(strata()), 1)))


@pytest.mark.parametrize("mean", [0.0, 0.01, 0.4, 3.0, 12.0])
def test_poisson_counts_are_the_inverse_distribution_of_the_numbers(mean):
    counts = poisson(np.full(SAMPLE, mean), column=3)

    exact = stats.poisson.ppf(strata()[3], mean)
    assert np.array_equal(counts, np.minimum(exact, MOST_TOGETHER - 1))


def test_each_request_has_a_mean_of_its_own():
    means = np.linspace(0.0, 5.0, SAMPLE)

    assert np.array_equal(poisson(means, 0), stats.poisson.ppf(strata()[0], means))


def test_counts_rise_where_the_distribution_passes_the_number():
    grid = (np.arange(SAMPLE) + 0.5) / SAMPLE

    passed = stats.poisson.cdf(np.arange(MOST_TOGETHER - 1)[:, None], rises_at())

    assert passed == pytest.approx(np.tile(grid, (MOST_TOGETHER - 1, 1)), abs=1e-12)


def test_requests_are_ordered_by_their_number():
    assert (np.diff(strata()[5][order(5)]) > 0).all()
