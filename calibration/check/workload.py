"""What is driven: a target and its draft in the engine, the texts and lengths of requests, when they come.

Texts are those that no acceptance was fitted on: of each domain's prompts the odd ones.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from calibration.check.drive import CpuTime
from calibration.check.run import Point
from calibration.drafts import COMPUTING, Drafts
from calibration.unseen import unseen
from engine.commands import setup
from engine.loop import Engine
from engine.sequence import Request
from engine.synthetic import Forced, forced_by_survival
from engine.texts import DOMAINS, prompts

LONGEST_PROMPT = 160
"""Of SmolLM2's requests [tokens]."""
MOST_ROUNDS = 512
"""Rounds of a request for which luck is drawn."""

Prompt = tuple[str, tuple[int, ...]]
"""Class and tokens."""


@dataclass(frozen=True, slots=True)
class System:
    """A target and what drafts for it, and what is asked of them."""

    name: str
    target: str
    """Its name in the planner's catalog."""
    model: str
    """Its name in the engine."""
    drafts: Drafts
    prompt_tokens: tuple[int, int]
    """Shortest and longest; a text that is shorter is taken as it is."""
    output_tokens: tuple[int, int]
    survival: tuple[float, ...] | None = None
    """Forced acceptance by position; None: that of the text."""

    @property
    def draft(self) -> str:
        """Its name in a profile: the draft's model, or of what was measured as a whole."""
        return self.drafts.surface(self.model)

    @property
    def draft_is_measured(self) -> bool:
        """Whether a scenario names the draft by its measurement, not by a model."""
        return self.drafts.draft not in COMPUTING or self.draft != replace(self.drafts, **ALONE).surface(self.model)

    @property
    def is_chain(self) -> bool:
        """Whether one draft proposes chains between the target's passes: what the goals were set for."""
        return self.drafts.shape() is None and not self.drafts.several and self.drafts.draft_process is None

    @property
    def words(self) -> list[str]:
        """Flags of the engine's command line."""
        return ["--model", self.model, *self.drafts.words(), "--max-model-len", "512", "--kv-blocks", "512"]


ALONE: dict[str, Any] = dict.fromkeys(("tree", "nodes", "dynamic_tree", "draft_process"))
"""What a plain chain of a model lacks."""


def _smollm2(drafts: Drafts) -> System:
    return System(
        f"smollm2-{drafts.label}",
        "smollm2-135m",
        "smollm2",
        drafts,
        prompt_tokens=(32, LONGEST_PROMPT),
        output_tokens=(16, 64),
    )


SMOLLM2 = _smollm2(Drafts("lookup"))
"""Real weights and real text."""

UNION = _smollm2(Drafts("union", of=("lookup", "ngram"), ngram=("code", "prose")))
"""The same with two tables beside the look-up: three drafts, one tree."""

TREE = _smollm2(Drafts("ngram", ngram=("prose",), tree="2,2"))
"""A tree of a table."""

AHEAD = _smollm2(Drafts("noisy_target", draft_process="ids", epsilon=0.03))
"""A draft in a process of its own: the target with noise on its weights, for no smaller model shares its vocabulary."""

TINY = System(
    "tiny-forced",
    "tiny-6m",
    "random:tiny-6m",
    Drafts("model", draft_model="random:tiny-1m"),
    prompt_tokens=(16, 128),
    output_tokens=(16, 64),
    survival=(0.8, 0.64, 0.5, 0.4, 0.32),
)
"""Random weights and acceptance forced from outside: thousands of requests in minutes, for far percentiles."""

SYSTEMS = (SMOLLM2, UNION, TREE, AHEAD, TINY)


