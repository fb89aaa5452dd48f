"""Every way to draft, on one device: does it leave the output of plain decoding, and propose what it proposes on a CPU.

A draft that computes wrongly cannot change what is committed, it only lowers acceptance: so what was accepted in every
step is compared as well. Tiny random models in 64 bits, in which sums in another order change no choice; all greedy.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from engine.architecture import Architecture, Mixture
from engine.drafters import DRAFTERS, Drafter, DraftSetup
from engine.drafters.asynchronous import AsynchronousDraft
from engine.drafters.away import Away
from engine.drafters.model_draft import ModelDraft
from engine.drafters.moe_subset import SubsetDraft
from engine.drafters.routed import Routed
from engine.drafters.tree_draft import TreeDraft
from engine.drafters.union import Union
from engine.graphs import Graphs
from engine.heads import random_head
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.ngrams import NgramTable, table_of
from engine.scheduler import Limits
from engine.sequence import Request
from engine.trees import DynamicTree, tree_of_widths
from engine.weights import Weights, converted, random_weights
from engine.window import Window

TINY = Architecture(
    num_layers=2, hidden_size=16, intermediate_size=24, num_heads=4, num_kv_heads=2, head_dim=4, vocab_size=12,
    max_position=256,
)  # fmt: skip
MIXTURE = replace(TINY, mixture=Mixture(num_experts=6, top_k=2, intermediate_size=8))
"""Few tokens, so that a head which has learnt nothing is right at times, too."""
BLOCKS, BLOCK_TOKENS, SEQUENCES, LONGEST = 64, 4, 4, 128
OUTPUT_TOKENS = 24
EPSILON = 0.1
"""Noise on the draft's weights, in their standard deviations: some of its tokens are accepted, and some are not."""
START_S, ANSWER_S = 30.0, 10.0
"""Longest waits for a drafter's process [s]."""


@dataclass(frozen=True, slots=True)
class Toy:
    """A target, and tables of n-grams that have read two halves of what it says."""

    weights: Weights
    tables: tuple[NgramTable, ...]

    def setup(self, **more: Any) -> DraftSetup:
        """What its drafters are built from."""
        usual = DraftSetup(
            target=self.weights,
            num_blocks=BLOCKS,
            block_tokens=BLOCK_TOKENS,
            max_model_len=LONGEST,
            max_num_seqs=SEQUENCES,
            head=random_head(self.weights, torch.Generator().manual_seed(2)),
            epsilon=EPSILON,
            generator=torch.Generator().manual_seed(1),
            table=self.tables[0],
        )
        return replace(usual, **more)


