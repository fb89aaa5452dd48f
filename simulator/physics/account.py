"""The bytes of a GPU by what they go to: of a replica's GPUs, and of a draft pool's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from simulator.catalog.load import load_engine, load_gpu, load_model
from simulator.physics.draft_memory import DraftMemory, draft_memory, router_bytes, split_as_target_bytes
from simulator.physics.kv import KvLaw, block_bytes, kv_law, sequence_blocks
from simulator.physics.memory_rules import activation_peak_bytes, kv_room_bytes, usable_memory_bytes
from simulator.physics.windows import without_idle_windows
from simulator.spec.deployment import Deployment, Engine
from simulator.spec.hardware import GIB, Gpu
from simulator.spec.model import Model
from simulator.spec.policy import EnginePolicy, MemoryRule

BARELY_ANY = KvLaw(bytes_per_token=1)
"""Stands for the KV of drafts that are said to have none, so that sequences can be counted."""
SPLITS = ("tensor_parallel", "data_parallel", "expert_parallel")


@dataclass(frozen=True, slots=True)
class Account:
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
    kv_host_bytes: int = 0
    pools: int = 1
    """Groups of GPUs with KV of their own; a sequence lives in one of them."""
    shared_by: int = 1
    """Replicas among which the blocks of all pools are shared out evenly."""

    @property
    def draft_laws(self) -> tuple[KvLaw, ...]:
        """Of each draft."""
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
    def replica_blocks(self) -> int:
        """Blocks of a replica, over all pools [count]."""
        return self.pools * self.pool_blocks // self.shared_by

    @property
    def sequence_blocks(self) -> int:
        """Blocks that one sequence can have [count]."""
        return min(self.pool_blocks, self.replica_blocks)

    def sequences_at(self, context_tokens: int) -> int:
        """Sequences of this length that a replica's KV holds at once."""
        each = sequence_blocks(self.laws, self.block_tokens, context_tokens)
        return self.pools * (self.pool_blocks // each) // self.shared_by

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
        if blocks <= self.sequence_blocks:
            return 0
        blocks = max(blocks, ceil(blocks * self.shared_by / self.pools))
        on_both = blocks * block_bytes(self.laws, self.block_tokens) - self.kv_host_bytes
        return max(on_both, blocks * self.draft_block_bytes) - self.kv_room_bytes


def target_account(deployment: Deployment) -> Account:
    """The fullest of a replica's own GPUs, with the drafts where they are co-located."""
    deployment = without_idle_windows(deployment)
    gpu, policy = load_gpu(deployment.gpu), load_engine(deployment.engine.policy)
    target, engine, rule = deployment.target, deployment.engine, policy.memory
    model = load_model(target.model)
    weights = split_as_target_bytes(model, target)
    beside = deployment.speculation.drafts if deployment.draft_pool is None else {}
    drafts = {name: draft_memory(draft, target) for name, draft in beside.items()}
    router = router_bytes(deployment.speculation)
    activation = max(_activation(model, policy, engine), _draft_activation(drafts, deployment))
    runtime = _runtime_bytes(rule, target.num_gpus)
    used = weights + _draft_bytes(drafts, router) + activation + runtime
    usable, room = _usable_and_room(gpu, rule, engine, used)
    return Account(
        hbm_bytes=gpu.memory.visible_bytes,
        usable_bytes=usable,
        target_weights_bytes=weights,
        drafts=drafts,
        router_bytes=router,
        activation_bytes=activation,
        runtime_bytes=runtime,
        kv_room_bytes=room,
        target_law=kv_law(model, target.kv, target.tensor_parallel),
        block_tokens=engine.kv_block_tokens or policy.scheduler.kv_block_tokens,
        max_model_len=engine.max_model_len or model.max_position,
        kv_host_bytes=round((engine.kv_host_gb or 0.0) * 1e9),
        pools=target.data_parallel,
    )


def pool_account(given: Deployment) -> Account | None:
    """The fullest GPU of a draft pool; None without one.

    Of drafts with GPUs of their own, those that hold the fewest sequences; where all lie on every GPU, as if each were
    in no more copies than the one in the fewest.
    """
    deployment = without_idle_windows(given)
    speculation, pool = deployment.speculation, deployment.draft_pool
    if speculation.kind == "none" or pool is None:
        return None
    found = speculation.draft_layout()
    names = list(speculation.drafts)
    groups = [[name] for name in names] if found.apart else [names]
    accounts = [_group_account(deployment, group, min(found.copies[name] for name in group)) for group in groups]
    return min(accounts, key=lambda one: (one.sequences_at(one.max_model_len), one.kv_room_bytes))


def _group_account(deployment: Deployment, group: Sequence[str], copies: int) -> Account:
    """One of the GPUs that hold these drafts; the router stays with the target."""
    pool, engine, policy = deployment.draft_pool, deployment.engine, load_engine(deployment.engine.policy)
    assert pool is not None
    gpu, rule = load_gpu(deployment.draft_gpu), policy.memory
    alone = deployment.target.model_copy(update=dict.fromkeys(SPLITS, 1))
    drafts = {name: draft_memory(deployment.speculation.drafts[name], alone) for name in group}
    activation = _draft_activation(drafts, deployment)
    runtime = _runtime_bytes(rule, max(deployment.speculation.drafts[name].tensor_parallel for name in group))
    grows = any(draft.law != KvLaw() for draft in drafts.values())
    used = _draft_bytes(drafts, 0) + activation + runtime
    usable, room = _usable_and_room(gpu, rule, engine, used)
    return Account(
        hbm_bytes=gpu.memory.visible_bytes,
        usable_bytes=usable,
        target_weights_bytes=0,
        drafts=drafts,
        router_bytes=0,
        activation_bytes=activation,
        runtime_bytes=runtime,
        kv_room_bytes=room,
        target_law=KvLaw() if grows else BARELY_ANY,
        block_tokens=engine.kv_block_tokens or policy.scheduler.kv_block_tokens,
        max_model_len=engine.max_model_len or load_model(deployment.target.model).max_position,
        pools=copies,
        shared_by=pool.shared_by,
    )


def _usable_and_room(gpu: Gpu, rule: MemoryRule, engine: Engine, used: int) -> tuple[int, int]:
    """What the engine may use of a GPU, and what that leaves for KV [bytes]."""
    fraction = engine.memory_fraction or rule.memory_fraction
    budget = None if engine.hbm_budget_gb is None else engine.hbm_budget_gb * 1e9
    cap = fraction if rule.kind == "fraction_of_visible" else 1.0
    usable = usable_memory_bytes(gpu.memory.visible_bytes, cap, budget)
    return usable, kv_room_bytes(rule, usable, used, fraction)


def _draft_bytes(drafts: Mapping[str, DraftMemory], router: int) -> int:
    return sum(draft.weights_bytes for draft in drafts.values()) + router


def _runtime_bytes(rule: MemoryRule, num_gpus: int) -> int:
    non_torch = rule.non_torch_gib["one_gpu" if num_gpus == 1 else "several_gpus"]
    return round((rule.fixed_gib + non_torch) * GIB)


def _draft_activation(drafts: Mapping[str, DraftMemory], deployment: Deployment) -> int:
    """Peak of the drafts' own passes: the largest where they take turns, all together on parallel streams."""
    speculation, policy = deployment.speculation, load_engine(deployment.engine.policy)
    peaks = [_activation(draft.model, policy, deployment.engine) for draft in drafts.values() if draft.model]
    at_once = speculation.kind != "none" and speculation.streams.kind == "parallel"
    return sum(peaks) if at_once else max(peaks, default=0)


def _activation(model: Model, policy: EnginePolicy, engine: Engine) -> int:
    tokens = engine.max_num_batched_tokens or policy.scheduler.max_num_batched_tokens
    return activation_peak_bytes(policy.memory, model.vocab_size, model.hidden_size, tokens)
