"""Claims about links between GPUs, clusters and money."""

from functools import cache

from simulator.catalog.load import load_links, load_model
from simulator.outcome.cost import usd_per_million_tokens
from simulator.physics.acceptance import expected_tokens_per_step, operation_factor
from simulator.physics.communication import transfer_s
from simulator.physics.step_model import build_step_model
from simulator.planning.claims.claim import Claim, one, over
from simulator.planning.claims.speed import chat_grid
from simulator.planning.claims.systems import (
    MANY,
    deployment,
    gain,
    listed_prices,
    mtp,
    tokens_per_s_per_gpu,
    with_error,
)
from simulator.spec.deployment import Deployment

CONTEXT_TOKENS = 1000
ID_BYTES, PROBABILITY_BYTES = 4, 2


def message_s(bytes_sent: float, kind: str) -> float:
    """Seconds of a message between two H200."""
    link = {str(name): of for name, of in load_links("h200-sxm").point_to_point.items()}[kind]
    return transfer_s(bytes_sent, link.latency_us * 1e-6, link.gb_per_s * 1e9)


@cache
def plain_step_s() -> float:
    """A plain step of one sequence of a 70B model in FP8 on four H200 [s]."""
    served = deployment("h200-sxm", "llama-3.3-70b", "fp8", 4)
    constant, slope = build_step_model(served).decode_affine(1)
    return constant + slope * CONTEXT_TOKENS


def candidate_transfer() -> Claim:
    """Claim 12."""
    rows = 64 * 5
    vocabulary = load_model("llama-3.3-70b").vocab_size
    ids = [1e6 * message_s(rows * ID_BYTES, kind) for kind in ("nvlink", "pcie")]
    whole = [1e6 * message_s(rows * PROBABILITY_BYTES * vocabulary, kind) for kind in ("nvlink", "pcie")]
    return Claim(
        12,
        "Candidate tokens cross from the draft's GPU to the target's in 8 to 15 µs",
        "8–15 µs",
        (
            over("64 sequences, K 5: token ids over NVLink to PCIe, on the wire", ids, "µs"),
            over("with the draft's probabilities in 16 bits", whole, "µs"),
        ),
        "only token ids are sent: greedy acceptance, or drafts without probabilities (copied text)",
        "holds if" if max(ids) <= 15 < min(whole) else "does not hold",
    )


def _extra_steps() -> list[float]:
    """Plain steps that a round would have to last longer for 1.75 in place of 2.75 times as fast, α 0.80 to 0.90."""
    return [expected_tokens_per_step(alpha, 4) * (1 / 1.75 - 1 / 2.75) for alpha in (0.80, 0.90)]


def latency_penalty() -> Claim:
    """Claim 13."""
    extra, step = _extra_steps(), plain_step_s()
    hop = 15e-6 / step
    return Claim(
        13,
        "Because of that latency, H200 with drafts on GPUs of their own gain 1.5 to 2.0 times, B200 2.5 to 3.0 times",
        "1.5–2.0x against 2.5–3.0x",
        (
            over("longer round that this drop needs, in plain steps", extra),
            one("in time, at the plain step of a 70B model on 4 H200", 1e3 * extra[0] * step, "ms"),
            one("15 µs in plain steps", hop),
            one("too small by a factor of", extra[0] / hop),
        ),
        "none: the latency of a hop is not the cause",
        "does not hold" if extra[0] > 10 * hop else "holds if",
    )


def same_gpu_count() -> Claim:
    """Claim 23."""
    grid, ends = chat_grid(), (0.7, 0.9)
    by_load = {n: [gain(grid, alpha, n) for alpha in ends] for n in (1, 16, 64, MANY)}
    operations = [operation_factor(alpha, 4, grid.flops_ratio) for alpha in ends]
    return Claim(
        23,
        "At the same number of GPUs a cluster for 100 requests/s serves 200 to 300 with speculation",
        "2–3x the throughput",
        (
            *(
                over(f"throughput gain of 70B FP8 on 2 H200 with a 1B draft, {n} in flight", values, "x")
                for n, values in by_load.items()
            ),
            over("FLOPs of a token ÷ plain decoding (K 4)", operations, "x"),
        ),
        "few sequences are in flight for each replica, so that the cluster is bought for latency, not for throughput; "
        "saturated, long contexts or a mixture of experts at medium batch gain 1.5 to 2 times at best",
        "does not hold" if max(by_load[MANY]) < 2 else "holds if",
    )


def mixtures() -> dict[str, tuple[Deployment, Deployment]]:
    """Of two public mixtures of about the size, in the formats that are served: B200 with MTP, and H200 without."""
    formats = {"qwen3.5-397b-a17b": ("nvfp4", "fp8_block"), "deepseek-v4-flash": ("mxfp4", "mxfp4")}
    return {
        name: (
            deployment("b200-sxm", name, on_b200, 4, draft=mtp(on_b200, 4)),
            deployment("h200-sxm", name, on_h200, 8),
        )
        for name, (on_b200, on_h200) in formats.items()
    }


