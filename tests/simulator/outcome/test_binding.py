import numpy as np
import pytest

from simulator.cluster.records import ClusterRecords
from simulator.outcome.binding import SAMPLE, binding, draft_ratios, measured_shapes
from simulator.outcome.occupancy import draft_tokens_shares
from simulator.outcome.reasons import bound_phrase, why_line
from simulator.outcome.window import Window
from tests.simulator.outcome import toys

WHOLE = Window(-1.0, 1e9)


def records_of(most: int = 0, /, **columns: object) -> ClusterRecords:
    count = len(next(iter(columns.values())))  # type: ignore[arg-type]
    start = np.arange(count, dtype=float)
    run = {name: np.asarray(column) for name, column in columns.items()}
    num_steps = np.asarray(run.pop("num_steps", np.ones(count, np.int64)))
    run.setdefault("draft_tokens", most * run.get("sequences", np.ones(count, np.int64)))
    none = np.zeros(0)
    requests = toys.requests(none, none, none, none)
    return ClusterRecords(requests, toys.steps(start, np.full(count, 0.5), num_steps, **run), 100, 1, most, slice(0, 0))


def test_runs_of_equally_many_sequences_are_priced_once_at_their_mean_context():
    records = records_of(sequences=[4, 4, 9], num_steps=[1, 3, 2], context_tokens=[100.0, 200.0, 50.0])

    shapes = {shape.sequences: (shape.context_tokens, steps) for shape, steps in measured_shapes(records, WHOLE)}

    assert shapes == {4: (pytest.approx(175.0), 4.0), 9: (pytest.approx(50.0), 2.0)}


def test_shares_equal_those_of_pricing_every_step():
    rng = np.random.default_rng(5)
    context = rng.uniform(0, 1000, size=300)
    records = records_of(sequences=rng.integers(1, 9, size=300), context_tokens=context)

    shares = binding(records, WHOLE, toys.FlatCosts()).step_time_share

    attention, linear = 1e-5 * context.sum(), 0.004 * 300
    assert shares["attention"] == pytest.approx(attention / (attention + linear))
    assert sum(shares.values()) == pytest.approx(1.0)


def test_at_most_500_steps_with_prompts_are_priced_and_stand_for_all():
    count = 4 * SAMPLE
    records = records_of(prefill_tokens=np.full(count, 10), prefill_sequences=np.ones(count, np.int64))

    shapes = list(measured_shapes(records, WHOLE))

    assert len(shapes) == SAMPLE
    assert sum(steps for _, steps in shapes) == pytest.approx(count)


def test_a_systematic_sample_sees_what_changes_slowly():
    count = 4 * SAMPLE
    records = records_of(
        prefill_tokens=np.full(count, 10),
        prefill_context_tokens=np.linspace(0, 8000, count),
        sequences=np.zeros(count, int),
    )

    shares = binding(records, WHOLE, toys.FlatCosts()).step_time_share

    assert shares["prefill_attention"] == pytest.approx(0.004 / (0.004 + 0.004 + 1e-5 * 100), rel=0.01)


def test_the_largest_part_of_step_time_binds():
    assert binding(records_of(sequences=[3]), WHOLE, toys.FlatCosts()).bound_by == "weight_bandwidth"
    assert binding(records_of(2, sequences=[3]), WHOLE, toys.FlatCosts()).bound_by == "draft"


def test_a_limit_that_keeps_the_queue_out_most_of_the_time_binds_before_any_cause():
    records = records_of(sequences=[3, 3, 3], blocked_by=[1, 1, 0])

    assert binding(records, Window(-0.1, 2.6), toys.FlatCosts()).bound_by == "weight_bandwidth"
    assert binding(records, Window(-0.01, 1.51), toys.FlatCosts()).bound_by == "kv_capacity"


def test_nothing_measured_is_bound_by_nothing():
    found = binding(records_of(sequences=[3]), Window(50.0, 60.0), toys.FlatCosts())

    assert (found.bound_by, found.step_time_share) == ("nothing", {})


def test_draft_ratios_are_taken_at_the_mean_batch_and_context():
    records = records_of(2, sequences=[4, 8], context_tokens=[100.0, 300.0])

    assert draft_ratios(records, WHOLE, toys.FlatCosts()) == (0.1, pytest.approx(0.2 + 0.006 + 0.002))


def test_plain_decoding_has_no_draft_ratios():
    assert draft_ratios(records_of(sequences=[4]), WHOLE, toys.FlatCosts()) == (None, None)


def test_a_limit_is_worded_as_waiting():
    phrase = bound_phrase({"bound_by": "kv_capacity", "bound_share": {"kv_capacity": 0.8}})

    assert phrase == "the size of the KV cache (requests waited for it 80 % of the time)"


def test_a_lone_deployment_is_explained_without_a_rival():
    row = {"deployment": "a", "bound_by": "draft", "bound_share": {}}

    line = why_line({"a": row}, {"leader": "a", "runner_up": None, "basis": "usd_per_hour_for_offered"})

    assert line == "only a has a cost on this basis; it is bound by drafting"


def test_steps_that_propose_differently_many_draft_tokens_are_priced_apart():
    records = records_of(4, sequences=[4, 4, 4], num_steps=[1, 3, 2], draft_tokens=[16, 0, 0])

    shapes = {shape.draft_tokens: (shape.verify_tokens, steps) for shape, steps in measured_shapes(records, WHOLE)}

    assert shapes == {4: (20, 1.0), 0: (4, 5.0)}


def test_steps_are_shared_out_over_the_draft_tokens_of_their_sequences():
    records = records_of(2, sequences=[4, 3, 2, 0], num_steps=[1, 3, 4, 9], draft_tokens=[8, 0, 3, 0])
    all_k = records_of(2, sequences=[4, 3])

    assert draft_tokens_shares(records, WHOLE) == {"0": 3 / 8, "1": 0.0, "2": 5 / 8}
    assert draft_tokens_shares(all_k, WHOLE) is None
