"""Kernel measurements in one format, whoever made them: read from files, never from a package's code.

A measurement is a row of a table: an operation (`op`), the columns of that operation, and its latency in µs. See
docs/profiles.md.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from simulator.errors import ProfileError

COMMON = ("gpu", "engine", "version", "latency_us")
COLUMNS: dict[str, tuple[str, ...]] = {
    "gemm": ("dtype", "m", "n", "k"),
    "decode_attention": ("kind", "kv", "heads", "kv_heads", "head_dim", "window", "batch", "context"),
    "prefill_attention": ("kind", "kv", "heads", "kv_heads", "head_dim", "window", "batch", "prompt"),
    "moe": ("dtype", "hidden", "intermediate", "experts", "top_k", "tp", "ep", "skew", "tokens"),
    "all_reduce": ("gpus", "mode", "bytes"),
}
"""Operation → the columns that say what was measured; sizes are in elements, tokens and bytes."""

DTYPES = {
    "bfloat16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "w4a16_mxfp4": "mxfp4",
    "w4a8_mxfp4_mxfp8": "mxfp4",
    "int4_wo": "int4",
}
"""aiconfigurator's names of weight formats → ours."""
ALL_REDUCE_ELEMENT_BYTES = 2
"""aiconfigurator states the size of an all-reduce in 2-byte elements."""
SKEW = {"balanced": 0.0, "power_law_1.01": 1.01, "power_law_1.2": 1.2}
MLA_LATENT = 576
"""Elements of DeepSeek's latent KV vector: the only MLA that was measured."""

Tables = dict[str, pd.DataFrame]


def check(op: str, table: pd.DataFrame, where: str) -> pd.DataFrame:
    """The columns of the format, in order, or a ProfileError that names what is missing."""
    if op not in COLUMNS:
        raise ProfileError(f"{where}: unknown operation {op!r}; known: {', '.join(COLUMNS)}")
    wanted = [*COMMON, *COLUMNS[op]]
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise ProfileError(f"{where}: {op} lacks the columns {', '.join(missing)}")
    bad = ~(table["latency_us"] > 0.0)
    if bad.any():
        raise ProfileError(f"{where}: {op} has {int(bad.sum())} latencies that are not above 0")
    return table[wanted].reset_index(drop=True)


def read_measurements(path: Path) -> Tables:
    """A file in the common format (CSV or parquet), such as our own microbenchmark writes."""
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    if "op" not in table.columns:
        raise ProfileError(f"{path}: no column `op`")
    return {op: check(op, rows.dropna(axis="columns", how="all"), str(path)) for op, rows in table.groupby("op")}


def merge(parts: Iterable[Tables]) -> Tables:
    """All rows of each operation."""
    out: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        for op, table in part.items():
            out.setdefault(op, []).append(table)
    return {op: pd.concat(tables, ignore_index=True) for op, tables in out.items()}


def read_aiconfigurator(root: Path, gpu: str, engine: str, versions: dict[str, str]) -> Tables:
    """Tables of one GPU and engine in the data folder of the package aiconfigurator-core.

    root: its folder `systems/data`. versions: part → version folder, such as {"gemm": "1.3.0rc20"}.
    """
    system = root / gpu.replace("-", "_")
    readers = {
        "gemm": _gemm,
        "attention": _attention,
        "mla": _mla,
        "moe": _moe,
        "comm": _all_reduce,
    }
    parts = []
    for part, version in versions.items():
        folder = system / part / engine / version
        if not folder.is_dir():
            raise ProfileError(f"{folder}: no such tables; is aiconfigurator-core 0.12.0 installed (extra `silicon`)?")
        parts.append({op: _stamp(op, table, gpu, engine, version) for op, table in readers[part](folder).items()})
    return merge(parts)


def read_shared_gemm(path: Path, gpu: str, engine: str, dtypes: tuple[str, ...], version: str) -> Tables:
    """Matrix products of shared/measured/kernels (the columns of aiconfigurator, in ms)."""
    table = pd.read_parquet(path)
    table = table[(table["system"] == gpu.replace("-", "_")) & table["gemm_dtype"].isin(dtypes)]
    return {"gemm": _stamp("gemm", _gemm_columns(table, "latency_ms"), gpu, engine, version)}


