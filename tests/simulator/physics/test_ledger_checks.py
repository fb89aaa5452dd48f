import re

import pytest
from pydantic import ValidationError

from simulator.physics.checks import check_deployment
from tests.simulator.physics.toys import deployment

HEAD = {"model": "llama-3.1-8b", "weights": "bf16"}
MOE = {"model": "qwen3-30b-a3b", "weights": "bf16"}
EAGLE = {"head": {"method": "eagle"}}
FEW = {"resident_experts": 16, "active_experts": 2}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"tensor_parallel": 3},
            "it.target.tensor_parallel: 3 does not divide the 64 attention heads .* try 1, 2, 4, 8",
        ),
        (
            {"model": "glm-4.5", "tensor_parallel": 3},
            "3 neither divides nor is a multiple of the 8 KV heads of glm-4.5",
        ),
        ({"tensor_parallel": 2, "expert_parallel": 2}, "it.target.expert_parallel: llama-3.3-70b is dense"),
        ({"model": "mixtral-8x7b", "tensor_parallel": 16, "expert_parallel": 16}, "16 groups for the 8 experts"),
        ({"weights": "int8", "gpu": "b300-sxm"}, "it.target.weights: .*int8"),
        ({"engine": {"max_model_len": 200_000}}, "it.engine.max_model_len: 200,000 is above the 131,072 positions"),
        (
            {"tensor_parallel": 4, "draft": {"model": "qwen2.5-0.5b", "tensor_parallel": 4}},
            "small.tensor_parallel: 4 does not",
        ),
        ({"gpu": "b300-sxm", "draft": {"model": "llama-3.2-1b", "weights": "int8"}}, "drafts.small.weights: .*int8"),
        (HEAD | {"tensor_parallel": 8, "draft": EAGLE | {"tensor_parallel": 3}}, "tensor_parallel: 3 does not divide"),
        (HEAD | {"gpu": "b300-sxm", "draft": EAGLE | {"weights": "int8"}}, "drafts.small.weights: .*int8"),
        (
            HEAD | {"draft": {"head": {"method": "mtp", "dense": False}}},
            "small.head.dense: llama-3.1-8b has no experts",
        ),
        (
            HEAD | {"draft": {"head": {"method": "eagle3", "vocab_size": 200_000}}},
            "small.head.vocab_size: 200,000 is above the 128,256 words of llama-3.1-8b",
        ),
        (
            MOE | {"draft": {"head": {"method": "mtp", "dense": False, "intermediate_size": 4096}}},
            "small.head.intermediate_size: with dense: false the head has the target's experts",
        ),
        (HEAD | {"draft": {"moe_subset": FEW}}, "small.moe_subset: llama-3.1-8b is dense"),
        (MOE | {"draft": {"moe_subset": FEW | {"resident_experts": 129}}}, "resident_experts: 129, but .* has 128"),
        (MOE | {"draft": {"moe_subset": FEW | {"active_experts": 9}}}, "active_experts: 9, but .* itself uses 8"),
    ],
)
def test_what_is_impossible_is_named_with_its_place(choices, message):
    problems = check_deployment("it", deployment(**choices))

    assert len(problems) == 1
    assert re.search(message, problems[0])


@pytest.mark.parametrize(
    "choices",
    [
        {"tensor_parallel": 8, "draft": {"model": "llama-3.2-1b"}},
        {"model": "deepseek-v3", "data_parallel": 8, "expert_parallel": 8},
        HEAD | {"draft": {"head": {"method": "eagle3", "vocab_size": 128_256}}},
        MOE | {"draft": {"head": {"method": "mtp", "dense": False}}},
        MOE | {"draft": {"moe_subset": FEW | {"resident_experts": 128, "active_experts": 8}}},
    ],
)
def test_a_possible_deployment_has_no_problems(choices):
    assert check_deployment("it", deployment(**choices)) == []


def test_an_abstract_draft_cannot_be_impossible():
    costs = {"flops_ratio": 0.1, "latency_ratio": 0.12, "weights_gb": 2, "kv_bytes_per_token": 32_768}

    assert check_deployment("it", deployment(draft={"abstract": costs})) == []


def test_a_changed_copy_is_checked_again():
    chosen = deployment(model="deepseek-v3", tensor_parallel=4, expert_parallel=4, draft={"model": "llama-3.2-1b"})
    target = chosen.target.model_copy(update={"tensor_parallel": 2})
    draft = chosen.speculation.draft.model_copy(update={"tensor_parallel": 4})
    speculation = chosen.speculation.model_copy(update={"drafts": {"small": draft}})

    problems = check_deployment("it", chosen.model_copy(update={"target": target, "speculation": speculation}))

    assert [p.split(":")[0] for p in problems] == [
        "it.target.expert_parallel",
        "it.speculation.drafts.small.tensor_parallel",
    ]


def test_every_draft_is_checked():
    drafts = {"a": {"model": "llama-3.2-1b"}, "b": {"head": {"method": "eagle", "vocab_size": 999_999}}}
    union = {"combine": {"kind": "union", "recursive_rejection": {"correlation": 0.5}}}

    problems = check_deployment("it", deployment(drafts=drafts, speculation=union))

    assert [p.split(":")[0] for p in problems] == ["it.speculation.drafts.b.head.vocab_size"]


def test_every_draft_runs_on_the_targets_gpus():
    drafts = {"a": {"model": "llama-3.2-1b"}, "b": {"model": "llama-3.2-1b", "tensor_parallel": 2}}
    union = {"combine": {"kind": "union", "recursive_rejection": {"correlation": 0.5}}}

    with pytest.raises(ValidationError, match="draft b: the draft's tensor_parallel 2 is above the target's 1"):
        deployment(drafts=drafts, speculation=union)
