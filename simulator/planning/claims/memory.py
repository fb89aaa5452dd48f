"""Claims about memory: what a GPU has, what weights and KV take."""

from simulator.catalog.load import load_gpu, load_model, load_quantisation
from simulator.physics.footprint import weight_bytes
from simulator.physics.kv import KvLaw, kv_law
from simulator.physics.ledger import LedgerRow, memory_ledger
from simulator.planning.claims.claim import Claim, one, over
from simulator.planning.claims.systems import deployment, mtp
from simulator.spec.deployment import Deployment

GB = 1e9
TOKENS = 100_000


def ledger(one_replica: Deployment) -> LedgerRow:
    """The ledger of its fullest GPU."""
    return memory_ledger("it", one_replica)[0]


def visible_gb(gpu: str) -> float:
    """Memory as CUDA shows it to an engine [GB]."""
    return load_gpu(gpu).memory.visible_bytes / GB


def b200_memory() -> Claim:
    """Claim 3."""
    b200, b300 = (load_gpu(name).memory.driver_bytes / GB for name in ("b200-sxm", "b300-sxm"))
    return Claim(
        3,
        "A B200 has 288 GB of HBM3e",
        "288 GB",
        (one("B200, as the driver reports it", b200, "GB"), one("B300", b300, "GB")),
        "the GPU is a B300",
        "holds" if b200 >= 0.98 * 288 else "does not hold",
    )


def four_hundred_billion() -> Claim:
    """Claim 4."""
    bits = load_quantisation("nvfp4").bits_per_weight
    weights = [400 * bits_of / 8 + 8 for bits_of in (4.0, bits)]
    b200, b300 = visible_gb("b200-sxm"), visible_gb("b300-sxm")
    return Claim(
        4,
        "One B200 hosts a 400B target at FP4 and four drafts of together 8B at FP8 in 180 to 210 GB",
        "180–210 GB on 288 GB",
        (
            over(f"weights alone, 4 to {bits:g} bits a weight", weights, "GB"),
            one("B200, visible", b200, "GB"),
            over("B300, left for runtime, activations and KV", [b300 - size for size in weights], "GB"),
        ),
        "on a B300; below 208 GB not even the bits of the weights fit, and on one B200 they do not fit at all",
        "impossible" if min(weights) > b200 else "holds",
    )


def seventy_billion_in_int4() -> Claim:
    """Claim 5."""
    model = load_model("llama-3.3-70b")
    stored = weight_bytes(model, load_quantisation("awq_int4")).total_bytes / GB
    return Claim(
        5,
        "A 70B target at INT4 (AWQ) takes about 35 GB",
        "35 GB",
        (one("weights with scales, zeros, and embedding and head in bf16", stored, "GB"),),
        "only the 4 bits of a weight are counted",
        "holds" if stored <= 1.05 * 35 else "does not hold",
    )


def small_drafts_on_h200() -> Claim:
    """Claim 6."""
    per_sequence = kv_law(load_model("llama-3.3-70b"), "bf16").bytes_at(4096) / GB
    drafts = {"model": "llama-3.2-3b", "kv": "bf16"}
    row = ledger(deployment("h200-sxm", "llama-3.3-70b", "awq_int4", kv="bf16", draft=drafts))
    return Claim(
        6,
        "On an H200 a 70B INT4 target, 3B of drafts (6 GB) and the KV of a 4K context (4 GB) leave 96 GB",
        "6 GB; 4 GB; 96 GB left",
        (
            one("3B of drafts in bf16", row.draft_weights_bytes / GB, "GB"),
            one("KV of one sequence of 4,096 tokens", per_sequence, "GB"),
            one("sequences that 4 GB hold", 4 / per_sequence),
            one("left for KV by the engine's rule", row.kv_budget_bytes / GB, "GB"),
            one("sequences of 4,096 tokens in it, the draft's KV included", float(row.max_sequences_at[4096])),
        ),
        "4 GB is the KV of three sequences, and what is left is their room, less what the engine reserves",
        "holds if" if row.fits and row.kv_budget_bytes / GB > 60 else "does not hold",
    )


