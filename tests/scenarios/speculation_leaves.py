"""The leaves of the schema below `speculation`, and those that only a draft makes count."""

from tests.scenarios.leaves import CLASSES, IT, MOE, leaf

DRAFT = f"{IT}speculation[drafts].drafts.*."
ACCEPTED = f"{DRAFT}acceptance.*."
PROPOSE = f"{IT}speculation[drafts].propose"
COMBINE = f"{IT}speculation[drafts].combine"
POLICY = f"{IT}speculation[drafts].policy"
SMALL = "model: llama-3.2-1b"
ABSTRACT = "abstract: {flops_ratio: 0.1, latency_ratio: 0.2, weights_gb: 2, kv_bytes_per_token: 30000}"


CHAIN = "{shape: chain, draft_tokens: 2}"


def drafted(acceptance: str = "survival: [0.8, 0.6, 0.5]", model: str = SMALL, propose: str = CHAIN) -> tuple[str, ...]:
    """A set that makes the deployment speculate."""
    return (
        f"deployments.it.speculation={{kind: drafts, drafts: {{d: {{{model}, acceptance: {{all: {{{acceptance}}}}}}}}}, "
        f"propose: {propose}}}",
    )


def treed(propose: str) -> tuple[str, ...]:
    """A set that makes the deployment propose a tree."""
    return drafted("survival: [0.8, 0.6, 0.5], branches: [0.8, 0.1, 0.05]", propose=propose)


def combined(how: str, streams: str = "{kind: series}") -> tuple[str, ...]:
    """A set that makes the deployment speculate with two drafts."""
    drafts = (
        f"d: {{{SMALL}, acceptance: {{a: {{survival: [0.8, 0.6]}}, b: {{survival: [0.4, 0.2]}}}}}}, "
        "e: {model: qwen3-0.6b, acceptance: {a: {survival: [0.3, 0.1]}, b: {survival: [0.7, 0.6]}}}"
    )
    return (
        *CLASSES,
        f"deployments.it.speculation={{kind: drafts, drafts: {{{drafts}}}, propose: {CHAIN}, combine: {how}, "
        f"streams: {streams}}}",
    )


SPEC = drafted()
BANDS = (*SPEC, "deployments.it.speculation.policy={kind: by_batch, schedule: [[1, 2, 2], [3, 4096, 0]]}")
LATELY = (*SPEC, "deployments.it.speculation.policy={kind: per_request, candidates: [0, 1, 2], warm_up_steps: 2}")
GOODPUT = (*SPEC, "deployments.it.speculation.policy={kind: goodput}")
COUNTED = drafted("tokens_per_step: 2.2, at: 3, spread: 1")
DECAYING = drafted("tokens_per_step: 2.2, at: 3, decay: 0.9")
HISTOGRAM = drafted("histogram: {0: 3, 1: 3, 2: 3}")
PRESET = drafted("preset: glm-5.2-fp8-mtp-thinking-on")
WARM = ("workload.temperature=0.5", *drafted("survival: [0.8, 0.6], by_temperature: {0: 1, 1: 0.5}"))
FAR = drafted("survival: [0.8, 0.6], by_context: {100: 1, 500: 0.5}")
TRAINED = drafted("survival: [0.8, 0.6], uplift: {factor: 1.1, source: a paper}")
GIVEN = drafted(model=ABSTRACT)
HEAD = drafted(model="head: {method: eagle}")
MOE_HEAD = (*MOE, *HEAD)
LOOKUP = drafted(model="ngram: {}")
SUBSET = (*MOE, *drafted(model="moe_subset: {resident_experts: 16, active_experts: 2}"))
CAPPED = drafted(model=f"{SMALL}, window: {{sinks: 4, recent: 100}}")
TREE = treed("{shape: tree, widths: [2, 1]}")
NODES = treed("{shape: nodes, paths: [[0], [1], [0, 0]]}")
DYNAMIC = treed("{shape: dynamic_tree, depth: 2, top_k: 2, nodes: 4}")
BEST = treed("{shape: best_tree, max_depth: 3, max_nodes: 8}")
WHOLE_TREE = drafted("survival: [0.9, 0.7], of: tree", propose="{shape: tree, widths: [2, 1]}")
ROUTED = combined(
    "{kind: routed, routes: {a: d, b: e}, accuracy: {all: 0.9}, fallback: d, "
    "router: {parameters: 100000000, latency_s: 0.001}}"
)
UNION = combined("{kind: union, survival: {all: [0.9, 0.7]}}")
LAW = combined("{kind: union, recursive_rejection: {correlation: 0.5, order: [d, e]}}")
STREAMS = combined("{kind: union, survival: {all: [0.9, 0.7]}}", "{kind: parallel, contention: 0.2}")


