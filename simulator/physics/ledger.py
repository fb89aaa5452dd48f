"""The HBM ledger: what a GPU's memory goes to, and how many tokens of KV fit into the rest.

The engines' own identity, closed to the byte. Knows nothing of time; what would make a deployment fit is in `remedies`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.catalog.load import load_engine, load_gpu, load_model, load_quantisation
from simulator.physics.draft_memory import DraftMemory, draft_memory, router_bytes
from simulator.physics.footprint import weight_bytes
from simulator.physics.kv import KvLaw, block_bytes, kv_law, longest_sequence, sequence_blocks
from simulator.physics.memory_rules import activation_peak_bytes, kv_room_bytes, usable_memory_bytes
from simulator.physics.remedies import ways_to_fit
from simulator.physics.windows import without_idle_windows
from simulator.spec.deployment import Deployment, Engine
from simulator.spec.hardware import GIB
from simulator.spec.model import Model
from simulator.spec.policy import EnginePolicy, MemoryRule

CONTEXTS_TOKENS = (1024, 4096, 8192, 32768, 131072, 262144, 1048576)
"""Contexts at which a ledger counts sequences [tokens]."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Memory of one GPU role of a deployment: its fullest GPU, and the KV tokens of a whole replica."""

    deployment: str
    role: str
    """`target`, or `target+draft` for GPUs that hold both."""
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
    """Peak of the passes: target and drafts take turns, so the largest of them."""
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
    """Groups of the replica with KV of their own (data-parallel attention); a sequence lives in one of them."""
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


