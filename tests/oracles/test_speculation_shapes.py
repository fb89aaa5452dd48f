"""Trees, routed drafts and unions through the whole simulation and the estimate: identities, directions, agreement."""

import numpy as np
import pytest

from simulator.outcome.report import replication_row
from simulator.planning.context import row_context
from simulator.planning.estimate import estimate
from simulator.run import simulate_once, step_times_of
from simulator.spec.scenario import Scenario

CODE, PROSE = {"survival": [0.8, 0.65, 0.53, 0.43]}, {"survival": [0.6, 0.38, 0.24, 0.15]}
CHAIN = {"shape": "chain", "draft_tokens": 4}
UNION = {"kind": "union", "recursive_rejection": {"correlation": 0.5}}
WORDS = ("deployment", "speculation", "drafts")
"""Fields of a row that only say what was asked."""


def drafts(*acceptances, propose=CHAIN, combine=None):
    """Drafts a, b, … with their acceptance by class."""
    each = {"model": "llama-3.2-1b", "weights": "fp8"}
    named = {name: each | {"acceptance": of} for name, of in zip("ab", acceptances, strict=False)}
    return {"kind": "drafts", "drafts": named, "propose": propose, "combine": combine or {"kind": "single"}}


def routed(accuracy):
    return {
        "kind": "routed",
        "routes": {"code": "a", "prose": "b"},
        "accuracy": {"all": accuracy},
        "fallback": "b",
        "router": {"parameters": 1e8, "latency_s": 0.0005},
    }


def scenario(*speculations, requests=1500, rate_per_s=20.0, **workload):
    """One deployment for each way to speculate, by number."""
    deployment = {
        "gpu": "h200-sxm",
        "replicas": 1,
        "price": 3.0,
        "target": {"model": "llama-3.1-8b", "weights": "fp8", "tensor_parallel": 1},
        "engine": {"policy": "vllm", "max_model_len": 8192},
    }
    lengths = {"prompt_tokens": {"mean": 700, "p95": 1800}, "output_tokens": {"mean": 150, "p95": 400}}
    offered = {
        "arrivals": {"kind": "poisson", "rate_per_s": rate_per_s},
        "lengths": {"kind": "lognormal", **lengths},
        "classes": {"code": 0.5, "prose": 0.5},
        "horizon": {"requests": requests, "warmup_requests": 100},
    }
    return Scenario.model_validate(
        {
            "schema_version": 1,
            "name": "shapes",
            "seed": 5,
            "workload": offered | workload,
            "slo": {"tpot_s": {"p95": 0.03}},
            "deployments": {str(n): deployment | {"speculation": of} for n, of in enumerate(speculations)},
        }
    )


def row(spec, name):
    records, model = simulate_once(spec, name, 0), step_times_of(spec.deployments[name], spec.workload)
    return replication_row(records, row_context(spec, name, "base"), 0, model=model)


BOTH = {"code": CODE, "prose": PROSE}


@pytest.mark.parametrize(
    "same",
    [
        drafts(BOTH, propose={"shape": "tree", "widths": [1, 1, 1, 1]}),
        drafts(BOTH, propose={"shape": "nodes", "paths": [[0], [0, 0], [0, 0, 0], [0, 0, 0, 0]]}),
        drafts(BOTH, combine=UNION),
    ],
    ids=["tree of width 1", "nodes of a chain", "union of one draft"],
)
def test_a_chain_under_another_name_gives_the_same_report(same):
    spec = scenario(drafts(BOTH), same, requests=300)

    chain, other = row(spec, "0"), row(spec, "1")

    assert {k: v for k, v in chain.items() if k not in WORDS} == {k: v for k, v in other.items() if k not in WORDS}
    assert estimate(spec, "0")["tpot_s"] == estimate(spec, "1")["tpot_s"]


def test_a_router_that_is_always_right_commits_what_each_classs_own_draft_commits():
    own = {"code": CODE, "prose": PROSE}
    apart = drafts({"all": CODE}, {"all": PROSE}, combine=routed(1.0))

    alone, right = (simulate_once(scenario(of, requests=300), "0", 0).requests for of in (drafts(own), apart))

    assert np.array_equal(alone.steps[:300], right.steps[:300])
    assert np.array_equal(alone.committed_tokens[:300], right.committed_tokens[:300])


def of_code(**change):
    return {"all": CODE | change}