@dataclass(frozen=True)
class Bench:
    """A system that has been loaded."""

    system: System
    loaded: setup.Workbench

    @cached_property
    def pool(self) -> dict[str, list[Prompt]]:
        """Prompts by class, none of which acceptance was fitted on; none: prompts are drawn."""
        if self.loaded.codec is None:
            return {}
        codec, wanted = self.loaded.codec, unseen(self.system.drafts.ngram)
        found = {
            name: prompts(name, 10_000, codec.encode, codec.chat, LONGEST_PROMPT, wanted)[1::2]
            for name in sorted(DOMAINS)
        }
        return {name: [(name, tuple(tokens)) for tokens in texts] for name, texts in found.items()}

    def engine(self, point: Point) -> Engine:
        """A new engine for a point."""
        speculative = point.draft_tokens > 0
        engine = self.loaded.engine(speculative=speculative, forced=self.forced(point) if speculative else None)
        engine.options = replace(engine.options, draft_tokens=point.draft_tokens)
        return engine

    def time(self) -> CpuTime | None:
        """What runs go by; None: the wall's clock."""
        return CpuTime() if self.loaded.clock is setup.CLOCKS["cpu"] else None

    def forced(self, point: Point) -> Forced | None:
        """Acceptance as the system forces it, by luck that belongs to the request and the round."""
        if self.system.survival is None:
            return None
        survival = self.system.survival[: point.draft_tokens]
        return forced_by_survival(survival, uniforms(point.requests, MOST_ROUNDS, _seed(point, "luck")))

    def requests(self, point: Point) -> list[Request]:
        """The requests of a point: the same for every K and in both runs."""
        rng = np.random.default_rng(_seed(point, "requests"))
        outputs = rng.integers(self.system.output_tokens[0], self.system.output_tokens[1] + 1, point.requests)
        times = spread_arrivals(point.requests, point.rate_per_s or 1.0, rng)
        texts = self._texts(point.requests, rng)
        return [
            Request(tokens, int(output), arrival_s=time, label=label)
            for (label, tokens), output, time in zip(texts, outputs, times, strict=True)
        ]

    def _texts(self, count: int, rng: np.random.Generator) -> list[Prompt]:
        """Texts of drawn lengths, the classes in turn, each text once before any comes again."""
        lengths = rng.integers(self.system.prompt_tokens[0], self.system.prompt_tokens[1] + 1, count).tolist()
        if not self.pool:
            vocabulary = self.loaded.target.architecture.vocab_size
            return [("all", tuple(rng.integers(0, vocabulary, length).tolist())) for length in lengths]
        orders = {name: rng.permutation(len(texts)) for name, texts in self.pool.items()}
        names = list(self.pool)
        found = []
        for nth, length in enumerate(lengths):
            name = names[nth % len(names)]
            order = orders[name]
            label, tokens = self.pool[name][order[nth // len(names) % len(order)]]
            found.append((label, tokens if name == "dialogue" else tokens[:length]))
        return [found[index] for index in rng.permutation(count)]


def load(system: System, threads: int | None, clock: str = "wall") -> Bench:
    """Load a system as the engine's own command line does; clock: a name in its CLOCKS."""
    parser = ArgumentParser()
    for add in (setup.add_model_flags, setup.add_draft_flags, setup.add_batch_flags):
        add(parser)
    extra = () if threads is None else ("--threads", str(threads))
    return Bench(system, setup.workbench(parser.parse_args([*system.words, "--clock", clock, *extra])))


def spread_arrivals(count: int, rate_per_s: float, rng: np.random.Generator) -> list[float]:
    """Arrivals of a Poisson stream from 0 on, stretched so that their mean rate is the stated one [s].

    >>> spread_arrivals(3, 2.0, np.random.default_rng(1))[-1]
    1.0
    """
    times = np.concatenate(([0.0], np.cumsum(rng.standard_exponential(max(count - 1, 1)))))[:count]
    return [] if not count else (times * ((count - 1) / rate_per_s / max(float(times[-1]), 1e-300))).tolist()


def uniforms(requests: int, rounds: int, seed: int) -> Callable[[int, int], float]:
    """The luck of each round of each request, drawn beforehand: the same whenever it is asked for.

    >>> draw = uniforms(2, 3, seed=1)
    >>> draw(1, 2) == uniforms(2, 3, seed=1)(1, 2)
    True
    """
    table: Sequence[Sequence[float]] = np.random.default_rng(seed).random((requests, rounds)).tolist()
    return lambda request, nth: table[request][(nth - 1) % rounds]


def _seed(point: Point, purpose: str) -> int:
    return crc32(f"{point.seed} {point.load_key} {purpose}".encode())
