from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from simulator.cluster.arrivals import ARRIVALS
from simulator.cluster.lengths import LENGTHS
from simulator.cluster.traces import TraceTable, read_trace
from simulator.errors import ScenarioError
from simulator.planning.arrival_fit import LOADS, dispersion, fit_arrivals, gap_cv, mean_waits, recorder_tick_s
from simulator.planning.burst_fit import rate_steps
from simulator.planning.workload_fit import fit_lengths, fit_prefix, fit_workload, quantile_row, reuse_of, summary
from simulator.run import simulate_once
from simulator.spec.arrivals import Arrivals
from simulator.spec.workload import QuantileLengths, Workload
from tests.simulator.outcome import specs

SAMPLES = Path(__file__).parents[2] / "data" / "traces"
REAL = Path(__file__).parents[4] / "shared" / "traces"


def times_of(arrivals: dict[str, Any], count: int = 6000) -> np.ndarray:
    spec = TypeAdapter(Arrivals).validate_python(arrivals)
    return next(islice(ARRIVALS[spec.kind](spec, 11, 0, None, count), 1))


def table_of(times: np.ndarray, prompts: np.ndarray | None = None, **keys: Any) -> TraceTable:
    ones = np.ones(times.size, np.int64)
    return TraceTable("plain", times, ones * 100 if prompts is None else prompts, ones * 10, **keys)


@pytest.mark.parametrize(
    "arrivals",
    [
        {"kind": "poisson", "rate_per_s": 4.0},
        {"kind": "gamma", "rate_per_s": 4.0, "cv": 3.0},
        {"kind": "bursty", "rate_per_s": 4.0, "burst_factor": 4.0, "on_s": 5.0, "off_s": 20.0},
    ],
)
def test_a_fit_finds_the_kind_that_made_the_times(arrivals):
    found = fit_arrivals(times_of(arrivals, 20_000)).arrivals

    assert found["kind"] == arrivals["kind"]
    for key, value in arrivals.items():
        if key != "kind":
            assert found[key] == pytest.approx(value, rel=0.25)


def test_a_rate_that_rises_and_falls_is_followed_by_steps():
    quiet, busy = (
        times_of({"kind": "poisson", "rate_per_s": 2.0}, 1000),
        times_of({"kind": "poisson", "rate_per_s": 8.0}),
    )

    found = fit_arrivals(np.concatenate((quiet, quiet[-1] + busy, quiet[-1] + busy[-1] + quiet))).arrivals

    assert found["kind"] == "diurnal"
    assert len(found["steps"]) == 3
    assert [weight for _, weight in found["steps"]] == pytest.approx([0.44, 1.76, 0.44], abs=0.1)


def test_even_arrivals_have_no_steps():
    assert sum(rate_steps(times_of({"kind": "poisson", "rate_per_s": 4.0}) + shift)[1].size for shift in (0, 5)) == 2


def test_times_in_ticks_are_seen_and_kept_in_ticks():
    ticks = np.floor(times_of({"kind": "poisson", "rate_per_s": 4.0}) / 3.0) * 3.0

    found = fit_arrivals(ticks).arrivals

    assert recorder_tick_s(ticks) == 3.0
    assert (found["kind"], found["period_s"]) == ("diurnal", 3.0)


def test_mean_waits_are_those_of_an_md1_queue():
    waits = np.mean([mean_waits(times_of({"kind": "poisson", "rate_per_s": 4.0}, 200_000))], axis=0)

    assert waits == pytest.approx([load / (2 * (1 - load)) for load in LOADS], rel=0.05)


def test_too_little_to_fit_is_said():
    with pytest.raises(ScenarioError, match="3 requests in 2 s: at least 10"):
        fit_arrivals(np.array([0.0, 1.0, 2.0]))
    with pytest.raises(ScenarioError, match="30 requests in 0 s"):
        fit_arrivals(np.zeros(30))


def test_burstiness_of_one_request_is_nothing_to_fail_on():
    assert (gap_cv(np.zeros(1)), dispersion(np.zeros(1))) == (0.0, {})


