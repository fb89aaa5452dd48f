"""One benchmark against its prediction."""

import json

import pytest

from calibration.against import compare
from simulator.errors import ScenarioError
from tests.calibration import benchmarked


@pytest.fixture
def compared(tmp_path):
    def of(result, prediction=None):
        (tmp_path / "result.json").write_text(json.dumps(result))
        told = (prediction or benchmarked.prediction()).model_dump_json()
        (tmp_path / "predicted.json").write_text(told)
        return compare(tmp_path / "result.json", tmp_path / "predicted.json")

    return of


def row(found, figure):
    return next(one for one in found["rows"] if one["figure"] == figure)


def test_a_run_that_went_as_predicted_has_no_error(compared):
    found = compared(benchmarked.result(benchmarked.prediction()))

    assert [one["error"] for one in found["rows"]] == pytest.approx([0.0] * 17)
    assert found["notes"] == []


def test_an_error_is_predicted_over_measured_and_judged_by_the_error_to_expect(compared):
    found = compared(benchmarked.result(benchmarked.prediction(), slower=1.25))

    assert row(found, "tpot_s.mean")["error"] == pytest.approx(1 / 1.25 - 1)
    assert row(found, "tpot_s.mean")["within"] is False
    assert row(found, "ttft_s.p95")["within"] is True
    assert row(found, "req_per_s")["within"] is None


def test_a_measurement_that_is_faster_than_the_error_explains_is_not_within_it_either(compared):
    found = compared(benchmarked.result(benchmarked.prediction(), slower=1 / 1.25))

    assert row(found, "tpot_s.mean")["within"] is False
    assert row(found, "ttft_s.p95")["within"] is True


def test_without_a_known_error_nothing_is_judged(compared):
    prediction = benchmarked.prediction(factors=None)

    found = compared(benchmarked.result(prediction, slower=3.0), prediction)

    assert {one["within"] for one in found["rows"]} == {None}
    assert "no error is known" in found["notes"][0]


def test_a_median_stands_for_the_percentile_that_it_is(compared):
    result = benchmarked.result(benchmarked.prediction())
    result["median_ttft_ms"] = result.pop("p50_ttft_ms")

    assert row(compared(result), "ttft_s.p50")["error"] == pytest.approx(0.0)


def test_what_the_client_did_not_measure_is_left_out(compared):
    result = {k: v for k, v in benchmarked.result(benchmarked.prediction()).items() if "tpot" not in k}

    assert not [one for one in compared(result)["rows"] if one["figure"].startswith("tpot")]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"completed": 90}, "90 requests ended well, 100 were predicted"),
        ({"failed": 3}, "100 requests ended well and 3 failed"),
        ({"total_input_tokens": 70_000}, "70,000 prompt tokens, 50,000 were predicted: this is another load"),
        ({"total_output_tokens": 12_000}, "12,000 output tokens"),
        ({"mean_ttft_ms": "fast"}, "mean_ttft_ms: 'fast' is not a number"),
    ],
)
def test_another_load_than_was_predicted_is_refused(compared, changes, says):
    with pytest.raises(ScenarioError, match=r"result\.json") as error:
        compared(benchmarked.result(benchmarked.prediction(), **changes))

    assert says in str(error.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"spec_decode_acceptance_length": 1.9}, "1.9 tokens per step were measured, 2.4 predicted"),
        ({"spec_decode_acceptance_length": None}, "says nothing of speculation"),
    ],
)
def test_another_acceptance_is_told(compared, changes, says):
    found = compared(benchmarked.result(benchmarked.prediction(), **changes))

    assert says in found["notes"][0]


def test_a_run_that_speculated_unasked_is_told(compared):
    figures = benchmarked.prediction().figures.model_copy(update={"tokens_per_step": None})
    prediction = benchmarked.prediction(figures=figures)

    found = compared(benchmarked.result(prediction, spec_decode_acceptance_length=2.0), prediction)

    assert "the run speculated (2 tokens per step)" in found["notes"][0]


def test_fewer_requests_in_flight_than_were_predicted_are_told(compared):
    load = benchmarked.prediction().load.model_copy(update={"clients": 32})
    prediction = benchmarked.prediction(load=load)

    notes = {peak: compared(benchmarked.result(prediction, max_concurrent_requests=peak), prediction)["notes"]
             for peak in (20, 32)}  # fmt: skip

    assert notes == {20: ["at most 20 requests were in flight, 32 were predicted"], 32: []}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[]", "no prediction: `specfleet export"),
        ('{"kind": "other"}', "no prediction: `specfleet export"),
        ('{"kind": "specfleet-prediction"}', "schema_version: Field required"),
    ],
)
def test_a_file_that_is_no_prediction_is_refused(tmp_path, text, says):
    (tmp_path / "p.json").write_text(text)

    with pytest.raises(ScenarioError) as error:
        compare(tmp_path / "result.json", tmp_path / "p.json")

    assert says in str(error.value)
    assert "p.json" in str(error.value)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"x": 1}, "no result of `vllm bench serve --save-result`"),
        ({"completed": 100, "total_output_tokens": 20_000, "output_throughput": None}, "was it saved by bench.sh?"),
    ],
)
def test_a_file_that_is_no_result_is_refused(compared, document, says):
    with pytest.raises(ScenarioError) as error:
        compared(document)

    assert says in str(error.value)


def test_a_prediction_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ScenarioError, match="No such file"):
        compare(tmp_path / "result.json", tmp_path / "nowhere.json")
