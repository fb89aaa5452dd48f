from app.tables.comparison import comparison_table
from app.tables.figures import gpus, limits_of
from app.tables.verdict import notes_block, verdict_block
from simulator.spec.workload import Slo
from tests.app import toys

LIMITS = {"ttft_s": {"p95": 1.0}}


def table(*rows, limits=LIMITS, width=120, **changes):
    return toys.rendered(comparison_table(rows, limits, toys.comparison(**changes), "chat"), width=width)


def line_of(text, label):
    return next(line for line in text.splitlines() if line.strip().startswith(label))


def test_few_deployments_are_columns_with_the_winner_marked():
    text = table(toys.row("plain"), toys.row("spec"))

    assert "plain ★" in text
    assert "spec ★" not in text
    assert line_of(text, "requests/s within the SLO").count("15.0 ±0.50") == 2


def test_many_deployments_are_lines():
    text = table(*(toys.row(f"d{number}") for number in range(7)), leader="d3")

    assert [f"d{number}" in text for number in range(7)] == [True] * 7
    assert line_of(text, "d3").startswith("d3 ★")


def test_a_latency_over_its_limit_is_marked():
    text = table(toys.row(ttft_s={"p50": 0.5, "p95": 2.5}))

    assert "2.50 s ✗" in line_of(text, "TTFT p95 ≤ 1 s")
    assert "✗" not in line_of(text, "TTFT p50")


def test_percentiles_of_the_target_get_a_line_of_their_own():
    text = table(toys.row(), limits={"e2e_s": {"p99": 3.0}, "itl_s": {"p90": 0.1}})

    assert "900 ms" in line_of(text, "E2E p99 ≤ 3 s")
    assert "300 ms ✗" in line_of(text, "ITL p90 ≤ 100 ms")


def test_a_deployment_that_does_not_fit_says_so_and_leaves_dashes():
    text = table(toys.row("plain"), toys.unfit_row("huge"))

    assert line_of(text, "fits").split() == ["fits", "yes", "no", "✗"]
    assert line_of(text, "TTFT p50").rstrip().endswith("–")


def test_nothing_but_deployments_that_do_not_fit_still_makes_a_table():
    text = table(toys.unfit_row("a"), toys.unfit_row("b"), leader=None, runner_up=None)

    assert "TTFT" not in text
    assert line_of(text, "fits").count("✗") == 2


def test_lines_say_what_does_not_fit_and_what_is_saturated():
    rows = [toys.unfit_row("huge"), toys.row("full", saturated=True), *(toys.row(f"d{n}") for n in range(4))]

    text = table(*rows)

    assert "no fit ✗" in line_of(text, "huge")
    assert "sat. ✗" in line_of(text, "full")


def test_without_a_target_the_table_says_what_capacity_means():
    text = table(toys.row(), limits={})

    assert "requests/s before saturation" in text
    assert "SLO" not in text


def test_missing_intervals_leave_plain_numbers():
    text = table(toys.row(interval={}), toys.row("spec", interval=None))

    assert "±" not in text


def test_figures_that_no_deployment_has_are_left_out():
    text = table(toys.row(acceptance_rate=None, preemptions=0))

    assert "accepted" not in text
    assert "preemptions" not in text


def test_long_names_are_folded_never_cut():
    names = [f"{letter}-{'Z' * 60}" for letter in "abcd"]
    text = table(*(toys.row(name) for name in names), width=100)

    assert max(len(line) for line in text.splitlines()) <= 100
    assert text.count("Z") == 4 * 60


def test_notes_of_searches_are_told_once():
    block = notes_block([toys.row("a", fleet_note="too slow"), toys.row("b", fleet_note="too slow")])

    assert "a, b: too slow" in toys.rendered(block)


def test_without_notes_there_is_no_block():
    assert notes_block([toys.row()]) is None


def test_limits_are_read_from_the_target():
    assert limits_of(Slo(tpot_s={"p90": 0.04})) == {"tpot_s": {"p90": 0.04}}
    assert limits_of(None) == {}


def test_the_verdict_says_who_wins_by_how_much_why_and_what_flips_it():
    text = toys.rendered(verdict_block(toys.comparison()))

    assert "plain: $7.00/h for the fewest replicas that hold the offered load; 2.00× cheaper than spec" in text
    assert "1.90–2.10" in text
    assert "because it serves more" in text
    assert "cheaper while it rains" in text


def test_a_close_call_is_no_win():
    close = toys.comparison(winner="too close to call", close_call=True, ratio=1.01, interval=[0.99, 1.03])

    assert "too close to call: plain against spec" in toys.rendered(verdict_block(close))


def test_a_disagreement_of_the_two_bases_is_told():
    text = toys.rendered(verdict_block(toys.comparison(disagree="plain here, spec there")))

    assert "the two bases disagree: plain here, spec there" in text


def test_nobody_wins_where_nothing_holds():
    none = toys.comparison(None, None, why="no deployment holds", unable={"huge": "lacks 9.00 GiB"})

    text = toys.rendered(verdict_block(none))

    assert "no deployment holds" in text
    assert "huge: lacks 9.00 GiB" in text


def test_a_winner_without_a_rival_stands_alone():
    assert "plain, alone: $7.00/h" in toys.rendered(verdict_block(toys.comparison(runner_up=None)))


def test_drafts_are_told_by_what_they_are_and_what_they_weigh():
    spec = toys.row("spec", speculation="llama-3.2-1b, chain of 4", drafts=["general"], draft_bytes=1.5e9)

    table = toys.rendered(comparison_table([toys.row(), spec], {}, {}, "x"))

    assert "llama-3.2-1b, K=4" in table
    assert "draft weights" in table
    assert "1.5 GB" in table


def test_draft_gpus_are_counted_apart():
    own = {"gpu": "h200-sxm", "num_gpus": 18, "draft_gpu": "h100-sxm", "draft_gpus": 2}

    assert gpus(own).text == "16 × h200-sxm + 2 × h100-sxm"
    assert gpus(own | {"draft_gpus": 0, "num_gpus": 16}).text == "16 × h200-sxm"
