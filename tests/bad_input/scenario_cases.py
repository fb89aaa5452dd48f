"""Mistakes in a scenario file, one of each kind."""

from tests.bad_input.cases import ARRIVALS, LENGTHS, scenario

PRICE = "price: {catalog: nebius-on-demand}"
TARGET = "target: {model: llama-3.1-8b, weights: bf16}"
CLASSES = "classes: {code: 0.5, prose: 0.5}"
CODE = "code: {survival: [0.8, 0.6]}"
PROSE = "prose: {histogram: {0: 3, 1: 4, 2: 5}}"
LENGTH = "max_model_len: 8192"

KEYS = [
    scenario("key-of-the-file", "seed: 7", "seeed: 7", "seeed: unknown key; nearest: seed"),
    scenario("key-of-the-workload", "classes:", "clases:", "workload.clases: unknown key; nearest: classes"),
    scenario(
        "key-of-arrivals",
        ARRIVALS,
        "{kind: poisson, qps: 4}",
        "arrivals.qps: unknown key; here it is called rate_per_s",
    ),
    scenario("key-of-the-slo", "ttft_s", "ttft", "slo.ttft: unknown key; nearest: ttft_s"),
    scenario("key-in-milliseconds", "ttft_s: {p95: 1.0}", "ttft_ms: {p95: 900}", "nearest: ttft_s, in seconds"),
    scenario(
        "statistic-of-the-slo", "p95: 1.0", "p96: 1.0", "slo.ttft_s.p96: unknown key", "known: p50, p90, p95, p99"
    ),
    scenario("key-of-a-deployment", "replicas: 1", "replica: 1", "plain.replica: unknown key; nearest: replicas"),
    scenario(
        "key-of-the-target",
        TARGET,
        f"{TARGET[:-1]}, tp: 2}}",
        "target.tp: unknown key; here it is called tensor_parallel",
    ),
    scenario(
        "key-that-stands-elsewhere",
        "replicas: 1",
        "replicas: 1\n    tensor_parallel: 2",
        "plain.tensor_parallel: unknown key here; tensor_parallel stands in deployments.*.target",
        at="tensor_parallel",
    ),
    scenario(
        "key-of-an-engine",
        LENGTH,
        "gpu_memory_utilization: 0.9",
        "gpu_memory_utilization: unknown key; nearest: memory_fraction",
    ),
    scenario("key-of-acceptance", "survival", "survivals", "code.survivals: unknown key; nearest: survival"),
    scenario(
        "one-rate-for-acceptance",
        "{survival: [0.8, 0.6]}",
        "{acceptance_rate: 0.7}",
        "code.acceptance_rate: unknown key; one rate does not say how acceptance falls with position; give survival",
    ),
    scenario("key-of-propose", "draft_tokens: 2", "k: 2", "propose.k: unknown key; here it is called draft_tokens"),
    scenario(
        "key-of-another-kind",
        "{survival: [0.8, 0.6]}",
        "{survival: [0.8, 0.6], at: 2}",
        "code: tokens_per_step and at belong together",
    ),
    scenario(
        "price-said-twice",
        PRICE,
        "price: {catalog: nebius-on-demand, usd_per_gpu_hour: 3}",
        "price.usd_per_gpu_hour: does not go with the other keys here; known: catalog",
    ),
    scenario(
        "acceptance-said-twice",
        "survival: [0.8, 0.6]",
        "survival: [0.8, 0.6], tokens_per_step: 2, at: 2",
        "give exactly one of survival, tokens_per_step (with at), histogram, preset; got survival, tokens_per_step",
    ),
    scenario(
        "key-twice", "seed: 7", "seed: 7\nseed: 8", "seed: duplicate key; it stands in line 4 already", at="seed: 8"
    ),
    scenario("acceptance-missing", f"            {PROSE}\n", "", "no acceptance for class prose: name the", at="spec:"),
    scenario("price-missing", f"    {PRICE}\n", "", "there is no default price; write USD", at="plain:"),
    scenario("model-missing", "model: llama-3.1-8b, ", "", "plain.target.model: missing: A model of", at="target:"),
]

