"""The commands, as a person runs them; on a tiny model from a folder."""

import json

import pytest
import torch

from engine.commands.generate import marked
from engine.commands.main import main
from engine.loading.tokenizer import TextStream
from engine.sequence import Emission

SMALL = ["--max-model-len", "64", "--dtype", "float64", "--threads", "1", "--block-tokens", "4"]


def called(capsys, *arguments):
    code = main([*arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_generate_prints_text_and_speedup(capsys, folder):
    code, out, _ = called(capsys, "generate", "--model", str(folder), "--prompt", "abcabc", *SMALL)

    assert code == 0
    assert "tokens_per_step" in out
    assert "speedup" in out
    assert "the plain engine's, token for token" in out


@pytest.mark.parametrize("draft", ["lookup", "noisy_target", "model"])
def test_generate_json_is_pure(capsys, folder, draft):
    draft_model = ["--draft-model", str(folder)] if draft == "model" else []
    flags = ["--draft", draft, "--draft-tokens", "3", "--max-tokens", "20", "--json", *draft_model]

    code, out, _ = called(capsys, "generate", "--model", str(folder), "--prompt", "abc", *flags, *SMALL)

    report = json.loads(out)
    assert (code, report["identical"], report["output_tokens"], len(report["text"])) == (0, True, 20, 20)
    assert report["tokens_per_step"] == pytest.approx(1 + sum(report["survival"]))
    if draft == "model":
        assert report["survival"] == [1.0, 1.0, 1.0]


def test_generate_forces_a_survival_vector(capsys, folder):
    flags = ["--draft-tokens", "2", "--synthetic", "0.75,0.5", "--max-tokens", "37", "--json"]

    _, out, _ = called(capsys, "generate", "--model", str(folder), "--prompt", "abc", *flags, *SMALL)

    report = json.loads(out)
    assert report["steps"] == 16
    assert report["survival"] == [0.75, 0.5]
    assert report["identical"] is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--synthetic", "0.5"], "1 positions, but --draft-tokens 5"),
        (["--synthetic", "x"], "numbers are needed"),
        (["--draft", "model"], "no weights were given"),
        (["--device", "cuda"], "sees no CUDA device"),
        (["--temperature", "-1"], "sampling:"),
    ],
)
def test_bad_input_is_told_and_answers_two(capsys, folder, flags, message):
    if flags[0] == "--device" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")

    code, _, err = called(capsys, "generate", "--model", str(folder), "--prompt", "abc", *flags, *SMALL)

    assert (code, message in err) == (2, True)


def test_a_draft_of_another_vocabulary_is_told(capsys, folder, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("attention: gqa\nnum_layers: 1\nhidden_size: 16\nintermediate_size: 24\nnum_attention_heads: 4\n"
                     "num_kv_heads: 2\nhead_dim: 4\nvocab_size: 13\n")  # fmt: skip
    flags = ["--draft", "model", "--draft-model", f"random:{other}"]

    code, _, err = called(capsys, "generate", "--model", str(folder), "--prompt", "abc", *flags, *SMALL)

    assert (code, "vocabulary has 13 tokens" in err) == (2, True)


def test_serve_trace_writes_its_files(capsys, folder, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,prompt_tokens,output_tokens,label\n0,10,5,a\n0.01,20,6,b\n0.02,5,1,a\n")
    flags = ["--text", "random", "--draft", "noisy_target", "--draft-tokens", "2", "--out", str(tmp_path / "out")]

    code, out, _ = called(capsys, "serve-trace", str(trace), "--model", str(folder), "--json", *flags, *SMALL)

    report = json.loads(out)
    about = json.loads((tmp_path / "out" / "about.json").read_text())
    assert (code, report["requests"]) == (0, 3)
    assert {"ttft_s", "tpot_s", "e2e_s", "tokens_per_step"} <= set(report)
    assert about["machine"]["threads"] == 1
    assert (tmp_path / "out" / "steps.csv").exists()


def test_bench_ends_with_json(capsys, folder):
    flags = ["--prompts", "1", "--tokens", "8", "--batches", "1,2", "--rows", "1,3", "--no-peer", "--draft", "none"]

    code, out, _ = called(capsys, "bench", "--model", str(folder), "--max-model-len", "160", *flags, "--threads", "1")

    report = json.loads(out.splitlines()[-1])
    assert code == 0
    assert [(r["sequences"], r["rows"]) for r in report["shapes"]] == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert {"threads", "backend", "load_average_1m"} <= set(report["machine"])


class Letters:
    """A codec of one letter a token; token 9 is half a character."""

    def decode(self, tokens):
        text = "".join("ab"[t] if t < 2 else "\ufffd" for t in tokens)
        return text.replace("\ufffd\ufffd", "é")


def test_accepted_tokens_are_marked_and_half_characters_held_back():
    out = TextStream(Letters())

    assert marked(out, Emission(None, [0, 1, 0], 2), "«", "»") == "«ab»a"
    assert marked(out, Emission(None, [9], 0), "«", "»") == ""
    assert marked(out, Emission(None, [9, 1], 1), "«", "»") == "«é»b"
