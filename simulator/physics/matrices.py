"""Which weight matrices one pass of a model multiplies on one GPU, and how often."""

from typing import Literal, NamedTuple

from simulator.physics.footprint import num_moe_layers
from simulator.spec.model import Mla, Model
from simulator.spec.policy import Quantisation

Part = Literal["attention", "mlp", "shared", "router", "other", "head"]


class Matrix(NamedTuple):
    """One kind of weight matrix on one GPU."""

    weights: float
    """Elements on one GPU."""
    layers: int
    """Layers that have it."""
    part: Part
    quantised: bool
    """Whether it is stored in the checkpoint's weight format; otherwise in bf16."""
    inputs: float
    """Input features on one GPU."""

    @property
    def outputs(self) -> float:
        """Output features on one GPU."""
        return self.weights / self.inputs


Size = tuple[float, float]
"""Elements of a matrix on one GPU, and its input features."""


def dense_matrices(
    model: Model, tensor_parallel: int, quantisation: Quantisation | None, unquantised: tuple[str, ...]
) -> tuple[Matrix, ...]:
    """Every matrix of all layers, routed experts and the head left out.

    Heads and intermediate sizes are split over tensor_parallel GPUs; key and value heads are replicated beyond their
    number; MLA's latent projections, routers and indexers are replicated. What is quantised is as in `footprint`.
    """
    low = quantisation is not None and not (quantisation.experts_only and model.moe is not None)
    edges = edge_layers(model) if low and "first_and_last_mlp" in unquantised else (0, 0)
    attention = [
        Matrix(weights, model.num_layers, "attention", low and "attention" not in unquantised, inputs)
        for weights, inputs in attention_sizes(model, tensor_parallel)
    ]
    mlp_width, shared_width = model.intermediate_size / tensor_parallel, shared_intermediate(model) / tensor_parallel
    moe_layers = num_moe_layers(model)
    hidden = float(model.hidden_size)
    other = Matrix(model.other_params / model.num_layers, model.num_layers, "other", low, hidden)
    router_width = model.moe.num_experts if model.moe is not None else 0
    matrices = (
        *attention,
        *_mlp(model, mlp_width, model.num_layers - moe_layers, edges[0], "mlp", low),
        *_mlp(model, shared_width, moe_layers, edges[1], "shared", low),
        Matrix(float(model.hidden_size * router_width), moe_layers, "router", False, hidden),
        other,
    )
    return tuple(matrix for matrix in matrices if matrix.layers and matrix.weights)


def edge_layers(model: Model) -> tuple[int, int]:
    """How many of the first and the last layer have a dense MLP, and how many routed experts."""
    moe_edges = 0 if model.moe is None else 1 if model.moe.first_dense_layers else 2
    return 2 - moe_edges, moe_edges


def shared_intermediate(model: Model) -> int:
    """Intermediate size of all shared experts of a layer together."""
    if model.moe is None:
        return 0
    return model.moe.num_shared * (model.moe.shared_intermediate or model.moe.expert_intermediate)


def attention_sizes(model: Model, tensor_parallel: int) -> tuple[Size, ...]:
    """Elements and inputs of each attention projection of one layer on one GPU."""
    if model.attention_params:
        half = model.attention_params / model.num_layers / tensor_parallel / 2
        return ((half, float(model.hidden_size)),) * 2
    if model.mla is not None:
        return mla_sizes(model.hidden_size, model.num_attention_heads, model.mla, tensor_parallel)
    heads = model.num_attention_heads / tensor_parallel
    kv_heads = max(model.num_kv_heads / tensor_parallel, 1.0)
    width = model.hidden_size * model.head_dim
    return (width * (heads + 2.0 * kv_heads), float(model.hidden_size)), (width * heads, heads * model.head_dim)


def mla_sizes(hidden_size: int, num_heads: int, mla: Mla, tensor_parallel: int) -> tuple[Size, ...]:
    """MLA's projections on one GPU: down (replicated), up of queries, up of keys and values, output."""
    heads = num_heads / tensor_parallel
    return (
        (float(hidden_size * (mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim)), float(hidden_size)),
        (mla.q_lora_rank * heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim), float(mla.q_lora_rank)),
        (mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim), float(mla.kv_lora_rank)),
        (heads * mla.v_head_dim * hidden_size, heads * mla.v_head_dim),
    )


def _mlp(model: Model, width: float, layers: int, edges: int, part: Part, quantised: bool) -> tuple[Matrix, ...]:
    if not width:
        return ()
    down = model.hidden_size * width
    sizes = ((down * (model.mlp_matrices - 1), float(model.hidden_size)), (down, width))
    middle = [Matrix(size, layers - min(edges, layers), part, quantised, inputs) for size, inputs in sizes]
    return (*middle, *[Matrix(size, min(edges, layers), part, False, inputs) for size, inputs in sizes])


def head_weights(model: Model, tensor_parallel: int) -> float:
    """Elements of the output head on one GPU; it is never quantised."""
    return model.vocab_size * model.hidden_size / tensor_parallel
