"""How TensorRT-LLM's performance tables were measured: all requests queued at once, by its offline benchmark.

Facts of that benchmark, from docs/source/performance/perf-overview.md ("Reproducing Benchmarked Results", releases 0.20
and 1.0) and tensorrt_llm/bench/build/tuning.py, both in TensorRT-LLM's repository.
"""

from bisect import bisect_left
from math import ceil
from typing import NamedTuple

SOURCE = "TensorRT-LLM perf-overview"
"""Where such rows say that they come from."""
REQUESTS = {
    (128, 128): 30000, (128, 2048): 3000, (128, 4096): 1500, (500, 2000): 3000, (1000, 1000): 3000,
    (1000, 2000): 1500, (1024, 2048): 1500, (2048, 128): 3000, (2048, 2048): 1500, (5000, 500): 1500,
    (20000, 2000): 1000,
}  # fmt: skip
"""Prompt and output tokens → requests of the run; 1024/2048, which it does not list, as 1000/2000."""
GRAPHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192)
"""Sequences of the CUDA graphs that its file of options captures; a batch between two is padded to the larger."""
GRAPH_BACKEND = "PyTorch backend"
"""What the release of a row says where graphs ran; engines of TensorRT have none."""
MOST_SEQUENCES = 4096
"""Above it the benchmark raises its batch no further."""
FILLS = 4
"""Times that a replay fills the KV at most: the rest of a long run is alike."""
MOST_REQUESTS = 3000
"""Requests of a replay at most; with FILLS this project's choice, for speed."""


class Queue(NamedTuple):
    """What a run of the queue fixes."""

    requests: int
    max_num_seqs: int
    graphs: tuple[int, ...] = ()


def queue(lengths: tuple[int, int], kv_tokens: int, source: str, release: str) -> Queue:
    """Settings of a row whose KV holds so many tokens; a row of another source has none of the benchmark's."""
    fitting = kv_tokens / sum(lengths)
    requests = max(64, min(MOST_REQUESTS, int(FILLS * fitting)))
    if not source.startswith(SOURCE):
        return Queue(requests, 2048)
    batch = benchmark_batch(fitting)
    graphs = graphs_up_to(batch) if GRAPH_BACKEND in release else ()
    return Queue(min(requests, REQUESTS.get(lengths, MOST_REQUESTS)), batch, graphs)


def graphs_up_to(batch: int) -> tuple[int, ...]:
    """Graphs that are captured where batches are no larger than this: the last one holds the largest batch exactly.

    >>> graphs_up_to(160)[-3:], graphs_up_to(256)[-2:]
    ((64, 128, 160), (128, 256))

    TensorRT-LLM, _torch/pyexecutor/model_engine.py, _filter_cuda_graph_batch_sizes.
    """
    return (*(size for size in GRAPHS if size < batch), batch)


def benchmark_batch(fitting: float) -> int:
    """Largest batch that the benchmark sets for a KV cache that so many requests fit into.

    >>> benchmark_batch(18.0), benchmark_batch(300.0), benchmark_batch(1800.0), benchmark_batch(1e5)
    (64, 384, 2048, 4096)
    """
    fitting = min(fitting, MOST_SEQUENCES)
    if fitting < 256:
        return max(64, 32 * ceil(fitting / 32))
    return 128 * ceil(fitting / 128) if fitting < 1024 else 256 * ceil(fitting / 256)


def padded(sequences: int, graphs: tuple[int, ...]) -> int:
    """Sequences of the smallest graph that holds a batch; the batch itself beyond the largest, or without graphs.

    >>> padded(700, GRAPHS), padded(1024, GRAPHS), padded(9000, GRAPHS), padded(700, ())
    (1024, 1024, 9000, 700)
    """
    i = bisect_left(graphs, sequences)
    return graphs[i] if i < len(graphs) else sequences
