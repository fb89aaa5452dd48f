"""What eight bits or a window in the draft's cache do to acceptance, on SmolLM2.

The draft is the target with noise (epsilon .05); greedy. Each step drafts and then commits one token of the target, so that
all caches are asked at the same places: behind every output token. Prints how often the first so many draft tokens were
the target's own, and the difference to the whole cache in points. Minutes long: `python -m tests.engine.draft_caches_smollm2`.
"""

import sys
from time import process_time

import torch

from engine.drafters import DRAFTERS, DraftSetup
from engine.loading import load
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.scheduler import Limits
from engine.sequence import Request
from engine.texts import DOMAINS, prompts
from engine.weights import with_noise
from engine.window import Window

CACHES = {
    "same": {},
    "int8": {"kv": "int8"},
    "fp8": {"kv": "fp8"},
    "window 4,64": {"window": Window(4, 64)},
    "window 4,16": {"window": Window(4, 16)},
}
BLOCKS, LONGEST = 256, 512


class Watched:
    """A drafter whose proposals are kept, with the length of the sequence that they stood behind."""

    def __init__(self, drafter):
        self.drafter, self.found = drafter, []
        self.attach, self.prefill, self.release = drafter.attach, drafter.prefill, drafter.release

    def propose(self, sequences, counts):
        drafts = self.drafter.propose(sequences, counts)
        self.found += [(s, len(s.tokens), d.tokens) for s, d in zip(sequences, drafts, strict=True)]
        return drafts


def survival(found, draft_tokens):
    """By position, and how many places were asked: of those, all of whose draft tokens lie within the output."""
    whole = [(s.tokens[place : place + draft_tokens], draft) for s, place, draft in found]
    whole = [pair for pair in whole if len(pair[0]) == len(pair[1]) == draft_tokens]
    kept = [sum(out[:n] == draft[:n] for out, draft in whole) for n in range(1, draft_tokens + 1)]
    return [count / len(whole) for count in kept], len(whole)


def by_cache(names, prompts_per_domain, tokens, draft_tokens=3, epsilon=0.05):
    """Name of a cache, its survival by position, and the number of places."""
    loaded = load("smollm2")
    codec, model = loaded.codec(), Model(loaded.weights, max_position=LONGEST)
    noisy = with_noise(loaded.weights, epsilon, torch.Generator().manual_seed(1))
    taken = [p for d in DOMAINS for p in prompts(d, prompts_per_domain, codec.encode, codec.chat)]
    for name in names:
        setup = DraftSetup(draft=noisy, num_blocks=BLOCKS, max_model_len=LONGEST, **CACHES[name])
        options = EngineOptions(BLOCKS, Limits(LONGEST, 8, 512), 16, draft_tokens)
        watched = Watched(DRAFTERS["model"](setup))
        engine = Engine(model, options, drafter=watched, forced=lambda *_: 0)
        for prompt in taken:
            engine.submit(Request(prompt, tokens))
        list(engine.run())
        yield name, *survival(watched.found, draft_tokens)


def main(prompts_per_domain=4, tokens=48):
    whole = None
    for name, found, places in by_cache(CACHES, prompts_per_domain, tokens):
        rate = sum(found) / len(found)
        whole = whole or rate
        by_position = " ".join(f"{s:.3f}" for s in found)
        sys.stdout.write(
            f"{name:12} acceptance_rate {rate:.4f} ({100 * (rate - whole):+.2f} points), survival {by_position},"
            f" {places} places, {process_time():.0f} CPU s\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
