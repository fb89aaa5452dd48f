"""Tiny random models in float64, and engines around them."""

from dataclasses import replace

import numpy as np
import torch

from engine.architecture import Architecture, Mixture
from engine.drafters import DRAFTERS, DraftSetup
from engine.heads import random_head
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.ngrams import table_of
from engine.sampling import GREEDY
from engine.scheduler import Limits
from engine.sequence import Request
from engine.weights import random_weights

TINY = Architecture(
    num_layers=2, hidden_size=16, intermediate_size=24, num_heads=4, num_kv_heads=2, head_dim=4, vocab_size=12,
    max_position=256,
)  # fmt: skip
QWEN_LIKE = replace(TINY, qkv_bias=True, qk_norm=True, tie_word_embeddings=True)
MIXTURE = replace(TINY, mixture=Mixture(num_experts=6, top_k=2, intermediate_size=8))
SHARED = replace(
    TINY, mixture=Mixture(6, 3, 8, shared_size=12, shared_gate=True, normalised=False, first_dense_layers=1)
)


ON_ANY_TARGET = sorted(set(DRAFTERS) - {"moe_subset"})
"""Drafters that need no mixture of experts."""


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def tiny_weights(architecture=TINY, seed=0, sharpness=3.0, dtype=torch.float64):
    return random_weights(architecture, generator(seed), dtype=dtype, sharpness=sharpness)


def toy_table(vocabulary=12, seed=3):
    """An n-gram table of a text in which some things follow others more often."""
    rng = np.random.default_rng(seed)
    steps = rng.dirichlet(np.full(vocabulary, 0.3), vocabulary)
    text = [0]
    for _ in range(400):
        text.append(int(rng.choice(vocabulary, p=steps[text[-1]])))
    return table_of([text], vocab_size=vocabulary, name="toy")


def make_drafter(
    name, weights, *, blocks=64, block_tokens=4, max_model_len=128, epsilon=0.1, draft=None, shape=None,
    replacement=False, **more,
):  # fmt: skip
    setup = DraftSetup(
        target=weights, draft=draft or tiny_weights(seed=9), num_blocks=blocks, block_tokens=block_tokens,
        max_model_len=max_model_len, epsilon=epsilon, generator=generator(1), shape=shape, replacement=replacement,
        table=toy_table(weights.architecture.vocab_size), head=random_head(weights, generator(2)),
    )  # fmt: skip
    return DRAFTERS[name](replace(setup, **more))


def make_engine(
    weights, *, draft=None, draft_tokens=4, blocks=64, block_tokens=4, max_model_len=128, max_num_seqs=8,
    max_num_batched_tokens=64, chunked_prefill=True, epsilon=0.1, seed=0, forced=None, model=None, policy=None, shape=None, replacement=False,
    typical=None,
):  # fmt: skip
    limits = Limits(max_model_len, max_num_seqs, max_num_batched_tokens, chunked_prefill)
    sizes = {"blocks": blocks, "block_tokens": block_tokens, "max_model_len": max_model_len}
    drafted = {"epsilon": epsilon, "shape": shape, "replacement": replacement}
    drafter = make_drafter(draft, weights, **drafted, **sizes) if isinstance(draft, str) else draft
    return Engine(
        model or Model(weights),
        EngineOptions(blocks, limits, block_tokens, draft_tokens if drafter else 0, typical),
        drafter=drafter,
        rng=np.random.default_rng(seed),
        forced=forced,
        policy=policy,
    )


def random_prompts(count, vocabulary=12, longest=24, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(0, vocabulary, rng.integers(1, longest)).tolist()) for _ in range(count)]


def serve(engine, prompts, max_tokens=16, sampling=GREEDY, **request):
    sequences = [engine.submit(Request(p, max_tokens, sampling, **request)) for p in prompts]
    list(engine.run())
    return sequences


def outputs(engine, prompts, max_tokens=16, **request):
    return [s.output for s in serve(engine, prompts, max_tokens, **request)]
