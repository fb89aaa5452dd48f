"""What the engine refuses, and what it serves by the clock."""

from dataclasses import replace

import pytest

from engine.arrivals import read_arrivals
from engine.drafters import DRAFTERS, DraftSetup
from engine.errors import DraftError, RequestError
from engine.loop import Engine
from engine.sampling import Sampling
from engine.sequence import Request
from engine.serving import serve
from tests.engine.toys import TINY, make_engine, random_prompts, tiny_weights


@pytest.fixture(scope="module")
def engine():
    return make_engine(tiny_weights(), max_model_len=64, blocks=12, chunked_prefill=True)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ((1,) * 64, "context overflow: a prompt of 64 tokens and one more do not fit max_model_len 64"),
        ((1,) * 50, "out of blocks: a prompt of 50 tokens and one more do not fit 12 blocks of 4 tokens"),
        ((1, 12), "outside the target's vocabulary of 12"),
        ((), "a prompt of one token or more"),
    ],
)
def test_a_request_that_can_never_be_served_is_refused(engine, prompt, message):
    with pytest.raises(RequestError, match=message):
        engine.submit(Request(prompt, 5))


def test_a_prompt_that_fits_no_step_is_refused_without_chunks():
    engine = make_engine(tiny_weights(), chunked_prefill=False, max_num_batched_tokens=16)

    with pytest.raises(RequestError, match="chunked_prefill is off"):
        engine.submit(Request((1,) * 20, 5))


def test_a_sampled_request_needs_a_generator():
    engine = make_engine(tiny_weights())
    engine = Engine(engine.target, engine.options)

    with pytest.raises(RequestError, match="needs an engine with a generator"):
        engine.submit(Request((1,), 5, Sampling(1.0)))


def test_an_output_that_the_cache_cannot_hold_is_cut(engine):
    sequence = engine.submit(Request((1,) * 40, 100))
    list(engine.run())

    assert sequence.truncated
    assert len(sequence.tokens) == 48


@pytest.mark.parametrize("wrong", [{"temperature": -1.0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_sampling_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(RequestError, match="sampling:"):
        Sampling(**wrong)


def test_drafts_that_do_not_fit_are_refused():
    target = tiny_weights()
    other = tiny_weights(replace(TINY, vocab_size=13))
    short = tiny_weights(replace(TINY, max_position=32))
    with pytest.raises(DraftError, match="vocabulary has 13 tokens, the target's 12"):
        DRAFTERS["model"](DraftSetup(target=target, draft=other))
    with pytest.raises(DraftError, match="holds 32 positions"):
        DRAFTERS["model"](DraftSetup(target=target, draft=short, max_model_len=64))
    with pytest.raises(DraftError, match="no weights were given"):
        DRAFTERS["model"](DraftSetup(target=target))
    with pytest.raises(DraftError, match="needs the target's weights"):
        DRAFTERS["noisy_target"](DraftSetup())
    with pytest.raises(DraftError, match="longest n-gram"):
        DRAFTERS["lookup"](DraftSetup(longest_ngram=0))


class Clock:
    """Seconds pass when somebody waits, and a little with every look."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1 / 1024
        return self.now

    def wait(self, seconds):
        self.now += seconds


def test_requests_are_served_when_they_arrive():
    engine, clock = make_engine(tiny_weights()), Clock()
    engine.clock = clock
    requests = [Request(p, 5, arrival_s=i * 0.5) for i, p in enumerate(random_prompts(6))]

    emissions = list(serve(engine, requests[::-1], clock.wait))

    assert sum(len(e.tokens) for e in emissions) == 30
    assert all(s.request.arrival_s <= s.scheduled_s < s.request.arrival_s + 0.1 for s in engine.sequences)
    assert [s.request.arrival_s for s in engine.sequences] == [r.arrival_s for r in requests]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "arrival_s,prompt_tokens,output_tokens,label\n3,20,4,code\n2,10,5,chat\n"),
        ("b.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:47.6805900,20,4\n"
                  "2023-11-16 18:15:46.6805900,10,5\n"),
        ("c.jsonl", '{"timestamp": 3000, "input_length": 20, "output_length": 4}\n'
                    '{"timestamp": 2000, "input_length": 10, "output_length": 5}\n'),
    ],
)  # fmt: skip
def test_traces_of_three_forms_are_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)

    arrivals = read_arrivals(tmp_path / name)

    assert [a[:3] for a in arrivals] == [(0.0, 10, 5), (1.0, 20, 4)]
    assert len(read_arrivals(tmp_path / name, limit=1)) == 1


def test_traces_that_cannot_be_read_say_why(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(RequestError, match="no such file"):
        read_arrivals(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(RequestError, match="none of the columns arrival_s"):
        read_arrivals(path)
    path.write_text("arrival_s,prompt_tokens,output_tokens\n1,x,3\n")
    with pytest.raises(RequestError, match="request 1: ValueError"):
        read_arrivals(path)
