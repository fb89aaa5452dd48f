"""`python -m engine generate` with heads, experts, draft caches and a drafter of its own process."""

import json
import os

import pytest
import torch

from engine.commands.main import main
from engine.heads import random_head
from engine.loading.head_file import save_head
from engine.loading.named import load
from tests.engine.toys import generator

ENTRY = ("attention: gqa\nnum_layers: 2\nhidden_size: 32\nintermediate_size: 48\nnum_attention_heads: 4\n"
         "num_kv_heads: 2\nhead_dim: 8\nvocab_size: 300\nmax_position: 256\n")  # fmt: skip
MOE = "moe: {num_experts: 8, top_k: 2, num_shared: 1, expert_intermediate: 16}\n"
SMALL = ["--max-model-len", "128", "--max-tokens", "12", "--prompt", "abcabcabc", "--json", "--draft-tokens", "3"]


@pytest.fixture
def models(tmp_path):
    (tmp_path / "dense.yaml").write_text(ENTRY)
    (tmp_path / "moe.yaml").write_text(ENTRY + MOE)
    return tmp_path


def called(capsys, model, *flags):
    code = main(["generate", "--model", f"random:{model}", *SMALL, *flags])
    streams = capsys.readouterr()
    return code, json.loads(streams.out) if code == 0 else None, streams.err


@pytest.mark.parametrize("flags", [
    ["--resident-experts", "8", "--active-experts", "2"],
    ["--resident-experts", "4", "--active-experts", "1", "--expert-text", "random"],
    ["--resident-experts", "4", "--own-kv", "--draft-kv", "int8", "--draft-window", "2,16"],
    ["--tree", "2,1"],
])  # fmt: skip
def test_a_tiny_mixture_with_its_own_experts_as_draft(capsys, models, flags):
    code, report, err = called(capsys, models / "moe.yaml", "--draft", "moe_subset", *flags)

    assert (code, err) == (0, "")
    assert report["identical"]
    assert report["tokens_per_step"] >= 1.0
    assert flags[1] != "8" or report["acceptance_rate"] == 1.0


def test_a_head_from_its_file(capsys, models):
    weights = load(f"random:{models / 'dense.yaml'}", generator=torch.Generator().manual_seed(0)).weights
    save_head(models / "head.safetensors", random_head(weights, generator(2)), {})

    code, report, err = called(
        capsys, models / "dense.yaml", "--draft", "head", "--head", str(models / "head.safetensors")
    )

    assert (code, err) == (0, "")
    assert report["identical"]


@pytest.mark.parametrize(("kv", "window"), [("int8", None), ("fp8", "2,8")])
def test_a_draft_model_with_a_small_cache(capsys, models, kv, window):
    flags = ["--draft", "noisy_target", "--draft-kv", kv, *(["--draft-window", window] if window else [])]

    code, report, _ = called(capsys, models / "dense.yaml", *flags)

    assert (code, report["identical"]) == (0, True)


@pytest.mark.slow
def test_a_drafter_in_its_own_process(capsys, models):
    flags = ["--draft", "noisy_target", "--epsilon", "0.01", "--draft-process", "ids"]

    code, report, err = called(capsys, models / "dense.yaml", *flags)

    assert (code, err, report["identical"]) == (0, "", True)
    assert report["asynchronous"]["asked"] > 0


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs a system that binds processes to cores")
def test_the_target_leaves_a_drafter_its_core(monkeypatch, capsys, models):
    bound, threads, allowed = [], [], os.sched_getaffinity(0)
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: bound.append(set(cores)))
    core = min(allowed)
    flags = ["--draft", "noisy_target", "--draft-process", "ids", "--draft-core", str(core)]

    code, report, _ = called(capsys, models / "dense.yaml", *flags)

    assert (code, report["identical"]) == (0, True)
    assert bound == [allowed - {core} or allowed]
    assert threads == [min(torch.get_num_threads(), len(bound[0]))]


@pytest.mark.parametrize(("flags", "message"), [
    (["--draft", "head"], "no head was given; train one"),
    (["--draft", "head", "--head", "none.safetensors"], "none.safetensors: no such file; train a head"),
    (["--draft", "moe_subset"], "the target has no experts"),
    (["--draft", "lookup", "--draft-kv", "int8"], "--draft-kv is for --draft head, model, moe_subset, noisy_target, not lookup"),
    (["--draft", "lookup", "--own-kv"], "--own-kv is for --draft moe_subset"),
    (["--draft", "model", "--draft-window", "4"], "first and latest tokens, like 4,256"),
    (["--draft", "moe_subset", "--draft-kv", "fp8"], "uses the target's cache; give it one with --own-kv"),
    (["--draft", "noisy_target", "--draft-core", "1"], "say --draft-process ids"),
    (["--draft", "noisy_target", "--draft-process", "ids", "--draft-core", "9999"], "this process may run on"),
    (["--draft", "noisy_target", "--draft-process", "ids", "--clock", "cpu"], "--clock cpu does not see"),
    (["--draft", "moe_subset", "--expert-text", "code"], "random weights have no tokenizer; use: random"),
])  # fmt: skip
def test_flags_that_do_not_fit_say_why(capsys, models, flags, message):
    code, _, err = called(capsys, models / "dense.yaml", *flags)

    assert (code, message in err) == (2, True)
