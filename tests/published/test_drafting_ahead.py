"""Drafts that go on while the target verifies, as one engine measured them: Llama-3.3-70B on eight GPUs, a 1B draft.

The page does not name its GPU, nor how often drafts were ready. It gives each batch's own plain step and the draft
tokens accepted in a round, misses included; under an acceptance that does not change with position these two fix the
share of hits. Verification is the page's own step times what the model adds to one; no constant is fitted to it.
"""

import csv
import re
from pathlib import Path

import pytest

from simulator.physics.placement import drafted_share, hit_chance
from tests.simulator.physics.speculating import SMALL, chain, decode, step_model

CASES = Path(__file__).parents[3] / "shared" / "measured" / "field_cases.csv"
TARGET = {"model": "llama-3.3-70b", "weights": "bf16", "tensor_parallel": 8}
DRAFT_TOKENS = 5


def numbers(text):
    return [float(found) for found in re.findall(r"\d+(?:\.\d+)?", text)]


@pytest.fixture(scope="module")
def measured():
    """(batch, accepted draft tokens of a round, plain step [s], ratio), from the page's row."""
    if not CASES.exists():
        pytest.skip(f"{CASES} is not there")
    with CASES.open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["id"] == "S21")
    batches = [int(n) for n in numbers(row["batch_or_load"])]
    accepted = numbers(row["acceptance"])[: len(batches)]
    speculating, rest = row["observed"].split(" vs ")
    plain = numbers(rest)[: len(batches)]
    return [
        (batch, tokens, 1.0 / one, fast / one)
        for batch, tokens, fast, one in zip(batches, accepted, numbers(speculating), plain, strict=True)
    ]


def hit_that_accepts(accepted_tokens, sequences):
    """The hit at which as many draft tokens are accepted in a round, misses included."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        survival = [middle**position for position in range(1, DRAFT_TOKENS + 1)]
        hit = hit_chance(survival, bonus_guess=middle)
        more = drafted_share(hit, sequences) * sum(survival) > accepted_tokens
        low, high = (low, middle) if more else (middle, high)
    return hit


def predicted(sequences, accepted_tokens, plain_s, gpu, context):
    overlap = {"kind": "draft_ahead", "hit": hit_that_accepts(accepted_tokens, sequences)}
    placement = {"kind": "dedicated", "link": "internode", "overlap": overlap}
    model = step_model(SMALL, target=TARGET, gpu=gpu, policy="sglang", propose=chain(DRAFT_TOKENS), placement=placement)
    cost = model.cost(decode(sequences, DRAFT_TOKENS, context))
    plain = step_model(target=TARGET, gpu=gpu, policy="sglang").seconds(decode(sequences, 0, context))
    verify_s = plain_s * (cost.total_s - cost.draft_s) / plain
    return (1.0 + accepted_tokens) * plain_s / (verify_s + cost.draft_s)


@pytest.mark.parametrize(("gpu", "context"), [("h200-sxm", 1000), ("h200-sxm", 4000), ("h100-sxm", 1000)])
def test_the_ratio_is_met_within_fifteen_percent_at_each_batch(measured, gpu, context):
    found = {
        batch: predicted(batch, accepted, plain_s, gpu, context) / ratio for batch, accepted, plain_s, ratio in measured
    }

    assert {batch: off for batch, off in found.items() if abs(off - 1.0) > 0.15} == {}


def test_it_gains_ever_less_in_large_batches(measured):
    batches = {batch: predicted(batch, accepted, plain_s, "h200-sxm", 4000) for batch, accepted, plain_s, _ in measured}

    assert batches[16] > batches[32] > batches[64] > 1.0
