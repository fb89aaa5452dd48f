from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import CatalogError
from simulator.outcome.cost import (
    Bill,
    Gpus,
    joules_per_token_bound,
    resolve_price,
    usd_per_hour,
    usd_per_million_tokens,
)
from simulator.spec.deployment import Deployment
from simulator.spec.price import CatalogPrice, Price
from tests.simulator.outcome.specs import deployment

positive = st.floats(1e-3, 1e6)


def test_eight_gpus_at_3_50_that_put_out_2000_tokens_a_second():
    assert usd_per_million_tokens(usd_per_hour(3.5, 8), 2000.0) == pytest.approx(28 / 3600 / 2000 * 1e6)


@given(positive, positive)
def test_cost_times_tokens_is_the_money_spent(usd, rate):
    cost = usd_per_million_tokens(usd, rate)

    assert cost is not None
    assert cost * rate * 3600 / 1e6 == pytest.approx(usd)


@given(st.floats(-10, 10))
def test_no_cost_is_ever_negative(rate):
    cost = usd_per_million_tokens(3.0, rate)

    assert cost is None or cost > 0


def test_nothing_put_out_has_no_price():
    assert usd_per_million_tokens(3.0, 0.0) is None
    assert usd_per_million_tokens(3.0, None) is None
    assert joules_per_token_bound(700.0, 8, 0.0) is None


def priced(price: object) -> Deployment:
    return deployment(price=price)


def test_a_plain_number_is_shown_as_an_assumption():
    found = resolve_price(priced(2.5))

    assert (found.usd_per_gpu_hour, found.basis) == (2.5, "assumption")


def test_a_price_keeps_its_source_and_date():
    found = resolve_price(priced(Price(usd_per_gpu_hour=3.0, basis="spot", source="a quote", as_of=date(2026, 9, 1))))

    assert (found.basis, found.source, found.as_of) == ("spot", "a quote", "2026-09-01")


def test_a_price_list_is_looked_up_by_gpu():
    found = resolve_price(priced(CatalogPrice(catalog="nebius-on-demand")))

    assert (found.usd_per_gpu_hour, found.basis) == (3.5, "on_demand")
    assert found.source.startswith("nebius")


def test_a_list_without_the_gpu_says_what_it_has():
    with pytest.raises(CatalogError, match=r"no price for GPU 'gb200'; it has: .*h200-sxm"):
        resolve_price(deployment(gpu="gb200", price=CatalogPrice(catalog="nebius-on-demand")))


def test_draft_gpus_are_paid_for_at_their_own_price():
    bill = Bill(Gpus(4, usd_per_gpu_hour=3.0, board_watts=700.0), Gpus(2, 6.0, 1000.0), shared_by=2)

    assert [bill.gpus(replicas) for replicas in (1, 2, 3)] == [6, 10, 16]
    assert bill.draft_gpus(3) == 4
    assert bill.usd_per_hour(3) == 12 * 3.0 + 4 * 6.0
    assert bill.usd_per_gpu_hour(3) == pytest.approx(60.0 / 16)
    assert bill.usd_per_replica_hour() == 4 * 3.0 + 6.0


def test_without_draft_gpus_a_gpu_costs_what_it_costs():
    bill = Bill(Gpus(4, usd_per_gpu_hour=3.3, board_watts=700.0))

    assert (bill.usd_per_gpu_hour(7), bill.board_watts(7), bill.draft_gpus(7)) == (3.3, 700.0, 0)
