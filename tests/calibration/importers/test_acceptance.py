"""Acceptance from each kind of file, against what can be worked out by hand."""

import json

import numpy as np
import pytest

from calibration.importers.finding import RequestCounts, from_counts
from calibration.importers.intervals import requests_interval, spread_over_requests
from calibration.importers.options import ReadOptions
from calibration.importers.read import read_acceptance
from simulator.outcome.interval import steps_interval, wilson
from simulator.physics.spread import mean_over_steps, spread_survival
from tests.calibration.importers import samples

EXACT = {0: 200, 1: 300, 2: 300, 3: 200}


@pytest.fixture
def found(tmp_path):
    """Reads files of these contents, in this order."""

    def read(*contents, **options):
        paths = []
        for number, content in enumerate(contents):
            paths.append(tmp_path / f"file-{number}")
            paths[-1].write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return read_acceptance(*paths, options=ReadOptions(**options))

    return read


def test_counters_by_position_are_a_histogram(found):
    of = found(samples.METRICS)

    assert of.histogram == EXACT
    assert of.survival == (0.8, 0.5, 0.2)
    assert (of.tokens_per_step, of.acceptance_rate, of.draft_tokens, of.steps) == (2.5, 0.5, 3, 1000)
    assert of.block() == {"histogram": EXACT}
    assert any("since the server's start" in note for note in of.notes)


def test_two_scrapes_say_what_lies_between(found):
    later = samples.METRICS
    for before, after in (("1000.0", "1400.0"), ("3000.0", "4200.0"), ("1500.0", "2000.0"), ("800.0", "1100.0")):
        later = later.replace(f" {before}\n", f" {after}\n")
    later = later.replace('"1"} 500.0', '"1"} 640.0').replace('"2"} 200.0', '"2"} 260.0')

    of = found(samples.METRICS, later)

    assert of.histogram == {0: 100, 1: 160, 2: 80, 3: 60}
    assert of.tokens_per_step == 2.25
    assert not any("since the server's start" in note for note in of.notes)


TWO = samples.METRICS + samples.METRICS.replace('engine="0"', 'engine="1"').replace("800.0", "1000.0").replace(
    " 1500.0", " 1700.0"
)


def test_one_of_two_engines_is_chosen_by_its_label(found):
    assert found(TWO, labels={"engine": "1"}).survival == (1.0, 0.5, 0.2)


def test_two_engines_are_added_up_on_demand(found):
    of = found(TWO, add_engines=True)

    assert of.steps == 2000
    assert of.survival == (0.9, 0.5, 0.2)


def test_a_lookups_steps_without_a_proposal_count(found):
    of = found(samples.METRICS, lookup=True)

    # 3050 generated less 50 first tokens are 1500 accepted and 1500 steps, of which 1000 proposed.
    assert of.steps == 1500
    assert of.tokens_per_step == 2.0
    assert of.block() == {"histogram": EXACT | {0: 700}, "drafted": {0: 500, 3: 1000}}


def test_proposals_shorter_than_k_are_told(found):
    of = found(samples.METRICS.replace(" 3000.0", " 2400.0"))

    assert any("2.4 of 3 draft tokens are proposed" in note for note in of.notes)
    assert of.drafted is None


def test_tensorrt_llm_counters_need_k(found):
    of = found(samples.TRTLLM, draft_tokens=4)

    assert of.tokens_per_step == pytest.approx(1 + 4 * 0.6)
    assert of.interval == pytest.approx((1 + 4 * 0.5847, 1 + 4 * 0.6151), abs=1e-3)
    assert of.block() == {"tokens_per_step": 3.4, "at": 4}


def test_sglangs_gauge_counts_the_bonus_token(found):
    of = found(samples.SGLANG, draft_tokens=3)

    assert (of.tokens_per_step, of.interval) == (2.65, None)
    assert of.block() == {"tokens_per_step": 2.65, "at": 3}


def test_vllm_bench_writes_percent_and_survival(found):
    of = found(samples.BENCH | samples.SPEC)

    assert of.histogram == EXACT
    assert of.acceptance_rate == 0.5


def test_vllm_bench_without_positions_has_a_mean(found):
    spec = {key: value for key, value in samples.SPEC.items() if "per_position" not in key}

    assert found(samples.BENCH | spec).block() == {"tokens_per_step": 2.5, "at": 3}


def test_aiperf_pools_a_histogram(found):
    of = found(samples.AIPERF | samples.AIPERF_SPEC)

    assert of.histogram == {0: 2, 1: 3, 2: 2, 3: 3, 4: 1}
    assert of.tokens_per_step == pytest.approx(1 + 20 / 11)
    assert of.acceptance_rate == pytest.approx(20 / 44)


