"""All claims of the article, in its order."""

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from simulator.planning.claims.claim import VERDICTS, Claim
from simulator.planning.claims.cluster import CLUSTER
from simulator.planning.claims.experts import EXPERTS_DRAFT
from simulator.planning.claims.memory import MEMORY
from simulator.planning.claims.speed import SPEED
from simulator.planning.claims.systems import profiles

TITLE = (
    "Speculative Decoding with Multi-Model Drafting: How Claude 4, GPT-5, and DeepSeek V4 Reinvent Inference "
    "Acceleration"
)

Check = Callable[[], Claim]

TOPICS: Mapping[str, tuple[Check, ...]] = {
    "acceptance and speed-up": SPEED,
    "memory": MEMORY,
    "drafts from experts": EXPERTS_DRAFT,
    "clusters and money": CLUSTER,
}
"""Topic → its claims."""

CLAIMS: tuple[Check, ...] = tuple(check for checks in TOPICS.values() for check in checks)

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


def check_claims(
    executor: Executor | None = None, progress: Callable[[int, int], None] | None = None
) -> tuple[Claim, ...]:
    """Every claim beside what is predicted; some seconds.

    executor: where the claims are checked; None: here. progress: called with the claims that are checked and with all.
    """
    found: list[Claim] = []
    for claim in map(_checked, CLAIMS) if executor is None else executor.map(_checked, CLAIMS):
        found.append(claim)
        if progress is not None:
            progress(len(found), len(CLAIMS))
    return tuple(sorted(found, key=lambda claim: claim.number))


def _checked(check: Check) -> Claim:
    return replace(check(), topic=next(topic for topic, checks in TOPICS.items() if check in checks))


def summary(claims: tuple[Claim, ...]) -> dict[str, Any]:
    """As JSON: the rows, how many claims got each verdict, and the profiles that step times come from."""
    counted = Counter(claim.verdict for claim in claims)
    more = [{"by_hand": BY_HAND.get(claim.number), "scenario": SYSTEMS.get(claim.number)} for claim in claims]
    return {
        "article": TITLE,
        "rows": [claim.row() | of for claim, of in zip(claims, more, strict=True)],
        "verdicts": {name: counted[name] for name in VERDICTS},
        "profiles": [{"name": profile.name, "date": profile.date} for profile in profiles()],
    }
