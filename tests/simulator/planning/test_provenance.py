"""Provenance names what a scenario reads, and nothing else."""

from typing import Any

import pytest

from simulator.planning.provenance import provenance
from tests.simulator.outcome import specs

TARGET = {"model": "llama-3.1-8b", "weights": "bf16"}


def assumed(**changes: Any) -> list[str]:
    """Where the assumptions of one deployment come from: file and key, or the deployment's name."""
    found = provenance(specs.scenario({"one": {"price": {"catalog": "nebius-on-demand"}} | changes}))
    return [text.partition(":")[0] for text in found["assumptions"]]


def read(**changes: Any) -> set[str]:
    """Files and keys of all sources of one deployment."""
    found = provenance(specs.scenario({"one": changes}))
    return {f"{source['file']}, {source['key']}" for source in found["sources"]}


def test_one_gpu_with_measured_kernels_assumes_its_engines_overhead_only():
    assert assumed(target=TARGET) == ["engines/vllm, overhead"]


def test_the_assumed_host_time_of_a_step_is_told_only_where_no_profile_has_fitted_it():
    assert "engines/vllm, step" in assumed(gpu="gb200", price=3.0)
    assert "engines/vllm, step" not in assumed()


def test_borrowed_int8_kernels_are_told_only_where_weights_are_int8():
    assert "gpus/h200-sxm, int8" in assumed(target=TARGET | {"weights": "int8"})
    assert "gpus/h200-sxm, int8" not in assumed(target=TARGET | {"weights": "fp8"})


def test_int8_weights_of_a_draft_count_too():
    drafts = {"small": specs.MODELLED_DRAFTS["drafts"]["small"] | {"weights": "int8"}}

    assert "gpus/h200-sxm, int8" in assumed(speculation=specs.MODELLED_DRAFTS | {"drafts": drafts})


@pytest.mark.parametrize(
    ("num_gpus", "crossed"),
    [(1, set()), (2, {"collectives", "nvlink"}), (8, {"collectives", "nvlink"}), (16, {"collectives", "internode"})],
)
def test_links_are_told_where_messages_cross_them(num_gpus, crossed):
    target = {"model": "llama-3.1-405b-kv16", "weights": "fp8", "tensor_parallel": num_gpus}

    links = {key.partition(", ")[2] for key in read(target=target) if key.startswith("links/")}

    assert links >= crossed
    assert ("internode" in links) == (num_gpus > 8)


def test_another_engines_kernels_are_not_read():
    assert "gpus/h200-sxm, trtllm_gemm" not in read(target=TARGET)
    assert "gpus/h200-sxm, trtllm_gemm" in read(target=TARGET, engine={"policy": "trtllm", "max_model_len": 4096})


def test_what_any_deployment_reads_is_told_once():
    two: dict[str, dict[str, Any]] = {"small": {}, "wide": {"target": TARGET | {"tensor_parallel": 2}}}

    found = provenance(specs.scenario(two))["sources"]

    names = [(source["file"], source["key"]) for source in found]
    assert len(names) == len(set(names))
    assert ("links/h200-sxm", "nvlink") in names


TWO_DRAFTS: dict[str, Any] = {
    "a": {"model": "llama-3.2-1b", "weights": "int8", "acceptance": {"all": {"preset": "glm-5.2-fp8-mtp-thinking-on"}}},
    "b": {"head": {"method": "eagle3"}, "weights": "fp8", "acceptance": {"all": {"survival": [0.8, 0.6]}}},
}
LAW: dict[str, Any] = {"kind": "union", "recursive_rejection": {"correlation": 0.5}}
ROUTED: dict[str, Any] = {
    "kind": "routed", "routes": {"all": "a"}, "accuracy": {"all": 0.9}, "fallback": "b",
    "router": {"parameters": 1e8, "latency_s": 0.001},
}  # fmt: skip


CHAIN: dict[str, Any] = {"draft_tokens": 2}


def said(propose: dict[str, Any] = CHAIN, drafts: dict[str, Any] = TWO_DRAFTS, **changes: Any) -> list[str]:
    """All assumptions of one deployment that speculates."""
    speculation = {"kind": "drafts", "drafts": drafts, "propose": propose} | changes
    return list(provenance(specs.scenario({"it": {"speculation": speculation}}))["assumptions"])


