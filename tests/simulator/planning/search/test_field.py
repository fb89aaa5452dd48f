import pytest

from simulator.errors import CatalogError
from tests.simulator.outcome import specs
from tests.simulator.planning.search import small

POOL = {"kind": "dedicated", "gpus": 1, "link": "nvlink", "shared_by": 2}


def pooled(**changes: object) -> dict[str, object]:
    return {"replicas": 2, "speculation": specs.MODELLED_DRAFTS | {"placement": POOL | changes}}


def test_candidates_that_differ_in_price_alone_are_searched_once_as_the_cheapest():
    field = small.field(small.scenario({"dear": {"price": 5.0}, "cheap": {"price": 2.0}, "other": small.B200}))

    assert dict(field.twins) == {"cheap": ("cheap", "dear"), "other": ("other",)}


def test_replicas_and_the_cost_of_training_make_no_other_candidate():
    drafted = {"speculation": specs.MODELLED_DRAFTS}
    trained = drafted | {"replicas": 3, "economics": {"training_gpu_hours": 100.0, "usd_per_gpu_hour": 3.0}}

    assert len(small.field(small.scenario({"one": drafted, "two": trained})).twins) == 1


def test_the_price_of_draft_gpus_makes_no_other_candidate():
    field = small.field(small.scenario({"one": pooled(), "two": pooled(price=1.0), "alone": pooled(shared_by=1)}))

    assert sorted(map(len, field.twins.values())) == [1, 2]


def test_spares_are_paid_for():
    field = small.field(small.scenario(), spare_replicas=2)

    assert (field.usd_per_hour("plain", 3), field.num_gpus("plain", 3)) == (15.0, 5)


def test_a_budget_caps_replicas_by_gpus_and_by_money():
    scenario = small.scenario()

    assert small.field(scenario, budget={"gpus": 5}).most_replicas("plain") == 5
    assert small.field(scenario, budget={"usd_per_hour": 12.5}).most_replicas("plain") == 4
    assert small.field(scenario, budget={"usd_per_hour": 12.0, "gpus": 9}).most_replicas("plain") == 4
    assert small.field(scenario, budget={"gpus": 5}, spare_replicas=2).most_replicas("plain") == 3
    assert small.field(scenario).most_replicas("plain", usd_per_hour=7.0) == 2


def test_a_budget_below_one_replica_allows_none():
    assert small.field(small.scenario(), budget={"usd_per_hour": 1.0}).most_replicas("plain") == 0


def test_a_price_that_the_catalog_lacks_is_told():
    scenario = small.scenario({"plain": {"gpu": "cpu-2core", "price": {"catalog": "nebius-on-demand"}}})

    with pytest.raises(CatalogError, match="has no price for GPU"):
        small.field(scenario)
