"""Verification of a mixture of experts against plain decoding: latencies of fused experts as they were measured."""

import pandas as pd
import pytest

from calibration.kernels import DTYPES
from calibration.profiles import SHARED_GEMM
from simulator.catalog.load import load_engine, load_gpu, load_links, load_model, load_profile, load_quantisation
from simulator.physics.build import build_forward
from simulator.physics.forward import Checkpoint, Machine, Split

MOE = SHARED_GEMM.with_name("moe.parquet")
MODELS = {
    "DeepSeek-V3/R1": "deepseek-v3",
    "Kimi-K2": "kimi-k2-instruct",
    "Qwen3-235B": "qwen3-235b-a22b",
    "Qwen3-30B-A3B": "qwen3-30b-a3b",
    "gpt-oss-120b": "gpt-oss-120b",
}
KEY = ["model", "gpu", "framework", "dtype", "moe_tp_size", "moe_ep_size"]
STEPS = [(batch, batch * (k + 1)) for batch in (1, 8, 64) for k in (3, 7)]
WITHIN = 0.15

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not MOE.exists(), reason=f"no measurements at {MOE}")]


def measured():
    """(key, best latency by tokens) of every model, format and split."""
    table = pd.read_parquet(MOE)
    table = table[(table["distribution"] == "power_law_1.01") & table["model"].isin(list(MODELS))]
    table = table[~((table["gpu"] == "B200") & (table["moe_dtype"] == "w4a16_mxfp4"))]
    for key, group in table.assign(dtype=table["moe_dtype"].map(DTYPES)).groupby(KEY):
        yield key, group.groupby("num_tokens")["latency"].min()


def experts_of(model, gpu, framework, dtype, tensor_parallel, expert_parallel):
    """Seconds of the experts by tokens, as the step model has them."""
    hardware, policy = load_gpu(f"{gpu.lower()}-sxm"), load_engine(framework.lower())
    profile = load_profile(hardware.name, policy.name)
    weights = None if dtype == "bf16" else load_quantisation({"int4": "awq_int4"}.get(dtype, dtype))
    machine = Machine(hardware, load_links(hardware.links), policy, 512, profile)
    split = Split(tensor_parallel * expert_parallel, 1, expert_parallel)
    experts = build_forward(Checkpoint(load_model(MODELS[model]), weights, "bf16"), machine, split).experts
    return lambda tokens: sum(layers.seconds(tokens) for layers in experts)


def spoilt(best, tokens):
    """Whether a latency is a spike: by a tenth or more above that of more tokens."""
    return best[tokens] > 1.1 * best[best.index > tokens].min()


def errors():
    """(row, predicted ÷ measured ratio of verification to decoding − 1) wherever the measurement is no spike."""
    for key, best in measured():
        seconds = experts_of(*key)
        for batch, rows in STEPS:
            if not (spoilt(best, batch) or spoilt(best, rows)):
                predicted = seconds(rows) / seconds(batch)
                yield (*key, batch, rows), predicted / (best[rows] / best[batch]) - 1.0


def test_verification_of_experts_costs_what_the_kernels_cost():
    found = dict(errors())

    assert len(found) > 900
    assert {row: error for row, error in found.items() if abs(error) > WITHIN} == {}
