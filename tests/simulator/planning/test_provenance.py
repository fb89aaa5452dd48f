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
