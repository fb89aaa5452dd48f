"""A preset that holds a histogram is written out; what the user says besides stays."""

import pytest

from simulator.catalog.load import load_acceptance
from simulator.catalog.presets import stated
from simulator.spec.acceptance import Acceptance, Uplift

LOOKUP = "engine-smollm2-lookup-k3-code"


@pytest.mark.parametrize(
    "besides",
    [
        {"spread": 0.4},
        {"by_context": {100: 1.0, 1000: 0.8}},
        {"by_temperature": {0.0: 1.0, 1.0: 0.9}},
        {"uplift": Uplift(factor=1.1, source="a paper")},
        {"branches": (0.7, 0.1)},
    ],
)
def test_what_is_said_besides_a_preset_stays(besides):
    written = stated(Acceptance(preset=LOOKUP, **besides))

    assert written == Acceptance(**_held() | besides)


def test_a_preset_brings_its_own_spread():
    assert stated(Acceptance(preset=LOOKUP)) == Acceptance(**_held())


def _held():
    preset = load_acceptance(LOOKUP)
    return {"histogram": preset.histogram, "drafted": preset.drafted, "spread": preset.spread}
