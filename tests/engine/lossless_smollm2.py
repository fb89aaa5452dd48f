"""`python -m tests.engine.lossless_smollm2`: greedy speculative output of SmolLM2 in single precision, against plain.

Prints each drafter's count of identical outputs; a first difference is listed with the plain engine's gap between its
two likeliest tokens there. Exits 1 if one is a difference that rounding cannot explain. Minutes long.
"""

import sys
from typing import NamedTuple

import torch

from engine.batch import Span
from engine.commands.tables import table_named
from engine.drafters import DRAFTERS, DraftSetup
from engine.drafters.union import Union
from engine.kv_cache import BlockPool, BlockTable
from engine.loading import load
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.scheduler import Limits
from engine.sequence import Request
from engine.texts import DOMAINS, prompts
from engine.training.lesson import first_head
from engine.trees import DynamicTree
from engine.weights import with_noise

NEAR_TIE = 1e-4
"""Gap of logits below which single precision may swap two tokens."""

BLOCKS, LONGEST = 256, 512

TREE = DynamicTree(depth=4, top_k=3, nodes=10)


class Comparison(NamedTuple):
    prompts: int
    identical: int
    gaps: list[float]
    tokens_per_step: float


def compare(loaded, draft, prompts_per_domain, tokens, draft_tokens, epsilon=0.02, shape=None, say=lambda line: None):
    codec, model = loaded.codec(), Model(loaded.weights, max_position=LONGEST)
    taken = [p for d in DOMAINS for p in prompts(d, prompts_per_domain, codec.encode, codec.chat)]
    plain, _ = run(model, taken, tokens, codec.stop_tokens)
    drafter = drafter_of(loaded, codec, draft, epsilon, shape)
    drafted, per_step = run(model, taken, tokens, codec.stop_tokens, drafter, draft_tokens)
    gaps = []
    for number, (prompt, wanted, found) in enumerate(zip(taken, plain, drafted, strict=True)):
        if wanted != found:
            place = next(i for i, (a, b) in enumerate(zip(wanted, found, strict=False)) if a != b)
            gaps.append(top_two_gap(model, [*prompt, *wanted[:place]]))
            say(f"  {draft}: prompt {number} differs from output token {place} on; top-2 gap {gaps[-1]:.2e}\n")
    return Comparison(len(taken), len(taken) - len(gaps), gaps, per_step)


def drafter_of(loaded, codec, draft, epsilon, shape):
    if draft == "union":
        return Union([drafter_of(loaded, codec, name, epsilon, shape) for name in ("lookup", "ngram")])
    noisy = with_noise(loaded.weights, epsilon, torch.Generator().manual_seed(1)) if draft == "model" else None
    table = table_named("code", codec, loaded.weights.architecture.vocab_size) if draft == "ngram" else None
    head = first_head(loaded.weights, None, torch.Generator()) if draft == "head" else None
    setup = DraftSetup(target=loaded.weights, draft=noisy, head=head, num_blocks=BLOCKS, max_model_len=LONGEST,
                       epsilon=epsilon, generator=torch.Generator().manual_seed(0), table=table, shape=shape)  # fmt: skip
    return DRAFTERS[draft](setup)


def run(model, taken, tokens, stop_tokens, drafter=None, draft_tokens=0):
    engine = Engine(model, EngineOptions(BLOCKS, Limits(LONGEST, 8, 512), 16, draft_tokens), drafter=drafter)
    sequences = [engine.submit(Request(p, tokens, stop_tokens=stop_tokens)) for p in taken]
    list(engine.run())
    return [s.output for s in sequences], sum(s.committed_tokens for s in sequences) / sum(s.steps for s in sequences)


def top_two_gap(model, tokens):
    pool, table, store = BlockPool(BLOCKS, 16), BlockTable(), model.new_store(BLOCKS, 16)
    pool.extend(table, len(tokens))
    first, second = model.forward(model.batch([Span(tokens, 0, table, 1)], store), store)[0].topk(2).values.tolist()
    return first - second


def main(prompts_per_domain=6, tokens=48):
    loaded, worst = load("smollm2"), 0.0
    cases = [(draft, 5, None) for draft in ("head", "lookup", "model", "ngram", "noisy_target")]
    for draft, draft_tokens, shape in [*cases, ("union", 10, None), ("noisy_target", TREE.nodes, TREE)]:
        found = compare(loaded, draft, prompts_per_domain, tokens, draft_tokens, shape=shape, say=sys.stdout.write)
        worst = max([worst, *found.gaps])
        sys.stdout.write(f"{draft}, {draft_tokens} draft tokens: {found.identical} of {found.prompts} outputs identical,"
                         f" tokens_per_step {found.tokens_per_step:.2f}\n")  # fmt: skip
        sys.stdout.flush()
    return int(worst >= NEAR_TIE)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
