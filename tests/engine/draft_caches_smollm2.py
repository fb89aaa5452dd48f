"""What eight bits or a window in the draft's cache do to acceptance, on SmolLM2: `python -m tests.engine.draft_caches_smollm2`.

The draft is the target with noise (epsilon .05); greedy. Prints acceptance_rate and survival of each cache, and its
difference to the whole cache in points. Minutes long.
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
from engine.summary import acceptance
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


def by_cache(names, prompts_per_domain, tokens, draft_tokens=3, epsilon=0.05):
    """Name of a cache, its acceptance, and whether all outputs are those of the first cache."""
    loaded = load("smollm2")
    codec, model = loaded.codec(), Model(loaded.weights, max_position=LONGEST)
    noisy = with_noise(loaded.weights, epsilon, torch.Generator().manual_seed(1))
    taken = [p for d in DOMAINS for p in prompts(d, prompts_per_domain, codec.encode, codec.chat)]
    first = None
    for name in names:
        setup = DraftSetup(draft=noisy, num_blocks=BLOCKS, max_model_len=LONGEST, **CACHES[name])
        options = EngineOptions(BLOCKS, Limits(LONGEST, 8, 512), 16, draft_tokens)
        engine = Engine(model, options, drafter=DRAFTERS["model"](setup))
        sequences = [engine.submit(Request(p, tokens, stop_tokens=codec.stop_tokens)) for p in taken]
        list(engine.run())
        outputs = [s.output for s in sequences]
        first = first or outputs
        yield name, acceptance(sequences), outputs == first


def main(prompts_per_domain=4, tokens=48):
    whole = None
    for name, found, identical in by_cache(CACHES, prompts_per_domain, tokens):
        rate, survival = found["acceptance_rate"], " ".join(f"{s:.3f}" for s in found["survival"])
        whole = whole or rate
        sys.stdout.write(
            f"{name:12} acceptance_rate {rate:.4f} ({100 * (rate - whole):+.2f} points), survival {survival},"
            f" {found['steps']} steps, outputs identical: {identical}, {process_time():.0f} CPU s\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