VALUES = [
    scenario("quoted-number", "rate_per_s: 4", 'rate_per_s: "4"', "'4'", "write 4 without quotes"),
    scenario("number-with-unit", "p95: 1.0", "p95: 900ms", "'900ms'", "write 0.9: times are in seconds"),
    scenario("number-with-k", LENGTH, "max_model_len: 8k", "'8k'", "write 8000 (or 8192)"),
    scenario("per-cent", LENGTH, "memory_fraction: 90%", "'90%'", "write 0.9: a share lies between 0 and 1"),
    scenario("per-cent-as-number", LENGTH, "memory_fraction: 90", "memory_fraction: 90", "90 % is written 0.9"),
    scenario("dollars", PRICE, "price: $3.50", "plain.price: '$3.50'", "write 3.50 without $"),
    scenario("decimal-comma", PRICE, "price: 3,50", "'3,50'", "write 3.50: decimals have a point"),
    scenario("comma-in-braces", "rate_per_s: 4", "rate_per_s: 4,5", "a comma begins the next entry"),
    scenario("yes-is-no-flag", LENGTH, "prefix_cache: yes", "'yes'", "here only true and false are truth values"),
    scenario("name-is-a-date", "name: chat", "name: 2026-01-01", 'put it in quotes: "2026-01-01"'),
    scenario("day-in-words", PRICE, "price: {usd_per_gpu_hour: 3, source: x, as_of: today}", "written as 2026-01-31"),
    scenario(
        "no-such-day", PRICE, "price: {usd_per_gpu_hour: 3, source: x, as_of: 2026-02-30}", "2026-02-30: no such day"
    ),
    scenario("quoted-version", "schema_version: 1", 'schema_version: "1"', "'1': write 1 without quotes"),
    scenario("negative", "p95: 1.0", "p95: -1", "slo.ttft_s.p95: -1: Input should be greater than 0"),
    scenario("zero", "replicas: 1", "replicas: 0", "replicas: 0: Input should be greater than or equal to 1"),
    scenario("huge-rate", "rate_per_s: 4", "rate_per_s: 1e15", "rate_per_s: 1", "less than or equal to 1000000"),
    scenario("huge-cluster", "replicas: 1", "replicas: 1000000000", "1000000000", "less than or equal to 10000"),
    scenario("not-a-number", "rate_per_s: 4", "rate_per_s: .nan", ".nan: a scenario takes finite numbers only"),
    scenario("too-large-a-number", "rate_per_s: 4", "rate_per_s: 1e999", "1e999: the number is too large"),
    scenario("not-whole", "requests: 100", "requests: 1e5", "100000.0", "write 100000"),
    scenario("half-a-replica", "replicas: 1", "replicas: 1.5", "1.5", "a whole number is needed"),
    scenario("nothing-after-the-key", "replicas: 1", "replicas:", "null", "nothing stands after the key"),
    scenario(
        "list-for-mapping", CLASSES, "classes: [code, prose]", "['code', 'prose']: a mapping is needed", "Share of"
    ),
    scenario("number-for-mapping", "ttft_s: {p95: 1.0}", "ttft_s: 1.0", "1.0: a mapping is needed of p50, p90"),
    scenario(
        "number-for-list", "[0.8, 0.6]", "0.8", "code.survival: 0.8: Input should be a valid list", "position 1, 2"
    ),
    scenario("shares-not-one", "prose: 0.5", "prose: 0.4", "the shares of the classes sum to 0.9", at="workload:"),
    scenario("shares-in-per-cent", CLASSES, "classes: {code: 1, prose: 60}", "prose: 60", "60 % is written 0.6"),
    scenario("warm-up-takes-all", "warmup_requests: 10", "warmup_requests: 100", "(100) must be below requests (100)"),
    scenario("survival-rises", "[0.8, 0.6]", "[0.6, 0.8]", "survival never rises", "0.6 → 0.8"),
    scenario(
        "range-upside-down", LENGTHS, "{kind: uniform, prompt_tokens: [9, 3], output_tokens: [1, 2]}", "not [9, 3]"
    ),
    scenario(
        "impossible-law",
        LENGTHS,
        "{kind: lognormal, prompt_tokens: {mean: 800, p95: 700}, output_tokens: {mean: 3, p95: 4}}",
        "no log-normal law has mean 800 and p95 700",
        "between 1 and 3.8",
    ),
]

NAMES = [
    scenario("gpu-unknown", "h200-sxm", "h200", "no GPU 'h200' in the catalog; nearest: h200-sxm"),
    scenario("model-by-its-hub-name", "llama-3.1-8b", "meta-llama/Llama-3.1-8B", "no model", "nearest: llama-3.1-8b"),
    scenario("policy-unknown", "policy: vllm", "policy: tgi", "no engine policy 'tgi' in the catalog; known: sglang"),
    scenario("price-list-bare", PRICE, "price: nebius-on-demand", "write {catalog: nebius-on-demand}"),
    scenario(
        "price-list-without-the-gpu", "h200-sxm", "gb200", "has no price of GPU 'gb200'", "number of USD", at=PRICE
    ),
    scenario("table-unknown", "azure-conv-2023", "azure-2023", "no length table 'azure-2023'", "nearest: azure-co"),
    scenario("kind-unknown", ARRIVALS, "{kind: Poisson, rate_per_s: 4}", "'Poisson': unknown kind; nearest: poisson"),
]

