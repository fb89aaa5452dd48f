"""Predicted against measured: every row of a serving CSV replayed as it was run (`specfleet validate`).

A row that cannot be predicted says why. It imports neither torch nor the engine.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import fields, replace
from functools import lru_cache
from math import isfinite, nan
from pathlib import Path
from typing import NamedTuple

from calibration.benchmark import replay_model
from calibration.causes import Circumstances, likely_cause
from calibration.fitted_on import half_of
from calibration.protocol import Measured, Protocol
from calibration.rows import Case, case_of, deployment_of, skip_reason
from calibration.serving_csv import ServingRow, read_serving
from calibration.versions import older
from scenarios.executors import cores, workers
from simulator.catalog.load import load_model, load_profile
from simulator.errors import SimulatorError
from simulator.physics.ledger import memory_ledger
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel, step_model_with
from simulator.spec.deployment import Deployment

FASTER_THAN_KERNELS = 0.8
"""A time below this share of what its kernels take by the profile breaks physics: something unsaid was at work."""
FEW_ROWS = 24
"""Rows up to which one process is faster than starting more."""
Progress = Callable[[int, int], None]


class Outcome(NamedTuple):
    """What became of a row; times in seconds, rates in output tokens/s per GPU, nan where there is none."""

    row: ServingRow
    group: str
    half: str
    """fitted: a constant of its engine was fitted on its group; held_out: none was."""
    ttft_s: float
    tpot_s: float
    tokens_per_s: float
    """Predicted; the measured ones are in the row."""
    mean_batch: float
    reason: str = ""
    """Why it could not be predicted; empty: it was."""
    skipped: str = ""
    """Why it is left out of goals; empty: it counts."""
    flag: str = ""
    """What is wrong with its measurement; empty: nothing."""
    cause: str = ""
    """What its error, if large, most likely comes from."""


class Validation(NamedTuple):
    """All rows, in the order of the file."""

    path: str
    outcomes: list[Outcome]


def validate(path: Path, jobs: int | None = 1, progress: Progress | None = None) -> Validation:
    """Predict every row of a file.

    jobs: processes (None: one a core); the result does not depend on it.
    """
    rows = read_serving(path)
    tell = progress or (lambda done, total: None)
    few = jobs is None and len(rows) <= FEW_ROWS
    with workers(1 if few else min(jobs or cores(), len(rows))) as pool:
        outcomes = _one_by_one(rows, tell) if pool is None else _side_by_side(rows, pool, tell)
    tell(len(rows), len(rows))
    return Validation(str(path), outcomes)


def outcome(row: ServingRow) -> Outcome:
    """A row predicted, or why it is not."""
    nothing = Outcome(row, "", half_of(row, ""), nan, nan, nan, nan, skipped=skip_reason(row))
    if reason := unreadable(row):
        return nothing._replace(reason=reason)
    try:
        return _predicted(row, case_of(row, kv_tokens(deployment_of(row))))
    except (SimulatorError, ValueError) as error:
        return nothing._replace(reason=" ".join(str(error).split())[:300])
    except Exception as error:  # a row never ends the run: what it met is its reason
        return nothing._replace(reason=f"internal error: {type(error).__name__}: {error}")


def unreadable(row: ServingRow) -> str:
    """What of a row's configuration cannot be modelled; empty when all can."""
    if row.precision not in ("fp8", "fp4"):
        return f"precision {row.precision!r} is not known: fp8, fp4" if row.precision else "no precision"
    if row.pp > 1:
        return "pipeline parallelism is not replayed"
    return ""


def _predicted(row: ServingRow, case: Case) -> Outcome:
    model = step_model(case)
    protocol = protocol_of(case)
    skipped, half = skip_reason(row), half_of(row, case.group)
    nothing = Outcome(row, case.group, half, nan, nan, nan, nan, skipped=skipped)
    if protocol.kv_tokens < protocol.prompt_tokens + protocol.output_tokens:
        return nothing._replace(reason=f"no room for one request: KV for {protocol.kv_tokens:,} tokens")
    found = replay_model(protocol, model)
    shape = _decode_step(protocol, model, found)[1]
    closed = protocol.concurrency is not None
    target = case.deployment.target
    experts = load_model(target.model).moe is not None
    outside = bool(model.outside(shape))
    circumstances = Circumstances(row, protocol, found.mean_batch, target.data_parallel, experts, outside)
    return nothing._replace(
        ttft_s=found.ttft_s if closed else nan,
        tpot_s=found.tpot_s if closed else nan,
        tokens_per_s=found.output_tokens_per_s / case.deployment.target.num_gpus,
        mean_batch=found.mean_batch,
        flag=_flag(row, protocol, model, found),
        cause=likely_cause(circumstances),
    )


