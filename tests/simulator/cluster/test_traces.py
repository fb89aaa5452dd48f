import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.cluster.traces import TraceTable, cut, read_trace, scale, trace_rate
from simulator.cluster.traffic import request_chunks
from simulator.errors import ScenarioError
from simulator.planning.workload_fit import reuse_of
from simulator.spec.arrivals import TraceArrivals
from simulator.spec.workload import Workload

SAMPLES = Path(__file__).parents[2] / "data" / "traces"
REAL = Path(__file__).parents[4] / "shared" / "traces"
FILES = {"azure": "azure.csv", "burstgpt": "burstgpt.csv", "mooncake": "mooncake.jsonl", "plain": "plain.jsonl"}


def sample(name: str) -> TraceTable:
    return read_trace(SAMPLES / FILES[name])


def arrivals(name: str = "mooncake", **keys: Any) -> TraceArrivals:
    return TraceArrivals.model_validate({"kind": "trace", "file": str(SAMPLES / FILES[name])} | keys)


def workload(name: str, classes: dict[str, float] | None = None, **keys: Any) -> Workload:
    more = {"classes": classes} if classes else {}
    return Workload.model_validate(
        {"arrivals": arrivals(name, **keys), "lengths": {"kind": "trace"}, "horizon": {"requests": 10}} | more
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("name", FILES)
def test_a_trace_is_known_by_its_content_not_by_its_name(name, tmp_path):
    misnamed = tmp_path / "trace.dat"
    misnamed.write_bytes((SAMPLES / FILES[name]).read_bytes())

    found = read_trace(misnamed)

    assert found.format == name
    assert found.size == sample(name).size


@pytest.mark.parametrize("name", FILES)
def test_a_mark_at_the_start_and_foreign_line_ends_do_no_harm(name, tmp_path):
    foreign = tmp_path / "trace.csv"
    foreign.write_bytes(b"\xef\xbb\xbf" + (SAMPLES / FILES[name]).read_bytes().replace(b"\n", b"\r\n"))

    assert read_trace(foreign).arrival_s.tolist() == sample(name).arrival_s.tolist()


@pytest.mark.parametrize("name", FILES)
def test_times_count_from_the_first_request(name):
    times = sample(name).arrival_s

    assert times[0] == 0.0
    assert (np.diff(times) >= 0).all()


def test_azure_times_keep_their_seven_digits():
    assert sample("azure").arrival_s[1] == pytest.approx(3.0370466, abs=1e-9)


def test_azure_times_of_2024_name_their_zone(tmp_path):
    file = tmp_path / "a.csv"
    rows = ("2024-05-10 23:59:59.009930+00:00,5,6", "2024-05-11 00:00:00.509930+00:00,7,8")
    file.write_text("\n".join(("TIMESTAMP,ContextTokens,GeneratedTokens", *rows)))

    assert read_trace(file).arrival_s.tolist() == pytest.approx([0.0, 1.5])


def test_requests_without_an_answer_are_left_out_and_counted():
    table = sample("burstgpt")

    assert (table.size, table.skipped) == (20, 2)
    assert table.class_names == ("conversation", "api")


def test_rows_out_of_order_are_sorted_with_all_that_belongs_to_them(tmp_path):
    lines = (SAMPLES / FILES["mooncake"]).read_text().splitlines()
    file = tmp_path / "reversed.jsonl"
    file.write_text("\n".join(reversed(lines)))

    table = read_trace(file)

    assert table.prompt_tokens.tolist() == [json.loads(line)["input_length"] for line in lines]
    assert [table.blocks(nth).size for nth in range(table.size)] == [
        len(json.loads(line)["hash_ids"]) for line in lines
    ]


def test_blocks_that_are_alike_keep_being_alike():
    rows = [json.loads(line) for line in (SAMPLES / FILES["mooncake"]).read_text().splitlines()]
    table = sample("mooncake")

    for one in range(0, 20, 3):
        for other in range(20):
            told = len(set(rows[one]["hash_ids"]) & set(rows[other]["hash_ids"]))
            assert np.intersect1d(table.blocks(one), table.blocks(other)).size == told
    assert table.block_tokens == 512


def test_our_own_format_has_classes_sessions_priorities_and_blocks():
    table = sample("plain")

    assert set(table.class_names) == {"code", "prose"}
    assert table.session is not None
    assert table.session[:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert table.priority is not None
    assert table.priority[:6].tolist() == [1, 0, 0, 0, 0, 1]
    assert table.block_tokens == 64


def test_a_window_and_a_limit_cut_a_trace():
    table = sample("mooncake")
    window = {"start_s": 5.0, "end_s": 30.0}

    inside = cut(table, arrivals(window=window))

    kept = (table.arrival_s >= 5.0) & (table.arrival_s < 30.0)
    assert inside.prompt_tokens.tolist() == table.prompt_tokens[kept].tolist()
    assert inside.arrival_s[0] == 0.0
    assert cut(table, arrivals(window=window, limit=3)).prompt_tokens.tolist() == table.prompt_tokens[kept][:3].tolist()


def test_an_empty_window_says_how_long_the_trace_is():
    with pytest.raises(ScenarioError, match=r"no request in the window from 900 s to inf s: the trace lasts [\d.]+ s"):
        cut(sample("azure"), arrivals("azure", window={"start_s": 900.0}))


def test_a_time_scale_stretches_a_trace():
    table = sample("azure")

    assert scale(table, arrivals("azure", time_scale=2.0), rng).arrival_s.tolist() == (table.arrival_s * 2).tolist()


@pytest.mark.parametrize(("factor", "requests"), [(0.5, 10_000), (1.0, 20_000), (2.5, 50_000), (3.0, 60_000)])
def test_a_rate_scale_keeps_or_repeats_requests(factor, requests):
    table = sample("mooncake").take(np.tile(np.arange(20), 1000))

    assert scale(table, arrivals(rate_scale=factor), rng).size == pytest.approx(requests, rel=0.02)


def test_a_copy_of_a_request_shares_with_its_own_kind_only():
    table = sample("mooncake")

    doubled = scale(table, arrivals(rate_scale=2.0), rng)

    one, two = reuse_of(table), reuse_of(doubled)
    assert one is not None
    assert two is not None
    assert two.hit_rate == pytest.approx(one.hit_rate)
    assert np.intersect1d(doubled.blocks(0), doubled.blocks(1)).size == 0


def test_requests_of_a_trace_carry_their_blocks_priorities_and_sessions():
    chunk = next(request_chunks(workload("plain", limit=7), 1, 0, None))

    assert chunk.block_ids is not None
    assert [ids.tolist() for ids in chunk.block_ids] == [sample("plain").blocks(nth).tolist() for nth in range(7)]
    assert chunk.block_tokens == 64
    assert chunk.priority is not None
    assert chunk.session is not None


def test_drawn_lengths_leave_a_traces_blocks_behind():
    drawn = workload("plain").model_copy(update={"lengths": Workload.model_validate(FIXED).lengths})

    chunk = next(request_chunks(drawn, 1, 0, None))

    assert (chunk.block_ids, chunk.block_tokens) == (None, 0)
    assert set(chunk.prompt_tokens.tolist()) == {50}


FIXED = {
    "arrivals": {"kind": "poisson", "rate_per_s": 1.0},
    "lengths": {"kind": "fixed", "prompt_tokens": 50, "output_tokens": 5},
    "horizon": {"requests": 10},
}


def test_a_class_of_the_trace_is_the_class_of_the_request():
    rows = [json.loads(line) for line in (SAMPLES / FILES["plain"]).read_text().splitlines()]

    chunk = next(request_chunks(workload("plain", {"prose": 0.2, "code": 0.8}), 1, 0, None))

    assert [("prose", "code")[index] for index in chunk.class_index] == [row["class"] for row in rows]


def test_a_workload_without_classes_treats_all_alike():
    assert set(next(request_chunks(workload("plain"), 1, 0, None)).class_index.tolist()) == {0}


def test_a_class_that_the_workload_lacks_is_named_with_its_line():
    with pytest.raises(ScenarioError) as error:
        next(request_chunks(workload("plain", {"math": 0.5, "code": 0.5}), 1, 0, None))

    assert "plain.jsonl:1: class 'prose' is not among the workload's classes (math, code)" in str(error.value)
    assert "the trace's shares are {prose: " in str(error.value)


def test_a_trace_is_scaled_to_a_rate_in_time():
    chunks = list(request_chunks(workload("azure"), 1, 0, 4.0, chunk=5))

    assert trace_rate(np.concatenate([chunk.arrival_s for chunk in chunks])) == pytest.approx(4.0)
    assert sum(chunk.prompt_tokens.size for chunk in chunks) == 24


def test_a_changed_file_is_read_again(tmp_path):
    file = tmp_path / "a.jsonl"
    row = {"arrival_s": 0, "prompt_tokens": 5, "output_tokens": 5}
    file.write_text(json.dumps(row))
    before = read_trace(file).size

    file.write_text("\n".join([json.dumps(row)] * 3))

    assert (before, read_trace(file).size) == (1, 3)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real traces are not on this machine")
@pytest.mark.parametrize(
    ("name", "requests", "seconds"),
    [("AzureLLMInferenceTrace_conv.csv", 19_366, 0.3), ("mooncake_conversation_trace.jsonl", 12_031, 1.0)],
)
def test_real_traces_load_fast(name, requests, seconds, tmp_path):
    copy = tmp_path / name
    copy.write_bytes((REAL / name).read_bytes())

    start = time.process_time()
    table = read_trace(copy)

    assert time.process_time() - start < seconds
    assert table.size == requests


@pytest.mark.skipif(not REAL.is_dir(), reason="the real traces are not on this machine")
def test_an_unbounded_cache_finds_the_known_share_of_mooncakes_blocks():
    reuse = reuse_of(read_trace(REAL / "mooncake_conversation_trace.jsonl"))

    assert reuse is not None
    assert reuse.hit_rate == pytest.approx(0.366, abs=0.0005)