IMPOSSIBLE = [
    scenario(
        "split-of-heads", "weights: bf16", "weights: bf16, tensor_parallel: 3", "3 does not divide the 32 attention"
    ),
    scenario(
        "experts-of-a-dense-model",
        "weights: bf16",
        "weights: bf16, tensor_parallel: 2, expert_parallel: 2",
        "llama-3.1-8b is dense; leave it at 1",
    ),
    scenario(
        "draft-wider-than-target",
        "model: llama-3.2-1b",
        "model: llama-3.2-1b\n          tensor_parallel: 2",
        "the draft's tensor_parallel 2 is above the target's 1",
        at="spec:",
    ),
    scenario("longer-than-the-model", LENGTH, "max_model_len: 1000000", "1,000,000 is above the 131,072 positions of"),
    scenario(
        "more-drafts-than-are-drafted",
        "survival: [0.8, 0.6]",
        "survival: [0.5], drafted: {0: 1, 1: 1}",
        "2, but drafted goes up to 1 tokens",
        "at most 1",
        at="propose:",
    ),
    scenario(
        "budget-below-a-sequence", LENGTH, "max_num_batched_tokens: 2", "2: a step verifies 3 tokens", "at least 3"
    ),
    scenario(
        "prompts-that-never-fit",
        LENGTHS,
        "{kind: fixed, prompt_tokens: 20000, output_tokens: 9}",
        "8,192",
        "shortest prompts have 20,000 tokens",
        "raise max_model_len above 20,000",
        at=LENGTH,
    ),
    scenario(
        "a-day-in-a-minute",
        ARRIVALS,
        "{kind: diurnal, rate_per_s: 4, period_s: 86400, peak_to_mean: 2}",
        "covers 25 s of the period of 86400 s",
        "at least 345600 requests",
        at="workload:",
    ),
]

NOT_MODELLED = [
    scenario("eagle", "kind: drafts", "kind: eagle3", "write kind: heads, and in the draft head: {method: eagle3}"),
    scenario(
        "disaggregation",
        "replicas: 1",
        "replicas: 1\n    disaggregation: true",
        "prefill/decode disaggregation is not modelled",
        at="disaggregation",
    ),
    scenario("mig", "h200-sxm", "h200-mig-3g", "MIG is not modelled: a replica owns whole GPUs"),
]

FILE_KEYS = [
    scenario("sweep-of-one-value", "seed: 7", "seed: 7\nsweep: {seed: 4}", "a list of at least one", at="sweep"),
    scenario(
        "sweep-of-no-place",
        "seed: 7",
        "seed: 7\nsweep: {arrivals.rate_per_s: [4, 8]}",
        "sweep.arrivals.rate_per_s: no such place in the scenario; nearest: workload.arrivals.rate_per_s",
        at="sweep",
    ),
    scenario(
        "plan-that-is-run",
        "seed: 7",
        "seed: 7\nplan: {}",
        "plan: this file asks for a plan: `specfleet plan chat.yaml`",
        at="plan",
    ),
    scenario(
        "plan-of-no-place",
        "seed: 7",
        "seed: 7\nplan: {vary: {target.tensor_paralel: [1, 2]}}",
        "plan.vary.target.tensor_paralel: no deployment has this place; nearest: target.tensor_parallel",
        at="plan",
        command="plan",
    ),
    scenario("extends-unknown", "extends: plain", "extends: plane", "no deployment 'plane'", "nearest: plain"),
    scenario("extends-itself", "extends: plain", "extends: spec", "a circle: spec → spec", at="spec:"),
    scenario(
        "assert-of-no-result",
        "seed: 7",
        "seed: 7\nassert: [plain.tpot.p95 < 1]",
        "assert.0: no result 'tpot' in a row; nearest: tpot_s",
        at="assert",
    ),
    scenario(
        "assert-of-no-deployment",
        "seed: 7",
        "seed: 7\nassert: [plan.tpot_s.p95 < 1]",
        "assert.0: no deployment 'plan'; nearest: plain",
        at="assert",
    ),
    scenario("assert-without-sign", "seed: 7", "seed: 7\nassert: [plain is fast]", "one of < <= > >= ==", at="assert"),
]

YAML = [
    scenario("tab", "  plain:", "\tplain:", "not YAML", "indent with spaces, not with tabs"),
    scenario("colon-in-a-text", "Does a draft pay?", "Q: a draft?", "put a text that holds a colon in quotes"),
    scenario("anchor", "gpu: h200-sxm", "gpu: &gpu h200-sxm", "&gpu: anchors and aliases are refused", "extends"),
    scenario("open-brace", LENGTH + "}", LENGTH, "not YAML", at="spec:"),
]

SCENARIOS = [*KEYS, *VALUES, *NAMES, *IMPOSSIBLE, *NOT_MODELLED, *FILE_KEYS, *YAML]
