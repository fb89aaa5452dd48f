"""Whether the device still takes as long for the same steps as when its profile was measured.

Neighbours on the same memory, another clock, a warmer machine: all of them slow every step, and no fit can know. So the
reference steps of the profile are taken again, before and after the runs.
"""

from itertools import chain
from statistics import median

from calibration.measuring.points import reference_points
from calibration.measuring.steps import Stage, Taken
from engine.commands.setup import Workbench
from simulator.physics.step import StepModel, StepShape

CHANGED = 0.05
"""Difference from the profile from which it is told: what a noisy machine repeats to."""
VISITS = 3
STEPS = 3


def since_profile(bench: Workbench, model: StepModel) -> float:
    """Median over the reference steps of measured ÷ predicted − 1.

    model: the profile's steps of the target without drafts.
    """
    stage = Stage(bench, drafted=False)
    wanted = reference_points(False, stage.bounds) * VISITS
    taken = chain.from_iterable(stage.visit(point, STEPS) for point in wanted)
    return median(_off(step, model) for step in taken)


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


def _off(step: Taken, model: StepModel) -> float:
    return step.row.cost.total_s / model.cost(StepShape(*step.row.shape)).total_s - 1.0
