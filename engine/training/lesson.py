"""What a head learns, and what it has learnt: pieces of texts, the loss, the optimiser's steps, figures by position.

The loss is on what verification accepts: 1 − Σ min(target, draft), the chance that a draft token falls, mixed with the
cross-entropy to the target's distribution, whose gradient does not vanish where the two do not overlap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from engine.heads import HeadWeights, head_architecture, head_from, head_tensors
from engine.training.corpus import Thought
from engine.training.unrolled import logits, unrolled
from engine.weights import LayerWeights, Weights

ROWS = 64
"""Positions of a piece of text that is learnt at once."""
PIECES = 8
"""Pieces of one step of the optimiser."""
LEARNING_RATE = 1e-3
LATER_PASSES = 0.8
"""Weight of each pass's loss, of that of the pass before (as in EAGLE-3, arXiv:2503.01840)."""


class Piece(NamedTuple):
    """Consecutive positions of texts, side by side."""

    hidden: Tensor
    """[texts, rows, hidden] the target's states."""
    next_tokens: Tensor
    """[texts, rows] tokens behind them."""
    hidden_behind: Tensor
    """[texts, rows, hidden] states of those tokens: what the target thinks comes then."""
    normaliser: Tensor
    best: Tensor
    """[texts, rows] its most likely token there."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learnt, and from what."""

    target: Weights
    learning: list[Thought]
    held_out: list[Thought]
    passes: int = 3
    """Draft tokens whose acceptance is learnt."""
    overlap_share: float = 0.5
    """Of the loss: the rest is cross-entropy."""


def first_head(target: Weights, vocabulary: Tensor | None, generator: torch.Generator) -> HeadWeights:
    """Where learning starts: the target's last layer and its output on half of state and half of embedding."""
    size = target.architecture.hidden_size
    half, layer = torch.eye(size, dtype=target.dtype) / 2, _last_layer(target, generator)
    return HeadWeights(
        head_architecture(target.architecture),
        hidden_norm=target.final_norm,
        embedding_norm=torch.ones(size, dtype=target.dtype),
        fuse=torch.cat((half, half), 1),
        layer=layer,
        final_norm=target.final_norm,
        output=None if vocabulary is None else target.head[vocabulary],
        vocabulary=vocabulary,
    )


def _last_layer(target: Weights, generator: torch.Generator) -> LayerWeights:
    """The target's last layer; where that is a mixture, with an MLP that adds nothing yet."""
    last, size = target.layers[-1], target.architecture.hidden_size
    if last.mixture is None:
        return last
    width = head_architecture(target.architecture).intermediate_size
    gate_up = torch.randn(2 * width, size, generator=generator, dtype=target.dtype) * size**-0.5
    return replace(last, mixture=None, gate_up=gate_up, down=torch.zeros(size, width, dtype=target.dtype))


def learnable(head: HeadWeights) -> HeadWeights:
    """The same head with tensors that take gradients."""
    tensors = {name: tensor.detach().clone() for name, tensor in head_tensors(head).items()}
    for tensor in tensors.values():
        if tensor.is_floating_point():
            tensor.requires_grad_()
    return head_from(head.architecture, tensors)


