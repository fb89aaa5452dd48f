import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_model, names
from simulator.physics.kv import KvLaw, block_bytes, kv_law, longest_sequence, sequence_blocks

models = st.sampled_from(names("models"))
tokens = st.integers(1, 200_000)
laws = st.lists(
    st.builds(KvLaw, st.integers(0, 10**6), st.integers(1, 10**5), st.integers(0, 5000), st.integers(0, 10**5)),
    min_size=1,
    max_size=2,
)


@given(models, st.sampled_from([1, 2, 4, 8, 16]), tokens)
def test_fp8_kv_is_never_larger_than_bf16_kv(name, tensor_parallel, length):
    fp8, bf16 = (kv_law(load_model(name), kv, tensor_parallel) for kv in ("fp8", "bf16"))

    assert fp8.bytes_at(length) <= bf16.bytes_at(length)


@given(models, tokens)
def test_a_wider_split_never_holds_more_of_a_sequence_on_a_gpu(name, length):
    held = [kv_law(load_model(name), "bf16", n).bytes_at(length) for n in (1, 2, 4, 8, 16)]

    assert held == sorted(held, reverse=True)


def test_kv_beyond_the_kv_heads_is_repeated():
    model = load_model("llama-3.1-70b")

    assert kv_law(model, "bf16", 8) == kv_law(model, "bf16", 16)


def test_a_latent_cache_is_on_every_gpu():
    model = load_model("deepseek-v3")

    assert kv_law(model, "bf16", 1) == kv_law(model, "bf16", 8) == KvLaw(bytes_per_token=70_272)


def test_layers_that_slide_keep_their_window_only():
    law = kv_law(load_model("gpt-oss-120b"), "bf16")

    assert law.bytes_at(100) == 100 * 2 * 36_864
    assert law.bytes_at(1000) == 1000 * 36_864 + 128 * 36_864


def test_a_window_as_long_as_the_longest_context_is_none():
    assert kv_law(load_model("mistral-7b-v0.1"), "bf16") == KvLaw(bytes_per_token=131_072)


def test_a_hybrid_model_has_a_state_that_is_split_and_few_layers_that_grow():
    one, two = (kv_law(load_model("qwen3-next-80b-a3b"), "bf16", n) for n in (1, 2))

    assert one == KvLaw(fixed_bytes=75_497_472, bytes_per_token=24_576)
    assert two == KvLaw(fixed_bytes=37_748_736, bytes_per_token=12_288)


def test_a_compressed_cache_is_as_its_engine_stores_it_and_less_than_twice_that_in_bf16():
    fp8, bf16 = (kv_law(load_model("deepseek-v4-flash"), kv, 8) for kv in ("fp8", "bf16"))

    assert fp8 == KvLaw(fixed_bytes=2_818_048, bytes_per_token=3125)
    assert bf16.bytes_per_token == pytest.approx(5893, abs=2)


@given(laws, st.sampled_from([1, 16, 32]), tokens)
def test_a_sequences_blocks_hold_its_bytes_and_one_token_more_never_takes_fewer(laws, block_tokens, length):
    blocks = sequence_blocks(laws, block_tokens, length)

    assert blocks * block_bytes(laws, block_tokens) >= sum(law.bytes_at(length) for law in laws)
    assert sequence_blocks(laws, block_tokens, length + 1) >= blocks


@given(laws, st.integers(0, 5000))
def test_the_longest_sequence_fits_and_one_token_more_does_not(laws, num_blocks):
    longest = longest_sequence(laws, 16, num_blocks, limit_tokens=10**6)

    assert longest == 0 or sequence_blocks(laws, 16, longest) <= num_blocks
    assert sequence_blocks(laws, 16, longest + 1) > num_blocks


def test_a_model_whose_layers_all_slide_stops_growing_at_its_window():
    all_slide = [KvLaw(window_tokens=64, sliding_bytes_per_token=10)]

    assert [sequence_blocks(all_slide, 16, n) for n in (16, 64, 6400)] == [1, 4, 4]
