"""Every leaf of the scenario schema: what stands around it, a new value, and the output that the value must change.

A leaf is named by its place; `[kind]` is the branch of a union that it is in, `*` a name of the user's own.
"""

from typing import NamedTuple

ROOT = ""
IT = "deployments.*."
AT = "workload.arrivals"
LONG = "workload.lengths"

QUEUE = ("deployments.it.engine.max_num_seqs=2",)
UNEVEN = ("workload.lengths={kind: uniform, prompt_tokens: [20, 900], output_tokens: [5, 60]}",)
TWO = ("deployments.it.replicas=2",)
CLASSES = ("workload.classes={a: 0.5, b: 0.5}",)
RANKED = (*CLASSES, *QUEUE, *UNEVEN, "workload.priorities={a: 1}", "deployments.it.engine.scheduler=priority")
TIGHT = (
    "workload.lengths={kind: fixed, prompt_tokens: 200, output_tokens: 600}",
    "deployments.it.engine.max_model_len=1024",
    "deployments.it.engine.hbm_budget_gb=21.6",
    "workload.arrivals.rate_per_s=60",
)
HOST = ("deployments.it.engine.kv_host_gb=9",)
MOE = ("deployments.it.target={model: qwen3-30b-a3b, weights: bf16, tensor_parallel: 2}",)
TINY = ("deployments.it.target.model=llama-3.2-1b",)
FP8 = ("deployments.it.target.weights=fp8",)
BURSTY = ("workload.arrivals={kind: bursty, rate_per_s: 8, burst_factor: 2, on_s: 1, off_s: 3}",)
GAMMA = ("workload.arrivals={kind: gamma, rate_per_s: 8, cv: 2}",)
DAY = ("workload.arrivals={kind: diurnal, rate_per_s: 8, period_s: 5, peak_to_mean: 1.5}",)
PROFILE = ("workload.arrivals={kind: diurnal, rate_per_s: 8, period_s: 5, profile: [1, 3]}",)
STEPS = ("workload.arrivals={kind: diurnal, rate_per_s: 8, period_s: 5, steps: [[1, 2], [3, 1]]}",)
CLIENTS = ("workload.arrivals={kind: closed_loop, concurrency: 3}", "slo=null")
AT_ONCE = ("workload.arrivals={kind: queued_at_once}", "slo=null")
TRACE = ("workload.arrivals={kind: trace, file: TRACE}", "workload.lengths={kind: trace}")
WINDOW = ("workload.arrivals={kind: trace, file: TRACE, window: {start_s: 1, end_s: 4}}", TRACE[1])
TURNS = (*UNEVEN, "workload.prefix={turns: 3, think_time_s: 1}")
SHARED = ("workload.prefix={shared_tokens: 500}",)
LAWS = ("workload.lengths={kind: lognormal, prompt_tokens: {mean: 300, p95: 700}, output_tokens: {mean: 40, p95: 90}}",)
TABLE = ("workload.lengths={kind: empirical, table: azure-conv-2023}",)
QUANTILES = ("workload.lengths={kind: quantiles, prompt_tokens: [9, 99], output_tokens: [[9, 50]]}",)
PRICED = ("deployments.it.price={usd_per_gpu_hour: 3, basis: spot, source: a talk, as_of: 2026-01-31}",)
LISTED = ("deployments.it.price={catalog: nebius-on-demand}",)
WAIT = ("deployments.it.engine.batch_wait={steps: 50, budget_share: 0.9}", "workload.arrivals.rate_per_s=30")


class Leaf(NamedTuple):
    """A leaf, how to reach it, and what to change."""

    place: str
    given: tuple[str, ...]
    """Sets that are there before."""
    new: str
    """Set that changes the leaf."""
    output: str
    """What must change; `refused`: the new value is."""


def leaf(place: str, given: tuple[str, ...], value: str, output: str, at: str = "") -> Leaf:
    """A leaf; at: where to set the value, by default the place itself."""
    path = at or place.replace("deployments.*", "deployments.it").replace("drafts.*", "drafts.d").replace(".*", ".all")
    while "[" in path:
        path = path[: path.index("[")] + path[path.index("]") + 1 :]
    return Leaf(place, given, f"{path}={value}", output)


