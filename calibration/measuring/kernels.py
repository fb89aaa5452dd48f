"""Kernels alone: products by weight shape and rows, attention, copying, launches, sampling; what no step shows.

They price nothing that whole steps price; they say what the device is: its bandwidth, its rates, its launch times.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from calibration.measuring.store import WEIGHT_SHAPES, Store
from engine.architecture import Architecture
from engine.linear import LINEARS, Linear
from engine.model import Model

ROWS = (1, 4, 8, 16, 64, 128, 256)
"""Rows of the products."""
CACHED_BYTES = 300e6
"""Weights are repeated up to this size [bytes], so that a product reads them from memory as a layer of a model does."""
Job = Callable[[], Any]
Clock = Callable[[], float]


def seconds_of(
    job: Job,
    device: torch.device,
    *,
    clock: Clock = perf_counter,
    least: int = 3,
    most: int = 25,
    enough_s: float = 0.15,
) -> float:
    """Median seconds of a call, after one that is not counted."""
    job()
    _wait(device)
    taken: list[float] = []
    while len(taken) < least or (sum(taken) < enough_s and len(taken) < most):
        start = clock()
        job()
        _wait(device)
        taken.append(clock() - start)
    return median(taken)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure_kernels(store: Store, model: Model, say: Callable[[str], None], clock: Clock) -> None:
    """Measure what the store lacks."""
    for name, measure in _jobs(model, clock):
        if store.kernel(name) is None:
            say(name)
            store.add_kernel(name, measure())


def _jobs(model: Model, clock: Clock) -> Iterator[tuple[str, Callable[[], Any]]]:
    device, dtype = model.device, model.dtype
    yield "copy_bytes_per_s", lambda: copy_rate(device, clock=clock)
    yield "launch_s", lambda: launch_s(device, clock=clock)
    yield (
        "gemm_flop_per_s",
        lambda: {
            str(d).removeprefix("torch."): gemm_rate(device, d, clock=clock) for d in (torch.float32, torch.bfloat16)
        },
    )
    yield "linear", lambda: list(linear_rows(model.architecture, model.backend, device, dtype, clock))
    yield "decode_attention", lambda: list(attention_rows(model.architecture, device, dtype, clock))
    yield "prefill_attention", lambda: list(prefill_rows(model.architecture, device, dtype, clock))
    yield "sampling", lambda: list(sampling_rows(model.architecture, device, clock))
    if device.type == "cuda" and torch.cuda.device_count() > 1:
        yield "point_to_point", lambda: list(point_to_point())


def copy_rate(device: torch.device, num_bytes: int = 1 << 28, clock: Clock = perf_counter) -> float:
    """Bytes read and written per second by a copy of memory."""
    source = torch.ones(num_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * num_bytes / seconds_of(lambda: target.copy_(source), device, clock=clock)


def launch_s(device: torch.device, count: int = 2000, clock: Clock = perf_counter) -> float:
    """Seconds of an operator on one element."""
    one = torch.ones(1, device=device)

    def many() -> None:
        for _ in range(count):
            one.add_(0.0)

    return seconds_of(many, device, clock=clock) / count


def gemm_rate(device: torch.device, dtype: torch.dtype, clock: Clock = perf_counter) -> float:
    """FLOP per second of a large square product."""
    size = 8192 if device.type == "cuda" else 1024
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return 2 * size**3 / seconds_of(lambda: a @ b, device, clock=clock, most=9)


def linear_rows(
    a: Architecture, backend: str, device: torch.device, dtype: torch.dtype, clock: Clock
) -> Iterator[tuple[int, int, int, float]]:
    """(outputs, inputs, rows, seconds) of the model's products and of large ones, as the engine computes them."""
    heads = (a.num_heads + 2 * a.num_kv_heads) * a.head_dim
    own = ((heads, a.hidden_size), (a.hidden_size, a.num_heads * a.head_dim), (2 * a.intermediate_size, a.hidden_size),
           (a.hidden_size, a.intermediate_size), (a.vocab_size, a.hidden_size))  # fmt: skip
    large = WEIGHT_SHAPES if device.type == "cuda" else WEIGHT_SHAPES[:2]
    for outputs, inputs in dict.fromkeys((*own, *large)):
        element = torch.empty(0, dtype=dtype).element_size()
        copies = max(1, min(8, int(CACHED_BYTES / (outputs * inputs * element))))
        products = [
            LINEARS[backend](torch.randn(outputs, inputs, device=device).to(dtype), None) for _ in range(copies)
        ]
        for rows in ROWS if outputs * inputs < 1 << 26 else (1, 8):
            x = torch.randn(rows, inputs, device=device).to(dtype)

            def all_copies(products: Sequence[Linear] = products, x: torch.Tensor = x) -> None:
                for product in products:
                    product(x)

            yield outputs, inputs, rows, seconds_of(all_copies, device, clock=clock, most=9) / copies


def attention_rows(
    a: Architecture, device: torch.device, dtype: torch.dtype, clock: Clock
) -> Iterator[tuple[int, int, int, float]]:
    """(sequences, queries, context, seconds) of one layer's attention, sequence by sequence as on a CPU."""
    for context in (128, 512, 1024):
        keys = torch.randn(1, a.num_kv_heads, context, a.head_dim, device=device).to(dtype)
        for queries in (1, 4, 8):
            group = a.num_heads // a.num_kv_heads
            query = torch.randn(1, a.num_kv_heads, group * queries, a.head_dim, device=device).to(dtype)

            def attend(query: torch.Tensor = query, keys: torch.Tensor = keys) -> torch.Tensor:
                return scaled_dot_product_attention(query, keys, keys)

            yield 1, queries, context, seconds_of(attend, device, clock=clock)


def prefill_rows(
    a: Architecture, device: torch.device, dtype: torch.dtype, clock: Clock
) -> Iterator[tuple[int, float]]:
    """(prompt tokens, seconds) of one layer's causal attention."""
    for tokens in (64, 256, 1024):
        shapes = ((1, heads, tokens, a.head_dim) for heads in (a.num_heads, a.num_kv_heads))
        query, keys = (torch.randn(shape, device=device).to(dtype) for shape in shapes)

        def attend(query: Any = query, keys: Any = keys) -> Any:
            return scaled_dot_product_attention(query, keys, keys, is_causal=True, enable_gqa=True)

        yield tokens, seconds_of(attend, device, clock=clock)


def sampling_rows(a: Architecture, device: torch.device, clock: Clock) -> Iterator[tuple[int, float]]:
    """(rows, seconds) of the most probable token, brought to the host."""
    for rows in (1, 16, 64):
        logits = torch.randn(rows, a.vocab_size, device=device)

        def choose(logits: torch.Tensor = logits) -> Any:
            return logits.argmax(-1).tolist()

        yield rows, seconds_of(choose, device, clock=clock)


def point_to_point() -> Iterator[tuple[int, float]]:
    """(bytes, seconds) from the first GPU to the second."""
    for num_bytes in (1 << 12, 1 << 20, 1 << 28):
        source = torch.ones(num_bytes, dtype=torch.uint8, device="cuda:0")
        target = torch.empty_like(source, device="cuda:1")

        def copy(source: Any = source, target: Any = target) -> None:
            target.copy_(source)
            torch.cuda.synchronize("cuda:1")

        yield num_bytes, seconds_of(copy, torch.device("cuda:0"))