def test_what_every_draft_reads_is_told():
    speculation = {"kind": "drafts", "drafts": TWO_DRAFTS, "propose": {"draft_tokens": 2}, "combine": LAW}

    files = {key.partition(", ")[0] for key in read(speculation=speculation)}

    assert files >= {"models/llama-3.2-1b", "quantisation/int8", "quantisation/fp8"}
    assert "acceptance/glm-5.2-fp8-mtp-thinking-on" in files


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"combine": LAW}, "acceptance of draft b of class all as the scenario states it"),
        (
            {"combine": LAW},
            "acceptance of draft a of class all taken over from glm-5.2-fp8, MTP, thinking on, SPEED-Bench coding "
            "(preset glm-5.2-fp8-mtp-thinking-on)",
        ),
        ({"combine": LAW}, "acceptance of the union by recursive rejection, drafts' correlation 0.5 as stated"),
        (
            {"combine": {"kind": "union", "survival": {"all": [0.9]}}},
            "acceptance of the union of class all as the scenario states it",
        ),
        (
            {"combine": LAW, "streams": {"kind": "parallel", "contention": 0.2}},
            "contention 0.2 of the drafts' parallel streams as the scenario states it",
        ),
        ({"combine": ROUTED}, "router's accuracy and latency as the scenario states them: all 0.9; 0.001 s"),
    ],
)
def test_what_several_drafts_assume_is_told_by_name(changes, line):
    assert f"it: {line}" in said(**changes)


def test_a_draft_that_a_measured_union_does_not_ask_is_not_told():
    lines = said(combine={"kind": "union", "survival": {"all": [0.9, 0.7]}})

    assert not [line for line in lines if "of draft b" in line]


def test_a_best_tree_says_for_which_batch_it_is_the_best():
    drafts = {"d": {"head": {"method": "eagle3"}, "acceptance": {"all": {"survival": [0.8], "branches": [0.8, 0.1]}}}}

    lines = said(drafts=drafts, propose={"shape": "best_tree", "at_sequences": 8})

    assert any(line.startswith("it: the best tree is the one for 8 sequences at a time") for line in lines)


def test_training_and_stated_costs_are_told_with_their_source():
    trained = {"survival": [0.8], "uplift": {"factor": 1.1, "source": "a paper"}}
    costs = specs.DRAFTS["drafts"]["small"]["abstract"]

    lines = said(propose={"draft_tokens": 1}, drafts={"d": {"abstract": costs, "acceptance": {"all": trained}}})

    assert "it: acceptance of class all × 1.1 by training the draft: a paper" in lines
    assert "it: cost of draft d as the scenario states it: 0.1 target steps a pass" in lines


def test_stated_acceptance_is_one_line_however_many_classes():
    acceptance = {name: {"survival": [0.8, 0.6]} for name in ("code", "prose", "math")}
    drafts = {"small": specs.DRAFTS["drafts"]["small"] | {"acceptance": acceptance}}

    workload = specs.workload({"kind": "poisson", "rate_per_s": 6.0}) | {
        "classes": {"code": 0.5, "prose": 0.25, "math": 0.25}
    }

    scenario = specs.scenario({"spec": {"speculation": specs.DRAFTS | {"drafts": drafts}}}, workload=workload)
    found = provenance(scenario)["assumptions"]

    assert "spec: acceptance of classes code, prose, math as the scenario states it" in found
    assert sum("acceptance" in text for text in found) == 1


def test_kv_on_the_host_is_told_with_its_share_and_its_link():
    engine = {"policy": "vllm", "max_model_len": 8192, "kv_host_gb": 50.0}
    told = provenance(specs.scenario({"one": {"target": TARGET, "engine": engine}}))["assumptions"]

    assert [said for said in told if "on the host, read in every step" in said]
    assert "links/h200-sxm, pcie" in read(target=TARGET, engine=engine)
    assert "links/h200-sxm, pcie" not in read(target=TARGET)


def test_a_window_says_that_acceptance_must_know_it():
    drafts = {"small": specs.MODELLED_DRAFTS["drafts"]["small"] | {"window": {"sinks": 4, "recent": 508}}}
    told = provenance(specs.scenario({"one": {"speculation": specs.MODELLED_DRAFTS | {"drafts": drafts}}}))

    assert any("draft small keeps 512 tokens of a sequence" in said for said in told["assumptions"])
