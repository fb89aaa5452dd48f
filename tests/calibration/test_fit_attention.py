"""Attention: floors and slopes of synthetic kernels come back, whatever spikes are planted."""

import numpy as np
import pandas as pd
import pytest

from calibration.fit_attention import fit_decode, fit_prefill, robust_line
from tests.calibration.synthetic import (
    DECODE_FLOOR_US,
    DECODE_TOKEN_US,
    PREFILL_PAIR_US,
    PREFILL_TOKEN_US,
    decode,
    heads,
    plant,
    prefill,
)


def test_floor_and_slope_of_each_batch_come_back():
    (table,), fit_error, samples = fit_decode(decode())

    assert table.floor_us == pytest.approx([DECODE_FLOOR_US] * 7, rel=0.01)
    assert table.per_token_us == pytest.approx([DECODE_TOKEN_US * b for b in table.batch], rel=0.01)
    assert (fit_error.median_ape < 0.01, samples) == (True, len(decode()))


def test_a_spike_in_a_batch_does_not_move_its_line():
    (clean,), _, _ = fit_decode(decode())
    rows = decode()
    rows.loc[(rows["batch"] == 8) & (rows["context"] == 2048), "latency_us"] *= 4.0
    (spiked,), _, _ = fit_decode(rows)

    assert spiked.per_token_us == pytest.approx(clean.per_token_us, rel=0.02)
    assert spiked.floor_us == pytest.approx(clean.floor_us, rel=0.05)


def test_the_base_and_the_pairs_of_prompts_come_back():
    (table,), fit_error, _ = fit_prefill(prefill())
    at = table.tokens.index(8192)

    assert table.per_million_pairs_us == pytest.approx(PREFILL_PAIR_US * 1e6, rel=0.02)
    assert table.base_us[at] == pytest.approx(PREFILL_TOKEN_US * 8192, rel=0.05)
    assert fit_error.median_ape < 0.05


def test_spikes_among_prompts_do_not_move_the_pairs():
    (table,), _, _ = fit_prefill(plant(prefill(), share=0.08))

    assert table.per_million_pairs_us == pytest.approx(PREFILL_PAIR_US * 1e6, rel=0.05)


def test_a_window_costs_a_floor_only():
    rows = decode().assign(window=128, head_dim=64, latency_us=lambda t: 5.0 + 0.1 * t["batch"])
    (table,), _, _ = fit_decode(rows)

    assert set(table.per_token_us) == {0.0}
    assert table.floor_us == pytest.approx([5.0 + 0.1 * b for b in table.batch], rel=0.01)


def test_heads_that_no_model_has_are_left_out():
    odd = decode().assign(**{name: value for name, value in heads(heads=7, kv_heads=7).items() if name != "kind"})
    both, _, samples = fit_decode(pd.concat([odd, decode()]))

    assert [(t.heads, t.kv_heads) for t in both] == [(64, 8)]
    assert samples == 2 * len(decode())


def test_a_line_is_never_negative():
    a, b = robust_line(np.array([1.0, 2.0, 3.0, 4.0]), np.array([9.0, 6.0, 4.0, 1.0]), np.ones(4))

    assert a >= 0.0
    assert b >= 0.0