FILE = [
    leaf("schema_version", (), "2", "refused"),
    leaf("name", (), "other", "study"),
    leaf("description", (), "Why?", "file"),
    leaf("seed", (), "8", "requests"),
    leaf("replications", (), "2", "study"),
    leaf("slo.ttft_s", (), "{p95: 0.001}", "estimate"),
    leaf("slo.tpot_s", (), "{p95: 0.001}", "estimate"),
    leaf("slo.itl_s", (), "{p95: 0.001}", "study"),
    leaf("slo.e2e_s", (), "{p95: 0.01}", "study"),
]

ARRIVALS = [
    leaf(f"{AT}[poisson].kind", (), "constant", "requests"),
    leaf(f"{AT}[poisson].rate_per_s", (), "9", "requests"),
    leaf(f"{AT}[constant].kind", ("workload.arrivals.kind=constant",), "poisson", "requests"),
    leaf(f"{AT}[constant].rate_per_s", ("workload.arrivals.kind=constant",), "9", "requests"),
    leaf(f"{AT}[gamma].kind", GAMMA, "poisson", "refused"),
    leaf(f"{AT}[gamma].rate_per_s", GAMMA, "9", "requests"),
    leaf(f"{AT}[gamma].cv", GAMMA, "3", "requests"),
    leaf(f"{AT}[bursty].kind", BURSTY, "poisson", "refused"),
    leaf(f"{AT}[bursty].rate_per_s", BURSTY, "9", "requests"),
    leaf(f"{AT}[bursty].burst_factor", BURSTY, "3", "requests"),
    leaf(f"{AT}[bursty].on_s", BURSTY, "2", "requests"),
    leaf(f"{AT}[bursty].off_s", BURSTY, "2", "requests"),
    leaf(f"{AT}[diurnal].kind", DAY, "poisson", "refused"),
    leaf(f"{AT}[diurnal].rate_per_s", DAY, "9", "requests"),
    leaf(f"{AT}[diurnal].period_s", DAY, "4", "requests"),
    leaf(f"{AT}[diurnal].peak_to_mean", DAY, "1.2", "requests"),
    leaf(f"{AT}[diurnal].profile", PROFILE, "[3, 1]", "requests"),
    leaf(f"{AT}[diurnal].steps", STEPS, "[[2, 2], [3, 1]]", "requests"),
    leaf(f"{AT}[diurnal].cv", DAY, "2", "requests"),
    leaf(f"{AT}[closed_loop].kind", CLIENTS, "queued_at_once", "refused"),
    leaf(f"{AT}[closed_loop].concurrency", CLIENTS, "2", "requests"),
    leaf(f"{AT}[queued_at_once].kind", AT_ONCE, "{kind: poisson, rate_per_s: 8}", "requests", AT),
    leaf(f"{AT}[trace].kind", TRACE, "poisson", "refused"),
    leaf(f"{AT}[trace].file", TRACE, "OTHER_TRACE", "requests"),
    leaf(f"{AT}[trace].time_scale", TRACE, "2", "requests"),
    leaf(f"{AT}[trace].rate_scale", TRACE, "2", "requests"),
    leaf(f"{AT}[trace].window.start_s", WINDOW, "2", "requests"),
    leaf(f"{AT}[trace].window.end_s", WINDOW, "3", "requests"),
    leaf(f"{AT}[trace].limit", TRACE, "20", "requests"),
]

LENGTHS = [
    leaf(f"{LONG}[fixed].kind", (), "lognormal", "refused"),
    leaf(f"{LONG}[fixed].prompt_tokens", (), "400", "requests"),
    leaf(f"{LONG}[fixed].output_tokens", (), "50", "requests"),
    leaf(f"{LONG}[uniform].kind", UNEVEN, "fixed", "refused"),
    leaf(f"{LONG}[uniform].prompt_tokens", UNEVEN, "[30, 900]", "requests"),
    leaf(f"{LONG}[uniform].output_tokens", UNEVEN, "[9, 60]", "requests"),
    leaf(f"{LONG}[lognormal].kind", LAWS, "fixed", "refused"),
    leaf(f"{LONG}[lognormal].prompt_tokens.mean", LAWS, "400", "requests"),
    leaf(f"{LONG}[lognormal].prompt_tokens.p95", LAWS, "800", "requests"),
    leaf(f"{LONG}[lognormal].output_tokens.mean", LAWS, "50", "requests"),
    leaf(f"{LONG}[lognormal].output_tokens.p95", LAWS, "99", "requests"),
    leaf(f"{LONG}[empirical].kind", TABLE, "fixed", "refused"),
    leaf(f"{LONG}[empirical].table", TABLE, "azure-code-2023", "requests"),
    leaf(f"{LONG}[quantiles].kind", QUANTILES, "fixed", "refused"),
    leaf(f"{LONG}[quantiles].prompt_tokens", QUANTILES, "[9, 200]", "requests"),
    leaf(f"{LONG}[quantiles].output_tokens", QUANTILES, "[[9, 60]]", "requests"),
    leaf(f"{LONG}[trace].kind", TRACE, "{kind: fixed, prompt_tokens: 9, output_tokens: 9}", "requests", LONG),
]