def test_fitted_lengths_keep_means_and_the_link_of_prompt_and_output():
    rng = np.random.default_rng(1)
    prompts = rng.lognormal(6.0, 1.2, 5000).astype(np.int64) + 1
    outputs = prompts // 10 + rng.integers(1, 30, 5000)

    spec = QuantileLengths.model_validate(fit_lengths(prompts, outputs))

    drawn = LENGTHS["quantiles"](spec)(np.random.default_rng(2), 50_000)
    assert drawn[0].mean() == pytest.approx(prompts.mean(), rel=0.02)
    assert drawn[1].mean() == pytest.approx(outputs.mean(), rel=0.03)
    ranks = [np.argsort(np.argsort(tokens)) for tokens in drawn]
    assert np.corrcoef(ranks)[0, 1] > 0.7


@pytest.mark.parametrize("tokens", [[7], [1, 1, 1], [1, 1, 1, 900], [5, 6]])
def test_quantiles_of_few_requests_still_rise(tokens):
    row = quantile_row(np.array(tokens), 21)

    assert row == sorted(row)
    assert min(row) >= 1


def sessions_of_two() -> TraceTable:
    """500 sessions: a system prompt of 2 blocks, then 4 new ones; the second turn repeats them and adds 4."""
    rows = []
    for session in range(500):
        own = [*range(2), *range(10 + 8 * session, 18 + 8 * session)]
        rows += [(session * 2.0, own[:6]), (session * 2.0 + 31.0, own)]
    rows.sort(key=lambda row: row[0])
    return table_of(
        np.array([when for when, _ in rows]),
        np.array([64 * len(ids) for _, ids in rows]),
        block_ids=np.concatenate([ids for _, ids in rows]),
        block_ends=np.cumsum([len(ids) for _, ids in rows]),
        block_tokens=64,
    )


def test_reuse_is_what_an_unbounded_cache_finds():
    reuse = reuse_of(sessions_of_two())

    assert reuse is not None
    assert reuse.hit_rate == pytest.approx((499 * 2 + 500 * 6) / (500 * 16))
    assert (reuse.shared_tokens, reuse.pause_s) == (128, 31.0)


def test_prefix_keys_are_those_that_made_the_sessions():
    table = sessions_of_two()

    prefix, new = fit_prefix(table, reuse_of(table))

    assert prefix == {"shared_tokens": 128, "turns": 2, "think_time_s": 31.0}
    assert new.mean() == pytest.approx(256, rel=0.05)


def test_prompts_without_blocks_have_no_prefix():
    assert fit_prefix(table_of(np.arange(20.0)), None)[0] == {}


@pytest.mark.parametrize("name", ["azure.csv", "burstgpt.csv", "mooncake.jsonl", "plain.jsonl"])
def test_every_sample_gives_figures_and_a_workload_that_loads(name):
    table = read_trace(SAMPLES / name)

    assert summary(table)["requests"] == table.size
    assert Workload.model_validate(fit_workload(table).workload).horizon.requests >= table.size


def ttft_and_tokens(workload: dict[str, Any], replications: int, **deployment: Any) -> np.ndarray:
    """Mean and median TTFT [s], output tokens per second: means over replications."""
    scenario = specs.scenario({"plain": deployment}, workload=workload)
    found = []
    for replication in range(replications):
        requests = simulate_once(scenario, "plain", replication).requests
        ttft = requests.first_token_s - requests.arrival_s
        span = requests.arrival_s.max() - requests.arrival_s.min()
        kept = ~np.isnan(ttft)
        found.append((ttft[kept].mean(), np.median(ttft[kept]), requests.output_tokens.sum() / span))
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="the real traces are not on this machine")
@pytest.mark.parametrize(
    ("name", "replications", "deployment"),
    [
        ("AzureLLMInferenceTrace_conv.csv", 2, {}),
        ("AzureLLMInferenceTrace_code.csv", 8, {}),
        ("mooncake_conversation_trace.jsonl", 1, {"replicas": 6}),
    ],
)
def test_a_fitted_workload_stands_for_its_trace(name, replications, deployment):
    table = read_trace(REAL / name)
    engine = {"policy": "vllm", "max_model_len": 131072 if table.block_tokens else 16384}
    engine |= {"prefix_cache": True} if table.block_tokens else {}
    replayed = {
        "arrivals": {"kind": "trace", "file": str(REAL / name)},
        "lengths": {"kind": "trace"},
        "horizon": {"requests": table.size},
    }

    found = ttft_and_tokens(fit_workload(table).workload, replications, engine=engine, **deployment)

    assert found == pytest.approx(ttft_and_tokens(replayed, 1, engine=engine, **deployment), rel=0.1)
