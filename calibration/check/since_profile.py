"""Whether the device still takes as long for the same steps as when its profile was measured.

Neighbours on the same memory, another clock, a warmer machine: all of them slow every step, and no fit can know. So
steps that the profile knows are taken again: before and after all runs, and beside each of them.
"""

from collections.abc import Iterable
from itertools import chain
from statistics import median

from calibration.measuring.points import Point, pace_points, reference_points
from calibration.measuring.steps import Stage
from engine.commands.setup import Workbench
from simulator.physics.step import StepModel, StepShape

CHANGED = 0.05
"""Difference from the profile from which it is told: what a noisy machine repeats to."""
VISITS = 3
STEPS = 3


class Reference:
    """Steps whose time the profile says, taken on this device now."""

    def __init__(self, bench: Workbench, model: StepModel) -> None:
        """model: the profile's steps of the target without drafts."""
        self._stage, self._model = Stage(bench, drafted=False), model

    def since_profile(self) -> float:
        """Median over the profile's reference steps of measured ÷ predicted − 1."""
        return self._ratio(reference_points(False, self._stage.bounds) * VISITS) - 1.0

    def pace(self) -> float:
        """Median of measured ÷ predicted over few steps, a full batch among them: how slow the machine is just now."""
        return self._ratio(pace_points(self._stage.bounds))

    def _ratio(self, wanted: Iterable[Point]) -> float:
        taken = chain.from_iterable(self._stage.visit(point, STEPS) for point in wanted)
        return median(step.row.cost.total_s / self._model.cost(StepShape(*step.row.shape)).total_s for step in taken)


def told(before: float) -> str:
    """What to say of a difference; nothing where it is small.

    >>> told(0.02), told(0.124)[:50]
    ('', 'the same steps take 12 % longer than the profile s')
    """
    if abs(before) <= CHANGED:
        return ""
    how = "longer" if before > 0 else "less long"
    return (
        f"the same steps take {abs(before) * 100:.0f} % {how} than the profile says: something else runs, or the clock "
        "is another; let the machine rest, or run `specfleet calibrate device` again"
    )
