"""Every way to get a scenario file wrong is answered with its place, the value and the way out."""

import pytest

from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, edited, line_of, load_text

PRICE = "price: {catalog: nebius-on-demand}"
ENGINE = "engine: {policy: vllm, max_model_len: 8192}"
ARRIVALS = "{kind: poisson, rate_per_s: 4}"
CODE = "code: {survival: [0.8, 0.6]}"
CHAIN = "{shape: chain, draft_tokens: 2}"
LENGTHS = "{kind: empirical, table: azure-conv-2023}"
HORIZON = "horizon: {requests: 100, warmup_requests: 10}"
TARGET = "target: {model: llama-3.1-8b, weights: bf16}"
POOL = "placement: {kind: dedicated, gpus: 1, link: pcie, shared_by: 2}"

REFUSED = [
    # unknown keys, nearest first
    ("gpu: h200-sxm", "gpuu: h200-sxm", "deployments.plain.gpuu: unknown key; nearest: gpu"),
    ("seed: 7", "seed: 7\nsead: 8", "sead: unknown key; nearest: seed"),
    ("rate_per_s", "rate", "workload.arrivals.rate: unknown key; nearest: rate_per_s"),
    (
        ENGINE,
        "engine: {policy: vllm, max_seqs: 3}",
        "deployments.plain.engine.max_seqs: unknown key; nearest: max_num_seqs",
    ),
    ("seed: 7", "seed: 7\nzzz: 8", "zzz: unknown key; known: schema_version, name"),
    ("replicas: 1", "replicas: 1\n    sweep: {}", "deployments.plain.sweep: unknown key here; sweep stands at the top"),
    ("seed: 7", "seed: 7\nextends: x", "extends: unknown key here; extends stands directly in a deployment"),
    ("p95: 1.0", "p96: 1.0", "slo.ttft_s.p96: unknown key; nearest: p9"),
    # missing keys, with the way out
    ("seed: 7\n", "", "seed: missing: a whole number"),
    ("schema_version: 1\n", "", "schema_version: missing: write `schema_version: 1`"),
    (PRICE, "#", "deployments.plain.price: missing: there is no default price"),
    (CODE, "code: {}", "give exactly one of survival, tokens_per_step (with at), histogram"),
    ("replicas: 1", "#", "deployments.plain.replicas: missing: Instances of the target."),
    # values
    ("schema_version: 1", "schema_version: 2", "schema_version: 2: not one of the known values; known: 1"),
    ("replicas: 1", "replicas: -1", "deployments.plain.replicas: -1: Input should be greater than or equal to 1"),
    ("replicas: 1", "replicas: 1.0", "1.0: Input should be a valid integer; write 1"),
    ("replicas: 1", "replicas: on", "on, off, yes and no are text"),
    ("replicas: 1", "replicas: true", "true: Input should be a valid integer"),
    ("replicas: 1", "replicas: '2'", "'2': Input should be a valid integer; write 2 without quotes"),
    ("requests: 100", "requests: 1_000", "'1_000': Input should be a valid integer; write 1000 without"),
    ("replicas: 1", "replicas:", "null: Input should be a valid integer; nothing stands after the key"),
    ("name: chat", "name: my chat", "name: 'my chat': a name has letters, digits"),
    ("name: chat", "name: 12", 'name: 12: Input should be a valid string; put it in quotes: "12"'),
    ("rate_per_s: 4", "rate_per_s: 0", "workload.arrivals.rate_per_s: 0: Input should be greater than 0"),
    ("rate_per_s: 4", "rate_per_s: fast", "'fast': Input should be a valid number"),
    (
        "weights: bf16",
        "weights: fp4",
        "deployments.plain.target.weights: 'fp4': not one of the known values; nearest: nvfp4",
    ),
    ("max_model_len: 8192", "memory_fraction: 90", "memory_fraction: 90: Input should be less than or equal to 1"),
    (PRICE, "price: cheap", "deployments.plain.price: 'cheap': Input should be a valid number"),
    (PRICE, "price: {usd_per_gpu_hour: 3}", "deployments.plain.price.source: missing: Where the price was read."),
    (PRICE, "price: {catalog: 3}", "deployments.plain.price.catalog: 3: Input should be a valid string"),
    (
        "warmup_requests: 10",
        "warmup_requests: 100",
        "workload.horizon: warmup_requests (100) must be below requests (100)",
    ),
    ("prose: 0.5", "prose: 0.4", "workload: the shares of the classes sum to 0.9, not to 1"),
    ("[0.8, 0.6]", "[0.6, 0.8]", "survival never rises from one position to the next"),
    ("[0.8, 0.6]", "0.8", "acceptance.code.survival: 0.8: Input should be a valid list"),
    ("histogram: {0: 3", "histogram: {zero: 3", "histogram.zero: 'zero': Input should be a valid integer"),
    (CODE, "#", "deployments.spec: the draft has no acceptance for class code: name the class or `all`"),
    (
        CODE,
        f"{CODE}\n            math: {{survival: [0.5]}}",
        "acceptance for class math, which the workload does not have",
    ),
    (
        "model: llama-3.2-1b",
        "weights: fp8",
        "a draft is given in exactly one way of model, abstract, measured, head, ngram, moe_subset; got none",
    ),
    # shapes
    ("slo:\n  ttft_s: {p95: 1.0}", "slo: 3", "slo: 3: a mapping is needed of ttft_s, tpot_s, itl_s, e2e_s"),
    (ARRIVALS, "poisson", "workload.arrivals: 'poisson': a mapping is needed"),
    (
        TARGET,
        "target: [llama-3.1-8b]",
        "deployments.plain.target: ['llama-3.1-8b']: a mapping is needed of model, weights",
    ),
    ("gpu: h200-sxm", "gpu: [h200-sxm]", "deployments.plain.gpu: ['h200-sxm']: Input should be a valid string"),
    # kinds
    (
        ARRIVALS,
        "{kind: poison, rate_per_s: 4}",
        "workload.arrivals.kind: 'poison': unknown kind; nearest: poisson; known: poisson",
    ),
    (ARRIVALS, "{rate_per_s: 4}", "workload.arrivals: kind is missing; known: poisson, constant, gamma"),
    (LENGTHS, "{kind: normal}", "workload.lengths.kind: 'normal': unknown kind; nearest: lognormal"),
    ("replicas: 1", "replicas: 1\n    router: {kind: random}", "deployments.plain.router.kind: 'random': not one of"),
    # names of the catalog
    ("gpu: h200-sxm", "gpu: h200", "deployments.plain.gpu: no GPU 'h200' in the catalog; nearest: h200-sxm"),
    ("model: llama-3.1-8b", "model: llama-3.1-8", "no model 'llama-3.1-8' in the catalog; nearest: llama-3.1-8b"),
    ("model: llama-3.2-1b", "model: llama-3.2-1", "spec.speculation.drafts.small.model: no model 'llama-3.2-1'"),
    (
        "policy: vllm",
        "policy: vlm",
        "deployments.plain.engine.policy: no engine policy 'vlm' in the catalog; nearest: vllm",
    ),
    (
        "nebius-on-demand",
        "nebius-on-demnd",
        "no price list 'nebius-on-demnd' in the catalog; nearest: nebius-on-demand",
    ),
    ("azure-conv-2023", "azure-conv", "no length table 'azure-conv' in the catalog; nearest: azure-conv-2023"),
    (CODE, "code: {preset: kimi-k3}", "no acceptance preset 'kimi-k3' in the catalog; "),
    (
        CODE,
        "code: {survival: [0.8, 0.0], drafted: {0: 1, 1: 9}}",
        "draft_tokens: 2, but drafted goes up to 1 tokens, that of class code: propose at most 1",
    ),
    ("gpu: h200-sxm", "gpu: gb200", "price list 'nebius-on-demand' has no price of GPU 'gb200'; it prices: b200-sxm"),
    # extends
    ("extends: plain", "extends: plan", "deployments.spec.extends: no deployment 'plan' in this file; nearest: plain"),
    ("extends: plain", "extends: spec", "deployments.spec.extends: a circle: spec → spec"),
    (
        "extends: plain",
        "extends: [plain]",
        "deployments.spec.extends: the name of one deployment of this file is needed",
    ),
    # traces
    (ARRIVALS, "{kind: trace, file: no.csv}", "workload.arrivals.file: 'no.csv': no such trace; looked for"),
    (LENGTHS, "{kind: trace}", "lengths of kind trace need arrivals of kind trace"),
    # arrivals
    (ARRIVALS, "{kind: gamma, rate_per_s: 4}", "workload.arrivals.cv: missing: Standard deviation of the gaps"),
    (
        ARRIVALS,
        "{kind: bursty, rate_per_s: 4, burst_factor: 5, on_s: 10, off_s: 30}",
        "workload.arrivals: burst_factor 5: bursts that take 0.25 of the time bring at most 4 times the mean rate",
    ),
    (ARRIVALS, "{kind: diurnal, rate_per_s: 4, period_s: 20}", "need one of peak_to_mean (a sine wave), profile"),
    (
        ARRIVALS,
        "{kind: diurnal, rate_per_s: 4, period_s: 20, profile: [0, 0]}",
        "all weights of the pattern are 0, so nothing ever arrives",
    ),
    (
        ARRIVALS,
        "{kind: diurnal, rate_per_s: 4, period_s: 86400, peak_to_mean: 2}",
        "workload: the horizon of 100 requests covers 25 s of the period of 86400 s, and may miss the peak: ask for at "
        "least 345600 requests",
    ),
    (
        ARRIVALS,
        "{kind: trace, file: x.csv, window: {start_s: 9, end_s: 3}}",
        "workload.arrivals.window: end_s (3) must be above start_s (9)",
    ),
    (LENGTHS, "{kind: quantiles, prompt_tokens: [9, 3], output_tokens: [[1, 2]]}", "quantiles go from the lowest to"),
    (
        LENGTHS,
        "{kind: quantiles, prompt_tokens: [3, 9], output_tokens: [[1, 2], [1, 2, 3]]}",
        "all rows of output_tokens need the same number of quantiles",
    ),
    # not modelled
    ("replicas: 1", "replicas: 1\n    prefill: {}", "prefill/decode disaggregation is not modelled"),
    ("replicas: 1", "replicas: 1\n    disaggregation: true", "prefill/decode disaggregation is not modelled"),
    ("replicas: 1", "replicas: 1\n    lora: {}", "deployments.plain.lora: LoRA is not modelled"),
    ("replicas: 1", "replicas: 1\n    mig: 1g", "deployments.plain.mig: MIG is not modelled"),
    ("gpu: h200-sxm", "gpu: h200-mig-1g", "MIG is not modelled"),
    ("replicas: 1", "replicas: 1\n    models: []", "a fleet of several models is not modelled"),
    ("weights: bf16", "weights: bf16, pipeline_parallel: 2", "pipeline parallelism is not modelled yet"),
    ("policy: vllm", "policy: vllm, enable_prefix_caching: true", "here write prefix_cache: true in engine"),
    (CHAIN, f"{CHAIN}\n      typical_acceptance: true", "Medusa's typical acceptance) is not modelled"),
    # policies for draft tokens
    (CHAIN, f"{CHAIN}\n      policy: {{kind: by_batch, schedule: []}}", "at least 1 item"),
    (CHAIN, f"{CHAIN}\n      policy: {{kind: by_batch, schedule: [[2, 9, 1]]}}", "begins at 2 sequences: begin at 1"),
    (
        CHAIN,
        f"{CHAIN}\n      policy: {{kind: by_batch, schedule: [[1, 9, 1], [12, 900, 0]]}}",
        "band [12, 900, 0] should begin at 10, where [1, 9, 1] ends",
    ),
    (
        CHAIN,
        f"{CHAIN}\n      policy: {{kind: by_batch, schedule: [[1, 9, 1]]}}",
        "the bands end at 9 sequences, but up to",
    ),
    (
        CHAIN,
        f"{CHAIN}\n      policy: {{kind: by_batch, schedule: [[1, 4096, 9]]}}",
        "policy by_batch names 9 draft tokens, above the",
    ),
    (CHAIN, f"{CHAIN}\n      policy: {{kind: per_request, candidates: [3, 1]}}", "candidates rise, each once"),
    (
        CHAIN,
        "{shape: tree, widths: [2, 1]}\n      policy: {kind: goodput}",
        "policy goodput changes the length of a chain; a tree stays whole",
    ),
    # sweep and assert
    (
        "seed: 7",
        "seed: 7\nsweep: {workload.arrivals.rate_per: [1]}",
        "no such place in the scenario; nearest: workload.arrivals.rate_per_s",
    ),
    ("seed: 7", "seed: 7\nsweep: {seed: 3}", "sweep.seed: a list of at least one value is needed"),
    ("seed: 7", "seed: 7\nsweep: {seed: []}", "sweep.seed: a list of at least one value is needed"),
    ("seed: 7", "seed: 7\nsweep: {seed: [1, 1]}", "sweep.seed: 1 stands twice in the list"),
    ("seed: 7", "seed: 7\nsweep: [seed]", "sweep: a mapping of dotted paths to lists of values is needed"),
    ("seed: 7", "seed: 7\nsweep: {slo: [null], slo.ttft_s: [{}]}", "slo is swept too, and one holds the other"),
    ("seed: 7", "seed: 7\nsweep: {deployments.spec.extends: [plain]}", "extends cannot be swept"),
    ("seed: 7", "seed: 7\nsweep: {seed: [1, -2]}", "seed: -2: Input should be greater than or equal to 0"),
    ("seed: 7", "seed: 7\nassert: plain.fits == true", "assert: a list of comparisons is needed"),
    ("seed: 7", "seed: 7\nassert: [3]", "assert.0: 3: a text is needed, such as"),
    ("seed: 7", "seed: 7\nassert: [plan.fits == true]", "assert.0: no deployment 'plan'; nearest: plain"),
]