WORKLOAD = [
    leaf("workload.classes", CLASSES, "{a: 0.9, b: 0.1}", "requests"),
    leaf("workload.prefix.shared_tokens", (), "500", "requests"),
    leaf("workload.prefix.turns", TURNS, "4", "requests"),
    leaf("workload.prefix.think_time_s", TURNS, "2", "requests"),
    leaf("workload.max_output_tokens", (), "20", "requests"),
    leaf("workload.priorities", RANKED, "{b: 1}", "requests"),
    leaf("workload.horizon.requests", (), "81", "requests"),
    leaf("workload.horizon.warmup_requests", (), "20", "study"),
]

DEPLOYMENT = [
    leaf(f"{IT}gpu", (), "b200-sxm", "requests"),
    leaf(f"{IT}replicas", (), "2", "requests"),
    leaf(f"{IT}router.kind", (*TWO, *UNEVEN), "round_robin", "requests"),
    leaf(f"{IT}price[float]", (), "4", "estimate"),
    leaf(f"{IT}price[Price].usd_per_gpu_hour", PRICED, "4", "estimate"),
    leaf(f"{IT}price[Price].basis", PRICED, "reserved", "provenance"),
    leaf(f"{IT}price[Price].source", PRICED, "a letter", "provenance"),
    leaf(f"{IT}price[Price].as_of", PRICED, "2026-02-01", "provenance"),
    leaf(f"{IT}price[CatalogPrice].catalog", LISTED, "gcp-on-demand", "estimate"),
    leaf(f"{IT}target.model", (), "qwen3-8b", "requests"),
    leaf(f"{IT}target.weights", (), "fp8", "requests"),
    leaf(f"{IT}target.kv", (), "fp8", "memory"),
    leaf(f"{IT}target.unquantised", FP8, "[attention]", "memory"),
    leaf(f"{IT}target.tensor_parallel", (), "2", "requests"),
    leaf(f"{IT}target.data_parallel", MOE, "2", "memory"),
    leaf(f"{IT}target.expert_parallel", MOE, "2", "requests"),
]

ENGINE = [
    leaf(f"{IT}engine.policy", (), "trtllm", "requests"),
    leaf(f"{IT}engine.max_model_len", (), "310", "requests"),
    leaf(f"{IT}engine.max_num_seqs", (), "2", "requests"),
    leaf(f"{IT}engine.max_num_batched_tokens", (), "64", "requests"),
    leaf(f"{IT}engine.kv_block_tokens", (), "64", "memory"),
    leaf(f"{IT}engine.memory_fraction", (), "0.5", "memory"),
    leaf(f"{IT}engine.hbm_budget_gb", (), "50", "memory"),
    leaf(f"{IT}engine.kv_host_gb", HOST, "1", "memory"),
    leaf(f"{IT}engine.kv_host_link", HOST, "internode", "requests"),
    leaf(f"{IT}engine.scheduler", (*QUEUE, *UNEVEN), "shortest_prompt", "requests"),
    leaf(f"{IT}engine.prefix_cache", (*SHARED, "deployments.it.engine.prefix_cache=true"), "false", "requests"),
    leaf(f"{IT}engine.admission", TIGHT, "no_eviction", "requests"),
    leaf(f"{IT}engine.preemption", TIGHT, "swap", "requests"),
    leaf(f"{IT}engine.batch_wait.steps", WAIT, "2", "requests"),
    leaf(f"{IT}engine.batch_wait.budget_share", WAIT, "0.01", "requests"),
    leaf(f"{IT}engine.cuda_graph_max_tokens", TINY, "0", "requests"),
]

LEAVES = [*FILE, *ARRIVALS, *LENGTHS, *WORKLOAD, *DEPLOYMENT, *ENGINE]
