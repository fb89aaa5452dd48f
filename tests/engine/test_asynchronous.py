"""A drafter in a process of its own: what it hands over, what it drafts ahead, and what comes of its death."""

import logging
import multiprocessing
import os
import signal
from dataclasses import replace

import pytest
import torch

from engine.drafters import DRAFTERS, DraftSetup
from engine.drafters.ahead import Ask, Begin, Drop, Prompt
from engine.drafters.asynchronous import AsynchronousDraft, new_worker, shared_rows
from engine.drafters.away import Away
from engine.errors import DraftError
from engine.sampling import GREEDY, Sampling
from engine.weights import with_noise
from tests.engine.test_sampled_loop import PROMPT, SMALL, chi_square_p, exact_law
from tests.engine.toys import TINY, generator, make_engine, outputs, random_prompts, serve, tiny_weights

PROMPTS = random_prompts(30)


def setup_of(weights, epsilon=0.1, **more):
    return DraftSetup(draft=with_noise(weights, epsilon, generator(1)), num_blocks=256, block_tokens=4,
                      max_model_len=128, max_num_seqs=16, draft_tokens=4, **more)  # fmt: skip


class Here:
    """A worker in this process; after each answer it drafts so many tokens ahead."""

    def __init__(self, setup, probs, ahead):
        self.worker, self.ahead, self.answers = new_worker(setup, Away(), probs), ahead, []

    def send(self, message):
        answer = self.worker.handle(message)
        if answer is not None:
            self.answers.append(answer)

    def answer(self, timeout_s):
        answer = self.answers.pop(0)
        for _ in range(self.ahead):
            self.worker.ahead()
        return answer

    def close(self):
        pass


def here(weights, *, ahead=9, payload="probs", epsilon=0.1):
    setup = setup_of(weights, epsilon)
    probs = shared_rows(setup) if payload == "probs" else None
    return AsynchronousDraft(lambda: Here(setup, probs, ahead), probs, 4, 1.0)


def async_engine(weights, drafter, **more):
    sizes = {"blocks": 256, "max_num_seqs": 16, "max_num_batched_tokens": 256, "draft_tokens": 3} | more
    return make_engine(weights, draft=drafter, **sizes)


@pytest.mark.parametrize("ahead", [0, 1, 4, 9])
def test_greedy_output_is_the_plain_engines_however_far_it_drafts(ahead):
    weights = tiny_weights()

    assert outputs(async_engine(weights, here(weights, ahead=ahead)), PROMPTS) == outputs(make_engine(weights), PROMPTS)


@pytest.mark.parametrize("ahead", [0, 9])
def test_it_proposes_what_the_draft_model_proposes(ahead):
    weights, epsilon = tiny_weights(), 0.1
    beside = serve(make_engine(weights, draft="noisy_target", draft_tokens=3, blocks=256, epsilon=epsilon), PROMPTS)

    away = serve(async_engine(weights, here(weights, ahead=ahead, epsilon=epsilon)), PROMPTS)

    assert [s.rounds for s in away] == [s.rounds for s in beside]


def test_a_cache_that_is_too_small_for_all_changes_nothing():
    weights = tiny_weights()
    drafter = here(weights)

    sequences = serve(async_engine(weights, drafter, blocks=22, max_num_batched_tokens=48), PROMPTS)

    assert [s.output for s in sequences] == outputs(make_engine(weights), PROMPTS)
    assert sum(s.preemptions for s in sequences) > 5
    drafter._link.worker._pool.check_idle()


@pytest.mark.parametrize(("payload", "ahead"), [("probs", 9), ("ids", 0)])
def test_outputs_follow_the_targets_law(payload, ahead):
    weights, sampling = tiny_weights(SMALL, sharpness=2.0), Sampling(1.0)
    engine = async_engine(weights, here(weights, ahead=ahead, payload=payload, epsilon=0.3), draft_tokens=2, seed=5)

    found = outputs(engine, [PROMPT] * 400, 3, sampling=sampling)

    assert chi_square_p(found, exact_law(weights, sampling)) > 1e-3


def test_a_draft_that_is_the_target_is_always_begun_before_it_is_asked_for():
    weights = tiny_weights()
    drafter = here(weights, epsilon=0.0)

    sequences = serve(async_engine(weights, drafter, max_num_seqs=1), PROMPTS[:4])

    assert drafter.hits == drafter.asked - len(sequences)


def test_it_drafts_ahead_no_further_than_one_guess_and_the_next_draft():
    worker = new_worker(setup_of(tiny_weights()), Away(), None)
    worker.handle(Begin(0, GREEDY, None))
    worker.handle(Prompt(0, [1, 2, 3]))
    first = worker.handle(Ask([0], [[4]], [3]))
    passes = sum(worker.ahead() for _ in range(20))

    again = worker.handle(Ask([0], [first.tokens[0] + worker._shadows[0].chain[3:4]], [3]))

    assert (first.hits, len(first.tokens[0]), passes) == (0, 3, 4)
    assert (again.hits, again.passes - first.passes) == (1, 4)
    worker.handle(Drop(0))
    assert not worker.ahead()


