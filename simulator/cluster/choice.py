"""What a policy is asked before a step, what it answers, and what it may know of the step's cost."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.running import Running
from simulator.physics.uneven import Proposing

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class StepTokens(NamedTuple):
    """What the next step computes beside draft tokens."""

    number: int
    """Steps that the engine has taken before."""
    context_tokens: float
    """KV positions of the running sequences."""
    prefill_tokens: int


class Choice(NamedTuple):
    """Draft tokens of the running sequences."""

    draft_tokens: Ints
    """Of each sequence."""
    proposing: Proposing
    """Sequences that propose at least 1, 2, … of them."""
    steps: int
    """Steps after which another choice is due, the batch being the same."""


class StepCurves(Protocol):
    """Seconds of steps by draft tokens."""

    def curve_s(self, sequences: int, context_tokens: float, prefill_tokens: int) -> Floats:
        """Of 0, 1, … draft tokens verified in all, without drafting them; less what prompts always take."""

    def drafting_s(self, context_tokens: float, sequences: int, position: int, proposing: Ints) -> Floats:
        """Of the draft's pass for a position, by how many of the sequences propose that far."""

    def catch_up_s(self, tokens: int) -> float:
        """Of the draft's reading so many tokens."""


class Policy(Protocol):
    """Chooses before a step, and sees what was accepted."""

    def choose(self, running: Running, step: StepTokens) -> Choice:
        """Before a step in which any sequence decodes."""

    def observe(self, running: Running, step: int) -> None:
        """Steps of the window have been taken, up to this one of the engine."""
