"""The HBM ledger: what a GPU's memory goes to, and how many tokens of KV fit into the rest.

The engines' own identity, closed to the byte. Knows nothing of time; what would make a deployment fit is in `remedies`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.physics.account import Account, pool_account, target_account
from simulator.physics.kv import KvLaw, longest_sequence
from simulator.physics.remedies import ways_to_fit
from simulator.spec.deployment import Deployment
from simulator.spec.hardware import GIB

CONTEXTS_TOKENS = (1024, 4096, 8192, 32768, 131072, 262144, 1048576)
"""Contexts at which a ledger counts sequences [tokens]."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Memory of one GPU role of a deployment: its fullest GPU, and the KV tokens of a whole replica."""

    deployment: str
    role: str
    """`target`, `target+draft` for GPUs that hold both, or `draft` for those of a draft pool."""
    gpu: str
    hbm_bytes: int
    """As CUDA shows it to the engine."""
    usable_bytes: int
    """What the engine may use: the memory fraction of it, or the budget."""
    target_weights_bytes: int
    draft_weights_bytes: int
    """Of all drafts and of the router that chooses among them."""
    draft_weights_bytes_by_draft: Mapping[str, int]
    router_weights_bytes: int
    """Of the model that routes requests to drafts."""
    activation_bytes: int
    """Peak of the passes: target and drafts take turns, so the largest counts; drafts on parallel streams add up."""
    runtime_bytes: int
    """CUDA context, collective buffers, what the engine reserves."""
    kv_budget_bytes: int
    """Room for KV on this GPU; 0 when nothing is left."""
    kv_host_bytes: int
    """Room on the host for the target's KV of this GPU."""
    kv_host_share: float
    """Share of the target's KV of every sequence that lies on the host [0 to 1]."""
    kv_bytes_per_token: Mapping[str, int]
    """On this GPU, `target` and `draft` (all drafts), sliding windows and fixed parts left out."""
    kv_bytes_per_token_by_draft: Mapping[str, int]
    kv_bytes_per_sequence_fixed: Mapping[str, int]
    """On this GPU, `target` and `draft` (all drafts): recurrent state, and windows when full."""
    kv_block_tokens: int
    kv_pools: int
    """Groups of GPUs with KV of their own (data-parallel attention, copies of drafts); a sequence lives in one."""
    kv_blocks: int
    """Over the replica's pools."""
    kv_tokens: int
    """Over the replica's pools: blocks × tokens of a block."""
    max_model_len: int
    max_sequences_at: Mapping[int, int]
    """Context [tokens] → sequences of it that the replica's KV holds at once."""
    fits: bool
    """Whether a pool holds one sequence of max_model_len."""
    shortfall_bytes: int
    """On this GPU: what one such sequence lacks."""
    reason: str


def memory_ledger(name: str, deployment: Deployment) -> tuple[LedgerRow, ...]:
    """The ledger of each GPU role of a deployment called `name`.

    Co-located drafts that are split over fewer GPUs than the target fill the first of them; those bind the whole
    replica, because every GPU holds the same blocks, and are the ones shown. KV of a draft pool's row is what one
    replica has of it.
    """
    pool, beside = pool_account(deployment), deployment.speculation.kind != "none" and deployment.draft_pool is None
    own = _row(name, "target+draft" if beside else "target", deployment, target_account(deployment))
    return (own,) if pool is None else (own, _row(name, "draft", deployment, pool))


def _row(name: str, role: str, deployment: Deployment, account: Account) -> LedgerRow:
    return LedgerRow(
        deployment=name,
        role=role,
        gpu=deployment.draft_gpu if role == "draft" else deployment.gpu,
        hbm_bytes=account.hbm_bytes,
        usable_bytes=account.usable_bytes,
        target_weights_bytes=account.target_weights_bytes,
        draft_weights_bytes=account.draft_weights_bytes,
        draft_weights_bytes_by_draft={key: draft.weights_bytes for key, draft in account.drafts.items()},
        router_weights_bytes=account.router_bytes,
        activation_bytes=account.activation_bytes,
        runtime_bytes=account.runtime_bytes,
        kv_budget_bytes=max(0, account.kv_room_bytes),
        kv_host_bytes=account.kv_host_bytes,
        kv_host_share=account.host_share,
        kv_bytes_per_token={
            "target": account.target_law.bytes_per_token,
            "draft": sum(law.bytes_per_token for law in account.draft_laws),
        },
        kv_bytes_per_token_by_draft={key: draft.law.bytes_per_token for key, draft in account.drafts.items()},
        kv_bytes_per_sequence_fixed={
            "target": _fixed_bytes(account.target_law),
            "draft": sum(map(_fixed_bytes, account.draft_laws)),
        },
        kv_block_tokens=account.block_tokens,
        kv_pools=account.pools,
        kv_blocks=account.replica_blocks,
        kv_tokens=account.replica_blocks * account.block_tokens,
        max_model_len=account.max_model_len,
        max_sequences_at={n: account.sequences_at(n) for n in CONTEXTS_TOKENS},
        fits=account.shortfall_bytes == 0,
        shortfall_bytes=account.shortfall_bytes,
        reason=_reason(deployment, account),
    )


def fits(deployment: Deployment) -> bool:
    """Whether each GPU holds its weights and the KV of one sequence of the longest length."""
    accounts = target_account(deployment), pool_account(deployment)
    return all(account is None or account.shortfall_bytes == 0 for account in accounts)


def host_share(deployment: Deployment) -> float:
    """Share of the target's KV of every sequence that lies on the host [0 to 1]."""
    return 0.0 if deployment.engine.kv_host_gb is None else target_account(deployment).host_share


def sequence_laws(deployment: Deployment) -> tuple[KvLaw, ...]:
    """KV laws of all caches on the GPU that holds the fewest sequences: what a sequence's blocks are counted with."""
    own, pool = target_account(deployment), pool_account(deployment)
    return own.laws if pool is None or own.replica_blocks <= pool.replica_blocks else pool.laws


def _fixed_bytes(law: KvLaw) -> int:
    return law.fixed_bytes + law.sliding_bytes_per_token * law.window_tokens


def _reason(deployment: Deployment, account: Account) -> str:
    length = account.max_model_len
    if account.shortfall_bytes == 0:
        sequences = account.sequences_at(length)
        host = f", {account.host_share:.0%} of the target's KV on the host" if account.kv_host_bytes else ""
        return f"holds {sequences:,} sequences of {length:,} tokens{host}"
    room, short = account.kv_room_bytes / GIB, account.shortfall_bytes / GIB
    host = f" and {account.kv_host_bytes / GIB:.2f} GiB on the host" if account.kv_host_bytes else ""
    longest = longest_sequence(account.laws, account.block_tokens, account.sequence_blocks, length)
    ways = ways_to_fit(deployment, longest, fits)
    would = "; ".join(ways) or "no single change of split, KV, length, weights or draft"
    return (
        f"one sequence of {length:,} tokens lacks {short:.2f} GiB on each GPU, whose room for KV is {room:.2f} GiB"
        f"{host}; what would fit: {would}"
    )