def losses(lesson: Lesson, head: HeadWeights, piece: Piece) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Loss; and by pass, what is accepted of its rows, and whether its likeliest token is the target's.

    The rows of a pass that have a chain behind them: [texts, rows − pass].
    """
    output = lesson.target.head if head.output is None else head.output
    known = lesson.target.head if head.vocabulary is None else lesson.target.head[head.vocabulary]
    behind = torch.nn.functional.rms_norm(
        piece.hidden_behind, piece.hidden.shape[-1:], lesson.target.final_norm, head.architecture.norm_eps
    )
    target_probs = (behind @ known.T - piece.normaliser.unsqueeze(-1)).exp()
    embedded = lesson.target.embedding[piece.next_tokens]
    loss, overlaps, hits = piece.hidden.new_zeros(()), list[Tensor](), list[Tensor]()
    for nth, states in enumerate(unrolled(head, piece.hidden, embedded, lesson.passes)):
        log_probs = logits(head, states[:, nth:], output).log_softmax(-1)
        overlap = torch.minimum(target_probs[:, nth:], log_probs.exp()).sum(-1)
        crossed = -(target_probs[:, nth:] * log_probs).sum(-1)
        mixed = lesson.overlap_share * (1.0 - overlap) + (1.0 - lesson.overlap_share) * crossed
        loss = loss + LATER_PASSES**nth * mixed.mean()
        likeliest = log_probs.argmax(-1)
        likeliest = likeliest if head.vocabulary is None else head.vocabulary[likeliest]
        overlaps.append(overlap.detach())
        hits.append(likeliest == piece.best[:, nth:])
    return loss, overlaps, hits


def cut(text: Thought, start: int, rows: int) -> Piece:
    """So many positions of a text from one on, each with the token and the state behind it."""
    here, behind = slice(start, start + rows), slice(start + 1, start + rows + 1)
    return Piece(text.hidden[here][None], text.tokens[behind][None], text.hidden[behind][None],
                 text.normaliser[behind][None], text.best[behind][None])  # fmt: skip


def drawn_piece(texts: Sequence[Thought], generator: torch.Generator) -> Piece:
    """Pieces of texts that are long enough, drawn by their length."""
    long = [text for text in texts if len(text.tokens) > ROWS]
    chances = torch.tensor([float(len(text.tokens) - ROWS) for text in long])
    picked = torch.multinomial(chances, PIECES, replacement=True, generator=generator).tolist()
    places = torch.rand(PIECES, generator=generator)
    cuts = [cut(long[i], int(place * (len(long[i].tokens) - ROWS)), ROWS)
            for i, place in zip(picked, places.tolist(), strict=True)]  # fmt: skip
    return Piece(*(torch.cat(column) for column in zip(*cuts, strict=True)))


def learn(
    lesson: Lesson, head: HeadWeights, generator: torch.Generator, left: Callable[[], float]
) -> tuple[HeadWeights, int]:
    """The head after learning, and how many steps of the optimiser that took.

    left: share of the time that is left, from 1 to 0.
    """
    learning = learnable(head)
    parameters = [tensor for tensor in head_tensors(learning).values() if tensor.requires_grad]
    optimiser, steps = torch.optim.AdamW(parameters, LEARNING_RATE, weight_decay=0.01), 0
    while (share := left()) > 0.0:
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (steps + 1) / 20) * (0.1 + 0.9 * share)
        loss, _, _ = losses(lesson, learning, drawn_piece(lesson.learning, generator))
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        steps += 1
    return learning, steps


@torch.no_grad()
def figures(lesson: Lesson, head: HeadWeights, texts: Sequence[Thought]) -> dict[str, Any]:
    """What would be accepted behind every output token of texts, by position of the draft.

    conditional_acceptance: sampled at temperature 1, given that the draft tokens before were kept.
    greedy_survival: share of chains whose first so many tokens are all the target's own.
    """
    overlaps: list[list[Tensor]] = [[] for _ in range(lesson.passes)]
    chains: list[list[Tensor]] = [[] for _ in range(lesson.passes)]
    for text in texts:
        rows, first = len(text.tokens) - 1, max(text.prompt_tokens - 2, 0)
        if rows - first <= lesson.passes:
            continue
        _, found, hits = losses(lesson, head, cut(text, 0, rows))
        alive = torch.ones(rows - first - lesson.passes + 1, dtype=torch.bool)
        for nth, (overlap, hit) in enumerate(zip(found, hits, strict=True)):
            overlaps[nth].append(overlap[0, first:])
            alive = alive & hit[0, first : first + len(alive)]
            chains[nth].append(alive)
    return {
        "conditional_acceptance": [round(float(torch.cat(column).mean()), 4) for column in overlaps],
        "greedy_survival": [round(float(torch.cat(column).float().mean()), 4) for column in chains],
    }
