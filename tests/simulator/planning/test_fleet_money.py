"""What the clusters of a plan cost a month, and a job with a deadline."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from simulator.errors import CatalogError
from simulator.planning.economics import HOURS_PER_MONTH
from simulator.planning.estimate import steady_cluster
from simulator.planning.fleet_money import check_fleet, fleet_view, job_rows, rates_of
from simulator.spec.fleet import Fleet, Job
from simulator.spec.plan import Plan
from tests.simulator.outcome import specs

NEBIUS = {"catalog": "nebius-on-demand"}
PAIR = {"h200": {"price": NEBIUS}, "b200": {"price": NEBIUS, "gpu": "b200-sxm"}}
SPOT = {"h200-sxm": {"catalog": "nebius-spot"}, "b200-sxm": 2.0}


def point(name="h200", **changes):
    made = {
        "name": name, "gpu": f"{name}-sxm", "replicas": 4, "spare_replicas": 0, "utilisation": 0.8,
        "usd_per_month": 4 * 3.5 * HOURS_PER_MONTH, "users_served": None,
    }  # fmt: skip
    return made | changes


def view(fleet=None, points=(), **plan):
    question = Plan.model_validate(plan | ({} if fleet is None else {"fleet": fleet}))
    return fleet_view(specs.scenario(PAIR), points or [point()], question)


def test_without_contracts_every_hour_is_paid_at_the_offers_price():
    [row] = view()["rows"]

    assert [mix["usd_per_month"] for mix in row["mixes"]] == [row["usd_per_month"]] * 2
    assert row["replicas_by_hour"] == [4] * 24


def test_a_fifth_that_stands_idle_is_a_fifth_of_the_money():
    [row] = view()["rows"]

    assert row["idle_share"] == pytest.approx(0.2)
    assert row["idle_usd_per_month"] == pytest.approx(0.2 * row["usd_per_month"])


def test_spares_and_quiet_hours_stand_idle_too():
    [row] = view({"hours": [1, 1, 2, 2]}, [point(spare_replicas=1)])["rows"]

    assert row["idle_share"] == pytest.approx(1 - 0.8 * 0.75 * 4 / 5)
    assert row["replicas_by_hour"] == [3, 3, 5, 5]


def test_headroom_is_kept_in_quiet_hours():
    [row] = view({"hours": [1, 2]}, [point(utilisation=0.6)], headroom=0.4)["rows"]

    assert row["replicas_by_hour"] == [2, 4]


def test_contracts_of_the_file_are_priced_by_gpu():
    spec = specs.scenario(PAIR).deployments

    rates = {name: rates_of(spec[name], Fleet.model_validate({"spot": SPOT})) for name in PAIR}

    assert (rates["h200"].on_demand, rates["h200"].spot, rates["h200"].reserved) == (3.5, 1.45, None)
    assert (rates["b200"].on_demand, rates["b200"].spot) == (5.5, 2.0)


def test_a_stated_price_on_demand_stands_in_place_of_the_offers():
    spec = specs.scenario(PAIR).deployments["h200"]

    assert rates_of(spec, Fleet(on_demand={"h200-sxm": 9.0})).on_demand == 9.0


def test_draft_gpus_are_paid_on_the_same_contract_or_none():
    pool = specs.MODELLED_DRAFTS | {
        "placement": {"kind": "dedicated", "gpu": "b200-sxm", "price": 5.0, "link": "internode"}
    }
    spec = specs.deployment(speculation=pool)

    both, one = (rates_of(spec, Fleet(reserved=of)) for of in ({"h200-sxm": 2.0, "b200-sxm": 4.0}, {"h200-sxm": 2.0}))

    assert (both.reserved, one.reserved) == (6.0, None)


def test_prices_are_told_with_where_they_were_read():
    found = view({"spot": SPOT})

    assert set(found["prices"]["spot"]) == {"h200-sxm"}, "only what is in the answer"
    assert found["prices"]["spot"]["h200-sxm"]["basis"] == "spot"
    assert any("taken away in 5% of the hours" in text for text in found["assumptions"])


def test_the_view_is_plain_json():
    found = view({"spot": SPOT, "job": {"requests": 1000, "within_hours": 1.0}})

    assert json.loads(json.dumps(found)) == found


def test_a_day_on_which_nothing_comes_is_refused():
    with pytest.raises(ValueError, match="hours: all are 0"):
        Fleet(hours=(0.0, 0.0))


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (
            {"h200-sxm": {"catalog": "lambda-on-demand"}},
            "plan.fleet.spot.h200-sxm: price list 'lambda-on-demand' has no",
        ),
        ({"h2000": 1.0}, "plan.fleet.spot.h2000: no GPU 'h2000' in the catalog"),
    ],
)
def test_a_contract_for_what_is_not_there_is_refused(prices, said):
    with pytest.raises(CatalogError, match=said):
        check_fleet(Fleet.model_validate({"spot": prices}))


def job(requests=10_000_000, within_hours=1.0, **contracts):
    return view({"job": {"requests": requests, "within_hours": within_hours}, **contracts})["job"]


def test_a_job_gets_the_fewest_replicas_that_are_done_in_time():
    [row] = [row for row in job()["rows"] if row["gpu"] == "h200-sxm"]

    rate = steady_cluster(specs.scenario(PAIR), "h200").saturation()
    assert row["hours"] == pytest.approx(10_000_000 / (rate * row["replicas"] * 3600.0))
    assert row["hours"] <= 1.0 < row["hours"] * row["replicas"] / (row["replicas"] - 1)


def test_a_job_costs_the_same_however_much_time_it_has():
    rows = [job(within_hours=hours)["rows"][0] for hours in (0.1, 10.0)]

    assert rows[0]["usd"] == pytest.approx(rows[1]["usd"])
    assert rows[0]["replicas"] > rows[1]["replicas"]


def test_a_job_goes_where_it_costs_least():
    found = job(spot=SPOT)

    costs = [row["usd"] for row in found["rows"]]
    assert costs == sorted(costs)
    assert (found["choice"], found["contract"]) == (found["rows"][0]["name"], "spot")
    assert {(row["gpu"], row["contract"]) for row in found["rows"]} == {
        (gpu, contract) for gpu in ("h200-sxm", "b200-sxm") for contract in ("on_demand", "spot")
    }


def test_a_small_job_needs_a_replica():
    assert job(requests=1)["rows"][0]["replicas"] == 1


def test_a_job_pays_for_draft_gpus_whole_though_few_replicas_share_them():
    placement = {"kind": "dedicated", "shared_by": 4, "link": "internode"}
    spec = specs.deployment(replicas=4, speculation=specs.MODELLED_DRAFTS | {"placement": placement})

    [row] = job_rows(spec, "shared", 10.0, Fleet(), Job(requests=36_000, within_hours=1.0))
    assert (row["replicas"], row["num_gpus"]) == (1, 2)
    assert row["usd"] == pytest.approx(2 * 3.0)


def test_a_job_costs_the_same_wherever_it_is_estimated():
    question = Plan.model_validate({"fleet": {"job": {"requests": 1000, "within_hours": 1.0}}})

    with ThreadPoolExecutor(2) as pool:
        elsewhere = fleet_view(specs.scenario(PAIR), [point()], question, pool)

    assert elsewhere == fleet_view(specs.scenario(PAIR), [point()], question)
