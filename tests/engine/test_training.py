"""Distilling a head: what is learnt is what drafts, it gets better, and the file gives it back."""

from dataclasses import replace

import pytest
import torch

from engine.errors import ModelFileError
from engine.heads import head_tensors, random_head
from engine.loading.head_file import load_head, save_head
from engine.model import Model
from engine.sequence import Request
from engine.training.corpus import Text, frequent_tokens, said, thought
from engine.training.head import main
from engine.training.lesson import Lesson, cut, figures, first_head, learn, losses
from engine.training.unrolled import logits, unrolled
from tests.engine.reference import plain_head
from tests.engine.toys import MIXTURE, QWEN_LIKE, TINY, generator, random_prompts, tiny_weights


def a_lesson(weights, texts=24, tokens=60):
    requests = [Request(prompt, tokens) for prompt in random_prompts(texts)]
    spoken = said(Model(weights), requests, 128, lambda: True)
    thoughts = [thought(Model(weights), text) for text in spoken]
    return Lesson(weights, thoughts[::2], thoughts[1::2])


@pytest.mark.parametrize("architecture", [TINY, QWEN_LIKE], ids=["llama", "qwen"])
def test_every_pass_is_what_the_head_drafts(architecture):
    """Along the tokens that it drafts, the unrolled head has the same states."""
    target = tiny_weights(architecture)
    head, prompt = random_head(target, generator(2)), [3, 1, 4, 1, 5, 9, 2, 6]
    drafted, wanted = plain_head(head, target, prompt, 4)
    text = thought(Model(target), Text([*prompt, *drafted], len(prompt)))

    piece = cut(text, 0, len(text.tokens) - 1)
    passes = unrolled(head, piece.hidden, target.embedding[piece.next_tokens], 4)

    start = len(prompt) - 2
    found = [states[0, start + nth] for nth, states in enumerate(passes)]
    assert torch.allclose(torch.stack(found), torch.stack(wanted), atol=1e-11)


def test_learning_makes_more_be_accepted():
    lesson = a_lesson(tiny_weights(dtype=torch.float32, sharpness=2.0))
    before = first_head(lesson.target, None, generator())
    shares = iter([1 - n / 150 for n in range(151)])

    after, steps = learn(lesson, before, generator(1), lambda: next(shares))

    old, new = (figures(lesson, head, lesson.learning) for head in (before, after))
    assert steps == 150
    assert all(b > a + 0.05 for a, b in zip(old["conditional_acceptance"], new["conditional_acceptance"], strict=True))
    assert new["greedy_survival"] == sorted(new["greedy_survival"], reverse=True)


def test_what_counts_as_accepted_is_the_overlap_with_the_target():
    lesson = a_lesson(tiny_weights(sharpness=2.0), texts=4)
    head = first_head(lesson.target, torch.tensor([1, 5, 7]), generator())
    text = lesson.learning[0]

    _, overlaps, hits = losses(replace(lesson, passes=1), head, cut(text, 0, 10))

    target = (
        text.hidden[1:11] / (text.hidden[1:11] ** 2).mean(-1, keepdim=True).add(1e-5).sqrt()
    ) * lesson.target.final_norm
    probs = (target @ lesson.target.head.T).softmax(-1)
    states = unrolled(head, text.hidden[None, :10], lesson.target.embedding[text.tokens[None, 1:11]], 1)[0]
    draft = torch.zeros_like(probs).index_copy(1, head.vocabulary, logits(head, states, head.output)[0].softmax(-1))
    assert torch.allclose(overlaps[0][0], torch.minimum(probs, draft).sum(-1))
    assert torch.equal(hits[0][0], draft.argmax(-1) == probs.argmax(-1))


def test_texts_are_the_targets_own_and_stop_when_the_time_is_up():
    turns = iter([True] * 6 + [False] * 9)

    spoken = said(Model(tiny_weights()), [Request((1, 2, 3), 50)] * 3, 64, lambda: next(turns))

    assert [text.prompt_tokens for text in spoken] == [3, 3, 3]
    assert [len(text.tokens) for text in spoken] == [3 + 6] * 3


def test_the_tokens_that_a_head_knows_are_the_frequent_ones():
    assert frequent_tokens([Text([4, 4, 2, 9, 9, 9], 1)], 12, 2).tolist() == [4, 9]


def test_a_mixture_gets_a_head_with_a_plain_layer():
    weights = tiny_weights(MIXTURE)

    head = first_head(weights, None, generator())

    assert head.layer.mixture is None
    assert head.layer.down.shape == (16, head.architecture.intermediate_size)


def test_a_file_gives_the_head_back(tmp_path):
    head = first_head(tiny_weights(QWEN_LIKE), torch.tensor([1, 2]), generator())

    save_head(tmp_path / "runs" / "head.safetensors", head, {"target": "toy"})
    again = load_head(tmp_path / "runs" / "head.safetensors")

    assert again.architecture == head.architecture
    assert {n: t.tolist() for n, t in head_tensors(again).items()} == {
        n: t.tolist() for n, t in head_tensors(head).items()
    }


def test_a_file_that_is_no_head_says_so(tmp_path):
    from safetensors.torch import save_file

    save_file({"x": torch.ones(1)}, tmp_path / "other.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"nothing")

    with pytest.raises(ModelFileError, match="not a head of this engine"):
        load_head(tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="truncated or not a head"):
        load_head(tmp_path / "broken.safetensors")
    with pytest.raises(ModelFileError, match="no such file; train a head"):
        load_head(tmp_path / "none.safetensors")


def test_random_weights_have_nothing_to_say(tmp_path, capsys):
    entry = "attention: gqa\nnum_layers: 1\nhidden_size: 16\nintermediate_size: 24\nnum_attention_heads: 4\n"
    path = tmp_path / "tiny.yaml"
    path.write_text(entry + "num_kv_heads: 2\nhead_dim: 4\nvocab_size: 12\n")

    code = main(["--target", f"random:{path}", "--out", str(tmp_path / "h.safetensors"), "--minutes", "0.01"])

    assert code == 2
    assert "random weights have no text to learn from" in capsys.readouterr().err