BRANCHES = {"branches": [0.7, 0.15, 0.05]}
WIDE = {"shape": "tree", "widths": [3, 2, 1]}
FALLS = {"tokens_per_step": 2.9, "at": 4}
MORE = {
    "uplift": (drafts(of_code()), drafts(of_code(uplift={"factor": 1.1, "source": "a test"}))),
    "decay": (drafts({"all": FALLS | {"decay": 0.7}}, propose=CHAIN | {"draft_tokens": 6}),
              drafts({"all": FALLS}, propose=CHAIN | {"draft_tokens": 6})),
    "temperature": (drafts(of_code(by_temperature={0.0: 1.0, 1.0: 0.8})), drafts(of_code(by_temperature={0.0: 1.0, 1.0: 0.9}))),
    "context": (drafts(of_code(by_context={0: 1.0, 1000: 0.6})), drafts(of_code(by_context={0: 1.0, 1000: 0.9}))),
    "branches": (drafts(of_code(branches=[0.7, 0.05]), propose=WIDE), drafts(of_code(**BRANCHES), propose=WIDE)),
    "width": (drafts(of_code(**BRANCHES)), drafts(of_code(**BRANCHES), propose={"shape": "tree", "widths": [2, 1, 1, 1]})),
    "depth": (drafts(of_code(**BRANCHES), propose={"shape": "tree", "widths": [3, 1]}), drafts(of_code(**BRANCHES), propose={"shape": "tree", "widths": [3, 1, 1]})),
    "accuracy": (drafts({"code": CODE}, {"all": PROSE}, combine=routed(0.5)), drafts({"code": CODE}, {"all": PROSE}, combine=routed(0.9))),
    "correlation": (drafts(of_code(), {"all": PROSE}, combine={"kind": "union", "recursive_rejection": {"correlation": 0.9}}), drafts(of_code(), {"all": PROSE}, combine=UNION)),
    "union": (drafts(of_code()), drafts(of_code(), {"all": PROSE}, combine=UNION)),
}  # fmt: skip


@pytest.mark.parametrize("knob", MORE)
def test_what_should_raise_tokens_per_step_does(knob):
    spec = scenario(*MORE[knob], temperature=0.5 if knob == "temperature" else None)

    less, more = (estimate(spec, name)["tokens_per_step"] for name in "01")

    assert more > less * 1.005


def test_longer_prompts_are_accepted_less_where_acceptance_was_measured_to_fall():
    falls = drafts(of_code(by_context={0: 1.0, 4000: 0.5}))
    short, long = (
        estimate(
            scenario(falls, lengths={"kind": "fixed", "prompt_tokens": n, "output_tokens": 100}), "0"
        )["tokens_per_step"]
        for n in (200, 3000)
    )  # fmt: skip

    assert long < short * 0.8


def test_a_spread_of_acceptance_raises_the_tail_and_leaves_the_mean():
    spec = scenario(*(drafts(of_code(spread=spread)) for spread in (0.0, 1.2)), requests=4000)

    alike, spread = row(spec, "0"), row(spec, "1")

    assert spread["tokens_per_step"] == pytest.approx(alike["tokens_per_step"], rel=0.02)
    assert spread["tpot_s"]["p99"] > 1.15 * alike["tpot_s"]["p99"]
    assert estimate(spec, "1")["tpot_s"]["p99"] > 1.1 * estimate(spec, "0")["tpot_s"]["p99"]


WAYS = {
    "tree": drafts({"code": CODE | BRANCHES, "prose": PROSE | BRANCHES}, propose=WIDE),
    "routed": drafts({"code": CODE}, {"all": PROSE}, combine=routed(0.8)),
    "union": drafts(BOTH, {"all": PROSE}, combine=UNION),
    "spread": drafts({"all": CODE | {"spread": 1.0}}),
    "by_context": drafts({"all": CODE | {"by_context": {0: 1.0, 2000: 0.6}}}),
    "best_tree": drafts(
        {"code": CODE | BRANCHES, "prose": PROSE | BRANCHES}, propose={"shape": "best_tree", "at_sequences": 16}
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_estimate_and_run_agree(way):
    spec = scenario(WAYS[way])

    guess, found = estimate(spec, "0"), row(spec, "0")

    assert guess["tokens_per_step"] == pytest.approx(found["tokens_per_step"], rel=0.02)
    assert guess["acceptance_rate"] == pytest.approx(found["acceptance_rate"], rel=0.03)
    assert guess["draft_tokens_mean"] == pytest.approx(found["draft_tokens_mean"])
    assert guess["tpot_s"]["mean"] == pytest.approx(found["tpot_s"]["mean"], rel=0.05)
