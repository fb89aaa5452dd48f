"""Drafts on GPUs of their own: what a step waits for them, over a link, behind other replicas, or not at all.

All comes down to what drafting adds to a step of the target, affine in its context like every other part. Replicas that
share a pool are simulated step by step; what they wait for each other is here an expectation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from simulator.catalog.load import load_gpu, load_links, load_profile
from simulator.physics.draft import Affine, AheadCost, DraftCost, PoolCost
from simulator.physics.drafting import Served, draft_cost, speculative_step_s
from simulator.physics.forward import Machine
from simulator.physics.hops import Hops
from simulator.physics.several import combined
from simulator.physics.survival import mean_survival
from simulator.spec.combine import ParallelStreams
from simulator.spec.deployment import Deployment
from simulator.spec.draft import Draft
from simulator.spec.placement import Dedicated
from simulator.spec.speculation import DraftSpeculation

ROUNDS = 30
"""Rounds of the fixed point of a pool's waiting time; it halves its error in each."""
UNKNOWN_CONTEXT_TOKENS = 1024
"""Context of a sequence at which a pool's queue is solved where no workload is known, and for which the best tree is
chosen where no max_model_len is given. Assumption."""


def synchronous_round_s(draft_s: float, verify_s: float, hop_s: float) -> float:
    r"""Seconds of a round in which drafts and target take turns.

    .. math:: T = D + V + 2 t_{hop}

    >>> synchronous_round_s(draft_s=0.007, verify_s=0.02, hop_s=0.0001)
    0.0272

    Chen et al. 2302.01318 with the drafts elsewhere; the definition of a synchronous pool.
    """
    return draft_s + verify_s + 2.0 * hop_s


def ahead_round_s(draft_s: float, verify_s: float, hit: float, sequences: int) -> float:
    r"""Seconds of a round in which drafts go on while the target verifies, a pre-draft as long as a draft.

    .. math:: T = (1 - (1 - h)^n) \max(D, V) + (1 - h)^n (D + V)

    A batch of n sequences waits only where nobody has drafts; else who missed is verified with its last token only.

    draft_s: D, both hops included. [s]
    verify_s: V. [s]
    hit: h, chance that a sequence's next drafts are valid. [0 to 1]

    >>> ahead_round_s(draft_s=0.007, verify_s=0.02, hit=0.0, sequences=4) == 0.027
    True
    >>> round(ahead_round_s(draft_s=0.007, verify_s=0.02, hit=0.5, sequences=2), 5)
    0.02175

    At n = 1 the renewal model of PEARL (Liu et al., arXiv:2408.11850); in a batch SGLang's decoupled verifier, which
    pads short tails (`decoupled_verify_worker.py`, `SGLANG_DECOUPLED_SPEC_ALLOW_PARTIAL`).
    """
    missed = all_miss(hit, sequences)
    return (1.0 - missed) * max(draft_s, verify_s) + missed * (draft_s + verify_s)


def all_miss(hit: float, sequences: int) -> float:
    """Chance that none of so many sequences has valid drafts, each by itself: (1 − h)^n [0 to 1].

    >>> all_miss(0.5, 2)
    0.25
    """
    return float((1.0 - hit) ** sequences)


def drafted_share(hit: float, sequences: int) -> float:
    r"""Share of verifications that have draft tokens: those that hit, and all of a batch that waited.

    .. math:: f = h + (1 - h)^n

    >>> drafted_share(0.0, 4), drafted_share(0.5, 1), drafted_share(0.5, 2)
    (1.0, 1.0, 0.75)
    """
    return hit + all_miss(hit, sequences) if sequences else 1.0


def hit_chance(survival: Sequence[float], bonus_guess: float, outcomes: int = 1) -> float:
    r"""Chance that drafts made ahead are valid: the number of accepted tokens was prepared for, and the next guessed.

    .. math:: h = b \Big( S_K + \sum_{F - 1 \text{ largest}} (S_j - S_{j+1}) \Big)

    One outcome goes on with the chain, as if all were accepted; each further one takes the likeliest number left.

    survival: S of the K draft tokens. [0 to 1]
    bonus_guess: b, chance that the target's own next token is among those prepared for. [0 to 1]
    outcomes: F, of 1 to K + 1.

    >>> hit_chance([0.8, 0.5], 0.6), hit_chance([0.8, 0.5], 0.6, outcomes=3)
    (0.3, 0.6)

    F = 1: PEARL, arXiv:2408.11850; all K + 1 outcomes: SSD, arXiv:2603.03251.
    """
    before = [1.0, *survival]
    exactly = sorted((s - after for s, after in zip(before, survival, strict=False)), reverse=True)
    return bonus_guess * (before[-1] + sum(exactly[: outcomes - 1]))


