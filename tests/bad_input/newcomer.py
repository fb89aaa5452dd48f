"""Ten mistakes of someone who has read the starter file and nothing else."""

from scenarios.starter import starter_text
from tests.bad_input.cases import Case
from tests.scenarios.examples import line_of


def mistake(name: str, old: str, new: str, *parts: str, at: str = "") -> Case:
    """The starter with a mistake in it."""
    assert old in starter_text(), old
    text = starter_text().replace(old, new, 1)
    place = f"mine.yaml:{line_of(text, at or new.strip().splitlines()[0])}: "
    return Case(f"newcomer-{name}", ["run", "mine.yaml"], [place, *parts], {"mine.yaml": text})


NEWCOMER = [
    mistake(
        "calls-the-gpu-h200",
        "gpu: h200-sxm ",
        "gpu: H200 ",
        "deployments.h200-plain.gpu: no GPU 'H200' in the catalog; nearest: h200-sxm",
    ),
    mistake(
        "takes-the-name-from-the-hub",
        "model: llama-3.1-8b ",
        "model: meta-llama/Llama-3.3-70B-Instruct ",
        "target.model: no model 'meta-llama/Llama-3.3-70B-Instruct' in the catalog; nearest: llama-3.3-70b",
    ),
    mistake(
        "proposes-a-tree-of-which-only-a-chain-was-measured",
        "propose: {shape: chain, draft_tokens: 3}",
        "propose: {shape: tree, widths: [3, 1]}",
        "acceptance: a tree is proposed, but for class chat, code nothing says what a second child is worth: give ",
        at="acceptance:",
    ),
    mistake(
        "adds-a-class",
        "classes: {chat: 0.7, code: 0.3}",
        "classes: {chat: 0.6, code: 0.3, math: 0.1}",
        "deployments.h200-spec: the draft has no acceptance for class math: name the class or `all`",
        at="h200-spec:",
    ),
    mistake(
        "writes-the-limit-in-milliseconds",
        "tpot_s: {p95: 0.03}",
        "tpot_ms: {p95: 30}",
        "slo.tpot_ms: unknown key; nearest: tpot_s, in seconds",
    ),
    mistake(
        "prices-in-dollars",
        "price: {catalog: nebius-on-demand}",
        "price: $2.50/h",
        "price: '$2.50/h': Input should be a valid number; write 2.50 without $",
    ),
    mistake(
        "gives-one-acceptance-rate",
        "chat: {tokens_per_step: 2.2, at: 3}",
        "chat: 0.70",
        "acceptance.chat: 0.7: a mapping is needed of survival, tokens_per_step, at, histogram, preset",
    ),
    mistake(
        "shortens-the-names-of-lengths",
        "lengths: {kind: empirical, table: azure-conv-2023}",
        "lengths: {kind: fixed, input_tokens: 500, output_tokens: 200}",
        "workload.lengths.input_tokens: unknown key; here it is called prompt_tokens",
    ),
    mistake(
        "asks-for-eagle",
        "kind: drafts",
        "kind: eagle",
        "speculation.kind: 'eagle': unknown kind; write kind: heads, and in the draft head: {method: eagle}; known: ",
    ),
    mistake(
        "sweeps-what-is-not-there",
        "# sweep:\n#   workload.arrivals.rate_per_s: [2, 4, 8]",
        "sweep:\n  arrivals.rate: [2, 4, 8]",
        "sweep.arrivals.rate: no such place in the scenario; nearest: workload.arrivals.rate_per_s",
        at="arrivals.rate:",
    ),
]
