"""All claims of the article, in its order."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from simulator.planning.claims.claim import VERDICTS, Claim
from simulator.planning.claims.cluster import CLUSTER
from simulator.planning.claims.experts import EXPERTS_DRAFT
from simulator.planning.claims.memory import MEMORY
from simulator.planning.claims.speed import SPEED

TITLE = (
    "Speculative Decoding with Multi-Model Drafting: How Claude 4, GPT-5, and DeepSeek V4 Reinvent Inference "
    "Acceleration"
)

CLAIMS: tuple[Callable[[], Claim], ...] = (*SPEED, *MEMORY, *EXPERTS_DRAFT, *CLUSTER)

BY_HAND = {
    1: "By hand 6x needs α 0.95 or c 0.02; the formula gives 0.94 and 0.024: rounding.",
    6: "By hand about 60 sequences of 4,096 tokens fit. With a 3B draft, whose KV takes a third of the "
    "target's, fewer do.",
    12: "By hand the probabilities take 0.18 ms, at NVLink's nominal rate; at the measured share of it they take "
    "longer.",
    13: "By hand the latency is too small by a factor of 500, at a step of 10 ms; here the step is predicted.",
    24: "By hand a measured MTP module takes 3.07 GB of a GPU; DeepSeek-V3's in FP8, split over eight, takes half "
    "of that.",
    26: "By hand the throughput is the measured one. The predicted one has no measured attention of these models and "
    "is up to twice as high: take the measured one where the two differ.",
    27: "By hand it is the best published throughput of a 70B FP4 model, 11,147 output tokens/s or 56 requests/s; here "
    "it is predicted.",
}
"""Claim → where the prediction differs from a calculation by hand with public figures, and why."""

SYSTEMS = {
    4: "four_drafts_400b", 6: "two_drafts_70b_int4", 8: "claude_4_like", 9: "claude_4_like_long",
    10: "claude_4_like_long", 11: "gpt_5_like_b200", 12: "gpt_5_like_h200", 13: "gpt_5_like_h200",
    14: "v4_as_described", 15: "v4_as_described", 17: "v4_as_described", 18: "v4_pro_public", 19: "claude_4_like",
    20: "gpt_5_like_b200", 23: "cluster_100_to_300", 24: "memory_bound", 26: "cost_per_million", 28: "under_7b",
    29: "gpt_5_like_h200",
}  # fmt: skip
"""Claim → scenario of the folder `article` in which the system runs."""


def check_claims() -> tuple[Claim, ...]:
    """Every claim beside what is predicted; some seconds."""
    return tuple(sorted((check() for check in CLAIMS), key=lambda claim: claim.number))


def summary(claims: tuple[Claim, ...]) -> dict[str, Any]:
    """As JSON: the rows, and how many claims got each verdict."""
    counted = Counter(claim.verdict for claim in claims)
    more = [{"by_hand": BY_HAND.get(claim.number), "scenario": SYSTEMS.get(claim.number)} for claim in claims]
    rows = [claim.row() | of for claim, of in zip(claims, more, strict=True)]
    return {"article": TITLE, "rows": rows, "verdicts": {name: counted[name] for name in VERDICTS}}
