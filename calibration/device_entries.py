"""Catalog entries of a measured device: the device as a GPU, its links, and its model where the package has none."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from calibration.measuring.store import WEIGHT_SHAPES
from simulator.catalog.load import load_model, names, origin
from simulator.spec.hardware import GIB, MIB, Gpu, Links
from simulator.spec.model import Model

WATTS_PER_CORE = 10.0
"""Assumption: package power of a server processor under load, by core (200 W and 20 cores to 360 W and 64)."""
RATIO_ROWS = (16, 64, 128, 256)
"""Rows of a catalog entry's `row_latency_ratio`."""
ELEMENT_BYTES = {"fp32": 4.0, "bf16": 2.0}
"""Bytes of a weight, or of an element of KV."""


def entry_name(device: Mapping[str, Any]) -> str:
    """A catalog name for a device.

    >>> entry_name({"kind": "cpu", "name": "AMD EPYC 9B14 64-Core Processor avx512", "threads": 2})
    'cpu-amd-epyc-9b14-2t'
    """
    plain = re.sub(r"\((R|TM)\)|\b(CPU|GPU|NVIDIA|Processor|avx512|\d+-Core)\b|@", " ", device["name"], flags=re.I)
    slug = "-".join(re.findall(r"[a-z0-9.]+", plain.lower()))[:60].strip("-.")
    return f"cpu-{slug}-{device['threads']}t" if device["kind"] == "cpu" else f"gpu-{slug}"


def gpu_entry(name: str, data: Mapping[str, Any], day: date) -> Gpu:
    """The device as the catalog describes a GPU, from kernels measured alone."""
    device, kernels, dtype = data["device"], data["kernels"], data["model"]["dtype"]
    rates = {"fp32": kernels["gemm_flop_per_s"]["float32"], "bf16": kernels["gemm_flop_per_s"]["bfloat16"]}
    linear = _linear(kernels, dtype, rates)
    told = f"python -m calibration.measure on {device['name']}, {device['threads']} threads, torch {device['torch']}"
    return Gpu.model_validate(
        {
            "name": name,
            "title": device["name"],
            "architecture": device["kind"],
            "node_gpus": 1,
            "memory": {
                "driver_mib": device["memory_bytes"] // MIB,
                "cuda_visible_gib": device["memory_bytes"] / GIB,
                "bandwidth_tb_per_s": kernels["copy_bytes_per_s"] / 1e12,
                "source": "measured",
            },
            "compute": {"tflops": {key: rate / 1e12 for key, rate in rates.items()}, "source": "measured"},
            "power": {"watts": WATTS_PER_CORE * device["cores"], "source": "power"},
            "linear": {"specfleet": {"fp32": linear, "bf16": linear}},
            "attention": _attention(data, rates["bf16"]),
            "links": name,
            "source": "measured",
            "sources": {
                "measured": {"kind": "measured", "ref": f"{told}: copies, products, attention alone", "date": day},
                "power": {
                    "kind": "assumption",
                    "ref": f"{WATTS_PER_CORE:g} W for each core, as server processors have; nothing here measures it",
                    "date": day,
                },
            },
        }
    )  # fmt: skip


def links_entry(name: str, data: Mapping[str, Any], day: date) -> Links:
    """One device: no message leaves it, and what is handed over is copied within its memory."""
    kernels = data["kernels"]
    copy = {"latency_us": kernels["launch_s"] * 1e6, "gb_per_s": kernels["copy_bytes_per_s"] / 2e9, "source": "copies"}
    return Links.model_validate(
        {
            "name": name,
            "all_reduce": {},
            "point_to_point": {"pcie": copy},
            "source": "copies",
            "sources": {"copies": {"kind": "measured", "ref": "launches and copies within one device", "date": day}},
        }
    )


def model_entry(data: Mapping[str, Any], day: date) -> Model | None:
    """The measured model from the engine's own dimensions; None where the package's catalog has it."""
    name, a = data["model"]["name"], data["model"]["architecture"]
    if name in names("models") and origin("models", name) == "package":
        return None
    heads = a["num_heads"] + 2 * a["num_kv_heads"]
    biases = a["num_layers"] * heads * a["head_dim"] if a.get("qkv_bias") else 0
    norms = (2 * a["num_layers"] + 1) * a["hidden_size"] + (
        2 * a["num_layers"] * a["head_dim"] if a.get("qk_norm") else 0
    )
    return Model.model_validate(
        {
            "name": name,
            "hf_id": name,
            "source": "engine",
            **{key: a[key] for key in ("num_layers", "hidden_size", "intermediate_size", "num_kv_heads", "head_dim",
                                       "vocab_size", "max_position", "tie_word_embeddings")},
            "num_attention_heads": a["num_heads"],
            "attention": "gqa",
            "attention_extra_params": biases,
            "norm_params": norms,
            "sources": {"engine": {"kind": "config", "ref": "dimensions that the engine loaded", "date": day}},
        }
    )  # fmt: skip


def measured_model(data: Mapping[str, Any], day: date) -> Model:
    """The model that was measured, from the catalog or from the engine's dimensions."""
    return model_entry(data, day) or load_model(data["model"]["name"])


def _linear(kernels: Mapping[str, Any], dtype: str, rates: Mapping[str, float]) -> dict[str, Any]:
    """How near the products come to the device's peaks, from the large weight shapes."""
    seconds = {(o, i, rows): s for o, i, rows, s in kernels["linear"]}
    bandwidth = kernels["copy_bytes_per_s"]
    reached = [
        min(1.0, ELEMENT_BYTES[dtype] * o * i / seconds[o, i, 1] / bandwidth) if (o, i, 1) in seconds else 0.0
        for o, i in WEIGHT_SHAPES
    ]
    large = WEIGHT_SHAPES[1]
    few = seconds[*large, 8]
    ratios = np.maximum.accumulate([max(1.0, seconds[*large, rows] / few) for rows in RATIO_ROWS])
    rate = 2.0 * large[0] * large[1] * RATIO_ROWS[-1] / seconds[*large, RATIO_ROWS[-1]]
    return {
        "bandwidth_fraction": [value or reached[1] for value in reached],
        "compute_fraction": min(1.0, rate / rates[dtype]),
        "row_latency_ratio": [float(value) for value in ratios],
        "source": "measured",
    }


def _attention(data: Mapping[str, Any], peak: float) -> dict[str, Any]:
    """Decode attention as a rate of reading KV, and prompt attention as a share of the bf16 peak."""
    a, dtype, kernels = data["model"]["architecture"], data["model"]["dtype"], data["kernels"]
    per_token = 2 * a["num_kv_heads"] * a["head_dim"]
    points = [
        [batch, context, batch * context * per_token * ELEMENT_BYTES[dtype] / seconds / 1e12]
        for batch, queries, context, seconds in kernels["decode_attention"]
        if queries == 1
    ]
    return {
        "points": points,
        "layer_kv_bytes_per_token": 2 * per_token,
        "prefill_compute_fraction": min(1.0, _prompt_rate(kernels["prefill_attention"], a) / peak),
        "source": "measured",
    }


def _prompt_rate(measured: Sequence[Sequence[float]], a: Mapping[str, Any]) -> float:
    """FLOP per second of the longest prompt's causal attention."""
    tokens, seconds = measured[-1]
    return float(2.0 * a["num_heads"] * a["head_dim"] * tokens * tokens / seconds)
