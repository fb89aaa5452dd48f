"""Published serving rows as deployments and protocols: what each benchmark ran, by its source."""

from typing import Any, NamedTuple

import pandas as pd

from calibration.protocol import Protocol
from calibration.queued import queue
from calibration.versions import is_old
from simulator.catalog.load import load_engine, load_profile
from simulator.physics.ledger import memory_ledger
from simulator.spec.deployment import Deployment

CLOSED_REQUESTS = 10
"""Requests per client in a closed loop (InferenceX)."""
BATCH_WAIT = (20, 0.9)
"""TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio where the script sets them."""
MEAN_LENGTH = 0.9
"""Mean length in a closed loop ÷ the nominal one."""
BALANCE_WAIT = {"deepseek-v3": 60, "gpt-oss-120b": 50}
"""Iterations after which prompts are no longer held back to balance data-parallel ranks.

Source: `attention_dp_config` with `enable_balance` of InferenceX dsr1_fp8_h200_trt_slurm.sh (timeout_iters 60) and
gptoss_fp4_b200_trt_slurm.sh (TensorRT-LLM's default, 50).
"""
SGLANG_CHUNK = 32768
"""`--chunked-prefill-size` of InferenceX dsr1_fp8_h200.sh."""
GPT_OSS_BUDGET = 20000
"""`max_num_tokens` of InferenceX gptoss_fp4_b200_trt_slurm.sh."""


class Case(NamedTuple):
    """One row, ready to be predicted."""

    id: str
    group: str
    """Engine, GPU, model, precision, GPUs of a replica and lengths: rows that differ in concurrency only."""
    deployment: Deployment
    protocol: Protocol
    ttft_s: float
    tpot_s: float
    tokens_per_s_per_gpu: float
    old_kernels: bool = False
    """Whether it ran on a release with the kernels of calibration.versions."""


def skip_reason(row: Any) -> str:
    """Why a row is not comparable (see shared/measured/README.md); empty when it is."""
    if row.model == "llama-3.1-8b" and row.gpu == "h100-sxm" and row.load == "closed_loop":
        return "no precision; another harness"
    if row.model == "llama-3.1-8b" and row.engine == "vllm" and row.gpu == "h200-sxm":
        return "faster than its kernels: a prefix cache was at work"
    if row.gpu in ("gh200", "gb200"):
        return "extra"
    return ""


def case_of(row: Any, kv_tokens: int | None = None) -> Case:
    """A row of the format of serving.csv."""
    deployment = deployment_of(row)
    tokens = kv_tokens if kv_tokens is not None else kv_capacity(deployment)
    lengths = f"{row.isl}/{row.osl}"
    group = f"{row.engine} {row.gpu} {row.model} {row.precision} {deployment.target.num_gpus}x {lengths}"
    return Case(
        id=row.id,
        group=group,
        deployment=deployment,
        protocol=protocol_of(row, deployment, tokens),
        ttft_s=row.ttft_ms / 1e3,
        tpot_s=row.tpot_ms / 1e3,
        tokens_per_s_per_gpu=row.output_tokens_per_s_per_gpu,
        old_kernels=is_old(row),
    )


def kv_capacity(deployment: Deployment) -> int:
    """Tokens of KV of a replica."""
    row = min(memory_ledger("row", deployment), key=lambda r: r.kv_blocks)
    return row.kv_blocks * row.kv_block_tokens if row.fits else 0


def deployment_of(row: Any) -> Deployment:
    """The deployment of a row; parallelism as it was, not as it is written where the README says so."""
    weights = {"fp8": "fp8", "fp4": "nvfp4"}[str(row.precision)]
    tensor, data, expert = _parallel(row)
    if row.model.startswith("deepseek"):
        weights = "fp8_block"
    if row.model.startswith("gpt-oss"):
        weights = "mxfp4"
    target = {
        "model": row.model,
        "weights": weights,
        "kv": "bf16" if row.engine == "sglang" else "fp8",
        "tensor_parallel": tensor,
        "data_parallel": data,
        "expert_parallel": expert,
    }
    engine = {"policy": row.engine, "memory_fraction": _memory_fraction(row)}
    return Deployment.model_validate({"gpu": row.gpu, "replicas": 1, "price": 1.0, "target": target, "engine": engine})


