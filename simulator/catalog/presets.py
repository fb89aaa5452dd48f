"""What a preset of the catalog says in the words of a scenario."""

from simulator.catalog.load import load_acceptance
from simulator.spec.acceptance import Acceptance


def stated(acceptance: Acceptance) -> Acceptance:
    """The same, written out where it names a preset that holds a histogram; what the user says besides stays."""
    preset = None if acceptance.preset is None else load_acceptance(acceptance.preset)
    if preset is None or preset.histogram is None:
        return acceptance
    held = {"histogram": preset.histogram, "drafted": preset.drafted, "spread": acceptance.spread or preset.spread}
    return acceptance.model_copy(update={"preset": None, **held})
