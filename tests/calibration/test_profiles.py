"""Committed profiles: rebuilt bit for bit from their source, small, and complete."""

import pytest

from calibration.constants import engine_constants, fitted, held_out
from calibration.profiles import FOLDER, RECIPES, build, dump, main, missing, sources
from simulator.spec.profile import Profile

REBUILT = [recipe for recipe in RECIPES if recipe.gpu in ("h200-sxm", "b200-sxm")]


def ids(recipe):
    return f"{recipe.gpu}-{recipe.engine}"


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES, ids=ids)
def test_a_committed_profile_is_rebuilt_bit_for_bit(recipe):
    if missing(recipe):
        pytest.skip(f"{ids(recipe)} cannot be rebuilt here: {missing(recipe)}")

    assert dump(build(recipe)) == (FOLDER / f"{ids(recipe)}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("recipe", RECIPES, ids=ids)
def test_a_committed_profile_is_small_and_says_where_it_comes_from(recipe):
    file = FOLDER / f"{ids(recipe)}.json"
    profile = Profile.model_validate_json(file.read_bytes())

    assert file.stat().st_size < 300_000
    assert set(profile.sources) == set(sources(recipe))
    assert profile.constants == engine_constants(recipe.engine)


def test_all_profiles_together_are_small():
    assert sum(file.stat().st_size for file in FOLDER.glob("*.json")) < 3_000_000


def test_a_profile_whose_source_is_missing_is_left_as_it_is_and_that_is_said(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("calibration.profiles.package_data", lambda: None)
    monkeypatch.setattr("calibration.profiles.FOLDER", tmp_path)

    assert main(["h200-sxm-trtllm"]) == 0
    assert "left as it is: aiconfigurator-core 0.12.0 is not installed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_constants_say_what_they_were_fitted_on_and_how_far_off_the_rest_was():
    assert set(fitted()) >= {"trtllm", "vllm"}
    assert engine_constants("trtllm").source == "constants"
    assert engine_constants("none").source == ""
    assert {group.group for group in held_out("h200-sxm", "vllm")} == {"h200-sxm llama-3.1-70b"}
