"""A profile put together from the measurements of one GPU and engine."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from calibration.fit_attention import fit_decode, fit_prefill
from calibration.fit_collectives import fit_all_reduce
from calibration.fit_linear import fit_linear
from calibration.fit_moe import fit_moe
from calibration.kernels import Tables
from calibration.mla import without_projections
from simulator.spec.profile import EngineConstants, Error, HeldOut, LinearTable, Part, Profile
from simulator.spec.sources import Sources


class Header(NamedTuple):
    """What a profile says of itself beside its tables."""

    gpu: str
    engine: str
    date: str
    versions: dict[str, str]
    sources: Sources


def fit_profile(
    header: Header, tables: Tables, constants: EngineConstants, held_out: tuple[HeldOut, ...] = ()
) -> Profile:
    """Fit every part of which there are measurements."""
    linear, linear_error, linear_count = fit_linear(tables["gemm"])
    decode, prefill = _attention_rows(tables, linear)
    fitted: dict[Part, tuple[tuple[object, ...], Error, int]] = {
        "linear": (linear, linear_error, linear_count),
        "decode_attention": fit_decode(decode),
        "prefill_attention": fit_prefill(prefill),
    }
    if "moe" in tables:
        fitted["experts"] = fit_moe(tables["moe"])
    if "all_reduce" in tables:
        fitted["all_reduce"] = fit_all_reduce(tables["all_reduce"])
    return Profile.model_validate(
        {
            "name": f"{header.gpu}-{header.engine}",
            "gpu": header.gpu,
            "engine": header.engine,
            "date": header.date,
            "versions": header.versions,
            "samples": {part: count for part, (_, _, count) in fitted.items()},
            "fit_error": {part: error for part, (_, error, _) in fitted.items()},
            "held_out": held_out,
            "constants": constants,
            "source": "kernels",
            "sources": header.sources,
        }
        | {part: found for part, (found, _, _) in fitted.items()}
    )


def _attention_rows(tables: Tables, linear: tuple[LinearTable, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Decode and prefill attention, whole MLA modules turned into their attention."""
    bf16 = next((table for table in linear if table.dtype == "bf16"), None)
    out = []
    for op in ("decode_attention", "prefill_attention"):
        rows = tables[op]
        module = rows["kind"] == "mla_module"
        parts = [rows[~module]]
        if module.any() and bf16 is not None:
            whole = rows[module]
            tokens = whole["batch"] * (whole["prompt"] if op == "prefill_attention" else 1)
            parts.append(without_projections(whole, bf16, tokens.to_numpy(np.float64)))
        out.append(pd.concat(parts, ignore_index=True))
    return out[0], out[1]