MEASURED_TOKENS_PER_S = (8401.0, 4550.0)
"""Most total tokens/s of a B200 and of an H200 that were measured with DeepSeek-V4-Flash, 8,192 in, 1,024 out.

SGLang cookbook, DeepSeek-V4, as collected on 2026-11-30.
"""


def cost_per_million() -> Claim:
    """Claim 26."""
    prices = [min(listed_prices(gpu)) for gpu in ("b200-sxm", "h200-sxm")]
    rates = [[tokens_per_s_per_gpu(one, 8192, 1024) for one in pair] for pair in mixtures().values()]
    output, total = ([[_usd(prices[i], pair[i][kind]) for pair in rates] for i in (0, 1)] for kind in (0, 1))
    measured = [_usd(price, rate) for price, rate in zip(prices, MEASURED_TOKENS_PER_S, strict=True)]
    affordable = [rate * 3600 * 0.08 / 1e6 for rate in (MEASURED_TOKENS_PER_S[0], min(pair[0][1] for pair in rates))]
    return Claim(
        26,
        "A 400B mixture of experts costs $0.08 per million tokens on B200 with speculation, $0.22 on H200 without",
        "$0.08 against $0.22",
        (
            one("tokens/s of a B200 that $0.08 needs at the lowest list price", prices[0] / 3600 / 0.08 * 1e6),
            one("tokens/s of an H200 that $0.22 needs", prices[1] / 3600 / 0.22 * 1e6),
            over("total tokens/s of a B200 with MTP (397B and 284B, 8,192 in, 1,024 out)", [p[0][1] for p in rates]),
            over("total tokens/s of an H200 without", [p[1][1] for p in rates]),
            over("per M total tokens on B200 at the lowest list price", total[0], "$"),
            over("per M total tokens on H200", total[1], "$"),
            over("per M output tokens on B200", output[0], "$"),
            over("per M output tokens on H200", output[1], "$"),
            one("per M total tokens on B200 at the throughput that was measured of the 284B", measured[0], "$"),
            one("per M total tokens on H200 at the measured one", measured[1], "$"),
        ),
        "it counts input and output tokens of long prompts, every GPU is full, and a B200 costs at most "
        f"${affordable[0]:.2f} an hour at the measured throughput, ${affordable[1]:.2f} at the predicted one, whose "
        "attention is uncalibrated; counted by output tokens alone it is nine times as dear",
        "holds" if measured[0] <= 0.08 else "holds if" if min(total[0]) <= 0.08 else "does not hold",
    )


def _usd(usd_per_gpu_hour: float, tokens_per_s: float) -> float:
    return usd_per_million_tokens(usd_per_gpu_hour, tokens_per_s) or float("inf")


def hundred_requests() -> Claim:
    """Claim 27."""
    served = deployment("b200-sxm", "llama-3.3-70b", "nvfp4")
    short, long = (tokens_per_s_per_gpu(served, prompt, 200)[0] for prompt in (128, 8192))
    return Claim(
        27,
        "Deploy multi-model speculation where more than 100 requests/s have to be served by each GPU",
        "> 100 requests/s per GPU",
        (
            one("output tokens/s that 100 requests of 200 output tokens are", 100 * 200.0),
            over("requests/s of a B200, 70B NVFP4, 128 in, 200 out", with_error(short / 200, served)),
            over("the same with prompts of 8,192", with_error(long / 200, served)),
        ),
        f"prompts are short and outputs at most about {short / 100:.0f} tokens, or the model is smaller than 70B",
        "holds if" if short / 200 < 100 else "holds",
    )


def one_host() -> Claim:
    """Claim 29."""
    hop = 15e-6 / plain_step_s()
    return Claim(
        29,
        "B200 gain most because one GPU holds target and drafts and saves the latency between GPUs",
        "up to 400B on one GPU",
        (
            one("share of a plain step that two hops of 15 µs take", 200 * hop, "%"),
            over("speed-up lost at α 0.8, c 0.1, K 4", [_lost(2 * hop), _lost(hop)], "%"),
        ),
        "none: the hop is not what an H200 lacks; its memory and its bandwidth are",
        "does not hold" if 200 * hop < 5 else "holds if",
    )


def _lost(extra_steps: float) -> float:
    """Speed-up that a longer round loses [%]."""
    return 100 * extra_steps / (1 + 4 * 0.1 + extra_steps)


CLUSTER = (candidate_transfer, latency_penalty, same_gpu_count, cost_per_million, hundred_requests, one_host)