Build = Callable[[Toy], Drafter | None]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to draft."""

    build: Build
    draft_tokens: int = 3
    """All nodes of a tree; over all drafts of a union."""
    target: Architecture = TINY
    beside: Build | None = None
    """For a drafter with a process of its own: the same draft without one."""


def _alone(name: str, **more: Any) -> Build:
    return lambda toy: DRAFTERS[name](toy.setup(**more))


def _union(toy: Toy) -> Drafter:
    return Union([DRAFTERS[name](toy.setup()) for name in ("lookup", "ngram", "noisy_target")])


def _by_recent(toy: Toy) -> Drafter:
    return Routed({name: DRAFTERS[name](toy.setup()) for name in ("lookup", "noisy_target")}, "recent")


def _by_likelihood(toy: Toy) -> Drafter:
    tables = {table.name: DRAFTERS["ngram"](toy.setup(table=table)) for table in toy.tables}
    return Routed(tables, "likelihood")


def _subset(**more: Any) -> Build:
    return _alone("moe_subset", resident_experts=3, active_experts=1, usage_tokens=(1, 2, 3, 4), **more)


def _away(device: str | None) -> Build:
    return _alone("noisy_target", away=Away("ids", device=device, start_s=START_S, answer_s=ANSWER_S))


CHAIN = _alone("noisy_target")
TREE = tree_of_widths([3, 2, 1])
WAYS: dict[str, Way] = {
    "plain": Way(lambda toy: None),
    "chain": Way(CHAIN),
    "tree": Way(_alone("noisy_target", shape=TREE), TREE.nodes),
    "dynamic_tree": Way(_alone("noisy_target", shape=DynamicTree(4, 3, 12)), 12),
    "lookup": Way(_alone("lookup")),
    "ngram": Way(_alone("ngram")),
    "ngram_tree": Way(_alone("ngram", shape=TREE), TREE.nodes),
    "union": Way(_union, 9),
    "router_recent": Way(_by_recent),
    "router_likelihood": Way(_by_likelihood),
    "head": Way(_alone("head")),
    "head_tree": Way(_alone("head", shape=TREE), TREE.nodes),
    "draft_kv_int8": Way(_alone("noisy_target", kv="int8")),
    "draft_kv_fp8": Way(_alone("noisy_target", kv="fp8")),
    "draft_window": Way(_alone("noisy_target", window=Window(2, 6))),
    "draft_kv_fp8_window": Way(_alone("noisy_target", kv="fp8", window=Window(2, 6))),
    "mixture_plain": Way(lambda toy: None, target=MIXTURE),
    "mixture_tree": Way(_alone("noisy_target", shape=TREE), TREE.nodes, MIXTURE),
    "moe_subset": Way(_subset(), target=MIXTURE),
    "moe_subset_own_kv": Way(_subset(shares_kv=False), target=MIXTURE),
    "moe_subset_tree": Way(_subset(shape=TREE), TREE.nodes, MIXTURE),
    "asynchronous": Way(_away(None), beside=CHAIN),
    "asynchronous_on_cpu": Way(_away("cpu"), beside=CHAIN),
}
"""The asynchronous ones stand last: each takes the start of a process."""


@dataclass(frozen=True, slots=True)
class Served:
    """What requests came to."""

    outputs: list[list[int]]
    rounds: list[list[tuple[int, int]]]
    """Of each request, draft tokens verified and accepted by each step."""
    graphs: int
    """Shapes that were captured, of target and draft."""

    def figures(self) -> dict[str, float | int | None]:
        """Acceptance in numbers."""
        steps = [step for request in self.rounds for step in request]
        drafted, accepted = (sum(values) for values in zip(*steps, strict=True))
        rate = accepted / drafted if drafted else None
        return {
            "drafted_tokens": drafted,
            "accepted_tokens": accepted,
            "acceptance_rate": rate,
            "tokens_per_step": 1.0 + accepted / len(steps),
            "graphs": self.graphs,
        }


def modes_of(name: str, device: str) -> Sequence[str]:
    """How a way to draft is tried: a mixture is never in graphs, a drafter with a process of its own is tried once."""
    way = WAYS[name]
    if not device.startswith("cuda") or way.target.mixture is not None:
        return ("eager",)
    return ("graphs",) if way.beside else ("eager", "graphs")


def checked(name: str, device: str, mode: str) -> dict[str, Any]:
    """Figures of one way to draft, whether all is well, and why not.

    mode: `eager` or `graphs`.
    """
    torch.set_num_threads(1)
    way = WAYS[name]
    on_cpu = _toy(way.target)
    there = Toy(converted(on_cpu.weights, torch.float64, device), on_cpu.tables)
    wanted = served(on_cpu, way.beside or way.build, way.draft_tokens, graphs=False)
    plain = wanted if name.endswith("plain") else served(there, WAYS["plain"].build, 0, graphs=False)
    got = served(there, way.build, way.draft_tokens, graphs=mode == "graphs")
    why = "; ".join(_wrong(got, wanted, plain, mode))
    told = {"ok": not why} | ({"why": why} if why else {})
    return told | got.figures() | {"acceptance_rate_on_cpu": wanted.figures()["acceptance_rate"]}


def _wrong(got: Served, wanted: Served, plain: Served, mode: str) -> Iterator[str]:
    """What is wrong with a run beside plain decoding there, and beside the same drafts on the CPU."""
    apart = [n for n, (a, b) in enumerate(zip(got.outputs, plain.outputs, strict=True)) if a != b]
    if apart:
        yield f"{len(apart)} of {len(plain.outputs)} outputs are not those of plain decoding (request {apart[0]} first)"
    figures, expected = got.figures(), wanted.figures()
    if got.rounds != wanted.rounds:
        rates = [f"{f['accepted_tokens']} of {f['drafted_tokens']}" for f in (figures, expected)]
        yield f"other drafts than on the CPU: {rates[0]} draft tokens accepted instead of {rates[1]}"
    if figures["drafted_tokens"] and not figures["accepted_tokens"]:
        yield "no draft token was accepted, so that nothing is shown"
    if mode == "graphs" and not got.graphs:
        yield "no pass was captured as a graph"


def served(toy: Toy, build: Build, draft_tokens: int, *, graphs: bool) -> Served:
    """Serve the prompts; graphs: as the engine chooses, else every pass of target and draft without one."""
    drafter = build(toy)
    options = EngineOptions(BLOCKS, Limits(LONGEST, SEQUENCES, 256), BLOCK_TOKENS, draft_tokens if drafter else 0)
    engine = Engine(Model(toy.weights), options, drafter=drafter)
    computing: list[Engine | ModelDraft] = [engine, *_decoders(drafter)]
    if not graphs:
        for one in computing:
            _without_graphs(one)
    taken = [engine.submit(Request(prompt, OUTPUT_TOKENS)) for prompt in _prompts()]
    list(engine.run())
    if isinstance(drafter, AsynchronousDraft):
        drafter.close()
    return Served([s.output for s in taken], [s.rounds for s in taken], sum(map(_captured, computing)))


def _decoders(drafter: object) -> Iterator[ModelDraft]:
    """Draft models within a drafter: what may compute in graphs."""
    if isinstance(drafter, ModelDraft):
        yield drafter
    elif isinstance(drafter, TreeDraft):
        yield from _decoders(drafter._decoder)
    elif isinstance(drafter, SubsetDraft):
        yield from _decoders(drafter.draft)
    elif isinstance(drafter, Union | Routed):
        parts = drafter.drafters.values() if isinstance(drafter.drafters, Mapping) else drafter.drafters
        for part in parts:
            yield from _decoders(part)


def _graphs_of(computing: Engine | ModelDraft) -> Graphs | None:
    holder = getattr(computing._pass, "__self__", None)
    return holder if isinstance(holder, Graphs) else None


def _without_graphs(computing: Engine | ModelDraft) -> None:
    graphs = _graphs_of(computing)
    if graphs is not None:
        computing._pass = lambda batch: graphs._model.forward(batch, graphs._store)


def _captured(computing: Engine | ModelDraft) -> int:
    graphs = _graphs_of(computing)
    return len(graphs._captured) if graphs else 0


def _toy(architecture: Architecture) -> Toy:
    weights = random_weights(architecture, torch.Generator().manual_seed(0), dtype=torch.float64, sharpness=3.0)
    none = table_of([[0]], vocab_size=architecture.vocab_size)
    said = served(Toy(weights, (none,)), WAYS["plain"].build, 0, graphs=False).outputs
    halves = {"first": said[::2], "second": said[1::2]}
    return Toy(weights, tuple(table_of(h, vocab_size=architecture.vocab_size, name=n) for n, h in halves.items()))


def _prompts() -> list[tuple[int, ...]]:
    rng = np.random.default_rng(5)
    return [tuple(rng.integers(0, TINY.vocab_size, size=n).tolist()) for n in (3, 17, 40, 9, 1, 24, 12, 31)]
