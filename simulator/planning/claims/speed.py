"""Claims about acceptance and speed-up."""

from functools import cache
from itertools import product

import numpy as np

from simulator.catalog.load import load_acceptance, names
from simulator.physics.acceptance import (
    break_even_acceptance,
    constant_acceptance,
    expected_tokens_per_step,
    operation_factor,
)
from simulator.physics.rejection import union_survival
from simulator.planning.claims.claim import Claim, one, over
from simulator.planning.claims.ideal import acceptance_for, best_speedup, latency_ratio_for
from simulator.planning.claims.systems import MANY, deployment, gain, gain_grid
from simulator.planning.speculation_gain import SpeculationGrid

SMALL_DRAFT = {"model": "llama-3.2-1b", "weights": "fp8", "kv": "fp8"}


@cache
def chat_grid() -> SpeculationGrid:
    """A 70B model in FP8 on two H200 with a 1B draft."""
    return gain_grid(deployment("h200-sxm", "llama-3.3-70b", "fp8", 2, draft=SMALL_DRAFT))


def ideal_speedups() -> Claim:
    """Claim 1."""
    at_one = [gain(chat_grid(), alpha, 1) for alpha in (0.8, 0.9)]
    full = [gain(chat_grid(), alpha, MANY) for alpha in (0.8, 0.9)]
    ideal = [best_speedup(alpha, 0.05) for alpha in (0.8, 0.9)]
    return Claim(
        1,
        "Speculative decoding is 2 to 4 times as fast under ideal conditions, 3 to 6 times with several drafts",
        "2–4x; 3–6x",
        (
            over("ideal at batch 1 (α 0.8–0.9, c 0.05)", ideal, "x"),
            over("70B FP8 on 2 H200 with a 1B draft, 1 sequence", at_one, "x"),
            over(f"the same, {MANY} sequences", full, "x"),
        ),
        f"batch 1 to 16; 6x needs α ≥ {acceptance_for(6, 0.05):.2f} at c 0.05, or c ≤ {latency_ratio_for(6, 0.9):.3f} "
        "at α 0.9",
        "holds" if min(full) >= 2 else "holds if" if max(ideal) >= 2 else "does not hold",
    )


def rate_of_drafted() -> Claim:
    """Claim 2."""
    tokens = [1 + 5 * rate for rate in (0.80, 0.92)]
    measured = [(tokens - 1) / 5 for tokens in measured_tokens_per_step(5)]
    return Claim(
        2,
        "Acceptance is the fraction of draft tokens that are accepted, 0.80 to 0.92 of a co-trained draft",
        "0.80–0.92",
        (
            over("tokens per step that this needs at K 5", tokens),
            over("β₁ that this needs if all positions are alike", [constant_acceptance(t, 5) for t in tokens]),
            over(f"accepted ÷ drafted at K 5, measured, {len(measured)} public curves of heads", measured),
        ),
        "it is read as the acceptance of the first position (β₁), not as accepted ÷ drafted",
        "does not hold" if max(measured) < 0.80 else "holds if",
    )


def measured_tokens_per_step(draft_tokens: int) -> list[float]:
    """Of all presets of heads that were measured with so many draft tokens or more."""
    presets = [load_acceptance(name) for name in names("acceptance")]
    return [
        one.tokens_per_step[draft_tokens]
        for one in presets
        if one.tokens_per_step and draft_tokens in one.tokens_per_step and "ngram" not in one.name
    ]


def co_trained_draft() -> Claim:
    """Claim 8."""
    needed = [latency_ratio_for(2.8, alpha) for alpha in (0.80, 0.86, 0.92)]
    return Claim(
        8,
        "Claude 4 runs 2.8 times as fast with a co-trained 7B draft that is accepted at 0.80 to 0.92",
        "2.8x at 0.80–0.92",
        (
            over("largest draft ÷ target latency that allows 2.8x (α 0.80–0.92)", needed),
            over("speed-up at c 0.1 (α 0.80–0.92)", [best_speedup(alpha, 0.1) for alpha in (0.80, 0.92)], "x"),
        ),
        f"a draft pass takes at most {min(needed):.2f} to {max(needed):.2f} of a step: consistent, but no source "
        "was found",
        "cannot be checked",
    )


def three_drafts() -> Claim:
    """Claim 11."""
    billions = 0.4 + 0.8 + 1.2 + 0.15
    omega = [expected_tokens_per_step(alpha, 4) for alpha in (0.78, 0.92)]
    return Claim(
        11,
        "GPT-5 uses drafts of 0.4, 0.8 and 1.2B and a router of 0.15B; its code draft is accepted at 0.92, a general "
        "one of its size at 0.78; 3.4 times as fast on programming, 2.1 times on text",
        "0.92 against 0.78; 3.4x and 2.1x",
        (
            over("weights in FP8 to bf16", [billions, 2 * billions], "GB"),
            over("tokens per step at K 4 (α 0.78, 0.92)", omega),
            one("latency ratio that allows 3.4x at α 0.92", latency_ratio_for(3.4, 0.92)),
            one("latency ratio that allows 2.1x at α 0.78", latency_ratio_for(2.1, 0.78)),
        ),
        "consistent: 0.92 is 18 % above 0.78, and one latency ratio of 0.12 gives both speed-ups; no source was found",
        "cannot be checked",
    )


