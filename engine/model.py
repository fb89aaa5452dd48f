"""A Llama-family decoder: rows in, hidden states and logits out. Knows nothing of requests or of speculation."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from engine.attention import Attend, sliced
from engine.batch import Batch, Span, make_batch
from engine.experts import Experts, prepared_experts, swiglu
from engine.kv_cache import KvStore
from engine.linear import LINEARS, Linear, fastest_backend
from engine.rope import rotate, rotation_tables
from engine.weights import LayerWeights, Weights


class Layer(NamedTuple):
    """One layer with its products prepared."""

    attention_norm: Tensor
    qkv: Linear
    query_norm: Tensor | None
    key_norm: Tensor | None
    out: Linear
    mlp_norm: Tensor
    mlp: Linear | Experts


class Model:
    """A decoder on one device; `forward` computes a batch of rows over a KV store."""

    def __init__(
        self,
        weights: Weights,
        *,
        backend: str | None = None,
        max_position: int | None = None,
        output: Linear | None = None,
    ) -> None:
        """Prepare the products.

        output: from the final norm to logits, where that is another model's; None: of these weights.
        """
        self.architecture = a = weights.architecture
        self.dtype = weights.dtype
        self.device = weights.embedding.device
        self.backend = backend or fastest_backend(self.device, self.dtype)
        prepare = LINEARS[self.backend]
        self.max_position = min(a.max_position, max_position or a.max_position)
        cosines, signed_sines = rotation_tables(a, self.max_position, self.dtype)
        self._cosines, self._signed_sines = cosines.to(self.device), signed_sines.to(self.device)
        self.embedding = weights.embedding
        self._layers = [self._prepared(layer) for layer in weights.layers]
        self._final_norm = weights.final_norm
        self.output = output or prepare(weights.head, None)

    def _prepared(self, layer: LayerWeights) -> Layer:
        prepare = LINEARS[self.backend]
        return Layer(
            layer.attention_norm,
            prepare(layer.qkv, layer.qkv_bias),
            layer.query_norm,
            layer.key_norm,
            prepare(layer.out, None),
            layer.mlp_norm,
            self._prepared_mlp(layer),
        )

    def _prepared_mlp(self, layer: LayerWeights) -> Linear | Experts:
        prepare = LINEARS[self.backend]
        mlp = swiglu(prepare(layer.gate_up, None), prepare(layer.down, None)) if layer.gate_up.numel() else None
        mixture = self.architecture.mixture
        if mixture is not None and layer.mixture is not None:
            return prepared_experts(layer.mixture, mixture, mlp, prepare)
        assert mlp is not None
        return mlp

    def with_experts(self, change: Callable[[int, Experts], Experts]) -> "Model":
        """The same decoder with each mixture changed, by the number of its layer; all weights are shared."""
        other = copy(self)
        other._layers = [
            layer._replace(mlp=change(index, layer.mlp)) if isinstance(layer.mlp, Experts) else layer
            for index, layer in enumerate(self._layers)
        ]
        return other

    def new_store(self, num_blocks: int, block_tokens: int, element: str = "same") -> KvStore:
        """An empty KV store of this model's shape.

        element: `same` as the model's, `int8` or `fp8`.
        """
        return KvStore(self.architecture, num_blocks, block_tokens, self.dtype, self.device, element)

    def batch(self, spans: Sequence[Span], store: KvStore, num_decoding: int | None = None) -> Batch:
        """Lay spans end to end for this model."""
        return make_batch(
            spans,
            block_tokens=store.block_tokens,
            group=self.architecture.num_heads // self.architecture.num_kv_heads,
            dtype=self.dtype,
            device=self.device,
            num_decoding=num_decoding,
        )

    @torch.inference_mode()
    def forward(self, batch: Batch, store: KvStore) -> Tensor:
        """Compute rows and keep their keys and values; logits of the rows that are asked for: [outputs, vocabulary]."""
        hidden = self.hidden(batch.token_ids, batch.positions, batch.slots, sliced(batch, store.room), store)
        if batch.output_rows is None:
            return self.logits(hidden)
        if not len(batch.output_rows):
            return hidden.new_empty(0, self.architecture.vocab_size)
        return self.logits(hidden.index_select(0, batch.output_rows))

    def hidden(self, token_ids: Tensor, positions: Tensor, slots: Tensor, attend: Attend, store: KvStore) -> Tensor:
        """Last hidden states, before the final norm: [rows, hidden]."""
        return self.trunk(functional.embedding(token_ids, self.embedding), positions, slots, attend, store)

    def trunk(self, states: Tensor, positions: Tensor, slots: Tensor, attend: Attend, store: KvStore) -> Tensor:
        """The same from what goes into the first layer: [rows, hidden]."""
        turn = (self._cosines.index_select(0, positions), self._signed_sines.index_select(0, positions))
        for index, layer in enumerate(self._layers):
            states = states + self._attention(layer, states, turn, slots, attend, store, index)
            states = states + layer.mlp(self.norm(states, layer.mlp_norm))
        if store.hidden is not None:
            store.hidden.index_copy_(0, slots, states)
        return states

    def logits(self, hidden: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, vocabulary]"""
        return self.output(self.norm(hidden, self._final_norm))

    def norm(self, states: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm over the last dimension; the framework's own for half precision, which it sums in single."""
        eps = self.architecture.norm_eps
        if self.dtype not in (torch.float32, torch.float64):
            return functional.rms_norm(states, (states.shape[-1],), weight, eps)
        return (states * states.square().mean(-1, keepdim=True).add_(eps).rsqrt_()).mul_(weight)

    def _attention(
        self,
        layer: Layer,
        states: Tensor,
        turn: tuple[Tensor, Tensor],
        slots: Tensor,
        attend: Attend,
        store: KvStore,
        index: int,
    ) -> Tensor:
        a = self.architecture
        qkv = layer.qkv(self.norm(states, layer.attention_norm))
        heads = qkv.view(len(states), a.num_heads + 2 * a.num_kv_heads, a.head_dim)
        turned = heads[:, : a.num_heads + a.num_kv_heads]
        if layer.query_norm is not None and layer.key_norm is not None:
            queries = self.norm(turned[:, : a.num_heads], layer.query_norm)
            turned = torch.cat((queries, self.norm(turned[:, a.num_heads :], layer.key_norm)), dim=1)
        turned = rotate(turned, *turn)
        keys, values = store.keys[index], store.values[index]
        keys.index_copy_(0, slots, turned[:, a.num_heads :])
        values.index_copy_(0, slots, heads[:, a.num_heads + a.num_kv_heads :])
        return layer.out(attend(turned[:, : a.num_heads], keys, values))
