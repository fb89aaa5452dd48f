"""Claims about a mixture of experts that drafts with a part of its experts."""

from math import ceil

from simulator.catalog.load import load_acceptance, load_gpu, load_links, load_model
from simulator.physics.communication import transfer_s
from simulator.physics.footprint import parameters
from simulator.physics.kv import kv_law
from simulator.planning.claims.claim import Claim, one, over
from simulator.planning.claims.ideal import best_speedup, latency_ratio_for, mixture

DESCRIBED = "v4-as-described"
TOTAL_B, ACTIVE_B, EXPERTS, TOP_K, RESIDENT, DRAFT_TOP_K = 1000.0, 40.0, 256, 8, 32, 2
"""The article's model; at FP8 a billion parameters are a GB."""


def subset_bytes() -> Claim:
    """Claim 14."""
    dense, expert = mixture(TOTAL_B, ACTIVE_B, EXPERTS, TOP_K)
    resident, read = dense + RESIDENT * expert, dense + DRAFT_TOP_K * expert
    return Claim(
        14,
        "DeepSeek V4's draft of 32 of 256 experts, 2 of them active, is 12 GB at FP8 beside 40 GB of active target",
        "12 GB; 40 GB",
        (
            one("one expert, all layers", expert, "GB"),
            one("what every token uses", dense, "GB"),
            one("resident with 32 experts", resident, "GB"),
            one("read for a token with 2 experts", read, "GB"),
        ),
        "none: 1T in 256 experts with 40B active by 8 of them leaves no draft of 12 GB",
        "impossible" if not any(0.8 < size / 12 < 1.2 for size in (resident, read)) else "holds",
    )


def two_gpus() -> Claim:
    """Claim 15."""
    b200, b300 = (load_gpu(name).memory.visible_bytes / 1e9 for name in ("b200-sxm", "b300-sxm"))
    fp8 = [ceil(TOTAL_B / size) for size in (b300, b200)]
    fp4 = ceil(TOTAL_B / 2 / b200)
    return Claim(
        15,
        "With its draft it fits on 2 B200, one for the draft and one for the target, up to 32K at FP8",
        "2 GPUs",
        (
            over("GPUs for the weights at FP8, B300 to B200", [float(n) for n in fp8]),
            one("B200 for the weights at 4 bits", float(fp4)),
        ),
        "none: one GPU would have to hold all of the target's 1,000 GB",
        "impossible" if min(*fp8, fp4) > 2 else "holds",
    )


def same_prefix() -> Claim:
    """Claim 16."""
    per_token = kv_law(load_model(DESCRIBED), "bf16").bytes_per_token
    link = load_links("b200-sxm").point_to_point["nvlink"]
    sent = 64 * 5 * per_token
    seconds = transfer_s(sent, link.latency_us * 1e-6, link.gb_per_s * 1e9)
    return Claim(
        16,
        "The KV cache is shared between draft and target because both compute the same prefix",
        "shared",
        (
            one("KV to send in a step of 64 sequences with K 4", sent / 1e6, "MB"),
            one("time of it over NVLink", seconds * 1e6, "µs"),
        ),
        "both stand on one GPU, and what the draft loses by keys and values that another number of experts made is "
        "measured: after the first layer 2 experts give other hidden states than 8; the article puts them on two GPUs",
        "does not hold",
    )


def subset_speedup() -> Claim:
    """Claim 17."""
    ends = (0.85, 0.93)
    needed = [latency_ratio_for(speed, alpha) for speed, alpha in ((2.3, 0.85), (2.7, 0.93))]
    by_bytes = [best_speedup(alpha, 12 / 40) for alpha in ends]
    by_experts = [best_speedup(alpha, DRAFT_TOP_K / TOP_K) for alpha in ends]
    presets = [load_acceptance(f"deepseek-v4-pro-mtp-thinking-{mode}") for mode in ("on", "off")]
    measured = [preset.tokens_per_step[2] for preset in presets if preset.tokens_per_step]
    return Claim(
        17,
        "It is accepted at 0.85 to 0.93 and 2.3 to 2.7 times as fast",
        "0.85–0.93; 2.3–2.7x",
        (
            over("latency ratio that this needs", needed),
            over("speed-up at its own ratio of bytes, 12 ÷ 40", by_bytes, "x"),
            over("speed-up at its own ratio of experts, 2 ÷ 8", by_experts, "x"),
            over("tokens per step of the public V4-Pro's MTP at K 2, measured", measured),
        ),
        f"a draft pass takes at most {min(needed):.2f} to {max(needed):.2f} of a step; its own ratios are 0.25 to 0.3",
        "does not hold" if max(*by_bytes, *by_experts) < 2.3 else "holds if",
    )


def public_model() -> Claim:
    """Claim 18."""
    models = [load_model(name) for name in ("deepseek-v4-flash", "deepseek-v4-pro")]
    counted = [parameters(model) for model in models]
    experts = [float(model.moe.num_experts) for model in models if model.moe]
    return Claim(
        18,
        "DeepSeek V4 is a model of 1T with 256 experts, 8 of them active, that drafts with a subset of them",
        "1T, 256 experts, 8 active",
        (
            over("parameters of the public V4-Flash and V4-Pro", [p.total / 1e9 for p in counted], "B"),
            over("active", [p.active_per_token / 1e9 for p in counted], "B"),
            over("experts", experts),
            over("experts of a token", [float(model.moe.top_k) for model in models if model.moe]),
        ),
        "none: the public V4-Pro and V4-Flash have other sizes and draft with MTP or DSpark modules; the catalog holds "
        f"both, and the article's as {DESCRIBED}",
        "holds" if any(abs(p.total / 1e12 - 1.0) < 0.05 for p in counted) else "does not hold",
    )


EXPERTS_DRAFT = (subset_bytes, two_gpus, same_prefix, subset_speedup, public_model)
