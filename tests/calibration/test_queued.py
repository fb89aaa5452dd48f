"""Rows of TensorRT-LLM's offline benchmark: as many requests, as large a batch and the graphs that it ran with."""

from dataclasses import replace

import pytest

from calibration.benchmark import PaddedTimes, replay_model
from calibration.queued import GRAPHS, benchmark_batch, padded, queue
from calibration.rows import case_of
from calibration.serving_csv import ServingRow
from calibration.validate import protocol_of, step_model

SOURCE = "TensorRT-LLM perf-overview · a table"
ROW = ServingRow(
    id="a", line=2, engine="trtllm", gpu="b200-sxm", model="llama-3.3-70b", precision="fp4", load="queued_at_once", tp=4,
    isl=1000, osl=2000, concurrency=float("nan"), pp=1, dp=1, moe_tp=1, moe_ep=1, ttft_ms=float("nan"),
    tpot_ms=float("nan"), output_tokens_per_s_per_gpu=4000.0, source=SOURCE,
    engine_version="TensorRT-LLM v1.0 (PyTorch backend)",
)  # fmt: skip


def test_a_run_has_as_many_requests_as_its_source_says_but_no_more_than_fill_the_cache_four_times():
    assert queue((1000, 2000), 10**8, SOURCE, "").requests == 1500
    assert queue((1000, 2000), 300_000, SOURCE, "").requests == 400


def test_another_source_gets_no_setting_of_this_benchmark():
    assert queue((1000, 2000), 10**8, "my own run", "PyTorch backend") == (3000, 2048, ())


def test_only_the_backend_with_graphs_pads():
    assert protocol_of(case_of(ROW)).graphs[:3] == (1, 2, 4)
    assert protocol_of(case_of(ROW._replace(engine_version="TensorRT-LLM v0.17 (TRT engine)"))).graphs == ()


@pytest.mark.parametrize("fitting", [1.0, 100.0, 255.9, 700.0, 1023.0, 3000.0])
def test_the_batch_holds_all_that_fit_and_little_more(fitting):
    assert fitting <= benchmark_batch(fitting) <= max(64, fitting + 256)


@pytest.mark.parametrize("sequences", [1, 3, 384, 385, 8192])
def test_a_batch_is_padded_to_the_next_graph(sequences):
    assert padded(sequences, GRAPHS) == min(size for size in GRAPHS if size >= sequences)


def test_a_padded_step_costs_the_rows_of_its_graph_and_the_context_of_its_sequences():
    model = step_model(case_of(ROW))
    constant, slope = PaddedTimes(model, GRAPHS).decode_affine(600)

    assert constant > 1.1 * model.decode_affine(600)[0]
    assert constant <= model.decode_affine(1024)[0]
    assert slope == model.decode_affine(600)[1]


def test_padding_lowers_the_throughput_of_a_batch_between_two_graphs():
    case = case_of(ROW._replace(tp=1))
    protocol = replace(protocol_of(case), requests=128, max_num_seqs=70, output_tokens=200)
    model = step_model(case)

    assert (
        replay_model(protocol, model).output_tokens_per_s
        < replay_model(replace(protocol, graphs=()), model).output_tokens_per_s
    )
