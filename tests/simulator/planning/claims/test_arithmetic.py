"""The arithmetic of some claims, by hand."""

import pytest

from simulator.planning.claims import cluster, experts, memory, speed, systems
from simulator.planning.claims.ideal import acceptance_for, best_speedup, latency_ratio_for, mixture


def figures(claim):
    return {figure.name: (figure.low, figure.high) for figure in claim.figures}


def test_the_experts_of_the_described_model_follow_from_its_totals():
    dense, expert = mixture(1000, 40, experts=256, top_k=8)

    assert dense + 256 * expert == pytest.approx(1000)
    assert dense + 8 * expert == pytest.approx(40)


def test_a_draft_of_32_experts_is_ten_times_what_is_claimed():
    found = figures(experts.subset_bytes())

    assert found["resident with 32 experts"][0] == pytest.approx(9.03 + 32 * 3.871, rel=1e-3)
    assert found["read for a token with 2 experts"][0] == pytest.approx(16.8, abs=0.05)


def test_the_catalog_holds_the_described_model_with_the_totals_it_is_described_by():
    from simulator.catalog.load import load_model
    from simulator.physics.footprint import parameters

    counted = parameters(load_model(experts.DESCRIBED))

    assert counted.total == pytest.approx(1e12, rel=1e-3)
    assert counted.active_per_token + counted.embedding == pytest.approx(40e9, rel=1e-3)


def test_the_described_model_needs_six_b200_at_fp8_and_three_at_four_bits():
    found = figures(experts.two_gpus())

    assert list(found.values()) == [(4, 6), (3, 3)]


def test_four_hundred_billion_in_four_bits_exceed_a_b200_by_their_bits_alone():
    found = figures(memory.four_hundred_billion())

    assert found["weights alone, 4 to 4.5 bits a weight"] == (208, 233)
    assert found["B200, visible"][0] < 208 < 233 < memory.visible_gb("b300-sxm")


def test_kv_of_hundred_thousand_tokens_by_hand():
    found = figures(memory.hundred_thousand_tokens())

    assert found["8B draft in FP8"][0] == pytest.approx(2 * 32 * 8 * 128 * 100_000 / 1e9)
    assert found["target with latent attention (DeepSeek-V3)"][0] == pytest.approx(61 * 576 * 2 * 100_000 / 1e9)


def test_what_a_speedup_needs_gives_that_speedup():
    assert best_speedup(0.86, latency_ratio_for(2.8, 0.86)) == pytest.approx(2.8)
    assert best_speedup(acceptance_for(2.5, 0.1), 0.1) == pytest.approx(2.5)


def test_the_two_readings_of_thirty_percent():
    found = figures(speed.thirty_percent())

    assert found["30 % for each draft token, best K"][0] == pytest.approx(1.69, abs=0.005)
    assert found["30 % for all draft tokens of a step, K 3–5"] == pytest.approx((2.45, 3.19), abs=0.005)


def test_a_hop_of_15_us_cannot_cost_a_whole_speedup():
    found = figures(cluster.latency_penalty())

    assert found["too small by a factor of"][0] > 100


def test_token_ids_cross_in_microseconds_and_probabilities_in_a_hundred_times_that():
    ids, whole = figures(cluster.candidate_transfer()).values()

    assert ids == pytest.approx((2.5, 4.12), abs=0.01)
    assert whole[0] == pytest.approx(2.5 + 64 * 5 * 128256 * 2 / 376e9 * 1e6, rel=1e-6)


def test_a_gain_shrinks_with_the_sequences_in_flight():
    gains = [systems.gain(speed.chat_grid(), 0.8, n) for n in (1, 16, 64, 256)]

    assert gains == sorted(gains, reverse=True)


def test_the_lowest_listed_price_is_the_one_that_costs_are_told_at():
    assert min(systems.listed_prices("b200-sxm")) == 3.75
    assert len(systems.listed_prices("h200-sxm")) > 5
