"""From a deployment to what the simulation needs of it: limits, step times, acceptance."""

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from simulator.catalog.load import load_engine, load_gpu, load_links
from simulator.cluster.accepted import tables_of
from simulator.cluster.lengths import LONGEST_OUTPUT, LONGEST_PROMPT
from simulator.cluster.limits import Limits
from simulator.cluster.paths import PathPlanner
from simulator.cluster.streams import acceptance_key
from simulator.cluster.traffic import trace_of
from simulator.errors import ScenarioError
from simulator.physics.kv import KvLaw, block_bytes
from simulator.physics.ledger import memory_ledger, sequence_laws
from simulator.physics.placement import hit_of
from simulator.physics.windows import without_idle_windows
from simulator.spec.deployment import Deployment
from simulator.spec.workload import Workload

Floats = NDArray[np.float64]


def draft_tokens_of(deployment: Deployment) -> int:
    """Draft tokens of all drafts that a step verifies per sequence; 0 without speculation."""
    return deployment.speculation.draft_tokens


def chooses_drafts(deployment: Deployment) -> bool:
    """Whether the draft tokens of a sequence are known step by step: a policy chooses them, or a guess was right."""
    speculation = deployment.speculation
    if speculation.kind == "none" or not speculation.draft_tokens:
        return False
    return speculation.policy.kind != "fixed" or drafts_ahead(deployment)


def drafts_ahead(deployment: Deployment) -> bool:
    """Whether drafts go on while the target verifies, so that a sequence may have none; never valid, they need not."""
    pool, speculation = deployment.draft_pool, deployment.speculation
    return pool is not None and speculation.kind != "none" and hit_of(pool, speculation) > 0.0


def block_counts(laws: Sequence[KvLaw], block_tokens: int, limit_tokens: int) -> NDArray[np.int64]:
    """Blocks that a sequence takes, by the number of token blocks it fills, from 0 to the longest sequence.

    For plain caches the two are the same; recurrent state and sliding windows count in blocks of equal bytes.

    >>> block_counts([KvLaw(bytes_per_token=100)], 16, 48).tolist()
    [0, 1, 2, 3]
    """
    stored = np.arange(-(-limit_tokens // block_tokens) + 1) * block_tokens
    growing = stored * sum(law.bytes_per_token for law in laws)
    other = sum(
        law.fixed_bytes + law.sliding_bytes_per_token * np.minimum(stored, law.window_tokens) for law in laws
    ) + np.zeros_like(stored)
    per_block = block_bytes(laws, block_tokens)
    counts = growing // per_block + -(-other // per_block)
    counts[0] = 0
    return counts


def limits_of(name: str, deployment: Deployment, workload: Workload, *, step_by_step: bool = False) -> Limits:
    """What bounds a replica's batch, and how its engine works.

    Raises ScenarioError when the deployment does not fit into its GPUs.
    """
    deployment = without_idle_windows(deployment, longest_sequence(workload))
    row = min(memory_ledger(name, deployment), key=lambda r: r.kv_blocks)
    if not row.fits:
        raise ScenarioError(f"{name}: {row.reason}")
    defaults, engine = load_engine(deployment.engine.policy).scheduler, deployment.engine
    laws = sequence_laws(deployment)
    counts = block_counts(laws, row.kv_block_tokens, row.max_model_len)
    budget = engine.max_num_batched_tokens or defaults.max_num_batched_tokens
    reserves = (engine.admission or defaults.admission) == "no_eviction"
    wait = engine.batch_wait
    return Limits(
        kv_blocks=row.kv_blocks,
        block_tokens=row.kv_block_tokens,
        block_counts=tuple(counts.tolist()),
        max_model_len=row.max_model_len,
        max_num_seqs=engine.max_num_seqs or defaults.max_num_seqs,
        max_num_batched_tokens=budget,
        draft_tokens=draft_tokens_of(deployment),
        chunked_prefill=defaults.chunked_prefill,
        step_by_step=step_by_step,
        prefill_first=defaults.prefill_first,
        scheduler=engine.scheduler,
        prefix_cache=_caches_prefixes(engine.prefix_cache, defaults.prefix_cache) and has_prefixes(workload),
        reserve_output_tokens=min(asked_output(workload), row.max_model_len) if reserves else None,
        swap_block_s=_swap_block_s(deployment, laws, row.kv_block_tokens) if engine.preemption == "swap" else None,
        batch_wait_steps=wait.steps if wait else 0,
        batch_wait_tokens=wait.budget_share * budget if wait else 0.0,
    )


def _caches_prefixes(chosen: bool | None, default: bool) -> bool:
    return default if chosen is None else chosen


def has_prefixes(workload: Workload) -> bool:
    """Whether prompts have anything in common that a prefix cache could use."""
    return workload.arrivals.kind == "trace" or workload.prefix.turns > 1 or workload.prefix.shared_tokens > 0


def asked_output(workload: Workload) -> int:
    """Longest output that requests ask for: as stated, else what the workload's lengths hold [tokens]."""
    if workload.max_output_tokens is not None:
        return workload.max_output_tokens
    if workload.lengths.kind != "trace":
        return ceil(LONGEST_OUTPUT[workload.lengths.kind](workload.lengths))
    assert workload.arrivals.kind == "trace"
    return int(trace_of(workload, workload.arrivals).output_tokens.max())


def longest_sequence(workload: Workload) -> float:
    """Prompt and output that no request exceeds, all turns of a session together [tokens]."""
    if workload.lengths.kind == "trace":
        assert workload.arrivals.kind == "trace"
        rows = trace_of(workload, workload.arrivals)
        return float((rows.prompt_tokens + rows.output_tokens).max())
    kind, prefix = workload.lengths.kind, workload.prefix
    own = LONGEST_PROMPT[kind](workload.lengths) + LONGEST_OUTPUT[kind](workload.lengths)
    return prefix.turns * own + prefix.shared_tokens


def _swap_block_s(deployment: Deployment, laws: Sequence[KvLaw], block_tokens: int) -> float:
    """Seconds to move a KV block of each GPU over its own link to the host."""
    link = load_links(load_gpu(deployment.gpu).links).point_to_point["pcie"]
    return block_bytes(laws, block_tokens) / (link.gb_per_s * 1e9)


def planner_of(
    deployment: Deployment,
    limits: Limits,
    classes: Sequence[str],
    seed: int,
    replication: int,
    temperature: float | None = None,
) -> PathPlanner:
    """Draws the acceptance paths of one replication.

    temperature: at which requests are sampled, where acceptance depends on it.
    """
    tables = tables_of(deployment, classes, temperature)
    return PathPlanner(
        draft_tokens=limits.draft_tokens,
        survival=tables.survival,
        weights=tables.weights,
        context_edges=tables.context_edges,
        drafted_tokens=tables.drafted_tokens,
        key=acceptance_key(seed, replication),
        block_tokens=limits.block_tokens,
        block_counts=np.asarray(limits.block_counts),
        reserved=limits.reserve_output_tokens is not None,
        drawn=not chooses_drafts(deployment),
    )