PAID = (
    *SPEC,
    "deployments.it.economics={engineering_weeks: 3, usd_per_week: 5000, training_gpu_hours: 2000, usd_per_gpu_hour: 3}",
)

PLACED = f"{IT}speculation[drafts].placement"


def placed(more: str) -> tuple[str, ...]:
    """Sets that give the drafts GPUs of their own, beside two replicas."""
    where = f"deployments.it.speculation.placement={{kind: dedicated, link: nvlink{more}}}"
    return (*SPEC, "deployments.it.replicas=2", where)


OWN_GPUS = placed("")
OTHER_GPUS = placed(", gpu: b200-sxm, price: 6")
PRICED_GPUS = placed(", price: {usd_per_gpu_hour: 6, source: a quote, as_of: 2026-11-01}")
LISTED_GPUS = placed(", price: {catalog: nebius-on-demand}")
AHEAD = placed(", overlap: {kind: draft_ahead, hit: 0.3}")
GUESSED = placed(", overlap: {kind: draft_ahead, bonus_guess: 0.5}")

SPECULATION = [
    leaf(f"{IT}economics.engineering_weeks", PAID, "4", "study"),
    leaf(f"{IT}economics.usd_per_week", PAID, "4000", "study"),
    leaf(f"{IT}economics.training_gpu_hours", PAID, "1000", "study"),
    leaf(f"{IT}economics.usd_per_gpu_hour", PAID, "4", "study"),
    leaf(f"{IT}speculation[none].kind", (), "ngram", "refused"),
    leaf(f"{IT}speculation[drafts].kind", SPEC, "none", "refused"),
    leaf(f"{DRAFT}model", SPEC, "qwen3-0.6b", "requests"),
    leaf(f"{DRAFT}measured", SPEC, "lookup", "refused"),
    leaf(f"{DRAFT}abstract.flops_ratio", GIVEN, "0.3", "requests"),
    leaf(f"{DRAFT}abstract.latency_ratio", GIVEN, "0.3", "requests"),
    leaf(f"{DRAFT}abstract.weights_gb", GIVEN, "3", "memory"),
    leaf(f"{DRAFT}abstract.kv_bytes_per_token", GIVEN, "60000", "memory"),
    leaf(f"{DRAFT}weights", SPEC, "fp8", "requests"),
    leaf(f"{DRAFT}kv", SPEC, "fp8", "memory"),
    leaf(f"{DRAFT}tensor_parallel", (*SPEC, "deployments.it.target.tensor_parallel=2"), "2", "requests"),
    leaf(f"{DRAFT}window.sinks", CAPPED, "8", "requests"),
    leaf(f"{DRAFT}window.recent", CAPPED, "50", "memory"),
    leaf(f"{DRAFT}shares_target_kv", SPEC, "true", "refused"),
    leaf(f"{ACCEPTED}survival", SPEC, "[0.9, 0.3]", "requests"),
    leaf(f"{ACCEPTED}tokens_per_step", COUNTED, "2.5", "requests"),
    leaf(f"{ACCEPTED}at", COUNTED, "4", "requests"),
    leaf(f"{ACCEPTED}histogram", HISTOGRAM, "{0: 1, 1: 3, 2: 9}", "requests"),
    leaf(f"{ACCEPTED}drafted", SPEC, "{0: 1, 3: 9}", "requests"),
    leaf(f"{ACCEPTED}preset", PRESET, "deepseek-v4-pro-mtp-thinking-off", "requests"),
    leaf(f"{ACCEPTED}averaged_over", COUNTED, "requests", "requests"),
    leaf(f"{ACCEPTED}spread", SPEC, "2", "requests"),
    leaf(f"{ACCEPTED}decay", DECAYING, "0.5", "requests"),
    leaf(f"{ACCEPTED}branches", TREE, "[0.8, 0.02]", "requests"),
    leaf(f"{ACCEPTED}of", WHOLE_TREE, "chain", "refused"),
    leaf(f"{ACCEPTED}by_temperature", WARM, "{0: 1, 1: 0.9}", "requests"),
    leaf(f"{ACCEPTED}by_context", FAR, "{100: 1, 500: 0.9}", "requests"),
    leaf(f"{ACCEPTED}uplift.factor", TRAINED, "1.2", "requests"),
    leaf(f"{ACCEPTED}uplift.source", TRAINED, "a talk", "provenance"),
    leaf("workload.temperature", WARM, "0.9", "requests"),
    leaf(f"{DRAFT}head.method", HEAD, "eagle3", "requests"),
    leaf(f"{DRAFT}head.layers", HEAD, "2", "requests"),
    leaf(f"{DRAFT}head.modules", HEAD, "2", "memory"),
    leaf(f"{DRAFT}head.dense", MOE_HEAD, "false", "memory"),
    leaf(f"{DRAFT}head.intermediate_size", HEAD, "2048", "requests"),
    leaf(f"{DRAFT}head.vocab_size", HEAD, "32000", "requests"),
    leaf(f"{DRAFT}head.shares_kv", HEAD, "true", "memory"),
    leaf(f"{DRAFT}ngram.host_us_per_sequence", LOOKUP, "50", "requests"),
    leaf(f"{DRAFT}moe_subset.resident_experts", SUBSET, "32", "requests"),
    leaf(f"{DRAFT}moe_subset.active_experts", SUBSET, "4", "requests"),
    leaf(f"{DRAFT}moe_subset.shares_weights", SUBSET, "false", "memory"),
    leaf(f"{DRAFT}moe_subset.shares_kv", SUBSET, "true", "memory"),
    leaf(f"{DRAFT}moe_subset.routing_mismatch", SUBSET, "0.2", "requests"),
    leaf(f"{PROPOSE}[chain].shape", SPEC, "tree", "refused"),
    leaf(f"{PROPOSE}[chain].draft_tokens", SPEC, "1", "requests"),
    leaf(f"{PROPOSE}[tree].shape", TREE, "chain", "refused"),
    leaf(f"{PROPOSE}[tree].widths", TREE, "[3, 1]", "requests"),
    leaf(f"{PROPOSE}[nodes].shape", NODES, "chain", "refused"),
    leaf(f"{PROPOSE}[nodes].paths", NODES, "[[0], [0, 0]]", "requests"),
    leaf(f"{PROPOSE}[dynamic_tree].shape", DYNAMIC, "chain", "refused"),
    leaf(f"{PROPOSE}[dynamic_tree].depth", DYNAMIC, "3", "requests"),
    leaf(f"{PROPOSE}[dynamic_tree].top_k", DYNAMIC, "3", "requests"),
    leaf(f"{PROPOSE}[dynamic_tree].nodes", DYNAMIC, "6", "requests"),
    leaf(f"{PROPOSE}[best_tree].shape", BEST, "chain", "refused"),
    leaf(f"{PROPOSE}[best_tree].max_depth", BEST, "1", "requests"),
    leaf(f"{PROPOSE}[best_tree].max_nodes", BEST, "1", "requests"),
    leaf(f"{PROPOSE}[best_tree].at_sequences", BEST, "200", "requests"),
    leaf(f"{COMBINE}[single].kind", SPEC, "union", "refused"),
    leaf(f"{COMBINE}[routed].kind", ROUTED, "union", "refused"),
    leaf(f"{COMBINE}[routed].routes", ROUTED, "{all: e}", "requests"),
    leaf(f"{COMBINE}[routed].accuracy", ROUTED, "{all: 0.2}", "requests"),
    leaf(f"{COMBINE}[routed].fallback", ROUTED, "e", "requests"),
    leaf(f"{COMBINE}[routed].router.parameters", ROUTED, "900000000", "memory"),
    leaf(f"{COMBINE}[routed].router.latency_s", ROUTED, "0.01", "requests"),
    leaf(f"{COMBINE}[union].kind", UNION, "single", "refused"),
    leaf(f"{COMBINE}[union].survival", UNION, "{all: [0.8, 0.7]}", "requests"),
    leaf(f"{COMBINE}[union].recursive_rejection.correlation", LAW, "0.1", "requests"),
    leaf(f"{COMBINE}[union].recursive_rejection.order", LAW, "[e, d]", "requests"),
    leaf(f"{IT}speculation[drafts].streams[series].kind", UNION, "parallel", "refused"),
    leaf(f"{IT}speculation[drafts].streams[parallel].kind", STREAMS, "series", "refused"),
    leaf(f"{IT}speculation[drafts].streams[parallel].contention", STREAMS, "0.9", "requests"),
    leaf(f"{PLACED}[colocated].kind", SPEC, "dedicated", "refused"),
    leaf(f"{PLACED}[dedicated].kind", OWN_GPUS, "colocated", "refused"),
    leaf(f"{PLACED}[dedicated].gpus", OWN_GPUS, "2", "requests"),
    leaf(f"{PLACED}[dedicated].gpu", OTHER_GPUS, "b300-sxm", "requests"),
    leaf(f"{PLACED}[dedicated].price[float]", OTHER_GPUS, "7", "study"),
    leaf(f"{PLACED}[dedicated].price[Price].usd_per_gpu_hour", PRICED_GPUS, "7", "study"),
    leaf(f"{PLACED}[dedicated].price[Price].basis", PRICED_GPUS, "spot", "provenance"),
    leaf(f"{PLACED}[dedicated].price[Price].source", PRICED_GPUS, "a talk", "provenance"),
    leaf(f"{PLACED}[dedicated].price[Price].as_of", PRICED_GPUS, "2026-10-01", "provenance"),
    leaf(f"{PLACED}[dedicated].price[CatalogPrice].catalog", LISTED_GPUS, "runpod-on-demand", "study"),
    leaf(f"{PLACED}[dedicated].shared_by", OWN_GPUS, "2", "requests"),
    leaf(f"{PLACED}[dedicated].link", OWN_GPUS, "internode", "requests"),
    leaf(f"{PLACED}[dedicated].payload", OWN_GPUS, "probabilities", "requests"),
    leaf(f"{PLACED}[dedicated].overlap[none].kind", OWN_GPUS, "draft_ahead", "refused"),
    leaf(f"{PLACED}[dedicated].overlap[draft_ahead].kind", AHEAD, "none", "refused"),
    leaf(f"{PLACED}[dedicated].overlap[draft_ahead].hit", AHEAD, "0.9", "requests"),
    leaf(f"{PLACED}[dedicated].overlap[draft_ahead].bonus_guess", GUESSED, "0.9", "requests"),
    leaf(f"{PLACED}[dedicated].overlap[draft_ahead].outcomes", GUESSED, "3", "requests"),
    leaf(f"{POLICY}[fixed].kind", SPEC, "goodput", "requests"),
    leaf(f"{POLICY}[by_batch].kind", BANDS, "fixed", "refused"),
    leaf(f"{POLICY}[by_batch].schedule", BANDS, "[[1, 4096, 1]]", "requests"),
    leaf(f"{POLICY}[per_request].kind", LATELY, "goodput", "refused"),
    leaf(f"{POLICY}[per_request].candidates", LATELY, "[0, 2]", "requests"),
    leaf(f"{POLICY}[per_request].ema", LATELY, "0.9", "requests"),
    leaf(f"{POLICY}[per_request].every_steps", LATELY, "1", "requests"),
    leaf(f"{POLICY}[per_request].warm_up_steps", LATELY, "20", "requests"),
    leaf(f"{POLICY}[per_request].up_margin", LATELY, "1", "requests"),
    leaf(f"{POLICY}[per_request].down_margin", LATELY, "1", "requests"),
    leaf(f"{POLICY}[goodput].kind", GOODPUT, "fixed", "requests"),
]
