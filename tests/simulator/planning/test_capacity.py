import numpy as np
import pytest

from simulator.outcome.slo import Verdict, verdict
from simulator.planning.capacity import TOLERANCE, LoadAxis, Trial, load_axis, plateau, search
from simulator.spec.workload import Slo, Workload
from tests.simulator.outcome import specs, toys


class Cliff:
    """Holds up to a limit; pressure grows as the load to the power of three."""

    def __init__(self, limit: float, *, saturates: bool = False) -> None:
        self.limit = limit
        self.saturates = saturates
        self.loads: list[float] = []

    def __call__(self, load: float) -> Verdict:
        self.loads.append(load)
        holds = load <= self.limit
        return Verdict(
            holds, (load / self.limit) ** 3, self.saturates and not holds, min(load, self.limit), "ttft_s.p95"
        )


@pytest.mark.parametrize("limit", [0.013, 1.0, 7.77, 3456.0])
@pytest.mark.parametrize("off", [0.2, 0.5, 0.9, 1.0, 1.1, 2.0, 5.0])
def test_the_highest_load_that_holds_is_found_to_one_percent(limit, off):
    found = search(Cliff(limit), limit * off)

    assert limit / (1 + TOLERANCE) <= found.req_per_s <= limit


@pytest.mark.parametrize("off", [0.9, 0.95, 1.0, 1.05, 1.1])
def test_a_guess_within_ten_percent_needs_seven_runs_at_most(off):
    assert search(Cliff(8.0), 8.0 * off).evaluations <= 7


@pytest.mark.parametrize("off", [0.92, 1.0, 1.08])
def test_so_it_does_on_a_simulated_queue(off):
    slo = Slo(ttft_s={"p95": 0.3})

    def measure(rate: float) -> Verdict:
        return verdict(toys.toy_cluster(rate, 1500, 200), slo, open_loop=True)

    capacity = search(measure, 6.0).req_per_s

    found = search(measure, capacity * off)
    assert found.req_per_s == pytest.approx(capacity, rel=2 * TOLERANCE)
    assert found.evaluations <= 7


def test_without_an_slo_capacity_is_where_the_server_saturates():
    def measure(rate: float) -> Verdict:
        return verdict(toys.toy_cluster(rate, 8000, 500), None, open_loop=True)

    assert search(measure, 6.0).req_per_s == pytest.approx(10.0, rel=0.03)


def test_an_overload_tells_where_to_look_next():
    cliff = Cliff(2.0, saturates=True)

    search(cliff, 40.0)

    assert cliff.loads[:2] == [40.0, pytest.approx(0.97 * 2.0)]


def test_what_is_known_is_not_simulated_again():
    cliff = Cliff(8.0)

    found = search(cliff, 8.2, [Trial(7.95, Cliff(8.0)(7.95))])

    assert 7.95 not in cliff.loads
    assert found.req_per_s == pytest.approx(8.0, rel=TOLERANCE)


def test_a_known_end_far_away_does_not_make_the_search_longer():
    far = search(Cliff(8.0), 8.2, [Trial(0.1, Cliff(8.0)(0.1))])

    assert far.evaluations <= search(Cliff(8.0), 8.2).evaluations


def test_a_target_that_no_load_meets_gives_zero_and_says_why():
    found = search(lambda load: Verdict(False, 2.0, False, load, "tpot_s.p95"), 5.0)

    assert found.req_per_s == 0
    assert "tpot_s.p95 is still over its limit" in found.note


def test_a_run_too_short_to_find_a_limit_says_so():
    found = search(lambda load: Verdict(True, 0.1, False, load, "backlog"), 5.0)

    assert found.req_per_s > 5.0
    assert "every load that was tried holds" in found.note


@pytest.mark.parametrize(("limit", "start"), [(1, 1), (1, 50), (7, 3), (64, 64), (1000, 640)])
def test_clients_of_a_closed_loop_are_counted_whole(limit, start):
    cliff = Cliff(limit)

    found = search(cliff, start, whole=True)

    assert limit / (1 + TOLERANCE) <= found.load <= limit
    assert all(load == round(load) >= 1 for load in cliff.loads)


def test_no_client_at_all_is_zero():
    assert search(Cliff(0.5), 10.0, whole=True).req_per_s == 0


def test_throughput_of_a_closed_loop_without_a_target_levels_off():
    def measure(clients: float) -> Verdict:
        return Verdict(True, 0.0, False, 10.0 * clients / (clients + 5.0), "backlog")

    found = plateau(measure, Trial(4.0, measure(4.0)))

    assert found.req_per_s == pytest.approx(10.0, rel=0.03)


def test_the_same_search_gives_the_same_answer():
    assert search(Cliff(3.3), 2.0) == search(Cliff(3.3), 2.0)


def axis_of(arrivals: dict[str, object]) -> LoadAxis:
    return load_axis(Workload.model_validate(specs.workload(arrivals)), seed=1, replication=0)


def test_each_kind_of_arrivals_has_its_axis():
    assert axis_of({"kind": "poisson", "rate_per_s": 3.0}) == LoadAxis("rate", 3.0)
    assert axis_of({"kind": "closed_loop", "concurrency": 8}) == LoadAxis("clients", 8.0)
    assert axis_of({"kind": "queued_at_once"}) == LoadAxis("batch", None)


def test_a_trace_offers_its_mean_rate(tmp_path):
    trace = tmp_path / "trace.csv"
    rows = "".join(f"2023-11-16 18:00:{second:02d}.0000000,100,10\n" for second in range(0, 40, 2))
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows)

    axis = axis_of({"kind": "trace", "file": str(trace)})

    assert (axis.kind, axis.offered) == ("rate", pytest.approx(0.5))


def test_an_override_names_the_argument_of_the_simulation():
    assert LoadAxis("rate", 3.0).override(4.5) == {"rate_per_s": 4.5}
    assert LoadAxis("clients", 3.0).override(4.0) == {"concurrency": 4}


def test_where_to_look_when_nothing_is_guessed():
    held, failed, drowned = (Verdict(True, 0.5, False, 9.0, ""), Verdict(False, 2.0, False, 9.0, ""),
                             Verdict(False, 2.0, True, 5.0, ""))  # fmt: skip

    assert [Trial(9.0, v).next_load() for v in (held, failed, drowned)] == pytest.approx([10.8, 7.5, 4.85])
    assert np.isfinite(Trial(9.0, Verdict(False, 2.0, True, 0.0, "")).next_load())