def protocol_of(case: Case) -> Protocol:
    """How the row was run; prompts that leave no place beside them must have been split."""
    known = {field.name: getattr(case.protocol, field.name) for field in fields(Protocol)}
    protocol = Protocol(**known)
    return replace(protocol, chunked=protocol.chunked or protocol.prompt_tokens >= protocol.token_budget)


def kv_tokens(deployment: Deployment) -> int:
    """Tokens of KV of a replica; 0 where its weights do not fit. The longest sequence of the model need not fit."""
    row = min(memory_ledger("row", deployment), key=lambda row: row.kv_blocks)
    return max(0, row.kv_blocks * row.kv_block_tokens)


def _decode_step(protocol: Protocol, model: CatalogStepModel, found: Measured) -> tuple[float, StepShape]:
    """Seconds of a step without prompts at the replay's mean batch and middle context, and its shape."""
    batch = max(1, round(found.mean_batch))
    share = (1 + protocol.shortest) / 2
    context = batch * share * (protocol.prompt_tokens + protocol.output_tokens / 2)
    constant, slope = model.decode_affine(batch)
    return constant + slope * context, StepShape(batch, batch, context, 0, 0, 0.0, 0)


def _prompt_alone_s(protocol: Protocol, model: CatalogStepModel) -> float:
    """Seconds of a step that computes one prompt of mean length and nothing else."""
    tokens = max(1, int(protocol.prompt_tokens * (1 + protocol.shortest) / 2))
    return model.seconds(StepShape(0, 0, 0.0, 1, tokens, tokens * (tokens + 1) / 2, 0))


def _flag(row: ServingRow, protocol: Protocol, model: CatalogStepModel, found: Measured) -> str:
    """Why a measurement breaks physics as it is known here; empty when it does not.

    A request cannot take less than one prompt alone, its tokens not less than the decode steps, and all of it not less
    than its share of the work: while it runs, each of its companions has its prompt computed once.
    """
    decode_s = _decode_step(protocol, model, found)[0]
    prompt_s = _prompt_alone_s(protocol, model)
    outputs = protocol.output_tokens * (1 + protocol.shortest) / 2
    ttft_s, tpot_s = row.ttft_ms * 1e-3, row.tpot_ms * 1e-3
    own_s = max(0.0, prompt_s - model.decode_affine(1)[0])
    work_s = found.mean_batch * own_s + outputs * decode_s
    if tpot_s < FASTER_THAN_KERNELS * decode_s:
        return f"faster than its kernels: a decode step of its batch takes {decode_s * 1e3:.3g} ms"
    if ttft_s < FASTER_THAN_KERNELS * prompt_s:
        return f"faster than its kernels: one prompt alone takes {prompt_s * 1e3:.3g} ms"
    if ttft_s + (outputs - 1) * tpot_s < FASTER_THAN_KERNELS * work_s:
        return f"faster than its kernels: a request's share of the work takes {work_s * 1e3:.4g} ms"
    return ""


def step_model(case: Case) -> CatalogStepModel:
    """The step model of a row, with its release's kernels; rows that share it share what it has computed."""
    return _remembered_model(case.deployment.model_dump_json(), case.old_kernels)


@lru_cache(maxsize=64)
def _remembered_model(deployment: str, old_kernels: bool) -> CatalogStepModel:
    spec = Deployment.model_validate_json(deployment)
    profile = load_profile(spec.gpu, spec.engine.policy)
    return step_model_with(older(profile) if profile is not None and old_kernels else profile, spec)


def _one_by_one(rows: Sequence[ServingRow], tell: Progress) -> list[Outcome]:
    found = []
    for done, row in enumerate(rows):
        tell(done, len(rows))
        found.append(outcome(row))
    return found


def _side_by_side(rows: Sequence[ServingRow], pool: Executor, tell: Progress) -> list[Outcome]:
    """All rows by several processes, the long ones first so that none is left over at the end."""
    found: dict[int, Outcome] = {}
    order = sorted(range(len(rows)), key=lambda i: -_weight(rows[i]))
    futures = {pool.submit(outcome, rows[i]): i for i in order}
    for done, future in enumerate(as_completed(futures)):
        tell(done, len(rows))
        found[futures[future]] = future.result()
    return [found[i] for i in range(len(rows))]


def _weight(row: ServingRow) -> float:
    """How long a row takes, in proportion."""
    return row.concurrency * row.osl**0.5 if isfinite(row.concurrency) else 1e6


def predicted(validation: Validation) -> Iterator[Outcome]:
    """The rows that were predicted and count towards goals."""
    return (one for one in validation.outcomes if not one.reason and not one.skipped)