@dataclass(frozen=True, slots=True)
class _Account:
    """One GPU's bytes before KV, and the laws of its KV."""

    hbm_bytes: int
    usable_bytes: int
    target_weights_bytes: int
    drafts: Mapping[str, DraftMemory]
    router_bytes: int
    activation_bytes: int
    runtime_bytes: int
    kv_room_bytes: int
    target_law: KvLaw
    block_tokens: int
    max_model_len: int
    kv_host_bytes: int

    @property
    def draft_laws(self) -> tuple[KvLaw, ...]:
        return tuple(draft.law for draft in self.drafts.values())

    @property
    def laws(self) -> tuple[KvLaw, ...]:
        """Of the target first, then of each draft."""
        return self.target_law, *self.draft_laws

    @property
    def draft_weights_bytes(self) -> int:
        """Of all drafts and the router [bytes]."""
        return _draft_bytes(self.drafts, self.router_bytes)

    @property
    def pool_blocks(self) -> int:
        """Blocks of one pool: what both tiers hold, and what the drafts' KV, always in HBM, leaves room for [count]."""
        hbm = max(0, self.kv_room_bytes)
        blocks = (hbm + (self.kv_host_bytes if hbm else 0)) // block_bytes(self.laws, self.block_tokens)
        return min(blocks, hbm // self.draft_block_bytes) if self.draft_block_bytes else blocks

    @property
    def draft_block_bytes(self) -> int:
        """Bytes of a block that are the drafts' [bytes]."""
        return self.block_tokens * sum(law.bytes_per_token for law in self.draft_laws)

    @property
    def host_share(self) -> float:
        """Share of the target's KV on the host, so that both tiers are full together: HBM is used first [0 to 1].

        What a block holds beyond the drafts' part is the target's, windows and state included.
        """
        targets = self.pool_blocks * (block_bytes(self.laws, self.block_tokens) - self.draft_block_bytes)
        in_hbm = max(0, self.kv_room_bytes) - self.pool_blocks * self.draft_block_bytes
        return max(0.0, 1.0 - in_hbm / targets) if targets and self.kv_host_bytes else 0.0

    @property
    def shortfall_bytes(self) -> int:
        """What one sequence of the longest length lacks, in whole blocks; 0 when it fits [bytes]."""
        blocks = sequence_blocks(self.laws, self.block_tokens, self.max_model_len)
        if blocks <= self.pool_blocks:
            return 0
        on_both = blocks * block_bytes(self.laws, self.block_tokens) - self.kv_host_bytes
        return max(on_both, blocks * self.draft_block_bytes) - self.kv_room_bytes


def memory_ledger(name: str, deployment: Deployment) -> tuple[LedgerRow, ...]:
    """The ledger of each GPU role of a deployment called `name`.

    Co-located drafts that are split over fewer GPUs than the target fill the first of them; those bind the whole
    replica, because every GPU holds the same blocks, and are the ones shown.
    """
    account = _account(deployment)
    pools = deployment.target.data_parallel
    return (
        LedgerRow(
            deployment=name,
            role="target" if deployment.speculation.kind == "none" else "target+draft",
            gpu=deployment.gpu,
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
            kv_pools=pools,
            kv_blocks=pools * account.pool_blocks,
            kv_tokens=pools * account.pool_blocks * account.block_tokens,
            max_model_len=account.max_model_len,
            max_sequences_at={n: pools * _sequences_at(account, n) for n in CONTEXTS_TOKENS},
            fits=account.shortfall_bytes == 0,
            shortfall_bytes=account.shortfall_bytes,
            reason=_reason(deployment, account),
        ),
    )


def fits(deployment: Deployment) -> bool:
    """Whether each GPU holds its weights and the KV of one sequence of the longest length."""
    return _account(deployment).shortfall_bytes == 0


def host_share(deployment: Deployment) -> float:
    """Share of the target's KV of every sequence that lies on the host [0 to 1]."""
    return 0.0 if deployment.engine.kv_host_gb is None else _account(deployment).host_share


def sequence_laws(deployment: Deployment) -> tuple[KvLaw, ...]:
    """KV laws of target and drafts on the replica's fullest GPU: what a sequence's blocks are counted with."""
    return _account(deployment).laws


def _fixed_bytes(law: KvLaw) -> int:
    return law.fixed_bytes + law.sliding_bytes_per_token * law.window_tokens


def _sequences_at(account: _Account, context_tokens: int) -> int:
    return account.pool_blocks // sequence_blocks(account.laws, account.block_tokens, context_tokens)


def _reason(deployment: Deployment, account: _Account) -> str:
    length = account.max_model_len
    if account.shortfall_bytes == 0:
        sequences = _sequences_at(account, length) * deployment.target.data_parallel
        host = f", {account.host_share:.0%} of the target's KV on the host" if account.kv_host_bytes else ""
        return f"holds {sequences:,} sequences of {length:,} tokens{host}"
    room, short = account.kv_room_bytes / GIB, account.shortfall_bytes / GIB
    host = f" and {account.kv_host_bytes / GIB:.2f} GiB on the host" if account.kv_host_bytes else ""
    longest = longest_sequence(account.laws, account.block_tokens, account.pool_blocks, length)
    ways = ways_to_fit(deployment, longest, fits)
    would = "; ".join(ways) or "no single change of split, KV, length, weights or draft"
    return (
        f"one sequence of {length:,} tokens lacks {short:.2f} GiB on each GPU, whose room for KV is {room:.2f} GiB"
        f"{host}; what would fit: {would}"
    )


def _account(deployment: Deployment) -> _Account:
    deployment = without_idle_windows(deployment)
    gpu, policy = load_gpu(deployment.gpu), load_engine(deployment.engine.policy)
    target, engine, rule = deployment.target, deployment.engine, policy.memory
    model = load_model(target.model)
    weights = weight_bytes(
        model,
        load_quantisation(target.weights),
        target.unquantised,
        tensor_parallel=target.tensor_parallel,
        data_parallel=target.data_parallel,
        expert_parallel=target.expert_parallel,
    ).per_gpu_bytes
    drafts = {name: draft_memory(draft, target) for name, draft in deployment.speculation.drafts.items()}
    router = router_bytes(deployment.speculation)
    passing = (model, *(draft.model for draft in drafts.values() if draft.model is not None))
    activation = max(_activation(m, policy, engine) for m in passing)
    runtime = _runtime_bytes(rule, target.num_gpus)
    fraction = engine.memory_fraction or rule.memory_fraction
    budget = None if engine.hbm_budget_gb is None else engine.hbm_budget_gb * 1e9
    cap = fraction if rule.kind == "fraction_of_visible" else 1.0
    usable = usable_memory_bytes(gpu.memory.visible_bytes, cap, budget)
    used = weights + _draft_bytes(drafts, router) + activation + runtime
    return _Account(
        hbm_bytes=gpu.memory.visible_bytes,
        usable_bytes=usable,
        target_weights_bytes=weights,
        drafts=drafts,
        router_bytes=router,
        activation_bytes=activation,
        runtime_bytes=runtime,
        kv_room_bytes=kv_room_bytes(rule, usable, used, fraction),
        target_law=kv_law(model, target.kv, target.tensor_parallel),
        block_tokens=engine.kv_block_tokens or policy.scheduler.kv_block_tokens,
        max_model_len=engine.max_model_len or model.max_position,
        kv_host_bytes=round((engine.kv_host_gb or 0.0) * 1e9),
    )


def _draft_bytes(drafts: Mapping[str, DraftMemory], router: int) -> int:
    return sum(draft.weights_bytes for draft in drafts.values()) + router


def _runtime_bytes(rule: MemoryRule, num_gpus: int) -> int:
    non_torch = rule.non_torch_gib["one_gpu" if num_gpus == 1 else "several_gpus"]
    return round((rule.fixed_gib + non_torch) * GIB)


def _activation(model: Model, policy: EnginePolicy, engine: Engine) -> int:
    tokens = engine.max_num_batched_tokens or policy.scheduler.max_num_batched_tokens
    return activation_peak_bytes(policy.memory, model.vocab_size, model.hidden_size, tokens)