def _parallel(row: Any) -> tuple[int, int, int]:
    """Tensor and data parallelism of the attention, expert parallelism."""
    if row.model == "deepseek-v3":
        spread = row.engine == "trtllm"
        data = 8 if spread and (row.isl, row.concurrency) == (8192, 64) else 1
        return 8 // data, data, 8 if spread else 1
    tensor = int(row.tp)
    data = int(row.dp) if row.dp > 1 else 1
    expert = int(row.moe_ep) if row.moe_ep > 1 else 1
    if data > 1:
        if row.moe_tp > 1 and row.moe_ep > 1:
            data = int(row.moe_tp)  # `dp` counts the GPUs of --tp_size twice: once as moe_tp, once as moe_ep
        return 1, tensor * data if tensor == 1 else tensor, expert
    return tensor, 1, expert


def _memory_fraction(row: Any) -> float:
    if row.engine == "sglang":
        return 1.0
    if row.model == "deepseek-v3":
        return 0.75
    return 0.95 if row.load == "queued_at_once" else 0.9


def protocol_of(row: Any, deployment: Deployment, kv_tokens: int) -> Protocol:
    """Client and scheduler of a row's source."""
    closed = row.load == "closed_loop"
    concurrency = int(row.concurrency) if closed else None
    trtllm = row.engine == "trtllm"
    budget = load_engine(row.engine).scheduler.max_num_batched_tokens
    if row.engine == "sglang" and row.model == "deepseek-v3":
        budget = SGLANG_CHUNK
    if trtllm and not closed:
        budget = max(budget, int(row.isl))
    if trtllm and closed:
        budget = 16384
        if row.model == "deepseek-v3":
            budget = -(-(int(row.concurrency) + int(row.isl) + 64) // 64) * 64
        if row.model == "gpt-oss-120b":
            budget = GPT_OSS_BUDGET
    ranks = deployment.target.data_parallel
    release = str(getattr(row, "engine_version", ""))
    queued = queue((int(row.isl), int(row.osl)), kv_tokens, str(getattr(row, "source", "")), release)
    wait_iterations, wait_tokens = _wait(row, budget, ranks) if trtllm and closed else (0, 0)
    return Protocol(
        prompt_tokens=int(row.isl),
        output_tokens=int(row.osl),
        requests=CLOSED_REQUESTS * concurrency if concurrency else queued.requests,
        concurrency=concurrency,
        max_num_seqs=concurrency if concurrency else queued.max_num_seqs,
        token_budget=budget * ranks,
        kv_tokens=kv_tokens * ranks,
        chunked=not trtllm,
        reserve_output=trtllm,
        prefill_first=row.engine == "sglang",
        wait_iterations=wait_iterations,
        wait_tokens=wait_tokens,
        shortest=0.8 if closed else 1.0,
        graphs=() if closed else queued.graphs,
        request_host_s=request_host_s(row),
    )


def _wait(row: Any, budget: int, ranks: int) -> tuple[int, int]:
    """Iterations that new prompts of TensorRT-LLM wait for company, and the tokens that end the wait.

    With data-parallel attention they wait until every rank has one. A prompt goes to the rank that has just lost a
    request, which is any: all R ranks have one after R (1 + 1/2 + … + 1/R) prompts on average.
    """
    if ranks > 1:
        prompts = ranks * sum(1.0 / k for k in range(1, ranks + 1))
        return BALANCE_WAIT.get(row.model, 0), int(prompts * MEAN_LENGTH * row.isl)
    if row.model == "llama-3.1-70b" and (row.isl, row.osl) == (1024, 1024) and row.tp < 8:
        return BATCH_WAIT[0], int(BATCH_WAIT[1] * budget)
    return 0, 0


def request_host_s(row: Any) -> float:
    """Time from a request to the scheduler's seeing it, by the profile."""
    profile = load_profile(row.gpu, row.engine)
    return 0.0 if profile is None else profile.constants.request_host_ms * 1e-3


def read_rows(path: str) -> "pd.DataFrame":
    """The rows of a CSV in the format of serving.csv."""
    return pd.read_csv(path)
