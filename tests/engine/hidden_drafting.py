"""How much of its time a drafter in its own process hides, at batch 1: `python -m tests.engine.hidden_drafting`.

No two real models of one vocabulary are small enough to come along, so the pair is made: a target of 24 layers with random
weights whose later layers add little, and its first 3 layers as draft. It shows the machinery at a draft's true cost, not
what a real draft is accepted. The target runs on one core, the draft on another: both must be free.

Prints, for each K: draft's time hidden, share of drafts begun ahead, tokens per step, and tokens per second plain, with the
draft between the target's passes, and with the draft beside them, in turns. The last line is one JSON object.
"""

import argparse
import json
import os
import sys
from dataclasses import replace
from statistics import median

import torch

from engine.architecture import Architecture
from engine.drafters import DRAFTERS, DraftSetup
from engine.drafters.away import Away
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.scheduler import Limits
from engine.sequence import Request
from engine.summary import acceptance, decode_tokens_per_s
from engine.weights import random_weights

TARGET = Architecture(24, 576, 1536, 9, 3, 64, 4096, max_position=1024)
DRAFT_LAYERS = 3
LONGEST, BLOCKS = 512, 64


def made_pair(later_layers):
    """A target, and its first layers as draft; later_layers: factor on what the other layers add."""
    drawn = random_weights(TARGET, torch.Generator().manual_seed(0), sharpness=4.0)
    faint = [replace(la, out=la.out * later_layers, down=la.down * later_layers) for la in drawn.layers[DRAFT_LAYERS:]]
    target = replace(drawn, layers=(*drawn.layers[:DRAFT_LAYERS], *faint))
    architecture = replace(TARGET, num_layers=DRAFT_LAYERS)
    return target, replace(drawn, architecture=architecture, layers=drawn.layers[:DRAFT_LAYERS])


def run(model, draft_tokens, setup, tokens):
    drafter = DRAFTERS["model"](setup) if setup is not None else None
    options = EngineOptions(BLOCKS, Limits(LONGEST, 1, 512), 16, draft_tokens if drafter else 0)
    engine = Engine(model, options, drafter=drafter)
    sequence = engine.submit(Request(tuple(range(1, 65)), tokens))
    list(engine.run())
    return engine, sequence


def measured(model, draft, draft_tokens, tokens, core, pairs):
    """One K: plain, serial and asynchronous runs in turns."""
    beside = DraftSetup(
        draft=draft, num_blocks=BLOCKS, max_model_len=LONGEST, max_num_seqs=1, draft_tokens=draft_tokens
    )
    away = replace(beside, away=Away("ids", core=core))
    speeds, shares, row = {"plain": [], "serial": [], "asynchronous": []}, [], {}
    for _ in range(pairs):
        outputs = {}
        for name, setup in (("plain", None), ("serial", beside), ("asynchronous", away)):
            engine, sequence = run(model, draft_tokens, setup, tokens)
            speeds[name].append(decode_tokens_per_s(engine.steps))
            outputs[name] = sequence.output
        assert outputs["plain"] == outputs["serial"] == outputs["asynchronous"]
        shares.append(engine.drafter.hidden_share)
        row = {"hit_rate": engine.drafter.hits / engine.drafter.asked, **acceptance([sequence])}
        engine.drafter.close()
    return {
        "draft_tokens": draft_tokens,
        "hidden_share": median(shares),
        "hidden_shares": shares,
        "hit_rate": row["hit_rate"],
        "tokens_per_step": row["tokens_per_step"],
        "tokens_per_s": {name: median(values) for name, values in speeds.items()},
    }


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.engine.hidden_drafting")
    parser.add_argument("--target-core", type=int, default=1)
    parser.add_argument("--draft-core", type=int, default=0)
    parser.add_argument("--draft-tokens", default="1,2,3,4")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--later-layers", type=float, default=0.01)
    flags = parser.parse_args(arguments)
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {flags.target_core})
    target, draft = made_pair(flags.later_layers)
    model, rows = Model(target, max_position=LONGEST), []
    for count in map(int, flags.draft_tokens.split(",")):
        rows.append(measured(model, draft, count, flags.tokens, flags.draft_core, flags.pairs))
        r = rows[-1]
        speeds = ", ".join(f"{name} {speed:.1f}" for name, speed in r["tokens_per_s"].items())
        sys.stdout.write(
            f"K = {count}: {r['hidden_share']:.0%} of the draft's time hidden, {r['hit_rate']:.0%} of drafts begun"
            f" ahead, tokens_per_step {r['tokens_per_step']:.2f}; tokens/s: {speeds}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(json.dumps({"cores": [flags.target_core, flags.draft_core], "rows": rows}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
