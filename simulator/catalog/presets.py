"""What a preset of the catalog says in the words of a scenario."""

from simulator.catalog.load import load_acceptance
from simulator.spec.acceptance import Acceptance


def stated(acceptance: Acceptance) -> Acceptance:
    """The same, written out where it names a preset that holds a histogram; a spread of the user's own stays."""
    preset = None if acceptance.preset is None else load_acceptance(acceptance.preset)
    if preset is None or preset.histogram is None:
        return acceptance
    written = preset.as_acceptance()
    return written.model_copy(update={"spread": acceptance.spread}) if acceptance.spread else written
