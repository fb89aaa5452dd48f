"""Models: the parameters that follow from the dimensions are those that were published."""

import pytest

from simulator.catalog import load
from simulator.physics.footprint import parameters
from simulator.spec.model import Model

MODELS = load.names("models")
LOOSELY_PUBLISHED = {"deepseek-v4-pro": 0.02}
"""Published as 1.6 T in round figures, the prediction layer probably counted."""


def attention_by_hand(model: Model) -> int:
    hidden, heads, head = model.hidden_size, model.num_attention_heads, model.head_dim
    if model.mla:
        mla = model.mla
        down = hidden * (mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim)
        query = mla.q_lora_rank * heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
        up = mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim)
        return model.num_layers * (down + query + up + heads * mla.v_head_dim * hidden)
    if model.attention == "hybrid":
        return model.attention_params
    return model.num_layers * 2 * hidden * head * (heads + model.num_kv_heads)


def total_by_hand(model: Model) -> int:
    hidden, moe = model.hidden_size, model.moe
    dense_layers = moe.first_dense_layers if moe else model.num_layers
    total = model.vocab_size * hidden * (1 if model.tie_word_embeddings else 2)
    total += attention_by_hand(model) + model.attention_extra_params + model.norm_params + model.other_params
    total += dense_layers * model.mlp_matrices * hidden * model.intermediate_size
    if moe:
        shared = moe.num_shared * 3 * hidden * (moe.shared_intermediate or moe.expert_intermediate)
        routed = moe.num_experts * (3 * hidden * moe.expert_intermediate + moe.expert_bias_params)
        router = hidden * moe.num_experts + moe.router_bias_params
        total += (model.num_layers - dense_layers) * (shared + routed + router + moe.extra_params_per_layer)
    return total


def test_all_catalogued_models_are_there() -> None:
    assert len(MODELS) == 47
    assert {"llama-3.3-70b", "llama-3.2-1b", "gpt-oss-120b", "deepseek-v3", "llama-3.1-405b-kv16"} <= set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_those_published(name: str) -> None:
    model = load.load_model(name)
    assert model.published

    ratio = total_by_hand(model) / (model.published.total_b * 1e9)

    assert ratio == pytest.approx(1.0, abs=LOOSELY_PUBLISHED.get(name, 0.01))


@pytest.mark.parametrize("name", MODELS)
def test_the_footprint_counts_what_a_hand_counts(name: str) -> None:
    model = load.load_model(name)

    assert parameters(model).total == total_by_hand(model)


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.3-70b", 70_553_706_496),
        ("llama-3.1-405b", 405_853_388_800),
        ("qwen2.5-0.5b", 494_032_768),
        ("mixtral-8x7b", 46_702_792_704),
        ("deepseek-v3", 671_026_419_200),
        ("deepseek-v3.2", 671_877_928_448),
        ("gpt-oss-120b", 116_829_156_672),
        ("qwen3-next-80b-a3b", 79_674_391_296),
        ("gemma-3-27b", 27_009_002_240),
        ("deepseek-v4-pro", 1_572_997_084_928),
    ],
)
def test_parameters_are_exact(name: str, total: int) -> None:
    assert total_by_hand(load.load_model(name)) == total


def test_the_first_405b_checkpoint_fills_what_vllm_reported() -> None:
    model = load.load_model("llama-3.1-405b-kv16")

    in_bf16 = model.vocab_size * model.hidden_size * 2 + attention_by_hand(model)
    in_bf16 += 2 * 3 * model.hidden_size * model.intermediate_size
    gib_per_gpu = (total_by_hand(model) + in_bf16) / 8 / 2**30

    assert gib_per_gpu == pytest.approx(57.752, abs=0.1)


@pytest.mark.parametrize("name", MODELS)
def test_kinds_of_attention_bring_what_they_need(name: str) -> None:
    model = load.load_model(name)

    assert (model.attention == "mla") == (model.mla is not None)
    assert (model.attention == "hybrid") == (model.attention_params > 0)
    assert model.sliding is None or model.sliding.num_layers <= model.num_layers
