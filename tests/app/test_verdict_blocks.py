from app.tables.sweep import over_points, point_title, short_names, sweep_table
from app.tables.verdict import asserts_block, provenance_block, verdict_block
from scenarios.asserts import AssertResult
from tests.app import toys


def point(rate, **changes):
    values = {"workload.arrivals.rate_per_s": rate}
    return {"point": f"rate={rate}", "values": values, "comparison": toys.comparison(**changes), "rows": [toys.row()]}


def test_provenance_names_profile_seeds_and_prices():
    price = {"usd_per_gpu_hour": 3.5, "basis": "on_demand", "source": "a list", "as_of": "2026-09-01"}
    told = {"profile": "uncalibrated", "seed": 7, "replications": 1, "prices": {"a": price, "b": price}}

    text = toys.rendered(provenance_block(told))

    assert "uncalibrated · seed 7 · 1 replication" in text
    assert "a, b: $3.50 per GPU-hour, on demand, 2026-09-01 (a list)" in text


def test_the_error_of_a_step_model_is_said_once_for_all_that_share_it():
    error = {"tpot_factor": 1.107, "ttft_factor": 1.23, "basis": "30 left-out rows of x"}
    told = {
        "calibration": {
            "a": {"error": error},
            "b": {"error": error},
            "c": {"error": None},
            "d": {"profile": "p", "error": None},
        }
    }

    text = toys.rendered(provenance_block(told))

    assert "a, b: step times to a factor of 1.11, TTFT of 1.23 (95 %), from 30 left-out rows of x" in text
    assert "c: not known: no measured profile" in text
    assert "d: not known: none of its profile's left-out rows" in text


def test_a_close_call_says_how_likely_the_leader_is_cheaper():
    close = toys.comparison(close_call=True, ratio=1.2, interval=[0.95, 1.5], confidence=0.91)

    assert "with a chance of 91 %" in toys.rendered(verdict_block(close))


def test_the_scenarios_own_assumptions_come_first_and_once():
    texts = ["gpus/h200-sxm, int8: borrowed", "a: acceptance as stated", "b: acceptance as stated"]

    lines = toys.rendered(provenance_block({"assumptions": texts})).splitlines()

    assert "a, b: acceptance as stated" in lines[1]
    assert "gpus/h200-sxm, int8: borrowed" in lines[2]


def test_many_assumptions_are_counted_not_listed():
    text = toys.rendered(provenance_block({"assumptions": [f"gpus/x, k{n}: guess {n}" for n in range(20)]}))

    assert "and 14 more" in text


def test_asserts_are_ticked_with_their_numbers():
    results = [AssertResult("a.x < 1", True, 0.5, 1.0), AssertResult("a.y < 1", False, None, 1.0)]

    held, failed = toys.rendered(asserts_block(results)).splitlines()

    assert held.startswith("✓  a.x < 1   (0.5 against 1)")
    assert failed.startswith("✗  a.y < 1   (no such number against 1)")


def test_a_sweep_has_a_line_a_point():
    text = toys.rendered(sweep_table([point(4), point(8, winner="spec", leader="spec", runner_up="plain")]))

    assert "rate_per_s" in text
    assert "all 1" in text
    assert "spec" in text


def test_a_point_without_a_winner_says_none():
    nobody = point(16, leader=None, runner_up=None, by_load={"costs": {}}, by_capacity={"costs": {}, "leader": None})

    assert "none" in toys.rendered(sweep_table([nobody]))


def test_one_leader_at_every_point_wins_the_sweep():
    found = over_points([point(4), point(8)])

    assert (found["winner"], found["flip"]) == ("plain", None)
    assert "cheapest at all 2 points" in toys.rendered(verdict_block(found))


def test_a_leader_that_changes_is_the_flip_of_the_sweep():
    found = over_points([point(4), point(8, leader="spec", runner_up="plain")])

    assert found["winner"] is None
    assert found["flip"]["sentence"] == "plain → spec at rate_per_s = 8"


def test_a_close_call_at_one_point_is_one_for_the_sweep():
    assert over_points([point(4), point(8, close_call=True)])["winner"] == "too close to call"


def test_names_of_swept_places_are_as_short_as_they_can_be():
    assert short_names(["x.a.k", "y.a.k", "seed"]) == {"x.a.k": "x.a.k", "y.a.k": "y.a.k", "seed": "seed"}
    assert point_title({"a.b.k": 3}) == "k = 3"
