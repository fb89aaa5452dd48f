"""Ridge and critical context: the reference's figures, to the digits given."""

import pytest

from simulator.catalog.load import load_model
from simulator.physics.footprint import parameters
from simulator.physics.kv import kv_law
from simulator.physics.roofline import critical_context_tokens, ridge_rows

FP8 = {"H200": (1979e12, 4.8e12), "H100": (1979e12, 3.35e12), "B200": (4500e12, 7.7e12)}


@pytest.mark.parametrize(
    ("flop_per_s", "bytes_per_weight", "bytes_per_s", "rows"),
    [
        (989e12, 2.0, 4.8e12, 206),
        (1979e12, 1.0, 4.8e12, 206),
        (989e12, 2.0, 3.35e12, 295),
        (2250e12, 2.0, 7.7e12, 292),
        (4500e12, 1.0, 7.7e12, 292),
        (9000e12, 4.5 / 8, 7.7e12, 329),
    ],
)
def test_ridges_are_those_of_the_reference(flop_per_s, bytes_per_weight, bytes_per_s, rows):
    assert ridge_rows(flop_per_s, bytes_per_weight, bytes_per_s) == pytest.approx(rows, abs=0.51)


@pytest.mark.parametrize(
    ("model", "gpu", "thousands"),
    [
        ("llama-3.3-70b", "H200", 5.2), ("llama-3.3-70b", "B200", 3.7),
        ("llama-3.1-8b", "H200", 1.5), ("llama-3.1-8b", "B200", 1.0),
        ("qwen3-32b", "H200", 3.0), ("qwen3-32b", "B200", 2.1),
    ],
)  # fmt: skip
def test_critical_contexts_are_those_of_the_reference(model, gpu, thousands):
    spec = load_model(model)

    context = critical_context_tokens(parameters(spec).total, 4, kv_law(spec, "bf16").bytes_per_token, *FP8[gpu])

    assert context / 1000 == pytest.approx(thousands, abs=0.0501)


def test_fp8_kv_doubles_the_critical_context():
    spec = load_model("llama-3.3-70b")
    bf16, fp8 = (kv_law(spec, kv).bytes_per_token for kv in ("bf16", "fp8"))

    at = [critical_context_tokens(70.6e9, 4, kv_bytes, *FP8["H200"]) for kv_bytes in (bf16, fp8)]

    assert at[1] == pytest.approx(2 * at[0])


def test_verification_is_free_up_to_so_many_sequences():
    assert [int(ridge_rows(flop, 1.0, rate) / 5) for flop, rate in FP8.values()] == [41, 59, 58]