def above_seventy_billion() -> Claim:
    """Claim 7."""
    row = ledger(deployment("h200-sxm", "deepseek-v4-pro", "mxfp4", 8, draft=mtp("mxfp4", 8)))
    wide = ledger(deployment("h200-sxm", "llama-3.1-405b", "fp8", 8, draft={"model": "llama-3.1-8b", "weights": "fp8"}))
    share = [100 * found.draft_weights_bytes / found.hbm_bytes for found in (row, wide)]
    return Claim(
        7,
        "On H200 drafts beside the target are viable up to 70B; larger models need GPUs of their own for the drafts",
        "70B",
        (
            one("1.6T in MXFP4 with its MTP module on 8 H200: left for KV on each", row.kv_budget_bytes / GB, "GB"),
            one("405B in FP8 with an 8B draft on 8 H200: left for KV", wide.kv_budget_bytes / GB, "GB"),
            over("draft's share of the fullest GPU's memory", share, "%"),
        ),
        "none: the target's weights and KV bind, hardly ever the draft",
        "does not hold" if row.fits and wide.fits else "holds if",
    )


def shared_prefix() -> Claim:
    """Claim 9."""
    laws = [kv_law(load_model(name), "bf16") for name in ("llama-3.3-70b", "llama-3.1-8b")]
    return Claim(
        9,
        "The 7B draft shares the target's KV cache of the prefix",
        "shared prefix",
        (
            one("KV of a token, 70B target", laws[0].bytes_per_token / 1e3, "kB"),
            one("KV of a token, 8B draft of its family", laws[1].bytes_per_token / 1e3, "kB"),
        ),
        "the draft was trained on the target's KV (Gemma 4 assistants, frozen-KV MTP), or is the target itself; other "
        "weights give other keys and values, and the article gives the draft a cache of its own two sentences later",
        "does not hold" if laws[0] != laws[1] else "holds if",
    )


def hundred_thousand_tokens() -> Claim:
    """Claim 10."""
    grouped = ("llama-3.1-8b", "qwen3-235b-a22b", "llama-3.3-70b", "llama-3.1-405b")
    target = {name: _gb(kv_law(load_model(name), "bf16")) for name in (*grouped, "deepseek-v3")}
    draft = {name: _gb(kv_law(load_model(name), "fp8")) for name in ("llama-3.1-8b", "llama-3.2-1b")}
    return Claim(
        10,
        "100K tokens take 8 GB of KV in FP16 for the target and 2 GB in FP8 for its 7B draft",
        "8 GB; 2 GB",
        (
            over(f"target in 16 bits, {len(grouped)} models with grouped queries", [target[n] for n in grouped], "GB"),
            one("target with latent attention (DeepSeek-V3)", target["deepseek-v3"], "GB"),
            one("8B draft in FP8", draft["llama-3.1-8b"], "GB"),
            one("1B draft in FP8", draft["llama-3.2-1b"], "GB"),
        ),
        "the target has latent attention and the draft is of 1B; FP8 alone halves the cache, it does not quarter it",
        "holds" if draft["llama-3.1-8b"] <= 2.2 else "does not hold",
    )


def _gb(law: KvLaw) -> float:
    return law.bytes_at(TOKENS) / GB


def added_memory() -> Claim:
    """Claim 24."""
    hbm = load_gpu("h200-sxm").memory.driver_bytes / GB
    row = ledger(deployment("h200-sxm", "deepseek-v3", "fp8_block", 8, draft=mtp("fp8_block", 8)))
    small, target = (kv_law(load_model(name), "fp8").bytes_per_token for name in ("llama-3.2-1b", "llama-3.3-70b"))
    return Claim(
        24,
        "A draft adds 2 to 12 GB, 5 to 15 % of the memory of a request",
        "2–12 GB; 5–15 %",
        (
            over("2 to 12 GB of an H200", [100 * size / hbm for size in (2.0, 12.0)], "%"),
            one("MTP module of DeepSeek-V3 on each of 8 H200", row.draft_weights_bytes / GB, "GB"),
            one("KV of a 1B draft ÷ that of its 70B target", 100 * small / target, "%"),
        ),
        "",
        "holds" if 100 * 12 / hbm <= 15 and 5 <= 100 * small / target <= 15 else "holds if",
    )


MEMORY = (
    b200_memory, four_hundred_billion, seventy_billion_in_int4, small_drafts_on_h200, above_seventy_billion,
    shared_prefix, hundred_thousand_tokens, added_memory,
)  # fmt: skip
