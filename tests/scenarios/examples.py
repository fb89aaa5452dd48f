"""A scenario file to break, and how to."""

from scenarios.load import LoadedScenario, load_scenario

CHAT = """\
schema_version: 1
name: chat
description: Does a draft pay?
seed: 7
replications: 2
workload:
  arrivals: {kind: poisson, rate_per_s: 4}
  lengths: {kind: empirical, table: azure-conv-2023}
  classes: {code: 0.5, prose: 0.5}
  horizon: {requests: 100, warmup_requests: 10}
slo:
  ttft_s: {p95: 1.0}
deployments:
  plain:
    gpu: h200-sxm
    replicas: 1
    price: {catalog: nebius-on-demand}
    target: {model: llama-3.1-8b, weights: bf16}
    engine: {policy: vllm, max_model_len: 8192}
  spec:
    extends: plain
    speculation:
      kind: drafts
      drafts:
        small:
          model: llama-3.2-1b
          acceptance:
            code: {survival: [0.8, 0.6]}
            prose: {histogram: {0: 3, 1: 4, 2: 5}}
      propose: {shape: chain, draft_tokens: 2}
"""

SEVERAL = (
    CHAT
    + """\
  tree:
    extends: plain
    speculation:
      kind: heads
      drafts:
        head:
          head: {method: eagle3, vocab_size: 32000}
          acceptance: {all: {tokens_per_step: 2.1, at: 3, decay: 0.9, branches: [0.6, 0.1]}}
      propose: {shape: tree, widths: [2, 1, 1]}
  routed:
    extends: plain
    speculation:
      kind: drafts
      drafts:
        code: {model: llama-3.2-1b, acceptance: {code: {survival: [0.9]}, prose: {survival: [0.5], spread: 1}}}
        copy: {ngram: {}, acceptance: {all: {survival: [0.3], by_context: {100: 1, 1000: 1.2}}}}
      propose: {draft_tokens: 1}
      combine:
        kind: routed
        routes: {code: code, all: copy}
        accuracy: {all: 0.9}
        fallback: copy
        router: {parameters: 100000000, latency_s: 0.001}
  union:
    extends: routed
    speculation:
      combine: {kind: union, recursive_rejection: {correlation: 0.5}}
      streams: {kind: parallel, contention: 0.5}
"""
)
"""The same with a tree, routed drafts and a union."""


def load_text(text: str, *sets: str) -> LoadedScenario:
    """Load a text as if it stood in chat.yaml."""
    return load_scenario("chat.yaml", sets, text=text)


def edited(*replacements: tuple[str, str]) -> str:
    """CHAT with texts replaced; each must be there."""
    text = CHAT
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def line_of(text: str, part: str) -> int:
    """Number of the first line that holds a text."""
    return next(number for number, line in enumerate(text.splitlines(), start=1) if part in line)
