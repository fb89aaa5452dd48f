"""A head on the target's hidden states: drafts as written out plainly, and leaves the target's output alone."""

from dataclasses import replace

import pytest
import torch

from engine.drafters.head import HeadDraft
from engine.errors import DraftError
from engine.heads import head_from, head_tensors, random_head
from engine.sampling import Sampling
from engine.sequence import Request
from engine.trees import DynamicTree, tree_of_widths
from tests.engine.reference import plain_head_tokens
from tests.engine.test_sampled_loop import PROMPT, SMALL, chi_square_p, exact_law
from tests.engine.toys import (
    MIXTURE,
    QWEN_LIKE,
    TINY,
    generator,
    make_drafter,
    make_engine,
    outputs,
    random_prompts,
    tiny_weights,
)

PROMPTS = random_prompts(30)


def reduced(head, target, tokens):
    vocabulary = torch.tensor(tokens)
    return replace(head, output=target.head[vocabulary].clone(), vocabulary=vocabulary)


def head_engine(weights, head=None, *, draft_tokens=3, seed=0, **more):
    head = head or random_head(weights, generator(2))
    drafter = make_drafter("head", weights, blocks=256, head=head, **more)
    return make_engine(weights, draft=drafter, draft_tokens=draft_tokens, blocks=256, seed=seed, max_num_seqs=16,
                       max_num_batched_tokens=256)  # fmt: skip


def proposals(engine, prompts, steps):
    """Tokens that stood behind each sequence when it was drafted, and its draft."""
    found, propose = [], engine.drafter.propose

    def watched(sequences, counts):
        drafts = propose(sequences, counts)
        found.extend((list(s.tokens), d.tokens) for s, d in zip(sequences, drafts, strict=True))
        return drafts

    engine.drafter.propose = watched
    for prompt in prompts:
        engine.submit(Request(prompt, steps))
    list(engine.run())
    return found


@pytest.mark.parametrize("architecture", [TINY, QWEN_LIKE, MIXTURE], ids=["llama", "qwen", "mixture"])
@pytest.mark.parametrize("whole", [True, False], ids=["all tokens", "reduced"])
def test_every_proposal_is_the_one_written_out(architecture, whole):
    target = tiny_weights(architecture)
    head = random_head(target, generator(2))
    head = head if whole else reduced(head, target, [1, 4, 5, 9, 11])

    found = proposals(head_engine(target, head), PROMPTS[:4], 6)

    assert len(found) > 12
    assert all(drafted == plain_head_tokens(head, target, tokens, len(drafted)) for tokens, drafted in found)


@pytest.mark.parametrize(
    "shape", [None, tree_of_widths([2, 2]), DynamicTree(3, 2, 5)], ids=["chain", "tree", "dynamic"]
)
def test_greedy_output_is_the_plain_engines(shape):
    weights = tiny_weights()

    found = outputs(head_engine(weights, shape=shape, draft_tokens=6 if shape else 3), PROMPTS)

    assert found == outputs(make_engine(weights), PROMPTS)


def test_the_best_path_of_a_tree_is_the_chain():
    """Depth by depth, the first child of a tree's first child is what the chain drafts."""
    weights = tiny_weights()
    chain = proposals(head_engine(weights), [PROMPTS[3]], 1 + 1)[0][1]

    tree = proposals(head_engine(weights, shape=tree_of_widths([2, 1, 1]), draft_tokens=6), [PROMPTS[3]], 1 + 1)[0][1]

    assert tree[::2] == chain


@pytest.mark.parametrize("shape", [None, tree_of_widths([2, 1])], ids=["chain", "tree"])
def test_outputs_follow_the_targets_law(shape):
    weights, sampling = tiny_weights(SMALL, sharpness=2.0), Sampling(1.0)
    head = reduced(random_head(weights, generator(2)), weights, [0, 2, 3])

    engine = head_engine(weights, head, draft_tokens=4 if shape else 2, seed=5, shape=shape)
    found = outputs(engine, [PROMPT] * 400, 3, sampling=sampling)

    assert chi_square_p(found, exact_law(weights, sampling)) > 1e-3


def test_the_states_of_preempted_and_of_accepted_tokens_are_the_targets():
    """A cache that is too small: sequences are computed again, and the head goes on as written out."""
    target = tiny_weights()
    head = random_head(target, generator(2))
    drafter = HeadDraft(head, 22, 4)
    engine = make_engine(target, draft=drafter, blocks=22, max_num_batched_tokens=48, draft_tokens=2)

    found = proposals(engine, PROMPTS[:8], 10)

    assert sum(s.preemptions for s in engine.sequences) > 0
    assert all(drafted == plain_head_tokens(head, target, tokens, len(drafted)) for tokens, drafted in found)


def test_tensors_by_name_make_the_same_head():
    target = tiny_weights(QWEN_LIKE)
    head = reduced(random_head(target, generator(2)), target, [1, 2])

    again = head_from(head.architecture, head_tensors(head))

    assert {n: t.tolist() for n, t in head_tensors(again).items()} == {
        n: t.tolist() for n, t in head_tensors(head).items()
    }


def test_a_head_of_another_target_says_so():
    head = random_head(tiny_weights(replace(TINY, vocab_size=13)), generator(2))

    with pytest.raises(DraftError, match="made for a target of hidden size 16 and 13 tokens; this one has 16 and 12"):
        head_engine(tiny_weights(), head)
