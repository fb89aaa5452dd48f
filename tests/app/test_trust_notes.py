from app.tables.comparison import comparison_table
from app.tables.trust import trust_notes
from tests.app import toys


def said(*rows):
    return [f"{names}: {text}" for names, text in trust_notes(rows)]


def test_good_rows_need_no_note():
    assert said(toys.row(), toys.row("b")) == []


def test_a_warm_up_that_is_too_short_says_where_the_run_is_steady():
    rows = [
        toys.row("a", warmup_too_short=True, warmup_found_requests=400),
        toys.row("b", warmup_too_short=True, warmup_found_requests=900),
    ]

    (note,) = said(*rows)

    assert note.startswith("a, b: what is measured still warms up: steady from about request 900")


def test_a_run_without_a_steady_part_asks_for_more_requests():
    (note,) = said(toys.row(warmup_too_short=True, warmup_found_requests=None))

    assert "raise workload.horizon.requests" in note


def test_percentiles_of_too_few_samples_are_named_if_they_are_shown():
    (note,) = said(toys.row(too_few_samples=["ttft_s.p95", "ttft_s.p99"]))

    assert "TTFT p95 marked ~" in note
    assert "p99" not in note


def test_wide_intervals_suggest_replications():
    wide = toys.row(
        interval_of_replications={"capacity_req_per_s": [12.0, 18.0]},
        replications_for_5_percent={"capacity_req_per_s": 23, "ttft_s.p95": 4},
    )

    assert said(wide) == [
        "plain: capacity ±20 % (95 % interval over the replications); about 23 replications would bring ±5 % (--seeds 23)"
    ]


def test_the_error_of_the_model_calls_for_no_replications_for_they_do_not_cut_it():
    wide = toys.row(
        interval={"capacity_req_per_s": [5.0, 25.0]},
        interval_of_replications={"capacity_req_per_s": [14.9, 15.1]},
        replications_for_5_percent={"capacity_req_per_s": 2},
    )

    assert said(wide) == []


def test_acceptance_beyond_what_was_measured_is_told_once_with_its_deployments():
    text = "acceptance of code extrapolated beyond K = 4"

    assert said(*(toys.row(name, extrapolated=[text]) for name in "ab"), toys.row("c")) == [f"a, b: {text}"]


def test_a_load_that_holds_by_less_than_the_models_error_is_told():
    fragile, safe = toys.row("a", holds_if_slower=False), toys.row("b", holds_if_slower=True)

    (note,) = said(fragile, safe)

    assert note.startswith("a: holds as predicted, but no longer if steps are as slow")


def test_hopelessly_wide_ones_suggest_longer_runs():
    wide = toys.row(
        interval_of_replications={"capacity_req_per_s": [5.0, 25.0]},
        replications_for_5_percent={"capacity_req_per_s": 700},
    )

    assert "raise workload.horizon.requests" in said(wide)[0]


def test_narrow_intervals_suggest_nothing():
    assert said(toys.row(replications_for_5_percent={"capacity_req_per_s": 2})) == []


def test_latencies_of_a_saturated_row_are_never_shown_as_means():
    table = toys.rendered(comparison_table([toys.row(saturated=True)], {"ttft_s": {"p95": 0.2}}, {}, "x"))

    assert "> 400 ms (grows) ✗" in table
    assert "> 100 ms (grows)" in table
    assert "have no mean" in said(toys.row(saturated=True))[0]


def test_a_percentile_of_too_few_samples_is_marked_in_the_table():
    table = toys.rendered(comparison_table([toys.row(too_few_samples=["ttft_s.p95"])], {}, {}, "x"))

    assert "~400 ms" in table
    assert "~100 ms" not in table


def test_a_load_at_the_edge_says_which_of_its_two_answers_is_a_majority():
    rows = [
        toys.row("a", utilisation=1.03),
        toys.row("b", utilisation=0.97, holds_slo=False),
        toys.row("c", utilisation=1.004),
        toys.row("d", utilisation=1.03, holds_slo=False),
    ]

    (note,) = said(*rows)

    assert (
        note == "a, b: the load is about all it holds: held says what most replications do, the capacity is their mean"
    )