def _stamp(op: str, table: pd.DataFrame, gpu: str, engine: str, version: str) -> pd.DataFrame:
    return check(op, table.assign(gpu=gpu, engine=engine, version=version), f"{gpu} {engine} {version}")


def _gemm_columns(table: pd.DataFrame, latency: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "dtype": table["gemm_dtype"].map(DTYPES),
            "m": table["m"],
            "n": table["n"],
            "k": table["k"],
            "latency_us": table[latency] * 1e3,
        }
    ).dropna()


def _gemm(folder: Path) -> dict[str, pd.DataFrame]:
    return {"gemm": _gemm_columns(pd.read_parquet(folder / "gemm_perf.parquet"), "latency")}


def _heads(table: pd.DataFrame) -> dict[str, Any]:
    """Columns of the heads; 0 KV heads stand for as many as query heads."""
    kv_heads = table["num_key_value_heads"].where(table["num_key_value_heads"] > 0, table["num_heads"])
    return {
        "kind": "gqa",
        "kv": table["kv_cache_dtype"].map(DTYPES),
        "heads": table["num_heads"],
        "kv_heads": kv_heads,
        "head_dim": table["head_dim"],
        "window": table["window_size"],
        "batch": table["batch_size"],
        "latency_us": table["latency"] * 1e3,
    }


def _attention(folder: Path) -> dict[str, pd.DataFrame]:
    decode = pd.read_parquet(folder / "generation_attention_perf.parquet")
    prefill = pd.read_parquet(folder / "context_attention_perf.parquet")
    prefill = prefill[prefill["step"] == 0]
    return {
        "decode_attention": pd.DataFrame(_heads(decode) | {"context": decode["step"] + decode["isl"]}),
        "prefill_attention": pd.DataFrame(_heads(prefill) | {"prompt": prefill["isl"]}),
    }


def _mla_columns(table: pd.DataFrame, kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "kv": table["kv_cache_dtype"].map(DTYPES),
        "heads": table["num_heads"],
        "kv_heads": 1,
        "head_dim": MLA_LATENT,
        "window": 0,
        "batch": table["batch_size"],
        "latency_us": table["latency"] * 1e3,
    }


def _mla(folder: Path) -> dict[str, pd.DataFrame]:
    """Latent attention: the kernels where they were measured alone, else whole modules (`kind` mla_module)."""
    kernels = (folder / "generation_mla_perf.parquet").exists()
    names = ("generation_mla", "context_mla") if kernels else ("mla_generation_module", "mla_context_module")
    decode, prefill = (pd.read_parquet(folder / f"{name}_perf.parquet") for name in names)
    kind = "mla" if kernels else "mla_module"
    if not kernels:
        decode, prefill = (table[table["gemm_type"] == "bfloat16"] for table in (decode, prefill))
    return {
        "decode_attention": pd.DataFrame(_mla_columns(decode, kind) | {"context": decode["step"]}),
        "prefill_attention": pd.DataFrame(_mla_columns(prefill, kind) | {"prompt": prefill["isl"]}),
    }


def _moe(folder: Path) -> dict[str, pd.DataFrame]:
    """Fused experts; of two kernels that compute MXFP4, the one on 8-bit activations stands first where both exist."""
    table = pd.read_parquet(folder / "moe_perf.parquet")
    out = pd.DataFrame(
        {
            "dtype": table["moe_dtype"].map(DTYPES),
            "hidden": table["hidden_size"],
            "intermediate": table["inter_size"],
            "experts": table["num_experts"],
            "top_k": table["topk"],
            "tp": table["moe_tp_size"],
            "ep": table["moe_ep_size"],
            "skew": table["distribution"].map(SKEW),
            "tokens": table["num_tokens"],
            "latency_us": table["latency"] * 1e3,
        }
    )
    return {"moe": out.dropna()}


def _all_reduce(folder: Path) -> dict[str, pd.DataFrame]:
    table = pd.read_parquet(folder / "custom_allreduce_perf.parquet")
    modes = table["kernel_source"].str.extract("_(graph|eager)$")[0]
    base = pd.DataFrame(
        {
            "gpus": table["num_gpus"],
            "mode": modes.fillna("graph"),
            "bytes": table["message_size"] * ALL_REDUCE_ELEMENT_BYTES,
            "latency_us": table["latency"] * 1e3,
        }
    )
    return {"all_reduce": base}
