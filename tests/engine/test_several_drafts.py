"""Several drafts together: whatever they propose and whoever is chosen, the output is the target's."""

from types import SimpleNamespace

import pytest

from engine.drafters.ngram import NgramDraft
from engine.drafters.routed import PROBE_EVERY, ROUTERS, ByRecent, Routed
from engine.drafters.union import Union
from engine.errors import DraftError
from engine.ngrams import table_of
from engine.sampling import Sampling
from engine.sequence import Chunk
from engine.trees import tree_of_widths
from engine.verification import Typical
from tests.engine.test_sampled_loop import PROMPT, SAMPLINGS, SMALL, TOKENS, chi_square_p, exact_law
from tests.engine.toys import make_drafter, make_engine, outputs, random_prompts, serve, tiny_weights

PROMPTS = random_prompts(24)
PARTS = ("lookup", "noisy_target", "ngram", "model")


def several(weights, names=PARTS, *, blocks=64, draft=None, epsilon=0.3):
    return [make_drafter(name, weights, blocks=blocks, epsilon=epsilon, draft=draft) for name in names]


def combined(kind, weights, **options):
    parts = several(weights, **options)
    return Union(parts) if kind == "union" else Routed(dict(zip(PARTS, parts, strict=True)), kind)


@pytest.fixture(scope="module")
def plain():
    return outputs(make_engine(tiny_weights()), PROMPTS)


@pytest.mark.parametrize("kind", ["union", "recent"])
@pytest.mark.parametrize("options", [{}, {"blocks": 30, "max_num_batched_tokens": 72}], ids=["roomy", "tight"])
def test_greedy_output_is_the_plain_engines(plain, kind, options):
    weights = tiny_weights()
    engine = make_engine(weights, draft=combined(kind, weights, blocks=options.get("blocks", 64)), draft_tokens=9,
                         **{"max_num_batched_tokens": 128} | options)  # fmt: skip

    assert outputs(engine, PROMPTS) == plain


@pytest.fixture(scope="module")
def small():
    return tiny_weights(SMALL, sharpness=2.0)


def sampled(weights, drafter, draft_tokens, runs=400, **options):
    engine = make_engine(weights, draft=drafter, draft_tokens=draft_tokens, blocks=512, max_num_seqs=64, seed=5,
                         max_num_batched_tokens=1024, **options)  # fmt: skip
    return outputs(engine, [PROMPT] * runs, TOKENS, sampling=SAMPLINGS[0])


@pytest.mark.parametrize("kind", ["union", "recent"])
def test_sampled_output_of_several_drafts_follows_the_targets_law(small, kind):
    drafter = combined(kind, small, blocks=512, draft=tiny_weights(SMALL, seed=9))

    assert chi_square_p(sampled(small, drafter, 6), exact_law(small, SAMPLINGS[0])) > 1e-3


@pytest.mark.parametrize("replacement", [False, True])
def test_sampled_output_of_a_tree_follows_the_targets_law(small, replacement):
    drafter = make_drafter("noisy_target", small, blocks=512, epsilon=0.3, shape=tree_of_widths([3, 1]),
                           replacement=replacement)  # fmt: skip

    assert chi_square_p(sampled(small, drafter, 6), exact_law(small, SAMPLINGS[0])) > 1e-3


def test_typical_acceptance_does_not_follow_it(small):
    drafter = make_drafter("noisy_target", small, blocks=512, epsilon=0.3)

    assert chi_square_p(sampled(small, drafter, 2, typical=Typical()), exact_law(small, SAMPLINGS[0])) < 1e-6


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("part", PARTS)
def test_a_union_of_one_is_that_draft(part, sampling):
    weights = tiny_weights()
    alone, union = several(weights, [part])[0], Union(several(weights, [part]))

    pair = [serve(make_engine(weights, draft=drafter), PROMPTS[:12], sampling=sampling) for drafter in (alone, union)]

    assert [(s.tokens, s.rounds) for s in pair[0]] == [(s.tokens, s.rounds) for s in pair[1]]


