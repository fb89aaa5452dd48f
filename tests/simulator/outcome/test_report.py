import json

import numpy as np
import pytest

from simulator.outcome.aggregate import aggregate_rows, flatten
from simulator.outcome.cost import Bill, Gpus
from simulator.outcome.report import EXTRA_FIELDS, ROW_FIELDS, Planned, Row, RowContext, empty_row, replication_row
from simulator.spec.workload import Slo
from tests.simulator.outcome import toys

DESIGN_FIELDS = """deployment gpu num_gpus point replication offered_req_per_s completed_requests req_per_s
input_tokens_per_s output_tokens_per_s total_tokens_per_s output_tokens_per_s_per_gpu ttft_s tpot_s itl_s e2e_s
tokens_per_step acceptance_rate draft_tokens_mean draft_flops_ratio draft_latency_ratio slo_attainment
goodput_req_per_s saturated mean_batch kv_utilisation_mean kv_utilisation_max preemptions capacity_req_per_s
utilisation replicas_for_offered gpus_for_offered usd_per_hour_for_offered usd_per_hour usd_per_million_output_tokens
usd_per_million_input_tokens usd_per_million_total_tokens usd_per_million_good_output_tokens
usd_per_million_output_tokens_at_capacity joules_per_output_token_bound bound_by interval"""

CONTEXT = RowContext(
    deployment="toy", gpu="h200-sxm", replicas=2, bill=Bill(Gpus(4, usd_per_gpu_hour=3.0, board_watts=700.0)),
    arrivals_kind="poisson", slo=Slo(ttft_s={"p95": 1.0}),
)  # fmt: skip


def row(seed: int = 1, rate: float = 5.0, planned: Planned | None = None, **context: object) -> Row:
    changed = RowContext(**({name: getattr(CONTEXT, name) for name in CONTEXT.__dataclass_fields__} | context))  # type: ignore[arg-type]
    records = toys.toy_cluster(rate, requests_=800, warmup=100, seed=seed)
    return replication_row(records, changed, seed, model=toys.FlatCosts(), offered_req_per_s=rate, planned=planned)


def test_a_row_has_the_fields_of_the_design_in_its_order():
    assert tuple(DESIGN_FIELDS.split()) == ROW_FIELDS
    assert tuple(row()) == ROW_FIELDS + EXTRA_FIELDS


def test_every_row_is_json():
    rows = [row(seed) for seed in (1, 2)]

    text = json.dumps([*rows, aggregate_rows(rows), empty_row(CONTEXT, "all", "too big")], allow_nan=False)

    assert "ttft_s" in text


def test_each_million_carries_the_whole_cost():
    found = row()

    hourly = found["usd_per_million_output_tokens"] * found["output_tokens_per_s"] * 3600 / 1e6
    assert hourly == pytest.approx(found["usd_per_hour"]) == pytest.approx(24.0)
    hourly = found["usd_per_million_total_tokens"] * found["total_tokens_per_s"] * 3600 / 1e6
    assert hourly == pytest.approx(24.0)


def test_good_tokens_cost_more_when_fewer_are_good():
    strict, loose = row(slo=Slo(ttft_s={"p95": 0.02})), row(slo=Slo(ttft_s={"p95": 100.0}))

    assert strict["usd_per_million_good_output_tokens"] > strict["usd_per_million_output_tokens"]
    assert loose["usd_per_million_good_output_tokens"] == pytest.approx(loose["usd_per_million_output_tokens"])
    assert strict["goodput_req_per_s"] < loose["goodput_req_per_s"] == pytest.approx(loose["req_per_s"])


def test_nothing_good_has_no_price_rather_than_an_endless_one():
    found = row(slo=Slo(ttft_s={"p95": 1e-6}))

    assert (found["slo_attainment"], found["goodput_req_per_s"]) == (0.0, 0.0)
    assert found["usd_per_million_good_output_tokens"] is None


