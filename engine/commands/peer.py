"""transformers' own `generate` on the same weights: what plain decoding is measured against. Not a dependency."""

from collections.abc import Callable
from typing import Any

import torch

from engine.weights import Weights, hf_tensors


def peer_model(weights: Weights) -> Any:
    """A LlamaForCausalLM of transformers with these weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    a = weights.architecture
    config = LlamaConfig(
        vocab_size=a.vocab_size,
        hidden_size=a.hidden_size,
        intermediate_size=a.intermediate_size,
        num_hidden_layers=a.num_layers,
        num_attention_heads=a.num_heads,
        num_key_value_heads=a.num_kv_heads,
        head_dim=a.head_dim,
        rms_norm_eps=a.norm_eps,
        max_position_embeddings=a.max_position,
        rope_parameters={"rope_type": "default", "rope_theta": a.rope_theta},
        tie_word_embeddings=a.tie_word_embeddings,
        attention_bias=a.qkv_bias,
    )
    model: Any = LlamaForCausalLM(config)
    model = model.to(weights.dtype).eval()
    missing, unexpected = model.load_state_dict(hf_tensors(weights), strict=False)
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    return model


def peer_generate(weights: Weights, clock: Callable[[], float]) -> Callable[[tuple[int, ...], int], float]:
    """(prompt, output tokens) -> seconds of greedy decoding, the prompt included."""
    model = peer_model(weights)

    def generate(prompt: tuple[int, ...], tokens: int) -> float:
        ids = torch.tensor([prompt])
        start = clock()
        with torch.inference_mode():
            model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=tokens,
                min_new_tokens=tokens,
                do_sample=False,
                pad_token_id=0,
            )
        return clock() - start

    return generate
