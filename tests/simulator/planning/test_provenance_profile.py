"""What a study says of its step costs: the profile with its errors, or that there is none."""

import pytest

from simulator.planning.provenance import UNCALIBRATED, provenance
from tests.simulator.outcome import specs


def told(**changes):
    return provenance(specs.scenario({"one": changes}))


def test_a_measured_profile_is_named_with_its_date_and_its_held_out_error():
    found = told(gpu="h200-sxm", engine={"policy": "vllm"})

    assert "h200-sxm-vllm of 2026" in found["profile"]
    assert "held-out TPOT error" in found["profile"]
    assert any(source["file"] == "profiles/h200-sxm-vllm" for source in found["sources"])


def test_fit_and_held_out_errors_are_told_apart():
    found = told(gpu="h200-sxm", engine={"policy": "vllm"})["calibration"]["one"]

    assert found["fit_error"]["linear"] == pytest.approx(0.03, abs=0.03)
    assert all(group["tpot"]["count"] > 10 for group in found["held_out"])


def test_without_a_profile_it_says_uncalibrated():
    found = told(gpu="gb200", engine={"policy": "vllm"})

    assert found["profile"] == UNCALIBRATED
    assert found["calibration"]["one"]["uncalibrated"] == ["all"]
