"""From logits to the distribution that a request asks for, and from a uniform number to a token.

Pure functions of tensors; whoever calls them draws the uniforms.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.errors import RequestError


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a request's tokens are drawn. Temperature 0: the most likely token, always."""

    temperature: float = 0.0
    top_k: int = 0
    """Only the so many most likely tokens; 0: all."""
    top_p: float = 1.0
    """Only the most likely tokens whose probabilities reach this sum; 1: all."""

    def __post_init__(self) -> None:
        if not (self.temperature >= 0.0 and self.top_k >= 0 and 0.0 < self.top_p <= 1.0):
            raise RequestError(f"sampling: temperature ≥ 0, top_k ≥ 0 and 0 < top_p ≤ 1 are needed, not {self}")

    @property
    def greedy(self) -> bool:
        """Whether nothing is drawn."""
        return self.temperature == 0.0


GREEDY = Sampling()
"""The most likely token, always."""


def widened(logits: Tensor) -> Tensor:
    """Logits in single precision, or in double if that is what they are."""
    return logits if logits.dtype == torch.float64 else logits.to(torch.float32)


def shaped_probs(logits: Tensor, sampling: Sampling) -> Tensor:
    """Probabilities after temperature, then top-k, then top-p: [..., vocabulary] -> [..., vocabulary].

    Ties at the edge of top-k are all kept. The token that carries the sum over top_p is kept, so one always is.

    >>> shaped_probs(torch.tensor([2.0, 1.0, 0.0]), Sampling(temperature=1.0, top_k=1))
    tensor([1., 0., 0.])
    """
    if sampling.greedy:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    scaled = logits / sampling.temperature
    if 0 < sampling.top_k < logits.shape[-1]:
        edge = scaled.topk(sampling.top_k, dim=-1).values[..., -1:]
        scaled = scaled.masked_fill(scaled < edge, -torch.inf)
    probs = scaled.softmax(-1)
    if sampling.top_p == 1.0:
        return probs
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    kept = torch.zeros_like(probs).scatter(-1, order, ordered.masked_fill(before >= sampling.top_p, 0.0))
    return kept / kept.sum(-1, keepdim=True)


def pick(probs: Tensor, uniforms: Tensor) -> Tensor:
    """Token at which the cumulated probability passes the uniform: [rows, vocabulary], [rows] -> [rows].

    probs need not sum to one. A token of probability zero is never picked.

    >>> pick(torch.tensor([[0.25, 0.0, 0.75]]), torch.tensor([0.25])).tolist()
    [2]
    """
    cumulated = probs.to(torch.float64).cumsum(-1)
    total = cumulated[:, -1:].contiguous()
    tokens = torch.searchsorted(cumulated, uniforms.to(total).unsqueeze(-1) * total, right=True).squeeze(-1)
    last_possible = torch.searchsorted(cumulated, total).squeeze(-1)
    return torch.minimum(tokens, last_possible)