def test_without_an_slo_no_request_is_good_or_bad():
    found = row(slo=None)

    assert (found["slo_attainment"], found["goodput_req_per_s"]) == (None, None)
    assert found["holds_slo"] is True


def test_figures_at_capacity_follow_from_capacity_and_length():
    found = row(planned=Planned(capacity_req_per_s=8.0, replicas_for_offered=3))

    assert found["utilisation"] == pytest.approx(5.0 / 8.0)
    assert found["output_tokens_per_s_at_capacity"] == pytest.approx(80.0)
    assert found["usd_per_million_output_tokens_at_capacity"] == pytest.approx(24.0 / 3600 / 80 * 1e6)
    assert (found["gpus_for_offered"], found["usd_per_hour_for_offered"]) == (12, 36.0)


def test_no_capacity_has_no_utilisation_and_no_price():
    found = row(planned=Planned(capacity_req_per_s=0.0, capacity_note="no load holds"))

    assert (found["utilisation"], found["usd_per_million_output_tokens_at_capacity"]) == (None, None)
    assert found["capacity_note"] == "no load holds"


def test_joules_are_board_power_by_output():
    found = row()

    assert found["joules_per_output_token_bound"] == pytest.approx(700 * 8 / found["output_tokens_per_s"])


def test_a_saturated_run_does_not_hold():
    found = row(rate=20.0)

    assert (found["saturated"], found["holds_slo"]) == (True, False)


def test_an_empty_row_says_why_and_has_every_field():
    found = empty_row(CONTEXT, "all", "lacks 3 GiB")

    assert set(found) == set(ROW_FIELDS + EXTRA_FIELDS)
    assert (found["fits"], found["reason"], found["usd_per_hour"]) == (False, "lacks 3 GiB", 24.0)


def test_the_row_over_all_replications_holds_means_and_intervals():
    rows = [row(seed) for seed in (1, 2, 3)]

    found = aggregate_rows(rows)

    p95 = [r["ttft_s"]["p95"] for r in rows]
    half = 4.302652729911275 * np.std(p95, ddof=1) / np.sqrt(3)
    assert found["ttft_s"]["p95"] == pytest.approx(np.mean(p95))
    assert found["interval"]["ttft_s.p95"] == pytest.approx([np.mean(p95) - half, np.mean(p95) + half])
    assert (found["replication"], tuple(found)) == ("all", tuple(rows[0]))


def test_every_number_has_an_interval():
    found = aggregate_rows([row(seed) for seed in (1, 2, 3)])

    assert set(found["interval"]) == set(flatten(found))


def test_one_replication_gives_no_interval():
    assert aggregate_rows([row()])["interval"] == {}


def changed(**fields: object) -> Row:
    return row() | fields


def test_most_replications_decide_a_flag():
    assert aggregate_rows([changed(saturated=s) for s in (True, True, False)])["saturated"] is True
    assert aggregate_rows([changed(saturated=s) for s in (True, False)])["saturated"] is False


def test_what_half_of_the_replications_lack_is_not_known():
    assert aggregate_rows([changed(utilisation=u) for u in (0.5, None)])["utilisation"] is None
    assert aggregate_rows([changed(utilisation=u) for u in (0.5, 0.7, None)])["utilisation"] == pytest.approx(0.6)


def test_a_fleet_is_what_holds_in_most_replications_not_a_mean():
    rows = [row(planned=Planned(replicas_for_offered=n)) for n in (2, 3, 5)]

    found = aggregate_rows(rows)

    assert (found["replicas_for_offered"], found["gpus_for_offered"]) == (3, 12)
    assert found["usd_per_hour_for_offered"] == pytest.approx(36.0)


def test_no_fleet_in_most_replications_is_no_fleet():
    rows = [row(planned=Planned(replicas_for_offered=n)) for n in (2, None, None)]

    assert aggregate_rows(rows)["replicas_for_offered"] is None
    assert aggregate_rows(rows)["usd_per_hour_for_offered"] is None