def test_a_union_commits_no_less_than_its_first_draft(plain):
    weights, kept = tiny_weights(), []
    for names, draft_tokens in ((["ngram"], 3), (["ngram", "lookup", "noisy_target"], 9)):
        engine = make_engine(weights, draft=Union(several(weights, names, epsilon=0.5)), draft_tokens=draft_tokens,
                             max_num_batched_tokens=128)  # fmt: skip
        kept.append(sum(s.committed_tokens / s.steps for s in serve(engine, PROMPTS)))

    assert kept[1] > 1.05 * kept[0]


def test_tokens_are_shared_out_over_the_drafts_of_a_union():
    asked = []
    parts = [
        SimpleNamespace(propose=lambda sequences, counts: asked.append(counts) or [SimpleNamespace(**EMPTY)])
        for _ in range(3)
    ]

    Union(parts).propose([None], [7])

    assert asked == [[3], [2], [2]]


EMPTY = {"tokens": [], "probs": None, "trials": None}


def domain_drafts():
    texts = {"rising": [0, 1, 2, 3, 4] * 20, "falling": [4, 3, 2, 1, 0] * 20}
    tables = {name: table_of([text], vocab_size=5, name=name) for name, text in texts.items()}
    return {name: NgramDraft(table, None) for name, table in tables.items()}


def state(number, prompt):
    request = SimpleNamespace(prompt=tuple(prompt))
    return SimpleNamespace(number=number, request=request, tokens=list(prompt), steps=0, rounds=[])


def test_a_prompt_goes_to_the_draft_that_finds_it_likeliest():
    routed = Routed(domain_drafts(), "likelihood")

    drafts = routed.propose([state(0, [1, 2, 3]), state(1, [3, 2, 1])], [3, 3])

    assert [draft.tokens for draft in drafts] == [[4, 0, 1], [0, 4, 3]]
    assert routed.taken == {"rising": 1, "falling": 1}


class Watched:
    """A drafter that remembers whose prompts it saw."""

    def __init__(self):
        self.seen = []

    def prefill(self, chunks):
        self.seen += [chunk.sequence.number for chunk in chunks]


@pytest.mark.parametrize(("router", "seen"), [("likelihood", [[0], []]), ("recent", [[0], [0]])])
def test_drafts_that_can_never_be_chosen_compute_no_prompt(router, seen):
    routed, watched = Routed(domain_drafts(), router), [Watched(), Watched()]
    routed.drafters = dict(zip(routed.drafters, watched, strict=True))

    routed.prefill([Chunk(state(0, [1, 2, 3]), 0, 3, 3)])

    assert [drafter.seen for drafter in watched] == seen


def test_a_router_by_likelihood_needs_tables():
    with pytest.raises(DraftError, match="likelihood: lookup has no table"):
        Routed({"lookup": make_drafter("lookup", tiny_weights())}, "likelihood")


def test_the_draft_of_which_most_was_accepted_of_late_proposes_and_the_other_is_tried_again():
    router, sequence, chosen = ByRecent({"good": None, "bad": None}), state(0, [1]), []
    for _ in range(2 * PROBE_EVERY):
        chosen.append(router.choose(sequence))
        sequence.steps += 1
        sequence.rounds.append((4, 3 if chosen[-1] == "good" else 0))

    assert chosen[:4] == ["good", "bad", "good", "good"]
    assert [step for step, name in enumerate(chosen) if name == "bad"] == [1, PROBE_EVERY]


def test_a_released_sequence_is_forgotten_by_router_and_drafts():
    for name in ROUTERS:
        routed = Routed(domain_drafts(), name)
        sequence = state(0, [1, 2])
        routed.propose([sequence], [1])
        routed.release(sequence)

        assert not any(vars(routed._router)[key] for key in ("_chosen", "_known") if key in vars(routed._router))
