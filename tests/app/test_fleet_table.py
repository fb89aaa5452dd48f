"""What a plan's clusters cost a month, on the screen."""

from app.tables.fleet import fleet_block, fleet_table, job_said, mixes_of
from tests.app import toys


def mix(name, usd, base=2):
    return {"name": name, "base_replicas": base, "usd_per_month": usd, "ratio": usd / 1000.0}


def row(**changes):
    made = {
        "name": "chat.h200", "gpu": "h200-sxm", "replicas": 4, "spare_replicas": 0, "usd_per_month": 1000.0,
        "idle_share": 0.25, "idle_usd_per_month": 250.0, "users_served": None, "replicas_by_hour": [2, 4],
        "mixes": [mix("on_demand_always", 1000.0, 4), mix("on_demand_by_hour", 750.0), mix("reserved_always", 800.0, 4)],
        "cheapest_mix": "on_demand_by_hour",
    }  # fmt: skip
    return made | changes


def job_row(**changes):
    made = {"name": "chat.h200", "gpu": "h200-sxm", "contract": "spot", "replicas": 2, "num_gpus": 4, "hours": 1.5,
            "usd": 8.7}  # fmt: skip
    return made | changes


def view(*rows, **changes):
    made = {
        "hours_per_month": 730.5, "load_by_hour": [0.5, 1.0], "prices": {"on_demand": {}, "reserved": {}, "spot": {}},
        "spot_interrupted": None, "rows": list(rows) or [row()], "job": None, "assumptions": ["hours are bought whole"],
    }  # fmt: skip
    return made | changes


def test_the_cheapest_mix_of_a_cluster_is_marked():
    text = toys.rendered(fleet_table(view()))

    assert "$750.00 (2) ★" in text
    assert "$1,000 (4)" in text
    assert "users" not in text


def test_users_are_told_where_a_plan_has_them():
    assert "1,234" in toys.rendered(fleet_table(view(row(users_served=1234.2))))


def test_on_a_flat_day_there_are_no_hours_to_choose():
    assert mixes_of(view(row(replicas_by_hour=[4, 4]))) == ["on_demand_always", "reserved_always"]


def test_a_cluster_without_a_contract_has_a_dash():
    poor = row(name="other", mixes=[mix("on_demand_always", 1000.0), mix("on_demand_by_hour", 900.0)])

    assert "–" in toys.rendered(fleet_table(view(row(), poor)))


def test_hours_prices_and_assumptions_stand_below():
    price = {"usd_per_gpu_hour": 1.45, "basis": "spot", "source": "a list", "as_of": "2026"}
    text = toys.rendered(fleet_block(view(prices={"spot": {"h200-sxm": price}})))

    assert "the quietest brings 50 % of the busiest" in text
    assert "spot: $1.45 per GPU-hour of h200-sxm, 2026 (a list)" in text
    assert "hours are bought whole" in text


def test_a_job_is_told_by_gpu_and_contract():
    job = {"requests": 50_000, "within_hours": 8.0, "rows": [job_row(), job_row(contract="on_demand", usd=21.0)]}

    assert job_said(job) == (
        "50,000 requests within 8.00 h: $8.70 spot on 4 GPUs of h200-sxm in 90.0 min (chat.h200); "
        "$21.00 on demand on 4 GPUs of h200-sxm in 90.0 min (chat.h200)"
    )


def test_a_job_that_fits_nowhere_says_so():
    assert job_said({"requests": 1, "within_hours": 1.0, "rows": []}).endswith("no candidate fits")
