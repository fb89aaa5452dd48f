"""A head on the target's hidden states: one decoder layer that goes from a state and a token to the next state.

EAGLE (Li et al. 2024, arXiv:2401.15077) and MTP (DeepSeek-V3, arXiv:2412.19437, section 2.2): the target's last hidden
state of a position and the embedding of the token behind it go in, each normalised, joined by one matrix.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from engine.architecture import Architecture
from engine.errors import DraftError
from engine.linear import LINEARS, Linear
from engine.model import Model
from engine.weights import LayerWeights, Weights, converted, random_weights

LAYER_TENSORS = ("attention_norm", "qkv", "qkv_bias", "query_norm", "key_norm", "out", "mlp_norm", "gate_up", "down")


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """What a head adds to its target; the target's embedding is used as it is."""

    architecture: Architecture
    """Of its layer: the target's attention and widths, its own MLP; vocab_size is that of the target."""
    hidden_norm: Tensor
    """[hidden] of the target's state, or of the head's own."""
    embedding_norm: Tensor
    """[hidden] of the token's embedding."""
    fuse: Tensor
    """[hidden, 2 × hidden] on state and embedding, in this order."""
    layer: LayerWeights
    final_norm: Tensor
    output: Tensor | None = None
    """[reduced vocabulary, hidden]; None: the target's own."""
    vocabulary: Tensor | None = None
    """[reduced vocabulary] token numbers; None: all."""


class HeadModel:
    """A head with its target's embedding: states and tokens in, states and logits out."""

    def __init__(self, weights: HeadWeights, target: Model) -> None:
        wanted, found = target.architecture, weights.architecture
        if (found.hidden_size, found.vocab_size) != (wanted.hidden_size, wanted.vocab_size):
            raise DraftError(
                f"draft 'head': made for a target of hidden size {found.hidden_size} and {found.vocab_size} tokens;"
                f" this one has {wanted.hidden_size} and {wanted.vocab_size}; train a head for it"
            )
        moved = converted(_as_decoder(weights, target.embedding), target.dtype, target.device)
        output = target.output if weights.output is None else None
        self.decoder = Model(moved, backend=target.backend, max_position=target.max_position, output=output)
        like = target.embedding
        self._norms = weights.hidden_norm.to(like), weights.embedding_norm.to(like)
        self._fuse: Linear = LINEARS[target.backend](weights.fuse.to(like), None)
        self._vocabulary = None if weights.vocabulary is None else weights.vocabulary.to(target.device)
        self._vocab_size = found.vocab_size

    def joined(self, hidden: Tensor, token_ids: Tensor) -> Tensor:
        """What goes into the layer: [rows, hidden]."""
        embedded = functional.embedding(token_ids, self.decoder.embedding)
        norm = self.decoder.norm
        return self._fuse(torch.cat((norm(hidden, self._norms[0]), norm(embedded, self._norms[1])), dim=-1))

    def logits(self, hidden: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, vocabulary of the target], minus infinity for tokens that the head does not know."""
        logits = self.decoder.logits(hidden)
        if self._vocabulary is None:
            return logits
        whole = logits.new_full((len(logits), self._vocab_size), -torch.inf)
        return whole.index_copy_(1, self._vocabulary, logits)


def _as_decoder(weights: HeadWeights, embedding: Tensor) -> Weights:
    output = embedding if weights.output is None else weights.output
    architecture = replace(weights.architecture, num_layers=1)
    return Weights(architecture, embedding, (weights.layer,), weights.final_norm, output)


def head_architecture(target: Architecture, intermediate_size: int | None = None) -> Architecture:
    """One layer like the target's, its MLP as wide as said."""
    dense = target.intermediate_size if target.mixture is None else target.mixture.intermediate_size
    return replace(target, num_layers=1, mixture=None, intermediate_size=intermediate_size or dense)


def random_head(target: Weights, generator: torch.Generator) -> HeadWeights:
    """A head that has learnt nothing, with the target's own output: for tests and for timing."""
    architecture = head_architecture(target.architecture)
    drawn = random_weights(replace(architecture, vocab_size=1), generator, dtype=target.dtype)
    ones, size = torch.ones(architecture.hidden_size, dtype=target.dtype), architecture.hidden_size
    fuse = torch.randn(size, 2 * size, generator=generator, dtype=target.dtype) * (2 * size) ** -0.5
    return HeadWeights(architecture, ones, ones, fuse, drawn.layers[0], ones)


def head_tensors(weights: HeadWeights) -> dict[str, Tensor]:
    """All tensors of a head by name; `head_from` puts them together again."""
    named = {name: getattr(weights.layer, name) for name in LAYER_TENSORS}
    tensors = {f"layer.{name}": tensor for name, tensor in named.items() if tensor is not None}
    for name in ("hidden_norm", "embedding_norm", "fuse", "final_norm", "output", "vocabulary"):
        if getattr(weights, name) is not None:
            tensors[name] = getattr(weights, name)
    return tensors


def head_from(architecture: Architecture, tensors: dict[str, Tensor]) -> HeadWeights:
    """The inverse of `head_tensors`; KeyError where one is missing."""
    layer = LayerWeights(
        attention_norm=tensors["layer.attention_norm"],
        qkv=tensors["layer.qkv"],
        qkv_bias=tensors.get("layer.qkv_bias"),
        query_norm=tensors.get("layer.query_norm"),
        key_norm=tensors.get("layer.key_norm"),
        out=tensors["layer.out"],
        mlp_norm=tensors["layer.mlp_norm"],
        gate_up=tensors["layer.gate_up"],
        down=tensors["layer.down"],
    )
    return HeadWeights(
        architecture,
        hidden_norm=tensors["hidden_norm"],
        embedding_norm=tensors["embedding_norm"],
        fuse=tensors["fuse"],
        layer=layer,
        final_norm=tensors["final_norm"],
        output=tensors.get("output"),
        vocabulary=tensors.get("vocabulary"),
    )
