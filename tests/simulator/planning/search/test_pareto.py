from hypothesis import given
from hypothesis import strategies as st

from simulator.planning.search.pareto import front, latency_of
from simulator.spec.workload import Slo

figures = st.tuples(*[st.integers(0, 4).map(float)] * 3)


def dominates(better: tuple[float, ...], worse: tuple[float, ...]) -> bool:
    return better != worse and all(a <= b for a, b in zip(better, worse, strict=True))


@given(st.lists(figures, min_size=1, max_size=12))
def test_a_candidate_is_left_out_only_if_another_is_as_good_everywhere(points):
    sizes = {str(number): of for number, of in enumerate(points)}

    kept = {name: sizes[name] for name in front(sizes)}

    assert all(of in kept.values() or any(dominates(other, of) for other in kept.values()) for of in sizes.values())
    assert not any(dominates(one, other) for one in kept.values() for other in kept.values())


def test_the_set_begins_with_the_cheapest():
    assert front({"fast": (9.0, 8.0, 0.1), "cheap": (2.0, 4.0, 1.0), "small": (3.0, 2.0, 1.0)}) == [
        "cheap",
        "small",
        "fast",
    ]


def test_a_single_limit_is_what_candidates_are_compared_by():
    latency = latency_of(Slo.model_validate({"ttft_s": {"p99": 1.0}}))

    assert (latency.metric, latency.percentile) == ("ttft_s", "p99")
    assert latency.of({"ttft_s": {"p99": 0.4}}) == 0.4


def test_several_limits_are_compared_by_the_whole_answer_at_their_highest_percentile():
    slo = Slo.model_validate({"ttft_s": {"p50": 1.0, "p90": 2.0}, "tpot_s": {"p50": 0.1}})

    assert latency_of(slo) == ("e2e_s", "p90")
    assert latency_of(None) == ("e2e_s", "p95")


def test_a_latency_that_no_request_has_counts_as_none():
    latency = latency_of(Slo.model_validate({"tpot_s": {"p95": 0.1}}))

    assert latency.of({"tpot_s": {"p95": None}}) == 0.0
