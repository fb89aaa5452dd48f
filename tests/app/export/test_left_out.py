"""What engines cannot be told is told by name."""

import pytest

from app.export.exported import exported
from simulator.errors import ScenarioError
from tests.app.export import examples
from tests.scenarios import examples as files

COSTS = {"flops_ratio": 0.01, "latency_ratio": 0.02, "weights_gb": 0.1, "kv_bytes_per_token": 0}


def drafts(draft, **speculation):
    return examples.MODEL | {"drafts": {"small": {"acceptance": examples.ACCEPTED} | draft}} | speculation


@pytest.mark.parametrize(
    ("engine", "speculation", "said"),
    [
        ("vllm", drafts({"abstract": COSTS}), "drafts.small is given by its costs: there is no checkpoint"),
        ("vllm", drafts({"model": "llama-3.2-1b", "window": {"recent": 64}}), "keeps a window of its KV"),
        ("vllm", examples.head("eagle3", **examples.DYNAMIC_TREE), "dynamic_tree: vLLM verifies chains"),
        ("vllm", examples.MODEL | {"policy": {"kind": "goodput"}}, "policy goodput: vLLM changes"),
        (
            "vllm",
            examples.MODEL | {"placement": {"kind": "dedicated", "link": "nvlink"}},
            "placement dedicated: engines run the draft on the target's GPUs",
        ),
        (
            "sglang",
            examples.MODEL | {"policy": examples.BY_BATCH},
            "policy by_batch: SGLang changes draft tokens of EAGLE",
        ),
        ("sglang", examples.head("parallel"), "head parallel: SGLang takes DFLASH or DSPARK"),
        ("trtllm", examples.head("eagle"), "head eagle: TensorRT-LLM's PyTorch backend serves EAGLE-3 and MTP"),
        ("trtllm", examples.MODEL | {"policy": {"kind": "goodput"}}, "policy goodput: TensorRT-LLM"),
    ],
)
def test_drafts_that_an_engine_cannot_serve_say_why(engine, speculation, said):
    one = examples.export(engine, speculation)

    assert any(said in text for text in one.left_out)
    assert "speculative" not in one.text.replace("# trtllm.yaml", "")


def test_a_subset_of_experts_is_no_draft_of_an_engine():
    subset = {"moe_subset": {"resident_experts": 32, "active_experts": 2}, "acceptance": examples.ACCEPTED}

    one = examples.export(
        "vllm", examples.MODEL | {"kind": "moe_subset", "drafts": {"few": subset}}, target={"model": "qwen3-30b-a3b"}
    )

    assert "drafts.few is the target with a part of its experts" in one.left_out[0]


@pytest.mark.parametrize(
    ("name", "said"), [("routed", "combine routed (code, copy)"), ("union", "combine union (code, copy)")]
)
def test_several_drafts_are_named(name, said):
    one = exported(files.load_text(files.SEVERAL).points[0].scenario, name)

    assert one.left_out[0].startswith(said)


@pytest.mark.parametrize("engine", ["sglang", "trtllm"])
def test_a_draft_that_is_split_otherwise_than_its_target_is_told(engine):
    one = examples.export(engine, examples.MODEL, target={"tensor_parallel": 2})

    assert any("splits a draft as its target (2)" in text for text in one.left_out)


@pytest.mark.parametrize(
    ("engine", "changes", "said"),
    [
        ("vllm", {"engine": {"scheduler": "shortest_prompt"}}, "shortest_prompt: vLLM has fcfs and priority"),
        ("vllm", {"engine": {"preemption": "swap"}}, "preemption swap"),
        ("vllm", {"engine": {"admission": "no_eviction"}}, "admission no_eviction"),
        ("vllm", {"engine": {"batch_wait": {"steps": 2, "budget_share": 0.5}}}, "batch_wait"),
        ("vllm", {"engine": {"kv_host_gb": 20.0}}, "engine.kv_host_gb"),
        ("vllm", {"target": {"kv": "int8"}}, "target.kv int8"),
        ("sglang", {"engine": {"preemption": "swap"}}, "preemption swap"),
        ("sglang", {"engine": {"admission": "no_eviction"}}, "admission no_eviction"),
        ("trtllm", {"engine": {"scheduler": "priority"}}, "scheduler priority"),
        ("trtllm", {"engine": {"hbm_budget_gb": 60.0}}, "hbm_budget_gb"),
        ("trtllm", {"engine": {"preemption": "swap"}}, "preemption swap"),
    ],
)
def test_settings_that_an_engine_lacks_are_told(engine, changes, said):
    assert any(said in text for text in examples.export(engine, **changes).left_out)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_nothing_is_left_out_of_a_plain_deployment(engine):
    assert examples.export(engine).left_out == ()


def test_an_engine_that_takes_no_prompt_of_the_workload_says_so():
    lengths = {"kind": "fixed", "prompt_tokens": 9000, "output_tokens": 10}

    with pytest.raises(
        ScenarioError, match="takes prompts of up to 8,192 tokens here, and those of the workload begin at"
    ):
        examples.export("trtllm", engine={"max_model_len": 16384}, workload={"lengths": lengths})
