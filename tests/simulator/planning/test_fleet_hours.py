"""Replicas by the hour of a day, and contracts for them."""

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.planning.economics import HOURS_PER_MONTH
from simulator.planning.fleet_hours import Rates, load_shape, mixes, mixes_json, replicas_by_hour, reserved_replicas
from simulator.spec.arrivals import DiurnalArrivals, PoissonArrivals
from simulator.spec.fleet import Fleet

needs = st.lists(st.integers(0, 12), min_size=1, max_size=24)
prices = st.floats(0.1, 10.0)


def by_name(*asked, **changes):
    return {mix.name: mix for mix in mixes(*asked, **changes)}


def test_every_hour_is_alike_where_nothing_is_said():
    assert load_shape(None, PoissonArrivals(kind="poisson", rate_per_s=1.0)) == [1.0] * 24
    assert load_shape(Fleet(), PoissonArrivals(kind="poisson", rate_per_s=1.0)) == [1.0] * 24


def test_stated_hours_are_shares_of_the_highest():
    assert load_shape(Fleet(hours=(1.0, 4.0, 2.0)), PoissonArrivals(kind="poisson", rate_per_s=1.0)) == [0.25, 1.0, 0.5]


def test_a_day_of_diurnal_arrivals_is_read_from_its_trough_to_its_peak():
    arrivals = DiurnalArrivals(kind="diurnal", rate_per_s=1.0, period_s=600.0, peak_to_mean=1.8)

    shape = load_shape(None, arrivals)

    assert len(shape) == 24
    assert max(shape) == shape[12] == 1.0
    assert shape[0] == pytest.approx(0.2 / 1.8, abs=0.02)


def test_a_short_peak_counts_for_its_whole_hour():
    steps = ((86_400 - 300, 1.0), (300, 9.0))
    arrivals = DiurnalArrivals(kind="diurnal", rate_per_s=1.0, period_s=86_400.0, steps=steps)

    shape = load_shape(None, arrivals)

    assert shape[:23] == pytest.approx([1 / 9] * 23)
    assert shape[23] == 1.0


def test_the_highest_hour_has_the_replicas_of_the_plan_and_spares_run_always():
    assert replicas_by_hour([0.0, 0.5, 1.0], replicas=8, share_used=0.8, spares=1) == [2, 5, 9]


@given(needs, prices, prices)
def test_no_other_number_of_reserved_replicas_is_cheaper(needed, reserved, otherwise):
    def cost(r):
        return r * reserved + fmean(max(n - r, 0) for n in needed) * otherwise

    best = reserved_replicas(needed, reserved, otherwise)

    assert cost(best) <= min(cost(r) for r in range(13)) * (1 + 1e-12) + 1e-12


def test_a_flat_day_costs_what_its_replicas_cost():
    found = by_name([3] * 24, Rates(2.0, reserved=1.5), interrupted=0.0)

    assert found["on_demand_always"].usd_per_month == found["on_demand_by_hour"].usd_per_month == 6.0 * HOURS_PER_MONTH
    assert found["reserved_and_on_demand"].usd_per_month == found["reserved_always"].usd_per_month
    assert found["reserved_and_on_demand"].base_replicas == 3


def test_what_is_not_stated_is_no_way_to_pay():
    assert set(by_name([1, 2], Rates(2.0), interrupted=0.0)) == {"on_demand_always", "on_demand_by_hour"}


@given(needs.filter(any), prices, prices, prices, st.floats(0.0, 1.0))
def test_a_mix_is_never_dearer_than_either_of_its_parts(needed, hourly, reserved, spot, interrupted):
    found = by_name(needed, Rates(hourly, reserved, spot), interrupted)

    mixed = found["reserved_and_on_demand"].usd_per_month
    assert mixed <= found["reserved_always"].usd_per_month * (1 + 1e-9)
    assert mixed <= found["on_demand_by_hour"].usd_per_month * (1 + 1e-9)


def test_spot_that_is_always_taken_away_costs_what_on_demand_costs():
    found = by_name([1, 5], Rates(2.0, spot=0.5), interrupted=1.0)

    assert found["on_demand_and_spot"].usd_per_month == pytest.approx(found["on_demand_by_hour"].usd_per_month)


def test_mixes_are_told_against_paying_always():
    told = mixes_json(mixes([1, 3], Rates(2.0), interrupted=0.0))

    assert [one["ratio"] for one in told] == pytest.approx([1.0, 2 / 3])