def hit_of(pool: Dedicated, speculation: DraftSpeculation) -> float:
    """Chance that drafts which were made ahead are valid; 0 where drafts and target take turns [0 to 1].

    As given, or as it follows from the mean acceptance of all classes that the drafts name.
    """
    ahead = pool.overlap
    if ahead.kind == "none":
        return 0.0
    if ahead.hit is not None:
        return ahead.hit
    assert ahead.bonus_guess is not None
    survival = mean_survival(speculation.acceptances, speculation.propose.depth)
    return hit_chance(survival.tolist(), ahead.bonus_guess, ahead.outcomes)


def dedicated_cost(
    deployment: Deployment, beside: Served, shares: Mapping[str, float] | None, context_tokens: float | None = None
) -> DraftCost:
    """What drafts on GPUs of their own add to a step of one replica.

    context_tokens: of a sequence, mean over its steps; None where no workload is known. [tokens]
    """
    speculation, pool = deployment.speculation, deployment.draft_pool
    assert speculation.kind != "none"
    assert pool is not None
    hops = hops_of(deployment, pool, beside)
    own = _own_cost(deployment, speculation, beside, shares)
    queue = _Queue(context_tokens or UNKNOWN_CONTEXT_TOKENS, pool, own, hops, beside)
    step_s = speculative_step_s(speculation, beside)
    hit = hit_of(pool, speculation)
    if not hit:
        return replace(_turns(own, queue), step_s=step_s, pool=PoolCost(own, hops))
    assert pool.overlap.kind == "draft_ahead"
    ahead = _ahead_cost(queue, hit, pool.overlap.outcomes)
    return replace(_ahead(own, queue, beside, ahead), step_s=step_s, pool=PoolCost(own, hops, ahead))


def hops_of(deployment: Deployment, pool: Dedicated, beside: Served) -> Hops:
    """Messages of a replica and its pool, over the slower of both ends' figures of the link."""
    speculation = deployment.speculation
    ends = [load_links(load_gpu(gpu).links).point_to_point[pool.link] for gpu in (deployment.gpu, deployment.draft_gpu)]
    vocabulary = beside.checkpoint.model.vocab_size if pool.payload == "probabilities" else None
    return Hops(
        latency_s=max(end.latency_us for end in ends) * 1e-6,
        bytes_per_s=min(end.gb_per_s for end in ends) * 1e9,
        draft_tokens=speculation.draft_tokens,
        vocabulary=vocabulary,
    )


def _own_cost(
    deployment: Deployment, speculation: DraftSpeculation, beside: Served, shares: Mapping[str, float] | None
) -> DraftCost:
    """What the drafts take on their GPUs, messages and waiting left out."""
    found, machine = speculation.draft_layout(), _machine(deployment, beside.machine)
    costs = {
        name: _in_copies(draft, beside._replace(machine=machine, copies=found.copies[name]))
        for name, draft in speculation.drafts.items()
    }
    streams = ParallelStreams(kind="parallel", contention=0.0) if found.apart else speculation.streams
    return combined(costs, speculation.model_copy(update={"streams": streams}), shares)


def _in_copies(draft: Draft, served: Served) -> DraftCost:
    """A draft whose copies share the sequences; a prompt is read by one of them, and prompts of a step in turn."""
    cost, copies = draft_cost(draft, served), served.copies or 1
    if draft.model is None or copies == 1:
        return cost
    return replace(
        cost,
        prefill_s=lambda tokens: cost.prefill_s(tokens * copies),
        prefill_context_s=cost.prefill_context_s * copies,
    )


def _machine(deployment: Deployment, target: Machine) -> Machine:
    """The pool's GPUs under the target's engine, with measured curves of their own."""
    if deployment.draft_gpu == deployment.gpu:
        return target
    gpu = load_gpu(deployment.draft_gpu)
    profile = load_profile(gpu.name, target.policy.name)
    return target._replace(gpu=gpu, links=load_links(gpu.links), profile=profile)


