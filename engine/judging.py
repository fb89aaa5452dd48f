"""From logits to verdicts: how each sequence of a step is verified, and the first token behind a prompt."""

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.drafters import Draft
from engine.sampling import pick, shaped_probs, widened
from engine.sequence import SequenceState
from engine.synthetic import Forced
from engine.trees import depths, path_to
from engine.verification import Typical, Verdict, verify_greedy, verify_sampled, verify_typical


def verdict_on(
    sequence: SequenceState, draft: Draft, best: Sequence[int], logits: Tensor, typical: Typical | None
) -> Verdict:
    """What the target keeps of a draft.

    best: its most likely token behind the root and behind each draft token; logits: the same rows.
    typical: lossy acceptance of sampled requests; None: lossless.
    """
    if sequence.rng is None:
        return verify_greedy(best, draft.tokens, draft.parents)
    probs = shaped_probs(widened(logits), sequence.request.sampling)
    if typical is not None:
        uniform = torch.from_numpy(sequence.rng.random(1))
        return verify_typical(probs, draft.tokens, uniform, typical, draft.parents)
    count = len(draft.tokens if draft.trials is None else draft.trials)
    uniforms = torch.from_numpy(sequence.rng.random(count + 1))
    return verify_sampled(probs, draft.probs, draft.tokens, uniforms, draft.parents, draft.trials)


def forced_verdict(sequence: SequenceState, draft: Draft, best: Sequence[int], forced: Forced) -> Verdict:
    """As many draft tokens as are forced from outside, along the longest path."""
    if not draft.tokens:
        return Verdict((), best[0])
    found = depths(draft.tree)
    longest = path_to(draft.tree, found.index(max(found)))
    nodes = longest[: forced(sequence.number, sequence.steps + 1, len(longest))]
    return Verdict(nodes, best[nodes[-1] + 1 if nodes else 0])


def first_token(sequence: SequenceState, best: int, logits: Tensor) -> int:
    """The token behind a complete prompt.

    logits: [1, vocabulary]
    """
    if sequence.rng is None:
        return best
    probs = shaped_probs(widened(logits), sequence.request.sampling)
    return int(pick(probs, torch.from_numpy(sequence.rng.random(1)))[0])