def test_aiperf_without_a_histogram_has_a_mean_over_requests(found):
    of = found(samples.AIPERF | {"spec_decode_acceptance_length": {"unit": "ratio", "avg": 2.9}}, draft_tokens=4)

    assert of.block() == {"tokens_per_step": 2.9, "at": 4, "averaged_over": "requests"}


def test_aiperf_records_are_read_one_by_one(found):
    records = [
        {"metadata": {}, "metrics": {}, "error": None, "spec_decode_acceptance": {
            "engine": "vllm", "acceptance_histogram": {"0": 1, "2": 3}, "num_spec_steps": 4,
            "num_accepted_draft_tokens": 6, "num_draft_tokens": 8, "num_spec_tokens": 2}},
        {"metadata": {}, "metrics": {}, "error": None},
    ]  # fmt: skip

    of = found(samples.lines(records))

    assert of.histogram == {0: 1, 1: 0, 2: 3}
    assert (of.engine, of.requests, of.draft_tokens) == ("vllm", 1, 2)
    assert any("1 records without statistics" in note for note in of.notes)


@pytest.mark.parametrize("response", [samples.vllm_response, samples.sglang_response], ids=["vllm", "sglang"])
def test_responses_pool_their_histograms(found, response):
    of = found(samples.lines([response([1, 2, 3]), response([4, 0, 0]), response([0, 0, 5])]))

    assert of.histogram == {0: 5, 1: 2, 2: 8}
    assert (of.steps, of.requests, of.tokens_per_step) == (15, 3, 2.2)
    assert of.interval[0] < 2.2 < of.interval[1]
    assert of.spread > 0


def test_steps_drafted_one_by_one_are_a_histogram_too(found):
    of = found(
        samples.vllm_response(
            [2, 1, 1], per_step_accepted=[0, 0, 1, 2], per_step_drafted=[0, 2, 1, 2], num_draft_tokens=5,
            draft_acceptance_rate=0.6,
        )
    )  # fmt: skip

    assert of.drafted == {0: 1, 1: 1, 2: 2}
    assert of.block() == {"histogram": {0: 2, 1: 1, 2: 1}, "drafted": {0: 1, 1: 1, 2: 2}}


def test_tensorrt_llm_iterations_add_up(found):
    of = found([samples.iteration(9, 6, 3), {"iter": 2}, samples.iteration(6, 3, 2)])

    assert of.tokens_per_step == pytest.approx(1 + 9 / 5)
    assert of.block() == {"tokens_per_step": 2.8, "at": 3}


def test_unknown_fields_are_left_alone(found):
    assert found(samples.BENCH | samples.SPEC | {"new_field": {"a": [1]}}).histogram == EXACT


# Intervals.


def test_wilson_is_that_of_the_textbook():
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)


def test_intervals_hold_the_truth_nineteen_times_of_twenty():
    rng, truth, held = np.random.default_rng(1), 1 + 0.7 + 0.4, 0
    for _ in range(400):
        drawn = rng.choice(3, 200, p=[0.3, 0.3, 0.4])
        low, high = steps_interval({j: int((drawn == j).sum()) for j in range(3)})
        held += low <= truth <= high

    assert 0.92 <= held / 400 <= 0.98


def test_requests_that_differ_widen_the_interval():
    alike = [{0: 50, 1: 50}] * 8
    apart = [{0: 90, 1: 10}, {0: 10, 1: 90}] * 4

    narrow, wide = (requests_interval(requests) for requests in (alike, apart))

    assert narrow == (1.5, 1.5)
    assert wide[1] - wide[0] > 0.3


@pytest.mark.parametrize("spread", [0.0, 0.6, 1.2])
def test_the_spread_that_requests_were_drawn_from_is_found_again(spread):
    rng = np.random.default_rng(3)
    groups = spread_survival((0.7, 0.5, 0.3), spread, mean_over_steps)
    requests = []
    for _ in range(300):
        survival = groups[rng.integers(len(groups))]
        accepted = (rng.random(60)[:, None] < survival).sum(axis=1)
        requests.append({j: int((accepted == j).sum()) for j in range(4)})

    found, (low, high) = spread_over_requests(requests)

    assert low - 0.05 <= spread <= high + 0.05
    assert found == pytest.approx(spread, abs=0.2)


def test_one_request_shows_no_spread():
    assert from_counts("f", "e", [RequestCounts({0: 5, 1: 5})], 1).spread is None
