"""A deployment is the same after JSON, in which every key is a text."""

import pytest

from simulator.spec.deployment import Deployment
from tests.simulator.physics.toys import deployment


@pytest.mark.parametrize(
    "acceptance",
    [
        {"histogram": {0: 3, 1: 4}, "drafted": {0: 1, 2: 9}},
        {"survival": (0.8, 0.6), "by_temperature": {0: 1.0, 0.5: 0.9}, "by_context": {100: 1.0}},
    ],
)
def test_a_deployment_is_the_same_after_json(acceptance):
    chosen = deployment(draft={"model": "llama-3.2-1b"}, acceptance={"all": acceptance})

    assert Deployment.model_validate_json(chosen.model_dump_json(exclude_unset=True)) == chosen
    assert Deployment.model_validate(chosen.model_dump(mode="json")) == chosen