class _Queue:
    """Replicas that take their turns at a pool, in expectation: it takes all that wait in one batch.

    An ask finds the pool busy with others as often as it is in use, waits for half of that service, and shares its own
    with all who came meanwhile. Prompts of others are left out.
    """

    def __init__(self, context: float, pool: Dedicated, own: DraftCost, hops: Hops, beside: Served) -> None:
        self.hops, self._own, self._replicas, self._context = hops, own, pool.shared_by, context
        self._verify = beside.plain_step

    def verify_s(self, sequences: int, draft_tokens: int) -> Affine:
        """Seconds of the target's step."""
        return self._verify(sequences, draft_tokens + 1)

    def served(self, sequences: int, draft_tokens: int, branches: int = 1, *, behind: bool = False) -> Affine:
        """Seconds from an ask of a replica to its drafts, without messages.

        branches: outcomes that are drafted for, each with rows of its own. behind: while the target verifies.
        """
        if self._replicas == 1 or not sequences:
            return self._batch(sequences, draft_tokens, branches, 1.0)
        waiting, together = 0.0, 1.0
        verify_s = self.at_context(self.verify_s(sequences, draft_tokens), sequences)
        hops_s = self.hops.both_s(sequences)
        others = self._replicas - 1
        for _ in range(ROUNDS):
            batch_s = self.at_context(self._batch(sequences, draft_tokens, branches, together), sequences)
            drafting_s = batch_s * (1.0 + waiting / 2.0) + hops_s
            cycle_s = max(verify_s, drafting_s) if behind else verify_s + drafting_s
            waiting = (waiting + min(others * batch_s / (cycle_s * together), 1.0)) / 2.0
            together = min(1.0 + waiting * others * batch_s / cycle_s, float(self._replicas))
        constant, slope = self._batch(sequences, draft_tokens, branches, together)
        return constant * (1.0 + waiting / 2.0), slope * (1.0 + waiting / 2.0)

    def _batch(self, sequences: int, draft_tokens: int, branches: int, replicas: float) -> Affine:
        """Seconds of a batch of so many replicas' sequences, affine in one replica's context."""
        constant, slope = self._own.passes(ceil(sequences * branches * replicas), draft_tokens)
        return constant, slope * branches * replicas

    def at_context(self, affine: Affine, sequences: int) -> float:
        """Seconds at the context of the queue."""
        return affine[0] + affine[1] * sequences * self._context


def _turns(own: DraftCost, queue: _Queue) -> DraftCost:
    """Drafts and target take turns: the target waits for all that the pool does, prompts included."""

    def passes(sequences: int, draft_tokens: int) -> Affine:
        if not (sequences and draft_tokens):
            return own.passes(sequences, draft_tokens)
        constant, slope = queue.served(sequences, draft_tokens)
        return constant + queue.hops.both_s(sequences), slope

    return replace(own, passes=passes, prefill_s=lambda tokens: own.prefill_s(tokens) + queue.hops.prompts_s(tokens))


def _ahead_cost(queue: _Queue, hit: float, outcomes: int) -> AheadCost:
    """What a step waits for drafts that go on behind it: for what lasts longer, at the context of the queue."""

    def behind(sequences: int, draft_tokens: int) -> Affine:
        drafting_s = queue.at_context(queue.served(sequences, draft_tokens, outcomes, behind=True), sequences)
        verify_s = queue.at_context(queue.verify_s(sequences, draft_tokens), sequences)
        return max(drafting_s + queue.hops.both_s(sequences) - verify_s, 0.0), 0.0

    def again(sequences: int, draft_tokens: int) -> Affine:
        constant, slope = queue.served(sequences, draft_tokens)
        return constant + queue.hops.both_s(sequences), slope

    return AheadCost(hit, outcomes, behind, again)


def _ahead(own: DraftCost, queue: _Queue, beside: Served, ahead: AheadCost) -> DraftCost:
    """Drafts that go on behind the target, in expectation; so does their reading of prompts."""

    def passes(sequences: int, draft_tokens: int) -> Affine:
        if not (sequences and draft_tokens):
            return own.passes(sequences, draft_tokens)
        missed = all_miss(ahead.hit, sequences)
        behind, again = ahead.behind(sequences, draft_tokens), ahead.again(sequences, draft_tokens)
        return (
            (1.0 - missed) * behind[0] + missed * again[0],
            (1.0 - missed) * behind[1] + missed * again[1],
        )

    def prefill_s(tokens: int) -> float:
        if tokens <= 0:
            return 0.0
        target_s = beside.target.layers(tokens).total_s + beside.target.prefill_attention_s(tokens)
        return max(own.prefill_s(tokens) + queue.hops.prompts_s(tokens) - target_s, 0.0)

    slope = max(own.prefill_context_s - beside.target.prefill_context_s, 0.0)
    return replace(own, passes=passes, prefill_s=prefill_s, prefill_context_s=slope)