def test_a_wrong_guess_begins_the_chain_anew():
    worker = new_worker(setup_of(tiny_weights()), Away(), None)
    worker.handle(Begin(0, GREEDY, None))
    worker.handle(Prompt(0, [1, 2, 3]))
    first = worker.handle(Ask([0], [[4]], [3])).tokens[0]
    while worker.ahead():
        pass
    news = [first[0], (first[1] + 1) % 12, 5, 7]
    again = worker.handle(Ask([0], [news], [3]))

    fresh = new_worker(setup_of(tiny_weights()), Away(), None)
    fresh.handle(Begin(0, GREEDY, None))
    fresh.handle(Prompt(0, [1, 2, 3]))

    assert again.hits == 0
    assert again.tokens == fresh.handle(Ask([0], [[4, *news]], [3])).tokens


def test_a_sequence_whose_prompt_it_never_saw_is_drafted_all_the_same():
    """As behind a router that changes its mind: the first proposal computes the whole context."""
    weights = tiny_weights()
    drafter = here(weights)
    drafter.prefill = lambda chunks: None

    sequences = serve(async_engine(weights, drafter), PROMPTS)

    beside = serve(make_engine(weights, draft="noisy_target", draft_tokens=3, blocks=256), PROMPTS)
    assert [s.rounds for s in sequences] == [s.rounds for s in beside]


def test_a_request_for_more_draft_tokens_than_there_is_room_for_gets_fewer():
    weights, sampling = tiny_weights(), Sampling(1.0)

    sequences = serve(async_engine(weights, here(weights), draft_tokens=9), PROMPTS[:5], sampling=sampling)

    assert max(len(s.drafted_at) for s in sequences) == 4


class Gone(Here):
    """A worker that takes some messages and answers none any more."""

    def __init__(self, setup, probs, answers, how):
        super().__init__(setup, probs, 0)
        self.left, self.how, self.closed = answers, how, 0

    def answer(self, timeout_s):
        self.left -= 1
        if self.left >= 0:
            return super().answer(timeout_s)
        if self.how is None:
            return None
        raise self.how

    def close(self):
        self.closed += 1


@pytest.mark.parametrize(("how", "why"), [
    (EOFError(), "its process has ended"), (None, "it did not answer within 1 s"), (BrokenPipeError(), "has ended"),
])  # fmt: skip
def test_a_lost_worker_leaves_a_plain_engine_and_one_warning(how, why, caplog):
    weights = tiny_weights()
    link = Gone(setup_of(weights), None, 5, how)
    engine = async_engine(weights, AsynchronousDraft(lambda: link, None, 4, 1.0))

    with caplog.at_level(logging.WARNING):
        found = outputs(engine, PROMPTS)

    assert found == outputs(make_engine(weights), PROMPTS)
    assert [r.getMessage().split(": ", 1)[1] for r in caplog.records] == [
        caplog.records[0].getMessage().split(": ", 1)[1]
    ]
    assert why in caplog.records[0].getMessage()
    assert caplog.records[0].getMessage().endswith("going on without speculation")
    assert link.closed == 1


@pytest.fixture
def others():
    """Processes that other tests have left running, such as the dashboard's workers."""
    return set(multiprocessing.active_children())


def in_a_process(weights, **away):
    setup = replace(setup_of(weights), away=Away(**away))
    return DRAFTERS["model"](setup)


@pytest.mark.slow
def test_a_process_drafts_dies_in_the_middle_and_leaves_nothing_behind(caplog, others):
    weights = tiny_weights()
    plain = outputs(make_engine(weights), PROMPTS)
    drafter = in_a_process(weights, payload="ids")
    engine = async_engine(weights, drafter)

    before = outputs(engine, PROMPTS)
    asked, process = drafter.asked, drafter._link.process
    sequences = serve(engine, PROMPTS[:5], 4)
    os.kill(process.pid, signal.SIGKILL)
    with caplog.at_level(logging.WARNING):
        after = outputs(engine, PROMPTS)

    assert before == after == plain
    assert asked > 0
    assert all(s.drafted_at for s in sequences if s.num_output > 1)
    assert len(caplog.records) == 1
    assert set(multiprocessing.active_children()) <= others


@pytest.mark.slow
def test_distributions_come_through_shared_memory_and_the_process_ends_when_asked(others):
    weights, sampling = tiny_weights(SMALL, sharpness=2.0), Sampling(1.0)
    drafter = in_a_process(weights)
    engine = async_engine(weights, drafter, draft_tokens=2, seed=5)

    found = outputs(engine, [PROMPT] * 600, 3, sampling=sampling)
    drafter.close()

    assert chi_square_p(found, exact_law(weights, sampling)) > 1e-3
    assert 0 < drafter.asked < 600 * 3
    assert set(multiprocessing.active_children()) <= others


@pytest.mark.slow
def test_a_process_that_cannot_load_its_draft_says_why(others):
    short = tiny_weights(replace(TINY, max_position=32))

    with pytest.raises(DraftError, match="did not start: DraftError: draft: it holds 32 positions"):
        async_engine(tiny_weights(), in_a_process(short))
    assert set(multiprocessing.active_children()) <= others


def test_what_cannot_be_asynchronous_says_why():
    with pytest.raises(DraftError, match="payload 'logits'; known: ids, probs"):
        Away(payload="logits")
    with pytest.raises(DraftError, match="needs a draft model"):
        DRAFTERS["model"](DraftSetup(away=Away()))
    assert torch.get_num_threads() == 1