def by_task() -> Claim:
    """Claim 19."""
    ranges = {"prose": (0.82, 0.91), "code": (0.75, 0.85), "math": (0.65, 0.78)}
    at_one = {task: [best_speedup(alpha, 0.1) for alpha in ends] for task, ends in ranges.items()}
    full = [gain(chat_grid(), alpha, MANY) for ends in ranges.values() for alpha in ends]
    return Claim(
        19,
        "A 7B draft of a 70B model is accepted at 0.82 to 0.91 on Wikipedia, 0.75 to 0.85 on code, "
        "0.65 to 0.78 on math",
        "0.82–0.91; 0.75–0.85; 0.65–0.78",
        (
            *(over(f"ideal speed-up on {task} (c 0.1)", values, "x") for task, values in at_one.items()),
            over(f"with {MANY} sequences in flight (measured steps, 1B draft)", full, "x"),
        ),
        "batch 1, read as β₁ that stays the same at every position",
        "holds if" if min(map(min, at_one.values())) > 1 else "does not hold",
    )


def several_models() -> Claim:
    """Claim 20."""
    gains = (1.15, 1.25)
    pair = np.array([[0.78], [0.78]])
    together = [float(union_survival(pair, correlation)[..., 0]) for correlation in (0.9, 0.6, 0.0)]
    return Claim(
        20,
        "Several specialised drafts raise acceptance by 15 to 25 %",
        "15–25 %",
        (
            over("acceptance from 0.78, relative gain", [0.78 * g for g in gains]),
            over("acceptance from 0.90, relative gain", [0.90 * g for g in gains]),
            over("union of two drafts of 0.78, correlation of their rejections 0.9 to 0", together),
        ),
        f"relative to a general draft that is accepted at {1 / gains[1]:.2f} or less (beyond, it would pass 1), with a "
        "router that is right or drafts that fail on different tokens",
        "holds if" if 0.78 * gains[1] <= 1 < 0.90 * gains[1] else "does not hold",
    )


def thirty_percent() -> Claim:
    """Claim 21."""
    a_token = best_speedup(0.85, 0.3)
    a_step = [expected_tokens_per_step(0.85, tokens) / 1.3 for tokens in (3, 4, 5)]
    return Claim(
        21,
        "With drafts that take 30 % of the target's FLOPs, 2.5 to 3 times as fast at an acceptance of 0.85",
        "2.5–3.0x",
        (
            one("30 % for each draft token, best K", a_token, "x"),
            over("30 % for all draft tokens of a step, K 3–5", a_step, "x"),
        ),
        "the 30 % are of a whole step's drafts, taken as time, at batch 1 and α 0.85 at every position",
        "holds" if a_token >= 2.5 else "holds if" if max(a_step) >= 2.5 else "does not hold",
    )


def sixty_percent() -> Claim:
    """Claim 22."""
    tokens, ratios, verify = (1, 4, 8), (0.05, 0.1, 0.3), (1.0, 2.0)
    limits = [break_even_acceptance(k, c, v) for k, c, v in product(tokens, ratios, verify)]
    reachable = [limit for limit in limits if limit <= 1]
    return Claim(
        22,
        "Below an acceptance of 0.60 speculation can be slower than plain decoding",
        "0.60",
        (
            over("break-even α (K 1–8, c 0.05–0.3, verifying step ÷ plain step 1–2)", reachable),
            one("break-even α at K 4, c 0.3, verifying for free", break_even_acceptance(4, 0.3)),
            one("break-even α at K 4, c 0.1, verifying twice a plain step", break_even_acceptance(4, 0.1, 2.0)),
        ),
        "c is 0.3 and verifying is free, or c is 0.1 and the batch is so large that verifying takes two plain steps; "
        "the break-even is a surface over load, K and cost of the draft, not a constant",
        "holds if" if min(reachable) < 0.60 < max(reachable) else "does not hold",
    )


def fewer_flops() -> Claim:
    """Claim 25."""
    factors = [operation_factor(alpha, 4, 0.1) for alpha in (0.6, 0.85)]
    return Claim(
        25,
        "The target's compute for a request falls, because a pass verifies N draft tokens in parallel",
        "reduced compute",
        (
            over("FLOPs ÷ plain decoding (K 4, ĉ 0.1, α 0.6–0.85)", factors, "x"),
            over("reads of the weights ÷ plain", [1 / expected_tokens_per_step(a, 4) for a in (0.6, 0.85)], "x"),
        ),
        "said of bytes read; FLOPs rise, always",
        "does not hold" if min(factors) > 1 else "holds",
    )


def small_models() -> Claim:
    """Claim 28."""
    small = gain_grid(deployment("h200-sxm", "qwen3-1.7b", "bf16", draft={"model": "smollm2-135m"}))
    head = gain_grid(
        deployment("h200-sxm", "llama-3.1-8b", "bf16", draft={"head": {"method": "eagle3", "vocab_size": 32000}})
    )
    ratios = [float(grid.latency_ratio[0]) for grid in (small, head)]
    return Claim(
        28,
        "Skip speculation for models under 7B: the compute ratio of draft to target is too small",
        "under 7B",
        (
            one("draft ÷ target latency, 135M draft of a 1.7B model at batch 1", ratios[0]),
            one("speed-up of it at α 0.7", gain(small, 0.7, 1), "x"),
            one("draft ÷ target latency, EAGLE-3 head of an 8B model", ratios[1]),
            one("speed-up of it at α 0.7", gain(head, 0.7, 1), "x"),
        ),
        "a draft pass takes 0.3 of a step or more, as a small model's layers wait for launches; a head takes less",
        "holds if" if ratios[0] >= 0.3 > ratios[1] else "does not hold",
    )


SPEED = (
    ideal_speedups, rate_of_drafted, co_trained_draft, three_drafts, by_task, several_models, thirty_percent,
    sixty_percent, fewer_flops, small_models,
)  # fmt: skip