@pytest.mark.parametrize(("old", "new", "part"), REFUSED)
def test_a_mistake_is_refused_with_place_value_and_way_out(old, new, part):
    with pytest.raises(ScenarioError) as error:
        load_text(edited((old, new)))

    assert part in str(error.value)
    assert all(line.startswith("chat.yaml") for line in str(error.value).splitlines())


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("gpu: h200-sxm", "gpuu: h200-sxm", "gpuu"),
        ("replicas: 1", "replicas: -1", "replicas: -1"),
        ("draft_tokens: 2", "draft_tokens: -2", "draft_tokens: -2"),
        ("policy: vllm", "policy: vlm", "policy: vlm"),
        ("extends: plain", "extends: plan", "extends: plan"),
        (PRICE, "#", "plain:"),
        ("draft_tokens: 2}", f"draft_tokens: 2}}\n      {POOL}\n  again: {{extends: spec, gpu: b200-sxm}}", "spec:"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_only_once(old, new, wrong):
    text = edited((old, new))

    with pytest.raises(ScenarioError) as error:
        load_text(text)

    assert str(error.value).startswith(f"chat.yaml:{line_of(text, wrong)}: ")
    assert len(str(error.value).splitlines()) == 1


def test_all_mistakes_of_a_file_are_told_in_order_of_line():
    text = edited(
        ("seed: 7", "seed: -7\nsweep: {seeed: [1]}"),
        ("rate_per_s: 4", "rate_per_s: .inf"),
        ("replicas: 1", "replicas: 0"),
        ("policy: vllm", "policy: vlm"),
    )

    with pytest.raises(ScenarioError) as error:
        load_text(text)

    lines = str(error.value).splitlines()
    numbers = [int(line.split(":")[1]) for line in lines]
    assert len(lines) >= 5
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "just text", "---\n"])
def test_a_file_that_is_no_mapping_points_to_the_starter(text):
    with pytest.raises(ScenarioError, match="`specfleet init` writes a starter"):
        load_text(text)


@pytest.mark.parametrize(
    "deployments", ["", "3", "[]", "{}", "{a: }", "{a: 3}", "{a: {extends: 3}}", "{1: {extends: 1}}"]
)
def test_odd_deployments_are_refused_not_crashed_on(deployments):
    head = CHAT.split("deployments:", maxsplit=1)[0]

    with pytest.raises(ScenarioError, match=r"^chat\.yaml"):
        load_text(f"{head}deployments: {deployments}\n")


def test_a_thousand_mistakes_are_cut_to_a_readable_number():
    head = CHAT.split("deployments:", maxsplit=1)[0]
    many = "".join(f"  d{i}: {{gpuu: x{i}}}\n" for i in range(400))

    with pytest.raises(ScenarioError, match=r"… and \d+ problems more"):
        load_text(f"{head}deployments:\n{many}")


def test_a_trace_is_looked_for_beside_the_scenario_file(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "trace.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,100,10\n")
    file = folder / "chat.yaml"
    file.write_text(edited((ARRIVALS, "{kind: trace, file: trace.csv}")))

    arrivals = load_scenario(file).points[0].scenario.workload.arrivals

    assert arrivals.kind == "trace"
    assert arrivals.file == str(folder / "trace.csv")
