"""Every way to get a speculation wrong is answered with its place, the value and the way out."""

import pytest

from simulator.errors import ScenarioError
from tests.scenarios.examples import edited, load_text

CODE = "code: {survival: [0.8, 0.6]}"
CHAIN = "{shape: chain, draft_tokens: 2}"
SMALL = "model: llama-3.2-1b"
UNION = "{kind: union, recursive_rejection: {correlation: 0.5, order: [small, other]}}"
ROUTED = (
    "{kind: routed, routes: {code: coder}, accuracy: {all: 1}, fallback: small, "
    "router: {parameters: 100000000, latency_s: 0.001}}"
)

REFUSED = [
    ("kind: drafts", "kind: heads", "speculation: kind heads: draft small is given by `model`, not by `head`"),
    (
        "kind: drafts",
        "kind: eagle3",
        "'eagle3': unknown kind; write kind: heads, and in the draft head: {method: eagle3}",
    ),
    ("kind: drafts", "kind: NEXTN", "write kind: heads, and in the draft head: {method: mtp}; known: none, drafts"),
    ("kind: drafts", "kind: medusa", "write kind: heads, and in the draft head: {method: parallel}"),
    ("kind: drafts", "kind: standalone", "'standalone': unknown kind; write kind: drafts"),
    (SMALL, f"{SMALL}\n          ngram: {{}}", "given in exactly one way of model, abstract, measured, head, ngram"),
    (SMALL, "head: {method: medusa}", "head.method: 'medusa': not one of the known values; known: eagle, eagle3, mtp"),
    (SMALL, "head: {method: eagle3, num_layers: 2}", "head.num_layers: unknown key; nearest: layers"),
    (SMALL, "head: {}", "drafts.small.head.method: missing: eagle: one hidden state and an embedding go in"),
    (SMALL, "ngram: {min_n: 3}", "ngram.min_n: unknown key; known: host_us_per_sequence"),
    (SMALL, "ngram: {}\n          weights: fp8", "a draft by `ngram` has no weights: its costs follow from it"),
    (SMALL, "moe_subset: {resident_experts: 8, active_experts: 9}", "9 active experts of 8 resident ones"),
    (
        CODE,
        "survival: [0.8, 0.6]",
        "small.acceptance: survival stands one level deeper, under a class, or all: write {all: {survival: …}}",
    ),
    (CHAIN, "{draft_tokens: -2}", "propose.draft_tokens: -2: Input should be greater than or equal to 0"),
    (CHAIN, "{draft_token: 2}", "propose.draft_token: unknown key; nearest: draft_tokens"),
    (
        CHAIN,
        "{num_speculative_tokens: 2}",
        "propose.num_speculative_tokens: unknown key; here it is called draft_tokens",
    ),
    (
        CHAIN,
        "{shape: tree, draft_tokens: 2}",
        "propose.draft_tokens: does not go with the other keys here; shape tree takes",
    ),
    (CHAIN, "{shape: tree, widths: []}", "propose.widths: []: List should have at least 1 item"),
    (CHAIN, "{shape: tree, widths: [4, 0]}", "propose.widths.1: 0: Input should be greater than or equal to 1"),
    (CHAIN, "{shape: tre, widths: [4]}", "propose.shape: 'tre': unknown shape; nearest: tree; known: chain, tree"),
    (CHAIN, "{shape: sequoia}", "propose.shape: 'sequoia': unknown shape; write shape: best_tree; known: chain, tree"),
    (CHAIN, "{shape: nodes, paths: [[0], [0, 1]]}", "node [0, 1] needs [0, 0]: parents and better siblings come first"),
    (
        CHAIN,
        "{shape: dynamic_tree, depth: 3, eagle_topk: 4, nodes: 9}",
        "eagle_topk: unknown key; here it is called top_k",
    ),
    (
        CHAIN,
        "{shape: dynamic_tree, depth: 3, top_k: 2, nodes: 60}",
        "60 nodes: depth 3 with top_k 2 takes from 3 to 10",
    ),
    (
        CHAIN,
        "{speculative_eagle_topk: 4}",
        "unknown key; SGLang's chain (topk 1) is propose {shape: chain, draft_tokens",
    ),
    (
        CHAIN,
        f"{CHAIN}\n      combine: {{kind: routed}}",
        "combine.routes: missing: Class of the workload → the draft that",
    ),
    (CHAIN, f"{CHAIN}\n      combine: {{kind: router}}", "combine.kind: 'router': unknown kind; write kind: routed"),
    (CHAIN, f"{CHAIN}\n      combine: {{kind: union}}", "combine: a union's acceptance is never assumed: give its"),
    (
        CHAIN,
        f"{CHAIN}\n      combine: {{kind: union, survival: {{all: [0.5, 0.9]}}}}",
        "survival of class all: at least one",
    ),
    (CHAIN, f"{CHAIN}\n      combine: {UNION}", "order names each draft once (small); got small, other"),
    (CHAIN, f"{CHAIN}\n      combine: {ROUTED}", "routed: code names coder, which is not among the drafts (small)"),
    (
        CHAIN,
        f"{CHAIN}\n      streams: {{kind: parallel}}",
        "streams.contention: missing: 0: as long as the longest alone",
    ),
    (
        CHAIN,
        f"{CHAIN}\n      streams: {{kind: parallel, contention: 0.5}}",
        "speculation: streams: parallel has no effect with one draft; leave it out",
    ),
    (CODE, "code: {survival: [0.8, 0.6], decay: 0.9}", "acceptance.code: decay goes with tokens_per_step"),
    (CODE, "code: {survival: [0.8, 0.6], branches: [0.8, 0.4]}", "branches are chances of exclusive events"),
    (CODE, "code: {survival: [0.8, 0.6], uplift: {factor: 1.1}}", "code.uplift.source: missing: Where it was measured"),
    (CODE, 'code: {survival: [0.8, 0.6], uplift: {factor: 1.1, source: ""}}', "code.uplift.source: '': String should"),
    (CODE, "code: {survival: [0.8, 0.6], by_context: {}}", "acceptance.code: by_context holds no factor"),
]


@pytest.mark.parametrize(("old", "new", "part"), REFUSED)
def test_a_mistake_is_refused_with_place_value_and_way_out(old, new, part):
    with pytest.raises(ScenarioError) as error:
        load_text(edited((old, new)))

    assert part in str(error.value)
    assert all(line.startswith("chat.yaml:") for line in str(error.value).splitlines())
