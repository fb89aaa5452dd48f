"""What one GPU does, in one command of a few minutes: is the engine right there, and how long do its steps take.

Correctness: greedy outputs of a tiny model, in graphs, without them and on the CPU in 32 bits; every way to draft
(gpu_paths). Curves: steps of models of the shape of Llama 8B and of a 70B in FP8 over (batch, tokens), in graphs and
without; trees beside chains (gpu_trees); ceilings of copies and products; memory as CUDA shows it. Random weights: the
time of a step does not depend on them.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calibration.measuring.apart import Apart, one_line
from calibration.measuring.gpu_paths import WAYS, checked, modes_of
from calibration.measuring.gpu_trees import WIDTHS, random_model, verify_steps
from calibration.measuring.kernels import copy_rate, gemm_rate, launch_s, seconds_of
from calibration.measuring.store import MeasurementError
from calibration.whole_file import write_whole
from engine.architecture import Architecture
from engine.batch import Span
from engine.graphs import passes
from engine.kv_cache import BlockPool, BlockTable
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.scheduler import Limits
from engine.sequence import Request
from engine.weights import random_weights

LLAMA_8B = Architecture(
    num_layers=32, hidden_size=4096, intermediate_size=14336, num_heads=32, num_kv_heads=8, head_dim=128,
    vocab_size=128256, max_position=8192,
)  # fmt: skip
LLAMA_70B = replace(LLAMA_8B, num_layers=80, hidden_size=8192, intermediate_size=28672, num_heads=64)
TINY = Architecture(
    num_layers=2, hidden_size=64, intermediate_size=128, num_heads=4, num_kv_heads=2, head_dim=16, vocab_size=256,
    max_position=1024,
)  # fmt: skip
FP8_ROWS = (16, 32, 64, 128, 256, 512)
"""Rows of the products in FP8: batches times tokens of a sequence."""
CONTEXT = 512
"""Context of each sequence of a step [tokens]."""
BUDGET_S = 390.0
"""No further part is begun after this time [s]."""
PATH_S = 45.0
"""Longest time of a way to draft, eagerly or in graphs, the start of its process included [s]: the last one that is
begun ends within 8 minutes."""


def measure_gpu(out: Path, device: str, *, tiny: bool) -> dict[str, Any]:
    """Run the whole suite and write one JSON file after every part; tiny: small models, to try the suite itself.

    A part that fails leaves one line in its place that says why; MeasurementError names them all in the end.
    """
    place, started = _place(device), monotonic()
    found: dict[str, Any] = {"format": 1, "suite": "gpu", "tiny": tiny, "torch": torch.__version__, **memory(place)}
    with Apart(checked, PATH_S) as apart:
        for name, measure in _parts(place, tiny, apart):
            if monotonic() - started > BUDGET_S:
                found.setdefault("left_out", []).append(name)
                sys.stderr.write(f"{name}: left out, time is up\n")
            else:
                _take(found, name, measure)
            write_whole(out, json.dumps(found, indent=1) + "\n")
    _refuse_failures(out, found)
    return found


def _take(found: dict[str, Any], name: str, measure: Callable[[], Any]) -> None:
    """Measure a part, and put it and its time where they belong."""
    begun = perf_counter()
    result = _result(measure)
    group, _, part = name.rpartition(".")
    (found.setdefault(group, {}) if group else found)[part] = result
    found.setdefault("took_s", {})[name] = round(perf_counter() - begun, 2)
    sys.stderr.write(f"{name}: {_told(result)}{found['took_s'][name]} s\n")


def _place(device: str) -> torch.device:
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise MeasurementError(f"--device {device}: no CUDA device is at hand; to try the suite: --device cpu --tiny")
    return torch.device(device)


def _parts(place: torch.device, tiny: bool, apart: Callable[..., Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    eight = replace(TINY, num_layers=3) if tiny else LLAMA_8B
    shapes = ((1, 1), (1, 4), (4, 1), (4, 4)) if tiny else tuple((b, t) for b in (1, 4, 16, 64) for t in (1, 2, 4, 8))
    batches, trees = ((2,), WIDTHS[:2]) if tiny else ((1, 4, 16, 64), WIDTHS)
    yield "correct", lambda: correctness(place)
    yield "ceilings", lambda: ceilings(place, tiny)
    yield "step_8b", lambda: steps(eight, place, shapes)
    yield "step_70b_fp8_layers", lambda: fp8_layers(TINY if tiny else LLAMA_70B, place)
    yield "verify_8b", lambda: verify_steps(eight, place, batches, trees, CONTEXT)
    for way in WAYS:
        yield f"paths.{way}", partial(path, way, str(place), apart)


def path(way: str, device: str, check: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """One way to draft, eagerly and in graphs; where one of them fails, the other is tried all the same."""
    found = {mode: _result(partial(check, way, device, mode)) for mode in modes_of(way, device)}
    why = "; ".join(f"{mode}: {run['why']}" for mode, run in found.items() if not run["ok"])
    return {"ok": not why} | ({"why": why} if why else {}) | found


def _result(measure: Callable[[], Any]) -> Any:
    """What was measured, or why it could not be."""
    try:
        return measure()
    except Exception as error:
        return {"ok": False, "why": one_line(error)}


def _failed(result: Any) -> bool:
    """Whether a part could not be measured, or found something wrong."""
    return isinstance(result, Mapping) and any(value is False for value in result.values())


def _told(result: Any) -> str:
    """A part in words.

    >>> _told({"ok": False, "why": "RuntimeError: no"})
    'FAILED: RuntimeError: no; '
    >>> _told({"ok": True, "eager": {"acceptance_rate": 0.5, "acceptance_rate_on_cpu": 0.5}})
    'ok, acceptance_rate eager 0.500 (on the CPU 0.500); '
    """
    if _failed(result):
        return f"FAILED: {result.get('why', 'outputs differ')}; "
    if not isinstance(result, Mapping) or "ok" not in result:
        return ""
    runs = {mode: run for mode, run in result.items() if isinstance(run, Mapping) and run["acceptance_rate"]}
    told = ", ".join(
        f"{mode} {run['acceptance_rate']:.3f} (on the CPU {run['acceptance_rate_on_cpu']:.3f})"
        for mode, run in runs.items()
    )
    return f"ok, acceptance_rate {told}; " if told else "ok; "


def _refuse_failures(out: Path, found: Mapping[str, Any]) -> None:
    parts = {name: result for name, result in found.items() if name != "paths"}
    parts |= {f"paths.{name}": result for name, result in found.get("paths", {}).items()}
    failed = [name for name, result in parts.items() if _failed(result)]
    if failed:
        raise MeasurementError(f"{out}: failed: {', '.join(failed)}; why stands there, and all other figures")


def memory(place: torch.device) -> dict[str, Any]:
    """Name and memory of the device, as CUDA shows it to a process."""
    if place.type != "cuda":
        return {"device": place.type, "visible_bytes": None}
    _, total = torch.cuda.mem_get_info(place)
    capability = ".".join(map(str, torch.cuda.get_device_capability(place)))
    return {"device": torch.cuda.get_device_name(place), "visible_bytes": total, "capability": capability}


def correctness(place: torch.device) -> dict[str, bool]:
    """Whether greedy outputs agree: in graphs and without, and with the CPU in 32 bits."""
    weights = random_weights(TINY, torch.Generator().manual_seed(1), sharpness=3.0)
    reference = _greedy(Model(weights), graphs=True)
    there = random_weights(TINY, torch.Generator().manual_seed(1), device=str(place), sharpness=3.0)
    graph, eager = (_greedy(Model(there), graphs=graphs) for graphs in (True, False))
    return {"graph_equals_eager": graph == eager, "equals_cpu": eager == reference}


def _greedy(model: Model, *, graphs: bool) -> list[list[int]]:
    engine = Engine(model, EngineOptions(64, Limits(256, max_num_seqs=4)))
    if not graphs:
        engine._pass = lambda batch: model.forward(batch, engine.store)
    rng = np.random.default_rng(5)
    lengths = (3, 17, 40, 9)
    taken = [engine.submit(Request(tuple(rng.integers(0, 256, size=n).tolist()), 24)) for n in lengths]
    list(engine.run())
    return [sequence.output for sequence in taken]


def ceilings(place: torch.device, tiny: bool) -> dict[str, Any]:
    """Rates that nothing on this device exceeds, and the time of a launch."""
    dtypes = (torch.float32,) if tiny else (torch.bfloat16, torch.float32)
    return {
        "copy_bytes_per_s": copy_rate(place, 1 << (22 if tiny else 30)),
        "gemm_flop_per_s": {str(d).removeprefix("torch."): gemm_rate(place, d) for d in dtypes},
        "launch_s": launch_s(place, 200),
    }


def steps(a: Architecture, place: torch.device, shapes: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Passes over (sequences, tokens of each) at CONTEXT, in a graph and eagerly."""
    model = random_model(a, place)
    batch = max(sequences for sequences, _ in shapes)
    store = model.new_store(batch * (CONTEXT // 16 + 2), 16)
    in_graph = passes(model, store)
    found = []
    for sequences, tokens in shapes:
        spans = _spans(sequences, tokens, batch * (CONTEXT // 16 + 2))

        def graph(spans: list[Span] = spans) -> Tensor:
            return in_graph(model.batch(spans, store))

        def eager(spans: list[Span] = spans) -> Tensor:
            return model.forward(model.batch(spans, store), store)

        found.append({"sequences": sequences, "tokens": tokens, "context": CONTEXT,
                      "graph_s": seconds_of(graph, place), "eager_s": seconds_of(eager, place)})  # fmt: skip
    return found


def _spans(sequences: int, tokens: int, blocks: int) -> list[Span]:
    pool = BlockPool(blocks, 16)
    spans = []
    for _ in range(sequences):
        table = BlockTable()
        pool.extend(table, CONTEXT + tokens)
        spans.append(Span([1] * tokens, CONTEXT, table, tokens))
    return spans


def fp8_layers(a: Architecture, place: torch.device) -> list[dict[str, Any]]:
    """Products of all layers of a model of this shape in FP8, by rows: what a step of it spends in linear layers."""
    heads = (a.num_heads + 2 * a.num_kv_heads) * a.head_dim
    shapes = ((heads, a.hidden_size), (a.hidden_size, a.num_heads * a.head_dim),
              (2 * a.intermediate_size, a.hidden_size), (a.hidden_size, a.intermediate_size))  # fmt: skip
    native = place.type == "cuda" and torch.cuda.get_device_capability(place) >= (8, 9)
    layers = [[_product(o, i, place, native) for o, i in shapes] for _ in range(2)]
    found = []
    for rows in FP8_ROWS:
        inputs = {i: _low(torch.randn(rows, i, device=place), native) for _, i in shapes}

        def two_layers(inputs: dict[int, Tensor] = inputs) -> list[Tensor]:
            return [product(inputs[i]) for layer in layers for product, (_, i) in zip(layer, shapes, strict=True)]

        whole = seconds_of(two_layers, place) * a.num_layers / len(layers)
        found.append({"rows": rows, "linear_s": whole, "fp8": native})
    return found


def _low(values: Tensor, native: bool) -> Tensor:
    return values.to(torch.float8_e4m3fn) if native else values


def _product(outputs: int, inputs: int, place: torch.device, native: bool) -> Any:
    """x -> x Wᵀ in FP8 with one scale, or in 32 bits where the device has no FP8."""
    weight = _low(torch.randn(outputs, inputs, device=place), native)
    if not native:
        return lambda x: x @ weight.t()
    one = torch.ones((), device=place)
    return lambda x: torch._scaled_mm(x, weight.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
